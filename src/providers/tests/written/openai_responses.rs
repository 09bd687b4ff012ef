//! Responses.

use serde_json::{Value, json};

use crate::{
    domain::run::{StopReason, Usage},
    providers::{
        Dialect, Fault, ModelEvent,
        tests::replay::{Answer, carried, play},
    },
};

fn added(index: u64, item: Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": index, "item": item})
}

fn finished(index: u64, item: Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": index, "item": item})
}

fn delta(kind: &str, index: u64, delta: &str) -> Value {
    json!({"type": format!("response.{kind}.delta"), "output_index": index, "delta": delta})
}

fn call(id: &str, arguments: &str, status: &str) -> Value {
    json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": "look",
        "arguments": arguments, "status": status})
}

fn end(kind: &str, mut response: Value) -> Value {
    response["usage"] = json!({"input_tokens": 30, "output_tokens": 7,
        "input_tokens_details": {"cached_tokens": 20, "cache_write_tokens": 1},
        "output_tokens_details": {"reasoning_tokens": 3}});
    json!({"type": format!("response.{kind}"), "response": response})
}

fn answer(events: &[Value]) -> Answer {
    play(Dialect::OpenaiResponses, events)
}

fn called(id: &str, input: Value) -> (String, Result<Value, String>, Option<String>) {
    ("look".into(), Ok(input), Some(id.into()))
}

#[test]
fn words_come_in_pieces_or_whole() {
    let message = json!({"type": "message", "content": [{"type": "output_text", "text": "Grüße"}]});
    let pieces = [delta("output_text", 0, "Gr"), delta("output_text", 0, "üße")];
    for pieces in [&pieces[..], &[]] {
        let events =
            [pieces, &[finished(0, message.clone()), end("completed", json!({}))]].concat();
        let answer = answer(&events);

        let usage = Usage {
            input: Some(30),
            cache_read: Some(20),
            cache_write: Some(1),
            output: Some(7),
            reasoning: Some(3),
        };
        assert_eq!(answer.text(), "Grüße");
        assert_eq!((answer.usage(), answer.stop()), (usage, Some(StopReason::EndTurn)));
    }
}

#[test]
fn parallel_calls_are_named_by_call_and_not_by_item() {
    let answer = answer(&[
        added(0, call("call_a", "", "in_progress")),
        delta("function_call_arguments", 0, "{}"),
        added(1, call("call_b", "", "in_progress")),
        finished(0, call("call_a", "{}", "completed")),
        finished(1, call("call_b", "{\"n\":1}", "completed")),
        end("completed", json!({})),
        json!("[DONE]"),
    ]);

    assert_eq!(answer.called(), [called("call_a", json!({})), called("call_b", json!({"n": 1}))]);
    assert_eq!(answer.stop(), Some(StopReason::ToolUse));
}

#[test]
fn reasoning_is_carried_raw_with_or_without_a_summary() {
    let hidden = json!({"type": "reasoning", "id": "rs_1", "summary": [],
        "encrypted_content": "enc", "something": {"new": 1}});
    let shown = json!({"type": "reasoning", "id": "rs_2", "encrypted_content": "enc2",
        "summary": [{"type": "summary_text", "text": "A"}, {"type": "summary_text", "text": "B"}]});
    let part = |index: u64| {
        json!({"type": "response.reasoning_summary_part.added", "output_index": 1,
            "summary_index": index})
    };
    let answer = answer(&[
        added(0, hidden.clone()),
        finished(0, hidden.clone()),
        part(0),
        delta("reasoning_summary_text", 1, "A"),
        part(1),
        delta("reasoning_summary_text", 1, "B"),
        finished(1, shown.clone()),
        finished(2, call("call_a", "{}", "completed")),
        end("completed", json!({})),
    ]);

    assert_eq!(
        answer.events[..5],
        [
            ModelEvent::PartEnd(Some(carried(Some("rs_1"), hidden))),
            ModelEvent::Reasoning("A".into()),
            ModelEvent::Reasoning("\n\n".into()),
            ModelEvent::Reasoning("B".into()),
            ModelEvent::PartEnd(Some(carried(Some("rs_2"), shown))),
        ]
    );
}

#[test]
fn an_incomplete_answer_says_why_and_keeps_no_half_call() {
    let why = |reason: &str| end("incomplete", json!({"incomplete_details": {"reason": reason}}));
    let begun =
        [added(0, call("call_a", "", "in_progress")), delta("function_call_arguments", 0, "{\"pa")];
    let closed = [finished(0, call("call_a", "{\"pa", "incomplete"))];
    for events in [&begun[..], &closed[..]] {
        let answer = answer(&[events, &[why("max_output_tokens")]].concat());

        assert_eq!(answer.called()[0].1, Err("{\"pa".into()));
        assert_eq!(answer.stop(), Some(StopReason::MaxTokens));
    }
    assert_eq!(answer(&[why("content_filter")]).stop(), Some(StopReason::Refusal));
}

#[test]
fn a_refusal_is_shown_and_is_the_reason() {
    let answer = answer(&[
        delta("refusal", 0, "I can"),
        delta("refusal", 0, "not."),
        finished(
            0,
            json!({"type": "message", "content": [{"type": "refusal", "refusal": "I cannot."}]}),
        ),
        end("completed", json!({})),
    ]);

    assert_eq!((answer.text().as_str(), answer.stop()), ("I cannot.", Some(StopReason::Refusal)));
}

#[test]
fn a_refusal_after_words_stands_apart_from_them() {
    let answer = answer(&[
        delta("output_text", 0, "I would"),
        delta("refusal", 0, "I cannot."),
        end("completed", json!({})),
    ]);

    assert_eq!(answer.passages(), ["I would", "I cannot."]);
}

#[test]
fn a_failure_is_told_flat_nested_or_at_the_end() {
    let errors = [
        (json!({"type": "error", "code": "server_error", "message": "m"}), Fault::Transient),
        (
            json!({"type": "error", "error": {"code": "rate_limit_exceeded", "message": "m"}}),
            Fault::RateLimited,
        ),
        (
            end("failed", json!({"error": {"code": "context_length_exceeded", "message": "m"}})),
            Fault::ContextExceeded,
        ),
        (json!({"error": {"code": 503, "message": "m"}}), Fault::Overloaded),
    ];
    for (error, fault) in errors {
        let failed = answer(std::slice::from_ref(&error)).error.unwrap();
        assert_eq!((failed.fault, failed.message.as_str()), (fault, "m"), "{error}");
    }
}

#[test]
fn a_stream_without_its_end_is_truncated() {
    let answer = answer(&[delta("output_text", 0, "Hi"), json!("[DONE]")]);

    assert_eq!(answer.error.unwrap().fault, Fault::Truncated);
}
