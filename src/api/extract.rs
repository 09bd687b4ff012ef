//! Reading requests, with sentences for what cannot be read.

use std::{collections::HashMap, time::Duration};

use aide::{
    OperationInput, OperationOutput,
    axum::ApiRouter,
    generate::GenContext,
    openapi::{Operation, Response as Described},
};
use axum::{
    Extension, Json,
    body::{Bytes, HttpBody},
    extract::{
        DefaultBodyLimit, FromRequest, FromRequestParts, Path, Query, Request, State,
        rejection::BytesRejection,
    },
    http::{HeaderMap, StatusCode, header, request::Parts},
    middleware::{Next, from_fn, from_fn_with_state},
    response::{IntoResponse, Response},
};
use schemars::JsonSchema;
use serde::{
    Serialize,
    de::{DeserializeOwned, IgnoredAny},
};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

use super::error::FUNCTIONS;
use crate::{
    accounts::Caller,
    domain::{
        error::ApiError,
        id::is_wellformed,
        list::{MAX_PAGE_SIZE, PAGE_SIZE},
        virtual_file::MAX_FILE_BYTES,
    },
    state::{AppState, Visit},
    store::new_id,
};

/// The largest body that is taken.
pub const MAX_BODY_BYTES: usize = 2 * 1024 * 1024;

/// The function that saves a file of a session.
const SAVE_FILE: &str = "/fn/save_file";
/// How many bodies are taken at once that are larger than most may be: while one is read, it is held whole, and more
/// than once.
static LARGE: Semaphore = Semaphore::const_new(2);
/// How long another one waits for its turn, and how many seconds later it may be sent again.
const TURN: Duration = Duration::from_secs(3);
const LATER: u64 = 10;
/// The largest form of it: a byte of what is no ASCII takes three in a form.
pub const MAX_FILE_FORM_BYTES: usize = 4 * MAX_FILE_BYTES;

/// The largest body that is taken at this address.
fn most_at(path: &str) -> usize {
    if path == SAVE_FILE { MAX_FILE_FORM_BYTES } else { MAX_BODY_BYTES }
}

/// What a body over the limit is told.
pub fn too_large() -> ApiError {
    over(MAX_BODY_BYTES)
}

fn over(most: usize) -> ApiError {
    ApiError::TooLarge { limit_kib: most as u64 / 1024 }
}

/// Takes bodies as large as they may be at their address, and does not begin to read one that says that it is
/// larger.
pub async fn limit_body(mut request: Request, next: Next) -> Response {
    let most = most_at(request.uri().path());
    DefaultBodyLimit::max(most).apply(&mut request);
    refuse_over(State(most), request, next).await
}

/// Routes that take bodies of this size instead, a few at a time. One that says at once that it is larger is not
/// read.
pub fn taking(most: usize, routes: ApiRouter<AppState>) -> ApiRouter<AppState> {
    refusing_over(most, routes.layer(DefaultBodyLimit::max(most)).layer(from_fn(in_turn)))
}

/// Lets what is large wait for its turn.
async fn in_turn(request: Request, next: Next) -> Response {
    match turn(&request).await {
        Ok(turn) => {
            let response = next.run(request).await;
            drop(turn);
            response
        }
        // Whoever sends it did nothing wrong.
        Err(told) => (StatusCode::SERVICE_UNAVAILABLE, told).into_response(),
    }
}

/// A turn for what is large, or does not say how large it is; what is small needs none.
pub fn turn(
    request: &Request,
) -> impl Future<Output = Result<Option<SemaphorePermit<'static>>, ApiError>> + Send + use<> {
    let length = request.body().size_hint().upper();
    async move {
        if length.is_some_and(|length| length <= MAX_BODY_BYTES as u64) {
            return Ok(None);
        }
        match timeout(TURN, LARGE.acquire()).await {
            Ok(Ok(turn)) => Ok(Some(turn)),
            Ok(Err(_)) | Err(_) => {
                let reason = "Other large files are being taken. Send yours again in a moment.";
                Err(ApiError::Limited { reason: reason.into(), retry_after: Some(LATER) })
            }
        }
    }
}

/// Routes that do not begin to read what says that it is larger than this.
pub fn refusing_over(most: usize, routes: ApiRouter<AppState>) -> ApiRouter<AppState> {
    routes.layer(from_fn_with_state(most, refuse_over))
}

