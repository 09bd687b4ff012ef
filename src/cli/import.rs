//! `greenroom import`: a session from files, or a whole Space.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::de::DeserializeOwned;

use super::{
    chat::{
        Shown,
        follow::{notice, print_line},
        start_log,
    },
    exit::{Exit, Failure},
    export::{HISTORY, METADATA},
    place::Place,
    space_files,
};
use crate::{
    archive::{Author, SPACE_FILE, Settings},
    domain::terminal::SessionRecord,
    state::HOME_SPACE,
};

/// Bring in what `greenroom export` wrote.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The folder with the files.
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,

    /// The Space that a whole one is brought into; it is made if it is not there.
    #[arg(long, default_value = HOME_SPACE)]
    pub space: String,

    /// Of a whole Space, take the settings too: whoever wrote them says where conversations are sent.
    #[arg(long)]
    pub settings: bool,

    /// Of a whole Space, say that you wrote it: drafts that are written after it was read do not name it.
    #[arg(long)]
    pub own: bool,

    /// Where to bring it.
    #[command(flatten)]
    pub place: Place,
}

/// What lies in a folder.
enum Found {
    /// One session of the terminal.
    Session,
    /// A whole Space.
    Space,
}

/// Does what the options say.
pub async fn run(args: Args) -> Result<Exit, Failure> {
    start_log(&args.place, Shown::InFile);
    match found(&args.dir)? {
        Found::Session => session(&args).await,
        Found::Space => {
            let settings = if args.settings { Settings::Take } else { Settings::Keep };
            let author = if args.own { Author::Oneself } else { Author::Somebody };
            space_files::import(&args.place, &args.space, &args.dir, settings, author).await
        }
    }
}

fn found(dir: &Path) -> Result<Found, Failure> {
    if dir.join(HISTORY).is_file() && dir.join(METADATA).is_file() {
        return Ok(Found::Session);
    }
    if dir.join(SPACE_FILE).is_file() {
        return Ok(Found::Space);
    }
    let told =
        format!("{} has no {HISTORY} with a {METADATA}, and no {SPACE_FILE}.", dir.display());
    Err(Failure::new(Exit::NotFound, told))
}

async fn session(args: &Args) -> Result<Exit, Failure> {
    let record = SessionRecord {
        history: read(&args.dir.join(HISTORY))?,
        metadata: read(&args.dir.join(METADATA))?,
    };
    let wanted = record.metadata.session_id.clone();
    let session = args.place.stage().await?.import(record).await?;
    tracing::info!(session = %session.id, turns = session.turns, "imported");
    if session.id.as_str() != wanted {
        notice(&match uuid::Uuid::parse_str(&wanted) {
            Ok(_) => format!("There is a session {wanted} already, so this one is another."),
            Err(_) => format!("“{wanted}” is no identifier of a session, so it has another one."),
        });
    }
    print_line(session.id.as_str())
        .map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
    Ok(Exit::Done)
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T, Failure> {
    let told = |problem: String| Failure::usage(format!("{}: {problem}.", path.display()));
    let text = fs::read_to_string(path).map_err(|error| told(error.to_string()))?;
    let mut reader = serde_json::Deserializer::from_str(&text);
    serde_path_to_error::deserialize(&mut reader).map_err(|error| told(error.to_string()))
}
