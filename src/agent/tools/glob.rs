//! Finding files by their names.

use globset::{GlobBuilder, GlobMatcher};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    agent::{
        desk::CallDesk,
        tool::{Effect, Tool, ToolError, ToolOutput},
    },
    domain::virtual_file::FilePath,
};

/// The longest pattern.
const MAX_PATTERN: usize = 200;

/// Finds files of this session by their paths: * stands for any letters within a folder or name, ** for
/// any folders, ? for one letter, {a,b} for one of several. For example **/*.md finds all markdown files.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The pattern of the whole path.
    pattern: String,
    /// Look in this folder only; the pattern is then for what comes after it.
    #[serde(default)]
    path: String,
}

/// The tool.
pub struct Glob;

impl Tool for Glob {
    type Input = Input;
    const NAME: &'static str = "glob";
    const EFFECT: Effect = Effect::Reads;

    async fn run(&self, input: Input, desk: &CallDesk<'_>) -> Result<ToolOutput, ToolError> {
        let folder = FilePath::parse_folder(&input.path)?;
        let matcher = matcher(&input.pattern).map_err(ToolError::TellModel)?;
        let files = desk.agent.files(&desk.scope, desk.files()?).await?;
        let fits =
            |path: &str| path.strip_prefix(&folder).is_some_and(|rest| matcher.is_match(rest));
        let found: Vec<String> =
            files.into_iter().map(|file| file.path).filter(|path| fits(path)).collect();
        Ok(ToolOutput::text(match found.is_empty() {
            true => "No file fits.".into(),
            false => found.join("\n"),
        }))
    }
}

/// What tells whether a path fits a pattern.
pub fn matcher(pattern: &str) -> Result<GlobMatcher, String> {
    if pattern.len() > MAX_PATTERN {
        return Err(format!("A pattern has at most {MAX_PATTERN} bytes."));
    }
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern).trim_start_matches('/');
    let glob = GlobBuilder::new(pattern).literal_separator(true).backslash_escape(true).build();
    let glob = glob.map_err(|error| format!("The pattern cannot be read: {error}."))?;
    Ok(glob.compile_matcher())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_as_people_expect() {
        let fits = |pattern: &str, path: &str| matcher(pattern).unwrap().is_match(path);

        assert!(fits("*.md", "a.md") && !fits("*.md", "b/a.md"));
        assert!(fits("**/*.md", "a.md") && fits("**/*.md", "b/c/a.md"));
        assert!(fits("/b/*.{md,txt}", "b/a.txt"));
        assert!(fits("b/?.md", "b/x.md") && !fits("b/?.md", "b/xy.md"));
        assert!(matcher("a[").is_err());
        assert!(matcher(&"*".repeat(201)).is_err());
    }
}
