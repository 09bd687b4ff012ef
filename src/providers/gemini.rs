//! Google's generateContent.
//!
//! A signature goes back on the very part it came with, and only to the model that made it.

mod decode;
mod read;

pub use decode::Chunks;
pub use read::read;
use serde_json::{Map, Value, json};

use super::{
    Ask, Thoughts,
    dialect::{
        arguments,
        history::{self, Calls},
    },
};
use crate::domain::message::{Part, PartBody, Role, ToolCall, ToolResult, Turn};

/// What the service accepts for a call whose signature it never gave.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

struct Content {
    role: Role,
    parts: Vec<Value>,
}

/// The request.
pub fn body(ask: &Ask<'_>) -> Value {
    let mut body = Map::new();
    if !history::is_blank(ask.system) {
        body.insert("systemInstruction".into(), json!({"parts": [{"text": ask.system}]}));
    }
    if !ask.tools.is_empty() {
        let tools = ask.tools.iter().map(|tool| {
            json!({
                "name": tool.name,
                "description": tool.description,
                "parametersJsonSchema": tool.schema,
            })
        });
        let tools: Vec<Value> = tools.collect();
        body.insert("tools".into(), json!([{"functionDeclarations": tools}]));
    }
    let mut settings = json!({"maxOutputTokens": ask.max_tokens});
    match ask.thoughts {
        Thoughts::AsIs => {}
        Thoughts::Shown => settings["thinkingConfig"] = json!({"includeThoughts": true}),
    }
    body.insert("generationConfig".into(), settings);
    body.insert("contents".into(), contents(ask));
    Value::Object(body)
}

fn contents(ask: &Ask<'_>) -> Value {
    let calls = Calls::of(ask);
    let mut contents: Vec<Content> = Vec::new();
    for run in ask.turns.chunk_by(|left, right| left.role == right.role) {
        let role = run[0].role;
        let mut parts = match role {
            Role::User => user(&calls, run),
            Role::Assistant => {
                run.iter().filter_map(|turn| model(ask, &calls, &turn.part)).collect()
            }
        };
        match contents.last_mut().filter(|last| last.role == role) {
            Some(last) => last.parts.append(&mut parts),
            None if parts.is_empty() => {}
            None => contents.push(Content { role, parts }),
        }
    }
    if wants_signatures(ask.model) {
        for content in &mut contents {
            let first = content.parts.iter_mut().find(|part| part.get("functionCall").is_some());
            if let Some(call) = first.filter(|part| part.get("thoughtSignature").is_none()) {
                call["thoughtSignature"] = NO_SIGNATURE.into();
            }
        }
    }
    let contents = contents.into_iter().map(|content| {
        let role = match content.role {
            Role::User => "user",
            Role::Assistant => "model",
        };
        json!({"role": role, "parts": content.parts})
    });
    contents.collect()
}

/// Responses come first and in the order of their calls.
fn user(calls: &Calls, run: &[Turn]) -> Vec<Value> {
    let (mut results, mut words) = (Vec::new(), Vec::new());
    for turn in run {
        match &turn.part.body {
            PartBody::Text(text) if !history::is_blank(text) => words.push(json!({"text": text})),
            PartBody::ToolResult(result) => results.push(result),
            PartBody::Text(_) | PartBody::Reasoning(_) | PartBody::ToolCall(_) => {}
        }
    }
    results.sort_by_key(|result| calls.position(&result.call));
    results.into_iter().map(|result| function_response(calls, result)).chain(words).collect()
}

fn model(ask: &Ask<'_>, calls: &Calls, part: &Part) -> Option<Value> {
    let signature = history::own_data(ask, part).and_then(|data| data.get("thoughtSignature"));
    let mut sent = match &part.body {
        PartBody::Text(text) if history::is_blank(text) && signature.is_none() => return None,
        PartBody::Text(text) => json!({"text": text}),
        // A signature without words came on an empty text.
        PartBody::Reasoning(text) if text.is_empty() && signature.is_some() => json!({"text": ""}),
        PartBody::Reasoning(text) if signature.is_some() => json!({"text": text, "thought": true}),
        PartBody::Reasoning(_) | PartBody::ToolResult(_) => return None,
        PartBody::ToolCall(call) => function_call(calls, call),
    };
    if let Some(signature) = signature {
        sent["thoughtSignature"] = signature.clone();
    }
    Some(sent)
}

fn function_call(calls: &Calls, call: &ToolCall) -> Value {
    let mut sent = json!({"name": call.name, "args": arguments::object(&call.input)});
    if let Some(id) = calls.theirs(&call.call) {
        sent["id"] = id.into();
    }
    json!({"functionCall": sent})
}

fn function_response(calls: &Calls, result: &ToolResult) -> Value {
    let key = if result.is_error { "error" } else { "result" };
    let mut sent = json!({"name": result.name, "response": {key: result.output}});
    if let Some(id) = calls.theirs(&result.call) {
        sent["id"] = id.into();
    }
    json!({"functionResponse": sent})
}

/// Since the third generation a call without a signature is refused.
fn wants_signatures(model: &str) -> bool {
    let generation = model.split("gemini-").nth(1).unwrap_or_default();
    let digits = generation.split(|letter: char| !letter.is_ascii_digit()).next();
    digits.and_then(|digits| digits.parse::<u32>().ok()).is_some_and(|number| number >= 3)
}