async fn refuse_over(State(most): State<usize>, request: Request, next: Next) -> Response {
    let told = request.headers().get(header::CONTENT_LENGTH).and_then(|told| told.to_str().ok());
    let length: Option<u64> = told.and_then(|told| told.parse().ok());
    if length.is_some_and(|length| length > most as u64) {
        return over(most).into_response();
    }
    next.run(request).await
}

/// Reads what is sent to a server function before it does: it could not tell why nothing more came.
pub async fn read_of_function(request: Request, next: Next) -> Response {
    if !request.uri().path().starts_with(FUNCTIONS) {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let whole = Request::from_parts(parts.clone(), body);
    match Bytes::from_request(whole, &()).await {
        Ok(bytes) => next.run(Request::from_parts(parts, bytes.into())).await,
        Err(rejection) => match unreadable(rejection) {
            ApiError::TooLarge { .. } => over(most_at(parts.uri.path())).into_response(),
            error => error.into_response(),
        },
    }
}

/// A JSON body.
pub struct Body<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let kind = request.headers().get(header::CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        if kind != "application/json" && !kind.ends_with("+json") {
            return Err(ApiError::WrongType { expected: "application/json".into() });
        }
        let bytes = Bytes::from_request(request, state).await.map_err(unreadable)?;
        parse(&bytes).map(Self)
    }
}

fn unreadable(rejection: BytesRejection) -> ApiError {
    match rejection.into_response().status() {
        StatusCode::PAYLOAD_TOO_LARGE => too_large(),
        _ => ApiError::Malformed { problem: "its body broke off".into() },
    }
}

/// JSON as the type wants it. What does not fit is named.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    let text = std::str::from_utf8(bytes).map_err(|error| ApiError::Malformed {
        problem: format!("byte {} of its body is not UTF-8", error.valid_up_to()),
    })?;
    let malformed = |problem: serde_json::Error| ApiError::Malformed {
        problem: format!("its body is not JSON ({problem})"),
    };
    // Nothing of it is held before it is what the type wants: a list of noughts takes much room.
    serde_json::from_str::<IgnoredAny>(text).map_err(malformed)?;
    if !text.trim_start().starts_with('{') {
        return Err(ApiError::invalid("body", "The body must be a JSON object."));
    }
    let mut json = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut json).map_err(|error| {
        if !error.inner().is_data() {
            return malformed(error.into_inner());
        }
        let path = error.path().to_string();
        let told = error.into_inner().to_string();
        // Where that is in the text says little where a field is named.
        let told = told.rsplit_once(" at line ").map_or(told.as_str(), |(told, _)| told);
        let starts = ["unknown field `", "missing field `", "duplicate field `"];
        let named = starts.iter().find_map(|start| {
            told.strip_prefix(start).and_then(|rest| rest.split('`').next()).map(str::to_owned)
        });
        let field = named.unwrap_or(if path == "." { "body".into() } else { path });
        ApiError::Invalid { rule: format!("“{field}” does not fit: {told}."), field }
    })
}

/// A JSON body that may be left out.
pub struct Given<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Default> FromRequest<S> for Given<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        if request.headers().contains_key(header::CONTENT_TYPE) {
            return Body::from_request(request, state).await.map(|Body(given)| Self(given));
        }
        let bytes = Bytes::from_request(request, state).await.map_err(unreadable)?;
        if !bytes.is_empty() {
            return Err(ApiError::WrongType { expected: "application/json".into() });
        }
        Ok(Self(T::default()))
    }
}

impl<T: JsonSchema> OperationInput for Given<T> {
    fn operation_input(context: &mut GenContext, operation: &mut Operation) {
        Json::<T>::operation_input(context, operation);
    }
}

impl<T: JsonSchema> OperationInput for Body<T> {
    fn operation_input(context: &mut GenContext, operation: &mut Operation) {
        Json::<T>::operation_input(context, operation);
    }
}

/// A form of a page about accounts, and who sent it from where.
#[derive(FromRequest)]
#[from_request(state(AppState))]
pub struct Sent {
    /// What every request can reach.
    #[from_request(via(State))]
    pub state: AppState,
    /// Who sent it.
    #[from_request(via(Extension))]
    pub caller: Caller,
    /// From where.
    #[from_request(via(Extension))]
    pub visit: Visit,
    /// What its request says.
    pub headers: HeaderMap,
    /// What is filled in.
    pub fields: Fields,
}

/// The fields of a plain form.
#[derive(Default)]
pub struct Fields(HashMap<String, String>);

impl Fields {
    /// What a field says; nothing where there is none.
    pub fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }
}

