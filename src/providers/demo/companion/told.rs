//! The companion's sentences, and what it takes from those of its tools.

use super::thing::Thing;
use crate::{domain::change::EntityKind, providers::demo::answer::snippet};

/// How much of a thing is told, in sentences and in letters.
const SENTENCES: usize = 3;
const LETTERS: usize = 400;

const EXAMPLES: &str = "- Find 'rehearsal'. What am I looking at?\n\
    - Read the page 'Opening night', or: summarise this page.\n\
    - Add a task 'Bring water' due 2026-12-31. Add a ref https://example.org.\n\
    - Rename this page to 'Opening night', or: add 'Doors open at seven.' to this page.\n\
    - Mark the task 'Bring water' as done. Delete the page 'Old plan'.";

/// Who the companion is and what it can do.
pub fn introduction() -> String {
    format!(
        "I am the scripted demo of the companion. There is no model behind me, but my tools are real, \
         and what I draft waits for your decision. You can ask me, for example:\n\n{EXAMPLES}\n\n\
         For a companion that understands everything else, add a key for a real model in Settings."
    )
}

/// When not understood.
pub fn unclear(said: &str) -> String {
    let said = match said.trim() {
        "" => "I see no words in that.".to_owned(),
        said => format!("You said “{}”, and my script has no line for that.", snippet(said)),
    };
    format!(
        "{said} I am a scripted demo, not a model. Try one of these:\n\n{EXAMPLES}\n\n\
         A key in Settings brings a real model."
    )
}

/// What was found.
pub fn found(words: &str, things: &[Thing]) -> String {
    let count = match things.len() {
        0 => return format!("I found nothing for “{words}”. Try fewer or other words."),
        1 => "one thing".to_owned(),
        count => format!("{count} things"),
    };
    format!("I found {count} for “{words}”:\n\n{}", list(things))
}

/// None is meant, or none can be told from the others.
pub fn which(words: &str, things: &[Thing]) -> String {
    match things {
        [] => format!("I found nothing called “{words}”."),
        things => format!(
            "More than one thing fits “{words}”, so I drafted nothing:\n\n{}\n\nWhich one do you mean?",
            list(things)
        ),
    }
}

fn list(things: &[Thing]) -> String {
    let line = |thing: &Thing| format!("- **{}** ({})", thing.title, thing.kind.noun());
    things.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// What the tool tells about where the person is, told back.
pub fn looking(context: &str) -> String {
    let mut lines = context.lines();
    let first = lines.next().unwrap_or_default();
    let Some(seen) = first.strip_prefix("The person is looking at ") else {
        return "I cannot see what you are looking at.".into();
    };
    let seen = match seen.rfind(" (entityType ") {
        Some(end) => format!("{}.", &seen[..end]),
        None => seen.to_owned(),
    };
    let marked = lines.collect::<Vec<_>>().join(" ");
    let marked = marked.split_once('«').map(|(_, marked)| marked.trim_end_matches('»'));
    let marked = marked.map(|marked| format!(" You marked this passage: “{}”", snippet(marked)));
    format!("You are looking at {seen}{}", marked.unwrap_or_default())
}

/// The first sentences of a thing, as the tool tells it.
pub fn beginning(thing: &Thing, read: &str) -> String {
    let field = |name: &str| field(read, name);
    let about = match thing.kind {
        EntityKind::Persona => field("systemPrompt"),
        EntityKind::TestInput => field("content"),
        EntityKind::Page => field("body"),
        EntityKind::Ref if field("text").is_empty() => field("note"),
        EntityKind::Ref => field("text"),
        EntityKind::Task => field("note"),
        EntityKind::Chat => field("title"),
    };
    let due = match field("due") {
        "" => String::new(),
        due => format!(", due {due}"),
    };
    let name = format!("The {} **{}**", thing.kind.noun(), thing.title);
    match (thing.kind, first_sentences(about)) {
        (EntityKind::Task, note) => {
            let note = if note.is_empty() { note } else { format!(" “{note}”") };
            format!("{name} is {}{due}.{note}", field("status"))
        }
        (EntityKind::Ref, text) if text.is_empty() => {
            format!("{name} has no text yet; it points to {}.", field("url"))
        }
        (_, text) if text.is_empty() => format!("{name} is empty."),
        (_, text) => format!("{name} says: “{text}”"),
    }
}

/// The first sentences of a text, its headings left out.
fn first_sentences(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let line = lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ");
    let ends = line.match_indices(['.', '!', '?']).map(|(at, mark)| at + mark.len());
    let ends = ends.filter(|end| line[*end..].is_empty() || line[*end..].starts_with(' '));
    let end = ends.take(SENTENCES).take_while(|end| *end <= LETTERS).last();
    match end {
        Some(end) => line[..end].to_owned(),
        None => snippet(&line),
    }
}

/// All fields that a thing may have, in the order in which they are told.
const FIELDS: &[&str] = &[
    "appearance",
    "body",
    "content",
    "due",
    "fetchedAt",
    "model",
    "name",
    "note",
    "notes",
    "status",
    "systemPrompt",
    "text",
    "tier",
    "title",
    "url",
];

/// What a field says, in what the tool tells of a whole thing.
pub fn field<'told>(told: &'told str, name: &str) -> &'told str {
    let head = format!("## {name} (");
    let start = if told.starts_with(&head) {
        0
    } else {
        match told.find(&format!("\n\n{head}")) {
            Some(start) => start + 2,
            None => return "",
        }
    };
    let Some((_, rest)) = told[start..].split_once('\n') else { return "" };
    // Fields are told in their order, and a text may have headings that look like theirs.
    let after =
        FIELDS.iter().filter(|other| **other > name).map(|other| format!("\n\n## {other} ("));
    let ends =
        after.chain(["\n\n## test inputs\n".to_owned()]).filter_map(|head| rest.rfind(&head));
    &rest[..ends.min().unwrap_or(rest.len())]
}

/// What the person said about drafts that they did not want.
pub fn rejected(note: Option<&str>) -> Option<String> {
    let lines = note.into_iter().flat_map(str::lines);
    let rejected: Vec<String> = lines
        .filter_map(|line| {
            let (summary, rest) = line.strip_prefix("- ")?.split_once(" (draft ")?;
            let (_, outcome) = rest.split_once("): rejected")?;
            let why = outcome.split_once("the person said: ");
            let why = why.map(|(_, why)| format!(" because “{}”", why.trim_end_matches('.')));
            Some(format!("“{summary}”{}", why.unwrap_or_default()))
        })
        .collect();
    (!rejected.is_empty()).then(|| {
        format!("You did not want my draft {}; I leave it at that.", rejected.join(", nor "))
    })
}
