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
pub(super) const ROUND: Duration = Duration::from_millis(40);
/// How long to wait before writing again what could not be written.
const RETRY: Duration = Duration::from_millis(250);

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
            // Each run's rows stand together, up to where the next one's begin.
            let (mut rows, mut ends) = (Vec::new(), Vec::new());
            for live in waiting {
                rows.extend(live.take_pending());
                ends.push((rows.len(), live));
            }
            let kept = write_all(&store, &rows).await;
            let mut from = 0;
            for (to, live) in ends {
                let own = &rows[std::mem::replace(&mut from, to)..to];
                // One run whose persona was purged must not hold up the others.
                if kept.is_err()
                    && let Err(error) = write_all(&store, own).await
                {
                    tracing::warn!(%error, run = %live.run, "a run cannot be kept, and is ended");
                    live.stopped.cancel();
                }
                if let Some(last) = own.last() {
                    live.mark_written(last.seq);
                }
            }
        }
    }
}
