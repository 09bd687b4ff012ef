//! The agent loop, and the runs in which it goes on.
//!
//! `turn` decides, `driver` waits, `runs` starts, attaches, stops and recovers. What a run tells is in
//! the log before watchers see it (words excepted, which are seen at once and kept within a moment).
//!
//! The one rule of the room: a run belongs to nobody's request. Only Stop ends it.

mod asking;
mod begun;
mod budgets;
mod chat_answers;
mod chat_background;
mod chat_compare;
mod chat_export;
mod chat_files;
mod chat_lists;
mod chat_map;
mod chat_marks;
mod chat_pictures;
mod chat_place;
mod chat_restore;
mod chat_story;
mod chat_tree;
mod chats;
mod collector;
mod companion;
mod desk;
mod drain;
mod driver;
mod editor;
mod files;
mod line;
mod live;
mod log;
mod manager;
mod moments;
mod notes;
mod once;
mod places;
mod playground;
mod prompt;
mod queue;
mod ratings;
mod recall;
mod recovery;
mod relay;
mod rerun;
mod room;
mod rounds;
mod runs;
mod scribe;
mod sent;
mod session_again;
mod session_talk;
mod session_waiting;
mod settings;
mod talk;
mod talk_files;
mod terminal;
mod terminal_record;
mod test_runs;
mod tool;
mod toolbox;
mod tools;
mod turn;
mod voices;
mod watch;
mod window;

use std::{
    collections::{HashMap, HashSet},
    fmt::Debug,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, atomic::AtomicBool},
    time::Duration,
};

pub use chat_files::{ChatFile, ImportedChat};
pub use chat_place::Place;
pub use chat_restore::BroughtBack;
pub use chat_tree::{ChatEdit, ChatWords, PathAsk, is_elsewhere};
pub use chats::{ChatChanges, NewChat};
pub use collector::{Collector, Ended};
pub use editor::History;
pub use files::{Put, Unsaved};
use live::Live;
use log::Log;
use notes::Sights;
pub use notes::{Sight, is_from_elsewhere};
pub use once::Words;
use places::Places;
pub use playground::{NewSession, SessionDraft};
pub use queue::NextChange;
pub use relay::{Node, Relay, RelayError};
pub use rerun::Rerun;
pub use room::Guards;
pub use session_again::Again;
pub use session_talk::{Follows, SessionPath};
use session_waiting::WaitingRoom;
pub use talk::{Listener, Talk};
pub use talk_files::{TalkFile, TalkedFile};
use tokio::sync::Semaphore;
use tool::Registry;
pub use tool::ToolError;
pub use toolbox::{FILE as TOOLS_FILE, Problem as ToolProblem, Toolbox, Tools, Weight};
pub use tools::grep::Input as GrepInput;

use crate::{
    changes::Scope,
    domain::{
        error::ApiError,
        id::{ConversationId, PersonaId, RunId, SpaceId},
        version::Revision,
    },
    providers::Providers,
    sandbox::{Outcome, Program, Sandbox, SandboxError},
    search::Search,
    store::{Link, Store},
};

/// The name under which a Space's default model is kept.
pub const DEFAULT_MODEL: &str = "default_model";

/// How far runs may go.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// What the loop guards.
    pub guards: Guards,
    /// How long one answer of a model may be, in tokens.
    pub answer_tokens: u64,
    /// How long a run may take.
    pub time: Duration,
    /// Whether answers in chats may get pictures.
    pub pictures: bool,
    /// After how much silence of a process others on the same database end its runs.
    pub silence: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let (guards, time) = (Guards::default(), Duration::from_secs(15 * 60));
        let silence = Duration::from_secs(30);
        Self { guards, answer_tokens: 8192, time, pictures: true, silence }
    }
}

/// The room: everything that thinks goes through it. Cheap to clone.
#[derive(Clone)]
pub struct Agent {
    shared: Arc<Shared>,
}

