//! What is set for a chat is what its model is asked with, and what a browser remembers for the next one.

use axum::http::Method;
use greenroom::{
    domain::{
        actor::Actor,
        change::{Change, Op},
        id::ConversationId,
    },
    providers::{Dialect, TimeLimits},
};
use serde_json::{Value, json};

use super::{CHATS, post, say, text};
use crate::{
    fake_service::{FakeService, Reply},
    services::wire::{self, Ending},
    support::{House, error, on_both},
};

on_both!(
    what_a_browser_remembers_is_used_as_far_as_it_can_be,
    a_form_with_settings_that_cannot_be_is_refused_and_changes_nothing,
    a_title_that_a_person_gives_is_not_held_against_one_that_a_model_found_meanwhile,
    what_two_set_at_the_same_time_is_set_both,
);

fn answer(said: &str) -> Reply {
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 2});
    let dialect = Dialect::OpenaiChat;
    let pieces = [
        wire::opening(dialect),
        wire::words(dialect, &[said]),
        wire::ending(dialect, Ending::Said, &usage),
    ];
    Reply::stream(pieces.concat())
}

/// The words of the messages that a service was sent, without what it was told.
fn said(body: &Value) -> Vec<String> {
    let messages = body["messages"].as_array().unwrap().iter();
    messages.filter(|one| one["role"] != "system").map(|one| text(&one["content"])).collect()
}

#[tokio::test]
async fn the_model_the_window_and_the_person_of_the_settings_reach_the_service() {
    let fake = FakeService::start().await;
    let environment = [
        ("OPENAI_BASE_URL", format!("http://{}/v1", fake.address)),
        ("OPENAI_API_KEY", "a-key".to_owned()),
    ];
    let house = House::with_services(&environment, TimeLimits::default()).await;
    // With that, and with a title, nothing else is asked in between.
    let ann = json!({"systemPrompt": "You keep bees.", "model": "gpt-4o-mini",
        "roleplayData": {"appearance": "small", "summary": "Keeps bees."}});
    house.persona("ann", "").await;
    house.call(Method::PUT, "/api/storage/personas/ann", ann).await.good();
    let me = json!({"name": "Ben", "appearance": "in a straw hat", "overview": "A gardener."});
    let settings = json!({"model": "gpt-4o", "window": 10, "userPersona": me});
    let new = json!({"personaId": "ann", "title": "Bees", "settings": settings});
    let chat = post(&house, CHATS, new).await.good();
    let chat = format!("{CHATS}/{}", text(&chat["id"]));
    fake.play((1..=10).map(|at| answer(&format!("Answer {at}."))));
    let speak = async |at: usize| {
        say(&house, &chat, json!({"content": format!("Words {at}")})).await;
        let mut asked = fake.asked();
        assert_eq!(asked.len(), 1, "{asked:?}");
        asked.remove(0).body
    };
    let set = async |settings: Value| {
        house.call(Method::PATCH, &chat, json!({"settings": settings})).await.good();
    };

    for at in 1..=6 {
        speak(at).await;
    }
    let asked = speak(7).await;

    assert_eq!(asked["model"], "gpt-4o", "not the persona's own");
    // Ten messages would begin with an answer: what it answers goes along.
    let window = said(&asked);
    let ends = (window[0].as_str(), window[10].as_str());
    assert_eq!((window.len(), ends), (11, ("Words 2", "Words 7")));
    let told = text(&asked["messages"][0]["content"]);
    for expected in ["Ben", "in a straw hat", "A gardener."] {
        assert!(told.contains(expected), "{expected}: {told}");
    }

    // The next answer is asked with what is set by then.
    set(json!({"model": "gpt-4o-mini", "window": 20, "userPersona": {"name": "Cleo"}})).await;
    let asked = speak(8).await;
    assert_eq!(asked["model"], "gpt-4o-mini");
    assert_eq!((said(&asked).len(), said(&asked)[0].as_str()), (15, "Words 1"));
    let told = text(&asked["messages"][0]["content"]);
    assert!(told.contains("Cleo") && !told.contains("straw hat"), "{told}");

    set(json!({"model": "gpt-4o"})).await;
    assert_eq!(speak(9).await["model"], "gpt-4o");
    set(json!({"model": ""})).await;
    assert_eq!(speak(10).await["model"], "gpt-4o-mini", "the persona's own again");
}

