//! The bin.

use leptos::prelude::*;
use leptos_router::{components::A, hooks::use_query_map};

use crate::{
    app::{
        components::{
            icon::{Glyph, Icon},
            notice::use_notices,
            page_title::PageTitle,
            problem::{PageProblem, Problem},
            when::When,
        },
        server_fns::bin::{EmptyBin, PurgeFromBin, RestoreFromBin, list_bin},
    },
    domain::{audit::Binned, list::Page},
};

/// What was deleted, and can come back.
#[component]
pub fn BinPage() -> impl IntoView {
    let query = use_query_map();
    let restore = ServerAction::<RestoreFromBin>::new();
    let purge = ServerAction::<PurgeFromBin>::new();
    let empty = ServerAction::<EmptyBin>::new();
    let notices = use_notices();
    let list = Resource::new(
        move || {
            let acts = (restore.version().get(), purge.version().get(), empty.version().get());
            (query.read().get("after"), acts, notices.undone.get())
        },
        |(after, _, _)| list_bin(after),
    );
    Effect::new(move |_| {
        if let Some(Ok(outcome)) = restore.value().get() {
            notices.tell_with_undo("Restored.", outcome.change_id);
        }
    });
    let failed = Signal::derive(move || {
        let errors = [
            restore.value().get().and_then(Result::err),
            purge.value().get().and_then(Result::err),
            empty.value().get().and_then(Result::err),
        ];
        errors.into_iter().flatten().next()
    });
    view! {
        <PageTitle text="Bin"/>
        <header class="page-head"><h1>"Bin"</h1></header>
        <Problem error=failed/>
        <Transition fallback=|| view! { <div class="skeleton block"></div> }>
            {move || Suspend::new(async move {
                match list.await {
                    Ok(page) => shown(page, restore, purge, empty).into_any(),
                    Err(error) => view! { <PageProblem error/> }.into_any(),
                }
            })}
        </Transition>
    }
}

fn shown(
    page: Page<Binned>,
    restore: ServerAction<RestoreFromBin>,
    purge: ServerAction<PurgeFromBin>,
    empty: ServerAction<EmptyBin>,
) -> impl IntoView {
    if page.items.is_empty() {
        return view! {
            <section class="empty">
                <h2>"The bin is empty"</h2>
                <p>"What you delete waits here until you empty the bin."</p>
                <p class="row"><A href="/" attr:class="button quiet">"Go to the personas"</A></p>
            </section>
        }
        .into_any();
    }
    let next = page.next.map(|after| format!("/bin?after={after}"));
    view! {
        <ul class="rows">
            {page.items.into_iter().map(|thing| view! { <BinRow thing restore purge/> }).collect_view()}
        </ul>
        {next.map(|next| view! { <p class="more"><A href=next attr:class="button quiet">"Next page"</A></p> })}
        <details class="danger">
            <summary class="button quiet">"Empty the bin…"</summary>
            <ActionForm action=empty attr:class="row">
                <span>"Everything in the bin goes, with all its versions. This cannot be undone."</span>
                <button class="button bad">"Remove everything for good"</button>
            </ActionForm>
        </details>
    }
    .into_any()
}

/// One thing in the bin.
#[component]
fn BinRow(
    thing: Binned,
    restore: ServerAction<RestoreFromBin>,
    purge: ServerAction<PurgeFromBin>,
) -> impl IntoView {
    let kind = thing.entity_type;
    let id = StoredValue::new(thing.entity_id);
    let title = StoredValue::new(thing.title);
    let hidden = move || {
        view! {
            <input type="hidden" name="kind" value=kind.word()/>
            <input type="hidden" name="id" value=id.get_value()/>
        }
    };
    view! {
        <li class="card row apart">
            <div class="card-text">
                <strong class="one-line">{title.get_value()}</strong>
                <span class="faint small">
                    {kind.noun()}
                    {thing.of.map(|of| format!(" of {of}"))}
                    " · deleted " <When at=thing.deleted_at/>
                </span>
            </div>
            <div class="row tight">
                <ActionForm action=restore>
                    {hidden()}
                    <button class="button quiet" aria-label=format!("Restore {}", title.get_value())>
                        <Glyph icon=Icon::Undo/>
                        "Restore"
                    </button>
                </ActionForm>
                <details class="popover">
                    <summary class="button quiet">"Remove…"</summary>
                    <ActionForm action=purge attr:class="popup">
                        {hidden()}
                        <p>"It goes with all its versions. This cannot be undone."</p>
                        <button class="button bad">"Remove for good"</button>
                    </ActionForm>
                </details>
            </div>
        </li>
    }
}
