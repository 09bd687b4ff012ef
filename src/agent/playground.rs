//! Sessions of the playground: beginning and setting them, and what is said in them.

use std::sync::Arc;

use super::{
    Agent,
    chat_tree::named,
    driver::{Brief, System, Workspace},
    editor::check_words,
    runs::{Order, said},
};
use crate::{
    changes::Scope,
    domain::{
        change::{Entity, EntityKind},
        error::ApiError,
        id::{ConversationId, MessageId, PersonaId},
        message::{Conversation, ConversationKind, Message, PartBody, Role},
        news::News,
        persona::{Persona, Tier},
        playground::{
            EXECUTE, NEW_TITLE, PlaygroundSession, SessionChanges, Todo, Variables, check_prompt,
            check_variables, filled,
        },
        run::Run,
        tree::{MAX_PATH_SIZE, PathMessage, excerpt},
        version::Revision,
    },
    store::{FilePlace, Link, StoreError, new_id, now},
};

/// What a session is begun with.
#[derive(Clone, Debug, Default)]
pub struct NewSession {
    /// What it will be called by; one is made up without it.
    pub id: Option<ConversationId>,
    /// Who speaks.
    pub persona: PersonaId,
    /// Which version; the present one without it.
    pub revision: Option<Revision>,
    /// What it is called; empty until something is said.
    pub title: String,
    /// The model; empty for the persona's own.
    pub model: String,
    /// What stands in for `{{name}}` in the prompt.
    pub variables: Variables,
    /// What is tried instead of the version's own prompt.
    pub system_prompt: Option<String>,
}

/// What a message in a session follows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Follows {
    /// The end of the branch in use.
    #[default]
    Leaf,
    /// This message.
    After(MessageId),
    /// Nothing: another beginning.
    Nothing,
}

/// The branch of a session that is in use.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionPath {
    /// The messages, the oldest first, the one that is being written included.
    pub items: Vec<PathMessage>,
    /// The message before them, when there are more.
    pub next: Option<MessageId>,
    /// The run that was last begun in the session, on whichever branch.
    pub run: Option<Run>,
    /// From where the files are seen.
    pub place: FilePlace,
}

impl SessionPath {
    /// The list of what is to be done, as it was last written on this branch.
    pub fn todos(&self) -> Vec<Todo> {
        let parts = self.items.iter().rev().flat_map(|item| item.message.parts.iter().rev());
        let mut lists = parts.filter_map(|part| match &part.body {
            PartBody::ToolCall(call) if call.name == "write_todos" => {
                serde_json::from_value(call.input.get("todos")?.clone()).ok()
            }
            _ => None,
        });
        lists.next().unwrap_or_default()
    }

    /// What all answers on this branch took, as far as they are shown: tokens in, tokens out, and
    /// millionths of a dollar.
    pub fn spent(&self) -> (u64, u64, u64) {
        self.items.iter().fold((0, 0, 0), |(input, output, micros), item| {
            let spent = &item.message.spent;
            (
                input + spent.usage.input.unwrap_or_default(),
                output + spent.usage.output.unwrap_or_default(),
                micros + spent.cost_micros.unwrap_or_default(),
            )
        })
    }
}

impl Agent {
    /// Begins a session with a version of a persona.
    pub async fn create_session(
        &self,
        scope: &Scope,
        new: NewSession,
    ) -> Result<PlaygroundSession, ApiError> {
        check_variables(&new.variables)?;
        if let Some(prompt) = &new.system_prompt {
            check_prompt(prompt)?;
        }
        let persona = self.read(scope).await?.persona(&new.persona).await?;
        let revision = new.revision.unwrap_or(persona.revision);
        self.check_version(scope, &persona.id, revision).await?;
        self.check_model(scope, &new.model).await?;
        let title = match new.title.trim() {
            "" => NEW_TITLE.to_owned(),
            title => title.to_owned(),
        };
        SessionChanges { title: Some(title.clone()), ..SessionChanges::default() }.check()?;
        let at = now();
        let session = PlaygroundSession {
            id: new.id.unwrap_or_else(new_id),
            title,
            persona_id: persona.id,
            persona_name: String::new(),
            persona_revision: revision,
            model: new.model,
            variables: new.variables,
            system_prompt: new.system_prompt,
            leaf: None,
            created_at: at,
            updated_at: at,
            deleted_at: None,
        };
        let mut link = self.write(scope).await?;
        link.insert_session(&session).await?;
        let made = link.session(&session.id).await?;
        link.tell(News::of_chat(&made.id));
        link.commit().await?;
        Ok(made)
    }

