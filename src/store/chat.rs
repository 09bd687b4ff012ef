//! Chats: what is set for them, who speaks in them, and where each device was.

use std::collections::HashMap;

use sqlx::FromRow;

use super::{Author, Head, Link, StoreError, link::on};
use crate::domain::{
    chat::{Chat, ChatFields, ChatMode, ChatSummary, Member, MemberState},
    id::{ConversationId, MessageId, PersonaId, UserId},
    list::{Page, cursor, parse_cursor},
    message::ConversationKind,
    timestamp::Timestamp,
    version::Revision,
};

#[derive(FromRow)]
struct Row {
    revision: i64,
    fields: String,
    leaf_id: Option<String>,
    created_at: i64,
    updated_at: i64,
    deleted_at: Option<i64>,
}

#[derive(FromRow)]
struct SummaryRow {
    conversation_id: String,
    title: String,
    mode: String,
    persona_id: String,
    persona_name: String,
    created_at: i64,
    updated_at: i64,
}

#[derive(FromRow)]
struct MemberRow {
    persona_id: String,
    name: String,
    revision: i64,
    current_revision: i64,
    deleted_at: Option<i64>,
    model: String,
    roleplay_data: Option<String>,
}

impl From<MemberRow> for MemberState {
    fn from(row: MemberRow) -> Self {
        Self {
            persona_id: PersonaId::new(row.persona_id),
            name: row.name,
            revision: row.revision,
            current_revision: row.current_revision,
            changes: row.current_revision - row.revision,
            in_bin: row.deleted_at.is_some(),
            model: row.model,
            roleplay_data: row.roleplay_data.and_then(|data| serde_json::from_str(&data).ok()),
        }
    }
}

impl Link {
    /// Chats outside the bin, the last written in first; of one persona, if it is named.
    pub async fn chats(
        &mut self,
        persona: Option<&PersonaId>,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Page<ChatSummary>, StoreError> {
        const SQL: &str = "select c.conversation_id, c.title, t.mode, c.created_at, c.updated_at,
                m.persona_id, v.name as persona_name
            from conversation c
            join chat t on t.space_id = c.space_id and t.conversation_id = c.conversation_id
            join chat_member m on m.space_id = c.space_id
                and m.conversation_id = c.conversation_id and m.position = 0
            join persona_version v on v.space_id = m.space_id and v.persona_id = m.persona_id
                and v.revision = m.revision
            where c.space_id = $1 and c.kind = 'chat' and c.deleted_at is null
                and (c.updated_at < $2 or (c.updated_at = $2 and c.conversation_id < $3))
                and ($4 = '' or exists (select 1 from chat_member o where o.space_id = c.space_id
                    and o.conversation_id = c.conversation_id and o.persona_id = $4))
            order by c.updated_at desc, c.conversation_id desc limit $5";
        let (at, id) = parse_cursor(after);
        let space = self.space.clone();
        let wanted = i64::from(limit) + 1;
        let rows: Vec<SummaryRow> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(at).bind(id)
            .bind(persona.map_or("", |persona| persona.as_str())).bind(wanted)
            .fetch_all(wire).await?);
        let page = Page::cut(rows, limit, |row| cursor(row.updated_at, &row.conversation_id));
        let listed: Vec<&str> = page.items.iter().map(|row| row.conversation_id.as_str()).collect();
        let mut names = self.member_names(&listed).await?;
        Ok(page.map(|row| ChatSummary {
            persona_names: names.remove(&row.conversation_id).unwrap_or_default(),
            id: ConversationId::new(row.conversation_id),
            title: row.title,
            mode: ChatMode::from_word(&row.mode).unwrap_or_default(),
            persona_id: PersonaId::new(row.persona_id),
            persona_name: row.persona_name,
            created_at: Timestamp(row.created_at),
            updated_at: Timestamp(row.updated_at),
        }))
    }

