//! Errors on their way out.

use aide::{
    OperationOutput,
    generate::GenContext,
    openapi::{Operation, Response as Described},
};
use axum::{
    Json,
    body::Body,
    extract::Request,
    http::{HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

use crate::domain::error::{ApiError, ErrorBody};

/// Where server functions are.
pub const FUNCTIONS: &str = "/fn/";

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status =
            StatusCode::from_u16(self.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let again = match &self {
            Self::Limited { retry_after: Some(seconds), .. } => Some(HeaderValue::from(*seconds)),
            Self::Unavailable => Some(HeaderValue::from(1)),
            _ => None,
        };
        let mut response = (status, Json(ErrorBody::from(self))).into_response();
        if let Some(again) = again {
            response.headers_mut().insert(header::RETRY_AFTER, again);
        }
        response
    }
}

impl OperationOutput for ApiError {
    type Inner = ErrorBody;

    fn operation_response(
        context: &mut GenContext,
        operation: &mut Operation,
    ) -> Option<Described> {
        Json::<ErrorBody>::operation_response(context, operation)
    }

    fn inferred_responses(
        context: &mut GenContext,
        operation: &mut Operation,
    ) -> Vec<(Option<u16>, Described)> {
        Self::operation_response(context, operation)
            .map(|response| vec![(None, response)])
            .unwrap_or_default()
    }
}

/// The answer to an address that does not exist.
pub async fn unknown_address() -> ApiError {
    ApiError::not_found("address")
}

/// Gives a sentence to errors that were made below us (a wrong method, a body over the limit), and
/// their status to the errors of server functions, which all leave as 500.
pub async fn put_into_words(request: Request, next: Next) -> Response {
    let method = request.method().to_string();
    let is_function = request.uri().path().starts_with(FUNCTIONS);
    let response = next.run(request).await;
    let kind = response.headers().get(header::CONTENT_TYPE);
    let is_ours = kind
        .and_then(|kind| kind.to_str().ok())
        .is_some_and(|kind| kind.starts_with("application/json") || kind.starts_with("text/html"));
    let words = match response.status() {
        StatusCode::INTERNAL_SERVER_ERROR if is_function => return with_its_status(response).await,
        _ if is_ours => return response,
        StatusCode::METHOD_NOT_ALLOWED => ApiError::WrongMethod { method },
        StatusCode::PAYLOAD_TOO_LARGE => super::extract::too_large(),
        _ => return response,
    };
    let (parts, _) = response.into_parts();
    let mut told = words.into_response();
    if let Some(allow) = parts.headers.get(header::ALLOW) {
        told.headers_mut().insert(header::ALLOW, allow.clone());
    }
    told
}

/// The failed answer of a server function under the status of its error.
async fn with_its_status(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    let Ok(bytes) = axum::body::to_bytes(body, super::extract::MAX_BODY_BYTES).await else {
        return ApiError::Internal { incident: "answer".into() }.into_response();
    };
    if let Ok(error) = serde_json::from_slice::<ApiError>(&bytes)
        && let Ok(status) = StatusCode::from_u16(error.status())
    {
        parts.status = status;
    }
    Response::from_parts(parts, Body::from(bytes))
}
