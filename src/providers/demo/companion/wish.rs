//! What people ask the companion for, as far as a script can tell.

use super::{
    create,
    target::{Target, kind, kind_in, name_in},
    told,
};
use crate::{
    domain::{
        change::{EntityKind, Fields},
        knowledge::TaskStatus,
    },
    providers::demo::{
        answer,
        clause::Clause,
        recall::{self, Recall},
        request::{self, Request},
    },
};

/// One thing that a person asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Wish {
    /// These words, for which no tool is needed.
    Say(String),
    /// Something that was said before.
    Recall(Recall),
    /// What there is about these words.
    Find { words: String, kind: Option<EntityKind> },
    /// What the person looks at.
    Look,
    /// The beginning of a thing.
    Read(Target),
    /// A new thing.
    Create { kind: EntityKind, fields: Fields },
    /// A thing that differs.
    Change { target: Target, edit: Edit },
    /// A thing less.
    Delete(Target),
    /// Anything else, as it was said.
    Unclear(String),
}

/// How a thing is to differ.
#[derive(Clone, Debug, PartialEq)]
pub enum Edit {
    /// By its title.
    Rename(String),
    /// By more text at its end.
    Append(String),
    /// By how it stands.
    Status(TaskStatus),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Verb {
    Find,
    Read,
    Add,
    Rename,
    Mark,
    Delete,
}

const VERBS: &[(Verb, &[&str])] = &[
    (Verb::Find, &["find", "search", "locate"]),
    (Verb::Read, &["read", "show", "summarise", "summarize", "open", "describe", "tell", "quote"]),
    (Verb::Add, &["add", "create", "make", "write", "append", "put", "insert", "draft"]),
    (Verb::Rename, &["rename", "retitle"]),
    (Verb::Mark, &["mark", "set", "change", "finish", "complete", "start", "reopen", "tick"]),
    (Verb::Delete, &["delete", "remove", "erase", "bin", "trash"]),
];
const STATES: &[(TaskStatus, &[&str])] = &[
    (TaskStatus::Done, &["done", "finished", "complete", "completed", "finish", "tick"]),
    (TaskStatus::Doing, &["doing", "started", "begun", "progress", "start"]),
    (TaskStatus::Open, &["open", "undone", "reopen", "todo"]),
];
/// Where a verb is looked for.
const REACH: usize = 8;
const ARTICLES: &[&str] = &["a", "an", "another", "new", "one"];

const WHICH: &str =
    "Which one do you mean? Say its title, for example: read the page 'Opening night'.";
const NO_WORDS: &str =
    "What should I look for? I find things by their words, for example: find 'rehearsal'.";
const NO_TITLE: &str =
    "How should it be called? Say for example: rename this page to 'Opening night'.";
const NO_PLACE: &str = "Where should I add that? Say for example: add 'Bring water.' to this page, or: add a \
    task 'Bring water'.";
const NO_STATUS: &str = "How does it stand? Say for example: mark the task 'Bring water' as done.";
const NO_PASSAGE: &str = "I am scripted and cannot take a passage out of a text. I can draft that a whole \
    thing goes to the bin, for example: delete the page 'Opening night'.";

/// What one clause asks for; nothing when it cannot be told. `previous` is what was asked before it.
pub fn understand(clause: &Clause<'_>, previous: Option<&Wish>) -> Vec<Wish> {
    let before = previous.and_then(meant);
    let wish = small_talk(clause)
        .or_else(|| look(clause))
        .or_else(|| question(clause, before.as_ref()))
        .or_else(|| ordered(clause, before.as_ref()))
        .or_else(|| elliptic(clause, previous));
    wish.into_iter().collect()
}

/// Greetings, thanks, and what was said before.
fn small_talk(clause: &Clause<'_>) -> Option<Wish> {
    match request::small_talk(clause).or_else(|| recall::understand(clause))? {
        Request::Introduce => Some(Wish::Say(told::introduction())),
        Request::Thanks => Some(Wish::Say(answer::WELCOME.into())),
        Request::Greet(name) => Some(Wish::Say(format!("Nice to meet you, {name}."))),
        Request::Recall(recall) => Some(Wish::Recall(recall)),
        _ => None,
    }
}

fn look(clause: &Clause<'_>) -> Option<Wish> {
    let phrases =
        ["what is this", "whats this", "where am i", "what do i see", "what do you see", "am i on"];
    let asks = clause.says("looking at") || phrases.iter().any(|phrase| clause.says(phrase));
    (asks && !clause.has(&["about", "say", "called"])).then_some(Wish::Look)
}

/// "what do we have about X?", "what does X say?".
fn question(clause: &Clause<'_>, before: Option<&Target>) -> Option<Wish> {
    let first = clause.words.first().map_or("", |word| word.plain.as_str());
    if !["what", "whats", "is", "are", "do", "does", "anything", "which"].contains(&first) {
        return None;
    }
    let says = clause.position(&["say", "says", "contain", "contains"]);
    let is_of_this = clause.has(&["this"]) && clause.has(&["about", "in"]);
    if says.is_some() || is_of_this {
        let told = clause.part(0..says.unwrap_or(clause.words.len()));
        return Some(Target::read(&told, before).map_or(Wish::Say(WHICH.into()), Wish::Read));
    }
    let about = clause.position(&["about", "on", "regarding", "mentioning"])?;
    Some(find(&clause.rest(about + 1), kind_in(&clause.part(0..about))))
}

fn find(words: &Clause<'_>, kind: Option<EntityKind>) -> Wish {
    match name_in(words) {
        Some(words) => Wish::Find { words, kind },
        None => Wish::Say(NO_WORDS.into()),
    }
}

fn ordered(clause: &Clause<'_>, before: Option<&Target>) -> Option<Wish> {
    let near = &clause.words[..clause.words.len().min(REACH)];
    let (verb, place) = near.iter().enumerate().find_map(|(place, word)| {
        let next = near.get(place + 1).map_or("", |word| word.plain.as_str());
        let verb = match (word.plain.as_str(), next) {
            ("look", "for" | "up") => Verb::Find,
            ("look", "at") => Verb::Read,
            (word, _) => VERBS.iter().find(|(_, names)| names.contains(&word))?.0,
        };
        Some((verb, place))
    })?;
    let object = clause.rest(place + 1);
    let target = |part: &Clause<'_>| Target::read(part, before);
    let which = || Wish::Say(WHICH.into());
    match verb {
        Verb::Find => Some(find(&object, kind_in(&object))),
        Verb::Read => Some(target(&object).map_or_else(which, Wish::Read)),
        Verb::Delete if object.has(&["from"]) => Some(Wish::Say(NO_PASSAGE.into())),
        Verb::Delete => Some(target(&object).map_or_else(which, Wish::Delete)),
        Verb::Rename => Some(rename(&object, before)),
        Verb::Mark if object.has(&["title", "name"]) => Some(rename(&object, before)),
        Verb::Mark => mark(clause, place, before),
        Verb::Add => add(&object, before),
    }
}

/// "… this page to 'Y'".
fn rename(object: &Clause<'_>, before: Option<&Target>) -> Wish {
    let to =
        object.words.iter().rposition(|word| ["to", "into", "as"].contains(&word.plain.as_str()));
    let title = to.and_then(|to| object.rest(to + 1).content());
    let title = title.map(|title| title.trim_end_matches(['.', '!', '?', ',']).trim().to_owned());
    let target = Target::read(&object.part(0..to.unwrap_or_default()), before);
    match (target, title.filter(|title| !title.is_empty())) {
        (Some(target), Some(title)) => Wish::Change { target, edit: Edit::Rename(title) },
        (None, Some(_)) => Wish::Say(WHICH.into()),
        (_, None) => Wish::Say(NO_TITLE.into()),
    }
}

/// "mark the task 'X' as done", "finish the task 'X'".
fn mark(clause: &Clause<'_>, verb: usize, before: Option<&Target>) -> Option<Wish> {
    let object = clause.rest(verb + 1);
    let names: Vec<&str> = STATES.iter().flat_map(|(_, names)| *names).copied().collect();
    let end = object.position(&["as", "to", "is"]).or_else(|| object.position(&names));
    let end = end.unwrap_or(object.words.len());
    let status = status_in(&object.rest(end)).or_else(|| status_in(&clause.part(verb..verb + 1)));
    match (Target::read(&object.part(0..end), before), status) {
        (Some(target), Some(status)) => Some(standing(target, status)),
        (Some(Target { kind: Some(EntityKind::Task), .. }), None) => {
            Some(Wish::Say(NO_STATUS.into()))
        }
        (Some(_), None) | (None, None) => None,
        (None, Some(_)) => Some(Wish::Say(WHICH.into())),
    }
}

fn status_in(clause: &Clause<'_>) -> Option<TaskStatus> {
    STATES.iter().find(|(_, names)| clause.has(names)).map(|(status, _)| *status)
}

fn standing(target: Target, status: TaskStatus) -> Wish {
    let target = Target { kind: target.kind.or(Some(EntityKind::Task)), ..target };
    Wish::Change { target, edit: Edit::Status(status) }
}

/// "… a task 'X'", "… 'X' to this page".
fn add(object: &Clause<'_>, before: Option<&Target>) -> Option<Wish> {
    let noun = object.words.iter().position(|word| kind(word).is_some());
    let first = object.words.first().map_or("", |word| word.plain.as_str());
    // "a page", "a new page"; but not "a line for this page".
    let is_new = |noun: &usize| *noun == 0 || (*noun <= 3 && ARTICLES.contains(&first));
    let named = noun.filter(is_new).filter(|noun| !object.part(0..*noun).has(&["this", "the"]));
    if let Some(noun) = named {
        return Some(create::read(object, noun));
    }
    let to = object.words.iter().enumerate().rposition(|(place, word)| {
        ["to", "into", "in", "on"].contains(&word.plain.as_str())
            && Target::is_in(&object.rest(place + 1))
    });
    if let Some(to) = to.filter(|to| *to > 0) {
        let part = object.part(0..to);
        let quotes = part.quotes();
        let text = if quotes.is_empty() { part.content() } else { Some(quotes.join("\n\n")) };
        let target = Target::read(&object.rest(to + 1), before);
        return text
            .zip(target)
            .map(|(text, target)| Wish::Change { target, edit: Edit::Append(text) });
    }
    (!object.quotes().is_empty()).then(|| Wish::Say(NO_PLACE.into()))
}

/// A clause without a verb: "… and a page 'X'", "the task 'X' is done".
fn elliptic(clause: &Clause<'_>, previous: Option<&Wish>) -> Option<Wish> {
    if let Some(is) = clause.position(&["is"]).filter(|is| *is > 0) {
        let target = Target::read(&clause.part(0..is), previous.and_then(meant).as_ref());
        let status = status_in(&clause.rest(is + 1));
        return target.zip(status).map(|(target, status)| standing(target, status));
    }
    match previous? {
        Wish::Create { .. } => add(clause, None),
        Wish::Delete(_) if !clause.quotes().is_empty() => {
            Target::read(clause, None).map(Wish::Delete)
        }
        Wish::Read(_) if !clause.quotes().is_empty() => Target::read(clause, None).map(Wish::Read),
        _ => None,
    }
}

/// What a wish is about, so that "it" can be said of it.
fn meant(wish: &Wish) -> Option<Target> {
    match wish {
        Wish::Find { words, kind } => Some(Target { kind: *kind, name: Some(words.clone()) }),
        Wish::Read(target) | Wish::Change { target, .. } | Wish::Delete(target) => {
            Some(target.clone())
        }
        Wish::Say(_) | Wish::Recall(_) | Wish::Look | Wish::Create { .. } | Wish::Unclear(_) => {
            None
        }
    }
}
