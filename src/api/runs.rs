//! Runs: how one stands, what it tells, stopping and repeating it.

use aide::axum::{
    ApiRouter,
    routing::{get_with, post_with},
};
use axum::{
    Json,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use futures_util::StreamExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    extract::{Body, Created, Params, Segments},
    sse::{Event, last_event_id, stream},
};
use crate::{
    agent::Rerun,
    domain::{
        error::ApiError,
        event::{RunEvent, Stamped},
        id::{CallId, RunId},
        message::ConversationKind,
        playground::PlaygroundSession,
        run::Run,
        timestamp::Timestamp,
    },
    state::{AppState, Desk},
};

pub fn routes() -> ApiRouter<AppState> {
    ApiRouter::new()
        .api_route("/api/runs/{id}", get_with(read, |op| op.summary("How a run stands.")))
        .api_route(
            "/api/runs/{id}/events",
            get_with(events, |op| {
                op.summary("What a run tells, as server-sent events, from any place in it.")
            }),
        )
        .api_route(
            "/api/runs/{id}/stop",
            post_with(stop, |op| op.summary("Stop a run; its words stay.")),
        )
        .api_route(
            "/api/runs/{id}/retry",
            post_with(retry, |op| op.summary("Ask the same again, in a new run.")),
        )
        .api_route(
            "/api/runs/{id}/continue",
            post_with(go_on, |op| op.summary("Go on with an answer that broke off.")),
        )
        .api_route(
            "/api/runs/{id}/branch",
            post_with(branch, |op| {
                op.summary(
                    "Go on from the middle of a run with something in it changed: as a branch of \
                     its session in the playground, else in a session of its own.",
                )
            }),
        )
}

#[derive(Deserialize, JsonSchema)]
struct RunPath {
    /// The run.
    id: RunId,
}

#[derive(Deserialize, JsonSchema)]
struct EventParams {
    /// Only what came after this event; `Last-Event-ID` says the same.
    after: Option<u64>,
}

/// From where a run is gone on with, and what is different.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Branched {
    /// Before which time that the model was asked, from 1.
    step: u32,
    /// What the model is told instead, and from there on where it goes on.
    #[serde(default)]
    system_prompt: Option<String>,
    /// What was asked instead.
    #[serde(default)]
    message: Option<String>,
    /// What tools gave instead of what they gave.
    #[serde(default)]
    results: Vec<GivenResult>,
    /// The model that is asked instead.
    #[serde(default)]
    model: Option<String>,
}

/// What a tool gave.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct GivenResult {
    /// The call.
    call_id: CallId,
    /// What it gave.
    output: String,
}

/// Where a run goes on.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct GoesOn {
    /// The session of the playground; `null` where a model answers as itself: the run's conversation is a
    /// session of the terminal then.
    session: Option<PlaygroundSession>,
    /// The run there.
    run: Run,
}

/// A run, and what can be done with it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunState {
    /// The run.
    #[serde(flatten)]
    run: Run,
    /// Whether asking the same again makes sense.
    can_retry: bool,
    /// Whether the answer broke off and can be gone on with.
    can_continue: bool,
}

impl RunState {
    /// A run of a conversation of this kind.
    pub fn new(run: Run, kind: ConversationKind) -> Self {
        Self { can_retry: run.can_retry(), can_continue: run.can_continue(kind), run }
    }

    async fn of(desk: &Desk, run: Run) -> Result<Self, ApiError> {
        let kind = desk.read().await?.conversation_kind(&run.conversation_id).await?;
        Ok(Self::new(run, kind))
    }
}

/// An event with when it happened.
#[derive(Serialize)]
struct Dated<'run> {
    #[serde(flatten)]
    event: &'run RunEvent,
    at: Timestamp,
}

async fn read(desk: Desk, Segments(path): Segments<RunPath>) -> Result<Json<RunState>, ApiError> {
    let run = desk.agent.run(&desk.scope, &path.id).await?;
    Ok(Json(RunState::of(&desk, run).await?))
}

async fn events(
    State(state): State<AppState>,
    desk: Desk,
    Segments(path): Segments<RunPath>,
    Params(params): Params<EventParams>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let last = last_event_id(&headers)?;
    let seen = last.or(params.after).unwrap_or_default();
    // A browser that has seen the end asks once more by itself: this tells it to stop.
    if last.is_some() && desk.agent.has_ended_at(&desk.scope, &path.id, seen).await? {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let events = desk.agent.watch(&desk.scope, &path.id, seen).await?;
    let told = events.filter_map(|event| {
        let dated = |one: &Stamped| Event::at(one.seq, &Dated { event: &one.event, at: one.at });
        std::future::ready(event.ok().map(|one| dated(&one)))
    });
    Ok(stream(told, state.closing).into_response())
}

async fn stop(desk: Desk, Segments(path): Segments<RunPath>) -> Result<Json<RunState>, ApiError> {
    let run = desk.agent.stop(&desk.scope, &path.id).await?;
    Ok(Json(RunState::of(&desk, run).await?))
}

async fn retry(
    desk: Desk,
    Segments(path): Segments<RunPath>,
) -> Result<Created<RunState>, ApiError> {
    let run = desk.agent.retry(&desk.scope, &path.id).await?;
    Ok(Created(RunState::of(&desk, run).await?))
}

async fn go_on(
    desk: Desk,
    Segments(path): Segments<RunPath>,
) -> Result<Created<RunState>, ApiError> {
    let run = desk.agent.go_on(&desk.scope, &path.id).await?;
    Ok(Created(RunState::of(&desk, run).await?))
}

async fn branch(
    desk: Desk,
    Segments(path): Segments<RunPath>,
    Body(wish): Body<Branched>,
) -> Result<Created<GoesOn>, ApiError> {
    let results = wish.results.into_iter().map(|one| (one.call_id, one.output)).collect();
    let Branched { step, system_prompt, message, model, .. } = wish;
    let rerun = Rerun { step, system_prompt, message, results, model };
    let (session, run) = desk.agent.run_on(&desk.scope, &path.id, rerun).await?;
    Ok(Created(GoesOn { session, run }))
}
