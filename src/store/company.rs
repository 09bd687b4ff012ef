//! Who else uses a database that is a file.
//!
//! Each process keeps a small file beside the database and holds a lock on it, which the system lets go of
//! however the process ends. So nobody is taken to be there who is not, and nobody's runs are taken to be
//! left who is.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use serde::{Deserialize, Serialize};

use super::Store;

/// A process on the same file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Neighbour {
    /// What its runs call it.
    pub node: String,
    /// Where it serves; `None` when it does not.
    pub address: Option<String>,
}

/// The processes on one file.
#[derive(Clone, Debug, Default)]
pub(super) struct Company {
    folder: Option<PathBuf>,
    /// What shows that this process is there, once it says so.
    own: Arc<Mutex<Option<Own>>>,
}

#[derive(Debug)]
struct Own {
    path: PathBuf,
    neighbour: Neighbour,
    /// Held, and locked, for as long as this process is there.
    _held: File,
}

impl Drop for Own {
    fn drop(&mut self) {
        // Whoever finds it unlocked removes it, too.
        fs::remove_file(&self.path).unwrap_or_default();
    }
}

impl Company {
    pub(super) fn around(database: &Path) -> Self {
        Self { folder: Some(folder(database)), own: Arc::default() }
    }
}

/// Where the processes on a file say that they are there.
fn folder(database: &Path) -> PathBuf {
    let mut name = database.file_name().unwrap_or_default().to_owned();
    name.push("-processes");
    database.with_file_name(name)
}

/// The processes that say they are there, and are. What others left is removed.
fn present(folder: &Path) -> Vec<Neighbour> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut there = Vec::new();
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        // One that is about to say so has not got its name yet.
        if path.extension().is_some_and(|ending| ending == "new") {
            continue;
        }
        let Ok(file) = File::open(&path) else { continue };
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => {
                let told = fs::read_to_string(&path).unwrap_or_default();
                there.extend(serde_json::from_str::<Neighbour>(&told).ok());
            }
            Ok(()) => fs::remove_file(&path).unwrap_or_default(),
            Err(TryLockError::Error(error)) => {
                tracing::debug!(%error, "whether a process is there cannot be told");
            }
        }
    }
    there
}

/// Where a server is that uses this database, if there is one.
pub fn server_beside(database: &Path) -> Option<String> {
    present(&folder(database)).into_iter().find_map(|one| one.address)
}

/// All processes that use this database.
pub fn processes_on(database: &Path) -> Vec<Neighbour> {
    present(&folder(database))
}

impl Store {
    /// Says that this process is there, for as long as the store is. Nothing is said of a database that is a
    /// server: it knows who is there.
    pub fn enter(&self, node: &str, address: Option<String>) -> io::Result<()> {
        let Some(folder) = &self.company.folder else { return Ok(()) };
        fs::create_dir_all(folder)?;
        let neighbour = Neighbour { node: node.to_owned(), address };
        let name = uuid::Uuid::now_v7().simple().to_string();
        let (path, new) = (folder.join(&name), folder.join(format!("{name}.new")));
        let mut held = File::options().write(true).create_new(true).open(&new)?;
        held.lock()?;
        held.write_all(serde_json::json!(neighbour).to_string().as_bytes())?;
        // With its lock it gets its name, so that nobody finds it without.
        fs::rename(&new, &path)?;
        let own = Own { path, neighbour, _held: held };
        *self.company.own.lock().unwrap_or_else(PoisonError::into_inner) = Some(own);
        Ok(())
    }

    /// The other processes that use the same file.
    pub fn company(&self) -> Vec<Neighbour> {
        let Some(folder) = &self.company.folder else { return Vec::new() };
        let own = self.company.own.lock().unwrap_or_else(PoisonError::into_inner);
        let own = own.as_ref().map(|own| own.neighbour.clone());
        present(folder).into_iter().filter(|one| Some(one) != own.as_ref()).collect()
    }

    /// Whether this process is a guest in the file: the journal is the server's.
    pub fn is_guest(&self) -> bool {
        let own = self.company.own.lock().unwrap_or_else(PoisonError::into_inner);
        own.as_ref().is_some_and(|own| own.neighbour.address.is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_process_is_there_until_its_store_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("greenroom.db");
        let one = Store::open_sqlite(&file).await.unwrap();
        let other = Store::open_sqlite(&file).await.unwrap();
        assert_eq!(server_beside(&file), None);

        one.enter("one", Some("http://127.0.0.1:1".into())).unwrap();
        other.enter("other", None).unwrap();

        let guest = Neighbour { node: "other".into(), address: None };
        assert_eq!(one.company(), [guest]);
        assert_eq!(server_beside(&file).as_deref(), Some("http://127.0.0.1:1"));
        assert!(other.is_guest() && !one.is_guest());
        drop(one);
        assert_eq!(other.company(), []);
        assert_eq!(server_beside(&file), None);
    }

    #[tokio::test]
    async fn what_a_dead_process_left_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("greenroom.db");
        let left = super::folder(&file);
        fs::create_dir_all(&left).unwrap();
        fs::write(left.join("dead"), r#"{"node": "dead", "address": "http://nowhere"}"#).unwrap();

        assert_eq!(server_beside(&file), None);
        assert!(!left.join("dead").exists());
    }
}
