//! Conversations and their messages.

use sqlx::FromRow;

use super::{Link, StoreError, link::on};
use crate::domain::{
    id::{ConversationId, MessageId, PersonaId, RunId},
    message::{Conversation, ConversationKind, Message, Role},
    proposal::Source,
    timestamp::Timestamp,
};

/// The longest branch that is read: what is older has long left every window.
const MAX_BRANCH: i64 = 2000;

#[derive(FromRow)]
struct ConversationRow {
    conversation_id: String,
    kind: String,
    persona_id: Option<String>,
    leaf_id: Option<String>,
    created_at: i64,
}

impl From<ConversationRow> for Conversation {
    fn from(row: ConversationRow) -> Self {
        Self {
            id: ConversationId::new(row.conversation_id),
            kind: ConversationKind::from_word(&row.kind),
            persona_id: PersonaId::new(row.persona_id.unwrap_or_default()),
            leaf: row.leaf_id.map(MessageId::new),
            created_at: Timestamp(row.created_at),
        }
    }
}

#[derive(FromRow)]
pub(super) struct MessageRow {
    message_id: String,
    parent_id: Option<String>,
    role: String,
    parts: String,
    run_id: Option<String>,
    model: String,
    stop: Option<String>,
    spent: String,
    created_at: i64,
}

impl TryFrom<MessageRow> for Message {
    type Error = StoreError;

    fn try_from(row: MessageRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: MessageId::new(row.message_id),
            parent_id: row.parent_id.map(MessageId::new),
            role: Role::from_word(&row.role),
            parts: StoreError::read_json(&row.parts)?,
            run_id: row.run_id.map(RunId::new),
            model: row.model,
            stop: row.stop.as_deref().map(StoreError::read_json).transpose()?,
            spent: StoreError::read_json(&row.spent)?,
            created_at: Timestamp(row.created_at),
        })
    }
}

