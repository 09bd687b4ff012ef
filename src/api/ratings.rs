//! Ratings of messages, in conversations of any kind.

use aide::axum::{ApiRouter, routing::get_with};
use axum::{Json, http::StatusCode};
use schemars::JsonSchema;
use serde::Deserialize;

use super::extract::{Body, Segments};
use crate::{
    domain::{
        error::ApiError,
        id::{ConversationId, MessageId},
        list::Page,
        rating::{NewRating, Rating},
    },
    state::{AppState, Desk},
};

pub fn routes() -> ApiRouter<AppState> {
    ApiRouter::new()
        .api_route(
            "/api/messages/{id}/rating",
            get_with(rating, |op| op.summary("What one gave to a message."))
                .put_with(rate, |op| op.summary("Rate a message from 1 to 5, with a note or none."))
                .delete_with(unrate, |op| op.summary("Take a rating back.")),
        )
        .api_route(
            "/api/conversations/{id}/ratings",
            get_with(ratings, |op| op.summary("What the messages of a conversation were given.")),
        )
}

#[derive(Deserialize, JsonSchema)]
struct MessagePath {
    /// The message.
    id: MessageId,
}

#[derive(Deserialize, JsonSchema)]
struct ConversationPath {
    /// The conversation, of any kind.
    id: ConversationId,
}

async fn ratings(
    desk: Desk,
    Segments(path): Segments<ConversationPath>,
) -> Result<Json<Page<Rating>>, ApiError> {
    let items = desk.agent.ratings_in(&desk.scope, &path.id).await?;
    Ok(Json(Page { items, next: None }))
}

async fn rating(
    desk: Desk,
    Segments(path): Segments<MessagePath>,
) -> Result<Json<Rating>, ApiError> {
    Ok(Json(desk.agent.rating(&desk.scope, &path.id).await?))
}

async fn rate(
    desk: Desk,
    Segments(path): Segments<MessagePath>,
    Body(given): Body<NewRating>,
) -> Result<Json<Rating>, ApiError> {
    Ok(Json(desk.agent.rate(&desk.scope, &path.id, given).await?))
}

async fn unrate(desk: Desk, Segments(path): Segments<MessagePath>) -> Result<StatusCode, ApiError> {
    desk.agent.unrate(&desk.scope, &path.id).await?;
    Ok(StatusCode::NO_CONTENT)
}
