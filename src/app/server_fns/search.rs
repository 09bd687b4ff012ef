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
    use crate::{domain::list::PAGE_SIZE, search::Question, state::desk};

    let desk = desk()?;
    desk.search.find(&desk.scope.space, Question { text: &text, kind, limit: PAGE_SIZE }).await
}

/// Where one can go: what fits what is being typed, or the personas that changed last.
#[server(prefix = "/fn", endpoint = "find_targets")]
pub async fn find_targets(
    /// As it was typed so far.
    text: String,
) -> Result<Vec<Target>, ApiError> {
    use crate::state::{desk, targets};

    targets(&desk()?, &text).await
}
