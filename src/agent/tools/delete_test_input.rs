//! Deleting a test input.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{get_test_input::own_test_input, written_thing};
use crate::{
    agent::{
        desk::CallDesk,
        tool::{Effect, Tool, ToolError, ToolOutput},
    },
    domain::{
        change::{Change, Op},
        id::TestInputId,
    },
};

/// Deletes one of the persona's test inputs. It goes to the bin, where the person can restore it.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The id, as list_test_inputs gives it.
    id: TestInputId,
}

/// The tool.
pub struct DeleteTestInput;

impl Tool for DeleteTestInput {
    type Input = Input;
    const NAME: &'static str = "delete_test_input";
    const EFFECT: Effect = Effect::Writes;

    async fn run(&self, input: Input, desk: &CallDesk<'_>) -> Result<ToolOutput, ToolError> {
        let found = own_test_input(desk, &input.id).await?;
        let outcome = desk.submit(Change::new(&found.id, Op::Delete)).await?;
        let done = "The test input is in the bin.";
        Ok(written_thing(&outcome, done, Some(found.id.as_str()), None))
    }
}
