//! Marks on the messages of a chat: labels, bookmarks, and branches that are hidden for a while.

use super::{Agent, chats::chat_conversation, rounds::Round};
use crate::{
    changes::{Scope, refresh_index},
    domain::{
        change::Entity,
        error::ApiError,
        id::{ConversationId, MessageId},
        news::News,
        tree::MOMENT,
    },
    store::{Link, Mark, MarkedMessage, now},
};

impl Agent {
    /// Labels or bookmarks a message.
    pub async fn mark(
        &self,
        scope: &Scope,
        message: &MessageId,
        marks: Vec<Mark>,
    ) -> Result<MarkedMessage, ApiError> {
        for mark in &marks {
            if let Mark::Label(label) = mark
                && !label.is_empty()
            {
                MOMENT.check_line(label)?;
            }
        }
        let (chat, _) = self.said_in_chat(scope, message).await?;
        let mut link = self.write(scope).await?;
        for mark in &marks {
            link.mark_message(message, mark).await?;
        }
        let marked = link.marked_message(&chat, message).await?;
        link.tell(News::of_chat(&chat));
        link.commit().await?;
        Ok(marked)
    }

    /// Hides a message with all that follows it, and says where the chat ends then.
    pub async fn prune(
        &self,
        scope: &Scope,
        message: &MessageId,
    ) -> Result<Option<MessageId>, ApiError> {
        let (chat, known) = self.said_in_chat(scope, message).await?;
        let mut link = self.write(scope).await?;
        link.lock(&Entity::from(&chat)).await?;
        let conversation = chat_conversation(&mut link, &chat).await?;
        if let Some(run) = link.run_going_on(&chat).await? {
            let end = Round::read(&mut link, &run.round_id).await?.end();
            if link.is_above(&chat, message, &end).await? {
                return Err(ApiError::Busy { run_id: run.id });
            }
        }
        link.mark_message(message, &Mark::Pruned(Some(now()))).await?;
        let mut leaf = conversation.leaf;
        let hidden = match &leaf {
            Some(leaf) => link.is_hidden(&chat, leaf, None).await?,
            None => true,
        };
        if hidden {
            leaf = end_beside(&mut link, &chat, known.message.parent_id).await?;
            link.move_leaf(&chat, leaf.as_ref()).await?;
        }
        refresh_index(&mut link, &Entity::from(&chat)).await?;
        link.tell(News::of_chat(&chat));
        link.commit().await?;
        Ok(leaf)
    }

    /// Shows again what was hidden, and says where it ends.
    pub async fn restore_branch(
        &self,
        scope: &Scope,
        message: &MessageId,
    ) -> Result<Option<MessageId>, ApiError> {
        let (chat, known) = self.said_in_chat(scope, message).await?;
        if !known.pruned {
            let reason = "That branch is not pruned.".into();
            return Err(ApiError::NotNow { reason });
        }
        let mut link = self.write(scope).await?;
        link.lock(&Entity::from(&chat)).await?;
        link.mark_message(message, &Mark::Pruned(None)).await?;
        let mut leaf = chat_conversation(&mut link, &chat).await?.leaf;
        if !link.is_hidden(&chat, message, leaf.as_ref()).await? {
            leaf = Some(link.newest_below(&chat, message).await?);
            link.move_leaf(&chat, leaf.as_ref()).await?;
        }
        refresh_index(&mut link, &Entity::from(&chat)).await?;
        link.tell(News::of_chat(&chat));
        link.commit().await?;
        Ok(leaf)
    }
}

/// Where a chat ends when what followed this message is hidden.
async fn end_beside(
    link: &mut Link,
    chat: &ConversationId,
    parent: Option<MessageId>,
) -> Result<Option<MessageId>, ApiError> {
    let from = match parent {
        // What is hidden further up is not shown either.
        Some(parent) if !link.is_hidden(chat, &parent, None).await? => Some(parent),
        _ => link.newest_root(chat).await?,
    };
    match from {
        Some(from) => Ok(Some(link.newest_below(chat, &from).await?)),
        None => Ok(None),
    }
}
