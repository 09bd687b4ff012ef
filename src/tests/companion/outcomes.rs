//! What the model is told beside the person's words: where they are, and what became of its drafts.

use axum::http::Method;
use greenroom::providers::{Dialect, TimeLimits};
use serde_json::{Value, json};

use super::{ambient, made, say, say_of, waiting};
use crate::{
    fake_service::{FakeService, Reply, Then},
    services::wire::{self, Ending},
    support::{House, on_both, request},
};

on_both!(
    a_rejected_draft_is_told_once_and_not_proposed_again,
    asking_again_leaves_the_drafts_of_the_old_answer_aside,
);

const DIALECT: Dialect = Dialect::OpenaiChat;

/// A house whose companion speaks with a model of a fake service.
async fn house() -> (House, FakeService) {
    let fake = FakeService::start().await;
    let environment = [
        ("OPENAI_BASE_URL", format!("http://{}/v1", fake.address)),
        ("OPENAI_API_KEY", "c4n4ry-0123456789".to_owned()),
    ];
    let house = House::with_services(&environment, TimeLimits::default()).await;
    ambient(&house).await;
    let model = json!({"model": "gpt-4o"});
    house.call(Method::PUT, "/api/storage/personas/companion", model).await.good();
    (house, fake)
}

/// What the last request to the model gave as the person's last message.
fn heard(fake: &FakeService) -> String {
    let body = fake.asked().pop().unwrap().body;
    let messages = body["messages"].as_array().unwrap().clone();
    let last = messages.iter().rfind(|message| message["role"] == "user").unwrap();
    match &last["content"] {
        Value::String(text) => text.clone(),
        parts => parts.to_string(),
    }
}

fn proposing(input: &Value) -> Reply {
    let call = wire::call(DIALECT, "propose_change", input);
    let ending = wire::ending(DIALECT, Ending::Calls, &wire::usage(DIALECT));
    Reply::stream([wire::opening(DIALECT), call, ending].concat())
}

fn saying(words: &str) -> Reply {
    Reply::stream(wire::answer(DIALECT, words))
}

#[tokio::test]
async fn what_the_person_looks_at_and_marks_is_told_to_the_model_and_kept_nowhere() {
    let (house, fake) = house().await;
    let page = made(&house, "pages", json!({"title": "Harbour", "body": "x"})).await;
    fake.play([saying("It is a page.")]);
    let marked = "a-very-marked-passage";
    let view = json!({"entityType": "page", "entityId": page});

    let said = json!({"content": "Where am I?", "view": view, "selection": marked});
    assert_eq!(say_of(&house, said).await.words(), "It is a page.");

    let heard = heard(&fake);
    assert!(heard.contains("[Greenroom, not the person, adds:"), "{heard}");
    assert!(heard.contains("Where am I?") && heard.contains(marked), "{heard}");
    let told = format!("the page “Harbour” (entityType page, entityId {page})");
    assert!(heard.contains(&told), "{heard}");
    let bytes = house.database_bytes();
    let kept = |text: &str| bytes.windows(text.len()).any(|piece| piece == text.as_bytes());
    assert!(kept("Where am I?") && kept("It is a page."), "the messages are kept");
    for text in [marked, "The person is looking at", "not the person, adds"] {
        assert!(!kept(text), "{text} is kept");
    }

    // The next message is not about that page any more.
    fake.play([saying("No.")]);
    say(&house, "And now?").await;
    let last = fake.asked().pop().unwrap().body.to_string();
    assert!(!last.contains(marked) && !last.contains("The person is looking at"), "{last}");
}

