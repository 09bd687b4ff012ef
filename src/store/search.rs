//! The index: what is searched of things, and finding them by their words.

use sqlx::FromRow;

use super::{
    Link, Store, StoreError,
    link::{Wire, on},
    words::{Indexed, MAX_PLACE, MAX_PLACES, Word, words},
};
use crate::domain::{
    change::{Entity, EntityKind},
    id::{PersonaId, SpaceId},
    search::{Document, SearchKind, Texts},
    timestamp::Timestamp,
};

/// So many more than are wanted are looked at where the order of the words may be another.
const MOST_UNSURE: i64 = 50;

/// Something to be found: a word, or several that follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// The words, folded as [`super::words`] does.
    pub words: Vec<String>,
    /// Whether the last word may go on.
    pub is_prefix: bool,
}

impl Term {
    /// Whether a text goes on with it here.
    pub fn fits(&self, words: &[Word]) -> bool {
        let count = self.words.len();
        count > 0
            && words.len() >= count
            && self.words.iter().zip(words).enumerate().all(|(at, (wanted, word))| {
                word.folded == *wanted
                    || (self.is_prefix && at + 1 == count && word.folded.starts_with(wanted))
            })
    }
}

/// A document that was found, and how well it fits.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundDocument {
    /// The document.
    pub document: Document,
    /// The higher, the better. Scores of the two databases cannot be compared.
    pub score: f64,
}

/// What is read of the documents that are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// All their texts.
    Whole,
    /// What they are called: the beginnings of the other texts come along only where there is no title.
    Titles,
    /// The bodies of those with links in them.
    Linking,
}

/// That a document is a chat in which a persona speaks, if one is named; it may be named by nothing.
macro_rules! spoken_by {
    ($document:literal, $speaker:literal) => {
        concat!(
            " and (",
            $speaker,
            " = '' or ",
            $document,
            ".kind = 'chat' and exists (
                select 1 from chat_member o where o.space_id = ",
            $document,
            ".space_id
                    and o.conversation_id = ",
            $document,
            ".entity_id
                    and o.persona_id = ",
            $speaker,
            "))"
        )
    };
}
pub(super) use spoken_by;

/// The texts of a document as far as they can stand for a title.
macro_rules! beginnings {
    () => {
        "case when title = '' then substr(secondary, 1, 200) else '' end as secondary,
        case when title = '' then substr(body, 1, 200) else '' end as body"
    };
}

/// What fits best, on SQLite: with these texts, as far as this applies. It is joined in the order it is
/// written, and by the index that is named: SQLite would rather go through all documents and ask the index
/// about each, or read their texts to see whose they are.
macro_rules! sqlite_found {
    ($texts:expr, $condition:literal) => {
        concat!(
            "select kind, entity_id, parent_id, title, ",
            $texts,
            ", updated_at, score
            from (
                select i.document_id, -bm25(search_words, 20.0, 5.0, 1.0) as score
                from search_words cross join search_document i indexed by search_document_scope
                where i.document_id = search_words.rowid and search_words match $2
                    and i.space_id = $1 and ($3 = '' or i.kind = $3)",
            spoken_by!("i", "$5"),
            $condition,
            " order by score desc, i.entity_id limit $4
            ) as best cross join search_document d
            where d.document_id = best.document_id
            order by score desc, entity_id"
        )
    };
}

/// The same on PostgreSQL. Of a long text it does not know where every word stands: where places of a word that
/// is asked for were left out, it is enough that all words are there, and such a document is `unsure`.
macro_rules! postgres_found {
    ($texts:expr, $condition:literal) => {
        concat!(
            "select d.kind, d.entity_id, parent_id, title, ",
            $texts,
            ", updated_at, score, unsure
            from search_document d join (
                select kind, entity_id, cast(ts_rank(cast('{0, 0.05, 0.25, 1}' as real[]), words,
                    cast($2 as tsquery), 1) as float8) as score,
                    not words @@ cast($2 as tsquery) as unsure
                from search_document i
                where space_id = $1 and words @@ cast($6 as tsquery)
                    and (words @@ cast($2 as tsquery) or exists (
                        select 1 from unnest(words) w
                        join unnest(cast($7 as text[])) as asked (word)
                            on left(w.lexeme, length(asked.word)) = asked.word
                        where cardinality(w.positions) >= $8 or $9 = any(w.positions)))
                    and ($3 = '' or kind = $3)",
            spoken_by!("i", "$5"),
            $condition,
            " order by score desc, entity_id limit $4
            ) as best on best.kind = d.kind and best.entity_id = d.entity_id
            where d.space_id = $1
            order by score desc, d.entity_id"
        )
    };
}

#[derive(FromRow)]
struct Row {
    kind: String,
    entity_id: String,
    parent_id: Option<String>,
    title: String,
    secondary: String,
    body: String,
    updated_at: i64,
    score: f64,
    /// Whether its words may stand elsewhere than they are asked for.
    #[sqlx(default)]
    unsure: bool,
}

