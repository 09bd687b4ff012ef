//! Searching everything.

use leptos::prelude::*;
use leptos_router::{hooks::use_query_map, location::Url};

use crate::{
    app::{
        components::{
            icon::{Glyph, Icon},
            page_title::PageTitle,
            problem::PageProblem,
            when::When,
        },
        server_fns::search::find_things,
    },
    domain::{
        change::EntityKind,
        list::PAGE_SIZE,
        search::{Found, Hit, Piece, SEARCHED_MESSAGES, SearchKind, SearchMode},
    },
};

/// The page.
#[component]
pub fn SearchPage() -> impl IntoView {
    let query = use_query_map().read_untracked().clone();
    let text = query.get("q").unwrap_or_default();
    let kind = query.get("kind").and_then(|word| SearchKind::from_word(&word));
    let title = if text.trim().is_empty() { "Search".into() } else { format!("Search: {text}") };
    let filter = {
        let text = Url::escape(&text);
        move |other: Option<SearchKind>| match other {
            Some(other) => format!("/search?q={text}&kind={}", other.word()),
            None => format!("/search?q={text}"),
        }
    };
    let label = |kind: SearchKind| EntityKind::from(kind).plural();
    view! {
        <PageTitle text=title/>
        <header class="page-head"><h1>"Search"</h1></header>
        <form method="get" action="/search" class="search" role="search">
            <Glyph icon=Icon::Search/>
            <label class="sr" for="search">"Search everything"</label>
            <input
                id="search"
                type="search"
                name="q"
                autocomplete="off"
                placeholder="Words, or “words that follow each other”"
                autofocus=text.is_empty()
                value=text.clone()
            />
            {kind.map(|kind| view! { <input type="hidden" name="kind" value=kind.word()/> })}
            <button class="button quiet">"Search"</button>
        </form>
        <nav class="segments kinds" aria-label="What to look for">
            <a href=filter(None) aria-current=kind.is_none().then_some("page")>"Everything"</a>
            {SearchKind::ALL.map(|other| view! {
                <a href=filter(Some(other)) aria-current=(kind == Some(other)).then_some("page")>{label(other)}</a>
            })}
        </nav>
        <Suspense>
            {Suspend::new(async move {
                match find_things(text.clone(), kind).await {
                    Ok(found) => shown(found, &text, kind),
                    Err(error) => view! { <PageProblem error/> }.into_any(),
                }
            })}
        </Suspense>
    }
}

/// How much of a chat is searched.
pub fn of_chats() -> String {
    let last = SEARCHED_MESSAGES / 1000;
    format!(
        "Of a chat, the last {last},000 messages on all its branches are looked through. Its map finds older ones."
    )
}

fn shown(found: Found, text: &str, kind: Option<SearchKind>) -> AnyView {
    if text.trim().is_empty() {
        return view! {
            <section class="empty">
                <h2>"What are you looking for?"</h2>
                <p>"Personas, test inputs, pages, refs, tasks and chats are found by the words in them. All words must be there; the last one may be a beginning, and every one where nothing has them all."</p>
                <p>{of_chats()}</p>
            </section>
        }
        .into_any();
    }
    let count = match found.items.len() {
        0 => "Nothing was found".to_owned(),
        1 => "1 thing was found".into(),
        // More may fit.
        many if many == PAGE_SIZE as usize => format!("The first {many} things were found"),
        many => format!("{many} things were found"),
    };
    let how = match (found.mode, found.note) {
        (SearchMode::Hybrid, _) => " by words and by meaning.".to_owned(),
        (SearchMode::FullText, None) => " by words.".into(),
        (SearchMode::FullText, Some(note)) => format!(". {note}"),
    };
    let empty = found.items.is_empty().then(|| {
        view! {
            <section class="empty">
                <h2>"Nothing has these words in it"</h2>
                <p>"Try fewer words, or only how they begin."</p>
            </section>
        }
    });
    let chats = match kind {
        Some(kind) => kind == SearchKind::Chat,
        None => found.items.iter().any(|hit| hit.kind == SearchKind::Chat),
    };
    view! {
        <p class="faint small" role="status">{count} {how} {chats.then(|| format!(" {}", of_chats()))}</p>
        {empty}
        <ol class="rows hits">{found.items.into_iter().map(|hit| view! { <HitRow hit/> }).collect_view()}</ol>
    }
    .into_any()
}

/// Something that was found.
#[component]
fn HitRow(hit: Hit) -> impl IntoView {
    let kind = EntityKind::from(hit.kind).noun();
    let path = hit.path();
    view! {
        <li class="card stack tight">
            <div class="row apart">
                <h2 class="one-line"><a href=path>{hit.title}</a></h2>
                <span class="faint small">{kind} " · " <When at=hit.updated_at/></span>
            </div>
            {(!hit.snippet.is_empty()).then(|| view! {
                <p class="snippet small">
                    {hit.snippet.into_iter().map(|Piece { text, marked }| match marked {
                        true => view! { <mark>{text}</mark> }.into_any(),
                        false => text.into_any(),
                    }).collect_view()}
                </p>
            })}
        </li>
    }
}
