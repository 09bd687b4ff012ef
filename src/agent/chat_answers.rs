//! Having something answered in a chat: by all of its personas, or by one of them once more.

use super::{
    Agent,
    chat_tree::{
        ChatWords, PathAsk, check_content, check_device, check_visible, find_leaf, remember,
        standing,
    },
    chats::chat_conversation,
    once::keep_client,
    rounds::Round,
    runs::{Order, said},
};
use crate::{
    changes::Scope,
    domain::{
        change::Entity,
        chat::{Answering, MAX_MEMBERS},
        error::ApiError,
        id::{ConversationId, MessageId, PersonaId},
        line::NextItem,
        message::{Conversation, Role},
        run::Run,
    },
    store::{Link, now},
};

impl Agent {
    /// Says something in a chat, and gives the first run that answers. Another run that goes on there is in
    /// the way.
    pub async fn say_in_chat(
        &self,
        scope: &Scope,
        chat: &ConversationId,
        words: ChatWords,
    ) -> Result<Run, ApiError> {
        first(self.say_to(scope, chat, words, None).await?)
    }

    /// Says something in a chat to all of its personas, or to one of them.
    pub async fn say_to(
        &self,
        scope: &Scope,
        chat: &ConversationId,
        words: ChatWords,
        only: Option<&PersonaId>,
    ) -> Result<Vec<Run>, ApiError> {
        let client = words.client.clone();
        let saying = self.say_anew(scope, chat, words, only);
        self.once(scope, chat, client.as_deref(), saying).await
    }

    async fn say_anew(
        &self,
        scope: &Scope,
        chat: &ConversationId,
        words: ChatWords,
        only: Option<&PersonaId>,
    ) -> Result<Vec<Run>, ApiError> {
        check_content(&words.content)?;
        check_device(words.device.as_deref())?;
        let (briefs, how) = self.chat_briefs(scope, chat, only).await?;
        let (mut link, conversation) = self.begin_in(scope, chat).await?;
        let parent = match &words.parent {
            Some(parent) => {
                let known = standing(&mut link, chat, parent).await?;
                check_visible(&mut link, chat, &known.message.id).await?;
                let leaf = link.newest_below(chat, &known.message.id).await?;
                if leaf != known.message.id && !words.branch {
                    return Err(ApiError::MovedOn { leaf });
                }
                Some(known.message.id)
            }
            None => {
                let ask = PathAsk { device: words.device.clone(), ..PathAsk::default() };
                find_leaf(&mut link, scope, &conversation, None, &ask).await?.leaf
            }
        };
        let message = said(parent, &words.content, now());
        link.insert_message(chat, &message).await?;
        keep_client(&mut link, chat, words.client.as_deref(), &message.id).await?;
        remember(&mut link, scope, chat, words.device.as_deref(), &message.id).await?;
        self.ask_all(link, scope, conversation, message.id, briefs, how).await
    }

    /// Asks for another answer beside the one that is there, of the same persona. A person's message is
    /// answered again by all.
    pub async fn regenerate(
        &self,
        scope: &Scope,
        message: &MessageId,
        device: Option<&str>,
    ) -> Result<Run, ApiError> {
        check_device(device)?;
        let (chat, known) = self.said_in_chat(scope, message).await?;
        let known = known.message;
        if known.role == Role::User {
            let (briefs, how) = self.chat_briefs(scope, &chat, None).await?;
            let (mut link, conversation) = self.begin_in(scope, &chat).await?;
            check_visible(&mut link, &chat, message).await?;
            remember(&mut link, scope, &chat, device, message).await?;
            let runs = self.ask_all(link, scope, conversation, known.id, briefs, how).await?;
            return first(runs);
        }
        let mut link = self.read(scope).await?;
        // The same persona reads the same again. Who said what came from a file may be unknown.
        let (speaker, asked) = match (&known.run_id, &known.parent_id) {
            (Some(run), Some(_)) => {
                let run = link.run(run).await?;
                (run.persona_id, Some(run.message_id))
            }
            (None, Some(parent)) => {
                let speaker = match link.speaker(message).await? {
                    Some(speaker) => speaker,
                    None => link.chat(&chat).await?.persona_id,
                };
                let asked = answered(&mut link, &chat, parent, &speaker).await?;
                (speaker, asked)
            }
            (_, None) => (PersonaId::default(), None),
        };
        drop(link);
        let Some(asked) = asked else {
            let reason = "Nobody asked for that message, so there is nothing to answer again.";
            return Err(ApiError::NotNow { reason: reason.into() });
        };
        let follows = known.parent_id.unwrap_or_else(|| asked.clone());
        self.answer_as(scope, &chat, &speaker, asked, follows, device).await
    }

