//! Answers that belong together: several personas answer one message, and their answers stand one after
//! another in the order that was chosen, whoever is done first.

use super::talk::said_by;
use crate::{
    domain::{
        id::{ConversationId, MessageId, RunId},
        line::{Fate, Next, ended_together, fate},
        message::{Message, Part},
        run::{Run, RunStatus},
    },
    store::{Answered, Link, StoreError},
};

/// Answers to one message, in order.
pub(super) struct Round(Vec<Answered>);

impl Round {
    /// The answers that begin with this run.
    pub async fn read(link: &mut Link, first: &RunId) -> Result<Self, StoreError> {
        Ok(Self(link.round(first).await?))
    }

    /// The answers that are being given in a chat.
    pub async fn open(link: &mut Link, chat: &ConversationId) -> Result<Option<Self>, StoreError> {
        match link.run_going_on(chat).await? {
            Some(run) => Ok(Some(Self::read(link, &run.round_id).await?)),
            None => Ok(None),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether all of them have ended.
    pub fn is_over(&self) -> bool {
        self.0.iter().all(|one| one.run.status.is_over())
    }

    /// The message behind which the next of them stands: the last that is kept before one that is still
    /// being given.
    pub fn end(&self) -> MessageId {
        let mut end = self.0.first().map(|first| first.run.follows().clone()).unwrap_or_default();
        for one in &self.0 {
            if one.kept {
                end = one.run.reply_id.clone();
            } else if !one.run.status.is_over() {
                break;
            }
        }
        end
    }

    /// Those whose message is not kept, or not yet.
    pub fn unkept(&self) -> impl Iterator<Item = &Run> {
        self.0.iter().filter(|one| !one.kept).map(|one| &one.run)
    }

    /// The first of them while it is being given: its message will stand beside others that follow the same.
    pub fn first_to_come(&self) -> Option<&Run> {
        let first = self.0.first().map(|first| &first.run)?;
        let next = self.unkept().find(|run| !run.status.is_over())?;
        (self.end() == *first.follows()).then_some(next)
    }

    /// Whether this is the message that one of them will have.
    pub fn writes(&self, message: &MessageId) -> bool {
        self.unkept().any(|run| run.reply_id == *message)
    }

    /// Whether this message is what they answer, or one of them.
    pub fn holds(&self, message: &MessageId) -> bool {
        self.0.iter().any(|one| {
            let run = &one.run;
            [&run.message_id, run.follows()].contains(&message)
                || one.kept && run.reply_id == *message
        })
    }

    fn ended(&self) -> RunStatus {
        let all: Vec<RunStatus> = self.0.iter().map(|one| one.run.status).collect();
        ended_together(&all)
    }
}

/// Keeps the words of a run that has ended in a chat, and of those that waited for it, each behind the one
/// before it. When it was the last, what comes next learns how they ended.
pub(super) async fn settle(link: &mut Link, run: &Run, parts: Vec<Part>) -> Result<(), StoreError> {
    let chat = &run.conversation_id;
    let at = run.ended_at.unwrap_or(run.created_at);
    let round = Round::read(link, &run.round_id).await?;
    let Some(first) = round.0.first() else { return Ok(()) };
    let mut last = first.run.follows().clone();
    for Answered { run: one, kept } in &round.0 {
        if *kept {
            last = one.reply_id.clone();
            continue;
        }
        // What comes after one that is still being given waits in the log.
        if !one.status.is_over() {
            break;
        }
        let said = if one.id == run.id { parts.clone() } else { said_by(link, &one.id).await? };
        if said.is_empty() {
            continue;
        }
        let message = Message { parent_id: Some(last), ..one.reply(said) };
        link.insert_message(chat, &message).await?;
        link.set_leaf(chat, &message.id, at).await?;
        last = message.id;
    }
    if round.is_over() {
        move_line(link, chat, round.ended()).await?;
    }
    Ok(())
}

/// The runs whose words were kept with the end of this one, when it has just been settled: what stands
/// before it had its place already.
pub(super) async fn kept_with(link: &mut Link, run: &Run) -> Result<Vec<Run>, StoreError> {
    let round = Round::read(link, &run.round_id).await?;
    let own = |one: &Answered| one.kept && one.run.place >= run.place;
    Ok(round.0.into_iter().filter(own).map(|one| one.run).collect())
}

/// Tells what comes next in a chat how the answers before it ended.
async fn move_line(
    link: &mut Link,
    chat: &ConversationId,
    ended: RunStatus,
) -> Result<(), StoreError> {
    if ended == RunStatus::Done {
        return Ok(());
    }
    let line = link.line(chat).await?;
    let waits = |what: &Next| matches!(what, Next::Answers { .. });
    let others = line.iter().any(|item| item.held.is_none() && waits(&item.what));
    for mut item in line.into_iter().filter(|item| item.held.is_none()) {
        match fate(&item.what, ended, others) {
            Fate::Moves => continue,
            Fate::Dropped => {
                link.take_next(chat, &item.id).await?;
                continue;
            }
            Fate::Held(reason) => item.held = Some(reason.into()),
            Fate::Ended => {
                if let Next::Replay { message_ids, .. } = &mut item.what {
                    message_ids.clear();
                }
            }
        }
        link.put_next(chat, &item).await?;
    }
    Ok(())
}
