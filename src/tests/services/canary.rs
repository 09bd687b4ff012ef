//! The keys are nowhere but in the one header of each request, whatever services do with them.

use std::{
    collections::HashMap,
    fs::File,
    io::{Read, Seek, Write},
    path::Path,
    process::{Command, Stdio},
    sync::{Arc, LazyLock},
};

use axum::{
    Router,
    http::{HeaderMap, Method, StatusCode, header},
    response::{IntoResponse, Response},
    routing::post,
};
use base64::{
    Engine,
    prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD},
};
use greenroom::{
    archive::{Pictures, back_up, export_space},
    providers::Dialect,
};
use serde_json::json;
use tracing_subscriber::filter::LevelFilter;

use super::{CANARY, KEYS, Stage, key_in, sealed::PASTED, wire};
use crate::{
    fake_service::{Reply, Then},
    many_answers::encrypted,
    restart::{Server, arguments, script},
    traces::{otlp, receiver::Receiver},
};

/// The name of the key that is in a file.
const IN_A_FILE: &str = "a file";
/// So many letters of a key are too many, wherever they stand in it.
const PIECE: usize = 8;

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
        vec![Reply::status(400, "no JSON, but key={key}!").with("x-request-id", "{key}")],
        vec![Reply::status(400, "No.").with("request-id", "req_of-the-service")],
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
    // The others come from variables, this one from a file.
    let mut kept = tempfile::NamedTempFile::new().unwrap();
    writeln!(kept, "{}", key_in(IN_A_FILE)).unwrap();
    let service = json!({
        "service": "groq", "label": "Groq", "dialect": "openai-chat",
        "baseUrl": format!("http://{}/v1", stage.fake.address),
        "keyRef": format!("file:{}", kept.path().display()),
    });
    stage.call(Method::PUT, "/api/services", service).await.good();
    // What was said goes along to whoever collects traces, and no key with it.
    let mut receiver = Receiver::answering(&[]).await;
    otlp::send_everything(&stage.house, receiver.url());
    let models = wire::ALL.map(|(dialect, _, model)| (dialect, model));
    let mut runs = Vec::new();

    for (dialect, model) in models.into_iter().chain([(Dialect::OpenaiChat, "groq/model")]) {
        stage.cast(model).await;
        stage.fake.play([Reply::stream(wire::answer(dialect, "Hi."))]);
        let good = stage.say("Hello").await;
        assert_eq!(good.error(), "", "{model}");
        runs.push(good.run);
        // An answer may quote it as well as an error.
        stage.fake.play([Reply::stream(wire::answer(dialect, "You sent {key}, as if I asked."))]);
        let echoed = stage.say("Hello").await;
        assert_eq!(echoed.error(), "", "{model}");
        assert_eq!(echoed.text(), "You sent …, as if I asked.", "{model}");
        runs.push(echoed.run);
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
        for path in
            [format!("/traces/{run}"), format!("/api/traces/{run}"), format!("/rail/runs/{run}")]
        {
            assert_eq!(stage.get(&path).await.status, 200, "{path}");
        }
    }
    for path in [
        "/",
        "/personas/ann",
        "/rail?at=/personas/ann",
        "/audit",
        "/inbox",
        "/search?q=hello",
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
    let mut collected = Vec::new();
    let mut told = 0;
    while told < runs.len() {
        let received = receiver.next().await;
        let spans = received.spans();
        told += spans.iter().filter(|span| span.name.starts_with("invoke_agent")).count();
        collected.extend(received.bytes);
    }
    assert!(contains(&collected, b"did not take the request"));
    assert_free("what was collected", &collected);
    let folder = tempfile::tempdir().unwrap();
    let state = &stage.house.state;
    let out = folder.path().join("out");
    export_space(&state.store, &state.agent, &state.scope, &out).await.unwrap();
    let exported = all_in(&out);
    assert!(contains(&exported, b"Be brief."));
    assert_free("the export", &exported);
    let backup = folder.path().join("backup.zip");
    back_up(&stage.house.database_file(), &Pictures::Elsewhere, &backup).await.unwrap();
    let mut backup = zip::ZipArchive::new(File::open(backup).unwrap()).unwrap();
    for place in 0..backup.len() {
        let mut bytes = Vec::new();
        backup.by_index(place).unwrap().read_to_end(&mut bytes).unwrap();
        assert_free("the backup", &bytes);
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
    assert!(contains(&logged, b"request=\"req_of-the-service\""), "what to ask the service about");
    assert_free("the log", &logged);
    assert_free("what can be printed", format!("{:?}", stage.house.state).as_bytes());
}

/// Refuses the key and quotes it when it is told to; otherwise answers.
async fn quote(headers: HeaderMap, body: String) -> Response {
    let key = headers[header::AUTHORIZATION].to_str().unwrap().to_owned();
    assert!(key.contains(CANARY), "the key goes along");
    if body.contains("Refuse me.") {
        let error = json!({"error": {"message": format!("Incorrect API key provided: {key}.")}});
        return (StatusCode::UNAUTHORIZED, error.to_string()).into_response();
    }
    let answer = wire::answer(Dialect::OpenaiChat, "Hi.").concat();
    ([(header::CONTENT_TYPE, "text/event-stream")], answer).into_response()
}

/// What speaks HTTP/2 has a log of its own.
#[tokio::test]
async fn a_key_is_not_in_the_log_of_the_program_when_it_is_sent_encrypted_by_http_2() {
    let folder = tempfile::tempdir().unwrap();
    let certificate = folder.path().join("service.pem");
    let router = Router::new().route("/v1/chat/completions", post(quote));
    let local = ([127, 0, 0, 1], 0).into();
    let (service, serving) = encrypted::listen(local, router, &certificate).await;
    tokio::spawn(serving);
    let log = folder.path().join("log");
    let script = script(folder.path(), &json!([[{"text": "Hm."}]]));
    let mut command = Command::new(env!("CARGO_BIN_EXE_greenroom"));
    command.args(arguments(&folder.path().join("data"), &script)).envs([
        ("OPENAI_BASE_URL", format!("https://{service}/v1")),
        ("OPENAI_API_KEY", key_in("OPENAI_API_KEY")),
        ("SSL_CERT_FILE", certificate.display().to_string()),
        ("RUST_LOG", "trace".to_owned()),
    ]);
    let server = Server::run_telling(command, Stdio::from(File::create(&log).unwrap())).await;
    let ann = json!({"id": "ann", "name": "Ann", "systemPrompt": "Be brief.", "model": "gpt-4o"});
    assert_eq!(server.ask("POST", "/api/storage/personas", Some(&ann)).await.0, 201);

    for (said, end) in [("Hello", "done"), ("Refuse me.", "error")] {
        let mut chat = server.chat_with("ann", said).await;
        let last = loop {
            let event = chat.next().await;
            if ["done", "error"].contains(&event["type"].as_str().unwrap()) {
                break event;
            }
        };
        assert_eq!(last["type"], end, "{last}");
        assert_free("what was told", last.to_string().as_bytes());
    }

    let logged = std::fs::read(&log).unwrap();
    for sign in ["a service failed", "TRACE", "frame=Headers"] {
        assert!(contains(&logged, sign.as_bytes()), "{sign} is not in the log");
    }
    assert_free("the log", &logged);
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// All files in a folder, one after another.
fn all_in(folder: &Path) -> Vec<u8> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        out.extend(if path.is_dir() { all_in(&path) } else { std::fs::read(path).unwrap() });
    }
    out
}

