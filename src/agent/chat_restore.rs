//! Chats that come back from files: under new names, or as they were.

use std::collections::HashMap;

use super::{
    Agent,
    chat_files::{ChatFile, FileMessage, head, understood},
    ratings::keep_ratings,
    runs::said,
};
use crate::{
    changes::{Scope, refresh_index, to_fields},
    domain::{
        change::{Change, Entity, Op},
        chat::{Chat, ChatFields},
        error::ApiError,
        id::{ConversationId, MessageId, PersonaId, is_wellformed},
        message::{Message, Role},
        news::News,
        rating::Rating,
    },
    store::{Link, Mark, StoreError, now},
};

/// What came of bringing a chat back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BroughtBack {
    /// It is there again.
    Made,
    /// It was there all along, and is as it was.
    WasThere,
}

/// What messages of a file are called where they are kept.
#[derive(Clone, Copy)]
pub(super) enum Names {
    /// Something new.
    New,
    /// What the file calls them.
    Kept,
}

/// Where messages of a file are kept that was no chat.
#[derive(Clone, Copy)]
pub(super) struct Poured<'a> {
    /// The conversation.
    pub conversation: &'a ConversationId,
    /// The end of the branch in use, as the file calls it.
    pub leaf: Option<&'a MessageId>,
}

impl Agent {
    /// A chat from a file, as it was: with this identifier, these personas as of these versions, the messages
    /// under their own names where those can be had, and what they were rated with.
    pub async fn bring_chat_back(
        &self,
        scope: &Scope,
        id: &ConversationId,
        fields: &ChatFields,
        (file, ratings): (ChatFile, Vec<Rating>),
    ) -> Result<BroughtBack, ApiError> {
        let order = understood(&file)?;
        let mut link = self.read(scope).await?;
        let is_there = match link.chat_head(id).await {
            Ok(_) => true,
            Err(StoreError::NotFound(_)) => false,
            Err(error) => return Err(error.into()),
        };
        // One without a word may have been begun and left: see below.
        let empty = link.messages_after(id, None, 1).await?.is_empty();
        if is_there && (!empty || file.messages.is_empty()) {
            return Ok(BroughtBack::WasThere);
        }
        let names = if keeps_names(&mut link, &file.messages, &order).await? {
            Names::Kept
        } else {
            Names::New
        };
        drop(link);
        let mut link = self.write(scope).await?;
        if !is_there {
            let change = Change::new(id, Op::Create).with(to_fields(fields)?);
            self.gate(scope).submit_on(&mut link, change).await?;
        }
        let ids = pour(&mut link, id, &file.messages, order, names).await?;
        keep_ratings(&mut link, ratings, &ids).await?;
        link.commit().await?;
        Ok(BroughtBack::Made)
    }

    /// A chat as it is now.
    pub async fn chat_as_it_is(
        &self,
        scope: &Scope,
        id: &ConversationId,
    ) -> Result<Chat, ApiError> {
        Ok(self.read(scope).await?.chat(id).await?)
    }

    /// Keeps the messages of a file in a conversation that is no chat and has none: what they are called there.
    pub(super) async fn pour_into<'file>(
        &self,
        link: &mut Link,
        into: Poured<'_>,
        messages: &'file [FileMessage],
        order: Vec<usize>,
    ) -> Result<HashMap<&'file str, MessageId>, ApiError> {
        let names =
            if keeps_names(link, messages, &order).await? { Names::Kept } else { Names::New };
        let (last, ids) = keep_messages(link, into.conversation, messages, order, names).await?;
        let leaf = into.leaf.and_then(|leaf| ids.get(leaf.as_str()).cloned()).or(last);
        link.move_leaf(into.conversation, leaf.as_ref()).await?;
        Ok(ids)
    }
}

/// Keeps the messages of a file in a chat that has none: what they are called there.
pub(super) async fn pour<'file>(
    link: &mut Link,
    chat: &ConversationId,
    messages: &'file [FileMessage],
    order: Vec<usize>,
    names: Names,
) -> Result<HashMap<&'file str, MessageId>, ApiError> {
    let (leaf, ids) = keep_messages(link, chat, messages, order, names).await?;
    if let Some(last) = leaf {
        let leaf = match link.is_hidden(chat, &last, None).await? {
            false => Some(last),
            true => match link.newest_root(chat).await? {
                Some(root) => Some(link.newest_below(chat, &root).await?),
                None => None,
            },
        };
        link.move_leaf(chat, leaf.as_ref()).await?;
    }
    refresh_index(link, &Entity::from(chat)).await?;
    link.tell(News::of_chat(chat));
    Ok(ids)
}

/// Keeps messages, each after what it follows: the last, and what all of them are called.
async fn keep_messages<'file>(
    link: &mut Link,
    chat: &ConversationId,
    messages: &'file [FileMessage],
    order: Vec<usize>,
    names: Names,
) -> Result<(Option<MessageId>, HashMap<&'file str, MessageId>), ApiError> {
    let mut speakers: HashMap<&PersonaId, bool> = HashMap::new();
    let mut ids: HashMap<&str, MessageId> = HashMap::with_capacity(order.len());
    let mut leaf = None;
    for message in order.into_iter().map(|at| &messages[at]) {
        let parent = message.parent_id.as_deref().and_then(|parent| ids.get(parent).cloned());
        let said = said(parent, &message.content, message.created_at.unwrap_or_else(now));
        let kept = Message {
            id: match names {
                Names::New => said.id.clone(),
                Names::Kept => MessageId::new(message.id.as_str()),
            },
            role: message.role,
            model: message.model.chars().take(200).collect(),
            parts: message.thoughtful(said.created_at).unwrap_or(said.parts),
            ..said
        };
        link.insert_message(chat, &kept).await?;
        if let (Role::Assistant, Some(persona)) = (message.role, &message.persona_id) {
            let here = match speakers.get(persona) {
                Some(here) => *here,
                None => head(link, persona).await?.is_some(),
            };
            speakers.insert(persona, here);
            if here {
                link.set_speaker(&kept.id, persona).await?;
            }
        }
        if !message.label.is_empty() {
            link.mark_message(&kept.id, &Mark::Label(message.label.clone())).await?;
        }
        if message.bookmarked {
            link.mark_message(&kept.id, &Mark::Bookmark(Some(now()))).await?;
        }
        if message.pruned {
            link.mark_message(&kept.id, &Mark::Pruned(Some(now()))).await?;
        }
        ids.insert(&message.id, kept.id.clone());
        leaf = Some(kept.id);
    }
    Ok((leaf, ids))
}

/// Whether the messages can have the names they have in the file: each sorts after those before it, and is
/// nobody else's.
async fn keeps_names(
    link: &mut Link,
    messages: &[FileMessage],
    order: &[usize],
) -> Result<bool, StoreError> {
    let mut last = "";
    for message in order.iter().map(|at| &messages[*at]) {
        if !is_wellformed(&message.id) || message.id.as_str() <= last {
            return Ok(false);
        }
        match link.message(&MessageId::new(message.id.as_str())).await {
            Ok(_) => return Ok(false),
            Err(StoreError::NotFound(_)) => {}
            Err(error) => return Err(error),
        }
        last = &message.id;
    }
    Ok(true)
}
