//! Vectors: what documents mean, and which are near to each other.
//!
//! A vector is kept with the model and the writing it was made of, so that a later writing makes it stale.

use futures_util::TryStreamExt;
use sqlx::FromRow;

use super::{Link, Store, StoreError, link::on, search::spoken_by};
use crate::domain::{
    id::{PersonaId, SpaceId},
    search::{Document, SearchKind, Texts},
    timestamp::Timestamp,
};

/// A document without a vector of its present texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unembedded {
    /// Where it is.
    pub space: SpaceId,
    /// What it is.
    pub kind: SearchKind,
    /// Which one.
    pub id: String,
    /// What it says.
    pub texts: Texts,
    /// Which writing of them that is.
    pub written: i64,
}

/// A document that is near in meaning.
#[derive(Clone, Debug, PartialEq)]
pub struct Near {
    /// What it is.
    pub kind: SearchKind,
    /// Which one.
    pub id: String,
    /// How near: 1 is the same, 0 is unrelated.
    pub cosine: f32,
}

#[derive(FromRow)]
struct Row {
    space_id: String,
    kind: String,
    entity_id: String,
    parent_id: Option<String>,
    title: String,
    secondary: String,
    body: String,
    written: i64,
    updated_at: i64,
}

impl Store {
    /// Documents of any Space that this model has made no vector of, or one of older texts.
    pub async fn unembedded(&self, model: &str, limit: u32) -> Result<Vec<Unembedded>, StoreError> {
        const SQL: &str = "select space_id, kind, entity_id, parent_id, title, secondary, body,
                written, updated_at
            from search_document
            where vector_of is distinct from ($1 || '@' || cast(written as text))
            order by updated_at desc limit $2";
        let mut link = self.read(&SpaceId::default()).await?;
        let rows: Vec<Row> = on!(link, wire => sqlx::query_as(SQL)
            .bind(model).bind(i64::from(limit)).fetch_all(wire).await?);
        let unembedded = |row: Row| {
            Some(Unembedded {
                space: SpaceId::new(row.space_id),
                kind: SearchKind::from_word(&row.kind)?,
                id: row.entity_id,
                texts: Texts { title: row.title, secondary: row.secondary, body: row.body },
                written: row.written,
            })
        };
        Ok(rows.into_iter().filter_map(unembedded).collect())
    }

    /// Keeps the vectors that a model made; `None` for texts of which it makes none. What was written
    /// again meanwhile stays stale.
    pub async fn put_vectors(
        &self,
        model: &str,
        made: &[(Unembedded, Option<Vec<f32>>)],
    ) -> Result<(), StoreError> {
        const SQL: &str = "update search_document set vector = $5, vector_of = $6
            where space_id = $1 and kind = $2 and entity_id = $3 and written = $4";
        let Some((first, _)) = made.first() else { return Ok(()) };
        let mut link = self.write(&first.space).await?;
        for (document, vector) in made {
            let bytes = vector.as_deref().map(to_bytes);
            let of = format!("{model}@{}", document.written);
            on!(link, wire => sqlx::query(SQL)
                .bind(document.space.as_str()).bind(document.kind.word()).bind(&document.id)
                .bind(document.written).bind(bytes).bind(of).execute(wire).await.map(drop)?);
        }
        link.commit().await
    }
}

impl Link {
    /// The documents nearest to a vector of this model, the nearest first, none further than `least`. Where a
    /// persona is named, only chats in which it speaks.
    pub async fn nearest(
        &mut self,
        model: &str,
        vector: &[f32],
        kind: Option<SearchKind>,
        speaker: Option<&PersonaId>,
        least: f32,
        limit: usize,
    ) -> Result<Vec<Near>, StoreError> {
        const SQL: &str = concat!(
            "select i.kind, i.entity_id, i.vector from search_document i
            where i.space_id = $1 and i.vector is not null and ($2 = '' or i.kind = $2)
                and substr(i.vector_of, 1, length($3) + 1) = $3 || '@'",
            spoken_by!("i", "$4")
        );
        let space = self.space.clone();
        let (kind, speaker) =
            (kind.map_or("", SearchKind::word), speaker.map_or("", PersonaId::as_str));
        let mut nearest: Vec<Near> = Vec::new();
        on!(self, wire => {
            let mut rows = sqlx::query_as::<_, (String, String, Vec<u8>)>(SQL)
                .bind(space.as_str()).bind(kind).bind(model).bind(speaker).fetch(wire);
            // One row at a time: all vectors of a large Space are many megabytes.
            while let Some((kind, id, bytes)) = rows.try_next().await? {
                let Some(kind) = SearchKind::from_word(&kind) else { continue };
                let cosine = product(vector, &bytes);
                if cosine >= least {
                    keep(&mut nearest, Near { kind, id, cosine }, limit);
                }
            }
        });
        Ok(nearest)
    }

    /// A document.
    pub async fn document(
        &mut self,
        kind: SearchKind,
        id: &str,
    ) -> Result<Option<Document>, StoreError> {
        const SQL: &str = "select space_id, kind, entity_id, parent_id, title, secondary, body,
                written, updated_at
            from search_document where space_id = $1 and kind = $2 and entity_id = $3";
        let space = self.space.clone();
        let row: Option<Row> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(kind.word()).bind(id).fetch_optional(wire).await?);
        Ok(row.map(|row| Document {
            kind,
            id: row.entity_id,
            parent: row.parent_id,
            texts: Texts { title: row.title, secondary: row.secondary, body: row.body },
            updated_at: Timestamp(row.updated_at),
        }))
    }
}

/// Puts one among the nearest, in order, when it belongs there.
fn keep(nearest: &mut Vec<Near>, one: Near, limit: usize) {
    let before = |other: &Near| {
        other.cosine.total_cmp(&one.cosine).reverse().then_with(|| other.id.cmp(&one.id)).is_lt()
    };
    let place = nearest.partition_point(before);
    if place < limit {
        nearest.insert(place, one);
        nearest.truncate(limit);
    }
}

fn to_bytes(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// The cosine of two vectors of length 1; 0 for vectors that cannot be compared.
fn product(left: &[f32], right: &[u8]) -> f32 {
    let (numbers, rest) = right.as_chunks::<4>();
    if numbers.len() != left.len() || !rest.is_empty() {
        return 0.0;
    }
    left.iter().zip(numbers).map(|(left, right)| left * f32::from_le_bytes(*right)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_are_kept_in_order() {
        let mut nearest = Vec::new();
        for (id, cosine) in [("a", 0.1), ("b", 0.9), ("d", 0.5), ("c", 0.5), ("e", 0.3)] {
            keep(&mut nearest, Near { kind: SearchKind::Page, id: id.into(), cosine }, 3);
        }

        let ids: Vec<&str> = nearest.iter().map(|near| near.id.as_str()).collect();
        assert_eq!(ids, ["b", "c", "d"]);
    }

    #[test]
    fn vectors_of_other_sizes_are_not_near() {
        assert_eq!(product(&[0.6, 0.8], &to_bytes(&[0.6, 0.8])), 1.0);
        assert_eq!(product(&[1.0, 0.0], &to_bytes(&[1.0])), 0.0);
        assert_eq!(product(&[1.0], &[1, 2, 3]), 0.0);
    }
}
