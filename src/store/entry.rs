//! Knowledge: pages, refs and tasks. The row that moves, and the versions that stay.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::FromRow;

use super::{
    Author, Head, Link, StoreError,
    link::{Wire, on},
    persona::{fold, like},
    version::SummaryRow,
};
use crate::domain::{
    change::{Entity, EntityKind},
    knowledge::{Card, Entry, EntryOf, EntrySummary, Knowledge, TITLE, TaskStatus},
    list::{Page, cursor, parse_cursor},
    timestamp::Timestamp,
    version::{Revision, Version, VersionSummary},
};

/// Which knowledge a list shows.
#[derive(Clone, Copy, Debug, Default)]
pub struct EntryFilter<'a> {
    /// Looked for in the titles.
    pub search: &'a str,
    /// Only tasks that stand so.
    pub status: Option<TaskStatus>,
    /// Where to go on.
    pub after: Option<&'a str>,
}

#[derive(FromRow)]
struct Row {
    entry_id: String,
    revision: i64,
    fields: String,
    created_at: i64,
    updated_at: i64,
    deleted_at: Option<i64>,
}

#[derive(FromRow)]
struct CardRow {
    entry_id: String,
    revision: i64,
    card: String,
    sort_at: i64,
    updated_at: i64,
}

impl Link {
    /// Knowledge of one kind outside the bin: the last changed first, tasks by when they are due.
    pub async fn entries<K: Knowledge>(
        &mut self,
        filter: EntryFilter<'_>,
        limit: u32,
    ) -> Result<Page<EntrySummary<K::Id>>, StoreError> {
        let page = self.entries_of(K::KIND, filter, limit).await?;
        Ok(page.map(|EntrySummary { id, card, revision, updated_at }| EntrySummary {
            id: K::Id::from(id),
            card,
            revision,
            updated_at,
        }))
    }

