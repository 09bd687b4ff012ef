//! What was done.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::domain::{
    audit::AuditEntry, error::ApiError, id::AuditId, list::Page, proposal::ProposedField,
};

/// A line of the audit as the page shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditLine {
    /// What was done.
    pub entry: AuditEntry,
    /// Who did it.
    pub who: String,
    /// What differs since.
    pub diff: Vec<ProposedField>,
    /// Whether it was taken back.
    pub undone: bool,
}

/// What was done, the last first.
#[server(prefix = "/fn", endpoint = "list_audit")]
pub async fn list_audit(
    /// Where to go on.
    after: Option<AuditId>,
) -> Result<Page<AuditLine>, ApiError> {
    use crate::{
        domain::{actor::ActorKind, list::PAGE_SIZE},
        state::desk,
    };

    let desk = desk()?;
    let page = desk.read().await?.audit(after.as_ref(), PAGE_SIZE).await?;
    let mut lines = Vec::with_capacity(page.items.len());
    for entry in page.items {
        let (diff, undone, name) = match desk.gate.proposal(&entry.change_id).await {
            Ok(change) => (change.diff, change.undone, change.proposed_by.name),
            // What it was about was removed for good.
            Err(ApiError::NotFound { .. }) => (Vec::new(), true, "An agent".into()),
            Err(error) => return Err(error),
        };
        let who = match entry.actor_kind {
            ActorKind::Person => "You".into(),
            ActorKind::Persona => format!("{name}, accepted by you or allowed to act"),
            ActorKind::System => "Greenroom".into(),
        };
        lines.push(AuditLine { entry, who, diff, undone });
    }
    Ok(Page { items: lines, next: page.next })
}
