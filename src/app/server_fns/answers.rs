//! Running test inputs, and what came of it.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::{
    app::state::answer::Hearing,
    domain::{
        error::ApiError,
        id::{PersonaId, RunId, TestInputId},
        test_answer::TestAnswer,
    },
};

/// An answer with its words as the page shows them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShownAnswer {
    /// The answer.
    pub answer: TestAnswer,
    /// Its words, rendered; empty while the run goes on.
    pub html: String,
    /// What somebody knows who watches the run.
    #[serde(skip)]
    pub hearing: Hearing,
}

/// The last answer to each test input of a persona.
#[server(prefix = "/fn", endpoint = "last_answers")]
pub async fn last_answers(
    /// Whose.
    persona: PersonaId,
) -> Result<Vec<ShownAnswer>, ApiError> {
    use crate::state::{desk, shown_answer};

    let mut link = desk()?.read().await?;
    link.persona(&persona).await?;
    Ok(link.last_answers(&persona).await?.into_iter().map(shown_answer).collect())
}

/// Some answers to a test input, the newest first, and whether there are older ones.
#[server(prefix = "/fn", endpoint = "earlier_answers")]
pub async fn earlier_answers(
    /// Which test input.
    id: TestInputId,
    /// Only those before this run's.
    #[server(default)]
    before: Option<RunId>,
) -> Result<(Vec<ShownAnswer>, bool), ApiError> {
    use crate::state::{desk, shown_answer};

    let mut link = desk()?.read().await?;
    link.test_input(&id).await?;
    let page = link.answers(&id, before.as_ref().map(RunId::as_str), 20).await?;
    Ok((page.items.into_iter().map(shown_answer).collect(), page.next.is_some()))
}

/// Runs a test input; the answer streams from then on.
#[server(prefix = "/fn", endpoint = "run_test_input")]
pub async fn run_test_input(
    /// Which one.
    id: TestInputId,
) -> Result<ShownAnswer, ApiError> {
    use tokio_util::sync::CancellationToken;

    use crate::state::{desk, shown_answer};

    let desk = desk()?;
    desk.agent.run_test_input(&desk.scope, &id, CancellationToken::new()).await?;
    let newest = desk.read().await?.answers(&id, None, 1).await?.items.into_iter().next();
    newest.map(shown_answer).ok_or_else(|| ApiError::not_found("answer"))
}

/// Runs all test inputs of a persona, a few at a time.
#[server(prefix = "/fn", endpoint = "run_all_test_inputs")]
pub async fn run_all_test_inputs(
    /// Whose.
    persona: PersonaId,
) -> Result<Vec<ShownAnswer>, ApiError> {
    use crate::state::{desk, shown_answer};

    let desk = desk()?;
    desk.agent.run_all_test_inputs(&desk.scope, &persona).await?;
    let answers = desk.read().await?.last_answers(&persona).await?;
    Ok(answers.into_iter().map(shown_answer).collect())
}

/// Stops a run; its words stay.
#[server(prefix = "/fn", endpoint = "stop_run")]
pub async fn stop_run(
    /// Which one.
    id: RunId,
) -> Result<(), ApiError> {
    use crate::state::desk;

    let desk = desk()?;
    desk.agent.stop(&desk.scope, &id).await?;
    Ok(())
}
