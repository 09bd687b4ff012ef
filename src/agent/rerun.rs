//! Going on from the middle of a run: with another prompt, another model, or another result of a tool.
//!
//! What was done before is taken over as it was; the run itself is left alone. In the playground it goes on
//! as a branch of the same session, otherwise in a session of its own.

use super::{Agent, playground::NewSession, runs::Order};
use crate::{
    changes::Scope,
    domain::{
        change::Entity,
        error::ApiError,
        event::{RunEvent, Stamped, fold},
        id::{CallId, ConversationId, MessageId, RunId},
        message::{ConversationKind, Message, Part, PartBody},
        playground::{PlaygroundSession, check_prompt},
        run::Run,
        sent::{Recorded, joined},
        tree::excerpt,
        virtual_file::{FileChange, FilePath},
    },
    store::{FilePlace, Link, new_id, now},
};

/// From where a run is gone on with, and what is different.
#[derive(Clone, Debug, Default)]
pub struct Rerun {
    /// Before which time that the model was asked, from 1.
    pub step: u32,
    /// What the model is told instead of what it was told.
    pub system_prompt: Option<String>,
    /// What tools gave instead of what they gave.
    pub results: Vec<(CallId, String)>,
    /// The model that is asked instead.
    pub model: Option<String>,
}

impl Agent {
    /// Goes on from the middle of a run that has ended.
    pub async fn run_on(
        &self,
        scope: &Scope,
        id: &RunId,
        rerun: Rerun,
    ) -> Result<(PlaygroundSession, Run), ApiError> {
        let mut link = self.read(scope).await?;
        let run = link.run(id).await?;
        if !run.status.is_over() {
            return Err(ApiError::Busy { run_id: run.id });
        }
        let mut so_far = before_step(&link.run_events(id, 0, u32::MAX).await?, rerun.step)?;
        for (call, output) in rerun.results {
            replace(&mut so_far, &call, output)?;
        }
        let kind = link.conversation_kind(&run.conversation_id).await?;
        let here = kind == ConversationKind::Playground && rerun.system_prompt.is_none();
        let session = match here {
            true => {
                drop(link);
                self.session(scope, &run.persona_id, &run.conversation_id).await?
            }
            false => {
                let told = link.run_prompt(id).await?;
                let persona = link.persona_at(&run.persona_id, run.persona_revision).await?;
                let recorded = told.and_then(|told| serde_json::from_str::<Recorded>(&told).ok());
                drop(link);
                let prompt = rerun.system_prompt.unwrap_or_else(|| match recorded {
                    Some(recorded) => joined(&recorded.sections(&persona.system_prompt)),
                    None => persona.system_prompt,
                });
                check_prompt(&prompt)?;
                self.begin_copy(scope, &run, prompt).await?
            }
        };
        let brief = self.session_brief(scope, &session, rerun.model.as_deref()).await?;
        let mut link = self.write(scope).await?;
        link.lock(&Entity::from(&session.id)).await?;
        let asked = match here {
            true => run.message_id.clone(),
            false => copy_branch(&mut link, &run, &session.id).await?,
        };
        let conversation = link.conversation(&session.id).await?;
        let order = Order { so_far, ..Order::now(conversation, asked.clone(), brief) };
        let from = FilePlace {
            session: run.conversation_id.clone(),
            leaf: run.message_id.clone(),
            writing: run.reply_id.clone(),
        };
        let to =
            FilePlace { session: session.id.clone(), leaf: asked, writing: order.reply.clone() };
        take_files_along(&mut link, &from, &to, &order.so_far).await?;
        let begun = self.start(link, scope, order).await?;
        Ok((session, begun))
    }

    /// A session of its own, with the persona as it was.
    async fn begin_copy(
        &self,
        scope: &Scope,
        run: &Run,
        prompt: String,
    ) -> Result<PlaygroundSession, ApiError> {
        let asked = self.read(scope).await?.message(&run.message_id).await?;
        let new = NewSession {
            persona: run.persona_id.clone(),
            revision: Some(run.persona_revision),
            title: excerpt(&format!("Tried otherwise: {}", asked.text())),
            model: run.model.clone(),
            system_prompt: Some(prompt),
            ..NewSession::default()
        };
        self.create_session(scope, new).await
    }
}

