//! OpenRouter's `reasoning_details`: what the model behind it wants back, in pieces of its own making.
//!
//! They come in pieces and must go back whole, in their order, and otherwise as they came.

use serde_json::{Map, Value, json};

/// The name of the field, in answers, in requests, and in what a part carries.
const FIELD: &str = "reasoning_details";
/// What grows from piece to piece; whatever else a piece says counts from then on.
const GROWING: [&str; 3] = ["text", "summary", "data"];

/// The details of an answer so far.
#[derive(Default)]
pub struct ReasoningDetails(Vec<Map<String, Value>>);

impl ReasoningDetails {
    /// Puts a piece to the one that it goes on with: the last one, of the same kind and index.
    pub fn take(&mut self, piece: Value) {
        let Value::Object(piece) = piece else { return };
        let same = |name: &str, known: &Map<String, Value>| known.get(name) == piece.get(name);
        let last = self.0.last_mut();
        let going_on = last.filter(|known| {
            piece.contains_key("index") && same("type", known) && same("index", known)
        });
        let Some(known) = going_on else { return self.0.push(piece) };
        for (name, told) in piece {
            match (known.get_mut(&name), told) {
                (Some(Value::String(words)), Value::String(more))
                    if GROWING.contains(&name.as_str()) =>
                {
                    words.push_str(&more);
                }
                (Some(_), Value::Null) => {}
                (_, told) => {
                    known.insert(name, told);
                }
            }
        }
    }

    /// What a part carries of them; nothing when there are none.
    pub fn carried(self) -> Option<Value> {
        (!self.0.is_empty()).then(|| carry(self.0.into_iter().map(Value::Object).collect()))
    }
}

/// What a part carries that holds these.
pub fn carry(details: Vec<Value>) -> Value {
    json!({FIELD: details})
}

/// The details that a part carries.
pub fn of(data: &Value) -> &[Value] {
    data.get(FIELD).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Puts details into a message.
pub fn put(details: Vec<Value>, message: &mut Value) {
    if !details.is_empty() {
        message[FIELD] = details.into();
    }
}
