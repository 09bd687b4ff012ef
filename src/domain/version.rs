//! Versions: everything ever written, and the names that point at some of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    actor::ActorKind,
    diff::{FieldDiff, segments},
    error::ApiError,
    field::TextField,
    id::{ChangeId, UserId},
    persona::PersonaFields,
    timestamp::Timestamp,
};

/// The number of a version: 1 is the first, and none is ever skipped or used again.
pub type Revision = i64;

/// A thing as an editor needs it: which one, at which revision, saying what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edited<Id, Fields> {
    /// Which one.
    pub id: Id,
    /// At which revision.
    pub revision: Revision,
    /// What the revision says.
    pub fields: Fields,
}

/// A label.
pub const LABEL: TextField = TextField { name: "label", label: "The label", max_chars: 40 };
/// The labels that are offered to everyone.
pub const USUAL_LABELS: [&str; 2] = ["draft", "production"];

/// Refuses what a label cannot be: it stands in addresses such as `persona@label`.
pub fn check_label(label: &str) -> Result<(), ApiError> {
    LABEL.check_line(label)?;
    let plain = |letter: char| {
        letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-_.".contains(letter)
    };
    if !label.chars().all(plain) || label.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(ApiError::invalid(
            LABEL.name,
            "A label has small letters, digits, dots, dashes and underscores only, and is not a number.",
        ));
    }
    Ok(())
}

/// A version as the drawer lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VersionSummary {
    /// Its number.
    pub revision: Revision,
    /// The name or title it had.
    pub name: String,
    /// Why it was made; empty when nobody said.
    pub reason: String,
    /// What kind of author made it.
    pub author_kind: ActorKind,
    /// The person behind it.
    pub author: Option<UserId>,
    /// The change that made it.
    pub change_id: ChangeId,
    /// The labels that point at it.
    pub labels: Vec<String>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// Leaves the name of the one who reads out, so that a page names others only.
pub fn name_others(versions: &mut [VersionSummary], reader: &UserId) {
    for version in versions {
        version.author = version.author.take().filter(|author| author != reader);
    }
}

/// A whole version, of a persona unless said otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Version<F = PersonaFields> {
    /// What the list says of it.
    #[serde(flatten)]
    pub summary: VersionSummary,
    /// What it keeps.
    pub fields: F,
}

/// What differs between two versions: the fields that are not the same, each word by word.
pub fn differences(from: &PersonaFields, to: &PersonaFields) -> Vec<FieldDiff> {
    let roleplay = |fields: &PersonaFields| {
        let data = fields.roleplay_data.clone().unwrap_or_default();
        format!("{}\n\n{}", data.appearance, data.summary).trim().to_owned()
    };
    let pairs = [
        ("Name", from.name.clone(), to.name.clone()),
        ("System prompt", from.system_prompt.clone(), to.system_prompt.clone()),
        ("Appearance", from.appearance.clone(), to.appearance.clone()),
        ("Notes", from.notes.clone(), to.notes.clone()),
        ("Model", from.model.clone(), to.model.clone()),
        ("Tools", from.tools.join(", "), to.tools.join(", ")),
        ("Tier", from.tier.word().into(), to.tier.word().into()),
        ("Face", from.face.clone(), to.face.clone()),
        ("Roleplay", roleplay(from), roleplay(to)),
    ];
    pairs
        .into_iter()
        .filter(|(_, from, to)| from != to)
        .map(|(label, from, to)| FieldDiff { label: label.into(), segments: segments(&from, &to) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_can_stand_in_an_address_and_is_not_a_number() {
        for good in ["draft", "production", "v2", "2026-11.b"] {
            assert_eq!(check_label(good), Ok(()), "{good}");
        }
        for bad in ["", "12", "Über", "a b", "a/b", "a@b", &"x".repeat(41)] {
            assert!(check_label(bad).is_err(), "{bad}");
        }
    }
}
