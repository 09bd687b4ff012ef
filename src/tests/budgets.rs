//! Limits that a Space sets: what is over them is refused with what was taken, and nothing is kept of it.

use axum::http::Method;
use serde_json::{Value, json};

use crate::support::{House, error, on_both, request};

on_both!(
    a_day_that_is_used_up_refuses_every_surface,
    a_conversation_that_is_used_up_is_told_and_another_goes_on,
    a_person_begins_so_many_runs_in_a_minute,
    a_service_is_asked_so_often_in_a_minute,
    one_run_is_held_to_its_tokens,
    odd_limits_are_refused_and_change_nothing,
);

const BUDGETS: &str = "/api/budgets";

async fn set(house: &House, budgets: Value) {
    house.call(Method::PUT, BUDGETS, budgets).await.good();
}

async fn ask(house: &House, persona: &str) -> crate::support::Answer {
    let body = json!({"personaId": persona, "message": "What is your name?"});
    house.call(Method::POST, "/api/persona-agent/chat", body).await
}

async fn a_day_that_is_used_up_refuses_every_surface(house: House) {
    assert_eq!(ask(&house, "optimist").await.status, 200);
    let taken = house.get(BUDGETS).await.good()["today"]["tokens"].as_u64().unwrap();
    assert!(taken > 0);
    set(&house, json!({"dayTokens": taken})).await;

    let limited = error(429, "limited", "");
    let history = house.get("/api/persona-agent/history?personaId=optimist").await.good();
    assert_eq!(ask(&house, "optimist").await.error(), limited);
    let said = json!({"messages": [{"role": "user", "content": "Hi"}]});
    let played = house.call(Method::POST, "/api/agents/optimist/playground/chat", said).await;
    assert_eq!(played.error(), limited);
    let chat = house.call(Method::POST, "/api/chats", json!({"personaId": "skeptic"})).await.good();
    let path = format!("/api/chats/{}/messages", chat["id"].as_str().unwrap());
    let said = house.call(Method::POST, &path, json!({"content": "Hi"})).await;
    assert_eq!(said.error(), limited);
    assert!(said.text.contains("midnight"), "{}", said.text);
    assert_eq!(house.get("/api/persona-agent/history?personaId=optimist").await.good(), history);
    assert_eq!(house.get(&path).await.good()["items"], json!([]), "nothing was kept of it");

    set(&house, json!({"dayTokens": taken + 100_000})).await;
    assert_eq!(ask(&house, "optimist").await.status, 200);
}

async fn a_conversation_that_is_used_up_is_told_and_another_goes_on(house: House) {
    house.dear_model().await;
    assert_eq!(ask(&house, "optimist").await.status, 200);
    set(&house, json!({"sessionDollars": 0.000_001})).await;

    let refused = ask(&house, "optimist").await;
    assert_eq!(refused.error(), error(429, "limited", ""));
    assert_eq!(refused.header("retry-after"), "", "time alone does not help");
    assert_eq!(ask(&house, "skeptic").await.status, 200);
}

async fn a_person_begins_so_many_runs_in_a_minute(house: House) {
    set(&house, json!({"runsPerMinute": 2})).await;
    assert_eq!(ask(&house, "optimist").await.status, 200);
    assert_eq!(ask(&house, "skeptic").await.status, 200);

    let refused = ask(&house, "optimist").await;
    assert_eq!(refused.error(), error(429, "limited", ""));
    let wait: u64 = refused.header("retry-after").parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    assert_eq!(refused.json()["error"]["retryAfter"], wait);
    // The neighbour has a count of their own.
    let neighbour = house.neighbour().await;
    set(&neighbour, json!({"runsPerMinute": 2})).await;
    assert_eq!(ask(&neighbour, "optimist").await.status, 200);
}

async fn a_service_is_asked_so_often_in_a_minute(house: House) {
    set(&house, json!({"servicePerMinute": 1})).await;
    assert_eq!(ask(&house, "optimist").await.status, 200);

    let refused = ask(&house, "skeptic").await;
    assert_eq!(refused.error(), error(429, "limited", ""));
    assert!(refused.text.contains("Demo"), "it names the service: {}", refused.text);
}

async fn one_run_is_held_to_its_tokens(house: House) {
    let playing = house.playing(&json!({"answers": [
        [{"text": "one"}, {"call": {"name": "get_persona", "input": {}}}, {"usage": {"input": 5, "output": 50}}],
        [{"text": "never said"}],
    ]}));
    set(&playing, json!({"runTokens": 40})).await;

    let told = ask(&playing, "optimist").await;

    assert_eq!(told.status, 200);
    assert!(!told.text.contains("never said"), "{}", told.text);
    assert!(told.text.contains("wrote as much as it may"), "{}", told.text);
}

async fn odd_limits_are_refused_and_change_nothing(house: House) {
    set(&house, json!({"dayDollars": 5.0})).await;
    for (body, field) in [
        (json!({"dayDollars": -1}), "dayDollars"),
        (json!({"runsPerMinute": 0}), "runsPerMinute"),
        (json!({"dayTokens": "many"}), "dayTokens"),
        (json!({"colour": 1}), "colour"),
    ] {
        let answer = house.call(Method::PUT, BUDGETS, body.clone()).await;
        assert_eq!(answer.error(), error(422, "invalid", field), "{body}");
    }
    let budgets = house.get(BUDGETS).await.good()["budgets"].clone();
    assert_eq!((&budgets["dayDollars"], &budgets["dayTokens"]), (&json!(5.0), &Value::Null));

    let form = [("limits[day_dollars]", "5"), ("limits[runs_per_minute]", "")];
    assert_eq!(house.function("save_budgets", &form).await.status, 200);
    let odd = [("limits[day_dollars]", "much")];
    assert_eq!(house.function("save_budgets", &odd).await.status, 422);
    let page = house.send(request(Method::GET, "/settings", None)).await;
    assert!(page.text.contains("Taken today: $0.00 of $5.00"), "the page tells what remains");
}
