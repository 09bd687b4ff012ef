//! Requests for something new: "a task 'X' due 2026-12-31", "a page 'X' with '…'".

use serde_json::{Value, json};

use super::{target::kind, wish::Wish};
use crate::{
    domain::{
        change::{EntityKind, Fields},
        date::Date,
    },
    providers::demo::clause::Clause,
};

const NO_TITLE: &str =
    "How should it be called? Say for example: add a task 'Bring water' due 2026-12-31.";
const NO_DAY: &str = "I am scripted and know only days like 2026-12-31. Say for example: add a task 'Bring water' due \
     2026-12-31.";
const NO_ADDRESS: &str = "Which address? Say for example: add a ref https://example.org.";
const NO_INPUTS: &str = "Test inputs are made on their persona's page: its own agent listens there, and takes: add a test \
     input: 'What is 2+2?'";
const NO_CHATS: &str = "Chats are begun on their persona's page.";
/// What ends a name that has no quotation marks.
const ENDS: &[&str] = &["with", "due", "by", "saying", "that", "who", "which"];

/// The new thing that a clause describes, or the question for what is missing. `noun` says where its
/// kind stands.
pub fn read(clause: &Clause<'_>, noun: usize) -> Wish {
    let Some(kind) = clause.words.get(noun).and_then(kind) else {
        return Wish::Say(NO_TITLE.into());
    };
    let rest = clause.rest(noun + 1);
    let colon = clause.words.get(noun).is_some_and(|word| word.after == Some(':'));
    let (name, more) = parts(&rest, colon);
    let fields = match kind {
        EntityKind::Task => match (day(clause), clause.has(&["due"])) {
            (None, true) => return Wish::Say(NO_DAY.into()),
            (due, _) => [("title", name), ("due", due), ("note", more)],
        },
        EntityKind::Page => [("title", name), ("body", more), ("", None)],
        EntityKind::Persona => [("name", name), ("systemPrompt", more), ("", None)],
        EntityKind::Ref => match address(clause) {
            None => return Wish::Say(NO_ADDRESS.into()),
            address => {
                let quotes = clause.quotes();
                let quote = |place: usize| quotes.get(place).map(|text| (*text).to_owned());
                [("url", address), ("title", quote(0)), ("note", quote(1))]
            }
        },
        EntityKind::TestInput => return Wish::Say(NO_INPUTS.into()),
        EntityKind::Chat => return Wish::Say(NO_CHATS.into()),
    };
    if fields[0].1.is_none() {
        return Wish::Say(NO_TITLE.into());
    }
    let given =
        fields.into_iter().filter_map(|(field, text)| Some((field.to_owned(), json!(text?))));
    Wish::Create { kind, fields: given.collect::<Fields>() }
}

/// The name of a new thing, and what else is said about it.
fn parts(rest: &Clause<'_>, colon: bool) -> (Option<String>, Option<String>) {
    let quotes = rest.quotes();
    if let Some(name) = quotes.first() {
        let quoted = quotes.get(1).map(|text| (*text).to_owned());
        // A text after a colon needs no quotation marks.
        let place = rest.words.iter().position(|word| word.after == Some(':'));
        let after = || place.and_then(|place| rest.rest(place + 1).content());
        return (Some((*name).to_owned()), quoted.or_else(after));
    }
    let skipped = rest
        .words
        .iter()
        .take_while(|word| {
            !colon && ["called", "named", "titled", "to"].contains(&word.plain.as_str())
        })
        .count();
    let rest = rest.rest(skipped).without_thanks();
    let end = rest.position(ENDS).unwrap_or(rest.words.len());
    let name = rest.part(0..end).written().trim_end_matches(['.', '!', '?', ',', ';', ':']).trim();
    let more = rest.position(&["with", "saying"]).and_then(|with| rest.rest(with + 1).content());
    ((!name.is_empty()).then(|| name.to_owned()), more)
}

fn day(clause: &Clause<'_>) -> Option<String> {
    let days = clause.words.iter().filter_map(|word| Date::parse(&word.plain));
    days.map(|day| day.to_string()).next()
}

fn address(clause: &Clause<'_>) -> Option<String> {
    (0..clause.words.len()).find_map(|place| {
        let written = clause.part(place..place + 1).written();
        let written = written.trim_matches(|letter: char| "<>()'\"“”.,;!?".contains(letter));
        let is_address = ["http://", "https://"].iter().any(|start| written.starts_with(start));
        is_address.then(|| written.to_owned())
    })
}

/// What a new thing is called.
pub fn label(fields: &Fields) -> &str {
    let text = |field: &str| fields.get(field).and_then(Value::as_str);
    text("title").or_else(|| text("name")).or_else(|| text("url")).unwrap_or_default()
}
