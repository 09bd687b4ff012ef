//! Where keys come from, and what is said when there is none.

use axum::http::Method;
use greenroom::{domain::account::Role, providers::Dialect};
use serde_json::{Value, json};

use super::{CANARY, Stage, patient, wire};
use crate::{
    fake_service::{FakeService, Reply},
    support::error,
};

const CLAUDE: &str = "claude-sonnet-5-5";

/// A stage on which Anthropic's key is found here.
async fn stage_with(environment: &[(&str, &str)], key_ref: &str) -> Stage {
    let fake = FakeService::start().await;
    let environment: Vec<(&str, String)> =
        environment.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    let stage = Stage::around(fake, CLAUDE, patient(), &environment).await;
    let base_url = format!("http://{}", stage.fake.address);
    let service = json!({"service": "anthropic", "label": "Anthropic", "dialect": "anthropic",
                         "baseUrl": base_url, "keyRef": key_ref});
    stage.call(Method::PUT, "/api/services", service).await.good();
    stage.fake.play([Reply::stream(wire::answer(Dialect::Anthropic, "Hi."))]);
    stage
}

/// Whether the settings say that Anthropic is ready.
async fn is_ready(stage: &Stage) -> Value {
    let services = stage.get("/api/services").await.good();
    let mut services = services["items"].as_array().unwrap().iter();
    let anthropic = services.find(|status| status["service"]["service"] == "anthropic");
    anthropic.unwrap()["ready"].clone()
}

#[tokio::test]
async fn a_key_can_be_kept_in_a_file_and_is_read_anew_for_every_question() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    std::fs::write(&file, "  first-key\n").unwrap();
    let stage = stage_with(&[], &format!("file:{}", file.display())).await;
    assert_eq!(is_ready(&stage).await, true);

    assert_eq!(stage.say("Hello").await.error(), "");
    std::fs::write(&file, "second-key").unwrap();
    stage.fake.play([Reply::stream(wire::answer(Dialect::Anthropic, "Hi."))]);
    assert_eq!(stage.say("Hello").await.error(), "");

    let keys: Vec<String> =
        stage.fake.asked().iter().map(|asked| asked.key().unwrap().1.to_owned()).collect();
    assert_eq!(keys, ["first-key", "second-key"]);
    let models = stage.get("/api/models").await.good();
    assert_eq!(models["defaultModel"], CLAUDE);
}

#[tokio::test]
async fn a_key_that_is_not_there_is_named_by_its_place_and_nothing_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        (format!("file:{}", path.display()), format!("the file {}", path.display()))
    };
    let variables = [("EMPTY", ""), ("BLANK", " \n"), ("LINES", "a\nb"), ("ACCENT", "clé")];
    let mut cases: Vec<(String, String)> = ["NOT_SET", "EMPTY", "BLANK", "LINES", "ACCENT"]
        .map(|name| (format!("env:{name}"), format!("the variable {name}")))
        .into();
    cases.push(file("empty", b""));
    cases.push(file("large", &[b'k'; 8 * 1024 + 1]));
    cases.push(file("binary", b"\xff\xfe\x00"));
    for place in ["/does/not/exist", "/tmp", "/dev/null"] {
        cases.push((format!("file:{place}"), format!("the file {place}")));
    }
    for (key_ref, place) in cases {
        let stage = stage_with(&variables, &key_ref).await;

        let told = stage.say("Hello").await;

        let error = told.error();
        assert!(error.starts_with(&format!("There is no key for Anthropic: {place} ")), "{error}");
        assert!(error.ends_with(". Say where it is in the settings."), "{error}");
        assert_eq!(stage.run(&told.run).await["status"], "failed", "{key_ref}");
        assert_eq!(stage.fake.asked().len(), 0, "{key_ref}");
        assert_eq!(is_ready(&stage).await, false, "{key_ref}");
    }
}

/// Such a file has no length and no end: reading it, for a question or just for the list of services,
/// held the server for ever.
#[tokio::test]
async fn a_file_without_an_end_holds_no_key() {
    let stage = stage_with(&[], "file:/dev/zero").await;

    assert_eq!(is_ready(&stage).await, false);
    assert!(stage.say("Hello").await.error().starts_with("There is no key for Anthropic: "));
    assert_eq!(stage.fake.asked().len(), 0);
}

