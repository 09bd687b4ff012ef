//! The command line: one binary, its commands one file each.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::{config::ServeArgs, sandbox, server};

/// The exit code of a configuration that makes no sense (`EX_CONFIG`).
const BAD_CONFIGURATION: u8 = 78;

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
    /// Run Python for the server that started this. Not for people.
    #[command(name = sandbox::COMMAND, hide = true)]
    SandboxWorker,
}

/// Does what the command line says.
pub fn run() -> ExitCode {
    let cli = Cli::parse();
    start_log();
    let args = match cli.command {
        Some(Command::Serve(args)) => *args,
        Some(Command::SandboxWorker) => return sandbox::work(),
        None => cli.serve,
    };
    let config = match args.resolve() {
        Ok(config) => config,
        Err(error) => return fail(&error, ExitCode::from(BAD_CONFIGURATION)),
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&error, ExitCode::FAILURE),
    };
    match runtime.block_on(server::serve(config)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error, ExitCode::FAILURE),
    }
}

/// Logs go to standard error; `RUST_LOG` says how much.
fn start_log() {
    use tracing_subscriber::{EnvFilter, fmt};
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false).init();
}

#[expect(clippy::print_stderr, reason = "a command that cannot start says why")]
fn fail(error: &dyn std::error::Error, code: ExitCode) -> ExitCode {
    eprintln!("greenroom: {error}");
    code
}
