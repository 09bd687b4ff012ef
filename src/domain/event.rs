//! What a run tells its watchers, one event at a time.
//!
//! The same events leave the agent loop, are kept, travel as server-sent events and are folded into
//! a message. A new kind of news is a new variant here, and the compiler lists who must learn of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    error::ApiError,
    id::{MessageId, PartId, RunId},
    message::{Carried, Part, PartBody, ToolCall, ToolResult},
    run::{RunStatus, Spent, StopReason, Usage},
    terminal::LeftOut,
    timestamp::Timestamp,
};

/// One piece of news.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum RunEvent {
    /// The run began; it writes this message.
    Started {
        /// The message.
        reply_id: MessageId,
        /// The model that is asked.
        model: String,
    },
    /// The model is asked once more.
    StepStarted {
        /// Which time it is, from 1.
        step: u32,
        /// What had no room any more in what it is sent, beside what was set aside before the answer began.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        left_out: Option<LeftOut>,
    },
    /// The service was not ready and is asked again.
    Retrying {
        /// Which attempt comes next, from 2.
        attempt: u32,
        /// After how long.
        wait_ms: u64,
        /// What the service said.
        reason: String,
    },
    /// More words; the first of a part open it.
    Text {
        /// The part.
        part: PartId,
        /// The words to append.
        delta: String,
    },
    /// More of the model's thoughts; the first of a part open it.
    Reasoning {
        /// The part.
        part: PartId,
        /// The words to append.
        delta: String,
    },
    /// A part of words or thoughts is whole.
    PartEnded {
        /// The part.
        part: PartId,
        /// What the service wants back with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        carried: Option<Carried>,
    },
    /// The model wants a tool run.
    ToolCall {
        /// The part.
        part: PartId,
        /// What is wanted.
        call: ToolCall,
        /// What the service wants back with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        carried: Option<Carried>,
    },
    /// A tool gave its result.
    ToolResult {
        /// The part.
        part: PartId,
        /// What it gave.
        result: ToolResult,
        /// How long it ran; unknown when it did not run, or from before this was kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        took_ms: Option<u64>,
    },
    /// The model came to the end of an answer.
    StepEnded {
        /// Which time it was.
        step: u32,
        /// Why it stopped.
        stop: StopReason,
        /// What the step took.
        usage: Usage,
        /// Its price in millionths of a dollar, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost_micros: Option<u64>,
        /// How long the answer could be, in tokens, where a limit let it be less long than usual.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_tokens: Option<u64>,
    },
    /// The run is over; nothing follows.
    Ended {
        /// How it ended.
        status: RunStatus,
        /// Why.
        stop: Option<StopReason>,
        /// What went wrong, or was cut short, as people read it.
        error: Option<ApiError>,
        /// What it took.
        spent: Spent,
    },
}

/// What a page needs of an event, read without knowing them all: the type by which JSON names it, and
/// what goes with the few types that pages of answers follow.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Heard {
    /// Which event it is, as JSON names it.
    #[serde(rename = "type")]
    pub kind: String,
    /// Of which run, where several are told of together.
    pub run: RunId,
    /// Words to append.
    pub delta: String,
    /// Which attempt comes next, where the service was not ready.
    pub attempt: u32,
    /// How the run ended.
    pub status: Option<RunStatus>,
    /// Why.
    pub stop: Option<StopReason>,
    /// What went wrong.
    pub error: Option<ApiError>,
    /// What it took.
    pub spent: Spent,
}

/// An event with its place in the run and its time. The place is the SSE `id`, so a browser that
/// reconnects says how much it has seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stamped {
    /// Counts from 1, without gaps, within one run.
    pub seq: u64,
    /// When it happened.
    pub at: Timestamp,
    /// The news.
    pub event: RunEvent,
}

/// How much of what a service said people are shown, in characters.
const MAX_SAID: usize = 120;

/// What people read of a service that was not ready and said this. It may be anything: a word without a
/// full stop, or what a connection broke on.
pub fn not_ready(reason: &str) -> String {
    let line = reason.lines().next().unwrap_or_default().trim().trim_end_matches('.');
    let said: String = line.chars().take(MAX_SAID).collect();
    match said.as_str() {
        "" => "The model's service is not ready.".to_owned(),
        said if said.len() < line.len() => format!("The model's service is not ready ({said}…)."),
        said => format!("The model's service is not ready ({said})."),
    }
}

