//! The versions of a persona, and the labels that point at them.

use std::collections::HashMap;

use sqlx::FromRow;

use super::{Link, StoreError, link::on, now, persona::FieldsRow};
use crate::domain::{
    actor::{Actor, ActorKind},
    id::{ChangeId, PersonaId, UserId},
    list::Page,
    timestamp::Timestamp,
    version::{Revision, Version, VersionSummary},
};

/// Who writes a version, through which change, and why.
#[derive(Clone, Copy, Debug)]
pub struct Author<'a> {
    /// Who.
    pub actor: &'a Actor,
    /// Through which change.
    pub change: &'a ChangeId,
    /// Why, in the author's words.
    pub reason: &'a str,
    /// When.
    pub at: Timestamp,
}

#[derive(FromRow)]
pub(super) struct SummaryRow {
    pub(super) revision: i64,
    name: String,
    reason: String,
    author_kind: String,
    author_user_id: Option<String>,
    change_id: String,
    created_at: i64,
}

impl SummaryRow {
    pub(super) fn into_summary(self, labels: Vec<String>) -> VersionSummary {
        VersionSummary {
            revision: self.revision,
            name: self.name,
            reason: self.reason,
            author_kind: ActorKind::from_word(&self.author_kind),
            author: self.author_user_id.map(UserId::new),
            change_id: ChangeId::new(self.change_id),
            labels,
            created_at: Timestamp(self.created_at),
        }
    }
}

impl Link {
    /// The different system prompts that a persona had in its last versions.
    pub async fn last_prompts(
        &mut self,
        id: &PersonaId,
        versions: u32,
    ) -> Result<Vec<String>, StoreError> {
        const SQL: &str = "select distinct system_prompt from (
                select system_prompt from persona_version
                where space_id = $1 and persona_id = $2 order by revision desc limit $3) as last";
        let space = self.space.clone();
        Ok(on!(self, wire => sqlx::query_scalar(SQL)
            .bind(space.as_str()).bind(id.as_str()).bind(i64::from(versions))
            .fetch_all(wire).await?))
    }

    /// The versions of a persona, newest first, below `before`.
    pub async fn versions(
        &mut self,
        id: &PersonaId,
        before: Option<Revision>,
        limit: u32,
    ) -> Result<Page<VersionSummary>, StoreError> {
        const SQL: &str = "select v.revision, v.name, v.reason, v.author_kind, v.author_user_id,
                v.change_id, v.created_at
            from persona p join persona_version v
                on v.space_id = p.space_id and v.persona_id = p.persona_id
            where p.space_id = $1 and p.persona_id = $2 and p.deleted_at is null and v.revision < $3
            order by v.revision desc limit $4";
        self.persona(id).await?;
        let mut labels = HashMap::<Revision, Vec<String>>::new();
        for (label, revision) in self.labels(id).await? {
            labels.entry(revision).or_default().push(label);
        }
        let space = self.space.clone();
        let (before, wanted) = (before.unwrap_or(i64::MAX), i64::from(limit) + 1);
        let rows: Vec<SummaryRow> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(id.as_str()).bind(before).bind(wanted)
            .fetch_all(wire).await?);
        Ok(Page::cut(rows, limit, |row| row.revision.to_string()).map(|row| {
            let labels = labels.remove(&row.revision).unwrap_or_default();
            row.into_summary(labels)
        }))
    }

    /// One version of a persona that is not in the bin.
    pub async fn version(
        &mut self,
        id: &PersonaId,
        revision: Revision,
    ) -> Result<Version, StoreError> {
        const SQL: &str = "select v.revision, v.name, v.reason, v.author_kind, v.author_user_id,
                v.change_id, v.created_at
            from persona p join persona_version v
                on v.space_id = p.space_id and v.persona_id = p.persona_id
            where p.space_id = $1 and p.persona_id = $2 and p.deleted_at is null and v.revision = $3";
        let space = self.space.clone();
        let row: Option<SummaryRow> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(id.as_str()).bind(revision).fetch_optional(wire).await?);
        let row = row.ok_or(StoreError::NotFound("version"))?;
        let fields = self.persona_fields_at(id, revision).await?;
        let labels = self.labels(id).await?;
        let labels =
            labels.into_iter().filter(|(_, at)| *at == revision).map(|(label, _)| label).collect();
        Ok(Version { summary: row.into_summary(labels), fields: FieldsRow::into_fields(fields) })
    }

    /// The labels of a persona and the versions they point at.
    pub async fn labels(&mut self, id: &PersonaId) -> Result<Vec<(String, Revision)>, StoreError> {
        const SQL: &str = "select label, revision from persona_label
            where space_id = $1 and persona_id = $2 order by label";
        let space = self.space.clone();
        Ok(on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(id.as_str()).fetch_all(wire).await?))
    }

    /// Points a label at a version, or takes it away.
    pub async fn set_label(
        &mut self,
        id: &PersonaId,
        label: &str,
        revision: Option<Revision>,
    ) -> Result<(), StoreError> {
        const SET: &str = "insert into persona_label
            (space_id, persona_id, label, revision, updated_at) values ($1, $2, $3, $4, $5)
            on conflict (space_id, persona_id, label)
            do update set revision = excluded.revision, updated_at = excluded.updated_at";
        const CLEAR: &str =
            "delete from persona_label where space_id = $1 and persona_id = $2 and label = $3";
        let space = self.space.clone();
        match revision {
            Some(revision) => on!(self, wire => sqlx::query(SET)
                .bind(space.as_str()).bind(id.as_str()).bind(label).bind(revision).bind(now().0)
                .execute(wire).await.map(drop)?),
            None => on!(self, wire => sqlx::query(CLEAR)
                .bind(space.as_str()).bind(id.as_str()).bind(label)
                .execute(wire).await.map(drop)?),
        }
        Ok(())
    }
}
