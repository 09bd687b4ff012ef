//! Keys that were pasted: sealed at rest, shown by their last letters, sent to one origin.

use axum::http::Method;
use greenroom::{
    archive::{Pictures, back_up, export_space},
    providers::Dialect,
};
use serde_json::{Value, json};

use super::{CANARY, Stage, canary::assert_free, wire};
use crate::fake_service::{FakeService, Reply};

pub const PASTED: &str = "c4n4ry-t7q2m9xk4vb8zr3hnc6gpw5jd-wxyz";

fn service(address: &str, key_ref: &str) -> Value {
    json!({"service": "mine", "label": "Mine", "dialect": "anthropic",
           "baseUrl": format!("http://{address}"), "keyRef": key_ref})
}

/// A stage on which a key was pasted for the fake.
async fn pasted() -> Stage {
    let stage = Stage::new("mine/model").await;
    let mut mine = service(&stage.fake.address.to_string(), "");
    mine["key"] = json!(PASTED);
    let kept = stage.call(Method::PUT, "/api/services", mine).await.good();
    assert_eq!(kept["keyRef"], "sealed:…wxyz");
    assert_eq!(kept.get("key"), None);
    stage
}

/// What the service was sent as a key when Ann was asked something.
async fn sent(stage: &Stage, fake: &FakeService) -> Vec<Option<String>> {
    fake.play([Reply::stream(wire::answer(Dialect::Anthropic, "Hi."))]);
    stage.say("Hello").await;
    fake.asked().iter().map(|asked| asked.key().map(|(_, key)| key.to_owned())).collect()
}

#[tokio::test]
async fn a_pasted_key_is_used_and_can_never_be_read_again() {
    let stage = pasted().await;

    assert_eq!(sent(&stage, &stage.fake).await, [Some(PASTED.to_owned())]);

    for path in ["/api/services", "/api/models", "/settings", "/api/audit", "/api/traces"] {
        assert_eq!(stage.get(path).await.status, 200, "{path}");
    }
    let settings = stage.get("/settings").await.text;
    assert!(settings.contains("sealed:…wxyz") && settings.contains("key found"));
    let folder = tempfile::tempdir().unwrap();
    let state = &stage.house.state;
    let out = folder.path().join("out");
    export_space(&state.store, &state.agent, &state.scope, &out).await.unwrap();
    let exported = std::fs::read_to_string(out.join("settings.json")).unwrap();
    assert!(exported.contains("Mine") && !exported.contains("sealed"), "{exported}");
    let backup = folder.path().join("backup.zip");
    let database = stage.house.database_file();
    back_up(&database, &Pictures::Elsewhere, &backup).await.unwrap();
    let mut backup = zip::ZipArchive::new(std::fs::File::open(backup).unwrap()).unwrap();
    let mut backed_up = Vec::new();
    std::io::copy(&mut backup.by_name("greenroom.db").unwrap(), &mut backed_up).unwrap();
    let seen = stage.seen.lock().unwrap().clone();
    for (what, bytes) in [
        ("what was answered", seen.as_bytes()),
        ("the database", &stage.house.database_bytes()),
        ("the backup", &backed_up),
        ("the export", exported.as_bytes()),
        ("what can be printed", format!("{:?}", stage.house.state).as_bytes()),
    ] {
        assert_free(what, bytes);
    }
}

#[tokio::test]
async fn at_another_address_a_pasted_key_is_forgotten() {
    let stage = pasted().await;
    let other = FakeService::start().await;
    let mut same = service(&stage.fake.address.to_string(), "sealed:…wxyz");
    same["label"] = json!("Still mine");

    let kept = stage.call(Method::PUT, "/api/services", same).await.good();
    assert_eq!(kept["keyRef"], "sealed:…wxyz");
    assert_eq!(sent(&stage, &stage.fake).await, [Some(PASTED.to_owned())]);
    let elsewhere = service(&other.address.to_string(), "sealed:…wxyz");
    let kept = stage.call(Method::PUT, "/api/services", elsewhere).await.good();

    assert_eq!(kept["keyRef"], "");
    assert_eq!(sent(&stage, &other).await, [None]);
    // Coming back does not bring it back.
    let back = service(&stage.fake.address.to_string(), "sealed:…wxyz");
    assert_eq!(stage.call(Method::PUT, "/api/services", back).await.good()["keyRef"], "");
}

#[tokio::test]
async fn the_form_takes_a_key_and_refuses_what_is_none() {
    let stage = Stage::new("mine/model").await;
    let address = stage.fake.address;
    let address = format!("http://{address}");
    let fields = |key| {
        [("service", "mine"), ("label", "Mine"), ("dialect", "anthropic"), ("key", key)]
            .into_iter()
            .chain([("base_url", address.as_str()), ("key_ref", "")])
            .collect::<Vec<_>>()
    };

    let refused = stage.house.function("save_service", &fields("two words")).await;
    assert_eq!(refused.status.as_u16(), 422, "{}", refused.text);
    let taken = stage.house.function("save_service", &fields(PASTED)).await;

    assert!(taken.status.is_redirection() || taken.status.is_success(), "{}", taken.text);
    assert!(!taken.text.contains(CANARY));
    assert_eq!(sent(&stage, &stage.fake).await, [Some(PASTED.to_owned())]);
}
