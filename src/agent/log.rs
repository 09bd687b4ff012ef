//! The writer of the log: what all runs told goes into the database together.
//!
//! Words wait at most [`ROUND`] for it, so that is what a sudden end can cost. Under load a round takes
//! longer, and more words go into each row.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::sync::Notify;

use super::live::{Live, Urgency};
use crate::store::{EventRow, Store, StoreError};

/// How long words wait.
const ROUND: Duration = Duration::from_millis(40);
/// How long to wait before writing again what could not be written.
const RETRY: Duration = Duration::from_millis(250);

/// What one run had for the log.
struct Taken {
    live: Arc<Live>,
    rows: Vec<EventRow>,
    seq: u64,
}

impl Taken {
    fn from(live: Arc<Live>) -> Option<Self> {
        let rows = live.take_pending();
        let seq = rows.last()?.seq;
        Some(Self { live, rows, seq })
    }

    /// Nobody need wait for it any longer.
    fn done(&self) {
        self.live.mark_written(self.seq);
    }
}

/// Writes rows, waiting for a database that is away. What it refuses is an error.
async fn write_all(store: &Store, rows: &[EventRow]) -> Result<(), StoreError> {
    let mut told = false;
    loop {
        match store.append_all(rows).await {
            Ok(()) => return Ok(()),
            Err(
                error @ (StoreError::Unavailable(_) | StoreError::NotReady | StoreError::Contended),
            ) => {
                if !told {
                    tracing::error!(%error, "the log of runs cannot be written; trying again");
                    told = true;
                }
            }
            Err(error) => return Err(error),
        }
        tokio::time::sleep(RETRY).await;
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
        loop {
            tokio::select! {
                () = self.now.notified() => {}
                () = self.soon.notified() => {
                    tokio::select! {
                        () = self.now.notified() => {}
                        () = tokio::time::sleep(ROUND) => {}
                    }
                }
            }
            let waiting =
                std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
            let taken: Vec<Taken> = waiting.into_iter().filter_map(Taken::from).collect();
            let rows: Vec<EventRow> = taken.iter().flat_map(|taken| taken.rows.clone()).collect();
            match write_all(&store, &rows).await {
                Ok(()) => taken.iter().for_each(Taken::done),
                // One run whose persona was purged must not hold up the others.
                Err(_) => {
                    for taken in &taken {
                        if let Err(error) = write_all(&store, &taken.rows).await {
                            tracing::warn!(%error, run = %taken.live.run, "a run cannot be kept");
                            taken.live.stopped.cancel();
                        }
                        taken.done();
                    }
                }
            }
        }
    }
}
