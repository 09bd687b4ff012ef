//! Services that fall silent, and people who do not wait for them.

use std::time::Duration;

use axum::http::Method;
use greenroom::providers::{Dialect, TimeLimits};
use serde_json::{Value, json};

use super::{
    Stage, line, patient,
    wire::{self, ALL, Ending},
};
use crate::{
    fake_service::{Reply, Then},
    support::request,
};

const CLAUDE: &str = "claude-sonnet-5-5";

/// Long enough for a machine that is busy, short enough to wait for.
const SOON: Duration = Duration::from_millis(400);

/// A good answer, in Anthropic's words.
fn good() -> Reply {
    Reply::stream(wire::answer(Dialect::Anthropic, "Hi."))
}

#[tokio::test]
async fn a_service_that_says_nothing_at_all_is_asked_again() {
    let stage = Stage::with(CLAUDE, TimeLimits { first_byte: SOON, ..patient() }).await;
    stage.fake.play([Reply::none(Then::Stall), good()]);

    let told = stage.say("Hello").await;

    assert_eq!((told.text().as_str(), told.error()), ("Hi.", ""));
    assert_eq!((stage.retries(&told.run).await.len(), stage.fake.asked().len()), (1, 2));
    stage.fake.gone(1).await;
}

#[tokio::test]
async fn a_service_that_never_says_anything_could_not_be_reached() {
    let stage = Stage::with(CLAUDE, TimeLimits { first_byte: SOON / 8, ..patient() }).await;
    stage.fake.play([(); 3].map(|()| Reply::none(Then::Stall)));

    let told = stage.say("Hello").await;

    assert_eq!(told.error(), "Anthropic could not be reached. Try again.");
    assert_eq!(stage.fake.asked().len(), 3);
    stage.fake.gone(3).await;
}

#[tokio::test]
async fn a_stream_that_falls_silent_is_asked_again_while_nothing_was_shown() {
    for (dialect, _, model) in ALL {
        let stage = Stage::with(model, TimeLimits { idle: SOON, ..patient() }).await;
        stage.fake.play([
            Reply::stream(wire::opening(dialect)).then(Then::Stall),
            Reply::stream(wire::answer(dialect, "Hi.")),
        ]);

        let told = stage.say("Hello").await;

        assert_eq!((told.text().as_str(), told.error()), ("Hi.", ""), "{dialect:?}");
        assert_eq!(stage.retries(&told.run).await.len(), 1, "{dialect:?}");
        assert_eq!(stage.fake.asked().len(), 2, "{dialect:?}");
        stage.fake.gone(1).await;
    }
}

#[tokio::test]
async fn a_stream_that_falls_silent_after_words_broke_off_and_they_are_kept() {
    for (dialect, service, model) in ALL {
        let stage = Stage::with(model, TimeLimits { idle: SOON, ..patient() }).await;
        stage.fake.play([Reply::stream(wire::begun(dialect, "Half an")).then(Then::Stall)]);

        let told = stage.say("Hello").await;

        let sentence = format!("The answer of {service} broke off. What came is kept; try again.");
        assert_eq!((told.text().as_str(), told.error()), ("Half an", sentence.as_str()));
        assert_eq!(stage.fake.asked().len(), 1, "{dialect:?}");
        assert_eq!(stage.history().await[1..], [line("assistant_text", "Half an")]);
        stage.fake.gone(1).await;
    }
}

/// OpenRouter sends comments while a model thinks. They are no events, and only events were waited for:
/// an answer that was long in coming was given up although the service showed that it lived.
#[tokio::test]
async fn comments_show_that_a_service_lives() {
    let stage = Stage::with(CLAUDE, TimeLimits { idle: SOON * 2, ..patient() }).await;
    let mut pieces = vec![": OPENROUTER PROCESSING\n\n".to_owned(); 12];
    pieces.push(wire::answer(Dialect::Anthropic, "Hi.").concat());
    stage.fake.play([Reply::stream(pieces).every(SOON / 4)]);

    let told = stage.say("Hello").await;

    assert_eq!((told.text().as_str(), told.error()), ("Hi.", ""));
    assert_eq!(stage.fake.asked().len(), 1);
}

#[tokio::test]
async fn stop_ends_the_answer_over_there_and_keeps_the_words() {
    for (dialect, _, model) in ALL {
        let stage = Stage::new(model).await;
        stage.fake.play([Reply::stream(wire::begun(dialect, "Half an")).then(Then::Stall)]);
        let mut chat = stage.open("Hello").await;
        chat.until("text_delta").await;

        let stopped = stage.stop(&chat.run()).await;

        assert_eq!(stopped["status"], "stopped", "{dialect:?}");
        stage.fake.gone(1).await;
        chat.until("done").await;
        let said = [line("user", "Hello"), line("assistant_text", "Half an")];
        assert_eq!(stage.history().await, said, "{dialect:?}");
        assert_eq!(stage.fake.asked().len(), 1, "{dialect:?}");
        // Stopping what has ended changes nothing.
        assert_eq!(stage.stop(&chat.run()).await, stopped, "{dialect:?}");
    }
}

#[tokio::test]
async fn stop_need_not_wait_for_the_first_word_or_the_next_attempt() {
    let wait = Reply::status(429, "Later.").with("retry-after", 50);
    for (silent, sign) in [(Reply::none(Then::Stall), "step_started"), (wait, "retrying")] {
        let stage = Stage::new(CLAUDE).await;
        stage.fake.play([silent.clone()]);
        let chat = stage.open("Hello").await;
        let events = request(Method::GET, &format!("/api/runs/{}/events", chat.run()), None);
        stage.house.stream(events).await.until(sign).await;
        stage.fake.met(1).await;

        let stopped = stage.stop(&chat.run()).await;

        assert_eq!((&stopped["status"], &stopped["error"]), (&json!("stopped"), &Value::Null));
        assert_eq!(stage.fake.asked().len(), 1, "{silent:?}");
        assert_eq!(stage.history().await, [line("user", "Hello")], "{silent:?}");
    }
}

/// What a stopped answer had read was paid for, and was not counted.
#[tokio::test]
async fn a_stopped_run_tells_what_was_spent_until_then() {
    let stage = Stage::new(CLAUDE).await;
    stage.fake.play([Reply::stream(wire::begun(Dialect::Anthropic, "Half an")).then(Then::Stall)]);
    let mut chat = stage.open("Hello").await;
    chat.until("text_delta").await;

    let stopped = stage.stop(&chat.run()).await;

    assert_eq!(stopped["spent"]["usage"], json!({"input": 100, "output": 1}));
    assert_eq!(stopped["spent"]["costMicros"], 100 * 2 + 10);
}

#[tokio::test]
async fn whoever_stops_watching_does_not_stop_the_run() {
    let stage = Stage::new(CLAUDE).await;
    let anthropic = Dialect::Anthropic;
    let pieces = [
        wire::begun(anthropic, "Half an"),
        wire::words(anthropic, &[" answer."]),
        wire::ending(anthropic, Ending::Said, &wire::usage(anthropic)),
    ];
    stage.fake.play([Reply::stream(pieces.concat()).every(Duration::from_millis(5))]);
    let mut chat = stage.open("Hello").await;
    chat.until("text_delta").await;
    let run = chat.run();

    drop(chat);

    let last = stage.events(&run).await.pop().unwrap();
    assert_eq!((&last["type"], &last["status"]), (&json!("ended"), &json!("done")));
    let said: String = stage.history().await.into_iter().skip(1).map(|(_, said)| said).collect();
    assert_eq!(said, "Half an answer.");
}
