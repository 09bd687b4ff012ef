//! What `greenroom export` and `greenroom import` do with a whole Space: a folder of readable files.

use std::{path::Path, sync::Arc};

use super::{
    exit::{Exit, Failure},
    keep::told,
    place::Place,
};
use crate::{
    agent::{Agent, Limits},
    archive::{Author, Settings, export_space, import_space, is_free_of_servers, private_folder},
    changes::Scope,
    config::{Database, database},
    providers::{Demo, Pace, Providers, TimeLimits},
    search::Search,
    state::LOCAL_OWNER,
    store::{Store, StoreError, copy_sqlite},
};

/// Writes a Space as files. What a server writes meanwhile to a file of SQLite's is in it whole or not at all; a
/// PostgreSQL is read one thing after the other.
pub async fn export(place: &Place, space: &str, dir: &Path) -> Result<Exit, Failure> {
    let database = here(place)?;
    let (store, copied) = match &database {
        Database::Sqlite(file) => {
            if !file.is_file() {
                let missing = format!("There is no database at {}.", file.display());
                return Err(Failure::new(Exit::NotFound, missing));
            }
            let folder = std::env::temp_dir()
                .join(format!("greenroom-export-{}", uuid::Uuid::now_v7().simple()));
            private_folder(&folder).map_err(failed)?;
            let copy = folder.join("greenroom.db");
            let store = match copy_sqlite(file, &copy).await {
                Ok(()) => Store::open_sqlite(&copy).await,
                Err(error) => Err(error),
            };
            (store, Some(folder))
        }
        Database::Postgres(url) => (open_as_it_is(url).await, None),
    };
    let done = match store {
        Ok(store) => {
            let agent = agent(&store)?;
            export_space(&store, &agent, &scope(space), dir).await.map_err(Failure::from)
        }
        Err(error) => Err(failed(error)),
    };
    if let Some(folder) = copied {
        std::fs::remove_dir_all(folder).map_err(failed)?;
    }
    let done = done?;
    told(&format!(
        "Exported {}, {} (pages, refs, tasks), {} and {} to {}.",
        counted(done.personas, "persona"),
        counted(done.entries, "piece of knowledge"),
        counted(done.chats, "chat"),
        counted(done.talks, "other conversation"),
        dir.display()
    ))
}

/// Reads files into a Space, which is made if it is not there.
pub async fn import(
    place: &Place,
    space: &str,
    dir: &Path,
    settings: Settings,
    author: Author,
) -> Result<Exit, Failure> {
    let scope = scope(space);
    if scope.space.as_str().is_empty() {
        let rule = "The name of a Space has letters, digits, dashes and underscores only.";
        return Err(Failure::usage(rule));
    }
    let database = here(place)?;
    if let Database::Sqlite(file) = &database {
        // A server that goes on would not know what was changed behind its back.
        is_free_of_servers(file)?;
        if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            private_folder(folder).map_err(failed)?;
        }
    }
    let store = open(&database).await.map_err(failed)?;
    let mut link = store.write(&scope.space).await.map_err(failed)?;
    // Without the samples: the folder says what is in it.
    link.create_space(space, &scope.user).await.map_err(failed)?;
    link.commit().await.map_err(failed)?;
    let agent = agent(&store)?;
    let done = import_space(&store, &agent, &scope, dir, settings, author).await?;
    let mut what = format!(
        "Imported {}: {} made, {} changed, {} as they were.",
        dir.display(),
        done.made,
        done.changed,
        done.same
    );
    for left in done.left {
        what.push_str(&format!("\nLeft out: {left}."));
    }
    told(&what)
}

/// The database of this place, which must not be a server elsewhere.
fn here(place: &Place) -> Result<Database, Failure> {
    place.must_be_here("A whole Space goes out and in where its data is: leave --server out.")?;
    database(place.database_url.as_deref(), &place.data)
        .map_err(|error| Failure::new(Exit::Configuration, error.to_string()))
}

/// `1 chat`, `2 chats`.
fn counted(count: usize, noun: &str) -> String {
    match (count, noun.split_once(" of ")) {
        (1, _) => format!("1 {noun}"),
        (_, Some((part, whole))) => format!("{count} {part}s of {whole}"),
        (_, None) => format!("{count} {noun}s"),
    }
}

fn failed(error: impl std::error::Error) -> Failure {
    Failure::new(Exit::Failed, error.to_string())
}

fn scope(space: &str) -> Scope {
    Scope { space: space.into(), user: LOCAL_OWNER.into() }
}

/// Opens what may be in use by a server of another version: nothing of it is changed.
async fn open_as_it_is(url: &str) -> Result<Store, StoreError> {
    let store = Store::open_postgres(url)?;
    store.require_current().await?;
    Ok(store)
}

async fn open(database: &Database) -> Result<Store, StoreError> {
    match database {
        Database::Sqlite(file) => Store::open_sqlite(file).await,
        Database::Postgres(url) => {
            let store = Store::open_postgres(url)?;
            store.migrate().await?;
            Ok(store)
        }
    }
}

/// Someone who knows chats and settings, and asks no service anything.
fn agent(store: &Store) -> Result<Agent, Failure> {
    let demo = Demo::new(Pace::AtOnce);
    let providers = Providers::new(TimeLimits::default(), demo, Arc::new(|_: &str| None));
    let providers = providers.map_err(failed)?;
    let search = Search::new(store.clone());
    Ok(Agent::new(store.clone(), providers, search, Limits::default(), "archive".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_is_named_as_one_or_as_several() {
        assert_eq!(counted(1, "other conversation"), "1 other conversation");
        assert_eq!(counted(0, "other conversation"), "0 other conversations");
        assert_eq!(counted(2, "piece of knowledge"), "2 pieces of knowledge");
        assert_eq!(counted(3, "chat"), "3 chats");
    }
}