impl<S: Send + Sync> FromRequest<S> for Fields {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let expected = "application/x-www-form-urlencoded";
        if !kind.is_some_and(|kind| kind.starts_with(expected)) {
            return Err(ApiError::WrongType { expected: expected.into() });
        }
        let bytes = Bytes::from_request(request, state).await.map_err(unreadable)?;
        Ok(Self(form_urlencoded::parse(&bytes).into_owned().collect()))
    }
}

/// What stands after the question mark.
pub struct Params<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Params<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match Query::from_request_parts(parts, state).await {
            Ok(Query(params)) => Ok(Self(params)),
            Err(rejection) => Err(ApiError::Malformed {
                problem: rejection.body_text().trim_end_matches('.').to_owned(),
            }),
        }
    }
}

impl<T: JsonSchema> OperationInput for Params<T> {
    fn operation_input(context: &mut GenContext, operation: &mut Operation) {
        Query::<T>::operation_input(context, operation);
    }
}

/// The parts of the path. What no such part can be does not exist.
pub struct Segments<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Segments<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match Path::from_request_parts(parts, state).await {
            Ok(Path(segments)) => Ok(Self(segments)),
            Err(_) => Err(ApiError::not_found("address")),
        }
    }
}

impl<T: JsonSchema> OperationInput for Segments<T> {
    fn operation_input(context: &mut GenContext, operation: &mut Operation) {
        Path::<T>::operation_input(context, operation);
    }
}

/// A new thing, with status 201.
pub struct Created<T>(pub T);

impl<T: Serialize> IntoResponse for Created<T> {
    fn into_response(self) -> Response {
        (StatusCode::CREATED, Json(self.0)).into_response()
    }
}

impl<T: JsonSchema + Serialize> OperationOutput for Created<T> {
    type Inner = T;

    fn operation_response(
        context: &mut GenContext,
        operation: &mut Operation,
    ) -> Option<Described> {
        Json::<T>::operation_response(context, operation)
    }

    fn inferred_responses(
        context: &mut GenContext,
        operation: &mut Operation,
    ) -> Vec<(Option<u16>, Described)> {
        let response = Self::operation_response(context, operation);
        response.map(|response| (Some(201), response)).into_iter().collect()
    }
}

/// The identifier that a new thing shall have: the one asked for, or one that is made up.
pub fn identifier<Id: From<String>>(asked: Option<String>) -> Result<Id, ApiError> {
    match asked {
        None => Ok(new_id()),
        Some(id) if is_wellformed(&id) => Ok(Id::from(id)),
        Some(_) => {
            let rule = "An identifier has 1 to 64 letters, digits, dashes and underscores.";
            Err(ApiError::invalid("id", rule))
        }
    }
}

/// How many rows a page gets: what was asked for, within reason.
pub fn page_size(asked: Option<u32>) -> u32 {
    asked.unwrap_or(PAGE_SIZE).clamp(1, MAX_PAGE_SIZE)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its errors are looked at")]
    struct Sample {
        name: String,
        size: Option<u8>,
    }

    fn told(body: &[u8]) -> (u16, String) {
        let error = parse::<Sample>(body).unwrap_err();
        let field = match &error {
            ApiError::Invalid { field, .. } => field.clone(),
            _ => String::new(),
        };
        (error.status(), field)
    }

    #[test]
    fn what_does_not_fit_is_named() {
        assert_eq!(told(br#"{"name": 1}"#), (422, "name".into()));
        assert_eq!(told(br#"{"name": "a", "size": 999}"#), (422, "size".into()));
        assert_eq!(told(br#"{"name": "a", "colour": 1}"#), (422, "colour".into()));
        assert_eq!(told(br#"{}"#), (422, "name".into()));
        assert_eq!(told(br#"{"name": "a", "name": "b"}"#), (422, "name".into()));
        assert_eq!(told(br#"["name"]"#), (422, "body".into()));
        let error = parse::<Sample>(br#"{"name": 1}"#).unwrap_err();
        assert!(error.to_string().ends_with("expected a string."), "{error}");
    }

    #[test]
    fn what_is_not_json_cannot_be_read() {
        assert_eq!(told(b"{").0, 400);
        assert_eq!(told(b"").0, 400);
        assert_eq!(told(b"{\"name\": \"\xff\"}").0, 400);
        assert_eq!(told(br#"{"name": "a"} x"#).0, 400);
        assert_eq!(told("[".repeat(100_000).as_bytes()).0, 400);
    }
}
