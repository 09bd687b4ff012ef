//! Titles and roleplay data, made while nobody waits.

use std::time::Duration;

use axum::http::Method;
use greenroom::providers::{Dialect, TimeLimits};
use serde_json::{Value, json};

use super::{CHATS, begin, path, post, say, text, words};
use crate::{
    fake_service::{FakeService, Reply},
    services::wire,
    support::{House, on_both},
};

on_both!(
    a_chat_is_named_after_its_first_answer_and_never_over_a_persons_title,
    roleplay_data_is_made_once_for_a_version_and_can_be_edited,
    without_roleplay_data_a_chat_answers_from_the_prompt,
    one_without_roleplay_data_does_not_keep_it_from_the_others,
    how_roleplay_data_comes_is_told_of_the_version_that_speaks,
);

/// Waits until what is made in the background is there.
async fn until(house: &House, path: &str, there: impl Fn(&Value) -> bool) -> Value {
    loop {
        let known = house.get(path).await.good();
        if there(&known) {
            return known;
        }
        tokio::task::yield_now().await;
    }
}

async fn a_chat_is_named_after_its_first_answer_and_never_over_a_persons_title(house: House) {
    let chat = begin(&house, "optimist").await;
    say(&house, &chat, json!({"content": "Is there hope for my garden?"})).await;
    let named = until(&house, &chat, |chat| chat["titledBy"] == "model").await;
    assert_eq!(named["title"], "Is there hope for my garden");

    // The next answers leave it, and so does a title of a person's.
    say(&house, &chat, json!({"content": "And for the roses?"})).await;
    house.call(Method::PATCH, &chat, json!({"title": "Roses"})).await.good();
    say(&house, &chat, json!({"content": "Thank you"})).await;
    let known = house.get(&chat).await.good();
    assert_eq!((&known["title"], &known["titledBy"]), (&json!("Roses"), &json!("person")));
}

async fn roleplay_data_is_made_once_for_a_version_and_can_be_edited(house: House) {
    let persona = "/api/storage/personas/innkeeper";
    let chat = begin(&house, "innkeeper").await;
    let made = until(&house, &chat, |chat| !chat["members"][0]["roleplayData"].is_null()).await;
    let data = made["members"][0]["roleplayData"].clone();
    assert!(!data["summary"].as_str().unwrap().is_empty(), "{data}");
    let known = house.get(persona).await.good();
    assert_eq!((&known["roleplayData"], &known["revision"]), (&data, &json!(1)));

    // It goes along with a version that says the same, and not with one that says something else.
    let noted = house.call(Method::PUT, persona, json!({"notes": "Mine."})).await.good();
    assert_eq!(noted["roleplayData"], data);
    let other = json!({"systemPrompt": "You keep a lighthouse now."});
    let moved = house.call(Method::PUT, persona, other).await.good();
    assert_eq!((&moved["revision"], moved.get("roleplayData")), (&json!(3), None));
    post(&house, &format!("{chat}/update-persona"), json!({})).await.good();
    let made = until(&house, &chat, |chat| !chat["members"][0]["roleplayData"].is_null()).await;
    assert_eq!(made["members"][0]["roleplayData"]["summary"], "You keep a lighthouse now.");

    // What a person writes is a version of its own, and stays.
    let own = json!({"roleplayData": {"appearance": "tall", "summary": "A keeper."}});
    let edited = house.call(Method::PUT, persona, own).await.good();
    assert_eq!(edited["revision"], 4);
    let other = json!({"systemPrompt": "You keep a station now."});
    let moved = house.call(Method::PUT, persona, other).await.good();
    assert_eq!(moved["roleplayData"]["summary"], "A keeper.");
}

async fn without_roleplay_data_a_chat_answers_from_the_prompt(house: House) {
    let script = json!({
        "speakers": {"# Draw roleplay data": [{"error": {"fault": "quota", "message": "No."}}]},
        "answers": [[{"text": "Come in."}]],
    });
    let house = house.playing(&script);
    let chat = begin(&house, "innkeeper").await;

    say(&house, &chat, json!({"content": "Hello?"})).await;

    assert_eq!(words(&path(&house, &chat, "").await), ["Hello?", "Come in."]);
    // Whoever waits for it is told; nothing was kept.
    let drawn = house.function("draw_roleplay", &[("id", "innkeeper")]).await;
    assert!(!drawn.status.is_success(), "{}", drawn.text);
    let known = house.get(&chat).await.good();
    assert_eq!(known["members"][0]["roleplayData"], Value::Null);
}

