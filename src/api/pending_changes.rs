//! Drafts that wait for a person, and deciding on them.

use aide::axum::{
    ApiRouter,
    routing::{get_with, post_with},
};
use axum::Json;
use schemars::JsonSchema;
use serde::Deserialize;

use super::extract::{Given, Params, Segments, page_size};
use crate::{
    domain::{
        change::{ChangeState, Outcome},
        error::ApiError,
        id::{ChangeId, PersonaId},
        list::Page,
        proposal::{Approval, Proposal},
    },
    state::{AppState, Desk},
};

pub fn routes() -> ApiRouter<AppState> {
    ApiRouter::new()
        .api_route(
            "/api/pending-changes",
            get_with(list, |op| op.summary("Drafts by state, the last first.")),
        )
        .api_route("/api/pending-changes/{id}", get_with(one, |op| op.summary("A draft.")))
        .api_route(
            "/api/pending-changes/{id}/approve",
            post_with(approve, |op| {
                op.summary("Accept a draft: whole, in part, or in one's own words.")
            }),
        )
        .api_route(
            "/api/pending-changes/{id}/reject",
            post_with(reject, |op| op.summary("Reject a draft, with a reason.")),
        )
        .api_route(
            "/api/pending-changes/{id}/reopen",
            post_with(reopen, |op| op.summary("Take a rejection back: the draft waits again.")),
        )
}

#[derive(Deserialize, JsonSchema)]
struct DraftPath {
    /// The draft.
    id: ChangeId,
}

#[derive(Deserialize, JsonSchema)]
struct ListParams {
    /// Where they stand: `pending` unless said.
    state: Option<ChangeState>,
    /// Only those that this persona's agent proposed, or that are about this persona or its test inputs.
    #[serde(rename = "personaId")]
    persona_id: Option<PersonaId>,
    /// Where to go on: the `next` of the page before.
    after: Option<ChangeId>,
    /// How many at most; 50 unless said, 200 at the most.
    limit: Option<u32>,
}

/// Why a draft is rejected.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Rejection {
    /// The reason; whoever proposed it is told.
    reason: String,
}

async fn list(
    desk: Desk,
    Params(params): Params<ListParams>,
) -> Result<Json<Page<Proposal>>, ApiError> {
    let state = params.state.unwrap_or(ChangeState::Pending);
    let limit = page_size(params.limit);
    let (persona, after) = (params.persona_id.as_ref(), params.after.as_ref());
    Ok(Json(desk.gate.proposals(state, persona, after, limit).await?))
}

async fn one(desk: Desk, Segments(path): Segments<DraftPath>) -> Result<Json<Proposal>, ApiError> {
    Ok(Json(desk.gate.proposal(&path.id).await?))
}

async fn approve(
    desk: Desk,
    Segments(path): Segments<DraftPath>,
    Given(approval): Given<Approval>,
) -> Result<Json<Outcome>, ApiError> {
    Ok(Json(desk.gate.approve(&path.id, &approval).await?))
}

async fn reject(
    desk: Desk,
    Segments(path): Segments<DraftPath>,
    Given(rejection): Given<Rejection>,
) -> Result<Json<Outcome>, ApiError> {
    Ok(Json(desk.gate.reject(&path.id, &rejection.reason).await?))
}

async fn reopen(
    desk: Desk,
    Segments(path): Segments<DraftPath>,
) -> Result<Json<Outcome>, ApiError> {
    Ok(Json(desk.gate.reopen(&path.id).await?))
}
