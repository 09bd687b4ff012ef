//! `greenroom completions`: what makes a shell complete our options.

use std::io::Write;

use clap::{Command, CommandFactory};

use super::{
    Cli,
    exit::{Exit, Failure},
};

/// Print completions for a shell.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Args {
    /// The shell.
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

/// Does what the options say.
pub fn run(args: Args) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut for_people(), "greenroom", &mut script);
    let printed = std::io::stdout().lock().write_all(&script);
    printed.map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
    Ok(Exit::Done)
}

/// The command line without the commands that only this program itself uses.
fn for_people() -> Command {
    let whole = Cli::command();
    let shown = whole.get_subcommands().filter(|one| !one.is_hide_set()).cloned();
    let about = whole.get_about().cloned().unwrap_or_default();
    Command::new("greenroom")
        .version(env!("CARGO_PKG_VERSION"))
        .about(about)
        .args(whole.get_arguments().cloned())
        .subcommands(shown)
}
