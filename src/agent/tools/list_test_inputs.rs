//! Listing the test inputs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::get_test_input::hear_test_inputs;
use crate::{
    agent::{
        desk::{CallDesk, Share},
        tool::{Effect, Tool, ToolError, ToolOutput},
    },
    domain::{change::Entity, id::TestInputId, test_input::TestInput, version::Revision},
};

/// How much of each is shown, in characters; the whole of one is read by itself.
const SHOWN: usize = 400;
/// How many are listed at once.
const PAGE: usize = 60;
/// What a list takes beside its entries, in bytes.
const LIST_BYTES: usize = 128;

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
    /// Which version it is, when it is whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<Revision>,
}

impl From<&TestInput> for Entry {
    fn from(input: &TestInput) -> Self {
        let (id, whole) = (input.id.clone(), &input.fields.content);
        match whole.char_indices().nth(SHOWN) {
            None => Self { id, content: whole.clone(), revision: Some(input.revision) },
            Some((end, _)) => {
                Self { id, content: format!("{} … (cut)", &whole[..end]), revision: None }
            }
        }
    }
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
        let mut inputs: Vec<TestInput> = inputs.collect();
        let mut length = 0;
        let fits = |(place, entry): &(usize, Entry)| {
            length += json!(entry).to_string().len() + 1;
            *place == 0 || length + LIST_BYTES <= desk.most
        };
        let entries = inputs.iter().map(Entry::from).enumerate().take_while(fits);
        let test_inputs: Vec<Entry> = entries.map(|(_, entry)| entry).collect();
        inputs.truncate(test_inputs.len());
        let sources = hear_test_inputs(desk, &inputs).await?;
        for (input, entry) in inputs.iter().zip(&test_inputs) {
            let share = if entry.revision.is_some() { Share::Whole } else { Share::Part };
            desk.show_share(Entity::from(&input.id), input.revision, share);
        }
        let more = rest > test_inputs.len();
        let next = test_inputs.last().filter(|_| more).map(|last| last.id.clone());
        Ok(ToolOutput { sources, ..ToolOutput::json(&List { test_inputs, next }) })
    }
}
