//! All sessions of the terminal: what they are about, and the bin.

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
        server_fns::terminal::{DeleteTerminal, list_terminals},
    },
    domain::{
        list::Page,
        terminal::{TerminalSession, short},
    },
};

/// The page.
#[component]
pub fn TerminalsPage() -> impl IntoView {
    let query = use_query_map().read_untracked().clone();
    let (deleted, after) = (query.get("deleted").is_some(), query.get("after"));
    let (title, href, label) = match deleted {
        true => ("Deleted sessions", "/terminal", "Sessions in use"),
        false => ("Terminal", "/terminal?deleted=1", "Deleted sessions"),
    };
    view! {
        <PageTitle text=title/>
        <nav class="crumbs small" aria-label="Where this is"><a href="/chats">"Chats"</a></nav>
        <header class="page-head">
            <h1>{title}</h1>
            <a class="button quiet small" href=href>{label}</a>
        </header>
        <Suspense>
            {Suspend::new(async move {
                match list_terminals(deleted, after).await {
                    Ok(page) => shown(page, deleted).into_any(),
                    Err(error) => view! { <PageProblem error/> }.into_any(),
                }
            })}
        </Suspense>
    }
}

fn shown(page: Page<(TerminalSession, String)>, deleted: bool) -> impl IntoView {
    let nothing = page.items.is_empty().then(|| match deleted {
        true => {
            view! { <section class="empty"><h2>"Nothing was deleted"</h2></section> }.into_any()
        }
        false => view! {
            <section class="empty">
                <h2>"No sessions yet"</h2>
                <p>"Begin one in a terminal with " <code>"greenroom chat"</code> "."</p>
            </section>
        }
        .into_any(),
    });
    let next = page.next.map(|after| {
        let mark = if deleted { "&deleted=1" } else { "" };
        format!("/terminal?after={after}{mark}")
    });
    view! {
        {nothing}
        <ul class="rows">{page.items.into_iter().map(|(session, opening)| view! { <Row session opening/> }).collect_view()}</ul>
        {next.map(|next| view! { <p class="more"><a href=next class="button quiet">"Earlier"</a></p> })}
    }
}

#[component]
fn Row(session: TerminalSession, opening: String) -> impl IntoView {
    let path = format!("/terminal/{}", session.id);
    let gone = session.deleted_at.is_some();
    let (told, label, icon) = match gone {
        true => ("It is back.", "Bring back", Icon::Undo),
        false => ("The session is in the bin. It can be brought back.", "Delete", Icon::Bin),
    };
    let (title, is_named) = match opening.as_str() {
        "" => (session.title(), true),
        opening => (format!("“{opening}”"), false),
    };
    // Several may have been begun with the same words.
    let which = (!is_named).then(|| format!("{} · ", short(&session.id)));
    let link = match gone {
        true => view! { <span>{title}</span> }.into_any(),
        false => view! { <a href=path>{title}</a> }.into_any(),
    };
    let turns = match session.turns {
        1 => "1 turn".to_owned(),
        turns => format!("{turns} turns"),
    };
    view! {
        <li class="card row apart" id=format!("session-{}", session.id)>
            <div class="card-text">
                <strong class="one-line">{link}</strong>
                <span class="faint small">
                    {which} {session.settings.model} " · " {turns} " · " <When at=session.updated_at/>
                </span>
            </div>
            <form method="post" action=DeleteTerminal::url() data-quiet data-told=told>
                <input type="hidden" name="id" value=session.id.to_string()/>
                {gone.then(|| view! { <input type="hidden" name="back" value="true"/> })}
                <button class="button quiet small"><Glyph icon/> {label}</button>
            </form>
        </li>
    }
}
