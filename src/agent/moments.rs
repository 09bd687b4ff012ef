//! Any moment of a chat as a test input of its persona.

use super::{Agent, is_from_elsewhere, tool::PASSAGE_CHARS, voices};
use crate::{
    changes::{Scope, to_fields},
    domain::{
        change::{Change, Entity, Op},
        chat::MAX_MEMBERS,
        error::ApiError,
        id::{MessageId, TestInputId},
        message::{Message, Role},
        proposal::Source,
        test_input::{
            Before, MAX_HISTORY, MAX_HISTORY_CHARS, TestInput, TestInputFields, suggested_check,
        },
    },
    store::new_id,
};

/// How many messages are looked through: what is asked, what others said to it, and what stands before.
const HEARD: i64 = (MAX_HISTORY + MAX_MEMBERS) as i64;

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
        let answer = match known.message.role {
            Role::Assistant => Some(known.message.clone()),
            Role::User => match link.children(&chat, message).await?.1 {
                Some(newest) => Some(link.message(&newest).await?),
                None => None,
            },
        };
        let answer = answer.filter(|answer| answer.role == Role::Assistant);
        // It is a test of whoever answered, with what they had heard: those who answered beside them
        // were not heard.
        let run = match answer.as_ref().and_then(|answer| answer.run_id.as_ref()) {
            Some(run) => Some(link.run(run).await?),
            None => None,
        };
        let last = match (&run, known.message.role) {
            (Some(run), _) => Some(run.message_id.clone()),
            (None, Role::User) => Some(known.message.id),
            (None, Role::Assistant) => known.message.parent_id,
        };
        let last = last.ok_or_else(unasked)?;
        let speaker = match (run, &answer) {
            (Some(run), _) => Some(run.persona_id),
            (None, Some(answer)) => link.speaker(&answer.id).await?,
            (None, None) => None,
        };
        let persona = match speaker {
            Some(speaker) => speaker,
            None => link.chat(&chat).await?.persona_id,
        };
        let mut heard = link.branch_end(&last, HEARD).await?;
        let asked = heard.iter().rposition(|message| message.role == Role::User);
        let asked = asked.ok_or_else(unasked)?;
        let voices = link.voices(&chat, &last, HEARD).await?;
        let entity = Entity::from(&chat);
        let source = match is_from_elsewhere(&mut link, &entity).await? {
            true => Some((entity, link.chat(&chat).await?.title)),
            false => None,
        };
        drop(link);
        voices::hear(&mut heard, &voices, &persona);
        // What others said to it before this one answered belongs to what is asked.
        let question = heard.split_off(asked).into_iter();
        let question = question.filter(|message| message.role == Role::User);
        let question: Vec<String> = question.map(|message| message.text()).collect();
        let fields = TestInputFields {
            content: question.join("\n\n"),
            position: String::new(),
            history: history(&heard),
            check: answer.map(|answer| suggested_check(&answer.text())).unwrap_or_default(),
        };
        let id: TestInputId = new_id();
        let mut change = Change::new(&id, Op::Create)
            .with(to_fields(&fields)?)
            .set("personaId", persona.as_str())
            .because("A moment of a chat.");
        let passage = fields.content.chars().take(PASSAGE_CHARS).collect();
        let source = source.map(|(entity, title)| Source { entity, title, passage });
        change.untrusted = source.into_iter().collect();
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
    for message in before.iter().rev().take(MAX_HISTORY) {
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
