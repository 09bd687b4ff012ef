//! What a plain form could not save.

use std::collections::BTreeMap;

use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::domain::{
    change::{ChangeState, Conflict, Entity, Outcome},
    error::ApiError,
    id::ChangeId,
    version::Revision,
};

/// What could not be saved, as the page shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptText {
    /// The change.
    pub id: ChangeId,
    /// How it stands.
    pub state: ChangeState,
    /// What was being edited.
    pub entity: Entity,
    /// Whether it is only to be made.
    pub is_new: bool,
    /// The page that it is on.
    pub path: String,
    /// Why it cannot be saved as it is; `None` when another edit was in the way of one's own.
    pub why: Option<ApiError>,
    /// Both texts of every field in which they differ.
    pub texts: Vec<Conflict>,
}

/// What could not be saved, beside what stands now.
#[server(prefix = "/fn", endpoint = "open_conflict")]
pub async fn open_conflict(
    /// The change.
    id: ChangeId,
) -> Result<KeptText, ApiError> {
    use crate::{
        changes::Refused,
        domain::change::Op,
        state::{desk, page_of},
    };

    let desk = desk()?;
    let Refused { state, entity, op, why, texts } = desk.gate.open_refused(&id).await?;
    let is_new = op == Op::Create && state != ChangeState::Applied;
    let path = match is_new {
        true => format!("/knowledge?kind={}", entity.kind.word()),
        false => page_of(&desk, &entity).await?,
    };
    Ok(KeptText { id, state, entity, is_new, path, why, texts })
}

/// Saves what could not be saved, as the person words it now, and goes to the thing. What is refused
/// again is kept and shown again.
#[server(prefix = "/fn", endpoint = "save_kept")]
pub async fn save_kept(
    /// The change.
    id: ChangeId,
    /// What the person saw beside it.
    revision: Option<Revision>,
    /// What to write, by field.
    #[server(default)]
    fields: BTreeMap<String, String>,
) -> Result<Outcome, ApiError> {
    use crate::{
        domain::change::from_form,
        state::{desk, page_of},
    };

    let desk = desk()?;
    let (entity, outcome) = desk.gate.save_refused(&id, revision, from_form(fields)).await?;
    let path = match outcome.state {
        ChangeState::Applied => page_of(&desk, &entity).await?,
        _ => format!("/conflicts/{id}"),
    };
    leptos_axum::redirect(&path);
    Ok(outcome)
}
