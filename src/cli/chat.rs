//! `greenroom chat`: talking from a terminal.
//!
//! The one rule of the room: standard output has nothing but what was asked for. Everything else that
//! people read goes to standard error.

mod current;
mod drafts;
mod flags;
pub mod follow;
mod lines;
mod listing;
mod log;
mod session;
pub mod settings_file;

use std::{
    io::{IsTerminal, Read},
    path::PathBuf,
};

pub use current::{Current, HANDED_OVER, KEPT, VARIABLES};
pub use flags::SettingFlags;
use follow::{Form, Interrupts, follow, notice, print_line};
pub use log::Shown;
use serde_json::json;
use session::{Origin, resolve};
pub use session::{current_session, find};

use super::{
    example::told_missing,
    exit::{Exit, Failure},
    place::{Place, quoted},
    stage::{Decision, Kept, Stage},
    tui,
};
use crate::domain::{
    error::ApiError,
    id::{ChangeId, ConversationId, MessageId},
    message::{MESSAGE, Message},
    proposal::Proposal,
    terminal::{TerminalChanges, TerminalSession, meant},
};

/// How many messages are shown when a session is taken up again.
const LAST_MESSAGES: u32 = 6;
/// The most messages from elsewhere that are shown before something is said.
const CAUGHT_UP: u32 = 20;

const EXAMPLES: &str = "\
Examples:
  greenroom chat --new-session --model gpt-5.1 --system-prompt-file guide.md
      Begin a session with a model and a prompt, and talk.
  greenroom chat --session 3f2a
      Go on with the session whose identifier begins with 3f2a.
  echo \"Sum this up: …\" | greenroom chat --single --new-session
      Ask one thing; only the answer goes to standard output.

Exit codes:
  0 done · 1 the answer or a service failed · 2 usage · 66 no such session or file
  75 the session is being answered already · 78 configuration · 130 stopped";

/// Talk with a model or a persona.
///
/// Without further options the current session is gone on with, or a new one begun, on a whole screen;
/// where there is no terminal, or with --plain or --verbose, each line is a message. With --single one
/// message is answered: the one that is given, or standard input.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// What to say, with --single; standard input without it.
    #[arg(value_name = "MESSAGE")]
    pub message: Option<String>,

    /// Answer one message and end.
    #[arg(long)]
    pub single: bool,

    /// Print events (or sessions) as lines of JSON.
    #[arg(long)]
    pub json: bool,

    /// Talk line by line, also where a whole screen could be used.
    #[arg(long)]
    pub plain: bool,

    /// Begin a new session.
    #[arg(long, help_heading = "Sessions", conflicts_with = "session")]
    pub new_session: bool,

    /// Go on with this session: its identifier, the beginning of it that no other one has, or what it is
    /// called.
    #[arg(long, help_heading = "Sessions", value_name = "SESSION")]
    pub session: Option<String>,

    /// List all sessions.
    #[arg(
        long,
        help_heading = "Sessions",
        conflicts_with_all = ["single", "new_session", "session", "description", "delete_session"]
    )]
    pub list_sessions: bool,

    /// Say what the session of --session is called, or the one of --new-session.
    #[arg(long, help_heading = "Sessions", value_name = "TEXT")]
    pub description: Option<String>,

    /// Move a session into the bin.
    #[arg(
        long,
        help_heading = "Sessions",
        value_name = "SESSION",
        conflicts_with_all = ["single", "new_session", "session", "description"]
    )]
    pub delete_session: Option<String>,

    /// Bring a session back out of the bin.
    #[arg(
        long,
        help_heading = "Sessions",
        value_name = "SESSION",
        conflicts_with_all = [
            "single", "new_session", "session", "description", "delete_session", "list_sessions"
        ]
    )]
    pub restore_session: Option<String>,

    /// What the session speaks with.
    #[command(flatten)]
    pub settings: SettingFlags,

    /// The configuration [default: chat/config.yaml in the data folder].
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Show the log, with what is sent and what it takes, on standard error.
    #[arg(long)]
    pub verbose: bool,

    /// Where to talk.
    #[command(flatten)]
    pub place: Place,
}

impl Args {
    /// The configuration file.
    pub fn settings_path(&self) -> PathBuf {
        let usual = || settings_file::default_path(&self.place.chat_folder());
        self.config.clone().unwrap_or_else(usual)
    }

