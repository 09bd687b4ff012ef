//! The command line: one binary, its commands one file each.

mod ab;
pub mod chat;
mod completions;
mod config;
mod draft_words;
pub mod example;
pub mod exit;
mod export;
mod import;
mod keep;
mod log_line;
mod man;
pub mod place;
mod rate;
mod serve;
mod shell_init;
mod space_files;
pub mod stage;
mod tools;
pub mod tui;
mod user;

use std::{future::Future, io::IsTerminal, process::ExitCode};

use clap::{Parser, Subcommand};
use exit::{Exit, Failure};
use log_line::Lines;
use tracing_subscriber::EnvFilter;

use crate::{config::ServeArgs, sandbox};

/// How many threads a command for one person has.
const FEW_THREADS: usize = 2;

/// Where AI personas get ready before they go on stage.
#[derive(Debug, Parser)]
#[command(name = "greenroom", version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: ServeArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the web app and the API. This is also what plain `greenroom` does.
    Serve(Box<ServeArgs>),
    Chat(Box<chat::Args>),
    Config(Box<config::Args>),
    Export(Box<export::Args>),
    Import(Box<import::Args>),
    Backup(keep::BackupArgs),
    Restore(keep::RestoreArgs),
    Ab(Box<ab::Args>),
    Rate(Box<rate::Args>),
    User(Box<user::UserArgs>),
    Tools(Box<tools::Args>),
    ShellInit(shell_init::Args),
    Completions(completions::Args),
    Man(man::Args),
    /// Run Python for the server that started this. Not for people.
    #[command(name = sandbox::COMMAND, hide = true)]
    SandboxWorker,
}

/// Does what the command line says.
pub fn run() -> ExitCode {
    let cli = Cli::parse();
    let ended = match cli.command {
        None => serving(cli.serve),
        Some(Command::Serve(args)) => serving(*args),
        Some(Command::SandboxWorker) => {
            start_log();
            return sandbox::work();
        }
        Some(Command::Chat(args)) => waiting(chat::run(*args)),
        Some(Command::Config(args)) => waiting(config::run(*args)),
        Some(Command::Export(args)) => waiting(export::run(*args)),
        Some(Command::Import(args)) => waiting(import::run(*args)),
        Some(Command::Backup(args)) => waiting(keep::back_up(args)),
        Some(Command::Restore(args)) => waiting(keep::restore(args)),
        Some(Command::Ab(args)) => waiting(ab::run(*args)),
        Some(Command::Rate(args)) => waiting(rate::run(*args)),
        Some(Command::User(args)) => waiting(user::run(*args)),
        Some(Command::Tools(args)) => waiting(tools::run(*args)),
        Some(Command::ShellInit(args)) => shell_init::run(args),
        Some(Command::Completions(args)) => completions::run(args),
        Some(Command::Man(args)) => man::run(args),
    };
    match ended {
        Ok(exit) => exit.into(),
        Err(failure) => fail(&failure),
    }
}

fn serving(args: ServeArgs) -> Result<Exit, Failure> {
    start_log();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(no_threads)?.block_on(serve::run(args))
}

/// Runs a command for one person, who waits for its beginning as much as for its end.
fn waiting(command: impl Future<Output = Result<Exit, Failure>>) -> Result<Exit, Failure> {
    let threads = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(FEW_THREADS)
        .enable_all()
        .build();
    let threads = threads.map_err(no_threads)?;
    let ended = threads.block_on(command);
    if let Err(failure) = &ended {
        tracing::error!(code = failure.exit.code(), "{failure}");
    }
    // What is still read or watched is of no use to anybody.
    threads.shutdown_background();
    ended
}

fn no_threads(error: std::io::Error) -> Failure {
    Failure::new(Exit::Failed, error.to_string())
}

/// Logs go to standard error; `RUST_LOG` says how much.
fn start_log() {
    use tracing_subscriber::fmt;
    let asked = std::env::var(EnvFilter::DEFAULT_ENV).unwrap_or_default();
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let log = fmt().with_env_filter(filter(&asked, "info")).with_writer(|| Lines);
    log.with_target(false).with_ansi(colours).init();
}

/// What is logged when this is asked for, or else as usual. What goes wrong with a server of tools is told by the
/// toolbox, without the keys that it was given: the library for them quotes what a server says, whoever asks.
fn filter(asked: &str, usual: &str) -> EnvFilter {
    let parts = asked.split(',').map(str::trim);
    let parts: Vec<&str> =
        parts.filter(|part| !part.is_empty() && !part.starts_with("rmcp")).collect();
    let asked = if parts.is_empty() { usual.to_owned() } else { parts.join(",") };
    EnvFilter::try_new(format!("{asked},rmcp=off"))
        .unwrap_or_else(|_| EnvFilter::new(format!("{usual},rmcp=off")))
}

#[expect(clippy::print_stderr, reason = "a command that cannot go on says why")]
fn fail(failure: &Failure) -> ExitCode {
    eprintln!("greenroom: {failure}");
    failure.exit.into()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn every_option_is_well_made() {
        Cli::command().debug_assert();
    }

    #[test]
    fn whatever_is_asked_for_the_library_that_quotes_keys_of_tools_is_silent() {
        for asked in ["", "error", "info,rmcp=trace", "rmcp::service=debug , warn"] {
            let told = filter(asked, "info").to_string();
            let of_library: Vec<&str> =
                told.split(',').filter(|part| part.contains("rmcp")).collect();
            assert_eq!(of_library, ["rmcp=off"], "{asked}: {told}");
            assert_ne!(told, "rmcp=off", "{asked}");
        }
    }
}
