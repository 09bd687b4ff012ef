//! Pictures: asked for by answers and by persons, made while nobody waits, and kept.

mod faces;
mod files;
mod making;
pub mod services;
pub mod studio;
mod work;

use axum::http::Method;
use serde_json::{Value, json};

use crate::support::{House, request, told};

const PICTURES: &str = "/api/pictures";

async fn post(house: &House, path: &str, body: Value) -> crate::support::Answer {
    house.call(Method::POST, path, body).await
}

/// Begins a chat, says something, waits for the answer, and gives the chat's address and the answer.
async fn answered(house: &House, persona: &str, settings: Value) -> (String, String) {
    let new = json!({"personaId": persona, "settings": settings});
    let chat = post(house, "/api/chats", new).await.good();
    let chat = format!("/api/chats/{}", chat["id"].as_str().unwrap());
    let reply = say(house, &chat, "Is there a room for the night?").await;
    (chat, reply)
}

/// Says something in a chat, waits for the answer, and gives it.
async fn say(house: &House, chat: &str, words: &str) -> String {
    let kept = post(house, &format!("{chat}/messages"), json!({"content": words})).await.good();
    let run = kept["runId"].as_str().unwrap();
    told(&house.send(request(Method::GET, &format!("/api/runs/{run}/events"), None)).await);
    kept["replyId"].as_str().unwrap().to_owned()
}

/// The pictures that fit.
async fn listed(house: &House, query: &str) -> Vec<Value> {
    let page = house.get(&format!("{PICTURES}?{query}")).await.good();
    page["items"].as_array().unwrap().clone()
}

/// Has a picture made, and gives its address.
async fn imagine(house: &House, wish: Value) -> String {
    let asked = post(house, PICTURES, wish).await;
    assert_eq!(asked.status, 201, "{}", asked.text);
    format!("{PICTURES}/{}", asked.json()["id"].as_str().unwrap())
}

/// Does the work that is due.
async fn work(house: &House) -> usize {
    house.state.jobs.work_off().await.unwrap()
}

/// Hears the news as the server does.
async fn hear(house: &House) -> tokio::task::JoinHandle<()> {
    let mut feed = house.state.store.all_news();
    let following = tokio::spawn(house.state.store.clone().follow_news());
    if house.state.store.is_shared() {
        // Listening has begun when this comes.
        feed.next().await;
    }
    following
}