impl Link {
    /// Begins a conversation with a persona.
    pub async fn insert_conversation(
        &mut self,
        conversation: &Conversation,
    ) -> Result<(), StoreError> {
        const SQL: &str = "insert into conversation
            (space_id, conversation_id, kind, persona_id, title, created_at, updated_at)
            values ($1, $2, $3, $4, '', $5, $5)";
        let space = self.space.clone();
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(conversation.id.as_str()).bind(conversation.kind.word())
            .bind(conversation.persona_id.as_str()).bind(conversation.created_at.0)
            .execute(wire).await.map(drop)?);
        Ok(())
    }

    /// A conversation.
    pub async fn conversation(&mut self, id: &ConversationId) -> Result<Conversation, StoreError> {
        const SQL: &str = "select conversation_id, kind, persona_id, leaf_id, created_at
            from conversation where space_id = $1 and conversation_id = $2 and deleted_at is null";
        let space = self.space.clone();
        let row: Option<ConversationRow> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(id.as_str()).fetch_optional(wire).await?);
        row.map(Conversation::from).ok_or(StoreError::NotFound("conversation"))
    }

    /// The conversation that is in use with the agent of a persona outside the bin.
    pub async fn agent_conversation(
        &mut self,
        persona: &PersonaId,
    ) -> Result<Option<Conversation>, StoreError> {
        const SQL: &str = "select c.conversation_id, c.kind, c.persona_id, c.leaf_id, c.created_at
            from persona p join conversation c on c.space_id = p.space_id
                and c.conversation_id = p.agent_conversation_id and c.deleted_at is null
            where p.space_id = $1 and p.persona_id = $2 and p.deleted_at is null";
        let space = self.space.clone();
        let row: Option<ConversationRow> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(persona.as_str()).fetch_optional(wire).await?);
        Ok(row.map(Conversation::from))
    }

    /// What kind of conversation this is, in the bin or not.
    pub async fn conversation_kind(
        &mut self,
        id: &ConversationId,
    ) -> Result<ConversationKind, StoreError> {
        const SQL: &str =
            "select kind from conversation where space_id = $1 and conversation_id = $2";
        let space = self.space.clone();
        let kind: Option<String> = on!(self, wire => sqlx::query_scalar(SQL)
            .bind(space.as_str()).bind(id.as_str()).fetch_optional(wire).await?);
        let kind = kind.ok_or(StoreError::NotFound("conversation"))?;
        Ok(ConversationKind::from_word(&kind))
    }

    /// The conversations with a persona of one kind, the last first, from before one of them.
    pub async fn conversations(
        &mut self,
        persona: &PersonaId,
        kind: ConversationKind,
        before: Option<&ConversationId>,
        limit: u32,
    ) -> Result<Vec<Conversation>, StoreError> {
        const SQL: &str = "select conversation_id, kind, persona_id, leaf_id, created_at
            from conversation where space_id = $1 and persona_id = $2 and kind = $3
                and deleted_at is null and leaf_id is not null
                and ($4 = '' or conversation_id < $4)
            order by conversation_id desc limit $5";
        let space = self.space.clone();
        let rows: Vec<ConversationRow> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(persona.as_str()).bind(kind.word())
            .bind(before.map_or("", |before| before.as_str())).bind(i64::from(limit))
            .fetch_all(wire).await?);
        Ok(rows.into_iter().map(Conversation::from).collect())
    }

    /// What was said first in a conversation.
    pub async fn first_message(
        &mut self,
        conversation: &ConversationId,
    ) -> Result<Option<Message>, StoreError> {
        const SQL: &str = "select message_id, parent_id, role, parts, run_id, model, stop, spent,
                created_at
            from message where space_id = $1 and conversation_id = $2 and parent_id is null
            order by message_id limit 1";
        let space = self.space.clone();
        let row: Option<MessageRow> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(conversation.as_str()).fetch_optional(wire).await?);
        row.map(Message::try_from).transpose()
    }

    /// All conversations of one kind in which something was said, the oldest first.
    pub async fn conversations_for(
        &mut self,
        kind: ConversationKind,
    ) -> Result<Vec<Conversation>, StoreError> {
        const SQL: &str = "select conversation_id, kind, persona_id, leaf_id, created_at
            from conversation where space_id = $1 and kind = $2
                and deleted_at is null and leaf_id is not null
            order by conversation_id";
        let space = self.space.clone();
        let rows: Vec<ConversationRow> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(kind.word()).fetch_all(wire).await?);
        Ok(rows.into_iter().map(Conversation::from).collect())
    }

    /// Notes that a message asks for drafts.
    pub async fn ask_for_drafts(&mut self, id: &MessageId) -> Result<(), StoreError> {
        const SQL: &str =
            "update message set drafts_only = 1 where space_id = $1 and message_id = $2";
        let space = self.space.clone();
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(id.as_str()).execute(wire).await.map(drop)?);
        Ok(())
    }

    /// Whether a message asks for drafts.
    pub async fn asks_for_drafts(&mut self, id: &MessageId) -> Result<bool, StoreError> {
        const SQL: &str = "select drafts_only from message where space_id = $1 and message_id = $2";
        let space = self.space.clone();
        let drafts: Option<i64> = on!(self, wire => sqlx::query_scalar(SQL)
            .bind(space.as_str()).bind(id.as_str()).fetch_optional(wire).await?);
        Ok(drafts == Some(1))
    }

    /// Makes this the conversation in which a persona's agent is talked to.
    pub async fn set_agent_conversation(
        &mut self,
        persona: &PersonaId,
        conversation: &ConversationId,
    ) -> Result<(), StoreError> {
        const SQL: &str = "update persona set agent_conversation_id = $3
            where space_id = $1 and persona_id = $2";
        let space = self.space.clone();
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(persona.as_str()).bind(conversation.as_str())
            .execute(wire).await.map(drop)?);
        Ok(())
    }

    /// Adds a message.
    pub async fn insert_message(
        &mut self,
        conversation: &ConversationId,
        message: &Message,
    ) -> Result<(), StoreError> {
        const SQL: &str = "insert into message
            (space_id, message_id, conversation_id, parent_id, role, parts, run_id, model, stop,
                spent, created_at)
            values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
        let space = self.space.clone();
        let stop = message.stop.map(|stop| serde_json::json!(stop).to_string());
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(message.id.as_str()).bind(conversation.as_str())
            .bind(message.parent_id.as_ref().map(|parent| parent.as_str()))
            .bind(message.role.word()).bind(serde_json::json!(message.parts).to_string())
            .bind(message.run_id.as_ref().map(|run| run.as_str())).bind(&message.model)
            .bind(stop).bind(serde_json::json!(message.spent).to_string())
            .bind(message.created_at.0)
            .execute(wire).await.map(drop)?);
        Ok(())
    }

    /// Makes a message the end of the branch in use.
    pub async fn set_leaf(
        &mut self,
        conversation: &ConversationId,
        leaf: &MessageId,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        const SQL: &str = "update conversation set leaf_id = $3, updated_at = $4
            where space_id = $1 and conversation_id = $2";
        let space = self.space.clone();
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(conversation.as_str()).bind(leaf.as_str()).bind(at.0)
            .execute(wire).await.map(drop)?);
        Ok(())
    }

    /// A message of a conversation.
    pub async fn message(&mut self, id: &MessageId) -> Result<Message, StoreError> {
        const SQL: &str = "select message_id, parent_id, role, parts, run_id, model, stop, spent,
                created_at
            from message where space_id = $1 and message_id = $2";
        let space = self.space.clone();
        let row: Option<MessageRow> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(id.as_str()).fetch_optional(wire).await?);
        row.ok_or(StoreError::NotFound("message"))?.try_into()
    }

    /// The conversation that a message is in.
    pub async fn conversation_of(
        &mut self,
        message: &MessageId,
    ) -> Result<ConversationId, StoreError> {
        const SQL: &str =
            "select conversation_id from message where space_id = $1 and message_id = $2";
        let space = self.space.clone();
        let id: Option<String> = on!(self, wire => sqlx::query_scalar(SQL)
            .bind(space.as_str()).bind(message.as_str()).fetch_optional(wire).await?);
        id.map(ConversationId::new).ok_or(StoreError::NotFound("message"))
    }

    /// The messages from the beginning to this one.
    pub async fn branch(&mut self, leaf: &MessageId) -> Result<Vec<Message>, StoreError> {
        self.branch_end(leaf, MAX_BRANCH).await
    }

    /// The last messages up to this one, at most so many.
    pub async fn branch_end(
        &mut self,
        leaf: &MessageId,
        most: i64,
    ) -> Result<Vec<Message>, StoreError> {
        const SQL: &str = "with recursive branch (message_id, parent_id, depth) as (
                select message_id, parent_id, cast(0 as bigint) from message
                where space_id = $1 and message_id = $2
                union all
                select m.message_id, m.parent_id, b.depth + 1 from branch b
                cross join message m
                where m.space_id = $1 and m.message_id = b.parent_id and b.depth + 1 < $3
            )
            select m.message_id, m.parent_id, m.role, m.parts, m.run_id, m.model, m.stop, m.spent,
                m.created_at
            from branch b cross join message m
            where m.space_id = $1 and m.message_id = b.message_id
            order by b.depth desc";
        let space = self.space.clone();
        let rows: Vec<MessageRow> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(leaf.as_str()).bind(most).fetch_all(wire).await?);
        rows.into_iter().map(Message::try_from).collect()
    }

    /// Keeps what was shown along with a message that nobody here wrote.
    pub async fn keep_shown_sources(
        &mut self,
        conversation: &ConversationId,
        message: &MessageId,
        sources: &[Source],
    ) -> Result<(), StoreError> {
        const SQL: &str =
            "insert into shown_source (space_id, conversation_id, message_id, sources)
            values ($1, $2, $3, $4) on conflict do nothing";
        if sources.is_empty() {
            return Ok(());
        }
        let space = self.space.clone();
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(conversation.as_str()).bind(message.as_str())
            .bind(serde_json::json!(sources).to_string()).execute(wire).await.map(drop)?);
        Ok(())
    }

    /// What was shown along with the messages of a conversation that nobody here wrote, the first first.
    pub async fn shown_sources(
        &mut self,
        conversation: &ConversationId,
    ) -> Result<Vec<(MessageId, Vec<Source>)>, StoreError> {
        const SQL: &str = "select message_id, sources from shown_source
            where space_id = $1 and conversation_id = $2 order by message_id";
        let space = self.space.clone();
        let rows: Vec<(String, String)> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(conversation.as_str()).fetch_all(wire).await?);
        let shown = rows.into_iter().map(|(message, sources)| {
            Ok((MessageId::new(message), StoreError::read_json(&sources)?))
        });
        shown.collect()
    }
}
