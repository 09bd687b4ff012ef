//! An answer of Gemini, chunk by chunk.

use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, json};

use crate::{
    domain::run::{StopReason, Usage},
    providers::{
        Ask, Decoder, Fault, ModelEvent, ProviderError,
        dialect::{
            arguments::{self, Ending},
            failure,
            writing::{Writing, keep_last},
        },
    },
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk {
    error: Option<IgnoredAny>,
    candidates: Option<Vec<Candidate>>,
    usage_metadata: Option<Counts>,
    prompt_feedback: Option<Feedback>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    index: Option<u64>,
    content: Option<Content>,
    finish_reason: Option<String>,
    finish_message: Option<String>,
}

#[derive(Deserialize)]
struct Content {
    parts: Option<Vec<Part>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    text: Option<String>,
    #[serde(default)]
    thought: bool,
    thought_signature: Option<String>,
    function_call: Option<Call>,
}

#[derive(Deserialize)]
struct Call {
    id: Option<String>,
    name: String,
    args: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    block_reason: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Counts {
    prompt_token_count: Option<u64>,
    tool_use_prompt_token_count: Option<u64>,
    cached_content_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
}

/// Reads an answer of Gemini. It has no end marker: the answer ends when the body does.
pub struct Chunks {
    writing: Writing,
    counts: Counts,
    finish: Option<String>,
    finish_message: Option<String>,
    is_blocked: bool,
}

impl Chunks {
    /// For the answer to this request.
    pub fn new(ask: &Ask<'_>) -> Self {
        Self {
            writing: Writing::new(ask),
            counts: Counts::default(),
            finish: None,
            finish_message: None,
            is_blocked: false,
        }
    }

    fn part(&mut self, part: Part) {
        let signature = part.thought_signature.filter(|signature| !signature.is_empty());
        let data = signature.map(|signature| json!({"thoughtSignature": signature}));
        if let Some(call) = part.function_call {
            let input = arguments::from_value(call.args, Ending::Whole);
            let id = call.id.filter(|id| !id.is_empty());
            return self.writing.call(call.name, input, id, data);
        }
        // Code that runs at the service and the like is not ours to show.
        let Some(text) = part.text else { return };
        match (part.thought, text.is_empty()) {
            (true, false) => self.writing.thought(&text),
            (false, false) => self.writing.text(&text),
            // A signature on an empty part belongs to that part, not to the words before it.
            (_, true) if data.is_some() => self.writing.end(),
            (_, true) => {}
        }
        if let Some(data) = data {
            self.writing.end_with(None, data);
        }
    }

    fn count(&mut self, told: Counts) {
        let counts = &mut self.counts;
        keep_last(&mut counts.prompt_token_count, told.prompt_token_count);
        keep_last(&mut counts.tool_use_prompt_token_count, told.tool_use_prompt_token_count);
        keep_last(&mut counts.cached_content_token_count, told.cached_content_token_count);
        keep_last(&mut counts.candidates_token_count, told.candidates_token_count);
        keep_last(&mut counts.thoughts_token_count, told.thoughts_token_count);
    }

    fn usage(&self) -> Usage {
        let counts = &self.counts;
        let sum = |left: Option<u64>, right: Option<u64>| match (left, right) {
            (None, None) => None,
            (left, right) => Some(left.unwrap_or_default() + right.unwrap_or_default()),
        };
        Usage {
            input: sum(counts.prompt_token_count, counts.tool_use_prompt_token_count),
            cache_read: counts.cached_content_token_count,
            cache_write: None,
            // Thoughts are counted beside the candidates, not among them.
            output: sum(counts.candidates_token_count, counts.thoughts_token_count),
            reasoning: counts.thoughts_token_count,
        }
    }

    fn reason(&self) -> Result<StopReason, ProviderError> {
        let Some(finish) = self.finish.as_deref() else {
            return if self.is_blocked {
                Ok(StopReason::Refusal)
            } else {
                Err(failure::truncated())
            };
        };
        match finish {
            "STOP" if self.writing.has_calls() => Ok(StopReason::ToolUse),
            "STOP" => Ok(StopReason::EndTurn),
            "MAX_TOKENS" => Ok(StopReason::MaxTokens),
            "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII"
            | "IMAGE_SAFETY" => Ok(StopReason::Refusal),
            "MALFORMED_FUNCTION_CALL"
            | "UNEXPECTED_TOOL_CALL"
            | "TOO_MANY_TOOL_CALLS"
            | "MALFORMED_RESPONSE" => {
                let message = match &self.finish_message {
                    Some(message) => format!("{finish}: {message}"),
                    None => finish.to_owned(),
                };
                let message = message.chars().take(500).collect::<String>();
                Err(ProviderError::new(Fault::Transient, message))
            }
            _ => Ok(StopReason::Other),
        }
    }
}

impl Decoder for Chunks {
    fn feed(&mut self, data: &str) -> Result<Vec<ModelEvent>, ProviderError> {
        if self.writing.is_over() || matches!(data.trim(), "" | "[DONE]") {
            return Ok(Vec::new());
        }
        let chunk: Chunk =
            serde_json::from_str(data).map_err(|error| failure::unreadable(data, &error))?;
        if chunk.error.is_some() {
            return Err(failure::streamed(&serde_json::from_str(data).unwrap_or_default()));
        }
        if let Some(counts) = chunk.usage_metadata {
            self.count(counts);
        }
        self.is_blocked |= chunk.prompt_feedback.is_some_and(|told| told.block_reason.is_some());
        for candidate in chunk.candidates.unwrap_or_default() {
            if candidate.index.unwrap_or_default() != 0 {
                continue;
            }
            let parts = candidate.content.and_then(|content| content.parts);
            for part in parts.unwrap_or_default() {
                self.part(part);
            }
            if candidate.finish_reason.is_some() {
                self.finish = candidate.finish_reason;
                self.finish_message = candidate.finish_message;
                // A finish that is an error must not lose what was paid for.
                self.writing.usage(self.usage());
            }
        }
        Ok(self.writing.take())
    }

    fn finish(&mut self) -> Result<Vec<ModelEvent>, ProviderError> {
        if self.writing.is_over() {
            return Ok(Vec::new());
        }
        let reason = self.reason()?;
        self.writing.stop(self.usage(), reason);
        Ok(self.writing.take())
    }

    fn has_reason(&self) -> bool {
        self.finish.is_some()
    }
}
