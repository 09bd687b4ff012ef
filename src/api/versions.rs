//! Versions of personas and the labels on them.

use aide::axum::{
    ApiRouter,
    routing::{get_with, post_with, put_with},
};
use axum::Json;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    extract::{Body, Params, Segments, page_size},
    personas::PersonaPath,
};
use crate::{
    domain::{
        change::{Change, Op, Outcome},
        diff::FieldDiff,
        error::ApiError,
        id::PersonaId,
        list::Page,
        persona::Persona,
        version::{Revision, Version, VersionSummary, differences},
    },
    state::{AppState, Desk},
};

pub fn routes() -> ApiRouter<AppState> {
    ApiRouter::new()
        .api_route(
            "/api/storage/personas/{id}/versions",
            get_with(list, |op| op.summary("The versions of a persona, newest first.")),
        )
        .api_route(
            "/api/storage/personas/{id}/versions/{revision}",
            get_with(read, |op| op.summary("One version.")),
        )
        .api_route(
            "/api/storage/personas/{id}/versions/{revision}/restore",
            post_with(restore, |op| op.summary("Make an old version the newest one.")),
        )
        .api_route(
            "/api/storage/personas/{id}/diff",
            get_with(diff, |op| op.summary("What differs between two versions, word by word.")),
        )
        .api_route(
            "/api/storage/personas/{id}/labels/{label}",
            put_with(set_label, |op| op.summary("Point a label at a version."))
                .delete_with(remove_label, |op| op.summary("Take a label away.")),
        )
}

#[derive(Deserialize, JsonSchema)]
struct ListParams {
    /// Only versions before this one.
    after: Option<Revision>,
    /// How many at most; 50 unless said, 200 at the most.
    limit: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
struct VersionPath {
    /// The persona.
    id: PersonaId,
    /// The version's number.
    revision: Revision,
}

#[derive(Deserialize, JsonSchema)]
struct DiffParams {
    /// The older version.
    from: Revision,
    /// The newer version.
    to: Revision,
}

#[derive(Deserialize, JsonSchema)]
struct LabelPath {
    /// The persona.
    id: PersonaId,
    /// The label.
    label: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LabelTarget {
    /// The version that the label shall point at.
    revision: Revision,
}

async fn list(
    desk: Desk,
    Segments(path): Segments<PersonaPath>,
    Params(params): Params<ListParams>,
) -> Result<Json<Page<VersionSummary>>, ApiError> {
    let mut link = desk.read().await?;
    Ok(Json(link.versions(&path.id, params.after, page_size(params.limit)).await?))
}

async fn read(
    desk: Desk,
    Segments(path): Segments<VersionPath>,
) -> Result<Json<Version>, ApiError> {
    Ok(Json(desk.read().await?.version(&path.id, path.revision).await?))
}

async fn restore(
    desk: Desk,
    Segments(path): Segments<VersionPath>,
) -> Result<Json<Persona>, ApiError> {
    desk.gate.restore_version(&path.id, path.revision).await?;
    Ok(Json(desk.read().await?.persona(&path.id).await?))
}

async fn diff(
    desk: Desk,
    Segments(path): Segments<PersonaPath>,
    Params(params): Params<DiffParams>,
) -> Result<Json<Vec<FieldDiff>>, ApiError> {
    let mut link = desk.read().await?;
    let from = link.version(&path.id, params.from).await?;
    let to = link.version(&path.id, params.to).await?;
    Ok(Json(differences(&from.fields, &to.fields)))
}

async fn set_label(
    desk: Desk,
    Segments(path): Segments<LabelPath>,
    Body(target): Body<LabelTarget>,
) -> Result<Json<Outcome>, ApiError> {
    let change =
        Change::new(&path.id, Op::Label).set("label", path.label).set("revision", target.revision);
    Ok(Json(desk.gate.submit(change).await?))
}

async fn remove_label(
    desk: Desk,
    Segments(path): Segments<LabelPath>,
) -> Result<Json<Outcome>, ApiError> {
    let change = Change::new(&path.id, Op::Label).set("label", path.label);
    Ok(Json(desk.gate.submit(change).await?))
}
