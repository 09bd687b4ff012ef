//! What comes back from a house: an answer, or events as they come.

use axum::{
    body::Body,
    http::{HeaderMap, StatusCode},
};
use http_body_util::BodyExt;
use serde_json::{Value, json};

/// Server-sent events, as they come.
pub struct Events {
    pub headers: HeaderMap,
    pub(super) body: Body,
    pub(super) rest: String,
}

impl Events {
    /// The next event: its id and its data. `None` at the end.
    pub async fn next(&mut self) -> Option<(Option<u64>, Value)> {
        loop {
            if let Some((event, rest)) = self.rest.split_once("\n\n") {
                let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
                let id = field("id: ").map(|id| id.parse().unwrap());
                let data = field("data: ").map(|data| serde_json::from_str(data).unwrap());
                self.rest = rest.to_owned();
                match data {
                    Some(data) => return Some((id, data)),
                    None => continue,
                }
            }
            let frame = self.body.frame().await?.unwrap();
            self.rest.push_str(std::str::from_utf8(&frame.into_data().unwrap()).unwrap());
        }
    }

    /// The next event of this type, leaving out those before it.
    pub async fn until(&mut self, kind: &str) -> Value {
        while let Some((_, data)) = self.next().await {
            if data["type"] == kind {
                return data;
            }
        }
        panic!("no {kind} came");
    }

    /// The run that they are about.
    pub fn run(&self) -> String {
        self.headers["greenroom-run-id"].to_str().unwrap().to_owned()
    }
}

/// The data of all events in an answer that came to its end.
pub fn told(answer: &Answer) -> Vec<Value> {
    let data = answer.text.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).unwrap()).collect()
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        if self.status == StatusCode::NO_CONTENT {
            return Value::Null;
        }
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("not JSON: {}", self.text))
    }

    /// The status, and the code and field of the error: what a program decides by.
    pub fn error(&self) -> (u16, Value, Value) {
        let error = &self.json()["error"];
        let message = error["message"].as_str().unwrap_or_default();
        assert!(message.ends_with(['.', '”']), "not a sentence: {message:?}");
        (self.status.as_u16(), error["code"].clone(), error["field"].clone())
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The JSON of a good answer.
    pub fn good(&self) -> Value {
        assert!(self.status.is_success(), "{} {}", self.status, self.text);
        self.json()
    }
}

/// An error as [`Answer::error`] tells it.
pub fn error(status: u16, code: &str, field: &str) -> (u16, Value, Value) {
    (status, json!(code), if field.is_empty() { Value::Null } else { json!(field) })
}
