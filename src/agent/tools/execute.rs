//! Running Python.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    agent::{
        desk::CallDesk,
        tool::{Effect, Tool, ToolError, ToolOutput},
    },
    domain::{
        playground::{CHANGED, EXECUTE},
        virtual_file::{FileChange, FileInfo, FilePath},
    },
    sandbox::{self, End, Outcome, Owner, Program},
};

/// As much of what a program prints as a model is told: the beginning and the end of it.
const MAX_PRINTED: usize = 24_000;

/// What is run.
#[derive(Deserialize, JsonSchema)]
#[schemars(description = sandbox::DESCRIPTION)]
pub struct Input {
    /// `python script.py` for a file of this session, `python -c "…"`, or plain Python code.
    command: String,
}

/// The tool.
pub struct Execute;

impl Tool for Execute {
    type Input = Input;
    const NAME: &'static str = EXECUTE;
    const EFFECT: Effect = Effect::Writes;

    async fn run(&self, input: Input, desk: &CallDesk<'_>) -> Result<ToolOutput, ToolError> {
        let (agent, scope, place) = (&desk.agent, &desk.scope, desk.files()?);
        let invocation = sandbox::parse(&input.command);
        let invocation = invocation.map_err(|error| ToolError::TellModel(error.to_string()))?;
        let (mut given, mut files) = (Vec::<FileInfo>::new(), sandbox::Files::new());
        for file in agent.whole_files(scope, place).await? {
            files.insert(file.info.path.clone(), file.content);
            given.push(file.info);
        }
        let owner = Owner { space: scope.space.to_string(), session: place.session.to_string() };
        let program = Program { owner, ..Program::from_command(invocation, files) };
        let outcome = tokio::select! {
            outcome = agent.run_python(program) => outcome,
            // Dropping it ends the worker.
            () = desk.stopped.cancelled() => {
                let told = "The program was stopped with this answer, and no file was changed.";
                return Err(ToolError::TellModel(told.into()));
            }
        };
        let outcome = outcome.map_err(|error| ToolError::TellModel(error.to_string()))?;
        let mut told = told(&outcome);
        let mut changes = Vec::new();
        for (path, content) in outcome.changed {
            match FilePath::parse(&path) {
                Ok(path) => changes.push(FileChange { path, content }),
                Err(error) => write(&mut told, &format!("“{path}” was not kept. {error}")),
            }
        }
        let done: Vec<(FilePath, bool)> =
            changes.iter().map(|change| (change.path.clone(), change.content.is_some())).collect();
        let merged = agent.merge_files(scope, place, desk.call, &given, changes).await;
        let left = match merged.map_err(ToolError::from) {
            Ok(left) => left,
            Err(ToolError::Fatal(error)) => return Err(ToolError::Fatal(error)),
            // What it printed was worth the run all the same.
            Err(refused) => {
                write(&mut told, &format!("No file was changed. {refused}"));
                return Err(ToolError::TellModel(told));
            }
        };
        tell_changes(&mut told, &done, &left);
        match outcome.end {
            End::Exit(0) => Ok(ToolOutput::text(told)),
            End::Exit(_) | End::Error(_) | End::Stopped(_) => Err(ToolError::TellModel(told)),
        }
    }
}

fn write(told: &mut String, line: &str) {
    if !told.is_empty() && !told.ends_with('\n') {
        told.push('\n');
    }
    told.push_str(line);
}

/// Tells of the files that a program wrote, or deleted, and of those that it could not because somebody else was
/// faster.
fn tell_changes(told: &mut String, done: &[(FilePath, bool)], left: &[FilePath]) {
    let [wrote, deleted] = CHANGED;
    for (path, is_written) in done {
        if left.contains(path) {
            let why = "was changed by somebody else meanwhile, and is left as they wrote it";
            write(told, &format!("“{path}” {why}."));
        } else {
            let done = if *is_written { wrote } else { deleted };
            write(told, &format!("{done}{path}”."));
        }
    }
}

/// What a program printed, and how it ended.
fn told(outcome: &Outcome) -> String {
    let mut told = shortened(&outcome.stdout);
    if !outcome.stderr.is_empty() {
        write(&mut told, &format!("As errors it printed:\n{}", shortened(&outcome.stderr)));
    }
    match &outcome.end {
        End::Exit(0) if told.is_empty() => told.push_str("It ran, and printed nothing."),
        End::Exit(0) => {}
        End::Exit(status) => write(&mut told, &format!("It ended with status {status}.")),
        End::Error(traceback) => {
            write(&mut told, traceback);
            if let Some(works) = sandbox::what_works_instead(traceback) {
                write(&mut told, works);
            }
        }
        End::Stopped(limit) => write(&mut told, &limit.to_string()),
    }
    let stopped_by = match &outcome.end {
        End::Stopped(limit) => Some(*limit),
        End::Exit(_) | End::Error(_) => None,
    };
    for limit in outcome.reached.iter().filter(|limit| Some(**limit) != stopped_by) {
        write(&mut told, &limit.to_string());
    }
    told
}

/// A long text without its middle.
fn shortened(text: &str) -> String {
    if text.len() <= MAX_PRINTED {
        return text.to_owned();
    }
    let half = MAX_PRINTED / 2;
    let head = text.floor_char_boundary(half);
    let tail = text.ceil_char_boundary(text.len() - half);
    let left_out = tail - head;
    format!("{}\n… ({left_out} bytes were left out) …\n{}", &text[..head], &text[tail..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_told_without_its_middle() {
        assert_eq!(shortened("short"), "short");
        let long = format!("{}middle{}", "é".repeat(20_000), "ö".repeat(20_000));

        let told = shortened(&long);

        assert!(told.len() < MAX_PRINTED + 100);
        assert!(told.starts_with("éé") && told.ends_with("öö") && told.contains("were left out"));
    }

    /// The model was told that it wrote the file, and that it did not.
    #[test]
    fn a_file_that_somebody_else_changed_meanwhile_is_not_told_as_written() {
        let path = |path: &str| FilePath::parse(path).unwrap();
        let done = [(path("a.txt"), true), (path("b.txt"), true), (path("c.txt"), false)];
        let mut told = "42".to_owned();

        tell_changes(&mut told, &done, &[path("a.txt")]);

        let sentence =
            "“a.txt” was changed by somebody else meanwhile, and is left as they wrote it.";
        let expected = format!("42\n{sentence}\nIt wrote “b.txt”.\nIt deleted “c.txt”.");
        assert_eq!(told, expected);
        let mut told = String::new();
        tell_changes(&mut told, &done[..1], &[path("a.txt")]);
        assert_eq!(told, sentence, "the page looks for these words to show what was changed");
    }
}
