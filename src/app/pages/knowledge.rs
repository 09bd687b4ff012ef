//! Knowledge: the lists of pages, refs and tasks, and the forms that add to them.

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
        platform,
        server_fns::knowledge::{CreateEntry, SaveEntry, list_entries},
    },
    domain::{
        change::{Entity, EntityKind},
        date::Date,
        knowledge::{Card, EntrySummary, TITLE, TaskStatus, URL, host},
        list::Page,
    },
};

/// What is knowledge.
const KINDS: [EntityKind; 3] = [EntityKind::Page, EntityKind::Ref, EntityKind::Task];

/// The page.
#[component]
pub fn KnowledgePage() -> impl IntoView {
    let query = use_query_map().read_untracked().clone();
    let asked = query.get("kind").and_then(|word| EntityKind::from_word(&word));
    let kind = asked.filter(|kind| KINDS.contains(kind)).unwrap_or(EntityKind::Page);
    let after = query.get("after");
    let noun = kind.plural().to_lowercase();
    view! {
        <PageTitle text=kind.plural()/>
        <header class="page-head narrow">
            <h1>"Knowledge"</h1>
            <nav class="segments" aria-label="What is shown">
                {KINDS.map(|other| view! {
                    <a href=format!("/knowledge?kind={}", other.word()) aria-current=(other == kind).then_some("page")>{other.plural()}</a>
                })}
            </nav>
        </header>
        <form method="get" action="/search" class="search" role="search">
            <Glyph icon=Icon::Search/>
            <label class="sr" for="search">{format!("Search {noun}")}</label>
            <input id="search" type="search" name="q" autocomplete="off" placeholder=format!("Search {noun}")/>
            <input type="hidden" name="kind" value=kind.word()/>
            <noscript><button class="button quiet">"Search"</button></noscript>
        </form>
        <Add kind/>
        <Suspense>
            {Suspend::new(async move {
                match list_entries(kind, after).await {
                    Ok(page) => shown(page, kind),
                    Err(error) => view! { <PageProblem error/> }.into_any(),
                }
            })}
        </Suspense>
    }
}

fn shown(page: Page<EntrySummary<String>>, kind: EntityKind) -> AnyView {
    if page.items.is_empty() {
        let (head, told) = match kind {
            EntityKind::Ref => (
                "No refs yet",
                "A ref is a text from elsewhere: an address, or something pasted. Add the first one above.",
            ),
            EntityKind::Task => (
                "Nothing to do",
                "A task says what is to be done, and by when. Add the first one above.",
            ),
            EntityKind::Page | EntityKind::Persona | EntityKind::TestInput | EntityKind::Chat => (
                "No pages yet",
                "A page is a text of your own that links to others by [[Title]]. Name the first one above.",
            ),
        };
        return view! { <section class="empty"><h2>{head}</h2><p>{told}</p></section> }.into_any();
    }
    let next = page.next.map(|after| format!("/knowledge?kind={}&after={after}", kind.word()));
    view! {
        <ul class="rows entries">
            {page.items.into_iter().map(|entry| view! { <Row entry kind/> }).collect_view()}
        </ul>
        {next.map(|next| view! { <p class="more"><a href=next class="button quiet">"Next page"</a></p> })}
    }
    .into_any()
}

/// One page, ref or task.
#[component]
fn Row(entry: EntrySummary<String>, kind: EntityKind) -> impl IntoView {
    let EntrySummary { id, card, revision, updated_at } = entry;
    let Card { title, excerpt, url, status, due } = card;
    let path = Entity::new(kind, &id).path();
    let host = url.as_deref().and_then(host).map(str::to_owned);
    let done = status == Some(TaskStatus::Done);
    let doing = (status == Some(TaskStatus::Doing)).then_some(TaskStatus::Doing.label());
    view! {
        <li class="card row" class:done=done id=format!("{}-{id}", kind.word())>
            {status.map(|status| view! { <Tick id=id.clone() title=title.clone() revision status/> })}
            <a class="card-link card-text" href=path>
                <strong class="one-line">{title}</strong>
                {(!excerpt.is_empty()).then(|| view! { <span class="excerpt">{excerpt}</span> })}
            </a>
            <span class="facts-aside faint small">
                {doing.map(|doing| view! { <span class="badge">{doing}</span> })}
                {due.map(|due| view! { <Due due done/> })}
                {host.map(|host| view! { <span class="one-line">{host}</span> })}
                <When at=updated_at/>
            </span>
        </li>
    }
}

/// The box that says whether a task is done.
#[component]
fn Tick(id: String, title: String, revision: i64, status: TaskStatus) -> impl IntoView {
    let done = status == TaskStatus::Done;
    let (next, told, label) = match done {
        true => (TaskStatus::Open, "Taken up again.", format!("Take up “{title}” again")),
        false => (TaskStatus::Done, "Done.", format!("“{title}” is done")),
    };
    view! {
        <form method="post" action=SaveEntry::url() data-quiet data-told=told>
            <input type="hidden" name="kind" value=EntityKind::Task.word()/>
            <input type="hidden" name="id" value=id/>
            <input type="hidden" name="revision" value=revision.to_string()/>
            <input type="hidden" name="fields[status]" value=next.word()/>
            <button class="tick" aria-pressed=done.to_string() aria-label=label>
                {done.then(|| view! { <Glyph icon=Icon::Check/> })}
            </button>
        </form>
    }
}

/// The day by which a task should be done.
#[component]
fn Due(due: Date, done: bool) -> impl IntoView {
    let overdue = !done && due.is_over(platform::now());
    let said = if overdue { "Overdue since " } else { "Due " };
    view! {
        <span class="due" class:overdue=overdue>
            {said} <time datetime=due.to_string()>{due.readable()}</time>
        </span>
    }
}

/// The form that adds one.
#[component]
fn Add(kind: EntityKind) -> impl IntoView {
    let fields = match kind {
        EntityKind::Ref => view! {
            <label class="wide">
                <span class="sr">"Address"</span>
                <input type="url" name="fields[url]" maxlength=URL.max_chars autocomplete="off" placeholder="https://…"/>
            </label>
            <label>
                <span class="sr">"Title"</span>
                <input name="fields[title]" maxlength=TITLE.max_chars autocomplete="off" placeholder="Title (optional)"/>
            </label>
            <details id="paste">
                <summary class="button quiet">"Paste a text…"</summary>
                <label>
                    <span class="sr">"Text"</span>
                    <textarea name="fields[text]" rows="8" placeholder="What it says"></textarea>
                </label>
            </details>
        }
        .into_any(),
        EntityKind::Task => view! {
            <label class="wide">
                <span class="sr">"What is to be done"</span>
                <input name="fields[title]" required maxlength=TITLE.max_chars autocomplete="off" placeholder="What is to be done?"/>
            </label>
            <label class="row tight">
                <span class="small faint">"Due"</span>
                <input type="date" name="fields[due]"/>
            </label>
        }
        .into_any(),
        EntityKind::Page | EntityKind::Persona | EntityKind::TestInput | EntityKind::Chat => view! {
            <label class="wide">
                <span class="sr">"Title of the new page"</span>
                <input name="fields[title]" required maxlength=TITLE.max_chars autocomplete="off" placeholder="Title of a new page"/>
            </label>
        }
        .into_any(),
    };
    view! {
        <form method="post" action=CreateEntry::url() class="add" data-quiet aria-label=format!("Add a {}", kind.noun())>
            <input type="hidden" name="kind" value=kind.word()/>
            {fields}
            <button class="button"><Glyph icon=Icon::Plus/> {format!("Add {}", kind.noun())}</button>
        </form>
    }
}
