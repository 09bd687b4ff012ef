//! The rail's content as HTML: what was said, and an answer while it is being given.
//!
//! The browser puts these pieces in place as they come; it knows nothing of what is in them.

mod follow;
mod shown;
mod words;

use aide::axum::ApiRouter;
use axum::{
    extract::State,
    http::{StatusCode, request::Parts},
    response::{Html, IntoResponse, Response},
    routing::get,
};
use leptos::{prelude::*, server_fn::ServerFn};
use serde::Deserialize;

pub use self::shown::html;
use self::shown::shown_turns;
use super::{
    conversations::check_said,
    extract::{Params, Segments},
    sse::EventStream,
};
use crate::{
    agent::{Listener, Talk},
    app::{
        components::{
            draft_card::DraftCard,
            frame::PLACES,
            icon::{Glyph, Icon},
            problem::RefusedForm,
            turn::TurnView,
        },
        server_fns::rail::StartAfresh,
    },
    domain::{
        change::{Entity, EntityKind},
        chat::MAX_MEMBERS,
        error::ApiError,
        id::{ChangeId, ConversationId, MessageId, RunId},
        visible::visible_in_prose,
    },
    state::{AppState, Desk, viewed},
    store::StoreError,
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
    /// In such a document: the last message that is shown, when it is not the last of all.
    until: Option<MessageId>,
    /// In such a document: the run whose answer is looked for.
    run: Option<RunId>,
    /// The earlier conversations that are offered are those before this one.
    before: Option<ConversationId>,
}

/// How more of a conversation is reached.
enum Reached {
    /// By buttons that the browser's program knows.
    Buttons,
    /// By links to documents, about the page with this address.
    Links(String),
}

impl Opened {
    fn reached(&self) -> Reached {
        let path = self.at.split(['?', '#']).next().unwrap_or_default();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_".contains(&byte);
        match (self.whole, path.bytes().all(plain)) {
            (None, _) => Reached::Buttons,
            (Some(_), true) => Reached::Links(path.to_owned()),
            (Some(_), false) => Reached::Links("/".into()),
        }
    }
}

/// The address of a document with a conversation in it.
fn document_of(at: &str, conversation: &str) -> String {
    format!("/rail?whole=1&at={at}&conversation={conversation}")
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

/// Where a draft's card is shown.
#[derive(Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Place {
    #[default]
    Rail,
    Inbox,
    Workbench,
}

#[derive(Deserialize)]
struct Placed {
    #[serde(default)]
    place: Place,
}

/// The rail's content, alone or as a document.
async fn open(
    State(state): State<AppState>,
    desk: Desk,
    parts: Parts,
    Params(opened): Params<Opened>,
) -> Result<Response, ApiError> {
    let (whole, at) = (opened.whole.is_some(), opened.at.clone());
    let (status, content) = match content(desk, opened).await {
        Ok(content) => (StatusCode::OK, content),
        // Who came by a link reads a sentence, not what a program reads.
        Err(error) if whole => {
            let told = error.to_string();
            let status = StatusCode::from_u16(error.status()).unwrap_or_default();
            (status, html(move || view! { <p class="problem">{told}</p> }.into_any()))
        }
        Err(error) => return Err(error),
    };
    if !whole {
        return Ok(Html(content).into_response());
    }
    let style = state.files.style.clone();
    // Only an address within the site leads back.
    let odd = |letter: char| letter == '\\' || letter.is_control();
    let ours = at.starts_with('/') && !at.starts_with("//") && !at.contains(odd);
    let back = if ours { at } else { "/".into() };
    let document = html(move || {
        // A form of this document that was refused leads back to it.
        provide_context(parts);
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
                        <RefusedForm/>
                        <div inner_html=content></div>
                    </main>
                </body>
            </html>
        }
        .into_any()
    });
    let policy = "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'";
    let headers = [("content-security-policy", policy)];
    Ok((status, headers, Html(format!("<!DOCTYPE html>{document}"))).into_response())
}

