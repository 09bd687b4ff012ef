//! What a model is told beside the conversation: what the person looks at, and what became of its
//! drafts. It stands before the person's words, and is not kept.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    domain::{
        change::ChangeState,
        error::ApiError,
        id::{ConversationId, MessageId},
        message::{Message, Part, PartBody, Role},
        proposal::Source,
        run::Run,
    },
    store::{Link, ProposalRow, StoreError},
};

/// The most that is told beside one question.
const MAX_BYTES: usize = 16 * 1024;

/// What a person looks at while they ask, as the listener is told it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sight {
    /// In words.
    pub told: String,
    /// What of it nobody here wrote.
    pub sources: Vec<Source>,
}

/// The most sights that are remembered.
const MAX_SIGHTS: usize = 256;

/// What persons looked at when they asked the last questions: remembered by this process, and kept
/// nowhere.
#[derive(Default)]
pub struct Sights(Mutex<VecDeque<(MessageId, Arc<Sight>)>>);

impl Sights {
    fn lock(&self) -> MutexGuard<'_, VecDeque<(MessageId, Arc<Sight>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers what was looked at with a message.
    pub fn remember(&self, message: &MessageId, sight: &Arc<Sight>) {
        let mut sights = self.lock();
        sights.retain(|(known, _)| known != message);
        sights.push_back((message.clone(), sight.clone()));
        if sights.len() > MAX_SIGHTS {
            sights.pop_front();
        }
    }

    /// What was looked at with a message.
    pub fn of(&self, message: &MessageId) -> Option<Arc<Sight>> {
        self.lock().iter().find(|(known, _)| known == message).map(|(_, sight)| sight.clone())
    }
}

/// Whether a chat came from a file, so that nobody here need have written it. What is begun here is
/// answered by runs; what comes from a file stands there before the first of them.
pub async fn is_imported(link: &mut Link, chat: &ConversationId) -> Result<bool, StoreError> {
    let first = link.messages_after(chat, None, 2).await?;
    for (place, message) in first.into_iter().map(|marked| marked.message).enumerate() {
        let ran = message.run_id.is_some()
            || (message.role == Role::User
                && (place > 0 || link.run_of(&message.id).await?.is_some()));
        if !ran {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What was decided about the drafts of this conversation since the model last began to speak.
pub async fn decided(
    link: &mut Link,
    run: &Run,
    branch: &[Message],
) -> Result<Vec<ProposalRow>, ApiError> {
    let spoke = branch.iter().rfind(|message| message.role == Role::Assistant);
    match spoke {
        Some(message) => Ok(link.decided_since(&run.conversation_id, message.created_at).await?),
        // A conversation without an answer has no drafts.
        None => Ok(Vec::new()),
    }
}

/// Puts the notes before the last thing a person said.
pub fn add(branch: &mut [Message], context: Option<&str>, decided: Vec<ProposalRow>) {
    let mut notes = Vec::new();
    notes.extend(context.map(str::to_owned));
    let lines: Vec<String> = decided.iter().filter_map(told).collect();
    if !lines.is_empty() {
        notes.push(format!("What became of your drafts:\n{}", lines.join("\n")));
    }
    if notes.is_empty() {
        return;
    }
    let Some(asked) = branch.iter_mut().rfind(|message| message.role == Role::User) else { return };
    let text = super::tool::bounded(notes.join("\n\n"), MAX_BYTES);
    let text = format!("[Greenroom, not the person, adds:\n{text}\n]");
    let id = format!("{}-note", asked.id).as_str().into();
    let note = Part { id, at: asked.created_at, body: PartBody::Text(text), carried: None };
    asked.parts.insert(0, note);
}

/// One line for the model; none when there is nothing that it does not know.
fn told(draft: &ProposalRow) -> Option<String> {
    let (id, summary) = (&draft.row.id, &draft.summary);
    let outcome = match draft.row.state {
        ChangeState::Applied if draft.row.undone_by.is_some() => {
            "accepted, and then taken back by the person".to_owned()
        }
        ChangeState::Applied => {
            "accepted; the person may have taken only some of it or reworded it".to_owned()
        }
        ChangeState::Rejected if draft.note.is_empty() => "rejected without a reason".to_owned(),
        ChangeState::Rejected => format!("rejected; the person said: {}", draft.note),
        ChangeState::Conflict => {
            "not applied, because the same passage was changed meanwhile; read it again".to_owned()
        }
        ChangeState::Expired => "left undecided for too long, and is gone".to_owned(),
        // Its own later draft took its place.
        ChangeState::Pending | ChangeState::Superseded => return None,
    };
    Some(format!("- {summary} (draft {id}): {outcome}."))
}
