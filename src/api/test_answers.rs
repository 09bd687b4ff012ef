//! Running test inputs, and what the persona answered.

use aide::axum::{ApiRouter, routing::get_with};
use axum::{Json, extract::State, routing::get};
use futures_util::{StreamExt, future::ready, stream::SelectAll};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::{
    extract::{Created, Params, Segments, page_size},
    personas::PersonaPath,
    runs::RunState,
    sse::{Event, EventStream, stream},
};
use crate::{
    domain::{
        error::ApiError,
        event::RunEvent,
        id::{PersonaId, RunId, TestInputId},
        list::Page,
        message::ConversationKind,
        test_answer::TestAnswer,
        test_input::MAX_PER_PERSONA,
    },
    state::{AppState, Desk},
};

/// How many runs are told of by one stream: all that can go on for one persona.
const TOGETHER: usize = MAX_PER_PERSONA as usize;

pub fn routes() -> ApiRouter<AppState> {
    ApiRouter::new()
        .api_route(
            "/api/storage/personas/{id}/answers",
            get_with(last, |op| op.summary("The last answer to each test input."))
                .post_with(run_all, |op| op.summary("Run all test inputs, a few at a time.")),
        )
        .api_route(
            "/api/storage/personas/{id}/test-inputs/{testInputId}/answers",
            get_with(list, |op| op.summary("The answers to a test input, the newest first."))
                .post_with(run, |op| op.summary("Run a test input.")),
        )
        .route("/rail/answers/{runs}", get(watch))
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct InputPath {
    /// The persona.
    id: PersonaId,
    /// The test input.
    test_input_id: TestInputId,
}

#[derive(Deserialize)]
struct RunsPath {
    /// Runs, with commas between them.
    runs: String,
}

/// What one of several runs tells.
#[derive(Serialize)]
struct Told<'told> {
    run: &'told RunId,
    #[serde(flatten)]
    event: &'told RunEvent,
}

#[derive(Deserialize, JsonSchema)]
struct ListParams {
    /// Where to go on: the `next` of the page before.
    after: Option<String>,
    /// How many at most; 50 unless said, 200 at the most.
    limit: Option<u32>,
}

/// The path's test input, if it is the path's persona's.
async fn check(desk: &Desk, path: &InputPath) -> Result<(), ApiError> {
    let input = desk.read().await?.test_input(&path.test_input_id).await?;
    if input.persona_id == path.id { Ok(()) } else { Err(ApiError::not_found("test input")) }
}

async fn last(
    desk: Desk,
    Segments(path): Segments<PersonaPath>,
) -> Result<Json<Page<TestAnswer>>, ApiError> {
    let mut link = desk.read().await?;
    link.persona(&path.id).await?;
    Ok(Json(Page { items: link.last_answers(&path.id).await?, next: None }))
}

async fn run_all(
    desk: Desk,
    Segments(path): Segments<PersonaPath>,
) -> Result<Created<Page<RunState>>, ApiError> {
    let runs = desk.agent.run_all_test_inputs(&desk.scope, &path.id).await?;
    let items = runs.into_iter().map(|run| RunState::new(run, ConversationKind::Test)).collect();
    Ok(Created(Page { items, next: None }))
}

async fn list(
    desk: Desk,
    Segments(path): Segments<InputPath>,
    Params(params): Params<ListParams>,
) -> Result<Json<Page<TestAnswer>>, ApiError> {
    check(&desk, &path).await?;
    let mut link = desk.read().await?;
    let limit = page_size(params.limit);
    Ok(Json(link.answers(&path.test_input_id, params.after.as_deref(), limit).await?))
}

async fn run(
    desk: Desk,
    Segments(path): Segments<InputPath>,
) -> Result<Created<RunState>, ApiError> {
    check(&desk, &path).await?;
    let run = desk
        .agent
        .run_test_input(&desk.scope, &path.test_input_id, CancellationToken::new())
        .await?;
    Ok(Created(RunState::new(run, ConversationKind::Test)))
}

/// Several answers while they are being given, all by one stream, each from its beginning.
async fn watch(
    State(state): State<AppState>,
    desk: Desk,
    Segments(path): Segments<RunsPath>,
) -> Result<EventStream, ApiError> {
    let mut all = SelectAll::new();
    for run in path.runs.split(',').take(TOGETHER).map(RunId::new) {
        let events = desk.agent.watch(&desk.scope, &run, 0).await?;
        let told = move |event: &RunEvent| Event::telling(&Told { run: &run, event });
        all.push(events.map(move |one| one.map(|one| told(&one.event))));
    }
    // Whoever was left behind by one of them comes back, and is told all of them again.
    let told = all.take_while(|one| ready(one.is_ok())).filter_map(|one| ready(one.ok()));
    Ok(stream(told, state.closing))
}
