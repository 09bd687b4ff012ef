//! The entrance of a persona's playground: beginning a session, the sessions there are, and its tools.

use leptos::{prelude::*, server_fn::ServerFn};
use leptos_router::hooks::{use_params_map, use_query_map};

use crate::{
    app::{
        components::{
            icon::{Glyph, Icon},
            page_title::PageTitle,
            problem::PageProblem,
            session_fields::{ModelChoice, VariableFields, VersionChoice},
            when::When,
        },
        server_fns::playground::{
            BeginSession, DeleteSession, EntranceData, Player, SetTools, open_playground,
        },
    },
    domain::{
        id::PersonaId,
        message::MESSAGE,
        playground::{PlaygroundSession, TOOLS, Variables},
    },
};

/// The page.
#[component]
pub fn PlaygroundPage() -> impl IntoView {
    let id = PersonaId::new(use_params_map().read_untracked().get("id").unwrap_or_default());
    let query = use_query_map().read_untracked().clone();
    let (deleted, after) = (query.get("deleted").is_some(), query.get("after"));
    view! {
        <Suspense>
            {Suspend::new(async move {
                match open_playground(id, deleted, after).await {
                    Ok(data) => shown(data).into_any(),
                    Err(error) => view! { <PageProblem error/> }.into_any(),
                }
            })}
        </Suspense>
    }
}

fn shown(data: EntranceData) -> impl IntoView {
    let EntranceData { player, sessions, deleted, any_deleted, variable_names, older_names } = data;
    let editor = format!("/personas/{}", player.id);
    let home = format!("/playground/{}", player.id);
    let title = format!("Playground of {}", player.name);
    let next = sessions.next.clone().map(|after| {
        let mark = if deleted { "&deleted=1" } else { "" };
        format!("{home}?after={after}{mark}")
    });
    let empty = sessions.items.is_empty();
    let other = match deleted {
        true => Some((home.clone(), "Sessions in use")),
        false if any_deleted => Some((format!("{home}?deleted=1"), "Deleted sessions")),
        false => None,
    };
    view! {
        <PageTitle text=title.clone()/>
        <nav class="crumbs small" aria-label="Where this is">
            <a href="/">"Personas"</a> <a href=editor>{player.name.clone()}</a>
        </nav>
        <header class="page-head"><h1>"Playground"</h1></header>
        <div class="playground entrance">
            <Begin player=player.clone() variable_names older_names/>
            <section class="stack" aria-labelledby="sessions-title">
                <header class="row apart">
                    <h2 id="sessions-title">{if deleted { "Deleted sessions" } else { "Sessions" }}</h2>
                    {other.map(|(href, told)| view! { <a class="button quiet small" href=href>{told}</a> })}
                </header>
                {empty.then(|| view! {
                    <p class="empty faint">{if deleted { "Nothing was deleted." } else { "No session yet. Say something to begin one." }}</p>
                })}
                <ul class="sessions">
                    {sessions.items.into_iter().map(|session| view! { <Row session/> }).collect_view()}
                </ul>
                {next.map(|next| view! { <p class="more"><a href=next class="button quiet">"Next page"</a></p> })}
            </section>
            <Tools player/>
        </div>
    }
}

#[component]
fn Row(session: PlaygroundSession) -> impl IntoView {
    let path = format!("/playground/{}/{}", session.persona_id, session.id);
    let gone = session.deleted_at.is_some();
    let (told, label, icon) = match gone {
        true => ("It is back.", "Bring back", Icon::Undo),
        false => ("The session is deleted. It can be brought back.", "Delete", Icon::Bin),
    };
    let name = session.title.clone();
    let link = match gone {
        true => view! { <span class="one-line">{name}</span> }.into_any(),
        false => view! { <a class="one-line" href=path>{name}</a> }.into_any(),
    };
    let model = (!session.model.is_empty()).then(|| format!(" · {}", session.model));
    view! {
        <li class="row apart" id=format!("session-{}", session.id)>
            <div class="session-name">
                {link}
                <span class="faint small">"v" {session.persona_revision} {model} " · " <When at=session.updated_at/></span>
            </div>
            <form method="post" action=DeleteSession::url() data-quiet data-told=told>
                <input type="hidden" name="persona" value=session.persona_id.to_string()/>
                <input type="hidden" name="id" value=session.id.to_string()/>
                {gone.then(|| view! { <input type="hidden" name="back" value="true"/> })}
                <button class="button quiet small"><Glyph icon/> {label}</button>
            </form>
        </li>
    }
}

/// The form that begins a session.
#[component]
fn Begin(player: Player, variable_names: Vec<String>, older_names: Vec<String>) -> impl IntoView {
    let bare = player.tools.is_empty();
    view! {
        <section class="card stack" aria-labelledby="begin-title">
            <h2 id="begin-title">"New session"</h2>
            {bare.then(|| view! {
                <p class="told small">{player.name.clone()} " has no tools yet. Give it some below, or just talk."</p>
            })}
            <form method="post" action=BeginSession::url() class="stack" data-quiet>
                <input type="hidden" name="persona" value=player.id.to_string()/>
                <VariableFields names=variable_names values=Variables::new()/>
                {(!older_names.is_empty()).then(|| view! {
                    <details class="details">
                        <summary>"Variables of versions before"</summary>
                        <VariableFields names=older_names values=Variables::new()/>
                    </details>
                })}
                <div class="field">
                    <label for="first-words">"First message"</label>
                    <textarea id="first-words" name="words" rows="3" maxlength=MESSAGE.max_chars placeholder="What shall it do?"></textarea>
                </div>
                <div class="pair narrow">
                    <VersionChoice versions=player.versions chosen=player.revision/>
                    <ModelChoice models=player.models own=player.model chosen=String::new()/>
                </div>
                <p><button class="button"><Glyph icon=Icon::Run/> "Begin"</button></p>
            </form>
        </section>
    }
}

/// Which tools the persona has.
#[component]
fn Tools(player: Player) -> impl IntoView {
    let has = |name: &str| player.tools.iter().any(|tool| tool == name);
    view! {
        <section class="card stack" aria-labelledby="tools-title">
            <h2 id="tools-title">"Tools of " {player.name.clone()}</h2>
            <form method="post" action=SetTools::url() class="stack" data-quiet data-told="The tools are saved as a new version.">
                <input type="hidden" name="persona" value=player.id.to_string()/>
                <ul class="tool-choices">
                    {TOOLS.map(|(name, label)| view! {
                        <li><label><input type="checkbox" name="tools[]" value=name checked=has(name)/> <code>{name}</code> " " <span class="faint small">{label}</span></label></li>
                    })}
                    {player.others.iter().map(|(name, does)| view! {
                        <li><label><input type="checkbox" name="tools[]" value=name.clone() checked=has(name)/> <code>{name.clone()}</code> " " <span class="faint small">{does.clone()}</span></label></li>
                    }).collect_view()}
                </ul>
                <p class="faint small">"They work on files that exist in the session only. Python runs in a sandbox without network. Further ones are the operator’s."</p>
                <p><button class="button quiet">"Save the tools"</button></p>
            </form>
        </section>
    }
}
