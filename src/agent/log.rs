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
use crate::store::Store;

/// How long words wait.
const ROUND: Duration = Duration::from_millis(40);
/// How long to wait before writing again what could not be written.
const RETRY: Duration = Duration::from_millis(250);

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
            let mut rows = Vec::new();
            let mut written = Vec::new();
            for live in waiting {
                let pending = live.take_pending();
                if let Some(last) = pending.last() {
                    written.push((last.seq, live));
                }
                rows.extend(pending);
            }
            let mut told = false;
            while let Err(error) = store.append_all(&rows).await {
                if !told {
                    tracing::error!(%error, "the log of runs cannot be written; trying again");
                    told = true;
                }
                tokio::time::sleep(RETRY).await;
            }
            for (seq, live) in written {
                live.mark_written(seq);
            }
        }
    }
}
