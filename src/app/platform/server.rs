//! On the server: statuses, headers and cookies are real, and nothing waits or listens.

use std::time::{SystemTime, UNIX_EPOCH};

use axum::http::{HeaderName, HeaderValue, StatusCode, header, request::Parts};
use leptos::{
    html::Dialog, nonce::Nonce, prelude::*, reactive::computed::ScopedFuture, text_prop::TextProp,
};
use leptos_axum::ResponseOptions;

use crate::{
    app::state::shortcut::{HELP, KeyHelp, Shortcut},
    domain::{
        error::ApiError,
        event::Heard,
        id::RunId,
        theme::{self, Theme},
        timestamp::Timestamp,
        visible::visible_in_prose,
    },
};

const YEAR_SECONDS: u32 = 365 * 24 * 60 * 60;

/// Gives the page its HTTP status.
pub fn set_status(status: u16) {
    if let (Some(response), Ok(status)) =
        (use_context::<ResponseOptions>(), StatusCode::from_u16(status))
    {
        response.set_status(status);
    }
}

fn set_header(name: HeaderName, value: &str) {
    if let (Some(response), Ok(value)) =
        (use_context::<ResponseOptions>(), HeaderValue::from_str(value))
    {
        response.insert_header(name, value);
    }
}

/// Tells the browser what this page may do, and gives the nonce of its scripts.
pub fn content_policy() -> Option<Nonce> {
    let nonce = leptos::nonce::use_nonce()?;
    set_header(
        header::CONTENT_SECURITY_POLICY,
        &format!(
            "default-src 'none'; script-src 'self' 'nonce-{nonce}' 'wasm-unsafe-eval'; \
             style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; \
             manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        ),
    );
    Some(nonce)
}

/// A title as it may stand in the document: `leptos_meta` writes it there as it is, and only when
/// what it was made from is gone.
pub fn title_text(text: impl Fn() -> String + Send + Sync + 'static) -> TextProp {
    visible_in_prose(text()).replace('&', "&amp;").replace('<', "&lt;").into()
}

/// The colours that the browser's cookie asks for.
pub fn theme() -> Theme {
    let cookies = use_context::<Parts>().and_then(|parts| {
        parts.headers.get(header::COOKIE).and_then(|value| value.to_str().ok()).map(str::to_owned)
    });
    Theme::from_cookies(&cookies.unwrap_or_default())
}

/// Puts the choice into a cookie.
pub fn remember_theme(theme: Theme) {
    let (name, word) = (theme::COOKIE, theme.word());
    let cookie = format!("{name}={word}; Path=/; Max-Age={YEAR_SECONDS}; HttpOnly; SameSite=Lax");
    set_header(header::SET_COOKIE, &cookie);
}

/// The page is sent with its colours.
pub fn apply_theme(_: Theme) {}

/// The present moment.
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// What a part of a page shows. It is gathered apart from the page, which waits for one part after the other: a part
/// whose turn has not come must not hold a connection that another waits for. Nor may one that breaks: whoever waits
/// for it would wait for ever.
pub async fn gathered<T: Send + 'static>(
    asked: impl Future<Output = Result<T, ApiError>> + Send + 'static,
) -> Result<T, ApiError> {
    tokio::spawn(ScopedFuture::new(asked)).await.unwrap_or_else(|broke| {
        let incident = uuid::Uuid::now_v7().simple().to_string();
        tracing::error!(incident, %broke, "a part of a page broke");
        Err(ApiError::Internal { incident })
    })
}

/// An alarm that never rings: nothing happens later on the server.
#[derive(Clone, Copy)]
pub struct Alarm;

impl Alarm {
    /// An alarm.
    pub fn unset() -> Self {
        Self
    }

    /// Does nothing later.
    pub fn set(self, _: u32, _: impl FnOnce() + 'static) {}

    /// There is nothing to stop.
    pub fn stop(self) {}
}

/// Nobody watches on the server.
#[derive(Clone, Copy)]
pub struct Watch;

impl Watch {
    /// Nothing is watched.
    pub fn none() -> Self {
        Self
    }

    /// Watches nothing.
    pub fn open(self, _: Vec<RunId>, _: impl Fn(Heard) + 'static, _: impl Fn() + 'static) {}

    /// Watches nothing.
    pub fn has(self, _: &RunId) -> bool {
        false
    }

    /// There is nothing to close.
    pub fn close(self, _: &RunId) {}

    /// There is nothing to close.
    pub fn close_all(self) {}
}

/// Nobody presses keys on the server.
pub fn on_shortcut(_: impl Fn(Shortcut) -> bool + 'static) {}

/// Nobody leaves on the server.
pub fn warn_before_leaving(_: impl Fn() -> bool + 'static) {}

/// There is no dialog to open.
pub fn open_dialog(_: NodeRef<Dialog>) {}

/// There is no dialog to close.
pub fn close_dialog(_: NodeRef<Dialog>) {}

/// There is nothing open.
pub fn close_popovers() -> bool {
    false
}

/// There is nothing to focus.
pub fn focus(_: &str) {}

/// There is nothing to focus.
pub fn focus_later(_: String) {}

/// Nobody writes on the server.
pub fn keep_cursor(act: impl FnOnce()) {
    act();
}

/// Nobody types on the server.
pub fn note_early_typing() {}

/// The keys and what they do, as HTML.
pub fn key_help() -> String {
    let line =
        |KeyHelp { keys, does }: &KeyHelp| format!("<dt><kbd>{keys}</kbd></dt><dd>{does}</dd>");
    HELP.iter().map(line).collect()
}

/// Nobody types on the server.
pub fn typed_early(_: &str) -> Option<String> {
    None
}

/// The server keeps no drafts.
pub fn keep_draft(_: &str, _: &str) {}

/// The server has no drafts.
pub fn kept_draft(_: &str) -> Option<String> {
    None
}

/// The server has no drafts.
pub fn forget_draft(_: &str) {}
