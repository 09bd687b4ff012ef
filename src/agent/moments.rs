//! Any moment of a chat as a test input of its persona.

use super::Agent;
use crate::{
    changes::{Scope, to_fields},
    domain::{
        change::{Change, Op},
        error::ApiError,
        id::{MessageId, TestInputId},
        message::{Message, Role},
        test_input::{
            Before, MAX_HISTORY, MAX_HISTORY_CHARS, TestInput, TestInputFields, suggested_check,
        },
    },
    store::new_id,
};

impl Agent {
    /// Makes what was said at a message a test input: with what was said before it, and a check that the
    /// answer suggests.
    pub async fn make_test_input(
        &self,
        scope: &Scope,
        message: &MessageId,
    ) -> Result<TestInput, ApiError> {
        let (chat, known) = self.said_in_chat(scope, message).await?;
        let mut link = self.read(scope).await?;
        let persona = link.chat(&chat).await?.persona_id;
        let (asked, answer) = match (known.message.role, &known.message.parent_id) {
            (Role::User, _) => {
                let (_, newest) = link.children(&chat, message).await?;
                let answer = match newest {
                    Some(newest) => Some(link.message(&newest).await?),
                    None => None,
                };
                (known.message, answer)
            }
            (Role::Assistant, Some(parent)) => {
                // Others may have answered before.
                let above = link.branch_end(parent, MAX_HISTORY as i64).await?;
                let asked = above.into_iter().rfind(|message| message.role == Role::User);
                (asked.ok_or_else(unasked)?, Some(known.message.clone()))
            }
            (Role::Assistant, None) => return Err(unasked()),
        };
        // It is a test of whoever answered.
        let persona = match answer.as_ref().and_then(|answer| answer.run_id.as_ref()) {
            Some(run) => link.run(run).await?.persona_id,
            None => persona,
        };
        if asked.role != Role::User {
            return Err(unasked());
        }
        let before = match &asked.parent_id {
            Some(parent) => link.branch_end(parent, MAX_HISTORY as i64).await?,
            None => Vec::new(),
        };
        drop(link);
        let answer = answer.filter(|answer| answer.role == Role::Assistant);
        let fields = TestInputFields {
            content: asked.text(),
            position: String::new(),
            history: history(&before),
            check: answer.map(|answer| suggested_check(&answer.text())).unwrap_or_default(),
        };
        let id: TestInputId = new_id();
        let change = Change::new(&id, Op::Create)
            .with(to_fields(&fields)?)
            .set("personaId", persona.as_str())
            .because("A moment of a chat.");
        self.gate(scope).submit(change).await?;
        Ok(self.read(scope).await?.test_input(&id).await?)
    }
}

fn unasked() -> ApiError {
    let reason = "Nobody asked for that message, so there is nothing to say to the persona.";
    ApiError::NotNow { reason: reason.into() }
}

/// As much of what was said before as a test input takes, beginning with a person.
fn history(before: &[Message]) -> Vec<Before> {
    let mut room = MAX_HISTORY_CHARS;
    let mut taken: Vec<Before> = Vec::new();
    for message in before.iter().rev() {
        let content = message.text();
        let Some(left) = room.checked_sub(content.chars().count()) else { break };
        room = left;
        if !content.is_empty() {
            taken.push(Before { role: message.role, content });
        }
    }
    while taken.last().is_some_and(|first| first.role != Role::User) {
        taken.pop();
    }
    taken.reverse();
    taken
}
