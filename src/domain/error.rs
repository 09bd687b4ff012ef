//! Everything that can go wrong, in sentences.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    change::{ChangeState, Conflict},
    id::{MessageId, RunId},
    timestamp::Timestamp,
};

/// Every failure that a user can meet, in the browser or through the API.
///
/// The text is what they read. A cause that only an operator should see is
/// logged where it is caught and leaves nothing here but its incident number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApiError {
    /// The thing asked for is not there, or not this user's to see.
    #[error("That {what} does not exist.")]
    NotFound {
        /// What was looked for: `persona`, `version`, `page`.
        what: String,
    },
    /// The input breaks a rule; a form shows the rule beside the field.
    #[error("{rule}")]
    Invalid {
        /// The field, as JSON names it.
        field: String,
        /// The rule, as a sentence.
        rule: String,
    },
    /// The request could not be read at all.
    #[error("The request could not be read: {problem}.")]
    Malformed {
        /// What is wrong with it.
        problem: String,
    },
    /// The request is larger than anything we take.
    #[error("The request is too large: at most {limit_kib} KiB are taken.")]
    TooLarge {
        /// The limit in KiB.
        limit_kib: u64,
    },
    /// The body is of a kind that this address does not take.
    #[error("The body must be sent as {expected}.")]
    WrongType {
        /// The content type that is wanted.
        expected: String,
    },
    /// This address exists, but not for this method.
    #[error("This address does not answer to {method}.")]
    WrongMethod {
        /// The method that was used.
        method: String,
    },
    /// Somebody else changed the same passage meanwhile.
    #[error("The same passage of the {} was changed elsewhere. Both texts are kept: choose one, or join them.", .0.label())]
    Conflict(Box<Conflict>),
    /// What should be new exists already.
    #[error("There is already a {what} with that identifier.")]
    Taken {
        /// What exists.
        what: String,
    },
    /// Another page has the address that this one should have.
    #[error("The address “{address}” is taken. Choose another.")]
    AddressTaken {
        /// The field, as JSON names it.
        field: String,
        /// The address.
        address: String,
    },
    /// It lies in the bin, where nothing can be changed.
    #[error("That {what} is in the bin. Restore it first.")]
    InBin {
        /// What lies there.
        what: String,
    },
    /// The step makes no sense in the present state.
    #[error("{reason}")]
    NotNow {
        /// Why not, as a sentence.
        reason: String,
    },
    /// Somebody decided on this draft before.
    #[error("This draft was decided on already: {}.", .state.label().to_lowercase())]
    Decided {
        /// What was decided.
        state: ChangeState,
        /// When; `null` when it ended by itself.
        #[serde(rename = "decidedAt")]
        decided_at: Option<Timestamp>,
    },
    /// A run is going on in this conversation already.
    #[error("The last message is still being answered. Wait for it, or stop it.")]
    Busy {
        /// That run.
        #[serde(rename = "runId")]
        run_id: RunId,
    },
    /// Something was said after that message already.
    #[error("Something was said after that meanwhile. Read it, and send yours once more.")]
    MovedOn {
        /// Where that leads to.
        leaf: MessageId,
    },
    /// A service that runs models failed.
    #[error("{reason}")]
    Provider {
        /// Which one.
        service: String,
        /// What happened, as a sentence.
        reason: String,
    },
    /// A limit that somebody set is reached.
    #[error("{reason}")]
    Limited {
        /// Which, and what remains, as a sentence.
        reason: String,
        /// After how many seconds it may be tried again; `null` when time alone does not help.
        #[serde(rename = "retryAfter")]
        retry_after: Option<u64>,
    },
    /// A rule forbids it.
    #[error("{reason}")]
    Denied {
        /// Why, as a sentence.
        reason: String,
    },
    /// Nobody knows who asks.
    #[error("{reason}")]
    SignIn {
        /// What to do about it, as a sentence.
        reason: String,
    },
    /// The request names a host that this server does not serve.
    #[error(
        "This server does not answer for the host “{host}”. Start it with --allow-host to add a name."
    )]
    Misdirected {
        /// The host that was named.
        host: String,
    },
    /// The database cannot be reached.
    #[error("The database is not reachable. Nothing was changed; try again in a moment.")]
    Unavailable,
    /// There is no room for what should be written.
    #[error("The disk is full. Nothing was changed; free some space and try again.")]
    DiskFull,
    /// The browser could not reach the server.
    #[error("The server could not be reached. Check that it runs and try again.")]
    Offline,
    /// Our fault.
    #[error("Something went wrong on our side. The log has more under incident {incident}.")]
    Internal {
        /// The number under which the log tells more.
        incident: String,
    },
}

