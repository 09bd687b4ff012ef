//! The bin.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::domain::{
    audit::{Binned, BinnedKind},
    change::Outcome,
    error::ApiError,
    list::Page,
};

/// What the page of the bin shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BinData {
    /// What lies in it.
    pub page: Page<Binned>,
    /// How many chats go with all the personas in it.
    pub chats: i64,
    /// How many pictures go with all that lies in it.
    pub pictures: i64,
}

/// What lies in the bin, the last deleted first.
#[server(prefix = "/fn", endpoint = "list_bin")]
pub async fn list_bin(
    /// Where to go on.
    after: Option<String>,
) -> Result<BinData, ApiError> {
    use crate::{
        domain::{list::PAGE_SIZE, visible::show_in},
        state::desk,
    };

    let desk = desk()?;
    let mut link = desk.read().await?;
    let mut page = link.bin(after.as_deref(), PAGE_SIZE).await?;
    for one in &mut page.items {
        show_in([&mut one.title]);
        show_in(&mut one.of);
    }
    let (chats, pictures) = link.gone_with_bin().await?;
    Ok(BinData { page, chats, pictures })
}

/// Takes something out of the bin.
#[server(prefix = "/fn", endpoint = "restore_from_bin")]
pub async fn restore_from_bin(
    /// What it is.
    kind: BinnedKind,
    /// Which one.
    id: String,
) -> Result<Outcome, ApiError> {
    use crate::state::desk;

    desk()?.restore_binned(kind, &id).await
}

/// Removes something from the bin for good.
#[server(prefix = "/fn", endpoint = "purge_from_bin")]
pub async fn purge_from_bin(
    /// What it is.
    kind: BinnedKind,
    /// Which one.
    id: String,
) -> Result<Outcome, ApiError> {
    use crate::state::desk;

    desk()?.purge_binned(kind, &id).await
}

/// Removes all that lies in the bin for good.
#[server(prefix = "/fn", endpoint = "empty_bin")]
pub async fn empty_bin() -> Result<usize, ApiError> {
    use crate::state::desk;

    let desk = desk()?;
    desk.gate.empty_bin().await
}