#[tokio::test]
async fn the_model_is_told_what_became_of_its_drafts() {
    let (house, fake) = house().await;
    let task =
        |title: &str| json!({"op": "create", "entityType": "task", "task": {"title": title}});
    let mut drafts = Vec::new();
    for title in ["Accepted", "Refused", "Dropped", "Undone", "Waiting"] {
        fake.play([proposing(&task(title)), saying("Drafted.")]);
        drafts.extend(say(&house, title).await.drafts());
    }
    let decide = async |place: usize, verb: &str, body: Value| {
        let path = format!("/api/pending-changes/{}/{verb}", drafts[place]);
        house.call(Method::POST, &path, body).await.good();
    };
    decide(0, "approve", json!({})).await;
    decide(1, "reject", json!({"reason": "Too early in the year."})).await;
    decide(2, "reject", json!({})).await;
    decide(3, "approve", json!({})).await;
    house.call(Method::POST, &format!("/api/changes/{}/undo", drafts[3]), json!({})).await.good();
    fake.asked();

    fake.play([saying("I see.")]);
    say(&house, "So?").await;

    let heard = heard(&fake);
    for part in [
        format!("(draft {}): accepted as you wrote it.", drafts[0]),
        format!("(draft {}): rejected; the person said: Too early in the year.", drafts[1]),
        format!("(draft {}): rejected without a reason.", drafts[2]),
        format!("(draft {}): accepted, and then taken back by the person.", drafts[3]),
    ] {
        assert!(heard.contains(&part), "{part} is not in {heard}");
    }
    assert!(!heard.contains(&drafts[4]), "it still waits: {heard}");

    fake.play([saying("Yes.")]);
    say(&house, "Still?").await;
    let last = fake.asked().pop().unwrap().body.to_string();
    assert!(!last.contains("What became of your drafts"), "told twice: {last}");

    // What was accepted long ago is taken back now.
    house.call(Method::POST, &format!("/api/changes/{}/undo", drafts[0]), json!({})).await.good();
    fake.play([saying("Oh.")]);
    say(&house, "Changed my mind").await;
    let last = fake.asked().pop().unwrap().body.to_string();
    let told = format!("(draft {}): accepted, and then taken back by the person.", drafts[0]);
    assert!(last.contains(&told), "{last}");
    assert!(!last.contains(&format!("(draft {}): rejected", drafts[1])), "{last}");
}

#[tokio::test]
async fn what_became_of_drafts_is_told_whole_beside_a_long_passage_that_was_marked() {
    let (house, fake) = house().await;
    let page = made(&house, "pages", json!({"title": "Harbour", "body": "x"})).await;
    let task = json!({"op": "create", "entityType": "task", "task": {"title": "Ring the bell"}});
    fake.play([proposing(&task), saying("Drafted.")]);
    let draft = say(&house, "Think of a task").await.drafts().remove(0);
    let path = format!("/api/pending-changes/{draft}/reject");
    house.call(Method::POST, &path, json!({"reason": "It is broken."})).await.good();

    fake.play([saying("I see.")]);
    let view = json!({"entityType": "page", "entityId": page});
    // Three bytes each, so that all of them are more than is told beside a question.
    let marked = "港".repeat(8_000);
    say_of(&house, json!({"content": "So?", "view": view, "selection": marked})).await;

    let heard = heard(&fake);
    let told = format!("(draft {draft}): rejected; the person said: It is broken.");
    assert!(heard.contains(&told), "{told} is not in {heard}");
    assert!(heard.contains("港港") && heard.contains(" more bytes were left out)"), "{heard}");
}

#[tokio::test]
async fn the_model_is_told_which_fields_the_person_took_and_which_they_reworded() {
    let (house, fake) = house().await;
    let page = |title: &str| json!({"op": "create", "entityType": "page", "page": {"title": title, "body": "Wet."}});
    let mut drafts = Vec::new();
    for title in ["Fog", "Mist"] {
        fake.play([proposing(&page(title)), saying("Drafted.")]);
        drafts.extend(say(&house, "Write it down").await.drafts());
        let path = format!("/api/pending-changes/{}/approve", drafts[drafts.len() - 1]);
        let own = if drafts.len() == 1 { json!({}) } else { json!({"patch": {"body": "Cold."}}) };
        house.call(Method::POST, &path, own).await.good();
        fake.play([saying("I see.")]);
        say(&house, "So?").await;
        let (draft, heard) = (drafts[drafts.len() - 1].as_str(), heard(&fake));
        let told = match drafts.len() {
            1 => format!("(draft {draft}): accepted as you wrote it."),
            _ => format!(
                "(draft {draft}): accepted, but not as you wrote it: the text was reworded by the \
                 person, the title was taken whole; read it again before you change it."
            ),
        };
        assert!(heard.contains(&told), "{told} is not in {heard}");
    }
}

#[tokio::test]
async fn words_of_the_person_that_stood_in_conflict_are_not_told_as_the_models_own() {
    let (house, fake) = house().await;
    let page = made(&house, "pages", json!({"title": "Fog", "body": "Wet."})).await;
    let read = wire::call(DIALECT, "read", &json!({"entityType": "page", "entityId": page}));
    let ending = wire::ending(DIALECT, Ending::Calls, &wire::usage(DIALECT));
    let reading = Reply::stream([wire::opening(DIALECT), read, ending].concat());
    let wish =
        json!({"op": "update", "entityType": "page", "entityId": page, "page": {"body": "Cold."}});
    fake.play([reading, proposing(&wish), saying("Drafted.")]);
    let draft = say(&house, "Change it").await.drafts().remove(0);
    let edited = json!({"body": "Grey."});
    house.call(Method::PUT, &format!("/api/storage/pages/{page}"), edited).await.good();
    let path = format!("/api/pending-changes/{draft}/approve");
    let own = |seen: i64| json!({"revision": seen, "patch": {"body": "Thick."}});
    let refused = house.call(Method::POST, &path, own(1)).await;
    assert_eq!(refused.status, 409, "{}", refused.text);
    house.call(Method::POST, &path, own(2)).await.good();

    fake.play([saying("I see.")]);
    say(&house, "So?").await;

    let told = format!(
        "(draft {draft}): accepted, but not as you wrote it: the text was reworded by the person; \
         read it again before you change it."
    );
    let heard = heard(&fake);
    assert!(heard.contains(&told), "{told} is not in {heard}");
}

