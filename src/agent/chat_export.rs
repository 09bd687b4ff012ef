//! Chats that go out: the whole tree as JSON, piece by piece however large it is, and one path as markdown.

use std::collections::HashSet;

use async_stream::try_stream;
use futures_util::{StreamExt, stream::BoxStream};

use super::{
    Agent,
    chat_files::{ChatFile, FORMAT, FileMessage, VERSION},
    chat_tree::PathAsk,
};
use crate::{
    changes::Scope,
    domain::{
        chat::Chat,
        error::ApiError,
        id::{ConversationId, MessageId, PersonaId},
        message::{Part, PartBody, Role},
    },
    store::MarkedMessage,
};

/// How many messages are read, and written, at once.
const AT_ONCE: u32 = 200;
/// How a file ends: its messages are the last of it.
const END: &str = "]}";

/// A file that is read from the database while it is written.
pub type Pieces = BoxStream<'static, Result<String, ApiError>>;

impl Agent {
    /// A whole chat as a [`ChatFile`], in pieces: only some of its messages are held at a time, and no
    /// connection while somebody is slow to take them. What is said meanwhile comes last.
    pub async fn export_chat(
        &self,
        scope: &Scope,
        id: &ConversationId,
    ) -> Result<Pieces, ApiError> {
        let chat = self.read(scope).await?.chat(id).await?;
        let (agent, scope, id) = (self.clone(), scope.clone(), id.clone());
        let pieces = try_stream! {
            let mut piece = json(&file_of(chat))?;
            piece.truncate(piece.len() - END.len());
            let mut after: Option<MessageId> = None;
            loop {
                let mut link = agent.read(&scope).await?;
                let some = link.messages_after(&id, after.as_ref(), AT_ONCE).await?;
                let mut speakers = link.speakers_after(&id, after.as_ref(), AT_ONCE).await?;
                drop(link);
                if some.is_empty() {
                    break;
                }
                for marked in some {
                    if after.is_some() {
                        piece.push(',');
                    }
                    after = Some(marked.message.id.clone());
                    let speaker = speakers.remove(&marked.message.id);
                    piece.push_str(&json(&message_of(marked, speaker))?);
                }
                yield std::mem::take(&mut piece);
            }
            yield piece + END;
        };
        Ok(pieces.boxed())
    }

    /// One path through a chat as markdown, from its beginning to its end, in pieces as above.
    pub async fn chat_markdown(
        &self,
        scope: &Scope,
        id: &ConversationId,
        leaf: Option<MessageId>,
        device: Option<String>,
    ) -> Result<Pieces, ApiError> {
        let ask = PathAsk { leaf, device, limit: Some(1), ..PathAsk::default() };
        let page = self.path(scope, id, ask).await?;
        let mut link = self.read(scope).await?;
        let chat = link.chat(id).await?;
        let mut way = match &page.leaf {
            Some(leaf) => link.way_up(id, leaf).await?,
            None => Vec::new(),
        };
        drop(link);
        // Of a circle, everything is told once.
        let mut known = HashSet::new();
        let round = way.iter().position(|message| !known.insert(message));
        way.truncate(round.unwrap_or(way.len()));
        way.reverse();
        let persona = chat.members.first().map_or("Persona", |member| &member.name).to_owned();
        let person = match chat.settings.user_persona.name.trim() {
            "" => "You".to_owned(),
            name => name.to_owned(),
        };
        let (agent, scope, id) = (self.clone(), scope.clone(), id.clone());
        let pieces = try_stream! {
            yield format!("# {}\n", chat.title);
            for some in way.chunks(AT_ONCE as usize) {
                let Some(last) = some.last() else { continue };
                let mut link = agent.read(&scope).await?;
                let messages = link.stretch(&id, last, 0, some.len()).await?;
                let voices = link.voices(&id, last, i64::from(AT_ONCE)).await?;
                drop(link);
                let mut piece = String::new();
                for message in messages {
                    let voice = voices.iter().find(|voice| voice.message == message.id);
                    let who = match message.role {
                        Role::User => &person,
                        Role::Assistant => voice.map_or(&persona, |voice| &voice.name),
                    };
                    piece.push_str(&format!("\n**{who}**\n\n{}\n", message.text().trim()));
                }
                yield piece;
            }
        };
        Ok(pieces.boxed())
    }
}

/// A chat as a file without messages.
fn file_of(chat: Chat) -> ChatFile {
    ChatFile {
        format: FORMAT.into(),
        version: VERSION,
        title: chat.title,
        mode: chat.mode,
        settings: chat.settings,
        persona_id: chat.persona_id,
        persona_revisions: chat.members.iter().map(|member| member.revision).collect(),
        persona_ids: chat.members.into_iter().map(|member| member.persona_id).collect(),
        persona_revision: chat.persona_revision,
        messages: Vec::new(),
    }
}

/// A message in a file.
pub(super) fn message_of(marked: MarkedMessage, persona_id: Option<PersonaId>) -> FileMessage {
    let message = marked.message;
    let is_more = |part: &Part| !matches!(part.body, PartBody::Text(_));
    FileMessage {
        persona_id,
        id: message.id.to_string(),
        parent_id: message.parent_id.as_ref().map(ToString::to_string),
        role: message.role,
        content: message.text(),
        parts: if message.parts.iter().any(is_more) { message.parts } else { Vec::new() },
        model: message.model,
        label: marked.label,
        bookmarked: marked.bookmarked,
        pruned: marked.pruned,
        created_at: Some(message.created_at),
    }
}

/// Something as JSON, its fields as they are declared.
fn json(of: &impl serde::Serialize) -> Result<String, ApiError> {
    serde_json::to_string(of).map_err(|_| ApiError::Unavailable)
}
