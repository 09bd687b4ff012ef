//! Personas: the row that moves, and the versions that stay.

use sqlx::FromRow;

use super::{Author, Link, StoreError, link::on};
use crate::domain::{
    id::{ConversationId, PersonaId, TestInputId},
    list::{Page, cursor, parse_cursor},
    persona::{NAME, Persona, PersonaFields, PersonaSummary, RoleplayData, Tier, excerpt},
    timestamp::Timestamp,
    version::Revision,
};

/// How much of a prompt a list shows.
const EXCERPT_CHARS: i32 = 300;

/// What stands of a thing now: its revision, what it says, and whether it lies in the bin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head<F> {
    /// The revision.
    pub revision: Revision,
    /// What the revision says.
    pub fields: F,
    /// Whether it lies in the bin.
    pub binned: bool,
    /// When it last changed.
    pub updated_at: Timestamp,
}

#[derive(FromRow)]
pub(super) struct FieldsRow {
    name: String,
    system_prompt: String,
    appearance: String,
    notes: String,
    model: String,
    tools: String,
    tier: String,
    face: String,
    roleplay_data: Option<String>,
}

impl FieldsRow {
    pub(super) fn into_fields(self) -> PersonaFields {
        PersonaFields {
            name: self.name,
            system_prompt: self.system_prompt,
            appearance: self.appearance,
            notes: self.notes,
            model: self.model,
            tools: serde_json::from_str(&self.tools).unwrap_or_default(),
            tier: Tier::from_word(&self.tier).unwrap_or_default(),
            face: self.face,
            roleplay_data: self.roleplay_data.and_then(|data| serde_json::from_str(&data).ok()),
        }
    }
}

#[derive(FromRow)]
struct PersonaRow {
    persona_id: String,
    revision: i64,
    agent_conversation_id: Option<String>,
    created_at: i64,
    updated_at: i64,
    deleted_at: Option<i64>,
    test_input_ids: Option<String>,
    #[sqlx(flatten)]
    fields: FieldsRow,
}

#[derive(FromRow)]
struct SummaryRow {
    persona_id: String,
    name: String,
    excerpt: String,
    model: String,
    face: String,
    revision: i64,
    test_inputs: i64,
    updated_at: i64,
}

impl Link {
    /// Personas outside the bin, the last changed first. `search` is looked for in their names.
    pub async fn personas(
        &mut self,
        search: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Page<PersonaSummary>, StoreError> {
        const SQL: &str = "select p.persona_id, v.name, substr(v.system_prompt, 1, $6) as excerpt,
                v.model, v.face, p.revision, p.updated_at,
                (select count(*) from test_input t where t.space_id = p.space_id
                    and t.persona_id = p.persona_id and t.deleted_at is null) as test_inputs
            from persona p join persona_version v on v.space_id = p.space_id
                and v.persona_id = p.persona_id and v.revision = p.revision
            where p.space_id = $1 and p.deleted_at is null
                and (p.updated_at < $2 or (p.updated_at = $2 and p.persona_id > $3))
                and p.name_folded like $4 escape '\\'
            order by p.updated_at desc, p.persona_id limit $5";
        let (at, id) = parse_cursor(after);
        let space = self.space.clone();
        let wanted = i64::from(limit) + 1;
        let rows: Vec<SummaryRow> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(at).bind(id).bind(like(search)).bind(wanted)
            .bind(EXCERPT_CHARS).fetch_all(wire).await?);
        let page = Page::cut(rows, limit, |row| cursor(row.updated_at, &row.persona_id));
        Ok(page.map(|row| PersonaSummary {
            id: PersonaId::new(row.persona_id),
            name: row.name,
            excerpt: excerpt(&row.excerpt),
            model: row.model,
            face: row.face,
            revision: row.revision,
            test_inputs: row.test_inputs,
            updated_at: Timestamp(row.updated_at),
        }))
    }

    /// How many personas there are outside the bin.
    pub async fn count_personas(&mut self) -> Result<i64, StoreError> {
        const SQL: &str = "select count(*) from persona where space_id = $1 and deleted_at is null";
        let space = self.space.clone();
        Ok(on!(self, wire => sqlx::query_scalar(SQL).bind(space.as_str()).fetch_one(wire).await?))
    }

