//! Script files: any sequence of events, errors and stalls, for tests and for shows.
//!
//! ```json
//! {"loop": false, "answers": [[{"text": "Hm."}, {"wait_ms": 500}, {"stop": "max_tokens"}], ["stall"]]}
//! ```
//!
//! Each answer is what one asking plays. One without a `stop` ends by itself, as a model would. Whoever has
//! a part of their own in `speakers`, by how their prompt begins, plays that whenever they are asked:
//!
//! ```json
//! {"speakers": {"You are Ann.": [{"text": "Yes."}], "You are Ben.": ["stall"]}}
//! ```
//!
//! These are the steps:
//!
//! | step | what it does |
//! |---|---|
//! | `{"text": "…"}`, `{"reasoning": "…"}` | says it, or thinks it |
//! | `{"repeat": {"times": 9, "text": "…", "every_ms": 5}}` | says the same many times |
//! | `{"call": {"name": "…", "input": {}}}` | calls a tool |
//! | `{"broken_call": {"name": "…", "raw": "{\"a"}}` | calls a tool with what is no JSON object |
//! | `{"retrying": {"attempt": 2, "wait_ms": 500, "reason": "Busy."}}` | is asked again after so long |
//! | `{"wait_ms": 500}`, `"stall"` | waits, or never goes on |
//! | `{"usage": {"input": 9, "output": 5}}` | counts tokens; `cache_read`, `cache_write` and `reasoning` may be said, too |
//! | `{"stop": "max_tokens"}` | ends, for one of the reasons of [`StopReason`] |
//! | `{"error": {"fault": "overloaded", "message": "…"}}` | fails, with one of the words of [`Fault`] in small letters, such as `no_key` |

use std::{collections::BTreeMap, time::Duration};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    pace::{Beat, Pace},
    plan::{self, carried},
};
use crate::{
    domain::{
        run::{StopReason, Usage},
        tokens::estimate,
    },
    providers::{Ask, Fault, ModelEvent, ProviderError},
};

