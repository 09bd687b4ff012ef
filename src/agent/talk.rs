//! Talking in the rail: with the agent of a persona, or with the companion.

use std::sync::Arc;

use super::{
    Agent, Words,
    chat_answers::first,
    driver::Brief,
    editor::{Reach, check_words},
    notes::Sight,
    once::keep_client,
    runs::{Order, said},
};
use crate::{
    changes::Scope,
    domain::{
        change::Entity,
        error::ApiError,
        event::fold,
        id::{ConversationId, MessageId, PersonaId, RunId},
        message::{Conversation, ConversationKind, Message, Part},
        run::Run,
        tree::excerpt,
    },
    store::{Link, StoreError, now},
};

/// How many earlier conversations are offered at once.
const OFFERED: u32 = 20;

/// Who listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listener {
    /// The agent of this persona.
    Persona(PersonaId),
    /// The companion of the Space.
    Companion,
}

/// A stretch of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Talk {
    /// The messages, the answer that is being given included.
    pub messages: Vec<Message>,
    /// The last message before them.
    pub earlier: Option<MessageId>,
    /// The run that was last begun there.
    pub run: Option<Run>,
}

impl Agent {
    /// The last messages of a conversation up to one, or up to its end.
    pub async fn talk(
        &self,
        scope: &Scope,
        id: &ConversationId,
        until: Option<&MessageId>,
        most: u32,
    ) -> Result<Talk, ApiError> {
        let mut link = self.read(scope).await?;
        // The run is looked for first: if it ends before the branch is read, its answer is in there.
        let run = link.last_run(id).await?;
        let conversation = link.conversation(id).await?;
        if let Some(until) = until
            && link.conversation_of(until).await? != *id
        {
            return Err(ApiError::not_found("message"));
        }
        let mut messages = match until.or(conversation.leaf.as_ref()) {
            Some(leaf) => link.branch_end(leaf, i64::from(most)).await?,
            None => Vec::new(),
        };
        if let Some(run) = run.as_ref().filter(|run| !run.status.is_over())
            && messages.last().is_some_and(|last| last.id == run.message_id)
        {
            let parts = self.parts_so_far(&mut link, &run.id).await?;
            messages.push(run.reply(parts));
        }
        let earlier = messages.first().and_then(|first| first.parent_id.clone());
        Ok(Talk { messages, earlier, run })
    }

    /// What a run that goes on has said so far, here or in another process.
    pub(super) async fn parts_so_far(
        &self,
        link: &mut Link,
        run: &RunId,
    ) -> Result<Vec<Part>, ApiError> {
        if let Some(live) = self.live(run) {
            return Ok(live.parts());
        }
        Ok(said_by(link, run).await?)
    }

    /// Whom one talks to, by what it is called, and in which conversation; none before the first word.
    pub async fn listener(
        &self,
        scope: &Scope,
        listener: &Listener,
    ) -> Result<(String, Option<ConversationId>), ApiError> {
        match listener {
            Listener::Persona(id) => {
                let persona = self.read(scope).await?.persona(id).await?;
                Ok((agent_name(&persona.fields.name), persona.agent_chat_session_id))
            }
            Listener::Companion => self.companion_name(scope).await,
        }
    }

    /// What whoever is talked to in a conversation is called.
    pub async fn name_of(&self, scope: &Scope, id: &ConversationId) -> Result<String, ApiError> {
        let conversation = self.read(scope).await?.conversation(id).await?;
        let listener = match conversation.kind {
            ConversationKind::Companion => Listener::Companion,
            // What was said with the agent of a persona can be read while that lies in the bin.
            ConversationKind::Editor | ConversationKind::Test => {
                let persona =
                    self.read(scope).await?.persona_head(&conversation.persona_id).await?;
                return Ok(agent_name(&persona.fields.name));
            }
            ConversationKind::Playground => {
                return Ok(self.read(scope).await?.session(id).await?.persona_name);
            }
            ConversationKind::Terminal => return self.terminal_voice(scope, id).await,
            ConversationKind::Chat => {
                let chat = self.read(scope).await?.chat(id).await?;
                return Ok(chat
                    .members
                    .into_iter()
                    .map(|one| one.name)
                    .collect::<Vec<_>>()
                    .join(", "));
            }
        };
        Ok(self.listener(scope, &listener).await?.0)
    }

    /// What whoever speaks in a run is called.
    pub async fn voice_of(&self, scope: &Scope, run: &Run) -> Result<String, ApiError> {
        let mut link = self.read(scope).await?;
        let kind = link.conversation(&run.conversation_id).await?.kind;
        if matches!(kind, ConversationKind::Chat | ConversationKind::Playground) {
            return Ok(link.persona_at(&run.persona_id, run.persona_revision).await?.name);
        }
        drop(link);
        self.name_of(scope, &run.conversation_id).await
    }

