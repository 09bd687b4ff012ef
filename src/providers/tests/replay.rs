//! Streams fed to a decoder in all the ways in which a network can cut them.

use std::convert::Infallible;

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream};
use serde_json::Value;
use sse_stream::SseByteStream;

use crate::{
    domain::{
        message::Carried,
        run::{StopReason, Usage},
    },
    providers::{Ask, Dialect, ModelEvent, ProviderError, Quirks, Thoughts},
};

/// Small enough to be read whole for every cut.
const SMALL: usize = 8 * 1024;

/// A request without anything special.
pub const ASK: Ask<'static> = Ask {
    service: "here",
    model: "model-1",
    system: "Be kind.",
    turns: &[],
    tools: &[],
    max_tokens: 1000,
    thoughts: Thoughts::AsIs,
    quirks: Quirks {
        old_max_tokens: false,
        echo_reasoning: false,
        reasoning_details: false,
        no_stream_options: false,
        short_call_ids: false,
        reasoning_outside: false,
        think_tags: false,
    },
};

/// What came of a stream.
#[derive(Debug, PartialEq)]
pub struct Answer {
    pub events: Vec<ModelEvent>,
    pub error: Option<ProviderError>,
}

/// A call as it came.
#[derive(Debug, PartialEq)]
pub struct Called {
    pub name: String,
    pub input: Result<Value, String>,
    pub id: Option<String>,
    pub data: Option<Value>,
}

