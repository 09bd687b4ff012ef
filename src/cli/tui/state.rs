//! What the screen knows: events go in, effects come out, and nothing here waits or draws.

mod answering;

use std::collections::BTreeSet;

use crate::{
    cli::stage::Decision,
    domain::{
        id::{ChangeId, ConversationId, MessageId, RunId},
        message::Role,
        terminal::{TerminalSession, TerminalTalk},
    },
};

use super::{
    entry::Ending,
    event::{Effect, Event, Mouse, Told},
    input::Input,
    keys::LOOKING_UP,
    models::Models,
    review::Review,
    sessions::Sessions,
    theme::Theme,
    transcript::{Towards, Transcript},
};

/// How many messages are loaded at once; what is older comes when somebody scrolls there.
pub const MESSAGES: u32 = 200;

/// How the answer stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// None is being given.
    Idle,
    /// It was asked for.
    Asked {
        /// What was said.
        words: String,
        /// Whether it is to be stopped as soon as it begins.
        pace: Pace,
    },
    /// It is being given.
    Going(Going),
}

/// An answer that is being given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Going {
    /// The run.
    pub run: RunId,
    /// Its message.
    pub reply: MessageId,
    /// The last event that was heard.
    pub heard: u64,
    /// The last event that was heard when it was last listened for.
    pub followed: u64,
    /// How many seconds it takes already.
    pub seconds: u32,
    /// Whether it goes on.
    pub pace: Pace,
}

/// Whether an answer goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Words come.
    Steady,
    /// The service was not ready and is asked again.
    Waiting(String),
    /// A person asked to stop it.
    Stopping,
}

/// What opens above the conversation.
#[derive(Clone, Debug)]
pub enum Over {
    /// Nothing.
    Nothing,
    /// The keys, from this line on.
    Help(u16),
    /// The sessions.
    Sessions(Sessions),
    /// The models.
    Models(Models),
    /// The drafts.
    Review(Box<Review>),
}

/// Who is given the keys while nothing is open above.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Focus {
    /// The field in which one writes.
    Writing,
    /// The conversation: messages are selected.
    Reading,
    /// What is searched for, from the message that was seen last.
    Searching {
        /// What is written.
        query: Input,
        /// Where it began.
        from: usize,
    },
}

/// How something is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// By the way.
    Quiet,
    /// As something that went wrong.
    Wrong,
}

/// Whether one more Ctrl-C leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaving {
    /// It does not.
    No,
    /// It does.
    Next,
}

/// Whether there is more to load above.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Above {
    Nothing,
    /// More, up to this message.
    More(MessageId),
    /// It is on its way, and wanted for this.
    Loading(MessageId, For),
    /// It could not be had; whoever goes up there asks again.
    Unreached(MessageId),
}

/// What older messages are wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum For {
    /// Somebody got to where they begin, or looks for words that nobody said so far.
    Reading,
    /// The next place of what was found is looked for in them.
    NextPlace,
}

impl Above {
    fn of(talk: &TerminalTalk) -> Self {
        talk.earlier.clone().map_or(Self::Nothing, Self::More)
    }
}

/// All that the screen knows.
#[derive(Clone, Debug)]
pub struct State {
    /// How it looks.
    pub theme: Theme,
    /// Columns and rows.
    pub size: (u16, u16),
    /// The session that is talked in.
    pub session: TerminalSession,
    /// What was said.
    pub transcript: Transcript,
    /// The field at the bottom.
    pub input: Input,
    /// How the answer stands.
    pub answer: Answer,
    /// What is open above.
    pub over: Over,
    /// Who is given the keys.
    pub focus: Focus,
    /// How many drafts wait.
    pub waiting: usize,
    /// What is wrong with tools, until somebody has read it.
    pub problems: Vec<String>,
    /// What was last told.
    pub notice: Option<(String, Tone)>,
    /// Whether one more Ctrl-C leaves.
    pub leaving: Leaving,
    /// Who hears the mouse.
    pub mouse: Mouse,
    /// The sessions that were begun here.
    pub begun: Vec<ConversationId>,
    /// The sessions in which something was said here, or is being said.
    pub spoken: BTreeSet<ConversationId>,
    /// The runs that answer what was said here, in whichever session, until their end is heard.
    pub asked: BTreeSet<RunId>,
    /// The drafts that were decided on here, the last last.
    pub(super) decided: Vec<(ChangeId, Decision)>,
    /// The tools that were last told to be missing.
    missing: Vec<String>,
    above: Above,
}

