//! A test input: something one says to a persona to see what it answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    error::ApiError,
    field::TextField,
    id::{PersonaId, TestInputId},
    timestamp::Timestamp,
    version::{Edited, Revision},
};

/// The content.
pub const CONTENT: TextField =
    TextField { name: "content", label: "The test input", max_chars: 20_000 };
/// The most test inputs a persona may have.
pub const MAX_PER_PERSONA: i64 = 500;
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
}

impl TestInputFields {
    /// Refuses what a test input cannot be.
    pub fn check(&self) -> Result<(), ApiError> {
        if self.content.trim().is_empty() {
            return Err(ApiError::invalid(CONTENT.name, "The test input must not be empty."));
        }
        CONTENT.check(&self.content)?;
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

/// Which way a test input moves among its siblings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Move {
    /// One place towards the first.
    Up,
    /// One place towards the last.
    Down,
}

/// The position that moves row `at` one place, if there is a place to go.
pub fn moved(positions: &[&str], at: usize, way: Move) -> Option<String> {
    let (before, after) = match way {
        Move::Up => {
            let above = at.checked_sub(1)?;
            (above.checked_sub(1).and_then(|row| positions.get(row)), positions.get(above))
        }
        Move::Down => (Some(positions.get(at + 1)?), positions.get(at + 2)),
    };
    Some(super::position::between(before.copied().unwrap_or(""), after.copied()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_moves_past_its_neighbour_and_not_past_the_ends() {
        let rows = ["1", "2", "3"];

        let up = moved(&rows, 2, Move::Up).unwrap();
        assert!("1" < up.as_str() && up.as_str() < "2");
        let down = moved(&rows, 0, Move::Down).unwrap();
        assert!("2" < down.as_str() && down.as_str() < "3");
        assert!(moved(&rows, 1, Move::Down).unwrap().as_str() > "3");
        assert_eq!(moved(&rows, 0, Move::Up), None);
        assert_eq!(moved(&rows, 2, Move::Down), None);
    }
}
