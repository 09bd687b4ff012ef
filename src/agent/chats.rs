//! Chats: beginning them, what is set for them, and what a persona speaks with in one.

use std::sync::Arc;

use super::{
    Agent,
    driver::{Brief, ChatBrief},
    prompt,
    tool::Registry,
    window,
};
use crate::{
    changes::{Gate, Scope, to_fields},
    domain::{
        actor::Actor,
        change::{Change, EntityKind, Op, Outcome},
        chat::{
            Chat, ChatFields, ChatMode, ChatSettings, Member, NEW_TITLE, SettingsPatch, TitledBy,
            in_settings,
        },
        error::ApiError,
        id::{ConversationId, PersonaId},
        message::{Conversation, ConversationKind},
        persona::{Persona, Tier},
        sent::{Recorded, Section, joined},
        tokens::estimate,
        version::Revision,
    },
    store::{Link, StoreError, new_id},
};

/// What a chat is begun with.
#[derive(Clone, Debug, Default)]
pub struct NewChat {
    /// Who speaks.
    pub persona: PersonaId,
    /// How.
    pub mode: ChatMode,
    /// What it is called; empty until a title is found.
    pub title: String,
    /// What is set for it.
    pub settings: SettingsPatch,
}

/// What somebody wants to change about a chat. What is left out stays.
#[derive(Clone, Debug, Default)]
pub struct ChatChanges {
    /// What it is called.
    pub title: Option<String>,
    /// How the persona speaks.
    pub mode: Option<ChatMode>,
    /// What is set for it.
    pub settings: SettingsPatch,
    /// The revision that this was written against.
    pub base: Option<Revision>,
}

/// What a persona speaks with in a chat, before there is anything to answer.
pub(super) struct Speaker {
    /// The persona, as it is at the version of the chat.
    pub persona: Persona,
    /// The way to its model.
    pub route: crate::providers::Route,
    /// What it is told.
    pub sections: Vec<Section>,
    /// How many of the last messages go along.
    pub window: u32,
}

impl Agent {
    /// The gate, as a person stands before it.
    pub(super) fn gate(&self, scope: &Scope) -> Gate {
        let actor = Actor::Person { user: scope.user.clone() };
        Gate::new(self.store().clone(), scope.space.clone(), actor)
    }

    /// Begins a chat with a persona as it is now. What roleplay needs to know of it is made meanwhile.
    pub async fn create_chat(&self, scope: &Scope, new: NewChat) -> Result<Chat, ApiError> {
        let persona = self.read(scope).await?.persona(&new.persona).await?;
        let settings = new.settings.over(ChatSettings::default());
        self.check_settings(scope, &settings).await?;
        let (title, titled_by) = match new.title.trim() {
            "" => (NEW_TITLE.to_owned(), TitledBy::New),
            title => (title.to_owned(), TitledBy::Person),
        };
        let members = vec![Member { persona_id: persona.id, revision: persona.revision }];
        let fields = ChatFields { title, titled_by, mode: new.mode, settings, members };
        let id: ConversationId = new_id();
        let change = Change::new(&id, Op::Create).with(to_fields(&fields)?);
        self.gate(scope).submit(change).await?;
        self.make_roleplay_data(scope, &id);
        Ok(self.read(scope).await?.chat(&id).await?)
    }

    /// Changes the title, the mode or the settings of a chat.
    pub async fn change_chat(
        &self,
        scope: &Scope,
        id: &ConversationId,
        changes: ChatChanges,
    ) -> Result<Chat, ApiError> {
        let known = self.read(scope).await?.chat(id).await?;
        let settings = changes.settings.over(known.settings.clone());
        let mut change = Change::new(id, Op::Update).based_on(changes.base);
        if settings != known.settings {
            self.check_settings(scope, &settings).await?;
            change = change.set("settings", serde_json::json!(settings));
        }
        if let Some(title) = changes.title {
            let titled_by = TitledBy::Person.word();
            change = change.set("title", title.trim()).set("titledBy", titled_by);
        }
        if let Some(mode) = changes.mode {
            change = change.set("mode", mode.word());
        }
        self.gate(scope).submit(change).await?;
        Ok(self.read(scope).await?.chat(id).await?)
    }

