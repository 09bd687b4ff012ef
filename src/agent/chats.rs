//! Chats: beginning them, what is set for them, and what a persona speaks with in one.

use std::sync::Arc;

use super::{
    Agent,
    asking::told,
    driver::{Brief, ChatBrief, Prepared, System, Workspace},
    prompt,
    tool::Registry,
};
use crate::{
    changes::{Gate, Scope, to_fields},
    domain::{
        actor::Actor,
        change::{Change, EntityKind, Op, Outcome},
        chat::{
            Answering, Chat, ChatFields, ChatMode, ChatSettings, MAX_MEMBERS, MODEL_SETTING,
            Member, MemberState, NEW_TITLE, SettingsPatch, TitledBy, in_settings,
        },
        error::ApiError,
        id::{ConversationId, PersonaId},
        message::{Conversation, ConversationKind},
        persona::{Persona, Tier},
        sent::{Recorded, Section, joined},
        version::Revision,
    },
    store::{Link, StoreError, new_id},
};

/// How often settings are laid over those that are there, when others were faster.
const ATTEMPTS: usize = 8;

/// What a chat is begun with.
#[derive(Clone, Debug, Default)]
pub struct NewChat {
    /// Who speaks.
    pub persona: PersonaId,
    /// Who speaks after them, in order.
    pub others: Vec<PersonaId>,
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
    /// Who speaks, in order. Who is there already keeps their version.
    pub members: Option<Vec<PersonaId>>,
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
        let mut wanted = vec![persona.id];
        wanted.extend(new.others);
        let members = self.members(scope, &[], wanted).await?;
        let settings = new.settings.over(ChatSettings::default());
        self.check_settings(scope, &settings, &ChatSettings::default()).await?;
        let (title, titled_by) = match new.title.trim() {
            "" => (NEW_TITLE.to_owned(), TitledBy::New),
            title => (title.to_owned(), TitledBy::Person),
        };
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
        let others = changes.members.is_some();
        let mut attempts = 1;
        loop {
            let change = self.chat_change(scope, id, changes.clone()).await?;
            match self.gate(scope).submit(change).await {
                // What was not written against a revision is laid over whatever was set meanwhile.
                Err(ApiError::Conflict(_)) if changes.base.is_none() && attempts < ATTEMPTS => {
                    attempts += 1;
                }
                done => {
                    done?;
                    break;
                }
            }
        }
        if others {
            self.make_roleplay_data(scope, id);
        }
        Ok(self.read(scope).await?.chat(id).await?)
    }

    /// These changes laid over a chat as it is now.
    async fn chat_change(
        &self,
        scope: &Scope,
        id: &ConversationId,
        changes: ChatChanges,
    ) -> Result<Change, ApiError> {
        let known = self.read(scope).await?.chat(id).await?;
        let settings = changes.settings.over(known.settings.clone());
        let base = changes.base.unwrap_or(known.revision);
        let mut change = Change::new(id, Op::Update).based_on(base);
        if settings != known.settings {
            self.check_settings(scope, &settings, &known.settings).await?;
            change = change.set("settings", serde_json::json!(settings));
        }
        if let Some(title) = changes.title {
            let titled_by = TitledBy::Person.word();
            change = change.set("title", title.trim()).set("titledBy", titled_by);
        }
        if let Some(mode) = changes.mode {
            change = change.set("mode", mode.word());
        }
        if let Some(wanted) = changes.members {
            let members = self.members(scope, &known.members, wanted).await?;
            change = change.set("members", serde_json::json!(members));
        }
        Ok(change)
    }

    /// These personas as members of a chat: those that are known as they are there, the others as they are
    /// now.
    async fn members(
        &self,
        scope: &Scope,
        known: &[MemberState],
        wanted: Vec<PersonaId>,
    ) -> Result<Vec<Member>, ApiError> {
        if wanted.len() > MAX_MEMBERS {
            let rule = format!("A chat has 1 to {MAX_MEMBERS} personas.");
            return Err(ApiError::invalid("members", rule));
        }
        let mut link = self.read(scope).await?;
        let mut members = Vec::with_capacity(wanted.len());
        for persona_id in wanted {
            let there = known.iter().find(|member| member.persona_id == persona_id);
            let revision = match there {
                Some(member) => member.revision,
                None => match link.persona_head(&persona_id).await {
                    Ok(head) if head.binned => {
                        return Err(ApiError::InBin { what: EntityKind::Persona.noun().into() });
                    }
                    Ok(head) => head.revision,
                    Err(error) => return Err(error.into()),
                },
            };
            members.push(Member { persona_id, revision });
        }
        Ok(members)
    }

    /// Lets the personas of a chat speak as they are now.
    pub async fn update_personas(
        &self,
        scope: &Scope,
        id: &ConversationId,
    ) -> Result<Chat, ApiError> {
        let mut attempts = 1;
        loop {
            let chat = self.read(scope).await?.chat(id).await?;
            if chat.members.iter().all(|member| member.in_bin) {
                return Err(ApiError::InBin { what: EntityKind::Persona.noun().into() });
            }
            let members = chat.members.into_iter();
            let members: Vec<Member> = members
                .map(|member| Member {
                    persona_id: member.persona_id,
                    revision: if member.in_bin { member.revision } else { member.current_revision },
                })
                .collect();
            let change = Change::new(id, Op::Update)
                .based_on(chat.revision)
                .set("members", serde_json::json!(members))
                .because("The persona as it is now.");
            match self.gate(scope).submit(change).await {
                // Who speaks there was changed meanwhile.
                Err(ApiError::Conflict(_)) if attempts < ATTEMPTS => attempts += 1,
                done => {
                    done?;
                    break;
                }
            }
        }
        self.make_roleplay_data(scope, id);
        Ok(self.read(scope).await?.chat(id).await?)
    }

    /// Moves a chat to the bin. All runs in it are stopped.
    pub async fn delete_chat(
        &self,
        scope: &Scope,
        id: &ConversationId,
    ) -> Result<Outcome, ApiError> {
        self.read(scope).await?.chat(id).await?;
        for _ in 0..MAX_MEMBERS {
            let going_on = self.read(scope).await?.run_going_on(id).await?;
            let Some(run) = going_on else { break };
            self.stop(scope, &run.id).await?;
        }
        self.gate(scope).submit(Change::new(id, Op::Delete)).await
    }

    /// As much of these settings as a chat can be begun with, and what the others are called.
    pub async fn usable_settings(
        &self,
        scope: &Scope,
        settings: ChatSettings,
    ) -> Result<(ChatSettings, Vec<&'static str>), ApiError> {
        let (mut kept, mut left_out) = settings.fitting();
        match self.chosen_model(scope, &kept.model).await {
            Ok(_) => {}
            // A model that is gone; the persona's own speaks instead.
            Err(ApiError::Invalid { .. }) => {
                kept.model.clear();
                left_out.insert(0, MODEL_SETTING);
            }
            Err(error) => return Err(error),
        }
        Ok((kept, left_out))
    }

    /// Refuses settings that nobody could speak with. A model that was there before may stay.
    pub(super) async fn check_settings(
        &self,
        scope: &Scope,
        settings: &ChatSettings,
        before: &ChatSettings,
    ) -> Result<(), ApiError> {
        settings.check()?;
        if settings.model == before.model {
            return Ok(());
        }
        let chosen = self.chosen_model(scope, &settings.model).await;
        chosen.map(drop).map_err(|error| in_settings(error, "model"))
    }

    /// What the personas of a chat speak with, in order: all of them, or one of them. Who lies in the bin
    /// does not speak.
    pub(super) async fn speakers(
        &self,
        scope: &Scope,
        id: &ConversationId,
        only: Option<&PersonaId>,
    ) -> Result<(Vec<Speaker>, Answering), ApiError> {
        let mut link = self.read(scope).await?;
        let chat = link.chat(id).await?;
        let asked = |member: &&MemberState| only.is_none_or(|only| *only == member.persona_id);
        let asked: Vec<&MemberState> = chat.members.iter().filter(asked).collect();
        if asked.is_empty() {
            let reason = "That persona does not speak in this chat any more.".into();
            return Err(ApiError::NotNow { reason });
        }
        let settings = &chat.settings;
        let mut personas = Vec::with_capacity(asked.len());
        for member in asked.into_iter().filter(|member| !member.in_bin) {
            let mut persona = link.persona(&member.persona_id).await?;
            persona.fields = link.persona_at(&persona.id, member.revision).await?;
            persona.revision = member.revision;
            personas.push(persona);
        }
        drop(link);
        if personas.is_empty() {
            return Err(ApiError::InBin { what: EntityKind::Persona.noun().into() });
        }
        let mut speakers = Vec::with_capacity(personas.len());
        for persona in personas {
            let (model, named) = match settings.model.as_str() {
                "" => (persona.fields.model.as_str(), false),
                model => (model, true),
            };
            let route = self.route(scope, model).await;
            let route =
                route.map_err(|error| if named { in_settings(error, "model") } else { error })?;
            let others: Vec<&MemberState> =
                chat.members.iter().filter(|other| other.persona_id != persona.id).collect();
            let user = &settings.user_persona;
            let sections = prompt::chat(&persona.fields, chat.mode, user, &others);
            speakers.push(Speaker { persona, route, sections, window: settings.window });
        }
        Ok((speakers, settings.answers))
    }

    /// What the personas of a chat work with in their runs, and how they answer.
    pub(super) async fn chat_briefs(
        &self,
        scope: &Scope,
        id: &ConversationId,
        only: Option<&PersonaId>,
    ) -> Result<(Vec<Brief>, Answering), ApiError> {
        let (speakers, how) = self.speakers(scope, id, only).await?;
        let briefs = speakers.into_iter().map(|speaker| self.chat_brief(speaker)).collect();
        Ok((briefs, how))
    }

    fn chat_brief(&self, speaker: Speaker) -> Brief {
        let Speaker { persona, route, sections, window } = speaker;
        let system = joined(&sections);
        let tools = Registry::default();
        let room = self.history_room(&route, told(&route, &system, &tools));
        let mut recorded = Recorded::of(&sections, &persona.fields.system_prompt, window, room);
        recorded.reaches_back = true;
        recorded.words_only = !route.model.tools;
        recorded.parameters = Some(self.parameters(&route, &tools));
        Brief {
            persona: Arc::new(persona),
            route,
            system: System::Told(system.into()),
            tools,
            tier: Tier::Read,
            context: None,
            chat: Some(Arc::new(ChatBrief { window, recorded })),
            workspace: Workspace::None,
            window: None,
            prepared: Prepared::default(),
        }
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
