//! What comes next in a chat: it is kept with the answer it waits for, and begins when that is there, also
//! after a restart.

use futures_util::{FutureExt, future::BoxFuture};

use super::{
    Agent,
    chat_tree::{ChatWords, check_visible, remember},
    chats::chat_conversation,
    driver::Brief,
    rounds::Round,
    runs::{Order, said},
};
use crate::{
    changes::Scope,
    domain::{
        change::Entity,
        chat::Answering,
        error::ApiError,
        id::{ConversationId, MessageId, PersonaId, RunId, SpaceId},
        line::{Next, NextItem},
        message::Conversation,
        news::News,
        run::Run,
    },
    store::{Link, new_id, now},
};

/// What became of what stands first in a line.
enum Taken {
    /// It is being answered.
    Begun,
    /// It had nothing more to do.
    Passed,
    /// Somebody else was faster.
    Missed,
}

impl Agent {
    /// Begins what stands first in the line of a chat, when nobody is answering there.
    pub(super) fn go_on_in(&self, space: SpaceId, chat: ConversationId) -> BoxFuture<'static, ()> {
        let agent = self.clone();
        async move {
            // What comes next is begun by the next process, and need not be held.
            while agent.check_open().is_ok() {
                match agent.take_first(&space, &chat).await {
                    Ok(Taken::Passed) => {}
                    Ok(Taken::Begun | Taken::Missed) => return,
                    Err(error) => {
                        tracing::info!(%error, %chat, "what comes next cannot begin, and waits");
                        if let Err(error) = agent.hold_line(&space, &chat, &error).await {
                            tracing::error!(%error, %chat, "what comes next cannot be held");
                        }
                        return;
                    }
                }
            }
        }
        .boxed()
    }

    /// Goes on where something comes next and nobody answers: a process may have ended in between.
    pub(super) async fn resume_lines(&self) -> Result<(), ApiError> {
        for (space, chat) in self.store().halted_lines().await? {
            self.go_on_in(space, chat).await;
        }
        Ok(())
    }

    /// Lets everything in a line wait for a person, who is told why.
    async fn hold_line(
        &self,
        space: &SpaceId,
        chat: &ConversationId,
        error: &ApiError,
    ) -> Result<(), ApiError> {
        let mut link = self.store().write(space).await?;
        for mut item in link.line(chat).await?.into_iter().filter(NextItem::moves) {
            item.held = Some(error.to_string());
            link.put_next(chat, &item).await?;
        }
        link.tell(News::of_chat(chat));
        Ok(link.commit().await?)
    }

    async fn take_first(&self, space: &SpaceId, chat: &ConversationId) -> Result<Taken, ApiError> {
        let line = self.store().read(space).await?.line(chat).await?;
        let Some(item) = line.into_iter().find(NextItem::moves) else { return Ok(Taken::Missed) };
        let scope = Scope { space: space.clone(), user: item.user.clone() };
        match item.what.clone() {
            Next::Answers { round_id, message_id, persona_ids } => {
                self.next_answer(&scope, chat, item, round_id, message_id, persona_ids).await
            }
            Next::Replay { message_ids, begun, old } => {
                self.next_turn(&scope, chat, item, message_ids, begun, old).await
            }
            Next::Words { content, after, device_id } => {
                let (parent, device) = (after, device_id);
                let words = ChatWords { content, parent, device, ..ChatWords::default() };
                self.next_words(&scope, chat, item, words).await
            }
            Next::Replayed { .. } => Ok(Taken::Missed),
        }
    }

    /// The next persona answers the same message, after those that did.
    async fn next_answer(
        &self,
        scope: &Scope,
        chat: &ConversationId,
        mut item: NextItem,
        round_id: RunId,
        message_id: MessageId,
        mut persona_ids: Vec<PersonaId>,
    ) -> Result<Taken, ApiError> {
        let persona = if persona_ids.is_empty() { None } else { Some(persona_ids.remove(0)) };
        let brief = match &persona {
            Some(persona) => match self.chat_briefs(scope, chat, Some(persona)).await {
                Ok((mut briefs, _)) => briefs.pop(),
                // Whoever left the chat meanwhile is passed over.
                Err(ApiError::NotNow { .. } | ApiError::InBin { .. }) => None,
                Err(error) => return Err(error),
            },
            None => None,
        };
        let Some((mut link, conversation)) = self.still_first(scope, chat, &item).await? else {
            return Ok(Taken::Missed);
        };
        let round = Round::read(&mut link, &round_id).await?;
        if persona_ids.is_empty() {
            link.take_next(chat, &item.id).await?;
        } else {
            let round_id = round_id.clone();
            item.what = Next::Answers { round_id, message_id: message_id.clone(), persona_ids };
            link.put_next(chat, &item).await?;
        }
        let Some(brief) = brief else {
            link.tell(News::of_chat(chat));
            link.commit().await?;
            return Ok(Taken::Passed);
        };
        let message = if round.len() == 0 { message_id } else { round.end() };
        check_visible(&mut link, chat, &message).await?;
        let place = i64::try_from(round.len()).unwrap_or_default();
        let order = Order { round: round_id, place, ..Order::now(conversation, message, brief) };
        self.start(link, scope, order).await?;
        Ok(Taken::Begun)
    }

    /// The next of the person's words is said again.
    async fn next_turn(
        &self,
        scope: &Scope,
        chat: &ConversationId,
        mut item: NextItem,
        mut message_ids: Vec<MessageId>,
        begun: Option<MessageId>,
        old: MessageId,
    ) -> Result<Taken, ApiError> {
        if message_ids.is_empty() {
            let Some((mut link, _)) = self.still_first(scope, chat, &item).await? else {
                return Ok(Taken::Missed);
            };
            match begun {
                Some(begun) => {
                    let new = link.newest_below(chat, &begun).await?;
                    item.what = Next::Replayed { old, new };
                    link.put_next(chat, &item).await?;
                }
                None => drop(link.take_next(chat, &item.id).await?),
            }
            link.tell(News::of_chat(chat));
            link.commit().await?;
            return Ok(Taken::Passed);
        }
        let source = message_ids.remove(0);
        let (briefs, how) = self.chat_briefs(scope, chat, None).await?;
        let Some((mut link, conversation)) = self.still_first(scope, chat, &item).await? else {
            return Ok(Taken::Missed);
        };
        let source = link.message(&source).await?;
        let parent = match &begun {
            Some(begun) => {
                check_visible(&mut link, chat, begun).await?;
                Some(link.newest_below(chat, begun).await?)
            }
            None => {
                if let Some(parent) = &source.parent_id {
                    check_visible(&mut link, chat, parent).await?;
                }
                source.parent_id.clone()
            }
        };
        let message = said(parent, &source.text(), now());
        link.insert_message(chat, &message).await?;
        let begun = begun.or_else(|| Some(message.id.clone()));
        item.what = Next::Replay { message_ids, begun, old };
        link.put_next(chat, &item).await?;
        self.ask_all(link, scope, conversation, message.id, briefs, how).await?;
        Ok(Taken::Begun)
    }

    /// What a person wrote meanwhile is said.
    async fn next_words(
        &self,
        scope: &Scope,
        chat: &ConversationId,
        item: NextItem,
        words: ChatWords,
    ) -> Result<Taken, ApiError> {
        let (briefs, how) = self.chat_briefs(scope, chat, None).await?;
        let Some((mut link, conversation)) = self.still_first(scope, chat, &item).await? else {
            return Ok(Taken::Missed);
        };
        let parent = match &words.parent {
            Some(after) => {
                check_visible(&mut link, chat, after).await?;
                Some(link.newest_below(chat, after).await?)
            }
            None => match link.newest_root(chat).await? {
                Some(root) => Some(link.newest_below(chat, &root).await?),
                None => None,
            },
        };
        let message = said(parent.clone(), &words.content, now());
        link.insert_message(chat, &message).await?;
        link.take_next(chat, &item.id).await?;
        // A device that has gone to another branch meanwhile stays there.
        if let Some(device) = words.device.as_deref() {
            let seen = link.device_leaf(chat, &scope.user, device).await?;
            let end = match seen {
                Some(seen) => Some(link.newest_below(chat, &seen).await?),
                None => None,
            };
            if end == parent {
                remember(&mut link, scope, chat, Some(device), &message.id).await?;
            }
        }
        self.ask_all(link, scope, conversation, message.id, briefs, how).await?;
        Ok(Taken::Begun)
    }

    /// A link that writes, when this still stands in the line as it was read and nobody is answering.
    async fn still_first(
        &self,
        scope: &Scope,
        chat: &ConversationId,
        item: &NextItem,
    ) -> Result<Option<(Link, Conversation)>, ApiError> {
        let mut link = self.write(scope).await?;
        link.lock(&Entity::from(chat)).await?;
        let conversation = chat_conversation(&mut link, chat).await?;
        let busy = link.run_going_on(chat).await?.is_some();
        let first = link.line(chat).await?.into_iter().find(NextItem::moves);
        Ok((!busy && first.as_ref() == Some(item)).then_some((link, conversation)))
    }

    /// Has a message answered by these personas, in this way. The first run is the first one's.
    pub(super) async fn ask_all(
        &self,
        mut link: Link,
        scope: &Scope,
        conversation: Conversation,
        message: MessageId,
        briefs: Vec<Brief>,
        how: Answering,
    ) -> Result<Vec<Run>, ApiError> {
        let round: RunId = new_id();
        let order = |(place, brief): (i64, Brief)| {
            let now = Order::now(conversation.clone(), message.clone(), brief);
            let id = if place == 0 { round.clone() } else { now.id.clone() };
            Order { id, round: round.clone(), place, ..now }
        };
        let orders = match how {
            Answering::InParallel => (0..).zip(briefs).map(order).collect(),
            Answering::InTurn => {
                let mut briefs = briefs.into_iter();
                let first: Vec<Order> = (0..).zip(briefs.next()).map(order).collect();
                let persona_ids: Vec<PersonaId> =
                    briefs.map(|brief| brief.persona.id.clone()).collect();
                if !persona_ids.is_empty() {
                    let (round_id, message_id) = (round.clone(), message.clone());
                    let next = Next::Answers { round_id, message_id, persona_ids };
                    link.put_next(&conversation.id, &waiting(scope, next)).await?;
                }
                first
            }
        };
        self.start_all(link, scope, orders).await
    }
}

/// Something new in a line.
pub(super) fn waiting(scope: &Scope, what: Next) -> NextItem {
    NextItem { id: new_id(), what, held: None, created_at: now(), user: scope.user.clone() }
}
