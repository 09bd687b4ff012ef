//! A backup: the whole database and the pictures in one file, made while everything goes on.

use std::{
    fs::{self, File, OpenOptions},
    io::{ErrorKind, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use super::{
    ArchiveError, about,
    manifest::{DATABASE, Listed, MANIFEST, Manifest, PICTURES, copy_hashed},
    second_name,
};
use crate::{
    domain::id::is_wellformed,
    store::{copy_sqlite, examine_sqlite, now},
};

/// Where pictures are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pictures {
    /// In this folder: they go along.
    Folder(PathBuf),
    /// Elsewhere: whoever keeps them there makes their backup.
    Elsewhere,
}

/// What was backed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackedUp {
    /// How many pictures.
    pub pictures: usize,
    /// How long the file is.
    pub bytes: u64,
}

/// Writes a backup of the database at `database` and its pictures to `file`, which must not be there yet.
/// The file is there whole or not at all.
pub async fn back_up(
    database: &Path,
    pictures: &Pictures,
    file: &Path,
) -> Result<BackedUp, ArchiveError> {
    if !database.is_file() {
        let missing = format!("There is no database at {}.", database.display());
        return Err(ArchiveError::refused(missing));
    }
    if file.symlink_metadata().is_ok() {
        let taken = format!("There is something at {} already.", file.display());
        return Err(ArchiveError::refused(taken));
    }
    let beside = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let beside = beside.unwrap_or(Path::new("."));
    // In the folder that the backup goes to: what is there has room for it, and can be renamed.
    let staging = Staging::new(beside)?;
    let copy = staging.0.join(DATABASE);
    copy_sqlite(database, &copy).await?;
    let migration = examine_sqlite(&copy).await?;
    let unfinished = staging.0.join("backup.zip");
    let count = write(&copy, migration, pictures, &unfinished)?;
    let bytes = fs::metadata(&unfinished).map_err(about(&unfinished))?.len();
    second_name(&unfinished, file).map_err(about(file))?;
    File::open(beside).and_then(|folder| folder.sync_all()).map_err(about(beside))?;
    Ok(BackedUp { pictures: count, bytes })
}

/// Writes the backup, and says how many pictures are in it.
fn write(
    copy: &Path,
    migration: i64,
    pictures: &Pictures,
    to: &Path,
) -> Result<usize, ArchiveError> {
    let out = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to);
    let mut archive = ZipWriter::new(out.map_err(about(to))?);
    let mut listed = Vec::new();
    add(&mut archive, copy, DATABASE, CompressionMethod::Deflated, &mut listed)?;
    if let Pictures::Folder(folder) = pictures {
        for (name, path) in picture_files(folder)? {
            // They are compressed already.
            match add(&mut archive, &path, &name, CompressionMethod::Stored, &mut listed) {
                // Removed for good since the database was copied.
                Err(ArchiveError::File(_, error)) if error.kind() == ErrorKind::NotFound => {}
                done => done?,
            }
        }
    }
    let pictures = listed.len() - 1;
    let manifest = serde_json::json!(Manifest::new(now(), migration, listed)).to_string();
    let unwritten = |error: zip::result::ZipError| about(to)(error.into());
    archive.start_file(MANIFEST, options(CompressionMethod::Deflated)).map_err(unwritten)?;
    archive.write_all(manifest.as_bytes()).map_err(about(to))?;
    let done = archive.finish().map_err(|error| about(to)(error.into()))?;
    done.sync_all().map_err(about(to))?;
    Ok(pictures)
}

fn options(method: CompressionMethod) -> SimpleFileOptions {
    SimpleFileOptions::default().compression_method(method).large_file(true)
}

fn add(
    archive: &mut ZipWriter<File>,
    path: &Path,
    name: &str,
    method: CompressionMethod,
    listed: &mut Vec<Listed>,
) -> Result<(), ArchiveError> {
    let mut file = File::open(path).map_err(about(path))?;
    archive.start_file(name, options(method)).map_err(|error| about(path)(error.into()))?;
    let (bytes, sha256) = copy_hashed(&mut file, archive, u64::MAX).map_err(about(path))?;
    listed.push(Listed { path: name.to_owned(), bytes, sha256 });
    Ok(())
}

/// The pictures in a folder of folders, by their names in a backup. What is no picture of ours, such as one
/// that is being written, is left.
fn picture_files(folder: &Path) -> Result<Vec<(String, PathBuf)>, ArchiveError> {
    let mut found = Vec::new();
    for (space, inner) in entries(folder)?.into_iter().filter(|(_, path)| path.is_dir()) {
        for (picture, path) in entries(&inner)?.into_iter().filter(|(_, path)| path.is_file()) {
            found.push((format!("{PICTURES}/{space}/{picture}"), path));
        }
    }
    Ok(found)
}

fn entries(folder: &Path) -> Result<Vec<(String, PathBuf)>, ArchiveError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(about(folder)(error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(about(folder))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if is_wellformed(&name) {
            found.push((name, entry.path()));
        }
    }
    found.sort();
    Ok(found)
}

/// A folder for what is not finished, gone when it is no longer needed.
pub(super) struct Staging(pub(super) PathBuf);

impl Staging {
    pub(super) fn new(beside: &Path) -> Result<Self, ArchiveError> {
        let folder = beside.join(format!(".greenroom-{}", uuid::Uuid::now_v7().simple()));
        super::private_folder(&folder).map_err(about(&folder))?;
        Ok(Self(folder))
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::warn!(%error, folder = %self.0.display(), "an unfinished folder is left");
        }
    }
}
