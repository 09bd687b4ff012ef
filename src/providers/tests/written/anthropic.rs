//! Anthropic.

use serde_json::{Value, json};

use crate::{
    domain::run::{StopReason, Usage},
    providers::{
        Dialect, Fault, ModelEvent,
        tests::replay::{Answer, carried, play},
    },
};

fn start() -> Value {
    json!({"type": "message_start", "message": {"id": "msg_1", "usage": {
        "input_tokens": 10, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 2,
        "output_tokens": 1}}})
}

fn begin(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u64, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn end(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn text(index: u64, pieces: &[&str]) -> Vec<Value> {
    let mut events = vec![begin(index, json!({"type": "text", "text": ""}))];
    events.extend(
        pieces.iter().map(|text| delta(index, json!({"type": "text_delta", "text": text}))),
    );
    events
}

fn tool(index: u64, id: &str, pieces: &[&str]) -> Vec<Value> {
    let block = json!({"type": "tool_use", "id": id, "name": "look", "input": {}});
    let mut events = vec![begin(index, block)];
    events.extend(
        pieces
            .iter()
            .map(|text| delta(index, json!({"type": "input_json_delta", "partial_json": text}))),
    );
    events
}

fn thinking(index: u64, text: &str, signature: &str) -> Vec<Value> {
    vec![
        begin(index, json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(index, json!({"type": "thinking_delta", "thinking": text})),
        delta(index, json!({"type": "signature_delta", "signature": signature})),
        end(index),
    ]
}

fn stop(reason: &str) -> Vec<Value> {
    let usage = json!({"output_tokens": 20, "output_tokens_details": {"thinking_tokens": 4}});
    vec![
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}),
        json!({"type": "message_stop"}),
    ]
}

fn answer(events: &[Vec<Value>]) -> Answer {
    play(Dialect::Anthropic, &events.concat())
}

#[test]
fn words_come_through_pings_and_multibyte_letters() {
    let ping = vec![json!({"type": "ping"})];
    let answer =
        answer(&[vec![start()], ping, text(0, &["Gr", "üße 🌱"]), vec![end(0)], stop("end_turn")]);

    let first = Usage {
        input: Some(17),
        cache_read: Some(5),
        cache_write: Some(2),
        output: Some(1),
        reasoning: None,
    };
    let last = Usage { output: Some(20), reasoning: Some(4), ..first };
    assert_eq!(
        answer.events,
        [
            ModelEvent::Usage(first),
            ModelEvent::Text("Gr".into()),
            ModelEvent::Text("üße 🌱".into()),
            ModelEvent::PartEnd(None),
            ModelEvent::Usage(last),
            ModelEvent::Stop(StopReason::EndTurn),
        ]
    );
}

#[test]
fn thoughts_keep_their_signature_and_lead_to_a_call() {
    let answer = answer(&[
        vec![start()],
        thinking(0, "Hm.", "sig"),
        tool(1, "toolu_1", &["", "{\"a\":", "1}"]),
        vec![end(1)],
        stop("tool_use"),
    ]);

    assert_eq!(
        answer.events[1..4],
        [
            ModelEvent::Reasoning("Hm.".into()),
            ModelEvent::PartEnd(Some(carried(
                None,
                json!({"type": "thinking", "signature": "sig"})
            ))),
            ModelEvent::ToolCall {
                name: "look".into(),
                input: Ok(json!({"a": 1})),
                carried: crate::domain::message::Carried {
                    data: None,
                    ..carried(Some("toolu_1"), Value::Null)
                },
            },
        ]
    );
    assert_eq!(answer.stop(), Some(StopReason::ToolUse));
}

#[test]
fn hidden_thoughts_are_parts_without_words() {
    let redacted = json!({"type": "redacted_thinking", "data": "xyz"});
    let answer = answer(&[
        vec![start()],
        thinking(0, "", "sig"),
        vec![begin(1, redacted.clone()), end(1)],
        stop("end_turn"),
    ]);

    assert_eq!(
        answer.events[1..3],
        [
            ModelEvent::PartEnd(Some(carried(
                None,
                json!({"type": "thinking", "signature": "sig"})
            ))),
            ModelEvent::PartEnd(Some(carried(None, redacted))),
        ]
    );
}

#[test]
fn parallel_calls_without_arguments_are_empty_objects() {
    let answer = answer(&[
        vec![start()],
        text(0, &["Both."]),
        vec![end(0)],
        tool(1, "toolu_1", &[""]),
        vec![end(1)],
        tool(2, "toolu_2", &[""]),
        vec![end(2)],
        stop("tool_use"),
    ]);

    let call = |id: &str| ("look".to_owned(), Ok(json!({})), Some(id.to_owned()));
    assert_eq!(answer.called(), [call("toolu_1"), call("toolu_2")]);
}

#[test]
fn a_call_that_the_limit_cut_off_stays_text() {
    for pieces in [&["", "{\"path\": \"a"] as &[&str], &[""]] {
        let answer = answer(&[vec![start()], tool(0, "toolu_1", pieces), stop("max_tokens")]);

        let input = Err(pieces.concat());
        assert_eq!(answer.called(), [("look".into(), input, Some("toolu_1".into()))]);
        assert_eq!(answer.stop(), Some(StopReason::MaxTokens));
    }
}

#[test]
fn every_reason_to_stop_is_known() {
    let reasons = [
        ("end_turn", StopReason::EndTurn),
        ("stop_sequence", StopReason::StopSequence),
        ("max_tokens", StopReason::MaxTokens),
        ("refusal", StopReason::Refusal),
        ("pause_turn", StopReason::PauseTurn),
        ("model_context_window_exceeded", StopReason::ContextExceeded),
        ("something_new", StopReason::Other),
    ];
    for (word, reason) in reasons {
        let answer = answer(&[vec![start()], text(0, &["Hi"]), stop(word)]);
        assert_eq!((answer.text().as_str(), answer.stop()), ("Hi", Some(reason)));
    }
}

#[test]
fn an_answer_may_be_empty() {
    assert_eq!(answer(&[vec![start()], stop("end_turn")]).stop(), Some(StopReason::EndTurn));
}

#[test]
fn tools_of_the_service_are_not_ours_to_run() {
    let block =
        json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}});
    let more = json!({"type": "input_json_delta", "partial_json": "{\"query\":\"x\"}"});
    let result = json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1"});
    let citation = json!({"type": "citations_delta", "citation": {"url": "u"}});
    let answer = answer(&[
        vec![start(), begin(0, block), delta(0, more), end(0), begin(1, result), end(1)],
        text(2, &["Found."]),
        vec![delta(2, citation), end(2)],
        stop("end_turn"),
    ]);

    assert_eq!(answer.calls(), []);
    assert_eq!(answer.text(), "Found.");
}

#[test]
fn an_overload_in_the_middle_is_an_error_after_words() {
    let error = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Busy"}});
    let answer = answer(&[vec![start()], text(0, &["A sol"]), vec![error]]);

    let error = answer.error.as_ref().unwrap();
    assert_eq!((error.fault, error.message.as_str()), (Fault::Overloaded, "Busy"));
    assert_eq!((answer.text().as_str(), answer.usage().input), ("A sol", Some(17)));
}

#[test]
fn a_stream_without_its_end_is_truncated() {
    let answer = answer(&[vec![start()], text(0, &["A sol"])]);

    assert_eq!(answer.error.unwrap().fault, Fault::Truncated);
}

#[test]
fn noise_of_proxies_is_ignored() {
    let done = json!("[DONE]");
    let answer = answer(&[
        vec![start(), start(), json!({"type": "something_new"})],
        text(0, &["Hi"]),
        vec![end(0)],
        stop("end_turn"),
        vec![done],
    ]);

    assert_eq!((answer.text().as_str(), answer.stop()), ("Hi", Some(StopReason::EndTurn)));
}
