//! The drawer with every version of a page, a ref or a task.
//!
//! What it shows is in the address (`?versions`, `from`, `to`, `before`).

use leptos::{prelude::*, server_fn::ServerFn};
use leptos_router::hooks::use_query_map;

use super::{
    draft_card::Words,
    icon::{Glyph, Icon},
    when::When,
};
use crate::{
    app::server_fns::knowledge::{
        RestoreEntryVersion, compare_entry_versions, list_entry_versions,
    },
    domain::{
        actor::{ActorKind, told_name},
        change::Entity,
        error::ApiError,
        list::Page,
        proposal::ProposedField,
        version::{Revision, VersionSummary},
    },
};

/// The drawer.
#[component]
pub fn EntryVersions(
    /// Whose versions.
    entity: Entity,
    /// The newest one.
    revision: Revision,
) -> impl IntoView {
    let query = use_query_map().read_untracked().clone();
    let number = |name: &str| query.get(name).and_then(|text| text.parse::<Revision>().ok());
    let before = number("before");
    let to = number("to").unwrap_or(revision);
    let from = number("from").unwrap_or((to - 1).max(1));
    let home = entity.path().unwrap_or_default();
    view! {
        <aside class="drawer" aria-labelledby="versions-title">
            <header class="row apart">
                <h2 id="versions-title">"Versions"</h2>
                <a href=home.clone() class="icon" aria-label="Close the versions"><Glyph icon=Icon::Close/></a>
            </header>
            <Suspense>
                {Suspend::new(async move {
                    let Entity { kind, id } = entity.clone();
                    let diff = compare_entry_versions(kind, id.clone(), from, to).await;
                    let page = list_entry_versions(kind, id, before).await;
                    let compared = compared(diff, home.clone(), [from, to, revision]);
                    view! { {compared} {listed(page, entity, home, revision)} }
                })}
            </Suspense>
        </aside>
    }
}

fn compared(
    diff: Result<Vec<ProposedField>, ApiError>,
    home: String,
    [from, to, newest]: [Revision; 3],
) -> AnyView {
    let words = match diff {
        Ok(diff) if diff.is_empty() => {
            view! { <p class="faint">"These two versions say the same."</p> }.into_any()
        }
        Ok(diff) => diff
            .into_iter()
            .map(|field| view! { <Words field can_choose=false/> })
            .collect_view()
            .into_any(),
        Err(error) => view! { <p class="problem">{error.to_string()}</p> }.into_any(),
    };
    view! {
        <section class="compared" aria-label="What changed">
            <form method="get" action=home class="row tight small">
                <input type="hidden" name="versions" value="1"/>
                <label>"From " <input type="number" name="from" min="1" max=newest value=from required/></label>
                <label>"to " <input type="number" name="to" min="1" max=newest value=to required/></label>
                <button class="button quiet small">"Compare"</button>
            </form>
            {words}
        </section>
    }
    .into_any()
}

fn listed(
    page: Result<Page<VersionSummary>, ApiError>,
    entity: Entity,
    home: String,
    newest: Revision,
) -> AnyView {
    let page = match page {
        Ok(page) => page,
        Err(error) => return view! { <p class="problem">{error.to_string()}</p> }.into_any(),
    };
    let older = page.next.map(|before| format!("{home}?versions=1&before={before}"));
    view! {
        <ol class="versions">
            {page.items.into_iter().map(|version| {
                let (entity, home) = (entity.clone(), home.clone());
                view! { <VersionRow version entity home newest/> }
            }).collect_view()}
        </ol>
        {older.map(|older| view! { <a href=older class="button quiet">"Older versions"</a> })}
    }
    .into_any()
}

/// One version in the list.
#[component]
fn VersionRow(
    version: VersionSummary,
    entity: Entity,
    home: String,
    newest: Revision,
) -> impl IntoView {
    let number = version.revision;
    let who = match version.author_kind {
        ActorKind::Person => told_name(version.author.as_ref(), None),
        ActorKind::Persona => "An agent".into(),
        ActorKind::System => "Greenroom".into(),
    };
    let compare = format!("{home}?versions=1&from={}&to={number}", number - 1);
    let restore = format!("Restore version {number}");
    view! {
        <li class="version">
            <div class="row apart">
                <strong>"Version " {number}</strong>
                <span class="faint small"><When at=version.created_at/></span>
            </div>
            <p class="small">
                {who}
                {(!version.reason.is_empty()).then(|| format!(": {}", version.reason))}
            </p>
            <div class="row tight">
                {(number > 1).then(|| view! { <a href=compare class="button quiet small">"What changed"</a> })}
                {(number != newest).then(|| view! {
                    <form method="post" action=RestoreEntryVersion::url() data-quiet data-told="Restored as a new version.">
                        <input type="hidden" name="kind" value=entity.kind.word()/>
                        <input type="hidden" name="id" value=entity.id/>
                        <input type="hidden" name="revision" value=number.to_string()/>
                        <button class="button quiet small" aria-label=restore><Glyph icon=Icon::Undo/> "Restore"</button>
                    </form>
                })}
            </div>
        </li>
    }
}
