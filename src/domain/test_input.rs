//! A test input: something one says to a persona to see what it answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    error::ApiError,
    field::TextField,
    id::{PersonaId, TestInputId},
    message::{MESSAGE, Role},
    position::between,
    timestamp::Timestamp,
    version::{Edited, Revision},
};

/// The content: anything that a person may say.
pub const CONTENT: TextField =
    TextField { name: "content", label: "The test input", max_chars: MESSAGE.max_chars };
/// The most test inputs a persona may have.
pub const MAX_PER_PERSONA: i64 = 500;
/// What a good answer does.
pub const CHECK: TextField = TextField { name: "check", label: "The check", max_chars: 2000 };
/// The most messages that stand before a test input.
pub const MAX_HISTORY: usize = 20;
/// The most characters of them.
pub const MAX_HISTORY_CHARS: usize = 100_000;
const HISTORY: TextField =
    TextField { name: "history", label: "The history", max_chars: MAX_HISTORY_CHARS };
/// How much of an answer a suggested check quotes.
const QUOTED_CHARS: usize = 300;
const POSITION: TextField = TextField { name: "position", label: "The position", max_chars: 500 };

/// What a revision of a test input keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TestInputFields {
    /// What is said.
    pub content: String,
    /// Where it stands: see [`super::position`].
    #[serde(default)]
    pub position: String,
    /// What was said before, when it is a moment of a chat.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Before>,
    /// What a good answer does, for whoever judges it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub check: String,
}

/// Something that was said before a test input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Before {
    /// Who said it.
    pub role: Role,
    /// The words.
    pub content: String,
}

impl TestInputFields {
    /// Refuses what a test input cannot be.
    pub fn check(&self) -> Result<(), ApiError> {
        if self.content.trim().is_empty() {
            return Err(ApiError::invalid(CONTENT.name, "The test input must not be empty."));
        }
        CONTENT.check(&self.content)?;
        CHECK.check(&self.check)?;
        let chars: usize = self.history.iter().map(|one| one.content.chars().count()).sum();
        if self.history.len() > MAX_HISTORY || chars > MAX_HISTORY_CHARS {
            let rule = format!(
                "At most {MAX_HISTORY} messages with {MAX_HISTORY_CHARS} characters stand before a \
                 test input."
            );
            return Err(ApiError::invalid("history", rule));
        }
        for one in &self.history {
            HISTORY.check(&one.content)?;
        }
        POSITION.check(&self.position)
    }
}

/// A test input as it is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TestInput {
    /// The identifier.
    pub id: TestInputId,
    /// Whose it is.
    pub persona_id: PersonaId,
    /// How often it was written.
    pub revision: Revision,
    /// What the revision says.
    #[serde(flatten)]
    pub fields: TestInputFields,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// A test input in an editor.
pub type EditedTestInput = Edited<TestInputId, TestInputFields>;

impl From<TestInput> for EditedTestInput {
    fn from(input: TestInput) -> Self {
        Self { id: input.id, revision: input.revision, fields: input.fields }
    }
}

/// The check that an answer suggests: another one should do what this one does, by its first sentences.
pub fn suggested_check(answer: &str) -> String {
    let line = answer.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut: String = line.chars().take(QUOTED_CHARS).collect();
    let end =
        if cut.len() < line.len() { cut.rfind(['.', '!', '?']).map(|end| end + 1) } else { None };
    match end.map_or(cut.as_str(), |end| &cut[..end]).trim() {
        "" => String::new(),
        quoted => format!("Stays in character, and means what this answer means: “{quoted}”"),
    }
}

/// Which way a test input moves among its siblings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Move {
    /// One place towards the first.
    Up,
    /// One place towards the last.
    Down,
}

/// New positions, by row, that move row `at` one place: one for that row alone, or one for every row
/// when two of them stand on the same position and there is no room between them.
pub fn moved(positions: &[&str], at: usize, way: Move) -> Vec<(usize, String)> {
    let other = match way {
        Move::Up => at.checked_sub(1),
        Move::Down => Some(at + 1).filter(|other| *other < positions.len()),
    };
    let Some(other) = other else { return Vec::new() };
    let (before, after) = match way {
        Move::Up => (other.checked_sub(1), Some(other)),
        Move::Down => (Some(other), Some(other + 1).filter(|next| *next < positions.len())),
    };
    let before = before.map_or("", |row| positions[row]);
    let after = after.map(|row| positions[row]);
    if after.is_none_or(|after| before < after) {
        return vec![(at, between(before, after))];
    }
    let mut order: Vec<usize> = (0..positions.len()).collect();
    order.swap(at, other);
    let mut last = String::new();
    let renumber = |row: usize| {
        last = between(&last, None);
        (row, last.clone())
    };
    order.into_iter().map(renumber).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_moves_past_its_neighbour_and_not_past_the_ends() {
        let rows = ["1", "2", "3"];

        let up = moved(&rows, 2, Move::Up);
        assert!(matches!(up.as_slice(), [(2, to)] if "1" < to.as_str() && to.as_str() < "2"));
        let down = moved(&rows, 0, Move::Down);
        assert!(matches!(down.as_slice(), [(0, to)] if "2" < to.as_str() && to.as_str() < "3"));
        assert!(matches!(moved(&rows, 1, Move::Down).as_slice(), [(1, to)] if to.as_str() > "3"));
        assert_eq!(moved(&rows, 0, Move::Up), []);
        assert_eq!(moved(&rows, 2, Move::Down), []);
    }

    #[test]
    fn a_suggested_check_quotes_whole_sentences() {
        let long = format!("A first one. {}", "word ".repeat(100));

        assert!(suggested_check(&long).ends_with("means: “A first one.”"));
        assert_eq!(suggested_check(" \n"), "");
    }

    #[test]
    fn rows_on_one_position_are_all_numbered_anew() {
        let moves = moved(&["1", "3", "3"], 0, Move::Down);

        let order: Vec<usize> = moves.iter().map(|(row, _)| *row).collect();
        assert_eq!(order, [1, 0, 2]);
        assert!(moves.is_sorted_by(|left, right| left.1 < right.1));
    }
}
