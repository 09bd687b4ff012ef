//! What is public of personas. An address is one in the whole house, whatever Space it is of.

use sqlx::FromRow;

use super::{Author, Link, Pool, Store, StoreError, link::on, test_answer::words};
use crate::domain::{
    id::{PersonaId, TestInputId, UserId},
    publication::{Example, PublicPage, Publication, Published},
    timestamp::Timestamp,
    version::Revision,
};

#[derive(FromRow)]
struct Row {
    slug: String,
    revision: i64,
    shows_prompt: i64,
    indexed: i64,
    examples: String,
    published_by_user_id: Option<String>,
    published_at: i64,
}

#[derive(FromRow)]
struct PageRow {
    name: String,
    appearance: String,
    system_prompt: Option<String>,
    examples: String,
    indexed: i64,
}

#[derive(FromRow)]
struct ExampleRow {
    test_input_id: String,
    content: String,
    parts: String,
}

impl Store {
    /// The public page with this address, of whichever Space; none while its persona lies in the bin. What
    /// its publisher did not choose is not even read.
    pub async fn public_page(&self, slug: &str) -> Result<Option<PublicPage>, StoreError> {
        const SQL: &str = "select v.name, v.appearance,
                case when u.shows_prompt = 1 then v.system_prompt end as system_prompt,
                u.examples, u.indexed
            from publication u
            join persona p on p.space_id = u.space_id and p.persona_id = u.persona_id
            join persona_version v on v.space_id = u.space_id and v.persona_id = u.persona_id
                and v.revision = u.revision
            where u.slug = $1 and p.deleted_at is null";
        self.check_ready()?;
        let row: Option<PageRow> = match &self.pool {
            Pool::Sqlite { read, .. } => {
                sqlx::query_as(SQL).bind(slug).fetch_optional(read).await?
            }
            Pool::Postgres(pool) => sqlx::query_as(SQL).bind(slug).fetch_optional(pool).await?,
        };
        row.map(|row| {
            Ok(PublicPage {
                name: row.name,
                appearance: row.appearance,
                system_prompt: row.system_prompt,
                examples: StoreError::read_json(&row.examples)?,
                indexed: row.indexed == 1,
            })
        })
        .transpose()
    }
}

impl Link {
    /// What is public of a persona, in the bin or not.
    pub async fn publication(&mut self, id: &PersonaId) -> Result<Option<Published>, StoreError> {
        const SQL: &str = "select slug, revision, shows_prompt, indexed, examples,
                published_by_user_id, published_at
            from publication where space_id = $1 and persona_id = $2";
        let space = self.space.clone();
        let row: Option<Row> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(id.as_str()).fetch_optional(wire).await?);
        row.map(|row| {
            let publication = Publication {
                slug: row.slug,
                revision: row.revision,
                shows_prompt: row.shows_prompt == 1,
                examples: StoreError::read_json(&row.examples)?,
                indexed: row.indexed == 1,
            };
            let published_by = row.published_by_user_id.map(UserId::new);
            Ok(Published { publication, published_by, published_at: Timestamp(row.published_at) })
        })
        .transpose()
    }

    /// Makes something public of a persona, in the place of what was.
    pub async fn set_publication(
        &mut self,
        id: &PersonaId,
        publication: &Publication,
        author: Author<'_>,
    ) -> Result<(), StoreError> {
        const SQL: &str = "insert into publication
            (space_id, persona_id, slug, revision, shows_prompt, indexed, examples,
                published_by_user_id, published_at)
            values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
            on conflict (space_id, persona_id) do update set slug = excluded.slug,
                revision = excluded.revision, shows_prompt = excluded.shows_prompt,
                indexed = excluded.indexed, examples = excluded.examples,
                published_by_user_id = excluded.published_by_user_id,
                published_at = excluded.published_at";
        let space = self.space.clone();
        let Publication { slug, revision, shows_prompt, examples, indexed } = publication;
        let examples = serde_json::json!(examples).to_string();
        let kept = on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(id.as_str()).bind(slug).bind(revision)
            .bind(i64::from(*shows_prompt)).bind(i64::from(*indexed)).bind(examples)
            .bind(author.actor.user().map(|user| user.as_str())).bind(author.at.0)
            .execute(wire).await.map(drop));
        kept.map_err(|error| match error.as_database_error() {
            // The persona's own row gives way, so this is another one's address.
            Some(problem) if problem.is_unique_violation() => StoreError::Taken("address"),
            _ => error.into(),
        })
    }

    /// Takes away what is public of a persona.
    pub async fn remove_publication(&mut self, id: &PersonaId) -> Result<(), StoreError> {
        const SQL: &str = "delete from publication where space_id = $1 and persona_id = $2";
        let space = self.space.clone();
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(id.as_str()).execute(wire).await.map(drop)?);
        Ok(())
    }

    /// The last good answer of a version to each test input that is not in the bin, with what was said
    /// then, in the order of the test inputs.
    pub async fn answered_examples(
        &mut self,
        persona: &PersonaId,
        revision: Revision,
    ) -> Result<Vec<Example>, StoreError> {
        const SQL: &str = "select a.test_input_id, asked.content, m.parts
            from test_answer a
            join run r on r.space_id = a.space_id and r.run_id = a.run_id and r.status = 'done'
            join message m on m.space_id = a.space_id and m.message_id = r.reply_id
            join test_input t on t.space_id = a.space_id and t.test_input_id = a.test_input_id
                and t.deleted_at is null
            join test_input_version asked on asked.space_id = a.space_id
                and asked.test_input_id = a.test_input_id and asked.revision = a.input_revision
            join test_input_version now on now.space_id = t.space_id
                and now.test_input_id = t.test_input_id and now.revision = t.revision
            where a.space_id = $1 and a.persona_id = $2 and a.persona_revision = $3
            order by now.position, a.test_input_id, a.run_id desc";
        let space = self.space.clone();
        let rows: Vec<ExampleRow> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(persona.as_str()).bind(revision).fetch_all(wire).await?);
        let mut examples: Vec<Example> = Vec::new();
        for row in rows {
            let answer = words(&row.parts)?;
            let test_input_id = TestInputId::new(row.test_input_id);
            // The newest of each comes first.
            let known = examples.last().is_some_and(|last| last.test_input_id == test_input_id);
            if !known && !answer.is_empty() {
                examples.push(Example { test_input_id, input: row.content, answer });
            }
        }
        Ok(examples)
    }
}
