//! Sessions of the playground: beginning and setting them, deleting and clearing them.

use super::{Agent, chat_tree::standing};
use crate::{
    changes::Scope,
    domain::{
        change::Entity,
        error::ApiError,
        id::{ConversationId, MessageId, PersonaId},
        news::News,
        playground::{
            NEW_TITLE, PlaygroundSession, SessionChanges, Variables, check_prompt, check_variables,
        },
        run::Run,
        version::Revision,
    },
    store::{Link, StoreError, new_id, now},
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

/// A session as it shall be, and whether it is that already: it is kept together with what is said in it,
/// or not at all.
#[derive(Clone, Debug)]
pub struct SessionDraft {
    /// The session.
    pub session: PlaygroundSession,
    /// What is to be done with it.
    keep: Keep,
    /// What it is called if nobody called it otherwise.
    first_title: Option<String>,
}

/// What is to be done with a session before something is said in it.
#[derive(Clone, Debug)]
enum Keep {
    New,
    /// Only what these name: others may have set something else meanwhile.
    Changed(SessionChanges),
}

impl From<PlaygroundSession> for SessionDraft {
    fn from(session: PlaygroundSession) -> Self {
        Self { session, keep: Keep::Changed(SessionChanges::default()), first_title: None }
    }
}

impl SessionDraft {
    /// Keeps it through a link that is committed with what is said.
    pub(super) async fn keep(&self, link: &mut Link) -> Result<(), ApiError> {
        let id = &self.session.id;
        match &self.keep {
            Keep::New => link.insert_session(&self.session).await?,
            Keep::Changed(changes) => {
                if self.first_title.is_none() && *changes == SessionChanges::default() {
                    return Ok(());
                }
                link.lock(&Entity::from(id)).await?;
                let mut session = link.session(id).await?;
                changes.apply(&mut session)?;
                if let Some(title) =
                    self.first_title.as_ref().filter(|_| session.title == NEW_TITLE)
                {
                    session.title.clone_from(title);
                }
                link.set_session(&session, now()).await?;
            }
        }
        link.tell(News::of_chat(id));
        Ok(())
    }

    /// The same with a title, unless it has one.
    pub(super) fn called(self, title: String) -> Self {
        if self.session.title != NEW_TITLE {
            return self;
        }
        let first_title = Some(title.clone());
        Self { session: PlaygroundSession { title, ..self.session }, first_title, ..self }
    }
}

impl Agent {
    /// Begins a session with a version of a persona.
    pub async fn create_session(
        &self,
        scope: &Scope,
        new: NewSession,
    ) -> Result<PlaygroundSession, ApiError> {
        let draft = self.new_session(scope, new).await?;
        let mut link = self.write(scope).await?;
        draft.keep(&mut link).await?;
        let made = link.session(&draft.session.id).await?;
        link.commit().await?;
        Ok(made)
    }

    /// A session with a version of a persona, to be kept with the first words in it.
    pub async fn new_session(
        &self,
        scope: &Scope,
        new: NewSession,
    ) -> Result<SessionDraft, ApiError> {
        check_variables(&new.variables)?;
        if let Some(prompt) = &new.system_prompt {
            check_prompt(prompt)?;
        }
        let persona = self.read(scope).await?.persona(&new.persona).await?;
        let revision = new.revision.unwrap_or(persona.revision);
        self.check_version(scope, &persona.id, revision).await?;
        let model = self.chosen_model(scope, &new.model).await?;
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
            model,
            variables: new.variables,
            system_prompt: new.system_prompt,
            leaf: None,
            created_at: at,
            updated_at: at,
            deleted_at: None,
        };
        Ok(SessionDraft { session, keep: Keep::New, first_title: None })
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
        let draft = self.changed_session(scope, persona, id, changes).await?;
        let mut link = self.write(scope).await?;
        draft.keep(&mut link).await?;
        let session = link.session(id).await?;
        link.commit().await?;
        Ok(session)
    }

    /// A session as it shall be, to be kept with what is said in it next.
    pub async fn changed_session(
        &self,
        scope: &Scope,
        persona: &PersonaId,
        id: &ConversationId,
        mut changes: SessionChanges,
    ) -> Result<SessionDraft, ApiError> {
        changes.check()?;
        let mut session = self.session(scope, persona, id).await?;
        if let Some(revision) = changes.persona_revision {
            self.check_version(scope, persona, revision).await?;
        }
        if let Some(model) = changes.model.as_mut().filter(|model| **model != session.model) {
            *model = self.chosen_model(scope, model).await?;
        }
        changes.apply(&mut session)?;
        Ok(SessionDraft { session, keep: Keep::Changed(changes), first_title: None })
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
        link.lock(&Entity::from(id)).await?;
        // One that would not stop, or was begun since, would bring back what it belongs to at its end.
        if let Some(run) = link.run_going_on(id).await? {
            return Err(ApiError::Busy { run_id: run.id });
        }
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
        let known = standing(&mut link, id, message).await?.message.id;
        let leaf = link.newest_below(id, &known).await?;
        link.set_leaf(id, &leaf, now()).await?;
        link.tell(News::of_chat(id));
        Ok(link.commit().await?)
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
}
