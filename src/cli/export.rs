//! `greenroom export`: a session as files, or a whole Space.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{
    chat::{Shown, find, follow::notice, start_log},
    exit::{Exit, Failure},
    place::Place,
    space_files,
};
use crate::{domain::id::ConversationId, state::HOME_SPACE};

/// What was said.
pub const HISTORY: &str = "history.json";
/// With what, and what it took.
pub const METADATA: &str = "metadata.json";

/// Write a session of the terminal to files, or without one a whole Space.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The session: its identifier, the beginning of it, or what it is called. Without it, all of the
    /// Space is written: see docs/operations.md.
    pub session: Option<String>,

    /// The folder to write to; it is made if it is not there.
    #[arg(long, value_name = "DIR")]
    pub dir: PathBuf,

    /// Write over files of another session.
    #[arg(long, requires = "session")]
    pub force: bool,

    /// The Space, when all of it is written.
    #[arg(long, default_value = HOME_SPACE, conflicts_with = "session")]
    pub space: String,

    /// Where the session is.
    #[command(flatten)]
    pub place: Place,
}

/// Does what the options say.
pub async fn run(args: Args) -> Result<Exit, Failure> {
    start_log(&args.place, Shown::InFile);
    let Some(named) = &args.session else {
        return space_files::export(&args.place, &args.space, &args.dir).await;
    };
    let stage = args.place.stage().await?;
    let session = find(&stage, named).await?;
    if !args.force {
        check_free(&args.dir, &session.id)?;
    }
    let record = stage.record(&session.id).await?;
    fs::create_dir_all(&args.dir).map_err(|error| unwritable(&args.dir, error))?;
    write(args.dir.join(HISTORY), &record.history)?;
    write(args.dir.join(METADATA), &record.metadata)?;
    let (entries, folder) = (record.history.len(), args.dir.display());
    tracing::info!(session = %session.id, entries, folder = %folder, "exported");
    notice(&format!("{entries} entries of session {} are in {folder}.", session.id));
    Ok(Exit::Done)
}

/// Refuses to write over what is not of this session.
fn check_free(dir: &Path, id: &ConversationId) -> Result<(), Failure> {
    #[derive(Deserialize)]
    struct Known {
        session_id: String,
    }
    let (history, metadata) = (dir.join(HISTORY), dir.join(METADATA));
    if !history.exists() && !metadata.exists() {
        return Ok(());
    }
    let known = fs::read_to_string(&metadata).ok();
    let known = known.and_then(|text| serde_json::from_str::<Known>(&text).ok());
    if known.as_ref().is_some_and(|known| known.session_id == id.as_str()) {
        return Ok(());
    }
    let whose = known.map_or_else(
        || format!("files called {HISTORY} or {METADATA} that are not of this session"),
        |known| format!("the files of session {}", known.session_id),
    );
    let told = format!("{} has {whose}. Name another folder, or give --force.", dir.display());
    Err(Failure::usage(told))
}

fn write(path: PathBuf, thing: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(thing)
        .map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
    fs::write(&path, text + "\n").map_err(|error| unwritable(&path, error))
}

fn unwritable(path: &Path, error: std::io::Error) -> Failure {
    Failure::new(Exit::Failed, format!("{} cannot be written: {error}.", path.display()))
}
