//! What a terminal talks to: the data folder itself, or a server that runs.
//!
//! Both say and do the same, in the words of `domain`; who asks need not know which one it is.

mod local;
mod remote;

use futures_util::stream::BoxStream;
pub use local::{Embedded, Local};
pub use remote::Remote;

use crate::{
    domain::{
        change::Outcome,
        error::ApiError,
        event::Stamped,
        id::{ChangeId, ConversationId, MessageId, RunId},
        model::Model,
        proposal::{Approval, Proposal},
        rating::{NewRating, Rating},
        run::Run,
        terminal::{
            NewTerminal, Said, SessionRecord, TerminalChanges, TerminalSession, TerminalTalk,
        },
    },
    server::ServeError,
};

/// What a watcher is told, up to the end of the run.
pub type Events = BoxStream<'static, Result<Stamped, ApiError>>;

/// Which sessions are listed.
pub use crate::store::Kept;

/// What was decided on a draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// All of it is taken, or some.
    Accepted,
    /// Nothing of it is.
    Rejected,
}

impl Decision {
    /// What a draft is called afterwards.
    pub fn word(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Rejected => "rejected",
        }
    }

    /// What is told when it was taken back.
    pub fn taken_back(self) -> &'static str {
        match self {
            Self::Accepted => "What was accepted is undone.",
            Self::Rejected => "What was rejected waits again.",
        }
    }
}

/// What is told where nothing was decided on yet.
pub const NOTHING_DECIDED: &str = "Nothing was decided on here that could be taken back.";

