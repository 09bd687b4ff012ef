//! Conversations that are no chats as files: with the companion, with personas' agents, in the playground and
//! from terminals.

use serde::{Deserialize, Serialize};

use super::{
    Agent,
    chat_export::message_of,
    chat_files::{FileMessage, check_messages},
    chat_restore::{BroughtBack, Poured},
    companion,
    files::keep,
    ratings::keep_ratings,
    session_talk::session_conversation,
};
use crate::{
    changes::Scope,
    domain::{
        error::ApiError,
        id::{ConversationId, MessageId, PersonaId},
        message::{Conversation, ConversationKind},
        playground::PlaygroundSession,
        rating::Rating,
        terminal::TerminalSession,
        timestamp::Timestamp,
        virtual_file::{FileChange, FilePath},
    },
    store::{FilePlace, Link, StoreError},
};

/// How many messages are read at once.
const AT_ONCE: u32 = 200;

/// The kinds that are written as such files.
const KINDS: [ConversationKind; 4] = [
    ConversationKind::Companion,
    ConversationKind::Editor,
    ConversationKind::Playground,
    ConversationKind::Terminal,
];

/// A conversation as a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TalkFile {
    /// The identifier.
    pub id: ConversationId,
    /// What it is for.
    pub kind: ConversationKind,
    /// The persona that it is with or about.
    #[serde(default)]
    pub persona_id: PersonaId,
    /// Whether it is the one in which the persona's agent is talked to.
    #[serde(default)]
    pub in_use: bool,
    /// When it was begun.
    pub created_at: Timestamp,
    /// The last message of the branch in use.
    #[serde(default)]
    pub leaf: Option<MessageId>,
    /// What is set for a session of the playground.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<PlaygroundSession>,
    /// What is set for a session of a terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal: Option<TerminalSession>,
    /// The files of the branch in use, those that are text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<TalkedFile>,
    /// All messages.
    pub messages: Vec<FileMessage>,
    /// What they were rated with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ratings: Vec<Rating>,
}

/// A file that was worked on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TalkedFile {
    /// Where it stands.
    pub path: String,
    /// Its text.
    pub content: String,
}

impl TalkFile {
    /// What people call it.
    pub fn title(&self) -> String {
        match (&self.session, &self.terminal) {
            (Some(session), _) => session.title.clone(),
            (None, Some(terminal)) => terminal.title(),
            (None, None) => format!("{} {}", self.kind.word(), self.persona_id),
        }
    }
}

impl Agent {
    /// The conversations of a Space that are no chats and in which something was said, deleted ones left out.
    pub async fn talks(&self, scope: &Scope) -> Result<Vec<Conversation>, ApiError> {
        let mut link = self.read(scope).await?;
        let mut all = Vec::new();
        for kind in KINDS {
            all.extend(link.conversations_for(kind).await?);
        }
        Ok(all)
    }

    /// A conversation as a file.
    pub async fn talk_file(
        &self,
        scope: &Scope,
        conversation: &Conversation,
    ) -> Result<TalkFile, ApiError> {
        let Conversation { id, kind, persona_id, leaf, created_at } = conversation.clone();
        let mut link = self.read(scope).await?;
        let session = match kind {
            ConversationKind::Playground => Some(link.session(&id).await?),
            _ => None,
        };
        let terminal = match kind {
            ConversationKind::Terminal => Some(link.terminal(&id).await?),
            _ => None,
        };
        let in_use = kind == ConversationKind::Editor
            && link.agent_conversation(&persona_id).await?.is_some_and(|used| used.id == id);
        let mut messages: Vec<FileMessage> = Vec::new();
        let mut after: Option<MessageId> = None;
        loop {
            let some = link.messages_after(&id, after.as_ref(), AT_ONCE).await?;
            let Some(last) = some.last() else { break };
            after = Some(last.message.id.clone());
            messages.extend(some.into_iter().map(|marked| message_of(marked, None)));
        }
        let ratings = link.ratings_in(&id).await?;
        drop(link);
        let mut files = Vec::new();
        if kind == ConversationKind::Playground {
            let place = self.session_place(scope, &id).await?;
            for file in self.whole_files(scope, &place).await? {
                let content = file.text().map(str::to_owned);
                let path = file.info.path;
                files.extend(content.map(|content| TalkedFile { path, content }));
            }
        }
        let of = TalkFile {
            id,
            kind,
            persona_id,
            in_use,
            created_at,
            leaf,
            session,
            terminal,
            files,
            messages,
            ratings,
        };
        Ok(of)
    }

