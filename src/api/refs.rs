//! What only refs can do: fetching the text that their address points at.

use aide::axum::{ApiRouter, routing::post_with};
use axum::Json;
use schemars::JsonSchema;
use serde::Deserialize;

use super::extract::Segments;
use crate::{
    domain::{
        error::ApiError,
        id::RefId,
        knowledge::{EntryOf, RefFields},
    },
    state::{AppState, Desk},
};

pub fn routes() -> ApiRouter<AppState> {
    let summary = "Fetch the text that a ref's address points at, now, as its next version.";
    ApiRouter::new()
        .api_route("/api/storage/refs/{id}/fetch", post_with(fetch, |op| op.summary(summary)))
}

#[derive(Deserialize, JsonSchema)]
struct RefPath {
    /// The ref.
    id: RefId,
}

async fn fetch(
    desk: Desk,
    Segments(path): Segments<RefPath>,
) -> Result<Json<EntryOf<RefFields>>, ApiError> {
    desk.fetch_ref(&path.id).await?;
    Ok(Json(desk.read().await?.entry::<RefFields>(&path.id).await?))
}
