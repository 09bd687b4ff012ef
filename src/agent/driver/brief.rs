//! Who speaks in a run, and with what: settled before it begins.

use std::{borrow::Cow, sync::Arc};

use crate::{
    agent::{manager::Window, notes::Sight, prompt, tool::Registry},
    domain::{
        persona::{Persona, Tier},
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