/// What a run had said and done before the model was asked for this time.
fn before_step(events: &[Stamped], step: u32) -> Result<Vec<Part>, ApiError> {
    let mut parts = Vec::new();
    for one in events {
        match &one.event {
            RunEvent::StepStarted { step: begun, .. } if *begun == step => return Ok(parts),
            event => fold(&mut parts, one.at, event),
        }
    }
    let rule = "The model was not asked that often in this run.";
    Err(ApiError::invalid("step", rule))
}

/// Lets a tool have given something else.
fn replace(parts: &mut [Part], call: &CallId, output: String) -> Result<(), ApiError> {
    let result = parts.iter_mut().find_map(|part| match &mut part.body {
        PartBody::ToolResult(result) if result.call == *call => Some(result),
        _ => None,
    });
    let missing = || ApiError::invalid("results", "No such tool had given a result by then.");
    let result = result.ok_or_else(missing)?;
    result.output = output;
    result.is_error = false;
    Ok(())
}

/// Writes what was said up to the message that asked for a run into another session, and gives that
/// message there.
async fn copy_branch(
    link: &mut Link,
    run: &Run,
    session: &ConversationId,
) -> Result<MessageId, ApiError> {
    let mut parent: Option<MessageId> = None;
    for message in link.branch(&run.message_id).await? {
        let copy = Message { id: new_id(), parent_id: parent.take(), run_id: None, ..message };
        link.insert_message(session, &copy).await?;
        parent = Some(copy.id);
    }
    parent.ok_or_else(|| ApiError::not_found("message"))
}

/// Gives the files that a run saw and wrote to the one that goes on from it.
async fn take_files_along(
    link: &mut Link,
    from: &FilePlace,
    to: &FilePlace,
    so_far: &[Part],
) -> Result<(), ApiError> {
    let change = |path: &str, content: Option<Vec<u8>>| -> Result<FileChange, ApiError> {
        Ok(FileChange { path: FilePath::parse(path)?, content })
    };
    if from.session != to.session {
        let before = FilePlace { writing: MessageId::default(), ..from.clone() };
        let files = link.whole_files(&before, None).await?.into_iter();
        let files: Result<Vec<FileChange>, ApiError> =
            files.map(|file| change(&file.info.path, Some(file.content))).collect();
        link.write_files(to, None, &files?, now()).await?;
    }
    for part in so_far {
        let PartBody::ToolCall(call) = &part.body else { continue };
        let steps = link.file_steps(from, &call.call).await?.into_iter();
        let done: Result<Vec<FileChange>, ApiError> =
            steps.map(|step| change(&step.path, step.after)).collect();
        link.write_files(to, Some(&call.call), &done?, now()).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::{
        message::{ToolCall, ToolResult},
        timestamp::Timestamp,
    };

    fn events() -> Vec<Stamped> {
        let call = ToolCall { call: "c".into(), name: "ls".into(), input: json!({}) };
        let result = ToolResult {
            call: "c".into(),
            name: "ls".into(),
            output: "old".into(),
            is_error: true,
            change_id: None,
            sources: Vec::new(),
        };
        let events = [
            RunEvent::StepStarted { step: 1 },
            RunEvent::ToolCall { part: "p1".into(), call, carried: None },
            RunEvent::ToolResult { part: "p2".into(), result, took_ms: None },
            RunEvent::StepStarted { step: 2 },
            RunEvent::Text { part: "p3".into(), delta: "Done.".into() },
        ];
        (1..).zip(events).map(|(seq, event)| Stamped { seq, at: Timestamp(0), event }).collect()
    }

    #[test]
    fn what_came_before_a_step_is_taken_and_what_came_after_is_not() {
        assert_eq!(before_step(&events(), 1).unwrap().len(), 0);
        assert_eq!(before_step(&events(), 2).unwrap().len(), 2);
        assert_eq!(before_step(&events(), 3).unwrap_err().status(), 422);
    }

    #[test]
    fn a_result_can_have_been_another() {
        let mut parts = before_step(&events(), 2).unwrap();

        replace(&mut parts, &"c".into(), "new".into()).unwrap();

        let PartBody::ToolResult(result) = &parts[1].body else { panic!("no result") };
        assert_eq!((result.output.as_str(), result.is_error), ("new", false));
        assert!(replace(&mut parts, &"other".into(), String::new()).is_err());
    }
}
