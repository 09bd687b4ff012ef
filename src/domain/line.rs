//! What comes next in a chat once the answer is there: one line for further answers, turns that are said
//! again, and what a person wrote meanwhile.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    id::{MessageId, NextId, PersonaId, RunId, UserId},
    run::RunStatus,
    timestamp::Timestamp,
};

/// The most that a person can have waiting in one chat.
pub const MAX_WAITING: usize = 20;
/// The most turns that are said again under a new version.
pub const MAX_REPLAYED: usize = 5;

/// Something that comes next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Next {
    /// Further personas answer the same message.
    Answers {
        /// The first run of the answers.
        round_id: RunId,
        /// What they answer.
        message_id: MessageId,
        /// Who is still to answer, in order.
        persona_ids: Vec<PersonaId>,
    },
    /// The person's words of earlier turns are said again on a branch of their own.
    Replay {
        /// The messages whose words are still to be said.
        message_ids: Vec<MessageId>,
        /// The first message of the new branch, once it is there.
        begun: Option<MessageId>,
        /// Where the old branch ends.
        old: MessageId,
    },
    /// A person's words.
    Words {
        /// What is said.
        content: String,
        /// What it follows: the newest end below this message.
        after: Option<MessageId>,
        /// The device that says it.
        device_id: Option<String>,
    },
    /// Turns were said again: both branches can be compared.
    Replayed {
        /// Where the old branch ends.
        old: MessageId,
        /// Where the new one ends.
        new: MessageId,
    },
}

impl Next {
    /// The place of what only waits to be read: all before it goes on by itself.
    pub const AT_REST: i64 = 3;

    /// Its place in the line: what belongs to an answer comes before what is said next.
    pub fn rank(&self) -> i64 {
        match self {
            Self::Answers { .. } => 0,
            Self::Replay { .. } => 1,
            Self::Words { .. } => 2,
            Self::Replayed { .. } => Self::AT_REST,
        }
    }
}

/// Something that comes next, as it waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NextItem {
    /// The identifier.
    pub id: NextId,
    /// What it is.
    #[serde(flatten)]
    pub what: Next,
    /// Why it waits for a person; `null` while it goes on by itself.
    pub held: Option<String>,
    /// When it was put there.
    pub created_at: Timestamp,
    /// For whom.
    #[serde(skip)]
    pub user: UserId,
}

impl NextItem {
    /// Whether it goes on by itself.
    pub fn moves(&self) -> bool {
        self.held.is_none() && self.what.rank() < Next::AT_REST
    }
}

/// What becomes of something in the line when the answers before it have ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It goes on by itself.
    Moves,
    /// It waits for a person, who is told why.
    Held(&'static str),
    /// It is not wanted any more.
    Dropped,
    /// It ends where it is.
    Ended,
}

/// What becomes of it after answers that ended like this. `others` says whether other personas are still to
/// answer.
pub fn fate(what: &Next, ended: RunStatus, others: bool) -> Fate {
    match (what, ended) {
        (Next::Replayed { .. }, _) | (_, RunStatus::Done) => Fate::Moves,
        (_, RunStatus::Queued | RunStatus::Running) => Fate::Moves,
        (_, RunStatus::Interrupted) => {
            Fate::Held("The server was restarted while the answer before it was given.")
        }
        (Next::Answers { .. }, RunStatus::Stopped) => Fate::Dropped,
        (Next::Replay { .. }, RunStatus::Stopped) => Fate::Ended,
        (Next::Words { .. }, RunStatus::Stopped) => Fate::Held("The answer before it was stopped."),
        // One persona's failure is not another's.
        (Next::Answers { .. }, RunStatus::Failed) => Fate::Moves,
        (Next::Replay { .. } | Next::Words { .. }, RunStatus::Failed) if others => Fate::Moves,
        (Next::Replay { .. } | Next::Words { .. }, RunStatus::Failed) => {
            Fate::Held("The answer before it failed.")
        }
    }
}

/// How answers that belong together ended, taken as one.
pub fn ended_together(all: &[RunStatus]) -> RunStatus {
    for outweighs in [RunStatus::Stopped, RunStatus::Interrupted] {
        if all.contains(&outweighs) {
            return outweighs;
        }
    }
    if all.iter().all(|status| *status == RunStatus::Failed) {
        RunStatus::Failed
    } else {
        RunStatus::Done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> Next {
        Next::Words { content: "And then?".into(), after: None, device_id: None }
    }

    fn answers() -> Next {
        let persona_ids = vec!["skeptic".into()];
        Next::Answers { round_id: "r".into(), message_id: "m".into(), persona_ids }
    }

    #[test]
    fn stopping_drops_further_answers_and_keeps_a_persons_words() {
        assert_eq!(fate(&answers(), RunStatus::Stopped, true), Fate::Dropped);
        assert!(matches!(fate(&words(), RunStatus::Stopped, false), Fate::Held(_)));
        assert!(matches!(fate(&words(), RunStatus::Interrupted, false), Fate::Held(_)));
    }

    #[test]
    fn one_failure_does_not_silence_the_others() {
        assert_eq!(fate(&answers(), RunStatus::Failed, true), Fate::Moves);
        assert_eq!(fate(&words(), RunStatus::Failed, true), Fate::Moves);
        assert!(matches!(fate(&words(), RunStatus::Failed, false), Fate::Held(_)));
        let some = [RunStatus::Failed, RunStatus::Done];
        assert_eq!(ended_together(&some), RunStatus::Done);
        assert_eq!(ended_together(&[RunStatus::Failed; 2]), RunStatus::Failed);
        assert_eq!(ended_together(&[RunStatus::Done, RunStatus::Stopped]), RunStatus::Stopped);
    }

    #[test]
    fn what_waits_is_read_as_it_was_written() {
        for what in [words(), answers()] {
            let text = serde_json::json!(what).to_string();
            assert_eq!(serde_json::from_str::<Next>(&text).unwrap(), what);
        }
    }
}
