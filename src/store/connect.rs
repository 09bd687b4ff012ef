//! Opening the database, and bringing it up to date.

use std::{
    io::Read,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::available_parallelism,
    time::Duration,
};

use sqlx::{
    ConnectOptions, Connection, PgPool,
    migrate::{MigrateError, Migrator},
    postgres::{PgConnectOptions, PgPoolOptions},
    sqlite::{
        SqliteAutoVacuum, SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions,
        SqliteSynchronous,
    },
};

use super::{
    POSTGRES_MIGRATIONS, Pool, SQLITE_MIGRATIONS, Store, StoreError,
    company::Company,
    copy::{beside, beside_sqlite, keep_copy, keep_private},
    error::DAMAGED_TOLD,
    news::Newsroom,
};

/// How long a writer waits for another program that holds the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a request waits for a connection.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(8);
/// Older ones can corrupt a database in WAL mode with pooled connections (sqlite.org/wal.html).
const OLDEST_SQLITE: [u32; 3] = [3, 51, 3];
/// SQLite's result codes for a file that is only read, and one that cannot be opened.
const READ_ONLY: u32 = 8;
const NOT_OPENED: u32 = 14;
/// What SQLite and PostgreSQL say of a table that is not there.
const NO_TABLE: [&str; 2] = ["1", "42P01"];
/// So large a file is looked at whole whenever it is opened: that takes no longer than some tens of milliseconds.
const CHECKED_ALWAYS: u64 = 16 * 1024 * 1024;
/// And so large a one when its last program did not close it.
const CHECKED_AFTER_CRASH: u64 = 512 * 1024 * 1024;
/// More readers than processors keep those busy that wait for the disk; each has a thread and up to two megabytes of
/// pages.
const READERS_PER_PROCESSOR: u32 = 2;
const MOST_READERS: u32 = 8;
/// A process that sleeps in the middle of a transaction loses it, and holds up others no longer than this. What
/// does not say that it writes cannot: see [`WRITING`](super::link::WRITING).
const SESSION: &str = "select set_config('idle_in_transaction_session_timeout', '30s', false),
    set_config('default_transaction_read_only', 'on', false)";
const POSTGRES_CONNECTIONS: u32 = 16;

/// How many connections read an SQLite file side by side.
fn readers() -> u32 {
    let processors = available_parallelism().map_or(1, usize::from);
    u32::try_from(processors)
        .unwrap_or(MOST_READERS)
        .saturating_mul(READERS_PER_PROCESSOR)
        .min(MOST_READERS)
}

/// How a file was left.
#[derive(Clone, Copy, Debug)]
enum Left {
    /// By a program that closed it.
    Closed,
    /// By one that did not, or that still has it open.
    Open,
}

impl Store {
    /// Opens the SQLite file, making it if it is not there.
    pub async fn open_sqlite(file: &Path) -> Result<Self, StoreError> {
        keep_private(file).map_err(|error| StoreError::Unavailable(sqlx::Error::Io(error)))?;
        let [wal, _] = beside_sqlite(file);
        let left =
            if wal.metadata().is_ok_and(|wal| wal.len() > 0) { Left::Open } else { Left::Closed };
        let is_new = file.metadata().map_or(true, |file| file.len() == 0);
        if !is_new {
            look_before(file).await?;
        }
        let mut options = SqliteConnectOptions::new()
            .filename(file)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            // An answer of "saved" must survive a power cut.
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            // The last page of every run's log is written again and again: let the WAL take it.
            .pragma("wal_autocheckpoint", "8000")
            .busy_timeout(BUSY_TIMEOUT);
        let reading = options.clone().pragma("query_only", "on");
        // Said of a file that is there, it would be written to the file by whoever opens it: readers would
        // have to wait for writers.
        if is_new {
            options = options.auto_vacuum(SqliteAutoVacuum::Incremental);
        }
        let write = SqlitePoolOptions::new()
            .max_connections(1)
            // A file does not go away as a server does, and a connection to it does not grow old.
            .test_before_acquire(false)
            .max_lifetime(None)
            .idle_timeout(None)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .connect_with(options)
            .await
            .map_err(unopened)?;
        check_version(&write).await?;
        let read = SqlitePoolOptions::new()
            .max_connections(readers())
            .test_before_acquire(false)
            .max_lifetime(None)
            .idle_timeout(None)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .connect_lazy_with(reading);
        // One reader is there from the beginning: opening one may not be possible on a full disk.
        let reader = read.clone();
        let store = Self::around(Pool::Sqlite { write, read }, Company::around(file));
        store.check_whole(file, left).await?;
        store.keep_before_migration(file).await?;
        store.migrate().await?;
        drop(reader.acquire().await?);
        Ok(store)
    }