    /// A session of this persona that is in use.
    pub async fn session(
        &self,
        scope: &Scope,
        persona: &PersonaId,
        id: &ConversationId,
    ) -> Result<PlaygroundSession, ApiError> {
        let session = self.read(scope).await?.session(id).await?;
        let own = session.persona_id == *persona && session.deleted_at.is_none();
        if own { Ok(session) } else { Err(ApiError::not_found("session")) }
    }

    /// Sets what a session is called, and who speaks in it with what.
    pub async fn change_session(
        &self,
        scope: &Scope,
        persona: &PersonaId,
        id: &ConversationId,
        changes: SessionChanges,
    ) -> Result<PlaygroundSession, ApiError> {
        changes.check()?;
        let mut session = self.session(scope, persona, id).await?;
        if let Some(revision) = changes.persona_revision {
            self.check_version(scope, persona, revision).await?;
            session.persona_revision = revision;
        }
        if let Some(model) = changes.model {
            self.check_model(scope, &model).await?;
            session.model = model;
        }
        if let Some(title) = changes.title {
            session.title = title.trim().to_owned();
        }
        if let Some(variables) = changes.variables {
            session.variables = variables;
        }
        let mut link = self.write(scope).await?;
        link.set_session(&session, now()).await?;
        let session = link.session(id).await?;
        link.tell(News::of_chat(id));
        link.commit().await?;
        Ok(session)
    }

    /// Deletes a session, which can be brought back. A run in it is stopped.
    pub async fn delete_session(
        &self,
        scope: &Scope,
        persona: &PersonaId,
        id: &ConversationId,
    ) -> Result<(), ApiError> {
        self.session(scope, persona, id).await?;
        self.stop_session(scope, id).await?;
        self.set_deleted(scope, id, true).await
    }

    /// Brings a deleted session back.
    pub async fn restore_session(
        &self,
        scope: &Scope,
        persona: &PersonaId,
        id: &ConversationId,
    ) -> Result<PlaygroundSession, ApiError> {
        let session = self.read(scope).await?.session(id).await?;
        if session.persona_id != *persona {
            return Err(ApiError::not_found("session"));
        }
        self.set_deleted(scope, id, false).await?;
        self.session(scope, persona, id).await
    }

    async fn set_deleted(
        &self,
        scope: &Scope,
        id: &ConversationId,
        deleted: bool,
    ) -> Result<(), ApiError> {
        let mut link = self.write(scope).await?;
        link.set_session_deleted(id, deleted.then(now)).await?;
        link.tell(News::of_chat(id));
        Ok(link.commit().await?)
    }

    /// Stops what goes on in a session, and says whether there was something.
    pub async fn stop_session(
        &self,
        scope: &Scope,
        id: &ConversationId,
    ) -> Result<Option<Run>, ApiError> {
        let going_on = self.read(scope).await?.run_going_on(id).await?;
        match going_on {
            Some(run) => self.stop(scope, &run.id).await.map(Some),
            None => Ok(None),
        }
    }

    /// Begins a session anew: what was said stays on its branch, and a run in it is stopped.
    pub async fn clear_session(
        &self,
        scope: &Scope,
        persona: &PersonaId,
        id: &ConversationId,
    ) -> Result<PlaygroundSession, ApiError> {
        self.session(scope, persona, id).await?;
        self.stop_session(scope, id).await?;
        let mut link = self.write(scope).await?;
        link.clear_leaf(id, now()).await?;
        let session = link.session(id).await?;
        link.tell(News::of_chat(id));
        link.commit().await?;
        Ok(session)
    }