/// What a script file says.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    #[serde(rename = "loop", default)]
    again: bool,
    #[serde(default)]
    answers: Vec<Vec<Step>>,
    #[serde(default)]
    speakers: BTreeMap<String, Vec<Step>>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Step {
    Text(String),
    Reasoning(String),
    Call {
        name: String,
        input: Map<String, Value>,
    },
    BrokenCall {
        name: String,
        raw: String,
    },
    WaitMs(u64),
    Stall,
    Stop(StopReason),
    Usage {
        input: u64,
        output: u64,
        cache_read: Option<u64>,
        cache_write: Option<u64>,
        reasoning: Option<u64>,
    },
    Retrying {
        attempt: u32,
        wait_ms: u64,
        reason: String,
    },
    Error {
        fault: FaultWord,
        message: String,
    },
    Repeat {
        times: u64,
        text: String,
        every_ms: u64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FaultWord {
    Overloaded,
    RateLimited,
    Unreached,
    NoKey,
    Auth,
    Quota,
    BadRequest,
    ContextExceeded,
    Transient,
    Truncated,
    Garbled,
}

impl From<FaultWord> for Fault {
    fn from(word: FaultWord) -> Self {
        match word {
            FaultWord::Overloaded => Self::Overloaded,
            FaultWord::RateLimited => Self::RateLimited,
            FaultWord::Unreached => Self::Unreached,
            FaultWord::NoKey => Self::NoKey,
            FaultWord::Auth => Self::Auth,
            FaultWord::Quota => Self::Quota,
            FaultWord::BadRequest => Self::BadRequest,
            FaultWord::ContextExceeded => Self::ContextExceeded,
            FaultWord::Transient => Self::Transient,
            FaultWord::Truncated => Self::Truncated,
            FaultWord::Garbled => Self::Garbled,
        }
    }
}

impl Script {
    /// Reads a script file, or says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        serde_json::from_str(text)
            .map_err(|error| format!("This is not a script for the demo: {error}."))
    }

    /// What whoever is asked plays each time, when they have a part of their own.
    pub(super) fn part_of(&self, ask: &Ask<'_>, pace: Pace) -> Option<Vec<Beat>> {
        let own = self.speakers.iter().find(|(prompt, _)| ask.system.starts_with(prompt.as_str()));
        own.map(|(_, steps)| beats(steps, ask, pace))
    }

    /// The answer to this asking, counted from zero; none when the script is over.
    pub(super) fn answer(&self, asking: usize, ask: &Ask<'_>, pace: Pace) -> Option<Vec<Beat>> {
        let count = self.answers.len();
        let index = if self.again && count > 0 { asking % count } else { asking };
        self.answers.get(index).map(|steps| beats(steps, ask, pace))
    }
}

/// What goes on while the steps of an answer are put in beats.
struct Playing {
    beats: Vec<Beat>,
    in_part: Option<Part>,
    calls: usize,
    written: usize,
    told_usage: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Part {
    Text,
    Reasoning,
}

impl Playing {
    fn part(&mut self, part: Option<Part>) {
        if self.in_part.is_some() && self.in_part != part {
            self.send(ModelEvent::PartEnd(None));
        }
        self.in_part = part;
    }

    fn send(&mut self, event: ModelEvent) {
        self.beats.push(Beat::event(event));
    }

    fn call(&mut self, name: &str, input: Result<Value, String>, ask: &Ask<'_>) {
        self.part(None);
        self.calls += 1;
        self.written += plan::call_tokens(name, &input);
        let carried = carried(plan::calls_before(ask) + self.calls);
        self.send(ModelEvent::ToolCall { name: name.to_owned(), input, carried });
    }

    fn stop(&mut self, reason: StopReason, ask: &Ask<'_>) {
        self.part(None);
        if !self.told_usage {
            self.send(ModelEvent::Usage(plan::usage(ask, self.written)));
        }
        self.send(ModelEvent::Stop(reason));
    }
}

fn beats(steps: &[Step], ask: &Ask<'_>, pace: Pace) -> Vec<Beat> {
    let mut playing =
        Playing { beats: pace.opening(), in_part: None, calls: 0, written: 0, told_usage: false };
    for step in steps {
        match step {
            Step::Text(text) => {
                playing.part(Some(Part::Text));
                playing.written += estimate(text);
                pace.speak(&mut playing.beats, text, ModelEvent::Text);
            }
            Step::Reasoning(text) => {
                playing.part(Some(Part::Reasoning));
                playing.written += estimate(text);
                pace.speak(&mut playing.beats, text, ModelEvent::Reasoning);
            }
            Step::Call { name, input } => {
                playing.call(name, Ok(Value::Object(input.clone())), ask);
            }
            Step::BrokenCall { name, raw } => playing.call(name, Err(raw.clone()), ask),
            Step::WaitMs(time) => playing.beats.push(Beat::Wait(Duration::from_millis(*time))),
            Step::Stall => playing.beats.push(Beat::Stall),
            Step::Stop(reason) => {
                playing.stop(*reason, ask);
                return playing.beats;
            }
            Step::Usage { input, output, cache_read, cache_write, reasoning } => {
                playing.told_usage = true;
                playing.send(ModelEvent::Usage(Usage {
                    input: Some(*input),
                    cache_read: *cache_read,
                    cache_write: *cache_write,
                    output: Some(*output),
                    reasoning: *reasoning,
                }));
            }
            Step::Retrying { attempt, wait_ms, reason } => {
                playing.part(None);
                let (attempt, wait_ms, reason) = (*attempt, *wait_ms, reason.clone());
                playing.send(ModelEvent::Retrying { attempt, wait_ms, reason });
                playing.beats.push(Beat::Wait(Duration::from_millis(wait_ms)));
            }
            Step::Error { fault, message } => {
                let error = ProviderError::new((*fault).into(), message.clone());
                playing.beats.push(Beat::Send(Box::new(Err(error))));
                return playing.beats;
            }
            Step::Repeat { times, text, every_ms } => {
                playing.part(Some(Part::Text));
                let often = usize::try_from(*times).unwrap_or(usize::MAX);
                playing.written =
                    playing.written.saturating_add(estimate(text).saturating_mul(often));
                playing.beats.push(Beat::Repeat {
                    times: *times,
                    text: text.clone(),
                    every: Duration::from_millis(*every_ms),
                });
            }
        }
    }
    let natural = if playing.calls > 0 { StopReason::ToolUse } else { StopReason::EndTurn };
    playing.stop(natural, ask);
    playing.beats
}

#[cfg(test)]
mod tests;
