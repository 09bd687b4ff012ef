//! A run that is going on here: what it told lately, and who waits for more.
//!
//! Watchers never slow a run. They are told that there is something new, and take it from the tail, or
//! from the log when they are too far behind.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{log::Log, relay::Relayed};
use crate::{
    domain::{
        event::{RunEvent, Stamped, fold},
        id::{PartId, RunId, SpaceId},
        message::Part,
        playground::SessionSpent,
        timestamp::Timestamp,
    },
    store::EventRow,
};

/// How many events are kept at hand beyond those that are not kept elsewhere yet.
const TAIL: usize = 16;
/// When this much waits for the log, it is written at once.
const FULL_BYTES: usize = 4 * 1024;

/// A run that is going on here.
#[derive(Debug)]
pub struct Live {
    /// Its Space.
    pub space: SpaceId,
    /// The run.
    pub run: RunId,
    /// Ends when a person stops the run.
    pub stopped: CancellationToken,
    /// Ends when the run has ended.
    pub over: CancellationToken,
    /// How much of it other processes were told.
    pub(super) relayed: Relayed,
    state: Mutex<State>,
    /// The place of the last event that watchers may see.
    published: watch::Sender<u64>,
    /// The place of the last event in the log or in the journal.
    written: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    last: u64,
    /// The last events, up to `last` without a gap.
    tail: VecDeque<AtHand>,
    /// What is neither in the log nor in the journal yet.
    pending: Vec<EventRow>,
    pending_bytes: usize,
    /// What is in the journal and not in the log yet: words only.
    journaled: Vec<EventRow>,
    journaled_bytes: usize,
    /// What of it is on its way to the log.
    folding: Vec<EventRow>,
    /// Whether the log's writer knows that there is something.
    queued: bool,
    parts: Vec<Part>,
    spent: SessionSpent,
}

/// An event at hand, as small as it can be: nearly all are words, and few are asked for.
#[derive(Debug)]
enum AtHand {
    Text(Timestamp, PartId, Box<str>),
    Reasoning(Timestamp, PartId, Box<str>),
    Other(Arc<Stamped>),
}

impl AtHand {
    fn of(seq: u64, at: Timestamp, event: RunEvent) -> Self {
        match event {
            RunEvent::Text { part, delta } => Self::Text(at, part, delta.into()),
            RunEvent::Reasoning { part, delta } => Self::Reasoning(at, part, delta.into()),
            event => Self::Other(Arc::new(Stamped { seq, at, event })),
        }
    }

    fn stamped(&self, seq: u64) -> Arc<Stamped> {
        let (at, event) = match self {
            Self::Other(stamped) => return stamped.clone(),
            Self::Text(at, part, delta) => {
                (*at, RunEvent::Text { part: part.clone(), delta: delta.as_ref().to_owned() })
            }
            Self::Reasoning(at, part, delta) => {
                (*at, RunEvent::Reasoning { part: part.clone(), delta: delta.as_ref().to_owned() })
            }
        };
        Arc::new(Stamped { seq, at, event })
    }
}

/// Where what a run told is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// With what all other runs told in the same moment. It is read after a sudden end only.
    Journal,
    /// Among the events of the run.
    Log,
}

/// What the writer of the log takes of a run.
pub struct Taken {
    /// Where it goes.
    pub place: Place,
    /// The rows.
    pub rows: Vec<EventRow>,
    /// Whether nothing else of the run lies in the journal.
    pub first: bool,
}

/// How soon something must be in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// The writer knows already.
    None,
    /// With the next round.
    Soon,
    /// At once.
    Now,
}

/// What became of added events.
pub struct Added {
    /// The place of the last one.
    pub seq: u64,
    /// How soon they must be in the log.
    pub urgency: Urgency,
    /// Whether some of them may be seen only once they are there.
    pub hold: bool,
}

/// What a watcher gets.
pub enum Batch {
    /// These events come next.
    Events(Vec<Arc<Stamped>>),
    /// What comes next is in the log only.
    Behind,
}

