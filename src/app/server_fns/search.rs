//! Searching.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::domain::{
    error::ApiError,
    search::{Found, SearchKind},
};

/// Somewhere to go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// What it is called.
    pub label: String,
    /// Where it is.
    pub path: String,
    /// What it is.
    pub kind: String,
}

/// What fits best.
#[server(prefix = "/fn", endpoint = "find_things")]
pub async fn find_things(
    /// As it was typed.
    text: String,
    /// Only things of this kind.
    kind: Option<SearchKind>,
) -> Result<Found, ApiError> {
    use crate::{
        domain::{list::PAGE_SIZE, visible::show_in},
        search::Question,
        state::desk,
    };

    let desk = desk()?;
    let question = Question { text: &text, kind, limit: PAGE_SIZE };
    let mut found = desk.search.find(&desk.scope.space, question).await?;
    for hit in &mut found.items {
        show_in([&mut hit.title]);
        show_in(hit.snippet.iter_mut().map(|piece| &mut piece.text));
    }
    Ok(found)
}

/// Where one can go: what fits what is being typed, or the personas that changed last.
#[server(prefix = "/fn", endpoint = "find_targets")]
pub async fn find_targets(
    /// As it was typed so far.
    text: String,
) -> Result<Vec<Target>, ApiError> {
    use crate::{
        domain::visible::show_in,
        state::{desk, targets},
    };

    let mut found = targets(&desk()?, &text).await?;
    show_in(found.iter_mut().map(|target| &mut target.label));
    Ok(found)
}
