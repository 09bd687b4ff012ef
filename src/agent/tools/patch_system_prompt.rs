//! Changing passages of the system prompt.

use schemars::JsonSchema;
use serde::Deserialize;

use super::written;
use crate::{
    agent::{
        desk::CallDesk,
        tool::{Effect, Tool, ToolError, ToolOutput},
    },
    domain::{
        change::{Change, Op},
        patch::{Edit, patched},
    },
};

/// Replaces passages of the persona's system prompt and leaves the rest exactly as it is. Prefer this
/// to replacing the prompt whole. To add something, find the passage it should follow and replace it
/// with itself and the addition.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The passages to replace, in order; all of them or none.
    edits: Vec<Edit>,
}

/// The tool.
pub struct PatchSystemPrompt;

impl Tool for PatchSystemPrompt {
    type Input = Input;
    const NAME: &'static str = "patch_system_prompt";
    const EFFECT: Effect = Effect::Writes;

    async fn run(&self, input: Input, desk: &CallDesk<'_>) -> Result<ToolOutput, ToolError> {
        let persona = desk.persona().await?;
        let prompt =
            patched(&persona.fields.system_prompt, &input.edits).map_err(ToolError::TellModel)?;
        // The passages were found in what stands now.
        let change = Change::new(&persona.id, Op::Update)
            .set("systemPrompt", prompt)
            .based_on(persona.revision);
        let outcome = desk.submit(change).await?;
        Ok(written(&outcome, "The passages were replaced."))
    }
}
