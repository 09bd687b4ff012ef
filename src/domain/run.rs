//! A run: one execution of the agent loop, from a person's message to the end of the answer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    error::ApiError,
    event::RunEvent,
    field::grouped,
    id::{ConversationId, MessageId, PersonaId, RunId},
    message::{ConversationKind, Message, Part, Role},
    timestamp::Timestamp,
    version::Revision,
};

/// What a person says when an answer broke off.
pub const GO_ON: &str = "Go on exactly where you stopped.";

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// It waits for its turn.
    Queued,
    /// It is going on.
    Running,
    /// The model came to an end.
    Done,
    /// A person stopped it.
    Stopped,
    /// It could not go on.
    Failed,
    /// The server ended under it.
    Interrupted,
}

impl RunStatus {
    /// The word in JSON and in the database.
    pub fn word(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Done => "done",
            Self::Stopped => "stopped",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
        }
    }

    /// The status with this word.
    pub fn from_word(word: &str) -> Self {
        match word {
            "queued" => Self::Queued,
            "running" => Self::Running,
            "done" => Self::Done,
            "stopped" => Self::Stopped,
            "interrupted" => Self::Interrupted,
            _ => Self::Failed,
        }
    }

    /// Whether nothing more will come.
    pub fn is_over(self) -> bool {
        match self {
            Self::Queued | Self::Running => false,
            Self::Done | Self::Stopped | Self::Failed | Self::Interrupted => true,
        }
    }
}

/// Why a model stopped, or why it was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It said what it had to say.
    EndTurn,
    /// It came to one of the words at which it was to stop.
    StopSequence,
    /// It wants tools run.
    ToolUse,
    /// It came to the limit of one answer: the text is cut off.
    MaxTokens,
    /// The service wants the turn sent back, to go on with it.
    PauseTurn,
    /// It refused, or a filter did.
    Refusal,
    /// The conversation is longer than the model can read.
    ContextExceeded,
    /// One of our own limits was reached: steps, tokens, time or money.
    Limit,
    /// The service gave a reason we do not know.
    Other,
}

/// How many tokens went in and out. What a service does not tell is unknown, not zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// All that was read, cached parts included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// What of it came from the service's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<u64>,
    /// What of it was put into the service's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<u64>,
    /// All that was written, reasoning included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// What of it was reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
}

impl Usage {
    /// Both together: unknown only where neither knows.
    pub fn plus(self, other: Self) -> Self {
        let sum = |left: Option<u64>, right: Option<u64>| match (left, right) {
            (None, None) => None,
            (left, right) => Some(left.unwrap_or_default() + right.unwrap_or_default()),
        };
        Self {
            input: sum(self.input, other.input),
            cache_read: sum(self.cache_read, other.cache_read),
            cache_write: sum(self.cache_write, other.cache_write),
            output: sum(self.output, other.output),
            reasoning: sum(self.reasoning, other.reasoning),
        }
    }

    /// The same for an answer whose service does not tell what it took in the end: about so much was read, as
    /// far as that is known, and at least so much was written.
    pub fn or_about(self, read: Option<u64>, written: u64) -> Self {
        let output = self.output.unwrap_or_default().max(written);
        Self { input: self.input.or(read), output: Some(output), ..self }
    }
}

/// What a run took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Spent {
    /// The tokens of all its steps.
    pub usage: Usage,
    /// The price in millionths of a dollar; `null` when the model's price is not known.
    pub cost_micros: Option<u64>,
    /// From the question to the first word.
    pub first_token_ms: Option<u64>,
    /// From the question to the end.
    pub duration_ms: u64,
    /// How often the model was asked.
    pub steps: u32,
}

impl Spent {
    /// For people: `533 in · 64 out · 1.5 s · $0.0012`. What is not known is left out.
    pub fn told(&self) -> String {
        let mut told = Vec::new();
        let tokens = |count: Option<u64>, word: &str| {
            count.map(|count| format!("{} {word}", grouped(count)))
        };
        told.extend(tokens(self.usage.input, "in"));
        told.extend(tokens(self.usage.output, "out"));
        told.push(told_time(self.duration_ms));
        // A service that failed before it began took nothing, and is not free for that.
        let has_begun = |micros: &u64| *micros > 0 || self.usage.input.is_some();
        told.extend(self.cost_micros.filter(has_begun).map(told_price));
        told.join(" · ")
    }
}

/// How long something took, for people: `80 ms`, `1.5 s`.
pub fn told_time(millis: u64) -> String {
    match millis {
        short @ ..1000 => format!("{short} ms"),
        long => format!("{}.{} s", long / 1000, long % 1000 / 100),
    }
}

/// What something cost, for people, from millionths of a dollar: `free`, `$0.0012`.
pub fn told_price(micros: u64) -> String {
    if micros == 0 { "free".to_owned() } else { told_dollars(micros) }
}

