//! A session as files: what was said (`history.json`), and with what (`metadata.json`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ManagerKind, PromptSource};
use crate::domain::timestamp::Timestamp;

/// A session, whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionRecord {
    /// What was said, the oldest first.
    pub history: Vec<HistoryEntry>,
    /// With what, and what it took.
    pub metadata: Metadata,
}

/// Something that was said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryEntry {
    /// `user`, `assistant`, or `system` where the prompt became another one.
    pub role: String,
    /// The words.
    pub content: String,
    /// When.
    pub timestamp: Timestamp,
    /// Where a prompt came from, when it is a persona's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<RecordedSource>,
    /// What tools were called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<RecordedCall>,
    /// What they gave.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_results: Vec<RecordedResult>,
}

/// Where a prompt came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecordedSource {
    /// It was written where it was set for the session.
    Inline,
    /// It was read from a file, for the session.
    File,
    /// Whoever speaks has it; it was not set for the session.
    Persona,
}

impl From<PromptSource> for RecordedSource {
    fn from(source: PromptSource) -> Self {
        match source {
            PromptSource::Inline => Self::Inline,
            PromptSource::File => Self::File,
        }
    }
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedCall {
    /// The call.
    pub id: String,
    /// The tool.
    pub name: String,
    /// What it was given.
    pub arguments: Value,
}

/// What a tool gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedResult {
    /// The call.
    pub id: String,
    /// The tool.
    pub name: String,
    /// What it gave.
    pub content: String,
    /// Whether it failed.
    #[serde(default)]
    pub is_error: bool,
}

/// With what a session speaks, and what its turns took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Metadata {
    /// The session.
    pub session_id: String,
    /// What it is called.
    #[serde(default)]
    pub description: String,
    /// When it was begun.
    pub created_at: Timestamp,
    /// When something was last said or set.
    #[serde(default)]
    pub updated_at: Option<Timestamp>,
    /// The model string.
    pub model: String,
    /// Who decides what is sent.
    #[serde(default)]
    pub conversation_manager: ManagerKind,
    /// How many exchanges are sent.
    pub window_size: u32,
    /// Whether long results of tools are cut.
    pub should_truncate_results: bool,
    /// What the model is told before all else: the session's own prompt, or what the persona was told last.
    #[serde(default)]
    pub system_prompt_text: Option<String>,
    /// Where that came from.
    #[serde(default)]
    pub system_prompt_source: Option<RecordedSource>,
    /// The file, as it was named.
    #[serde(default)]
    pub system_prompt_file_path: Option<String>,
    /// Each turn, the oldest first.
    #[serde(default)]
    pub turns: Vec<TurnRecord>,
}

/// What one turn took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnRecord {
    /// Which turn it is, from 1.
    pub turn: u32,
    /// When it was asked for.
    pub timestamp: Timestamp,
    /// The model that answered.
    pub model: String,
    /// How it ended: `done`, `stopped`, `failed` or `interrupted`.
    pub status: String,
    /// What went wrong, as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// From the question to the end, in milliseconds.
    pub latency_ms: u64,
    /// From the question to the first word.
    #[serde(default)]
    pub first_token_ms: Option<u64>,
    /// The tokens.
    pub tokens: TokenCount,
    /// The price in dollars; `null` when it is not known.
    #[serde(default)]
    pub cost_usd: Option<f64>,
    /// The tools, with what they were given and gave.
    #[serde(default)]
    pub tools: Vec<ToolUse>,
    /// What was set since the turn before.
    #[serde(default)]
    pub overrides: Map<String, Value>,
    /// What its answer was rated with, from 1 to 5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rating: Option<u8>,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rating_note: String,
}

/// Tokens in and out; what a service does not tell is `null`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenCount {
    /// Read.
    pub prompt: Option<u64>,
    /// Written.
    pub completion: Option<u64>,
}

/// A tool that was used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolUse {
    /// The tool.
    pub name: String,
    /// What it was given.
    pub arguments: Value,
    /// What it gave; `null` when nothing came of it.
    pub result: Option<String>,
    /// Whether it failed.
    #[serde(default)]
    pub is_error: bool,
}
