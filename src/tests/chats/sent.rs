//! What a model was sent, what the next message takes, and moments that become test inputs.

use axum::http::Method;
use greenroom::providers::{Dialect, TimeLimits};
use serde_json::{Value, json};

use super::{answers, begin, path, post, say, settle, text};
use crate::{
    fake_service::{FakeService, Reply},
    services::wire::{self, Ending},
    support::{House, error, on_both},
};

on_both!(
    what_was_sent_is_told_in_sections_as_it_was_then,
    only_the_last_messages_are_sent,
    nothing_was_sent_for_what_a_person_put_in_other_words,
    a_moment_becomes_a_test_input_with_what_was_said_before,
);

async fn what_was_sent_is_told_in_sections_as_it_was_then(house: House) {
    let house = house.playing(&answers(9));
    let ann = json!({"userPersona": {"name": "Ann", "overview": "A gardener."}});
    let new = json!({"personaId": "optimist", "settings": ann, "title": "Roses"});
    let chat = post(&house, super::CHATS, new).await.good();
    let chat = format!("{}/{}", super::CHATS, text(&chat["id"]));
    let (message, reply) = say(&house, &chat, json!({"content": "Hello"})).await;
    house
        .call(Method::PATCH, &chat, json!({"mode": "story", "settings": {"userPersona": {}}}))
        .await
        .good();

    let sent = house.get(&format!("/api/messages/{reply}/prompt")).await.good();
    let titles: Vec<&Value> =
        sent["sections"].as_array().unwrap().iter().map(|section| &section["title"]).collect();
    assert_eq!((titles[0], titles.last().unwrap()), (&json!("Persona"), &&json!("Roleplay mode")));
    let persona = house.get("/api/storage/personas/optimist").await.good();
    assert_eq!(sent["sections"][0]["text"], persona["systemPrompt"]);
    let all: String =
        sent["sections"].as_array().unwrap().iter().map(|one| text(&one["text"])).collect();
    assert!(all.contains("A gardener.") && all.contains("between Optimist and Ann"), "{all}");
    assert_eq!(
        (&sent["messages"][0]["text"], &sent["firstSent"]),
        (&json!("Hello"), &json!(message))
    );
    assert_eq!((&sent["leftOut"], &sent["model"]), (&json!(0), &json!("demo")));
    assert!(sent["tokens"].as_u64() > Some(100), "{sent}");
    assert_eq!(sent["spent"]["costMicros"], 0);
    assert_eq!(house.get(&format!("/api/messages/{message}/prompt")).await.good(), sent);

    let estimate = house.get(&format!("{chat}/estimate?content=How%20are%20you")).await.good();
    assert_eq!((&estimate["messages"], &estimate["costMicros"]), (&json!(3), &json!(0)));
    assert!(estimate["inputTokens"].as_u64() > Some(100), "{estimate}");
    house
        .call(Method::PATCH, &chat, json!({"settings": {"model": "claude-haiku-5-5"}}))
        .await
        .good();
    let dearer = house.get(&format!("{chat}/estimate?content=Hi")).await.good();
    assert!(dearer["costMicros"].as_u64() > Some(0), "{dearer}");
}

async fn only_the_last_messages_are_sent(house: House) {
    let house = house.playing(&answers(20));
    let chat = begin(&house, "optimist").await;
    house.call(Method::PATCH, &chat, json!({"settings": {"window": 10}})).await.good();
    let mut last = String::new();
    for at in 1..=8 {
        last = say(&house, &chat, json!({"content": format!("Words {at}")})).await.1;
    }

    let sent = house.get(&format!("/api/messages/{last}/prompt")).await.good();

    // Ten messages would begin with an answer: what it answers goes along, so that there are not fewer.
    let messages = sent["messages"].as_array().unwrap();
    assert_eq!((messages.len(), &messages[0]["text"]), (11, &json!("Words 3")));
    assert_eq!((&sent["leftOut"], &sent["window"]), (&json!(4), &json!(10)));
    let foretold = house.get(&format!("{chat}/estimate?content=More")).await.good();
    assert_eq!(foretold["messages"], 11, "{foretold}");
    let page = house.get(&format!("{}?sent={last}", chat.replace("/api", ""))).await.text;
    let told = "4 earlier messages were not sent, the last 11 were";
    assert!(page.replace("<!>", "").contains(told), "{page}");
}