impl Row {
    /// `None` for a row of a kind that this program does not know.
    fn into_found(self) -> Option<FoundDocument> {
        let document = Document {
            kind: SearchKind::from_word(&self.kind)?,
            id: self.entity_id,
            parent: self.parent_id,
            texts: Texts { title: self.title, secondary: self.secondary, body: self.body },
            updated_at: Timestamp(self.updated_at),
        };
        Some(FoundDocument { document, score: self.score })
    }
}

impl Link {
    /// Writes what is searched of a thing, in place of what was.
    pub async fn put_document(&mut self, document: &Document) -> Result<(), StoreError> {
        const SQLITE: &str = "insert into search_document
            (space_id, kind, entity_id, parent_id, title, secondary, body, written, updated_at)
            values ($1, $2, $3, $4, $5, $6, $7, 1, $8)
            on conflict (space_id, kind, entity_id) do update set parent_id = excluded.parent_id,
                title = excluded.title, secondary = excluded.secondary, body = excluded.body,
                written = search_document.written + case
                    when search_document.title = excluded.title
                        and search_document.secondary = excluded.secondary
                        and search_document.body = excluded.body then 0 else 1 end,
                updated_at = excluded.updated_at
            returning document_id";
        const SQLITE_WORDS: &str = "insert or replace into search_words
            (rowid, title, secondary, body) values ($1, $2, $3, $4)";
        const POSTGRES: &str = "insert into search_document
            (space_id, kind, entity_id, parent_id, title, secondary, body, written, updated_at,
                words)
            values ($1, $2, $3, $4, $5, $6, $7, 1, $8, cast($9 as tsvector))
            on conflict (space_id, kind, entity_id) do update set parent_id = excluded.parent_id,
                title = excluded.title, secondary = excluded.secondary, body = excluded.body,
                written = search_document.written + case
                    when search_document.title = excluded.title
                        and search_document.secondary = excluded.secondary
                        and search_document.body = excluded.body then 0 else 1 end,
                updated_at = excluded.updated_at, words = excluded.words";
        let space = self.space.clone();
        let Document { kind, id, parent, texts, updated_at } = document;
        let indexed = Indexed::new(texts);
        match self.wire() {
            Wire::Sqlite(wire) => {
                let row: i64 = sqlx::query_scalar(SQLITE)
                    .bind(space.as_str())
                    .bind(kind.word())
                    .bind(id)
                    .bind(parent)
                    .bind(&texts.title)
                    .bind(&texts.secondary)
                    .bind(&texts.body)
                    .bind(updated_at.0)
                    .fetch_one(&mut *wire)
                    .await?;
                let [title, secondary, body] = indexed.columns();
                let words = sqlx::query(SQLITE_WORDS).bind(row).bind(title).bind(secondary);
                words.bind(body).execute(wire).await.map(drop)?;
            }
            Wire::Postgres(wire) => {
                sqlx::query(POSTGRES)
                    .bind(space.as_str())
                    .bind(kind.word())
                    .bind(id)
                    .bind(parent)
                    .bind(&texts.title)
                    .bind(&texts.secondary)
                    .bind(&texts.body)
                    .bind(updated_at.0)
                    .bind(indexed.vector())
                    .execute(wire)
                    .await
                    .map(drop)?;
            }
        }
        Ok(())
    }

