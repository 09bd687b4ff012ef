//! What personas answered to their test inputs.

use sqlx::FromRow;

use super::{Link, StoreError, link::on};
use crate::domain::{
    id::{PersonaId, RunId, TestInputId},
    list::Page,
    message::{Part, PartBody},
    run::RunStatus,
    test_answer::TestAnswer,
    timestamp::Timestamp,
    version::Revision,
};

const COLUMNS: &str = "a.test_input_id, a.input_revision, a.persona_revision, a.run_id, r.status,
        r.stop, r.error, m.parts, r.model, r.spent, a.created_at
    from test_answer a
    join run r on r.space_id = a.space_id and r.run_id = a.run_id
    left join message m on m.space_id = a.space_id and m.message_id = r.reply_id";

#[derive(FromRow)]
struct Row {
    test_input_id: String,
    input_revision: i64,
    persona_revision: i64,
    run_id: String,
    status: String,
    stop: Option<String>,
    error: Option<String>,
    parts: Option<String>,
    model: String,
    spent: String,
    created_at: i64,
}

impl TryFrom<Row> for TestAnswer {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            test_input_id: TestInputId::new(row.test_input_id),
            input_revision: row.input_revision,
            persona_revision: row.persona_revision,
            run_id: RunId::new(row.run_id),
            status: RunStatus::from_word(&row.status),
            stop: row.stop.as_deref().map(StoreError::read_json).transpose()?,
            error: row.error.as_deref().map(StoreError::read_json).transpose()?,
            text: row.parts.as_deref().map(words).transpose()?.unwrap_or_default(),
            model: row.model,
            spent: StoreError::read_json(&row.spent)?,
            created_at: Timestamp(row.created_at),
        })
    }
}

/// The words of an answer, by the parts that are kept of it.
pub(super) fn words(parts: &str) -> Result<String, StoreError> {
    let parts: Vec<Part> = StoreError::read_json(parts)?;
    let words = parts.into_iter().filter_map(|part| match part.body {
        PartBody::Text(text) => Some(text),
        PartBody::Reasoning(_) | PartBody::ToolCall(_) | PartBody::ToolResult(_) => None,
    });
    Ok(words.collect::<Vec<_>>().join("\n\n"))
}

impl Link {
    /// Notes that a run answers a test input.
    pub async fn insert_test_answer(
        &mut self,
        input: &TestInputId,
        input_revision: Revision,
        persona: (&PersonaId, Revision),
        run: &RunId,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        const SQL: &str = "insert into test_answer
            (space_id, test_input_id, run_id, input_revision, persona_id, persona_revision, created_at)
            values ($1, $2, $3, $4, $5, $6, $7)";
        let space = self.space.clone();
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(input.as_str()).bind(run.as_str()).bind(input_revision)
            .bind(persona.0.as_str()).bind(persona.1).bind(at.0)
            .execute(wire).await.map(drop)?);
        Ok(())
    }

    /// The test input that a run answers.
    pub async fn answered_by(&mut self, run: &RunId) -> Result<TestInputId, StoreError> {
        const SQL: &str =
            "select test_input_id from test_answer where space_id = $1 and run_id = $2";
        let space = self.space.clone();
        let id: Option<String> = on!(self, wire => sqlx::query_scalar(SQL)
            .bind(space.as_str()).bind(run.as_str()).fetch_optional(wire).await?);
        id.map(TestInputId::new).ok_or(StoreError::NotFound("test input"))
    }

    /// The last answer to each test input of a persona.
    pub async fn last_answers(
        &mut self,
        persona: &PersonaId,
    ) -> Result<Vec<TestAnswer>, StoreError> {
        let sql = format!(
            "select {COLUMNS}
            where a.space_id = $1 and a.persona_id = $2 and a.run_id = (
                select max(b.run_id) from test_answer b
                where b.space_id = a.space_id and b.test_input_id = a.test_input_id)
            order by a.run_id"
        );
        let space = self.space.clone();
        let rows: Vec<Row> = on!(self, wire => sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(space.as_str()).bind(persona.as_str()).fetch_all(wire).await?);
        rows.into_iter().map(TestAnswer::try_from).collect()
    }

    /// The answers to one test input, the newest first.
    pub async fn answers(
        &mut self,
        input: &TestInputId,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Page<TestAnswer>, StoreError> {
        let sql = format!(
            "select {COLUMNS}
            where a.space_id = $1 and a.test_input_id = $2 and ($3 = '' or a.run_id < $3)
            order by a.run_id desc limit $4"
        );
        let space = self.space.clone();
        let rows: Vec<Row> = on!(self, wire => sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(space.as_str()).bind(input.as_str()).bind(after.unwrap_or_default())
            .bind(i64::from(limit) + 1).fetch_all(wire).await?);
        let answers = rows.into_iter().map(TestAnswer::try_from).collect::<Result<Vec<_>, _>>()?;
        Ok(Page::cut(answers, limit, |answer| answer.run_id.as_str().to_owned()))
    }
}
