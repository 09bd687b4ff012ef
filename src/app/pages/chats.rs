//! All chats: finding one, beginning one, and bringing one in from a file.

use leptos::{prelude::*, server_fn::ServerFn};
use leptos_router::{hooks::use_query_map, location::Url};

use super::search::of_chats;
use crate::{
    app::{
        components::{
            find_persona::FindPersona,
            icon::{Glyph, Icon},
            page_title::PageTitle,
            problem::PageProblem,
            when::When,
        },
        server_fns::{
            chats::{BeginChat, DeleteChat, RenameChat, list_chats},
            personas::{list_personas, open_persona},
        },
    },
    domain::{
        chat::{ChatMode, ChatSummary, MAX_FILE_MESSAGES, MAX_FILE_MIB, TITLE},
        id::PersonaId,
        list::Page,
        visible::visible_in_prose,
    },
};

/// Somebody who can be talked to.
type Speaker = (PersonaId, String);

/// The page.
#[component]
pub fn ChatsPage() -> impl IntoView {
    let query = use_query_map().read_untracked().clone();
    let persona = query.get("persona").filter(|id| !id.is_empty()).map(PersonaId::new);
    let (words, after) = (query.get("q").unwrap_or_default(), query.get("after"));
    let who = query.get("who").unwrap_or_default();
    view! {
        <PageTitle text="Chats"/>
        <header class="page-head">
            <h1>"Chats"</h1>
            <a class="button quiet small" href="/terminal">"Terminal"</a>
        </header>
        <Suspense>
            {Suspend::new(async move {
                let (personas, listed, more) = speakers(persona.clone(), who.clone()).await;
                let kept = [("q", words.clone()), ("persona", persona.as_ref().map(ToString::to_string).unwrap_or_default())];
                let kept = kept.into_iter().filter(|(_, value)| !value.is_empty()).collect();
                match list_chats(persona.clone(), words.clone(), after).await {
                    Ok(page) => view! {
                        <Begin personas=personas.clone()/>
                        <FindPersona action="/chats".to_owned() kept who listed more/>
                        <Find personas=personas.clone() persona=persona.clone() words=words.clone()/>
                        {shown(page, persona, &words)}
                        <Import personas/>
                    }.into_any(),
                    Err(error) => view! { <PageProblem error/> }.into_any(),
                }
            })}
        </Suspense>
    }
}

/// Who can be talked to: the one that is asked for, and those that changed last, or have this in their names.
/// How many the list has, and whether there are more.
async fn speakers(first: Option<PersonaId>, who: String) -> (Vec<Speaker>, usize, bool) {
    let list = list_personas(who, None).await.map(|list| list.page);
    let (list, more) = match list {
        Ok(page) => (page.items, page.next.is_some()),
        Err(_) => (Vec::new(), false),
    };
    let listed = list.len();
    let asked_for = match first {
        Some(id) => open_persona(id).await.ok(),
        None => None,
    };
    let first = asked_for.map(|open| (open.persona.id, visible_in_prose(open.persona.fields.name)));
    let known = first.as_ref().map(|(id, _)| id.clone());
    let others = list.into_iter().map(|persona| (persona.id, persona.name));
    let others = others.filter(|(id, _)| Some(id) != known.as_ref());
    (first.into_iter().chain(others).collect(), listed, more)
}

/// The form that begins a chat.
#[component]
fn Begin(personas: Vec<Speaker>) -> impl IntoView {
    view! {
        <form method="post" action=BeginChat::url() class="card row begin" data-quiet data-reused="chat-settings">
            <label class="row tight">
                <span class="small">"Talk to"</span>
                <select name="persona" required>
                    {personas.into_iter().map(|(id, name)| view! {
                        <option value=id.to_string()>{name}</option>
                    }).collect_view()}
                </select>
            </label>
            <label class="row tight">
                <span class="small">"as"</span>
                <select name="mode">
                    {ChatMode::ALL.map(|mode| view! { <option value=mode.word()>{mode.label()}</option> })}
                </select>
            </label>
            <button class="button"><Glyph icon=Icon::Plus/> "New chat"</button>
        </form>
    }
}

