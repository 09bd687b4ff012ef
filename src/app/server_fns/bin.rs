//! The bin.

use leptos::prelude::*;

use crate::domain::{
    audit::Binned,
    change::{EntityKind, Outcome},
    error::ApiError,
    list::Page,
};

/// What lies in the bin, the last deleted first.
#[server(prefix = "/fn", endpoint = "list_bin")]
pub async fn list_bin(
    /// Where to go on.
    after: Option<String>,
) -> Result<Page<Binned>, ApiError> {
    use crate::{domain::list::PAGE_SIZE, state::desk};

    let desk = desk()?;
    let mut link = desk.read().await?;
    Ok(link.bin(after.as_deref(), PAGE_SIZE).await?)
}

/// Takes something out of the bin.
#[server(prefix = "/fn", endpoint = "restore_from_bin")]
pub async fn restore_from_bin(
    /// What it is.
    kind: EntityKind,
    /// Which one.
    id: String,
) -> Result<Outcome, ApiError> {
    use crate::{
        domain::change::{Change, Entity, Op},
        state::desk,
    };

    let desk = desk()?;
    let change = Change::new(Entity::new(kind, &id), Op::Restore);
    desk.gate.submit(change).await
}

/// Removes something from the bin for good.
#[server(prefix = "/fn", endpoint = "purge_from_bin")]
pub async fn purge_from_bin(
    /// What it is.
    kind: EntityKind,
    /// Which one.
    id: String,
) -> Result<Outcome, ApiError> {
    use crate::{
        domain::change::{Change, Entity, Op},
        state::desk,
    };

    let desk = desk()?;
    let change = Change::new(Entity::new(kind, &id), Op::Purge);
    desk.gate.submit(change).await
}

/// Removes all that lies in the bin for good.
#[server(prefix = "/fn", endpoint = "empty_bin")]
pub async fn empty_bin() -> Result<usize, ApiError> {
    use crate::state::desk;

    let desk = desk()?;
    desk.gate.empty_bin().await
}
