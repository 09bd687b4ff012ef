//! Reading the persona.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    agent::{
        desk::CallDesk,
        tool::{Effect, Tool, ToolError, ToolOutput},
    },
    domain::{id::TestInputId, persona::Tier},
};

/// Reads the persona as it is now: its name, its whole system prompt, its appearance, notes, model and
/// tier, and the ids of its test inputs. Read it before you change the system prompt.
#[derive(Deserialize, JsonSchema)]
pub struct Input {}

/// What the model sees of a persona.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Seen {
    name: String,
    system_prompt: String,
    appearance: String,
    notes: String,
    model: String,
    tier: Tier,
    test_input_ids: Vec<TestInputId>,
}

/// The tool.
pub struct GetPersona;

impl Tool for GetPersona {
    type Input = Input;
    const NAME: &'static str = "get_persona";
    const EFFECT: Effect = Effect::Reads;

    async fn run(&self, _: Input, desk: &CallDesk<'_>) -> Result<ToolOutput, ToolError> {
        let persona = desk.persona().await?;
        desk.show(&persona.id, persona.revision);
        let fields = persona.fields;
        Ok(ToolOutput::json(&Seen {
            name: fields.name,
            system_prompt: fields.system_prompt,
            appearance: fields.appearance,
            notes: fields.notes,
            model: fields.model,
            tier: fields.tier,
            test_input_ids: persona.test_input_ids,
        }))
    }
}
