//! The rail's content as HTML: what was said, and an answer while it is being given.
//!
//! The browser puts these pieces in place as they come; it knows nothing of what is in them.

mod follow;
mod shown;
mod words;

use aide::axum::ApiRouter;
use axum::{
    extract::State,
    response::{Html, IntoResponse, Response},
    routing::get,
};
use leptos::{prelude::*, server_fn::ServerFn};
use serde::Deserialize;

pub use self::shown::html;
use self::shown::shown_turns;
use super::{
    extract::{Params, Segments},
    sse::EventStream,
};
use crate::{
    agent::Talk,
    app::{
        components::{
            draft_card::DraftCard,
            icon::{Glyph, Icon},
            turn::TurnView,
        },
        server_fns::rail::StartAfresh,
    },
    domain::{
        chat::MAX_MEMBERS,
        error::ApiError,
        id::{ChangeId, ConversationId, MessageId, RunId},
    },
    state::{AppState, Desk, viewed},
};

/// How many messages are shown at once.
const AT_ONCE: u32 = 20;

pub fn routes() -> ApiRouter<AppState> {
    ApiRouter::new()
        .route("/rail", get(open))
        .route("/rail/turns", get(earlier))
        .route("/rail/runs/{id}", get(watch))
        .route("/rail/drafts/{id}", get(draft))
}

#[derive(Deserialize)]
struct Opened {
    /// The address of the page.
    at: String,
    /// The conversation, when it is not the one in use.
    conversation: Option<ConversationId>,
    /// Whether a whole document is wanted, for a browser without JavaScript.
    whole: Option<u8>,
}

#[derive(Deserialize)]
struct Earlier {
    conversation: ConversationId,
    until: MessageId,
}

#[derive(Deserialize)]
struct RunPath {
    /// A run, or several that go on side by side, with commas between them.
    id: String,
}

#[derive(Deserialize)]
struct DraftPath {
    id: ChangeId,
}

/// The rail's content, alone or as a document.
async fn open(
    State(state): State<AppState>,
    desk: Desk,
    Params(opened): Params<Opened>,
) -> Result<Response, ApiError> {
    let (whole, at) = (opened.whole.is_some(), opened.at.clone());
    let content = content(desk, opened).await?;
    if !whole {
        return Ok(Html(content).into_response());
    }
    let style = state.files.style.clone();
    // Only an address within the site leads back.
    let odd = |letter: char| letter == '\\' || letter.is_control();
    let ours = at.starts_with('/') && !at.starts_with("//") && !at.contains(odd);
    let back = if ours { at } else { "/".into() };
    let document = html(move || {
        view! {
            <html lang="en">
                <head>
                    <meta charset="utf-8"/>
                    <meta name="viewport" content="width=device-width, initial-scale=1"/>
                    <title>"Conversation"</title>
                    <link rel="stylesheet" href=style/>
                </head>
                <body>
                    <main id="page">
                        <p><a class="button quiet" href=back>"Back to the page"</a></p>
                        <div inner_html=content></div>
                    </main>
                </body>
            </html>
        }
        .into_any()
    });
    let policy = "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'";
    let headers = [("content-security-policy", policy)];
    Ok((headers, Html(format!("<!DOCTYPE html>{document}"))).into_response())
}

