//! The drawer with every version of a persona.
//!
//! What it shows is in the address (`?versions`, `from`, `to`), so that it also works by plain links
//! and forms.

use leptos::{prelude::*, server_fn::ServerFn};
use leptos_router::{
    components::{A, Form},
    hooks::{use_navigate, use_query_map},
};

use super::{
    icon::{Glyph, Icon},
    notice::use_notices,
    when::When,
};
use crate::{
    app::{
        platform,
        server_fns::versions::{RestoreVersion, SetLabel, compare_versions, list_versions},
        state::{
            shortcut::Shortcut,
            versions::{Burst, bursts},
        },
    },
    domain::{
        actor::{ActorKind, told_name},
        diff::{FieldDiff, Segment, SegmentKind},
        error::ApiError,
        id::PersonaId,
        list::Page,
        version::{Revision, USUAL_LABELS, VersionSummary},
    },
};

/// The drawer.
#[component]
pub fn VersionsDrawer(
    /// Whose versions.
    persona: PersonaId,
    /// Where the persona is now; a new version loads the list again.
    #[prop(into)]
    revision: Signal<Revision>,
) -> impl IntoView {
    let query = use_query_map();
    let number =
        move |name: &str| query.read().get(name).and_then(|text| text.parse::<Revision>().ok());
    let home = format!("/personas/{persona}");
    let id = StoredValue::new(persona);
    let undone = use_notices().undone;
    let navigate = use_navigate();
    Effect::new(move |_| {
        platform::focus("versions-title");
        let navigate = navigate.clone();
        platform::on_shortcut(move |wish| {
            let closes = wish == Shortcut::Close;
            if closes {
                navigate(&format!("/personas/{}", id.get_value()), Default::default());
            }
            closes
        });
    });
    let versions = Resource::new(
        move || (id.get_value(), number("before"), revision.get(), undone.get()),
        |(id, before, _, _)| list_versions(id, before),
    );
    let compared = Resource::new(
        move || (id.get_value(), number("from"), number("to"), revision.get()),
        |(id, from, to, now)| async move {
            let to = to.unwrap_or(now);
            let from = from.unwrap_or((to - 1).max(1));
            compare_versions(id, from, to).await.map(|diff| (from, to, diff))
        },
    );
    view! {
        <aside class="drawer" aria-labelledby="versions-title">
            <header class="row apart">
                <h2 id="versions-title" tabindex="-1">"Versions"</h2>
                <A href=home.clone() attr:class="icon" attr:aria-label="Close the versions">
                    <Glyph icon=Icon::Close/>
                </A>
            </header>
            <Transition fallback=|| view! { <div class="skeleton block"></div> }>
                {move || Suspend::new(async move {
                    match compared.await {
                        Ok((from, to, diff)) => view! { <Compared from to diff newest=revision home=StoredValue::new(format!("/personas/{}", id.get_value()))/> }.into_any(),
                        Err(error) => view! { <p class="problem">{error.to_string()}</p> }.into_any(),
                    }
                })}
            </Transition>
            <datalist id="usual-labels">
                {USUAL_LABELS.map(|label| view! { <option value=label></option> })}
            </datalist>
            <Transition fallback=|| view! { <div class="skeleton block"></div> }>
                {move || Suspend::new(async move {
                    version_list(versions.await, id.get_value(), revision)
                })}
            </Transition>
        </aside>
    }
}

fn version_list(
    versions: Result<Page<VersionSummary>, ApiError>,
    id: PersonaId,
    revision: Signal<Revision>,
) -> AnyView {
    let page = match versions {
        Ok(page) => page,
        Err(error) => return view! { <p class="problem">{error.to_string()}</p> }.into_any(),
    };
    let older = page.next.map(|before| {
        let path = format!("/personas/{id}?versions=1&before={before}");
        view! { <A href=path attr:class="button quiet">"Older versions"</A> }
    });
    let row = move |version: VersionSummary| {
        view! { <VersionRow version persona=id.clone() revision/> }
    };
    view! {
        <ol class="versions">
            {bursts(page.items).into_iter().map(|Burst { newest, folded }| {
                let folded_count = folded.len();
                let rows = folded.into_iter().map(&row).collect_view();
                view! {
                    {row(newest)}
                    {(folded_count > 0).then(|| view! {
                        <li class="folded">
                            <details>
                                <summary>{saves_before(folded_count)}</summary>
                                <ol class="versions">{rows}</ol>
                            </details>
                        </li>
                    })}
                }
            }).collect_view()}
        </ol>
        {older}
    }
    .into_any()
}

