//! The companion: a persona of the Space that knows everything in it, and proposes changes.
//!
//! It is made when it is first needed. Its name, voice, model and tier are edited like those of any
//! other persona.

use std::sync::Arc;

use super::{
    Agent,
    driver::{Brief, Prepared, System, Workspace},
};
use crate::{
    changes::{Gate, Scope},
    domain::{
        actor::Actor,
        change::{Change, Entity, Op},
        error::ApiError,
        id::{ConversationId, PersonaId},
        message::{Conversation, ConversationKind},
        persona::{Persona, Tier},
    },
    store::{Link, StoreError, new_id, now},
};

/// The identifier that the companion has in every Space.
const COMPANION: &str = "companion";
/// What it is called before somebody calls it otherwise.
const NAME: &str = "Companion";
const VOICE: &str = include_str!("prompts/companion_voice.md");
/// The name under which a Space's conversation with its companion is kept.
const CONVERSATION: &str = "companion_conversation";

/// The companion.
pub(super) fn id() -> PersonaId {
    PersonaId::new(COMPANION)
}

impl Agent {
    /// What the companion is called, and the conversation in use.
    pub(super) async fn companion_name(
        &self,
        scope: &Scope,
    ) -> Result<(String, Option<ConversationId>), ApiError> {
        let mut link = self.read(scope).await?;
        let name = match link.persona(&id()).await {
            Ok(persona) => persona.fields.name,
            Err(StoreError::NotFound(_)) => NAME.into(),
            Err(error) => return Err(error.into()),
        };
        Ok((name, conversation(&mut link).await?))
    }

    /// The conversation with the companion, begun if there is none.
    pub async fn ambient(&self, scope: &Scope) -> Result<ConversationId, ApiError> {
        if let Some(known) = conversation(&mut self.read(scope).await?).await? {
            return Ok(known);
        }
        let persona = self.companion(scope).await?.id;
        let mut link = self.write(scope).await?;
        // Two first messages at once meet here, and the second finds what the first began.
        link.lock(&Entity::from(&persona)).await?;
        let id = match conversation(&mut link).await? {
            Some(known) => known,
            None => begin(&mut link, persona).await?,
        };
        link.commit().await?;
        Ok(id)
    }

    /// Begins a new conversation with the companion. A run in the old one is stopped.
    pub(super) async fn clear_companion(&self, scope: &Scope) -> Result<ConversationId, ApiError> {
        let persona = self.companion(scope).await?.id;
        let mut link = self.write(scope).await?;
        link.lock(&Entity::from(&persona)).await?;
        let going_on = match conversation(&mut link).await? {
            Some(old) => link.run_going_on(&old).await?,
            None => None,
        };
        let id = begin(&mut link, persona).await?;
        link.commit().await?;
        if let Some(run) = going_on {
            self.stop(scope, &run.id).await?;
        }
        Ok(id)
    }

    /// The companion, made if it is not there yet.
    pub(super) async fn companion(&self, scope: &Scope) -> Result<Persona, ApiError> {
        let id = id();
        let known = self.read(scope).await?.persona(&id).await;
        match known {
            Ok(persona) => return Ok(persona),
            Err(StoreError::NotFound(_)) => {}
            Err(error) => return Err(error.into()),
        }
        let create =
            Change::new(&id, Op::Create).set("name", NAME).set("systemPrompt", VOICE.trim());
        let gate = Gate::new(self.store().clone(), scope.space.clone(), Actor::System);
        match gate.submit(create.because("The companion of this Space.")).await {
            Ok(_) => {}
            // Another request was faster, or it lies in the bin.
            Err(ApiError::Taken { .. }) => {}
            Err(error) => return Err(error),
        }
        let made = self.read(scope).await?.persona(&id).await;
        made.map_err(|error| match error {
            StoreError::NotFound(_) => ApiError::NotNow {
                reason: "The companion is in the bin. Restore it to talk with it.".into(),
            },
            error => error.into(),
        })
    }

    /// What the companion works with.
    pub(super) async fn companion_brief(&self, scope: &Scope) -> Result<Brief, ApiError> {
        let persona = self.companion(scope).await?;
        let route = self.route(scope, &persona.fields.model).await?;
        let tools = self.shared.companion_tools.clone();
        // Nothing that it proposes is applied, whatever its own page says.
        let tier = match persona.fields.tier {
            Tier::Read => Tier::Read,
            Tier::Suggest | Tier::Act => Tier::Suggest,
        };
        let persona = Arc::new(persona);
        Ok(Brief {
            persona,
            route,
            system: System::Companion,
            tools,
            tier,
            context: None,
            chat: None,
            workspace: Workspace::None,
            window: None,
            prepared: Prepared::default(),
        })
    }
}

/// The conversation in use.
async fn conversation(link: &mut Link) -> Result<Option<ConversationId>, ApiError> {
    let Some(id) = link.preference(CONVERSATION).await?.map(ConversationId::new) else {
        return Ok(None);
    };
    match link.conversation(&id).await {
        Ok(_) => Ok(Some(id)),
        // The companion was removed for good, and its conversations with it.
        Err(StoreError::NotFound(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Begins a conversation with the companion and makes it the one in use.
async fn begin(link: &mut Link, persona: PersonaId) -> Result<ConversationId, ApiError> {
    let conversation = Conversation {
        id: new_id(),
        kind: ConversationKind::Companion,
        persona_id: persona,
        leaf: None,
        created_at: now(),
    };
    link.insert_conversation(&conversation).await?;
    link.set_preference(CONVERSATION, conversation.id.as_str()).await?;
    Ok(conversation.id)
}
