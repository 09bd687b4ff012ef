//! What processes on one PostgreSQL tell each other through Redis, where it is set: what runs tell, which
//! run shall stop, and who answers in which conversation.
//!
//! The one rule of the relay: it makes things quick and nothing else. What is true is in the database.
//! - *Events*: a run's log is whole and in order. What is heard here is passed on only where it follows
//!   what was seen without a gap; a gap, a silence or an absent Redis sends the watcher to the log.
//! - *Stop*: it is asked for in the run's row, which its process looks at every second; through Redis it is
//!   heard at once.
//! - *Lock*: one run per conversation is guaranteed by the database's unique index. The lock in Redis names
//!   the run, so that another process can refuse a message before it begins to write; it is believed only
//!   when that run's row says that it goes on. It ends with the run, or by itself when its process is gone.
//!
//! Nothing here makes a run wait: it leaves word and goes on. What cannot be told in time is not told, and
//! the log fills the gap. News of a Space are not told here: PostgreSQL passes them on with the commit that
//! makes them true (see `store/news.rs`).

mod hearing;
mod line;

use std::{
    collections::{HashMap, HashSet},
    fmt::Debug,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

pub use hearing::Hearing;
use redis::aio::MultiplexedConnection;
use tokio::{
    sync::{Notify, broadcast, watch},
    time::timeout,
};

use super::live::{Batch, Live};
use crate::domain::{
    event::Stamped,
    id::{ConversationId, RunId, SpaceId},
    run::Run,
};

/// How long somebody who begins to watch, or to write, waits for Redis.
const PATIENCE: Duration = Duration::from_millis(250);
/// How many messages of a run a watcher may be behind before it has to look at the log.
const BACKLOG: usize = 64;
/// Where runs tell, each on a channel of its own.
const RUN_CHANNEL: &str = "greenroom:run:";
/// Where it is said which run shall stop.
const STOP_CHANNEL: &str = "greenroom:stop";

/// Why the relay cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("REDIS_URL cannot be used: {0}.")]
pub struct RelayError(String);

/// What this process is among those on the same database.
#[derive(Debug, Default)]
pub struct Node {
    /// What the others call it.
    pub name: String,
    /// How it reaches them.
    pub relay: Relay,
}

impl From<&str> for Node {
    fn from(name: &str) -> Self {
        Self { name: name.into(), relay: Relay::default() }
    }
}

/// The way to other processes; by default there is none.
#[derive(Clone, Default)]
pub struct Relay(Option<Arc<Exchange>>);

impl Debug for Relay {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Relay").field("set", &self.0.is_some()).finish()
    }
}

/// Some events of a run that follow each other without a gap.
type Told = Arc<[Arc<Stamped>]>;

/// What goes out and what comes in.
struct Exchange {
    client: redis::Client,
    out: Mutex<Outbox>,
    /// Something waits to go out.
    waiting: Notify,
    followed: Mutex<Followed>,
    /// Another run is followed, or one no longer.
    turned: Notify,
}

/// What waits to go out. While Redis is away nothing does.
#[derive(Default)]
struct Outbox {
    line: Option<MultiplexedConnection>,
    /// Runs that have something to tell, each once.
    lives: Vec<Arc<Live>>,
    /// The locks of all runs that go on here.
    locks: HashMap<RunId, String>,
    /// Runs that began or ended since.
    begun: Vec<RunId>,
    ended: Vec<(RunId, String)>,
    /// Runs that shall stop, wherever they are.
    stops: Vec<RunId>,
}

/// The runs of other processes that are watched here.
#[derive(Default)]
struct Followed {
    runs: HashMap<RunId, Listeners>,
    /// Those whose channel is to be heard, or not heard any more.
    turned: HashSet<RunId>,
}

struct Listeners {
    told: broadcast::Sender<Told>,
    /// Whether Redis passes on what the run tells.
    heard: watch::Sender<bool>,
}

/// How much of a run was told to other processes.
#[derive(Debug, Default)]
pub(super) struct Relayed {
    seq: AtomicU64,
    waiting: AtomicBool,
}

impl Relay {
    /// Prepares for the Redis at this address, which need not be up. The address may hold a password, so
    /// errors do not show it.
    pub fn open(url: &str) -> Result<Self, RelayError> {
        let client = redis::Client::open(url).map_err(|error| RelayError(error.to_string()))?;
        let exchange = Exchange {
            client,
            out: Mutex::default(),
            waiting: Notify::new(),
            followed: Mutex::default(),
            turned: Notify::new(),
        };
        Ok(Self(Some(Arc::new(exchange))))
    }

    /// Speaks and listens from now on; `stop` is called for every run that shall stop, wherever it is.
    pub(super) fn start(&self, stop: impl Fn(RunId) + Send + Sync + 'static) {
        if let Some(exchange) = &self.0 {
            tokio::spawn(exchange.clone().keep_line(stop));
        }
    }