    /// Prepares to look into an SQLite file that is there: nothing is made, checked or written. See
    /// [`Store::use_as_it_is`].
    pub fn look_into_sqlite(file: &Path) -> Self {
        let reading = SqliteConnectOptions::new()
            .filename(file)
            .pragma("query_only", "on")
            .busy_timeout(BUSY_TIMEOUT);
        let read = SqlitePoolOptions::new()
            .max_connections(readers())
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .connect_lazy_with(reading);
        Self::around(Pool::Sqlite { write: read.clone(), read }, Company::default())
    }

    /// Prepares for a PostgreSQL server, which need not be up yet: see [`Store::migrate`].
    pub fn open_postgres(url: &str) -> Result<Self, StoreError> {
        let options: PgConnectOptions =
            url.parse().map_err(|error: sqlx::Error| StoreError::Unusable(error.to_string()))?;
        let pool = PgPoolOptions::new()
            .max_connections(POSTGRES_CONNECTIONS)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .after_connect(|wire, _| {
                Box::pin(async move { sqlx::query(SESSION).execute(wire).await.map(drop) })
            })
            .connect_lazy_with(options);
        Ok(Self::around(Pool::Postgres(pool), Company::default()))
    }

    /// Looks at all pages of a file, unless that takes long or somebody else has them open: of a damaged one the
    /// first is often whole.
    async fn check_whole(&self, file: &Path, left: Left) -> Result<(), StoreError> {
        let Pool::Sqlite { write, .. } = &self.pool else { return Ok(()) };
        let most = match left {
            Left::Open => CHECKED_AFTER_CRASH,
            Left::Closed => CHECKED_ALWAYS,
        };
        let bytes = file.metadata().map_or(0, |file| file.len());
        if bytes > most || !self.company().is_empty() {
            return Ok(());
        }
        let check = sqlx::query_scalar("pragma quick_check(1)").fetch_all(write).await;
        let found: Vec<String> = check.map_err(unopened)?;
        if found == ["ok"] { Ok(()) } else { Err(StoreError::Unusable(DAMAGED_TOLD.into())) }
    }

    fn around(pool: Pool, company: Company) -> Self {
        let ready = Arc::new(AtomicBool::new(false));
        Self { pool, ready, newsroom: Newsroom::default(), company }
    }

    /// Before the tables of a file are changed: nobody may be using them as they were, and they are kept as they
    /// were.
    async fn keep_before_migration(&self, file: &Path) -> Result<(), StoreError> {
        let done = self.done_migrations().await?;
        let mut known = SQLITE_MIGRATIONS.iter().map(|migration| migration.version);
        let next = known.find(|version| !done.contains(version));
        let Some(next) = next.filter(|_| !done.is_empty()) else { return Ok(()) };
        if let Some(other) = self.company().first() {
            let who = match &other.address {
                Some(address) => format!("the server at {address}"),
                None => format!("another Greenroom ({})", other.node.escape_debug()),
            };
            return Err(StoreError::Unusable(format!(
                "{who} uses it, and this version changes its tables. End that one first, and start this one \
                 again"
            )));
        }
        let copy = beside(file, &format!(".before-migration-{next}"));
        keep_copy(file, &copy).await?;
        tracing::info!(copy = %copy.display(), "the database is kept as it was, and brought up to date");
        Ok(())
    }

    /// Which migrations were done here, in order.
    async fn done_migrations(&self) -> Result<Vec<i64>, StoreError> {
        const DONE: &str = "select version from _sqlx_migrations where success order by version";
        let done: Result<Vec<i64>, sqlx::Error> = match &self.pool {
            Pool::Sqlite { read, .. } => sqlx::query_scalar(DONE).fetch_all(read).await,
            Pool::Postgres(pool) => sqlx::query_scalar(DONE).fetch_all(pool).await,
        };
        match done {
            Err(sqlx::Error::Database(problem))
                if problem.code().is_some_and(|code| NO_TABLE.contains(&&*code)) =>
            {
                Ok(Vec::new())
            }
            done => done.map_err(unopened),
        }
    }

