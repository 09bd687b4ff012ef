//! Versions, labels, and taking changes back.

use leptos::prelude::*;

use crate::domain::{
    change::Outcome,
    diff::FieldDiff,
    error::ApiError,
    id::{ChangeId, PersonaId},
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
    use crate::{domain::list::MAX_PAGE_SIZE, state::desk};

    let desk = desk()?;
    let mut link = desk.read().await?;
    Ok(link.versions(&id, before, MAX_PAGE_SIZE).await?)
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
    use crate::{domain::version::differences, state::desk};

    let desk = desk()?;
    let mut link = desk.read().await?;
    let from = link.version(&id, from).await?;
    let to = link.version(&id, to).await?;
    Ok(differences(&from.fields, &to.fields))
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

/// Takes an applied change back.
#[server(prefix = "/fn", endpoint = "undo_change")]
pub async fn undo_change(
    /// Which one.
    id: ChangeId,
) -> Result<Outcome, ApiError> {
    use crate::state::desk;

    let desk = desk()?;
    desk.gate.undo(&id).await
}