impl Answer {
    pub fn text(&self) -> String {
        let texts = self.events.iter().filter_map(|event| match event {
            ModelEvent::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// The words, part by part.
    pub fn passages(&self) -> Vec<String> {
        let parts = self.events.split(|event| matches!(event, ModelEvent::PartEnd(_)));
        let parts = parts.map(|part| {
            let texts = part.iter().filter_map(|event| match event {
                ModelEvent::Text(text) => Some(text.as_str()),
                _ => None,
            });
            texts.collect::<String>()
        });
        parts.filter(|words| !words.is_empty()).collect()
    }

    pub fn reasoning(&self) -> String {
        let texts = self.events.iter().filter_map(|event| match event {
            ModelEvent::Reasoning(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    pub fn calls(&self) -> Vec<Called> {
        let calls = self.events.iter().filter_map(|event| match event {
            ModelEvent::ToolCall { name, input, carried } => Some(Called {
                name: name.clone(),
                input: input.clone(),
                id: carried.id.clone(),
                data: carried.data.clone(),
            }),
            _ => None,
        });
        calls.collect()
    }

    /// The calls in short: name, input, the service's identifier.
    pub fn called(&self) -> Vec<(String, Result<Value, String>, Option<String>)> {
        self.calls().into_iter().map(|call| (call.name, call.input, call.id)).collect()
    }

    pub fn usage(&self) -> Usage {
        let usages = self.events.iter().filter_map(|event| match event {
            ModelEvent::Usage(usage) => Some(*usage),
            _ => None,
        });
        usages.fold(Usage::default(), |_, last| last)
    }

    pub fn stop(&self) -> Option<StopReason> {
        self.events.iter().find_map(|event| match event {
            ModelEvent::Stop(reason) => Some(*reason),
            _ => None,
        })
    }
}

/// What the asked model wants back.
pub fn carried(id: Option<&str>, data: Value) -> Carried {
    let (service, model) = (ASK.service.into(), ASK.model.into());
    Carried { service, model, id: id.map(str::to_owned), data: Some(data) }
}

/// Thoughts with nothing to carry but whose they were.
pub fn unsigned() -> Carried {
    Carried { data: None, ..carried(None, Value::Null) }
}

/// The data of the events that a stream in these pieces holds.
fn frames(pieces: Vec<Bytes>) -> Vec<String> {
    let bytes = stream::iter(pieces.into_iter().map(Ok::<_, Infallible>));
    let frames = SseByteStream::new(bytes).filter_map(async |frame| frame.unwrap().data);
    frames.collect().now_or_never().unwrap()
}

/// Feeds a stream in these pieces.
pub fn feed(dialect: Dialect, ask: &Ask<'_>, pieces: Vec<Bytes>) -> Answer {
    let mut decoder = dialect.decoder(ask);
    let mut events = Vec::new();
    let mut error = None;
    for data in frames(pieces) {
        match decoder.feed(&data) {
            Ok(more) => events.extend(more),
            Err(failed) => {
                error = Some(failed);
                break;
            }
        }
    }
    if error.is_none() {
        match decoder.finish() {
            Ok(more) => events.extend(more),
            Err(failed) => error = Some(failed),
        }
    }
    Answer { events, error }
}

/// Feeds a stream in every way, and expects the same of each.
pub fn replay(dialect: Dialect, ask: &Ask<'_>, body: &str) -> Answer {
    let body = body.replace("\r\n", "\n");
    let answer = feed(dialect, ask, vec![body.clone().into()]);
    let events: Vec<Bytes> =
        body.split_inclusive("\n\n").map(|event| Bytes::from(event.to_owned())).collect();
    assert_eq!(feed(dialect, ask, events), answer, "event by event");

    let commented = body.replace("\n\n", "\n\n: keep-alive\n\n: keep-alive\n");
    let marked = format!("\u{feff}{body}");
    for text in [body.clone(), body.replace('\n', "\r\n"), commented, marked] {
        let bytes = Bytes::from(text);
        for size in [bytes.len(), 1, 3, 7] {
            let starts = (0..bytes.len()).step_by(size.max(1));
            let pieces = starts.map(|at| bytes.slice(at..bytes.len().min(at + size))).collect();
            assert_eq!(feed(dialect, ask, pieces), answer, "{size} bytes at a time");
        }
    }
    for text in [body.replace('\n', "\r\n"), body] {
        cut_everywhere(dialect, ask, &text, &answer);
    }
    check_order(&answer);
    answer
}

/// Cuts a stream in two at every byte. Nothing is remembered from one event to the next but by the decoder,
/// which sees nothing but their data: so a long stream is cut event by event, each with its neighbours.
fn cut_everywhere(dialect: Dialect, ask: &Ask<'_>, text: &str, answer: &Answer) {
    let halves = |bytes: &Bytes, at: usize| vec![bytes.slice(..at), bytes.slice(at..)];
    if text.len() < SMALL {
        let bytes = Bytes::from(text.to_owned());
        for at in 0..bytes.len() {
            assert_eq!(feed(dialect, ask, halves(&bytes, at)), *answer, "cut at {at}");
        }
        return;
    }
    let blank = if text.contains("\r\n") { "\r\n\r\n" } else { "\n\n" };
    let events: Vec<&str> = text.split_inclusive(blank).collect();
    for (number, event) in events.iter().enumerate() {
        let before = number.saturating_sub(1);
        let near = &events[before..events.len().min(number + 2)];
        let start: usize = events[before..number].iter().map(|event| event.len()).sum();
        let bytes = Bytes::from(near.concat());
        let whole = frames(vec![bytes.clone()]);
        for at in start..=start + event.len() {
            assert_eq!(frames(halves(&bytes, at)), whole, "event {number} cut at {at}");
        }
    }
}

/// One stop, at the end, or an error; and no part ends that did not begin, unless it is a hidden one.
fn check_order(answer: &Answer) {
    let stops = answer.events.iter().filter(|event| matches!(event, ModelEvent::Stop(_))).count();
    assert_eq!(stops, usize::from(answer.error.is_none()));
    if answer.error.is_none() {
        assert!(matches!(answer.events.last(), Some(ModelEvent::Stop(_))));
    }
    let mut is_open = false;
    for event in &answer.events {
        match event {
            ModelEvent::Text(text) | ModelEvent::Reasoning(text) => {
                assert!(!text.is_empty());
                is_open = true;
            }
            ModelEvent::PartEnd(carried) => {
                assert!(is_open || carried.is_some(), "{:?}", answer.events);
                is_open = false;
            }
            ModelEvent::ToolCall { .. } | ModelEvent::Stop(_) => assert!(!is_open),
            ModelEvent::Usage(_) | ModelEvent::Retrying { .. } => {}
        }
    }
}

/// The body of a stream with these events.
pub fn stream_of(events: &[Value]) -> String {
    let frames = events.iter().map(|event| {
        let data = event.as_str().map_or_else(|| event.to_string(), str::to_owned);
        match event.get("type").and_then(Value::as_str) {
            Some(name) => format!("event: {name}\ndata: {data}\n\n"),
            None => format!("data: {data}\n\n"),
        }
    });
    frames.collect()
}

/// Feeds these events in every way.
pub fn play(dialect: Dialect, events: &[Value]) -> Answer {
    replay(dialect, &ASK, &stream_of(events))
}
