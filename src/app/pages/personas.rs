//! All personas.

use leptos::{prelude::*, server_fn::ServerFn};
use leptos_router::{
    NavigateOptions,
    components::{A, Form},
    hooks::{use_navigate, use_query_map},
};

use crate::{
    app::{
        components::{
            avatar::Avatar,
            icon::{Glyph, Icon},
            notice::use_notices,
            page_title::PageTitle,
            problem::PageProblem,
            when::When,
        },
        platform,
        server_fns::personas::{
            CreatePersona, DeletePersona, DuplicatePersona, PersonaList, list_personas,
        },
    },
    domain::{field::grouped, persona::PersonaSummary},
};

/// What a new persona is called until somebody names it.
pub const NEW_NAME: &str = "New persona";
/// How long to wait after a letter before searching.
const PAUSE_MS: u32 = 250;

/// The list, with search.
#[component]
pub fn PersonasPage() -> impl IntoView {
    let query = use_query_map();
    let search = Memo::new(move |_| query.read().get("q").unwrap_or_default());
    let after = Memo::new(move |_| query.read().get("after"));
    let notices = use_notices();
    let list = Resource::new(
        move || (search.get(), after.get(), notices.undone.get()),
        |(search, after, _)| list_personas(search, after),
    );
    view! {
        <PageTitle text="Personas"/>
        <header class="page-head">
            <h1>"Personas"</h1>
            <form method="post" action=CreatePersona::url() data-quiet>
                <input type="hidden" name="name" value=NEW_NAME/>
                <button class="button">
                    <Glyph icon=Icon::Plus/>
                    "New persona"
                </button>
            </form>
        </header>
        <SearchField search/>
        <Transition fallback=ListSkeleton>
            {move || Suspend::new(async move {
                match list.await {
                    Ok(list) => shown(list, search.get_untracked()).into_any(),
                    Err(error) => view! { <PageProblem error/> }.into_any(),
                }
            })}
        </Transition>
        <details class="card details" id="import">
            <summary>"Import a character card…"</summary>
            <form method="post" action="/api/storage/personas/import-file" enctype="multipart/form-data" class="row wrap">
                <input type="file" name="file" aria-label="A card (PNG, JSON or CHARX)" accept=".png,.json,.charx" required/>
                <button class="button">"Import"</button>
            </form>
        </details>
    }
}

/// The search field: a plain form that also searches while one types.
#[component]
fn SearchField(search: Memo<String>) -> impl IntoView {
    let alarm = platform::Alarm::unset();
    let navigate = use_navigate();
    let type_in = move |text: String| {
        let navigate = navigate.clone();
        let go = move || {
            let path = format!("/?q={}", leptos_router::location::Url::escape(&text));
            navigate(&path, NavigateOptions { replace: true, scroll: false, ..Default::default() });
        };
        alarm.set(PAUSE_MS, go);
    };
    view! {
        <Form method="GET" action="/" attr:class="search" attr:role="search">
            <Glyph icon=Icon::Search/>
            <label class="sr" for="search">"Search personas by name"</label>
            <input
                id="search"
                type="search"
                name="q"
                autocomplete="off"
                placeholder="Search by name"
                prop:value=search
                value=search.get_untracked()
                on:input=move |event| type_in(event_target_value(&event))
            />
            <noscript><button class="button quiet">"Search"</button></noscript>
        </Form>
    }
}

fn shown(PersonaList { page, total }: PersonaList, search: String) -> impl IntoView {
    let counted = match (search.is_empty(), total) {
        (true, 1) => "1 persona".to_owned(),
        (true, _) => format!("{} personas", grouped(total)),
        (false, _) if page.items.is_empty() => String::new(),
        (false, _) => format!("Found by “{search}”"),
    };
    let next = page.next.map(|after| {
        let search = leptos_router::location::Url::escape(&search);
        format!("/?q={search}&after={after}")
    });
    let empty = page.items.is_empty().then(|| {
        if search.is_empty() {
            view! {
                <section class="empty">
                    <h2>"No personas yet"</h2>
                    <p>"A persona is a system prompt with a name and a face. Make the first one, or look in the bin for one you had."</p>
                    <p class="row"><A href="/bin" attr:class="button quiet">"Open the bin"</A></p>
                </section>
            }
            .into_any()
        } else {
            view! {
                <section class="empty">
                    <h2>"Nobody by that name"</h2>
                    <p>"Try fewer letters, or look at all of them."</p>
                    <p class="row"><A href="/" attr:class="button quiet">"Show all personas"</A></p>
                </section>
            }
            .into_any()
        }
    });
    view! {
        <p class="faint small" role="status">{counted}</p>
        {empty}
        <ul class="cards">
            {page.items.into_iter().map(|persona| view! { <Card persona/> }).collect_view()}
        </ul>
        {next.map(|next| view! { <p class="more"><A href=next attr:class="button quiet">"Next page"</A></p> })}
    }
}

/// One persona in the list.
#[component]
fn Card(persona: PersonaSummary) -> impl IntoView {
    let path = format!("/personas/{}", persona.id);
    let tests = match persona.test_inputs {
        1 => "1 test input".to_owned(),
        count => format!("{count} test inputs"),
    };
    let id = StoredValue::new(persona.id.to_string());
    let name = StoredValue::new(persona.name.clone());
    view! {
        <li class="card persona-card">
            <A href=path attr:class="card-link">
                <Avatar name=persona.name.clone() face=persona.face/>
                <span class="card-text">
                    <strong>{persona.name}</strong>
                    <span class="excerpt">{persona.excerpt}</span>
                </span>
            </A>
            <div class="row apart card-foot">
                <span class="faint small">{tests} " · " <When at=persona.updated_at/></span>
                <span class="row tight">
                    <form method="post" action=DuplicatePersona::url() data-quiet>
                        <input type="hidden" name="id" value=id.get_value()/>
                        <button class="icon" aria-label=format!("Duplicate {}", name.get_value()) title="Duplicate">
                            <Glyph icon=Icon::Copy/>
                        </button>
                    </form>
                    <form method="post" action=DeletePersona::url() data-quiet data-told="Persona moved to the bin.">
                        <input type="hidden" name="id" value=id.get_value()/>
                        <button class="icon" aria-label=format!("Delete {}", name.get_value()) title="Move to the bin">
                            <Glyph icon=Icon::Bin/>
                        </button>
                    </form>
                </span>
            </div>
        </li>
    }
}

/// What stands there while the list loads.
#[component]
fn ListSkeleton() -> impl IntoView {
    view! {
        <ul class="cards" aria-hidden="true">
            {(0..6).map(|_| view! { <li class="card skeleton"></li> }).collect_view()}
        </ul>
    }
}