    /// Asks the same again after a run that ended in a chat.
    pub(super) async fn retry_in_chat(&self, scope: &Scope, run: &Run) -> Result<Run, ApiError> {
        if !run.status.is_over() {
            return Err(ApiError::Busy { run_id: run.id.clone() });
        }
        let mut link = self.read(scope).await?;
        let round = Round::read(&mut link, &run.round_id).await?;
        drop(link);
        if !round.writes(&run.reply_id) {
            return self.regenerate(scope, &run.reply_id, None).await;
        }
        // Without words it has no place of its own: it stands behind the others that answered.
        let (chat, asked) = (&run.conversation_id, run.message_id.clone());
        self.answer_as(scope, chat, &run.persona_id, asked, round.end(), None).await
    }

    /// One persona answers a message, and its answer stands behind another.
    async fn answer_as(
        &self,
        scope: &Scope,
        chat: &ConversationId,
        speaker: &PersonaId,
        asked: MessageId,
        follows: MessageId,
        device: Option<&str>,
    ) -> Result<Run, ApiError> {
        let (briefs, _) = self.chat_briefs(scope, chat, Some(speaker)).await?;
        let Some(brief) = briefs.into_iter().next() else {
            return Err(ApiError::not_found("persona"));
        };
        let (mut link, conversation) = self.begin_in(scope, chat).await?;
        check_visible(&mut link, chat, &follows).await?;
        remember(&mut link, scope, chat, device, &follows).await?;
        let now = Order::now(conversation, asked, brief);
        self.start(link, scope, Order { follows: Some(follows), ..now }).await
    }

    /// A link that writes, and a chat in which an answer may begin.
    async fn begin_in(
        &self,
        scope: &Scope,
        chat: &ConversationId,
    ) -> Result<(Link, Conversation), ApiError> {
        self.refuse_early(scope, chat).await?;
        let mut link = self.write(scope).await?;
        let conversation = self.free(&mut link, scope, chat).await?;
        Ok((link, conversation))
    }

    /// A chat in which nobody is speaking or about to speak; nobody else begins until the link is done.
    pub(super) async fn free(
        &self,
        link: &mut Link,
        scope: &Scope,
        chat: &ConversationId,
    ) -> Result<Conversation, ApiError> {
        link.lock(&Entity::from(chat)).await?;
        let conversation = chat_conversation(link, chat).await?;
        if let Some(run) = link.run_going_on(chat).await? {
            return Err(ApiError::Busy { run_id: run.id });
        }
        let moves = link.line(chat).await?.iter().any(NextItem::moves);
        if let Some(run) = link.last_run(chat).await?.filter(|_| moves) {
            // Whoever was to begin what comes next may have been ended before.
            tokio::spawn(self.go_on_in(scope.space.clone(), chat.clone()));
            return Err(ApiError::Busy { run_id: run.id });
        }
        Ok(conversation)
    }
}

/// What was answered by somebody whose words stand behind a message, when it is known from a file only: behind
/// another's answer it is that one, where they answer in turn, and otherwise the person's message above them all.
async fn answered(
    link: &mut Link,
    chat: &ConversationId,
    behind: &MessageId,
    speaker: &PersonaId,
) -> Result<Option<MessageId>, ApiError> {
    let above = link.branch_end(behind, MAX_MEMBERS as i64).await?;
    let Some(asked) = above.into_iter().rfind(|message| message.role == Role::User) else {
        return Ok(None);
    };
    if asked.id == *behind {
        return Ok(Some(asked.id));
    }
    let in_turn = link.chat(chat).await?.settings.answers == Answering::InTurn;
    let heard = in_turn && link.speaker(behind).await?.is_some_and(|other| other != *speaker);
    Ok(Some(if heard { behind.clone() } else { asked.id }))
}

/// The first of the runs that answer.
pub(super) fn first(runs: Vec<Run>) -> Result<Run, ApiError> {
    runs.into_iter().next().ok_or_else(|| ApiError::not_found("run"))
}
