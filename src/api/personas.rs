//! Personas: list, make, read, change, copy, delete.

use aide::axum::{
    ApiRouter,
    routing::{get_with, post_with},
};
use axum::Json;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    card_import::{IMPORT, IMPORT_FILE},
    extract::{Body, Created, Params, Segments, identifier, page_size},
};
use crate::{
    changes::to_fields,
    domain::{
        change::{Change, Op, Outcome},
        error::ApiError,
        id::PersonaId,
        list::Page,
        persona::{Persona, PersonaFields, PersonaSummary, RoleplayData, Tier},
        version::Revision,
    },
    state::{AppState, Desk},
};

pub fn routes() -> ApiRouter<AppState> {
    ApiRouter::new()
        .api_route(
            "/api/storage/personas",
            get_with(list, |op| op.summary("Personas, the last changed first."))
                .post_with(create, |op| op.summary("Make a persona.")),
        )
        .api_route(
            "/api/storage/personas/{id}",
            get_with(read, |op| op.summary("One persona."))
                .put_with(update, |op| op.summary("Change some fields of a persona."))
                .delete_with(delete, |op| op.summary("Move a persona to the bin.")),
        )
        .api_route(
            "/api/storage/personas/{id}/duplicate",
            post_with(duplicate, |op| op.summary("Copy a persona with its test inputs.")),
        )
}

/// A persona in the path.
#[derive(Deserialize, JsonSchema)]
pub struct PersonaPath {
    /// The persona.
    pub id: PersonaId,
}

#[derive(Deserialize, JsonSchema)]
struct ListParams {
    /// Looked for in the names.
    search: Option<String>,
    /// Where to go on: the `next` of the page before.
    after: Option<String>,
    /// How many at most; 50 unless said, 200 at the most.
    limit: Option<u32>,
}

/// A new persona. Only the name is needed.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct NewPersona {
    /// The identifier it shall have: letters, digits, dashes and underscores; made up when absent.
    id: Option<String>,
    /// The name, up to 200 characters on one line.
    name: String,
    /// The system prompt, up to 100 000 characters.
    #[serde(default)]
    system_prompt: String,
    /// How it looks.
    #[serde(default)]
    appearance: String,
    /// What its author wants to remember.
    #[serde(default)]
    notes: String,
    /// The model string.
    #[serde(default)]
    model: String,
    /// The names of the tools it may use.
    #[serde(default)]
    tools: Vec<String>,
    /// How far its agent may go by itself.
    #[serde(default)]
    tier: Tier,
    /// The identifier of the picture that is its face.
    #[serde(default)]
    face: String,
    /// Why, for the list of versions.
    #[serde(default)]
    reason: String,
}

/// What changes. Absent fields stay as they are.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PersonaChanges {
    /// The revision that the changes were written against. When the persona has moved on, they are
    /// merged, or answered with 409 and both texts. Absent: whatever is there now.
    #[serde(alias = "baseRevision", skip_serializing)]
    revision: Option<Revision>,
    /// Why, for the list of versions.
    #[serde(default, skip_serializing)]
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_prompt: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    appearance: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notes: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tier: Option<Tier>,
    #[serde(skip_serializing_if = "Option::is_none")]
    face: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    roleplay_data: Option<RoleplayData>,
    /// Cannot be changed; may be sent along as it was read.
    #[serde(skip_serializing)]
    id: Option<Value>,
    /// Cannot be changed here; may be sent along as it was read.
    #[serde(skip_serializing)]
    test_input_ids: Option<Value>,
    /// Cannot be changed here; may be sent along as it was read.
    #[serde(skip_serializing)]
    agent_chat_session_id: Option<Value>,
    /// Cannot be changed; may be sent along as it was read.
    #[serde(skip_serializing)]
    created_at: Option<Value>,
    /// Cannot be changed; may be sent along as it was read.
    #[serde(skip_serializing)]
    #[expect(dead_code, reason = "taken so that what was read can be sent back, and never used")]
    updated_at: Option<Value>,
}

impl PersonaChanges {
    /// Refuses a read-only field with another value than the persona has.
    fn check_read_only(&self, persona: &Persona) -> Result<(), ApiError> {
        let now = to_fields(persona)?;
        let sent = [
            ("id", &self.id),
            ("testInputIds", &self.test_input_ids),
            ("agentChatSessionId", &self.agent_chat_session_id),
            ("createdAt", &self.created_at),
        ];
        for (field, value) in sent {
            if value.as_ref().is_some_and(|value| now.get(field) != Some(value)) {
                return Err(ApiError::invalid(field, format!("“{field}” cannot be changed here.")));
            }
        }
        Ok(())
    }
}

async fn list(
    desk: Desk,
    Params(params): Params<ListParams>,
) -> Result<Json<Page<PersonaSummary>>, ApiError> {
    let search = params.search.unwrap_or_default();
    let mut link = desk.read().await?;
    let page = link.personas(&search, params.after.as_deref(), page_size(params.limit)).await?;
    Ok(Json(page))
}

async fn create(desk: Desk, Body(new): Body<NewPersona>) -> Result<Created<Persona>, ApiError> {
    let id: PersonaId = identifier(new.id)?;
    if [IMPORT, IMPORT_FILE].iter().any(|path| path.ends_with(&format!("/{id}"))) {
        let rule = format!("“{id}” cannot be a persona's identifier.");
        return Err(ApiError::invalid("id", rule));
    }
    let fields = PersonaFields {
        name: new.name,
        system_prompt: new.system_prompt,
        appearance: new.appearance,
        notes: new.notes,
        model: new.model,
        tools: new.tools,
        tier: new.tier,
        face: new.face,
        roleplay_data: None,
    };
    let change = Change::new(&id, Op::Create).with(to_fields(&fields)?).because(new.reason);
    desk.gate.submit(change).await?;
    Ok(Created(desk.read().await?.persona(&id).await?))
}

async fn read(
    desk: Desk,
    Segments(path): Segments<PersonaPath>,
) -> Result<Json<Persona>, ApiError> {
    Ok(Json(desk.read().await?.persona(&path.id).await?))
}

async fn update(
    desk: Desk,
    Segments(path): Segments<PersonaPath>,
    Body(changes): Body<PersonaChanges>,
) -> Result<Json<Persona>, ApiError> {
    changes.check_read_only(&desk.read().await?.persona(&path.id).await?)?;
    let change = Change::new(&path.id, Op::Update)
        .with(to_fields(&changes)?)
        .based_on(changes.revision)
        .because(changes.reason);
    desk.gate.submit(change).await?;
    Ok(Json(desk.read().await?.persona(&path.id).await?))
}

async fn delete(
    desk: Desk,
    Segments(path): Segments<PersonaPath>,
) -> Result<Json<Outcome>, ApiError> {
    desk.read().await?.persona(&path.id).await?;
    let change = Change::new(&path.id, Op::Delete);
    Ok(Json(desk.gate.submit(change).await?))
}

async fn duplicate(
    desk: Desk,
    Segments(path): Segments<PersonaPath>,
) -> Result<Created<Persona>, ApiError> {
    let copy = desk.gate.duplicate_persona(&path.id).await?;
    Ok(Created(desk.read().await?.persona(&copy).await?))
}
