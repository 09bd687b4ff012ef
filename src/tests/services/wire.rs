//! What the four kinds of services send, piece by piece.

use greenroom::providers::Dialect;
use serde_json::{Value, json};

/// A service that each dialect is tested with: its name, and one of its models.
pub const ALL: [(Dialect, &str, &str); 4] = [
    (Dialect::Anthropic, "Anthropic", "claude-sonnet-5-5"),
    (Dialect::OpenaiChat, "OpenAI", "gpt-4o"),
    (Dialect::OpenaiResponses, "OpenAI", "gpt-6-sol"),
    (Dialect::Gemini, "Google Gemini", "gemini-3.8-flash"),
];

/// Why an answer ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Said,
    Calls,
}

/// A whole answer that says this.
pub fn answer(dialect: Dialect, said: &str) -> Vec<String> {
    [opening(dialect), words(dialect, &[said]), ending(dialect, Ending::Said, &usage(dialect))]
        .concat()
}

/// An answer that says this and goes on.
pub fn begun(dialect: Dialect, said: &str) -> Vec<String> {
    [opening(dialect), words(dialect, &[said])].concat()
}

/// One event, as the dialect frames it.
fn event(dialect: Dialect, data: &Value) -> String {
    match (dialect, data["type"].as_str()) {
        (Dialect::Anthropic | Dialect::OpenaiResponses, Some(kind)) => {
            format!("event: {kind}\ndata: {data}\n\n")
        }
        (Dialect::Gemini, _) => format!("data: {data}\r\n\r\n"),
        _ => format!("data: {data}\n\n"),
    }
}

fn all(dialect: Dialect, data: impl IntoIterator<Item = Value>) -> Vec<String> {
    data.into_iter().map(|data| event(dialect, &data)).collect()
}

fn chat(delta: Value) -> Value {
    json!({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]})
}

