//! What a Space lets its runs take, and what of it is taken.

use aide::axum::{ApiRouter, routing::get_with};
use axum::Json;
use schemars::JsonSchema;
use serde::Serialize;

use super::extract::Body;
use crate::{
    domain::{
        budget::{Budgets, Taken},
        error::ApiError,
    },
    state::{AppState, Desk},
};

pub fn routes() -> ApiRouter<AppState> {
    ApiRouter::new().api_route(
        "/api/budgets",
        get_with(read, |op| op.summary("What runs may take, and what they took today."))
            .put_with(set, |op| {
                op.summary("Set what runs may take; what is left out is not limited.")
            }),
    )
}

/// What runs may take, and what they took.
#[derive(Serialize, JsonSchema)]
struct Standing {
    /// What they may take.
    budgets: Budgets,
    /// What they took today (UTC).
    today: Taken,
}

async fn read(desk: Desk) -> Result<Json<Standing>, ApiError> {
    let budgets = desk.agent.budgets(&desk.scope).await?;
    Ok(Json(Standing { budgets, today: desk.agent.taken_today(&desk.scope).await? }))
}

async fn set(desk: Desk, Body(budgets): Body<Budgets>) -> Result<Json<Standing>, ApiError> {
    desk.agent.set_budgets(&desk.scope, budgets).await?;
    read(desk).await
}