    /// The migrations that this program knows.
    fn known_migrations(&self) -> &'static Migrator {
        match &self.pool {
            Pool::Sqlite { .. } => &SQLITE_MIGRATIONS,
            Pool::Postgres(_) => &POSTGRES_MIGRATIONS,
        }
    }

    /// Gives links to the tables as they are. `false` when they are not those that this program would make: then
    /// it gives none.
    pub async fn use_as_it_is(&self) -> Result<bool, StoreError> {
        let known = self.known_migrations().iter().map(|migration| migration.version);
        let is_ours = known.eq(self.done_migrations().await?);
        if is_ours {
            self.ready.store(true, Ordering::Release);
        }
        Ok(is_ours)
    }

    /// Brings the tables up to date. Until it has succeeded, the store gives no link.
    pub async fn migrate(&self) -> Result<(), StoreError> {
        let done = match &self.pool {
            Pool::Sqlite { write, .. } => SQLITE_MIGRATIONS.run(write).await,
            Pool::Postgres(pool) => migrate_postgres(pool).await,
        };
        done.map_err(|error| match error {
            MigrateError::Execute(source) => unopened(source),
            MigrateError::VersionMissing(version) => newer(version),
            other => StoreError::Unusable(other.to_string()),
        })?;
        self.ready.store(true, Ordering::Release);
        Ok(())
    }

    /// Sees to it that the tables are as this program has them, and changes nothing: for whoever only reads, while
    /// another program may be using them.
    pub async fn require_current(&self) -> Result<(), StoreError> {
        if self.use_as_it_is().await? {
            return Ok(());
        }
        let known = self.known_migrations();
        let done = self.done_migrations().await?;
        if let Some(unknown) = done.into_iter().find(|version| !known.version_exists(*version)) {
            return Err(newer(unknown));
        }
        let told = "its tables are not those of this Greenroom. Start a server of this version on it once: that \
                    brings them up to date";
        Err(StoreError::Unusable(told.into()))
    }
}

/// Brings the tables of a server up to date, over a connection that may write and serves nobody else.
async fn migrate_postgres(pool: &PgPool) -> Result<(), MigrateError> {
    let mut wire = pool.acquire().await?.detach();
    sqlx::query("set default_transaction_read_only = off").execute(&mut wire).await?;
    // `run` wants something of any lifetime, which a connection of our own is not.
    POSTGRES_MIGRATIONS.run_direct(None, &mut wire, false).await?;
    Ok(wire.close().await?)
}

/// Looks at a file before anything is written to it. Whoever opens one that is not in WAL mode, as a backup is
/// that was brought back, writes to it that it is from now on: one that is refused must stay as it is.
async fn look_before(file: &Path) -> Result<(), StoreError> {
    let mut journal = file.as_os_str().to_owned();
    journal.push("-journal");
    // What a crash left in a journal is put back by whoever may write, and by nobody else.
    if is_in_wal_mode(file) || Path::new(&journal).exists() {
        return Ok(());
    }
    let mut wire = SqliteConnectOptions::new()
        .filename(file)
        .read_only(true)
        .busy_timeout(BUSY_TIMEOUT)
        .connect()
        .await
        .map_err(unopened)?;
    if file.metadata().is_ok_and(|file| file.len() <= CHECKED_ALWAYS) {
        let check = sqlx::query_scalar("pragma quick_check(1)").fetch_all(&mut wire).await;
        let found: Vec<String> = check.map_err(unopened)?;
        if found != ["ok"] {
            return Err(StoreError::Unusable(DAMAGED_TOLD.into()));
        }
    }
    let migrated: i64 = sqlx::query_scalar(
        "select count(*) from sqlite_schema where type = 'table' and name = '_sqlx_migrations'",
    )
    .fetch_one(&mut wire)
    .await
    .map_err(unopened)?;
    let done: Vec<i64> = match migrated {
        0 => Vec::new(),
        _ => sqlx::query_scalar("select version from _sqlx_migrations order by version")
            .fetch_all(&mut wire)
            .await
            .map_err(unopened)?,
    };
    wire.close().await.map_err(unopened)?;
    match done.into_iter().find(|version| !SQLITE_MIGRATIONS.version_exists(*version)) {
        Some(version) => Err(newer(version)),
        None => Ok(()),
    }
}

/// Whether a file says in its head that it is read and written by way of a WAL.
fn is_in_wal_mode(file: &Path) -> bool {
    let mut head = [0; 20];
    let read = std::fs::File::open(file).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && head[18..] == [2, 2]
}

fn newer(version: i64) -> StoreError {
    StoreError::Unusable(format!(
        "it was written by a newer Greenroom (migration {version} is unknown here)"
    ))
}

/// Refuses a library that can corrupt the file, whatever this was compiled with.
async fn check_version(pool: &sqlx::SqlitePool) -> Result<(), StoreError> {
    let version: String = sqlx::query_scalar("select sqlite_version()").fetch_one(pool).await?;
    let numbers: Vec<u32> = version.split('.').filter_map(|part| part.parse().ok()).collect();
    if numbers.as_slice() >= OLDEST_SQLITE.as_slice() {
        return Ok(());
    }
    Err(StoreError::Unusable(format!(
        "SQLite {version} is too old: before 3.51.3 it can damage a database"
    )))
}

