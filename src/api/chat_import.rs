//! Chats that come in as files: from a program as JSON, from a page as a form with a file.

use aide::axum::{ApiRouter, routing::post_with};
use axum::{
    Router,
    extract::{DefaultBodyLimit, Multipart, multipart::MultipartError},
    http::StatusCode,
    response::Redirect,
    routing::post,
};
use leptos::server_fn::error::ServerFnUrlError;

use super::extract::{Body, Created, parse};
use crate::{
    agent::ChatFile,
    domain::{
        chat::Chat,
        error::ApiError,
        id::{ConversationId, PersonaId},
    },
    state::{AppState, Desk},
};

/// The largest file that is taken.
pub const MAX_FILE_BYTES: usize = 32 * 1024 * 1024;
/// The page with the form.
const PAGE: &str = "/chats";

/// The routes that take larger bodies than all others.
pub fn routes() -> ApiRouter<AppState> {
    let form = Router::new().route("/api/chats/import-file", post(import_form));
    ApiRouter::new()
        .api_route(
            "/api/chats/import",
            post_with(import, |op| op.summary("A new chat from a file.")),
        )
        .merge(form)
        .layer(DefaultBodyLimit::max(MAX_FILE_BYTES))
}

async fn import(
    desk: Desk,
    file: Result<Body<ChatFile>, ApiError>,
) -> Result<Created<Chat>, ApiError> {
    let Body(file) = file.map_err(|error| match error {
        ApiError::TooLarge { .. } => too_large(),
        other => other,
    })?;
    Ok(Created(desk.agent.import_chat(&desk.scope, file).await?))
}

/// Takes the form, and leads to the new chat or back to the form with a sentence that says why not.
async fn import_form(desk: Desk, form: Multipart) -> Redirect {
    match import_file(desk, form).await {
        Ok(chat) => Redirect::to(&format!("{PAGE}/{chat}")),
        Err(error) => Redirect::to(&refused_at(PAGE, error)),
    }
}

async fn import_file(desk: Desk, mut form: Multipart) -> Result<ConversationId, ApiError> {
    let (mut file, mut persona) = (None, None);
    while let Some(field) = form.next_field().await.map_err(unreadable)? {
        match field.name() {
            Some("file") => file = Some(field.bytes().await.map_err(unreadable)?),
            Some("persona") => persona = Some(field.text().await.map_err(unreadable)?),
            _ => {}
        }
    }
    let file = file.filter(|file| !file.is_empty());
    let file = file.ok_or_else(|| ApiError::invalid("file", "Choose a file to import."))?;
    let mut chat: ChatFile = parse(&file).map_err(|error| match error {
        ApiError::Malformed { problem } => {
            let problem = problem.replace("its body", "it");
            ApiError::invalid("file", format!("The file could not be read: {problem}."))
        }
        other => other,
    })?;
    if let Some(persona) = persona.filter(|persona| !persona.is_empty()) {
        chat.persona_id = PersonaId::new(persona);
    }
    Ok(desk.agent.import_chat(&desk.scope, chat).await?.id)
}

fn unreadable(error: MultipartError) -> ApiError {
    unreadable_file(error, MAX_FILE_BYTES)
}

/// Why a form with files cannot be read, when it may have so many bytes.
pub fn unreadable_file(error: MultipartError, limit: usize) -> ApiError {
    match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => ApiError::TooLarge { limit_kib: limit as u64 / 1024 },
        _ => ApiError::invalid("file", "The file could not be read whole."),
    }
}

fn too_large() -> ApiError {
    ApiError::TooLarge { limit_kib: MAX_FILE_BYTES as u64 / 1024 }
}

/// A form's page with the reason, as plain forms of server functions are answered.
pub fn refused_at(page: &str, error: ApiError) -> String {
    // The base is only there because an address without one cannot be parsed.
    let told = ServerFnUrlError::new(page, error).to_url(&format!("http://greenroom{page}"));
    let query = told.ok().and_then(|url| url.query().map(str::to_owned));
    format!("{page}?{}", query.unwrap_or_default())
}
