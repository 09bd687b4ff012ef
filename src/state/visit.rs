//! What a browser says about itself with every request, and what it is shown of chats.

use std::str::FromStr;

use axum::http::{HeaderMap, HeaderValue, header, request::Parts};
use leptos::context::use_context;
use leptos_axum::ResponseOptions;

use super::{AppState, Desk};
use crate::{
    accounts::{Secret, Transport},
    app::server_fns::{
        chat_tree::{Compared, ComparedTurn, Paragraph, Side},
        chats::ChatTurn,
    },
    domain::{
        change::{Entity, EntityKind},
        chat::{Chat, ChatMode, ChatSummary},
        compare::{ComparedRow, Comparison, Speakers, sides},
        diff::Segment,
        error::ApiError,
        id::{ConversationId, MessageId, PersonaId, RunId},
        list::{PAGE_SIZE, Page},
        message::Message,
        paragraph::paragraphs,
        picture::Picture,
        run::Run,
        search::SearchKind,
        tree::PathMessage,
        visible::{show_in, visible, visible_in_prose},
    },
    markdown,
    search::Question,
    store::new_id,
};

/// From where a request came, and what its browser holds.
#[derive(Clone, Debug, Default)]
pub struct Visit {
    /// The address; empty within this process.
    pub address: String,
    /// The session that its cookie names, whether or not it is good.
    pub session: Option<Secret>,
}

const DEVICE: &str = "device";
const YEAR_SECONDS: u32 = 365 * 24 * 60 * 60;
/// A name that we gave has no more letters.
const MAX_CHARS: usize = 64;

/// Keeps where a browser is in a chat, if it went there. A place that cannot be kept must not hide the chat.
pub async fn keep_place(
    desk: &Desk,
    chat: &ConversationId,
    leaf: &MessageId,
    device: &str,
    was_at: Option<&MessageId>,
    stays: bool,
) -> Result<(), ApiError> {
    // Looking at it once more is not going there; what was written below one's place is there already.
    let goes = match was_at {
        Some(at) if stays && at != leaf => {
            desk.read().await?.newest_below(chat, at).await.is_ok_and(|newest| newest == *leaf)
        }
        _ => !stays,
    };
    if goes && let Err(error) = desk.agent.saw(&desk.scope, chat, leaf, device, was_at).await {
        tracing::warn!(%error, %chat, "where a device is cannot be kept");
    }
    Ok(())
}

/// The name of the browser that asks. One that has none yet is given one.
pub fn device() -> String {
    let parts = use_context::<Parts>();
    let cookies = parts.as_ref().and_then(|parts| parts.headers.get(header::COOKIE)?.to_str().ok());
    let known = cookies.unwrap_or_default().split(';').find_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        let ours = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        let fits = (1..=MAX_CHARS).contains(&value.len()) && value.chars().all(ours);
        (name == DEVICE && fits).then(|| value.to_owned())
    });
    known.unwrap_or_else(|| {
        let name: String = new_id();
        let cookie =
            format!("{DEVICE}={name}; Path=/; Max-Age={YEAR_SECONDS}; HttpOnly; SameSite=Lax");
        if let (Some(response), Ok(cookie)) =
            (use_context::<ResponseOptions>(), HeaderValue::from_str(&cookie))
        {
            response.append_header(header::SET_COOKIE, cookie);
        }
        name
    })
}

/// The site as whoever asks reaches it. The guard lets only our own names through.
pub fn origin(state: &AppState, headers: &HeaderMap) -> String {
    let named = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let scheme = match state.access.transport {
        Transport::Tls => "https",
        Transport::Plain if named("x-forwarded-proto") == Some("https") => "https",
        Transport::Plain => "http",
    };
    format!("{scheme}://{}", named("host").unwrap_or_default())
}

/// The whole address of a path, as the browser that asks reaches it.
pub fn link_to(path: &str) -> String {
    let asked = use_context::<AppState>().zip(use_context::<Parts>());
    let origin = asked.map(|(state, parts)| origin(&state, &parts.headers));
    format!("{}{path}", origin.unwrap_or_default())
}

/// The chat that a page shows, by the page's address.
pub fn chat_at(address: &str) -> Option<ConversationId> {
    let path = address.split(['?', '#']).next().unwrap_or_default();
    let entity = Entity::at(path).filter(|entity| entity.kind == EntityKind::Chat);
    entity.map(|entity| ConversationId::new(entity.id))
}

/// The first of two branches that are compared on the page from which a request came.
pub fn compared_first() -> Option<MessageId> {
    let parts = use_context::<Parts>()?;
    let page = parts.headers.get(header::REFERER)?.to_str().ok()?;
    let (_, query) = page.split('#').next()?.split_once('?')?;
    let named = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name));
    let (first, _) = (named("compare=")?, named("with=")?);
    Some(MessageId::new(first))
}

