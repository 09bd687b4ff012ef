//! Requests, as each service takes them.

mod marks;
mod thoughts;

use serde_json::{Value, json};

use super::replay::ASK;
use crate::{
    domain::{
        id::{CallId, PartId},
        message::{Carried, Part, PartBody, Role, ToolCall, ToolResult, Turn},
        timestamp::Timestamp,
    },
    providers::{Ask, Dialect, Quirks, Thoughts, ToolSpec},
};

pub fn turn(role: Role, body: PartBody, carried: Option<Carried>) -> Turn {
    Turn { role, part: Part { id: PartId::new("p"), at: Timestamp(0), body, carried } }
}

pub fn user(text: &str) -> Turn {
    turn(Role::User, PartBody::Text(text.into()), None)
}

pub fn assistant(text: &str) -> Turn {
    turn(Role::Assistant, PartBody::Text(text.into()), None)
}

pub fn call(id: &str, input: Value, carried: Option<Carried>) -> Turn {
    let call = ToolCall { call: CallId::new(id), name: "look".into(), input };
    turn(Role::Assistant, PartBody::ToolCall(call), carried)
}

pub fn result(id: &str, output: &str, is_error: bool) -> Turn {
    let (call, name, output) = (CallId::new(id), "look".into(), output.into());
    let result = ToolResult { call, name, output, is_error, change_id: None, sources: Vec::new() };
    turn(Role::User, PartBody::ToolResult(result), None)
}

pub fn from(service: &str, model: &str, id: &str) -> Option<Carried> {
    let (service, model) = (service.into(), model.into());
    Some(Carried { service, model, id: Some(id.into()), data: None })
}

fn tools() -> Vec<ToolSpec> {
    let (name, description) = ("look".into(), "Looks.".into());
    vec![ToolSpec { name, description, schema: json!({"type": "object", "properties": {}}) }]
}

/// Text, an empty text, two calls of which one failed, and the next question.
fn turns() -> Vec<Turn> {
    vec![
        user("Hi"),
        assistant("Both."),
        assistant(" "),
        call("one", json!({"a": 1}), from("here", "model-1", "theirs_1")),
        call("two", json!([2]), from("elsewhere", "model-1", "theirs_2")),
        result("two", "gone", true),
        result("one", "fine", false),
        user("And?"),
    ]
}

fn body(dialect: Dialect) -> Value {
    let (turns, tools) = (turns(), tools());
    dialect.body(&Ask { turns: &turns, tools: &tools, thoughts: Thoughts::Shown, ..ASK })
}

#[test]
fn anthropic_takes_blocks_with_results_before_words() {
    let mark = json!({"type": "ephemeral"});
    assert_eq!(
        body(Dialect::Anthropic),
        json!({
            "model": "model-1", "max_tokens": 1000, "stream": true,
            "system": [{"type": "text", "text": "Be kind.", "cache_control": mark}],
            "tools": [{"name": "look", "description": "Looks.", "cache_control": mark,
                "input_schema": {"type": "object", "properties": {}}}],
            "thinking": {"type": "adaptive", "display": "summarized"},
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "Hi", "cache_control": mark}]},
                {"role": "assistant", "content": [
                    {"type": "text", "text": "Both."},
                    {"type": "tool_use", "id": "theirs_1", "name": "look", "input": {"a": 1}},
                    {"type": "tool_use", "id": "two", "name": "look", "input": {}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "two", "content": "gone",
                        "is_error": true},
                    {"type": "tool_result", "tool_use_id": "theirs_1", "content": "fine"},
                    {"type": "text", "text": "And?", "cache_control": mark},
                ]},
            ],
        })
    );
}

#[test]
fn chat_takes_one_message_for_each_result() {
    assert_eq!(
        body(Dialect::OpenaiChat),
        json!({
            "model": "model-1", "stream": true, "stream_options": {"include_usage": true},
            "max_completion_tokens": 1000,
            "tools": [{"type": "function", "function": {"name": "look", "description": "Looks.",
                "parameters": {"type": "object", "properties": {}}}}],
            "messages": [
                {"role": "system", "content": "Be kind."},
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": "Both.", "tool_calls": [
                    {"id": "theirs_1", "type": "function",
                        "function": {"name": "look", "arguments": "{\"a\":1}"}},
                    {"id": "two", "type": "function",
                        "function": {"name": "look", "arguments": "{}"}},
                ]},
                {"role": "tool", "tool_call_id": "two", "content": "Error: gone"},
                {"role": "tool", "tool_call_id": "theirs_1", "content": "fine"},
                {"role": "user", "content": "And?"},
            ],
        })
    );
}

