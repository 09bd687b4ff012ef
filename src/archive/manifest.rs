//! What a backup says of itself: which program made it, and every file in it with its hash.

use std::io::{self, Read, Write};

use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};

use super::ArchiveError;
use crate::domain::{id::is_wellformed, timestamp::Timestamp};

/// Its name within the backup.
pub const MANIFEST: &str = "manifest.json";
/// The name of the database within the backup.
pub const DATABASE: &str = "greenroom.db";
/// The folder of the pictures within the backup.
pub const PICTURES: &str = "pictures";

const FORMAT: &str = "greenroom-backup";
const VERSION: u32 = 1;
/// The most files of a backup.
const MAX_FILES: usize = 1_000_000;
const BUFFER: usize = 64 * 1024;

/// What a backup says of itself.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    format: String,
    version: u32,
    /// The version of the program that made it.
    pub greenroom: String,
    /// When.
    pub made_at: Timestamp,
    /// The newest migration of the database in it.
    pub migration: i64,
    /// What is in it.
    pub files: Vec<Listed>,
}

/// A file of a backup.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    /// Its name within the backup.
    pub path: String,
    /// How long it is.
    pub bytes: u64,
    /// Its hash.
    pub sha256: String,
}

impl Manifest {
    /// What a backup of these files says.
    pub fn new(made_at: Timestamp, migration: i64, files: Vec<Listed>) -> Self {
        let greenroom = env!("CARGO_PKG_VERSION").into();
        Self { format: FORMAT.into(), version: VERSION, greenroom, made_at, migration, files }
    }

    /// Refuses what is no backup, one of a later program, and names that no backup has.
    pub fn check(&self, newest: i64) -> Result<(), ArchiveError> {
        let refuse = |sentence: &str| Err(ArchiveError::refused(sentence));
        if self.format != FORMAT {
            return refuse("The file is no backup of Greenroom.");
        }
        if self.version > VERSION || self.migration > newest {
            let made = &self.greenroom;
            return refuse(&format!(
                "The backup was made by a newer Greenroom ({}). Use that one to restore it.",
                made.escape_debug()
            ));
        }
        if self.files.len() > MAX_FILES {
            return refuse("The backup has too many files.");
        }
        if !self.files.iter().any(|file| file.path == DATABASE) {
            return refuse("The backup has no database in it.");
        }
        match self.files.iter().find(|file| !is_ours(&file.path)) {
            None => Ok(()),
            Some(odd) => refuse(&format!(
                "The backup has a file that no backup has: “{}”.",
                odd.path.escape_debug()
            )),
        }
    }
}

/// Whether a backup of ours can have a file of this name: the database, or a picture in its Space.
fn is_ours(path: &str) -> bool {
    let steps: Vec<&str> = path.split('/').collect();
    match steps.as_slice() {
        [file] => *file == DATABASE,
        [folder, space, picture] => {
            *folder == PICTURES && is_wellformed(space) && is_wellformed(picture)
        }
        _ => false,
    }
}

/// Copies all of `from` to `to`, and says how much it was and what its hash is. More than `most` bytes are
/// not copied.
pub fn copy_hashed(
    from: &mut impl Read,
    to: &mut impl Write,
    most: u64,
) -> io::Result<(u64, String)> {
    let mut hash = Context::new(&SHA256);
    let mut buffer = vec![0; BUFFER];
    let mut bytes = 0u64;
    let mut from = from.take(most.saturating_add(1));
    loop {
        let read = from.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        bytes += read as u64;
        if bytes > most {
            return Err(io::Error::other("it is longer than it should be"));
        }
        hash.update(&buffer[..read]);
        to.write_all(&buffer[..read])?;
    }
    Ok((bytes, hex(hash.finish().as_ref())))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backup_holds_the_database_and_pictures_and_nothing_by_another_name() {
        for good in ["greenroom.db", "pictures/home/0198-a_B"] {
            assert!(is_ours(good), "{good}");
        }
        let bad = [
            "",
            "/greenroom.db",
            "../greenroom.db",
            "pictures/../greenroom.db",
            "pictures/home/../../x",
            "pictures//x",
            "pictures/home/a.png",
            "pictures\\home\\x",
            "greenroom.db-wal",
            "seal.key",
        ];
        for bad in bad {
            assert!(!is_ours(bad), "{bad}");
        }
    }

    #[test]
    fn what_is_copied_is_hashed_and_never_more_than_said() {
        let mut out = Vec::new();

        let (bytes, hash) = copy_hashed(&mut &b"abc"[..], &mut out, 3).unwrap();

        assert_eq!((bytes, out.as_slice()), (3, &b"abc"[..]));
        assert_eq!(hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert!(copy_hashed(&mut io::repeat(0), &mut io::sink(), 1000).is_err());
    }
}
