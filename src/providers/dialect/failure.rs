//! What a service says when it does not answer, and what that means.

mod told;
mod wait;

use serde_json::Value;
use told::Told;

use crate::providers::{Fault, ProviderError};

const MAX_CHARS: usize = 500;

/// Each service has its own words for a conversation that is too long.
const TOO_LONG: [&str; 11] = [
    "prompt is too long",
    "context_length_exceeded",
    "exceed_context_size_error",
    "exceeds the context window",
    "exceeds the available context size",
    "exceed context limit",
    "maximum context length",
    "maximum prompt length",
    "exceeds the maximum number of tokens",
    "reduce the length of the messages",
    "model_context_window_exceeded",
];
const NO_QUOTA: [&str; 6] = [
    "insufficient_quota",
    "billing_error",
    "billing_hard_limit_reached",
    "credit balance is too low",
    "insufficient balance",
    "insufficient credits",
];
const NO_KEY: [&str; 6] = [
    "authentication_error",
    "permission_error",
    "invalid_api_key",
    "api_key_invalid",
    "unauthenticated",
    "permission_denied",
];
const TOO_MUCH: [&str; 4] =
    ["rate_limit_error", "rate_limit_exceeded", "resource_exhausted", "too_many_requests"];
const BUSY: [&str; 5] =
    ["overloaded_error", "overloaded", "unavailable", "server_is_overloaded", "slow_down"];
const WRONG: [&str; 5] = [
    "invalid_request_error",
    "not_found_error",
    "request_too_large",
    "invalid_argument",
    "invalid_prompt",
];

/// What an HTTP answer that is no success means.
pub fn answered(
    status: u16,
    headers: &dyn Fn(&str) -> Option<String>,
    body: &str,
) -> ProviderError {
    let told = Told::from_body(body);
    let mut fault = classify(Some(status), &told);
    match headers("x-should-retry").as_deref().map(str::trim) {
        Some("true") if !fault.is_transient() => fault = Fault::Transient,
        Some("false") if fault.is_transient() => {
            // Waiting does not help, so it is not about how much comes at once.
            fault = if status == 429 { Fault::Quota } else { Fault::BadRequest };
        }
        _ => {}
    }
    let message = told.message.filter(|message| !message.trim().is_empty());
    let message = message.unwrap_or_else(|| format!("HTTP {status}"));
    let retry_after = wait::from_headers(headers).or(told.wait);
    ProviderError { status: Some(status), retry_after, ..error(fault, &message) }
}

/// What an error in the middle of a stream means. There is no status, so its words must tell.
pub fn streamed(value: &Value) -> ProviderError {
    let told = Told::from_value(value);
    let fault = classify(told.status(), &told);
    let message = told.message.as_deref().unwrap_or("The service did not say what went wrong.");
    ProviderError { retry_after: told.wait, ..error(fault, message) }
}

/// What a body that is one piece of JSON means where a stream was to come: services and the proxies before
/// them tell errors so, with a status that says all is well.
pub fn unstreamed(headers: &dyn Fn(&str) -> Option<String>, body: &str) -> ProviderError {
    match serde_json::from_str::<Value>(body.trim_start_matches('\u{feff}')) {
        Ok(value) if tells_error(&value) => {
            let error = streamed(&value);
            ProviderError {
                retry_after: wait::from_headers(headers).or(error.retry_after),
                ..error
            }
        }
        Ok(_) => {
            ProviderError::new(Fault::Garbled, "The service answered all at once, not in a stream.")
        }
        Err(error) => ProviderError::new(Fault::Garbled, error.to_string()),
    }
}

fn tells_error(value: &Value) -> bool {
    let value = value.get(0).unwrap_or(value);
    let has = |key: &str| value.get(key).is_some_and(|told| !told.is_null());
    has("error") || has("detail") || value["object"] == "error"
}

/// What came was not what the dialect knows; an error in another shape is still an error.
pub fn unreadable(data: &str, source: &serde_json::Error) -> ProviderError {
    match serde_json::from_str::<Value>(data) {
        Ok(value) if value.get("error").or_else(|| value.get(0)?.get("error")).is_some() => {
            streamed(&value)
        }
        Ok(_) | Err(_) => ProviderError::new(Fault::Garbled, source.to_string()),
    }
}

/// The body ended and the answer did not.
pub fn truncated() -> ProviderError {
    ProviderError::new(Fault::Truncated, "The stream ended before the answer did.")
}

fn error(fault: Fault, message: &str) -> ProviderError {
    let message: String = without_keys(message.trim()).chars().take(MAX_CHARS).collect();
    ProviderError::new(fault, message)
}

fn classify(status: Option<u16>, told: &Told) -> Fault {
    let message = told.message.as_deref().unwrap_or_default().to_lowercase();
    let names = |known: &[&str]| told.words.iter().any(|word| known.contains(&word.as_str()));
    let says = |known: &[&str]| names(known) || known.iter().any(|word| message.contains(word));
    match status {
        Some(402) => Fault::Quota,
        _ if says(&NO_QUOTA) || told.is_daily => Fault::Quota,
        Some(401 | 403) => Fault::Auth,
        None | Some(400) if names(&NO_KEY) => Fault::Auth,
        Some(429) => Fault::RateLimited,
        None if names(&TOO_MUCH) => Fault::RateLimited,
        _ if says(&TOO_LONG) => Fault::ContextExceeded,
        Some(503 | 529) => Fault::Overloaded,
        None | Some(500..) if names(&BUSY) => Fault::Overloaded,
        Some(408 | 409 | 500..) => Fault::Transient,
        Some(_) => Fault::BadRequest,
        None if names(&WRONG) => Fault::BadRequest,
        // The request was good enough to be answered at first.
        None => Fault::Transient,
    }
}

/// Services like to repeat the key that they refuse.
fn without_keys(message: &str) -> String {
    const STARTS: [&str; 6] = ["sk-", "sk_", "AIza", "xai-", "gsk_", "Bearer"];
    let mut previous = "";
    let words = message.split(' ').map(|word| {
        let bare = word.trim_start_matches(['"', '\'', '`', '(']);
        let is_key = previous.ends_with("provided:")
            || previous == "Bearer"
            || (bare.len() > 12 && STARTS.iter().any(|start| bare.starts_with(start)));
        previous = word;
        if is_key { "…" } else { word }
    });
    words.collect::<Vec<_>>().join(" ")
}
