//! Deleting a file.

use schemars::JsonSchema;
use serde::Deserialize;

use super::read_file::missing;
use crate::{
    agent::{
        desk::CallDesk,
        tool::{Effect, Tool, ToolError, ToolOutput},
    },
    domain::virtual_file::{FileChange, FilePath},
};

/// Deletes a file of this session.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The file.
    path: String,
}

/// The tool.
pub struct DeleteFile;

impl Tool for DeleteFile {
    type Input = Input;
    const NAME: &'static str = "delete_file";
    const EFFECT: Effect = Effect::Writes;

    async fn run(&self, input: Input, desk: &CallDesk<'_>) -> Result<ToolOutput, ToolError> {
        let path = FilePath::parse(&input.path)?;
        let (agent, scope, place) = (&desk.agent, &desk.scope, desk.files()?);
        let was_there = agent.rewrite_file(scope, place, desk.call, &path, |known| {
            let there = known.is_some();
            let gone = FileChange { path: path.clone(), content: None };
            Ok((if there { vec![gone] } else { Vec::new() }, there))
        });
        match was_there.await? {
            true => Ok(ToolOutput::text(format!("“{path}” was deleted."))),
            false => Err(missing(&path)),
        }
    }
}
