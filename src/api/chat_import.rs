//! Chats that come in as files: from a program as JSON, from a page as a form with a file.

use aide::axum::{ApiRouter, routing::post_with};
use axum::{
    Router,
    extract::{DefaultBodyLimit, Multipart, Request, State, multipart::MultipartError},
    http::{StatusCode, header},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Redirect, Response},
    routing::post,
};
use futures_util::StreamExt as _;
use leptos::server_fn::error::ServerFnUrlError;

use super::extract::{Body, Created, parse, taking, turn};
use crate::{
    agent::{ChatFile, ImportedChat},
    domain::{
        chat::{MAX_FILE_MIB, SETTINGS},
        error::ApiError,
        id::PersonaId,
    },
    state::{AppState, Desk},
};

/// The largest file that is taken.
pub const MAX_FILE_BYTES: usize = MAX_FILE_MIB * 1024 * 1024;
/// How much of a form whose file is too large is heard out, so that whoever sent it is told why.
const MAX_HEARD_BYTES: usize = 4 * MAX_FILE_BYTES;
/// The page with the form.
const PAGE: &str = "/chats";

/// The routes that take larger bodies than all others.
pub fn routes() -> ApiRouter<AppState> {
    let form = Router::new().route("/api/chats/import-file", post(import_form));
    let routes = ApiRouter::new().api_route(
        "/api/chats/import",
        post_with(import, |op| op.summary("A new chat from a file, whole or not at all.")),
    );
    taking(MAX_FILE_BYTES, routes).merge(taking_form(MAX_FILE_BYTES, PAGE, form))
}

/// The route of a form with a file of this size at the most. One that is larger leads back to the form's page.
pub fn taking_form(most: usize, page: &'static str, form: Router<AppState>) -> ApiRouter<AppState> {
    let form = ApiRouter::new().merge(form).layer(DefaultBodyLimit::max(most));
    form.layer(from_fn_with_state((most, page), lead_back))
}

async fn lead_back(
    State((most, page)): State<(usize, &'static str)>,
    request: Request,
    next: Next,
) -> Response {
    let told = request.headers().get(header::CONTENT_LENGTH);
    let length = told.and_then(|told| told.to_str().ok()?.parse::<usize>().ok());
    let error = ApiError::TooLarge { limit_kib: most as u64 / 1024 };
    match length {
        Some(length) if length > MAX_HEARD_BYTES => error.into_response(),
        Some(length) if length > most => {
            hear_out(request, MAX_HEARD_BYTES).await;
            Redirect::to(&refused_at(page, error)).into_response()
        }
        // A form is held whole like any other large body.
        _ => match turn(&request).await {
            Ok(turn) => {
                let response = next.run(request).await;
                drop(turn);
                response
            }
            Err(error) => {
                hear_out(request, MAX_HEARD_BYTES).await;
                Redirect::to(&refused_at(page, error)).into_response()
            }
        },
    }
}

/// Lets a browser send all that it wants to send, up to so much, and keeps nothing of it: one that is
/// interrupted shows that the connection broke, and not why.
pub async fn hear_out(request: Request, most: usize) {
    let mut heard = 0;
    let mut pieces = request.into_body().into_data_stream();
    while let Some(Ok(piece)) = pieces.next().await
        && heard < most
    {
        heard += piece.len();
    }
}

async fn import(
    desk: Desk,
    file: Result<Body<ChatFile>, ApiError>,
) -> Result<Created<ImportedChat>, ApiError> {
    Ok(Created(desk.agent.import_chat(&desk.scope, within(file)?).await?))
}

/// Takes the form, and leads to the new chat or back to the form with a sentence that says why not.
async fn import_form(desk: Desk, form: Multipart) -> Redirect {
    match import_file(desk, form).await {
        Ok(ImportedChat { chat, left_out, .. }) => {
            let at = |name: &&str| SETTINGS.iter().position(|known| known == name);
            let left_out: Vec<String> =
                left_out.iter().filter_map(at).map(|at| at.to_string()).collect();
            let query = match left_out.is_empty() {
                true => String::new(),
                false => format!("?left_out={}", left_out.join(",")),
            };
            Redirect::to(&format!("{PAGE}/{}{query}", chat.id))
        }
        Err(error) => Redirect::to(&refused_at(PAGE, error)),
    }
}

async fn import_file(desk: Desk, mut form: Multipart) -> Result<ImportedChat, ApiError> {
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
    let other =
        persona.filter(|persona| !persona.is_empty() && *persona != *chat.persona_id.as_str());
    if let Some(persona) = other {
        chat.persona_id = PersonaId::new(persona);
        // The file knows the versions of its own personas only.
        chat.persona_revision = 0;
    }
    desk.agent.import_chat(&desk.scope, chat).await
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

/// What came as a body that may be as large as a file. One that is larger is told how much that is.
pub fn within<T>(file: Result<Body<T>, ApiError>) -> Result<T, ApiError> {
    match file {
        Ok(Body(file)) => Ok(file),
        Err(ApiError::TooLarge { .. }) => {
            Err(ApiError::TooLarge { limit_kib: MAX_FILE_BYTES as u64 / 1024 })
        }
        Err(other) => Err(other),
    }
}

/// A form's page with the reason, as plain forms of server functions are answered.
pub fn refused_at(page: &str, error: ApiError) -> String {
    // The base is only there because an address without one cannot be parsed.
    let told = ServerFnUrlError::new(page, error).to_url(&format!("http://greenroom{page}"));
    let query = told.ok().and_then(|url| url.query().map(str::to_owned));
    format!("{page}?{}", query.unwrap_or_default())
}