/// Why there is nothing to talk to.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// The data folder cannot be used.
    #[error("{0}")]
    Folder(#[from] ServeError),
    /// The address is of no server.
    #[error("“{0}” is no address of a server. Write it as http://127.0.0.1:3000.")]
    Address(String),
    /// No connection could be prepared.
    #[error("Connections cannot be prepared: {0}")]
    Client(String),
    /// It says no.
    #[error("{0}")]
    Told(#[from] ApiError),
}

/// What a terminal talks to. Cheap to clone.
#[derive(Clone, Debug)]
pub enum Stage {
    /// The data folder, opened in this process.
    Local(Local),
    /// A server.
    Remote(Remote),
}

/// Asks whichever it is.
macro_rules! on_stage {
    ($stage:expr, $one:ident => $asked:expr) => {
        match $stage {
            Stage::Local($one) => $asked.await,
            Stage::Remote($one) => $asked.await,
        }
    };
}

impl Stage {
    /// The server's address; `None` when there is no server between.
    pub fn address(&self) -> Option<&str> {
        match self {
            Self::Local(_) => None,
            Self::Remote(remote) => Some(remote.address()),
        }
    }

    /// All sessions, the last written in first.
    pub async fn sessions(&self, kept: Kept) -> Result<Vec<TerminalSession>, ApiError> {
        on_stage!(self, one => one.sessions(kept))
    }

    /// The session that somebody means by an identifier, its beginning, or a name.
    pub async fn find(&self, text: &str) -> Result<TerminalSession, ApiError> {
        on_stage!(self, one => one.find(text))
    }

    /// Begins a session.
    pub async fn create(&self, new: NewTerminal) -> Result<TerminalSession, ApiError> {
        on_stage!(self, one => one.create(new))
    }

    /// A session in use, with its settings.
    pub async fn session(&self, id: &ConversationId) -> Result<TerminalSession, ApiError> {
        on_stage!(self, one => one.session(id))
    }

    /// Says what a session is called and speaks with. What is left out stays.
    pub async fn change(
        &self,
        id: &ConversationId,
        changes: TerminalChanges,
    ) -> Result<TerminalSession, ApiError> {
        on_stage!(self, one => one.change(id, changes))
    }

    /// Moves a session into the bin. A run in it is stopped.
    pub async fn delete(&self, id: &ConversationId) -> Result<(), ApiError> {
        on_stage!(self, one => one.delete(id))
    }

    /// Removes a session in which nothing was said, and for which nothing was set. `false` when there was
    /// something.
    pub async fn discard(&self, id: &ConversationId) -> Result<bool, ApiError> {
        on_stage!(self, one => one.discard(id))
    }

    /// Takes a session out of the bin.
    pub async fn restore(&self, id: &ConversationId) -> Result<TerminalSession, ApiError> {
        on_stage!(self, one => one.restore(id))
    }

    /// The last messages of a session, at most so many, and the run that was last begun there: one that
    /// goes on can be watched.
    pub async fn talk(&self, id: &ConversationId, most: u32) -> Result<TerminalTalk, ApiError> {
        on_stage!(self, one => one.talk(id, most))
    }

    /// What was said in a session up to a message, at most so many.
    pub async fn earlier(
        &self,
        id: &ConversationId,
        until: &MessageId,
        most: u32,
    ) -> Result<TerminalTalk, ApiError> {
        on_stage!(self, one => one.earlier(id, until, most))
    }

    /// Says something. The run that answers is told of at once.
    pub async fn say(&self, id: &ConversationId, words: &str) -> Result<Said, ApiError> {
        on_stage!(self, one => one.say(id, words))
    }

    /// How a run stands.
    pub async fn run(&self, id: &RunId) -> Result<Run, ApiError> {
        on_stage!(self, one => one.run(id))
    }

    /// All that a run told after an event, and all that it will tell, up to its end.
    pub async fn watch(&self, run: &RunId, after: u64) -> Result<Events, ApiError> {
        on_stage!(self, one => one.watch(run, after))
    }

    /// Stops a run; its words stay.
    pub async fn stop(&self, run: &RunId) -> Result<Run, ApiError> {
        on_stage!(self, one => one.stop(run))
    }

    /// The models there are, and the one that speaks by default.
    pub async fn models(&self) -> Result<(Vec<Model>, String), ApiError> {
        on_stage!(self, one => one.models())
    }

    /// The drafts of a session that wait for a decision, the first first.
    pub async fn drafts(&self, id: &ConversationId) -> Result<Vec<Proposal>, ApiError> {
        on_stage!(self, one => one.drafts(id))
    }

    /// The drafts that wait for a decision anywhere in the Space, the last first.
    pub async fn waiting(&self) -> Result<Vec<Proposal>, ApiError> {
        on_stage!(self, one => one.waiting())
    }

    /// A draft, however it stands.
    pub async fn draft(&self, id: &ChangeId) -> Result<Proposal, ApiError> {
        on_stage!(self, one => one.draft(id))
    }

    /// Accepts a draft: whole, some of its hunks, or in one's own words.
    pub async fn accept(&self, id: &ChangeId, approval: Approval) -> Result<Outcome, ApiError> {
        on_stage!(self, one => one.accept(id, approval))
    }

    /// Rejects a draft; whoever proposed it is told why.
    pub async fn reject(&self, id: &ChangeId, reason: &str) -> Result<Outcome, ApiError> {
        on_stage!(self, one => one.reject(id, reason))
    }

    /// Takes a decision back: a rejected draft waits again, and what an accepted one did is undone.
    pub async fn take_back(&self, id: &ChangeId, made: Decision) -> Result<Outcome, ApiError> {
        match made {
            Decision::Accepted => on_stage!(self, one => one.undo(id)),
            Decision::Rejected => on_stage!(self, one => one.reopen(id)),
        }
    }

    /// A session as files have it, deleted or not.
    pub async fn record(&self, id: &ConversationId) -> Result<SessionRecord, ApiError> {
        on_stage!(self, one => one.record(id))
    }

    /// Rates a message, instead of what it was given before.
    pub async fn rate(&self, message: &MessageId, given: NewRating) -> Result<Rating, ApiError> {
        on_stage!(self, one => one.rate(message, given))
    }

    /// What whoever asks gave to a message.
    pub async fn rating(&self, message: &MessageId) -> Result<Rating, ApiError> {
        on_stage!(self, one => one.rating(message))
    }

    /// Takes a rating back.
    pub async fn unrate(&self, message: &MessageId) -> Result<(), ApiError> {
        on_stage!(self, one => one.unrate(message))
    }

    /// What the messages of a session were rated with, in the order in which they were said.
    pub async fn ratings(&self, id: &ConversationId) -> Result<Vec<Rating>, ApiError> {
        on_stage!(self, one => one.ratings(id))
    }

    /// What is wrong with the operator's own tools, a sentence each.
    pub async fn tool_problems(&self) -> Vec<String> {
        on_stage!(self, one => one.tool_problems())
    }

    /// Ends the servers that were started for tools.
    pub async fn close_tools(&self) {
        match self {
            Self::Local(local) => local.close_tools().await,
            Self::Remote(_) => {}
        }
    }

    /// Brings in a session that was written to files.
    pub async fn import(&self, record: SessionRecord) -> Result<TerminalSession, ApiError> {
        on_stage!(self, one => one.import(record))
    }
}
