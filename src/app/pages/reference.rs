//! A ref: a text from elsewhere, with where it is from.

use leptos::{prelude::*, server_fn::ServerFn};
use leptos_router::hooks::use_params_map;

use crate::{
    app::{
        components::{
            entry_form::{EntryField, EntryForm},
            problem::PageProblem,
            when::When,
            written::written,
        },
        server_fns::knowledge::{FetchRef, RefData, open_ref},
    },
    domain::{
        change::Entity,
        id::RefId,
        knowledge::{Knowledge, RefFields, URL},
    },
};

/// The page.
#[component]
pub fn RefPage() -> impl IntoView {
    let id = RefId::new(use_params_map().read_untracked().get("id").unwrap_or_default());
    view! {
        <Suspense>
            {Suspend::new(async move {
                match open_ref(id).await {
                    Ok(open) => shown(open),
                    Err(error) => view! { <PageProblem error/> }.into_any(),
                }
            })}
        </Suspense>
    }
}

fn shown(RefData { entry, can_fetch }: RefData) -> AnyView {
    let entity = Entity::from(&entry.id);
    let name = entry.fields.card().title;
    let id = entry.id.to_string();
    let host = entry.fields.host().map(str::to_owned);
    let fetches = can_fetch && host.is_some();
    let RefFields { url, title, note, text, fetched_at } = entry.fields;
    let rows = |text: &str, least: usize| text.lines().count().clamp(least, 30);
    let address = url.clone();
    view! {
        <EntryForm entity revision=entry.revision updated_at=entry.updated_at name title>
            <section class="card stack">
                <EntryField id="url" label="Address">
                    <input
                        id="url"
                        type="url"
                        name="fields[url]"
                        maxlength=URL.max_chars
                        autocomplete="off"
                        placeholder="https://"
                        value=url
                    />
                </EntryField>
                {host.map(|host| view! {
                    <p class="small">
                        "Open at "
                        <a href=address rel="noopener noreferrer nofollow" target="_blank">{host}</a>
                        ", in a tab of its own."
                    </p>
                })}
                <EntryField id="note" label="Note" hint="Why it matters to you.">
                    <textarea id="note" class="grow" name="fields[note]" rows=rows(&note, 3) inner_html=written(&note)></textarea>
                </EntryField>
            </section>
            <section class="card prompt">
                <header class="row apart">
                    <label for="text"><h2>"Text"</h2></label>
                    <span class="row tight">
                        <span class="faint small">
                            {match fetched_at {
                                Some(at) => view! { "Fetched " <When at/> }.into_any(),
                                None => "Not fetched".into_any(),
                            }}
                        </span>
                        {fetches.then(|| view! {
                            <span class="faint small unsaved">"Save before fetching"</span>
                            <button class="button quiet small" form="fetch-ref">"Fetch text"</button>
                        })}
                    </span>
                </header>
                <textarea
                    id="text"
                    class="grow"
                    name="fields[text]"
                    rows=rows(&text, 12)
                    placeholder=if can_fetch { "Paste what it says, or fetch it from its address." } else { "Paste what it says." }
                    inner_html=written(&text)
                ></textarea>
            </section>
        </EntryForm>
        {fetches.then(|| view! {
            <form id="fetch-ref" method="post" action=FetchRef::url() data-quiet data-told="Fetched.">
                <input type="hidden" name="id" value=id/>
            </form>
        })}
    }
    .into_any()
}
