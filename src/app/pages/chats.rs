//! All chats, and beginning one.

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
        server_fns::{
            chats::{BeginChat, list_chats},
            personas::{list_personas, open_persona},
        },
    },
    domain::{
        chat::{ChatMode, ChatSummary},
        id::PersonaId,
        list::Page,
    },
};

/// The page.
#[component]
pub fn ChatsPage() -> impl IntoView {
    let query = use_query_map().read_untracked().clone();
    let (persona, after) = (query.get("persona").map(PersonaId::new), query.get("after"));
    view! {
        <PageTitle text="Chats"/>
        <header class="page-head"><h1>"Chats"</h1></header>
        <Suspense>
            {Suspend::new(async move {
                let personas = speakers(persona.clone()).await;
                match list_chats(persona, after).await {
                    Ok(page) => view! { <Begin personas/> {shown(page)} }.into_any(),
                    Err(error) => view! { <PageProblem error/> }.into_any(),
                }
            })}
        </Suspense>
    }
}

/// Who can be talked to: the one that is asked for, and those that changed last.
async fn speakers(first: Option<PersonaId>) -> Vec<(PersonaId, String)> {
    let list = list_personas(String::new(), None).await;
    let list = list.map(|list| list.page.items).unwrap_or_default();
    let asked_for = match first {
        Some(id) => open_persona(id).await.ok(),
        None => None,
    };
    let first = asked_for.map(|open| (open.persona.id, open.persona.fields.name));
    let known = first.as_ref().map(|(id, _)| id.clone());
    let others = list.into_iter().map(|persona| (persona.id, persona.name));
    first.into_iter().chain(others.filter(|(id, _)| Some(id) != known.as_ref())).collect()
}

/// The form that begins a chat.
#[component]
fn Begin(personas: Vec<(PersonaId, String)>) -> impl IntoView {
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

fn shown(page: Page<ChatSummary>) -> AnyView {
    if page.items.is_empty() {
        return view! {
            <section class="empty">
                <h2>"No chats yet"</h2>
                <p>"Choose a persona above and say something. Every answer can be asked for again, and every message put in other words: nothing is lost."</p>
            </section>
        }
        .into_any();
    }
    let next = page.next.map(|after| format!("/chats?after={after}"));
    view! {
        <ul class="rows">
            {page.items.into_iter().map(|chat| view! { <Row chat/> }).collect_view()}
        </ul>
        {next.map(|next| view! { <p class="more"><a href=next class="button quiet">"Next page"</a></p> })}
    }
    .into_any()
}

#[component]
fn Row(chat: ChatSummary) -> impl IntoView {
    view! {
        <li class="card row" id=format!("chat-{}", chat.id)>
            <a class="card-link card-text" href=format!("/chats/{}", chat.id)>
                <strong class="one-line">{chat.title}</strong>
                <span class="faint small">{chat.persona_name} " · " {chat.mode.label()}</span>
            </a>
            <span class="facts-aside faint small"><When at=chat.updated_at/></span>
        </li>
    }
}
