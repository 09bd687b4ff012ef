//! What all requests share: how the calls of a conversation are named to a service, and which
//! signatures may go back to it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::{
    domain::{
        id::CallId,
        message::{Carried, Part, PartBody, ToolResult},
    },
    providers::Ask,
};

/// How the error of a tool is told where results have no flag for it.
pub const ERROR: &str = "Error: ";

const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const SHORT: usize = 9;

/// The calls of a conversation, as one service is told of them.
pub struct Calls(BTreeMap<CallId, Named>);

struct Named {
    position: usize,
    name: String,
    theirs: Option<String>,
}

impl Calls {
    /// All calls among the turns. A service's own identifier is used with that service only, and only
    /// once: some begin anew at `call_0` in every turn.
    pub fn of(ask: &Ask<'_>) -> Self {
        let mut calls = BTreeMap::new();
        let mut used = BTreeSet::new();
        for turn in ask.turns {
            let PartBody::ToolCall(call) = &turn.part.body else { continue };
            let theirs = turn.part.carried.as_ref().filter(|made| made.service == ask.service);
            let theirs = theirs.and_then(|made| made.id.clone()).filter(|id| !id.is_empty());
            let fits =
                |id: &String| !used.contains(id) && (!ask.quirks.short_call_ids || is_short(id));
            let name = theirs.clone().filter(fits).unwrap_or_else(|| {
                let ours = call.call.as_str();
                if ask.quirks.short_call_ids { shorten(ours) } else { ours.to_owned() }
            });
            used.insert(name.clone());
            let named = Named { position: calls.len(), name, theirs };
            calls.insert(call.call.clone(), named);
        }
        Self(calls)
    }

    /// The identifier of this call to the service.
    pub fn name<'calls>(&'calls self, call: &'calls CallId) -> &'calls str {
        self.0.get(call).map_or(call.as_str(), |named| named.name.as_str())
    }

    /// The identifier that the service itself gave, where it gave one.
    pub fn theirs(&self, call: &CallId) -> Option<&str> {
        self.0.get(call)?.theirs.as_deref()
    }

    /// Where the call stands among all calls.
    pub fn position(&self, call: &CallId) -> usize {
        self.0.get(call).map_or(usize::MAX, |named| named.position)
    }
}

/// What a part carries, when the model that is asked made it.
pub fn own<'part>(ask: &Ask<'_>, part: &'part Part) -> Option<&'part Carried> {
    let carried = part.carried.as_ref();
    carried.filter(|made| made.service == ask.service && made.model == ask.model)
}

/// The data a part carries, when the model that is asked made it.
pub fn own_data<'part>(ask: &Ask<'_>, part: &'part Part) -> Option<&'part Value> {
    own(ask, part)?.data.as_ref()
}

/// Whether a text says nothing; services refuse such texts.
pub fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// The text of a result where there is no flag for errors.
pub fn told(result: &ToolResult) -> String {
    if result.is_error { format!("{ERROR}{}", result.output) } else { result.output.clone() }
}

fn is_short(id: &str) -> bool {
    id.len() == SHORT && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Nine letters and digits, always the same for the same text (FNV-1a).
fn shorten(text: &str) -> String {
    let mut hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut short = String::with_capacity(SHORT);
    for _ in 0..SHORT {
        short.push(char::from(ALPHABET[(hash % 62) as usize]));
        hash /= 62;
    }
    short
}
