//! Services that lie: each lie is an error with a sentence, and the conversation goes on.

use std::{
    fs::File,
    process::{Command, Stdio},
};

use greenroom::providers::Dialect;
use serde_json::json;

use super::{Stage, wire};
use crate::{
    fake_service::{FakeService, Reply, Then},
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
