//! Personas that come in as character cards: from a program as the file itself, from a page as a form with a
//! file.

use aide::{
    OperationInput,
    axum::{ApiRouter, routing::post_with},
    generate::GenContext,
    openapi::{MediaType, Operation, RequestBody, SchemaObject},
    operation::set_body,
};
use axum::{
    Router,
    body::Bytes,
    extract::{FromRequest, Multipart, Request, multipart::MultipartError},
    http::StatusCode,
    response::{IntoResponse, Redirect},
    routing::post,
};
use schemars::{JsonSchema, json_schema};
use serde::Serialize;

use super::{
    chat_import::{refused_at, taking_form, unreadable_file},
    extract::{Created, taking},
};
use crate::{
    cards::{self, Card, MAX_FILE_BYTES},
    changes::to_fields,
    domain::{
        change::{Change, Op},
        error::ApiError,
        id::{PersonaId, TestInputId},
        message::Role,
        persona::Persona,
        proposal::Source,
        test_input::{Before, TestInputFields},
    },
    state::{AppState, Desk},
    store::new_id,
};

/// Where a program sends a card.
pub const IMPORT: &str = "/api/storage/personas/import";
/// Where the form does.
pub const IMPORT_FILE: &str = "/api/storage/personas/import-file";
/// The page with the form.
const PAGE: &str = "/";
/// What is said after a greeting.
const SAID: &str = "Hello.";

/// The routes that take larger bodies than most others.
pub fn routes() -> ApiRouter<AppState> {
    let form = Router::new().route("/api/storage/personas/import-file", post(import_form));
    let summary = "A new persona from a character card: JSON, PNG or CHARX, as the whole body.";
    let routes = ApiRouter::new().api_route(IMPORT, post_with(import, |op| op.summary(summary)));
    taking(MAX_FILE_BYTES, routes).merge(taking_form(MAX_FILE_BYTES, PAGE, form))
}

/// A new persona, and what of its card was left out.
#[derive(Serialize, JsonSchema)]
struct ImportedPersona {
    /// The persona.
    #[serde(flatten)]
    persona: Persona,
    /// What of the card was left out, in sentences.
    left: Vec<String>,
}

/// A card, as it is.
struct CardFile(Bytes);

impl<S: Send + Sync> FromRequest<S> for CardFile {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let read = Bytes::from_request(request, state).await;
        read.map(Self).map_err(|rejection| match rejection.into_response().status() {
            StatusCode::PAYLOAD_TOO_LARGE => {
                ApiError::TooLarge { limit_kib: MAX_FILE_BYTES as u64 / 1024 }
            }
            _ => ApiError::Malformed { problem: "its body broke off".into() },
        })
    }
}

impl OperationInput for CardFile {
    fn operation_input(context: &mut GenContext, operation: &mut Operation) {
        let kind = |schema| MediaType {
            schema: Some(SchemaObject { json_schema: schema, external_docs: None, example: None }),
            ..MediaType::default()
        };
        let content = [
            ("application/json".to_owned(), kind(json_schema!({"type": "object"}))),
            (
                "application/octet-stream".to_owned(),
                kind(json_schema!({"type": "string", "format": "binary"})),
            ),
        ];
        let body = RequestBody {
            description: Some(
                "The card: JSON, a PNG with a card in it, or a CHARX archive.".into(),
            ),
            content: content.into_iter().collect(),
            required: true,
            ..RequestBody::default()
        };
        set_body(context, operation, body);
    }
}

async fn import(
    desk: Desk,
    CardFile(file): CardFile,
) -> Result<Created<ImportedPersona>, ApiError> {
    let card = cards::read(&file)?;
    let left = card.left.clone();
    let id = make(&desk, card).await?;
    Ok(Created(ImportedPersona { persona: desk.read().await?.persona(&id).await?, left }))
}

/// Takes the form, and leads to the new persona or back to the form with a sentence that says why not.
async fn import_form(desk: Desk, form: Multipart) -> Redirect {
    match import_file(desk, form).await {
        Ok(persona) => Redirect::to(&format!("/personas/{persona}")),
        Err(error) => Redirect::to(&refused_at(PAGE, error)),
    }
}

async fn import_file(desk: Desk, mut form: Multipart) -> Result<PersonaId, ApiError> {
    let unreadable = |error: MultipartError| unreadable_file(error, MAX_FILE_BYTES);
    let mut file = Bytes::new();
    while let Some(field) = form.next_field().await.map_err(unreadable)? {
        if field.name() == Some("file") {
            file = field.bytes().await.map_err(unreadable)?;
        }
    }
    if file.is_empty() {
        return Err(ApiError::invalid("file", "Choose a file to import."));
    }
    make(&desk, cards::read(&file)?).await
}

/// Makes the persona, and a test input that answers each of its greetings.
async fn make(desk: &Desk, card: Card) -> Result<PersonaId, ApiError> {
    let id: PersonaId = new_id();
    let persona = Change::new(&id, Op::Create).with(to_fields(&card.persona)?);
    let mut changes = vec![persona.because("Imported from a character card.")];
    for greeting in card.greetings {
        let fields = TestInputFields {
            content: SAID.into(),
            history: vec![Before { role: Role::Assistant, content: greeting }],
            ..TestInputFields::default()
        };
        let input: TestInputId = new_id();
        let change = Change::new(&input, Op::Create).with(to_fields(&fields)?);
        changes.push(change.set("personaId", id.as_str()));
    }
    for change in &mut changes {
        // Nobody here need have written it: drafts that are made after it was read say so.
        let (entity, title) = (change.entity.clone(), "a character card".into());
        change.untrusted = [Source { entity, title, passage: String::new() }].into_iter().collect();
    }
    desk.gate.submit_all(changes).await?;
    Ok(id)
}
