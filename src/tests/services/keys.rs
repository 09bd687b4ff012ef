//! Where keys come from, and what is said when there is none.

use axum::http::Method;
use greenroom::{
    domain::account::{Role, TokenScope},
    providers::Dialect,
};
use serde_json::{Value, json};

use super::{CANARY, Stage, patient, wire};
use crate::{
    fake_service::{FakeService, Reply},
    hostile::collected,
    support::{House, error},
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
    let mut refused = 0;
    for address in collected("ssrf_urls.json", "payload") {
        let answer = put("mine", &address, ["", ""]).await;
        if answer.status.is_success() {
            // A name, which is looked at when it is connected to.
            let known: reqwest::Url = address.trim().parse().unwrap();
            let host = known.host_str().unwrap().trim_end_matches('.');
            let is_name = host.contains(|letter: char| letter.is_ascii_lowercase());
            assert!(is_name && !host.starts_with('['), "{address}");
            assert!(host != "localhost" && !host.ends_with(".localhost"), "{address}");
        } else {
            assert_eq!(answer.error(), error(422, "invalid", "baseUrl"), "{address}");
            refused += 1;
        }
    }
    assert!(refused > 50, "only {refused} were refused");
    // What was set before is not asked any more.
    assert_ne!(stage.say("Hello").await.error(), "");
    assert_eq!(stage.fake.asked().len(), 0);
    assert_eq!(is_ready(&stage).await, false);
    // A service has its own key where it is, and elsewhere one that is pasted.
    put("anthropic", "https://api.anthropic.com", ["env:ANTHROPIC_API_KEY", ""]).await.good();
    assert_eq!(is_ready(&stage).await, true);
    put("mine", "https://elsewhere.test", ["", "c4n4ry-pasted"]).await.good();
}

#[tokio::test]
async fn where_a_key_is_found_is_told_to_owners_only() {
    let stage = stage_with(&[("DATABASE_URL", "c4n4ry-database")], "env:DATABASE_URL").await;
    let people = [("ann", Role::Owner), ("ed", Role::Editor), ("eve", Role::Viewer)];
    let house = stage.house.with_accounts(&people).await;
    let key_refs = async |who: &House| {
        let services = who.get("/api/services").await.good()["items"].as_array().unwrap().clone();
        let wanted = ["anthropic", "gemini", "ollama"];
        let wanted = wanted.map(|name| {
            services.iter().find(|status| status["service"]["service"] == name).unwrap().clone()
        });
        wanted.map(|status| status["service"]["keyRef"].as_str().unwrap().to_owned())
    };

    let ann = house.signed_in("ann").await;
    assert_eq!(key_refs(&ann).await, ["env:DATABASE_URL", "env:GEMINI_API_KEY", ""]);
    assert!(ann.get("/settings").await.text.contains("env:DATABASE_URL"));
    for who in [
        house.signed_in("ed").await,
        house.signed_in("eve").await,
        house.with_token("ann", TokenScope::Write).await,
    ] {
        assert_eq!(key_refs(&who).await, ["…", "…", ""]);
        let page = who.get("/settings").await;
        assert_eq!(page.status, 200);
        assert!(!page.text.contains("DATABASE_URL") && !page.text.contains("_API_KEY"));
        assert!(!who.function("list_models", &[]).await.text.contains("DATABASE_URL"));
    }
}

#[tokio::test]
async fn a_form_that_moves_a_service_takes_no_key_along_unless_it_is_named_anew() {
    let variables = [("ANTHROPIC_API_KEY", "c4n4ry-own"), ("OTHER_KEY", "c4n4ry-other")];
    let stage = stage_with(&variables, "env:ANTHROPIC_API_KEY").await;
    let other = FakeService::start().await;
    let save = async |address: &str, key_ref: &str| {
        let fields = [
            ("service", "anthropic"),
            ("label", "Anthropic"),
            ("dialect", "anthropic"),
            ("base_url", address),
            ("key_ref", key_ref),
        ];
        let saved = stage.house.function("save_service", &fields).await;
        assert!(saved.status.is_redirection() || saved.status.is_success(), "{}", saved.text);
        let services = stage.get("/api/services").await.good()["items"].clone();
        let mut services = services.as_array().unwrap().iter().map(|status| &status["service"]);
        let kept = services.find(|service| service["service"] == "anthropic").unwrap();
        [kept["baseUrl"].as_str().unwrap().to_owned(), kept["keyRef"].as_str().unwrap().to_owned()]
    };
    let here = format!("http://{}/v1", stage.fake.address);
    let there = format!("http://{}", other.address);
    let own = "env:ANTHROPIC_API_KEY";

    assert_eq!(save(&here, own).await, [here.as_str(), own], "another path is no other origin");
    assert_eq!(save(&there, own).await, [there.as_str(), ""]);
    // Whoever names it there means it.
    assert_eq!(save(&there, own).await, [there.as_str(), own]);
    assert_eq!(save(&here, "env:OTHER_KEY").await, [here.as_str(), "env:OTHER_KEY"]);
}