#[tokio::test]
async fn the_first_question_asked_again_tells_what_became_of_its_drafts() {
    let (house, fake) = house().await;
    let task =
        |title: &str| json!({"op": "create", "entityType": "task", "task": {"title": title}});
    fake.play([proposing(&task("Ring the bell")), saying("Drafted.")]);
    let first = say(&house, "Think of a task").await;
    let draft = first.drafts().remove(0);
    let path = format!("/api/pending-changes/{draft}/reject");
    house.call(Method::POST, &path, json!({"reason": "It is broken."})).await.good();
    fake.asked();

    fake.play([saying("Then not.")]);
    let path = format!("/api/runs/{}/retry", first.run);
    let again = house.call(Method::POST, &path, json!({})).await.good();
    house.get(&format!("/api/runs/{}/events", again["id"].as_str().unwrap())).await;

    let told = format!("(draft {draft}): rejected; the person said: It is broken.");
    let heard = heard(&fake);
    assert!(heard.contains(&told), "{told} is not in {heard}");
}

async fn asking_again_leaves_the_drafts_of_the_old_answer_aside(house: House) {
    let first = say(&house, "Add a task 'Ring the bell'").await;
    let draft = first.drafts().remove(0);

    let path = format!("/api/runs/{}/retry", first.run);
    let again = house.call(Method::POST, &path, json!({})).await.good();
    house.get(&format!("/api/runs/{}/events", again["id"].as_str().unwrap())).await;

    let old = house.get(&format!("/api/pending-changes/{draft}")).await.good();
    assert_eq!(old["state"], "superseded");
    let runs: Vec<_> =
        waiting(&house).await.iter().map(|d| d["proposedBy"]["runId"].clone()).collect();
    assert_eq!(runs, [again["id"].clone()]);
}

#[tokio::test]
async fn asking_again_and_going_on_are_about_what_the_person_looked_at() {
    let (house, fake) = house().await;
    let page = made(&house, "pages", json!({"title": "Harbour", "body": "x"})).await;
    let marked = "a-very-marked-passage";
    let view = json!({"entityType": "page", "entityId": page});
    let said = json!({"content": "What is this?", "view": view, "selection": marked});
    let post = async |run: &str, verb: &str| {
        let path = format!("/api/runs/{run}/{verb}");
        let run = house.call(Method::POST, &path, json!({})).await.good();
        run["id"].as_str().unwrap().to_owned()
    };

    fake.play([Reply::status(401, json!({"error": {"message": "no"}}))]);
    let failed = say_of(&house, said).await;
    assert_eq!(failed.names().last(), Some(&"error"), "{:?}", failed.events);
    fake.play([Reply::stream(wire::begun(DIALECT, "It is a")).then(Then::Stall)]);
    let broken = post(&failed.run, "retry").await;
    let path = format!("/api/runs/{broken}/events");
    house.stream(request(Method::GET, &path, None)).await.until("text").await;
    assert!(heard(&fake).contains(marked), "asked again");
    post(&broken, "stop").await;
    fake.play([saying(" harbour.")]);
    let last = post(&broken, "continue").await;
    house.get(&format!("/api/runs/{last}/events")).await;
    let body = fake.asked().pop().unwrap().body.to_string();
    assert!(body.contains("Go on exactly") && body.contains(marked), "{body}");
}

async fn a_rejected_draft_is_told_once_and_not_proposed_again(house: House) {
    let draft = say(&house, "Add a task 'Ring the bell'").await.drafts().remove(0);
    let path = format!("/api/pending-changes/{draft}/reject");
    house.call(Method::POST, &path, json!({"reason": "It is broken"})).await.good();

    let next = say(&house, "Thanks").await;

    assert_eq!(next.drafts(), Vec::<String>::new());
    let words = next.words();
    assert!(words.starts_with("You did not want my draft"), "{words}");
    assert!(words.contains("because “It is broken”"), "{words}");
    assert_eq!(say(&house, "Thanks").await.words(), "You are welcome.");
}