fn saves_before(count: usize) -> String {
    match count {
        1 => "1 more save just before".into(),
        _ => format!("{count} more saves just before"),
    }
}

/// One version in the list.
#[component]
fn VersionRow(
    version: VersionSummary,
    persona: PersonaId,
    revision: Signal<Revision>,
) -> impl IntoView {
    let number = version.revision;
    let who = match version.author_kind {
        ActorKind::Person => told_name(version.author.as_ref(), None),
        ActorKind::Persona => "Its agent".into(),
        ActorKind::System => "Greenroom".into(),
    };
    let compare =
        format!("/personas/{persona}?versions=1&from={}&to={number}", (number - 1).max(1));
    let persona = StoredValue::new(persona.to_string());
    let hidden = move || {
        view! {
            <input type="hidden" name="id" value=persona.get_value()/>
            <input type="hidden" name="revision" value=number.to_string()/>
        }
    };
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
                {version.labels.into_iter().map(|label| view! {
                    <form method="post" action=SetLabel::url() class="label" data-quiet>
                        <input type="hidden" name="id" value=persona.get_value()/>
                        <input type="hidden" name="label" value=label.clone()/>
                        <span>{label.clone()}</span>
                        <button class="icon tiny" aria-label=format!("Take the label {label} away")>
                            <Glyph icon=Icon::Close/>
                        </button>
                    </form>
                }).collect_view()}
            </div>
            <div class="row tight">
                {(number > 1).then(|| view! { <A href=compare attr:class="button quiet small">"What changed"</A> })}
                <Show when=move || revision.get() != number>
                    <form method="post" action=RestoreVersion::url() data-quiet data-told="Restored as a new version.">
                        {hidden()}
                        <button class="button quiet small">
                            <Glyph icon=Icon::Undo/>
                            "Restore"
                        </button>
                    </form>
                </Show>
                <details class="popover">
                    <summary class="button quiet small">"Label…"</summary>
                    <form method="post" action=SetLabel::url() class="popup" data-quiet>
                        {hidden()}
                        <label>
                            "Label for version " {number}
                            <input
                                name="label"
                                list="usual-labels"
                                required
                                autocomplete="off"
                                placeholder="production"
                            />
                        </label>
                        <button class="button">"Set"</button>
                    </form>
                </details>
            </div>
        </li>
    }
}

/// What differs between two versions, and the choice of the two.
#[component]
fn Compared(
    from: Revision,
    to: Revision,
    diff: Vec<FieldDiff>,
    newest: Signal<Revision>,
    home: StoredValue<String>,
) -> impl IntoView {
    view! {
        <section class="compared" aria-label="What changed">
            <Form method="GET" action=home.get_value() attr:class="row tight small">
                <input type="hidden" name="versions" value="1"/>
                <label>
                    "From "
                    <input type="number" name="from" min="1" max=move || newest.get() value=from required/>
                </label>
                <label>
                    "to "
                    <input type="number" name="to" min="1" max=move || newest.get() value=to required/>
                </label>
                <button class="button quiet small">"Compare"</button>
            </Form>
            {diff.is_empty().then(|| view! { <p class="faint">"These two versions say the same."</p> })}
            {diff.into_iter().map(|field| view! {
                <h3>{field.label}</h3>
                <Diff segments=field.segments/>
            }).collect_view()}
        </section>
    }
}

/// A word diff. Removed and added words are marked by more than their colour.
#[component]
pub fn Diff(
    /// The pieces.
    segments: Vec<Segment>,
) -> impl IntoView {
    view! {
        <p class="diff">
            {segments.into_iter().map(|segment| match segment.kind {
                SegmentKind::Same => segment.text.into_any(),
                SegmentKind::Removed => view! { <del>{segment.text}</del> }.into_any(),
                SegmentKind::Added => view! { <ins>{segment.text}</ins> }.into_any(),
                SegmentKind::Folded => view! { <span class="fold">{segment.text}</span> }.into_any(),
            }).collect_view()}
        </p>
    }
}