#[test]
fn responses_take_items_and_keep_no_state() {
    assert_eq!(
        body(Dialect::OpenaiResponses),
        json!({
            "model": "model-1", "stream": true, "store": false, "max_output_tokens": 1000,
            "include": ["reasoning.encrypted_content"], "reasoning": {"summary": "auto"},
            "instructions": "Be kind.",
            "tools": [{"type": "function", "name": "look", "description": "Looks.",
                "parameters": {"type": "object", "properties": {}}, "strict": false}],
            "input": [
                {"type": "message", "role": "user",
                    "content": [{"type": "input_text", "text": "Hi"}]},
                {"type": "message", "role": "assistant",
                    "content": [{"type": "output_text", "text": "Both."}]},
                {"type": "function_call", "call_id": "theirs_1", "name": "look",
                    "arguments": "{\"a\":1}"},
                {"type": "function_call", "call_id": "two", "name": "look", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "two", "output": "Error: gone"},
                {"type": "function_call_output", "call_id": "theirs_1", "output": "fine"},
                {"type": "message", "role": "user",
                    "content": [{"type": "input_text", "text": "And?"}]},
            ],
        })
    );
}

#[test]
fn gemini_takes_responses_in_the_order_of_the_calls() {
    assert_eq!(
        body(Dialect::Gemini),
        json!({
            "systemInstruction": {"parts": [{"text": "Be kind."}]},
            "generationConfig": {"maxOutputTokens": 1000,
                "thinkingConfig": {"includeThoughts": true}},
            "tools": [{"functionDeclarations": [{"name": "look", "description": "Looks.",
                "parametersJsonSchema": {"type": "object", "properties": {}}}]}],
            "contents": [
                {"role": "user", "parts": [{"text": "Hi"}]},
                {"role": "model", "parts": [
                    {"text": "Both."},
                    {"functionCall": {"id": "theirs_1", "name": "look", "args": {"a": 1}}},
                    {"functionCall": {"name": "look", "args": {}}},
                ]},
                {"role": "user", "parts": [
                    {"functionResponse": {"id": "theirs_1", "name": "look",
                        "response": {"result": "fine"}}},
                    {"functionResponse": {"name": "look", "response": {"error": "gone"}}},
                    {"text": "And?"},
                ]},
            ],
        })
    );
}

#[test]
fn what_is_not_there_is_left_out() {
    let turns = [user("Hi")];
    for dialect in Dialect::ALL {
        let body = dialect.body(&Ask { turns: &turns, system: "", ..ASK });
        for key in ["tools", "system", "instructions", "systemInstruction", "thinking", "reasoning"]
        {
            assert_eq!(body.get(key), None, "{dialect:?} {key}");
        }
        assert!(!body.to_string().contains("\"system\""), "{dialect:?}");
    }
}

/// A persona whose tools were taken away could not go on with Claude: calls without any tool are refused.
#[test]
fn anthropic_is_told_the_names_of_tools_that_were_called_and_are_there_no_more() {
    let turns = turns();
    let body = |dialect: Dialect| dialect.body(&Ask { turns: &turns, ..ASK });

    let asked = body(Dialect::Anthropic);
    assert_eq!(asked["tools"], json!([{"name": "look", "input_schema": {"type": "object"}}]));
    assert_eq!(asked["tool_choice"], json!({"type": "none"}));
    assert_eq!(asked["messages"][1]["content"][1]["type"], "tool_use");
    for dialect in [Dialect::OpenaiChat, Dialect::OpenaiResponses, Dialect::Gemini] {
        assert_eq!(body(dialect).get("tools"), None, "{dialect:?}");
    }
}

/// Somebody stopped a model that was only thinking, and asked again.
#[test]
fn what_stands_around_an_answer_without_words_is_one_message_in_chat() {
    let thought = turn(Role::Assistant, PartBody::Reasoning("Hm.".into()), None);
    let turns =
        [user("Hi"), thought, user("Anyone?"), assistant("Yes."), user(" "), assistant("Me.")];

    let body = Dialect::OpenaiChat.body(&Ask { turns: &turns, ..ASK });

    assert_eq!(
        body["messages"].as_array().unwrap()[1..],
        [
            json!({"role": "user", "content": "Hi\n\nAnyone?"}),
            json!({"role": "assistant", "content": "Yes.\n\nMe."}),
        ]
    );
}

