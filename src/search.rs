//! Searching personas, their test inputs, pages, refs and tasks.
//!
//! The index is written by the gate, with every change. All words must match, the last one as a
//! beginning; `"quoted words"` must follow each other. Nothing that is typed is an error.

mod backfill;
mod query;
mod snippet;

use snippet::snippet;

use crate::{
    domain::{
        error::ApiError,
        id::SpaceId,
        search::{Document, Found, Hit, SearchKind, SearchMode},
    },
    store::{FoundDocument, Store, Term},
};

/// How long the title is that a thing without one is given.
const TITLE_CHARS: usize = 80;

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
}

impl Search {
    /// The room in front of this store.
    pub fn new(store: Store) -> Self {
        Self { store }
    }

    /// What fits best in a Space.
    pub async fn find(&self, space: &SpaceId, question: Question<'_>) -> Result<Found, ApiError> {
        let terms = query::parse(question.text);
        let mut link = self.store.read(space).await?;
        let found = link.documents_with(&terms, question.kind, question.limit).await?;
        drop(link);
        let items = found.into_iter().map(|found| hit(found, &terms)).collect();
        Ok(Found { items, next: None, mode: SearchMode::FullText, note: None })
    }
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
