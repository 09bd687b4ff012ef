//! Pages, refs and tasks. What they have in common takes their kind along.

use std::collections::BTreeMap;

use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::domain::{
    change::{EntityKind, Outcome},
    error::ApiError,
    id::{PageId, RefId, TaskId},
    knowledge::{EntryOf, EntrySummary, PageFields, RefFields, TaskFields},
    list::Page,
    proposal::ProposedField,
    version::{Revision, VersionSummary},
};

/// A page, and what leads to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageData {
    /// The page.
    pub page: EntryOf<PageFields>,
    /// The pages that link to it: their addresses and titles.
    pub linked_from: Vec<(String, String)>,
}

/// A ref, and what can be done with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefData {
    /// The ref.
    pub entry: EntryOf<RefFields>,
    /// Whether its text can be fetched here.
    pub can_fetch: bool,
}

/// Pages and refs with the last changed first, or tasks in the order in which they are to be done.
#[server(prefix = "/fn", endpoint = "list_entries")]
pub async fn list_entries(
    /// Which of them.
    kind: EntityKind,
    /// Where to go on.
    after: Option<String>,
) -> Result<Page<EntrySummary<String>>, ApiError> {
    use crate::{
        domain::{list::PAGE_SIZE, visible::show_in},
        state::desk,
        store::EntryFilter,
    };

    let filter = EntryFilter { after: after.as_deref(), ..EntryFilter::default() };
    let mut page = desk()?.read().await?.entries_of(kind, filter, PAGE_SIZE).await?;
    let cards = page.items.iter_mut().map(|entry| &mut entry.card);
    show_in(cards.flat_map(|card| [&mut card.title, &mut card.excerpt]));
    Ok(page)
}

/// A page.
#[server(prefix = "/fn", endpoint = "open_page")]
pub async fn open_page(
    /// Which one.
    id: PageId,
) -> Result<PageData, ApiError> {
    use crate::{domain::visible::visible_in_prose, state::desk};

    let desk = desk()?;
    let page = desk.read().await?.entry::<PageFields>(&id).await?;
    let linking = desk.search.linking_to(&desk.scope.space, &page.fields.title).await?;
    let linking = linking.into_iter().map(|hit| (hit.path(), visible_in_prose(hit.title)));
    let linked_from = linking.collect();
    Ok(PageData { page, linked_from })
}

/// A page as it reads: HTML that is safe to show, with its links leading where they should.
#[server(prefix = "/fn", endpoint = "read_page")]
pub async fn read_page(
    /// Which one.
    id: PageId,
    /// What is typed in its form and not saved yet, by field.
    #[server(default)]
    fields: BTreeMap<String, String>,
) -> Result<String, ApiError> {
    use crate::{
        domain::knowledge::BODY,
        markdown,
        state::{desk, leads},
    };

    let desk = desk()?;
    let page = desk.read().await?.entry::<PageFields>(&id).await?;
    let body = fields.get(BODY.name).unwrap_or(&page.fields.body);
    BODY.check(body)?;
    let leads = leads(&desk, body).await?;
    Ok(markdown::to_html_linked(body, &leads))
}

/// A ref.
#[server(prefix = "/fn", endpoint = "open_ref")]
pub async fn open_ref(
    /// Which one.
    id: RefId,
) -> Result<RefData, ApiError> {
    use crate::state::desk;

    let desk = desk()?;
    let entry = desk.read().await?.entry::<RefFields>(&id).await?;
    Ok(RefData { entry, can_fetch: desk.can_fetch() })
}

/// What came of fetching a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FetchedText {
    /// What came of the change.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// What the person must know of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<String>,
}

/// Fetches the text that a ref's address points at.
#[server(prefix = "/fn", endpoint = "fetch_ref")]
pub async fn fetch_ref(
    /// Which one.
    id: RefId,
) -> Result<FetchedText, ApiError> {
    use crate::state::desk;

    let (outcome, told) = desk()?.fetch_ref(&id).await?;
    Ok(FetchedText { outcome, told })
}

/// A task.
#[server(prefix = "/fn", endpoint = "open_task")]
pub async fn open_task(
    /// Which one.
    id: TaskId,
) -> Result<EntryOf<TaskFields>, ApiError> {
    use crate::state::desk;

    Ok(desk()?.read().await?.entry::<TaskFields>(&id).await?)
}

