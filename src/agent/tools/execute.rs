//! Running Python.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::agent::{
    desk::CallDesk,
    tool::{Effect, Tool, ToolError, ToolOutput},
};

/// Runs Python in a sandbox.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// `python script.py` for a file of this session, `python -c "…"`, or plain Python code.
    command: String,
}

/// The tool.
pub struct Execute;

impl Tool for Execute {
    type Input = Input;
    const NAME: &'static str = "execute";
    const EFFECT: Effect = Effect::Writes;

    async fn run(&self, input: Input, desk: &CallDesk<'_>) -> Result<ToolOutput, ToolError> {
        drop((input.command, desk.files()?));
        Err(ToolError::TellModel("Python is not built into this binary.".into()))
    }
}
