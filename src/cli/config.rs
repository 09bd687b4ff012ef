//! `greenroom config`: making, checking and explaining the terminal's configuration.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    chat::{
        Current, SettingFlags, current_session, find,
        follow::{notice, print_line},
        settings_file::{self, SettingsFile},
    },
    example::{self, EXAMPLES, Put},
    exit::{Exit, Failure},
    place::Place,
};
use crate::{
    config::DemoPace,
    domain::terminal::{PERSONA, Speaker, TerminalChanges, TerminalSession, TerminalSettings},
    server,
};

/// How much of a prompt is shown.
const SHOWN_CHARS: usize = 60;

/// Make, check and explain the terminal's configuration.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum Command {
    /// Write a configuration to begin with.
    Init {
        /// The model of new sessions [default: the one that the keys in the environment allow].
        #[arg(long)]
        model: Option<String>,
        /// Write over one that is there.
        #[arg(long)]
        force: bool,
        /// Write the files of an example beside it, tools and prompts and all: retirement.
        #[arg(long, value_name = "NAME", conflicts_with_all = ["force", "config"])]
        example: Option<String>,
        #[command(flatten)]
        file: Where,
    },
    /// Say whether the configuration is good.
    Check {
        #[command(flatten)]
        file: Where,
    },
    /// Say for each value where it comes from, as `greenroom chat` would with the same options.
    Explain {
        /// The session; the current one without it.
        #[arg(long)]
        session: Option<String>,
        #[command(flatten)]
        settings: SettingFlags,
        #[command(flatten)]
        file: Where,
    },
}

/// Where the configuration is.
#[derive(Clone, Debug, clap::Args)]
struct Where {
    /// The configuration [default: chat/config.yaml in the data folder].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    place: Place,
}

impl Where {
    fn path(&self) -> PathBuf {
        let usual = || settings_file::default_path(&self.place.chat_folder());
        self.config.clone().unwrap_or_else(usual)
    }

    /// The same where no server counts.
    fn here(&self) -> Result<PathBuf, Failure> {
        self.place.must_be_here("The configuration is a file here: leave --server out.")?;
        Ok(self.path())
    }
}

/// Does what the options say.
pub async fn run(args: Args) -> Result<Exit, Failure> {
    match args.command {
        Command::Init { model, example: Some(name), file, .. } => {
            init_example(&name, &file.here()?, model)
        }
        Command::Init { model, force, example: None, file } => init(&file.here()?, model, force),
        Command::Check { file } => check(&file.here()?, &file.place).await,
        Command::Explain { session, settings, file } => explain(session, settings, file).await,
    }
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::new(Exit::Failed, error.to_string())
}

/// The one name of a model, among those that come with the program: the default for an empty string. One that
/// may be a slip of the pen is refused.
fn find_model(model: &str) -> Result<String, Failure> {
    // No key is opened for that.
    let seal = Path::new("");
    let providers = server::providers(DemoPace::Natural, None, seal).map_err(failed)?;
    let catalog = providers.catalog(Vec::new(), Vec::new(), None);
    match catalog.choose(model) {
        Ok(route) => Ok(route.model.id),
        Err(error) => Err(Failure::usage(error.to_string())),
    }
}

/// The model of new sessions: the one that was said, or the default.
fn chosen(model: Option<String>) -> Result<String, Failure> {
    match model {
        Some(persona) if persona.starts_with(PERSONA) => {
            Speaker::parse(&persona)?;
            Ok(persona)
        }
        model => find_model(&model.unwrap_or_default()),
    }
}

/// Writes the files of an example into the folder of the configuration.
fn init_example(name: &str, path: &Path, model: Option<String>) -> Result<Exit, Failure> {
    let Some(example) = example::find(name) else {
        let all: Vec<&str> = EXAMPLES.iter().map(|example| example.name).collect();
        let told = format!("There is no example “{name}”. There are: {}.", all.join(", "));
        return Err(Failure::usage(told));
    };
    let folder = path.parent().unwrap_or(Path::new("."));
    let model = chosen(model)?;
    let written = example.write(folder, &model).map_err(|error| {
        failed(format!("The example cannot be written to {}: {error}.", folder.display()))
    })?;
    for put in written {
        match put {
            Put::Written(file) => notice(&format!("{} is written.", file.display())),
            Put::Kept(file) => notice(&format!("{} is there already, and stays.", file.display())),
        }
    }
    Ok(Exit::Done)
}

fn init(path: &Path, model: Option<String>, force: bool) -> Result<Exit, Failure> {
    if path.exists() && !force {
        let told = format!("{} is there already. Write over it with --force.", path.display());
        return Err(Failure::usage(told));
    }
    let model = chosen(model)?;
    let text = format!(
        "# What new sessions of `greenroom chat` speak with. docs/terminal.md says more.\n\
         \n\
         # The model: gpt-5.1, gemini-2.5-pro, claude-…, demo, ollama/NAME, or persona:ID[@LABEL].\n\
         model: {model}\n\
         # How many exchanges the model is sent.\n\
         window_size: 20\n\
         # Whether long results of tools are cut in earlier exchanges.\n\
         should_truncate_results: true\n\
         \n\
         # Who decides what is sent: sliding_window or summarizing.\n\
         # conversation_manager: sliding_window\n\
         # What the model is told before all else: one of these two.\n\
         # system_prompt: Be brief.\n\
         # system_prompt_file: prompt.md\n"
    );
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    fs::write(path, text)
        .map_err(|error| failed(format!("{} cannot be written: {error}.", path.display())))?;
    notice(&format!("{} is written, with the model {model}.", path.display()));
    Ok(Exit::Done)
}

