//! Script files, read and played.

use futures_util::StreamExt;
use serde_json::json;
use tokio::time::Instant;

use super::{
    super::{
        Demo,
        rehearsal::{ask, played, user},
    },
    *,
};

async fn play(script: &str) -> Vec<Result<ModelEvent, ProviderError>> {
    let demo = Demo::scripted(Script::parse(script).expect("a script"), Pace::AtOnce);
    played(&demo, &ask("", &[user("Go")], &[])).await
}

fn text(text: &str) -> Result<ModelEvent, ProviderError> {
    Ok(ModelEvent::Text(text.into()))
}

fn used(input: u64, output: u64) -> Result<ModelEvent, ProviderError> {
    let usage = Usage { input: Some(input), output: Some(output), ..Usage::default() };
    Ok(ModelEvent::Usage(usage))
}

#[tokio::test]
async fn every_step_is_played_in_order() {
    let events = play(
        r#"{"answers": [[
            {"reasoning": "Hm."}, {"text": "One two"}, {"repeat": {"times": 2, "text": "x ", "every_ms": 0}},
            {"call": {"name": "get_persona", "input": {"a": 1}}},
            {"broken_call": {"name": "get_persona", "raw": "{\"a\":"}},
            {"usage": {"input": 1, "output": 2}}, {"stop": "max_tokens"}, {"text": "never said"}
        ]]}"#,
    )
    .await;

    let call = |input, number| {
        Ok(ModelEvent::ToolCall { name: "get_persona".into(), input, carried: carried(number) })
    };
    assert_eq!(
        events,
        [
            Ok(ModelEvent::Reasoning("Hm.".into())),
            Ok(ModelEvent::PartEnd(None)),
            text("One "),
            text("two"),
            text("x "),
            text("x "),
            Ok(ModelEvent::PartEnd(None)),
            call(Ok(json!({ "a": 1 })), 1),
            call(Err("{\"a\":".into()), 2),
            used(1, 2),
            Ok(ModelEvent::Stop(StopReason::MaxTokens)),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_service_that_was_not_ready_is_asked_again_after_its_wait() {
    let begun = Instant::now();
    let retrying = json!({"attempt": 2, "wait_ms": 700, "reason": "Busy."});
    let usage = json!({"input": 9, "output": 5, "cache_read": 4, "cache_write": 1, "reasoning": 2});
    let steps = json!([{"retrying": retrying}, {"text": "Hi"}, {"usage": usage}]);

    let events = play(&json!({"answers": [steps]}).to_string()).await;

    let (attempt, wait_ms, reason) = (2, 700, "Busy.".into());
    let [input, output, cache_read, cache_write, reasoning] = [9, 5, 4, 1, 2].map(Some);
    let usage = Usage { input, cache_read, cache_write, output, reasoning };
    assert_eq!(
        events,
        [
            Ok(ModelEvent::Retrying { attempt, wait_ms, reason }),
            text("Hi"),
            Ok(ModelEvent::Usage(usage)),
            Ok(ModelEvent::PartEnd(None)),
            Ok(ModelEvent::Stop(StopReason::EndTurn)),
        ]
    );
    assert_eq!(begun.elapsed(), Duration::from_millis(700));
}

#[tokio::test]
async fn an_answer_without_a_stop_ends_as_a_model_would() {
    let said = play(r#"{"answers": [[{"text": "Hi"}]]}"#).await;
    let end = Ok(ModelEvent::Stop(StopReason::EndTurn));
    assert_eq!(said, [text("Hi"), Ok(ModelEvent::PartEnd(None)), used(1, 1), end]);

    let called = play(r#"{"answers": [[{"call": {"name": "a", "input": {}}}]]}"#).await;
    assert_eq!(called.last(), Some(&Ok(ModelEvent::Stop(StopReason::ToolUse))));
}

#[tokio::test]
async fn an_error_is_the_last_thing_that_comes() {
    let words = [
        ("overloaded", Fault::Overloaded),
        ("rate_limited", Fault::RateLimited),
        ("unreached", Fault::Unreached),
        ("no_key", Fault::NoKey),
        ("auth", Fault::Auth),
        ("quota", Fault::Quota),
        ("bad_request", Fault::BadRequest),
        ("context_exceeded", Fault::ContextExceeded),
        ("transient", Fault::Transient),
        ("truncated", Fault::Truncated),
        ("garbled", Fault::Garbled),
    ];
    for (word, fault) in words {
        let step = json!({ "error": { "fault": word, "message": "Oh." } });
        let script = json!({ "answers": [[{ "text": "Hi" }, step, { "text": "no" }]] });

        let events = play(&script.to_string()).await;

        assert_eq!(events, [text("Hi"), Err(ProviderError::new(fault, "Oh."))]);
    }
}

#[tokio::test(start_paused = true)]
async fn waiting_takes_its_time_even_at_once() {
    let begun = Instant::now();

    play(
        r#"{"answers": [[{"wait_ms": 500}, {"repeat": {"times": 3, "text": "x", "every_ms": 100}}]]}"#,
    )
    .await;

    assert_eq!(begun.elapsed(), Duration::from_millis(800));
}

#[tokio::test(start_paused = true)]
async fn a_stall_never_goes_on() {
    let script = Script::parse(r#"{"answers": [[{"text": "Hi"}, "stall", {"text": "no"}]]}"#);
    let demo = Demo::scripted(script.expect("a script"), Pace::AtOnce);
    let mut stream = Box::pin(demo.play(&ask("", &[user("Go")], &[])));

    assert_eq!(stream.next().await, Some(text("Hi")));
    let hour = tokio::time::timeout(Duration::from_secs(3600), stream.next()).await;
    assert!(hour.is_err());
}

#[tokio::test]
async fn clones_share_the_place_and_after_the_last_answer_comes_the_ordinary_demo() {
    let script = Script::parse(r#"{"answers": [[{"text": "one"}], [{"text": "two"}]]}"#);
    let demo = Demo::scripted(script.expect("a script"), Pace::AtOnce);
    let turns = [user("What is 2+2?")];
    let question = ask("You are a guide.", &turns, &[]);

    assert_eq!(played(&demo, &question).await[0], text("one"));
    assert_eq!(played(&demo.clone(), &question).await[0], text("two"));
    assert_eq!(played(&demo, &question).await[0], text("2+2 "));
}

#[tokio::test]
async fn a_loop_begins_again_and_an_empty_one_does_not_turn() {
    let script = Script::parse(r#"{"loop": true, "answers": [[{"text": "a"}], [{"text": "b"}]]}"#);
    let demo = Demo::scripted(script.expect("a script"), Pace::AtOnce);
    let turns = [user("What is 2+2?")];
    let question = ask("", &turns, &[]);

    for expected in ["a", "b", "a", "b"] {
        assert_eq!(played(&demo, &question).await[0], text(expected));
    }
    let empty = Script::parse(r#"{"loop": true, "answers": []}"#).expect("a script");
    let events = played(&Demo::scripted(empty, Pace::AtOnce), &question).await;
    assert_eq!(events[0], text("2+2 "));
}

#[test]
fn what_is_no_script_is_told() {
    for (wrong, reason) in [
        ("", "EOF while parsing"),
        ("3", "invalid type: integer"),
        (r#"{"answers": [[{"sing": "la"}]]}"#, "unknown variant `sing`"),
        (r#"{"answers": [[{"stop": "bored"}]]}"#, "unknown variant `bored`"),
        (r#"{"answers": [], "lop": true}"#, "unknown field `lop`"),
        (r#"{"answers": [[{"call": {"name": "a", "input": []}}]]}"#, "expected a map"),
        (r#"{"answers": [[{"error": {"fault": "odd", "message": ""}}]]}"#, "unknown variant `odd`"),
    ] {
        let told = Script::parse(wrong).expect_err(wrong);

        assert!(told.starts_with("This is not a script for the demo: "), "{told}");
        assert!(told.contains(reason), "{told}");
    }
}
