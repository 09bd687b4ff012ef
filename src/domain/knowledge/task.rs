//! A task: something to do, and perhaps by when.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Card, Knowledge, NOTE, TITLE, first_words};
use crate::domain::{
    change::EntityKind, date::Date, error::ApiError, id::TaskId, search::Texts,
    timestamp::Timestamp,
};

/// Beyond every moment of the calendar: what is due stands before what is not, the earliest first, and
/// what is done after all that is to do.
const BEYOND: i64 = 1 << 52;

/// How a task stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TaskStatus {
    /// Nobody has begun.
    #[default]
    Open,
    /// Somebody is at it.
    Doing,
    /// It is done.
    Done,
}

impl TaskStatus {
    /// All of them, in the order in which a task passes them.
    pub const ALL: [Self; 3] = [Self::Open, Self::Doing, Self::Done];

    /// The word in JSON, in the database and in a form.
    pub fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Doing => "doing",
            Self::Done => "done",
        }
    }

    /// What a person calls it.
    pub fn label(self) -> &'static str {
        match self {
            Self::Open => "To do",
            Self::Doing => "Doing",
            Self::Done => "Done",
        }
    }

    /// The status with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.word() == word)
    }
}

/// What a revision of a task keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskFields {
    /// What is to be done, up to 200 characters on one line.
    pub title: String,
    /// How it stands.
    #[serde(default)]
    pub status: TaskStatus,
    /// The day by which it should be done.
    #[serde(default)]
    pub due: Option<Date>,
    /// What else there is to say.
    #[serde(default)]
    pub note: String,
}

impl Knowledge for TaskFields {
    type Id = TaskId;
    const KIND: EntityKind = EntityKind::Task;
    const PLURAL: &'static str = "tasks";

    fn check(&self) -> Result<(), ApiError> {
        TITLE.check_line(&self.title)?;
        NOTE.check(&self.note)
    }

    fn texts(&self) -> Texts {
        Texts { title: self.title.clone(), body: self.note.clone(), ..Texts::default() }
    }

    fn card(&self) -> Card {
        Card {
            title: self.title.clone(),
            excerpt: first_words(&self.note),
            url: None,
            status: Some(self.status),
            due: self.due,
        }
    }

    /// What is due and not done comes first, the earliest on top; what is done comes last.
    fn sort_at(&self, updated: Timestamp) -> i64 {
        match (self.status, self.due) {
            (TaskStatus::Open | TaskStatus::Doing, Some(due)) => BEYOND - due.begins().0,
            (TaskStatus::Open | TaskStatus::Doing, None) => updated.0,
            (TaskStatus::Done, _) => updated.0 - BEYOND,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_first_stands_first_and_what_is_done_last() {
        let now = Timestamp(1_794_800_000_000);
        let task = |due: Option<&str>, status: TaskStatus| {
            let due = due.and_then(Date::parse);
            TaskFields { due, status, ..Default::default() }.sort_at(now)
        };

        let soon = task(Some("2026-11-17"), TaskStatus::Doing);
        let late = task(Some("9999-12-31"), TaskStatus::Open);
        assert!(soon > late && late > task(None, TaskStatus::Open));
        assert!(task(Some("2026-11-17"), TaskStatus::Done) < task(None, TaskStatus::Doing));
        assert!(task(None, TaskStatus::Done) < TaskFields::default().sort_at(Timestamp(0)));
    }
}
