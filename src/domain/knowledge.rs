//! Knowledge: pages, refs and tasks. What they have in common is said here once.

mod page;
mod reference;
mod task;

use std::fmt::Debug;

pub use page::{BODY, PageFields};
pub use reference::{RefFields, TEXT, URL, host};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
pub use task::{TaskFields, TaskStatus};

use super::{
    change::EntityKind,
    date::Date,
    error::ApiError,
    field::TextField,
    persona::excerpt,
    search::Texts,
    timestamp::Timestamp,
    version::{Edited, Revision},
    wiki,
};

/// The title: a line of up to 200 characters.
pub const TITLE: TextField = TextField { name: "title", label: "The title", max_chars: 200 };
/// What its author wants to remember of it.
pub const NOTE: TextField = TextField { name: "note", label: "The note", max_chars: 20_000 };

/// How much of a text an excerpt is made of, and how long it is.
const READ_CHARS: usize = 1_000;
const EXCERPT_CHARS: usize = 300;

/// What a revision of some knowledge says.
pub trait Knowledge:
    Clone
    + Debug
    + Default
    + PartialEq
    + Serialize
    + DeserializeOwned
    + JsonSchema
    + Send
    + Sync
    + 'static
{
    /// Its identifier.
    type Id: Clone
        + AsRef<str>
        + From<String>
        + Serialize
        + DeserializeOwned
        + JsonSchema
        + Send
        + Sync
        + 'static;
    /// What kind of thing it is.
    const KIND: EntityKind;
    /// The word for many of them, in addresses.
    const PLURAL: &'static str;

    /// Refuses what it cannot be.
    fn check(&self) -> Result<(), ApiError>;

    /// What of it is searched.
    fn texts(&self) -> Texts;

    /// What a list shows of it.
    fn card(&self) -> Card;

    /// Where a list puts it, when it last changed then: the highest comes first.
    fn sort_at(&self, updated: Timestamp) -> i64 {
        updated.0
    }
}

/// What a list shows of some knowledge, beside when it changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Card {
    /// What it is called.
    pub title: String,
    /// Its first words.
    pub excerpt: String,
    /// Where a ref points.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// How a task stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<TaskStatus>,
    /// When a task is due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<Date>,
}

/// Some knowledge as it is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Entry<Id, F> {
    /// The identifier.
    pub id: Id,
    /// The number of the version it is at.
    pub revision: Revision,
    /// What the version says.
    #[serde(flatten)]
    pub fields: F,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// The entry of a kind of knowledge.
pub type EntryOf<K> = Entry<<K as Knowledge>::Id, K>;

impl<Id, F> From<Entry<Id, F>> for Edited<Id, F> {
    fn from(entry: Entry<Id, F>) -> Self {
        Self { id: entry.id, revision: entry.revision, fields: entry.fields }
    }
}

/// Some knowledge as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EntrySummary<Id> {
    /// The identifier.
    pub id: Id,
    /// What is shown of it.
    #[serde(flatten)]
    pub card: Card,
    /// The number of the version it is at.
    pub revision: Revision,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// The first words of a text, on one line.
fn first_words(text: &str) -> String {
    let read: String = text.chars().take(READ_CHARS).collect();
    excerpt(&wiki::plain(&read)).chars().take(EXCERPT_CHARS).collect()
}
