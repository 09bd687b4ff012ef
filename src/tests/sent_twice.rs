//! What is sent twice is said once: whoever did not hear the answer sends the same again.

use axum::http::{Method, StatusCode};
use futures::future::join_all;
use serde_json::{Value, json};

use crate::support::{Answer, House, error, on_both, request, told};

on_both!(
    a_message_that_is_sent_ten_times_is_said_once_everywhere,
    the_same_sent_by_many_at_once_is_said_once,
    several_voices_are_named_again_all_of_them,
    another_conversation_has_names_of_its_own,
    what_a_client_of_the_playground_sends_again_is_said_once,
);

/// The addresses where something is said, with the words in their field.
async fn places(house: &House) -> Vec<(String, Value)> {
    let post = async |path: &str, body: Value| house.call(Method::POST, path, body).await.good();
    let id = |made: &Value| made["id"].as_str().unwrap().to_owned();
    let chat = id(&post("/api/chats", json!({"personaId": "optimist"})).await);
    let ambient = id(&house.get("/api/conversations/ambient").await.good());
    let terminal = id(&post(
        "/api/terminal/sessions",
        json!({"settings": {"model": "demo", "windowSize": 5, "shouldTruncateResults": true}}),
    )
    .await);
    vec![
        (format!("/api/chats/{chat}/messages"), json!({"content": "Hi"})),
        (format!("/api/conversations/{ambient}/messages"), json!({"content": "Hi"})),
        (format!("/api/terminal/sessions/{terminal}/messages"), json!({"content": "Hi"})),
        ("/api/persona-agent/chat".into(), json!({"personaId": "optimist", "message": "Hi"})),
    ]
}

/// The run that an answer names, wherever it names it.
fn run(answer: &Answer) -> String {
    if answer.headers.contains_key("greenroom-run-id") {
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        return answer.header("greenroom-run-id").to_owned();
    }
    let kept = answer.good();
    let run = kept["runId"].as_str().or(kept["run"]["id"].as_str());
    run.unwrap_or_else(|| panic!("no run: {kept}")).to_owned()
}

/// How many messages persons wrote, and how many runs there are, of all conversations.
async fn counts(house: &House) -> usize {
    house.get("/api/traces?limit=200").await.good()["items"].as_array().unwrap().len()
}

async fn ended(house: &House, run: &str) {
    told(&house.send(request(Method::GET, &format!("/api/runs/{run}/events"), None)).await);
}

async fn a_message_that_is_sent_ten_times_is_said_once_everywhere(house: House) {
    for (path, mut body) in places(&house).await {
        body["clientId"] = json!("first-try");
        let before = counts(&house).await;
        let first = run(&house.call(Method::POST, &path, body.clone()).await);
        for _ in 0..9 {
            let again = house.call(Method::POST, &path, body.clone()).await;
            assert_eq!(run(&again), first, "{path}");
        }
        ended(&house, &first).await;
        let after = run(&house.call(Method::POST, &path, body.clone()).await);
        assert_eq!(after, first, "{path}, also after the answer");
        assert_eq!(counts(&house).await, before + 1, "{path}");
        // Another name is another message, and without one each is its own.
        body["clientId"] = json!("second-try");
        let second = run(&house.call(Method::POST, &path, body.clone()).await);
        assert_ne!(second, first, "{path}");
        ended(&house, &second).await;
        body.as_object_mut().unwrap().remove("clientId");
        let third = run(&house.call(Method::POST, &path, body.clone()).await);
        ended(&house, &third).await;
        body["clientId"] = json!("no such name!");
        let refused = house.call(Method::POST, &path, body).await;
        assert_eq!(refused.error(), error(422, "invalid", "clientId"), "{path}");
    }
}

async fn the_same_sent_by_many_at_once_is_said_once(house: House) {
    for (path, mut body) in places(&house).await {
        body["clientId"] = json!("all-at-once");
        let before = counts(&house).await;

        let sent = (0..10).map(|_| house.call(Method::POST, &path, body.clone()));
        let runs: Vec<String> = join_all(sent).await.iter().map(run).collect();

        assert!(runs.iter().all(|one| *one == runs[0]), "{path}: {runs:?}");
        ended(&house, &runs[0]).await;
        assert_eq!(counts(&house).await, before + 1, "{path}");
    }
}

async fn several_voices_are_named_again_all_of_them(house: House) {
    let chat =
        house.call(Method::POST, "/api/chats", json!({"personaId": "optimist"})).await.good();
    let path = format!("/api/chats/{}", chat["id"].as_str().unwrap());
    let with = json!({"members": ["optimist", "skeptic"], "settings": {"answers": "in_parallel"}});
    house.call(Method::PATCH, &path, with).await.good();
    let path = format!("{path}/messages");
    let said = json!({"content": "Hi", "clientId": "both"});

    let first = house.call(Method::POST, &path, said.clone()).await.good();
    let again = house.call(Method::POST, &path, said).await.good();

    assert_eq!(again, first);
    assert_eq!(first["runIds"].as_array().unwrap().len(), 2);
}

async fn another_conversation_has_names_of_its_own(house: House) {
    let mut runs = Vec::new();
    for persona in ["optimist", "skeptic"] {
        let said = json!({"personaId": persona, "message": "Hi", "clientId": "the-same"});
        runs.push(run(&house.call(Method::POST, "/api/persona-agent/chat", said).await));
    }
    assert_ne!(runs[0], runs[1]);
}

async fn what_a_client_of_the_playground_sends_again_is_said_once(house: House) {
    let path = "/api/agents/optimist/playground/chat";
    let said = |id: &str| {
        json!({"id": "a-chat-of-the-client", "trigger": "submit-message",
            "messages": [{"id": id, "role": "user", "parts": [{"type": "text", "text": "Hi"}]}]})
    };
    let first = run(&house.call(Method::POST, path, said("kXvQ2v0mD7TTxVbZ")).await);
    let again = run(&house.call(Method::POST, path, said("kXvQ2v0mD7TTxVbZ")).await);
    let other = run(&house.call(Method::POST, path, said("aaaQ2v0mD7TTxVbZ")).await);

    assert_eq!(again, first);
    assert_ne!(other, first);
    // Who only counts says two things.
    let one = run(&house.call(Method::POST, path, said("1")).await);
    assert_ne!(run(&house.call(Method::POST, path, said("1")).await), one);
}
