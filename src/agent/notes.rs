//! What a model is told beside the conversation: what the person looks at, and what became of its
//! drafts. It stands before the person's words, and is not kept.

use crate::{
    domain::{
        change::ChangeState,
        error::ApiError,
        message::{Message, Part, PartBody, Role},
        run::Run,
    },
    store::{Link, ProposalRow},
};

/// The most that is told beside one question.
const MAX_BYTES: usize = 16 * 1024;

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
    if !decided.is_empty() {
        let lines: Vec<String> = decided.iter().map(told).collect();
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

/// One line for the model.
fn told(draft: &ProposalRow) -> String {
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
        ChangeState::Pending => "taken up again; it waits for a decision".to_owned(),
        ChangeState::Superseded => "replaced by a later draft".to_owned(),
        ChangeState::Expired => "left undecided for too long, and is gone".to_owned(),
    };
    format!("- {summary} (draft {id}): {outcome}.")
}
