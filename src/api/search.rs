//! Searching.

use aide::axum::{ApiRouter, routing::get_with};
use axum::Json;
use schemars::JsonSchema;
use serde::Deserialize;

use super::extract::Params;
use crate::{
    domain::{
        error::ApiError,
        search::{Found, SearchKind},
    },
    search::Question,
    state::{AppState, Desk},
};

/// How many hits there are when nobody says otherwise, and at the most.
const HITS: u32 = 20;
const MAX_HITS: u32 = 100;

pub fn routes() -> ApiRouter<AppState> {
    let summary = "What fits best: all words must match, the last as a beginning (and every word of three \
                   letters or more where nothing has them all), and quoted words must follow each other.";
    ApiRouter::new().api_route("/api/search", get_with(find, |op| op.summary(summary)))
}

#[derive(Deserialize, JsonSchema)]
struct SearchParams {
    /// What is looked for, as it was typed.
    q: Option<String>,
    /// Only things of this kind.
    kind: Option<SearchKind>,
    /// How many at most; 20 unless said, 100 at the most.
    limit: Option<u32>,
}

async fn find(desk: Desk, Params(params): Params<SearchParams>) -> Result<Json<Found>, ApiError> {
    let question = Question {
        text: params.q.as_deref().unwrap_or_default(),
        kind: params.kind,
        limit: params.limit.unwrap_or(HITS).clamp(1, MAX_HITS),
    };
    Ok(Json(desk.search.find(&desk.scope.space, question).await?))
}
