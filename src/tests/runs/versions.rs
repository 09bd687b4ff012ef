//! What a person writes between two answers is not lost to what the agent writes from memory.

use axum::http::Method;
use serde_json::{Value, json};

use super::{results, say};
use crate::support::{House, on_both};

on_both!(
    a_prompt_that_is_replaced_from_memory_keeps_what_the_person_wrote_since,
    a_test_input_that_is_replaced_from_memory_keeps_what_the_person_wrote_since,
    an_agent_whose_draft_does_not_fit_is_told_so_at_once_and_makes_another,
);

const PERSONA: &str = "/api/storage/personas/optimist";

/// What the agent is told by one tool, in an answer of its own, and whether that is a failure.
async fn told_by(house: &House, tool: &str, input: Value) -> (String, bool) {
    let house = house.playing(&json!({"answers": [
        [{"call": {"name": tool, "input": input}}], [{"text": "So be it."}], [{"text": "Yes."}],
    ]}));
    let events = say(&house, "Go on").await;
    let results = results(&events);
    assert_eq!(results.len(), 1, "{events:?}");
    (results[0].0.to_owned(), results[0].1)
}

/// The same of what works.
async fn done_by(house: &House, tool: &str, input: Value) -> Value {
    let (told, is_error) = told_by(house, tool, input).await;
    assert!(!is_error, "{tool}: {told}");
    serde_json::from_str(&told).unwrap()
}

/// The agent replaces the prompt whole, without a look at it.
fn prompt(text: &str) -> Value {
    json!({"systemPrompt": text})
}

async fn write(house: &House, fields: Value) {
    house.call(Method::PUT, PERSONA, fields).await.good();
}

async fn written(house: &House) -> Value {
    house.get(PERSONA).await.good()["systemPrompt"].clone()
}

async fn a_prompt_that_is_replaced_from_memory_keeps_what_the_person_wrote_since(house: House) {
    const REPLACE: &str = "update_system_prompt";
    write(&house, prompt("One two three.")).await;
    let seen = done_by(&house, "get_persona", json!({})).await;
    assert_eq!(seen["revision"], house.get(PERSONA).await.good()["revision"]);
    write(&house, prompt("ONE two three.")).await;

    done_by(&house, REPLACE, prompt("One two THREE.")).await;
    assert_eq!(written(&house).await, "ONE two THREE.");

    // It was merged, and still the agent has not read what the person wrote.
    let (told, is_error) = told_by(&house, REPLACE, prompt("Uno two THREE.")).await;
    let sentence = "The person changed the same passage of the system prompt meanwhile.";
    assert!(is_error && told.starts_with(sentence) && told.ends_with("ONE two THREE."), "{told}");
    assert_eq!(written(&house).await, "ONE two THREE.");

    done_by(&house, "get_persona", json!({})).await;
    done_by(&house, REPLACE, prompt("Uno two THREE.")).await;
    // What it wrote itself it knows.
    done_by(&house, REPLACE, prompt("Uno dos tres.")).await;
    assert_eq!(written(&house).await, "Uno dos tres.");

    // A name is given anew, whatever it was.
    write(&house, json!({"name": "Ann"})).await;
    done_by(&house, "update_persona_name", json!({"name": "Bo"})).await;
    assert_eq!(house.get(PERSONA).await.good()["name"], "Bo");
}

#[tokio::test]
async fn a_draft_that_was_accepted_as_it_was_is_known_to_the_agent() {
    let house = House::new().await;
    let mut text = prompt("One two three.");
    text["tier"] = json!("suggest");
    write(&house, text).await;
    done_by(&house, "get_persona", json!({})).await;
    for text in ["One two THREE.", "Uno dos tres."] {
        let draft = done_by(&house, "update_system_prompt", prompt(text)).await;

        let path = format!("/api/pending-changes/{}/approve", draft["changeId"].as_str().unwrap());
        house.call(Method::POST, &path, json!({})).await.good();

        assert_eq!(written(&house).await, text);
    }
}