    /// Lets the personas of a chat speak as they are now.
    pub async fn update_personas(
        &self,
        scope: &Scope,
        id: &ConversationId,
    ) -> Result<Chat, ApiError> {
        let chat = self.read(scope).await?.chat(id).await?;
        if chat.members.iter().any(|member| member.in_bin) {
            return Err(ApiError::InBin { what: EntityKind::Persona.noun().into() });
        }
        let members = chat.members.into_iter();
        let members: Vec<Member> = members
            .map(|member| Member {
                persona_id: member.persona_id,
                revision: member.current_revision,
            })
            .collect();
        let change = Change::new(id, Op::Update)
            .set("members", serde_json::json!(members))
            .because("The persona as it is now.");
        self.gate(scope).submit(change).await?;
        self.make_roleplay_data(scope, id);
        Ok(self.read(scope).await?.chat(id).await?)
    }

    /// Moves a chat to the bin. A run in it is stopped.
    pub async fn delete_chat(
        &self,
        scope: &Scope,
        id: &ConversationId,
    ) -> Result<Outcome, ApiError> {
        let mut link = self.read(scope).await?;
        link.chat(id).await?;
        let going_on = link.run_going_on(id).await?;
        drop(link);
        if let Some(run) = going_on {
            self.stop(scope, &run.id).await?;
        }
        self.gate(scope).submit(Change::new(id, Op::Delete)).await
    }

    /// Refuses settings that nobody could speak with.
    pub(super) async fn check_settings(
        &self,
        scope: &Scope,
        settings: &ChatSettings,
    ) -> Result<(), ApiError> {
        settings.check()?;
        let found = self.route(scope, &settings.model).await;
        found.map(drop).map_err(|error| in_settings(error, "model"))
    }

    /// What the persona of a chat speaks with.
    pub(super) async fn speaker(
        &self,
        scope: &Scope,
        id: &ConversationId,
    ) -> Result<Speaker, ApiError> {
        let mut link = self.read(scope).await?;
        let chat = link.chat(id).await?;
        if chat.members.iter().any(|member| member.in_bin) {
            return Err(ApiError::InBin { what: EntityKind::Persona.noun().into() });
        }
        let mut persona = link.persona(&chat.persona_id).await?;
        persona.fields = link.persona_at(&persona.id, chat.persona_revision).await?;
        persona.revision = chat.persona_revision;
        drop(link);
        let settings = chat.settings;
        let (model, named) = match settings.model.as_str() {
            "" => (persona.fields.model.as_str(), false),
            model => (model, true),
        };
        let route = self.route(scope, model).await;
        let route =
            route.map_err(|error| if named { in_settings(error, "model") } else { error })?;
        let sections = prompt::chat(&persona.fields, chat.mode, &settings.user_persona);
        Ok(Speaker { persona, route, sections, window: settings.window })
    }

    /// What the persona of a chat works with in a run.
    pub(super) async fn chat_brief(
        &self,
        scope: &Scope,
        id: &ConversationId,
    ) -> Result<Brief, ApiError> {
        let Speaker { persona, route, sections, window } = self.speaker(scope, id).await?;
        let system = joined(&sections);
        let reserved = estimate(&system) as u64 + self.answer_tokens(&route);
        let room = window::room(route.model.context, reserved);
        let recorded = Recorded::of(&sections, &persona.fields.system_prompt, window, room);
        Ok(Brief {
            persona: Arc::new(persona),
            route,
            system: system.into(),
            tools: Registry::default(),
            tier: Tier::Read,
            context: None,
            chat: Some(Arc::new(ChatBrief { window, recorded })),
        })
    }
}

/// A chat outside the bin, as the conversation that it is.
pub(super) async fn chat_conversation(
    link: &mut Link,
    id: &ConversationId,
) -> Result<Conversation, ApiError> {
    match link.conversation(id).await {
        Ok(conversation) if conversation.kind == ConversationKind::Chat => Ok(conversation),
        Ok(_) | Err(StoreError::NotFound(_)) => Err(ApiError::not_found("chat")),
        Err(error) => Err(error.into()),
    }
}
