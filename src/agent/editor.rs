//! Talking with the agent of a persona, which works on that persona.

use std::sync::Arc;

use super::{
    Agent, Words,
    driver::{Brief, Prepared, System, Workspace},
    notes::Sight,
    once::keep_client,
    runs::{Order, said},
    window::turns,
};
use crate::{
    changes::Scope,
    domain::{
        change::Entity,
        error::ApiError,
        id::{ConversationId, MessageId, PersonaId, RunId},
        message::{Conversation, ConversationKind, MESSAGE, Turn},
        persona::Tier,
        run::Run,
    },
    store::{Link, new_id, now},
};

/// The most messages of a history.
const MAX_HISTORY: u32 = 2000;

/// How far an agent may go with what it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// As far as its persona's tier.
    Own,
    /// To drafts, whatever its tier: a person asked for them, and nothing is applied.
    Drafts,
}

impl Reach {
    fn within(self, tier: Tier) -> Tier {
        match self {
            Self::Own => tier,
            Self::Drafts => Tier::Suggest,
        }
    }

    /// Keeps it with the message that asks, so that it also holds when the same is asked again.
    pub(super) async fn keep(self, link: &mut Link, asked: &MessageId) -> Result<(), ApiError> {
        match self {
            Self::Own => Ok(()),
            Self::Drafts => Ok(link.ask_for_drafts(asked).await?),
        }
    }
}

/// What was said with the agent of a persona.
pub struct History {
    /// The conversation; `None` before the first word.
    pub conversation: Option<ConversationId>,
    /// All of it, the answer that is being given included.
    pub turns: Vec<Turn>,
    /// The run that goes on.
    pub going_on: Option<RunId>,
}

impl Agent {
    /// Says something to the agent of a persona. Another run that goes on there is in the way.
    pub async fn send(
        &self,
        scope: &Scope,
        persona: &PersonaId,
        words: impl Into<Words<'_>>,
        context: Option<Sight>,
    ) -> Result<Run, ApiError> {
        let words: Words<'_> = words.into();
        let before = async || {
            let Some(client) = words.client else { return Ok(None) };
            let session = self.read(scope).await?.persona(persona).await?.agent_chat_session_id;
            let said = self.said_before(scope, session.as_ref(), Some(client)).await?;
            Ok::<Option<Run>, ApiError>(said.into_iter().next())
        };
        if let Some(run) = before().await? {
            return Ok(run);
        }
        match self.ask(scope, persona, words, context, Reach::Own).await {
            Ok(run) => Ok(run),
            Err(error) => before().await?.ok_or(error),
        }
    }

    /// Asks the companion that listens in a persona's editor, its agent, for improvements. A person wants
    /// drafts, so they come as drafts whatever the agent may do by itself.
    pub async fn enhance(
        &self,
        scope: &Scope,
        persona: &PersonaId,
        words: &str,
    ) -> Result<Run, ApiError> {
        self.ask(scope, persona, words.into(), None, Reach::Drafts).await
    }

    async fn ask(
        &self,
        scope: &Scope,
        persona: &PersonaId,
        words: Words<'_>,
        context: Option<Sight>,
        reach: Reach,
    ) -> Result<Run, ApiError> {
        check_words(words.text)?;
        let mut brief = self.editor_brief(scope, persona, reach).await?;
        brief.context = context.map(Arc::new);
        if let Some(conversation) = &brief.persona.agent_chat_session_id {
            self.refuse_early(scope, conversation).await?;
        }
        let mut link = self.write(scope).await?;
        // Two first messages at once meet here, and the second finds what the first began.
        link.lock(&Entity::from(persona)).await?;
        let conversation = match link.agent_conversation(persona).await? {
            Some(conversation) => conversation,
            None => {
                // It may have gone to the bin meanwhile.
                let persona = link.persona(persona).await?.id;
                begin(&mut link, &persona).await?
            }
        };
        let message = said(conversation.leaf.clone(), words.text, now());
        link.insert_message(&conversation.id, &message).await?;
        keep_client(&mut link, &conversation.id, words.client, &message.id).await?;
        reach.keep(&mut link, &message.id).await?;
        self.start(link, scope, Order::answering(conversation, message, brief)).await
    }

    /// How far a run may go that answers a message.
    pub(super) async fn reach(&self, scope: &Scope, asked: &MessageId) -> Result<Reach, ApiError> {
        let drafts_only = self.read(scope).await?.asks_for_drafts(asked).await?;
        Ok(if drafts_only { Reach::Drafts } else { Reach::Own })
    }

    /// What the agent of a persona works with.
    pub(super) async fn editor_brief(
        &self,
        scope: &Scope,
        persona: &PersonaId,
        reach: Reach,
    ) -> Result<Brief, ApiError> {
        let mut link = self.read(scope).await?;
        let mut persona = link.persona(persona).await?;
        let route = self.catalog_on(&mut link, &scope.space).await?.find(&persona.fields.model)?;
        drop(link);
        persona.fields.tier = reach.within(persona.fields.tier);
        let tools = self.shared.persona_tools.clone();
        let (tier, persona) = (persona.fields.tier, Arc::new(persona));
        Ok(Brief {
            persona,
            route,
            system: System::PersonaAgent,
            tools,
            tier,
            context: None,
            chat: None,
            workspace: Workspace::None,
            window: None,
            prepared: Prepared::default(),
        })
    }

    /// Begins a new conversation with the agent of a persona. The old one is kept; a run in it is
    /// stopped.
    pub async fn clear(
        &self,
        scope: &Scope,
        persona: &PersonaId,
    ) -> Result<ConversationId, ApiError> {
        let mut link = self.write(scope).await?;
        // Whoever says something meanwhile says it before this, and is stopped, or in the new one.
        link.lock(&Entity::from(persona)).await?;
        let persona = link.persona(persona).await?;
        let going_on = match &persona.agent_chat_session_id {
            Some(old) => link.run_going_on(old).await?,
            None => None,
        };
        let conversation = begin(&mut link, &persona.id).await?;
        link.commit().await?;
        if let Some(run) = going_on {
            self.stop(scope, &run.id).await?;
        }
        Ok(conversation.id)
    }

    /// What was said with the agent of a persona, in the conversation in use.
    pub async fn history(&self, scope: &Scope, persona: &PersonaId) -> Result<History, ApiError> {
        let persona = self.read(scope).await?.persona(persona).await?;
        let Some(id) = persona.agent_chat_session_id else {
            return Ok(History { conversation: None, turns: Vec::new(), going_on: None });
        };
        let talk = self.talk(scope, &id, None, MAX_HISTORY).await?;
        let going_on = talk.run.filter(|run| !run.status.is_over()).map(|run| run.id);
        Ok(History { conversation: Some(id), turns: turns(&talk.messages), going_on })
    }
}

/// Refuses what nobody can answer.
pub(super) fn check_words(words: &str) -> Result<(), ApiError> {
    if words.trim().is_empty() {
        return Err(ApiError::invalid(MESSAGE.name, "The message must not be empty."));
    }
    MESSAGE.check(words)
}

/// Begins a conversation with the agent of a persona and makes it the one in use.
async fn begin(link: &mut Link, persona: &PersonaId) -> Result<Conversation, ApiError> {
    let conversation = Conversation {
        id: new_id(),
        kind: ConversationKind::Editor,
        persona_id: persona.clone(),
        leaf: None,
        created_at: now(),
    };
    link.insert_conversation(&conversation).await?;
    link.set_agent_conversation(persona, &conversation.id).await?;
    Ok(conversation)
}
