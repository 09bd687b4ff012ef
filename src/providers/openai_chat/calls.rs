//! Calls that arrive in pieces, and the ways in which servers number them.

use serde::Deserialize;
use serde_json::Value;

use crate::providers::dialect::{
    arguments::{self, Ending},
    writing::Writing,
};

/// A piece of a call.
#[derive(Deserialize)]
pub struct Piece {
    index: Option<u64>,
    id: Option<String>,
    function: Option<Function>,
}

#[derive(Default, Deserialize)]
struct Function {
    name: Option<String>,
    arguments: Option<Value>,
}

/// The calls so far, in the order in which they began.
#[derive(Default)]
pub struct Pieces(Vec<Call>);

struct Call {
    index: u64,
    id: String,
    name: String,
    text: String,
}

impl Pieces {
    /// Puts a piece to the call it belongs to.
    pub fn take(&mut self, piece: Piece) {
        let function = piece.function.unwrap_or_default();
        let id = piece.id.unwrap_or_default();
        let name = function.name.unwrap_or_default();
        let text = match function.arguments {
            None => String::new(),
            Some(Value::String(text)) => text,
            Some(whole) => whole.to_string(),
        };
        match self.goes_on(piece.index, &id, &name, &text) {
            Some(at) => {
                let call = &mut self.0[at];
                call.text.push_str(&text);
                if call.id.is_empty() {
                    call.id = id;
                }
                if call.name.is_empty() {
                    call.name = name;
                }
            }
            None => {
                let next = self.0.iter().map(|call| call.index + 1).max().unwrap_or_default();
                self.0.push(Call { index: piece.index.unwrap_or(next), id, name, text });
            }
        }
    }

    /// The call that a piece goes on with; none when it begins a new one. Some servers give every
    /// call the index 0, some give none, and some give no identifiers.
    fn goes_on(&self, index: Option<u64>, id: &str, name: &str, text: &str) -> Option<usize> {
        let at = match index {
            Some(index) => self.0.iter().rposition(|call| call.index == index),
            None if id.is_empty() => self.0.len().checked_sub(1),
            None => self.0.iter().rposition(|call| call.id == id),
        }?;
        let call = &self.0[at];
        let is_other = if id.is_empty() || call.id.is_empty() {
            let is_whole = serde_json::from_str::<Value>(&call.text).is_ok();
            let begins = !name.is_empty() && !call.name.is_empty();
            begins && is_whole && (name != call.name || !text.is_empty())
        } else {
            id != call.id
        };
        (!is_other).then_some(at)
    }

    /// Writes all calls down, in the order of their indexes.
    pub fn write(self, writing: &mut Writing, ending: Ending) {
        let mut calls = self.0;
        calls.sort_by_key(|call| call.index);
        for call in calls {
            if call.name.is_empty() && call.text.is_empty() {
                continue;
            }
            let id = (!call.id.is_empty()).then_some(call.id);
            writing.call(call.name, arguments::read(&call.text, ending), id, None);
        }
    }
}
