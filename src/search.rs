//! Searching personas, their test inputs, pages, refs, tasks and chats.
//!
//! The index is written by the gate, with every change. All words must match, the last one as a
//! beginning; `"quoted words"` must follow each other. Where nothing has them all, every word of three letters
//! or more may be a beginning: what fits as it was typed is never mixed with what fits only so. Nothing that is
//! typed is an error.
//!
//! Where a service for embeddings is set, what is near in meaning is found too, and both orders are made
//! one. Without it, or while it fails, words alone are looked for, and the answer says so.

mod backfill;
mod fusion;
mod query;
mod snippet;
mod vectors;

use std::{collections::HashMap, sync::Arc, time::Duration};

use fusion::fuse;
use snippet::snippet;
use tokio::sync::Notify;
use vectors::Meaning;

use crate::{
    domain::{
        error::ApiError,
        id::{PersonaId, SpaceId},
        search::{Document, Found, Hit, MEANING_NOT_SET, SearchKind, SearchMode},
        wiki::{key, links},
    },
    providers::Embedder,
    store::{FoundDocument, Link, Near, Store, Term, Wanted, words},
};

/// How long the title is that a thing without one is given.
const TITLE_CHARS: usize = 80;
/// How many pages with links and the words of a title are looked at for a link to it.
const MAX_LINKING: u32 = 100;
/// Fewer letters than this mean nothing yet.
const MEANT_CHARS: usize = 3;
/// How long whoever searches waits for what a question means, and whoever is still typing.
const QUESTION_TIME: Duration = Duration::from_secs(2);
const TYPING_TIME: Duration = Duration::from_millis(300);

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

/// What has the words, and the words that it has.
struct ByWords {
    found: Vec<FoundDocument>,
    terms: Vec<Term>,
}

/// What is near in meaning, or why that was left out.
type Nearby = Result<Vec<Near>, Option<String>>;

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
        self.find_with(space, question, None).await
    }

    /// The same; where a persona is named, only chats in which it speaks.
    pub async fn find_with(
        &self,
        space: &SpaceId,
        question: Question<'_>,
        speaker: Option<&PersonaId>,
    ) -> Result<Found, ApiError> {
        let (by_words, near) = tokio::join!(
            self.by_words(space, question, speaker, Wanted::Whole),
            self.near(space, question, speaker, QUESTION_TIME)
        );
        self.joined(space, question.limit, by_words?, near?).await
    }

    /// What fits best, by title: for whoever is still typing. A few letters mean nothing, and what is long in
    /// coming is not waited for.
    pub async fn suggest(
        &self,
        space: &SpaceId,
        question: Question<'_>,
    ) -> Result<Found, ApiError> {
        let near = async {
            if question.text.trim().chars().count() < MEANT_CHARS {
                return Ok(Err(None));
            }
            let near = self.near(space, question, None, TYPING_TIME);
            match tokio::time::timeout(TYPING_TIME, near).await {
                Ok(near) => near,
                Err(_) => Ok(Err(self.meaning.as_ref().map(|meaning| meaning.tires(TYPING_TIME)))),
            }
        };
        let (by_words, near) =
            tokio::join!(self.by_words(space, question, None, Wanted::Titles), near);
        self.joined(space, question.limit, by_words?, near?).await
    }

    /// What has the words in it and nothing else, by title.
    pub async fn with_words(
        &self,
        space: &SpaceId,
        question: Question<'_>,
    ) -> Result<Vec<Hit>, ApiError> {
        let ByWords { found, terms } = self.by_words(space, question, None, Wanted::Titles).await?;
        Ok(found.into_iter().map(|found| hit(found, &terms)).collect())
    }

    /// What has the words and, where that is known, what is near in meaning.
    async fn joined(
        &self,
        space: &SpaceId,
        limit: u32,
        ByWords { found: by_words, terms }: ByWords,
        near: Nearby,
    ) -> Result<Found, ApiError> {
        let (found, mode, note) = match near {
            Ok(near) => {
                let mut link = self.store.read(space).await?;
                (join(&mut link, by_words, near, limit).await?, SearchMode::Hybrid, None)
            }
            Err(note) => (by_words, SearchMode::FullText, note),
        };
        let items = found.into_iter().map(|found| hit(found, &terms)).collect();
        Ok(Found { items, next: None, mode, note })
    }

    /// The pages that link to what has this title.
    pub async fn linking_to(&self, space: &SpaceId, title: &str) -> Result<Vec<Hit>, ApiError> {
        let words = words(title).map(|word| word.folded).collect::<Vec<_>>();
        if words.is_empty() {
            return Ok(Vec::new());
        }
        let terms = [Term { words, is_prefix: false }];
        let mut link = self.store.read(space).await?;
        let (kind, wanted) = (Some(SearchKind::Page), Wanted::Linking);
        let found = link.documents_with(&terms, kind, None, MAX_LINKING, wanted).await?;
        let links = |body: &str| links(body).iter().any(|link| key(link.title) == key(title));
        let linking = found.into_iter().filter(|found| links(&found.document.texts.body));
        Ok(linking.map(|found| hit(found, &terms)).collect())
    }

    /// What has the words as they were typed; only where that is nothing, what has words that begin so.
    async fn by_words(
        &self,
        space: &SpaceId,
        question: Question<'_>,
        speaker: Option<&PersonaId>,
        wanted: Wanted,
    ) -> Result<ByWords, ApiError> {
        let Question { text, kind, limit } = question;
        let terms = query::parse(text);
        let mut link = self.store.read(space).await?;
        let found = link.documents_with(&terms, kind, speaker, limit, wanted).await?;
        match query::widened(text).filter(|_| found.is_empty()) {
            Some(terms) => {
                let found = link.documents_with(&terms, kind, speaker, limit, wanted).await?;
                Ok(ByWords { found, terms })
            }
            None => Ok(ByWords { found, terms }),
        }
    }

    /// What is near to what a question means. What it means must be known within this time.
    async fn near(
        &self,
        space: &SpaceId,
        question: Question<'_>,
        speaker: Option<&PersonaId>,
        within: Duration,
    ) -> Result<Nearby, ApiError> {
        if query::parse(question.text).is_empty() {
            return Ok(Err(None));
        }
        let Some(meaning) = &self.meaning else { return Ok(Err(Some(MEANING_NOT_SET.to_owned()))) };
        let vector = match meaning.of(question.text, within).await {
            Ok(vector) => vector,
            Err(why) => return Ok(Err(Some(why))),
        };
        let mut link = self.store.read(space).await?;
        Ok(Ok(meaning.near(&mut link, &vector, question.kind, speaker).await?))
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
