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
    http::{StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

use crate::domain::error::{ApiError, ErrorBody};

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status =
            StatusCode::from_u16(self.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        (status, Json(ErrorBody::from(self))).into_response()
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

/// Gives a sentence to errors that were made below us: a wrong method, a body over the limit.
pub async fn put_into_words(request: Request, next: Next) -> Response {
    let method = request.method().to_string();
    let response = next.run(request).await;
    let kind = response.headers().get(header::CONTENT_TYPE);
    let is_ours = kind
        .and_then(|kind| kind.to_str().ok())
        .is_some_and(|kind| kind.starts_with("application/json") || kind.starts_with("text/html"));
    let words = match response.status() {
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
    told.map(Body::new)
}
