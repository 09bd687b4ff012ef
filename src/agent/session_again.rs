//! Which message of a session a client means that wants an answer again: it knows its own words, and not always
//! what became of them here.

use super::{Agent, Words, chat_tree::named, session_talk::session_conversation};
use crate::{
    changes::Scope,
    domain::{
        error::ApiError,
        id::{ConversationId, MessageId, is_wellformed},
        message::{Message, Role},
    },
    store::{Link, StoreError},
};

/// What a session knows of words that shall be answered again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Again {
    /// They are answered again by this message's name.
    Said(MessageId),
    /// What the client calls so was said in other words, and these never came.
    Reworded,
    /// They were never said here.
    Never,
}

impl Agent {
    /// What a session knows of the words that a client said last, and wants answered again. `after` is the
    /// message that they follow, if that is known.
    pub async fn known_words(
        &self,
        scope: &Scope,
        id: &ConversationId,
        words: Words<'_>,
        after: Option<&MessageId>,
    ) -> Result<Again, ApiError> {
        let mut link = self.read(scope).await?;
        let leaf = match session_conversation(&mut link, id).await {
            Ok(session) => session.leaf,
            // It is only begun with these words.
            Err(ApiError::NotFound { .. }) => return Ok(Again::Never),
            Err(error) => return Err(error),
        };
        let is_it = |message: &Message| words.text.is_empty() || message.text() == words.text;
        let called = called(&mut link, id, words.client).await?;
        let asked = match &leaf {
            Some(leaf) => Some(asking(&mut link, id, leaf).await?),
            None => None,
        };
        if let Some(called) = called.as_ref().filter(|called| is_it(called)) {
            // The answer in use stands for what asked for it, with what is tried there.
            let in_use = asked.is_some_and(|asked| asked.id == called.id);
            let message = leaf.filter(|_| in_use).unwrap_or_else(|| called.id.clone());
            return Ok(Again::Said(message));
        }
        // Who only counts what it says calls it by no name, and what is written anew keeps the old one.
        let follows = |asked: &Message| after.is_none_or(|id| asked.parent_id.as_ref() == Some(id));
        if asked.is_some_and(|asked| is_it(&asked) && follows(&asked))
            && let Some(leaf) = leaf
        {
            return Ok(Again::Said(leaf));
        }
        Ok(if called.is_some() { Again::Reworded } else { Again::Never })
    }
}

/// The message of a person that has this identifier here, or was sent under it.
async fn called(
    link: &mut Link,
    id: &ConversationId,
    client: Option<&str>,
) -> Result<Option<Message>, ApiError> {
    let Some(client) = client.filter(|client| is_wellformed(client)) else { return Ok(None) };
    let message = match link.run_of_sent(id, client).await? {
        Some(run) => run.message_id,
        None => MessageId::new(client),
    };
    match link.marked_message(id, &message).await {
        Ok(known) => Ok(Some(known.message).filter(|message| message.role == Role::User)),
        Err(StoreError::NotFound(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// What asked for a message: itself, when nothing answers it yet.
async fn asking(
    link: &mut Link,
    id: &ConversationId,
    leaf: &MessageId,
) -> Result<Message, ApiError> {
    let message = named(link, id, leaf).await?.message;
    match (message.role, &message.parent_id) {
        (Role::Assistant, Some(parent)) => Ok(named(link, id, parent).await?.message),
        _ => Ok(message),
    }
}
