//! OpenAI's Chat Completions, and the many servers that speak it nearly the same.
//!
//! What a server does differently is a quirk that the request names; what an answer does differently
//! is borne with.

mod calls;
mod decode;
mod details;
mod read;
mod tags;

pub use decode::Chunks;
pub use read::read;
use serde_json::{Map, Value, json};

use super::{
    Ask,
    dialect::{
        arguments,
        history::{self, Calls},
    },
};
use crate::domain::message::{PartBody, Role, Turn};

/// The request.
pub fn body(ask: &Ask<'_>) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), ask.model.into());
    body.insert("stream".into(), true.into());
    if !ask.quirks.no_stream_options {
        body.insert("stream_options".into(), json!({"include_usage": true}));
    }
    let limit = if ask.quirks.old_max_tokens { "max_tokens" } else { "max_completion_tokens" };
    body.insert(limit.into(), ask.max_tokens.into());
    if !ask.tools.is_empty() {
        let tools = ask.tools.iter().map(|tool| {
            let (name, description) = (&tool.name, &tool.description);
            let function =
                json!({"name": name, "description": description, "parameters": tool.schema});
            json!({"type": "function", "function": function})
        });
        body.insert("tools".into(), tools.collect());
    }
    body.insert("messages".into(), messages(ask).into());
    Value::Object(body)
}

fn messages(ask: &Ask<'_>) -> Vec<Value> {
    let calls = Calls::of(ask);
    let mut messages = Vec::new();
    if !history::is_blank(ask.system) {
        messages.push(json!({"role": "system", "content": ask.system}));
    }
    // Thoughts are wanted back only while the tools of the last question are going on.
    let loop_start = ask.turns.iter().rposition(is_question).unwrap_or_default();
    for run in runs(ask) {
        match run[0].1.role {
            Role::User => user(&calls, &run, &mut messages),
            Role::Assistant => messages.push(assistant(ask, &calls, &run, loop_start)),
        }
    }
    messages
}

/// A turn and its place in the conversation.
type Placed<'ask> = (usize, &'ask Turn);

/// The turns, by whose they are. A side that told nothing is left out, and what the other said before and
/// after that is put together: some servers refuse two messages of one role in a row.
fn runs<'ask>(ask: &Ask<'ask>) -> Vec<Vec<Placed<'ask>>> {
    let turns: Vec<Placed<'ask>> = ask.turns.iter().enumerate().collect();
    let mut runs: Vec<Vec<Placed<'ask>>> = Vec::new();
    for run in turns.chunk_by(|(_, left), (_, right)| left.role == right.role) {
        if !run.iter().any(|(_, turn)| is_told(turn)) {
            continue;
        }
        match runs.last_mut().filter(|last| last[0].1.role == run[0].1.role) {
            Some(last) => last.extend_from_slice(run),
            None => runs.push(run.to_vec()),
        }
    }
    runs
}

fn is_told(turn: &Turn) -> bool {
    match &turn.part.body {
        PartBody::Text(text) => !history::is_blank(text),
        PartBody::Reasoning(_) => false,
        PartBody::ToolCall(_) => turn.role == Role::Assistant,
        PartBody::ToolResult(_) => turn.role == Role::User,
    }
}

fn is_question(turn: &Turn) -> bool {
    turn.role == Role::User && matches!(turn.part.body, PartBody::Text(_))
}

/// Results come first: they must follow their calls directly.
fn user(calls: &Calls, run: &[Placed<'_>], messages: &mut Vec<Value>) {
    let mut words = Vec::new();
    for (_, turn) in run {
        match &turn.part.body {
            PartBody::Text(text) if !history::is_blank(text) => words.push(text.as_str()),
            PartBody::ToolResult(result) => messages.push(json!({
                "role": "tool",
                "tool_call_id": calls.name(&result.call),
                "content": history::told(result),
            })),
            PartBody::Text(_) | PartBody::Reasoning(_) | PartBody::ToolCall(_) => {}
        }
    }
    if !words.is_empty() {
        messages.push(json!({"role": "user", "content": words.join("\n\n")}));
    }
}

fn assistant(ask: &Ask<'_>, calls: &Calls, run: &[Placed<'_>], loop_start: usize) -> Value {
    let (mut words, mut thoughts, mut tools) = (Vec::new(), Vec::new(), Vec::new());
    let mut wanted_back = Vec::new();
    for (at, turn) in run {
        if ask.quirks.reasoning_details
            && let Some(data) = history::own_data(ask, &turn.part)
        {
            wanted_back.extend(details::of(data).iter().cloned());
        }
        match &turn.part.body {
            PartBody::Text(text) if !history::is_blank(text) => words.push(text.as_str()),
            PartBody::Reasoning(text) => {
                let is_own = turn.part.carried.is_none() || history::own(ask, &turn.part).is_some();
                let echoes = ask.quirks.echo_reasoning && *at > loop_start;
                if echoes && is_own && !text.is_empty() {
                    thoughts.push(text.as_str());
                }
            }
            PartBody::ToolCall(call) => tools.push(json!({
                "id": calls.name(&call.call),
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": arguments::object(&call.input).to_string(),
                },
            })),
            PartBody::Text(_) | PartBody::ToolResult(_) => {}
        }
    }
    let content = if words.is_empty() { Value::Null } else { words.join("\n\n").into() };
    let mut message = json!({"role": "assistant", "content": content});
    if !tools.is_empty() {
        message["tool_calls"] = tools.into();
    }
    if !thoughts.is_empty() {
        message["reasoning_content"] = thoughts.join("\n\n").into();
    }
    details::put(wanted_back, &mut message);
    message
}