    /// The same, of a kind that is known by its word only.
    pub async fn entries_of(
        &mut self,
        kind: EntityKind,
        filter: EntryFilter<'_>,
        limit: u32,
    ) -> Result<Page<EntrySummary<String>>, StoreError> {
        const SQL: &str = "select entry_id, revision, card, sort_at, updated_at from entry
            where space_id = $1 and kind = $2 and deleted_at is null
                and (sort_at < $3 or (sort_at = $3 and entry_id > $4))
                and title_folded like $5 escape '\\' and ($6 = '' or status = $6)
            order by sort_at desc, entry_id limit $7";
        let (at, id) = parse_cursor(filter.after);
        let space = self.space.clone();
        let status = filter.status.map_or("", TaskStatus::word);
        let wanted = i64::from(limit) + 1;
        let rows: Vec<CardRow> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(kind.word()).bind(at).bind(id).bind(like(filter.search))
            .bind(status).bind(wanted).fetch_all(wire).await?);
        let page = Page::cut(rows, limit, |row| cursor(row.sort_at, &row.entry_id));
        let summary = |row: CardRow| {
            Ok(EntrySummary {
                id: row.entry_id,
                card: StoreError::read_json::<Card>(&row.card)?,
                revision: row.revision,
                updated_at: Timestamp(row.updated_at),
            })
        };
        let items = page.items.into_iter().map(summary).collect::<Result<_, StoreError>>()?;
        Ok(Page { items, next: page.next })
    }

    async fn entry_row<K: Knowledge>(&mut self, id: &K::Id) -> Result<Row, StoreError> {
        const SQL: &str = "select e.entry_id, e.revision, v.fields, e.created_at, e.updated_at,
                e.deleted_at
            from entry e join entry_version v on v.space_id = e.space_id
                and v.entry_id = e.entry_id and v.revision = e.revision
            where e.space_id = $1 and e.entry_id = $2 and e.kind = $3";
        let space = self.space.clone();
        let row = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(id.as_ref()).bind(K::KIND.word())
            .fetch_optional(wire).await?);
        row.ok_or(StoreError::NotFound(K::KIND.noun()))
    }

    /// A page, ref or task outside the bin.
    pub async fn entry<K: Knowledge>(&mut self, id: &K::Id) -> Result<EntryOf<K>, StoreError> {
        let row = self.entry_row::<K>(id).await?;
        if row.deleted_at.is_some() {
            return Err(StoreError::NotFound(K::KIND.noun()));
        }
        Ok(Entry {
            id: K::Id::from(row.entry_id),
            revision: row.revision,
            fields: StoreError::read_json(&row.fields)?,
            created_at: Timestamp(row.created_at),
            updated_at: Timestamp(row.updated_at),
        })
    }

    /// What stands of a page, ref or task, in the bin or not.
    pub async fn entry_head<K: Knowledge>(&mut self, id: &K::Id) -> Result<Head<K>, StoreError> {
        let row = self.entry_row::<K>(id).await?;
        Ok(Head {
            revision: row.revision,
            binned: row.deleted_at.is_some(),
            updated_at: Timestamp(row.updated_at),
            fields: StoreError::read_json(&row.fields)?,
        })
    }

    /// What a page, ref or task said at a version, in the bin or not.
    pub async fn entry_at<K: Knowledge>(
        &mut self,
        id: &K::Id,
        revision: Revision,
    ) -> Result<K, StoreError> {
        const SQL: &str = "select v.fields from entry e join entry_version v
                on v.space_id = e.space_id and v.entry_id = e.entry_id
            where e.space_id = $1 and e.entry_id = $2 and e.kind = $3 and v.revision = $4";
        let space = self.space.clone();
        let fields: Option<String> = on!(self, wire => sqlx::query_scalar(SQL)
            .bind(space.as_str()).bind(id.as_ref()).bind(K::KIND.word()).bind(revision)
            .fetch_optional(wire).await?);
        StoreError::read_json(&fields.ok_or(StoreError::NotFound("version"))?)
    }

    /// The versions of a page, ref or task, newest first, below `before`.
    pub async fn entry_versions<K: Knowledge>(
        &mut self,
        id: &K::Id,
        before: Option<Revision>,
        limit: u32,
    ) -> Result<Page<VersionSummary>, StoreError> {
        self.entry_versions_of(&Entity::new(K::KIND, id.as_ref()), before, limit).await
    }

    /// The same, of a kind that is known by its word only.
    pub async fn entry_versions_of(
        &mut self,
        entity: &Entity,
        before: Option<Revision>,
        limit: u32,
    ) -> Result<Page<VersionSummary>, StoreError> {
        const STANDS: &str = "select count(*) from entry
            where space_id = $1 and entry_id = $2 and kind = $3 and deleted_at is null";
        const SQL: &str = "select revision, title as name, reason, author_kind, author_user_id,
                change_id, created_at
            from entry_version where space_id = $1 and entry_id = $2 and revision < $3
            order by revision desc limit $4";
        let space = self.space.clone();
        let stands: i64 = on!(self, wire => sqlx::query_scalar(STANDS)
            .bind(space.as_str()).bind(&entity.id).bind(entity.kind.word())
            .fetch_one(wire).await?);
        if stands == 0 {
            return Err(StoreError::NotFound(entity.kind.noun()));
        }
        let (before, wanted) = (before.unwrap_or(i64::MAX), i64::from(limit) + 1);
        let rows: Vec<SummaryRow> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(&entity.id).bind(before).bind(wanted)
            .fetch_all(wire).await?);
        let page = Page::cut(rows, limit, |row| row.revision.to_string());
        Ok(page.map(|row| row.into_summary(Vec::new())))
    }

    /// One version of a page, ref or task that is not in the bin.
    pub async fn entry_version<K: Knowledge>(
        &mut self,
        id: &K::Id,
        revision: Revision,
    ) -> Result<Version<K>, StoreError> {
        let page = self.entry_versions::<K>(id, Some(revision.saturating_add(1)), 1).await?;
        let summary = page.items.into_iter().find(|version| version.revision == revision);
        let summary = summary.ok_or(StoreError::NotFound("version"))?;
        Ok(Version { summary, fields: self.entry_at::<K>(id, revision).await? })
    }

    /// Makes a page, ref or task with its first version.
    pub async fn insert_entry<K: Knowledge>(
        &mut self,
        id: &K::Id,
        fields: &K,
        author: Author<'_>,
    ) -> Result<(), StoreError> {
        const SQL: &str = "insert into entry
            (space_id, entry_id, kind, revision, title, title_folded, status, card, sort_at,
                created_at, updated_at)
            values ($1, $2, $3, 1, $4, $5, $6, $7, $8, $9, $9) on conflict do nothing";
        let space = self.space.clone();
        let card = fields.card();
        let made = on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(id.as_ref()).bind(K::KIND.word())
            .bind(&card.title).bind(fold(&card.title)).bind(card.status.map(TaskStatus::word))
            .bind(serde_json::json!(card).to_string()).bind(fields.sort_at(author.at))
            .bind(author.at.0).execute(wire).await?.rows_affected());
        if made == 0 {
            return Err(StoreError::Taken(K::KIND.noun()));
        }
        self.insert_entry_version(id, 1, fields, author).await
    }

    /// Writes the version after `from`. `false` when it is no longer at `from`.
    pub async fn advance_entry<K: Knowledge>(
        &mut self,
        id: &K::Id,
        from: Revision,
        fields: &K,
        author: Author<'_>,
    ) -> Result<bool, StoreError> {
        const SQL: &str = "update entry set revision = revision + 1, title = $5, title_folded = $6,
                status = $7, card = $8, sort_at = $9, updated_at = $10
            where space_id = $1 and entry_id = $2 and kind = $3 and revision = $4
                and deleted_at is null";
        let space = self.space.clone();
        let card = fields.card();
        let moved = on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(id.as_ref()).bind(K::KIND.word()).bind(from)
            .bind(&card.title).bind(fold(&card.title)).bind(card.status.map(TaskStatus::word))
            .bind(serde_json::json!(card).to_string()).bind(fields.sort_at(author.at))
            .bind(author.at.0).execute(wire).await?.rows_affected());
        if moved == 0 {
            return Ok(false);
        }
        self.insert_entry_version(id, from + 1, fields, author).await?;
        Ok(true)
    }

    async fn insert_entry_version<K: Knowledge>(
        &mut self,
        id: &K::Id,
        revision: Revision,
        fields: &K,
        author: Author<'_>,
    ) -> Result<(), StoreError> {
        const SQL: &str = "insert into entry_version
            (space_id, entry_id, revision, title, fields, change_id, author_kind, author_user_id,
                author_persona_id, reason, created_at)
            values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
        let space = self.space.clone();
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(id.as_ref()).bind(revision)
            .bind(fields.card().title).bind(serde_json::json!(fields).to_string())
            .bind(author.change.as_str()).bind(author.actor.kind().word())
            .bind(author.actor.user().map(|user| user.as_str()))
            .bind(author.actor.persona().map(|persona| persona.as_str()))
            .bind(author.reason).bind(author.at.0)
            .execute(wire).await.map(drop)?);
        Ok(())
    }

    /// What wiki links with these titles point at, by title in small letters: a page, or else a persona. Of
    /// two with one title, the older one.
    pub async fn titled<'title>(
        &mut self,
        titles: impl IntoIterator<Item = &'title str>,
    ) -> Result<BTreeMap<String, Entity>, StoreError> {
        macro_rules! select_titled {
            ($wanted:literal) => {
                concat!(
                    "select title, kind, id from (
                        select title_folded as title, 'page' as kind, 0 as place, entry_id as id,
                            created_at
                        from entry where space_id = $1 and kind = 'page' and deleted_at is null
                            and title_folded in (",
                    $wanted,
                    ")
                        union all
                        select name_folded, 'persona', 1, persona_id, created_at
                        from persona where space_id = $1 and deleted_at is null
                            and name_folded in (",
                    $wanted,
                    ")
                    ) as found order by place, created_at, id"
                )
            };
        }
        const SQLITE: &str = select_titled!("select value from json_each($2)");
        const POSTGRES: &str =
            select_titled!("select jsonb_array_elements_text(cast($2 as jsonb))");
        // What no title can be is not looked for.
        let titles = titles.into_iter().map(str::trim);
        let wanted: BTreeSet<String> =
            titles.filter(|title| TITLE.check_line(title).is_ok()).map(fold).collect();
        if wanted.is_empty() {
            return Ok(BTreeMap::new());
        }
        let (space, wanted) = (self.space.clone(), serde_json::json!(wanted).to_string());
        let rows: Vec<(String, String, String)> = match self.wire() {
            Wire::Sqlite(wire) => {
                sqlx::query_as(SQLITE).bind(space.as_str()).bind(wanted).fetch_all(wire).await?
            }
            Wire::Postgres(wire) => {
                sqlx::query_as(POSTGRES).bind(space.as_str()).bind(wanted).fetch_all(wire).await?
            }
        };
        let mut found = BTreeMap::new();
        for (title, kind, id) in rows {
            if let Some(kind) = EntityKind::from_word(&kind) {
                found.entry(title).or_insert(Entity { kind, id });
            }
        }
        Ok(found)
    }
}
