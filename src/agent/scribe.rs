//! Who sums up what was said in a session of the terminal.

use std::sync::{Mutex, PoisonError};

use futures_util::future::BoxFuture;

use super::{
    Agent, chat_background::Passing, driver::Prepared, manager::Scribe, prompt, tool::bounded,
};
use crate::{
    changes::Scope,
    domain::{
        error::ApiError,
        id::PersonaId,
        message::{Message, Role},
        tokens::estimate,
    },
    providers::Route,
};

/// How much of each message a summary is made from.
const QUOTED_CHARS: usize = 4000;
/// How often a model is asked at most, when there is more than it can read at once.
const MAX_PIECES: usize = 4;
/// The most that is kept of what a model wrote, in bytes.
pub(super) const MAX_NOTES: usize = 4000;

/// Has what was said summed up by the session's own model.
pub(super) struct ModelScribe {
    /// Where it is asked.
    pub agent: Agent,
    /// For whom.
    pub scope: Scope,
    /// Who speaks in the session.
    pub persona: PersonaId,
    /// The way to its model.
    pub route: Route,
    /// What that took so far.
    pub took: Mutex<Prepared>,
}

impl ModelScribe {
    fn note(&self, took: Prepared) {
        let mut all = self.took.lock().unwrap_or_else(PoisonError::into_inner);
        *all = all.plus(took);
    }

    /// What was asked here, all together.
    pub(super) fn took(self) -> Prepared {
        self.took.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Scribe for ModelScribe {
    fn summarise<'a>(
        &'a self,
        before: Option<&'a str>,
        messages: &'a [Message],
    ) -> BoxFuture<'a, Result<String, ApiError>> {
        Box::pin(async move {
            let room = (self.route.model.context / 2) as usize;
            let mut notes = before.map(str::to_owned);
            for said in pieces(messages, room) {
                let before = notes.map(|notes| format!("# The notes so far\n\n{notes}\n\n"));
                let words =
                    format!("{}# What was said after them\n{said}", before.unwrap_or_default());
                let system = prompt::TERMINAL_SUMMARY;
                let asked = Passing { persona: &self.persona, system, words: &words };
                let (written, took) = self.agent.ask_once(&self.scope, &self.route, asked).await?;
                self.note(took);
                notes = Some(bounded(written, MAX_NOTES));
            }
            Ok(notes.unwrap_or_default())
        })
    }
}

/// What was said, in pieces that a model can read, the oldest first. Of more than a few pieces the oldest
/// are left out.
fn pieces(messages: &[Message], room: usize) -> Vec<String> {
    let (mut pieces, mut piece, mut taken) = (Vec::new(), Vec::new(), 0);
    for message in messages.iter().rev() {
        let who = match message.role {
            Role::User => "Person",
            Role::Assistant => "Assistant",
        };
        let said: String = message.text().chars().take(QUOTED_CHARS).collect();
        let line = format!("\n{who}: {said}\n");
        let size = estimate(&line);
        if taken + size > room && !piece.is_empty() {
            pieces.push(std::mem::take(&mut piece));
            taken = 0;
            if pieces.len() == MAX_PIECES {
                tracing::warn!("more was said than is summed up: the oldest is left out");
                break;
            }
        }
        taken += size;
        piece.push(line);
    }
    if !piece.is_empty() {
        pieces.push(piece);
    }
    let whole = |piece: Vec<String>| piece.into_iter().rev().collect::<String>();
    pieces.into_iter().rev().map(whole).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{
        message::{Part, PartBody},
        run::Spent,
        timestamp::Timestamp,
    };

    fn said(number: usize) -> Message {
        let body = PartBody::Text(format!("m{number} {}", "word ".repeat(40)));
        Message {
            id: format!("m{number}").as_str().into(),
            parent_id: None,
            role: Role::User,
            parts: vec![Part { id: "p".into(), at: Timestamp(0), body, carried: None }],
            run_id: None,
            model: String::new(),
            stop: None,
            spent: Spent::default(),
            created_at: Timestamp(0),
        }
    }

    /// Which messages are in each piece.
    fn shown(count: usize, room: usize) -> Vec<Vec<usize>> {
        let messages: Vec<Message> = (0..count).map(said).collect();
        let numbers = |piece: String| {
            (0..count).filter(|number| piece.contains(&format!("m{number} "))).collect()
        };
        pieces(&messages, room).into_iter().map(numbers).collect()
    }

    #[test]
    fn what_does_not_fit_at_once_is_read_in_pieces_and_the_newest_are_never_left_out() {
        assert_eq!(shown(3, 1000), [[0, 1, 2]]);
        assert_eq!(shown(5, 120), [vec![0], vec![1, 2], vec![3, 4]]);
        assert_eq!(shown(11, 120), [[3, 4], [5, 6], [7, 8], [9, 10]]);
        assert_eq!(shown(2, 1), [[0], [1]], "one message is read whatever it takes");
        assert!(shown(0, 100).is_empty());
    }
}
