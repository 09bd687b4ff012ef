//! Taking changes back, and reading what was done.

use aide::axum::{
    ApiRouter,
    routing::{get_with, post_with},
};
use axum::Json;
use schemars::JsonSchema;
use serde::Deserialize;

use super::extract::{Params, Segments, page_size};
use crate::{
    domain::{
        audit::AuditEntry,
        change::Outcome,
        error::ApiError,
        id::{AuditId, ChangeId},
        list::Page,
    },
    state::{AppState, Desk},
};

pub fn routes() -> ApiRouter<AppState> {
    ApiRouter::new()
        .api_route(
            "/api/changes/{id}/undo",
            post_with(undo, |op| op.summary("Take an applied change back.")),
        )
        .api_route("/api/audit", get_with(audit, |op| op.summary("What was done, the last first.")))
}

#[derive(Deserialize, JsonSchema)]
struct ChangePath {
    /// The change.
    id: ChangeId,
}

#[derive(Deserialize, JsonSchema)]
struct AuditParams {
    /// Where to go on: the `next` of the page before.
    after: Option<AuditId>,
    /// How many at most; 50 unless said, 200 at the most.
    limit: Option<u32>,
}

async fn undo(desk: Desk, Segments(path): Segments<ChangePath>) -> Result<Json<Outcome>, ApiError> {
    Ok(Json(desk.gate.undo(&path.id).await?))
}

async fn audit(
    desk: Desk,
    Params(params): Params<AuditParams>,
) -> Result<Json<Page<AuditEntry>>, ApiError> {
    let mut link = desk.read().await?;
    Ok(Json(link.audit(params.after.as_ref(), page_size(params.limit)).await?))
}