    async fn persona_row(&mut self, id: &PersonaId) -> Result<PersonaRow, StoreError> {
        const SQL: &str = "select p.persona_id, p.revision, p.agent_conversation_id, p.created_at,
                p.updated_at, p.deleted_at, v.name, v.system_prompt, v.appearance, v.notes, v.model,
                v.tools, v.tier, v.face, v.roleplay_data,
                (select string_agg(t.test_input_id, ' ' order by i.position, t.test_input_id)
                    from test_input t join test_input_version i on i.space_id = t.space_id
                        and i.test_input_id = t.test_input_id and i.revision = t.revision
                    where t.space_id = $1 and t.persona_id = $2 and t.deleted_at is null
                ) as test_input_ids
            from persona p join persona_version v on v.space_id = p.space_id
                and v.persona_id = p.persona_id and v.revision = p.revision
            where p.space_id = $1 and p.persona_id = $2";
        let space = self.space.clone();
        let row = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(id.as_str()).fetch_optional(wire).await?);
        row.ok_or(StoreError::NotFound("persona"))
    }

    /// A persona outside the bin.
    pub async fn persona(&mut self, id: &PersonaId) -> Result<Persona, StoreError> {
        let row = self.persona_row(id).await?;
        if row.deleted_at.is_some() {
            return Err(StoreError::NotFound("persona"));
        }
        Ok(persona(row))
    }

    /// What stands of a persona, in the bin or not.
    pub async fn persona_head(
        &mut self,
        id: &PersonaId,
    ) -> Result<Head<PersonaFields>, StoreError> {
        let row = self.persona_row(id).await?;
        Ok(Head {
            revision: row.revision,
            binned: row.deleted_at.is_some(),
            updated_at: Timestamp(row.updated_at),
            fields: row.fields.into_fields(),
        })
    }

    pub(super) async fn persona_fields_at(
        &mut self,
        id: &PersonaId,
        revision: Revision,
    ) -> Result<FieldsRow, StoreError> {
        const SQL: &str = "select name, system_prompt, appearance, notes, model, tools, tier,
                face, roleplay_data
            from persona_version where space_id = $1 and persona_id = $2 and revision = $3";
        let space = self.space.clone();
        let row = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(id.as_str()).bind(revision).fetch_optional(wire).await?);
        row.ok_or(StoreError::NotFound("version"))
    }

    /// What a persona said at a version, in the bin or not.
    pub async fn persona_at(
        &mut self,
        id: &PersonaId,
        revision: Revision,
    ) -> Result<PersonaFields, StoreError> {
        Ok(self.persona_fields_at(id, revision).await?.into_fields())
    }

    /// Keeps what a model made of a version for roleplay, unless there is something already. The one thing
    /// that is added to a version after it was written.
    pub async fn set_roleplay_data(
        &mut self,
        id: &PersonaId,
        revision: Revision,
        data: &RoleplayData,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        const SQL: &str = "update persona_version set roleplay_data = $4, roleplay_made_at = $5
            where space_id = $1 and persona_id = $2 and revision = $3 and roleplay_data is null";
        let space = self.space.clone();
        let made = on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(id.as_str()).bind(revision)
            .bind(serde_json::json!(data).to_string()).bind(at.0)
            .execute(wire).await?.rows_affected());
        Ok(made > 0)
    }

    /// Makes a persona with its first version.
    pub async fn insert_persona(
        &mut self,
        id: &PersonaId,
        fields: &PersonaFields,
        author: Author<'_>,
    ) -> Result<(), StoreError> {
        self.check_face(&fields.face).await?;
        const SQL: &str = "insert into persona
            (space_id, persona_id, revision, name_folded, created_at, updated_at)
            values ($1, $2, 1, $3, $4, $4) on conflict do nothing";
        let space = self.space.clone();
        let made = on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(id.as_str()).bind(fold(&fields.name)).bind(author.at.0)
            .execute(wire).await?.rows_affected());
        if made == 0 {
            return Err(StoreError::Taken("persona"));
        }
        self.insert_version(id, 1, fields, author).await
    }

    /// Writes the version after `from`. `false` when the persona is no longer at `from`.
    pub async fn advance_persona(
        &mut self,
        id: &PersonaId,
        from: Revision,
        fields: &PersonaFields,
        author: Author<'_>,
    ) -> Result<bool, StoreError> {
        self.check_face(&fields.face).await?;
        const SQL: &str = "update persona set revision = revision + 1, name_folded = $4,
                updated_at = $5
            where space_id = $1 and persona_id = $2 and revision = $3 and deleted_at is null";
        let space = self.space.clone();
        let moved = on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(id.as_str()).bind(from).bind(fold(&fields.name))
            .bind(author.at.0).execute(wire).await?.rows_affected());
        if moved == 0 {
            return Ok(false);
        }
        self.insert_version(id, from + 1, fields, author).await?;
        self.outdate_roleplay_data(id, from).await?;
        Ok(true)
    }

    /// What a model drew from the version before goes along while that version's texts are the same, and
    /// is made anew otherwise. What a person wrote stays.
    async fn outdate_roleplay_data(
        &mut self,
        id: &PersonaId,
        from: Revision,
    ) -> Result<(), StoreError> {
        const SQL: &str = "update persona_version as n set
                roleplay_made_at = case when n.system_prompt = o.system_prompt
                    and n.name = o.name and n.appearance = o.appearance
                    then o.roleplay_made_at end,
                roleplay_data = case when n.system_prompt = o.system_prompt
                    and n.name = o.name and n.appearance = o.appearance
                    then n.roleplay_data end
            from persona_version o
            where n.space_id = $1 and n.persona_id = $2 and n.revision = $3 + 1
                and o.space_id = $1 and o.persona_id = $2 and o.revision = $3
                and o.roleplay_made_at is not null and n.roleplay_data = o.roleplay_data";
        let space = self.space.clone();
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(id.as_str()).bind(from).execute(wire).await.map(drop)?);
        Ok(())
    }

    async fn insert_version(
        &mut self,
        id: &PersonaId,
        revision: Revision,
        fields: &PersonaFields,
        author: Author<'_>,
    ) -> Result<(), StoreError> {
        const SQL: &str = "insert into persona_version
            (space_id, persona_id, revision, name, system_prompt, appearance, notes, model, tools,
                tier, roleplay_data, change_id, author_kind, author_user_id, author_persona_id,
                reason, created_at, face)
            values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)";
        let space = self.space.clone();
        let tools = serde_json::json!(fields.tools).to_string();
        let roleplay =
            fields.roleplay_data.as_ref().map(|data| serde_json::json!(data).to_string());
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(id.as_str()).bind(revision)
            .bind(&fields.name).bind(&fields.system_prompt).bind(&fields.appearance)
            .bind(&fields.notes).bind(&fields.model).bind(tools).bind(fields.tier.word())
            .bind(roleplay).bind(author.change.as_str()).bind(author.actor.kind().word())
            .bind(author.actor.user().map(|user| user.as_str()))
            .bind(author.actor.persona().map(|persona| persona.as_str()))
            .bind(author.reason).bind(author.at.0).bind(&fields.face)
            .execute(wire).await.map(drop)?);
        Ok(())
    }
}

fn persona(row: PersonaRow) -> Persona {
    let test_input_ids = row.test_input_ids.unwrap_or_default();
    Persona {
        id: PersonaId::new(row.persona_id),
        revision: row.revision,
        fields: row.fields.into_fields(),
        test_input_ids: test_input_ids.split_whitespace().map(TestInputId::from).collect(),
        agent_chat_session_id: row.agent_conversation_id.map(ConversationId::new),
        created_at: Timestamp(row.created_at),
        updated_at: Timestamp(row.updated_at),
    }
}

/// Small letters in every script, which the databases' own `lower` does not do alike.
pub(super) fn fold(name: &str) -> String {
    name.to_lowercase()
}

/// The pattern that finds a text anywhere, with its own wildcards taken by the letter.
pub(super) fn like(search: &str) -> String {
    let plain: String =
        fold(search.trim()).chars().filter(|letter| *letter != '\0').take(NAME.max_chars).collect();
    let escaped = plain.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    format!("%{escaped}%")
}
