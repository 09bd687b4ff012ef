//! What comes next in a chat once the answer is there, and putting something into that line.

use aide::axum::{
    ApiRouter,
    routing::{get_with, patch_with},
};
use axum::Json;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    chats::{ChatPath, Said},
    extract::{Body, Created, Segments},
};
use crate::{
    agent::NextChange,
    domain::{
        error::ApiError,
        id::{ConversationId, NextId},
        line::NextItem,
        list::Page,
    },
    state::{AppState, Desk},
};

pub fn routes() -> ApiRouter<AppState> {
    ApiRouter::new()
        .api_route(
            "/api/chats/{id}/queue",
            get_with(list, |op| op.summary("What comes next in a chat."))
                .post_with(add, |op| op.summary("Say something once the answer is there.")),
        )
        .api_route(
            "/api/chats/{id}/queue/{nextId}",
            patch_with(change, |op| op.summary("Hold what comes next, or let it go on."))
                .delete_with(take_back, |op| op.summary("Take something out of the line.")),
        )
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct NextPath {
    /// The chat.
    id: ConversationId,
    /// What comes next.
    next_id: NextId,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Changes {
    /// Other words.
    content: Option<String>,
    /// Whether it waits for a person (`true`), or goes on by itself (`false`).
    held: Option<bool>,
}

async fn list(
    desk: Desk,
    Segments(path): Segments<ChatPath>,
) -> Result<Json<Page<NextItem>>, ApiError> {
    let items = desk.agent.what_comes_next(&desk.scope, &path.id).await?;
    Ok(Json(Page { items, next: None }))
}

async fn add(
    desk: Desk,
    Segments(path): Segments<ChatPath>,
    Body(said): Body<Said>,
) -> Result<Created<NextItem>, ApiError> {
    Ok(Created(desk.agent.queue(&desk.scope, &path.id, said.into()).await?))
}

async fn change(
    desk: Desk,
    Segments(path): Segments<NextPath>,
    Body(changes): Body<Changes>,
) -> Result<Json<NextItem>, ApiError> {
    let Changes { content, held } = changes;
    let change = NextChange { content, held };
    Ok(Json(desk.agent.change_next(&desk.scope, &path.id, &path.next_id, change).await?))
}

async fn take_back(
    desk: Desk,
    Segments(path): Segments<NextPath>,
) -> Result<Json<NextItem>, ApiError> {
    Ok(Json(desk.agent.drop_next(&desk.scope, &path.id, &path.next_id).await?))
}
