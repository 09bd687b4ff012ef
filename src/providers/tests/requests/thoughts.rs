//! What goes back to the model that thought it, and to no other.

use serde_json::{Value, json};

use super::{assistant, call, result, turn, user};
use crate::{
    domain::message::{Carried, PartBody, Role, Turn},
    providers::{
        Ask, Dialect, Quirks,
        tests::replay::{ASK, carried},
    },
};

fn thought(text: &str, carried: Option<Carried>) -> Turn {
    turn(Role::Assistant, PartBody::Reasoning(text.into()), carried)
}

fn elsewhere(data: Value) -> Option<Carried> {
    Some(Carried { model: "model-2".into(), ..carried(None, data) })
}

#[test]
fn anthropic_gets_its_thinking_back_in_place_and_no_other() {
    let signed = |signature: &str| json!({"type": "thinking", "signature": signature});
    let redacted = json!({"type": "redacted_thinking", "data": "xyz"});
    let turns = [
        user("Hi"),
        thought("Hm.", Some(carried(None, signed("a")))),
        thought("", Some(carried(None, signed("b")))),
        thought("", Some(carried(None, redacted.clone()))),
        thought("other", elsewhere(signed("c"))),
        thought("unsigned", None),
        call("one", json!({}), None),
        result("one", "fine", false),
        thought("last", Some(carried(None, signed("d")))),
    ];

    let body = Dialect::Anthropic.body(&Ask { turns: &turns, ..ASK });

    assert_eq!(
        body["messages"][1]["content"],
        json!([
            {"type": "thinking", "thinking": "Hm.", "signature": "a"},
            {"type": "thinking", "thinking": "", "signature": "b"},
            redacted,
            {"type": "tool_use", "id": "one", "name": "look", "input": {}},
        ])
    );
    // A message may not end with thoughts, so the last one is not sent.
    assert_eq!(body["messages"].as_array().unwrap().len(), 3);
}

#[test]
fn responses_get_reasoning_back_only_before_what_it_led_to() {
    let item =
        |id: &str| json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": "e"});
    let turns = [
        user("Hi"),
        thought("", Some(carried(Some("rs_1"), item("rs_1")))),
        call("one", json!({}), None),
        result("one", "fine", false),
        thought("", Some(carried(Some("rs_2"), item("rs_2")))),
        user("Go on"),
        thought("", elsewhere(item("rs_3"))),
        assistant("Done."),
        thought("", Some(carried(Some("rs_4"), item("rs_4")))),
    ];

    let body = Dialect::OpenaiResponses.body(&Ask { turns: &turns, ..ASK });

    let kinds: Vec<&str> =
        body["input"].as_array().unwrap().iter().filter_map(|item| item["type"].as_str()).collect();
    let expected =
        ["message", "reasoning", "function_call", "function_call_output", "message", "message"];
    assert_eq!(kinds, expected);
    assert_eq!(body["input"][1], item("rs_1"));
}

#[test]
fn chat_echoes_thoughts_by_quirk_and_within_the_loop_only() {
    let turns = [
        user("Hi"),
        thought("old", None),
        assistant("Hello."),
        user("Look"),
        thought("new", None),
        thought("other", elsewhere(Value::Null)),
        call("one", json!({}), None),
        result("one", "fine", false),
    ];
    let quirks = Quirks { echo_reasoning: true, ..Quirks::default() };

    let plain = Dialect::OpenaiChat.body(&Ask { turns: &turns, ..ASK });
    let echoing = Dialect::OpenaiChat.body(&Ask { turns: &turns, quirks, ..ASK });

    assert!(!plain.to_string().contains("reasoning_content"));
    assert_eq!(echoing["messages"][2].get("reasoning_content"), None);
    assert_eq!(echoing["messages"][4]["reasoning_content"], "new");
}

#[test]
fn gemini_gets_signatures_back_on_the_parts_they_came_with() {
    let signed = |signature: &str| carried(None, json!({"thoughtSignature": signature}));
    let turns = [
        user("Hi"),
        thought("Hm.", None),
        call("one", json!({}), Some(signed("a"))),
        call("two", json!({}), Some(Carried { data: None, ..signed("") })),
        result("one", "", false),
        result("two", "", false),
        turn(Role::Assistant, PartBody::Text("Done.".into()), Some(signed("b"))),
        thought("", Some(signed("c"))),
    ];
    let model = "gemini-3-pro";
    let mine: Vec<Turn> = turns
        .iter()
        .cloned()
        .map(|mut turn| {
            turn.part.carried =
                turn.part.carried.map(|made| Carried { model: model.into(), ..made });
            turn
        })
        .collect();

    let body = Dialect::Gemini.body(&Ask { turns: &mine, model, ..ASK });
    assert_eq!(
        body["contents"][1]["parts"],
        json!([
            {"functionCall": {"name": "look", "args": {}}, "thoughtSignature": "a"},
            {"functionCall": {"name": "look", "args": {}}},
        ])
    );
    assert_eq!(
        body["contents"][3]["parts"],
        json!([
            {"text": "Done.", "thoughtSignature": "b"},
            {"text": "", "thoughtSignature": "c"},
        ])
    );

    // To another model of the third generation the calls are strangers'.
    let body = Dialect::Gemini.body(&Ask { turns: &turns, model, ..ASK });
    assert_eq!(
        body["contents"][1]["parts"],
        json!([
            {"functionCall": {"name": "look", "args": {}},
                "thoughtSignature": "skip_thought_signature_validator"},
            {"functionCall": {"name": "look", "args": {}}},
        ])
    );
    assert_eq!(body["contents"][3]["parts"], json!([{"text": "Done."}]));

    let body = Dialect::Gemini.body(&Ask { turns: &turns, model: "gemini-2.5-flash", ..ASK });
    assert!(!body.to_string().contains("thoughtSignature"));
}
