//! Test inputs of a persona.

use aide::axum::{ApiRouter, routing::get_with};
use axum::Json;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    extract::{Body, Created, Segments},
    personas::PersonaPath,
};
use crate::{
    domain::{
        change::{Change, Op, Outcome},
        error::ApiError,
        id::{PersonaId, TestInputId},
        list::Page,
        test_input::{Move, TestInput},
        version::Revision,
    },
    state::{AppState, Desk},
    store::new_id,
};

pub fn routes() -> ApiRouter<AppState> {
    ApiRouter::new()
        .api_route(
            "/api/storage/personas/{id}/test-inputs",
            get_with(list, |op| op.summary("The test inputs of a persona, in order."))
                .post_with(create, |op| op.summary("Add a test input.")),
        )
        .api_route(
            "/api/storage/personas/{id}/test-inputs/{testInputId}",
            get_with(read, |op| op.summary("One test input."))
                .put_with(update, |op| op.summary("Rewrite or move a test input."))
                .delete_with(delete, |op| op.summary("Move a test input to the bin.")),
        )
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TestInputPath {
    /// The persona.
    id: PersonaId,
    /// The test input.
    test_input_id: TestInputId,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewTestInput {
    /// What is said, up to 50 000 characters.
    content: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct TestInputChanges {
    /// What is said, up to 50 000 characters.
    content: Option<String>,
    /// One place up or down.
    #[serde(rename = "move")]
    way: Option<Move>,
    /// The revision that the content was written against.
    #[serde(alias = "baseRevision")]
    revision: Option<Revision>,
}

async fn list(
    desk: Desk,
    Segments(path): Segments<PersonaPath>,
) -> Result<Json<Page<TestInput>>, ApiError> {
    let mut link = desk.read().await?;
    link.persona(&path.id).await?;
    Ok(Json(Page { items: link.test_inputs(&path.id).await?, next: None }))
}

async fn create(
    desk: Desk,
    Segments(path): Segments<PersonaPath>,
    Body(new): Body<NewTestInput>,
) -> Result<Created<TestInput>, ApiError> {
    let id: TestInputId = new_id();
    let change =
        Change::new(&id, Op::Create).set("content", new.content).set("personaId", path.id.as_str());
    desk.gate.submit(change).await?;
    Ok(Created(desk.read().await?.test_input(&id).await?))
}

/// The test input, if it is this persona's.
async fn find(desk: &Desk, path: &TestInputPath) -> Result<TestInput, ApiError> {
    let found = desk.read().await?.test_input(&path.test_input_id).await?;
    if found.persona_id == path.id { Ok(found) } else { Err(ApiError::not_found("test input")) }
}

async fn read(
    desk: Desk,
    Segments(path): Segments<TestInputPath>,
) -> Result<Json<TestInput>, ApiError> {
    Ok(Json(find(&desk, &path).await?))
}

async fn update(
    desk: Desk,
    Segments(path): Segments<TestInputPath>,
    Body(changes): Body<TestInputChanges>,
) -> Result<Json<TestInput>, ApiError> {
    find(&desk, &path).await?;
    if let Some(content) = changes.content {
        let change = Change::new(&path.test_input_id, Op::Update)
            .set("content", content)
            .based_on(changes.revision);
        desk.gate.submit(change).await?;
    }
    if let Some(way) = changes.way {
        let id = &path.test_input_id;
        desk.gate.move_test_input(id, way).await?;
    }
    Ok(Json(find(&desk, &path).await?))
}

async fn delete(
    desk: Desk,
    Segments(path): Segments<TestInputPath>,
) -> Result<Json<Outcome>, ApiError> {
    find(&desk, &path).await?;
    let change = Change::new(&path.test_input_id, Op::Delete);
    Ok(Json(desk.gate.submit(change).await?))
}
