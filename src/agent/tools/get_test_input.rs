//! Reading one test input.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    agent::{
        desk::{CallDesk, ToolDesk},
        tool::{Effect, Tool, ToolError, ToolOutput},
    },
    domain::{id::TestInputId, test_input::TestInput},
};

/// Reads one test input of the persona, whole.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The id, as list_test_inputs gives it.
    id: TestInputId,
}

#[derive(Serialize)]
struct Seen {
    id: TestInputId,
    content: String,
}

/// The tool.
pub struct GetTestInput;

impl Tool for GetTestInput {
    type Input = Input;
    const NAME: &'static str = "get_test_input";
    const EFFECT: Effect = Effect::Reads;

    async fn run(&self, input: Input, desk: &CallDesk<'_>) -> Result<ToolOutput, ToolError> {
        let input = own_test_input(desk, &input.id).await?;
        Ok(ToolOutput::json(&Seen { id: input.id, content: input.fields.content }))
    }
}

/// A test input of this persona: those of others do not exist here.
pub async fn own_test_input(desk: &ToolDesk, id: &TestInputId) -> Result<TestInput, ToolError> {
    let found = desk.read().await?.test_input(id).await?;
    if found.persona_id != desk.persona {
        return Err(ToolError::TellModel("That test input does not exist.".into()));
    }
    Ok(found)
}
