//! `greenroom import`: a session from files, or a whole Space.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

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
    domain::{
        terminal::{HistoryEntry, Metadata, SessionRecord},
        timestamp::Timestamp,
    },
    state::HOME_SPACE,
    store::now,
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

/// The list of sessions that others keep beside the folders of each.
const INDEX: &str = "index.json";

async fn session(args: &Args) -> Result<Exit, Failure> {
    let history: Vec<HistoryEntry> = read(&args.dir.join(HISTORY))?;
    let metadata = metadata(&args.dir, &history)?;
    let record = SessionRecord { history, metadata };
    let wanted = record.metadata.session_id.clone();
    let session = args.place.stage().await?.import(record).await?;
    tracing::info!(session = %session.id, turns = session.turns, "imported");
    let is_it = |id: uuid::Uuid| uuid::Uuid::parse_str(session.id.as_str()) == Ok(id);
    match uuid::Uuid::parse_str(&wanted) {
        Ok(id) if is_it(id) => {}
        Ok(_) => notice(&format!("There is a session {wanted} already, so this one is another.")),
        Err(_) => {
            notice(&format!("“{wanted}” is no identifier of a session, so it has another one."))
        }
    }
    print_line(session.id.as_str())
        .map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
    Ok(Exit::Done)
}

/// With what a session speaks. Files of others say by their folder which session they are, and in the list
/// beside it when that was begun and what it is called.
fn metadata(dir: &Path, history: &[HistoryEntry]) -> Result<Metadata, Failure> {
    let path = dir.join(METADATA);
    let mut metadata: Value = read(&path)?;
    if let Value::Object(facts) = &mut metadata {
        let folder = fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned());
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
        let named = name.and_then(|name| uuid::Uuid::parse_str(&name).ok());
        let id = named.unwrap_or_else(uuid::Uuid::new_v4).to_string();
        let id = facts.entry("session_id").or_insert_with(|| json!(id)).clone();
        let listed = folder.parent().and_then(|beside| listed(&beside.join(INDEX), &id));
        let listed = |key: &str| listed.as_ref().and_then(|one| one.get(key)).cloned();
        if let Some(description) = listed("description").filter(Value::is_string) {
            facts.entry("description").or_insert(description);
        }
        let is_time = |at: &Value| at.as_str().is_some_and(|at| Timestamp::parse(at).is_some());
        let first = || json!(history.first().map_or_else(now, |first| first.timestamp));
        let begun = listed("created_at").filter(is_time);
        facts.entry("created_at").or_insert_with(|| begun.unwrap_or_else(first));
    }
    serde_path_to_error::deserialize(metadata)
        .map_err(|error| Failure::usage(format!("{}: {error}.", path.display())))
}

/// What a list says of a session: it is one of entries, or has them by their identifiers.
fn listed(index: &Path, id: &Value) -> Option<Value> {
    let index: Value = serde_json::from_str(&fs::read_to_string(index).ok()?).ok()?;
    let all = index.get("sessions").unwrap_or(&index);
    match all {
        Value::Array(all) => all.iter().find(|one| one.get("id") == Some(id)).cloned(),
        Value::Object(all) => all.get(id.as_str()?).cloned(),
        _ => None,
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T, Failure> {
    let told = |problem: String| Failure::usage(format!("{}: {problem}.", path.display()));
    let text = fs::read_to_string(path).map_err(|error| told(error.to_string()))?;
    let mut reader = serde_json::Deserializer::from_str(&text);
    serde_path_to_error::deserialize(&mut reader).map_err(|error| told(error.to_string()))
}