/// It was told that its draft waits, and not to propose it again.
async fn an_agent_whose_draft_does_not_fit_is_told_so_at_once_and_makes_another(house: House) {
    const REPLACE: &str = "update_system_prompt";
    write(&house, json!({"systemPrompt": "One two three.", "tier": "suggest"})).await;
    done_by(&house, "get_persona", json!({})).await;
    write(&house, prompt("Eins two three.")).await;

    let draft = done_by(&house, REPLACE, prompt("Uno two three.")).await;

    let told = json!({
        "state": "conflict",
        "message": "This is a draft now, but it does not fit: the same passage was changed since you \
                    read it. Read it again, and propose it anew for what it says now.",
        "changeId": draft["changeId"],
    });
    assert_eq!(draft, told);
    done_by(&house, "get_persona", json!({})).await;
    let anew = done_by(&house, REPLACE, prompt("Un two three.")).await;
    assert_eq!(anew["state"], "pending");
    let state = async |draft: &Value| {
        let path = format!("/api/pending-changes/{}", draft["changeId"].as_str().unwrap());
        house.get(&path).await.good()["state"].clone()
    };
    assert_eq!((state(&draft).await, state(&anew).await), (json!("superseded"), json!("pending")));
}

async fn a_test_input_that_is_replaced_from_memory_keeps_what_the_person_wrote_since(house: House) {
    const REPLACE: &str = "update_test_input";
    let path = format!("{PERSONA}/test-inputs");
    let made = house.call(Method::POST, &path, json!({"content": "One two three?"})).await.good();
    let id = made["id"].as_str().unwrap().to_owned();
    let path = format!("{path}/{id}");
    let asks = |text: &str| json!({"id": id, "content": text});
    let asked = async || house.get(&path).await.good()["content"].clone();
    let list = done_by(&house, "list_test_inputs", json!({})).await;
    let listed = list["testInputs"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(listed, json!({"id": id, "content": "One two three?", "revision": 1}));
    house.call(Method::PUT, &path, json!({"content": "ONE two three?"})).await.good();

    done_by(&house, REPLACE, asks("One two THREE?")).await;
    assert_eq!(asked().await, "ONE two THREE?");

    let (told, is_error) = told_by(&house, REPLACE, asks("Uno two THREE?")).await;
    let sentence = "The person changed the same passage of the test input meanwhile.";
    assert!(is_error && told.starts_with(sentence), "{told}");
    assert_eq!(asked().await, "ONE two THREE?");

    let seen = done_by(&house, "get_test_input", json!({"id": id})).await;
    assert_eq!(seen, json!({"id": id, "content": "ONE two THREE?", "revision": 3}));
    done_by(&house, REPLACE, asks("Uno two THREE?")).await;
    assert_eq!(asked().await, "Uno two THREE?");
}

#[tokio::test]
async fn a_test_input_of_which_only_the_beginning_was_shown_is_read_before_it_is_replaced() {
    let house = House::new().await;
    let path = format!("{PERSONA}/test-inputs");
    let long = format!("{}the end?", "word ".repeat(200));
    let made = house.call(Method::POST, &path, json!({"content": long})).await.good();
    let path = format!("{path}/{}", made["id"].as_str().unwrap());
    let asks = json!({"id": made["id"], "content": "Short?"});
    let look = json!({"ids": [made["id"]]});

    for (tool, input) in [("run_test_inputs", look), ("list_test_inputs", json!({}))] {
        done_by(&house, tool, input).await;
        let (told, is_error) = told_by(&house, "update_test_input", asks.clone()).await;
        assert!(is_error && told.ends_with("with get_test_input first."), "{tool}: {told}");
        assert_eq!(house.get(&path).await.good()["content"], long);
    }

    done_by(&house, "get_test_input", json!({"id": made["id"]})).await;
    done_by(&house, "update_test_input", asks).await;
    assert_eq!(house.get(&path).await.good()["content"], "Short?");
}
