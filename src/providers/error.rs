//! Why a service gave no answer.

use std::time::Duration;

use crate::domain::error::ApiError;

/// What kind of failure it is, by what can be done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// There is no key where it should be.
    NoKey,
    /// The key is wrong, or may not do this. Nobody but the operator can help.
    Auth,
    /// The account has no money or no quota left. Waiting a moment does not help.
    Quota,
    /// The request is not one the service takes.
    BadRequest,
    /// The conversation is longer than the model can read.
    ContextExceeded,
    /// Too much at once. Waiting helps.
    RateLimited,
    /// The service is overloaded. Waiting helps.
    Overloaded,
    /// It could not be reached, or said nothing. Asking again may help.
    Unreached,
    /// Something broke over there. Asking again may help.
    Transient,
    /// The stream ended before the answer did.
    Truncated,
    /// The service sent what we cannot read.
    Garbled,
    /// A web page came instead of an answer: the address is another's.
    Page,
    /// Nothing is there, and the address has no path where most services have one.
    NoPath,
}

impl Fault {
    /// Whether the same request may succeed a moment later.
    pub fn is_transient(self) -> bool {
        match self {
            Self::RateLimited
            | Self::Overloaded
            | Self::Unreached
            | Self::Transient
            | Self::Truncated => true,
            Self::NoKey
            | Self::Auth
            | Self::Quota
            | Self::BadRequest
            | Self::ContextExceeded
            | Self::Garbled
            | Self::Page
            | Self::NoPath => false,
        }
    }
}

/// Why a service gave no answer. Its message never holds a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{fault:?}: {message}")]
pub struct ProviderError {
    /// What kind of failure it is.
    pub fault: Fault,
    /// What the service said, for the log and the trace.
    pub message: String,
    /// The HTTP status, when there was one.
    pub status: Option<u16>,
    /// How long the service wants us to wait.
    pub retry_after: Option<Duration>,
    /// What the service calls the request, for whoever asks it about that.
    pub request_id: Option<String>,
}

impl ProviderError {
    /// A failure with what was said about it.
    pub fn new(fault: Fault, message: impl Into<String>) -> Self {
        Self { fault, message: message.into(), status: None, retry_after: None, request_id: None }
    }

    /// The sentence for people, naming the service.
    pub fn tell(&self, service: &str) -> ApiError {
        ApiError::Provider {
            service: service.to_owned(),
            reason: match self.fault {
                Fault::NoKey => format!(
                    "There is no key for {service}: {}. Say where it is in the settings.",
                    self.message
                ),
                Fault::Auth => format!(
                    "{service} refused the key. Check where it comes from in the settings."
                ),
                Fault::Quota => {
                    format!("The account at {service} has no quota left. Its owner can add some.")
                }
                Fault::BadRequest => format!("{service} did not take the request: {}", said(&self.message)),
                Fault::ContextExceeded => {
                    "The conversation is longer than this model can read. Start a new one, or choose \
                     a model that reads more."
                        .into()
                }
                Fault::RateLimited => {
                    format!("{service} asks us to slow down. Try again {}.", self.when())
                }
                Fault::Overloaded => {
                    format!("{service} is overloaded. Try again {}.", self.when())
                }
                Fault::Unreached => format!("{service} could not be reached. Try again."),
                Fault::Transient => format!("{service} had an error of its own. Try again."),
                Fault::Truncated => {
                    format!("The answer of {service} broke off. What came is kept; try again.")
                }
                Fault::Garbled => {
                    format!("{service} sent something that could not be read. Try again.")
                }
                Fault::Page => format!(
                    "At the address of {service} is a web page, and nothing that answers. Check it in the \
                     settings."
                ),
                Fault::NoPath => format!(
                    "At the address of {service} nothing answers. Most services answer below /v1: check in \
                     the settings whether it is missing."
                ),
            },
        }
    }
}

impl ProviderError {
    /// When it is worth trying again, as far as the service said so.
    fn when(&self) -> String {
        match self.retry_after.unwrap_or_default().as_millis().div_ceil(60_000) {
            0..=1 => "in a moment".into(),
            minutes @ ..=120 => format!("in about {minutes} minutes"),
            minutes @ ..=2880 => format!("in about {} hours", minutes.div_ceil(60)),
            _ => "in some days".into(),
        }
    }
}

/// The service's own words, short and with a full stop.
fn said(message: &str) -> String {
    let line: String = message.lines().next().unwrap_or_default().chars().take(300).collect();
    let line = line.trim().trim_end_matches(['.', ' ']);
    if line.is_empty() { "it did not say why.".into() } else { format!("“{line}”.") }
}