    /// The conversations there were with whoever listens, each with its first words, the last first, from before
    /// one of them; and whether there are more.
    pub async fn conversations(
        &self,
        scope: &Scope,
        listener: &Listener,
        before: Option<&ConversationId>,
    ) -> Result<(Vec<(Conversation, String)>, bool), ApiError> {
        let (persona, kind) = match listener {
            Listener::Persona(id) => (id.clone(), ConversationKind::Editor),
            Listener::Companion => (super::companion::id(), ConversationKind::Companion),
        };
        let mut link = self.read(scope).await?;
        let mut found = link.conversations(&persona, kind, before, OFFERED + 1).await?;
        let more = found.len() > OFFERED as usize;
        found.truncate(OFFERED as usize);
        let mut offered = Vec::with_capacity(found.len());
        for conversation in found {
            let first = link.first_message(&conversation.id).await?;
            let words = first.map(|message| excerpt(&message.text())).unwrap_or_default();
            offered.push((conversation, words));
        }
        Ok((offered, more))
    }

    /// Says something to whoever listens. `context` goes along and is not kept.
    pub async fn say(
        &self,
        scope: &Scope,
        listener: &Listener,
        words: &str,
        context: Option<Sight>,
    ) -> Result<Run, ApiError> {
        match listener {
            Listener::Persona(persona) => self.send(scope, persona, words, context).await,
            Listener::Companion => {
                let ambient = self.ambient(scope).await?;
                self.say_in(scope, &ambient, words, context).await
            }
        }
    }

    /// Says something in a conversation. Another run that goes on there is in the way.
    pub async fn say_in(
        &self,
        scope: &Scope,
        conversation: &ConversationId,
        words: impl Into<Words<'_>>,
        context: Option<Sight>,
    ) -> Result<Run, ApiError> {
        let words: Words<'_> = words.into();
        let saying =
            async { Ok(vec![self.say_anew_in(scope, conversation, words, context).await?]) };
        first(self.once(scope, conversation, words.client, saying).await?)
    }

    async fn say_anew_in(
        &self,
        scope: &Scope,
        conversation: &ConversationId,
        words: Words<'_>,
        context: Option<Sight>,
    ) -> Result<Run, ApiError> {
        check_words(words.text)?;
        let known = self.read(scope).await?.conversation(conversation).await?;
        self.refuse_early(scope, conversation).await?;
        let mut brief = self.brief(scope, &known, Reach::Own).await?;
        brief.context = context.map(Arc::new);
        let mut link = self.write(scope).await?;
        link.lock(&Entity::from(&known.persona_id)).await?;
        let conversation = link.conversation(conversation).await?;
        let message = said(conversation.leaf.clone(), words.text, now());
        link.insert_message(&conversation.id, &message).await?;
        keep_client(&mut link, &conversation.id, words.client, &message.id).await?;
        self.start(link, scope, Order::answering(conversation, message, brief)).await
    }

    /// Refuses what would be in the way of a run, before anything is written for it. What is let through
    /// here can still be refused: the database decides.
    pub(super) async fn refuse_early(
        &self,
        scope: &Scope,
        conversation: &ConversationId,
    ) -> Result<(), ApiError> {
        let Some(id) = self.shared.relay.holder(&scope.space, conversation).await else {
            return Ok(());
        };
        match self.read(scope).await?.run(&id).await {
            Ok(run) if run.conversation_id == *conversation && !run.status.is_over() => {
                Err(ApiError::Busy { run_id: id })
            }
            Ok(_) | Err(StoreError::NotFound(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The run that answers a message: the last one, when it was asked for again.
    pub async fn answer(&self, scope: &Scope, message: &MessageId) -> Result<Run, ApiError> {
        let run = self.read(scope).await?.run_of(message).await?;
        // A person's message is kept together with its run, so this is an answer itself.
        run.ok_or_else(|| ApiError::not_found("message"))
    }

    /// Begins a new conversation with whoever listens. The old one is kept; a run in it is stopped.
    pub async fn start_afresh(
        &self,
        scope: &Scope,
        listener: &Listener,
    ) -> Result<ConversationId, ApiError> {
        match listener {
            Listener::Persona(persona) => self.clear(scope, persona).await,
            Listener::Companion => self.clear_companion(scope).await,
        }
    }

    /// What whoever listens works with.
    pub(super) async fn brief(
        &self,
        scope: &Scope,
        conversation: &Conversation,
        reach: Reach,
    ) -> Result<Brief, ApiError> {
        match conversation.kind {
            ConversationKind::Companion => self.companion_brief(scope).await,
            ConversationKind::Editor => {
                self.editor_brief(scope, &conversation.persona_id, reach).await
            }
            ConversationKind::Chat => {
                let reason = "A chat is answered by its personas.".into();
                Err(ApiError::NotNow { reason })
            }
            ConversationKind::Playground => {
                let session = self.read(scope).await?.session(&conversation.id).await?;
                self.session_brief(scope, &session, None, None).await
            }
            ConversationKind::Terminal => self.terminal_brief(scope, conversation).await,
            ConversationKind::Test => {
                let reason = "A test input is run, not talked with.".into();
                Err(ApiError::NotNow { reason })
            }
        }
    }
}

/// What the agent of a persona is called.
fn agent_name(persona: &str) -> String {
    format!("{persona}’s agent")
}

/// What a run has said, by its log.
pub(super) async fn said_by(link: &mut Link, run: &RunId) -> Result<Vec<Part>, StoreError> {
    let mut parts = Vec::new();
    for one in link.run_events(run, 0, u32::MAX).await? {
        fold(&mut parts, one.at, &one.event);
    }
    Ok(parts)
}
