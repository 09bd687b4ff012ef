//! What a browser says about itself with every request, and what it is shown of chats.

use std::str::FromStr;

use axum::http::{HeaderValue, header, request::Parts};
use leptos::context::use_context;
use leptos_axum::ResponseOptions;

use crate::{
    app::server_fns::chats::ChatTurn,
    domain::{
        change::{Entity, EntityKind},
        error::ApiError,
        id::ConversationId,
        picture::Picture,
        tree::PathMessage,
    },
    markdown,
    store::new_id,
};

const DEVICE: &str = "device";
const YEAR_SECONDS: u32 = 365 * 24 * 60 * 60;
/// A name that we gave has no more letters.
const MAX_CHARS: usize = 64;

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

/// The chat that a page shows, by the page's address.
pub fn chat_at(address: &str) -> Option<ConversationId> {
    let path = address.split(['?', '#']).next().unwrap_or_default();
    let entity = Entity::at(path).filter(|entity| entity.kind == EntityKind::Chat);
    entity.map(|entity| ConversationId::new(entity.id))
}

/// A message with its words rendered, and with those of the pictures that are its own.
pub fn shown_turn(said: PathMessage, pictures: &[Picture]) -> ChatTurn {
    let id = Some(&said.message.id);
    let own = pictures.iter().filter(|picture| picture.message_id.as_ref() == id);
    let pictures = own.cloned().collect();
    ChatTurn { html: markdown::to_html(&said.content), said, pictures }
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
