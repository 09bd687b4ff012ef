//! Test inputs.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use super::personas::given;
use crate::domain::{
    change::Outcome,
    error::ApiError,
    id::{PersonaId, TestInputId},
    test_input::{EditedTestInput, Move},
    version::Revision,
};

/// The test inputs of a persona, in order.
#[server(prefix = "/fn", endpoint = "list_test_inputs")]
pub async fn list_test_inputs(
    /// Whose.
    persona: PersonaId,
) -> Result<Vec<EditedTestInput>, ApiError> {
    use crate::state::desk;

    let desk = desk()?;
    let mut link = desk.read().await?;
    let all = link.test_inputs(&persona).await?;
    Ok(all.into_iter().map(Into::into).collect())
}

/// Adds a test input at the end.
#[server(prefix = "/fn", endpoint = "add_test_input")]
pub async fn add_test_input(
    /// Whose.
    persona: PersonaId,
    /// What is said.
    content: String,
) -> Result<EditedTestInput, ApiError> {
    use crate::{
        domain::{
            change::{Change, Op},
            field::unix_lines,
        },
        state::desk,
        store::new_id,
    };

    let desk = desk()?;
    let id: TestInputId = new_id();
    let change = Change::new(&id, Op::Create)
        .set("content", unix_lines(&content))
        .set("personaId", persona.as_str());
    desk.gate.submit(change).await?;
    let kept = desk.read().await?.test_input(&id).await?;
    Ok(kept.into())
}

/// The fields of a test input that are to be written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestInputForm {
    /// What is said.
    #[serde(default, deserialize_with = "given")]
    pub content: Option<String>,
    /// What a good answer does.
    #[serde(default, deserialize_with = "given")]
    pub check: Option<String>,
}

/// Rewrites a test input.
#[server(prefix = "/fn", endpoint = "save_test_input")]
pub async fn save_test_input(
    /// Which one.
    id: TestInputId,
    /// The revision that the form was filled from.
    revision: Revision,
    /// What to write.
    #[server(default)]
    form: TestInputForm,
) -> Result<EditedTestInput, ApiError> {
    use crate::{
        domain::{
            change::{Change, Op},
            field::unix_lines,
        },
        state::{desk, keep_refused},
    };

    let desk = desk()?;
    let mut change = Change::new(&id, Op::Update).based_on(revision);
    for (field, text) in [("content", form.content), ("check", form.check)] {
        if let Some(text) = text {
            change = change.set(field, unix_lines(&text));
        }
    }
    let saved = desk.gate.submit(change.clone()).await;
    keep_refused(&desk, &saved, change).await?;
    saved?;
    let kept = desk.read().await?.test_input(&id).await?;
    Ok(kept.into())
}

/// Moves a test input one place, and gives the row as it stands then.
#[server(prefix = "/fn", endpoint = "move_test_input")]
pub async fn move_test_input(
    /// Which one.
    id: TestInputId,
    /// Up or down.
    way: Move,
) -> Result<Vec<EditedTestInput>, ApiError> {
    use crate::state::desk;

    let desk = desk()?;
    desk.gate.move_test_input(&id, way).await?;
    let mut link = desk.read().await?;
    let persona = link.test_input(&id).await?.persona_id;
    let all = link.test_inputs(&persona).await?;
    Ok(all.into_iter().map(Into::into).collect())
}

/// Moves a test input to the bin.
#[server(prefix = "/fn", endpoint = "delete_test_input")]
pub async fn delete_test_input(
    /// Which one.
    id: TestInputId,
) -> Result<Outcome, ApiError> {
    use crate::{
        domain::change::{Change, Op},
        state::desk,
    };

    let desk = desk()?;
    let change = Change::new(&id, Op::Delete);
    desk.gate.submit(change).await
}
