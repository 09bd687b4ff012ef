//! Chats: what is kept of them, the tree of what is said, and what is made beside it.

mod background;
mod branches;
mod broken;
mod files;
pub mod imports;
mod line;
mod pages;
mod place;
mod replay;
mod sent;
mod settings;
mod setup;
mod several;
mod tree;
mod unfinished;

use std::time::Duration;

use axum::http::Method;
use serde_json::{Value, json};

use crate::support::{Answer, House, request, told};

const CHATS: &str = "/api/chats";
/// Longer than anything here should take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Begins a chat with a persona and gives its address.
pub async fn begin(house: &House, persona: &str) -> String {
    let chat = house.call(Method::POST, CHATS, json!({"personaId": persona})).await.good();
    format!("{CHATS}/{}", chat["id"].as_str().unwrap())
}

async fn post(house: &House, path: &str, body: Value) -> Answer {
    house.call(Method::POST, path, body).await
}

/// Waits for the end of the run that was just begun.
pub async fn settle(house: &House, kept: &Value) {
    let run = kept["runId"].as_str().unwrap();
    told(&house.send(request(Method::GET, &format!("/api/runs/{run}/events"), None)).await);
}

/// Says something, waits for the answer, and gives both messages.
pub async fn say(house: &House, chat: &str, body: Value) -> (String, String) {
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

/// Looks at a chat's path until it is as it should be.
async fn until(house: &House, chat: &str, what: impl Fn(&Value) -> bool) -> Value {
    let looked = async {
        loop {
            let page = path(house, chat, "").await;
            if what(&page) {
                return page;
            }
            tokio::task::yield_now().await;
        }
    };
    match tokio::time::timeout(PATIENCE, looked).await {
        Ok(page) => page,
        Err(_) => panic!("it never came: {}", path(house, chat, "").await),
    }
}

/// Whether nobody answers, or is about to.
fn quiet(page: &Value) -> bool {
    let over = |run: &Value| !["queued", "running"].contains(&run["status"].as_str().unwrap());
    let waits = |item: &Value| item["held"].is_null() && item["kind"] != "replayed";
    page["runs"].as_array().unwrap().iter().all(over)
        && page["run"].is_object()
        && over(&page["run"])
        && !page["line"].as_array().unwrap().iter().any(waits)
}

/// Ann and Ben, and a chat with both of them in which they answer like this.
async fn pair(house: &House, how: &str) -> String {
    house.persona("ann", "You are Ann.").await;
    house.persona("ben", "You are Ben.").await;
    let new = json!({"personaIds": ["ann", "ben"], "title": "Pair", "settings": {"answers": how}});
    let chat = post(house, CHATS, new).await.good();
    format!("{CHATS}/{}", text(&chat["id"]))
}

/// A script in which each has their own part.
fn parts(ann: Value, ben: Value) -> Value {
    json!({"speakers": {"You are Ann.": ann, "You are Ben.": ben}})
}

/// Waits until so many runs have said something that is in the log.
async fn spoken(house: &House, runs: &Value) {
    for run in runs.as_array().unwrap() {
        let id = text(run);
        while house.read().await.run_events(&id.as_str().into(), 2, 9).await.unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
    }
}