#[tokio::test]
async fn a_key_itself_is_not_taken_where_its_place_belongs() {
    let stage = Stage::new(CLAUDE).await;
    let key = format!("{CANARY}-typed-by-mistake");
    for key_ref in [key.clone(), format!("env:{key}"), format!("key:{key}")] {
        let service = json!({"service": "anthropic", "label": "Anthropic", "dialect": "anthropic",
                             "baseUrl": "http://localhost:1", "keyRef": key_ref});

        let answer = stage.call(Method::PUT, "/api/services", service).await;

        assert_eq!(answer.error(), (422, json!("invalid"), json!("keyRef")));
        assert!(!answer.text.contains(CANARY), "{}", answer.text);
    }
    let services = stage.get("/api/services").await.text;
    assert!(services.contains("env:ANTHROPIC_API_KEY") && !services.contains(CANARY));
}

#[tokio::test]
async fn what_looks_like_a_variable_in_an_address_is_none() {
    let stage = Stage::new(CLAUDE).await;
    let base_url = format!("http://{}/${{OPENAI_API_KEY}}/$OPENAI_API_KEY", stage.fake.address);
    let service = json!({"service": "anthropic", "label": "${OPENAI_API_KEY}", "dialect": "anthropic",
                         "baseUrl": base_url, "keyRef": "env:ANTHROPIC_API_KEY"});
    stage.call(Method::PUT, "/api/services", service).await.good();
    stage.fake.play([Reply::stream(wire::answer(Dialect::Anthropic, "Hi."))]);

    assert_eq!(stage.say("Hello").await.error(), "");

    let asked = stage.fake.asked();
    assert!(asked[0].path.contains("OPENAI_API_KEY") && !asked[0].path.contains(CANARY));
    let shown = stage.get("/settings").await.text + &stage.get("/api/services").await.text;
    assert!(shown.contains("${OPENAI_API_KEY}") && !shown.contains(CANARY));
}

#[tokio::test]
async fn with_accounts_no_owner_sends_a_key_of_the_server_elsewhere_or_reaches_what_is_near() {
    let variables = [("DATABASE_URL", "c4n4ry-database"), ("ANTHROPIC_API_KEY", "c4n4ry-own")];
    // Whoever runs a server for themselves may send any key anywhere.
    let stage = stage_with(&variables, "env:DATABASE_URL").await;
    assert_eq!(stage.say("Hello").await.error(), "");
    assert_eq!(stage.fake.asked().len(), 1);
    let house = stage.house.with_accounts(&[("ann", Role::Owner)]).await;
    let ann = house.signed_in("ann").await;
    let put = async |name: &str, address: &str, key: [&str; 2]| {
        let service = json!({"service": name, "label": "Mine", "dialect": "anthropic",
                             "baseUrl": address, "keyRef": key[0], "key": key[1]});
        ann.call(Method::PUT, "/api/services", service).await
    };

    for (name, address, key) in [
        ("mine", "https://elsewhere.test", "env:ANTHROPIC_API_KEY"),
        ("mine", "https://elsewhere.test", "env:DATABASE_URL"),
        ("mine", "https://elsewhere.test", "file:/etc/hostname"),
        ("anthropic", "https://elsewhere.test", "env:ANTHROPIC_API_KEY"),
        ("anthropic", "https://api.anthropic.com", "env:DATABASE_URL"),
    ] {
        let refused = put(name, address, [key, ""]).await;
        assert_eq!(refused.error(), error(422, "invalid", "keyRef"), "{name} {address} {key}");
    }
    let near = format!("http://{}", stage.fake.address);
    for address in [near.as_str(), "http://169.254.169.254", "http://localhost:1"] {
        let refused = put("mine", address, ["", ""]).await;
        assert_eq!(refused.error(), error(422, "invalid", "baseUrl"), "{address}");
    }
    // What was set before is not asked any more.
    assert_ne!(stage.say("Hello").await.error(), "");
    assert_eq!(stage.fake.asked().len(), 0);
    assert_eq!(is_ready(&stage).await, false);
    // A service has its own key where it is, and elsewhere one that is pasted.
    put("anthropic", "https://api.anthropic.com", ["env:ANTHROPIC_API_KEY", ""]).await.good();
    assert_eq!(is_ready(&stage).await, true);
    put("mine", "https://elsewhere.test", ["", "c4n4ry-pasted"]).await.good();
}
