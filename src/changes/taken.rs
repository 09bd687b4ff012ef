//! How far a person took a draft that they accepted.

use serde_json::Value;

use super::fields_at;
use crate::{
    domain::{
        change::{ChangeState, Fields},
        diff::{Hunk, hunks},
        error::ApiError,
        merge::merge,
    },
    store::{Link, ProposalRow},
};

/// How far a field of a draft was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// As it was written.
    Whole,
    /// Some of its changes.
    InPart,
    /// In other words.
    Reworded,
    /// Not at all.
    Left,
}

/// How far the fields of an accepted draft were taken.
pub async fn taken(link: &mut Link, draft: &ProposalRow) -> Result<Vec<(String, Taken)>, ApiError> {
    let (row, change) = (&draft.row, &draft.row.change);
    let Some(to) = row.to_revision.filter(|_| row.state == ChangeState::Applied) else {
        return Ok(Vec::new());
    };
    let after = fields_at(link, &change.entity, to).await?;
    let before = match row.from_revision {
        Some(from) => fields_at(link, &change.entity, from).await?,
        None => Fields::new(),
    };
    let base = match change.base {
        Some(base) if Some(base) != row.from_revision => {
            fields_at(link, &change.entity, base).await?
        }
        _ => before.clone(),
    };
    // Where a thing belongs is none of its fields.
    let fields = change.patch.iter().filter(|(field, _)| after.contains_key(*field));
    Ok(fields
        .map(|(field, wanted)| {
            let text = |of: &Fields| words(of.get(field).unwrap_or(&Value::Null));
            // What was changed elsewhere meanwhile was merged into it.
            let wanted = words(wanted);
            let merged = merge(&text(&base), &wanted, &text(&before)).unwrap_or(wanted);
            let how = match how_far(&text(&before), &merged, &text(&after)) {
                // It did not fit as it was proposed, and the person wrote it anew.
                Taken::Whole | Taken::InPart if is_reworded(draft, field) => Taken::Reworded,
                how => how,
            };
            (field.clone(), how)
        })
        .collect())
}

fn is_reworded(draft: &ProposalRow, field: &str) -> bool {
    let kept = draft.row.change.patch.get(field);
    draft.proposed.as_ref().is_some_and(|proposed| proposed.get(field) != kept)
}

/// A value as words, so that an empty text and none are the same.
fn words(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.trim().to_owned(),
        other => other.to_string(),
    }
}

fn how_far(before: &str, wanted: &str, after: &str) -> Taken {
    if after == wanted {
        return Taken::Whole;
    }
    if after == before {
        return Taken::Left;
    }
    let wished = hunks(before, wanted);
    let is_wished = |made: &Hunk| {
        let same = |wish: &Hunk| {
            wish.old == made.old && wanted[wish.new.clone()] == after[made.new.clone()]
        };
        wished.iter().any(same)
    };
    if hunks(before, after).iter().all(is_wished) { Taken::InPart } else { Taken::Reworded }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_how_far_a_text_was_taken() {
        let before = "Be brief and kind.\nAsk once.\nNever shout.";
        let wanted = "Be short and kind.\nAsk twice.\nNever shout.";

        for (after, how) in [
            (wanted, Taken::Whole),
            (before, Taken::Left),
            ("Be short and kind.\nAsk once.\nNever shout.", Taken::InPart),
            ("Be terse and kind.\nAsk once.\nNever shout.", Taken::Reworded),
            ("Be short and kind.\nAsk once.\nNever whisper.", Taken::Reworded),
        ] {
            assert_eq!(how_far(before, wanted, after), how, "{after}");
        }
    }
}
