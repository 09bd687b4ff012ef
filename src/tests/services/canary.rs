//! The keys are nowhere but in the one header of each request, whatever services do with them.

use std::{
    fs::File,
    io::{Read, Seek},
    sync::Arc,
};

use axum::http::Method;
use greenroom::providers::Dialect;
use serde_json::json;
use tracing_subscriber::filter::LevelFilter;

use super::{CANARY, Stage, wire};
use crate::fake_service::{Reply, Then};

/// Writes down all that is logged from now on, at every level.
fn capture_log() -> Arc<File> {
    let log = Arc::new(tempfile::tempfile().unwrap());
    let subscriber = tracing_subscriber::fmt().with_max_level(LevelFilter::TRACE);
    subscriber.with_ansi(false).with_writer(log.clone()).init();
    log
}

/// All the ways in which a service may fail, each with the key in what it says.
fn failures(dialect: Dialect) -> Vec<Vec<Reply>> {
    let said = |message: &str| json!({"error": {"message": message, "code": "{key}"}}).to_string();
    let thrice = |reply: Reply| vec![reply.clone(), reply.clone(), reply];
    let wrong = "Incorrect API key provided: {key}. You can find it at your account.";
    // What is told of an error is cut, and the cut may go through the key.
    let cut = |before: usize| format!("{} {{key}}", "x".repeat(before));
    let shown = |rest: Vec<String>| Reply::stream([wire::begun(dialect, "Half"), rest].concat());
    let broken = |message: &str| [wire::opening(dialect), wire::failure(dialect, message)].concat();
    let garbled = json!({"type": ["{key}"], "choices": "{key}", "candidates": "{key}"});
    let mut failures = vec![
        vec![Reply::status(401, said(wrong))],
        vec![Reply::status(400, said("Bad: key='{key}', “{key}”, Bearer {key}"))],
        vec![Reply::status(400, "no JSON, but key={key}!")],
        vec![Reply::status(404, json!([{"error": "{key}"}]))],
        vec![Reply::status(403, "<html><title>{key}</title></html>")],
        vec![Reply::status(402, json!({"detail": "{key}"}))],
        vec![Reply::status(307, "{key}").with("location", "http://127.0.0.1:9/?key={key}")],
        thrice(Reply::status(500, said("trace: x-api-key: {key}"))),
        thrice(Reply::status(429, said("{key} is too fast")).with("retry-after-ms", 1)),
        thrice(Reply::status(529, said(&cut(490)))),
        thrice(Reply::stream(broken("{key}"))),
        thrice(Reply::stream(broken(&cut(485)))),
        vec![shown(wire::failure(dialect, wrong))],
        vec![shown(vec![format!("data: {garbled}\n\n")])],
        vec![Reply::stream(vec![format!("data: {garbled}\n\n")])],
        vec![Reply::stream(vec!["data: {key}\n\n".into()])],
        thrice(Reply::none(Then::Reset)),
        vec![shown(Vec::new()).then(Then::Reset)],
        vec![shown(Vec::new()).then(Then::Leave).with("x-key", "{key}")],
    ];
    failures
        .extend([488, 492, 496, 499].map(|before| vec![Reply::status(400, said(&cut(before)))]));
    failures
}

#[tokio::test]
async fn a_key_is_in_no_answer_no_page_no_trace_no_log_and_not_in_the_database() {
    let log = capture_log();
    let stage = Stage::new("demo").await;
    let service = json!({
        "service": "groq", "label": "Groq", "dialect": "openai-chat",
        "baseUrl": format!("http://{}/v1", stage.fake.address), "keyRef": "env:GROQ_API_KEY",
    });
    stage.call(Method::PUT, "/api/services", service).await.good();
    let models = wire::ALL.map(|(dialect, _, model)| (dialect, model));
    let mut runs = Vec::new();

    for (dialect, model) in models.into_iter().chain([(Dialect::OpenaiChat, "groq/model")]) {
        stage.cast(model).await;
        stage.fake.play([Reply::stream(wire::answer(dialect, "Hi."))]);
        let good = stage.say("Hello").await;
        assert_eq!(good.error(), "", "{model}");
        runs.push(good.run);
        for failure in failures(dialect) {
            let told = format!("{model}: {failure:?}");
            let attempts = failure.len();
            stage.fake.play(failure);
            let failed = stage.say("Hello").await;
            assert_ne!(failed.error(), "", "{told}");
            let asked = stage.fake.asked();
            assert!(asked.len() >= attempts, "{told}: {}", failed.error());
            for one in asked {
                assert!(one.key().unwrap().1.starts_with(CANARY), "{told}");
                assert!(!one.path.contains(CANARY), "{told}");
                assert!(!one.body.to_string().contains(CANARY), "{told}");
            }
            runs.push(failed.run);
        }
    }

    for run in &runs {
        stage.run(run).await;
        stage.events(run).await;
        for path in [format!("/traces/{run}"), format!("/api/traces/{run}")] {
            assert_eq!(stage.get(&path).await.status, 200, "{path}");
        }
    }
    for path in [
        "/",
        "/personas/ann",
        "/settings",
        "/traces",
        "/usage",
        "/api/traces",
        "/api/usage",
        "/api/services",
        "/api/models",
        "/api/audit",
        "/api/storage/personas/ann",
        "/api/persona-agent/history?personaId=ann",
    ] {
        assert_eq!(stage.get(path).await.status, 200, "{path}");
    }
    let seen = stage.seen.lock().unwrap().clone();
    assert!(seen.contains("did not take the request") && seen.contains("retrying"));
    assert_free("what was answered", seen.as_bytes());
    let database = stage.house.database_bytes();
    assert!(contains(&database, b"did not take the request"));
    assert_free("the database", &database);
    let (mut file, mut logged) = (&*log, Vec::new());
    file.rewind().unwrap();
    file.read_to_end(&mut logged).unwrap();
    assert!(contains(&logged, b"a service failed") && contains(&logged, b"TRACE"));
    assert_free("the log", &logged);
    assert_free("what can be printed", format!("{:?}", stage.house.state).as_bytes());
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

fn assert_free(what: &str, bytes: &[u8]) {
    let found = bytes.windows(CANARY.len()).position(|window| window == CANARY.as_bytes());
    if let Some(at) = found {
        let around = &bytes[at.saturating_sub(200)..bytes.len().min(at + 60)];
        panic!("there is a key in {what}: {}", String::from_utf8_lossy(around));
    }
}
