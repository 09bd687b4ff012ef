//! Two branches of a chat beside each other.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::{
    diff::{Segment, SegmentKind, hunks},
    id::{MessageId, PersonaId},
    message::Message,
};

/// How many turns of two branches come at once.
pub const COMPARED_TURNS: usize = 50;
/// How many of the messages that both branches have in common are shown.
pub const COMMON_TURNS: usize = 20;
/// Texts that have less than this part of their letters in common are told apart without marks.
const LEAST_ALIKE: f64 = 0.2;
/// The longest text that is compared word by word, in bytes.
const MAX_COMPARED: usize = 20_000;

/// One of two branches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    /// Where it ends.
    pub leaf: MessageId,
    /// How many messages of it the other one does not have.
    pub length: usize,
    /// Whether its last answers are still being written.
    pub generating: bool,
}

/// Which personas said messages, and what they were called then.
pub type Speakers = HashMap<MessageId, (PersonaId, String)>;

/// Two branches: what they have in common, and a stretch of what they have not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The first one.
    pub left: Branch,
    /// The other one.
    pub right: Branch,
    /// How many messages both begin with.
    pub common: usize,
    /// The last of them.
    pub shared: Vec<Message>,
    /// What follows, turn by turn.
    pub rows: Vec<ComparedRow>,
    /// Who speaks in all of these.
    pub speakers: Speakers,
    /// How many turns stand before these.
    pub from: usize,
    /// Where to go on.
    pub next: Option<usize>,
}

/// A turn of both branches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedRow {
    /// On the first branch.
    pub left: Option<Message>,
    /// On the other one.
    pub right: Option<Message>,
    /// Whether both follow the same words, so that their own are compared.
    pub comparable: bool,
}

/// The turns of two branches beside each other. The first of them follow the same message if
/// `same_before`.
pub fn rows(left: Vec<Message>, right: Vec<Message>, same_before: bool) -> Vec<ComparedRow> {
    let mut rows = Vec::with_capacity(left.len().max(right.len()));
    let (mut left, mut right) = (left.into_iter(), right.into_iter());
    let mut same = same_before;
    loop {
        let (one, other) = (left.next(), right.next());
        if one.is_none() && other.is_none() {
            return rows;
        }
        let (comparable, said_alike) = match (&one, &other) {
            (Some(one), Some(other)) => {
                (same && one.role == other.role, one.text().trim() == other.text().trim())
            }
            _ => (false, false),
        };
        rows.push(ComparedRow { left: one, right: other, comparable });
        same = said_alike;
    }
}

/// Two texts with what only one of them says marked on its side. `None` where marks would not help: the
/// texts are too long, or have hardly anything in common.
pub fn sides(left: &str, right: &str) -> Option<(Vec<Segment>, Vec<Segment>)> {
    if left.len().max(right.len()) > MAX_COMPARED {
        return None;
    }
    let hunks = hunks(left, right);
    let changed: usize = hunks.iter().map(|hunk| hunk.old.len()).sum();
    let alike = (left.len() - changed) as f64;
    if alike < LEAST_ALIKE * left.len().max(right.len()) as f64 {
        return None;
    }
    let side = |text: &str, kind: SegmentKind, marked: Vec<std::ops::Range<usize>>| {
        let mut out = Vec::new();
        let mut push = |kind: SegmentKind, text: &str| {
            if !text.is_empty() {
                out.push(Segment { kind, text: text.to_owned(), hunk: None });
            }
        };
        let mut at = 0;
        for range in marked {
            push(SegmentKind::Same, &text[at..range.start]);
            push(kind, &text[range.clone()]);
            at = range.end;
        }
        push(SegmentKind::Same, &text[at..]);
        out
    };
    let (old, new) = hunks.into_iter().map(|hunk| (hunk.old, hunk.new)).unzip();
    Some((side(left, SegmentKind::Removed, old), side(right, SegmentKind::Added, new)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{
        message::{Part, PartBody, Role},
        run::Spent,
        timestamp::Timestamp,
    };

    fn message(role: Role, words: &str) -> Message {
        let part = Part {
            id: "p".into(),
            at: Timestamp(0),
            body: PartBody::Text(words.into()),
            carried: None,
        };
        Message {
            id: words.into(),
            parent_id: None,
            role,
            parts: vec![part],
            run_id: None,
            model: String::new(),
            stop: None,
            spent: Spent::default(),
            created_at: Timestamp(0),
        }
    }

    #[test]
    fn answers_to_the_same_question_are_compared_and_others_are_not() {
        let (ask, say) = (Role::User, Role::Assistant);
        let left =
            vec![message(say, "A"), message(ask, "Why?"), message(say, "So."), message(ask, "Oh")];
        let right = vec![message(say, "B"), message(ask, "Why?"), message(say, "Thus.")];

        let rows = rows(left, right, true);

        let comparable: Vec<bool> = rows.iter().map(|row| row.comparable).collect();
        assert_eq!(comparable, [true, false, true, false]);
        assert!(rows[3].right.is_none());
    }

    #[test]
    fn each_side_marks_what_only_it_says() {
        let (left, right) = sides("Be brief and kind.", "Be short and kind.").unwrap();

        let told = |side: &[Segment]| {
            let told = side.iter().map(|piece| match piece.kind {
                SegmentKind::Same => piece.text.clone(),
                _ => format!("[{}]", piece.text),
            });
            told.collect::<String>()
        };
        assert_eq!(
            (told(&left).as_str(), told(&right).as_str()),
            ("Be [brief] and kind.", "Be [short] and kind.")
        );
    }

    #[test]
    fn texts_without_anything_in_common_are_not_marked_all_over() {
        assert_eq!(sides("one", "two"), None);
        assert_eq!(sides(&"x".repeat(30_000), "x"), None);
        assert!(sides("", "").is_some());
    }
}
