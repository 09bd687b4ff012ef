//! What a model is asked, and what comes from it.

use serde_json::Value;

use super::ProviderError;
use crate::domain::{
    message::{Carried, Turn},
    run::{StopReason, Usage},
};

/// What a model is asked.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'ask> {
    /// The service's word for itself, as [`Carried::service`] keeps it.
    pub service: &'ask str,
    /// The model, as its service knows it.
    pub model: &'ask str,
    /// The system prompt.
    pub system: &'ask str,
    /// What was said so far: calls paired with results, a user's turn first.
    pub turns: &'ask [Turn],
    /// What it may use.
    pub tools: &'ask [ToolSpec],
    /// The longest answer, in tokens.
    pub max_tokens: u64,
    /// Whether its thoughts should be shown, where the service can.
    pub thoughts: Thoughts,
    /// What the service does differently from the one whose dialect it speaks.
    pub quirks: Quirks,
}

/// Whether a model's thoughts are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Thoughts {
    /// As the service does by itself.
    #[default]
    AsIs,
    /// Shown, as an adaptive effort of the model's own.
    Shown,
}

/// A tool as a model is told of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its input.
    pub schema: Value,
}

/// What comes from a model.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelEvent {
    /// More words.
    Text(String),
    /// More of its thoughts.
    Reasoning(String),
    /// The part of words or thoughts that was going on is whole. Without a part going on, it is a part
    /// of thoughts that the service does not show.
    PartEnd(Option<Carried>),
    /// A whole call of a tool.
    ToolCall {
        /// The tool's name.
        name: String,
        /// Its input, or the text that is not a JSON object: cut off, or wrong.
        input: Result<Value, String>,
        /// The service's own identifier, signatures and the like.
        carried: Carried,
    },
    /// The tokens so far; the last one counts.
    Usage(Usage),
    /// The service was not ready and is asked again.
    Retrying {
        /// Which attempt comes next, from 2.
        attempt: u32,
        /// After how long.
        wait_ms: u64,
        /// What it said.
        reason: String,
    },
    /// The model stopped. Exactly one ends a good stream, after all else.
    Stop(StopReason),
}

/// Reads one answer of a service.
pub trait Decoder: Send {
    /// Takes the data of one server-sent event.
    fn feed(&mut self, data: &str) -> Result<Vec<ModelEvent>, ProviderError>;

    /// The body came to its end. An answer without an end is a [`Truncated`](super::Fault::Truncated) error.
    fn finish(&mut self) -> Result<Vec<ModelEvent>, ProviderError>;

    /// Whether the service has said why it stopped, so that only counts and the end itself may follow. What
    /// has an end mark of its own need not say.
    fn has_reason(&self) -> bool {
        false
    }
}

/// How a service that speaks OpenAI's dialect differs from OpenAI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quirks {
    /// The field for the longest answer is the old `max_tokens`.
    pub old_max_tokens: bool,
    /// It wants `reasoning_content` back while tools are going on.
    pub echo_reasoning: bool,
    /// It gives `reasoning_details` with an answer, and wants them back as they came (OpenRouter).
    pub reasoning_details: bool,
    /// It refuses `stream_options`.
    pub no_stream_options: bool,
    /// Its tool call identifiers must be nine letters and digits.
    pub short_call_ids: bool,
    /// Reasoning tokens are counted outside the completion's (xAI).
    pub reasoning_outside: bool,
    /// A model's thoughts may stand before its words, between `<think>` and `</think>`.
    pub think_tags: bool,
}
