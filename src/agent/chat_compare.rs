//! Two branches of a chat beside each other. One that is still being written is compared as far as it is
//! there.

use std::collections::HashMap;

use super::{
    Agent,
    chat_tree::{check_visible, name_in, named},
    chats::chat_conversation,
    rounds::Round,
};
use crate::{
    changes::Scope,
    domain::{
        compare::{Branch, COMMON_TURNS, COMPARED_TURNS, Comparison, Speakers, rows},
        error::ApiError,
        id::{ConversationId, MessageId},
        message::{Message, Role},
    },
    store::{Link, StoreError, Voice},
};

/// A branch from its end upwards.
struct Way {
    /// Its messages, the last first.
    ids: Vec<MessageId>,
    /// The last of them that is kept.
    kept: MessageId,
    /// Those that are being written below it, the oldest first.
    written: Vec<Message>,
    /// Who writes them.
    writers: Vec<Voice>,
    /// Whether more is to come.
    generating: bool,
}

impl Way {
    /// A stretch of it, the oldest first: without the last `skip` messages, the `take` before them.
    async fn stretch(
        &self,
        link: &mut Link,
        chat: &ConversationId,
        skip: usize,
        take: usize,
    ) -> Result<Vec<Message>, StoreError> {
        let fresh = self.written.len();
        let (from, to) = (skip.min(fresh), (skip + take).min(fresh));
        let kept = take - (to - from);
        let mut messages = link.stretch(chat, &self.kept, skip - from, kept).await?;
        messages.extend_from_slice(&self.written[fresh - to..fresh - from]);
        Ok(messages)
    }

    /// Who said what stands in a stretch of it, where that is known.
    async fn voices(
        &self,
        link: &mut Link,
        chat: &ConversationId,
        stretch: &[Message],
    ) -> Result<Vec<Voice>, StoreError> {
        let is_written =
            |message: &Message| self.writers.iter().any(|writer| writer.message == message.id);
        let mut voices = self.writers.clone();
        if let Some(last) = stretch.iter().rfind(|message| !is_written(message)) {
            let most = i64::try_from(stretch.len()).unwrap_or(i64::MAX);
            voices.extend(link.voices(chat, &last.id, most).await?);
        }
        Ok(voices)
    }

    /// What is told of it, when so much of it is its own.
    fn branch(&self, length: usize) -> Result<Branch, ApiError> {
        let leaf = self.ids.first().cloned().ok_or_else(|| ApiError::not_found("message"))?;
        Ok(Branch { leaf, length, generating: self.generating })
    }
}

impl Agent {
    /// Compares the branches that end below two messages, from one of their turns on.
    pub async fn compare_branches(
        &self,
        scope: &Scope,
        chat: &ConversationId,
        left: &MessageId,
        right: &MessageId,
        from: usize,
    ) -> Result<Comparison, ApiError> {
        let mut link = self.read(scope).await?;
        chat_conversation(&mut link, chat).await?;
        let open = Round::open(&mut link, chat).await?;
        let one = self.way(&mut link, chat, open.as_ref(), left).await?;
        let other = self.way(&mut link, chat, open.as_ref(), right).await?;
        let at: HashMap<&MessageId, usize> =
            other.ids.iter().enumerate().map(|(at, id)| (id, at)).collect();
        // How far up from each end the ways meet; if they never do, they have nothing in common.
        let meet = one.ids.iter().enumerate().find_map(|(one, id)| Some((one, *at.get(id)?)));
        let lengths = meet.unwrap_or((one.ids.len(), other.ids.len()));
        let (left, right) = (one.branch(lengths.0)?, other.branch(lengths.1)?);
        let common = one.ids.len() - left.length;
        let shared = one.stretch(&mut link, chat, left.length, COMMON_TURNS.min(common)).await?;
        let longest = left.length.max(right.length);
        let from = from.min(longest.saturating_sub(1));
        // Whether the first turns answer the same is seen in those before them.
        let first = from.saturating_sub(1);
        let end = from + COMPARED_TURNS;
        let mut sides = Vec::with_capacity(2);
        for (way, length) in [(&one, left.length), (&other, right.length)] {
            let (start, end) = (first.min(length), end.min(length));
            sides.push(way.stretch(&mut link, chat, length - end, end - start).await?);
        }
        let right_side = sides.pop().unwrap_or_default();
        let left_side = sides.pop().unwrap_or_default();
        // What names nobody is the first one's, as on the page of the chat.
        let members = link.chat(chat).await?.members;
        let first_one = members.into_iter().next().map(|member| (member.persona_id, member.name));
        let first_one = first_one.unwrap_or_default();
        let mut speakers = Speakers::new();
        for (way, stretch) in [(&one, &shared), (&one, &left_side), (&other, &right_side)] {
            let answers = stretch.iter().filter(|message| message.role == Role::Assistant);
            speakers.extend(answers.map(|message| (message.id.clone(), first_one.clone())));
            let voices = way.voices(&mut link, chat, stretch).await?.into_iter();
            speakers.extend(voices.map(|voice| (voice.message, (voice.persona, voice.name))));
        }
        let mut rows = rows(left_side, right_side, first == 0);
        rows.drain(..(from - first).min(rows.len()));
        let next = Some(end).filter(|end| *end < longest);
        Ok(Comparison { left, right, common, shared, rows, speakers, from, next })
    }

    /// The branch that ends below a message, with the answers that are being given there.
    async fn way(
        &self,
        link: &mut Link,
        chat: &ConversationId,
        open: Option<&Round>,
        message: &MessageId,
    ) -> Result<Way, ApiError> {
        let is_written = open.is_some_and(|open| open.writes(message));
        if !is_written {
            named(link, chat, message).await?;
            check_visible(link, chat, message).await?;
        }
        let Some(open) = open.filter(|open| is_written || open.holds(message)) else {
            let kept = link.newest_below(chat, message).await?;
            let ids = link.way_up(chat, &kept).await?;
            let (written, writers) = (Vec::new(), Vec::new());
            return Ok(Way { ids, kept, written, writers, generating: false });
        };
        let kept = open.end();
        let (mut written, mut writers): (Vec<Message>, Vec<Voice>) = (Vec::new(), Vec::new());
        for run in open.unkept() {
            let parts = self.parts_so_far(link, &run.id).await?;
            if !parts.is_empty() {
                let (message, persona) = (run.reply_id.clone(), run.persona_id.clone());
                writers.push(Voice { message, persona, name: name_in(link, run).await? });
                written.push(run.reply(parts));
            }
        }
        let ids = written.iter().rev().map(|message| message.id.clone());
        let ids = ids.chain(link.way_up(chat, &kept).await?).collect();
        Ok(Way { ids, kept, written, writers, generating: true })
    }
}