/// Messages of a chat as its page shows them.
pub async fn shown_turns(
    desk: &Desk,
    chat: &Chat,
    said: Vec<PathMessage>,
) -> Result<Vec<ChatTurn>, ApiError> {
    let ids: Vec<&MessageId> = said.iter().map(|said| &said.message.id).collect();
    let runs: Vec<&RunId> = said.iter().filter_map(|said| said.message.run_id.as_ref()).collect();
    let mut link = desk.read().await?;
    let pictures = link.pictures_of(&chat.id, &ids).await?;
    let broken = link.broken_runs(&runs).await?;
    let shown = |said| shown_turn(said, chat.mode, &pictures, &broken);
    Ok(said.into_iter().map(shown).collect())
}

/// A message with its words rendered, in a story paragraph by paragraph, and with what is its own of the
/// pictures and of the runs that did not come to a good end.
fn shown_turn(
    mut said: PathMessage,
    mode: ChatMode,
    pictures: &[Picture],
    broken: &[Run],
) -> ChatTurn {
    show_in(&mut said.persona_name);
    let id = Some(&said.message.id);
    let own = pictures.iter().filter(|picture| picture.message_id.as_ref() == id);
    let pictures = own.cloned().collect();
    let broken = broken.iter().find(|run| Some(&run.reply_id) == id).cloned();
    let told = match mode {
        ChatMode::Story if !said.generating => paragraphs(&said.content),
        ChatMode::Story | ChatMode::Roleplay => Vec::new(),
    };
    let paragraphs = told.into_iter().map(|range| Paragraph {
        text: said.content[range.clone()].to_owned(),
        html: markdown::to_html(&said.content[range]),
    });
    let (paragraphs, html) = (paragraphs.collect(), markdown::to_html(&said.content));
    ChatTurn { said, html, paragraphs, pictures, broken }
}

/// Two branches with their words rendered, and marked where both answer the same.
pub fn compared(comparison: Comparison) -> Compared {
    let Comparison { left, right, common, shared, rows, speakers, from, next } = comparison;
    let shared = shared.iter().map(|message| side(message, &speakers, Vec::new())).collect();
    let turns = rows.into_iter().map(|row| compared_turn(row, &speakers)).collect();
    Compared { left, right, common, shared, turns, from, next }
}

fn compared_turn(row: ComparedRow, speakers: &Speakers) -> ComparedTurn {
    let words = |message: &Option<Message>| message.as_ref().map(Message::text);
    let (one, other) = (words(&row.left), words(&row.right));
    let alike = one.is_some() && one == other;
    let speaker = |message: &Option<Message>| speakers.get(&message.as_ref()?.id);
    let same = alike && speaker(&row.left) == speaker(&row.right);
    let marked = match (one, other) {
        (Some(one), Some(other)) if row.comparable && !alike => {
            sides(&visible(one), &visible(other))
        }
        _ => None,
    };
    let (one, other) = marked.unwrap_or_default();
    let left = row.left.map(|message| side(&message, speakers, one));
    ComparedTurn { left, right: row.right.map(|message| side(&message, speakers, other)), same }
}

fn side(message: &Message, speakers: &Speakers, segments: Vec<Segment>) -> Side {
    let html = markdown::to_html(&message.text());
    let name = speakers.get(&message.id).map(|(_, name)| visible_in_prose(name.clone()));
    let name = name.unwrap_or_default();
    Side { id: message.id.clone(), role: message.role, name, html, segments }
}

/// The chats with certain words in their titles or in what was said, the best first; those in which one
/// persona speaks, if it is named.
pub async fn found_chats(
    desk: &Desk,
    persona: Option<&PersonaId>,
    words: &str,
) -> Result<Page<ChatSummary>, ApiError> {
    let question = Question { text: words, kind: Some(SearchKind::Chat), limit: PAGE_SIZE };
    let found = desk.search.find_with(&desk.scope.space, question, persona).await?;
    let mut link = desk.read().await?;
    let mut items = Vec::new();
    for hit in found.items {
        // One that went to the bin just now is not found.
        let Ok(chat) = link.chat(&ConversationId::new(hit.id)).await else { continue };
        items.push(ChatSummary::from(chat));
    }
    Ok(Page { items, next: None })
}

/// A number as a form has it; an empty field is none.
pub fn form_number<N: FromStr>(field: &str, text: &str) -> Result<Option<N>, ApiError> {
    match text.trim() {
        "" => Ok(None),
        text => match text.parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(ApiError::invalid(field, format!("“{text}” is no number that fits."))),
        },
    }
}