/// The events that fold into a part.
pub fn told_of(part: Part) -> Vec<RunEvent> {
    let Part { id, body, carried, .. } = part;
    let ended = RunEvent::PartEnded { part: id.clone(), carried: carried.clone() };
    match body {
        PartBody::Text(delta) => vec![RunEvent::Text { part: id, delta }, ended],
        PartBody::Reasoning(delta) if delta.is_empty() => vec![ended],
        PartBody::Reasoning(delta) => vec![RunEvent::Reasoning { part: id, delta }, ended],
        PartBody::ToolCall(call) => vec![RunEvent::ToolCall { part: id, call, carried }],
        PartBody::ToolResult(result) => {
            vec![RunEvent::ToolResult { part: id, result, took_ms: None }]
        }
    }
}

/// Folds one more event into the parts of the run's message.
pub fn fold(parts: &mut Vec<Part>, at: Timestamp, event: &RunEvent) {
    match event {
        RunEvent::Text { part, delta } => append(parts, at, part, delta, PartBody::Text),
        RunEvent::Reasoning { part, delta } => append(parts, at, part, delta, PartBody::Reasoning),
        RunEvent::PartEnded { part, carried } => {
            match parts.iter_mut().rfind(|known| known.id == *part) {
                Some(known) => known.carried = carried.clone(),
                // Thoughts that a service does not show can consist of nothing but what it wants back.
                None => parts.push(Part {
                    id: part.clone(),
                    at,
                    body: PartBody::Reasoning(String::new()),
                    carried: carried.clone(),
                }),
            }
        }
        RunEvent::ToolCall { part, call, carried } => parts.push(Part {
            id: part.clone(),
            at,
            body: PartBody::ToolCall(call.clone()),
            carried: carried.clone(),
        }),
        RunEvent::ToolResult { part, result, .. } => parts.push(Part {
            id: part.clone(),
            at,
            body: PartBody::ToolResult(result.clone()),
            carried: None,
        }),
        RunEvent::Started { .. }
        | RunEvent::StepStarted { .. }
        | RunEvent::Retrying { .. }
        | RunEvent::StepEnded { .. }
        | RunEvent::Ended { .. } => {}
    }
}

fn append(
    parts: &mut Vec<Part>,
    at: Timestamp,
    id: &PartId,
    delta: &str,
    open: fn(String) -> PartBody,
) {
    match parts.iter_mut().rfind(|part| part.id == *id) {
        Some(Part { body: PartBody::Text(text) | PartBody::Reasoning(text), .. }) => {
            text.push_str(delta);
        }
        Some(_) => {}
        None => {
            parts.push(Part { id: id.clone(), at, body: open(delta.to_owned()), carried: None })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_tells_what_had_no_room_and_is_read_from_a_log_without_it() {
        let whole = RunEvent::StepStarted { step: 2, left_out: None };
        let left_out = Some(LeftOut { results_cut: 1, ..LeftOut::default() });
        let cut = RunEvent::StepStarted { step: 2, left_out };

        let old = r#"{"type":"step_started","step":2}"#;
        assert_eq!(serde_json::to_string(&whole).unwrap(), old);
        assert_eq!(serde_json::from_str::<RunEvent>(old).unwrap(), whole);
        let told = serde_json::to_string(&cut).unwrap();
        assert!(told.contains(r#""leftOut":{"exchanges":0,"messages":0,"resultsCut":1"#), "{told}");
        assert_eq!(serde_json::from_str::<RunEvent>(&told).unwrap(), cut);
    }

    #[test]
    fn whatever_a_service_said_is_told_in_a_sentence() {
        let long = "é".repeat(500);
        for (said, told) in [
            ("Unavailable", "The model's service is not ready (Unavailable)."),
            ("It is busy.\nTry later.", "The model's service is not ready (It is busy)."),
            (" ", "The model's service is not ready."),
        ] {
            assert_eq!(not_ready(said), told);
        }
        let told = format!("The model's service is not ready ({}…).", "é".repeat(120));
        assert_eq!(not_ready(&long), told);
    }
}
