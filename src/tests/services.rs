//! Talking with models whose services are a fake on a real socket: what is sent, what is shown, what
//! is asked again, what is kept, and what is never told.

mod again;
mod breaks;
mod canary;
mod conversation;
mod keys;
mod lies;
mod limits;
mod patience;
mod retries;
mod sealed;
mod thoughts;
mod tools;
pub mod wire;

use std::{sync::Mutex, time::Duration};

use axum::http::Method;
use greenroom::providers::TimeLimits;
use serde_json::{Value, json};

use crate::{
    fake_service::FakeService,
    support::{Answer, Events, House, request, told},
};

/// What every key begins with, and nothing else does.
const CANARY: &str = "c4n4ry";

const CHAT: &str = "/api/persona-agent/chat";

/// All variables that keys come from.
const KEYS: [&str; 8] = [
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "OPENROUTER_API_KEY",
    "GROQ_API_KEY",
    "DEEPSEEK_API_KEY",
    "MISTRAL_API_KEY",
    "XAI_API_KEY",
];

/// A house with one persona, Ann, whose services are all one fake.
struct Stage {
    house: House,
    fake: FakeService,
    /// Everything that was answered.
    seen: Mutex<String>,
}

/// What came of a message.
struct Told {
    run: String,
    events: Vec<Value>,
}

/// Limits that nothing here comes to; asking again takes no time.
fn patient() -> TimeLimits {
    TimeLimits { retry: Duration::from_millis(1), ..TimeLimits::default() }
}

/// The key in this variable. No piece of it is a word, or stands anywhere else.
fn key_in(variable: &str) -> String {
    const LETTERS: &[u8] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let mut state = variable.bytes().fold(0x9e37_79b9_7f4a_7c15_u64, |state, byte| {
        (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let scrambled = (0..32).map(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(LETTERS[(state >> 40) as usize % LETTERS.len()])
    });
    format!("{CANARY}-{}", scrambled.collect::<String>())
}

impl Stage {
    async fn new(model: &str) -> Self {
        Self::with(model, patient()).await
    }

    async fn with(model: &str, limits: TimeLimits) -> Self {
        let fake = FakeService::start().await;
        let base = format!("http://{}", fake.address);
        let mut environment = vec![
            ("ANTHROPIC_BASE_URL", base.clone()),
            ("OPENAI_BASE_URL", format!("{base}/v1")),
            ("GEMINI_BASE_URL", base),
            ("OLLAMA_HOST", fake.address.to_string()),
        ];
        environment.extend(KEYS.map(|variable| (variable, key_in(variable))));
        Self::around(fake, model, limits, &environment).await
    }

    async fn around(
        fake: FakeService,
        model: &str,
        limits: TimeLimits,
        environment: &[(&str, String)],
    ) -> Self {
        let house = House::with_services(environment, limits).await;
        let stage = Self { house, fake, seen: Mutex::default() };
        let ann = json!({"id": "ann", "name": "Ann", "systemPrompt": "Be brief.", "model": model, "tier": "act"});
        stage.call(Method::POST, "/api/storage/personas", ann).await.good();
        stage
    }

    /// Gives Ann another model.
    async fn cast(&self, model: &str) {
        self.call(Method::PUT, "/api/storage/personas/ann", json!({"model": model})).await.good();
    }

    async fn call(&self, method: Method, path: &str, body: Value) -> Answer {
        self.note(self.house.call(method, path, body).await)
    }

    async fn get(&self, path: &str) -> Answer {
        self.note(self.house.get(path).await)
    }

    fn note(&self, answer: Answer) -> Answer {
        self.seen.lock().unwrap().push_str(&format!("{:?}{}\n", answer.headers, answer.text));
        answer
    }

    /// Says something to Ann's agent, and waits for the end of the answer.
    async fn say(&self, words: &str) -> Told {
        let answer = self.call(Method::POST, CHAT, said(words)).await;
        let run = answer.header("greenroom-run-id").to_owned();
        Told { run, events: told(&answer) }
    }

    /// Says something to Ann's agent, and gives what comes as it comes.
    async fn open(&self, words: &str) -> Events {
        let body = said(words).to_string().into_bytes();
        self.house.stream(request(Method::POST, CHAT, Some(body))).await
    }

    async fn stop(&self, run: &str) -> Value {
        self.call(Method::POST, &format!("/api/runs/{run}/stop"), json!({})).await.good()
    }

    async fn run(&self, run: &str) -> Value {
        self.get(&format!("/api/runs/{run}")).await.good()
    }

    /// All that a run told; waits for its end.
    async fn events(&self, run: &str) -> Vec<Value> {
        told(&self.get(&format!("/api/runs/{run}/events")).await)
    }

    /// The attempts that a run told of.
    async fn retries(&self, run: &str) -> Vec<Value> {
        let mut events = self.events(run).await;
        events.retain(|event| event["type"] == "retrying");
        events
    }

    /// What was said, each with who said it; calls and results too.
    async fn history(&self) -> Vec<(String, String)> {
        let told = self.get("/api/persona-agent/history?personaId=ann").await.good();
        let turns = told["turns"].as_array().unwrap().iter().map(|turn| {
            let said =
                ["content", "toolName", "output"].into_iter().find_map(|key| turn[key].as_str());
            (turn["type"].as_str().unwrap().to_owned(), said.unwrap().to_owned())
        });
        turns.collect()
    }

    /// Asks the same again, and waits for the end.
    async fn retry(&self, run: &str) -> Value {
        let path = format!("/api/runs/{run}/retry");
        let again = self.call(Method::POST, &path, json!({})).await.good();
        let again = again["id"].as_str().unwrap();
        self.events(again).await;
        self.run(again).await
    }
}

impl Told {
    /// The last thing that was told: the sentence of the error, or nothing when all was well.
    fn error(&self) -> &str {
        let last = self.events.last().expect("something is always told");
        match last["type"].as_str() {
            Some("done") => "",
            Some("error") => last["message"].as_str().unwrap(),
            _ => panic!("{last} is no end"),
        }
    }

    /// All words together.
    fn text(&self) -> String {
        let deltas = self.events.iter().filter(|event| event["type"] == "text_delta");
        deltas.map(|event| event["content"].as_str().unwrap()).collect()
    }
}

fn said(words: &str) -> Value {
    json!({"personaId": "ann", "message": words})
}

/// A line of the history.
fn line(kind: &str, said: &str) -> (String, String) {
    (kind.to_owned(), said.to_owned())
}