/// What came of saving a form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedEntry {
    /// What came of it.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// What the person is told, when it is more than usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<String>,
}

/// Makes a page, a ref or a task and goes to it.
#[server(prefix = "/fn", endpoint = "create_entry")]
pub async fn create_entry(
    /// What it shall be.
    kind: EntityKind,
    /// What it says, by field.
    #[server(default)]
    fields: BTreeMap<String, String>,
) -> Result<Outcome, ApiError> {
    use crate::{
        domain::change::{Change, ChangeState, Entity, Op, from_form},
        state::{desk, submit_or_keep},
        store::new_id,
    };

    let entity = Entity::new(kind, new_id::<PageId>().as_str());
    let change = Change::new(entity.clone(), Op::Create).with(from_form(fields));
    let outcome = submit_or_keep(&desk()?, change).await?;
    if let (ChangeState::Applied, Some(path)) = (outcome.state, entity.path()) {
        leptos_axum::redirect(&path);
    }
    Ok(outcome)
}

/// Writes the fields that are given. What cannot be saved is kept and shown on a page of its own.
#[server(prefix = "/fn", endpoint = "save_entry")]
pub async fn save_entry(
    /// What it is.
    kind: EntityKind,
    /// Which one.
    id: String,
    /// The revision that the form was filled from.
    revision: Revision,
    /// What to write, by field.
    #[server(default)]
    fields: BTreeMap<String, String>,
) -> Result<SavedEntry, ApiError> {
    use crate::{
        app::state::draft::MERGED,
        domain::change::{Change, ChangeState, Entity, Op, from_form},
        state::{desk, submit_or_keep},
    };

    let change = Change::new(Entity::new(kind, &id), Op::Update).with(from_form(fields));
    let outcome = submit_or_keep(&desk()?, change.based_on(revision)).await?;
    // A version that is not the next one was written over somebody else's.
    let merged = outcome.state == ChangeState::Applied
        && outcome.change_id.is_some()
        && outcome.revision > revision + 1;
    Ok(SavedEntry { outcome, told: merged.then(|| format!("Saved. {MERGED}")) })
}

/// Moves a page, a ref or a task to the bin and goes to the list.
#[server(prefix = "/fn", endpoint = "delete_entry")]
pub async fn delete_entry(
    /// What it is.
    kind: EntityKind,
    /// Which one.
    id: String,
) -> Result<Outcome, ApiError> {
    use crate::{
        domain::change::{Change, Entity, Op},
        state::desk,
    };

    let outcome = desk()?.gate.submit(Change::new(Entity::new(kind, &id), Op::Delete)).await?;
    leptos_axum::redirect(&format!("/knowledge?kind={}", kind.word()));
    Ok(outcome)
}

/// The versions of a page, a ref or a task, newest first.
#[server(prefix = "/fn", endpoint = "list_entry_versions")]
pub async fn list_entry_versions(
    /// What it is.
    kind: EntityKind,
    /// Which one.
    id: String,
    /// Only those before this one.
    before: Option<Revision>,
) -> Result<Page<VersionSummary>, ApiError> {
    use crate::{
        domain::{change::Entity, list::PAGE_SIZE, version::name_others},
        state::desk,
    };

    let (desk, entity) = (desk()?, Entity::new(kind, &id));
    let mut page = desk.read().await?.entry_versions_of(&entity, before, PAGE_SIZE).await?;
    name_others(&mut page.items, &desk.scope.user);
    Ok(page)
}

/// What differs between two versions.
#[server(prefix = "/fn", endpoint = "compare_entry_versions")]
pub async fn compare_entry_versions(
    /// What it is.
    kind: EntityKind,
    /// Which one.
    id: String,
    /// The older one.
    from: Revision,
    /// The newer one.
    to: Revision,
) -> Result<Vec<ProposedField>, ApiError> {
    use crate::{domain::change::Entity, state::desk};

    desk()?.gate.compare(&Entity::new(kind, &id), from, to).await
}

/// Makes an old version the newest one.
#[server(prefix = "/fn", endpoint = "restore_entry_version")]
pub async fn restore_entry_version(
    /// What it is.
    kind: EntityKind,
    /// Which one.
    id: String,
    /// Which version.
    revision: Revision,
) -> Result<Outcome, ApiError> {
    use crate::{domain::change::Entity, state::desk};

    desk()?.gate.restore_version(Entity::new(kind, &id), revision).await
}
