//! What is kept beside the database: backups of everything, and a Space as a folder of readable files.
//!
//! The one rule of the room: nothing that was there before is written over or lost, whatever is read
//! and whenever the process ends.

mod backup;
mod document;
mod export;
mod import;
mod manifest;
mod names;
mod restore;
mod settings;
mod space_chat;
mod space_talk;

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, ErrorKind},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

pub use backup::{BackedUp, Pictures, back_up};
pub use export::{Exported, HEAD as SPACE_FILE, export_space};
pub use import::{Author, Imported, Settings, import_space};
pub use restore::{Existing, Restored, restore};

use crate::{
    domain::error::ApiError,
    store::{StoreError, server_beside},
};

/// Why something could not be kept or brought back.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// It cannot be done as asked, and this sentence says why.
    #[error("{0}")]
    Refused(String),
    /// A file could not be read or written.
    #[error("{0}: {1}")]
    File(PathBuf, #[source] io::Error),
    /// The database could not be used.
    #[error("The database cannot be used: {0}")]
    Store(#[from] StoreError),
    /// The gate or a rule said no.
    #[error("{0}")]
    Told(#[from] ApiError),
}

impl ArchiveError {
    fn refused(sentence: impl Into<String>) -> Self {
        Self::Refused(sentence.into())
    }
}

/// What went wrong with a file, by its name.
fn about(path: &Path) -> impl FnOnce(io::Error) -> ArchiveError {
    let path = path.to_owned();
    move |error| ArchiveError::File(path, error)
}

/// Makes a folder that nobody else can look into, with those above it. One that is there stays as it is.
pub fn private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Gives a file another name, which nothing may have yet: a link does not take the place of what somebody put
/// there meanwhile, as a renaming would. Where there are no links, the file is copied.
fn second_name(file: &Path, name: &Path) -> io::Result<()> {
    match fs::hard_link(file, name) {
        Err(error)
            if matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::PermissionDenied) =>
        {
            copy_new(file, name)
        }
        done => done,
    }
}

/// Copies a file to where nothing is yet. What could not be copied whole is not there.
fn copy_new(file: &Path, name: &Path) -> io::Result<()> {
    let mut from = File::open(file)?;
    let mut to = OpenOptions::new().write(true).create_new(true).mode(0o600).open(name)?;
    let copied = io::copy(&mut from, &mut to).and_then(|_| to.sync_all());
    if copied.is_err() {
        fs::remove_file(name)?;
    }
    copied
}

/// Refuses a database that a server uses.
pub fn is_free_of_servers(database: &Path) -> Result<(), ArchiveError> {
    match server_beside(database) {
        None => Ok(()),
        Some(address) => Err(ArchiveError::refused(format!(
            "The server at {address} uses {}. Stop it first.",
            database.display()
        ))),
    }
}

/// A name from a file, as it can be printed: what would move a terminal's cursor is shown, not obeyed.
fn printable(name: impl AsRef<Path>) -> String {
    name.as_ref().to_string_lossy().escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn where_there_are_no_links_a_copy_takes_nobodys_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("finished"), "all of it").unwrap();

        copy_new(&path("finished"), &path("name")).unwrap();

        assert_eq!(fs::read_to_string(path("name")).unwrap(), "all of it");
        assert_eq!(fs::metadata(path("name")).unwrap().permissions().mode() & 0o777, 0o600);
        for give in [copy_new, second_name] {
            let taken = give(&path("finished"), &path("name")).unwrap_err();
            assert_eq!(taken.kind(), ErrorKind::AlreadyExists);
        }
        copy_new(folder.path(), &path("other")).unwrap_err();
        assert!(!path("other").exists(), "half a copy is none");
    }
}
