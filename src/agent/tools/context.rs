//! What the person looks at.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::agent::{
    desk::CallDesk,
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

    async fn run(&self, _: Input, desk: &CallDesk<'_>) -> Result<ToolOutput, ToolError> {
        let Some(sight) = &desk.context else {
            return Ok(ToolOutput::text("Nothing is known about what the person looks at."));
        };
        Ok(ToolOutput { sources: sight.sources.clone(), ..ToolOutput::text(&sight.told) })
    }
}
