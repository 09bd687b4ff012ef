//! A conversation that is no chat as a file of a Space.

use super::{ArchiveError, space_chat::thoughts};
use crate::{
    agent::{Agent, TalkFile},
    changes::Scope,
    domain::message::Conversation,
};

/// A conversation as it is now. Of what was done in it, words and thoughts are written.
pub async fn talk_of(
    agent: &Agent,
    scope: &Scope,
    conversation: &Conversation,
) -> Result<TalkFile, ArchiveError> {
    let mut talk = agent.talk_file(scope, conversation).await?;
    if let Some(session) = &mut talk.session {
        // A session that comes back was last written in when it was begun.
        session.updated_at = session.created_at;
    }
    for message in &mut talk.messages {
        let at = message.created_at.unwrap_or_default();
        message.parts = thoughts(std::mem::take(&mut message.parts), at);
    }
    Ok(talk)
}