#[test]
fn a_call_without_words_has_no_content_in_chat() {
    let turns = [user("Hi"), call("one", json!({}), None), result("one", "", false)];
    let body = Dialect::OpenaiChat.body(&Ask { turns: &turns, ..ASK });

    assert_eq!(body["messages"][2]["content"], Value::Null);
}

#[test]
fn quirks_change_what_chat_sends() {
    let turns = [user("Hi"), call("one", json!({}), None), result("one", "", false)];
    let quirks = Quirks {
        old_max_tokens: true,
        no_stream_options: true,
        short_call_ids: true,
        ..Quirks::default()
    };
    let body = Dialect::OpenaiChat.body(&Ask { turns: &turns, quirks, ..ASK });

    assert_eq!(body["max_tokens"], 1000);
    assert_eq!(body.get("max_completion_tokens"), None);
    assert_eq!(body.get("stream_options"), None);
    let id = body["messages"][2]["tool_calls"][0]["id"].as_str().unwrap();
    assert!(id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
    assert_eq!(body["messages"][3]["tool_call_id"], id);
}

#[test]
fn an_identifier_that_a_service_gives_twice_is_used_once() {
    let again = || from("here", "model-1", "call_0");
    let turns = [
        user("Hi"),
        call("one", json!({}), again()),
        result("one", "", false),
        call("two", json!({}), again()),
        result("two", "", false),
    ];
    let body = Dialect::OpenaiChat.body(&Ask { turns: &turns, ..ASK });

    assert_eq!(body["messages"][3]["tool_call_id"], "call_0");
    assert_eq!(body["messages"][5]["tool_call_id"], "two");
}

#[test]
fn a_word_thrown_in_while_a_tool_runs_comes_after_its_result() {
    let turns =
        [user("Hi"), call("one", json!({}), None), user("Wait"), result("one", "fine", false)];
    let body = |dialect: Dialect| dialect.body(&Ask { turns: &turns, ..ASK });

    let content = &body(Dialect::Anthropic)["messages"][2]["content"];
    assert_eq!([&content[0]["type"], &content[1]["type"]], ["tool_result", "text"]);
    let messages = &body(Dialect::OpenaiChat)["messages"];
    assert_eq!([&messages[3]["role"], &messages[4]["role"]], ["tool", "user"]);
    let parts = &body(Dialect::Gemini)["contents"][2]["parts"];
    assert!(parts[0].get("functionResponse").is_some());
    assert_eq!(parts[1]["text"], "Wait");
}

#[test]
fn the_key_goes_into_one_header_or_none() {
    for dialect in Dialect::ALL {
        let with = dialect.headers(Some("secret"));
        assert_eq!(with.iter().filter(|(_, value)| value.contains("secret")).count(), 1);
        assert_eq!(dialect.headers(None).len(), with.len() - 1);
        assert!(!dialect.address("https://example.org", "m").contains("secret"));
    }
    assert_eq!(Dialect::Anthropic.headers(None), [("anthropic-version", "2023-06-01".into())]);
}

/// A base address with its version led to one that has it twice, and so to nothing.
#[test]
fn a_base_address_is_taken_with_its_version_and_without() {
    let gemini = "https://example.org/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse";
    for (dialect, base, address) in [
        (Dialect::Anthropic, "https://example.org", "https://example.org/v1/messages"),
        (Dialect::Anthropic, "https://example.org/v1/", "https://example.org/v1/messages"),
        (Dialect::Anthropic, "https://example.org/api", "https://example.org/api/v1/messages"),
        (Dialect::OpenaiChat, "https://example.org/v1", "https://example.org/v1/chat/completions"),
        (Dialect::OpenaiResponses, "https://example.org/v1/", "https://example.org/v1/responses"),
        (Dialect::Gemini, "https://example.org", gemini),
        (Dialect::Gemini, "https://example.org/v1beta", gemini),
    ] {
        assert_eq!(dialect.address(base, "gemini-3-pro"), address, "{base}");
    }
}