async fn nothing_was_sent_for_what_a_person_put_in_other_words(house: House) {
    let house = house.playing(&answers(9));
    let chat = begin(&house, "optimist").await;
    let (_, reply) = say(&house, &chat, json!({"content": "Hello"})).await;
    let page = chat.replace("/api", "");
    assert!(house.get(&page).await.text.contains(&format!("{page}?sent={reply}")));

    let other = json!({"content": "My own words."});
    let kept = post(&house, &format!("/api/messages/{reply}/edit"), other).await.good();

    let html = house.get(&page).await.text;
    assert!(html.contains("My own words.") && !html.contains("What was sent"), "{html}");
    let sent = house.get(&format!("/api/messages/{}/prompt", text(&kept["id"]))).await;
    assert_eq!(sent.error(), error(404, "not_found", ""));
    house.get(&format!("/api/messages/{reply}/prompt")).await.good();
}

/// A house whose models of OpenAI's are played, with a persona that speaks with one of them.
async fn beekeeper(model: &str, added: Option<Value>) -> (FakeService, House) {
    let fake = FakeService::start().await;
    let environment = [
        ("OPENAI_BASE_URL", format!("http://{}/v1", fake.address)),
        ("OPENAI_API_KEY", "a-key".to_owned()),
    ];
    let house = House::with_services(&environment, TimeLimits::default()).await;
    if let Some(added) = added {
        house.call(Method::PUT, "/api/models", added).await.good();
    }
    // With that, and with a title, nothing else is asked in between.
    let roleplay = json!({"appearance": "tall", "summary": "Keeps bees."});
    let ann = json!({"systemPrompt": "You keep bees.", "model": model, "roleplayData": roleplay});
    house.persona("ann", "").await;
    house.call(Method::PUT, "/api/storage/personas/ann", ann).await.good();
    (fake, house)
}

/// Begins a chat with her.
async fn about_bees(house: &House, settings: Value) -> String {
    let new = json!({"personaId": "ann", "title": "Bees", "settings": settings});
    let chat = post(house, super::CHATS, new).await.good();
    format!("{}/{}", super::CHATS, text(&chat["id"]))
}

