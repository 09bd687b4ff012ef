//! The bin.

use leptos::{prelude::*, server_fn::ServerFn};
use leptos_router::hooks::use_query_map;

use crate::{
    app::{
        components::{
            icon::{Glyph, Icon},
            page_title::PageTitle,
            problem::PageProblem,
            when::When,
        },
        server_fns::bin::{BinData, EmptyBin, PurgeFromBin, RestoreFromBin, list_bin},
    },
    domain::audit::Binned,
};

/// What was deleted, and can come back.
#[component]
pub fn BinPage() -> impl IntoView {
    let after = use_query_map().read_untracked().get("after");
    view! {
        <PageTitle text="Bin"/>
        <header class="page-head"><h1>"Bin"</h1></header>
        <Suspense>
            {Suspend::new(async move {
                match list_bin(after).await {
                    Ok(bin) => shown(bin).into_any(),
                    Err(error) => view! { <PageProblem error/> }.into_any(),
                }
            })}
        </Suspense>
    }
}

/// What goes with something that is removed for good, as a sentence; nothing when there is nothing.
fn told_going(chats: i64, pictures: i64) -> String {
    let counted = |(count, noun): (i64, &str)| match count {
        0 => None,
        1 => Some(format!("1 {noun}")),
        more => Some(format!("{more} {noun}s")),
    };
    let going = [(chats, "chat"), (pictures, "picture")].into_iter().filter_map(counted);
    match going.collect::<Vec<_>>().join(" and ") {
        none if none.is_empty() => none,
        going if chats + pictures == 1 => format!("{going} goes with it. "),
        going => format!("{going} go with it. "),
    }
}

fn shown(bin: BinData) -> impl IntoView {
    let BinData { page, chats, pictures } = bin;
    if page.items.is_empty() {
        return view! {
            <section class="empty">
                <h2>"The bin is empty"</h2>
                <p>"What you delete waits here until you empty the bin."</p>
                <p class="row"><a href="/" class="button quiet">"Go to the personas"</a></p>
            </section>
        }
        .into_any();
    }
    let going = told_going(chats, pictures);
    let next = page.next.map(|after| format!("/bin?after={after}"));
    view! {
        <ul class="rows">
            {page.items.into_iter().map(|thing| view! { <BinRow thing/> }).collect_view()}
        </ul>
        {next.map(|next| view! { <p class="more"><a href=next class="button quiet">"Next page"</a></p> })}
        <details class="danger">
            <summary class="button quiet">"Empty the bin…"</summary>
            <form method="post" action=EmptyBin::url() class="row" data-quiet data-told="The bin is empty.">
                <span>"Everything in the bin goes, with all its versions. " {going} "This cannot be undone."</span>
                <button class="button bad">"Remove everything for good"</button>
            </form>
        </details>
    }
    .into_any()
}

/// One thing in the bin.
#[component]
fn BinRow(thing: Binned) -> impl IntoView {
    let kind = thing.entity_type;
    let id = thing.entity_id;
    let row = format!("binned-{}-{id}", kind.word());
    let hidden = move || {
        view! {
            <input type="hidden" name="kind" value=kind.word()/>
            <input type="hidden" name="id" value=id.clone()/>
        }
    };
    let going = told_going(thing.chats, thing.pictures);
    let restore = format!("Restore {}", thing.title);
    view! {
        <li class="card row apart" id=row>
            <div class="card-text">
                <strong class="one-line">{thing.title}</strong>
                <span class="faint small">
                    {kind.noun()}
                    {thing.of.map(|of| format!(" of {of}"))}
                    " · deleted " <When at=thing.deleted_at/>
                </span>
            </div>
            <div class="row tight">
                <form method="post" action=RestoreFromBin::url() data-quiet data-told="Restored.">
                    {hidden()}
                    <button class="button quiet" aria-label=restore>
                        <Glyph icon=Icon::Undo/>
                        "Restore"
                    </button>
                </form>
                <details class="popover">
                    <summary class="button quiet">"Remove…"</summary>
                    <form method="post" action=PurgeFromBin::url() class="popup" data-quiet data-final data-told="Removed for good.">
                        {hidden()}
                        <p>"It goes with all its versions. " {going} "This cannot be undone."</p>
                        <button class="button bad">"Remove for good"</button>
                    </form>
                </details>
            </div>
        </li>
    }
}
