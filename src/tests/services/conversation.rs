//! A message, a look at the persona, an answer: in each dialect.

use axum::http::Method;
use greenroom::providers::Dialect;
use serde_json::{Value, json};

use super::{
    Stage, key_in, line,
    wire::{self, Ending},
};
use crate::fake_service::{Asked, Reply};

/// Plays a question that needs a look at the persona, and gives what the two requests were, what the
/// tool gave, and what the run took.
async fn look(dialect: Dialect, model: &str, usage: [Value; 2]) -> ([Asked; 2], String, Value) {
    let stage = Stage::new(model).await;
    let looking = [
        wire::opening(dialect),
        wire::thought(dialect),
        wire::words(dialect, &["Let me ", "look."]),
        wire::call(dialect, "get_persona", &json!({})),
        wire::ending(dialect, Ending::Calls, &usage[0]),
    ];
    let telling = [
        wire::opening(dialect),
        wire::words(dialect, &["She is ", "Ann."]),
        wire::ending(dialect, Ending::Said, &usage[1]),
    ];
    stage.fake.play([Reply::stream(looking.concat()), Reply::stream(telling.concat())]);

    let told = stage.say("Who is she?").await;

    let mut events = told.events.clone();
    let output = events[4]["output"].as_str().unwrap().to_owned();
    for event in &mut events {
        for id in ["id", "toolUseId"] {
            event.as_object_mut().unwrap().remove(id);
        }
    }
    let seen: Value = serde_json::from_str(&output).unwrap();
    assert_eq!((&seen["name"], &seen["systemPrompt"]), (&json!("Ann"), &json!("Be brief.")));
    assert_eq!(
        events,
        [
            json!({"type": "text_delta", "content": "Let me "}),
            json!({"type": "text_delta", "content": "look."}),
            json!({"type": "text_complete", "content": "Let me look."}),
            json!({"type": "tool_call", "toolName": "get_persona", "input": {}}),
            json!({"type": "tool_result", "output": output, "isError": false}),
            json!({"type": "text_delta", "content": "She is "}),
            json!({"type": "text_delta", "content": "Ann."}),
            json!({"type": "text_complete", "content": "She is Ann."}),
            json!({"type": "done"}),
        ]
    );
    assert_eq!(
        stage.history().await,
        [
            line("user", "Who is she?"),
            line("assistant_text", "Let me look."),
            line("tool_call", "get_persona"),
            line("tool_result", &output),
            line("assistant_text", "She is Ann."),
        ]
    );
    let mut run = stage.run(&told.run).await;
    assert_eq!((&run["status"], &run["stop"]), (&json!("done"), &json!("end_turn")));
    let spent = run["spent"].as_object_mut().unwrap();
    for time in ["firstTokenMs", "durationMs"] {
        assert!(spent.remove(time).is_some_and(|time| time.is_u64()), "{time}");
    }
    let asked: [Asked; 2] = stage.fake.asked().try_into().unwrap();
    (asked, output, json!(spent))
}

/// The tools that a request offers must not have changed between two steps: what is cached is kept.
fn assert_same(asked: &[Asked; 2], fields: &[&str]) {
    for field in fields {
        assert_eq!(asked[0].body[field], asked[1].body[field], "{field}");
        assert!(!asked[0].body[field].is_null(), "{field}");
    }
}

#[tokio::test]
async fn a_tool_is_called_and_answered_in_anthropics_messages() {
    let usage = [
        json!({"input_tokens": 100, "cache_read_input_tokens": 1000,
               "cache_creation_input_tokens": 200, "output_tokens": 50,
               "output_tokens_details": {"thinking_tokens": 30}}),
        json!({"input_tokens": 30, "cache_read_input_tokens": 1300,
               "cache_creation_input_tokens": 0, "output_tokens": 20}),
    ];
    let (asked, output, spent) = look(Dialect::Anthropic, "claude-sonnet-5-5", usage).await;

    for one in &asked {
        assert_eq!(one.path, "/v1/messages");
        assert_eq!(one.key(), Some(("x-api-key", key_in("ANTHROPIC_API_KEY").as_str())));
        assert_eq!(one.headers["anthropic-version"], "2023-06-01");
        assert_eq!(one.headers["content-type"], "application/json");
    }
    assert_same(&asked, &["model", "system", "tools", "max_tokens", "stream"]);
    let cached = json!({"type": "ephemeral"});
    assert_eq!(
        asked[1].body["messages"],
        json!([
            {"role": "user", "content": [
                {"type": "text", "text": "Who is she?", "cache_control": cached},
            ]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "I should look.", "signature": "sig-1"},
                {"type": "text", "text": "Let me look."},
                {"type": "tool_use", "id": "toolu_1", "name": "get_persona", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": output,
                 "cache_control": cached},
            ]},
        ])
    );
    assert_eq!(
        spent,
        json!({
            "usage": {"input": 2630, "cacheRead": 2300, "cacheWrite": 200, "output": 70, "reasoning": 30},
            // 100 at $2, 1000 at 10 cents, 200 at $2.50, 50 at $10; then 30, 1300 and 20.
            "costMicros": (200 + 100 + 500 + 500) + (60 + 130 + 200),
            "steps": 2,
        })
    );
}