impl State {
    /// A session as it was opened, and what is to be done first.
    pub fn open(
        theme: Theme,
        size: (u16, u16),
        session: TerminalSession,
        talk: TerminalTalk,
    ) -> (Self, Vec<Effect>) {
        let mut state = Self {
            theme,
            size,
            session: session.clone(),
            transcript: Transcript::new(theme),
            input: Input::default(),
            answer: Answer::Idle,
            over: Over::Nothing,
            focus: Focus::Writing,
            waiting: 0,
            problems: Vec::new(),
            notice: None,
            leaving: Leaving::No,
            mouse: Mouse::Ours,
            begun: Vec::new(),
            spoken: BTreeSet::new(),
            asked: BTreeSet::new(),
            decided: Vec::new(),
            missing: Vec::new(),
            above: Above::Nothing,
        };
        let effects = state.opened(session, talk);
        (state, effects)
    }

    /// Takes an event.
    pub fn update(&mut self, event: Event) -> Vec<Effect> {
        match event {
            Event::Key(key) => self.key(key),
            Event::Paste(text) => self.paste(text),
            Event::Resize(columns, rows) => {
                self.size = (columns, rows);
                vec![Effect::Redraw]
            }
            Event::Returned(columns, rows) => {
                self.size = (columns, rows);
                vec![Effect::Mouse(self.mouse), Effect::Redraw]
            }
            Event::Wheel(lines) => {
                self.wheel(lines);
                Vec::new()
            }
            Event::Second => {
                if let Answer::Going(going) = &mut self.answer {
                    going.seconds += 1;
                }
                Vec::new()
            }
            Event::Glance => self.glance(),
            Event::Told(told) => self.told(told),
        }
    }

    /// Tells a person something at the bottom.
    pub fn tell(&mut self, text: impl Into<String>, tone: Tone) {
        self.notice = Some((super::clean::clean_line(&text.into()), tone));
    }

    /// Keeps texts that were written elsewhere where Up finds them, and says so.
    pub(super) fn keep_written(&mut self, texts: Vec<String>) {
        for text in &texts {
            self.input.remember(text);
        }
        if !texts.is_empty() {
            self.tell("What you wrote is kept: Up brings it back.", Tone::Quiet);
        }
    }

    /// The run that goes on.
    pub fn going(&self) -> Option<&Going> {
        match &self.answer {
            Answer::Going(going) => Some(going),
            Answer::Idle | Answer::Asked { .. } => None,
        }
    }

    /// How many columns the field at the bottom has; one more is for the cursor behind the last letter.
    pub fn input_columns(&self) -> usize {
        usize::from(self.size.0).saturating_sub(3)
    }

    /// Makes ready what is seen in a window of this size, and says what is to be loaded for it.
    pub fn settle(&mut self, columns: usize, rows: usize) -> Vec<Effect> {
        if let Above::Unreached(until) = &self.above
            && self.transcript.goes_up()
        {
            self.above = Above::More(until.clone());
        }
        self.transcript.settle(columns, rows);
        let wanted = self.transcript.at_start() && matches!(self.above, Above::More(_));
        wanted.then(|| self.load_earlier(For::Reading)).flatten().into_iter().collect()
    }

    /// Whether more was said than what is loaded.
    pub(super) fn has_more_above(&self) -> bool {
        self.above != Above::Nothing
    }

    /// Asks for what was said before what is loaded, if there is more and nobody asked yet.
    pub(super) fn load_earlier(&mut self, wanted: For) -> Option<Effect> {
        match &mut self.above {
            Above::Nothing => None,
            Above::Loading(_, before) => {
                if wanted == For::NextPlace {
                    *before = wanted;
                }
                None
            }
            Above::More(until) | Above::Unreached(until) => {
                let until = until.clone();
                self.above = Above::Loading(until.clone(), wanted);
                Some(Effect::Earlier(self.session.id.clone(), until))
            }
        }
    }

