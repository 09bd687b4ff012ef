//! Writing a file whole.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    agent::{
        desk::CallDesk,
        tool::{Effect, Tool, ToolError, ToolOutput},
    },
    domain::virtual_file::{FileChange, FilePath, told_bytes},
};

/// Writes a file of this session whole: a new one, or over what it said before. To change a passage of a
/// file that is there, prefer edit_file.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// Where it stands, such as notes/plan.md. Folders need not be made first.
    path: String,
    /// All that the file says.
    content: String,
}

/// The tool.
pub struct WriteFile;

impl Tool for WriteFile {
    type Input = Input;
    const NAME: &'static str = "write_file";
    const EFFECT: Effect = Effect::Writes;

    async fn run(&self, input: Input, desk: &CallDesk<'_>) -> Result<ToolOutput, ToolError> {
        let path = FilePath::parse(&input.path)?;
        let size = input.content.len() as u64;
        let (agent, scope, place) = (&desk.agent, &desk.scope, desk.files()?);
        let told = agent.rewrite_file(scope, place, desk.call, &path, |known| {
            let done = if known.is_some() { "written anew" } else { "made" };
            let change = FileChange { path: path.clone(), content: Some(input.content.into()) };
            Ok((vec![change], format!("“{path}” was {done} ({}).", told_bytes(size))))
        });
        Ok(ToolOutput::text(told.await?))
    }
}
