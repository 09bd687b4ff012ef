//! Beginning sessions of the terminal: by themselves, or together with what is said in them.

use crate::{
    agent::Agent,
    changes::Scope,
    domain::{
        error::ApiError,
        id::ConversationId,
        news::News,
        terminal::{NewTerminal, TerminalChanges, TerminalSession},
    },
    store::{Link, now},
};

/// A session that is not kept yet.
pub(in crate::agent) struct TerminalDraft {
    /// The session.
    pub session: TerminalSession,
    /// What was set for it.
    set: TerminalChanges,
}

impl TerminalDraft {
    /// Keeps it through a link that somebody commits.
    pub async fn keep(&self, link: &mut Link) -> Result<(), ApiError> {
        let Self { session, set } = self;
        link.insert_terminal(session).await?;
        if !set.is_empty() {
            link.add_terminal_setting(&session.id, set, session.created_at).await?;
        }
        link.tell(News::of_chat(&session.id));
        Ok(())
    }
}

impl Agent {
    /// Begins a session.
    pub async fn create_terminal(
        &self,
        scope: &Scope,
        new: NewTerminal,
    ) -> Result<TerminalSession, ApiError> {
        let draft = self.new_terminal(scope, new).await?;
        self.check_speaker(scope, &draft.session.settings.model).await?;
        let mut link = self.write(scope).await?;
        draft.keep(&mut link).await?;
        link.commit().await?;
        Ok(draft.session)
    }

    /// A session, to be kept with what is said in it.
    pub(in crate::agent) async fn new_terminal(
        &self,
        scope: &Scope,
        new: NewTerminal,
    ) -> Result<TerminalDraft, ApiError> {
        let NewTerminal { description, mut settings, overrides } = new;
        overrides.check()?;
        overrides.apply(&mut settings);
        let all = TerminalChanges {
            description: Some(description.trim().to_owned()),
            model: Some(settings.model.clone()),
            window_size: Some(settings.window_size),
            system_prompt: settings.system_prompt.clone(),
            ..TerminalChanges::default()
        };
        all.check()?;
        self.cast(scope, &settings.model).await?;
        let at = now();
        let session = TerminalSession {
            id: ConversationId::new(uuid::Uuid::new_v4().to_string()),
            description: description.trim().to_owned(),
            settings,
            turns: 0,
            leaf: None,
            created_at: at,
            updated_at: at,
            deleted_at: None,
        };
        let prompt = session.settings.system_prompt.clone();
        let set = TerminalChanges { description: None, system_prompt: prompt, ..overrides };
        Ok(TerminalDraft { session, set })
    }
}
