//! Whether the server lives, and whether it can work.

use aide::axum::{ApiRouter, routing::get_with};
use axum::{Json, extract::State};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{domain::error::ApiError, state::AppState};

/// The answer of a server that is well.
#[derive(Serialize, JsonSchema)]
struct Health {
    /// Always `ok`.
    status: &'static str,
}

pub fn routes() -> ApiRouter<AppState> {
    ApiRouter::new()
        .api_route("/healthz", get_with(alive, |op| op.summary("The server lives.")))
        .api_route(
            "/readyz",
            get_with(ready, |op| op.summary("The database is reachable and up to date.")),
        )
}

async fn alive() -> Json<Health> {
    Json(Health { status: "ok" })
}

async fn ready(State(state): State<AppState>) -> Result<Json<Health>, ApiError> {
    state.store.check().await?;
    // Until it is known who may come in, nobody does.
    if state.access.mode().is_none() {
        return Err(ApiError::Unavailable);
    }
    Ok(Json(Health { status: "ok" }))
}
