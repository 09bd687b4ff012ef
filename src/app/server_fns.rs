//! What pages ask of the server: three-line sentences that call a room's method.

pub mod answers;
pub mod audit;
pub mod bin;
pub mod budgets;
pub mod chat_tree;
pub mod chats;
pub mod conflicts;
pub mod knowledge;
pub mod models;
pub mod personas;
pub mod pictures;
pub mod playground;
pub mod proposals;
pub mod rail;
pub mod roleplay;
pub mod search;
pub mod settings;
pub mod several;
pub mod terminal;
pub mod test_inputs;
pub mod traces;
pub mod versions;
pub mod workbench;

use leptos::server_fn::{
    codec::JsonEncoding,
    error::{FromServerFnError, ServerFnErrorErr},
};

use crate::domain::error::ApiError;

impl FromServerFnError for ApiError {
    type Encoder = JsonEncoding;

    fn from_server_fn_error(error: ServerFnErrorErr) -> Self {
        match error {
            ServerFnErrorErr::Request(_) => Self::Offline,
            ServerFnErrorErr::Args(rule) | ServerFnErrorErr::MissingArg(rule) => {
                Self::Invalid { field: "form".into(), rule }
            }
            // The server answered with something that is not ours: a proxy, or a body over the limit.
            ServerFnErrorErr::Deserialization(_) => Self::Unavailable,
            ServerFnErrorErr::Registration(_)
            | ServerFnErrorErr::UnsupportedRequestMethod(_)
            | ServerFnErrorErr::MiddlewareError(_)
            | ServerFnErrorErr::ServerError(_)
            | ServerFnErrorErr::Serialization(_)
            | ServerFnErrorErr::Response(_) => Self::Internal { incident: "transport".into() },
        }
    }
}