/// Looks for chats by their words and their persona.
#[component]
fn Find(personas: Vec<Speaker>, persona: Option<PersonaId>, words: String) -> impl IntoView {
    view! {
        <form method="get" action="/chats" class="search wraps" role="search">
            <Glyph icon=Icon::Search/>
            <label class="sr" for="search">"Find in titles and in what was said"</label>
            <input id="search" type="search" name="q" autocomplete="off" placeholder="Find in titles and in what was said" value=words/>
            <label class="sr" for="with-persona">"With"</label>
            <select id="with-persona" name="persona">
                <option value="">"All personas"</option>
                {personas.into_iter().map(|(id, name)| {
                    let chosen = persona.as_ref() == Some(&id);
                    view! { <option value=id.to_string() selected=chosen>{name}</option> }
                }).collect_view()}
            </select>
            <button class="button quiet">"Find"</button>
        </form>
    }
}

fn shown(page: Page<ChatSummary>, persona: Option<PersonaId>, words: &str) -> AnyView {
    let searched = !words.trim().is_empty();
    let filtered = persona.is_some() || searched;
    if page.items.is_empty() && filtered {
        return view! {
            <section class="empty">
                <h2>"No such chats"</h2>
                {searched.then(|| view! { <p>{of_chats()}</p> })}
                <p><a href="/chats">"Show all chats"</a></p>
            </section>
        }
        .into_any();
    }
    if page.items.is_empty() {
        return view! {
            <section class="empty">
                <h2>"No chats yet"</h2>
                <p>"Choose a persona above and say something. Every answer can be asked for again, and every message put in other words: nothing is lost."</p>
            </section>
        }
        .into_any();
    }
    let with = persona.map(|id| format!("&persona={}", Url::escape(id.as_str())));
    let next = page.next.map(|after| format!("/chats?after={after}{}", with.unwrap_or_default()));
    view! {
        {searched.then(|| view! { <p class="faint small">{of_chats()}</p> })}
        <ul class="rows">
            {page.items.into_iter().map(|chat| view! { <Row chat/> }).collect_view()}
        </ul>
        {next.map(|next| view! { <p class="more"><a href=next class="button quiet">"Next page"</a></p> })}
    }
    .into_any()
}

/// Names as a sentence has them.
fn listed(names: &[String]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        names => names.concat(),
    }
}

#[component]
fn Row(chat: ChatSummary) -> impl IntoView {
    let ChatSummary { id, title, mode, persona_names, updated_at, .. } = chat;
    let shown = visible_in_prose(title.clone());
    let (rename, bin) = (format!("Rename “{shown}”"), format!("Move “{shown}” to the bin"));
    let field = format!("title-{id}");
    view! {
        <li class="card row" id=format!("chat-{id}")>
            <a class="card-link card-text" href=format!("/chats/{id}")>
                <strong class="one-line">{shown}</strong>
                <span class="faint small">{listed(&persona_names)} " · " {mode.label()}</span>
            </a>
            <span class="facts-aside faint small"><When at=updated_at/></span>
            <details class="popover" id=format!("rename-{id}")>
                <summary class="button quiet small" aria-label=rename>"Rename…"</summary>
                <form method="post" action=RenameChat::url() class="popup" data-quiet data-told="Renamed.">
                    <input type="hidden" name="id" value=id.to_string()/>
                    <label class="small" for=field.clone()>"Title"</label>
                    <input id=field name="title" required maxlength=TITLE.max_chars autocomplete="off" value=title/>
                    <button class="button small">"Rename"</button>
                </form>
            </details>
            <form method="post" action=DeleteChat::url() data-quiet data-told="The chat is in the bin.">
                <input type="hidden" name="id" value=id.to_string()/>
                <button class="icon" aria-label=bin title="Move to the bin"><Glyph icon=Icon::Bin/></button>
            </form>
        </li>
    }
}

/// Brings a chat in from a file.
#[component]
fn Import(personas: Vec<Speaker>) -> impl IntoView {
    view! {
        <details class="card details" id="import">
            <summary>"Import a chat…"</summary>
            <form method="post" action="/api/chats/import-file" enctype="multipart/form-data" class="stack">
                <div class="field">
                    <label for="import-file">"A file that a chat was exported to (JSON)"</label>
                    <input id="import-file" type="file" name="file" accept="application/json,.json" required/>
                    <small class="faint">{format!("All branches, labels, bookmarks and pruned messages come along. A file may have up to {MAX_FILE_MIB} MiB and {MAX_FILE_MESSAGES} messages.")}</small>
                </div>
                <label class="row tight">
                    <span class="small">"With"</span>
                    <select name="persona">
                        <option value="">"the persona that the file names"</option>
                        {personas.into_iter().map(|(id, name)| view! {
                            <option value=id.to_string()>{name}</option>
                        }).collect_view()}
                    </select>
                </label>
                <p><button class="button">"Import"</button></p>
            </form>
        </details>
    }
}