fn gemini(part: Value) -> Value {
    json!({"candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}}]})
}

/// What comes before anything is said.
pub fn opening(dialect: Dialect) -> Vec<String> {
    match dialect {
        Dialect::Anthropic => {
            let usage = json!({"input_tokens": 100, "output_tokens": 1});
            let message =
                json!({"id": "msg_1", "role": "assistant", "content": [], "usage": usage});
            all(
                dialect,
                [json!({"type": "message_start", "message": message}), json!({"type": "ping"})],
            )
        }
        Dialect::OpenaiChat => all(dialect, [chat(json!({"role": "assistant", "content": ""}))]),
        Dialect::OpenaiResponses => {
            all(dialect, [json!({"type": "response.created", "response": {"id": "resp_1"}})])
        }
        Dialect::Gemini => vec![": hello\r\n\r\n".into()],
    }
}

/// A thought, with what the service wants back; only some services show any.
pub fn thought(dialect: Dialect) -> Vec<String> {
    match dialect {
        Dialect::Anthropic => {
            let grown =
                |delta: Value| json!({"type": "content_block_delta", "index": 0, "delta": delta});
            let block = json!({"type": "thinking", "thinking": "", "signature": ""});
            let begun = json!({"type": "content_block_start", "index": 0, "content_block": block});
            let thinking = grown(json!({"type": "thinking_delta", "thinking": "I should look."}));
            let signed = grown(json!({"type": "signature_delta", "signature": "sig-1"}));
            let ended = json!({"type": "content_block_stop", "index": 0});
            all(dialect, [begun, thinking, signed, ended])
        }
        Dialect::OpenaiChat => Vec::new(),
        Dialect::OpenaiResponses => {
            let begun = json!({"type": "reasoning", "id": "rs_1", "summary": []});
            let summary = "response.reasoning_summary_text.delta";
            all(
                dialect,
                [
                    json!({"type": "response.output_item.added", "output_index": 0, "item": begun}),
                    json!({"type": summary, "output_index": 0, "delta": "I should look."}),
                    json!({"type": "response.output_item.done", "output_index": 0, "item": reasoning()}),
                ],
            )
        }
        Dialect::Gemini => {
            all(dialect, [gemini(json!({"text": "I should look.", "thought": true}))])
        }
    }
}

/// A reasoning item, which must come back as it went out.
pub fn reasoning() -> Value {
    let summary = json!([{"type": "summary_text", "text": "I should look."}]);
    json!({"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "enc-1"})
}

/// Words, a piece each.
pub fn words(dialect: Dialect, pieces: &[&str]) -> Vec<String> {
    let mut data = Vec::new();
    match dialect {
        Dialect::Anthropic => {
            let block = json!({"type": "text", "text": ""});
            data.push(json!({"type": "content_block_start", "index": 1, "content_block": block}));
            data.extend(pieces.iter().map(|piece| {
                let delta = json!({"type": "text_delta", "text": piece});
                json!({"type": "content_block_delta", "index": 1, "delta": delta})
            }));
        }
        Dialect::OpenaiChat => {
            data.extend(pieces.iter().map(|piece| chat(json!({"content": piece}))));
        }
        Dialect::OpenaiResponses => {
            let item = json!({"type": "message", "role": "assistant", "content": []});
            data.push(
                json!({"type": "response.output_item.added", "output_index": 1, "item": item}),
            );
            data.extend(pieces.iter().map(|piece| {
                json!({"type": "response.output_text.delta", "output_index": 1, "delta": piece})
            }));
        }
        Dialect::Gemini => data.extend(pieces.iter().map(|piece| gemini(json!({"text": piece})))),
    }
    all(dialect, data)
}

/// A whole call of a tool, in pieces where the service sends pieces.
pub fn call(dialect: Dialect, name: &str, input: &Value) -> Vec<String> {
    let arguments = input.to_string();
    let (begin, rest) = arguments.split_at(1);
    match dialect {
        Dialect::Anthropic => {
            let grown = |json: &str| {
                let delta = json!({"type": "input_json_delta", "partial_json": json});
                json!({"type": "content_block_delta", "index": 2, "delta": delta})
            };
            let block = json!({"type": "tool_use", "id": "toolu_1", "name": name, "input": {}});
            all(
                dialect,
                [
                    json!({"type": "content_block_stop", "index": 1}),
                    json!({"type": "content_block_start", "index": 2, "content_block": block}),
                    grown(""),
                    grown(begin),
                    grown(rest),
                    json!({"type": "content_block_stop", "index": 2}),
                ],
            )
        }
        Dialect::OpenaiChat => {
            let piece = |call: Value| chat(json!({"tool_calls": [call]}));
            let function = json!({"name": name, "arguments": ""});
            all(
                dialect,
                [
                    piece(
                        json!({"index": 0, "id": "call_1", "type": "function", "function": function}),
                    ),
                    piece(json!({"index": 0, "function": {"arguments": begin}})),
                    piece(json!({"index": 0, "function": {"arguments": rest}})),
                ],
            )
        }
        Dialect::OpenaiResponses => {
            let item = |arguments: &str| {
                json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": name,
                       "arguments": arguments})
            };
            let grown = "response.function_call_arguments.delta";
            all(
                dialect,
                [
                    json!({"type": "response.output_item.added", "output_index": 2, "item": item("")}),
                    json!({"type": grown, "output_index": 2, "delta": arguments}),
                    json!({"type": "response.output_item.done", "output_index": 2, "item": item(&arguments)}),
                ],
            )
        }
        Dialect::Gemini => {
            let call = json!({"name": name, "args": input});
            all(dialect, [gemini(json!({"functionCall": call, "thoughtSignature": "sig-1"}))])
        }
    }
}

/// A small usage.
pub fn usage(dialect: Dialect) -> Value {
    match dialect {
        Dialect::Anthropic | Dialect::OpenaiResponses => {
            json!({"input_tokens": 10, "output_tokens": 2})
        }
        Dialect::OpenaiChat => json!({"prompt_tokens": 10, "completion_tokens": 2}),
        Dialect::Gemini => json!({"promptTokenCount": 10, "candidatesTokenCount": 2}),
    }
}

/// The end of an answer.
pub fn ending(dialect: Dialect, why: Ending, usage: &Value) -> Vec<String> {
    let calls = why == Ending::Calls;
    match dialect {
        Dialect::Anthropic => {
            let delta = json!({"stop_reason": if calls { "tool_use" } else { "end_turn" }});
            all(
                dialect,
                [
                    json!({"type": "content_block_stop", "index": 1}),
                    json!({"type": "message_delta", "delta": delta, "usage": usage}),
                    json!({"type": "message_stop"}),
                ],
            )
        }
        Dialect::OpenaiChat => {
            let reason = if calls { "tool_calls" } else { "stop" };
            let last = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
            let mut pieces = all(dialect, [last, json!({"choices": [], "usage": usage})]);
            pieces.push("data: [DONE]\n\n".into());
            pieces
        }
        Dialect::OpenaiResponses => {
            all(dialect, [json!({"type": "response.completed", "response": {"usage": usage}})])
        }
        Dialect::Gemini => {
            let content = json!({"role": "model", "parts": [{"text": ""}]});
            let candidate = json!({"index": 0, "content": content, "finishReason": "STOP"});
            all(dialect, [json!({"candidates": [candidate], "usageMetadata": usage})])
        }
    }
}

/// An error inside of a stream that began well.
pub fn failure(dialect: Dialect, message: &str) -> Vec<String> {
    let data = match dialect {
        Dialect::Anthropic => {
            json!({"type": "error", "error": {"type": "overloaded_error", "message": message}})
        }
        Dialect::OpenaiChat => json!({"error": {"code": "server_error", "message": message}}),
        Dialect::OpenaiResponses => {
            let error = json!({"code": "server_error", "message": message});
            json!({"type": "response.failed", "response": {"error": error}})
        }
        Dialect::Gemini => {
            json!({"error": {"code": 503, "status": "UNAVAILABLE", "message": message}})
        }
    };
    all(dialect, [data])
}

/// Why a service does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    TooMuch,
    Overloaded,
    Internal,
}

impl Trouble {
    /// The status with which each service tells it.
    pub fn status(self, dialect: Dialect) -> u16 {
        match (self, dialect) {
            (Self::TooMuch, _) => 429,
            (Self::Overloaded, Dialect::Anthropic) => 529,
            (Self::Overloaded, _) => 503,
            (Self::Internal, _) => 500,
        }
    }

    fn words(self, dialect: Dialect) -> [&'static str; 2] {
        match (dialect, self) {
            (Dialect::Anthropic, Self::TooMuch) => ["rate_limit_error", ""],
            (Dialect::Anthropic, Self::Overloaded) => ["overloaded_error", ""],
            (Dialect::Anthropic, Self::Internal) => ["api_error", ""],
            (Dialect::OpenaiChat | Dialect::OpenaiResponses, Self::TooMuch) => {
                ["requests", "rate_limit_exceeded"]
            }
            (Dialect::OpenaiChat | Dialect::OpenaiResponses, Self::Overloaded) => {
                ["service_unavailable_error", "server_is_overloaded"]
            }
            (Dialect::OpenaiChat | Dialect::OpenaiResponses, Self::Internal) => {
                ["server_error", "server_error"]
            }
            (Dialect::Gemini, Self::TooMuch) => ["RESOURCE_EXHAUSTED", ""],
            (Dialect::Gemini, Self::Overloaded) => ["UNAVAILABLE", ""],
            (Dialect::Gemini, Self::Internal) => ["INTERNAL", ""],
        }
    }
}

/// What a service says in place of an answer.
pub fn refusal(dialect: Dialect, why: Trouble, message: &str) -> Value {
    let [kind, code] = why.words(dialect);
    match dialect {
        Dialect::Anthropic => {
            json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"})
        }
        Dialect::OpenaiChat | Dialect::OpenaiResponses => {
            json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
        }
        Dialect::Gemini => {
            json!({"error": {"code": why.status(dialect), "message": message, "status": kind}})
        }
    }
}

/// A call of one of several tools, with arguments as they are, in a dialect in which they are text.
pub fn chat_call(at: usize, name: &str, arguments: &[&str]) -> Vec<String> {
    let begun = json!({"index": at, "id": format!("call_{at}"), "type": "function",
        "function": {"name": name, "arguments": ""}});
    let pieces =
        arguments.iter().map(|piece| json!({"index": at, "function": {"arguments": piece}}));
    let calls = std::iter::once(begun).chain(pieces);
    all(Dialect::OpenaiChat, calls.map(|call| chat(json!({"tool_calls": [call]}))))
}