    /// Goes to the newest end below a message of a session.
    pub async fn go_to_in_session(
        &self,
        scope: &Scope,
        persona: &PersonaId,
        id: &ConversationId,
        message: &MessageId,
    ) -> Result<(), ApiError> {
        self.session(scope, persona, id).await?;
        let mut link = self.write(scope).await?;
        link.lock(&Entity::from(id)).await?;
        if let Some(run) = link.run_going_on(id).await? {
            return Err(ApiError::Busy { run_id: run.id });
        }
        named(&mut link, id, message, "messageId").await?;
        let leaf = link.newest_below(id, message).await?;
        link.set_leaf(id, &leaf, now()).await?;
        link.tell(News::of_chat(id));
        Ok(link.commit().await?)
    }

    /// The branch of a session that is in use, or what stands before a message of it.
    pub async fn session_path(
        &self,
        scope: &Scope,
        session: &PlaygroundSession,
        before: Option<&MessageId>,
    ) -> Result<SessionPath, ApiError> {
        let id = &session.id;
        let mut link = self.read(scope).await?;
        // The run is looked for first: if it ends before the branch is read, its answer is in there.
        let run = link.last_run(id).await?;
        let conversation = session_conversation(&mut link, id).await?;
        let mut place = FilePlace {
            session: id.clone(),
            leaf: conversation.leaf.clone().unwrap_or_default(),
            writing: MessageId::default(),
        };
        let leaf = match before {
            Some(before) => named(&mut link, id, before, "before").await?.message.parent_id,
            None => conversation.leaf,
        };
        let mut items = match &leaf {
            Some(leaf) => link.path(id, leaf, MAX_PATH_SIZE).await?,
            None => Vec::new(),
        };
        let next = items.first().filter(|first| first.message.parent_id.is_some());
        let next = next.map(|first| first.message.id.clone());
        let going_on = run.as_ref().filter(|run| !run.status.is_over() && before.is_none());
        if let Some(run) = going_on.filter(|run| leaf.as_ref() == Some(&run.message_id)) {
            let parts = self.parts_so_far(&mut link, &run.id).await?;
            place.writing = run.reply_id.clone();
            items.push(being_written(run, run.reply(parts), session));
        }
        Ok(SessionPath { items, next, run, place })
    }

    /// From where the files of a session are seen now.
    pub async fn session_place(
        &self,
        scope: &Scope,
        id: &ConversationId,
    ) -> Result<FilePlace, ApiError> {
        let mut link = self.read(scope).await?;
        let run = link.run_going_on(id).await?;
        let leaf = session_conversation(&mut link, id).await?.leaf.unwrap_or_default();
        let writing = run.filter(|run| run.message_id == leaf).map(|run| run.reply_id);
        Ok(FilePlace { session: id.clone(), leaf, writing: writing.unwrap_or_default() })
    }

    /// Says something in a session. Another run that goes on there is in the way.
    pub async fn say_in_session(
        &self,
        scope: &Scope,
        session: &PlaygroundSession,
        words: &str,
        follows: Follows,
        model: Option<&str>,
    ) -> Result<Run, ApiError> {
        check_words(words)?;
        let brief = self.session_brief(scope, session, model).await?;
        self.refuse_early(scope, &session.id).await?;
        let mut link = self.write(scope).await?;
        link.lock(&Entity::from(&session.id)).await?;
        let conversation = session_conversation(&mut link, &session.id).await?;
        let parent = match follows {
            Follows::Leaf => conversation.leaf.clone(),
            Follows::After(id) => {
                Some(named(&mut link, &session.id, &id, "parentId").await?.message.id)
            }
            Follows::Nothing => None,
        };
        let message = said(parent, words, now());
        link.insert_message(&session.id, &message).await?;
        if session.title == NEW_TITLE {
            let named = PlaygroundSession { title: excerpt(words), ..session.clone() };
            link.set_session(&named, now()).await?;
        }
        self.start(link, scope, Order::answering(conversation, message, brief)).await
    }

