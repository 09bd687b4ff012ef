//! The trace of a run: what it did, step by step, with times. It is made of what the run told and of
//! nothing else, so that every run has one, also one that goes on or was interrupted.

mod build;
mod filter;

pub use filter::{TraceFilter, TraceWords};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    error::ApiError,
    id::{CallId, ChangeId, ConversationId, MessageId, PersonaId, RunId},
    message::{ConversationKind, Part},
    run::{Run, RunStatus, StopReason, Usage},
    timestamp::Timestamp,
};

/// The identifier of the span that is the run itself.
pub const RUN_SPAN: &str = "run";

/// A run in a list of traces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TraceSummary {
    /// The run.
    pub id: RunId,
    /// Where it was asked for.
    pub source: ConversationKind,
    /// The conversation it went on in.
    pub conversation_id: ConversationId,
    /// The message that asked for it.
    pub message_id: MessageId,
    /// The message that it writes, which is not kept when it ended before its first word.
    pub reply_id: MessageId,
    /// The persona that spoke or was edited.
    pub persona_id: PersonaId,
    /// What that persona was called then.
    pub persona_name: String,
    /// The model.
    pub model: String,
    /// Where it stands.
    pub status: RunStatus,
    /// Why it ended.
    pub stop: Option<StopReason>,
    /// What went wrong or was cut short, as a sentence.
    pub error: Option<String>,
    /// How often the model was asked.
    pub steps: u32,
    /// The tokens of all its steps.
    pub usage: Usage,
    /// The price in millionths of a dollar; `null` when it is not known.
    pub cost_micros: Option<u64>,
    /// From the question to the first word.
    pub first_token_ms: Option<u64>,
    /// From the question to the end.
    pub duration_ms: u64,
    /// When it was asked for.
    pub created_at: Timestamp,
}

impl TraceSummary {
    /// What is told of a run.
    pub fn of(run: &Run, source: ConversationKind, persona_name: String) -> Self {
        Self {
            id: run.id.clone(),
            source,
            conversation_id: run.conversation_id.clone(),
            message_id: run.message_id.clone(),
            reply_id: run.reply_id.clone(),
            persona_id: run.persona_id.clone(),
            persona_name,
            model: run.model.clone(),
            status: run.status,
            stop: run.stop,
            error: run.error.as_ref().map(ApiError::to_string),
            steps: run.spent.steps,
            usage: run.spent.usage,
            cost_micros: run.spent.cost_micros,
            first_token_ms: run.spent.first_token_ms,
            duration_ms: run.spent.duration_ms,
            created_at: run.created_at,
        }
    }

    /// The page on which it was asked for.
    pub fn path(&self) -> String {
        let (conversation, persona) = (&self.conversation_id, &self.persona_id);
        match self.source {
            ConversationKind::Chat => format!("/chats/{conversation}?leaf={}", self.message_id),
            ConversationKind::Test => format!("/personas/{persona}"),
            ConversationKind::Editor => {
                format!("/rail?whole=1&at=/personas/{persona}&conversation={conversation}")
            }
            ConversationKind::Companion => {
                format!("/rail?whole=1&at=/&conversation={conversation}")
            }
            ConversationKind::Playground => format!("/playground/{persona}/{conversation}"),
            ConversationKind::Terminal => format!("/terminal/{conversation}"),
        }
    }
}

/// Where runs are asked for.
pub const SOURCES: [ConversationKind; 6] = [
    ConversationKind::Companion,
    ConversationKind::Editor,
    ConversationKind::Test,
    ConversationKind::Chat,
    ConversationKind::Playground,
    ConversationKind::Terminal,
];

/// What people call the place where a run was asked for.
pub fn source_label(source: ConversationKind) -> &'static str {
    match source {
        ConversationKind::Companion => "Companion",
        ConversationKind::Editor => "Persona’s agent",
        ConversationKind::Test => "Test input",
        ConversationKind::Chat => "Chat",
        ConversationKind::Playground => "Playground",
        ConversationKind::Terminal => "Terminal",
    }
}

