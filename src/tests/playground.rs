//! The playground: sessions, what is said in them, and the files that follow their branches.

mod again;
mod files;
mod python;
mod rerun;
mod sessions;
mod shown;
mod talking;
mod waiting;

use axum::http::Method;
use greenroom::domain::{
    change::{Change, Op},
    id::PersonaId,
    playground::TOOLS,
};
use serde_json::{Value, json};

use crate::support::{House, request};

/// A persona with all tools, and the address of its playground.
async fn tinker(house: &House) -> String {
    let id = PersonaId::new("tinker");
    let tools: Vec<&str> = TOOLS.iter().map(|(name, _)| *name).collect();
    let create = Change::new(&id, Op::Create)
        .set("name", "Tinker")
        .set("systemPrompt", "Be handy with {{thing}}.")
        .set("tools", json!(tools));
    house.submit(create).await.unwrap();
    "/api/agents/tinker/playground".into()
}

/// A call of a tool, as a script plays it.
fn call(name: &str, input: Value) -> Value {
    json!({"call": {"name": name, "input": input}})
}

/// A script of answers, each a list of steps.
fn script(answers: &[Value]) -> Value {
    json!({"answers": answers})
}

/// What is streamed back, without the last word.
struct Streamed {
    session: String,
    chunks: Vec<Value>,
    text: String,
}

impl Streamed {
    fn of(&self, kind: &str) -> Vec<&Value> {
        self.chunks.iter().filter(|chunk| chunk["type"] == kind).collect()
    }

    /// All the words.
    fn words(&self) -> String {
        self.of("text-delta").iter().filter_map(|chunk| chunk["delta"].as_str()).collect()
    }

    /// What all tools gave, in the order in which they were asked for: those that only look are done in
    /// any order.
    fn outputs(&self) -> Vec<String> {
        let given = |call: &Value| {
            let answers = self.chunks.iter().filter(|chunk| chunk["toolCallId"] == *call);
            let text = |chunk: &Value| {
                chunk["output"].as_str().or(chunk["errorText"].as_str()).map(str::to_owned)
            };
            answers.filter_map(text).next()
        };
        let calls = self.of("tool-input-available").into_iter();
        calls.filter_map(|chunk| given(&chunk["toolCallId"])).collect()
    }
}

/// Says something and waits for the whole answer.
async fn say(house: &House, home: &str, body: Value) -> Streamed {
    let answer = house.call(Method::POST, &format!("{home}/chat"), body).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let session = answer.header("greenroom-session-id").to_owned();
    let data = answer.text.lines().filter_map(|line| line.strip_prefix("data: "));
    let chunks = data.filter(|data| *data != "[DONE]");
    let chunks = chunks.map(|data| serde_json::from_str(data).unwrap()).collect();
    Streamed { session, chunks, text: answer.text }
}

/// What a plain client says.
fn words(text: &str) -> Value {
    json!({"messages": [{"role": "user", "content": text}]})
}

fn in_session(mut body: Value, session: &str) -> Value {
    body["sessionId"] = json!(session);
    body
}

/// The session with all that is in it.
async fn read(house: &House, home: &str, session: &str) -> Value {
    house.get(&format!("{home}/sessions/{session}")).await.good()
}

/// The paths of the files of a session.
async fn paths(house: &House, home: &str, session: &str) -> Vec<String> {
    let files = house.get(&format!("{home}/sessions/{session}/files")).await.good();
    let items = files["items"].as_array().unwrap().iter();
    items.map(|file| file["path"].as_str().unwrap().to_owned()).collect()
}

async fn content(house: &House, home: &str, session: &str, path: &str) -> String {
    let address = format!("{home}/sessions/{session}/files/{path}");
    house.send(request(Method::GET, &address, None)).await.text
}