    /// Where one talks: a screen needs a terminal on both sides, and nothing else that writes there.
    fn surface(&self) -> Surface {
        let lines = self.plain || self.json || self.verbose;
        let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        let terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        if lines || dumb || !terminal { Surface::Lines } else { Surface::Screen }
    }

    fn form(&self) -> Form {
        if self.json { Form::Json } else { Form::Words }
    }

    /// Refuses what makes no sense together.
    fn check(&self) -> Result<(), Failure> {
        if self.message.is_some() && !self.single {
            return Err(Failure::usage(
                "A message is given with --single. Without it, you are asked line by line.",
            ));
        }
        if self.description.is_some() && self.session.is_none() && !self.new_session {
            return Err(Failure::usage(
                "--description says what a session is called, so it needs --session=SESSION (or \
                 --new-session).",
            ));
        }
        Ok(())
    }
}

/// Where one talks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Surface {
    /// Line by line.
    Lines,
    /// On a whole screen.
    Screen,
}

/// Does what the options say.
pub async fn run(args: Args) -> Result<Exit, Failure> {
    args.check()?;
    let flags = args.settings.changes()?;
    start_log(&args.place, if args.verbose { Shown::ToPeople } else { Shown::InFile });
    if args.list_sessions {
        return list(&args).await;
    }
    if let Some(named) = &args.delete_session {
        return delete(&args, named).await;
    }
    if let Some(named) = &args.restore_session {
        return restore(&args, named).await;
    }
    if let (Some(description), Some(named), false) = (&args.description, &args.session, args.single)
        && flags.is_empty()
    {
        return describe(&args, named, description).await;
    }
    // What nobody can answer begins no session.
    let words = if args.single { Some(words(&args)?) } else { None };
    let stage = args.place.stage().await?;
    let current = Current::at(&args.place);
    let (session, origin) = resolve(&args, &stage, &current, flags).await?;
    current.write(&session.id);
    tracing::debug!(
        session = %session.id,
        model = session.settings.model,
        window_size = session.settings.window_size,
        should_truncate_results = session.settings.should_truncate_results,
        conversation_manager = session.settings.conversation_manager.word(),
        server = stage.address(),
        "the session speaks with this"
    );
    let (form, interrupts) = (args.form(), interrupts()?);
    let (missing, drafts, decided, known) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut bare = Vec::new();
    if origin == Origin::Bare {
        bare.push(session.id.clone());
    }
    let mut talk = Talk { stage, session, form, interrupts, missing, drafts, decided, known, bare };
    if args.json {
        let told = json!({"type": "session", "session": talk.session});
        print_line(&told.to_string()).map_err(unheard)?;
    }
    let tools = talk.stage.clone();
    let ended = match words {
        Some(words) => {
            let ended = match talk.interrupts.before(tell_problems(tools.clone())).await {
                Some(()) => talk.say(&words).await,
                None => Ok(unsent()),
            };
            notice(&format!("session {}", talk.session.id));
            ended.map(|ending| ending.exit())
        }
        None => {
            let ended = match args.surface() {
                Surface::Screen => on_screen(&mut talk, &current).await,
                Surface::Lines => {
                    // Nobody waits for tools before they type.
                    tokio::spawn(tell_problems(tools.clone()));
                    lines::converse(&mut talk).await
                }
            };
            match talk.discard(&current).await {
                Kept::Deleted => notice("Nothing was said, so no session is kept."),
                Kept::InUse => {
                    notice(&format!("Session {}", talk.session.id));
                    notice(&format!("Resume it with: {}", resume_command(&args, &talk.session.id)));
                }
            }
            ended
        }
    };
    tools.close_tools().await;
    ended
}

/// Logs what a command does to the file of its data folder.
pub fn start_log(place: &Place, shown: Shown) {
    let secrets: Vec<&str> = place.token.as_deref().into_iter().collect();
    log::start(&place.chat_folder().join("logs"), shown, &secrets);
}

/// Tells what is wrong with the operator's own tools.
async fn tell_problems(stage: Stage) {
    for problem in stage.tool_problems().await {
        notice(&format!("greenroom: {problem}"));
    }
}

