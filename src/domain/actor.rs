//! Who does something.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    id::{PersonaId, RunId, UserId},
    persona::Tier,
};

/// What kind of actor it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ActorKind {
    /// A person, by hand.
    Person,
    /// A persona's agent, in a run.
    Persona,
    /// Greenroom itself.
    System,
}

impl ActorKind {
    /// The word in JSON and in the database.
    pub fn word(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Persona => "persona",
            Self::System => "system",
        }
    }

    /// Whether a person did it by hand.
    pub fn is_person(self) -> bool {
        self == Self::Person
    }

    /// The kind with this word.
    pub fn from_word(word: &str) -> Self {
        match word {
            "person" => Self::Person,
            "persona" => Self::Persona,
            _ => Self::System,
        }
    }
}

/// What somebody who reads is told of who did something: that it was they, or the name of another account.
pub fn told_name(user: Option<&UserId>, reader: Option<&UserId>) -> String {
    match user {
        Some(other) if reader != Some(other) => other.to_string(),
        _ => "You".into(),
    }
}

/// Who wants a change: it decides whether the gate lets it through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// A person, by hand.
    Person {
        /// Which one.
        user: UserId,
    },
    /// A persona's agent.
    Persona {
        /// Which persona speaks.
        persona: PersonaId,
        /// The person for whom it works.
        user: UserId,
        /// The run in which it speaks.
        run: Option<RunId>,
        /// How far it may go by itself.
        tier: Tier,
    },
    /// Greenroom itself: the samples of a new Space.
    System,
}

impl Actor {
    /// What kind of actor it is.
    pub fn kind(&self) -> ActorKind {
        match self {
            Self::Person { .. } => ActorKind::Person,
            Self::Persona { .. } => ActorKind::Persona,
            Self::System => ActorKind::System,
        }
    }

    /// The person behind it.
    pub fn user(&self) -> Option<&UserId> {
        match self {
            Self::Person { user } | Self::Persona { user, .. } => Some(user),
            Self::System => None,
        }
    }

    /// The persona that speaks.
    pub fn persona(&self) -> Option<&PersonaId> {
        match self {
            Self::Persona { persona, .. } => Some(persona),
            Self::Person { .. } | Self::System => None,
        }
    }

    /// The run in which it happens.
    pub fn run(&self) -> Option<&RunId> {
        match self {
            Self::Persona { run, .. } => run.as_ref(),
            Self::Person { .. } | Self::System => None,
        }
    }
}
