//! The audit: who changed what, when.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    actor::ActorKind,
    change::{Entity, EntityKind, Op},
    id::{AuditId, ChangeId, PersonaId, RunId, UserId},
    timestamp::Timestamp,
    version::Revision,
};

/// One applied change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditEntry {
    /// The line.
    pub id: AuditId,
    /// The change.
    pub change_id: ChangeId,
    /// What it was about.
    #[serde(flatten)]
    pub entity: Entity,
    /// What it did.
    pub op: Op,
    /// One line for people.
    pub summary: String,
    /// What kind of actor did it.
    pub actor_kind: ActorKind,
    /// The person behind it.
    pub user_id: Option<UserId>,
    /// The persona that spoke.
    pub persona_id: Option<PersonaId>,
    /// The run in which it happened.
    pub run_id: Option<RunId>,
    /// The revision before; `null` when there was none.
    pub from_revision: Option<Revision>,
    /// The revision after; `null` when there is none.
    pub to_revision: Option<Revision>,
    /// When.
    pub created_at: Timestamp,
}

/// What lies in the bin: something that passes the gate, or a session of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BinnedKind {
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
    /// A session of the terminal.
    Terminal,
}

impl BinnedKind {
    /// What the gate knows it as; it does not know sessions.
    pub fn entity(self) -> Option<EntityKind> {
        match self {
            Self::Persona => Some(EntityKind::Persona),
            Self::TestInput => Some(EntityKind::TestInput),
            Self::Page => Some(EntityKind::Page),
            Self::Ref => Some(EntityKind::Ref),
            Self::Task => Some(EntityKind::Task),
            Self::Chat => Some(EntityKind::Chat),
            Self::Terminal => None,
        }
    }

    /// The kind with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        match EntityKind::from_word(word) {
            Some(kind) => Some(kind.into()),
            None => (word == Self::Terminal.word()).then_some(Self::Terminal),
        }
    }

    /// The word in JSON and in the database.
    pub fn word(self) -> &'static str {
        self.entity().map_or("terminal", EntityKind::word)
    }

    /// What a person calls it.
    pub fn noun(self) -> &'static str {
        self.entity().map_or("session of the terminal", EntityKind::noun)
    }
}

impl From<EntityKind> for BinnedKind {
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

/// Something that lies in the bin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Binned {
    /// What it is.
    pub entity_type: BinnedKind,
    /// Which one.
    pub entity_id: String,
    /// Its name, or its first words.
    pub title: String,
    /// The name of the persona it belongs to, for a test input or a chat.
    pub of: Option<String>,
    /// When it was deleted.
    pub deleted_at: Timestamp,
    /// How many chats go with a persona: those in which nobody else speaks.
    pub chats: i64,
    /// How many pictures go with a persona or a chat.
    pub pictures: i64,
}