/// Talks on a whole screen, and ends in the session that was last open there.
async fn on_screen(talk: &mut Talk, current: &Current) -> Result<Exit, Failure> {
    let (stage, session) = (talk.stage.clone(), talk.session.clone());
    let known = talk.interrupts.before(stage.talk(&session.id, tui::state::MESSAGES)).await;
    let Some(known) = known else { return Ok(Exit::Interrupted) };
    let left = tui::driver::run(stage, session, known?, |id| current.write(id)).await?;
    talk.session = left.session;
    talk.bare.extend(left.begun);
    // What was said may still be on its way.
    talk.bare.retain(|id| !left.spoken.contains(id));
    Ok(left.exit)
}

/// A session that is talked in.
pub struct Talk {
    /// What is talked to.
    pub stage: Stage,
    /// The session.
    pub session: TerminalSession,
    /// How answers are printed.
    pub form: Form,
    /// What stops them.
    pub interrupts: Interrupts,
    /// The tools that were last told to be missing.
    missing: Vec<String>,
    /// The drafts that were last shown, in the order of their numbers.
    drafts: Vec<Proposal>,
    /// What was decided on here, the last last.
    decided: Vec<(ChangeId, Decision)>,
    /// The last messages that were shown, or said here.
    known: Vec<MessageId>,
    /// The sessions that were begun here, and of which nothing was said then.
    bare: Vec<ConversationId>,
}

impl Talk {
    /// Removes the sessions that a person only began and left: nobody would find anything in them. A script may
    /// have begun one for another. Says whether the one that was talked in last is still there.
    async fn discard(&mut self, current: &Current) -> Kept {
        let mut last = Kept::InUse;
        if !std::io::stdin().is_terminal() {
            return last;
        }
        for id in std::mem::take(&mut self.bare) {
            let discarded = self.interrupts.before(self.stage.discard(&id)).await;
            let Some(discarded) = discarded else { return Kept::InUse };
            match discarded {
                Ok(true) => {
                    tracing::info!(session = %id, "nothing was said, so it is not kept");
                    current.forget(&id);
                    if id == self.session.id {
                        last = Kept::Deleted;
                    }
                }
                Ok(false) => {}
                Err(error) => tracing::debug!(%error, session = %id, "it stays though it is empty"),
            }
        }
        last
    }

    /// Says something, and prints the answer.
    pub async fn say(&mut self, words: &str) -> Result<follow::Ending, Failure> {
        let said = match self.interrupts.before(self.stage.say(&self.session.id, words)).await {
            Some(said) => said?,
            None => return self.unsay().await,
        };
        tracing::info!(session = %self.session.id, run = %said.run.id, model = said.run.model, "asked");
        if let Some(told) = said.left_out.told() {
            tracing::debug!("not sent: {told}");
        }
        if said.missing_tools != self.missing {
            let speaker = &self.session.settings.model;
            told_missing(speaker, &said.missing_tools).iter().for_each(|told| notice(told));
            self.missing = said.missing_tools;
        }
        self.known = vec![said.run.message_id, said.run.reply_id];
        follow(&self.stage, &said.run.id, 0, self.form, &mut self.interrupts).await
    }

    /// Shows what was said in the session from elsewhere, and the answer that is being given there. Says how
    /// that ended, if there was one.
    async fn catch_up(&mut self) -> Result<Option<follow::Ending>, Failure> {
        let said = self.interrupts.before(self.stage.talk(&self.session.id, CAUGHT_UP)).await;
        let Some(said) = said else { return Ok(Some(follow::Ending::Left)) };
        let said = said?;
        let is_known = |message: &Message| self.known.contains(&message.id);
        let from = said.messages.iter().rposition(is_known).map_or(0, |at| at + 1);
        listing::show_since(&said, from);
        let Some(run) = said.going_on().cloned() else {
            self.known = said.messages.last().map(|last| last.id.clone()).into_iter().collect();
            return Ok(None);
        };
        notice("Somebody else is being answered here:");
        self.known = vec![run.message_id, run.reply_id];
        let ending = follow(&self.stage, &run.id, 0, self.form, &mut self.interrupts).await?;
        Ok(Some(ending))
    }

    /// Somebody stopped it before an answer began. One that began in that very moment is stopped.
    async fn unsay(&mut self) -> Result<follow::Ending, Failure> {
        let known = self.interrupts.before(self.stage.talk(&self.session.id, 1)).await;
        let Some(known) = known else { return Ok(follow::Ending::Left) };
        let Some(run) = known?.going_on().map(|run| run.id.clone()) else { return Ok(unsent()) };
        match self.interrupts.before(self.stage.stop(&run)).await {
            Some(stopped) => drop(stopped?),
            None => return Ok(follow::Ending::Left),
        }
        follow(&self.stage, &run, 0, self.form, &mut self.interrupts).await
    }
}