async fn check(path: &Path, place: &Place) -> Result<Exit, Failure> {
    let file = settings_file::read(path)?;
    warn(&file);
    let model = &file.settings.model;
    let known = match place.look_if_there().await? {
        Some(here) => here.agent().check_speaker(here.scope(), model).await.map_err(Failure::from),
        // Where nobody talked yet with this program, there are the models that come with the program.
        None => match Speaker::parse(model)? {
            Speaker::Model(model) => find_model(&model).map(drop),
            Speaker::Persona(..) => Ok(()),
        },
    };
    let line = file.place_of("model").unwrap_or_else(|| path.display().to_string());
    known.map_err(|refused| Failure::new(Exit::Configuration, format!("{line}: {refused}")))?;
    let told = format!("{} is good.", path.display());
    print_line(&told).map_err(failed)?;
    Ok(Exit::Done)
}

fn warn(file: &SettingsFile) {
    for warning in &file.warnings {
        notice(&format!("greenroom: {warning}"));
    }
}

/// A setting with what it is and where it comes from.
struct Explained {
    key: &'static str,
    value: String,
    from: String,
}

async fn explain(
    session: Option<String>,
    settings: SettingFlags,
    file: Where,
) -> Result<Exit, Failure> {
    let flags = settings.changes()?;
    let session = meant(session, &file.place).await?;
    let known = match (&session, settings_file::read(&file.path())) {
        (_, Ok(known)) => Some(known),
        // A session has all that it needs. Whoever names a file wants to know of it.
        (Some(_), Err(_)) if file.config.is_none() => None,
        (_, Err(failure)) => return Err(failure),
    };
    known.iter().for_each(warn);
    for one in explained(session.as_ref(), known.as_ref(), &flags) {
        let line = format!("{:24} {:28} {}", one.key, one.value, one.from);
        print_line(line.trim_end()).map_err(failed)?;
    }
    Ok(Exit::Done)
}

async fn meant(session: Option<String>, place: &Place) -> Result<Option<TerminalSession>, Failure> {
    let current = Current::at(place);
    match session {
        Some(named) => Ok(Some(find(&place.stage().await?, &named).await?)),
        // Where nobody talked yet, no data folder is made to see that.
        None if !current.is_known() => Ok(None),
        None => current_session(&place.stage().await?, &current).await,
    }
}

/// Each setting, and who says so: a flag, the session, or the file.
fn explained(
    session: Option<&TerminalSession>,
    file: Option<&SettingsFile>,
    flags: &TerminalChanges,
) -> Vec<Explained> {
    let base = match (session, file) {
        (Some(session), _) => session.settings.clone(),
        (None, Some(file)) => file.settings_beside(flags),
        (None, None) => TerminalSettings::default(),
    };
    let mut settings = base;
    flags.apply(&mut settings);
    let prompt = settings.system_prompt.as_ref();
    let shown = prompt.map(|prompt| {
        let line: String = prompt.text.chars().take(SHOWN_CHARS).collect();
        line.lines().next().unwrap_or_default().to_owned()
    });
    let from = |flag: Option<String>, keys: &[&str]| {
        let in_file = || keys.iter().find_map(|key| file?.place_of(key));
        match (flag, session) {
            (Some(flag), _) => format!("the option {flag}"),
            (None, Some(session)) => format!("the session {}", session.id),
            (None, None) => in_file().unwrap_or_else(|| "the default".into()),
        }
    };
    let option = |given: bool, name: &str| given.then(|| name.to_owned());
    let prompt_flag = flags.system_prompt.as_ref().map(|prompt| match &prompt.path {
        Some(path) => format!("--system-prompt-file {path}"),
        None => "--system-prompt".to_owned(),
    });
    let mut all = vec![
        Explained {
            key: "model",
            value: settings.model.clone(),
            from: from(option(flags.model.is_some(), "--model"), &["model"]),
        },
        Explained {
            key: "window_size",
            value: settings.window_size.to_string(),
            from: from(option(flags.window_size.is_some(), "--window-size"), &["window_size"]),
        },
        Explained {
            key: "should_truncate_results",
            value: settings.should_truncate_results.to_string(),
            from: from(
                option(flags.should_truncate_results.is_some(), "--should-truncate-results"),
                &["should_truncate_results"],
            ),
        },
        Explained {
            key: "conversation_manager",
            value: settings.conversation_manager.word().to_owned(),
            from: from(
                option(flags.conversation_manager.is_some(), "--conversation-manager"),
                &["conversation_manager"],
            ),
        },
    ];
    if let Some(value) = shown {
        let from = from(prompt_flag, &["system_prompt", "system_prompt_file"]);
        all.push(Explained { key: "system_prompt", value, from });
    }
    all
}
