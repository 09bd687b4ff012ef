//! All SQL, by noun, for SQLite and PostgreSQL.
//!
//! The one rule of the room: nothing leaves a [`Link`] that is not of the Space the link was opened
//! for, and every statement is written once for both databases.

mod account;
mod alive;
mod branch;
mod change;
mod chat;
mod company;
mod connect;
mod conversation;
mod copy;
mod entry;
mod error;
mod file;
mod home;
mod job;
mod journal;
mod line;
mod link;
mod news;
mod persona;
mod picture;
mod playground;
mod proposal;
mod publication;
mod rating;
mod run;
mod search;
mod sent;
mod session;
mod session_branch;
mod settings;
mod speaker;
mod terminal;
mod test_answer;
mod test_input;
mod trace;
mod trash;
mod tree;
mod usage;
mod vector;
mod version;
mod words;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

pub use alive::OwnedRun;
pub use branch::Voice;
pub use change::ChangeRow;
use company::Company;
pub use company::{Neighbour, processes_on, server_beside};
pub use copy::{
    Proofs, beside_sqlite, copy_sqlite, end_sessions, examine_sqlite, newest_migration,
    settle_sqlite,
};
pub use entry::EntryFilter;
pub use error::StoreError;
pub use file::{FilePlace, FileStep};
pub use job::{Job, JobEnd, Work};
pub use journal::{KeptRound, LogRound};
pub use link::Link;
pub use news::NewsFeed;
use news::Newsroom;
pub use persona::Head;
pub use picture::{Counted, DaySpent, NewPicture, PictureFilter};
pub use playground::Kept;
pub use proposal::{Decision, ProposalRow};
pub use run::{Answered, Beginning, EventRow};
pub use search::{FoundDocument, Term, Wanted};
pub use session::{Attempts, Holders};
pub use settings::ModelSettings;
use sqlx::{PgPool, SqlitePool, migrate::Migrator};
pub use trace::TracePage;
pub use tree::{Mark, MarkedMessage};
pub use vector::{Near, Unembedded};
pub use version::Author;
pub use words::{Word, words};

use crate::domain::{id::SpaceId, timestamp::Timestamp};

static SQLITE_MIGRATIONS: Migrator = sqlx::migrate!("src/store/migrations/sqlite");
static POSTGRES_MIGRATIONS: Migrator = sqlx::migrate!("src/store/migrations/postgres");

// Older ones can corrupt a database in WAL mode with pooled connections (sqlite.org/wal.html).
const _: () = assert!(libsqlite3_sys::SQLITE_VERSION_NUMBER >= 3_051_003, "SQLite is too old");

/// The database behind the store.
#[derive(Clone, Debug)]
enum Pool {
    /// One file. One connection writes, the others read and cannot write.
    Sqlite { write: SqlitePool, read: SqlitePool },
    /// A server. Its connections read, but in transactions that say that they write.
    Postgres(PgPool),
}

/// Everything that is kept.
#[derive(Clone, Debug)]
pub struct Store {
    pool: Pool,
    /// Set once the migrations are done; before that nobody gets a link.
    ready: Arc<AtomicBool>,
    newsroom: Newsroom,
    /// Who else uses the same file.
    company: Company,
}

impl Store {
    /// A link that reads.
    pub async fn read(&self, space: &SpaceId) -> Result<Link, StoreError> {
        self.check_ready()?;
        Link::read(self, space).await
    }

    /// A link that writes. Nothing is kept until [`Link::commit`].
    pub async fn write(&self, space: &SpaceId) -> Result<Link, StoreError> {
        self.check_ready()?;
        Link::write(self, space).await
    }

    /// Whether the database answers and is migrated.
    pub async fn check(&self) -> Result<(), StoreError> {
        self.check_ready()?;
        match &self.pool {
            Pool::Sqlite { read, .. } => sqlx::query("select 1").execute(read).await.map(drop)?,
            Pool::Postgres(pool) => sqlx::query("select 1").execute(pool).await.map(drop)?,
        }
        Ok(())
    }

    /// Whether the migrations are done. Nothing is asked of the database.
    pub fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    fn check_ready(&self) -> Result<(), StoreError> {
        if self.is_ready() { Ok(()) } else { Err(StoreError::NotReady) }
    }
}

/// The present moment, as every row of one change gets it.
pub fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    Timestamp(since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX)))
}

/// A new identifier: later ones sort after earlier ones.
pub fn new_id<Id: From<String>>() -> Id {
    Id::from(uuid::Uuid::now_v7().to_string())
}
