//! Searching in files.

use regex::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::Deserialize;

use super::glob::matcher;
use crate::{
    agent::{
        Agent,
        desk::CallDesk,
        tool::{Effect, Tool, ToolError, ToolOutput},
    },
    changes::Scope,
    domain::virtual_file::{FilePath, VirtualFile},
    store::FilePlace,
};

/// The most lines that are told.
const MAX_HITS: usize = 200;
/// As much of a line as is told.
const MAX_LINE_CHARS: usize = 300;
/// The longest expression, and how large it may be once it is prepared.
const MAX_PATTERN: usize = 1000;
const MAX_PREPARED_BYTES: usize = 1 << 20;

/// Searches the text files of this session line by line with a regular expression. Each line that fits
/// comes as path:number: line. Look-around and back-references are not supported.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct Input {
    /// The regular expression.
    pub pattern: String,
    /// Search in this folder, or in this file, only.
    #[serde(default)]
    pub path: String,
    /// Search only in files whose paths fit this pattern, such as **/*.py.
    #[serde(default)]
    pub glob: Option<String>,
    /// Take small and capital letters as the same.
    #[serde(default)]
    pub ignore_case: bool,
}

/// The tool.
pub struct Grep;

impl Tool for Grep {
    type Input = Input;
    const NAME: &'static str = "grep";
    const EFFECT: Effect = Effect::Reads;

    async fn run(&self, input: Input, desk: &CallDesk<'_>) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(desk.agent.grep(&desk.scope, desk.files()?, input).await?))
    }
}

impl Agent {
    /// The lines of files that fit, as a model is told of them.
    pub async fn grep(
        &self,
        scope: &Scope,
        place: &FilePlace,
        input: Input,
    ) -> Result<String, ToolError> {
        let expression = expression(&input).map_err(ToolError::TellModel)?;
        let folder = FilePath::parse_folder(&input.path)?;
        let glob = input.glob.as_deref().map(matcher).transpose().map_err(ToolError::TellModel)?;
        let mut files = self.whole_files(scope, place).await?;
        files.retain(|file| {
            let path = &file.info.path;
            let within = path.starts_with(&folder) || *path == folder.trim_end_matches('/');
            within && glob.as_ref().is_none_or(|glob| glob.is_match(path))
        });
        // Megabytes may have to be read through.
        let found = tokio::task::spawn_blocking(move || hits(&files, &expression)).await;
        found.map_err(|_| ToolError::TellModel("The search broke off.".into()))
    }
}

fn expression(input: &Input) -> Result<Regex, String> {
    if input.pattern.len() > MAX_PATTERN {
        return Err(format!("An expression has at most {MAX_PATTERN} bytes."));
    }
    let built = RegexBuilder::new(&input.pattern)
        .case_insensitive(input.ignore_case)
        .size_limit(MAX_PREPARED_BYTES)
        .build();
    built.map_err(|error| format!("The expression cannot be read: {error}"))
}

fn hits(files: &[VirtualFile], expression: &Regex) -> String {
    let mut lines = Vec::new();
    for file in files {
        let Some(text) = file.text() else { continue };
        for (at, line) in text.lines().enumerate().filter(|(_, line)| expression.is_match(line)) {
            if lines.len() == MAX_HITS {
                lines.push(format!("… (there are more than {MAX_HITS} lines; search for less)"));
                return lines.join("\n");
            }
            let path = &file.info.path;
            lines.push(match line.char_indices().nth(MAX_LINE_CHARS) {
                Some((end, _)) => format!("{path}:{}: {}…", at + 1, &line[..end]),
                None => format!("{path}:{}: {line}", at + 1),
            });
        }
    }
    if lines.is_empty() { "No line fits.".into() } else { lines.join("\n") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{timestamp::Timestamp, virtual_file::FileInfo};

    fn file(path: &str, content: &[u8]) -> VirtualFile {
        let info = FileInfo {
            path: path.into(),
            size: content.len() as u64,
            revision: 1,
            message_id: None,
            call_id: None,
            updated_at: Timestamp(0),
        };
        VirtualFile { info, content: content.into() }
    }

    fn found(pattern: &str, files: &[VirtualFile]) -> String {
        let (path, glob) = (String::new(), None);
        let input = Input { pattern: pattern.into(), path, glob, ignore_case: true };
        hits(files, &expression(&input).unwrap())
    }

    #[test]
    fn lines_that_fit_come_with_path_and_number() {
        let files = [file("a.txt", b"One\ntwo\nONE more"), file("b.bin", b"one\0"), file("c", b"")];

        assert_eq!(found("^one", &files), "a.txt:1: One\na.txt:3: ONE more");
        assert_eq!(found("three", &files), "No line fits.");
    }

    #[test]
    fn many_hits_and_long_lines_are_cut_and_say_so() {
        let many = [file("a", "x\n".repeat(1000).as_bytes())];
        assert!(found("x", &many).ends_with("more than 200 lines; search for less)"));

        let long = [file("a", "é".repeat(500).as_bytes())];
        assert_eq!(found("é", &long).chars().count(), "a:1: ".len() + 301);
    }

    #[test]
    fn an_expression_that_cannot_be_prepared_is_told() {
        for odd in ["(", "(?=a)", &"a".repeat(1001), "(a{1000}){1000}"] {
            let input =
                Input { pattern: odd.into(), path: "".into(), glob: None, ignore_case: false };
            assert!(expression(&input).is_err(), "{}", &odd[..odd.len().min(20)]);
        }
    }
}
