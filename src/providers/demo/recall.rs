//! What people said earlier: the demo's whole memory is the conversation it is given.

use super::{clause::Clause, request::Request, story::Story, words::words};

/// What is to be remembered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Recall {
    /// The person's message before this one.
    Last,
    /// The person's first message.
    First,
    /// The person's name.
    OwnName,
}

/// Whether a clause asks for something said before, or tells the person's name.
pub fn understand(clause: &Clause<'_>) -> Option<Request> {
    let asks = clause.has(&["what", "whats", "who", "do", "remember", "recall", "know", "tell"]);
    if let Some(name) = own_name(clause) {
        return Some(Request::Greet(name));
    }
    if asks && (clause.says("my name") || clause.says("who am i")) {
        return Some(Request::Recall(Recall::OwnName));
    }
    let said = ["say", "said", "ask", "asked", "tell", "told", "write", "wrote", "mean"];
    let of_mine = clause.has(&["i"])
        && clause.has(&said)
        && clause.has(&["did", "just", "remember", "thing"]);
    let of_message =
        clause.has(&["my"]) && clause.has(&["message", "question", "request", "messages"]);
    let of_both = clause.says("we talk about") || clause.says("we discuss");
    let recalls = asks && (of_mine || of_message || of_both);
    let which = if clause.has(&["first"]) { Recall::First } else { Recall::Last };
    recalls.then_some(Request::Recall(which))
}

/// What is remembered, in a sentence.
pub fn tell(recall: Recall, story: &Story<'_>) -> String {
    let quoted = |text: &str| super::answer::snippet(text);
    match recall {
        Recall::Last => match story.earlier.last() {
            Some(text) => format!("Just before this, you wrote: “{}”", quoted(text)),
            None => NOTHING.into(),
        },
        Recall::First => match story.earlier.first() {
            Some(text) => format!("Your first message was: “{}”", quoted(text)),
            None => "This is your first message here. I know nothing from before.".into(),
        },
        Recall::OwnName => match story.earlier.iter().rev().find_map(|text| name_in(text)) {
            Some(name) => format!("Your name is {name}: you told me earlier."),
            None => "You have not told me your name in this conversation, and I know nothing from \
                     before it."
                .into(),
        },
    }
}

const NOTHING: &str =
    "This is the first thing you say in this conversation. I know nothing from before it.";

fn name_in(text: &str) -> Option<String> {
    let words = words(text);
    (0..words.len()).find_map(|start| own_name(&Clause::new(text, &words[start..])))
}

/// The name in "my name is Ann" and "call me Ann", at the beginning of a clause.
fn own_name(clause: &Clause<'_>) -> Option<String> {
    let plain: Vec<&str> = clause.words.iter().take(3).map(|word| word.plain.as_str()).collect();
    let from = match plain.as_slice() {
        ["my", "name", "is"] => 3,
        ["my", "names", _] | ["call", "me", _] => 2,
        _ => return None,
    };
    let mut name = Vec::new();
    for place in from..clause.words.len().min(from + 3) {
        let word = &clause.words[place];
        if let Some(quoted) = &word.quoted {
            return Some(quoted.clone());
        }
        let written = clause.part(place..place + 1).written();
        let written = written.trim_matches(|letter: char| !letter.is_alphanumeric());
        let is_name = name.is_empty() || written.starts_with(char::is_uppercase);
        if !is_name || ["and", "what"].contains(&word.plain.as_str()) {
            break;
        }
        name.push(written);
        if word.after.is_some() {
            break;
        }
    }
    (!name.is_empty()).then(|| name.join(" "))
}
