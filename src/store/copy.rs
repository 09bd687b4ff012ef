//! The database as a file: copied while it is in use, looked at without being changed, and kept from
//! the eyes of others.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::{self, ErrorKind},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

use sqlx::{Connection, SqliteConnection, sqlite::SqliteConnectOptions};

use super::{SQLITE_MIGRATIONS, StoreError};

/// How long to wait for a program that holds the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);
/// What a database keeps private: for whoever runs the server.
const PRIVATE: u32 = 0o600;
/// The bits of a mode that let others in.
const OTHERS: u32 = 0o077;

/// The newest migration that this program knows.
pub fn newest_migration() -> i64 {
    SQLITE_MIGRATIONS.iter().map(|migration| migration.version).max().unwrap_or_default()
}

/// Copies the database at `from`, which may be in use, to a new file: all that was written before, and
/// nothing that is half written.
pub async fn copy_sqlite(from: &Path, to: &Path) -> Result<(), StoreError> {
    let Some(target) = to.to_str() else {
        return Err(StoreError::Unusable("the name of the copy is not UTF-8".into()));
    };
    let mut wire = open(from).await?;
    sqlx::query("vacuum into $1").bind(target).execute(&mut wire).await?;
    wire.close().await?;
    Ok(())
}

/// Keeps a copy under a name that it gets when it is whole. One of that name is replaced.
pub(super) async fn keep_copy(from: &Path, to: &Path) -> Result<(), StoreError> {
    let unkept = |error| StoreError::Unavailable(sqlx::Error::Io(error));
    let new = beside(to, &format!(".{}.new", uuid::Uuid::now_v7().simple()));
    keep_private(&new).map_err(unkept)?;
    let copied = match copy_sqlite(from, &new).await {
        Ok(()) => File::open(&new)
            .and_then(|copy| copy.sync_all())
            .and_then(|()| fs::rename(&new, to))
            .map_err(unkept),
        Err(error) => Err(error),
    };
    if copied.is_err() {
        fs::remove_file(&new).map_err(unkept)?;
    }
    copied
}

/// Says which migration a database that nobody uses is at; one that is damaged is refused.
pub async fn examine_sqlite(file: &Path) -> Result<i64, StoreError> {
    let mut wire = open(file).await?;
    let found: Vec<String> =
        sqlx::query_scalar("pragma quick_check").fetch_all(&mut wire).await.map_err(damaged)?;
    if found != ["ok"] {
        return Err(StoreError::Unusable("it is damaged".into()));
    }
    let migration: Option<i64> = sqlx::query_scalar("select max(version) from _sqlx_migrations")
        .fetch_one(&mut wire)
        .await
        .map_err(|_| StoreError::Unusable("it is none of Greenroom's".into()))?;
    wire.close().await?;
    Ok(migration.unwrap_or_default())
}

/// What of a database opens something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Proofs {
    /// So many sessions, and links that waited, were ended.
    pub ended: u64,
    /// So many API tokens are left.
    pub tokens: i64,
}

/// Ends all sessions in a database that nobody uses, and takes away all links that wait to be used.
pub async fn end_sessions(file: &Path) -> Result<Proofs, StoreError> {
    const KEPT: &str = "select count(*) from sqlite_schema where name = 'account_session'";
    let mut wire = open(file).await?;
    let mut proofs = Proofs::default();
    // One may be from before there were accounts.
    if sqlx::query_scalar::<_, i64>(KEPT).fetch_one(&mut wire).await? > 0 {
        for sql in ["delete from account_session", "delete from account_link"] {
            proofs.ended += sqlx::query(sql).execute(&mut wire).await?.rows_affected();
        }
        let count = sqlx::query_scalar("select count(*) from api_token");
        proofs.tokens = count.fetch_one(&mut wire).await?;
    }
    wire.close().await?;
    Ok(proofs)
}

/// Brings what stands beside the file into it, so that it can be moved as one.
pub async fn settle_sqlite(file: &Path) -> Result<(), StoreError> {
    let mut wire = open(file).await?;
    sqlx::query("pragma journal_mode = delete").execute(&mut wire).await?;
    wire.close().await?;
    Ok(())
}

async fn open(file: &Path) -> Result<SqliteConnection, StoreError> {
    let options = SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(false)
        .busy_timeout(BUSY_TIMEOUT);
    Ok(SqliteConnection::connect_with(&options).await?)
}

fn damaged(error: sqlx::Error) -> StoreError {
    match StoreError::from(error) {
        StoreError::Failed(_) | StoreError::Unusable(_) => {
            StoreError::Unusable("it is damaged, or no database".into())
        }
        other => other,
    }
}

/// What SQLite keeps beside a database while it is in use.
pub fn beside_sqlite(file: &Path) -> [PathBuf; 2] {
    ["-wal", "-shm"].map(|ending| beside(file, ending))
}

/// The name of a file with this added to it.
pub(super) fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Makes the database's file if it is not there, and lets nobody else read it. What SQLite writes beside
/// it gets the same rights.
pub(super) fn keep_private(file: &Path) -> io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(file) {
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    for file in [file.to_owned()].into_iter().chain(beside_sqlite(file)) {
        let Ok(about) = fs::metadata(&file) else { continue };
        let mode = about.permissions().mode();
        if about.is_file() && mode & OTHERS != 0 {
            // One that belongs to somebody else stays as that one wants it.
            if let Err(error) = fs::set_permissions(&file, Permissions::from_mode(mode & !OTHERS)) {
                tracing::warn!(%error, "others can read the database, and that cannot be changed");
            }
        }
    }
    Ok(())
}
