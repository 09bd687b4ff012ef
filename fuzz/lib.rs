//! The rooms that are fuzzed, and no others: built with the fuzzer's instruments, the whole house would take
//! too long. They are read from the house itself.

pub use rooms::{cards, domain, markdown};

#[path = "../src"]
mod rooms {
    pub mod cards;
    pub mod domain;
    pub mod markdown;
}

/// The dialects of services, without what connects to them.
#[path = "../src/providers"]
pub mod providers {
    mod anthropic;
    mod asking;
    mod dialect;
    mod error;
    mod gemini;
    mod openai_chat;
    mod openai_responses;

    pub use asking::{Ask, Decoder, ModelEvent, Quirks, Thoughts, ToolSpec};
    pub use dialect::Dialect;
    pub use error::{Fault, ProviderError};
}
