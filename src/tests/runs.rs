//! Runs: the loop against scripted answers, watching from anywhere, stopping, repeating, recovering.

mod limits;
mod recovery;
mod test_inputs;
mod versions;
mod watching;

use axum::http::{Method, StatusCode, header};
use serde_json::{Value, json};

use crate::support::{Events, House, error, on_both, request, told};

on_both!(
    a_second_message_has_to_wait_and_a_stop_keeps_the_words,
    every_watcher_is_told_the_same_from_wherever_it_comes_in,
    two_messages_in_the_same_moment_start_one_run,
    a_persona_that_is_purged_while_its_agent_speaks_does_not_hold_up_others,
);

const CHAT: &str = "/api/persona-agent/chat";

fn saying(message: &str) -> axum::http::Request<axum::body::Body> {
    let said = json!({"personaId": "optimist", "message": message});
    request(Method::POST, CHAT, Some(said.to_string().into_bytes()))
}

/// Says something and gives all that is told, to the end.
async fn say(house: &House, message: &str) -> Vec<Value> {
    told(&house.send(saying(message)).await)
}

/// The words of a persona's conversation, by who said them.
async fn turns(house: &House) -> Vec<(String, String)> {
    let history = house.get("/api/persona-agent/history?personaId=optimist").await.good();
    let text = |turn: &Value| match turn["type"].as_str().unwrap() {
        "tool_call" => turn["toolName"].as_str().unwrap().to_owned(),
        "tool_result" => turn["output"].as_str().unwrap().to_owned(),
        _ => turn["content"].as_str().unwrap().to_owned(),
    };
    let turns = history["turns"].as_array().unwrap().iter();
    turns.map(|turn| (turn["type"].as_str().unwrap().to_owned(), text(turn))).collect()
}

fn turn(kind: &str, text: &str) -> (String, String) {
    (kind.into(), text.into())
}

async fn run(house: &House, id: &str) -> Value {
    house.get(&format!("/api/runs/{id}")).await.good()
}

fn watching(id: &str, after: u64) -> axum::http::Request<axum::body::Body> {
    request(Method::GET, &format!("/api/runs/{id}/events?after={after}"), None)
}

/// Waits for a text event of a run and gives all words up to it.
async fn some_words(events: &mut Events) -> String {
    events.until("text_delta").await["content"].as_str().unwrap().to_owned()
}

async fn a_second_message_has_to_wait_and_a_stop_keeps_the_words(house: House) {
    let house = house.playing(&json!({"answers": [[{"text": "Once "}, "stall"]]}));
    let mut first = house.stream(saying("Tell me a story")).await;
    assert_eq!(some_words(&mut first).await, "Once ");

    let second = house.send(saying("Hurry")).await;
    assert_eq!(second.error(), error(409, "busy", ""));
    assert_eq!(second.json()["error"]["runId"], first.run());
    assert_eq!(turns(&house).await.len(), 2, "the refused message is not kept");

    // From another tab.
    let path = format!("/api/runs/{}/stop", first.run());
    let stopped = house.call(Method::POST, &path, json!({})).await.good();
    assert_eq!((&stopped["status"], &stopped["canContinue"]), (&json!("stopped"), &json!(true)));
    assert_eq!(first.until("text_complete").await["content"], "Once ");
    assert_eq!(first.next().await.map(|(_, data)| data), Some(json!({"type": "done"})));
    assert_eq!(
        turns(&house).await,
        [turn("user", "Tell me a story"), turn("assistant_text", "Once ")]
    );
    assert_eq!(house.call(Method::POST, &path, json!({})).await.good()["status"], "stopped");
}

/// An event as every watcher is told it. Words that came close together are kept as one, with the moment of the
/// first of them.
fn told_to_all(mut event: Value) -> Value {
    if event["type"] == "text" {
        event.as_object_mut().unwrap().remove("at");
    }
    event
}