impl Live {
    /// A run that has told this much already, all of it in the log.
    pub fn new(space: SpaceId, run: RunId, told: Vec<Stamped>, stopped: CancellationToken) -> Self {
        let mut state = State { last: told.last().map_or(0, |one| one.seq), ..State::default() };
        let last = state.last;
        for one in &told {
            fold(&mut state.parts, one.at, &one.event);
            state.spent.add_step(&one.event);
        }
        let told = told.into_iter().map(|Stamped { seq, at, event }| AtHand::of(seq, at, event));
        state.tail.extend(told);
        Self {
            space,
            run,
            stopped,
            over: CancellationToken::new(),
            relayed: Relayed::default(),
            state: Mutex::new(state),
            published: watch::Sender::new(last),
            written: watch::Sender::new(last),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds events. Words are seen at once, unless something else follows them that must be kept first.
    pub fn add(&self, at: Timestamp, events: Vec<RunEvent>) -> Added {
        let mut state = self.state();
        let (mut hold, mut seen) = (false, None);
        for event in events {
            state.last += 1;
            let seq = state.last;
            hold |= !is_words(&event);
            if !hold {
                seen = Some(seq);
            }
            fold(&mut state.parts, at, &event);
            state.spent.add_step(&event);
            state.enqueue(self, seq, at, &event);
            state.tail.push_back(AtHand::of(seq, at, event));
        }
        let queued = std::mem::replace(&mut state.queued, true);
        let urgency = match (hold || state.pending_bytes >= FULL_BYTES, queued) {
            (true, _) => Urgency::Now,
            (false, false) => Urgency::Soon,
            (false, true) => Urgency::None,
        };
        let seq = state.last;
        drop(state);
        if let Some(seen) = seen {
            self.publish(seen);
        }
        Added { seq, urgency, hold }
    }

    /// Lets watchers see everything up to this event.
    pub fn publish(&self, seq: u64) {
        self.published.send_replace(seq);
    }

    /// What is kept nowhere yet, for the writer of the log, and where it goes. Words may go to the journal
    /// for a while, unless they are many; all else goes to the log, with the words before it.
    pub fn take_pending(&self, words: Place) -> Taken {
        let mut state = self.state();
        state.queued = false;
        let first = state.journaled.is_empty();
        let only_words = state.pending.iter().all(|row| is_words(&row.event));
        let bytes = state.journaled_bytes + std::mem::take(&mut state.pending_bytes);
        let pending = std::mem::take(&mut state.pending);
        if words == Place::Journal && only_words && bytes < FULL_BYTES {
            state.journaled_bytes = bytes;
            for row in &pending {
                join_row(&mut state.journaled, row.clone());
            }
            return Taken { place: Place::Journal, rows: pending, first };
        }
        let mut rows = std::mem::take(&mut state.journaled);
        state.journaled_bytes = 0;
        // Whoever is behind reads them here until they are in the log.
        state.folding.extend_from_slice(&rows);
        for row in pending {
            join_row(&mut rows, row);
        }
        Taken { place: Place::Log, rows, first }
    }

    /// All up to this event is kept there.
    pub fn mark_written(&self, place: Place, seq: u64) {
        let mut state = self.state();
        if place == Place::Log {
            state.folding = Vec::new();
        }
        while state.tail.len() > TAIL && state.first_at_hand() <= seq {
            state.tail.pop_front();
        }
        drop(state);
        self.written
            .send_if_modified(|written| seq > std::mem::replace(written, seq.max(*written)));
    }

    /// All is in the log, up to this last event.
    pub fn mark_ended(&self, seq: u64) {
        let mut state = self.state();
        state.journaled = Vec::new();
        drop(state);
        self.mark_written(Place::Log, seq);
    }

    /// Waits until all up to this event is in the log or in the journal.
    pub async fn wait_written(&self, seq: u64) {
        let mut written = self.written.subscribe();
        // The sender lives as long as we do.
        drop(written.wait_for(|written| *written >= seq).await);
    }

    /// Adds the last event once all before it is kept, and gives what the log lacks. It is for the caller to
    /// put both there, with whatever belongs to the end.
    pub async fn seal(
        self: &Arc<Self>,
        at: Timestamp,
        event: RunEvent,
        log: &Log,
    ) -> (u64, Vec<EventRow>) {
        let last = self.state().last;
        log.call(self, Urgency::Now);
        self.wait_written(last).await;
        let mut state = self.state();
        state.last += 1;
        let seq = state.last;
        state.tail.push_back(AtHand::of(seq, at, event));
        // As they stand: what is on its way to the log must come to the same rows there.
        (seq, state.unlogged().cloned().collect())
    }

    /// Another process ended the run: what it said of the end is what watchers are told.
    pub fn correct_end(&self, seq: u64, at: Timestamp, event: RunEvent) {
        let mut state = self.state();
        if state.last == seq
            && let Some(last) = state.tail.back_mut()
        {
            *last = AtHand::of(seq, at, event);
        }
    }

    /// Says when there is something new.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.published.subscribe()
    }

    /// What watchers may see after `seen`.
    pub fn after(&self, seen: u64) -> Batch {
        let published = *self.published.borrow();
        if published <= seen {
            return Batch::Events(Vec::new());
        }
        let state = self.state();
        let first = state.first_at_hand();
        if first <= seen + 1 {
            // The places have no gaps, so an event stands where its number says.
            let from = usize::try_from(seen + 1 - first).unwrap_or(usize::MAX);
            let count = usize::try_from(published - seen).unwrap_or(usize::MAX);
            let wanted = (seen + 1..).zip(state.tail.iter().skip(from).take(count));
            return Batch::Events(wanted.map(|(seq, one)| one.stamped(seq)).collect());
        }
        match state.unlogged().next() {
            Some(first) if first.first_seq() <= seen + 1 => {
                let behind = state.unlogged().flat_map(|row| row.clone().split(seen));
                Batch::Events(behind.map(Arc::new).collect())
            }
            _ => Batch::Behind,
        }
    }

    /// The parts of the message so far.
    pub fn parts(&self) -> Vec<Part> {
        self.state().parts.clone()
    }

    /// What the steps that came to their end took.
    pub fn spent(&self) -> SessionSpent {
        self.state().spent
    }
}

impl State {
    /// The place of the first event at hand; of the next one, when there is none.
    fn first_at_hand(&self) -> u64 {
        self.last + 1 - self.tail.len() as u64
    }