#[tokio::test]
async fn a_tool_is_called_and_answered_in_chat_completions() {
    let usage = [
        json!({"prompt_tokens": 1200, "completion_tokens": 40,
               "prompt_tokens_details": {"cached_tokens": 1000}}),
        json!({"prompt_tokens": 1300, "completion_tokens": 20,
               "prompt_tokens_details": {"cached_tokens": 1200}}),
    ];
    let (asked, output, spent) = look(Dialect::OpenaiChat, "gpt-4o", usage).await;

    for one in &asked {
        assert_eq!(one.path, "/v1/chat/completions");
        assert_eq!(one.key(), Some(("authorization", key_in("OPENAI_API_KEY").as_str())));
        assert_eq!(one.body["stream_options"], json!({"include_usage": true}));
    }
    assert_same(&asked, &["model", "tools", "max_completion_tokens", "stream"]);
    let messages = asked[1].body["messages"].as_array().unwrap();
    assert_eq!(messages[0]["role"], "system");
    let function = json!({"name": "get_persona", "arguments": "{}"});
    assert_eq!(
        messages[1..],
        [
            json!({"role": "user", "content": "Who is she?"}),
            json!({"role": "assistant", "content": "Let me look.", "tool_calls": [
                {"id": "call_1", "type": "function", "function": function},
            ]}),
            json!({"role": "tool", "tool_call_id": "call_1", "content": output}),
        ]
    );
    assert_eq!(
        spent,
        json!({
            "usage": {"input": 2500, "cacheRead": 2200, "output": 60},
            // 200 at $2.50, 1000 at $1.25, 40 at $10; then 100, 1200 and 20.
            "costMicros": (500 + 1250 + 400) + (250 + 1500 + 200),
            "steps": 2,
        })
    );
}

#[tokio::test]
async fn a_tool_is_called_and_answered_in_responses() {
    let usage = [
        json!({"input_tokens": 1200, "input_tokens_details": {"cached_tokens": 1000},
               "output_tokens": 60, "output_tokens_details": {"reasoning_tokens": 30}}),
        json!({"input_tokens": 1300, "input_tokens_details": {"cached_tokens": 1200},
               "output_tokens": 20, "output_tokens_details": {"reasoning_tokens": 0}}),
    ];
    let (asked, output, spent) = look(Dialect::OpenaiResponses, "gpt-6-sol", usage).await;

    for one in &asked {
        assert_eq!(one.path, "/v1/responses");
        assert_eq!(one.key(), Some(("authorization", key_in("OPENAI_API_KEY").as_str())));
        assert_eq!(one.body["store"], false);
        assert_eq!(one.body["include"], json!(["reasoning.encrypted_content"]));
    }
    assert_same(&asked, &["model", "instructions", "tools", "max_output_tokens", "stream"]);
    let said = |kind: &str, role: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]});
    assert_eq!(
        asked[1].body["input"],
        json!([
            said("input_text", "user", "Who is she?"),
            wire::reasoning(),
            said("output_text", "assistant", "Let me look."),
            {"type": "function_call", "call_id": "call_1", "name": "get_persona", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "call_1", "output": output},
        ])
    );
    assert_eq!(
        spent,
        json!({
            "usage": {"input": 2500, "cacheRead": 2200, "output": 80, "reasoning": 30},
            // 200 at $2, 1000 at 20 cents, 60 at $10; then 100, 1200 and 20.
            "costMicros": (400 + 200 + 600) + (200 + 240 + 200),
            "steps": 2,
        })
    );
}

