//! Who speaks in a run, and with what: settled before it begins.

use std::{borrow::Cow, sync::Arc};

use crate::{
    agent::{manager::Window, notes::Sight, prompt, tool::Registry},
    domain::{
        persona::{Persona, Tier},
        run::{Spent, Usage},
        sent::Recorded,
    },
    providers::Route,
};

/// Who speaks in a run, and with what.
#[derive(Clone)]
pub struct Brief {
    /// The persona that speaks or is worked on, as it was when the run was asked for.
    pub persona: Arc<Persona>,
    /// The model.
    pub route: Route,
    /// What it is told before all else.
    pub system: System,
    /// What it may use.
    pub tools: Registry,
    /// How far it may go by itself.
    pub tier: Tier,
    /// What the person sees while they ask: told with the question, and not kept.
    pub context: Option<Arc<Sight>>,
    /// What is special in a chat.
    pub chat: Option<Arc<ChatBrief>>,
    /// What it works on beside the conversation.
    pub workspace: Workspace,
    /// What of the conversation it is sent; as much as fits without it.
    pub window: Option<Arc<Window>>,
    /// What was asked in passing to prepare it.
    pub prepared: Prepared,
}

/// What was asked in passing before a run, for its sake. The day has paid for it; the run tells of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prepared {
    /// The tokens.
    pub usage: Usage,
    /// The price in millionths of a dollar, as far as it is known.
    pub micros: u64,
}

impl Prepared {
    /// Both together.
    pub fn plus(self, other: Self) -> Self {
        Self { usage: self.usage.plus(other.usage), micros: self.micros + other.micros }
    }

    /// What a run took, and this before it.
    pub fn before(self, spent: Spent) -> Spent {
        Spent {
            usage: self.usage.plus(spent.usage),
            cost_micros: spent.cost_micros.map(|micros| micros + self.micros),
            ..spent
        }
    }
}

/// What a run works on beside the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workspace {
    /// Nothing.
    None,
    /// The files of a session.
    Files,
}

/// What a model is told before all else. What is long and always the same is made when it is sent: thousands
/// of runs need not hold it.
#[derive(Clone)]
pub enum System {
    /// That it works on the persona.
    PersonaAgent,
    /// That it is the companion.
    Companion,
    /// This.
    Told(Arc<str>),
}

impl Brief {
    /// What the model is told before all else.
    pub fn system(&self) -> Cow<'_, str> {
        match &self.system {
            System::PersonaAgent => prompt::persona_agent(&self.persona).into(),
            System::Companion => prompt::companion(&self.persona).into(),
            System::Told(told) => Cow::Borrowed(told),
        }
    }
}

/// What is special about speaking in a chat.
pub struct ChatBrief {
    /// How many of the last messages the model is sent.
    pub window: u32,
    /// What is kept of what it is told.
    pub recorded: Recorded,
}
