//! Going on from the middle of a run: with another prompt, another question, another model, or another
//! result of a tool.
//!
//! What was done before is taken over as it was; the run itself is left alone. In the playground it goes on
//! as a branch of the same session, otherwise in a session of its own: of the terminal where a model answered
//! as itself, since a session of the playground is a persona's.

use super::{
    Agent,
    driver::System,
    editor::check_words,
    playground::{NewSession, SessionDraft},
    runs::{Order, said},
    session_talk::{keep_trying, session_conversation, tried_at},
};
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
        terminal::{ManagerKind, NewTerminal, SystemPrompt, TerminalChanges, TerminalSettings},
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
    /// What was asked instead of what was asked.
    pub message: Option<String>,
    /// What tools gave instead of what they gave.
    pub results: Vec<(CallId, String)>,
    /// The model that is asked instead.
    pub model: Option<String>,
}

/// A run of before, as it is gone on from.
struct Before {
    run: Run,
    kind: ConversationKind,
    /// What it said and did by then.
    so_far: Vec<Part>,
    /// What its model was told.
    told: String,
    /// What asked for it.
    asked: Message,
}

impl Agent {
    /// Goes on from the middle of a run that has ended: in a session of the playground, or of the terminal
    /// where there is none.
    pub async fn run_on(
        &self,
        scope: &Scope,
        id: &RunId,
        rerun: Rerun,
    ) -> Result<(Option<PlaygroundSession>, Run), ApiError> {
        let mut before = self.before(scope, id, rerun.step).await?;
        for (call, output) in rerun.results {
            replace(&mut before.so_far, &call, output)?;
        }
        let prompt = rerun.system_prompt.filter(|prompt| *prompt != before.told);
        if let Some(prompt) = &prompt {
            check_prompt(prompt)?;
        }
        let words = rerun.message.filter(|words| *words != before.asked.text());
        if let Some(words) = &words {
            check_words(words)?;
        }
        let model = rerun.model.unwrap_or_else(|| before.run.model.clone());
        if before.run.persona_id.as_str().is_empty() {
            let run = self.run_on_in_terminal(scope, before, prompt, words, model).await?;
            return Ok((None, run));
        }
        let Before { run, kind, so_far, told, asked } = before;
        let here = kind == ConversationKind::Playground;
        let draft = match here {
            true => {
                let (persona, session) = (&run.persona_id, &run.conversation_id);
                let session = self.session(scope, persona, session).await?;
                // It is asked of whoever spoke then, whoever speaks now.
                let persona_revision = run.persona_revision;
                SessionDraft::from(PlaygroundSession { persona_revision, ..session })
            }
            false => {
                let prompt = prompt.clone().unwrap_or_else(|| told.clone());
                self.copied(scope, &run, &asked, prompt).await?
            }
        };
        let session = draft.session.id.clone();
        let tried = prompt.clone();
        let mut brief = self.session_brief(scope, &draft.session, Some(&model), tried).await?;
        if prompt.is_none() {
            // The places of what it was told were filled then.
            brief.system = System::Told(told.into());
        }
        let mut link = self.write(scope).await?;
        link.lock(&Entity::from(&session)).await?;
        draft.keep(&mut link).await?;
        let message = match (here, words) {
            (true, None) => asked.id,
            (true, Some(words)) => {
                let other = said(asked.parent_id, &words, now());
                link.insert_message(&session, &other).await?;
                other.id
            }
            (false, words) => {
                let copies = copied_branch(&mut link, &run, words).await?;
                keep_copies(&mut link, &session, &copies).await?
            }
        };
        let conversation = session_conversation(&mut link, &session).await?;
        let order = Order { so_far, ..Order::now(conversation, message.clone(), brief) };
        if here {
            let (reply, asked) = (Some(&run.reply_id), Some(&run.message_id));
            let tried = match prompt {
                Some(prompt) => Some(prompt),
                None => tried_at(&mut link, &session, reply, asked).await?,
            };
            keep_trying(&mut link, &session, &order, tried).await?;
        }
        take_files_along(&mut link, &run, &session, message, &order).await?;
        let begun = self.start(link, scope, order).await?;
        Ok((Some(self.read(scope).await?.session(&session).await?), begun))
    }