async fn one_without_roleplay_data_does_not_keep_it_from_the_others(house: House) {
    house.persona("ann", "You are Ann.").await;
    house.persona("ben", "You are Ben, who keeps bees.").await;
    // There is no key for it here.
    let dear = json!({"model": "claude-sonnet-5-5"});
    house.call(Method::PUT, "/api/storage/personas/ann", dear).await.good();
    let chat = post(&house, CHATS, json!({"personaIds": ["ann", "ben"]})).await.good();
    let chat = format!("{CHATS}/{}", text(&chat["id"]));

    let made = until(&house, &chat, |chat| !chat["members"][1]["roleplayData"].is_null()).await;

    assert_eq!(made["members"][0]["roleplayData"], Value::Null);
}

/// A house with Ann, whose model is played.
async fn played() -> (FakeService, House) {
    let fake = FakeService::start().await;
    let environment = [("OLLAMA_HOST", fake.address.to_string())];
    let house = House::with_services(&environment, TimeLimits::default()).await;
    house.persona("ann", "You keep bees.").await;
    let model = json!({"model": "ollama/small"});
    house.call(Method::PUT, "/api/storage/personas/ann", model).await.good();
    (fake, house)
}

fn drawn() -> Reply {
    let data = r#"{"appearance": "tall", "summary": "Keeps bees."}"#;
    Reply::stream(wire::answer(Dialect::OpenaiChat, data))
}

fn is_known(chat: &Value) -> bool {
    chat["members"][0]["roleplayData"]["summary"] == "Keeps bees."
}

/// Both chats asked for it.
#[tokio::test]
async fn chats_that_are_begun_at_once_ask_for_roleplay_data_once() {
    let (fake, house) = played().await;
    fake.play([drawn().every(Duration::from_millis(100)), drawn()]);

    let one = begin(&house, "ann").await;
    fake.met(1).await;
    let other = begin(&house, "ann").await;

    for chat in [one, other] {
        until(&house, &chat, is_known).await;
    }
    assert_eq!(fake.asked().len(), 1);
}

/// The first answer was none, and no chat asked again until the program was started anew.
#[tokio::test]
async fn roleplay_data_that_a_model_did_not_give_is_asked_for_by_the_next_chat() {
    let (fake, house) = played().await;
    fake.play([Reply::stream(wire::answer(Dialect::OpenaiChat, "I would rather not.")), drawn()]);

    let one = begin(&house, "ann").await;
    fake.met(1).await;
    let settings = house.get(&format!("{}?settings=1", one.trim_start_matches("/api"))).await;
    assert!(settings.text.contains("nothing yet"), "{}", settings.text);
    // What was answered may take a moment to be given up.
    while !is_known(&house.get(&one).await.good()) {
        begin(&house, "ann").await;
        tokio::task::yield_now().await;
    }

    assert_eq!(fake.asked().len(), 2);
}

async fn how_roleplay_data_comes_is_told_of_the_version_that_speaks(house: House) {
    let quota = json!([{"error": {"fault": "quota", "message": "No."}}]);
    let house = house.playing(&json!({"speakers": {"# Draw roleplay data": quota}, "answers": []}));
    let chat = begin(&house, "innkeeper").await;
    let page = format!("{}?settings=1", chat.replace("/api", ""));
    let there = ": nothing yet. It can be drawn or written there.";
    let here = ": nothing yet. Updating the persona in this chat has it drawn.";

    let shown = house.get(&page).await.text;
    assert!(shown.contains(there) && !shown.contains(here), "{shown}");

    // What is drawn there is another version's from now on.
    let moved = json!({"systemPrompt": "You keep a lighthouse now."});
    house.call(Method::PUT, "/api/storage/personas/innkeeper", moved).await.good();
    let shown = house.get(&page).await.text;
    assert!(shown.contains(here) && !shown.contains(there), "{shown}");
}
