//! Models of real services, played by a fake on a real socket: what they are sent from a terminal.

use std::process::Command;

use greenroom::providers::Dialect;
use serde_json::{Value, json};

use super::program::{Ran, Room, Server, finished};
use crate::{
    fake_service::{FakeService, Reply},
    services::wire::{self, Ending},
};

/// The models that a terminal is asked for by one string each, and what their services speak.
const MODELS: [(&str, Dialect); 5] = [
    ("gpt-5.1", Dialect::OpenaiResponses),
    ("gpt-5.1-mini", Dialect::OpenaiResponses),
    ("gemini-2.5-pro", Dialect::Gemini),
    ("gemini-2.5-flash", Dialect::Gemini),
    ("claude-sonnet-5-5", Dialect::Anthropic),
];

/// Chats beside the fake, which plays in this very program.
async fn asking(room: &Room, fake: &FakeService, words: &[&str]) -> Ran {
    let command = beside(room, fake, &[&["chat"], words].concat());
    tokio::task::spawn_blocking(move || finished(command)).await.unwrap()
}

/// A command that asks the fake instead of all services.
fn beside(room: &Room, fake: &FakeService, words: &[&str]) -> Command {
    let base = format!("http://{}", fake.address);
    let mut command = room.command(words);
    command
        .env("ANTHROPIC_BASE_URL", &base)
        .env("OPENAI_BASE_URL", format!("{base}/v1"))
        .env("GEMINI_BASE_URL", &base)
        .env("OLLAMA_HOST", fake.address.to_string())
        .env("ANTHROPIC_API_KEY", "k-anthropic-0123456789")
        .env("OPENAI_API_KEY", "k-openai-0123456789")
        .env("GEMINI_API_KEY", "k-gemini-0123456789")
        .env("NO_PROXY", "127.0.0.1");
    command
}

