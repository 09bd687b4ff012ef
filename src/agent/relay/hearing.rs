//! Hearing what a run of another process tells.
//!
//! What is heard must follow what was seen without a gap. Where it does not, the watcher is sent to the
//! log, and what was heard too early is kept until the log has caught up with it.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{broadcast, watch},
    time::{sleep, timeout},
};

use super::{Exchange, Told};
use crate::{
    agent::{log::KEPT_WITHIN, watch::LOOK},
    domain::{
        event::{RunEvent, Stamped},
        id::RunId,
    },
};

/// How long a run may be silent before the log is looked at all the same: its process may be gone, or a
/// word of it lost.
const SILENCE: Duration = Duration::from_secs(2);

/// Hears what a run of another process tells.
pub struct Hearing {
    ear: Option<Ear>,
    /// What was heard and not passed on yet.
    kept: Option<Told>,
    /// How long to wait until the log is looked at.
    pause: Duration,
    /// What was seen when the log was last looked at for a gap.
    gap_at: Option<u64>,
}

struct Ear {
    exchange: Arc<Exchange>,
    run: RunId,
    /// Taken when it is over.
    told: Option<broadcast::Receiver<Told>>,
    heard: watch::Receiver<bool>,
}

impl Drop for Ear {
    fn drop(&mut self) {
        if let Some(told) = self.told.take() {
            self.exchange.leave(&self.run, told);
        }
    }
}

/// What some heard events are to somebody who has seen this much.
#[derive(Debug, PartialEq)]
enum Fit {
    /// They were seen.
    Known,
    /// These come next.
    Next(Vec<Arc<Stamped>>),
    /// Something is missing before them.
    Ahead,
}

fn fit(told: &[Arc<Stamped>], seen: u64) -> Fit {
    let fresh: Vec<_> = told.iter().filter(|one| one.seq > seen).cloned().collect();
    match fresh.first() {
        None => Fit::Known,
        Some(first) if first.seq == seen + 1 => Fit::Next(fresh),
        Some(_) => Fit::Ahead,
    }
}

impl Hearing {
    pub(super) fn new(
        exchange: Arc<Exchange>,
        run: RunId,
        told: broadcast::Receiver<Told>,
        heard: watch::Receiver<bool>,
    ) -> Self {
        let ear = Ear { exchange, run, told: Some(told), heard };
        Self { ear: Some(ear), ..Self::deaf() }
    }

    /// Hears nothing: only the log tells.
    pub fn deaf() -> Self {
        // Words that were said just before may still be on their way into the log, so the first looks at
        // it follow soon on each other.
        Self { ear: None, kept: None, pause: LOOK, gap_at: None }
    }

    /// Waits until Redis passes on what the run tells, but no longer than this.
    pub(super) async fn wait_until_heard(&mut self, most: Duration) {
        if let Some(ear) = &mut self.ear {
            // Too late is no harm: the log has what was missed.
            drop(timeout(most, ear.heard.wait_for(|heard| *heard)).await);
        }
    }

    /// What comes right after `seen`. Nothing when the log should be looked at.
    pub async fn next(&mut self, seen: u64) -> Vec<Arc<Stamped>> {
        let Some(Ear { told: Some(told), heard, .. }) = &mut self.ear else {
            sleep(LOOK).await;
            return Vec::new();
        };
        let pause = if *heard.borrow_and_update() { self.pause } else { LOOK };
        let late = sleep(pause);
        tokio::pin!(late);
        loop {
            if let Some(some) = self.kept.take() {
                match fit(&some, seen) {
                    Fit::Known => {}
                    Fit::Next(events) => return events,
                    Fit::Ahead => {
                        self.kept = Some(some);
                        // What is missing is written there within a moment, if it is not yet.
                        if self.gap_at.replace(seen) == Some(seen) {
                            sleep(KEPT_WITHIN).await;
                        }
                        return Vec::new();
                    }
                }
            }
            tokio::select! {
                some = told.recv() => match some {
                    Ok(some) => self.kept = Some(some),
                    // Too slow: the next to come shows the gap.
                    Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => {
                        late.await;
                        return Vec::new();
                    }
                },
                // Redis went away or came back, and something may have been missed.
                Ok(()) = heard.changed() => {
                    self.pause = LOOK;
                    return Vec::new();
                }
                () = &mut late => {
                    self.pause = (self.pause * 2).min(SILENCE);
                    return Vec::new();
                }
            }
        }
    }