/// Every piece of a key, as it is and as others write it: in base64, wherever it begins, in hexadecimal, and
/// with every letter escaped as in an address.
fn pieces(key: &str) -> Vec<Vec<u8>> {
    let cut = |text: &str, size: usize| -> Vec<Vec<u8>> {
        text.as_bytes().windows(size).map(<[u8]>::to_vec).collect()
    };
    let mut out = cut(key, PIECE);
    for start in 0..3 {
        // What comes after it changes the last letters.
        let packed = BASE64_STANDARD_NO_PAD.encode(&key[start..]);
        out.extend(cut(&packed[..packed.len() - 4], PIECE + 4));
    }
    for written in [|byte: u8| format!("%{byte:02X}"), |byte: u8| format!("{byte:02x}")] {
        let whole: String = key.bytes().map(written).collect();
        let size = whole.len() / key.len() * PIECE;
        out.extend(cut(&whole, size).into_iter().step_by(size / PIECE));
    }
    out
}

/// Every piece of every key, by how it begins.
static PIECES: LazyLock<HashMap<[u8; 4], Vec<Vec<u8>>>> = LazyLock::new(|| {
    let mut out: HashMap<[u8; 4], Vec<Vec<u8>>> = HashMap::new();
    for key in KEYS.into_iter().chain([IN_A_FILE]).map(key_in).chain([PASTED.to_owned()]) {
        for piece in pieces(&key) {
            out.entry(piece[..4].try_into().unwrap()).or_default().push(piece);
        }
    }
    out
});

pub fn assert_free(what: &str, bytes: &[u8]) {
    for (at, begin) in bytes.windows(4).enumerate() {
        let begin: [u8; 4] = begin.try_into().unwrap();
        let Some(pieces) = PIECES.get(&begin) else { continue };
        if let Some(piece) = pieces.iter().find(|piece| bytes[at..].starts_with(piece)) {
            let around = &bytes[at.saturating_sub(200)..bytes.len().min(at + 60)];
            let (piece, around) = (String::from_utf8_lossy(piece), String::from_utf8_lossy(around));
            panic!("there is a piece of a key ({piece}) in {what}: {around}");
        }
    }
}

/// The control: a key is found however it is written.
#[test]
fn a_piece_of_a_key_is_found_however_it_is_written() {
    let key = key_in(KEYS[0]);
    let escaped: String = key.bytes().map(|byte| format!("%{byte:02X}")).collect();
    for text in [
        key.clone(),
        key[9..18].to_owned(),
        escaped,
        BASE64_STANDARD.encode(format!("user:{key}")),
        BASE64_STANDARD.encode(format!("x{key}y")),
    ] {
        let found = std::panic::catch_unwind(|| assert_free("a text", text.as_bytes()));
        assert!(found.is_err(), "{text}");
    }
    assert_free("a text", format!("{}…{}", &key[..6], &key[key.len() - 4..]).as_bytes());
}
