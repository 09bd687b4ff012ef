//! Adding a test input.

use schemars::JsonSchema;
use serde::Deserialize;

use super::written_thing;
use crate::{
    agent::{
        desk::CallDesk,
        tool::{Effect, Tool, ToolError, ToolOutput},
    },
    domain::{
        change::{Change, Op},
        id::TestInputId,
    },
    store::new_id,
};

/// Adds a test input to the persona: something a person would say to it, in that person's words.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// What is said to the persona, at most 50 000 characters.
    content: String,
}

/// The tool.
pub struct CreateTestInput;

impl Tool for CreateTestInput {
    type Input = Input;
    const NAME: &'static str = "create_test_input";
    const EFFECT: Effect = Effect::Writes;

    async fn run(&self, input: Input, desk: &CallDesk<'_>) -> Result<ToolOutput, ToolError> {
        let id: TestInputId = new_id();
        let change = Change::new(&id, Op::Create)
            .set("content", input.content.as_str())
            .set("personaId", desk.persona.as_str());
        let outcome = desk.submit(change).await?;
        let done = "The test input was added.";
        Ok(written_thing(&outcome, done, Some(id.as_str()), Some(&input.content)))
    }
}
