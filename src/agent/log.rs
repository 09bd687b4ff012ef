//! The writer of the log: what all runs told goes into the database together.
//!
//! Words are kept within [`KEPT_WITHIN`], so that is what a sudden end can cost. On a file they lie in the
//! journal first, where all runs share a row, and go to the events of their run every now and then.

use std::{
    collections::VecDeque,
    future::pending,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::Notify,
    time::{Instant, sleep, sleep_until},
};

use super::live::{Live, Place, Taken, Urgency};
use crate::store::{EventRow, KeptRound, LogRound, Store, StoreError};

/// How long it may take until words are kept.
pub(super) const KEPT_WITHIN: Duration = Duration::from_millis(100);
/// How long words wait for others at most, and at least.
const LONGEST_ROUND: Duration = Duration::from_millis(70);
const SHORTEST_ROUND: Duration = Duration::from_millis(10);
/// How long words lie in the journal.
const LYING: Duration = Duration::from_secs(2);
/// How many rounds are forgotten at once.
const FORGOTTEN: i64 = 16;
/// How long to wait before writing again what could not be written.
const RETRY: Duration = Duration::from_millis(250);

/// Writes a round, waiting for a database that is away. What it refuses is an error.
async fn write_all(store: &Store, round: &LogRound) -> Result<KeptRound, StoreError> {
    let mut told = false;
    loop {
        match store.keep_round(round).await {
            Ok(kept) => return Ok(kept),
            Err(
                error @ (StoreError::Unavailable(_)
                | StoreError::DiskFull(_)
                | StoreError::NotReady
                | StoreError::Contended),
            ) => {
                if !told {
                    tracing::error!(%error, "the log of runs cannot be written; trying again");
                    told = true;
                }
            }
            Err(error) => return Err(error),
        }
        sleep(RETRY).await;
    }
}

/// A run that another process ended, because nothing was heard of it for long, does not go on here.
fn end_here(kept: &KeptRound, live: &Live) {
    if kept.ended.contains(&live.run) {
        tracing::warn!(run = %live.run, "a run was ended by another process, and is ended here");
        live.stopped.cancel();
    }
}

/// The rows of some runs; each run's stand together, up to where the next one's begin.
#[derive(Default)]
struct Share {
    rows: Vec<EventRow>,
    ends: Vec<(usize, Arc<Live>)>,
}

impl Share {
    fn add(&mut self, rows: Vec<EventRow>, live: Arc<Live>) {
        if !rows.is_empty() {
            self.rows.extend(rows);
            self.ends.push((self.rows.len(), live));
        }
    }
}

/// The rows of each run in turn.
fn by_run(
    rows: &[EventRow],
    ends: Vec<(usize, Arc<Live>)>,
) -> impl Iterator<Item = (&[EventRow], Arc<Live>)> {
    let mut from = 0;
    ends.into_iter().map(move |(to, live)| (&rows[std::mem::replace(&mut from, to)..to], live))
}

/// The runs with words in the journal, by the round of the first of them.
#[derive(Default)]
struct Journal {
    lying: VecDeque<Lying>,
    /// Before this round nothing lies there; `None` when nothing does at all.
    from: Option<i64>,
}

struct Lying {
    round: i64,
    since: Instant,
    live: Arc<Live>,
}

impl Journal {
    /// Waits until some words have lain long enough.
    async fn aged(&self) {
        match self.lying.front() {
            Some(oldest) => sleep_until(oldest.since + LYING).await,
            None => pending().await,
        }
    }

    /// The runs whose words have lain long enough.
    fn take_aged(&mut self) -> Vec<Arc<Live>> {
        let is_young = |lying: &Lying| lying.since.elapsed() < LYING;
        let aged = self.lying.iter().position(is_young).unwrap_or(self.lying.len());
        self.lying.drain(..aged).map(|lying| lying.live).collect()
    }

