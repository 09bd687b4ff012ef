//! Changing a test input.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{get_test_input::own_test_input, written_thing};
use crate::{
    agent::{
        desk::{CallDesk, Share},
        tool::{Effect, Tool, ToolError, ToolOutput},
    },
    domain::{
        change::{Change, Entity, Op},
        id::TestInputId,
    },
};

/// Changes what one of the persona's test inputs says. Whatever is not in the new text is gone.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The id, as list_test_inputs gives it.
    id: TestInputId,
    /// What it says from now on, at most 50 000 characters.
    content: String,
}

/// The tool.
pub struct UpdateTestInput;

impl Tool for UpdateTestInput {
    type Input = Input;
    const NAME: &'static str = "update_test_input";
    const EFFECT: Effect = Effect::Writes;

    async fn run(&self, input: Input, desk: &CallDesk<'_>) -> Result<ToolOutput, ToolError> {
        let found = own_test_input(desk, &input.id).await?;
        let entity = Entity::from(&found.id);
        if desk.share(&entity) == Share::Part {
            let told = "You were shown only the beginning of this test input, so replacing it would lose \
                        the rest. Read it whole with get_test_input first.";
            return Err(ToolError::TellModel(told.into()));
        }
        let change = Change::new(&found.id, Op::Update)
            .set("content", input.content)
            .based_on(desk.base(&entity, found.revision));
        let outcome = desk.submit(change).await?;
        Ok(written_thing(&outcome, "The test input was changed.", Some(found.id.as_str()), None))
    }
}
