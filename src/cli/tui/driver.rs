//! What waits: for keys, for what is told, and for the moment to draw.

use std::{collections::BTreeSet, io, time::Duration};

use crossterm::event::{Event as Input, EventStream, KeyEventKind, MouseEventKind};
use futures_util::{StreamExt, future::join_all};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc::{self, UnboundedSender},
    task::AbortHandle,
    time::{Instant, MissedTickBehavior, interval, sleep_until, timeout},
};

use super::{
    event::{Effect, Event, Told},
    render,
    screen::Screen,
    state::{Answer, MESSAGES, State},
    theme::Theme,
};
use crate::{
    cli::{
        exit::Exit,
        stage::{Decision, Kept, Stage},
    },
    domain::{
        error::ApiError,
        event::RunEvent,
        id::{ConversationId, MessageId, RunId},
        terminal::{NewTerminal, Said, TerminalChanges, TerminalSession, TerminalTalk},
    },
};

/// The least time between two drawings: about thirty a second.
const FRAME: Duration = Duration::from_millis(33);
/// How long nobody looks whether something was said from elsewhere.
const GLANCE: Duration = Duration::from_secs(3);
/// How long leaving waits for an answer to be kept.
const LEAVING: Duration = Duration::from_secs(3);

/// Why the screen ended before somebody left.
#[derive(Debug, thiserror::Error)]
pub enum ScreenError {
    /// The terminal cannot be used.
    #[error("The terminal cannot be used as a screen: {0}. Try --plain.")]
    Terminal(#[from] io::Error),
}

/// How somebody left.
pub struct Left {
    /// The session that was open last.
    pub session: TerminalSession,
    /// The sessions that were begun meanwhile.
    pub begun: Vec<ConversationId>,
    /// The sessions in which something was said, though it may still be on its way.
    pub spoken: BTreeSet<ConversationId>,
    /// How that is to end.
    pub exit: Exit,
}

/// Talks on a screen until somebody leaves, in a session of which this is the end. Every session that is
/// opened is shown to `opened`.
pub async fn run(
    stage: Stage,
    session: TerminalSession,
    talk: TerminalTalk,
    mut opened: impl FnMut(&ConversationId),
) -> Result<Left, ScreenError> {
    let theme = Theme::from_no_color(std::env::var_os("NO_COLOR").as_deref());
    let mut screen = Screen::enter()?;
    let (sender, mut told) = mpsc::unbounded_channel();
    tokio::spawn(tell_problems(stage.clone(), sender.clone()));
    let mut worker = Worker { stage, sender, following: None, glancing: None };
    let (mut state, effects) = State::open(theme, screen.size(), session, talk);
    let mut open = state.session.id.clone();
    let mut going = worker.perform_all(effects, &mut state, &mut screen)?;

    let mut keys = EventStream::new();
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let mut seconds = interval(Duration::from_secs(1));
    seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut glances = interval(GLANCE);
    glances.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // What was just loaded is what there is.
    glances.reset();
    let mut drawn: Option<Instant> = None;
    let mut stale = true;
    let exit = loop {
        if let Going::Away(exit) = going {
            break exit;
        }
        let due = drawn.map_or_else(Instant::now, |drawn| drawn + FRAME);
        let event = tokio::select! {
            biased;
            () = sleep_until(due), if stale => {
                let effects = render::settle(&mut state);
                screen.draw(&state)?;
                (drawn, stale) = (Some(Instant::now()), false);
                going = worker.perform_all(effects, &mut state, &mut screen)?;
                continue;
            }
            input = keys.next() => match input {
                Some(input) => read(input?),
                None => break Exit::Done,
            },
            news = told.recv() => news.map(Event::Told),
            _ = seconds.tick(), if state.answer != Answer::Idle => Some(Event::Second),
            _ = glances.tick(), if state.answer == Answer::Idle => Some(Event::Glance),
            _ = terminate.recv() => break Exit::Interrupted,
            _ = hang_up.recv() => break Exit::Interrupted,
        };
        if let Some(event) = event {
            let effects = state.update(event);
            going = worker.perform_all(effects, &mut state, &mut screen)?;
            stale = true;
            // Many words may wait by now, and they are drawn together.
            while let Ok(news) = told.try_recv() {
                let effects = state.update(Event::Told(news));
                going = going.and(worker.perform_all(effects, &mut state, &mut screen)?);
            }
        }
        if open != state.session.id {
            open = state.session.id.clone();
            opened(&open);
        }
    };
    drop(screen);
    worker.leave(&state.asked).await;
    Ok(Left { session: state.session, begun: state.begun, spoken: state.spoken, exit })
}

/// Tells what is wrong with the operator's own tools, once they were looked at.
async fn tell_problems(stage: Stage, sender: UnboundedSender<Told>) {
    let problems = stage.tool_problems().await;
    // Whoever left meanwhile need not know.
    sender.send(Told::Problems(problems)).unwrap_or_default();
}

/// What an input is for the screen.
fn read(input: Input) -> Option<Event> {
    match input {
        Input::Key(key) if key.kind != KeyEventKind::Release => Some(Event::Key(key)),
        Input::Paste(text) => Some(Event::Paste(text)),
        Input::Resize(columns, rows) => Some(Event::Resize(columns, rows)),
        Input::Mouse(mouse) => match mouse.kind {
            MouseEventKind::ScrollUp => Some(Event::Wheel(-1)),
            MouseEventKind::ScrollDown => Some(Event::Wheel(1)),
            _ => None,
        },
        Input::Key(_) | Input::FocusGained | Input::FocusLost => None,
    }
}

/// Whether the screen stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Going {
    On,
    Away(Exit),
}

