//! Where runs that ended wait to be handed on: so many, and no more.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use tokio::sync::mpsc;

use crate::agent::{Collector, Ended};

/// The end of the queue at which runs come in.
#[derive(Debug)]
pub struct Queue {
    ended: mpsc::Sender<Ended>,
    dropped: AtomicU64,
}

/// A queue with room for so many runs, and its other end.
pub fn queue(room: usize) -> (Arc<Queue>, mpsc::Receiver<Ended>) {
    let (ended, waiting) = mpsc::channel(room);
    (Arc::new(Queue { ended, dropped: AtomicU64::new(0) }), waiting)
}

impl Queue {
    /// How many found no room, and are not handed on.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

impl Collector for Queue {
    fn collect(&self, ended: Ended) {
        if self.ended.try_send(ended).is_ok() {
            return;
        }
        let before = self.dropped.fetch_add(1, Ordering::Relaxed);
        if before == 0 {
            tracing::warn!("traces come faster than they can be sent; some are not sent");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_finds_no_room_is_counted_and_nobody_waits() {
        let (queue, mut waiting) = queue(2);
        let ended = |run: &str| Ended { space: "s".into(), run: run.into() };

        for run in ["a", "b", "c", "d"] {
            queue.collect(ended(run));
        }

        assert_eq!(queue.dropped(), 2);
        assert_eq!(waiting.try_recv().ok(), Some(ended("a")));
        queue.collect(ended("e"));
        assert_eq!(queue.dropped(), 2);
    }
}
