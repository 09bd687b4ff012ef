//! A page: a title, and a text in markdown that may link to others.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Card, Knowledge, TITLE, first_words};
use crate::domain::{
    change::EntityKind, error::ApiError, field::TextField, id::PageId, search::Texts,
};

/// The text of a page.
pub const BODY: TextField = TextField { name: "body", label: "The page", max_chars: 200_000 };

/// What a revision of a page keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PageFields {
    /// The title, up to 200 characters on one line.
    pub title: String,
    /// The text in markdown, up to 200 000 characters. `[[Title]]` links to a page or a persona.
    #[serde(default)]
    pub body: String,
}

impl Knowledge for PageFields {
    type Id = PageId;
    const KIND: EntityKind = EntityKind::Page;
    const PLURAL: &'static str = "pages";

    fn check(&self) -> Result<(), ApiError> {
        TITLE.check_line(&self.title)?;
        BODY.check(&self.body)
    }

    fn texts(&self) -> Texts {
        Texts { title: self.title.clone(), body: self.body.clone(), ..Texts::default() }
    }

    fn card(&self) -> Card {
        Card { title: self.title.clone(), excerpt: first_words(&self.body), ..Card::default() }
    }
}
