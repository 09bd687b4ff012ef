//! How good somebody found something that was said, and why.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    error::ApiError,
    field::TextField,
    id::{MessageId, UserId},
    timestamp::Timestamp,
};

/// What is said about it.
pub const NOTE: TextField = TextField { name: "note", label: "The note", max_chars: 2000 };
/// The best and the worst.
pub const BEST: u8 = 5;
/// See [`BEST`].
pub const WORST: u8 = 1;

/// What somebody gives to a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewRating {
    /// From 1, the worst, to 5, the best.
    pub rating: u8,
    /// Why.
    #[serde(default)]
    pub note: String,
}

impl NewRating {
    /// Refuses what no rating can be.
    pub fn check(&self) -> Result<(), ApiError> {
        if !(WORST..=BEST).contains(&self.rating) {
            let rule = format!("A rating is a whole number from {WORST} to {BEST}.");
            return Err(ApiError::invalid("rating", rule));
        }
        NOTE.check(&self.note)
    }

    /// What somebody gives to a message now.
    pub fn of(self, message_id: MessageId, rated_by: UserId, now: Timestamp) -> Rating {
        let Self { rating, note } = self;
        Rating { message_id, rated_by, rating, note, created_at: now, updated_at: now }
    }
}

/// What somebody gave to a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rating {
    /// The message.
    pub message_id: MessageId,
    /// Who gave it.
    pub rated_by: UserId,
    /// From 1, the worst, to 5, the best.
    pub rating: u8,
    /// Why; empty for nothing.
    pub note: String,
    /// When it was first given.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rating_is_one_of_five() {
        let check = |rating: u8, note: &str| NewRating { rating, note: note.into() }.check();

        assert!((1..=5).all(|rating| check(rating, "").is_ok()));
        assert!([0, 6, 255].into_iter().all(|rating| check(rating, "").is_err()));
        assert!(check(3, &"x".repeat(2001)).is_err());
    }
}
