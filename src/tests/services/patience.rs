//! Services that fall silent, and people who do not wait for them.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use axum::http::Method;
use greenroom::providers::{Dialect, TimeLimits};
use serde_json::{Value, json};
use tokio::{
    net::{TcpListener, TcpSocket, TcpStream},
    time::timeout,
};

use super::{
    KEYS, Stage, key_in, line, patient,
    wire::{self, ALL, Ending},
};
use crate::{
    fake_service::{FakeService, Reply, Then},
    support::request,
};

const CLAUDE: &str = "claude-sonnet-5-5";

/// Long enough for a machine that is busy, short enough to wait for.
const SOON: Duration = Duration::from_millis(400);

/// A service that can be found and never takes a connection: its queue is full for as long as this is held.
struct Closed {
    _listener: TcpListener,
    _waiting: Vec<TcpStream>,
}

impl Closed {
    async fn start() -> (Self, SocketAddr) {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = socket.listen(1).unwrap();
        let address = listener.local_addr().unwrap();
        let mut waiting = Vec::new();
        while let Ok(connected) = timeout(SOON, TcpStream::connect(address)).await {
            waiting.push(connected.unwrap());
            assert!(waiting.len() < 100, "the queue has no end");
        }
        (Self { _listener: listener, _waiting: waiting }, address)
    }
}

/// Everything else may take minutes here: what ends the waiting is that no connection comes about.
#[tokio::test]
async fn a_service_that_takes_no_connection_is_tried_three_times_and_not_waited_for() {
    for (dialect, service, model) in ALL {
        let (_closed, address) = Closed::start().await;
        let limits = TimeLimits { connect: SOON / 2, ..patient() };
        let base = format!("http://{address}");
        let mut environment = vec![
            ("ANTHROPIC_BASE_URL", base.clone()),
            ("OPENAI_BASE_URL", format!("{base}/v1")),
            ("GEMINI_BASE_URL", base),
        ];
        environment.extend(KEYS.map(|variable| (variable, key_in(variable))));
        let fake = FakeService::start().await;
        let stage = Stage::around(fake, model, limits, &environment).await;
        let began = Instant::now();

        let told = timeout(limits.first_byte / 5, stage.say("Hello")).await;

        let told = told.expect("the limit for connections ends the waiting");
        assert_eq!(told.error(), format!("{service} could not be reached. Try again."));
        assert!(began.elapsed() >= limits.connect * 3, "{dialect:?}: it was waited for");
        let retries = stage.retries(&told.run).await;
        assert_eq!(retries.len(), 2, "{dialect:?}");
        let reason = retries[0]["reason"].as_str().unwrap();
        assert!(reason.contains("(Connect)") && !reason.contains("http://"), "{reason}");
    }
}

/// Headers are no word of an answer: a service that sent them and then nothing was waited for by another
/// clock, and was said to have broken off.
#[tokio::test]
async fn a_service_that_says_nothing_at_all_is_asked_again() {
    for (dialect, _, model) in ALL {
        for silent in [Reply::none(Then::Stall), Reply::stream(Vec::new()).then(Then::Stall)] {
            let stage = Stage::with(model, TimeLimits { first_byte: SOON, ..patient() }).await;
            let case = format!("{dialect:?} {silent:?}");
            stage.fake.play([silent, Reply::stream(wire::answer(dialect, "Hi."))]);

            let told = stage.say("Hello").await;

            assert_eq!((told.text().as_str(), told.error()), ("Hi.", ""), "{case}");
            let retries = stage.retries(&told.run).await;
            assert_eq!(retries.len(), 1, "{case}");
            assert_eq!(retries[0]["reason"], "no answer began within 0 s", "{case}");
            assert_eq!(stage.fake.asked().len(), 2, "{case}");
            stage.fake.gone(1).await;
        }
    }
}

#[tokio::test]
async fn a_service_that_never_says_anything_could_not_be_reached() {
    for (dialect, service, model) in ALL {
        for silent in [Reply::none(Then::Stall), Reply::stream(Vec::new()).then(Then::Stall)] {
            let limits = TimeLimits { first_byte: SOON / 8, ..patient() };
            let stage = Stage::with(model, limits).await;
            let case = format!("{dialect:?} {silent:?}");
            stage.fake.play([silent.clone(), silent.clone(), silent]);

            let told = stage.say("Hello").await;

            assert_eq!(
                told.error(),
                format!("{service} could not be reached. Try again."),
                "{case}"
            );
            assert_eq!(stage.fake.asked().len(), 3, "{case}");
            stage.fake.gone(3).await;
        }
    }
}