#[tokio::test]
async fn a_tool_is_called_and_answered_in_geminis_generate_content() {
    let usage = [
        json!({"promptTokenCount": 1200, "cachedContentTokenCount": 1000,
               "candidatesTokenCount": 20, "thoughtsTokenCount": 40}),
        json!({"promptTokenCount": 1300, "cachedContentTokenCount": 1200,
               "candidatesTokenCount": 20}),
    ];
    let (asked, output, spent) = look(Dialect::Gemini, "gemini-3.8-flash", usage).await;

    for one in &asked {
        assert_eq!(one.path, "/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse");
        assert_eq!(one.key(), Some(("x-goog-api-key", key_in("GEMINI_API_KEY").as_str())));
    }
    assert_same(&asked, &["systemInstruction", "tools", "generationConfig"]);
    let called = json!({"name": "get_persona", "args": {}});
    let response = json!({"name": "get_persona", "response": {"result": output}});
    assert_eq!(
        asked[1].body["contents"],
        json!([
            {"role": "user", "parts": [{"text": "Who is she?"}]},
            {"role": "model", "parts": [
                {"text": "Let me look."},
                {"functionCall": called, "thoughtSignature": "sig-1"},
            ]},
            {"role": "user", "parts": [{"functionResponse": response}]},
        ])
    );
    assert_eq!(
        spent,
        json!({
            "usage": {"input": 2500, "cacheRead": 2200, "output": 80, "reasoning": 40},
            // 200 at 75 cents, 1000 at 7.5 cents, 60 at $3.75; then 100, 1200 and 20.
            "costMicros": (150 + 75 + 225) + (75 + 90 + 75),
            "steps": 2,
        })
    );
}

#[tokio::test]
async fn a_local_server_needs_no_key_and_its_price_is_unknown() {
    let stage = Stage::new("ollama/qwen3:4b").await;
    stage.fake.play([Reply::stream(wire::answer(Dialect::OpenaiChat, "Hi."))]);

    let told = stage.say("Hello").await;

    assert_eq!((told.text().as_str(), told.error()), ("Hi.", ""));
    let asked = &stage.fake.asked()[0];
    assert_eq!((asked.path.as_str(), asked.key()), ("/v1/chat/completions", None));
    assert_eq!(
        (&asked.body["model"], asked.body["max_tokens"].is_u64()),
        (&json!("qwen3:4b"), true)
    );
    let spent = &stage.run(&told.run).await["spent"];
    assert_eq!(spent["usage"], json!({"input": 10, "output": 2}));
    assert_eq!(spent["costMicros"], Value::Null);
}

#[tokio::test]
async fn what_one_model_thought_is_not_sent_to_another() {
    let stage = Stage::new("claude-sonnet-5-5").await;
    let anthropic = Dialect::Anthropic;
    let thinking =
        [wire::opening(anthropic), wire::thought(anthropic), wire::words(anthropic, &["Hi."])];
    let end = wire::ending(anthropic, Ending::Said, &wire::usage(anthropic));
    stage.fake.play([Reply::stream([thinking.concat(), end].concat())]);
    stage.say("Hello").await;

    for (dialect, _, model) in wire::ALL.into_iter().skip(1) {
        stage.cast(model).await;
        stage.fake.play([Reply::stream(wire::answer(dialect, "Hi."))]);
        stage.fake.asked();
        assert_eq!(stage.say("And now?").await.error(), "");

        let sent = stage.fake.asked()[0].body.to_string();
        assert!(sent.contains("Hi."), "{sent}");
        assert!(!sent.contains("I should look.") && !sent.contains("sig-1"), "{sent}");
    }
}

#[tokio::test]
async fn a_service_of_ones_own_is_reached_by_its_name() {
    let stage = Stage::new("demo").await;
    let service = json!({
        "service": "my-server", "label": "My server", "dialect": "openai-chat",
        "baseUrl": format!("http://{}/some/v1/", stage.fake.address), "keyRef": "",
    });
    stage.call(Method::PUT, "/api/services", service).await.good();
    stage.cast("my-server/org/model:tag").await;
    stage.fake.play([Reply::stream(wire::answer(Dialect::OpenaiChat, "Hi."))]);

    assert_eq!(stage.say("Hello").await.error(), "");

    let asked = &stage.fake.asked()[0];
    assert_eq!(asked.path, "/some/v1/chat/completions");
    assert_eq!(asked.body["model"], "org/model:tag");
}