/// Millionths of a dollar, for people: `$2.50`, `$0.035`, `$0.00347`. Cents are always told, and below one
/// all there is.
pub fn told_dollars(micros: u64) -> String {
    let (dollars, rest) = (micros / 1_000_000, micros % 1_000_000);
    let told = if micros < 10_000 { rest } else { rest / 100 * 100 };
    let told = format!("{told:06}");
    let digits = told.trim_end_matches('0').len().max(2);
    format!("${dollars}.{}", &told[..digits])
}

/// A run as it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// The identifier.
    pub id: RunId,
    /// The conversation it goes on in.
    pub conversation_id: ConversationId,
    /// The message that asked for it.
    pub message_id: MessageId,
    /// The message it writes.
    pub reply_id: MessageId,
    /// The first run of the answers that belong together; itself when it is alone.
    pub round_id: RunId,
    /// Its place among them, from 0.
    pub place: i64,
    /// What its message follows, when that is not the message that asked for it.
    pub follows_id: Option<MessageId>,
    /// The persona that speaks or is edited.
    pub persona_id: PersonaId,
    /// The version of that persona.
    pub persona_revision: Revision,
    /// The model, as the persona or the default names it.
    pub model: String,
    /// Where it stands.
    pub status: RunStatus,
    /// Why it ended.
    pub stop: Option<StopReason>,
    /// What went wrong.
    pub error: Option<ApiError>,
    /// What it took so far.
    pub spent: Spent,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}

impl Run {
    /// What its message follows, as far as it is known when it begins.
    pub fn follows(&self) -> &MessageId {
        self.follows_id.as_ref().unwrap_or(&self.message_id)
    }

    /// The message it writes, with these parts.
    pub fn reply(&self, parts: Vec<Part>) -> Message {
        Message {
            id: self.reply_id.clone(),
            parent_id: Some(self.follows().clone()),
            role: Role::Assistant,
            parts,
            run_id: Some(self.id.clone()),
            model: self.model.clone(),
            stop: self.stop,
            spent: self.spent,
            created_at: self.created_at,
        }
    }

    /// The last thing it tells.
    pub fn ended(&self) -> RunEvent {
        RunEvent::Ended {
            status: self.status,
            stop: self.stop,
            error: self.error.clone(),
            spent: self.spent,
        }
    }

    /// Whether asking the same again makes sense.
    pub fn can_retry(&self) -> bool {
        self.status.is_over()
    }

    /// Whether the answer can be gone on with, in a conversation of this kind: a test input is run, not
    /// talked with.
    pub fn can_continue(&self, kind: ConversationKind) -> bool {
        kind != ConversationKind::Test && self.broke_off()
    }

    /// Whether the answer broke off.
    pub fn broke_off(&self) -> bool {
        match self.status {
            RunStatus::Interrupted | RunStatus::Stopped => true,
            RunStatus::Done => {
                use StopReason::{Limit, MaxTokens, Other};
                matches!(self.stop, Some(MaxTokens | Limit | Other))
            }
            RunStatus::Queued | RunStatus::Running | RunStatus::Failed => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_that_stopped_for_no_known_reason_can_be_gone_on_with() {
        let ended = |status, stop| {
            let run = json!({
                "id": "r", "conversationId": "c", "messageId": "m", "replyId": "a", "roundId": "r",
                "place": 0, "personaId": "p", "personaRevision": 1, "model": "demo",
                "status": status, "stop": stop, "spent": Spent::default(), "createdAt": "2026-01-01T00:00:00Z",
            });
            serde_json::from_value::<Run>(run).unwrap().broke_off()
        };

        for stop in [StopReason::Other, StopReason::MaxTokens, StopReason::Limit] {
            assert!(ended(RunStatus::Done, stop), "{stop:?}");
        }
        assert!(!ended(RunStatus::Done, StopReason::EndTurn));
        assert!(!ended(RunStatus::Failed, StopReason::Other));
    }

    #[test]
    fn people_read_what_a_run_took_and_nothing_that_is_not_known() {
        let usage = Usage { input: Some(12_345), output: Some(64), ..Usage::default() };
        let spent = Spent { usage, duration_ms: 1532, cost_micros: Some(1204), ..Spent::default() };

        assert_eq!(spent.told(), "12\u{202f}345 in · 64 out · 1.5 s · $0.001204");
        assert_eq!(Spent { duration_ms: 80, ..Spent::default() }.told(), "80 ms");
        let nothing = Spent { cost_micros: Some(0), ..Spent::default() };
        assert_eq!(nothing.told(), "0 ms");
        let usage = Usage { input: Some(5), ..Usage::default() };
        assert_eq!(Spent { usage, ..nothing }.told(), "5 in · 0 ms · free");
        let dear = Spent { cost_micros: Some(2_345_678), ..Spent::default() };
        assert_eq!(dear.told(), "0 ms · $2.3456");
        let told = [0, 7, 3470, 10_000, 34_567, 500_000, 12_000_000].map(told_dollars);
        let expected = ["$0.00", "$0.000007", "$0.00347", "$0.01", "$0.0345", "$0.50", "$12.00"];
        assert_eq!(told, expected);
    }
}
