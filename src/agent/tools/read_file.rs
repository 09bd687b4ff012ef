//! Reading a file.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    agent::{
        desk::CallDesk,
        tool::{Effect, Tool, ToolError, ToolOutput},
    },
    domain::{
        error::ApiError,
        virtual_file::{FilePath, VirtualFile},
    },
};

/// How many lines are read when nobody says otherwise.
const LINES: usize = 2000;
/// As much of a line as is told.
const MAX_LINE_CHARS: usize = 2000;

/// Reads a text file of this session. Each line comes with its number and a tab before it, which are not
/// in the file.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The file.
    path: String,
    /// The first line, from 1; the beginning when it is left out.
    #[serde(default)]
    first_line: Option<usize>,
    /// The last line; 2000 lines at the most when it is left out.
    #[serde(default)]
    last_line: Option<usize>,
}

/// The tool.
pub struct ReadFile;

impl Tool for ReadFile {
    type Input = Input;
    const NAME: &'static str = "read_file";
    const EFFECT: Effect = Effect::Reads;

    async fn run(&self, input: Input, desk: &CallDesk<'_>) -> Result<ToolOutput, ToolError> {
        let path = FilePath::parse(&input.path)?;
        let file = found(desk, &path).await?;
        let text = file.text().ok_or_else(|| no_text(&path))?;
        let first = input.first_line.unwrap_or(1).max(1);
        let last = input.last_line.unwrap_or_else(|| first.saturating_add(LINES - 1));
        numbered(text, first, last).map(ToolOutput::text).map_err(ToolError::TellModel)
    }
}

/// The file at a path, or a sentence that it is not there.
pub async fn found(desk: &CallDesk<'_>, path: &FilePath) -> Result<VirtualFile, ToolError> {
    match desk.agent.file(&desk.scope, desk.files()?, path).await {
        Err(ApiError::NotFound { .. }) => Err(missing(path)),
        file => Ok(file?),
    }
}

/// Says that a file is not there.
pub fn missing(path: &FilePath) -> ToolError {
    ToolError::TellModel(format!("There is no file “{path}”. Look with ls or glob."))
}

/// Says that a file is no text.
pub fn no_text(path: &FilePath) -> ToolError {
    ToolError::TellModel(format!("“{path}” is not a text file."))
}

/// Some lines with their numbers.
fn numbered(text: &str, first: usize, last: usize) -> Result<String, String> {
    let count = text.lines().count();
    if count == 0 {
        return Ok("The file is empty.".into());
    }
    if last < first {
        return Err(format!("first_line ({first}) comes after last_line ({last})."));
    }
    if first > count {
        return Err(format!("The file has the lines 1 to {count}."));
    }
    let lines = text.lines().enumerate().skip(first - 1).take(last - first + 1);
    let mut out: Vec<String> = lines
        .map(|(at, line)| match line.char_indices().nth(MAX_LINE_CHARS) {
            Some((end, _)) => format!("{}\t{}… (the line goes on)", at + 1, &line[..end]),
            None => format!("{}\t{line}", at + 1),
        })
        .collect();
    if last < count {
        out.push(format!("… (the file goes on to line {count})"));
    }
    Ok(out.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_with_their_numbers_and_say_when_there_are_more() {
        let text = "one\ntwo\r\nthree\n";

        assert_eq!(numbered(text, 1, 9), Ok("1\tone\n2\ttwo\n3\tthree".into()));
        assert_eq!(numbered(text, 2, 2), Ok("2\ttwo\n… (the file goes on to line 3)".into()));
        assert!(numbered(text, 4, 5).unwrap_err().contains("1 to 3"));
        assert_eq!(numbered(text, 3, 2), Err("first_line (3) comes after last_line (2).".into()));
        assert_eq!(numbered("", 1, 1), Ok("The file is empty.".into()));
        assert!(numbered(&"é".repeat(3000), 1, 1).unwrap().ends_with("… (the line goes on)"));
    }
}