impl Going {
    fn and(self, other: Self) -> Self {
        match self {
            Self::On => other,
            Self::Away(_) => self,
        }
    }
}

/// Does what the state wants done, each beside the others.
struct Worker {
    stage: Stage,
    sender: UnboundedSender<Told>,
    following: Option<AbortHandle>,
    glancing: Option<AbortHandle>,
}

impl Worker {
    fn perform_all(
        &mut self,
        effects: Vec<Effect>,
        state: &mut State,
        screen: &mut Screen,
    ) -> io::Result<Going> {
        let mut going = Going::On;
        for effect in effects {
            match effect {
                Effect::Leave(exit) => going = Going::Away(exit),
                Effect::Copy(text) => screen.copy(&text)?,
                Effect::Mouse(mouse) => screen.mouse(mouse)?,
                Effect::Redraw => screen.clear()?,
                Effect::Suspend => {
                    screen.suspend()?;
                    // Nobody is told of another size while the shell has the terminal.
                    let (columns, rows) = screen.size();
                    let effects = state.update(Event::Returned(columns, rows));
                    going = going.and(self.perform_all(effects, state, screen)?);
                }
                Effect::Follow(run, after) => self.follow(run, after),
                Effect::Glance(session, known) => self.glance(session, known),
                other => self.ask(other),
            }
        }
        Ok(going)
    }

    /// Asks, and tells the state what came of it.
    fn ask(&self, effect: Effect) {
        let (stage, sender) = (self.stage.clone(), self.sender.clone());
        tokio::spawn(async move {
            let answer = asked(&stage, effect.clone(), &sender).await;
            note(&answer);
            let told = answer.unwrap_or_else(|error| Some(refused(effect, error.to_string())));
            // Nobody listens once the screen is left.
            told.into_iter().for_each(|told| sender.send(told).unwrap_or_default());
        });
    }

    /// Looks whether something was said from elsewhere, unless that still goes on. Whoever cannot be reached
    /// is asked again soon, and nobody waits for it.
    fn glance(&mut self, session: ConversationId, known: Vec<MessageId>) {
        if self.glancing.as_ref().is_some_and(|last| !last.is_finished()) {
            return;
        }
        let (stage, sender) = (self.stage.clone(), self.sender.clone());
        let task = tokio::spawn(async move {
            match said_since(&stage, &session, &known, &sender).await {
                Ok(Some(talk)) => {
                    let since = Told::Since(session, Box::new(talk));
                    sender.send(since).unwrap_or_default();
                }
                Ok(None) => {}
                Err(error) => tracing::debug!(%error, "nobody tells what was said elsewhere"),
            }
        });
        self.glancing = Some(task.abort_handle());
    }

