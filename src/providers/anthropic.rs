//! Anthropic's Messages.
//!
//! Thinking goes back unchanged and only to the model that thought it; everything before a cache mark
//! must stay the same to the byte.

mod decode;
mod read;

use std::collections::BTreeSet;

pub use decode::Events;
pub use read::read;
use serde_json::{Map, Value, json};

use super::{
    Ask, Thoughts,
    dialect::{
        arguments,
        history::{self, Calls},
    },
};
use crate::domain::message::{Part, PartBody, Role};

struct Message {
    role: Role,
    content: Vec<Value>,
}

/// The request.
pub fn body(ask: &Ask<'_>) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), ask.model.into());
    body.insert("max_tokens".into(), ask.max_tokens.into());
    body.insert("stream".into(), true.into());
    if !history::is_blank(ask.system) {
        let mut system = json!({"type": "text", "text": ask.system});
        mark(Some(&mut system));
        body.insert("system".into(), json!([system]));
    }
    let called = called(ask);
    if !ask.tools.is_empty() {
        body.insert("tools".into(), tools(ask));
    } else if !called.is_empty() {
        // Calls of earlier turns are refused where no tool is defined.
        body.insert("tools".into(), called.into());
        body.insert("tool_choice".into(), json!({"type": "none"}));
    }
    match ask.thoughts {
        Thoughts::AsIs => {}
        Thoughts::Shown => {
            let thinking = json!({"type": "adaptive", "display": "summarized"});
            body.insert("thinking".into(), thinking);
        }
    }
    body.insert("messages".into(), messages(ask));
    Value::Object(body)
}

fn tools(ask: &Ask<'_>) -> Value {
    let tools = ask.tools.iter().map(|tool| {
        json!({"name": tool.name, "description": tool.description, "input_schema": tool.schema})
    });
    let mut tools: Vec<Value> = tools.collect();
    mark(tools.last_mut());
    tools.into()
}

/// The tools that were called in the turns so far, by no more than their names.
fn called(ask: &Ask<'_>) -> Vec<Value> {
    let names = ask.turns.iter().filter_map(|turn| match &turn.part.body {
        PartBody::ToolCall(call) => Some(call.name.as_str()),
        PartBody::Text(_) | PartBody::Reasoning(_) | PartBody::ToolResult(_) => None,
    });
    let names: BTreeSet<&str> = names.collect();
    let tools = names.into_iter();
    tools.map(|name| json!({"name": name, "input_schema": {"type": "object"}})).collect()
}

fn messages(ask: &Ask<'_>) -> Value {
    let calls = Calls::of(ask);
    let mut messages: Vec<Message> = Vec::new();
    for run in ask.turns.chunk_by(|left, right| left.role == right.role) {
        let mut content: Vec<Value> =
            run.iter().filter_map(|turn| block(ask, &calls, &turn.part)).collect();
        // A message may not end with thoughts.
        while content.last().is_some_and(is_thinking) {
            content.pop();
        }
        let Some(first) = run.first().filter(|_| !content.is_empty()) else { continue };
        match messages.last_mut().filter(|last| last.role == first.role) {
            Some(last) => last.content.append(&mut content),
            None => messages.push(Message { role: first.role, content }),
        }
    }
    for message in messages.iter_mut().filter(|message| message.role == Role::User) {
        message.content.sort_by_key(|block| block["type"] != "tool_result");
    }
    // The last mark is what the next request reads; the one before is what this one can read.
    let users = messages.iter_mut().rev().filter(|message| message.role == Role::User);
    for message in users.take(2) {
        mark(message.content.last_mut());
    }
    let messages = messages
        .into_iter()
        .map(|message| json!({"role": message.role.word(), "content": message.content}));
    messages.collect()
}

fn block(ask: &Ask<'_>, calls: &Calls, part: &Part) -> Option<Value> {
    match &part.body {
        PartBody::Text(text) => {
            (!history::is_blank(text)).then(|| json!({"type": "text", "text": text}))
        }
        PartBody::Reasoning(text) => {
            let mut thinking = history::own_data(ask, part)?.as_object()?.clone();
            if thinking.get("type")? == "thinking" {
                thinking.get("signature")?;
                thinking.insert("thinking".into(), text.as_str().into());
            }
            Some(Value::Object(thinking))
        }
        PartBody::ToolCall(call) => Some(json!({
            "type": "tool_use",
            "id": calls.name(&call.call),
            "name": call.name,
            "input": arguments::object(&call.input),
        })),
        PartBody::ToolResult(result) => {
            let mut block = json!({
                "type": "tool_result",
                "tool_use_id": calls.name(&result.call),
                "content": result.output,
            });
            if result.is_error {
                block["is_error"] = true.into();
            }
            Some(block)
        }
    }
}

fn is_thinking(block: &Value) -> bool {
    block["type"] == "thinking" || block["type"] == "redacted_thinking"
}

fn mark(block: Option<&mut Value>) {
    if let Some(block) = block {
        block["cache_control"] = json!({"type": "ephemeral"});
    }
}
