//! What is public of a persona.

use aide::axum::{ApiRouter, routing::get_with};
use axum::Json;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    extract::{Given, Segments},
    personas::PersonaPath,
};
use crate::{
    domain::{
        change::Outcome,
        error::ApiError,
        id::PersonaId,
        publication::{PublishWish, Published},
        version::Revision,
    },
    state::{AppState, Desk},
};

pub fn routes() -> ApiRouter<AppState> {
    ApiRouter::new().api_route(
        "/api/storage/personas/{id}/publication",
        get_with(read, |op| op.summary("What is public of a persona; 404 when nothing is."))
            .post_with(publish, |op| {
                op.summary("Make a version public, or change what its page shows.")
            })
            .delete_with(unpublish, |op| op.summary("Take the public page away.")),
    )
}

/// What is public of a persona.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PublicationBody {
    /// The persona.
    persona_id: PersonaId,
    /// The version that the persona is at, which may be a later one.
    current_revision: Revision,
    /// The path of the page.
    path: String,
    #[serde(flatten)]
    published: Published,
}

async fn body(desk: &Desk, id: PersonaId) -> Result<Json<PublicationBody>, ApiError> {
    let mut link = desk.read().await?;
    let current_revision = link.persona(&id).await?.revision;
    let published = link.publication(&id).await?;
    let published = published.ok_or_else(|| ApiError::not_found("public page"))?;
    let path = published.publication.path();
    Ok(Json(PublicationBody { persona_id: id, current_revision, path, published }))
}

async fn read(
    desk: Desk,
    Segments(path): Segments<PersonaPath>,
) -> Result<Json<PublicationBody>, ApiError> {
    body(&desk, path.id).await
}

async fn publish(
    desk: Desk,
    Segments(path): Segments<PersonaPath>,
    Given(wish): Given<PublishWish>,
) -> Result<Json<PublicationBody>, ApiError> {
    desk.gate.publish(&path.id, wish).await?;
    body(&desk, path.id).await
}

async fn unpublish(
    desk: Desk,
    Segments(path): Segments<PersonaPath>,
) -> Result<Json<Outcome>, ApiError> {
    Ok(Json(desk.gate.unpublish(&path.id).await?))
}
