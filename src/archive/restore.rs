//! Bringing a backup back: everything is checked before anything is touched.

use std::{
    fs::{self, File, OpenOptions},
    io::{BufReader, ErrorKind, Read},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use zip::{ZipArchive, result::ZipError};

use super::{
    ArchiveError, about,
    backup::Staging,
    is_free_of_servers,
    manifest::{DATABASE, Listed, MANIFEST, Manifest, copy_hashed},
    private_folder, second_name,
};
use crate::{
    domain::timestamp::Timestamp,
    store::{
        Proofs, beside_sqlite, end_sessions, examine_sqlite, newest_migration, now, processes_on,
        settle_sqlite,
    },
};

/// The longest manifest that is read.
const MAX_MANIFEST_BYTES: u64 = 256 * 1024 * 1024;

/// What happens to a database that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and nothing is restored.
    Refuse,
    /// It is set aside under another name.
    SetAside,
}

/// What was restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// When the backup was made.
    pub made_at: Timestamp,
    /// How many pictures came with it.
    pub pictures: usize,
    /// Where the database is now that was there before.
    pub set_aside: Option<PathBuf>,
    /// What of it would open something.
    pub proofs: Proofs,
}

/// Brings a backup back into a data folder. Until the very last step, which is one renaming, what was
/// there before is what a server finds.
pub async fn restore(
    backup: &Path,
    data: &Path,
    existing: Existing,
) -> Result<Restored, ArchiveError> {
    let mut archive = open(backup)?;
    let manifest = manifest(&mut archive, backup)?;
    manifest.check(newest_migration())?;
    private_folder(data).map_err(about(data))?;
    let database = data.join(DATABASE);
    is_free(&database)?;
    let is_there = database.symlink_metadata().is_ok();
    if is_there && existing == Existing::Refuse {
        return Err(ArchiveError::refused(format!(
            "There is a database at {} already. With --replace it is set aside, and the backup takes \
             its place.",
            database.display()
        )));
    }
    let staging = Staging::new(data)?;
    for listed in &manifest.files {
        unpack(&mut archive, listed, &staging.0)?;
    }
    let fresh = staging.0.join(DATABASE);
    if examine_sqlite(&fresh).await? != manifest.migration {
        return Err(ArchiveError::refused("The backup's database is not the one it says it has."));
    }
    // What was ended since must not come back to life.
    let proofs = end_sessions(&fresh).await?;
    // Examining it may have left something beside it.
    settle_sqlite(&fresh).await?;
    let pictures = place_pictures(&manifest, &staging.0, data)?;
    let set_aside = set_aside(&database).await?;
    fs::rename(&fresh, &database).map_err(about(&database))?;
    File::open(data).and_then(|folder| folder.sync_all()).map_err(about(data))?;
    Ok(Restored { made_at: manifest.made_at, pictures, set_aside, proofs })
}

/// Refuses a database that anybody uses: a server, or somebody in a terminal.
fn is_free(database: &Path) -> Result<(), ArchiveError> {
    is_free_of_servers(database)?;
    match processes_on(database).first() {
        None => Ok(()),
        Some(other) => Err(ArchiveError::refused(format!(
            "Another Greenroom ({}) uses {}. End it first.",
            other.node.escape_debug(),
            database.display()
        ))),
    }
}

type Archive = ZipArchive<BufReader<File>>;

fn open(backup: &Path) -> Result<Archive, ArchiveError> {
    let file = File::open(backup).map_err(about(backup))?;
    ZipArchive::new(BufReader::new(file)).map_err(|error| unreadable(backup, error))
}

fn unreadable(backup: &Path, error: ZipError) -> ArchiveError {
    match error {
        ZipError::Io(error) => about(backup)(error),
        other => ArchiveError::refused(format!(
            "{} is no backup, or is damaged ({other}).",
            backup.display()
        )),
    }
}

fn manifest(archive: &mut Archive, backup: &Path) -> Result<Manifest, ArchiveError> {
    let file = archive.by_name(MANIFEST).map_err(|error| unreadable(backup, error))?;
    let mut text = String::new();
    file.take(MAX_MANIFEST_BYTES).read_to_string(&mut text).map_err(about(backup))?;
    serde_json::from_str(&text)
        .map_err(|_| ArchiveError::refused("The file is no backup of Greenroom."))
}

/// Writes one file of the backup into the folder, and refuses one that is not what the manifest says.
fn unpack(archive: &mut Archive, listed: &Listed, folder: &Path) -> Result<(), ArchiveError> {
    let damaged = || {
        ArchiveError::refused(format!(
            "The backup is damaged: “{}” is not what was put into it. Nothing was restored.",
            listed.path
        ))
    };
    let mut packed = archive.by_name(&listed.path).map_err(|_| damaged())?;
    let path = folder.join(&listed.path);
    if let Some(parent) = path.parent() {
        private_folder(parent).map_err(about(parent))?;
    }
    let out = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    let mut out = out.map_err(about(&path))?;
    let (bytes, sha256) = match copy_hashed(&mut packed, &mut out, listed.bytes) {
        Ok(copied) => copied,
        // What cannot be written is told as such; all else is the backup's fault.
        Err(error) if matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) => {
            return Err(about(&path)(error));
        }
        Err(_) => return Err(damaged()),
    };
    out.sync_all().map_err(about(&path))?;
    if bytes != listed.bytes || sha256 != listed.sha256 {
        return Err(damaged());
    }
    Ok(())
}

/// Moves the pictures to their place. Their names are made once and never again, so one that is there is
/// the same.
fn place_pictures(manifest: &Manifest, from: &Path, data: &Path) -> Result<usize, ArchiveError> {
    let mut placed = 0;
    for listed in manifest.files.iter().filter(|listed| listed.path != DATABASE) {
        let to = data.join(&listed.path);
        if let Some(parent) = to.parent() {
            private_folder(parent).map_err(about(parent))?;
        }
        if to.symlink_metadata().is_err() {
            fs::rename(from.join(&listed.path), &to).map_err(about(&to))?;
        }
        placed += 1;
    }
    Ok(placed)
}

/// Gives what is there another name beside its own, and says which the database has then. What SQLite left
/// beside a database that is gone must not be taken for the new one's.
async fn set_aside(database: &Path) -> Result<Option<PathBuf>, ArchiveError> {
    let moment = now().rfc3339().replace([':', '.'], "-");
    let mut name = database.as_os_str().to_owned();
    name.push(format!(".before-restore-{moment}"));
    let aside = PathBuf::from(name);
    let is_there = database.symlink_metadata().is_ok();
    if is_there {
        // One that is damaged cannot be settled: what stands beside it goes along as it is.
        if let Err(error) = settle_sqlite(database).await {
            tracing::warn!(%error, "the database that was there is set aside as it is");
        }
        // Until the new one takes its name, it keeps its own, too.
        second_name(database, &aside).map_err(about(&aside))?;
    }
    for (left, name) in beside_sqlite(database).iter().zip(beside_sqlite(&aside)) {
        match fs::rename(left, &name) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(about(left)(error)),
            _ => {}
        }
    }
    Ok(is_there.then_some(aside))
}
