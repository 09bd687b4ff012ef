//! A session of the terminal, to be read: it is talked in with `greenroom chat`.

use leptos::{prelude::*, server_fn::ServerFn};
use leptos_router::hooks::{use_params_map, use_query_map};

use crate::{
    app::{
        components::{
            icon::{Glyph, Icon},
            page_title::PageTitle,
            problem::PageProblem,
            session_turn::pieces,
            turn::{PieceView, ShownTurn, TurnFoot, pieces_id},
            when::When,
        },
        server_fns::terminal::{DescribeTerminal, TerminalData, open_terminal},
    },
    domain::{
        id::{ConversationId, MessageId, PartId},
        message::{Message, Role},
        run::Run,
        terminal::{DESCRIPTION, ManagerKind, TerminalSession},
        visible::{visible, visible_in_prose},
    },
};

/// The page.
#[component]
pub fn TerminalPage() -> impl IntoView {
    let id = use_params_map().read_untracked().get("id").unwrap_or_default();
    let id = ConversationId::new(id);
    let until = use_query_map().read_untracked().get("until").map(MessageId::new);
    view! {
        <Suspense>
            {Suspend::new(async move {
                match open_terminal(id, until).await {
                    Ok(data) => shown(data).into_any(),
                    Err(error) => view! { <PageProblem error/> }.into_any(),
                }
            })}
        </Suspense>
    }
}

fn shown(data: TerminalData) -> impl IntoView {
    let TerminalData { session, turns, earlier, run } = data;
    let title = visible_in_prose(session.title());
    let model = session.settings.model.clone();
    let earlier = earlier.map(|until| format!("/terminal/{}?until={until}", session.id));
    let empty = turns.is_empty();
    // Where programs run, the answer grows on the page, if it is on it.
    let is_shown = |run: &&Run| turns.iter().any(|(message, _)| message.id == run.reply_id);
    let going_on = run.as_ref().filter(|run| !run.status.is_over()).filter(is_shown);
    let follows = going_on.map(|run| run.id.to_string());
    let going = follows.is_some();
    let here = format!("/terminal/{}", session.id);
    let turns = turns.into_iter().map(|(message, html)| {
        let of_run = run.clone().filter(|run| run.reply_id == message.id);
        view! { <TurnView message html run=of_run model=model.clone()/> }
    });
    let turns = turns.collect_view();
    view! {
        <PageTitle text=title.clone()/>
        <nav class="crumbs small" aria-label="Where this is">
            <a href="/chats">"Chats"</a> <a href="/terminal">"Terminal"</a>
        </nav>
        <header class="page-head chat-head"><h1 class="one-line">{title}</h1></header>
        <Facts session/>
        <div id="chat" class="chat" data-follow=follows>
            {empty.then(|| view! { <p class="empty faint">"Nothing was said yet."</p> })}
            <ol class="turns">
                {earlier.map(|earlier| view! {
                    <li class="earlier"><a class="button quiet small" href=earlier>"Earlier messages"</a></li>
                })}
                {turns}
            </ol>
            {going.then(|| view! {
                <noscript><p class="small">"It is being answered. " <a href=here>"Show what came since"</a></p></noscript>
            })}
        </div>
    }
}

/// What the session speaks with, and how one goes on with it.
#[component]
fn Facts(session: TerminalSession) -> impl IntoView {
    let settings = session.settings;
    let cut = if settings.should_truncate_results { ", long results are cut" } else { "" };
    let earlier = match settings.conversation_manager {
        ManagerKind::SlidingWindow => "what was said before them is left out",
        ManagerKind::Summarizing => "what was said before them is summed up",
    };
    let prompt = settings.system_prompt.map(|prompt| {
        let from = prompt.path.map(|path| visible(format!(" (from {path})")));
        view! {
            <details>
                <summary class="small">"System prompt" {from}</summary>
                <pre class="wraps small">{visible(prompt.text)}</pre>
            </details>
        }
    });
    view! {
        <p class="faint small session-facts">
            {settings.model} " · " {settings.window_size} " exchanges are sent" {cut}
            " · " {earlier}
        </p>
        <p class="small">
            "Go on with it: " <code id="resume">{format!("greenroom chat --session {}", session.id)}</code> " "
            <button type="button" class="icon tiny needs-script" data-copy="resume" aria-label="Copy the command" title="Copy the command">
                <Glyph icon=Icon::Copy/>
            </button>
        </p>
        {prompt}
        <form method="post" action=DescribeTerminal::url() class="stack session-name" data-quiet data-told="Saved.">
            <input type="hidden" name="id" value=session.id.to_string()/>
            <label class="small" for="description">"What it is called"</label>
            <div class="row">
                <input id="description" name="description" autocomplete="off" maxlength=DESCRIPTION.max_chars value=session.description/>
                <button class="button quiet small">"Save"</button>
            </div>
        </form>
    }
}

#[component]
fn TurnView(
    message: Message,
    html: Vec<(PartId, String)>,
    run: Option<Run>,
    model: String,
) -> impl IntoView {
    let mine = message.role == Role::User;
    let spoke = if message.model.is_empty() { model } else { message.model.clone() };
    let who = if mine { "You".to_owned() } else { spoke };
    let id = message.id.clone();
    let live = run.as_ref().is_some_and(|run| !run.status.is_over()).then_some("");
    let pieces = pieces(&message, html, &[]);
    let foot = ShownTurn {
        id: id.clone(),
        role: message.role,
        who: who.clone(),
        pieces: Vec::new(),
        at: message.created_at,
        model: message.model,
        stop: message.stop,
        spent: message.spent,
        run,
        told: None,
        asks: false,
    };
    view! {
        <li class="turn chat-turn" class:you=mine id=format!("turn-{id}") data-live=live>
            <p class="who"><strong>{who}</strong> " " <When at=message.created_at/></p>
            <div class="pieces" id=pieces_id(&id)>
                {pieces.into_iter().map(|piece| view! { <PieceView piece/> }).collect_view()}
            </div>
            <TurnFoot turn=foot/>
        </li>
    }
}
