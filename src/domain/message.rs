//! What is said in a conversation: messages, and the parts they consist of.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    field::TextField,
    id::{CallId, ChangeId, ConversationId, MessageId, PartId, PersonaId, RunId},
    proposal::Source,
    run::{Spent, StopReason},
    timestamp::Timestamp,
};

/// What a person says at once.
pub const MESSAGE: TextField =
    TextField { name: "message", label: "The message", max_chars: 50_000 };

/// Who says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// A person, or what stands in for one.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// The word in JSON and in the database.
    pub fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }

    /// The role with this word.
    pub fn from_word(word: &str) -> Self {
        if word == "user" { Self::User } else { Self::Assistant }
    }
}

/// What a conversation is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ConversationKind {
    /// With the companion, about everything in the Space.
    Companion,
    /// With a persona's agent, which edits that persona.
    Editor,
    /// One test input and the persona's answer to it.
    Test,
    /// With a persona that speaks for itself: see [`super::chat`].
    Chat,
    /// With a persona that has tools and files: see [`super::playground`].
    Playground,
    /// With a model or a persona, from a terminal: see [`super::terminal`].
    Terminal,
}

impl ConversationKind {
    /// The word in JSON and in the database.
    pub fn word(self) -> &'static str {
        match self {
            Self::Companion => "companion",
            Self::Editor => "editor",
            Self::Test => "test",
            Self::Chat => "chat",
            Self::Playground => "playground",
            Self::Terminal => "terminal",
        }
    }

    /// The kind with this word.
    pub fn from_word(word: &str) -> Self {
        match word {
            "test" => Self::Test,
            "companion" => Self::Companion,
            "chat" => Self::Chat,
            "playground" => Self::Playground,
            "terminal" => Self::Terminal,
            _ => Self::Editor,
        }
    }
}

/// A conversation: a tree of messages, and the leaf that is being talked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversation {
    /// The identifier.
    pub id: ConversationId,
    /// What it is for.
    pub kind: ConversationKind,
    /// The persona it is with.
    pub persona_id: PersonaId,
    /// The last message of the branch in use; nothing was said yet without one.
    pub leaf: Option<MessageId>,
    /// When it began.
    pub created_at: Timestamp,
}

/// One message. What an assistant does in one run is one message, tool calls and results included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// The identifier.
    pub id: MessageId,
    /// The message it answers or follows.
    pub parent_id: Option<MessageId>,
    /// Who says it.
    pub role: Role,
    /// What it says, in order.
    pub parts: Vec<Part>,
    /// The run that made it.
    pub run_id: Option<RunId>,
    /// The model that wrote it; empty for a person's.
    pub model: String,
    /// Why it ends where it ends.
    pub stop: Option<StopReason>,
    /// What it took.
    pub spent: Spent,
    /// When it was begun.
    pub created_at: Timestamp,
}

/// A piece of a message, with its own identifier and time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Part {
    /// The identifier.
    pub id: PartId,
    /// When it began.
    pub at: Timestamp,
    /// What it is.
    pub body: PartBody,
    /// What the service that made it wants to see again, and nobody else understands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carried: Option<Carried>,
}

/// What a part is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PartBody {
    /// Words.
    Text(String),
    /// The model's thoughts, as far as its service shows them. Never sent as words.
    Reasoning(String),
    /// The model wants a tool run.
    ToolCall(ToolCall),
    /// What the tool gave.
    ToolResult(ToolResult),
}

/// The model wants a tool run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// Our identifier of the call, unique in the conversation.
    pub call: CallId,
    /// The tool's name.
    pub name: String,
    /// What it is given.
    pub input: Value,
}

/// What a tool gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// The call it answers.
    pub call: CallId,
    /// The tool's name.
    pub name: String,
    /// What the model is told.
    pub output: String,
    /// Whether the tool failed.
    pub is_error: bool,
    /// The change that waits for a decision or was applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change_id: Option<ChangeId>,
    /// What of it nobody here wrote.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<Source>,
}

/// What a service wants back with a part: opaque, and of no use to another service or model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Carried {
    /// The service that made the part.
    pub service: String,
    /// The model that made it.
    pub model: String,
    /// The service's own identifier of the part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Signatures, encrypted thoughts and the like, as they came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

/// One entry of the flat list that a conversation is when a model reads it.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// Who says it. A tool's result is the user's side.
    pub role: Role,
    /// What is said.
    pub part: Part,
}

/// What is said below an answer that did not come to its end, when nobody knows why any more.
pub const BROKE_OFF: &str = "It was stopped or broke off.";

impl Message {
    /// The flat entries of this message.
    pub fn turns(&self) -> impl Iterator<Item = Turn> + '_ {
        self.parts.iter().map(|part| {
            let role = match part.body {
                PartBody::ToolResult(_) => Role::User,
                PartBody::Text(_) | PartBody::Reasoning(_) | PartBody::ToolCall(_) => self.role,
            };
            Turn { role, part: part.clone() }
        })
    }

    /// All its words.
    pub fn text(&self) -> String {
        let words = self.parts.iter().filter_map(|part| match &part.body {
            PartBody::Text(text) => Some(text.as_str()),
            PartBody::Reasoning(_) | PartBody::ToolCall(_) | PartBody::ToolResult(_) => None,
        });
        words.collect::<Vec<_>>().join("\n\n")
    }

    /// Whether this is an answer that did not come to its end, as one that is still being given.
    pub fn broke_off(&self) -> bool {
        self.role == Role::Assistant && self.run_id.is_some() && self.stop.is_none()
    }
}