fn spoken(said: &str) -> Reply {
    let usage = json!({"prompt_tokens": 1000, "completion_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 400}});
    let dialect = Dialect::OpenaiChat;
    let pieces = [
        wire::opening(dialect),
        wire::words(dialect, &[said]),
        wire::ending(dialect, Ending::Said, &usage),
    ];
    Reply::stream(pieces.concat())
}

/// What is told of a question, as the service gets it.
fn received(sent: &Value) -> Vec<Value> {
    let sections: Vec<String> =
        sent["sections"].as_array().unwrap().iter().map(|one| text(&one["text"])).collect();
    let mut messages = vec![json!({"role": "system", "content": sections.join("\n\n")})];
    let told = |one: &Value| json!({"role": one["role"], "content": one["text"]});
    messages.extend(sent["messages"].as_array().unwrap().iter().map(told));
    messages
}

/// What a service was sent, word by word, is what is told of it, with what came from its cache and what it
/// cost.
#[tokio::test]
async fn what_is_told_is_what_the_service_received() {
    let (fake, house) = beekeeper("gpt-4o", None).await;
    let me = json!({"userPersona": {"name": "Ben", "overview": "A gardener."}});
    let chat = about_bees(&house, me).await;
    fake.play([spoken("Good day."), spoken("They sleep.")]);
    say(&house, &chat, json!({"content": "Hello"})).await;
    let (_, reply) = say(&house, &chat, json!({"content": "How are the bees?"})).await;

    let sent = house.get(&format!("/api/messages/{reply}/prompt")).await.good();

    let asked = fake.asked();
    assert_eq!(asked.len(), 2, "{asked:?}");
    let messages = received(&sent);
    assert_eq!(asked[1].body["messages"], json!(messages));
    assert_eq!(messages.len(), 4);
    assert!(asked[1].body.get("tools").is_none() && sent["tools"] == json!([]));
    assert_eq!((&asked[1].body["model"], &sent["model"]), (&json!("gpt-4o"), &json!("gpt-4o")));
    // 600 at $2.50, 400 at $1.25, 20 at $10.
    assert_eq!(sent["spent"]["costMicros"], 1500 + 500 + 200);
    assert_eq!(sent["cachedShare"], 0.4);
    let page = house.get(&format!("{}?sent={reply}", chat.replace("/api", ""))).await.text;
    let page = page.replace("<!>", "");
    for expected in ["40 % from the cache", "$0.0022", "The whole branch was sent: 3 messages"] {
        assert!(page.contains(expected), "{expected}: {page}");
    }
}

/// What is left free of a small window was left free in the question only, so that more was told than was sent.
#[tokio::test]
async fn what_is_told_is_cut_where_the_question_to_a_small_model_was() {
    let small = json!({
        "id": "openai/small", "service": "openai", "name": "small", "label": "Small", "context": 8000,
        "maxOutput": 6000, "tools": false, "vision": false, "reasoning": false,
    });
    let (fake, house) = beekeeper("openai/small", Some(small)).await;
    let chat = about_bees(&house, json!({"window": 20})).await;
    // A question and its answer are a little smaller than what is left free, so that one more would fit there.
    let (question, answer) = ("x".repeat(800), "y".repeat(100));
    let mut reply = String::new();
    let mut foretold = Value::Null;
    for _ in 0..10 {
        foretold = house.get(&format!("{chat}/estimate?content={question}")).await.good();
        fake.play([spoken(&answer)]);
        reply = say(&house, &chat, json!({"content": question})).await.1;
    }

    let sent = house.get(&format!("/api/messages/{reply}/prompt")).await.good();

    let asked = fake.asked();
    assert_eq!(asked.len(), 10);
    let messages = received(&sent);
    assert_eq!(asked[9].body["messages"], json!(messages));
    let count = messages.len() - 1;
    assert!((3..17).contains(&count), "{count}: some is left out, and not all");
    assert_eq!((&foretold["messages"], &sent["leftOut"]), (&json!(count), &json!(19 - count)));
}

async fn a_moment_becomes_a_test_input_with_what_was_said_before(house: House) {
    let house = house.playing(&answers(20));
    let chat = begin(&house, "optimist").await;
    say(&house, &chat, json!({"content": "One"})).await;
    let (_, reply) = say(&house, &chat, json!({"content": "Two"})).await;

    let made = post(&house, &format!("/api/messages/{reply}/test-input"), json!({})).await;
    assert_eq!(made.status, 201);
    let made = made.json();
    assert_eq!((&made["content"], &made["personaId"]), (&json!("Two"), &json!("optimist")));
    let before =
        json!([{"role": "user", "content": "One"}, {"role": "assistant", "content": "Answer 1."}]);
    assert_eq!(made["history"], before);
    assert!(text(&made["check"]).contains("Answer 2."), "{made}");

    // It is run with what was said before.
    let input = format!("/api/storage/personas/optimist/test-inputs/{}", text(&made["id"]));
    let run = post(&house, &format!("{input}/answers"), json!({})).await.good();
    settle(&house, &json!({"runId": run["id"]})).await;
    let run = house.get(&format!("/api/runs/{}", text(&run["id"]))).await.good();
    let asked = run["messageId"].as_str().unwrap().into();
    let branch = house.read().await.branch(&asked).await.unwrap();
    let said: Vec<String> = branch.iter().map(|message| message.text()).collect();
    assert_eq!(said, ["One", "Answer 1.", "Two"]);

    // An edit of its words leaves the rest.
    let edited = house.call(Method::PUT, &input, json!({"content": "Deux"})).await.good();
    assert_eq!((&edited["history"], &edited["check"]), (&before, &made["check"]));

    // However long it is that a person may say.
    let page = path(&house, &chat, "").await;
    let long = "x".repeat(50_000);
    let edit = json!({"content": long});
    let kept = post(&house, &format!("/api/messages/{}/edit", text(&page["items"][2]["id"])), edit)
        .await
        .good();
    let made =
        post(&house, &format!("/api/messages/{}/test-input", text(&kept["id"])), json!({})).await;
    assert_eq!(made.good()["content"], json!(long));
}
