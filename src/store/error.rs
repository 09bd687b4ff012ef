//! Why the store gave nothing.

use crate::domain::error::ApiError;

/// What can go wrong with the database, by what the caller can do about it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The row is not there, or belongs to another Space.
    #[error("no such {0}")]
    NotFound(&'static str),
    /// What should be new exists already.
    #[error("a {0} with that identifier exists")]
    Taken(&'static str),
    /// Two writers stood in each other's way, and this one gave in. Asking again helps.
    #[error("another writer was in the way")]
    Contended,
    /// The migrations are not done yet.
    #[error("the database is not ready yet")]
    NotReady,
    /// The database does not answer, or not in time. Asking again may help.
    #[error("the database is not reachable")]
    Unavailable(#[source] sqlx::Error),
    /// There is no room for what should be written. It helps to make some.
    #[error("the disk is full")]
    DiskFull(#[source] sqlx::Error),
    /// The database cannot be used as it is.
    #[error("the database cannot be used: {0}")]
    Unusable(String),
    /// Our fault.
    #[error("a statement failed")]
    Failed(#[source] sqlx::Error),
}

impl StoreError {
    /// Reads what we wrote as JSON. What cannot be read is our fault.
    pub(super) fn read_json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, Self> {
        serde_json::from_str(text).map_err(|error| Self::Failed(sqlx::Error::Decode(error.into())))
    }
}

/// SQLite's result codes for: busy, locked, read-only by the system, I/O error, cannot open.
const SQLITE_AWAY: [u32; 5] = [5, 6, 8, 10, 14];

/// And for a full disk; the extended one is that of the file by which processes find what is in the WAL.
const SQLITE_FULL: u32 = 13;
const SQLITE_NO_ROOM_FOR_INDEX: u32 = 4874;
/// PostgreSQL's.
const POSTGRES_FULL: &str = "53100";

/// And for: damaged, and no database at all.
const SQLITE_DAMAGED: [u32; 2] = [11, 26];
/// What is told of such a file.
pub(super) const DAMAGED_TOLD: &str = "the file is damaged, or is no database. It was left as it is; bring a \
                                       backup back with greenroom restore";

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        use sqlx::Error as E;
        let away = match &error {
            E::PoolTimedOut | E::PoolClosed | E::WorkerCrashed | E::Io(_) | E::Tls(_) => true,
            // PostgreSQL's codes have five letters: classes 08, 53 and 57 are connections, resources and
            // operators. SQLite's extended codes keep the plain code in the low byte.
            E::Database(problem) => problem.code().is_some_and(|code| match code.parse::<u32>() {
                Ok(number) if code.len() < 5 => SQLITE_AWAY.contains(&(number & 0xff)),
                _ => ["08", "53", "57"].iter().any(|class| code.starts_with(class)),
            }),
            _ => false,
        };
        // PostgreSQL's class 40: a deadlock or a serialisation failure.
        if let E::Database(problem) = &error
            && problem.code().is_some_and(|code| code.len() == 5 && code.starts_with("40"))
        {
            return Self::Contended;
        }
        if let E::Database(problem) = &error
            && problem.code().is_some_and(|code| match code.parse::<u32>() {
                Ok(number) if code.len() < 5 => {
                    number & 0xff == SQLITE_FULL || number == SQLITE_NO_ROOM_FOR_INDEX
                }
                _ => code == POSTGRES_FULL,
            })
        {
            return Self::DiskFull(error);
        }
        if let E::Database(problem) = &error
            && let Some(code) = problem.code().filter(|code| code.len() < 5)
            && code.parse::<u32>().is_ok_and(|code| SQLITE_DAMAGED.contains(&(code & 0xff)))
        {
            return Self::Unusable(DAMAGED_TOLD.into());
        }
        if away { Self::Unavailable(error) } else { Self::Failed(error) }
    }
}

impl From<StoreError> for ApiError {
    /// The one place where a store's failure stops travelling: it is logged here and nowhere else.
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound(what) => Self::not_found(what),
            StoreError::Taken(what) => Self::Taken { what: what.into() },
            StoreError::NotReady | StoreError::Contended => Self::Unavailable,
            StoreError::Unavailable(source) => {
                tracing::warn!(error = %source, "the database is not reachable");
                Self::Unavailable
            }
            StoreError::DiskFull(source) => {
                tracing::error!(error = %source, "the disk is full");
                Self::DiskFull
            }
            StoreError::Unusable(_) | StoreError::Failed(_) => {
                let incident = uuid::Uuid::now_v7().simple().to_string();
                tracing::error!(incident, error = ?error, "a statement failed");
                Self::Internal { incident }
            }
        }
    }
}
