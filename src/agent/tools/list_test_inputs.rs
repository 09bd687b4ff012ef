//! Listing the test inputs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::get_test_input::hear_test_inputs;
use crate::{
    agent::{
        desk::CallDesk,
        tool::{Effect, Tool, ToolError, ToolOutput},
    },
    domain::{id::TestInputId, test_input::TestInput},
};

/// How much of each is shown, in characters; the whole of one is read by itself.
const SHOWN: usize = 400;
/// How many are listed at once.
const PAGE: usize = 60;

/// Lists the persona's test inputs: what people would say to it, to see what it answers. Long ones are
/// cut; get_test_input reads one whole.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// Only those after this one: the `next` of the list before. Absent for the first.
    #[serde(default)]
    after: Option<TestInputId>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct List {
    test_inputs: Vec<Entry>,
    /// Where to go on, when there are more.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<TestInputId>,
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

    async fn run(&self, input: Input, desk: &CallDesk<'_>) -> Result<ToolOutput, ToolError> {
        desk.persona().await?;
        let inputs = desk.read().await?.test_inputs(&desk.persona).await?;
        let seen = input.after.and_then(|after| inputs.iter().position(|input| input.id == after));
        let rest = inputs.len() - seen.map_or(0, |seen| seen + 1);
        let inputs = inputs.into_iter().skip(seen.map_or(0, |seen| seen + 1)).take(PAGE);
        let inputs: Vec<TestInput> = inputs.collect();
        let sources = hear_test_inputs(desk, &inputs).await?;
        let entry = |input: TestInput| {
            let whole = input.fields.content;
            let mut content: String = whole.chars().take(SHOWN).collect();
            if content.len() < whole.len() {
                content.push_str(" … (cut)");
            }
            Entry { id: input.id, content }
        };
        let test_inputs: Vec<Entry> = inputs.into_iter().map(entry).collect();
        let next = test_inputs.last().filter(|_| rest > PAGE).map(|last| last.id.clone());
        Ok(ToolOutput { sources, ..ToolOutput::json(&List { test_inputs, next }) })
    }
}
