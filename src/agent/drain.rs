//! The end of a process: runs that go on are let come to their end, and those that take too long end
//! politely, with their words and the offer to repeat them.

use std::{sync::atomic::Ordering, time::Duration};

use tokio::time::timeout;

use super::{Agent, turn::Finish};
use crate::domain::{error::ApiError, run::RunStatus};

/// How long the ends of runs that were broken off may take to be kept.
const KEEPING: Duration = Duration::from_secs(1);

impl Agent {
    /// Begins nothing new from now on, waits so long for what goes on, and breaks the rest off.
    pub async fn drain(&self, patience: Duration) {
        self.shared.closing.store(true, Ordering::Release);
        if timeout(patience, self.all_over()).await.is_ok() {
            return;
        }
        self.shared.broken_off.store(true, Ordering::Release);
        let left: Vec<_> = self.lives().values().cloned().collect();
        tracing::info!(runs = left.len(), "runs are broken off, and can be repeated");
        for live in left {
            live.stopped.cancel();
        }
        if timeout(KEEPING, self.all_over()).await.is_err() {
            tracing::warn!("some runs could not be ended; the next start does that");
        }
    }

    /// Waits until nothing goes on here.
    async fn all_over(&self) {
        loop {
            let live = self.lives().values().next().cloned();
            match live {
                Some(live) => live.over.cancelled().await,
                None => return,
            }
        }
    }

    /// Refuses what would only be broken off.
    pub(super) fn check_open(&self) -> Result<(), ApiError> {
        if !self.shared.closing.load(Ordering::Acquire) {
            return Ok(());
        }
        let reason = "The server is being stopped. Send it again when it is back.";
        Err(ApiError::NotNow { reason: reason.into() })
    }

    /// How a run ends: one that the end of this process stopped was no person's wish.
    pub(super) fn ending(&self, finish: Finish) -> Finish {
        let broken_off = self.shared.broken_off.load(Ordering::Acquire);
        if !broken_off || finish.status != RunStatus::Stopped {
            return finish;
        }
        let reason = "The server was stopped while this was being answered. What was said is kept; \
                      ask again.";
        let error = Some(ApiError::NotNow { reason: reason.into() });
        Finish { status: RunStatus::Interrupted, error, ..finish }
    }
}
