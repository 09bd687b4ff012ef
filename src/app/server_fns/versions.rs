//! Versions, labels, and taking changes back.

use leptos::prelude::*;

use crate::domain::{
    change::Outcome,
    diff::FieldDiff,
    error::ApiError,
    id::PersonaId,
    list::Page,
    version::{Revision, VersionSummary},
};

/// The versions of a persona, newest first.
#[server(prefix = "/fn", endpoint = "list_versions")]
pub async fn list_versions(
    /// Whose.
    id: PersonaId,
    /// Only those before this one.
    before: Option<Revision>,
) -> Result<Page<VersionSummary>, ApiError> {
    use crate::{
        domain::{list::MAX_PAGE_SIZE, version::name_others},
        state::desk,
    };

    let desk = desk()?;
    let mut page = desk.read().await?.versions(&id, before, MAX_PAGE_SIZE).await?;
    name_others(&mut page.items, &desk.scope.user);
    Ok(page)
}

/// What differs between two versions.
#[server(prefix = "/fn", endpoint = "compare_versions")]
pub async fn compare_versions(
    /// Whose.
    id: PersonaId,
    /// The older one.
    from: Revision,
    /// The newer one.
    to: Revision,
) -> Result<Vec<FieldDiff>, ApiError> {
    use crate::{
        domain::{version::differences, visible::visible},
        state::desk,
    };

    let desk = desk()?;
    let mut link = desk.read().await?;
    let from = link.version(&id, from).await?;
    let to = link.version(&id, to).await?;
    let mut fields = differences(&from.fields, &to.fields);
    for segment in fields.iter_mut().flat_map(|field| &mut field.segments) {
        segment.text = visible(std::mem::take(&mut segment.text));
    }
    Ok(fields)
}

/// Makes an old version the newest one.
#[server(prefix = "/fn", endpoint = "restore_version")]
pub async fn restore_version(
    /// Whose.
    id: PersonaId,
    /// Which one.
    revision: Revision,
) -> Result<Outcome, ApiError> {
    use crate::state::desk;

    let desk = desk()?;
    desk.gate.restore_version(&id, revision).await
}

/// Points a label at a version; without a version, takes it away.
#[server(prefix = "/fn", endpoint = "set_label")]
pub async fn set_label(
    /// Whose.
    id: PersonaId,
    /// The label.
    label: String,
    /// The version.
    revision: Option<Revision>,
) -> Result<Outcome, ApiError> {
    use crate::{
        domain::change::{Change, Op},
        state::desk,
    };

    let desk = desk()?;
    let change = Change::new(&id, Op::Label).set("label", label.trim()).set("revision", revision);
    desk.gate.submit(change).await
}

/// Takes decisions back, the last one first: what was applied is undone, and what was rejected waits
/// again. Says what came of the first; one that cannot be taken back does not hold up the others. What another
/// edit is in the way of is kept beside it, and shown on a page of its own.
#[server(prefix = "/fn", endpoint = "undo_change")]
pub async fn undo_change(
    /// Which changes, with commas between them.
    id: String,
) -> Result<Outcome, ApiError> {
    use crate::{
        domain::{change::ChangeState, id::ChangeId},
        state::{desk, may_decide, submit_or_keep},
    };

    let desk = desk()?;
    let mut undone = Err(ApiError::not_found("change"));
    let (mut refused, mut kept) = (None, None);
    for id in id.split(',').rev().map(ChangeId::new) {
        let state = desk.read().await?.change(&id).await?.state;
        undone = match state {
            ChangeState::Rejected => match may_decide() {
                Ok(()) => desk.gate.reopen(&id).await,
                Err(denied) => Err(denied),
            },
            _ => match desk.gate.inverse(&id).await {
                Ok(inverse) => submit_or_keep(&desk, inverse).await,
                Err(error) => Err(error),
            },
        };
        match &undone {
            Ok(outcome) if outcome.state == ChangeState::Conflict => kept = Some(outcome.clone()),
            Ok(_) => {}
            Err(error) => {
                refused.get_or_insert(error.clone());
            }
        }
    }
    refused.map_or(kept.map_or(undone, Ok), Err)
}
