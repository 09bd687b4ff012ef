//! Listing the test inputs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    agent::{
        desk::ToolDesk,
        tool::{Effect, Tool, ToolError, ToolOutput},
    },
    domain::id::TestInputId,
};

/// How much of each is shown, in characters; the whole of one is read by itself.
const SHOWN: usize = 1000;

/// Lists the persona's test inputs: what people would say to it, to see what it answers. Long ones are
/// cut; get_test_input reads one whole.
#[derive(Deserialize, JsonSchema)]
pub struct Input {}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct List {
    test_inputs: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    id: TestInputId,
    content: String,
}

/// The tool.
pub struct ListTestInputs;

impl Tool for ListTestInputs {
    type Input = Input;
    const NAME: &'static str = "list_test_inputs";
    const EFFECT: Effect = Effect::Reads;

    async fn run(&self, _: Input, desk: &ToolDesk) -> Result<ToolOutput, ToolError> {
        desk.persona().await?;
        let inputs = desk.read().await?.test_inputs(&desk.persona).await?;
        let entry = |input: crate::domain::test_input::TestInput| {
            let whole = input.fields.content;
            let mut content: String = whole.chars().take(SHOWN).collect();
            if content.len() < whole.len() {
                content.push_str(" … (cut)");
            }
            Entry { id: input.id, content }
        };
        Ok(ToolOutput::json(&List { test_inputs: inputs.into_iter().map(entry).collect() }))
    }
}
