//! Gemini. All streams are also fed with CRLF, as it sends them.

use serde_json::{Value, json};

use crate::{
    domain::{
        message::Carried,
        run::{StopReason, Usage},
    },
    providers::{
        Dialect, Fault, ModelEvent,
        tests::replay::{Answer, carried, play, unsigned},
    },
};

fn parts(parts: Value) -> Value {
    json!({"candidates": [{"content": {"parts": parts, "role": "model"}, "index": 0}],
        "usageMetadata": {"promptTokenCount": 15}})
}

fn finish(reason: &str) -> Value {
    json!({"candidates": [{"finishReason": reason, "finishMessage": "why"}],
        "usageMetadata": {"promptTokenCount": 13, "candidatesTokenCount": 8,
            "thoughtsTokenCount": 4, "cachedContentTokenCount": 2}})
}

fn counted() -> Usage {
    Usage {
        input: Some(13),
        cache_read: Some(2),
        cache_write: None,
        output: Some(12),
        reasoning: Some(4),
    }
}

fn answer(events: &[Value]) -> Answer {
    play(Dialect::Gemini, events)
}

fn signed(signature: &str) -> Carried {
    carried(None, json!({"thoughtSignature": signature}))
}

#[test]
fn words_end_with_the_body_and_the_last_count_wins() {
    let answer =
        answer(&[parts(json!([{"text": "Gr"}])), parts(json!([{"text": "üße"}])), finish("STOP")]);

    assert_eq!(
        answer.events,
        [
            ModelEvent::Text("Gr".into()),
            ModelEvent::Text("üße".into()),
            ModelEvent::Usage(counted()),
            ModelEvent::PartEnd(None),
            ModelEvent::Usage(counted()),
            ModelEvent::Stop(StopReason::EndTurn),
        ]
    );
}

#[test]
fn thoughts_stay_out_of_the_answer() {
    let answer =
        answer(&[parts(json!([{"text": "Hm", "thought": true}, {"text": "Hi"}])), finish("STOP")]);

    assert_eq!(
        answer.events[..3],
        [
            ModelEvent::Reasoning("Hm".into()),
            ModelEvent::PartEnd(Some(unsigned())),
            ModelEvent::Text("Hi".into()),
        ]
    );
}

#[test]
fn calls_come_whole_and_keep_identifier_and_signature() {
    let answer = answer(&[
        parts(json!([
            {"functionCall": {"name": "look", "id": "c1", "args": {"a": 1}}, "thoughtSignature": "s"},
            {"functionCall": {"name": "find"}},
        ])),
        parts(json!([{"text": ""}])),
        finish("STOP"),
    ]);

    let calls: Vec<_> = answer
        .calls()
        .into_iter()
        .map(|call| (call.name, call.input, call.id, call.data))
        .collect();
    assert_eq!(
        calls,
        [
            (
                "look".into(),
                Ok(json!({"a": 1})),
                Some("c1".into()),
                Some(json!({"thoughtSignature": "s"}))
            ),
            ("find".into(), Ok(json!({})), None, None),
        ]
    );
    assert_eq!(answer.stop(), Some(StopReason::ToolUse));
}

#[test]
fn a_signature_stays_on_the_text_it_came_with() {
    let on_words =
        answer(&[parts(json!([{"text": "Hi", "thoughtSignature": "s"}])), finish("STOP")]);
    assert_eq!(
        on_words.events[..2],
        [ModelEvent::Text("Hi".into()), ModelEvent::PartEnd(Some(signed("s")))]
    );

    let on_nothing = answer(&[
        parts(json!([{"text": "Hi"}])),
        parts(json!([{"text": "", "thoughtSignature": "s"}])),
        finish("STOP"),
    ]);
    assert_eq!(
        on_nothing.events[..3],
        [
            ModelEvent::Text("Hi".into()),
            ModelEvent::PartEnd(None),
            ModelEvent::PartEnd(Some(signed("s"))),
        ]
    );
}

#[test]
fn every_reason_to_stop_is_known() {
    let reasons = [
        ("STOP", StopReason::EndTurn),
        ("MAX_TOKENS", StopReason::MaxTokens),
        ("SAFETY", StopReason::Refusal),
        ("PROHIBITED_CONTENT", StopReason::Refusal),
        ("LANGUAGE", StopReason::Other),
    ];
    for (word, reason) in reasons {
        let answer = answer(&[parts(json!([{"text": "Hi"}])), finish(word)]);
        assert_eq!(answer.stop(), Some(reason));
    }
}

#[test]
fn a_blocked_prompt_is_a_refusal() {
    let blocked = json!({"promptFeedback": {"blockReason": "SAFETY"},
        "usageMetadata": {"promptTokenCount": 15}});
    let answer = answer(&[blocked]);

    assert_eq!((answer.stop(), answer.usage().input), (Some(StopReason::Refusal), Some(15)));
}

#[test]
fn a_malformed_call_may_be_asked_for_again() {
    let answer = answer(&[finish("MALFORMED_FUNCTION_CALL")]);

    assert_eq!(answer.usage(), counted());
    let error = answer.error.unwrap();
    assert_eq!(error.fault, Fault::Transient);
    assert_eq!(error.message, "MALFORMED_FUNCTION_CALL: why");
}

#[test]
fn an_error_in_the_stream_has_its_class_by_its_status() {
    let error = json!({"error": {"code": 503, "message": "m", "status": "UNAVAILABLE"}});
    for event in [error.clone(), json!([error])] {
        let answer = answer(&[parts(json!([{"text": "Hi"}])), event]);
        assert_eq!(answer.error.unwrap().fault, Fault::Overloaded);
    }
}

#[test]
fn a_body_without_a_finish_is_truncated() {
    let answer = answer(&[parts(json!([{"text": "Hi"}]))]);

    assert_eq!(answer.error.unwrap().fault, Fault::Truncated);
}