/// Who listens, what they see, and what was said last.
async fn content(desk: Desk, mut opened: Opened) -> Result<String, ApiError> {
    opened.conversation = opened.conversation.filter(|id| !id.as_str().is_empty());
    let view = viewed(&desk, &opened.at, "").await?;
    let (mut name, in_use) = desk.agent.listener(&desk.scope, &view.listener).await?;
    if let Some(other) = &opened.conversation {
        name = desk.agent.name_of(&desk.scope, other).await?;
    }
    name = visible_in_prose(name);
    let shown = opened.conversation.clone().or(in_use.clone());
    let reached = opened.reached();
    let until = match (opened.whole, opened.until, &opened.run) {
        (Some(_), None, Some(run)) => answer_of(&desk, run).await?,
        (Some(_), until, _) => until,
        (None, ..) => None,
    };
    if let (Some(until), Some(shown)) = (&until, &shown) {
        check_said(&desk, shown, until).await?;
    }
    let talk = match &shown {
        Some(id) => Some(desk.agent.talk(&desk.scope, id, until.as_ref(), AT_ONCE).await?),
        None => None,
    };
    let before = opened.before.as_ref();
    let (older, more) = desk.agent.conversations(&desk.scope, &view.listener, before).await?;
    let last_offered = older.last().filter(|_| more).map(|(last, _)| last.id.to_string());
    let last = talk.as_ref().and_then(|talk| talk.run.as_ref());
    let stands = |over: bool| last.filter(|run| run.status.is_over() == over);
    let [run, ended] = [false, true].map(|over| stands(over).map(|run| run.id.to_string()));
    let earlier = earlier_link(shown.as_ref(), talk.as_ref(), &reached);
    let later = later_link(shown.as_ref(), until.as_ref(), &reached);
    let turns = match talk {
        Some(talk) => shown_turns(&desk, &name, talk).await?,
        None => Vec::new(),
    };
    let empty = turns.is_empty();
    // On the page of a persona that lies in the bin, or is gone, its agent does not listen.
    let page = opened.at.split(['?', '#']).next().and_then(Entity::at);
    let in_bin = view.listener == Listener::Companion
        && opened.conversation.is_some()
        && page.is_some_and(|page| page.kind == EntityKind::Persona);
    let is_earlier = opened.conversation.is_some() && shown != in_use && !in_bin;
    let place = PLACES.iter().find(|place| place.path == opened.at);
    let sees = match (view.title.is_empty(), place) {
        (false, _) => visible_in_prose(view.title),
        (true, Some(place)) => place.label.to_owned(),
        (true, None) => opened.at.clone(),
    };
    let others: Vec<_> = older
        .into_iter()
        .filter(|(other, _)| Some(&other.id) != shown.as_ref())
        .map(|(other, words)| {
            let mark = if Some(&other.id) == in_use.as_ref() { " (in use)" } else { "" };
            let label = format!("{}{mark} ", other.created_at.readable());
            (other.id.to_string(), label, visible_in_prose(words))
        })
        .collect();
    // The same conversation, with the next of the earlier ones on offer.
    let further = last_offered.map(|last| {
        let this = shown.as_ref().map(ToString::to_string).unwrap_or_default();
        (format!("{this}&before={last}"), "Earlier ones…".to_owned(), String::new())
    });
    let newest = opened.before.map(|_| {
        let this = shown.as_ref().map(ToString::to_string).unwrap_or_default();
        (this, "Latest ones…".to_owned(), String::new())
    });
    let mut offered = newest.into_iter().chain(others).chain(further).collect::<Vec<_>>();
    if in_bin {
        offered.clear();
    }
    let back = match &reached {
        Reached::Buttons => view! {
            <button type="button" class="link" data-conversation="">"Back to the one in use"</button>
        }
        .into_any(),
        Reached::Links(at) => {
            view! { <a href=format!("/rail?whole=1&at={at}")>"Back to the one in use"</a> }
                .into_any()
        }
    };
    let at = opened.at;
    let conversation = shown.map(|id| id.to_string());
    let title = name.clone();
    Ok(html(move || {
        view! {
            <div id="talk" data-conversation=conversation data-run=run data-ended=ended data-name=name>
                <header class="rail-head">
                    <div>
                        <h2>{title}</h2>
                        {(!in_bin).then(|| view! {
                            <p class="small faint">"Sees " <span class="chip">{sees}</span></p>
                        })}
                        {is_earlier.then(|| view! {
                            <p class="small faint">"This is an earlier conversation. What you say goes to the one in use. " {back}</p>
                        })}
                        {in_bin.then(|| view! {
                            <p class="small faint">"This persona is in the bin: what was said can be read, and nobody answers. " <a href="/bin">"Open the bin"</a></p>
                        })}
                    </div>
                    <div class="row tight">
                        {(!offered.is_empty()).then(|| view! {
                            <details class="popover">
                                <summary class="icon" aria-label="Earlier conversations" title="Earlier conversations"><Glyph icon=Icon::History/></summary>
                                <ul class="popup">
                                    {offered.into_iter().map(|(id, label, words)| match &reached {
                                        Reached::Buttons => view! {
                                            <li><button type="button" class="link" data-conversation=id>{label}<span class="faint one-line">{words}</span></button></li>
                                        }.into_any(),
                                        Reached::Links(at) => view! {
                                            <li><a href=document_of(at, &id)>{label}<span class="faint one-line">{words}</span></a></li>
                                        }.into_any(),
                                    }).collect_view()}
                                </ul>
                            </details>
                        })}
                        {(!in_bin).then(|| view! { <form method="post" action=StartAfresh::url() data-quiet data-talk data-told="A new conversation. The old one is kept.">
                            <input type="hidden" name="at" value=at/>
                            <button class="icon" aria-label="New conversation" title="New conversation"><Glyph icon=Icon::Plus/></button>
                        </form> })}
                    </div>
                </header>
                {empty.then(|| view! {
                    <p class="faint rail-empty">"Nothing was said yet. Ask a question, or say what should change: drafts appear here for you to decide on."</p>
                })}
                <ol id="turns" class="turns" data-grows>
                    {earlier}
                    {turns.into_iter().map(|turn| view! { <TurnView turn/> }).collect_view()}
                </ol>
                {later}
            </div>
        }
        .into_any()
    }))
}

