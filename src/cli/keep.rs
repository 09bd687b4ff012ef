//! `greenroom backup` and `greenroom restore`.

use std::path::{Path, PathBuf};

use super::{
    chat::follow::print_line,
    exit::{Exit, Failure},
};
use crate::{
    archive::{ArchiveError, Existing, Pictures, back_up as make, restore as bring_back},
    config::{Database, PlaceArgs, database},
};

/// What whoever runs the server writes by hand in the data folder.
const OPERATORS: [&str; 2] = ["chat/tools.yaml", "chat/config.yaml"];

/// What is told of API tokens that came back.
const GOOD_AGAIN: &str = "good as of then: revoke on /account what should not be.";

/// Write the database and the pictures into one file, while a server goes on.
#[derive(Debug, clap::Args)]
pub struct BackupArgs {
    /// The file to write, which must not be there yet. A good name ends with .zip.
    file: PathBuf,
    #[command(flatten)]
    place: PlaceArgs,
}

/// Bring a backup back into a data folder.
#[derive(Debug, clap::Args)]
pub struct RestoreArgs {
    /// The backup.
    file: PathBuf,
    /// The folder to restore it into.
    #[arg(long, env = "GREENROOM_DATA", default_value = "./data")]
    data: PathBuf,
    /// Where the server finds its database. A backup is brought back into the data folder only.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true)]
    database_url: Option<String>,
    /// Set a database that is there aside, under another name in the same folder.
    #[arg(long)]
    replace: bool,
}

impl From<ArchiveError> for Failure {
    fn from(error: ArchiveError) -> Self {
        match error {
            ArchiveError::Told(error) => error.into(),
            other => Self::new(Exit::Failed, other.to_string()),
        }
    }
}

/// Says what was done.
pub fn told(done: &str) -> Result<Exit, Failure> {
    print_line(done).map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
    Ok(Exit::Done)
}

/// Backs everything up.
pub async fn back_up(args: BackupArgs) -> Result<Exit, Failure> {
    let pictures = args.place.pictures();
    let database = args.place.database();
    let database =
        database.map_err(|error| Failure::new(Exit::Configuration, error.to_string()))?;
    let database = match database {
        Database::Sqlite(file) => file,
        // Our own dump would be a second, lesser pg_dump.
        Database::Postgres(_) => {
            let pictures = pictures.map_or(String::new(), |folder| {
                format!(" Pictures are files in {}: copy that folder.", folder.display())
            });
            return Err(Failure::new(
                Exit::Failed,
                format!(
                    "The database is a PostgreSQL server, whose own tools make its backup: pg_dump \
                     --format=custom --file=greenroom.dump \"$DATABASE_URL\", and pg_restore brings \
                     it back.{pictures}"
                ),
            ));
        }
    };
    let bucket = pictures.is_none();
    let pictures = pictures.map_or(Pictures::Elsewhere, Pictures::Folder);
    let done = make(&database, &pictures, &args.file).await?;
    let pictures = match (bucket, done.pictures) {
        (true, _) => "The pictures are in the bucket and not in it.".to_owned(),
        (false, 1) => "One picture is in it.".to_owned(),
        (false, count) => format!("{count} pictures are in it."),
    };
    // They say which programs are run, and may have keys in them.
    let written = OPERATORS.map(|name| args.place.data.join(name));
    let beside: String = written
        .iter()
        .filter(|file| file.is_file())
        .map(|file| format!(" Nor is {}: keep a copy of it.", file.display()))
        .collect();
    told(&format!(
        "Backed up to {} ({} bytes). {pictures} The key that seals pasted keys is not in it: see \
         docs/operations.md.{beside}",
        args.file.display(),
        done.bytes
    ))
}

/// Brings a backup back.
pub async fn restore(args: RestoreArgs) -> Result<Exit, Failure> {
    is_of_folder(args.database_url.as_deref(), &args.data)?;
    let existing = if args.replace { Existing::SetAside } else { Existing::Refuse };
    let done = bring_back(&args.file, &args.data, existing).await?;
    let aside = done
        .set_aside
        .map_or(String::new(), |file| format!(" What was there before is {}.", file.display()));
    let ended = match done.proofs.ended {
        0 => "",
        _ => " Everybody is signed out, and links that nobody had used open nothing.",
    };
    let tokens = match done.proofs.tokens {
        0 => String::new(),
        1 => format!(" One API token is {GOOD_AGAIN}"),
        tokens => format!(" {tokens} API tokens are {GOOD_AGAIN}"),
    };
    told(&format!(
        "Restored the backup of {} with {} into {}.{aside}{ended}{tokens}",
        done.made_at.rfc3339(),
        match done.pictures {
            1 => "one picture".into(),
            pictures => format!("{pictures} pictures"),
        },
        args.data.display()
    ))
}

/// Refuses to restore into a folder whose database no server would use.
fn is_of_folder(database_url: Option<&str>, data: &Path) -> Result<(), Failure> {
    let named = |url| {
        let database = database(url, data);
        database.map_err(|error| Failure::new(Exit::Configuration, error.to_string()))
    };
    let absolute = |file: &Path| std::path::absolute(file).unwrap_or(file.to_owned());
    let told = match (named(database_url)?, named(None)?) {
        (Database::Sqlite(used), Database::Sqlite(own)) if absolute(&used) == absolute(&own) => {
            return Ok(());
        }
        (Database::Sqlite(used), _) => format!("the file {}", used.display()),
        (Database::Postgres(_), _) => "a PostgreSQL server".to_owned(),
    };
    Err(Failure::new(
        Exit::Configuration,
        format!(
            "DATABASE_URL names {told}, and a backup is brought back as greenroom.db in {}. Unset \
             DATABASE_URL to do so (DATABASE_URL= greenroom restore …).",
            data.display()
        ),
    ))
}