async fn every_watcher_is_told_the_same_from_wherever_it_comes_in(house: House) {
    let house = house.playing(&json!({"answers": [
        [{"text": "Let me look. "}, {"call": {"name": "get_persona", "input": {}}}],
        [{"repeat": {"times": 120, "text": "word ", "every_ms": 0}}, "stall"],
    ]}));
    let chat = house.stream(saying("Look")).await;
    let id = chat.run();
    let mut early = house.stream(watching(&id, 0)).await;
    // Leaving does not stop anything.
    drop(chat);
    let mut seen = Vec::new();
    let mut words = 0;
    while words < 120 {
        let (seq, event) = early.next().await.unwrap();
        words += usize::from(event["type"] == "text" && event["delta"] == "word ");
        seen.push((seq.unwrap(), told_to_all(event)));
    }
    let mut late = house.stream(watching(&id, 0)).await;
    let mut middle = house.stream(watching(&id, 50)).await;
    let next = async |watcher: &mut Events| {
        let (seq, event) = watcher.next().await.unwrap();
        (seq.unwrap(), told_to_all(event))
    };
    for one in &seen {
        assert_eq!(next(&mut late).await, *one);
        if one.0 > 50 {
            assert_eq!(next(&mut middle).await, *one);
        }
    }
    house.call(Method::POST, &format!("/api/runs/{id}/stop"), json!({})).await.good();
    let end = early.until("ended").await;
    assert_eq!(late.until("ended").await, end);
    assert_eq!(middle.until("ended").await, end);

    // Afterwards it is all in the log, one number after another.
    let all = house.send(watching(&id, 0)).await;
    let again: Vec<Value> = told(&all).into_iter().map(told_to_all).collect();
    assert_eq!(
        again[..seen.len()],
        seen.iter().map(|(_, event)| event.clone()).collect::<Vec<_>>()
    );
    let ids: Vec<u64> =
        all.text.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok()).collect();
    assert_eq!(ids, (1..=again.len() as u64).collect::<Vec<_>>());
    let last = again.len() as u64;
    assert_eq!(told(&house.send(watching(&id, last + 500)).await), [end], "beyond the end");
    let mut reconnecting = watching(&id, 0);
    reconnecting.headers_mut().insert("last-event-id", last.into());
    assert_eq!(house.send(reconnecting).await.status, StatusCode::NO_CONTENT);
    let mut odd = watching(&id, 0);
    odd.headers_mut().insert("last-event-id", header::HeaderValue::from_static("x"));
    assert_eq!(house.send(odd).await.error(), error(400, "malformed", ""));
}

#[tokio::test]
async fn an_answer_that_was_cut_off_can_be_gone_on_with() {
    let house = House::new().await.playing(&json!({"answers": [
        [{"text": "One, two"}, {"stop": "max_tokens"}], [{"text": ", three."}],
    ]}));
    let mut chat = house.stream(saying("Count")).await;
    let cut = chat.until("error").await;
    assert!(cut["message"].as_str().unwrap().contains("cut off"), "{cut}");

    let path = format!("/api/runs/{}/continue", chat.run());
    let on = house.call(Method::POST, &path, json!({})).await.good();
    told(&house.send(watching(on["id"].as_str().unwrap(), 0)).await);

    let words = turns(&house).await;
    assert_eq!(words.len(), 4);
    assert_eq!((&words[1].1, &words[3].1), (&"One, two".into(), &", three.".into()));
}

#[tokio::test]
async fn the_demo_goes_on_where_it_was_stopped() {
    // The beginning of what it says by itself.
    let house = House::new().await.playing(&json!({"answers": [[{"text": "6*7 "}, "stall"]]}));
    let mut chat = house.stream(saying("What is 6*7?")).await;
    some_words(&mut chat).await;
    let path = format!("/api/runs/{}", chat.run());
    house.call(Method::POST, &format!("{path}/stop"), json!({})).await.good();

    let on = house.call(Method::POST, &format!("{path}/continue"), json!({})).await.good();
    told(&house.send(watching(on["id"].as_str().unwrap(), 0)).await);

    let words = turns(&house).await;
    assert_eq!(words.len(), 4, "{words:?}");
    assert_eq!(format!("{}{}", words[1].1, words[3].1), "6*7 = 42.");
}

async fn two_messages_in_the_same_moment_start_one_run(house: House) {
    let house = house.playing(&json!({"answers": [["stall"], ["stall"]]}));
    let (one, two) = tokio::join!(house.status(saying("One")), house.status(saying("Two")),);

    let mut statuses = [one.as_u16(), two.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409]);
    assert_eq!(turns(&house).await.len(), 1);
}

/// What the agent says and does when the model plays this.
async fn played(answers: Value) -> (Vec<Value>, Vec<(String, String)>) {
    let house = House::new().await.playing(&json!({"loop": false, "answers": answers}));
    let events = say(&house, "Go").await;
    (events, turns(&house).await)
}

fn results(events: &[Value]) -> Vec<(&str, bool)> {
    let results = events.iter().filter(|event| event["type"] == "tool_result");
    results
        .map(|event| (event["output"].as_str().unwrap(), event["isError"].as_bool().unwrap()))
        .collect()
}

