//! One line for people about a change.

use serde_json::Value;

use crate::domain::change::{Change, ChangeState, Fields, Op, field_label};

/// The fields by which a thing is called, the first that says something.
pub const TITLES: [&str; 5] = ["name", "title", "content", "url", "text"];
/// The most of a text that a summary quotes.
const QUOTE_CHARS: usize = 60;

/// What the change did or, while it waits, would do: in one line.
pub fn of(change: &Change, before: &Fields, state: ChangeState) -> String {
    let what = change.entity.kind.noun();
    let title = |fields: &Fields| quoted(named(fields));
    let done = state == ChangeState::Applied;
    let verb = |past: &'static str, wish: &'static str| if done { past } else { wish };
    match change.op {
        Op::Create => format!("{} the {what} {}", verb("Made", "Make"), title(&change.patch)),
        Op::Update => format!("{} {}", verb("Changed", "Change"), changed(change, before)),
        Op::Delete => format!("{} the {what} {} to the bin", verb("Moved", "Move"), title(before)),
        Op::Restore => {
            format!("{} the {what} {} from the bin", verb("Restored", "Restore"), title(before))
        }
        Op::Purge => {
            format!("{} the {what} {} for good", verb("Removed", "Remove"), title(before))
        }
        Op::Label => {
            let label = change.patch.get("label").and_then(Value::as_str).unwrap_or_default();
            match change.patch.get("revision").and_then(Value::as_i64) {
                Some(revision) => format!("Set the label {label} on version {revision}"),
                None => format!("{} the label {label} away", verb("Took", "Take")),
            }
        }
        Op::Publish => match change.patch.get("publication") {
            Some(Value::Object(page)) => {
                let revision = page.get("revision").and_then(Value::as_i64).unwrap_or_default();
                let slug = page.get("slug").and_then(Value::as_str).unwrap_or_default();
                format!("{} version {revision} at /p/{slug}", verb("Published", "Publish"))
            }
            _ => format!("{} the public page away", verb("Took", "Take")),
        },
    }
}

fn named(fields: &Fields) -> &str {
    let said = |field: &&str| fields.get(*field)?.as_str().filter(|text| !text.is_empty());
    TITLES.iter().find_map(said).unwrap_or_default()
}

/// What a thing with these fields is called: its name, or its first words.
pub fn title(fields: &Fields) -> String {
    shortened(named(fields))
}

fn changed(change: &Change, before: &Fields) -> String {
    let names: Vec<String> = change
        .patch
        .iter()
        .filter(|(field, value)| before.get(*field) != Some(*value) && *field != "titledBy")
        .map(|(field, value)| match (field.as_str(), value) {
            (field @ ("name" | "title"), Value::String(name)) => {
                format!("the {field} to {}", quoted(name))
            }
            (field, _) => format!("the {}", field_label(field)),
        })
        .collect();
    match names.split_last() {
        None => "nothing".into(),
        Some((only, [])) => only.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}

fn quoted(text: &str) -> String {
    format!("“{}”", shortened(text))
}

fn shortened(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let cut: String = line.chars().take(QUOTE_CHARS).collect();
    let more = if cut.len() < text.len() { "…" } else { "" };
    format!("{cut}{more}")
}