    /// A run has told something.
    pub(super) fn call(&self, live: &Arc<Live>) {
        let Some(exchange) = &self.0 else { return };
        // Whoever stands in line once is asked for all there is.
        if live.relayed.waiting.swap(true, Ordering::AcqRel) {
            return;
        }
        let mut out = exchange.out();
        if out.line.is_none() {
            return Relayed::leave_line(live);
        }
        out.lives.push(live.clone());
        drop(out);
        exchange.waiting.notify_one();
    }

    /// Somebody wants a run to stop that goes on elsewhere.
    pub(super) fn ask_to_stop(&self, run: &RunId) {
        self.leave_word(|out| out.stops.push(run.clone()));
    }

    /// A run began here, and its conversation is taken.
    pub(super) fn hold(&self, space: &SpaceId, run: &Run) {
        let Some(exchange) = &self.0 else { return };
        // It is known even while Redis is away, and told when it comes back.
        let key = lock_key(space, &run.conversation_id);
        exchange.out().locks.insert(run.id.clone(), key);
        self.leave_word(|out| out.begun.push(run.id.clone()));
    }

    /// A run ended here, and its conversation is free.
    pub(super) fn release(&self, run: &RunId) {
        let Some(exchange) = &self.0 else { return };
        let key = exchange.out().locks.remove(run);
        self.leave_word(|out| out.ended.extend(key.map(|key| (run.clone(), key))));
    }

    fn leave_word(&self, word: impl FnOnce(&mut Outbox)) {
        let Some(exchange) = &self.0 else { return };
        let mut out = exchange.out();
        if out.line.is_some() {
            word(&mut out);
            drop(out);
            exchange.waiting.notify_one();
        }
    }

    /// The run that is said to go on in a conversation. Only the database knows for certain.
    pub(super) async fn holder(
        &self,
        space: &SpaceId,
        conversation: &ConversationId,
    ) -> Option<RunId> {
        let mut line = self.0.as_ref()?.out().line.clone()?;
        let mut ask = redis::cmd("GET");
        ask.arg(lock_key(space, conversation));
        let holder: Option<String> =
            timeout(PATIENCE, ask.query_async(&mut line)).await.ok()?.ok()?;
        holder.map(RunId::new)
    }

    /// Hears what a run of another process tells, from now on.
    pub(super) async fn follow(&self, run: &RunId) -> Hearing {
        let Some(exchange) = &self.0 else { return Hearing::deaf() };
        let mut hearing = exchange.join(run);
        if exchange.out().line.is_some() {
            hearing.wait_until_heard(PATIENCE).await;
        }
        hearing
    }
}

impl Exchange {
    fn out(&self) -> MutexGuard<'_, Outbox> {
        self.out.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn followed(&self) -> MutexGuard<'_, Followed> {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more listens to a run.
    fn join(self: &Arc<Self>, run: &RunId) -> Hearing {
        let mut followed = self.followed();
        let known = followed.runs.contains_key(run);
        let listeners = followed.runs.entry(run.clone()).or_insert_with(|| Listeners {
            told: broadcast::Sender::new(BACKLOG),
            heard: watch::Sender::new(false),
        });
        let (told, heard) = (listeners.told.subscribe(), listeners.heard.subscribe());
        if !known {
            followed.turned.insert(run.clone());
            self.turned.notify_one();
        }
        Hearing::new(self.clone(), run.clone(), told, heard)
    }

    /// One less listens to a run.
    fn leave(&self, run: &RunId, told: broadcast::Receiver<Told>) {
        let mut followed = self.followed();
        drop(told);
        if followed.runs.get(run).is_some_and(|known| known.told.receiver_count() == 0) {
            followed.runs.remove(run);
            followed.turned.insert(run.clone());
            self.turned.notify_one();
        }
    }
}

impl Relayed {
    /// What a run has to tell is not asked for.
    fn leave_line(live: &Live) {
        live.relayed.waiting.store(false, Ordering::Release);
    }

    /// What a run told since it was last asked.
    fn take(live: &Live) -> Vec<Arc<Stamped>> {
        // Before it is asked, so that what it tells from now on brings it into line again.
        Self::leave_line(live);
        let relayed = &live.relayed;
        match live.after(relayed.seq.load(Ordering::Acquire)) {
            Batch::Events(events) => {
                if let Some(last) = events.last() {
                    relayed.seq.store(last.seq, Ordering::Release);
                }
                events
            }
            // The log has what is left out here.
            Batch::Behind => {
                relayed.seq.store(*live.watch().borrow(), Ordering::Release);
                Vec::new()
            }
        }
    }
}

/// The channel on which a run tells.
fn channel(run: &RunId) -> String {
    format!("{RUN_CHANNEL}{run}")
}

/// Where it stands which run goes on in a conversation.
fn lock_key(space: &SpaceId, conversation: &ConversationId) -> String {
    format!("greenroom:lock:{space}:{conversation}")
}