#[tokio::test(flavor = "multi_thread")]
async fn each_model_string_reaches_its_service_with_the_prompt_of_the_session() {
    let (room, fake) = (Room::new(), FakeService::start().await);
    let mut session = String::new();
    for (model, dialect) in MODELS {
        fake.play([Reply::stream(wire::answer(dialect, "From afar."))]);
        let words =
            ["--single", "--new-session", "--model", model, "--system-prompt", "Be a guide.", "Hi"];

        let ran = asking(&room, &fake, &words).await;

        assert_eq!((ran.code, ran.out.as_str()), (Some(0), "From afar.\n"), "{model}: {ran:?}");
        let asked = fake.asked().pop().unwrap();
        let body = asked.body.to_string();
        assert!(body.contains("Be a guide.") && body.contains("Hi"), "{model}: {body}");
        assert!(asked.path.contains(model) || body.contains(model), "{model}: {}", asked.path);
        session = ran.session();
    }
    fake.play([Reply::stream(wire::answer(Dialect::OpenaiChat, "Locally."))]);
    let ran = asking(
        &room,
        &fake,
        &["--single", "--session", &session, "--model", "ollama/qwen3", "And?"],
    )
    .await;
    assert_eq!(ran.out, "Locally.\n", "{ran:?}");
    let body = fake.asked().pop().unwrap().body;
    let said: Vec<&Value> = body["messages"].as_array().unwrap().iter().collect();
    assert_eq!(said.len(), 4, "the prompt, what was said before, and the question: {body}");
    assert_eq!(body["model"], "qwen3");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_refuses_ends_it_with_a_sentence_and_without_the_key() {
    let (room, fake) = (Room::new(), FakeService::start().await);
    let refusal = r#"{"error": {"message": "bad key {key}"}}"#;
    fake.play([Reply::status(401, refusal)]);

    let ran =
        asking(&room, &fake, &["--single", "--verbose", "--model", "claude-sonnet-5-5", "Hi"])
            .await;

    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{ran:?}");
    assert!(ran.err.contains("Anthropic"), "{ran:?}");
    for text in [&ran.err, &room.log()] {
        assert!(!text.contains("0123456789"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_is_what_the_service_is_sent() {
    let (room, fake) = (Room::new(), FakeService::start().await);
    for words in ["One", "Two", "Three"] {
        fake.play([Reply::stream(wire::answer(Dialect::OpenaiChat, "Yes."))]);
        let ran = asking(
            &room,
            &fake,
            &["--single", "--model", "ollama/qwen3", "--window-size", "2", words],
        )
        .await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }

    let body = fake.asked().pop().unwrap().body;

    let said: Vec<&str> = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|message| message["content"].as_str())
        .collect();
    assert_eq!(said, ["Two", "Yes.", "Three"], "{body}");
}

/// What a service was sent as messages, role by role, the beginnings only.
fn sent(body: &Value) -> Vec<String> {
    let messages = body["messages"].as_array().unwrap().iter();
    messages
        .map(|one| one["content"].as_str().unwrap_or_default().chars().take(3).collect())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_model_cannot_read_is_left_out_and_told() {
    let (room, fake) = (Room::new(), FakeService::start().await);
    let mut told = Vec::new();
    for letter in ["a", "b", "c", "d"] {
        fake.play([Reply::stream(wire::answer(Dialect::OpenaiChat, "Yes."))]);
        // About ten thousand tokens each, where the model reads 32 000.
        let words = letter.repeat(40_000);
        let ran =
            asking(&room, &fake, &["--single", "--verbose", "--model", "ollama/qwen3", &words])
                .await;
        assert_eq!(ran.code, Some(0), "{:?}", ran.err.chars().take(2000).collect::<String>());
        let line = ran.err.lines().find_map(|line| line.split_once("not sent: "));
        told.push(line.map(|(_, told)| told.to_owned()).unwrap_or_default());
    }

    assert_eq!(
        told,
        ["", "", "1 exchange left out (2 messages)", "2 exchanges left out (4 messages)"]
    );
    let body = fake.asked().pop().unwrap().body;
    assert_eq!(sent(&body), ["ccc", "Yes", "ddd"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_model_cannot_read_is_summed_up() {
    let (room, fake) = (Room::new(), FakeService::start().await);
    let words = ["--single", "--verbose", "--model", "ollama/qwen3"];
    let words = [&words[..], &["--conversation-manager", "summarizing"]].concat();
    let answer = |said: &str| Reply::stream(wire::answer(Dialect::OpenaiChat, said));
    let mut ran = None;
    for letter in ["a", "b", "c"] {
        // The third one is asked for the summary first.
        let notes = (letter == "c").then(|| answer("They say a lot."));
        fake.play(notes.into_iter().chain([answer("Yes.")]));
        let said = letter.repeat(40_000);
        ran = Some(asking(&room, &fake, &[&words[..], &[&said]].concat()).await);
    }

    let ran = ran.unwrap();
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "Yes.\n"));
    assert!(ran.err.contains("left out (4 messages), told as a summary"), "{}", ran.err);
    let asked = fake.asked();
    let notes = asked[asked.len() - 2].body.to_string();
    assert!(notes.contains("aaa") && notes.contains("bbb") && !notes.contains("ccc"));
    let last = asked.last().unwrap().body.to_string();
    assert!(last.contains("They say a lot.") && last.contains("ccc") && !last.contains("bbb"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_turn_that_had_a_summary_made_tells_what_that_took_and_the_day_pays_for_it_once() {
    let (room, fake) = (Room::new(), FakeService::start().await);
    let words = ["--single", "--model", "gpt-5.1", "--window-size", "2"];
    let words = [&words[..], &["--conversation-manager", "summarizing"]].concat();
    let answer = || Reply::stream(wire::answer(Dialect::OpenaiResponses, "Yes."));
    let mut session = String::new();
    for said in ["One", "Two", "Three"] {
        // The third one has the first exchange summed up before it is answered.
        fake.play(std::iter::repeat_with(answer).take(if said == "Three" { 2 } else { 1 }));
        let ran = asking(&room, &fake, &[&words[..], &[said]].concat()).await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
        session = ran.session();
    }
    let local = room.open().await;

    let record = local.agent().terminal_record(local.scope(), &session.as_str().into()).await;
    let store = local.agent().store();
    let days = store.read(&local.scope().space).await.unwrap().usage_since(0).await.unwrap();

    let turns = record.unwrap().metadata.turns;
    let told = |turn: &greenroom::domain::terminal::TurnRecord| {
        (turn.tokens.prompt.unwrap(), turn.tokens.completion.unwrap(), turn.cost_usd.unwrap())
    };
    let (one, two, three) = (told(&turns[0]), told(&turns[1]), told(&turns[2]));
    assert!(one.2 > 0.0, "it has a price: {one:?}");
    assert_eq!(one, two);
    // Each asking took the same there.
    assert_eq!((three.0, three.1), (2 * one.0, 2 * one.1));
    assert!((three.2 - 2.0 * one.2).abs() < 1e-9, "{three:?} beside {one:?}");
    let read: u64 = days.iter().map(|day| day.sum.input_tokens).sum();
    assert_eq!(read, 4 * one.0, "nothing is counted twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn long_results_of_earlier_exchanges_are_cut_where_that_is_wanted() {
    let dialect = Dialect::OpenaiChat;
    let file = json!({"path": "a.txt", "content": "some words\n".repeat(500)});
    let called = |name: &str, input: &Value| {
        let ending = wire::ending(dialect, Ending::Calls, &wire::usage(dialect));
        Reply::stream([wire::opening(dialect), wire::call(dialect, name, input), ending].concat())
    };
    for (wish, told) in [("true", "1 long tool result cut"), ("false", "")] {
        let (room, fake) = (Room::new(), FakeService::start().await);
        room.write("data/chat/tools.yaml", "- write_file\n- read_file\n");
        let words = ["--single", "--verbose", "--model", "ollama/qwen3"];
        let words = [&words[..], &["--should-truncate-results", wish]].concat();
        fake.play([
            called("write_file", &file),
            called("read_file", &json!({"path": "a.txt"})),
            Reply::stream(wire::answer(dialect, "Read.")),
            Reply::stream(wire::answer(dialect, "Again.")),
        ]);

        let first = asking(&room, &fake, &[&words[..], &["Read it."]].concat()).await;
        let second = asking(&room, &fake, &[&words[..], &["And?"]].concat()).await;

        assert_eq!(
            (first.out.as_str(), second.out.as_str()),
            ("Read.\n", "Again.\n"),
            "{second:?}"
        );
        assert!(!first.err.contains("long tool result"), "not while it is read: {first:?}");
        assert_eq!(second.err.contains("long tool result cut"), !told.is_empty(), "{second:?}");
        assert!(second.err.contains(told), "{second:?}");
        let body = fake.asked().pop().unwrap().body;
        let results = body["messages"].as_array().unwrap().iter();
        let longest = results
            .filter(|one| one["role"] == "tool")
            .map(|one| one["content"].as_str().unwrap_or_default().len())
            .max();
        let is_cut = longest.is_some_and(|length| length < 2500);
        assert_eq!(is_cut, wish == "true", "{longest:?} {body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_no_room_any_more_while_tools_are_used_is_told_too() {
    let dialect = Dialect::OpenaiChat;
    let called = |name: &str, input: &Value| {
        let ending = wire::ending(dialect, Ending::Calls, &wire::usage(dialect));
        Reply::stream([wire::opening(dialect), wire::call(dialect, name, input), ending].concat())
    };
    let (room, fake) = (Room::new(), FakeService::start().await);
    room.write("data/chat/tools.yaml", "- write_file\n- read_file\n");
    let words = ["--single", "--new-session", "--verbose", "--model", "ollama/qwen3", "Read it."];
    // About eight thousand tokens each time it is written or read, where the model reads 32 000.
    let file = json!({"path": "a.txt", "content": format!("{}\n", "a".repeat(1000)).repeat(32)});
    let read = called("read_file", &json!({"path": "a.txt"}));
    let answers = [
        called("write_file", &file),
        read.clone(),
        read.clone(),
        read,
        Reply::stream(wire::answer(dialect, "Read.")),
    ];

    fake.play(answers.clone());
    let alone = asking(&room, &fake, &words).await;
    let _server = Server::start(beside(&room, &fake, &["serve", "--addr", "127.0.0.1:0"]));
    fake.play(answers);
    let served = asking(&room, &fake, &words).await;

    for ran in [alone, served] {
        assert_eq!((ran.code, ran.out.as_str()), (Some(0), "Read.\n"), "{}", ran.err.len());
        let lines = ran.err.lines();
        let told: Vec<&str> =
            lines.filter_map(|line| line.split_once("not sent: ").map(|(_, told)| told)).collect();
        assert_eq!(told, ["1 long tool result cut"]);
    }
}
