//! Sessions of the playground.

use sqlx::FromRow;

use super::{Link, StoreError, link::on};
use crate::domain::{
    id::{ConversationId, MessageId, PersonaId},
    list::{Page, cursor, parse_cursor},
    message::ConversationKind,
    playground::PlaygroundSession,
    timestamp::Timestamp,
};

#[derive(FromRow)]
struct Row {
    conversation_id: String,
    title: String,
    persona_id: String,
    persona_name: String,
    persona_revision: i64,
    model: String,
    variables: String,
    system_prompt: Option<String>,
    leaf_id: Option<String>,
    created_at: i64,
    updated_at: i64,
    deleted_at: Option<i64>,
}

impl TryFrom<Row> for PlaygroundSession {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: ConversationId::new(row.conversation_id),
            title: row.title,
            persona_id: PersonaId::new(row.persona_id),
            persona_name: row.persona_name,
            persona_revision: row.persona_revision,
            model: row.model,
            variables: StoreError::read_json(&row.variables)?,
            system_prompt: row.system_prompt,
            leaf: row.leaf_id.map(MessageId::new),
            created_at: Timestamp(row.created_at),
            updated_at: Timestamp(row.updated_at),
            deleted_at: row.deleted_at.map(Timestamp),
        })
    }
}

/// Which sessions are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Those in use.
    InUse,
    /// Those that were deleted.
    Deleted,
}

impl Link {
    /// Begins a session.
    pub async fn insert_session(&mut self, session: &PlaygroundSession) -> Result<(), StoreError> {
        const CONVERSATION: &str = "insert into conversation
            (space_id, conversation_id, kind, persona_id, title, created_at, updated_at)
            values ($1, $2, $3, $4, $5, $6, $6) on conflict do nothing";
        const SESSION: &str = "insert into playground_session
            (space_id, conversation_id, persona_id, persona_revision, model, variables, system_prompt)
            values ($1, $2, $3, $4, $5, $6, $7)";
        let space = self.space.clone();
        let made = on!(self, wire => sqlx::query(CONVERSATION)
            .bind(space.as_str()).bind(session.id.as_str())
            .bind(ConversationKind::Playground.word()).bind(session.persona_id.as_str())
            .bind(&session.title).bind(session.created_at.0)
            .execute(wire).await?.rows_affected());
        if made == 0 {
            return Err(StoreError::Taken("session"));
        }
        on!(self, wire => sqlx::query(SESSION)
            .bind(space.as_str()).bind(session.id.as_str()).bind(session.persona_id.as_str())
            .bind(session.persona_revision).bind(&session.model)
            .bind(serde_json::json!(session.variables).to_string())
            .bind(session.system_prompt.as_deref()).execute(wire).await.map(drop)?);
        Ok(())
    }

    /// A session, deleted or not.
    pub async fn session(&mut self, id: &ConversationId) -> Result<PlaygroundSession, StoreError> {
        const SQL: &str = "select c.conversation_id, c.title, s.persona_id, v.name as persona_name,
                s.persona_revision, s.model, s.variables, s.system_prompt, c.leaf_id, c.created_at,
                c.updated_at, c.deleted_at
            from playground_session s
            join conversation c on c.space_id = s.space_id
                and c.conversation_id = s.conversation_id
            join persona_version v on v.space_id = s.space_id and v.persona_id = s.persona_id
                and v.revision = s.persona_revision
            where s.space_id = $1 and s.conversation_id = $2";
        let space = self.space.clone();
        let row: Option<Row> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(id.as_str()).fetch_optional(wire).await?);
        row.ok_or(StoreError::NotFound("session"))?.try_into()
    }

    /// The sessions with a persona, the last written in first.
    pub async fn sessions(
        &mut self,
        persona: &PersonaId,
        kept: Kept,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Page<PlaygroundSession>, StoreError> {
        const SQL: &str = "select c.conversation_id, c.title, s.persona_id, v.name as persona_name,
                s.persona_revision, s.model, s.variables, s.system_prompt, c.leaf_id, c.created_at,
                c.updated_at, c.deleted_at
            from conversation c
            join playground_session s on s.space_id = c.space_id
                and s.conversation_id = c.conversation_id
            join persona_version v on v.space_id = s.space_id and v.persona_id = s.persona_id
                and v.revision = s.persona_revision
            where c.space_id = $1 and c.kind = 'playground' and c.persona_id = $2
                and (c.deleted_at is not null) = $3
                and (c.updated_at < $4 or (c.updated_at = $4 and c.conversation_id < $5))
            order by c.updated_at desc, c.conversation_id desc limit $6";
        let (at, id) = parse_cursor(after);
        let space = self.space.clone();
        let wanted = i64::from(limit) + 1;
        let rows: Vec<Row> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(persona.as_str()).bind(kept == Kept::Deleted)
            .bind(at).bind(id).bind(wanted).fetch_all(wire).await?);
        let page = Page::cut(rows, limit, |row| cursor(row.updated_at, &row.conversation_id));
        let items = page.items.into_iter().map(PlaygroundSession::try_from);
        Ok(Page { items: items.collect::<Result<_, _>>()?, next: page.next })
    }

    /// Writes what is set for a session: its title, version, model and variables.
    pub async fn set_session(
        &mut self,
        session: &PlaygroundSession,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        const CONVERSATION: &str = "update conversation set title = $3, updated_at = $4
            where space_id = $1 and conversation_id = $2";
        const SESSION: &str = "update playground_session set persona_revision = $3, model = $4,
                variables = $5
            where space_id = $1 and conversation_id = $2";
        let space = self.space.clone();
        on!(self, wire => sqlx::query(CONVERSATION)
            .bind(space.as_str()).bind(session.id.as_str()).bind(&session.title).bind(at.0)
            .execute(wire).await.map(drop)?);
        on!(self, wire => sqlx::query(SESSION)
            .bind(space.as_str()).bind(session.id.as_str()).bind(session.persona_revision)
            .bind(&session.model).bind(serde_json::json!(session.variables).to_string())
            .execute(wire).await.map(drop)?);
        Ok(())
    }

    /// Deletes a session, or brings it back.
    pub async fn set_session_deleted(
        &mut self,
        id: &ConversationId,
        deleted_at: Option<Timestamp>,
    ) -> Result<(), StoreError> {
        const SQL: &str = "update conversation set deleted_at = $3
            where space_id = $1 and conversation_id = $2 and kind = 'playground'";
        let space = self.space.clone();
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(id.as_str()).bind(deleted_at.map(|at| at.0))
            .execute(wire).await.map(drop)?);
        Ok(())
    }

    /// Goes back to before anything was said: what was said stays on its branches.
    pub async fn clear_leaf(
        &mut self,
        id: &ConversationId,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        const SQL: &str = "update conversation set leaf_id = null, updated_at = $3
            where space_id = $1 and conversation_id = $2";
        let space = self.space.clone();
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(id.as_str()).bind(at.0).execute(wire).await.map(drop)?);
        Ok(())
    }
}
