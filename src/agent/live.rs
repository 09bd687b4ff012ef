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
        id::{RunId, SpaceId},
        message::Part,
        timestamp::Timestamp,
    },
    store::EventRow,
};

/// How many events are kept at hand beyond those that are not in the log yet.
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
    /// The place of the last event in the log.
    written: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    last: u64,
    tail: VecDeque<Arc<Stamped>>,
    /// What is not in the log yet.
    pending: Vec<EventRow>,
    pending_bytes: usize,
    /// Whether the log's writer knows that there is something.
    queued: bool,
    parts: Vec<Part>,
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
        }
        state.tail.extend(told.into_iter().map(Arc::new));
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
            let words = matches!(event, RunEvent::Text { .. } | RunEvent::Reasoning { .. });
            hold |= !words;
            if !hold {
                seen = Some(seq);
            }
            fold(&mut state.parts, at, &event);
            state.enqueue(self, seq, at, &event);
            state.tail.push_back(Arc::new(Stamped { seq, at, event }));
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

    /// What is not in the log yet, for its writer.
    pub fn take_pending(&self) -> Vec<EventRow> {
        let mut state = self.state();
        state.queued = false;
        state.pending_bytes = 0;
        std::mem::take(&mut state.pending)
    }

    /// All up to this event is in the log.
    pub fn mark_written(&self, seq: u64) {
        let mut state = self.state();
        while state.tail.len() > TAIL && state.tail.front().is_some_and(|one| one.seq <= seq) {
            state.tail.pop_front();
        }
        drop(state);
        self.written.send_replace(seq);
    }

    /// Waits until all up to this event is in the log.
    pub async fn wait_written(&self, seq: u64) {
        let mut written = self.written.subscribe();
        // The sender lives as long as we do.
        drop(written.wait_for(|written| *written >= seq).await);
    }

    /// Adds the last event once all before it is in the log. It is for the caller to put it there, with
    /// whatever belongs to the end.
    pub async fn seal(self: &Arc<Self>, at: Timestamp, event: RunEvent, log: &Log) -> u64 {
        let last = self.state().last;
        log.call(self, Urgency::Now);
        self.wait_written(last).await;
        let mut state = self.state();
        state.last += 1;
        let seq = state.last;
        state.tail.push_back(Arc::new(Stamped { seq, at, event }));
        seq
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
        match state.tail.front() {
            // The places have no gaps, so an event stands where its number says.
            Some(first) if first.seq <= seen + 1 => {
                let from = usize::try_from(seen + 1 - first.seq).unwrap_or(usize::MAX);
                let count = usize::try_from(published - seen).unwrap_or(usize::MAX);
                Batch::Events(state.tail.iter().skip(from).take(count).cloned().collect())
            }
            _ => Batch::Behind,
        }
    }

    /// The parts of the message so far.
    pub fn parts(&self) -> Vec<Part> {
        self.state().parts.clone()
    }
}

impl State {
    /// Puts an event where the log's writer finds it; words go to those of the same part before them.
    fn enqueue(&mut self, live: &Live, seq: u64, at: Timestamp, event: &RunEvent) {
        if let Some(row) = self.pending.last_mut()
            && let Some(length) = join(&mut row.event, event)
        {
            if row.lengths.is_empty() {
                row.lengths.push(words(&row.event) - length);
            }
            row.lengths.push(length);
            row.seq = seq;
            self.pending_bytes += length;
            return;
        }
        self.pending_bytes += words(event);
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

/// Appends words to words of the same part, and says how many bytes they were.
fn join(row: &mut RunEvent, event: &RunEvent) -> Option<usize> {
    match (row, event) {
        (RunEvent::Text { part: known, delta: words }, RunEvent::Text { part, delta })
        | (
            RunEvent::Reasoning { part: known, delta: words },
            RunEvent::Reasoning { part, delta },
        ) if known == part => {
            words.push_str(delta);
            Some(delta.len())
        }
        _ => None,
    }
}

fn words(event: &RunEvent) -> usize {
    match event {
        RunEvent::Text { delta, .. } | RunEvent::Reasoning { delta, .. } => delta.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(part: &str, delta: &str) -> RunEvent {
        RunEvent::Text { part: part.into(), delta: delta.into() }
    }

    fn live() -> Live {
        Live::new("s".into(), "r".into(), Vec::new(), CancellationToken::new())
    }

    fn seen(live: &Live, after: u64) -> Option<Vec<u64>> {
        match live.after(after) {
            Batch::Events(events) => Some(events.iter().map(|one| one.seq).collect()),
            Batch::Behind => None,
        }
    }

    #[test]
    fn words_that_come_close_together_are_one_row_that_remembers_them() {
        let live = live();
        for (part, delta) in [("a", "x"), ("a", "yé"), ("a", "z"), ("b", "w")] {
            live.add(Timestamp(7), vec![text(part, delta)]);
        }

        let rows = live.take_pending();

        let told: Vec<_> = rows.into_iter().map(|row| (row.seq, row.lengths, row.event)).collect();
        assert_eq!(told, [(3, vec![1, 3, 1], text("a", "xyéz")), (4, vec![], text("b", "w"))]);
    }

    #[test]
    fn words_are_seen_at_once_and_the_rest_when_it_is_kept() {
        let live = live();
        let told = vec![text("a", "x"), RunEvent::StepStarted { step: 2 }, text("a", "y")];
        let Added { seq, urgency, hold } = live.add(Timestamp(0), told);

        assert_eq!((urgency, hold), (Urgency::Now, true));
        assert_eq!(seen(&live, 0), Some(vec![1]));
        live.publish(seq);
        assert_eq!(seen(&live, 0), Some(vec![1, 2, 3]));
        assert_eq!(seen(&live, 2), Some(vec![3]));
    }

    #[test]
    fn the_writer_is_called_once_for_many_words_and_at_once_when_there_are_too_many() {
        let live = live();
        let urgency = |delta: &str| live.add(Timestamp(0), vec![text("a", delta)]).urgency;

        assert_eq!(urgency("x"), Urgency::Soon);
        assert_eq!(urgency("x"), Urgency::None);
        assert_eq!(urgency(&"x".repeat(5000)), Urgency::Now);
    }

    #[test]
    fn what_is_long_in_the_log_leaves_the_tail_and_what_is_not_stays() {
        let live = live();
        for _ in 0..100 {
            live.add(Timestamp(0), vec![text("a", "x")]);
        }
        assert_eq!(seen(&live, 0).map(|seen| seen.len()), Some(100));

        live.mark_written(90);

        assert_eq!(seen(&live, 0), None, "it is in the log");
        assert_eq!(seen(&live, 84).map(|seen| seen.len()), Some(16));
    }
}
