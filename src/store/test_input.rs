//! Test inputs of personas.

use sqlx::FromRow;

use super::{Author, Head, Link, StoreError, link::on};
use crate::domain::{
    id::{PersonaId, TestInputId},
    test_input::{TestInput, TestInputFields},
    timestamp::Timestamp,
    version::Revision,
};

#[derive(FromRow)]
struct Row {
    test_input_id: String,
    persona_id: String,
    revision: i64,
    content: String,
    position: String,
    history: String,
    check_text: String,
    created_at: i64,
    updated_at: i64,
    deleted_at: Option<i64>,
}

impl From<Row> for TestInput {
    fn from(row: Row) -> Self {
        Self {
            id: TestInputId::new(row.test_input_id),
            persona_id: PersonaId::new(row.persona_id),
            revision: row.revision,
            fields: TestInputFields {
                content: row.content,
                position: row.position,
                history: serde_json::from_str(&row.history).unwrap_or_default(),
                check: row.check_text,
            },
            created_at: Timestamp(row.created_at),
            updated_at: Timestamp(row.updated_at),
        }
    }
}

impl Link {
    /// A persona's test inputs outside the bin, in order.
    pub async fn test_inputs(&mut self, persona: &PersonaId) -> Result<Vec<TestInput>, StoreError> {
        const SQL: &str = "select t.test_input_id, t.persona_id, t.revision, v.content, v.position,
                v.history, v.check_text,
                t.created_at, t.updated_at, t.deleted_at
            from test_input t join test_input_version v on v.space_id = t.space_id
                and v.test_input_id = t.test_input_id and v.revision = t.revision
            where t.space_id = $1 and t.persona_id = $2 and t.deleted_at is null
            order by v.position, t.test_input_id";
        let space = self.space.clone();
        let rows: Vec<Row> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(persona.as_str()).fetch_all(wire).await?);
        Ok(rows.into_iter().map(TestInput::from).collect())
    }

    async fn test_input_row(&mut self, id: &TestInputId) -> Result<Row, StoreError> {
        const SQL: &str = "select t.test_input_id, t.persona_id, t.revision, v.content, v.position,
                v.history, v.check_text,
                t.created_at, t.updated_at, coalesce(t.deleted_at, p.deleted_at) as deleted_at
            from test_input t join test_input_version v on v.space_id = t.space_id
                and v.test_input_id = t.test_input_id and v.revision = t.revision
            join persona p on p.space_id = t.space_id and p.persona_id = t.persona_id
            where t.space_id = $1 and t.test_input_id = $2";
        let space = self.space.clone();
        let row = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(id.as_str()).fetch_optional(wire).await?);
        row.ok_or(StoreError::NotFound("test input"))
    }

    /// A test input outside the bin, whose persona is outside it too.
    pub async fn test_input(&mut self, id: &TestInputId) -> Result<TestInput, StoreError> {
        let row = self.test_input_row(id).await?;
        if row.deleted_at.is_some() {
            return Err(StoreError::NotFound("test input"));
        }
        Ok(row.into())
    }

    /// What stands of a test input, in the bin or not.
    pub async fn test_input_head(
        &mut self,
        id: &TestInputId,
    ) -> Result<Head<TestInputFields>, StoreError> {
        let row = self.test_input_row(id).await?;
        let binned = row.deleted_at.is_some();
        let TestInput { revision, fields, updated_at, .. } = row.into();
        Ok(Head { revision, binned, fields, updated_at })
    }

    /// Whose test input it is, in the bin or not.
    pub async fn test_input_owner(&mut self, id: &TestInputId) -> Result<PersonaId, StoreError> {
        Ok(PersonaId::new(self.test_input_row(id).await?.persona_id))
    }

    /// What a test input said at a revision.
    pub async fn test_input_at(
        &mut self,
        id: &TestInputId,
        revision: Revision,
    ) -> Result<TestInputFields, StoreError> {
        const SQL: &str = "select content, position, history, check_text from test_input_version
            where space_id = $1 and test_input_id = $2 and revision = $3";
        let space = self.space.clone();
        let row: Option<(String, String, String, String)> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(id.as_str()).bind(revision).fetch_optional(wire).await?);
        let (content, position, history, check) = row.ok_or(StoreError::NotFound("version"))?;
        let history = StoreError::read_json(&history)?;
        Ok(TestInputFields { content, position, history, check })
    }

    /// How many test inputs a persona has outside the bin, and where the last one stands, in it or not:
    /// one that comes back keeps its place.
    pub async fn last_test_input(
        &mut self,
        persona: &PersonaId,
    ) -> Result<(i64, String), StoreError> {
        const SQL: &str = "select count(case when t.deleted_at is null then 1 end),
                coalesce(max(v.position), '')
            from test_input t join test_input_version v on v.space_id = t.space_id
                and v.test_input_id = t.test_input_id and v.revision = t.revision
            where t.space_id = $1 and t.persona_id = $2";
        let space = self.space.clone();
        Ok(on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(persona.as_str()).fetch_one(wire).await?))
    }

    /// Makes a test input with its first revision.
    pub async fn insert_test_input(
        &mut self,
        id: &TestInputId,
        persona: &PersonaId,
        fields: &TestInputFields,
        author: Author<'_>,
    ) -> Result<(), StoreError> {
        const SQL: &str = "insert into test_input
            (space_id, test_input_id, persona_id, revision, created_at, updated_at)
            values ($1, $2, $3, 1, $4, $4) on conflict do nothing";
        let space = self.space.clone();
        let made = on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(id.as_str()).bind(persona.as_str()).bind(author.at.0)
            .execute(wire).await?.rows_affected());
        if made == 0 {
            return Err(StoreError::Taken("test input"));
        }
        self.insert_test_input_version(id, 1, fields, author).await
    }

    /// Writes the revision after `from`. `false` when the test input is no longer at `from`.
    pub async fn advance_test_input(
        &mut self,
        id: &TestInputId,
        from: Revision,
        fields: &TestInputFields,
        author: Author<'_>,
    ) -> Result<bool, StoreError> {
        const SQL: &str = "update test_input set revision = revision + 1, updated_at = $4
            where space_id = $1 and test_input_id = $2 and revision = $3 and deleted_at is null";
        let space = self.space.clone();
        let moved = on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(id.as_str()).bind(from).bind(author.at.0)
            .execute(wire).await?.rows_affected());
        if moved == 0 {
            return Ok(false);
        }
        self.insert_test_input_version(id, from + 1, fields, author).await?;
        Ok(true)
    }

    async fn insert_test_input_version(
        &mut self,
        id: &TestInputId,
        revision: Revision,
        fields: &TestInputFields,
        author: Author<'_>,
    ) -> Result<(), StoreError> {
        const SQL: &str = "insert into test_input_version
            (space_id, test_input_id, revision, content, position, change_id, author_kind,
                author_user_id, author_persona_id, reason, created_at, history, check_text)
            values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";
        let space = self.space.clone();
        let history = serde_json::json!(fields.history).to_string();
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(id.as_str()).bind(revision)
            .bind(&fields.content).bind(&fields.position)
            .bind(author.change.as_str()).bind(author.actor.kind().word())
            .bind(author.actor.user().map(|user| user.as_str()))
            .bind(author.actor.persona().map(|persona| persona.as_str()))
            .bind(author.reason).bind(author.at.0).bind(history).bind(&fields.check)
            .execute(wire).await.map(drop)?);
        Ok(())
    }
}
