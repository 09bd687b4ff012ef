//! The one binary: see `cli` for what it can do.

use std::process::ExitCode;

fn main() -> ExitCode {
    greenroom::cli::run()
}
