//! What a model is told beside the conversation: what the person looks at, and what became of its
//! drafts. It stands before the person's words, and is not kept.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    changes::{Taken, taken},
    domain::{
        change::{ChangeState, Entity, EntityKind, field_label},
        error::ApiError,
        id::{ConversationId, MessageId},
        message::{Message, Part, PartBody, Role},
        proposal::Source,
        run::Run,
        timestamp::Timestamp,
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
async fn is_imported(link: &mut Link, chat: &ConversationId) -> Result<bool, StoreError> {
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

/// Whether nobody here need have written what a thing says: what a ref says never, the rest when it came from
/// a file.
pub async fn is_from_elsewhere(link: &mut Link, entity: &Entity) -> Result<bool, StoreError> {
    match entity.kind {
        EntityKind::Ref => Ok(true),
        EntityKind::Chat => is_imported(link, &ConversationId::new(entity.id.as_str())).await,
        EntityKind::Persona | EntityKind::TestInput | EntityKind::Page | EntityKind::Task => {
            link.is_brought_in(entity).await
        }
    }
}

/// What was decided about the drafts of this conversation since the model last began to speak.
pub async fn decided(
    link: &mut Link,
    run: &Run,
    branch: &[Message],
) -> Result<Vec<Decided>, ApiError> {
    let spoke = branch.iter().rfind(|message| message.role == Role::Assistant);
    // The first answer may have been left aside, and its drafts decided on.
    let since = spoke.map_or(Timestamp(0), |message| message.created_at);
    let mut decided = Vec::new();
    for draft in link.decided_since(&run.conversation_id, since).await? {
        decided.push(looked_at(link, draft).await?);
    }
    Ok(decided)
}

/// What earlier tries at the same question did, as far as `decided` does not tell it.
pub async fn tried(
    link: &mut Link,
    run: &Run,
    decided: &[Decided],
) -> Result<Vec<Decided>, ApiError> {
    let mut tried = Vec::new();
    for draft in link.changes_of_tries(run).await? {
        if !decided.iter().any(|known| known.draft.row.id == draft.row.id) {
            tried.push(looked_at(link, draft).await?);
        }
    }
    Ok(tried)
}

async fn looked_at(link: &mut Link, draft: ProposalRow) -> Result<Decided, ApiError> {
    let taken = match taken(link, &draft).await {
        Ok(taken) => taken,
        // What it was about was removed for good.
        Err(ApiError::NotFound { .. }) => Vec::new(),
        Err(error) => return Err(error),
    };
    Ok(Decided { draft, taken })
}

/// A draft that was decided on, and how far each of its fields was taken.
pub struct Decided {
    draft: ProposalRow,
    taken: Vec<(String, Taken)>,
}

/// Puts the notes before the last thing a person said. What became of its drafts is told once only, so it
/// stands first: when there is too much, the end is left out.
pub fn add(branch: &mut [Message], context: Option<&str>, tried: &[Decided], decided: &[Decided]) {
    let mut notes = Vec::new();
    let lines: Vec<String> = tried.iter().filter_map(told_of_try).collect();
    if !lines.is_empty() {
        let told = "An earlier try at this question already did this; do not do it again:";
        notes.push(format!("{told}\n{}", lines.join("\n")));
    }
    let lines: Vec<String> = decided.iter().filter_map(told).collect();
    if !lines.is_empty() {
        notes.push(format!("What became of your drafts:\n{}", lines.join("\n")));
    }
    notes.extend(context.map(str::to_owned));
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

/// The same of a change of an earlier try, of which it knows nothing.
fn told_of_try(one: &Decided) -> Option<String> {
    let Decided { draft, .. } = one;
    let outcome = match draft.row.state {
        // Somebody who may act asks nobody.
        ChangeState::Applied if draft.decided_by.is_none() => match draft.row.undone_by {
            Some(_) => "done, and then taken back by the person",
            None => "done",
        },
        ChangeState::Pending => "drafted, and waits for the person to decide",
        ChangeState::Applied
        | ChangeState::Rejected
        | ChangeState::Superseded
        | ChangeState::Expired
        | ChangeState::Conflict => return told(one),
    };
    Some(format!("- {}: {outcome}.", draft.summary))
}

/// One line for the model; none when there is nothing that it does not know.
fn told(Decided { draft, taken }: &Decided) -> Option<String> {
    let (id, summary) = (&draft.row.id, &draft.summary);
    let outcome = match draft.row.state {
        ChangeState::Applied if draft.row.undone_by.is_some() => {
            "accepted, and then taken back by the person".to_owned()
        }
        ChangeState::Applied => accepted(taken),
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

/// How a draft was accepted, field by field where it was not taken as it was.
fn accepted(taken: &[(String, Taken)]) -> String {
    if taken.iter().all(|(_, how)| *how == Taken::Whole) {
        return "accepted as you wrote it".into();
    }
    let fields = taken.iter().map(|(field, how)| {
        let how = match how {
            Taken::Whole => "taken whole",
            Taken::InPart => "taken in part",
            Taken::Reworded => "reworded by the person",
            Taken::Left => "not taken",
        };
        format!("the {} was {how}", field_label(field))
    });
    let fields = fields.collect::<Vec<_>>().join(", ");
    format!("accepted, but not as you wrote it: {fields}; read it again before you change it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_named_only_where_something_was_not_taken_as_it_was() {
        let whole = ("title".to_owned(), Taken::Whole);
        let part = ("systemPrompt".to_owned(), Taken::InPart);

        assert_eq!(accepted(&[]), "accepted as you wrote it");
        assert_eq!(accepted(std::slice::from_ref(&whole)), "accepted as you wrote it");
        assert_eq!(
            accepted(&[whole, part]),
            "accepted, but not as you wrote it: the title was taken whole, the system prompt was \
             taken in part; read it again before you change it"
        );
    }
}
