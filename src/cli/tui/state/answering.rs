//! Something is said, and the answer is heard word by word.

use super::{
    super::{clean::clean_line, entry::Ending, event::Effect},
    Answer, Going, Pace, State, Tone,
};
use crate::{
    cli::example::told_missing,
    domain::{
        event::{RunEvent, Stamped, fold, not_ready},
        id::{ConversationId, MessageId, RunId},
        message::{Message, Part, PartBody, Role},
        run::{Run, Spent},
        terminal::{LeftOut, Said, TerminalTalk, short},
        timestamp::Timestamp,
    },
};

/// How a message is called until the one that keeps it has named it.
const UNNAMED: &str = "being-said";

impl State {
    /// Says what is written.
    pub fn say(&mut self, words: String) -> Vec<Effect> {
        let known = self.known();
        self.transcript.push(spoken(&words));
        self.transcript.unselect();
        self.transcript.to_end();
        self.answer = Answer::Asked { words: words.clone(), pace: Pace::Steady };
        self.spoken.insert(self.session.id.clone());
        vec![Effect::Say(self.session.id.clone(), words, known)]
    }

    /// The last messages that are known: an answer that failed before its first word was not kept.
    fn known(&self) -> Vec<MessageId> {
        self.transcript.messages().rev().take(2).map(|message| message.id.clone()).collect()
    }

    /// Looks whether something was said from elsewhere. An answer that goes on here tells of itself.
    pub(super) fn glance(&self) -> Vec<Effect> {
        match self.answer {
            Answer::Idle => vec![Effect::Glance(self.session.id.clone(), self.known())],
            Answer::Asked { .. } | Answer::Going(_) => Vec::new(),
        }
    }

    /// Shows what was said from elsewhere, and hears what is being answered.
    pub(super) fn since(&mut self, session: &ConversationId, talk: TerminalTalk) -> Vec<Effect> {
        if *session != self.session.id || self.answer != Answer::Idle {
            return Vec::new();
        }
        self.weave_in(talk).map(|run| self.follow(&run)).into_iter().collect()
    }

    /// Shows what was said from elsewhere above what a person says now.
    pub(super) fn before(&mut self, session: &ConversationId, talk: TerminalTalk) {
        if *session == self.session.id && matches!(self.answer, Answer::Asked { .. }) {
            self.weave_in(talk);
        }
    }

    /// What was said elsewhere is being answered: that is heard first, and what a person wrote waits.
    pub(super) fn taken(&mut self, session: &ConversationId, talk: TerminalTalk) -> Vec<Effect> {
        if *session != self.session.id || !matches!(self.answer, Answer::Asked { .. }) {
            return Vec::new();
        }
        self.take_back();
        let run = self.weave_in(talk);
        let told = match &run {
            Some(_) => "Somebody else is being answered here. What you wrote waits in the field.",
            None => "Somebody else was answered here meanwhile. Send yours again.",
        };
        self.tell(told, Tone::Quiet);
        run.map(|run| self.follow(&run)).into_iter().collect()
    }

    /// Puts what is not shown yet to where it was said, and gives the run that goes on.
    fn weave_in(&mut self, talk: TerminalTalk) -> Option<Run> {
        let going = talk.going_on().cloned();
        let over = talk.run.clone().filter(|run| run.status.is_over());
        let woven = self.transcript.weave_in(talk.messages, &UNNAMED.into());
        if let Some(run) = over {
            self.transcript.end(&run.reply_id, Ending::of(run.status, run.error.as_ref()));
        }
        if woven > 0 {
            self.tell("Something was said here from elsewhere.", Tone::Quiet);
        }
        going
    }

    pub(super) fn said(&mut self, said: Said) -> Vec<Effect> {
        self.asked.insert(said.run.id.clone());
        if said.run.conversation_id != self.session.id {
            return Vec::new();
        }
        self.tell_left_out(Some(&said.left_out));
        if said.missing_tools != self.missing {
            let told = told_missing(&self.session.settings.model, &said.missing_tools);
            self.problems.extend(told.map(|told| clean_line(&told)));
            self.missing = said.missing_tools;
        }
        let id = said.run.message_id.clone();
        self.transcript.change(&UNNAMED.into(), |message| message.id = id);
        let is_stopping = matches!(&self.answer, Answer::Asked { pace: Pace::Stopping, .. });
        let mut effects = vec![self.follow(&said.run)];
        if let (true, Answer::Going(going)) = (is_stopping, &mut self.answer) {
            going.pace = Pace::Stopping;
            effects.push(Effect::Stop(said.run.id));
        }
        effects
    }

