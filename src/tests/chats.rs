//! Chats: what is kept of them, the tree of what is said, and what is made beside it.

mod background;
mod branches;
mod files;
mod pages;
mod sent;
mod setup;
mod tree;

use axum::http::Method;
use serde_json::{Value, json};

use crate::support::{Answer, House, request, told};

const CHATS: &str = "/api/chats";

/// Begins a chat with a persona and gives its address.
async fn begin(house: &House, persona: &str) -> String {
    let chat = house.call(Method::POST, CHATS, json!({"personaId": persona})).await.good();
    format!("{CHATS}/{}", chat["id"].as_str().unwrap())
}

async fn post(house: &House, path: &str, body: Value) -> Answer {
    house.call(Method::POST, path, body).await
}

/// Waits for the end of the run that was just begun.
async fn settle(house: &House, kept: &Value) {
    let run = kept["runId"].as_str().unwrap();
    told(&house.send(request(Method::GET, &format!("/api/runs/{run}/events"), None)).await);
}

/// Says something, waits for the answer, and gives both messages.
async fn say(house: &House, chat: &str, body: Value) -> (String, String) {
    let kept = post(house, &format!("{chat}/messages"), body).await.good();
    settle(house, &kept).await;
    (text(&kept["id"]), text(&kept["replyId"]))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

async fn path(house: &House, chat: &str, query: &str) -> Value {
    house.get(&format!("{chat}/messages?{query}")).await.good()
}

/// The words of a path.
fn words(page: &Value) -> Vec<String> {
    page["items"].as_array().unwrap().iter().map(|item| text(&item["content"])).collect()
}

/// A script of so many short answers.
fn answers(count: usize) -> Value {
    let answer = |at: usize| json!([{"text": format!("Answer {at}.")}]);
    json!({"answers": (1..=count).map(answer).collect::<Vec<_>>()})
}