impl ApiError {
    /// The thing asked for is not there.
    pub fn not_found(what: impl Into<String>) -> Self {
        Self::NotFound { what: what.into() }
    }

    /// The field breaks a rule.
    pub fn invalid(field: impl Into<String>, rule: impl Into<String>) -> Self {
        Self::Invalid { field: field.into(), rule: rule.into() }
    }

    /// Whether asking again, unchanged, may succeed.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unavailable
            | Self::DiskFull
            | Self::Offline
            | Self::Busy { .. }
            | Self::Provider { .. }
            | Self::Limited { retry_after: Some(_), .. }
            | Self::Internal { .. } => true,
            Self::NotFound { .. }
            | Self::Invalid { .. }
            | Self::Malformed { .. }
            | Self::TooLarge { .. }
            | Self::WrongType { .. }
            | Self::WrongMethod { .. }
            | Self::Conflict(_)
            | Self::Taken { .. }
            | Self::AddressTaken { .. }
            | Self::InBin { .. }
            | Self::NotNow { .. }
            | Self::Decided { .. }
            | Self::MovedOn { .. }
            | Self::Limited { retry_after: None, .. }
            | Self::Denied { .. }
            | Self::SignIn { .. }
            | Self::Misdirected { .. } => false,
        }
    }

    /// The HTTP status that goes with it.
    pub fn status(&self) -> u16 {
        match self {
            Self::Malformed { .. } => 400,
            Self::SignIn { .. } => 401,
            Self::Denied { .. } => 403,
            Self::NotFound { .. } => 404,
            Self::WrongMethod { .. } => 405,
            Self::Conflict(_)
            | Self::Taken { .. }
            | Self::AddressTaken { .. }
            | Self::InBin { .. }
            | Self::NotNow { .. }
            | Self::Decided { .. }
            | Self::MovedOn { .. }
            | Self::Busy { .. } => 409,
            Self::TooLarge { .. } => 413,
            Self::WrongType { .. } => 415,
            Self::Misdirected { .. } => 421,
            Self::Invalid { .. } => 422,
            Self::Limited { .. } => 429,
            Self::Internal { .. } => 500,
            Self::Provider { .. } => 502,
            Self::Unavailable | Self::Offline => 503,
            Self::DiskFull => 507,
        }
    }
}

/// An error as the API sends it: `{"error": {"code", "message", …}}`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ErrorBody {
    /// The error.
    pub error: ErrorDetail,
}

/// What went wrong, for machines (`code` and what goes with it) and for people (`message`).
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ErrorDetail {
    /// Which error it is.
    pub code: String,
    /// A sentence for people.
    pub message: String,
    /// What goes with the code, such as the `field` that does not fit.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl From<ApiError> for ErrorBody {
    fn from(error: ApiError) -> Self {
        let message = error.to_string();
        let (code, more) = match serde_json::to_value(error) {
            Ok(Value::String(code)) => (code, Map::new()),
            Ok(Value::Object(one)) => match one.into_iter().next() {
                Some((code, Value::Object(more))) => (code, more),
                _ => ("internal".into(), Map::new()),
            },
            _ => ("internal".into(), Map::new()),
        };
        Self { error: ErrorDetail { code, message, more } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_a_code_a_sentence_and_its_fields() {
        let body = ErrorBody::from(ApiError::invalid("name", "A persona needs a name."));

        assert_eq!(
            serde_json::to_value(body).unwrap(),
            serde_json::json!({"error": {
                "code": "invalid",
                "message": "A persona needs a name.",
                "field": "name",
                "rule": "A persona needs a name.",
            }})
        );
        assert_eq!(
            serde_json::to_value(ErrorBody::from(ApiError::Unavailable)).unwrap()["error"]["code"],
            "unavailable"
        );
    }
}
