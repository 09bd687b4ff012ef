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
    /// What it was about is called so now.
    pub title: String,
    /// The page that shows it, while there is one.
    pub path: Option<String>,
    /// Who did it.
    pub who: String,
    /// The conversation in which it was proposed, to read.
    pub conversation: Option<String>,
    /// What differs since.
    pub diff: Vec<ProposedField>,
    /// Whether it was taken back.
    pub undone: bool,
    /// Whether what it was about was removed for good, and what is known of the change with it.
    pub gone: bool,
}

/// What was done, the last first.
#[server(prefix = "/fn", endpoint = "list_audit")]
pub async fn list_audit(
    /// Where to go on.
    after: Option<AuditId>,
) -> Result<Page<AuditLine>, ApiError> {
    use crate::{
        app::components::draft_card::conversation,
        domain::{
            actor::{ActorKind, told_name},
            list::PAGE_SIZE,
            visible::visible,
        },
        state::desk,
    };

    let desk = desk()?;
    let page = desk.read().await?.audit(after.as_ref(), PAGE_SIZE).await?;
    let mut lines = Vec::with_capacity(page.items.len());
    for entry in page.items {
        let change = match desk.gate.proposal(&entry.change_id).await {
            Ok(change) => Some(change),
            // What it was about was removed for good.
            Err(ApiError::NotFound { .. }) => None,
            Err(error) => return Err(error),
        };
        let name = change.as_ref().map_or("An agent", |change| &change.proposed_by.name);
        let decided_by = change.as_ref().and_then(|change| change.decided_by.as_ref());
        let reader = Some(&desk.scope.user);
        let who = match (entry.actor_kind, decided_by) {
            (ActorKind::Person, _) => told_name(entry.user_id.as_ref(), reader),
            (ActorKind::Persona, Some(user)) if *user == desk.scope.user => {
                format!("{name}, accepted by you")
            }
            (ActorKind::Persona, Some(user)) => format!("{name}, accepted by {user}"),
            (ActorKind::Persona, None) if change.is_some() => format!("{name}, allowed to act"),
            (ActorKind::Persona, None) => name.into(),
            (ActorKind::System, _) => "Greenroom".into(),
        };
        lines.push(match change {
            Some(change) => AuditLine {
                path: change.path(),
                conversation: conversation(&change),
                title: change.title,
                diff: change.diff,
                undone: change.undone,
                gone: false,
                entry,
                who,
            },
            None => AuditLine {
                entry,
                title: String::new(),
                path: None,
                conversation: None,
                who,
                diff: Vec::new(),
                undone: false,
                gone: true,
            },
        });
    }
    for AuditLine { entry, title, who, .. } in &mut lines {
        for text in [&mut entry.summary, title, who] {
            *text = visible(std::mem::take(text));
        }
    }
    Ok(Page { items: lines, next: page.next })
}
