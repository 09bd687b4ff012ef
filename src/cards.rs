//! Character cards as personas: versions 1 to 3, from JSON, from the text in a PNG, or from a CHARX archive.
//!
//! The one rule of the room: a card is somebody else's file. Only its text is read; nothing of it is drawn,
//! unpacked or fetched, and everything is counted while it is read.

mod charx;
mod compose;
mod png;

use serde_json::{Map, Value};

use crate::domain::{error::ApiError, persona::PersonaFields};

/// The largest file.
pub const MAX_FILE_BYTES: usize = 32 * 1024 * 1024;
/// The longest text of a card, unpacked.
const MAX_TEXT_BYTES: usize = 1024 * 1024;

/// What a card says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Card {
    /// The persona.
    pub persona: PersonaFields,
    /// What it may say first.
    pub greetings: Vec<String>,
    /// What of it was left out, in sentences.
    pub left: Vec<String>,
}

/// Why a file is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CardError {
    /// It is something else.
    #[error("The file is no character card: JSON, PNG and CHARX are read.")]
    NoCard,
    /// It is a picture and nothing more.
    #[error("There is no character card in the picture.")]
    NoCardInPicture,
    /// It is an archive of something else.
    #[error("There is no card.json in the archive.")]
    NoCardInArchive,
    /// It is a book alone.
    #[error("The file is a lorebook, and has no character in it.")]
    OnlyBook,
    /// It cannot be read.
    #[error("The file is damaged: {0}.")]
    Damaged(&'static str),
    /// It is more than any card is.
    #[error("The file is not taken: {0}.")]
    TooMuch(&'static str),
}

impl From<CardError> for ApiError {
    fn from(error: CardError) -> Self {
        Self::invalid("file", error.to_string())
    }
}

/// Reads a card, whatever carries it.
pub fn read(bytes: &[u8]) -> Result<Card, CardError> {
    if bytes.len() > MAX_FILE_BYTES {
        return Err(CardError::TooMuch("it is too large"));
    }
    if bytes.starts_with(png::SIGNATURE) {
        // The newer text counts; where it is broken, the older one.
        let mut problem = None;
        for text in png::texts(bytes)? {
            match object(&text).and_then(|object| compose::card(&object)) {
                Ok(card) => return Ok(card),
                Err(error) => problem = problem.or(Some(error)),
            }
        }
        return Err(problem.unwrap_or(CardError::NoCardInPicture));
    }
    let text = match bytes.starts_with(b"PK") {
        true => charx::text(bytes)?,
        false if bytes.len() > MAX_TEXT_BYTES => {
            return Err(CardError::TooMuch("its text is longer than a card's"));
        }
        false => bytes.to_vec(),
    };
    compose::card(&object(&text)?)
}

/// The JSON object that a text is.
fn object(text: &[u8]) -> Result<Map<String, Value>, CardError> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    match serde_json::from_slice(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) | Err(_) => Err(CardError::NoCard),
    }
}