    fn told(&mut self, told: Told) -> Vec<Effect> {
        match told {
            Told::Opened(session, talk) => self.opened(*session, *talk),
            Told::Begun(session, talk) => {
                self.begun.push(session.id.clone());
                self.opened(*session, *talk)
            }
            Told::Earlier(session, talk) => {
                let Above::Loading(_, wanted) = self.above else { return Vec::new() };
                if session != self.session.id {
                    return Vec::new();
                }
                self.above = Above::of(&talk);
                if let Focus::Searching { from, .. } = &mut self.focus {
                    *from += talk.messages.len();
                }
                self.transcript.prepend(talk.messages);
                self.notice.take_if(|(told, _)| told == LOOKING_UP);
                // Whoever looks for something in vain goes on up there.
                match (self.transcript.has_found(), wanted) {
                    (true, For::Reading) => Vec::new(),
                    (true, For::NextPlace) => self.look_on(Towards::Older),
                    (false, _) => self.look(),
                }
            }
            Told::NotEarlier(session, why) => {
                if session == self.session.id
                    && let Above::Loading(until, _) = &self.above
                {
                    self.above = Above::Unreached(until.clone());
                    self.tell(why, Tone::Wrong);
                }
                Vec::new()
            }
            Told::Since(session, talk) => self.since(&session, *talk),
            Told::Before(session, talk) => {
                self.before(&session, *talk);
                Vec::new()
            }
            Told::Taken(session, talk) => self.taken(&session, *talk),
            Told::Said(said) => self.said(*said),
            Told::NotSaid(session, why) => {
                self.not_said(&session, &why);
                Vec::new()
            }
            Told::Heard(run, event) => self.heard(&run, &event),
            Told::Unheard(run, why) => self.unheard(&run, why),
            Told::Sessions(sessions) => {
                if let Over::Sessions(list) = &mut self.over {
                    list.fill(sessions, &self.session.id);
                }
                Vec::new()
            }
            Told::Seen(session) => self.seen(*session),
            Told::Changed(session) => self.changed(*session),
            Told::Deleted(id) => {
                self.tell("The session is in the bin.", Tone::Quiet);
                match id == self.session.id {
                    true => vec![Effect::Begin(Box::new(self.session.clone()), String::new())],
                    false => vec![Effect::Sessions],
                }
            }
            Told::Models(models) => {
                if let Over::Models(list) = &mut self.over {
                    list.fill(models, &self.session.settings.model);
                }
                Vec::new()
            }
            Told::Drafts(drafts) => {
                self.waiting = drafts.len();
                if let Over::Review(review) = &mut self.over {
                    let lost = review.fill(drafts);
                    self.keep_written(lost);
                }
                Vec::new()
            }
            Told::Problems(problems) => {
                let line = |problem: String| super::clean::clean_line(&problem);
                self.problems.extend(problems.into_iter().map(line));
                Vec::new()
            }
            Told::Decided(id, made) => {
                if let Over::Review(review) = &mut self.over {
                    review.decided(&id);
                }
                self.tell(format!("The draft is {}.", made.word()), Tone::Quiet);
                self.decided.push((id, made));
                vec![Effect::Drafts(self.session.id.clone())]
            }
            Told::TakenBack(id, made) => {
                self.decided.retain(|(known, _)| *known != id);
                self.tell(made.taken_back(), Tone::Quiet);
                vec![Effect::Drafts(self.session.id.clone())]
            }
            Told::NotDecided(why) => {
                if let Over::Review(review) = &mut self.over {
                    review.try_again();
                }
                self.tell(why, Tone::Wrong);
                // It may have been decided on elsewhere, or what it is about is another by now.
                vec![Effect::Drafts(self.session.id.clone())]
            }
            Told::Failed(why) => {
                self.tell(why, Tone::Wrong);
                Vec::new()
            }
        }
    }

    /// Another session is talked in from now on.
    fn opened(&mut self, session: TerminalSession, talk: TerminalTalk) -> Vec<Effect> {
        let id = session.id.clone();
        self.session = session;
        self.transcript = Transcript::new(self.theme);
        self.answer = Answer::Idle;
        (self.over, self.focus) = (Over::Nothing, Focus::Writing);
        self.waiting = 0;
        self.above = Above::of(&talk);
        let going = talk.going_on().cloned();
        let over = talk.run.clone().filter(|run| run.status.is_over());
        for message in talk.messages.iter().filter(|message| message.role == Role::User) {
            self.input.remember(&message.text());
        }
        self.transcript.prepend(talk.messages);
        if let Some(run) = over {
            let ending = Ending::of(run.status, run.error.as_ref());
            self.transcript.end(&run.reply_id, ending);
        }
        let mut effects = vec![Effect::Drafts(id)];
        effects.extend(going.map(|run| self.follow(&run)));
        effects
    }

    /// Takes what was set from elsewhere, unless something was set here since.
    fn seen(&mut self, session: TerminalSession) -> Vec<Effect> {
        let known = &self.session;
        let is_same =
            session.settings == known.settings && session.description == known.description;
        let is_older = session.updated_at < known.updated_at;
        if is_same || is_older || session.id != known.id {
            return Vec::new();
        }
        self.changed(session)
    }

    fn changed(&mut self, session: TerminalSession) -> Vec<Effect> {
        if session.id == self.session.id {
            if session.settings.model != self.session.settings.model {
                self.tell(format!("{} answers from now on.", session.settings.model), Tone::Quiet);
            }
            self.session = session;
        }
        match self.over {
            Over::Sessions(_) => vec![Effect::Sessions],
            Over::Nothing | Over::Help(_) | Over::Models(_) | Over::Review(_) => Vec::new(),
        }
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "older_tests.rs"]
mod older_tests;

#[cfg(test)]
#[path = "elsewhere_tests.rs"]
mod elsewhere_tests;

#[cfg(test)]
#[path = "review_tests.rs"]
mod review_tests;