    /// Comes back when the run has told its end, or when it is time to look again whether it has.
    pub async fn wait_for_end(&mut self) {
        let Some(Ear { told: Some(told), .. }) = &mut self.ear else {
            return sleep(LOOK).await;
        };
        let end = async {
            loop {
                match told.recv().await {
                    Ok(some) if some.iter().any(|one| is_end(one)) => return,
                    Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
                }
            }
        };
        drop(timeout(LOOK, end).await);
    }
}

fn is_end(one: &Stamped) -> bool {
    matches!(one.event, RunEvent::Ended { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{agent::relay::Relay, domain::timestamp::Timestamp};

    fn told(seqs: std::ops::RangeInclusive<u64>) -> Told {
        let one = |seq| Stamped {
            seq,
            at: Timestamp(0),
            event: RunEvent::Text { part: "p".into(), delta: format!("{seq} ") },
        };
        seqs.map(|seq| Arc::new(one(seq))).collect()
    }

    fn seqs(events: &[Arc<Stamped>]) -> Vec<u64> {
        events.iter().map(|one| one.seq).collect()
    }

    /// A run that is listened to, and the way to tell.
    fn listening() -> (Hearing, broadcast::Sender<Told>, watch::Sender<bool>, Arc<Exchange>) {
        let exchange = Relay::open("redis://127.0.0.1:1").unwrap().0.unwrap();
        let hearing = exchange.join(&"r".into());
        let followed = exchange.followed();
        let listeners = &followed.runs[&RunId::new("r")];
        let (said, heard) = (listeners.told.clone(), listeners.heard.clone());
        drop(followed);
        heard.send_replace(true);
        (hearing, said, heard, exchange)
    }

    #[test]
    fn what_was_heard_fits_is_known_or_comes_too_early() {
        assert_eq!(fit(&told(1..=3), 3), Fit::Known);
        assert_eq!(fit(&told(1..=3), 1), Fit::Next(told(2..=3).to_vec()));
        assert_eq!(fit(&told(5..=6), 3), Fit::Ahead);
    }

    #[tokio::test(start_paused = true)]
    async fn a_gap_sends_to_the_log_and_what_came_too_early_is_told_after_it() {
        let (mut hearing, said, ..) = listening();
        assert!(said.send(told(1..=2)).is_ok());
        assert_eq!(seqs(&hearing.next(0).await), [1, 2]);

        assert!(said.send(told(5..=6)).is_ok());
        assert!(hearing.next(2).await.is_empty(), "the log is asked for 3");
        assert!(hearing.next(2).await.is_empty(), "and asked again, until it has it");
        assert!(hearing.next(3).await.is_empty());
        assert_eq!(seqs(&hearing.next(4).await), [5, 6]);
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_is_too_slow_looks_at_the_log_and_then_goes_on() {
        let (mut hearing, said, ..) = listening();
        for seq in 1..=500 {
            assert!(said.send(told(seq..=seq)).is_ok());
        }

        assert!(hearing.next(0).await.is_empty());
        assert_eq!(seqs(&hearing.next(499).await), [500]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_run_is_looked_at_now_and_then_and_at_once_when_redis_goes() {
        let (mut hearing, _said, heard, _) = listening();
        let began = tokio::time::Instant::now();
        for _ in 0..10 {
            assert!(hearing.next(0).await.is_empty());
        }
        assert!(began.elapsed() > 5 * SILENCE && began.elapsed() < 10 * SILENCE);

        heard.send_replace(false);
        let gone = tokio::time::Instant::now();
        assert!(hearing.next(0).await.is_empty());
        assert!(gone.elapsed() <= LOOK);
    }

    #[tokio::test]
    async fn the_last_to_leave_ends_the_following() {
        let (first, .., exchange) = listening();
        let second = exchange.join(&"r".into());
        drop(first);
        assert_eq!(exchange.followed().runs.len(), 1);
        drop(second);
        assert_eq!(exchange.followed().runs.len(), 0);
    }
}
