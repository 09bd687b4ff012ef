//! An answer of Responses, event by event.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use crate::{
    domain::run::{StopReason, Usage},
    providers::{
        Ask, Decoder, ModelEvent, ProviderError,
        dialect::{
            arguments::{self, Ending},
            failure,
            writing::Writing,
        },
    },
};

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Event {
    #[serde(rename = "response.output_item.added")]
    Added {
        #[serde(default)]
        output_index: u64,
        item: Value,
    },
    #[serde(rename = "response.output_item.done")]
    Done {
        #[serde(default)]
        output_index: u64,
        item: Value,
    },
    #[serde(rename = "response.output_text.delta")]
    Text(Delta),
    #[serde(rename = "response.refusal.delta")]
    Refusal(Delta),
    #[serde(rename = "response.reasoning_summary_part.added")]
    SummaryPart {
        #[serde(default)]
        summary_index: u64,
    },
    #[serde(rename = "response.reasoning_summary_text.delta")]
    Summary(Delta),
    #[serde(rename = "response.reasoning_text.delta")]
    Thought(Delta),
    #[serde(rename = "response.function_call_arguments.delta")]
    Arguments(Delta),
    #[serde(rename = "response.completed")]
    Completed { response: Response },
    #[serde(rename = "response.incomplete")]
    Incomplete { response: Response },
    #[serde(rename = "response.failed")]
    Failed { response: Response },
    #[serde(rename = "error")]
    Error,
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Delta {
    #[serde(default)]
    output_index: u64,
    #[serde(default)]
    delta: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Response {
    usage: Option<Counts>,
    error: Option<Value>,
    incomplete_details: Option<Incomplete>,
}

#[derive(Deserialize)]
struct Incomplete {
    reason: Option<String>,
}

#[derive(Deserialize)]
struct Counts {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    input_tokens_details: Option<Details>,
    output_tokens_details: Option<Details>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Details {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
    reasoning_tokens: Option<u64>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item {
    Message {
        #[serde(default)]
        content: Vec<Said>,
    },
    Reasoning(Reasoning),
    FunctionCall(Call),
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Said {
    OutputText {
        text: String,
    },
    Refusal {
        refusal: String,
    },
    #[serde(other)]
    Other,
}

/// A reasoning item, as far as it can be read.
#[derive(Deserialize)]
pub struct Reasoning {
    /// Its identifier.
    pub id: Option<String>,
    #[serde(default)]
    summary: Vec<Summary>,
}

#[derive(Deserialize)]
struct Summary {
    #[serde(default)]
    text: String,
}

#[derive(Deserialize)]
struct Call {
    call_id: String,
    name: String,
    #[serde(default)]
    arguments: String,
    status: Option<String>,
}

impl Reasoning {
    /// The summary that the service shows.
    pub fn words(&self) -> String {
        let texts: Vec<&str> = self.summary.iter().map(|part| part.text.as_str()).collect();
        texts.join("\n\n")
    }
}

/// Reads an answer of Responses.
pub struct Events {
    writing: Writing,
    /// The calls that have begun and are not whole.
    calls: BTreeMap<u64, Call>,
    /// The items of which pieces came.
    streamed: BTreeSet<u64>,
    is_refused: bool,
}

impl Events {
    /// For the answer to this request.
    pub fn new(ask: &Ask<'_>) -> Self {
        Self {
            writing: Writing::new(ask),
            calls: BTreeMap::new(),
            streamed: BTreeSet::new(),
            is_refused: false,
        }
    }

    fn item(&mut self, index: u64, raw: Value) -> Result<(), ProviderError> {
        let came_in_pieces = self.streamed.contains(&index);
        match read_item(&raw)? {
            Item::Message { content } => {
                // Some servers send no pieces.
                for said in content.into_iter().filter(|_| !came_in_pieces) {
                    match said {
                        Said::OutputText { text } => self.writing.text(&text),
                        Said::Refusal { refusal } => self.refuse(&refusal),
                        Said::Other => {}
                    }
                }
                self.writing.end();
            }
            Item::Reasoning(item) => {
                if !came_in_pieces {
                    self.writing.end();
                    self.writing.thought(&item.words());
                }
                self.writing.end_with(item.id, raw);
            }
            Item::FunctionCall(call) => {
                self.calls.remove(&index);
                self.call(call, Ending::Whole);
            }
            Item::Other => {}
        }
        Ok(())
    }

    fn call(&mut self, call: Call, ending: Ending) {
        let is_cut = call.status.as_deref() == Some("incomplete");
        let ending = if is_cut { Ending::Cut } else { ending };
        let input = arguments::read(&call.arguments, ending);
        self.writing.call(call.name, input, Some(call.call_id), None);
    }

    fn refuse(&mut self, text: &str) {
        self.is_refused = true;
        self.writing.refusal(text);
    }

    fn stop(&mut self, response: Response, reason: Option<StopReason>) {
        let ending = if reason.is_some() { Ending::Cut } else { Ending::Whole };
        for call in std::mem::take(&mut self.calls).into_values() {
            let status = None;
            self.call(Call { status, ..call }, ending);
        }
        let reason = reason.unwrap_or(if self.is_refused {
            StopReason::Refusal
        } else if self.writing.has_calls() {
            StopReason::ToolUse
        } else {
            StopReason::EndTurn
        });
        self.writing.stop(response.usage.map(usage).unwrap_or_default(), reason);
    }
}

fn read_item(raw: &Value) -> Result<Item, ProviderError> {
    Item::deserialize(raw).map_err(|error| failure::unreadable("", &error))
}

fn usage(counts: Counts) -> Usage {
    let input = counts.input_tokens_details.unwrap_or_default();
    Usage {
        input: counts.input_tokens,
        cache_read: input.cached_tokens,
        cache_write: input.cache_write_tokens,
        output: counts.output_tokens,
        reasoning: counts.output_tokens_details.unwrap_or_default().reasoning_tokens,
    }
}

fn why_incomplete(response: &Response) -> StopReason {
    match response.incomplete_details.as_ref().and_then(|details| details.reason.as_deref()) {
        Some("max_output_tokens") => StopReason::MaxTokens,
        Some("content_filter") => StopReason::Refusal,
        Some(_) | None => StopReason::Other,
    }
}

impl Decoder for Events {
    fn feed(&mut self, data: &str) -> Result<Vec<ModelEvent>, ProviderError> {
        if self.writing.is_over() || matches!(data.trim(), "" | "[DONE]") {
            return Ok(Vec::new());
        }
        let event: Event =
            serde_json::from_str(data).map_err(|error| failure::unreadable(data, &error))?;
        match &event {
            Event::Text(delta)
            | Event::Refusal(delta)
            | Event::Summary(delta)
            | Event::Thought(delta) => {
                self.streamed.insert(delta.output_index);
            }
            _ => {}
        }
        match event {
            Event::Added { output_index, item } => {
                if let Item::FunctionCall(call) = read_item(&item)? {
                    self.calls.insert(output_index, call);
                }
            }
            Event::Done { output_index, item } => self.item(output_index, item)?,
            Event::Text(delta) => self.writing.text(&delta.delta),
            Event::Refusal(delta) => self.refuse(&delta.delta),
            Event::SummaryPart { summary_index: 1.. } => self.writing.thought("\n\n"),
            Event::Summary(delta) | Event::Thought(delta) => self.writing.thought(&delta.delta),
            Event::Arguments(delta) => {
                if let Some(call) = self.calls.get_mut(&delta.output_index) {
                    call.arguments.push_str(&delta.delta);
                }
            }
            Event::Completed { response } => self.stop(response, None),
            Event::Incomplete { response } => {
                let reason = why_incomplete(&response);
                self.stop(response, Some(reason));
            }
            Event::Failed { response } => {
                return Err(failure::streamed(&response.error.unwrap_or_default()));
            }
            Event::Error => {
                return Err(failure::streamed(&serde_json::from_str(data).unwrap_or_default()));
            }
            Event::SummaryPart { summary_index: 0 } | Event::Other => {}
        }
        Ok(self.writing.take())
    }

    fn finish(&mut self) -> Result<Vec<ModelEvent>, ProviderError> {
        if self.writing.is_over() { Ok(Vec::new()) } else { Err(failure::truncated()) }
    }
}
