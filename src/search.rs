//! Searching personas, their test inputs, pages, refs and tasks.
//!
//! The index is written by the gate, with every change. All words must match, the last one as a
//! beginning; `"quoted words"` must follow each other. Nothing that is typed is an error.
//!
//! Where a service for embeddings is set, what is near in meaning is found too, and both orders are made
//! one. Without it, or while it fails, words alone are looked for, and the answer says so.

mod backfill;
mod fusion;
mod query;
mod snippet;
mod vectors;

use std::{collections::HashMap, sync::Arc};

use fusion::fuse;
use snippet::snippet;
use tokio::sync::Notify;
use vectors::Meaning;

use crate::{
    domain::{
        error::ApiError,
        id::SpaceId,
        search::{Document, Found, Hit, SearchKind, SearchMode},
        wiki::{key, links},
    },
    providers::Embedder,
    store::{FoundDocument, Link, Near, Store, Term, Wanted, words},
};

/// How long the title is that a thing without one is given.
const TITLE_CHARS: usize = 80;
/// How many pages with links and the words of a title are looked at for a link to it.
const MAX_LINKING: u32 = 100;
/// Why meaning is left out when nobody set it up.
const NOT_SET: &str = "Only words were looked for: no service for embeddings is set.";

/// What is looked for.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// As it was typed.
    pub text: &'a str,
    /// Only things of this kind.
    pub kind: Option<SearchKind>,
    /// How many at most.
    pub limit: u32,
}

/// The room. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Search {
    store: Store,
    meaning: Option<Meaning>,
    /// Called when the index was built.
    built: Arc<Notify>,
}

impl Search {
    /// The room in front of this store.
    pub fn new(store: Store) -> Self {
        Self { store, meaning: None, built: Arc::default() }
    }

    /// The same room with a service that makes vectors.
    pub fn with_embedder(self, embedder: Embedder) -> Self {
        Self { meaning: Some(Meaning::new(embedder)), ..self }
    }

    /// What fits best in a Space.
    pub async fn find(&self, space: &SpaceId, question: Question<'_>) -> Result<Found, ApiError> {
        let Question { text, kind, limit } = question;
        let terms = query::parse(text);
        let (by_words, vector) = tokio::join!(
            self.by_words(space, &terms, kind, limit, Wanted::Whole),
            self.vector(text, &terms)
        );
        let (found, mode, note) = match vector {
            Ok((meaning, vector)) => {
                let mut link = self.store.read(space).await?;
                let near = meaning.near(&mut link, &vector, kind).await?;
                (join(&mut link, by_words?, near, limit).await?, SearchMode::Hybrid, None)
            }
            Err(note) => (by_words?, SearchMode::FullText, note),
        };
        let items = found.into_iter().map(|found| hit(found, &terms)).collect();
        Ok(Found { items, next: None, mode, note })
    }

    /// What fits best by its words alone, by title: for whoever is still typing.
    pub async fn suggest(
        &self,
        space: &SpaceId,
        question: Question<'_>,
    ) -> Result<Vec<Hit>, ApiError> {
        let Question { text, kind, limit } = question;
        let terms = query::parse(text);
        let found = self.by_words(space, &terms, kind, limit, Wanted::Titles).await?;
        Ok(found.into_iter().map(|found| hit(found, &terms)).collect())
    }

    /// The pages that link to what has this title.
    pub async fn linking_to(&self, space: &SpaceId, title: &str) -> Result<Vec<Hit>, ApiError> {
        let words = words(title).map(|word| word.folded).collect::<Vec<_>>();
        if words.is_empty() {
            return Ok(Vec::new());
        }
        let terms = [Term { words, is_prefix: false }];
        let pages = Some(SearchKind::Page);
        let found = self.by_words(space, &terms, pages, MAX_LINKING, Wanted::Linking).await?;
        let links = |body: &str| links(body).iter().any(|link| key(link.title) == key(title));
        let linking = found.into_iter().filter(|found| links(&found.document.texts.body));
        Ok(linking.map(|found| hit(found, &terms)).collect())
    }

    async fn by_words(
        &self,
        space: &SpaceId,
        terms: &[Term],
        kind: Option<SearchKind>,
        limit: u32,
        wanted: Wanted,
    ) -> Result<Vec<FoundDocument>, ApiError> {
        Ok(self.store.read(space).await?.documents_with(terms, kind, limit, wanted).await?)
    }

    /// What a question means, or why that is not known.
    async fn vector(
        &self,
        text: &str,
        terms: &[Term],
    ) -> Result<(&Meaning, Vec<f32>), Option<String>> {
        if terms.is_empty() {
            return Err(None);
        }
        let meaning = self.meaning.as_ref().ok_or_else(|| Some(NOT_SET.to_owned()))?;
        Ok((meaning, meaning.of(text).await.map_err(Some)?))
    }
}

/// What was found by words and by meaning, in one order.
async fn join(
    link: &mut Link,
    by_words: Vec<FoundDocument>,
    near: Vec<Near>,
    limit: u32,
) -> Result<Vec<FoundDocument>, ApiError> {
    let of_words: Vec<(SearchKind, String)> =
        by_words.iter().map(|found| (found.document.kind, found.document.id.clone())).collect();
    let of_meaning: Vec<(SearchKind, String)> =
        near.into_iter().map(|near| (near.kind, near.id)).collect();
    let fused = fuse([&of_words, &of_meaning]);
    let documents = by_words.into_iter().map(|found| found.document);
    let mut known: HashMap<_, _> = of_words.into_iter().zip(documents).collect();
    let mut joined = Vec::new();
    for (key, score) in fused.into_iter().take(limit as usize) {
        let document = match known.remove(&key) {
            Some(document) => Some(document),
            None => link.document(key.0, &key.1).await?,
        };
        joined.extend(document.map(|document| FoundDocument { document, score }));
    }
    Ok(joined)
}

fn hit(found: FoundDocument, terms: &[Term]) -> Hit {
    let FoundDocument { document, score } = found;
    let snippet = snippet(&document.texts, terms);
    let title = title(&document);
    let Document { kind, id, parent, updated_at, .. } = document;
    Hit { kind, id, parent_id: parent, title, snippet, score, updated_at }
}

/// What a thing is called: a test input has no title, so its first line stands for one.
fn title(document: &Document) -> String {
    let texts = &document.texts;
    let lines = [&texts.title, &texts.body, &texts.secondary].into_iter();
    let first = lines.flat_map(|text| text.lines()).map(str::trim).find(|line| !line.is_empty());
    let first = first.unwrap_or_default();
    if !texts.title.is_empty() || first.chars().count() <= TITLE_CHARS {
        return first.to_owned();
    }
    let cut: String = first.chars().take(TITLE_CHARS).collect();
    format!("{}…", cut.trim_end())
}