    fn tell_left_out(&mut self, left_out: Option<&LeftOut>) {
        if let Some(told) = left_out.and_then(|left_out| left_out.told()) {
            self.tell(format!("Not sent: {told}."), Tone::Quiet);
        }
    }

    pub(super) fn not_said(&mut self, session: &ConversationId, why: &str) {
        self.spoken.remove(session);
        if *session == self.session.id {
            self.take_back();
            self.tell(why, Tone::Wrong);
            return;
        }
        let told = "is not said. Up brings it back.";
        let id = short(session);
        self.tell(format!("What you wrote in the session {id} {told} {why}"), Tone::Wrong);
    }

    /// Brings what was not kept back into the field, before what was begun there since.
    fn take_back(&mut self) {
        if let Answer::Asked { words, .. } = &self.answer {
            let words = words.clone();
            self.answer = Answer::Idle;
            self.transcript.remove(&UNNAMED.into());
            let both = match self.input.text() {
                "" => words,
                begun => format!("{words}\n\n{begun}"),
            };
            self.input.replace(&both);
        }
    }

    /// Folds what a run tells into its message.
    pub(super) fn heard(&mut self, run: &RunId, stamped: &Stamped) -> Vec<Effect> {
        let Answer::Going(going) = &mut self.answer else { return Vec::new() };
        if going.run != *run || stamped.seq <= going.heard {
            return Vec::new();
        }
        going.heard = stamped.seq;
        let reply = going.reply.clone();
        match &stamped.event {
            RunEvent::Started { model, .. } => {
                let model = model.clone();
                self.transcript.change(&reply, |message| message.model = model);
            }
            RunEvent::Retrying { attempt, reason, .. } => {
                going.pace =
                    Pace::Waiting(format!("{} Attempt {attempt} follows.", not_ready(reason)));
            }
            RunEvent::Ended { status, stop, error, spent } => {
                self.transcript.change(&reply, |message| {
                    message.stop = *stop;
                    message.spent = *spent;
                });
                self.transcript.end(&reply, Ending::of(*status, error.as_ref()));
                self.answer = Answer::Idle;
                self.asked.remove(run);
                return vec![Effect::Drafts(self.session.id.clone())];
            }
            RunEvent::Text { .. }
            | RunEvent::Reasoning { .. }
            | RunEvent::PartEnded { .. }
            | RunEvent::ToolCall { .. }
            | RunEvent::ToolResult { .. } => {
                if let Pace::Waiting(_) = going.pace {
                    going.pace = Pace::Steady;
                }
                let change = |message: &mut Message| {
                    fold(&mut message.parts, stamped.at, &stamped.event);
                };
                self.transcript.change(&reply, change);
            }
            RunEvent::StepStarted { left_out, .. } => self.tell_left_out(left_out.as_ref()),
            RunEvent::StepEnded { .. } => {}
        }
        Vec::new()
    }

    /// Listens again where something was heard since, and gives up otherwise.
    pub(super) fn unheard(&mut self, run: &RunId, why: String) -> Vec<Effect> {
        let Answer::Going(going) = &mut self.answer else { return Vec::new() };
        if going.run != *run {
            return Vec::new();
        }
        if going.heard > going.followed {
            going.followed = going.heard;
            return vec![Effect::Follow(run.clone(), going.heard)];
        }
        let reply = going.reply.clone();
        self.transcript.end(&reply, Some(Ending::Failed(why)));
        self.answer = Answer::Idle;
        Vec::new()
    }

    /// Hears a run from its beginning. What was kept of its words comes again.
    pub(super) fn follow(&mut self, run: &Run) -> Effect {
        self.transcript.remove(&run.reply_id);
        self.transcript.push(run.reply(Vec::new()));
        self.answer = Answer::Going(Going {
            run: run.id.clone(),
            reply: run.reply_id.clone(),
            heard: 0,
            followed: 0,
            seconds: 0,
            pace: Pace::Steady,
        });
        Effect::Follow(run.id.clone(), 0)
    }
}

/// What a person says, before anybody has kept it.
fn spoken(words: &str) -> Message {
    Message {
        id: UNNAMED.into(),
        parent_id: None,
        role: Role::User,
        parts: vec![Part {
            id: UNNAMED.into(),
            at: Timestamp::default(),
            body: PartBody::Text(words.to_owned()),
            carried: None,
        }],
        run_id: None,
        model: String::new(),
        stop: None,
        spent: Spent::default(),
        created_at: Timestamp::default(),
    }
}