/// The limit for the first word is not the one for the next: a model that has begun may think for longer than
/// it may take to begin, and the other way round.
#[tokio::test]
async fn a_service_that_takes_its_time_before_the_first_word_is_not_idle() {
    for (dialect, _, model) in ALL {
        let limits = TimeLimits { idle: SOON / 4, ..patient() };
        let stage = Stage::with(model, limits).await;
        let whole = wire::answer(dialect, "Hi.").concat();
        stage.fake.play([Reply::stream(vec![whole]).every(SOON)]);

        let told = stage.say("Hello").await;

        assert_eq!((told.text().as_str(), told.error()), ("Hi.", ""), "{dialect:?}");
        assert_eq!(stage.fake.asked().len(), 1, "{dialect:?}");
    }
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

#[tokio::test]
async fn words_that_stop_coming_are_waited_for_less_than_thoughts() {
    let limits = TimeLimits { writing: SOON / 4, ..patient() };
    for (dialect, _, model) in ALL {
        let stage = Stage::with(model, limits).await;
        stage.fake.play([Reply::stream(wire::begun(dialect, "Half an")).then(Then::Stall)]);

        let told = timeout(limits.idle / 4, stage.say("Hello")).await;

        let told = told.expect("it is waited for as long as for a thought");
        assert!(told.error().contains("broke off"), "{dialect:?}: {}", told.error());
        assert_eq!(told.text(), "Half an", "{dialect:?}");
    }
    let stage = Stage::with(CLAUDE, limits).await;
    let opening = wire::opening(Dialect::Anthropic);
    let rest = wire::answer(Dialect::Anthropic, "Hi.").split_off(opening.len());
    stage.fake.play([Reply::stream(vec![opening.concat(), rest.concat()]).every(SOON)]);

    let told = stage.say("Hello").await;

    assert_eq!((told.text().as_str(), told.error()), ("Hi.", ""));
}

/// A server that said all and forgot to say so was left after two minutes, as if its answer had broken off.
#[tokio::test]
async fn an_answer_that_said_why_it_stopped_is_whole_though_its_stream_stays_open() {
    for (dialect, _, model) in ALL {
        // The others have a mark for the end, which they never leave out.
        if !matches!(dialect, Dialect::OpenaiChat | Dialect::Gemini) {
            continue;
        }
        for then in [Then::Stall, Then::Reset, Then::Leave] {
            let stage = Stage::with(model, TimeLimits { ending: SOON / 8, ..patient() }).await;
            let mut pieces = wire::answer(dialect, "All of it.");
            pieces.retain(|piece| !piece.contains("[DONE]"));
            stage.fake.play([Reply::stream(pieces).then(then)]);

            let told = timeout(patient().idle / 2, stage.say("Hello")).await;

            let told = told.expect("it is not waited for");
            let case = format!("{dialect:?} {then:?}");
            assert_eq!((told.text().as_str(), told.error()), ("All of it.", ""), "{case}");
            let run = stage.run(&told.run).await;
            assert_eq!(run["spent"]["usage"], json!({"input": 10, "output": 2}), "{case}");
            assert_eq!(stage.fake.asked().len(), 1, "{case}");
        }
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

/// What a stopped answer had read was paid for, and was not counted; with services that tell it with the end
/// only, nothing was.
#[tokio::test]
async fn a_stopped_run_tells_what_was_spent_until_then() {
    for (dialect, _, model) in ALL {
        let stage = Stage::new(model).await;
        stage.fake.play([Reply::stream(wire::begun(dialect, "Half an")).then(Then::Stall)]);
        let mut chat = stage.open("Hello").await;
        chat.until("text_delta").await;

        let stopped = stage.stop(&chat.run()).await;

        let usage = &stopped["spent"]["usage"];
        assert_eq!(usage["output"], 2, "{dialect:?}");
        match dialect {
            Dialect::Anthropic => {
                assert_eq!(usage["input"], 100);
                assert_eq!(stopped["spent"]["costMicros"], 100 * 2 + 2 * 10);
            }
            Dialect::OpenaiChat | Dialect::OpenaiResponses | Dialect::Gemini => {
                assert!(usage["input"].as_u64() > Some(100), "{dialect:?}: {usage}");
                assert_ne!(stopped["spent"]["costMicros"], 0, "{dialect:?}");
            }
        }
    }
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