struct Shared {
    store: Store,
    providers: Providers,
    search: Search,
    limits: Limits,
    /// What other processes on the same database call this one.
    node: String,
    /// How those processes are reached at once.
    relay: Relay,
    persona_tools: Registry,
    companion_tools: Registry,
    playground_tools: Registry,
    log: Arc<Log>,
    lives: Mutex<HashMap<RunId, Arc<Live>>>,
    /// Set when nothing new is begun.
    closing: AtomicBool,
    /// Set when what still goes on is broken off.
    broken_off: AtomicBool,
    /// Where Python runs.
    sandbox: OnceLock<Sandbox>,
    /// What an operator adds to our tools.
    toolbox: OnceLock<Toolbox>,
    /// What Spaces set about models.
    models: settings::KnownModels,
    /// What runs are held to.
    ledger: budgets::Ledger,
    /// What persons looked at when they asked, for when the same is asked again.
    sights: Sights,
    /// Who is told of runs that ended.
    collector: OnceLock<Arc<dyn Collector>>,
    /// Where the test runs of a persona stand in line.
    lines: Places<PersonaId, Semaphore>,
    /// Where sessions keep what waits for an answer.
    waiting: Places<ConversationId, WaitingRoom>,
    /// The versions of personas that roleplay data is drawn from, or was in vain.
    drawings: Mutex<HashSet<(SpaceId, PersonaId, Revision)>>,
}

impl Debug for Agent {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Agent").field("node", &self.shared.node).finish_non_exhaustive()
    }
}

impl Agent {
    /// The room in front of this store. Its log is written from now on.
    pub fn new(
        store: Store,
        providers: Providers,
        search: Search,
        limits: Limits,
        node: Node,
    ) -> Self {
        let log = Arc::new(Log::default());
        tokio::spawn(log.clone().write(store.clone()));
        let Node { name: node, relay } = node;
        let shared = Shared {
            store,
            providers,
            search,
            limits,
            node,
            relay,
            persona_tools: tools::persona_tools(),
            companion_tools: tools::companion_tools(),
            playground_tools: tools::playground_tools(),
            log,
            lives: Mutex::default(),
            closing: AtomicBool::new(false),
            broken_off: AtomicBool::new(false),
            sandbox: OnceLock::new(),
            toolbox: OnceLock::new(),
            models: settings::KnownModels::default(),
            ledger: budgets::Ledger::default(),
            sights: Sights::default(),
            collector: OnceLock::new(),
            lines: Places::default(),
            waiting: Places::default(),
            drawings: Mutex::default(),
        };
        let agent = Self { shared: Arc::new(shared) };
        let here = Arc::downgrade(&agent.shared);
        agent.shared.relay.start(move |run| {
            let live = here.upgrade().and_then(|shared| Self { shared }.live(&run));
            if let Some(live) = live {
                live.stopped.cancel();
            }
        });
        agent
    }

    /// Lets Python run here, for tools that want it. Only the first one counts.
    pub fn use_sandbox(&self, sandbox: Sandbox) {
        self.shared.sandbox.get_or_init(|| sandbox);
    }

    /// Gets Python ready while a model thinks, for a run that may use it.
    fn warm_python(&self) {
        if let Some(sandbox) = self.shared.sandbox.get().cloned() {
            tokio::spawn(async move {
                if let Err(error) = sandbox.warm().await {
                    tracing::debug!(%error, "Python is not ready");
                }
            });
        }
    }

    /// Runs Python.
    async fn run_python(&self, program: Program) -> Result<Outcome, SandboxError> {
        match self.shared.sandbox.get() {
            Some(sandbox) => sandbox.run(program).await,
            None => Err(SandboxError::Missing),
        }
    }

    /// Everything that finds.
    pub fn search(&self) -> &Search {
        &self.shared.search
    }

    /// What is kept.
    pub fn store(&self) -> &Store {
        &self.shared.store
    }

    async fn read(&self, scope: &Scope) -> Result<Link, ApiError> {
        Ok(self.shared.store.read(&scope.space).await?)
    }

    async fn write(&self, scope: &Scope) -> Result<Link, ApiError> {
        Ok(self.shared.store.write(&scope.space).await?)
    }

    /// The runs that go on here.
    fn lives(&self) -> MutexGuard<'_, HashMap<RunId, Arc<Live>>> {
        self.shared.lives.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn live(&self, run: &RunId) -> Option<Arc<Live>> {
        self.lives().get(run).cloned()
    }
}