/// The answer that a run gave, once it is kept.
async fn answer_of(desk: &Desk, run: &RunId) -> Result<Option<MessageId>, ApiError> {
    let mut link = desk.read().await?;
    let answer = match link.run(run).await {
        Ok(run) => link.message(&run.reply_id).await,
        Err(error) => Err(error),
    };
    match answer {
        Ok(answer) => Ok(Some(answer.id)),
        Err(StoreError::NotFound(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The way back from earlier messages in a document.
fn later_link(
    conversation: Option<&ConversationId>,
    until: Option<&MessageId>,
    reached: &Reached,
) -> Option<AnyView> {
    let (Reached::Links(at), Some(_)) = (reached, until) else { return None };
    let address = document_of(at, conversation?.as_str());
    Some(
        view! { <p><a class="button quiet small" href=address>"Newest messages"</a></p> }
            .into_any(),
    )
}

/// The place where earlier messages are loaded once it is scrolled to; in a document, the way there.
fn earlier_link(
    conversation: Option<&ConversationId>,
    talk: Option<&Talk>,
    reached: &Reached,
) -> Option<AnyView> {
    let until = talk?.earlier.as_ref()?;
    let conversation = conversation?;
    if let Reached::Links(at) = reached {
        let address = format!("{}&until={until}", document_of(at, conversation.as_str()));
        return Some(
            view! { <li class="earlier"><a class="button quiet small" href=address>"Earlier messages"</a></li> }
                .into_any(),
        );
    }
    let address = format!("/rail/turns?conversation={conversation}&until={until}");
    Some(
        view! {
            <li class="earlier">
                <button type="button" class="button quiet small" id="earlier" data-load=address>"Earlier messages"</button>
            </li>
        }
        .into_any(),
    )
}

/// Messages before those that are shown.
async fn earlier(desk: Desk, Params(asked): Params<Earlier>) -> Result<Html<String>, ApiError> {
    let Earlier { conversation, until } = asked;
    check_said(&desk, &conversation, &until).await?;
    let talk = desk.agent.talk(&desk.scope, &conversation, Some(&until), AT_ONCE).await?;
    let talk = Talk { run: None, ..talk };
    let more = earlier_link(Some(&conversation), Some(&talk), &Reached::Buttons);
    let name = visible_in_prose(desk.agent.name_of(&desk.scope, &conversation).await?);
    let turns = shown_turns(&desk, &name, talk).await?;
    Ok(Html(html(move || {
        view! { {more} {turns.into_iter().map(|turn| view! { <TurnView turn/> }).collect_view()} }
            .into_any()
    })))
}

/// A draft's card.
async fn draft(
    desk: Desk,
    Segments(path): Segments<DraftPath>,
    Params(placed): Params<Placed>,
) -> Result<Html<String>, ApiError> {
    let draft = desk.gate.proposal(&path.id).await?;
    let place = match placed.place {
        Place::Rail => "rail",
        Place::Inbox => "inbox",
        Place::Workbench => "workbench",
    };
    Ok(Html(html(move || view! { <DraftCard draft place/> }.into_any())))
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