    /// A conversation from a file, as it was, whole or not at all. One that is there stays as it is.
    pub async fn bring_talk_back(
        &self,
        scope: &Scope,
        talk: TalkFile,
    ) -> Result<BroughtBack, ApiError> {
        let order = check_messages(&talk.messages)?;
        let changes = written(&talk)?;
        let known = self.read(scope).await?.conversation_kind(&talk.id).await;
        match known {
            Ok(_) => return Ok(BroughtBack::WasThere),
            Err(StoreError::NotFound(_)) => {}
            Err(error) => return Err(error.into()),
        }
        if talk.kind == ConversationKind::Companion {
            self.companion(scope).await?;
        }
        let mut link = self.write(scope).await?;
        begin(&mut link, &talk).await?;
        let poured = Poured { conversation: &talk.id, leaf: talk.leaf.as_ref() };
        let ids = self.pour_into(&mut link, poured, &talk.messages, order).await?;
        keep_ratings(&mut link, talk.ratings, &ids).await?;
        if !changes.is_empty() {
            let leaf = session_conversation(&mut link, &talk.id).await?.leaf.unwrap_or_default();
            let (session, writing) = (talk.id, MessageId::default());
            keep(&mut link, &FilePlace { session, leaf, writing }, None, &changes).await?;
        }
        link.commit().await?;
        Ok(BroughtBack::Made)
    }
}

/// The files of a session, as they are written.
fn written(talk: &TalkFile) -> Result<Vec<FileChange>, ApiError> {
    if talk.kind != ConversationKind::Playground {
        return Ok(Vec::new());
    }
    let change = |file: &TalkedFile| -> Result<FileChange, ApiError> {
        let content = Some(file.content.clone().into_bytes());
        Ok(FileChange { path: FilePath::parse(&file.path)?, content })
    };
    talk.files.iter().map(change).collect()
}

/// Makes the conversation of a file, with nothing said in it.
async fn begin(link: &mut Link, talk: &TalkFile) -> Result<(), ApiError> {
    let unfit = || {
        let rule = "It does not say what is set for it.";
        ApiError::invalid("kind", rule)
    };
    match talk.kind {
        ConversationKind::Playground => {
            let session = talk.session.as_ref().filter(|session| session.id == talk.id);
            let session = session.ok_or_else(unfit)?;
            // The version that speaks must be here.
            link.persona_at(&session.persona_id, session.persona_revision).await?;
            link.insert_session(session).await?;
        }
        ConversationKind::Terminal => {
            let session = talk.terminal.as_ref().filter(|session| session.id == talk.id);
            link.insert_terminal(session.ok_or_else(unfit)?).await?;
        }
        ConversationKind::Companion | ConversationKind::Editor => {
            let persona_id = match talk.kind {
                ConversationKind::Companion => companion::id(),
                _ => link.persona(&talk.persona_id).await?.id,
            };
            let used = link.agent_conversation(&persona_id).await?.is_some();
            link.insert_conversation(&Conversation {
                id: talk.id.clone(),
                kind: talk.kind,
                persona_id: persona_id.clone(),
                leaf: None,
                created_at: talk.created_at,
            })
            .await?;
            if talk.in_use && !used && talk.kind == ConversationKind::Editor {
                link.set_agent_conversation(&persona_id, &talk.id).await?;
            }
        }
        ConversationKind::Chat | ConversationKind::Test => return Err(unfit()),
    }
    Ok(())
}