/// Why a file cannot be opened, for the person who starts the server. Nothing was written to it.
fn unopened(error: sqlx::Error) -> StoreError {
    let code = match &error {
        sqlx::Error::Database(problem) => {
            problem.code().and_then(|code| code.parse::<u32>().ok()).map(|code| code & 0xff)
        }
        _ => None,
    };
    match code {
        Some(READ_ONLY | NOT_OPENED) => StoreError::Unusable(
            "the file, or the folder it is in, cannot be written. Whoever runs the server must be able \
             to write there"
                .into(),
        ),
        _ => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_library_that_runs_is_new_enough() {
        let pool = sqlx::SqlitePool::connect("sqlite::memory:").await.unwrap();

        assert!(check_version(&pool).await.is_ok());
    }

    #[tokio::test]
    async fn what_is_written_is_on_the_disk_before_it_is_said_to_be() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open_sqlite(&folder.path().join("greenroom.db")).await.unwrap();
        let Pool::Sqlite { write, read } = &store.pool else { panic!("it is a file") };

        for pool in [write, read] {
            let synchronous: i64 =
                sqlx::query_scalar("pragma synchronous").fetch_one(pool).await.unwrap();
            assert_eq!(synchronous, 2, "FULL");
        }
        let only_reads: i64 =
            sqlx::query_scalar("pragma query_only").fetch_one(read).await.unwrap();
        assert_eq!(only_reads, 1);
    }

    /// A database as an older program made it, with somebody in it.
    async fn of_an_older_program(file: &Path) -> i64 {
        let newest = super::super::newest_migration();
        let options = SqliteConnectOptions::new().filename(file).create_if_missing(true);
        let pool = sqlx::SqlitePool::connect_with(options).await.unwrap();
        SQLITE_MIGRATIONS.run_to(newest - 1, &pool).await.unwrap();
        let ann = "insert into \"user\" (user_id, name, created_at) values ('ann', 'ann', 1)";
        sqlx::query(ann).execute(&pool).await.unwrap();
        pool.close().await;
        newest
    }

    #[tokio::test]
    async fn a_database_is_kept_as_it_was_before_its_tables_are_changed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("greenroom.db");
        let newest = of_an_older_program(&file).await;
        let copy = beside(&file, &format!(".before-migration-{newest}"));
        // One that an earlier try left.
        std::fs::write(&copy, "old").unwrap();

        let store = Store::open_sqlite(&file).await.unwrap();

        assert!(store.use_as_it_is().await.unwrap());
        let kept = Store::look_into_sqlite(&copy);
        let told = kept.require_current().await.unwrap_err().to_string();
        assert!(told.contains("not those of this Greenroom"), "{told}");
        assert_eq!(kept.done_migrations().await.unwrap().last(), Some(&(newest - 1)));
        let Pool::Sqlite { read, .. } = &kept.pool else { panic!("it is a file") };
        let ann: String =
            sqlx::query_scalar("select name from \"user\"").fetch_one(read).await.unwrap();
        assert_eq!(ann, "ann");
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(copy.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        drop((store, kept));
        // Once it is up to date, no further one is made.
        std::fs::remove_file(&copy).unwrap();
        drop(Store::open_sqlite(&file).await.unwrap());
        assert!(!copy.exists());
    }

    #[tokio::test]
    async fn tables_that_somebody_uses_are_not_changed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("greenroom.db");
        let newest = of_an_older_program(&file).await;
        let server = Store::look_into_sqlite(&file);
        let server = Store { company: Company::around(&file), ..server };
        for (address, who) in [(Some("http://127.0.0.1:1"), "http://127.0.0.1:1"), (None, "old")] {
            server.enter("old", address.map(Into::into)).unwrap();

            let told = Store::open_sqlite(&file).await.unwrap_err().to_string();

            assert!(told.contains(who) && told.contains("changes its tables"), "{told}");
            assert_eq!(server.done_migrations().await.unwrap().last(), Some(&(newest - 1)));
        }
        assert!(!beside(&file, &format!(".before-migration-{newest}")).exists());
        // Once it has ended, the next one goes on.
        drop(server);
        assert!(Store::open_sqlite(&file).await.unwrap().use_as_it_is().await.unwrap());
    }

    #[tokio::test]
    async fn a_file_that_is_damaged_later_is_told_to_be_so() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("greenroom.db");
        drop(Store::open_sqlite(&file).await.unwrap());
        crate::store::settle_sqlite(&file).await.unwrap();
        let mut bytes = std::fs::read(&file).unwrap();
        bytes[4096..].fill(0xa5);
        std::fs::write(&file, bytes).unwrap();

        let pool = sqlx::SqlitePool::connect(&format!("sqlite:{}", file.display())).await.unwrap();
        let failed = sqlx::query("select * from persona").fetch_all(&pool).await.unwrap_err();

        let told = StoreError::from(failed).to_string();
        assert!(told.contains("damaged") && told.contains("greenroom restore"), "{told}");
    }
}
