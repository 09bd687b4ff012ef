//! Listing a folder.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    agent::{
        desk::CallDesk,
        tool::{Effect, Tool, ToolError, ToolOutput},
    },
    domain::virtual_file::{FileInfo, FilePath, told_bytes},
};

/// Lists the files and folders in a folder of this session. All files are yours: they exist only here,
/// and you see no others.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The folder; the top when it is left out.
    #[serde(default)]
    path: String,
}

/// The tool.
pub struct Ls;

impl Tool for Ls {
    type Input = Input;
    const NAME: &'static str = "ls";
    const EFFECT: Effect = Effect::Reads;

    async fn run(&self, input: Input, desk: &CallDesk<'_>) -> Result<ToolOutput, ToolError> {
        let folder = FilePath::parse_folder(&input.path)?;
        let files = desk.agent.files(&desk.scope, desk.files()?).await?;
        listed(&files, &folder).map(ToolOutput::text).map_err(ToolError::TellModel)
    }
}

/// A line for each entry of a folder: folders with how many files are below them, files with their sizes.
fn listed(files: &[FileInfo], folder: &str) -> Result<String, String> {
    let mut folders: BTreeMap<&str, usize> = BTreeMap::new();
    let mut lines = Vec::new();
    for file in files {
        let Some(rest) = file.path.strip_prefix(folder) else { continue };
        match rest.split_once('/') {
            Some((step, _)) => *folders.entry(step).or_default() += 1,
            None => lines.push(format!("{rest} ({})", told_bytes(file.size))),
        }
    }
    if folder.is_empty() && files.is_empty() {
        return Ok("There are no files yet.".into());
    }
    if folders.is_empty() && lines.is_empty() {
        return Err(format!("There is no folder “{folder}”."));
    }
    let folders = folders.into_iter().map(|(step, count)| match count {
        1 => format!("{step}/ (1 file)"),
        count => format!("{step}/ ({count} files)"),
    });
    Ok(folders.chain(lines).collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::timestamp::Timestamp;

    #[test]
    fn a_folder_shows_its_own_entries_only() {
        let files: Vec<FileInfo> = ["a.txt", "b/c.txt", "b/d/e.txt", "bc/x"]
            .map(|path| FileInfo {
                path: path.into(),
                size: 3,
                revision: 1,
                message_id: None,
                call_id: None,
                updated_at: Timestamp(0),
            })
            .into();

        assert_eq!(listed(&files, ""), Ok("b/ (2 files)\nbc/ (1 file)\na.txt (3 bytes)".into()));
        assert_eq!(listed(&files, "b/"), Ok("d/ (1 file)\nc.txt (3 bytes)".into()));
        assert!(listed(&files, "z/").is_err());
        assert_eq!(listed(&[], ""), Ok("There are no files yet.".into()));
    }
}