async fn what_a_browser_remembers_is_used_as_far_as_it_can_be(house: House) {
    let long = "x".repeat(4001);
    let fields = |model: &'static str, window: &'static str, overview: &str| {
        vec![
            ("persona", "optimist".to_owned()),
            ("settings[filled]", "true".to_owned()),
            ("settings[model]", model.to_owned()),
            ("settings[window]", window.to_owned()),
            ("settings[name]", "Robin".to_owned()),
            ("settings[overview]", overview.to_owned()),
            ("settings[with_images]", "true".to_owned()),
        ]
    };
    let begin = async |fields: Vec<(&str, String)>| {
        let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let begun = house.function("begin_chat", &fields).await.good();
        let chat = house.get(&format!("{CHATS}/{}", text(&begun["id"]))).await.good();
        (text(&begun["told"]), chat["settings"].clone())
    };
    let settings = |model: &str, window: u32, overview: &str| {
        let me = json!({"name": "Robin", "appearance": "", "overview": overview});
        json!({"model": model, "window": window, "userPersona": me, "images": false,
            "answers": "in_turn"})
    };

    let (told, kept) = begin(fields("demo", "12", "A cook.")).await;
    assert_eq!((told.as_str(), kept), ("", settings("demo", 12, "A cook.")));
    let (told, kept) = begin(fields("gone-model", "12", "A cook.")).await;
    assert!(told.ends_with("were left out: the model."), "{told}");
    assert_eq!(kept, settings("", 12, "A cook."));
    let (told, kept) = begin(fields("demo", "99", &long)).await;
    assert!(told.ends_with("left out: the number of messages, your overview."), "{told}");
    assert_eq!(kept, settings("demo", 20, ""));
    let (told, kept) = begin(fields("gone-model", "many", "A cook.")).await;
    assert!(told.ends_with("left out: the number of messages, the model."), "{told}");
    assert_eq!(kept, settings("", 20, "A cook."));
    let mut odd = fields("demo", "", "A cook.");
    odd.push(("settings[answers]", "at_will".to_owned()));
    let (told, kept) = begin(odd).await;
    assert!(told.ends_with("left out: how several answer."), "{told}");
    assert_eq!(kept, settings("demo", 20, "A cook."));
}

async fn a_form_with_settings_that_cannot_be_is_refused_and_changes_nothing(house: House) {
    let chat = super::begin(&house, "optimist").await;
    let before = house.get(&chat).await.good();
    let id = chat.rsplit('/').next().unwrap();
    let revision = before["revision"].to_string();
    for (name, value, field) in [
        ("settings[model]", "no such", "settings.model"),
        ("settings[window]", "many", "settings.window"),
        ("settings[window]", "9", "settings.window"),
        ("settings[answers]", "at_will", "settings.answers"),
    ] {
        let fields = [
            ("id", id),
            ("revision", revision.as_str()),
            ("title", "New chat"),
            ("mode", "roleplay"),
            ("settings[filled]", "true"),
            (name, value),
        ];
        let answer = house.function("save_chat", &fields).await;
        assert_eq!(answer.status, 422, "{}", answer.text);
        assert!(answer.text.contains(field), "{}", answer.text);
    }
    assert_eq!(house.get(&chat).await.good()["settings"], before["settings"]);
    assert_eq!(house.get(&chat).await.good()["revision"], before["revision"]);
    for model in ["no such", "gpt-nope", "claude-sonet-5"] {
        let begun = json!({"personaId": "optimist", "settings": {"model": model}});
        let refused = error(422, "invalid", "settings.model");
        assert_eq!(post(&house, CHATS, begun).await.error(), refused, "{model}");
        let changed = json!({"settings": {"model": model}});
        assert_eq!(house.call(Method::PATCH, &chat, changed).await.error(), refused, "{model}");
    }
    assert_eq!(house.get(&chat).await.good()["settings"], before["settings"]);
}

async fn a_title_that_a_person_gives_is_not_held_against_one_that_a_model_found_meanwhile(
    house: House,
) {
    let chat = post(&house, CHATS, json!({"personaId": "optimist"})).await.good();
    let id = text(&chat["id"]);
    let found = Change::new(&ConversationId::new(id.as_str()), Op::Update)
        .set("title", "Found")
        .set("titledBy", "model")
        .based_on(1);
    house.gate_for(Actor::System).submit(found).await.unwrap();
    let save = async |revision: &str, title: &str| {
        let fields = [
            ("id", id.as_str()),
            ("revision", revision),
            ("title", title),
            ("mode", "story"),
            ("settings[filled]", "true"),
            ("settings[name]", "Ann"),
        ];
        house.function("save_chat", &fields).await
    };

    let saved = save("1", "Mine").await;

    assert_eq!(saved.good(), json!(3), "{}", saved.text);
    let now = house.get(&format!("{CHATS}/{id}")).await.good();
    assert_eq!((&now["title"], &now["titledBy"]), (&json!("Mine"), &json!("person")));
    assert_eq!(
        (&now["mode"], &now["settings"]["userPersona"]["name"]),
        (&json!("story"), &json!("Ann"))
    );
    // What another person called it stays until one has seen it.
    assert_eq!(save("2", "Theirs").await.status, 409);
    assert_eq!(save("3", "Theirs").await.good(), json!(4));
}

async fn what_two_set_at_the_same_time_is_set_both(house: House) {
    let chat = super::begin(&house, "optimist").await;
    for round in 0..20 {
        let (window, name) = (10 + round % 11, format!("Ann {round}"));
        let set = |settings: Value| {
            house.call(Method::PATCH, &chat, json!({"settings": settings, "mode": "story"}))
        };

        let (one, other) = tokio::join!(
            set(json!({"window": window})),
            set(json!({"userPersona": {"name": name}})),
        );

        assert_eq!((one.status.as_u16(), other.status.as_u16()), (200, 200), "{}", other.text);
        let settings = house.get(&chat).await.good()["settings"].clone();
        let known = (&settings["window"], &settings["userPersona"]["name"]);
        assert_eq!(known, (&json!(window), &json!(name)));
    }
}
