//! Sessions of the terminal: what `greenroom chat --server` uses, and other programs may.

use aide::axum::{
    ApiRouter,
    routing::{get_with, post_with},
};
use axum::{Json, http::StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    chat_import::{MAX_FILE_BYTES, within},
    extract::{Body, Created, Params, Segments, page_size, taking},
};
use crate::{
    agent::Words,
    domain::{
        error::ApiError,
        id::{ConversationId, MessageId},
        list::Page,
        proposal::Proposal,
        terminal::{
            NewTerminal, Said, SessionRecord, TerminalChanges, TerminalSession, TerminalTalk,
        },
    },
    state::{AppState, Desk},
    store::Kept,
};

/// The route that takes whole sessions, which are as large as the files of chats.
pub fn import_routes() -> ApiRouter<AppState> {
    let routes = ApiRouter::new().api_route(
        "/api/terminal/import",
        post_with(import, |op| op.summary("Bring in a session that was written to files.")),
    );
    taking(MAX_FILE_BYTES, routes)
}

pub fn routes() -> ApiRouter<AppState> {
    ApiRouter::new()
        .api_route(
            "/api/terminal/sessions",
            get_with(list, |op| op.summary("Sessions of the terminal, the last written in first."))
                .post_with(create, |op| op.summary("Begin a session of the terminal.")),
        )
        .api_route(
            "/api/terminal/find",
            get_with(find, |op| {
                op.summary("The session with this identifier, this name, or this beginning.")
            }),
        )
        .api_route(
            "/api/terminal/problems",
            get_with(problems, |op| {
                op.summary("What is wrong with the tools of chat/tools.yaml, a sentence each.")
            }),
        )
        .api_route(
            "/api/terminal/sessions/{sessionId}",
            get_with(read, |op| op.summary("A session of the terminal."))
                .patch_with(update, |op| {
                    op.summary("Say what a session is called, and what it speaks with.")
                })
                .delete_with(delete, |op| op.summary("Delete a session; it can be brought back.")),
        )
        .api_route(
            "/api/terminal/sessions/{sessionId}/discard",
            post_with(discard, |op| {
                op.summary(
                    "Remove a session in which nothing was said and for which nothing was set.",
                )
            }),
        )
        .api_route(
            "/api/terminal/sessions/{sessionId}/restore",
            post_with(restore, |op| op.summary("Bring a deleted session back.")),
        )
        .api_route(
            "/api/terminal/sessions/{sessionId}/messages",
            get_with(talk, |op| op.summary("The last messages, and the run that was last begun."))
                .post_with(say, |op| {
                    op.summary("Say something. The answer is followed at /api/runs/{id}/events.")
                }),
        )
        .api_route(
            "/api/terminal/sessions/{sessionId}/drafts",
            get_with(drafts, |op| op.summary("Drafts of a session that wait for a decision.")),
        )
        .api_route(
            "/api/terminal/sessions/{sessionId}/record",
            get_with(record, |op| op.summary("A session as files have it.")),
        )
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SessionPath {
    /// The session.
    session_id: ConversationId,
}

#[derive(Deserialize, JsonSchema)]
struct ListParams {
    /// Those that were deleted instead.
    #[serde(default)]
    deleted: bool,
    /// Where to go on: the `next` of the page before.
    after: Option<String>,
    /// How many at most; 50 unless said, 200 at the most.
    limit: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
struct FindParams {
    /// The identifier, its beginning, or what the session is called.
    session: String,
}

#[derive(Deserialize, JsonSchema)]
struct TalkParams {
    /// Only what was said up to this message.
    until: Option<MessageId>,
    /// How many messages at most; 50 unless said, 200 at the most.
    limit: Option<u32>,
}

/// What is said.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Spoken {
    /// The words.
    content: String,
    /// What the sender calls it, once in a session: the same sent again is told of the first and its run.
    client_id: Option<String>,
}

/// The drafts of a session.
#[derive(Serialize, JsonSchema)]
struct Drafts {
    /// Those that wait, the first first.
    items: Vec<Proposal>,
    /// There is no other page.
    next: Option<String>,
}

/// Whether a session was removed.
#[derive(Serialize, JsonSchema)]
struct Discarded {
    /// `false` when something was said in it, or set for it.
    discarded: bool,
}

/// What is wrong with the operator's own tools.
#[derive(Serialize, JsonSchema)]
struct Problems {
    /// A sentence each, in the order of the file.
    items: Vec<String>,
    /// There is no other page.
    next: Option<String>,
}

async fn list(
    desk: Desk,
    Params(params): Params<ListParams>,
) -> Result<Json<Page<TerminalSession>>, ApiError> {
    let kept = if params.deleted { Kept::Deleted } else { Kept::InUse };
    let (after, limit) = (params.after.as_deref(), page_size(params.limit));
    Ok(Json(desk.agent.terminals(&desk.scope, kept, after, limit).await?))
}

async fn create(
    desk: Desk,
    Body(new): Body<NewTerminal>,
) -> Result<Created<TerminalSession>, ApiError> {
    Ok(Created(desk.agent.create_terminal(&desk.scope, new).await?))
}

async fn find(
    desk: Desk,
    Params(params): Params<FindParams>,
) -> Result<Json<TerminalSession>, ApiError> {
    Ok(Json(desk.agent.find_terminal(&desk.scope, &params.session).await?))
}

async fn import(
    desk: Desk,
    record: Result<Body<SessionRecord>, ApiError>,
) -> Result<Created<TerminalSession>, ApiError> {
    Ok(Created(desk.agent.import_terminal(&desk.scope, within(record)?).await?))
}

async fn problems(desk: Desk) -> Json<Problems> {
    Json(Problems { items: desk.agent.tool_problems().await, next: None })
}

async fn read(
    desk: Desk,
    Segments(path): Segments<SessionPath>,
) -> Result<Json<TerminalSession>, ApiError> {
    Ok(Json(desk.agent.terminal(&desk.scope, &path.session_id).await?))
}

async fn update(
    desk: Desk,
    Segments(path): Segments<SessionPath>,
    Body(changes): Body<TerminalChanges>,
) -> Result<Json<TerminalSession>, ApiError> {
    Ok(Json(desk.agent.change_terminal(&desk.scope, &path.session_id, changes).await?))
}

async fn delete(desk: Desk, Segments(path): Segments<SessionPath>) -> Result<StatusCode, ApiError> {
    desk.agent.delete_terminal(&desk.scope, &path.session_id).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn discard(
    desk: Desk,
    Segments(path): Segments<SessionPath>,
) -> Result<Json<Discarded>, ApiError> {
    let discarded = desk.agent.discard_terminal(&desk.scope, &path.session_id).await?;
    Ok(Json(Discarded { discarded }))
}

async fn restore(
    desk: Desk,
    Segments(path): Segments<SessionPath>,
) -> Result<Json<TerminalSession>, ApiError> {
    Ok(Json(desk.agent.restore_terminal(&desk.scope, &path.session_id).await?))
}

async fn talk(
    desk: Desk,
    Segments(path): Segments<SessionPath>,
    Params(params): Params<TalkParams>,
) -> Result<Json<TerminalTalk>, ApiError> {
    let (until, most) = (params.until.as_ref(), page_size(params.limit));
    Ok(Json(desk.agent.terminal_talk(&desk.scope, &path.session_id, until, most).await?))
}

async fn say(
    desk: Desk,
    Segments(path): Segments<SessionPath>,
    Body(spoken): Body<Spoken>,
) -> Result<Created<Said>, ApiError> {
    let words = Words { text: &spoken.content, client: spoken.client_id.as_deref() };
    Ok(Created(desk.agent.say_in_terminal(&desk.scope, &path.session_id, words).await?))
}

async fn drafts(
    desk: Desk,
    Segments(path): Segments<SessionPath>,
) -> Result<Json<Drafts>, ApiError> {
    desk.agent.terminal(&desk.scope, &path.session_id).await?;
    Ok(Json(Drafts { items: desk.gate.proposals_in(&path.session_id).await?, next: None }))
}

async fn record(
    desk: Desk,
    Segments(path): Segments<SessionPath>,
) -> Result<Json<SessionRecord>, ApiError> {
    Ok(Json(desk.agent.terminal_record(&desk.scope, &path.session_id).await?))
}
