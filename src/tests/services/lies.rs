//! Services that lie: each lie is an error with a sentence, and the conversation goes on.

use std::{
    fs::File,
    process::{Command, Stdio},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use greenroom::providers::Dialect;
use serde_json::{Value, json};

use super::{
    Stage,
    wire::{self, Ending},
};
use crate::{
    fake_service::{FakeService, Reply, Then},
    hostile::collected,
    restart::{Server, arguments, script},
};

const MEBIBYTE: usize = 1024 * 1024;

/// What a service may say instead of an answer.
fn lies(dialect: Dialect) -> Vec<(&'static str, Reply)> {
    let gzip = {
        use std::io::Write;
        let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        bomb.write_all(&vec![b'x'; 8 * MEBIBYTE]).unwrap();
        // Letters are enough: nobody may open it.
        bomb.finish().unwrap().iter().map(|byte| char::from(byte & 0x7f)).collect::<String>()
    };
    let page = "<!doctype html><title>Sign in</title><h1>Welcome back</h1>";
    vec![
        ("a web page", Reply::stream(vec![page.into()]).with("content-type", "text/html")),
        ("a web page as a stream", Reply::stream(vec![page.into()])),
        ("nothing", Reply::stream(Vec::new())),
        (
            "an error with a good status",
            Reply::stream(vec![json!({"error": {"message": "No."}}).to_string()]),
        ),
        ("numbers", Reply::stream(vec!["data: 42\n\ndata: [1, 2]\n\ndata: \"x\"\n\n".into()])),
        ("another dialect's words", Reply::stream(vec!["data: {\"hello\": \"world\"}\n\n".into()])),
        ("something packed", Reply::stream(vec![gzip]).with("content-encoding", "gzip")),
        (
            "a line without an end",
            Reply::stream(
                [wire::begun(dialect, "Half"), vec!["data: x".repeat(MEBIBYTE / 7); 3]].concat(),
            ),
        ),
    ]
}

#[tokio::test]
async fn a_lie_is_an_error_and_the_conversation_goes_on() {
    let stage = Stage::new("demo").await;
    for (dialect, _, model) in wire::ALL {
        stage.cast(model).await;
        for (name, lie) in lies(dialect) {
            let told = format!("{model}: {name}");
            // One that may be asked again hears it again.
            stage.fake.play([lie.clone(), lie.clone(), lie]);
            let answer = stage.say("Hello").await;
            let error = answer.error();
            assert!(error.ends_with(['.', '”']) && error.len() < 2000, "{told}: {error}");
            assert!(!answer.text().contains("<!doctype"), "{told}");
            // What may be a slip in the settings is not asked again, and told as that.
            assert_eq!(
                error.contains("is a web page"),
                name.starts_with("a web page"),
                "{told}: {error}"
            );
            assert_eq!(stage.run(&answer.run).await["status"], "failed", "{told}");
            stage.fake.play(Vec::<Reply>::new());
        }
        stage.fake.play([Reply::stream(wire::answer(dialect, "Hi."))]);
        let good = stage.say("And now?").await;
        assert_eq!((good.error(), good.text().as_str()), ("", "Hi."), "{model}");
    }
}

#[tokio::test]
async fn an_answer_that_goes_on_for_ever_is_cut_and_its_beginning_kept() {
    let stage = Stage::new("claude-sonnet-5-5").await;
    let words = "word ".repeat(13_000);
    let said = wire::words(Dialect::Anthropic, &[words.as_str(); 80]);
    let reply = Reply::stream([wire::opening(Dialect::Anthropic), said].concat());
    stage.fake.play([reply.then(Then::Stall)]);

    let answer = stage.say("Tell me everything").await;

    assert!(answer.error().contains("could not be read"), "{}", answer.error());
    let kept = answer.text().len();
    assert!((MEBIBYTE..=4 * MEBIBYTE).contains(&kept), "{kept}");
}

#[tokio::test]
async fn what_a_service_says_writes_no_lines_into_the_log() {
    let (folder, fake) = (tempfile::tempdir().unwrap(), FakeService::start().await);
    let said = "no\r\n2026-01-01T00:00:00Z  INFO forged\u{85}\u{1b}[31m";
    let refused =
        json!({"type": "error", "error": {"type": "invalid_request_error", "message": said}});
    fake.play([Reply::status(400, refused)]);
    let log = folder.path().join("log");
    let script = script(folder.path(), &json!([[{"text": "Hm."}]]));
    let mut command = Command::new(env!("CARGO_BIN_EXE_greenroom"));
    command.args(arguments(&folder.path().join("data"), &script)).envs([
        ("ANTHROPIC_BASE_URL", format!("http://{}", fake.address)),
        ("ANTHROPIC_API_KEY", "k".to_owned()),
        ("RUST_LOG", "info".to_owned()),
    ]);
    let server = Server::run_telling(command, Stdio::from(File::create(&log).unwrap())).await;

    let mut chat = server.chat("Hello").await;
    while chat.next().await["type"] != "error" {}

    let log = std::fs::read_to_string(&log).unwrap();
    let line = log.lines().find(|line| line.contains("forged")).unwrap();
    assert!(line.contains("a service failed: no\\r\\n2026"), "{line}");
    assert!(!line.contains(['\u{85}', '\r']) && !line.contains("\u{1b}[31m"), "{line:?}");
}

/// So many calls are in one answer.
const CALLS: usize = 20;

#[tokio::test]
async fn arguments_that_are_no_json_are_told_to_the_model_and_it_goes_on() {
    let dialect = Dialect::OpenaiChat;
    let stage = Stage::new("gpt-4o").await;
    let mut texts: Vec<String> = collected("json_test_suite.json", "b64")
        .into_iter()
        .filter_map(|text| String::from_utf8(BASE64_STANDARD.decode(text).ok()?).ok())
        .collect();
    texts.push("[".repeat(100_000));
    for texts in texts.chunks(CALLS) {
        let calls = texts.iter().enumerate().flat_map(|(at, text)| {
            // In two pieces, as services send them.
            let middle = text.floor_char_boundary(text.len() / 2);
            wire::chat_call(at, "get_persona", &[&text[..middle], &text[middle..]])
        });
        let asking = [
            wire::begun(dialect, "I look."),
            calls.collect(),
            wire::ending(dialect, Ending::Calls, &wire::usage(dialect)),
        ];
        stage
            .fake
            .play([Reply::stream(asking.concat()), Reply::stream(wire::answer(dialect, "I see."))]);

        let told = stage.say("Look.").await;

        assert_eq!((told.error(), told.text().as_str()), ("", "I look.I see."), "{texts:?}");
        let of_kind =
            |kind: &'static str| told.events.iter().filter(move |event| event["type"] == kind);
        assert_eq!(of_kind("tool_call").count(), texts.len());
        for (text, call) in texts.iter().zip(of_kind("tool_call")) {
            // What only looks is run side by side, and may be done in any order.
            let mut results = of_kind("tool_result");
            let result = results.find(|result| result["toolUseId"] == call["toolUseId"]).unwrap();
            let is_object = serde_json::from_str::<Value>(text).is_ok_and(|text| text.is_object());
            // Nothing, said in one way or another, are the arguments of a tool that takes none.
            let is_nothing = matches!(text.trim(), "" | "null");
            assert!(is_object || is_nothing || result["isError"] == true, "{text}: {result}");
        }
    }
}