    /// Hears a run, and no other any more.
    fn follow(&mut self, run: RunId, after: u64) {
        if let Some(other) = self.following.take() {
            other.abort();
        }
        let (stage, sender) = (self.stage.clone(), self.sender.clone());
        let task = tokio::spawn(async move {
            let why = match hear(&stage, &run, after, &sender).await {
                Ok(()) => return,
                Err(why) => why,
            };
            sender.send(Told::Unheard(run, why.to_string())).unwrap_or_default();
        });
        self.following = Some(task.abort_handle());
    }

    /// Stops the answers that would end with this process, and waits until what was said is kept.
    async fn leave(&self, runs: &BTreeSet<RunId>) {
        if self.stage.address().is_some() {
            return;
        }
        let stopped = join_all(runs.iter().map(|run| self.stage.stop(run)));
        let Ok(stopped) = timeout(LEAVING, stopped).await else {
            return tracing::warn!("the answers did not end in time");
        };
        for error in stopped.into_iter().filter_map(Result::err) {
            tracing::warn!(%error, "an answer could not be stopped");
        }
    }
}

/// Logs what came of asking: never what was said.
fn note(answer: &Result<Option<Told>, ApiError>) {
    match answer {
        Ok(Some(Told::Said(said))) => {
            let Said { run, left_out, .. } = said.as_ref();
            let (session, model) = (&run.conversation_id, &run.model);
            tracing::info!(%session, run = %run.id, model, "asked");
            if let Some(told) = left_out.told() {
                tracing::debug!("not sent: {told}");
            }
        }
        Ok(Some(Told::Opened(session, _) | Told::Begun(session, _))) => {
            tracing::info!(session = %session.id, model = session.settings.model, "opened");
        }
        Ok(Some(Told::Changed(session))) => {
            tracing::info!(session = %session.id, model = session.settings.model, "set");
        }
        Ok(Some(Told::Deleted(session))) => tracing::info!(%session, "deleted"),
        Ok(Some(Told::Decided(draft, made))) => tracing::info!(%draft, "{}", made.word()),
        Ok(Some(Told::TakenBack(draft, made))) => {
            tracing::info!(%draft, "not {} any more", made.word());
        }
        Ok(_) => {}
        Err(error) => tracing::warn!(%error, "not done"),
    }
}

/// What is told when something that was asked for did not work.
fn refused(effect: Effect, why: String) -> Told {
    match effect {
        Effect::Say(session, ..) => Told::NotSaid(session, why),
        Effect::Earlier(session, _) => Told::NotEarlier(session, why),
        Effect::Accept(..) | Effect::Reject(..) => Told::NotDecided(why),
        Effect::Follow(..)
        | Effect::Glance(..)
        | Effect::Stop(_)
        | Effect::Open(_)
        | Effect::Begin(..)
        | Effect::Sessions
        | Effect::Change(..)
        | Effect::Delete(_)
        | Effect::Models
        | Effect::Drafts(_)
        | Effect::TakeBack(..)
        | Effect::Copy(_)
        | Effect::Mouse(_)
        | Effect::Redraw
        | Effect::Suspend
        | Effect::Leave(_) => Told::Failed(why),
    }
}

/// Tells all that a run tells, up to its end.
async fn hear(
    stage: &Stage,
    run: &RunId,
    after: u64,
    sender: &UnboundedSender<Told>,
) -> Result<(), ApiError> {
    let mut events = stage.watch(run, after).await?;
    while let Some(event) = events.next().await {
        let event = event?;
        let over = matches!(event.event, RunEvent::Ended { .. });
        if sender.send(Told::Heard(run.clone(), Box::new(event))).is_err() || over {
            return Ok(());
        }
    }
    Err(ApiError::Offline)
}

