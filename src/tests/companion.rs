//! The companion: talked with through the API, its tools, its drafts, and what nobody can make it do.

mod conversation;
mod corpus;
mod document;
mod elsewhere;
mod outcomes;
mod rail;
mod safety;
mod tools;

use axum::{
    body::Body,
    http::{Method, Request},
};
use serde_json::{Value, json};

use crate::support::{Answer, House, request};

/// The conversation with the companion.
async fn ambient(house: &House) -> String {
    let told = house.get("/api/conversations/ambient").await.good();
    told["id"].as_str().unwrap().to_owned()
}

/// Says something to the companion, and gives what was answered at once.
async fn post(house: &House, said: Value) -> Answer {
    let path = format!("/api/conversations/{}/messages", ambient(house).await);
    house.call(Method::POST, &path, said).await
}

/// The request for the answer to a message.
fn following(conversation: &str, message: &str) -> Request<Body> {
    let path = format!("/api/conversations/{conversation}/stream?messageId={message}");
    request(Method::GET, &path, None)
}

/// The names of the events in a stream that came to its end, each with its data.
fn events(answer: &Answer) -> Vec<(String, Value)> {
    let mut out = Vec::new();
    for event in answer.text.split("\n\n") {
        let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
        if let (Some(name), Some(data)) = (field("event: "), field("data: ")) {
            out.push((name.to_owned(), serde_json::from_str(data).unwrap()));
        }
    }
    out
}

/// What came of a message.
pub struct Told {
    message: String,
    run: String,
    events: Vec<(String, Value)>,
}

impl Told {
    fn names(&self) -> Vec<&str> {
        self.events.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// All words together.
    fn words(&self) -> String {
        let deltas = self.events.iter().filter(|(name, _)| name == "delta");
        deltas.map(|(_, data)| data["text"].as_str().unwrap()).collect()
    }

    /// The drafts that were made.
    fn drafts(&self) -> Vec<String> {
        let drafts = self.events.iter().filter(|(name, _)| name == "draft");
        drafts.map(|(_, data)| data["pendingChangeId"].as_str().unwrap().to_owned()).collect()
    }
}

/// Says something to the companion, and waits for the end of the answer.
pub async fn say(house: &House, words: &str) -> Told {
    say_of(house, json!({"content": words})).await
}

/// Says something while looking at something.
async fn say_of(house: &House, said: Value) -> Told {
    let kept = post(house, said).await;
    assert_eq!(kept.status, 201, "{}", kept.text);
    let text = |key: &str| kept.json()[key].as_str().unwrap().to_owned();
    let (message, run) = (text("id"), text("runId"));
    let stream = house.send(following(&ambient(house).await, &message)).await;
    assert_eq!(stream.header("content-type"), "text/event-stream", "{}", stream.text);
    Told { message, run, events: events(&stream) }
}

/// What was said, as the API tells it.
async fn messages(house: &House) -> Vec<Value> {
    let path = format!("/api/conversations/{}/messages", ambient(house).await);
    house.get(&path).await.good()["items"].as_array().unwrap().clone()
}

/// The tools that the last answer used: each with how it ended, and what it told the model.
async fn trace(house: &House) -> Vec<(String, String, String)> {
    let last = messages(house).await.pop().unwrap();
    let steps = last["metadata"]["trace"].as_array().unwrap().iter();
    let text = |step: &Value, key: &str| step[key].as_str().unwrap().to_owned();
    steps.map(|step| (text(step, "tool"), text(step, "status"), text(step, "result"))).collect()
}

/// What the companion's model is told when it makes these calls, one after another.
pub async fn called(house: &House, calls: Value) -> Vec<(String, String, String)> {
    let told = say(&playing(house, calls), "Go").await;
    assert_eq!(told.names().last(), Some(&"done"), "{:?}", told.events);
    assert!(told.words().ends_with("So be it."), "it went on to its end");
    trace(house).await
}

/// A house whose model makes these calls, one in each answer, and then says a word.
pub fn playing(house: &House, calls: Value) -> House {
    let calls = calls.as_array().unwrap().iter();
    let mut answers: Vec<Value> =
        calls.map(|call| json!([{"call": {"name": call[0], "input": call[1]}}])).collect();
    answers.push(json!([{"text": "So be it."}]));
    house.playing(&json!({"answers": answers}))
}

/// Makes some knowledge, and gives its identifier.
async fn made(house: &House, many: &str, fields: Value) -> String {
    let answer = house.call(Method::POST, &format!("/api/storage/{many}"), fields).await.good();
    answer["id"].as_str().unwrap().to_owned()
}

/// The drafts that wait.
pub async fn waiting(house: &House) -> Vec<Value> {
    house.get("/api/pending-changes?limit=100").await.good()["items"].as_array().unwrap().clone()
}