/// Who listens, what they see, and what was said last.
async fn content(desk: Desk, opened: Opened) -> Result<String, ApiError> {
    let view = viewed(&desk, &opened.at, "").await?;
    let (name, in_use) = desk.agent.listener(&desk.scope, &view.listener).await?;
    let shown = opened.conversation.clone().or(in_use.clone());
    let talk = match &shown {
        Some(id) => Some(desk.agent.talk(&desk.scope, id, None, AT_ONCE).await?),
        None => None,
    };
    let older = desk.agent.conversations(&desk.scope, &view.listener).await?;
    let run = talk.as_ref().and_then(|talk| talk.run.clone());
    let run = run.filter(|run| !run.status.is_over()).map(|run| run.id.to_string());
    let earlier = earlier_link(shown.as_ref(), talk.as_ref());
    let turns = match talk {
        Some(talk) => shown_turns(&desk, &name, talk).await?,
        None => Vec::new(),
    };
    let empty = turns.is_empty();
    let sees = if view.title.is_empty() { opened.at.clone() } else { view.title };
    let others: Vec<_> = older
        .into_iter()
        .filter(|other| Some(&other.id) != shown.as_ref())
        .map(|other| {
            let mark = if Some(&other.id) == in_use.as_ref() { " (in use)" } else { "" };
            (other.id.to_string(), format!("{}{mark}", other.created_at.readable()))
        })
        .collect();
    let at = opened.at;
    let conversation = shown.map(|id| id.to_string());
    let title = name.clone();
    Ok(html(move || {
        view! {
            <div id="talk" data-conversation=conversation data-run=run data-name=name>
                <header class="rail-head">
                    <div>
                        <h2>{title}</h2>
                        <p class="small faint">"Sees " <span class="chip">{sees}</span></p>
                    </div>
                    <div class="row tight">
                        {(!others.is_empty()).then(|| view! {
                            <details class="popover">
                                <summary class="icon" aria-label="Earlier conversations" title="Earlier conversations"><Glyph icon=Icon::History/></summary>
                                <ul class="popup">
                                    {others.into_iter().map(|(id, label)| view! {
                                        <li><button type="button" class="link" data-conversation=id>{label}</button></li>
                                    }).collect_view()}
                                </ul>
                            </details>
                        })}
                        <form method="post" action=StartAfresh::url() data-quiet data-talk data-told="A new conversation. The old one is kept.">
                            <input type="hidden" name="at" value=at/>
                            <button class="icon" aria-label="New conversation" title="New conversation"><Glyph icon=Icon::Plus/></button>
                        </form>
                    </div>
                </header>
                {empty.then(|| view! {
                    <p class="faint rail-empty">"Nothing was said yet. Ask a question, or say what should change: drafts appear here for you to decide on."</p>
                })}
                {earlier}
                <ol id="turns" class="turns">
                    {turns.into_iter().map(|turn| view! { <TurnView turn/> }).collect_view()}
                </ol>
            </div>
        }
        .into_any()
    }))
}

/// The place where earlier messages are loaded once it is scrolled to.
fn earlier_link(conversation: Option<&ConversationId>, talk: Option<&Talk>) -> Option<AnyView> {
    let until = talk?.earlier.as_ref()?;
    let address = format!("/rail/turns?conversation={}&until={until}", conversation?);
    Some(view! { <button type="button" class="button quiet small" id="earlier" data-load=address>"Earlier messages"</button> }.into_any())
}

/// Messages before those that are shown.
async fn earlier(desk: Desk, Params(asked): Params<Earlier>) -> Result<Html<String>, ApiError> {
    let Earlier { conversation, until } = asked;
    if desk.read().await?.conversation_of(&until).await? != conversation {
        return Err(ApiError::not_found("message"));
    }
    let talk = desk.agent.talk(&desk.scope, &conversation, Some(&until), AT_ONCE).await?;
    let talk = Talk { run: None, ..talk };
    let more = earlier_link(Some(&conversation), Some(&talk));
    let name = desk.agent.name_of(&desk.scope, &conversation).await?;
    let turns = shown_turns(&desk, &name, talk).await?;
    Ok(Html(html(move || {
        view! { {more} {turns.into_iter().map(|turn| view! { <TurnView turn/> }).collect_view()} }
            .into_any()
    })))
}

/// A draft's card.
async fn draft(desk: Desk, Segments(path): Segments<DraftPath>) -> Result<Html<String>, ApiError> {
    let draft = desk.gate.proposal(&path.id).await?;
    Ok(Html(html(move || view! { <DraftCard draft place="rail"/> }.into_any())))
}

/// An answer while it is being given.
async fn watch(
    State(state): State<AppState>,
    desk: Desk,
    Segments(path): Segments<RunPath>,
) -> Result<EventStream, ApiError> {
    let runs: Vec<RunId> = path.id.split(',').take(MAX_MEMBERS).map(RunId::new).collect();
    follow::follow(state, desk, &runs).await
}
