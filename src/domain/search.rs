//! Searching: what of a thing is searched, and what was found.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    change::{Entity, EntityKind},
    timestamp::Timestamp,
};

/// How many messages of a chat are searched, the newest ones. Its map looks through all of them.
pub const SEARCHED_MESSAGES: i64 = 2000;

/// The kinds of things that are found.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SearchKind {
    /// A persona.
    Persona,
    /// A test input of a persona.
    TestInput,
    /// A page.
    Page,
    /// A ref.
    Ref,
    /// A task.
    Task,
    /// A chat.
    Chat,
}

impl SearchKind {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Persona, Self::TestInput, Self::Page, Self::Ref, Self::Task, Self::Chat];

    /// The word in JSON and in the database.
    pub fn word(self) -> &'static str {
        match self {
            Self::Persona => "persona",
            Self::TestInput => "test_input",
            Self::Page => "page",
            Self::Ref => "ref",
            Self::Task => "task",
            Self::Chat => "chat",
        }
    }

    /// The kind with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

impl From<SearchKind> for EntityKind {
    fn from(kind: SearchKind) -> Self {
        match kind {
            SearchKind::Persona => Self::Persona,
            SearchKind::TestInput => Self::TestInput,
            SearchKind::Page => Self::Page,
            SearchKind::Ref => Self::Ref,
            SearchKind::Task => Self::Task,
            SearchKind::Chat => Self::Chat,
        }
    }
}

impl From<EntityKind> for SearchKind {
    fn from(kind: EntityKind) -> Self {
        match kind {
            EntityKind::Persona => Self::Persona,
            EntityKind::TestInput => Self::TestInput,
            EntityKind::Page => Self::Page,
            EntityKind::Ref => Self::Ref,
            EntityKind::Task => Self::Task,
            EntityKind::Chat => Self::Chat,
        }
    }
}

/// What of a thing is searched, by how much a match counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    /// What it is called: counts most.
    pub title: String,
    /// What is said about it.
    pub secondary: String,
    /// What it says: counts least.
    pub body: String,
}

/// A thing as it is searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// What it is.
    pub kind: SearchKind,
    /// Which one.
    pub id: String,
    /// What it goes into the bin with: the persona of a test input or a chat.
    pub parent: Option<String>,
    /// What of it is searched.
    pub texts: Texts,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// A piece of a found text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Piece {
    /// The text.
    pub text: String,
    /// Whether it is what was looked for.
    pub marked: bool,
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hit {
    /// What it is.
    pub kind: SearchKind,
    /// Which one.
    pub id: String,
    /// The persona of a test input or a chat.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
    /// What it is called.
    pub title: String,
    /// The passage that fits best, in pieces.
    pub snippet: Vec<Piece>,
    /// How well it fits; good for comparing within one answer only.
    pub score: f64,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl Hit {
    /// The page that shows it: a test input stands on its persona's.
    pub fn path(&self) -> String {
        let own = Entity::new(self.kind.into(), &self.id).path();
        let parent = self.parent_id.as_deref();
        let parents = || Entity::new(EntityKind::Persona, parent.unwrap_or_default()).path();
        own.or_else(parents).unwrap_or_default()
    }
}

/// How it was looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SearchMode {
    /// By its words.
    FullText,
    /// By its words and by what it means.
    Hybrid,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Found {
    /// What fits best, first.
    pub items: Vec<Hit>,
    /// Always `null`: whoever wants more asks more precisely.
    pub next: Option<String>,
    /// How it was looked for.
    pub mode: SearchMode,
    /// Why it was looked for by its words only, when meaning was wanted too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Why meaning is left out when nobody set it up.
pub const MEANING_NOT_SET: &str = "Only words were looked for: no service for embeddings is set.";

impl Found {
    /// Why meaning was left out although it is set up.
    pub fn trouble(&self) -> Option<&str> {
        self.note.as_deref().filter(|note| *note != MEANING_NOT_SET)
    }
}