    /// What is in the journal and not known to be in the log.
    fn unlogged(&self) -> impl Iterator<Item = &EventRow> {
        self.folding.iter().chain(&self.journaled)
    }

    /// Puts an event where the log's writer finds it; words go to those of the same part before them.
    fn enqueue(&mut self, live: &Live, seq: u64, at: Timestamp, event: &RunEvent) {
        self.pending_bytes += words(event);
        if let Some(row) = self.pending.last_mut()
            && join(row, seq, event, &[])
        {
            return;
        }
        self.pending.push(EventRow {
            space: live.space.clone(),
            run: live.run.clone(),
            seq,
            lengths: Vec::new(),
            event: event.clone(),
            at,
        });
    }
}

/// Appends a row to others; words go to those of the same part before them.
fn join_row(rows: &mut Vec<EventRow>, row: EventRow) {
    let joined = rows.last_mut().is_some_and(|last| join(last, row.seq, &row.event, &row.lengths));
    if !joined {
        rows.push(row);
    }
}

/// Appends words to words of the same part. `lengths` are those of the pieces they are joined of, when they
/// are several. `false` when it is something else.
fn join(row: &mut EventRow, seq: u64, event: &RunEvent, lengths: &[usize]) -> bool {
    let before = words(&row.event);
    let length = match (&mut row.event, event) {
        (RunEvent::Text { part: known, delta: words }, RunEvent::Text { part, delta })
        | (
            RunEvent::Reasoning { part: known, delta: words },
            RunEvent::Reasoning { part, delta },
        ) if known == part => {
            words.push_str(delta);
            delta.len()
        }
        _ => return false,
    };
    if row.lengths.is_empty() {
        row.lengths.push(before);
    }
    match lengths {
        [] => row.lengths.push(length),
        several => row.lengths.extend(several),
    }
    row.seq = seq;
    true
}

fn is_words(event: &RunEvent) -> bool {
    matches!(event, RunEvent::Text { .. } | RunEvent::Reasoning { .. })
}

fn words(event: &RunEvent) -> usize {
    match event {
        RunEvent::Text { delta, .. } | RunEvent::Reasoning { delta, .. } => delta.len(),
        _ => 0,
    }
}

#[cfg(test)]
#[path = "live_tests.rs"]
mod tests;
