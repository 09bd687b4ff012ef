//! `greenroom completions`: what makes a shell complete our options.

use std::io::Write;

use clap::CommandFactory;

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
    clap_complete::generate(args.shell, &mut Cli::command(), "greenroom", &mut script);
    let printed = std::io::stdout().lock().write_all(&script);
    printed.map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
    Ok(Exit::Done)
}