/// What was said in a session, unless one of these messages is still its last. How it stands is told before.
async fn said_since(
    stage: &Stage,
    session: &ConversationId,
    known: &[MessageId],
    sender: &UnboundedSender<Told>,
) -> Result<Option<TerminalTalk>, ApiError> {
    let stands = stage.session(session).await?;
    let leaf = stands.leaf.clone();
    sender.send(Told::Seen(Box::new(stands))).unwrap_or_default();
    match leaf {
        Some(leaf) if !known.contains(&leaf) => stage.talk(session, MESSAGES).await.map(Some),
        Some(_) | None => Ok(None),
    }
}

/// Says something. What was said from elsewhere is told before, and instead where that is being answered.
async fn say(
    stage: &Stage,
    session: ConversationId,
    words: &str,
    known: &[MessageId],
    sender: &UnboundedSender<Told>,
) -> Result<Told, ApiError> {
    if let Some(talk) = said_since(stage, &session, known, sender).await? {
        if talk.going_on().is_some() {
            return Ok(Told::Taken(session, Box::new(talk)));
        }
        sender.send(Told::Before(session.clone(), Box::new(talk))).unwrap_or_default();
    }
    match stage.say(&session, words).await {
        Ok(said) => Ok(Told::Said(Box::new(said))),
        Err(ApiError::Busy { .. }) => {
            let talk = stage.talk(&session, MESSAGES).await?;
            Ok(Told::Taken(session, Box::new(talk)))
        }
        Err(error) => Err(error),
    }
}

/// Asks for one thing.
async fn asked(
    stage: &Stage,
    effect: Effect,
    sender: &UnboundedSender<Told>,
) -> Result<Option<Told>, ApiError> {
    Ok(Some(match effect {
        Effect::Say(session, words, known) => say(stage, session, &words, &known, sender).await?,
        Effect::Stop(run) => {
            stage.stop(&run).await?;
            return Ok(None);
        }
        Effect::Open(id) => {
            let session = stage.session(&id).await?;
            let talk = stage.talk(&id, MESSAGES).await?;
            Told::Opened(Box::new(session), Box::new(talk))
        }
        Effect::Begin(like, description) => {
            let settings = like.settings;
            let overrides = TerminalChanges::default();
            let new = NewTerminal { description, settings, overrides };
            let session = stage.create(new).await?;
            tracing::info!(session = %session.id, "begun");
            let talk = stage.talk(&session.id, MESSAGES).await?;
            Told::Begun(Box::new(session), Box::new(talk))
        }
        Effect::Earlier(session, until) => {
            let talk = stage.earlier(&session, &until, MESSAGES).await?;
            Told::Earlier(session, Box::new(talk))
        }
        Effect::Sessions => Told::Sessions(stage.sessions(Kept::InUse).await?),
        Effect::Change(id, changes) => Told::Changed(Box::new(stage.change(&id, *changes).await?)),
        Effect::Delete(id) => {
            stage.delete(&id).await?;
            Told::Deleted(id)
        }
        Effect::Models => Told::Models(stage.models().await?.0),
        Effect::Drafts(session) => {
            // What was proposed here comes first, and then what waits elsewhere.
            let mut drafts = stage.drafts(&session).await?;
            let here: Vec<_> = drafts.iter().map(|draft| draft.id.clone()).collect();
            let all = stage.waiting().await?;
            drafts.extend(all.into_iter().filter(|draft| !here.contains(&draft.id)));
            Told::Drafts(drafts)
        }
        Effect::Accept(id, approval) => {
            stage.accept(&id, *approval).await?;
            Told::Decided(id, Decision::Accepted)
        }
        Effect::Reject(id, reason) => {
            stage.reject(&id, &reason).await?;
            Told::Decided(id, Decision::Rejected)
        }
        Effect::TakeBack(id, made) => {
            stage.take_back(&id, made).await?;
            Told::TakenBack(id, made)
        }
        Effect::Follow(..)
        | Effect::Glance(..)
        | Effect::Copy(_)
        | Effect::Mouse(_)
        | Effect::Redraw
        | Effect::Suspend
        | Effect::Leave(_) => return Ok(None),
    }))
}
