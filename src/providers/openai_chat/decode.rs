//! An answer of Chat Completions, chunk by chunk.

use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;

use super::{
    calls::{Piece, Pieces},
    details::ReasoningDetails,
    tags::ThinkTags,
};
use crate::{
    domain::run::{StopReason, Usage},
    providers::{
        Ask, Decoder, Fault, ModelEvent, ProviderError, Quirks,
        dialect::{
            arguments::Ending,
            failure,
            writing::{Writing, keep_last},
        },
    },
};

#[derive(Deserialize)]
struct Chunk {
    error: Option<IgnoredAny>,
    object: Option<String>,
    choices: Option<Vec<Choice>>,
    usage: Option<Counts>,
    x_groq: Option<Groq>,
}

#[derive(Deserialize)]
struct Choice {
    index: Option<u64>,
    delta: Option<Delta>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Delta {
    content: Option<Said>,
    reasoning_content: Option<Said>,
    reasoning: Option<Said>,
    reasoning_details: Option<Value>,
    refusal: Option<String>,
    tool_calls: Option<Vec<Piece>>,
}

/// How services say that an answer came to its own end.
const WHOLE: [&str; 7] =
    ["stop", "stop_sequence", "tool_calls", "function_call", "end_turn", "eos", "eos_token"];

/// Words, which Mistral sends as typed pieces.
#[derive(Deserialize)]
#[serde(untagged)]
enum Said {
    Text(String),
    Pieces(Vec<Typed>),
    Other(IgnoredAny),
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Typed {
    Text {
        text: String,
    },
    Thinking {
        thinking: Box<Said>,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Groq {
    usage: Option<Counts>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Counts {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_cache_hit_tokens: Option<u64>,
    prompt_tokens_details: Option<Details>,
    completion_tokens_details: Option<Details>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Details {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
    reasoning_tokens: Option<u64>,
}

/// Reads an answer of Chat Completions.
pub struct Chunks {
    writing: Writing,
    quirks: Quirks,
    calls: Pieces,
    details: ReasoningDetails,
    tags: ThinkTags,
    usage: Usage,
    finish: Option<String>,
    is_refused: bool,
}

impl Chunks {
    /// For the answer to this request.
    pub fn new(ask: &Ask<'_>) -> Self {
        Self {
            writing: Writing::new(ask),
            quirks: ask.quirks,
            calls: Pieces::default(),
            details: ReasoningDetails::default(),
            tags: ThinkTags::default(),
            usage: Usage::default(),
            finish: None,
            is_refused: false,
        }
    }

    fn choose(&mut self, choice: Choice) {
        if choice.index.unwrap_or_default() != 0 {
            return;
        }
        if let Some(delta) = choice.delta {
            // Some servers send the same thoughts under both names.
            let names = [delta.reasoning_content, delta.reasoning].into_iter().flatten();
            let thoughts = names.map(Said::words).find(|words| !words.is_empty());
            self.writing.thought(&thoughts.unwrap_or_default());
            if let (true, Some(Value::Array(details))) =
                (self.quirks.reasoning_details, delta.reasoning_details)
            {
                details.into_iter().for_each(|piece| self.details.take(piece));
            }
            if let Some(said) = delta.content {
                self.say(said);
            }
            if let Some(refusal) = delta.refusal.filter(|refusal| !refusal.is_empty()) {
                self.is_refused = true;
                self.writing.refusal(&refusal);
            }
            for piece in delta.tool_calls.unwrap_or_default() {
                self.calls.take(piece);
            }
        }
        let told = choice.finish_reason.filter(|reason| !reason.is_empty());
        self.finish = told.or(self.finish.take());
    }

    fn say(&mut self, said: Said) {
        match said {
            Said::Text(text) if self.quirks.think_tags => {
                self.tags.take(&text, &mut self.writing);
            }
            Said::Text(text) => self.writing.text(&text),
            Said::Pieces(pieces) => {
                for piece in pieces {
                    match piece {
                        Typed::Text { text } => self.writing.text(&text),
                        Typed::Thinking { thinking } => self.writing.thought(&thinking.words()),
                        Typed::Other => {}
                    }
                }
            }
            Said::Other(_) => {}
        }
    }

    fn count(&mut self, told: Option<Counts>) {
        let Some(told) = told else { return };
        let prompt = told.prompt_tokens_details.unwrap_or_default();
        let reasoning = told.completion_tokens_details.unwrap_or_default().reasoning_tokens;
        let outside = reasoning.filter(|_| self.quirks.reasoning_outside).unwrap_or_default();
        let output = told.completion_tokens.map(|completion| completion + outside);
        keep_last(&mut self.usage.input, told.prompt_tokens);
        let cached = prompt.cached_tokens.or(told.prompt_cache_hit_tokens);
        keep_last(&mut self.usage.cache_read, cached);
        keep_last(&mut self.usage.cache_write, prompt.cache_write_tokens);
        keep_last(&mut self.usage.output, output);
        keep_last(&mut self.usage.reasoning, reasoning);
    }

    fn end(&mut self) -> Result<Vec<ModelEvent>, ProviderError> {
        if self.writing.is_over() {
            return Ok(Vec::new());
        }
        let finish = self.finish.take().ok_or_else(failure::truncated)?;
        self.tags.end(&mut self.writing);
        let is_whole = WHOLE.contains(&finish.as_str());
        let ending = if is_whole { Ending::Whole } else { Ending::Cut };
        let details = std::mem::take(&mut self.details).carried();
        // What was cut off lacks its signature, and would be refused.
        if let Some(details) = details.filter(|_| ending == Ending::Whole) {
            self.writing.end();
            self.writing.end_with(None, details);
        }
        std::mem::take(&mut self.calls).write(&mut self.writing, ending);
        let reason = match finish.as_str() {
            "length" | "model_length" => StopReason::MaxTokens,
            "content_filter" => StopReason::Refusal,
            "error" => {
                let message = "The service ended the answer with an error.";
                return Err(ProviderError::new(Fault::Transient, message));
            }
            "insufficient_system_resource" => {
                let message = "The service had no room left for the answer.";
                return Err(ProviderError::new(Fault::Overloaded, message));
            }
            _ if self.is_refused => StopReason::Refusal,
            // Nobody knows how far it came: what it calls for is not run.
            _ if !is_whole => StopReason::Other,
            // Many servers say `stop` although they want tools run.
            _ if self.writing.has_calls() => StopReason::ToolUse,
            _ => StopReason::EndTurn,
        };
        self.writing.stop(self.usage, reason);
        Ok(self.writing.take())
    }
}

impl Said {
    fn words(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Pieces(pieces) => pieces.into_iter().map(Typed::words).collect(),
            Self::Other(_) => String::new(),
        }
    }
}

impl Typed {
    fn words(self) -> String {
        match self {
            Self::Text { text } => text,
            Self::Thinking { thinking } => thinking.words(),
            Self::Other => String::new(),
        }
    }
}

impl Decoder for Chunks {
    fn feed(&mut self, data: &str) -> Result<Vec<ModelEvent>, ProviderError> {
        match data.trim() {
            "" => return Ok(Vec::new()),
            "[DONE]" => return self.end(),
            _ if self.writing.is_over() => return Ok(Vec::new()),
            _ => {}
        }
        let chunk: Chunk =
            serde_json::from_str(data).map_err(|error| failure::unreadable(data, &error))?;
        if chunk.error.is_some() || chunk.object.as_deref() == Some("error") {
            return Err(failure::streamed(&serde_json::from_str(data).unwrap_or(Value::Null)));
        }
        self.count(chunk.x_groq.and_then(|groq| groq.usage));
        self.count(chunk.usage);
        for choice in chunk.choices.unwrap_or_default() {
            self.choose(choice);
        }
        Ok(self.writing.take())
    }

    fn finish(&mut self) -> Result<Vec<ModelEvent>, ProviderError> {
        self.end()
    }

    fn has_reason(&self) -> bool {
        self.finish.is_some()
    }
}
