//! One line for people about a change.

use serde_json::Value;

use crate::domain::change::{Change, Fields, Op, field_label};

/// The fields by which a thing is called, the first that says something.
const TITLES: [&str; 5] = ["name", "title", "content", "url", "text"];
/// The most of a text that a summary quotes.
const QUOTE_CHARS: usize = 60;

/// What the change does, in one line.
pub fn of(change: &Change, before: &Fields) -> String {
    let what = change.entity.kind.noun();
    let title = |fields: &Fields| {
        let said = |field: &&str| fields.get(*field)?.as_str().filter(|text| !text.is_empty());
        TITLES.iter().find_map(said).map(quoted).unwrap_or_default()
    };
    match change.op {
        Op::Create => format!("Made the {what} {}", title(&change.patch)),
        Op::Update => format!("Changed {}", changed(change, before)),
        Op::Delete => format!("Moved the {what} {} to the bin", title(before)),
        Op::Restore => format!("Restored the {what} {} from the bin", title(before)),
        Op::Purge => format!("Removed the {what} {} for good", title(before)),
        Op::Label => {
            let label = change.patch.get("label").and_then(Value::as_str).unwrap_or_default();
            match change.patch.get("revision").and_then(Value::as_i64) {
                Some(revision) => format!("Set the label {label} on version {revision}"),
                None => format!("Took the label {label} away"),
            }
        }
    }
}

fn changed(change: &Change, before: &Fields) -> String {
    let names: Vec<String> = change
        .patch
        .iter()
        .filter(|(field, value)| before.get(*field) != Some(*value))
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
    let line = text.lines().next().unwrap_or_default();
    let cut: String = line.chars().take(QUOTE_CHARS).collect();
    let more = if cut.len() < text.len() { "…" } else { "" };
    format!("“{cut}{more}”")
}