    /// Goes on in a session of the terminal of its own, set as the one of before was.
    async fn run_on_in_terminal(
        &self,
        scope: &Scope,
        before: Before,
        prompt: Option<String>,
        words: Option<String>,
        model: String,
    ) -> Result<Run, ApiError> {
        let Before { run, so_far, told, asked, .. } = before;
        let mut link = self.read(scope).await?;
        let set = link.terminal(&run.conversation_id).await?.settings;
        let copies = copied_branch(&mut link, &run, words).await?;
        drop(link);
        let text = prompt.unwrap_or(told);
        let settings = TerminalSettings {
            model,
            system_prompt: (!text.trim().is_empty()).then(|| SystemPrompt::inline(text)),
            // What was summed up before is in what it is told.
            conversation_manager: ManagerKind::SlidingWindow,
            ..set
        };
        let description = excerpt(&format!("Tried otherwise: {}", asked.text()));
        let new = NewTerminal { description, settings, overrides: TerminalChanges::default() };
        let draft = self.new_terminal(scope, new).await?;
        let id = draft.session.id.clone();
        let brief = self.new_terminal_brief(scope, &draft.session, copies.clone()).await?;
        let mut link = self.write(scope).await?;
        draft.keep(&mut link).await?;
        let message = keep_copies(&mut link, &id, &copies).await?;
        let conversation = link.conversation(&id).await?;
        let order = Order { so_far, ..Order::now(conversation, message.clone(), brief) };
        take_files_along(&mut link, &run, &id, message, &order).await?;
        self.start(link, scope, order).await
    }

    /// A run as it was before its model was asked for this time.
    async fn before(&self, scope: &Scope, id: &RunId, step: u32) -> Result<Before, ApiError> {
        let mut link = self.read(scope).await?;
        let run = link.run(id).await?;
        if !run.status.is_over() {
            return Err(ApiError::Busy { run_id: run.id });
        }
        let so_far = before_step(&link.run_events(id, 0, u32::MAX).await?, step)?;
        let kind = link.conversation_kind(&run.conversation_id).await?;
        let own = match run.persona_id.as_str() {
            "" => String::new(),
            _ => link.persona_at(&run.persona_id, run.persona_revision).await?.system_prompt,
        };
        let recorded = link.run_prompt(id).await?;
        let recorded = recorded.and_then(|told| serde_json::from_str::<Recorded>(&told).ok());
        let told = match recorded {
            Some(recorded) => joined(&recorded.sections(&own)),
            None => own,
        };
        let asked = link.message(&run.message_id).await?;
        Ok(Before { run, kind, so_far, told, asked })
    }

    /// A session of its own, with the persona as it was.
    async fn copied(
        &self,
        scope: &Scope,
        run: &Run,
        asked: &Message,
        prompt: String,
    ) -> Result<SessionDraft, ApiError> {
        let new = NewSession {
            persona: run.persona_id.clone(),
            revision: Some(run.persona_revision),
            title: excerpt(&format!("Tried otherwise: {}", asked.text())),
            model: run.model.clone(),
            system_prompt: Some(prompt),
            ..NewSession::default()
        };
        self.new_session(scope, new).await
    }
}

