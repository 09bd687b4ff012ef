//! Replacing the system prompt.

use schemars::JsonSchema;
use serde::Deserialize;

use super::written;
use crate::{
    agent::{
        desk::{CallDesk, Share},
        tool::{Effect, Tool, ToolError, ToolOutput},
    },
    domain::change::{Change, Entity, Op},
};

/// Replaces the persona's entire system prompt. Whatever is not in the new text is gone, so use
/// patch_system_prompt for anything less than a rewrite that was asked for.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Input {
    /// The whole new system prompt, at most 100 000 characters.
    system_prompt: String,
}

/// The tool.
pub struct UpdateSystemPrompt;

impl Tool for UpdateSystemPrompt {
    type Input = Input;
    const NAME: &'static str = "update_system_prompt";
    const EFFECT: Effect = Effect::Writes;

    async fn run(&self, input: Input, desk: &CallDesk<'_>) -> Result<ToolOutput, ToolError> {
        let persona = desk.persona().await?;
        let entity = Entity::from(&persona.id);
        if desk.share(&entity) == Share::Part {
            let told = "You were shown only the beginning of the system prompt, so replacing it whole \
                        would lose the rest. Change passages with patch_system_prompt.";
            return Err(ToolError::TellModel(told.into()));
        }
        let change = Change::new(&persona.id, Op::Update)
            .set("systemPrompt", input.system_prompt)
            .based_on(desk.base(&entity, persona.revision));
        let outcome = desk.submit(change).await?;
        Ok(written(&outcome, "The system prompt was replaced."))
    }
}