    /// What those are called that speak in these chats, in order.
    async fn member_names(
        &mut self,
        chats: &[&str],
    ) -> Result<HashMap<String, Vec<String>>, StoreError> {
        let select = |wanted: &str| {
            format!(
                "select m.conversation_id, v.name from chat_member m
                join persona_version v on v.space_id = m.space_id and v.persona_id = m.persona_id
                    and v.revision = m.revision
                where m.space_id = $1 and m.conversation_id {wanted} order by m.position"
            )
        };
        let rows: Vec<(String, String)> = self.rows_among(select, &[], chats).await?;
        let mut names: HashMap<String, Vec<String>> = HashMap::new();
        for (chat, name) in rows {
            names.entry(chat).or_default().push(name);
        }
        Ok(names)
    }

    async fn chat_row(&mut self, id: &ConversationId) -> Result<Row, StoreError> {
        const SQL: &str = "select t.revision, v.fields, c.leaf_id, c.created_at, c.updated_at,
                c.deleted_at
            from conversation c
            join chat t on t.space_id = c.space_id and t.conversation_id = c.conversation_id
            join chat_version v on v.space_id = t.space_id
                and v.conversation_id = t.conversation_id and v.revision = t.revision
            where c.space_id = $1 and c.conversation_id = $2";
        let space = self.space.clone();
        let row = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(id.as_str()).fetch_optional(wire).await?);
        row.ok_or(StoreError::NotFound("chat"))
    }

    /// A chat outside the bin.
    pub async fn chat(&mut self, id: &ConversationId) -> Result<Chat, StoreError> {
        let row = self.chat_row(id).await?;
        if row.deleted_at.is_some() {
            return Err(StoreError::NotFound("chat"));
        }
        let members = self.chat_members(id).await?;
        let fields: ChatFields = StoreError::read_json(&row.fields)?;
        let first = members.first().cloned().ok_or(StoreError::NotFound("persona"))?;
        Ok(Chat {
            id: id.clone(),
            revision: row.revision,
            title: fields.title,
            titled_by: fields.titled_by,
            mode: fields.mode,
            settings: fields.settings,
            persona_id: first.persona_id,
            persona_revision: first.revision,
            members,
            leaf: row.leaf_id.map(MessageId::new),
            created_at: Timestamp(row.created_at),
            updated_at: Timestamp(row.updated_at),
        })
    }

    async fn chat_members(&mut self, id: &ConversationId) -> Result<Vec<MemberState>, StoreError> {
        const SQL: &str = "select m.persona_id, v.name, m.revision, p.revision as current_revision,
                p.deleted_at, v.model, v.roleplay_data
            from chat_member m
            join persona p on p.space_id = m.space_id and p.persona_id = m.persona_id
            join persona_version v on v.space_id = m.space_id and v.persona_id = m.persona_id
                and v.revision = m.revision
            where m.space_id = $1 and m.conversation_id = $2 order by m.position";
        let space = self.space.clone();
        let rows: Vec<MemberRow> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(id.as_str()).fetch_all(wire).await?);
        Ok(rows.into_iter().map(MemberState::from).collect())
    }

    /// Who speaks first in a chat, in the bin or not.
    pub async fn first_speaker(
        &mut self,
        id: &ConversationId,
    ) -> Result<Option<PersonaId>, StoreError> {
        const SQL: &str = "select persona_id from chat_member
            where space_id = $1 and conversation_id = $2 and position = 0";
        let space = self.space.clone();
        let persona: Option<String> = on!(self, wire => sqlx::query_scalar(SQL)
            .bind(space.as_str()).bind(id.as_str()).fetch_optional(wire).await?);
        Ok(persona.map(PersonaId::new))
    }

    /// The chats of a persona, in the bin or not.
    pub async fn chats_of(
        &mut self,
        persona: &PersonaId,
    ) -> Result<Vec<ConversationId>, StoreError> {
        const SQL: &str = "select distinct conversation_id from chat_member
            where space_id = $1 and persona_id = $2 and position = 0";
        let space = self.space.clone();
        let ids: Vec<String> = on!(self, wire => sqlx::query_scalar(SQL)
            .bind(space.as_str()).bind(persona.as_str()).fetch_all(wire).await?);
        Ok(ids.into_iter().map(ConversationId::new).collect())
    }

    /// What stands of a chat, in the bin or not.
    pub async fn chat_head(&mut self, id: &ConversationId) -> Result<Head<ChatFields>, StoreError> {
        let row = self.chat_row(id).await?;
        Ok(Head {
            revision: row.revision,
            binned: row.deleted_at.is_some(),
            updated_at: Timestamp(row.updated_at),
            fields: StoreError::read_json(&row.fields)?,
        })
    }

    /// What a chat was at a revision.
    pub async fn chat_at(
        &mut self,
        id: &ConversationId,
        revision: Revision,
    ) -> Result<ChatFields, StoreError> {
        const SQL: &str = "select fields from chat_version
            where space_id = $1 and conversation_id = $2 and revision = $3";
        let space = self.space.clone();
        let fields: Option<String> = on!(self, wire => sqlx::query_scalar(SQL)
            .bind(space.as_str()).bind(id.as_str()).bind(revision).fetch_optional(wire).await?);
        StoreError::read_json(&fields.ok_or(StoreError::NotFound("version"))?)
    }

    /// Begins a chat.
    pub async fn insert_chat(
        &mut self,
        id: &ConversationId,
        fields: &ChatFields,
        author: Author<'_>,
    ) -> Result<(), StoreError> {
        const CONVERSATION: &str = "insert into conversation
            (space_id, conversation_id, kind, persona_id, title, created_at, updated_at)
            values ($1, $2, $3, $4, $5, $6, $6) on conflict do nothing";
        const CHAT: &str = "insert into chat
            (space_id, conversation_id, revision, titled_by, mode, settings)
            values ($1, $2, 1, $3, $4, $5)";
        let space = self.space.clone();
        let first = fields.members.first().map_or("", |member| member.persona_id.as_str());
        let made = on!(self, wire => sqlx::query(CONVERSATION)
            .bind(space.as_str()).bind(id.as_str()).bind(ConversationKind::Chat.word())
            .bind(first).bind(&fields.title).bind(author.at.0)
            .execute(wire).await?.rows_affected());
        if made == 0 {
            return Err(StoreError::Taken("chat"));
        }
        let settings = serde_json::json!(fields.settings).to_string();
        on!(self, wire => sqlx::query(CHAT)
            .bind(space.as_str()).bind(id.as_str()).bind(fields.titled_by.word())
            .bind(fields.mode.word()).bind(settings).execute(wire).await.map(drop)?);
        self.write_members(id, &fields.members).await?;
        self.insert_chat_version(id, 1, fields, author).await
    }

    /// Writes the revision after `from`. `false` when the chat is no longer at `from`.
    pub async fn advance_chat(
        &mut self,
        id: &ConversationId,
        from: Revision,
        fields: &ChatFields,
        author: Author<'_>,
    ) -> Result<bool, StoreError> {
        const CHAT: &str = "update chat set revision = revision + 1, titled_by = $4, mode = $5,
                settings = $6
            where space_id = $1 and conversation_id = $2 and revision = $3";
        // A chat belongs to the persona that speaks first.
        const CONVERSATION: &str = "update conversation set title = $3, updated_at = $4,
                persona_id = (select m.persona_id from chat_member m where m.space_id = $1
                    and m.conversation_id = $2 order by m.position limit 1)
            where space_id = $1 and conversation_id = $2";
        let space = self.space.clone();
        let settings = serde_json::json!(fields.settings).to_string();
        let moved = on!(self, wire => sqlx::query(CHAT)
            .bind(space.as_str()).bind(id.as_str()).bind(from).bind(fields.titled_by.word())
            .bind(fields.mode.word()).bind(settings).execute(wire).await?.rows_affected());
        if moved == 0 {
            return Ok(false);
        }
        self.write_members(id, &fields.members).await?;
        on!(self, wire => sqlx::query(CONVERSATION)
            .bind(space.as_str()).bind(id.as_str()).bind(&fields.title).bind(author.at.0)
            .execute(wire).await.map(drop)?);
        self.insert_chat_version(id, from + 1, fields, author).await?;
        Ok(true)
    }

    async fn write_members(
        &mut self,
        id: &ConversationId,
        members: &[Member],
    ) -> Result<(), StoreError> {
        const CLEAR: &str = "delete from chat_member where space_id = $1 and conversation_id = $2";
        // One that was removed for good meanwhile is left out.
        const ADD: &str = "insert into chat_member
            (space_id, conversation_id, position, persona_id, revision)
            select v.space_id, $2, $3, v.persona_id, v.revision from persona_version v
            where v.space_id = $1 and v.persona_id = $4 and v.revision = $5";
        let space = self.space.clone();
        on!(self, wire => sqlx::query(CLEAR)
            .bind(space.as_str()).bind(id.as_str()).execute(wire).await.map(drop)?);
        let mut position = 0_i64;
        for member in members {
            let added = on!(self, wire => sqlx::query(ADD)
                .bind(space.as_str()).bind(id.as_str()).bind(position)
                .bind(member.persona_id.as_str()).bind(member.revision)
                .execute(wire).await?.rows_affected());
            position += i64::from(added > 0);
        }
        if position == 0 {
            return Err(StoreError::NotFound("persona"));
        }
        Ok(())
    }

    async fn insert_chat_version(
        &mut self,
        id: &ConversationId,
        revision: Revision,
        fields: &ChatFields,
        author: Author<'_>,
    ) -> Result<(), StoreError> {
        const SQL: &str = "insert into chat_version
            (space_id, conversation_id, revision, fields, change_id, author_kind, author_user_id,
                author_persona_id, reason, created_at)
            values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
        let space = self.space.clone();
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(id.as_str()).bind(revision)
            .bind(serde_json::json!(fields).to_string())
            .bind(author.change.as_str()).bind(author.actor.kind().word())
            .bind(author.actor.user().map(|user| user.as_str()))
            .bind(author.actor.persona().map(|persona| persona.as_str()))
            .bind(author.reason).bind(author.at.0)
            .execute(wire).await.map(drop)?);
        Ok(())
    }

    /// Where a device of a person last was in a chat.
    pub async fn device_leaf(
        &mut self,
        chat: &ConversationId,
        user: &UserId,
        device: &str,
    ) -> Result<Option<MessageId>, StoreError> {
        const SQL: &str = "select leaf_id from chat_leaf
            where space_id = $1 and conversation_id = $2 and user_id = $3 and device_id = $4";
        let space = self.space.clone();
        let leaf: Option<String> = on!(self, wire => sqlx::query_scalar(SQL)
            .bind(space.as_str()).bind(chat.as_str()).bind(user.as_str()).bind(device)
            .fetch_optional(wire).await?);
        Ok(leaf.map(MessageId::new))
    }

    /// Remembers where a device of a person is in a chat.
    pub async fn set_device_leaf(
        &mut self,
        chat: &ConversationId,
        user: &UserId,
        device: &str,
        leaf: &MessageId,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        const SQL: &str = "insert into chat_leaf
            (space_id, conversation_id, user_id, device_id, leaf_id, updated_at)
            values ($1, $2, $3, $4, $5, $6)
            on conflict (space_id, conversation_id, user_id, device_id)
            do update set leaf_id = excluded.leaf_id, updated_at = excluded.updated_at";
        let space = self.space.clone();
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(chat.as_str()).bind(user.as_str()).bind(device)
            .bind(leaf.as_str()).bind(at.0).execute(wire).await.map(drop)?);
        Ok(())
    }
}