    /// Has a message of a session answered once more, beside the answers that are there: the one that
    /// asks, or the one that asked for this answer. Another model may be tried for it.
    pub async fn answer_again(
        &self,
        scope: &Scope,
        session: &PlaygroundSession,
        message: &MessageId,
        model: Option<&str>,
    ) -> Result<Run, ApiError> {
        let brief = self.session_brief(scope, session, model).await?;
        let mut link = self.write(scope).await?;
        link.lock(&Entity::from(&session.id)).await?;
        let conversation = session_conversation(&mut link, &session.id).await?;
        let known = named(&mut link, &session.id, message, "messageId").await?.message;
        let asked = match (known.role, known.parent_id) {
            (Role::User, _) => known.id,
            (Role::Assistant, Some(parent)) => parent,
            (Role::Assistant, None) => {
                let reason = "Nobody asked for that message, so there is nothing to answer again.";
                return Err(ApiError::NotNow { reason: reason.into() });
            }
        };
        self.start(link, scope, Order::now(conversation, asked, brief)).await
    }

    /// What the persona of a session works with.
    pub(super) async fn session_brief(
        &self,
        scope: &Scope,
        session: &PlaygroundSession,
        model: Option<&str>,
    ) -> Result<Brief, ApiError> {
        let mut link = self.read(scope).await?;
        let mut persona: Persona = match link.persona(&session.persona_id).await {
            Err(StoreError::NotFound(_)) => {
                return Err(ApiError::InBin { what: EntityKind::Persona.noun().into() });
            }
            persona => persona?,
        };
        persona.fields = link.persona_at(&persona.id, session.persona_revision).await?;
        persona.revision = session.persona_revision;
        let wanted = model.unwrap_or(&session.model);
        let wanted = if wanted.is_empty() { &persona.fields.model } else { wanted };
        let route = self.catalog_on(&mut link, &scope.space).await?.find(wanted)?;
        drop(link);
        let prompt = session.system_prompt.as_ref().unwrap_or(&persona.fields.system_prompt);
        let system = filled(prompt, &session.variables);
        let tools = self.shared.playground_tools.only(&persona.fields.tools);
        if persona.fields.tools.iter().any(|tool| tool == EXECUTE) {
            self.warm_python();
        }
        Ok(Brief {
            persona: Arc::new(persona),
            route,
            system: System::Told(system.into()),
            tools,
            tier: Tier::Read,
            context: None,
            chat: None,
            workspace: Workspace::Files,
        })
    }

    async fn check_version(
        &self,
        scope: &Scope,
        persona: &PersonaId,
        revision: Revision,
    ) -> Result<(), ApiError> {
        let known = self.read(scope).await?.persona_at(persona, revision).await;
        known.map(drop).map_err(|error| match error {
            StoreError::NotFound(_) => {
                ApiError::invalid("personaRevision", "That persona has no such version.")
            }
            error => error.into(),
        })
    }

    async fn check_model(&self, scope: &Scope, model: &str) -> Result<(), ApiError> {
        match model {
            "" => Ok(()),
            model => self.route(scope, model).await.map(drop),
        }
    }
}

/// A session outside the bin, as the conversation that it is.
async fn session_conversation(
    link: &mut Link,
    id: &ConversationId,
) -> Result<Conversation, ApiError> {
    match link.conversation(id).await {
        Ok(conversation) if conversation.kind == ConversationKind::Playground => Ok(conversation),
        Ok(_) | Err(StoreError::NotFound(_)) => Err(ApiError::not_found("session")),
        Err(error) => Err(error.into()),
    }
}

/// An answer that is being given, at the end of a branch.
fn being_written(run: &Run, message: Message, session: &PlaygroundSession) -> PathMessage {
    PathMessage {
        content: message.text(),
        message,
        persona_id: Some(run.persona_id.clone()),
        persona_revision: Some(run.persona_revision),
        persona_name: Some(session.persona_name.clone()),
        position: 1,
        siblings: 1,
        previous: None,
        following: None,
        hidden: 0,
        label: String::new(),
        bookmarked: false,
        generating: true,
    }
}
