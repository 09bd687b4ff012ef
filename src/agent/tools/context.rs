//! What the person looks at.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::agent::{
    desk::ToolDesk,
    tool::{Effect, Tool, ToolError, ToolOutput},
};

/// Tells what the person is looking at while they talk to you, and which passage they marked there.
#[derive(Deserialize, JsonSchema)]
pub struct Input {}

/// The tool.
pub struct Context;

impl Tool for Context {
    type Input = Input;
    const NAME: &'static str = "context";
    const EFFECT: Effect = Effect::Reads;

    async fn run(&self, _: Input, desk: &ToolDesk) -> Result<ToolOutput, ToolError> {
        let nothing = "Nothing is known about what the person looks at.";
        Ok(ToolOutput::text(desk.context.as_deref().unwrap_or(nothing)))
    }
}
