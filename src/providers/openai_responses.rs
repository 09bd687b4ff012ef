//! OpenAI's Responses, without state at the service.
//!
//! Reasoning comes encrypted and goes back as it came, before the item that it led to.

mod decode;
mod read;

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
use crate::domain::message::{PartBody, Role};

/// The request.
pub fn body(ask: &Ask<'_>) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), ask.model.into());
    body.insert("stream".into(), true.into());
    body.insert("store".into(), false.into());
    body.insert("include".into(), json!(["reasoning.encrypted_content"]));
    body.insert("max_output_tokens".into(), ask.max_tokens.into());
    if !history::is_blank(ask.system) {
        body.insert("instructions".into(), ask.system.into());
    }
    match ask.thoughts {
        Thoughts::AsIs => {}
        Thoughts::Shown => {
            body.insert("reasoning".into(), json!({"summary": "auto"}));
        }
    }
    if !ask.tools.is_empty() {
        let tools = ask.tools.iter().map(|tool| {
            json!({
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.schema,
                "strict": false,
            })
        });
        body.insert("tools".into(), tools.collect());
    }
    body.insert("input".into(), items(ask).into());
    Value::Object(body)
}

fn items(ask: &Ask<'_>) -> Vec<Value> {
    let calls = Calls::of(ask);
    let mut items = Vec::new();
    // Reasoning waits for the item that it led to: without one, the service refuses it.
    let mut waiting: Vec<Value> = Vec::new();
    for turn in ask.turns {
        if turn.role == Role::User {
            waiting.clear();
        }
        match &turn.part.body {
            PartBody::Text(text) if history::is_blank(text) => {}
            PartBody::Text(text) => {
                let kind = match turn.role {
                    Role::User => "input_text",
                    Role::Assistant => "output_text",
                };
                items.append(&mut waiting);
                items.push(json!({
                    "type": "message",
                    "role": turn.role.word(),
                    "content": [{"type": kind, "text": text}],
                }));
            }
            PartBody::Reasoning(_) => {
                let item = history::own_data(ask, &turn.part);
                waiting.extend(item.filter(|item| item["type"] == "reasoning").cloned());
            }
            PartBody::ToolCall(call) => {
                items.append(&mut waiting);
                items.push(json!({
                    "type": "function_call",
                    "call_id": calls.name(&call.call),
                    "name": call.name,
                    "arguments": arguments::object(&call.input).to_string(),
                }));
            }
            PartBody::ToolResult(result) => items.push(json!({
                "type": "function_call_output",
                "call_id": calls.name(&result.call),
                "output": history::told(result),
            })),
        }
    }
    items
}