    /// Before which round all may be forgotten, when it is worth it.
    fn forget(&mut self) -> Option<i64> {
        let from = self.from?;
        match self.lying.front() {
            None => {
                self.from = None;
                Some(i64::MAX)
            }
            Some(oldest) if oldest.round - from >= FORGOTTEN => {
                self.from = Some(oldest.round);
                self.from
            }
            Some(_) => None,
        }
    }

    /// The first words of these runs lie there since this round.
    fn add(&mut self, round: i64, lives: Vec<Arc<Live>>) {
        self.from.get_or_insert(round);
        let since = Instant::now();
        self.lying.extend(lives.into_iter().map(|live| Lying { round, since, live }));
    }
}

/// Where runs leave word that they have something for the log.
#[derive(Debug, Default)]
pub struct Log {
    waiting: Mutex<Vec<Arc<Live>>>,
    soon: Notify,
    now: Notify,
}

impl Log {
    /// A run has something for the log.
    pub fn call(&self, live: &Arc<Live>, urgency: Urgency) {
        if urgency == Urgency::None {
            return;
        }
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push(live.clone());
        match urgency {
            Urgency::Now => self.now.notify_one(),
            Urgency::Soon | Urgency::None => self.soon.notify_one(),
        }
    }

    /// Writes for ever.
    pub async fn write(self: Arc<Self>, store: Store) {
        // Other processes know what a run told by its events alone.
        let aside = store.is_shared() || store.is_guest();
        let words = if aside { Place::Log } else { Place::Journal };
        let (mut journal, mut took) = (Journal::default(), Duration::ZERO);
        loop {
            // What comes while one round is written waits for that, for the next, and until that is written.
            let wait = KEPT_WITHIN.saturating_sub(took * 2).clamp(SHORTEST_ROUND, LONGEST_ROUND);
            tokio::select! {
                () = self.now.notified() => {}
                () = self.soon.notified() => {
                    tokio::select! {
                        () = self.now.notified() => {}
                        () = sleep(wait) => {}
                    }
                }
                () = journal.aged() => {}
            }
            let waiting =
                std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
            let (mut to_log, mut to_journal) = (Share::default(), Share::default());
            let mut new = Vec::new();
            for live in journal.take_aged() {
                to_log.add(live.take_pending(Place::Log).rows, live);
            }
            for live in waiting {
                let Taken { place, rows, first } = live.take_pending(words);
                match place {
                    Place::Log => to_log.add(rows, live),
                    Place::Journal => {
                        new.extend((first && !rows.is_empty()).then(|| live.clone()));
                        to_journal.add(rows, live);
                    }
                }
            }
            let began = Instant::now();
            let round =
                LogRound { log: to_log.rows, journal: to_journal.rows, forget: journal.forget() };
            let kept = write_all(&store, &round).await;
            let refused = kept.is_err();
            let LogRound { log, journal: words_kept, forget } = round;
            for (own, live) in by_run(&log, to_log.ends) {
                // One run whose persona was purged must not hold up the others.
                if refused {
                    let alone = LogRound { log: own.to_vec(), ..LogRound::default() };
                    match write_all(&store, &alone).await {
                        Ok(kept) => end_here(&kept, &live),
                        Err(error) => {
                            tracing::warn!(%error, run = %live.run, "a run cannot be kept, and is ended");
                            live.stopped.cancel();
                        }
                    }
                } else if let Ok(kept) = &kept {
                    end_here(kept, &live);
                }
                if let Some(last) = own.last() {
                    live.mark_written(Place::Log, last.seq);
                }
            }
            let words_kept = LogRound { journal: words_kept, forget, ..LogRound::default() };
            let kept = match kept {
                Ok(kept) => Ok(kept),
                Err(_) => write_all(&store, &words_kept).await,
            };
            match kept {
                Ok(KeptRound { round: Some(round), .. }) => journal.add(round, new),
                Ok(KeptRound { round: None, .. }) => {}
                Err(error) => tracing::error!(%error, "words of runs cannot be kept"),
            }
            for (own, live) in by_run(&words_kept.journal, to_journal.ends) {
                if let Some(last) = own.last() {
                    live.mark_written(Place::Journal, last.seq);
                }
            }
            took = began.elapsed();
        }
    }
}