    /// Forgets a thing, and what goes into the bin with it: neither is found from now on.
    pub async fn forget_document(&mut self, kind: SearchKind, id: &str) -> Result<(), StoreError> {
        const WORDS: &str = "delete from search_words where rowid in (
            select document_id from search_document
            where space_id = $1 and ((kind = $2 and entity_id = $3)
                or ($2 = 'persona' and kind in ('test_input', 'chat') and parent_id = $3)))";
        const SQL: &str = "delete from search_document
            where space_id = $1 and ((kind = $2 and entity_id = $3)
                or ($2 = 'persona' and kind in ('test_input', 'chat') and parent_id = $3))";
        let space = self.space.clone();
        if let Wire::Sqlite(wire) = self.wire() {
            let words = sqlx::query(WORDS).bind(space.as_str()).bind(kind.word()).bind(id);
            words.execute(wire).await.map(drop)?;
        }
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(kind.word()).bind(id).execute(wire).await.map(drop)?);
        Ok(())
    }

    /// The documents in which all terms occur, the best first. A match in the title counts twenty times,
    /// in the secondary text five times as much as one in the body. Where a persona is named, only chats in
    /// which it speaks.
    pub async fn documents_with(
        &mut self,
        terms: &[Term],
        kind: Option<SearchKind>,
        speaker: Option<&PersonaId>,
        limit: u32,
        wanted: Wanted,
    ) -> Result<Vec<FoundDocument>, StoreError> {
        if terms.is_empty() {
            return Ok(Vec::new());
        }
        let (sqlite, postgres) = match wanted {
            Wanted::Whole => {
                (sqlite_found!("secondary, body", ""), postgres_found!("secondary, body", ""))
            }
            Wanted::Titles => {
                (sqlite_found!(beginnings!(), ""), postgres_found!(beginnings!(), ""))
            }
            Wanted::Linking => (
                sqlite_found!("'' as secondary, body", " and i.body like '%[[%'"),
                postgres_found!("'' as secondary, body", " and body like '%[[%'"),
            ),
        };
        let space = self.space.clone();
        let (kind, most) = (kind.map_or("", SearchKind::word), i64::from(limit));
        let speaker = speaker.map_or("", PersonaId::as_str);
        let rows: Vec<Row> = match self.wire() {
            Wire::Sqlite(wire) => {
                let query = sqlx::query_as(sqlite).bind(space.as_str()).bind(for_sqlite(terms));
                query.bind(kind).bind(most).bind(speaker).fetch_all(wire).await?
            }
            Wire::Postgres(wire) => {
                let of_phrases = terms.iter().filter(|term| term.words.len() > 1);
                let of_phrases: Vec<&str> =
                    of_phrases.flat_map(|term| &term.words).map(String::as_str).collect();
                let most = if of_phrases.is_empty() { most } else { most + MOST_UNSURE };
                let (exactly, somewhere) =
                    (for_postgres(terms, " <-> "), for_postgres(terms, " & "));
                let query = sqlx::query_as(postgres).bind(space.as_str()).bind(exactly);
                let query = query.bind(kind).bind(most).bind(speaker).bind(somewhere);
                let query = query.bind(of_phrases).bind(MAX_PLACES as i32).bind(MAX_PLACE as i32);
                query.fetch_all(wire).await?
            }
        };
        let mut found = Vec::new();
        for row in rows {
            // Whoever looks for links reads the text anyway.
            let is_unsure = row.unsure && wanted != Wanted::Linking;
            let Some(one) = row.into_found() else { continue };
            if is_unsure && !self.stand_in(&one.document, terms).await? {
                continue;
            }
            found.push(one);
        }
        found.truncate(limit as usize);
        Ok(found)
    }

    /// Whether all terms stand in the whole texts of a document, each in one of them.
    async fn stand_in(&mut self, found: &Document, terms: &[Term]) -> Result<bool, StoreError> {
        let Some(document) = self.document(found.kind, &found.id).await? else { return Ok(false) };
        let Texts { title, secondary, body } = &document.texts;
        let texts = [title, secondary, body].map(|text| words(text).collect::<Vec<Word>>());
        let stands = |term: &Term, text: &[Word]| (0..text.len()).any(|at| term.fits(&text[at..]));
        Ok(terms.iter().all(|term| texts.iter().any(|text| stands(term, text))))
    }
}

/// The terms as FTS5 wants them. Words are letters and digits only, so they mean nothing else there.
fn for_sqlite(terms: &[Term]) -> String {
    let phrases = terms.iter().map(|Term { words, is_prefix }| {
        let star = if *is_prefix { "*" } else { "" };
        format!("\"{}\"{star}", words.join(" "))
    });
    phrases.collect::<Vec<_>>().join(" AND ")
}

/// The terms as a `tsquery`, with this between the words of a phrase.
fn for_postgres(terms: &[Term], between: &str) -> String {
    let phrases = terms.iter().map(|Term { words, is_prefix }| {
        let mut quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        if let Some(last) = quoted.last_mut().filter(|_| *is_prefix) {
            last.push_str(":*");
        }
        format!("({})", quoted.join(between))
    });
    phrases.collect::<Vec<_>>().join(" & ")
}

impl Store {
    /// Things of any Space that should be found and are not in the index: those from before there was
    /// one.
    pub async fn unindexed(&self, limit: u32) -> Result<Vec<(SpaceId, Entity)>, StoreError> {
        const SQL: &str = "select space_id, kind, id from (
                select space_id, 'persona' as kind, persona_id as id from persona
                where deleted_at is null
                union all
                select t.space_id, 'test_input', t.test_input_id from test_input t
                join persona p on p.space_id = t.space_id and p.persona_id = t.persona_id
                where t.deleted_at is null and p.deleted_at is null
                union all
                select space_id, kind, entry_id from entry where deleted_at is null
                union all
                select c.space_id, 'chat', c.conversation_id from conversation c
                join persona p on p.space_id = c.space_id and p.persona_id = c.persona_id
                where c.kind = 'chat' and c.deleted_at is null and p.deleted_at is null
            ) as thing
            where not exists (select 1 from search_document d where d.space_id = thing.space_id
                and d.kind = thing.kind and d.entity_id = thing.id)
            order by space_id, kind, id limit $1";
        let mut link = self.read(&SpaceId::default()).await?;
        let rows: Vec<(String, String, String)> = on!(link, wire => sqlx::query_as(SQL)
            .bind(i64::from(limit)).fetch_all(wire).await?);
        let thing = |(space, kind, id): (String, String, String)| {
            Some((SpaceId::new(space), Entity { kind: EntityKind::from_word(&kind)?, id }))
        };
        Ok(rows.into_iter().filter_map(thing).collect())
    }
}
