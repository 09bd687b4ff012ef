//! Backups and Spaces as files, with the real program.

mod backup;
mod space;

use std::{
    path::Path,
    process::{Command, Output},
};

/// Runs the program to its end, with nothing set in its environment.
pub fn greenroom(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_greenroom"))
        .args(arguments)
        .current_dir(folder)
        .env_remove("DATABASE_URL")
        .env_remove("GREENROOM_DATA")
        .env_remove("GREENROOM_FILES_URL")
        .output()
        .unwrap()
}

/// What it says when it did what it was asked.
pub fn done(output: &Output) -> String {
    let problem = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{problem}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// What it says when it did not.
pub fn refused(output: &Output) -> String {
    assert!(!output.status.success(), "it did what it should refuse");
    String::from_utf8(output.stderr.clone()).unwrap()
}
