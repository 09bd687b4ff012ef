//! What those who spoke in a session are told as themselves: a persona has a prompt of its own, and a model
//! that is nobody's persona has none.

use std::{collections::HashMap, sync::Arc};

use serde_json::{Map, Value, json};

use super::SYSTEM;
use crate::{
    domain::{
        error::ApiError,
        id::PersonaId,
        message::{Message, Role},
        run::Run,
        terminal::{
            HistoryEntry, PERSONA, RecordedSource, SettingsChange, TerminalSession, TurnRecord,
        },
        version::Revision,
    },
    store::{Link, StoreError},
};

/// Under what a prompt is kept with the turn from which on it was told.
const KEPT: &str = "system_prompt_text";

/// The own prompts of those who answered, question by question. What is not known is taken to be as before.
#[derive(Debug, Default)]
pub(super) struct Speakers {
    versions: HashMap<(PersonaId, Revision), Option<Arc<str>>>,
    prompts: Vec<Option<Arc<str>>>,
}

impl Speakers {
    /// Takes the next question, with the run that answered it or what a file said of it.
    pub(super) async fn hear(
        &mut self,
        link: &mut Link,
        run: Option<&Run>,
        facts: Option<&TurnRecord>,
    ) -> Result<(), ApiError> {
        let prompt = match (run, facts) {
            (Some(run), _) => self.version(link, run).await?,
            (None, Some(facts)) => facts.overrides.get(KEPT).and_then(Value::as_str).map(Arc::from),
            (None, None) => None,
        };
        self.prompts.push(prompt);
        Ok(())
    }

    /// What the persona of a run said at its version; `None` when that is gone.
    async fn version(&mut self, link: &mut Link, run: &Run) -> Result<Option<Arc<str>>, ApiError> {
        if run.persona_id.as_str().is_empty() {
            return Ok(Some(Arc::from("")));
        }
        let version = (run.persona_id.clone(), run.persona_revision);
        if let Some(known) = self.versions.get(&version) {
            return Ok(known.clone());
        }
        let prompt = match link.persona_at(&run.persona_id, run.persona_revision).await {
            Ok(fields) => Some(Arc::from(fields.system_prompt)),
            Err(StoreError::NotFound(_)) => None,
            Err(error) => return Err(error.into()),
        };
        self.versions.insert(version, prompt.clone());
        Ok(prompt)
    }

    /// The prompts, a question each.
    pub(super) fn prompts(&self) -> impl Iterator<Item = Option<&str>> {
        self.prompts.iter().map(Option::as_deref)
    }

    /// The prompt of the persona that spoke last, if that is still the one that speaks.
    pub(super) fn speaking(
        &self,
        session: &TerminalSession,
        messages: &[Message],
        set: &[SettingsChange],
    ) -> Option<String> {
        let asked = messages.iter().rev().find(|message| message.role == Role::User)?.created_at;
        let is_other = set.iter().any(|change| change.at > asked && change.set.model.is_some());
        if is_other || !session.settings.model.starts_with(PERSONA) {
            return None;
        }
        let last = self.prompts.iter().rev().find_map(Option::as_deref);
        last.filter(|prompt| !prompt.is_empty()).map(str::to_owned)
    }
}

/// The own prompts in a history, question by question, where they became other ones.
pub(super) fn in_history(history: &[HistoryEntry]) -> Vec<Option<&str>> {
    let mut questions = Vec::new();
    let mut prompt = None;
    for entry in history {
        if entry.role == SYSTEM {
            let is_own = entry.source == Some(RecordedSource::Persona);
            prompt = is_own.then_some(entry.content.as_str());
        } else if Role::from_word(&entry.role) == Role::User {
            questions.push(prompt.take());
        }
    }
    questions
}

/// A prompt as it is kept with a turn.
pub(super) fn kept(prompt: Option<&str>) -> Map<String, Value> {
    prompt.map(|prompt| (KEPT.to_owned(), json!(prompt))).into_iter().collect()
}