/// What a run did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Trace {
    /// How it stands, and what it took.
    #[serde(flatten)]
    pub summary: TraceSummary,
    /// How long it stood in line before it began.
    pub waited_ms: u64,
    /// When it began; the spans are counted from here.
    pub began_at: Timestamp,
    /// From there to the end, or to the last that is known.
    pub traced_ms: u64,
    /// What it went on from: what another run had said and done, which its model was sent as its own. Empty for
    /// most runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taken_over: Vec<Part>,
    /// What it did. A span comes after its parent, and otherwise when it began.
    pub spans: Vec<Span>,
}

/// A stretch of time in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Span {
    /// The identifier, unique in the trace.
    pub id: String,
    /// The span in which it was begun.
    pub parent_id: Option<String>,
    /// How many spans it stands in.
    pub depth: u32,
    /// What it is called: the persona, the model or the tool.
    pub name: String,
    /// When it began, from the beginning of the run.
    pub start_ms: u64,
    /// How long it took.
    pub duration_ms: u64,
    /// What went wrong, as a sentence.
    pub error: Option<String>,
    /// What happened in it.
    #[serde(flatten)]
    pub what: What,
}

/// What happens in a span.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum What {
    /// The whole run.
    Run {
        /// Where it stands.
        status: RunStatus,
    },
    /// The model is asked.
    LlmCall {
        /// Which time it is, from 1.
        step: u32,
        /// Why the model stopped; `null` when it was cut short.
        stop: Option<StopReason>,
        /// The tokens.
        usage: Usage,
        /// The price in millionths of a dollar; `null` when it is not known.
        cost_micros: Option<u64>,
        /// How long the answer could be, in tokens, where a limit let it be less long than usual.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_tokens: Option<u64>,
        /// From the question to the first word, thought or call.
        first_token_ms: Option<u64>,
        /// What went before it was answered.
        retries: Vec<Retry>,
        /// What the model thought, as far as its service shows it.
        reasoning: String,
        /// What it said.
        text: String,
        /// The calls of tools it asked for.
        calls: Vec<CallId>,
    },
    /// A tool is run.
    ToolCall {
        /// The call.
        call: CallId,
        /// What the tool is given.
        input: Value,
        /// About how many tokens that is.
        tokens: u64,
    },
    /// A tool gave its result.
    ToolResult {
        /// The call.
        call: CallId,
        /// What the model is told.
        output: String,
        /// About how many tokens that is.
        tokens: u64,
        /// The change that waits for a decision or was applied.
        change_id: Option<ChangeId>,
    },
}

impl What {
    /// The word in JSON, also for people.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Run { .. } => "run",
            Self::LlmCall { .. } => "llm_call",
            Self::ToolCall { .. } => "tool_call",
            Self::ToolResult { .. } => "tool_result",
        }
    }
}

/// A service was not ready, and was asked again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Retry {
    /// Which attempt came next.
    pub attempt: u32,
    /// After how long.
    pub wait_ms: u64,
    /// What the service said.
    pub reason: String,
}

impl Trace {
    /// The span with this identifier.
    pub fn span(&self, id: &str) -> Option<&Span> {
        self.spans.iter().find(|span| span.id == id)
    }

    /// The span in which a call gave its result.
    pub fn result(&self, call: &CallId) -> Option<&Span> {
        let is_result =
            |span: &&Span| matches!(&span.what, What::ToolResult { call: of, .. } if of == call);
        self.spans.iter().find(is_result)
    }
}

/// An axis of time for a drawing: so many parts of a round length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// How long a part is.
    pub step_ms: u64,
    /// How many there are: six at the most.
    pub count: u64,
}

impl Axis {
    /// An axis on which so long a time fits.
    pub fn over(whole_ms: u64) -> Self {
        let rounded = (0..19).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u64.pow(power)));
        let step_ms = rounded.into_iter().find(|step| whole_ms.div_ceil(*step) <= 6);
        let step_ms = step_ms.unwrap_or(u64::MAX);
        Self { step_ms, count: whole_ms.div_ceil(step_ms).max(1) }
    }

    /// How long it is.
    pub fn whole_ms(self) -> u64 {
        self.step_ms.saturating_mul(self.count)
    }
}

#[cfg(test)]
mod tests;
