//! An answer of Anthropic, event by event.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    domain::run::{StopReason, Usage},
    providers::{
        Ask, Decoder, ModelEvent, ProviderError,
        dialect::{
            arguments::{self, Ending},
            failure,
            writing::{Writing, keep_last},
        },
    },
};

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    MessageStart {
        message: Started,
    },
    ContentBlockStart {
        index: u64,
        content_block: Block,
    },
    ContentBlockDelta {
        index: u64,
        delta: Delta,
    },
    ContentBlockStop {
        index: u64,
    },
    MessageDelta {
        delta: Ended,
        #[serde(default)]
        usage: Option<Counts>,
    },
    MessageStop,
    Error,
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Started {
    usage: Option<Counts>,
}

/// A block as it begins, and then as it grows. The blocks of tools that run at the service are
/// `Other`, and so is what is said about them.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text {
        #[serde(default)]
        text: String,
    },
    Thinking {
        #[serde(default)]
        thinking: String,
        #[serde(default)]
        signature: String,
    },
    RedactedThinking {
        data: String,
    },
    ToolUse(Call),
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Call {
    id: String,
    name: String,
    #[serde(default)]
    input: Value,
    #[serde(skip)]
    json: String,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Delta {
    #[serde(rename = "text_delta")]
    Text { text: String },
    #[serde(rename = "input_json_delta")]
    InputJson { partial_json: String },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: String },
    #[serde(rename = "signature_delta")]
    Signature { signature: String },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Ended {
    stop_reason: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Counts {
    input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    output_tokens_details: Option<Details>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Details {
    thinking_tokens: Option<u64>,
}

/// Reads an answer of Anthropic.
pub struct Events {
    writing: Writing,
    is_started: bool,
    blocks: BTreeMap<u64, Block>,
    /// The last whole call. Only what follows tells whether it was cut off.
    held: Option<Call>,
    counts: Counts,
    stop: Option<String>,
}

impl Events {
    /// For the answer to this request.
    pub fn new(ask: &Ask<'_>) -> Self {
        Self {
            writing: Writing::new(ask),
            is_started: false,
            blocks: BTreeMap::new(),
            held: None,
            counts: Counts::default(),
            stop: None,
        }
    }

    fn begin(&mut self, index: u64, block: Block) {
        self.release(Ending::Whole);
        self.writing.end();
        match &block {
            Block::Text { text } => self.writing.text(text),
            Block::Thinking { thinking, .. } => self.writing.thought(thinking),
            Block::RedactedThinking { .. } | Block::ToolUse(_) | Block::Other => {}
        }
        self.blocks.insert(index, block);
    }

    fn grow(&mut self, index: u64, delta: Delta) {
        match (self.blocks.get_mut(&index), delta) {
            (Some(Block::Text { .. }), Delta::Text { text }) => self.writing.text(&text),
            (Some(Block::Thinking { .. }), Delta::Thinking { thinking }) => {
                self.writing.thought(&thinking);
            }
            (Some(Block::Thinking { signature, .. }), Delta::Signature { signature: more }) => {
                signature.push_str(&more);
            }
            (Some(Block::ToolUse(call)), Delta::InputJson { partial_json }) => {
                call.json.push_str(&partial_json);
            }
            _ => {}
        }
    }

    fn end(&mut self, block: Block) {
        match block {
            Block::Text { .. } => self.writing.end(),
            Block::Thinking { signature, .. } if signature.is_empty() => self.writing.end(),
            Block::Thinking { signature, .. } => {
                let data = json!({"type": "thinking", "signature": signature});
                self.writing.end_with(None, data);
            }
            Block::RedactedThinking { data } => {
                self.writing.end();
                let data = json!({"type": "redacted_thinking", "data": data});
                self.writing.end_with(None, data);
            }
            Block::ToolUse(call) => {
                self.release(Ending::Whole);
                self.held = Some(call);
            }
            Block::Other => {}
        }
    }

    fn release(&mut self, ending: Ending) {
        let Some(call) = self.held.take() else { return };
        let has_input = call.input.as_object().is_some_and(|input| !input.is_empty());
        let input = if call.json.is_empty() && has_input {
            // Some proxies send the input whole, where Anthropic has a placeholder.
            Ok(call.input)
        } else {
            arguments::read(&call.json, ending)
        };
        self.writing.call(call.name, input, Some(call.id), None);
    }

    fn count(&mut self, told: Option<Counts>) {
        let Some(told) = told else { return };
        let counts = &mut self.counts;
        keep_last(&mut counts.input_tokens, told.input_tokens);
        keep_last(&mut counts.cache_read_input_tokens, told.cache_read_input_tokens);
        keep_last(&mut counts.cache_creation_input_tokens, told.cache_creation_input_tokens);
        keep_last(&mut counts.output_tokens, told.output_tokens);
        let told = told.output_tokens_details.and_then(|details| details.thinking_tokens);
        let details = counts.output_tokens_details.get_or_insert_default();
        keep_last(&mut details.thinking_tokens, told);
    }

    fn usage(&self) -> Usage {
        let counts = &self.counts;
        let (read, write) = (counts.cache_read_input_tokens, counts.cache_creation_input_tokens);
        Usage {
            input: counts
                .input_tokens
                .map(|fresh| fresh + read.unwrap_or_default() + write.unwrap_or_default()),
            cache_read: read,
            cache_write: write,
            output: counts.output_tokens,
            reasoning: counts.output_tokens_details.as_ref().and_then(|all| all.thinking_tokens),
        }
    }

    fn stop(&mut self) {
        let reason = match self.stop.as_deref() {
            Some("end_turn") => StopReason::EndTurn,
            Some("stop_sequence") => StopReason::StopSequence,
            Some("tool_use") => StopReason::ToolUse,
            Some("max_tokens") => StopReason::MaxTokens,
            Some("model_context_window_exceeded") => StopReason::ContextExceeded,
            Some("refusal") => StopReason::Refusal,
            Some("pause_turn") => StopReason::PauseTurn,
            Some(_) | None => StopReason::Other,
        };
        // A block that the limit cut off may have no end.
        for block in std::mem::take(&mut self.blocks).into_values() {
            self.end(block);
        }
        self.release(match reason {
            StopReason::MaxTokens | StopReason::ContextExceeded => Ending::Cut,
            StopReason::EndTurn
            | StopReason::StopSequence
            | StopReason::ToolUse
            | StopReason::PauseTurn
            | StopReason::Refusal
            | StopReason::Limit
            | StopReason::Other => Ending::Whole,
        });
        self.writing.stop(self.usage(), reason);
    }
}

impl Decoder for Events {
    fn feed(&mut self, data: &str) -> Result<Vec<ModelEvent>, ProviderError> {
        if self.writing.is_over() || matches!(data.trim(), "" | "[DONE]") {
            return Ok(Vec::new());
        }
        let event: Event =
            serde_json::from_str(data).map_err(|error| failure::unreadable(data, &error))?;
        match event {
            Event::MessageStart { message } if !self.is_started => {
                self.is_started = true;
                self.count(message.usage);
                self.writing.usage(self.usage());
            }
            Event::ContentBlockStart { index, content_block } => self.begin(index, content_block),
            Event::ContentBlockDelta { index, delta } => self.grow(index, delta),
            Event::ContentBlockStop { index } => {
                if let Some(block) = self.blocks.remove(&index) {
                    self.end(block);
                }
            }
            Event::MessageDelta { delta, usage } => {
                self.count(usage);
                self.stop = delta.stop_reason.or(self.stop.take());
            }
            Event::MessageStop => self.stop(),
            Event::Error => {
                return Err(failure::streamed(&serde_json::from_str(data).unwrap_or_default()));
            }
            Event::MessageStart { .. } | Event::Other => {}
        }
        Ok(self.writing.take())
    }

    fn finish(&mut self) -> Result<Vec<ModelEvent>, ProviderError> {
        if self.writing.is_over() { Ok(Vec::new()) } else { Err(failure::truncated()) }
    }
}