/// Nothing was said, because somebody stopped it.
fn unsent() -> follow::Ending {
    notice("Stopped before anything was sent.");
    follow::Ending::Stopped
}

fn interrupts() -> Result<Interrupts, Failure> {
    Interrupts::listen().map_err(|error| Failure::new(Exit::Failed, error.to_string()))
}

/// Standard output is closed.
pub fn unheard(error: std::io::Error) -> Failure {
    Failure::new(Exit::Failed, format!("Nothing can be printed: {error}."))
}

/// The command with which one comes back.
fn resume_command(args: &Args, id: &ConversationId) -> String {
    let config = args.config.as_ref().map(|path| quoted(&path.display().to_string()));
    let config = config.map(|path| format!(" --config {path}")).unwrap_or_default();
    format!("greenroom chat --session {id}{}{config}", args.place.options())
}

/// What is said with `--single`.
fn words(args: &Args) -> Result<String, Failure> {
    let words = match args.message.as_deref() {
        Some(message) if message != "-" => message.to_owned(),
        _ => {
            let input = std::io::stdin();
            if input.is_terminal() {
                notice("Write what to say; Ctrl-D on a line of its own sends it.");
            }
            // One byte for each letter and more would be refused anyway.
            let most = 4 * MESSAGE.max_chars as u64;
            let unread = |why: &dyn std::fmt::Display| {
                Failure::usage(format!("Standard input cannot be read: {why}."))
            };
            let mut bytes = Vec::new();
            input.take(most + 1).read_to_end(&mut bytes).map_err(|error| unread(&error))?;
            if bytes.len() as u64 > most {
                // A letter may be cut where the reading ended.
                MESSAGE.check(&String::from_utf8_lossy(&bytes))?;
            }
            String::from_utf8(bytes).map_err(|error| unread(&error))?
        }
    };
    match words.trim() {
        "" => Err(Failure::usage(
            "There is nothing to say. Give a message after --single, or on standard input.",
        )),
        words => {
            // Before a session begins for it.
            MESSAGE.check(words)?;
            Ok(words.to_owned())
        }
    }
}

async fn list(args: &Args) -> Result<Exit, Failure> {
    let stage = args.place.stage().await?;
    let sessions = stage.sessions(Kept::InUse).await?;
    let current = Current::at(&args.place).among(&sessions);
    listing::print_sessions(&sessions, current.as_ref(), args.form()).map_err(unheard)?;
    Ok(Exit::Done)
}

async fn delete(args: &Args, named: &str) -> Result<Exit, Failure> {
    let stage = args.place.stage().await?;
    let session = find(&stage, named).await?;
    stage.delete(&session.id).await?;
    Current::at(&args.place).forget(&session.id);
    tracing::info!(session = %session.id, "deleted");
    let (title, id, options) = (session.title(), &session.id, args.place.options());
    notice(&format!(
        "{title} is in the bin. Back with: greenroom chat --restore-session {id}{options}"
    ));
    Ok(Exit::Done)
}

async fn restore(args: &Args, named: &str) -> Result<Exit, Failure> {
    let stage = args.place.stage().await?;
    let deleted = stage.sessions(Kept::Deleted).await?;
    let session = meant(&deleted, named).map_err(|error| match error {
        ApiError::NotFound { .. } => {
            Failure::new(Exit::NotFound, format!("There is no session “{named}” in the bin."))
        }
        error => error.into(),
    })?;
    let session = stage.restore(&session.id).await?;
    tracing::info!(session = %session.id, "restored");
    let resume = resume_command(args, &session.id);
    notice(&format!("{} is back. Go on with: {resume}", session.title()));
    Ok(Exit::Done)
}

async fn describe(args: &Args, named: &str, description: &str) -> Result<Exit, Failure> {
    let stage = args.place.stage().await?;
    let session = find(&stage, named).await?;
    let description = Some(description.to_owned());
    let changes = TerminalChanges { description, ..TerminalChanges::default() };
    let session = stage.change(&session.id, changes).await?;
    tracing::info!(session = %session.id, "described");
    notice(&format!("Session {} is called: {}", session.id, session.title()));
    Ok(Exit::Done)
}