#[tokio::test]
async fn several_steps_and_calls_side_by_side_end_with_words() {
    let (events, turns) = played(json!([
        [{"text": "Looking."}, {"call": {"name": "get_persona", "input": {}}},
            {"call": {"name": "list_test_inputs", "input": {}}}],
        [{"call": {"name": "update_persona_name", "input": {"name": "A"}}},
            {"call": {"name": "update_persona_name", "input": {"name": "B"}}}],
        [{"text": "Done."}],
    ]))
    .await;

    assert_eq!(results(&events).len(), 4);
    assert!(results(&events).iter().all(|(_, is_error)| !is_error), "{events:?}");
    let kinds: Vec<&str> = turns.iter().map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(
        kinds,
        [
            "user",
            "assistant_text",
            "tool_call",
            "tool_call",
            "tool_result",
            "tool_result",
            "tool_call",
            "tool_call",
            "tool_result",
            "tool_result",
            "assistant_text"
        ]
    );
    // What writes is run in its order.
    assert!(turns[8].1.contains("“A”") && turns[9].1.contains("“B”"), "{turns:?}");
}

#[tokio::test]
async fn what_a_model_gets_wrong_is_told_to_it() {
    let (events, _) = played(json!([
        [{"call": {"name": "make_coffee", "input": {}}},
            {"call": {"name": "update_persona_name", "input": {"nome": 1}}},
            {"call": {"name": "update_persona_name", "input": {"name": ""}}},
            {"call": {"name": "patch_system_prompt", "input": {"edits": [{"find": "zzz", "replace": ""}]}}},
            {"broken_call": {"name": "get_persona", "raw": "{\"a\":"}}],
        [{"text": "I see."}],
    ]))
    .await;

    let told = results(&events);
    assert!(told.iter().all(|(_, is_error)| *is_error), "{told:?}");
    let all: String = told.iter().map(|(output, _)| *output).collect::<Vec<_>>().join("\n");
    for part in [
        "no tool “make_coffee”",
        "update_persona_name has no “nome”. It takes “name”.",
        "must not be empty",
        "does not occur",
        "not a JSON object",
    ] {
        assert!(all.contains(part), "{part} is not in {all}");
    }
    assert_eq!(events.last(), Some(&json!({"type": "done"})));
}

#[tokio::test]
async fn a_model_that_turns_in_circles_is_ended_politely() {
    let house = House::new().await.playing(&json!({"loop": true, "answers": [
        [{"call": {"name": "get_persona", "input": {}}}],
    ]}));

    let events = say(&house, "Go").await;

    let last = events.last().unwrap();
    assert_eq!(last["type"], "error");
    assert!(last["message"].as_str().unwrap().contains("over and over"), "{last}");
}

#[tokio::test]
async fn a_call_in_a_cut_off_answer_is_not_run() {
    let house = House::new().await.playing(&json!({"answers": [[
        {"text": "I will rename it."},
        {"call": {"name": "update_persona_name", "input": {"name": "Cut"}}},
        {"broken_call": {"name": "update_system_prompt", "raw": "{\"systemPrompt\": \"Half"}},
        {"stop": "max_tokens"},
    ]]}));

    let events = say(&house, "Go").await;

    assert_eq!(house.get("/api/storage/personas/optimist").await.good()["name"], "Optimist");
    assert!(
        results(&events)
            .iter()
            .all(|(output, is_error)| *is_error && output.starts_with("Not run."))
    );
    assert_eq!(events.last().unwrap()["type"], "error");
}

#[tokio::test]
async fn a_refusal_and_a_full_context_end_with_a_sentence() {
    let (refused, turns) = played(json!([[{"text": "I will not."}, {"stop": "refusal"}]])).await;
    assert_eq!(turns[1], turn("assistant_text", "I will not."));
    assert!(refused.last().unwrap()["message"].as_str().unwrap().contains("refused"));

    let (full, _) = played(json!([[{"stop": "context_exceeded"}]])).await;
    assert!(full.last().unwrap()["message"].as_str().unwrap().contains("longer than this model"));

    let overloaded =
        json!([[{"text": "Half"}, {"error": {"fault": "overloaded", "message": "busy"}}]]);
    let (failed, turns) = played(overloaded).await;
    assert!(failed.last().unwrap()["message"].as_str().unwrap().contains("overloaded"));
    assert_eq!(turns[1], turn("assistant_text", "Half"));
}

