//! Single messages of chats: other answers, other words, marks, and what was sent for them.

use aide::axum::{
    ApiRouter,
    routing::{get_with, patch_with, post_with},
};
use axum::Json;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    chats::{FromDevice, KeptMessage, Leaf},
    extract::{Body, Created, Given, Segments},
};
use crate::{
    agent::ChatEdit,
    domain::{error::ApiError, id::MessageId, sent::Sent, test_input::TestInput, tree::TreeNode},
    state::{AppState, Desk},
    store::{Mark, now},
};

pub fn routes() -> ApiRouter<AppState> {
    ApiRouter::new()
        .api_route(
            "/api/messages/{id}",
            patch_with(mark, |op| op.summary("Label or bookmark a message.")),
        )
        .api_route(
            "/api/messages/{id}/regenerate",
            post_with(regenerate, |op| op.summary("Ask for another answer beside this one.")),
        )
        .api_route(
            "/api/messages/{id}/edit",
            post_with(edit, |op| op.summary("Put a message in other words beside it.")),
        )
        .api_route(
            "/api/messages/{id}/prune",
            post_with(prune, |op| op.summary("Hide a message with all that follows it.")),
        )
        .api_route(
            "/api/messages/{id}/restore",
            post_with(restore, |op| op.summary("Show again what was hidden.")),
        )
        .api_route(
            "/api/messages/{id}/prompt",
            get_with(prompt, |op| op.summary("What the model was sent for an answer.")),
        )
        .api_route(
            "/api/messages/{id}/test-input",
            post_with(test_input, |op| op.summary("Make this moment a test input.")),
        )
}

#[derive(Deserialize, JsonSchema)]
struct MessagePath {
    /// The message.
    id: MessageId,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Marks {
    /// What this moment is called; empty for nothing.
    label: Option<String>,
    /// Whether it shall be found again.
    bookmarked: Option<bool>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Edit {
    /// The other words, up to 50 000 characters, and up to 500 000 of a persona's.
    content: String,
    /// Whether they shall be answered.
    #[serde(default)]
    answer: bool,
    /// The device that says it.
    device_id: Option<String>,
}

async fn mark(
    desk: Desk,
    Segments(path): Segments<MessagePath>,
    Body(marks): Body<Marks>,
) -> Result<Json<TreeNode>, ApiError> {
    let label = marks.label.map(|label| Mark::Label(label.trim().to_owned()));
    let bookmark = marks.bookmarked.map(|wanted| Mark::Bookmark(wanted.then(now)));
    let marks = label.into_iter().chain(bookmark).collect();
    Ok(Json(desk.agent.mark(&desk.scope, &path.id, marks).await?.into()))
}

async fn regenerate(
    desk: Desk,
    Segments(path): Segments<MessagePath>,
    Given(from): FromDevice,
) -> Result<Created<KeptMessage>, ApiError> {
    let device = from.device_id.as_deref();
    Ok(Created(desk.agent.regenerate(&desk.scope, &path.id, device).await?.into()))
}

async fn edit(
    desk: Desk,
    Segments(path): Segments<MessagePath>,
    Body(edit): Body<Edit>,
) -> Result<Created<KeptMessage>, ApiError> {
    let Edit { content, answer, device_id } = edit;
    let edit = ChatEdit { content, answer, device: device_id };
    let (id, run) = desk.agent.edit_message(&desk.scope, &path.id, edit).await?;
    let run_ids = run.iter().map(|run| run.id.clone()).collect();
    let (run_id, reply_id) = run.map(|run| (run.id, run.reply_id)).unzip();
    Ok(Created(KeptMessage { id, run_id, reply_id, run_ids }))
}

async fn prune(desk: Desk, Segments(path): Segments<MessagePath>) -> Result<Json<Leaf>, ApiError> {
    Ok(Json(Leaf { leaf: desk.agent.prune(&desk.scope, &path.id).await? }))
}

async fn restore(
    desk: Desk,
    Segments(path): Segments<MessagePath>,
) -> Result<Json<Leaf>, ApiError> {
    Ok(Json(Leaf { leaf: desk.agent.restore_branch(&desk.scope, &path.id).await? }))
}

async fn prompt(desk: Desk, Segments(path): Segments<MessagePath>) -> Result<Json<Sent>, ApiError> {
    Ok(Json(desk.agent.sent(&desk.scope, &path.id).await?))
}

async fn test_input(
    desk: Desk,
    Segments(path): Segments<MessagePath>,
) -> Result<Created<TestInput>, ApiError> {
    Ok(Created(desk.agent.make_test_input(&desk.scope, &path.id).await?))
}