/// What a run had said and done before the model was asked for this time.
fn before_step(events: &[Stamped], step: u32) -> Result<Vec<Part>, ApiError> {
    let (mut parts, mut last) = (Vec::new(), 0);
    for one in events {
        match &one.event {
            RunEvent::StepStarted { step: begun, .. } if *begun == step => return Ok(parts),
            RunEvent::StepStarted { step: begun, .. } => last = *begun,
            event => fold(&mut parts, one.at, event),
        }
    }
    // One that ended with the result of a tool can be gone on with from there.
    let answered = |call: &CallId| {
        parts
            .iter()
            .any(|part| matches!(&part.body, PartBody::ToolResult(given) if given.call == *call))
    };
    let results = parts.last().is_some_and(|part| matches!(part.body, PartBody::ToolResult(_)));
    let whole = parts.iter().all(|part| match &part.body {
        PartBody::ToolCall(call) => answered(&call.call),
        PartBody::Text(_) | PartBody::Reasoning(_) | PartBody::ToolResult(_) => true,
    });
    if results && whole && step == last.saturating_add(1) {
        return Ok(parts);
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

/// What was said up to the message that asked for a run, to stand in another session; that one in other words
/// if there are some.
async fn copied_branch(
    link: &mut Link,
    run: &Run,
    words: Option<String>,
) -> Result<Vec<Message>, ApiError> {
    let mut branch = link.branch(&run.message_id).await?;
    if let Some((last, words)) = branch.last_mut().zip(words) {
        last.parts = said(None, &words, now()).parts;
    }
    let mut parent: Option<MessageId> = None;
    for message in &mut branch {
        message.id = new_id();
        message.parent_id = parent.replace(message.id.clone());
        message.run_id = None;
    }
    Ok(branch)
}

/// Writes copies of messages into a session, and gives the last.
async fn keep_copies(
    link: &mut Link,
    session: &ConversationId,
    copies: &[Message],
) -> Result<MessageId, ApiError> {
    for copy in copies {
        link.insert_message(session, copy).await?;
    }
    let last = copies.last().ok_or_else(|| ApiError::not_found("message"))?;
    Ok(last.id.clone())
}

/// Gives the files that a run saw and wrote to the one that goes on from it.
async fn take_files_along(
    link: &mut Link,
    run: &Run,
    session: &ConversationId,
    message: MessageId,
    order: &Order,
) -> Result<(), ApiError> {
    let from = &FilePlace {
        session: run.conversation_id.clone(),
        leaf: run.message_id.clone(),
        writing: run.reply_id.clone(),
    };
    let writing = order.reply.clone();
    let to = &FilePlace { session: session.clone(), leaf: message, writing };
    let change = |path: &str, content: Option<Vec<u8>>| -> Result<FileChange, ApiError> {
        Ok(FileChange { path: FilePath::parse(path)?, content })
    };
    if from.session != to.session || from.leaf != to.leaf {
        let before = FilePlace { writing: MessageId::default(), ..from.clone() };
        let files = link.whole_files(&before, None).await?;
        let there = link.files(to).await?;
        let is_there = |path: &str, revision| {
            let mut same = there.iter().filter(|known| known.path == path);
            from.session == to.session && same.any(|known| known.revision == revision)
        };
        let gone =
            there.iter().filter(|known| !files.iter().any(|file| file.info.path == known.path));
        let gone = gone.map(|known| change(&known.path, None));
        let others = files.iter().filter(|file| !is_there(&file.info.path, file.info.revision));
        let others = others.map(|file| change(&file.info.path, Some(file.content.clone())));
        let changes: Result<Vec<FileChange>, ApiError> = gone.chain(others).collect();
        link.write_files(to, None, &changes?, now()).await?;
    }
    for part in &order.so_far {
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
            RunEvent::StepStarted { step: 1, left_out: None },
            RunEvent::ToolCall { part: "p1".into(), call, carried: None },
            RunEvent::ToolResult { part: "p2".into(), result, took_ms: None },
            RunEvent::StepStarted { step: 2, left_out: None },
            RunEvent::Text { part: "p3".into(), delta: "Done.".into() },
        ];
        (1..).zip(events).map(|(seq, event)| Stamped { seq, at: Timestamp(0), event }).collect()
    }

    #[test]
    fn what_came_before_a_step_is_taken_and_what_came_after_is_not() {
        assert_eq!(before_step(&events(), 1).unwrap().len(), 0);
        assert_eq!(before_step(&events(), 2).unwrap().len(), 2);
        assert_eq!(before_step(&events(), 3).unwrap_err().status(), 422);
        // One that ended right after a tool goes on with its result.
        assert_eq!(before_step(&events()[..3], 2).unwrap().len(), 2);
        assert_eq!(before_step(&events()[..3], 3).unwrap_err().status(), 422);
        assert_eq!(before_step(&events()[..2], 2).unwrap_err().status(), 422);
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