#[tokio::test]
async fn the_settings_of_services_and_models_are_checked_and_take_effect() {
    let house = House::new().await;
    let models = house.get("/api/models").await.good();
    assert_eq!(models["defaultModel"], "demo");
    let service = |word: &str, url: &str, key: &str| json!({"service": word, "label": "Mine", "dialect": "openai-chat", "baseUrl": url, "keyRef": key});
    let put = async |body: Value| house.call(Method::PUT, "/api/services", body).await;
    assert_eq!(put(service("mine", "ftp://x", "")).await.error(), error(422, "invalid", "baseUrl"));
    assert_eq!(
        put(service("mine", "http://u:p@x", "")).await.error(),
        error(422, "invalid", "baseUrl")
    );
    assert_eq!(
        put(service("mine", "http://x/v1", "sk-123")).await.error(),
        error(422, "invalid", "keyRef")
    );
    assert_eq!(
        put(service("a b", "http://x/v1", "")).await.error(),
        error(422, "invalid", "service")
    );
    assert_eq!(
        put(service("anthropic", "http://x", "")).await.error(),
        error(422, "invalid", "dialect")
    );
    put(service("mine", "http://127.0.0.1:1/v1", "")).await.good();

    let model = json!({
        "id": "mine/small", "service": "mine", "name": "small", "label": "Small", "context": 1000,
        "maxOutput": 100, "price": {"input": 1.0, "output": 2.0}, "tools": true, "vision": false,
        "reasoning": false,
    });
    house.call(Method::PUT, "/api/models", model.clone()).await.good();
    assert_eq!(house.get("/api/models").await.good()["items"][0], model);
    let mut wrong = model.clone();
    wrong["maxOutput"] = json!(5000);
    assert_eq!(
        house.call(Method::PUT, "/api/models", wrong).await.error(),
        error(422, "invalid", "maxOutput")
    );
    let default = json!({"model": "mine/small"});
    assert!(house.call(Method::PUT, "/api/models/default", default).await.status.is_success());
    assert_eq!(house.get("/api/models").await.good()["defaultModel"], "mine/small");
    let unknown = json!({"model": "no such"});
    assert_eq!(
        house.call(Method::PUT, "/api/models/default", unknown).await.error(),
        error(422, "invalid", "model")
    );

    let gone = house.send(request(Method::DELETE, "/api/models?id=mine/small", None)).await;
    assert!(gone.status.is_success());
    let gone = house.send(request(Method::DELETE, "/api/models?id=mine/small", None)).await;
    assert_eq!(gone.error(), error(404, "not_found", ""));
    assert!(
        house
            .send(request(Method::DELETE, "/api/services?service=mine", None))
            .await
            .status
            .is_success()
    );
    assert_eq!(house.get("/api/models").await.good()["defaultModel"], "demo");
}

#[tokio::test]
async fn a_model_is_added_with_what_it_can_do_and_reasons_only_when_that_is_said() {
    let house = House::new().await;
    let page = house.get("/settings").await.text;
    let tag = |name: &str| page.split('<').find(|tag| tag.contains(name)).unwrap().to_owned();
    assert!(tag("\"model[tools]\"").contains("checked"), "{page}");
    assert!(!tag("\"model[reasoning]\"").contains("checked"), "{page}");
    let form = |name: &'static str| {
        vec![
            ("model[service]", "openai"),
            ("model[name]", name),
            ("model[context]", "4000"),
            ("model[max_output]", "1000"),
        ]
    };

    house.function("add_model", &form("plain")).await.good();
    let deep = [form("deep"), vec![("model[tools]", "yes"), ("model[reasoning]", "yes")]].concat();
    house.function("add_model", &deep).await.good();

    let models = house.get("/api/models").await.good();
    let can = |id: &str| {
        let models = models["items"].as_array().unwrap();
        let model = models.iter().find(|model| model["id"] == id).unwrap();
        (model["tools"].clone(), model["reasoning"].clone())
    };
    assert_eq!(can("openai/plain"), (json!(false), json!(false)));
    assert_eq!(can("openai/deep"), (json!(true), json!(true)));
}

async fn a_persona_that_is_purged_while_its_agent_speaks_does_not_hold_up_others(house: House) {
    let house = house.playing(&json!({"answers": [
        [{"repeat": {"times": 1_000_000, "text": "word ", "every_ms": 1}}], [{"text": "Fine."}],
    ]}));
    let mut chat = house.stream(saying("Speak")).await;
    some_words(&mut chat).await;
    let persona = "/api/storage/personas/optimist";
    house.send(request(Method::DELETE, persona, None)).await.good();
    let purge = "/api/storage/bin/persona/optimist";
    house.send(request(Method::DELETE, purge, None)).await.good();

    let said = json!({"personaId": "skeptic", "message": "How are you?"});
    let events = told(&house.call(Method::POST, CHAT, said).await);

    assert_eq!(events.last(), Some(&json!({"type": "done"})));
    // The run itself comes to its end, and nothing of it is left.
    while chat.next().await.is_some() {}
    assert_eq!(house.get(&format!("/api/runs/{}", chat.run())).await.status, 404);
}
