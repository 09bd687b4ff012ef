//! The bin.

use aide::axum::{
    ApiRouter,
    routing::{delete_with, get_with, post_with},
};
use axum::Json;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::extract::{Params, Segments, page_size};
use crate::{
    domain::{
        audit::{Binned, BinnedKind},
        change::Outcome,
        error::ApiError,
        list::Page,
    },
    state::{AppState, Desk},
};

pub fn routes() -> ApiRouter<AppState> {
    ApiRouter::new()
        .api_route(
            "/api/storage/bin",
            get_with(list, |op| op.summary("What lies in the bin, the last deleted first."))
                .delete_with(empty, |op| op.summary("Empty the bin, for good.")),
        )
        .api_route(
            "/api/storage/bin/{entityType}/{id}",
            delete_with(purge, |op| op.summary("Remove one thing from the bin, for good.")),
        )
        .api_route(
            "/api/storage/bin/{entityType}/{id}/restore",
            post_with(restore, |op| op.summary("Take one thing out of the bin.")),
        )
}

#[derive(Deserialize, JsonSchema)]
struct ListParams {
    /// Where to go on: the `next` of the page before.
    after: Option<String>,
    /// How many at most; 50 unless said, 200 at the most.
    limit: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct BinPath {
    /// What it is.
    entity_type: BinnedKind,
    /// Which one.
    id: String,
}

/// How much was removed.
#[derive(Serialize, JsonSchema)]
struct Emptied {
    /// How many things are gone.
    removed: usize,
}

async fn list(
    desk: Desk,
    Params(params): Params<ListParams>,
) -> Result<Json<Page<Binned>>, ApiError> {
    let mut link = desk.read().await?;
    Ok(Json(link.bin(params.after.as_deref(), page_size(params.limit)).await?))
}

async fn empty(desk: Desk) -> Result<Json<Emptied>, ApiError> {
    let removed = desk.gate.empty_bin().await?;
    Ok(Json(Emptied { removed }))
}

async fn purge(desk: Desk, Segments(path): Segments<BinPath>) -> Result<Json<Outcome>, ApiError> {
    Ok(Json(desk.purge_binned(path.entity_type, &path.id).await?))
}

async fn restore(desk: Desk, Segments(path): Segments<BinPath>) -> Result<Json<Outcome>, ApiError> {
    Ok(Json(desk.restore_binned(path.entity_type, &path.id).await?))
}
