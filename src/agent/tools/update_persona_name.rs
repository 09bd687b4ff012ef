//! Renaming the persona.

use schemars::JsonSchema;
use serde::Deserialize;

use super::written;
use crate::{
    agent::{
        desk::CallDesk,
        tool::{Effect, Tool, ToolError, ToolOutput},
    },
    domain::change::{Change, Entity, Op},
};

/// Changes the persona's display name.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The new name: one line, at most 200 characters.
    name: String,
}

/// The tool.
pub struct UpdatePersonaName;

impl Tool for UpdatePersonaName {
    type Input = Input;
    const NAME: &'static str = "update_persona_name";
    const EFFECT: Effect = Effect::Writes;

    async fn run(&self, input: Input, desk: &CallDesk<'_>) -> Result<ToolOutput, ToolError> {
        let persona = desk.persona().await?;
        let change = Change::new(&persona.id, Op::Update)
            .set("name", input.name.as_str())
            .based_on(desk.base_anew(&Entity::from(&persona.id), persona.revision));
        let outcome = desk.submit(change).await?;
        Ok(written(&outcome, &format!("The persona is called “{}” now.", input.name.trim())))
    }
}
