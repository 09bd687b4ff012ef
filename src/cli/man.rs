//! `greenroom man`: the pages of the manual.

use std::{fs, io::Write, path::PathBuf};

use clap::{Command, CommandFactory};

use super::{
    Cli,
    exit::{Exit, Failure},
};

/// Print the page of a command, or write all of them to a folder.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The command; `greenroom` itself without it.
    command: Option<String>,

    /// Write all pages to this folder instead.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Does what the options say.
pub fn run(args: Args) -> Result<Exit, Failure> {
    let failed = |error: std::io::Error| Failure::new(Exit::Failed, error.to_string());
    // What `help` tells of a command stands on the command's own page.
    let mut whole = without_help(Cli::command());
    whole.build();
    if let Some(dir) = args.dir {
        fs::create_dir_all(&dir).map_err(failed)?;
        clap_mangen::generate_to(whole, dir).map_err(failed)?;
        return Ok(Exit::Done);
    }
    let command = match &args.command {
        None => whole,
        Some(name) => {
            let found = whole.find_subcommand(name).filter(|one| !one.is_hide_set()).cloned();
            found.ok_or_else(|| Failure::usage(format!("There is no command “{name}”.")))?
        }
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page).map_err(failed)?;
    std::io::stdout().lock().write_all(&page).map_err(failed)?;
    Ok(Exit::Done)
}

fn without_help(command: Command) -> Command {
    command.disable_help_subcommand(true).mut_subcommands(without_help)
}
