//! Opening the database, and bringing it up to date.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use sqlx::{
    migrate::MigrateError,
    postgres::{PgConnectOptions, PgPoolOptions},
    sqlite::{
        SqliteAutoVacuum, SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions,
        SqliteSynchronous,
    },
};

use super::{POSTGRES_MIGRATIONS, Pool, SQLITE_MIGRATIONS, Store, StoreError, news::Newsroom};

/// How long a writer waits for another program that holds the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a request waits for a connection.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(8);
const SQLITE_READERS: u32 = 8;
const POSTGRES_CONNECTIONS: u32 = 16;

impl Store {
    /// Opens the SQLite file, making it if it is not there.
    pub async fn open_sqlite(file: &Path) -> Result<Self, StoreError> {
        let options = SqliteConnectOptions::new()
            .filename(file)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .auto_vacuum(SqliteAutoVacuum::Incremental)
            // An answer of "saved" must survive a power cut.
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            // The last page of every run's log is written again and again: let the WAL take it.
            .pragma("wal_autocheckpoint", "8000")
            .busy_timeout(BUSY_TIMEOUT);
        let write = SqlitePoolOptions::new()
            .max_connections(1)
            // A file does not go away as a server does.
            .test_before_acquire(false)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .connect_with(options.clone())
            .await?;
        let read = SqlitePoolOptions::new()
            .max_connections(SQLITE_READERS)
            .test_before_acquire(false)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .connect_lazy_with(options.pragma("query_only", "on"));
        let store = Self::around(Pool::Sqlite { write, read });
        store.migrate().await?;
        Ok(store)
    }

    /// Prepares for a PostgreSQL server, which need not be up yet: see [`Store::migrate`].
    pub fn open_postgres(url: &str) -> Result<Self, StoreError> {
        let options: PgConnectOptions =
            url.parse().map_err(|error: sqlx::Error| StoreError::Unusable(error.to_string()))?;
        let pool = PgPoolOptions::new()
            .max_connections(POSTGRES_CONNECTIONS)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .connect_lazy_with(options);
        Ok(Self::around(Pool::Postgres(pool)))
    }

    fn around(pool: Pool) -> Self {
        Self { pool, ready: Arc::new(AtomicBool::new(false)), newsroom: Newsroom::default() }
    }

    /// Brings the tables up to date. Until it has succeeded, the store gives no link.
    pub async fn migrate(&self) -> Result<(), StoreError> {
        let done = match &self.pool {
            Pool::Sqlite { write, .. } => SQLITE_MIGRATIONS.run(write).await,
            Pool::Postgres(pool) => POSTGRES_MIGRATIONS.run(pool).await,
        };
        done.map_err(|error| match error {
            MigrateError::Execute(source) => StoreError::from(source),
            MigrateError::VersionMissing(version) => StoreError::Unusable(format!(
                "it was written by a newer Greenroom (migration {version} is unknown here)"
            )),
            other => StoreError::Unusable(other.to_string()),
        })?;
        self.ready.store(true, Ordering::Release);
        Ok(())
    }
}
