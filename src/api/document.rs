//! Whole pages outside of the app: they need no program in the browser, and nobody need be signed in.

use axum::{
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{Html, IntoResponse, Response},
};
use leptos::prelude::*;

use super::rail::html;
use crate::{
    app::{components::written::escaped, pages::sign_in::Told},
    domain::{error::ApiError, theme::Theme},
    state::AppState,
};

/// What a browser may do there: read it, and send its forms to us.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; \
    form-action 'self'; frame-ancestors 'none'";
const ROBOTS: HeaderName = HeaderName::from_static("x-robots-tag");

/// A page with this title.
pub fn document(
    state: &AppState,
    headers: &HeaderMap,
    title: &str,
    body: impl FnOnce() -> AnyView,
) -> Response {
    let cookies = headers.get(header::COOKIE).and_then(|cookies| cookies.to_str().ok());
    let theme = Theme::from_cookies(cookies.unwrap_or_default()).word();
    let named = |file: &str| escaped(file).replace('"', "&quot;");
    let (style, own_style) = (named(&state.files.style), named(&state.files.tool_style));
    let (title, body) = (escaped(title), html(body));
    let page = format!(
        "<!DOCTYPE html><html lang=\"en\" data-theme=\"{theme}\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\"><title>{title} · Greenroom</title>\
         <link rel=\"icon\" href=\"/favicon.svg\" type=\"image/svg+xml\">\
         <link rel=\"stylesheet\" href=\"{style}\"><link rel=\"stylesheet\" href=\"{own_style}\"></head>\
         <body>{body}</body></html>"
    );
    let policy = [(header::CONTENT_SECURITY_POLICY, POLICY), (ROBOTS, "noindex, nofollow")];
    (policy, Html(page)).into_response()
}

/// A page under the status of an error. One that passes says when.
pub fn under(error: &ApiError, page: Response) -> Response {
    let mut page = page;
    *page.status_mut() =
        StatusCode::from_u16(error.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if let ApiError::Limited { retry_after: Some(seconds), .. } = error {
        page.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(*seconds));
    }
    page
}

/// A page that says what is in the way, and leads back.
pub fn told(state: &AppState, headers: &HeaderMap, error: &ApiError, back: &str) -> Response {
    let (message, back) = (error.to_string(), back.to_owned());
    let page =
        document(state, headers, "Not this way", move || view! { <Told message back/> }.into_any());
    under(error, page)
}
