//! Which thing of the Space is meant: by its title, or because the person looks at it.

use crate::{
    domain::change::EntityKind,
    providers::demo::{clause::Clause, words::Word},
};

/// Which thing is meant.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// What it is, if that was said.
    pub kind: Option<EntityKind>,
    /// What it is called; nothing for what the person looks at.
    pub name: Option<String>,
}

/// Words that say nothing about which thing is meant.
const EMPTY: &str = "the a an my our your of about on in at for to me us we i please called named titled \
    page's test everything anything something all any some thing things with as whole what whats \
    does do is are there have know title name status content text up whole quickly also just and or";
const HERE: &[&str] = &["this", "here", "current"];
const BEFORE: &[&str] = &["it", "that", "them"];

/// The kind that a word names.
pub fn kind(word: &Word) -> Option<EntityKind> {
    match word.plain.as_str() {
        "page" | "pages" => Some(EntityKind::Page),
        "task" | "tasks" | "todo" | "todos" => Some(EntityKind::Task),
        "ref" | "refs" | "reference" | "references" | "link" => Some(EntityKind::Ref),
        "persona" | "personas" => Some(EntityKind::Persona),
        "input" | "inputs" => Some(EntityKind::TestInput),
        _ => None,
    }
}

/// The kind that a clause names.
pub fn kind_in(clause: &Clause<'_>) -> Option<EntityKind> {
    clause.words.iter().find_map(kind)
}

/// The words of a clause that say what is looked for.
pub fn name_in(clause: &Clause<'_>) -> Option<String> {
    if let Some(quoted) = clause.quotes().first() {
        return Some((*quoted).to_owned());
    }
    let telling = |word: &&Word| {
        let plain = word.plain.as_str();
        let empty = plain.is_empty() || EMPTY.split(' ').any(|empty| empty == plain);
        !empty && kind(word).is_none() && !HERE.contains(&plain) && !BEFORE.contains(&plain)
    };
    let words = clause.without_thanks().words.iter().filter(telling);
    let words: Vec<&str> = words.map(|word| word.plain.as_str()).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

impl Target {
    /// Reads which thing a clause means, if it says so. `before` is what was meant before it.
    pub fn read(clause: &Clause<'_>, before: Option<&Self>) -> Option<Self> {
        let kind = kind_in(clause);
        if clause.quotes().is_empty() && clause.has(HERE) {
            return Some(Self { kind, name: None });
        }
        if let Some(name) = name_in(clause) {
            return Some(Self { kind, name: Some(name) });
        }
        match (clause.has(BEFORE), kind) {
            (true, _) => Some(before.cloned().unwrap_or(Self { kind, name: None })),
            (false, Some(_)) => Some(Self { kind, name: None }),
            (false, None) => None,
        }
    }

    /// Whether a clause speaks of a thing at all.
    pub fn is_in(clause: &Clause<'_>) -> bool {
        kind_in(clause).is_some() || clause.has(HERE) || clause.has(BEFORE)
    }
}
