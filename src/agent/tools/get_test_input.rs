//! Reading one test input.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::get_persona::CUT_BYTES;
use crate::{
    agent::{
        desk::{CallDesk, Heard, Share, ToolDesk},
        is_from_elsewhere,
        tool::{Effect, PASSAGE_CHARS, Tool, ToolError, ToolOutput, bounded},
    },
    domain::{
        change::Entity, id::TestInputId, proposal::Source, test_input::TestInput, version::Revision,
    },
};

/// Reads one test input of the persona, whole. One that is too long for you is cut, and says so at its end.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The id, as list_test_inputs gives it.
    id: TestInputId,
}

#[derive(Serialize)]
struct Seen {
    id: TestInputId,
    content: String,
    /// Which version it is, when it is whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<Revision>,
}

/// The tool.
pub struct GetTestInput;

impl Tool for GetTestInput {
    type Input = Input;
    const NAME: &'static str = "get_test_input";
    const EFFECT: Effect = Effect::Reads;

    async fn run(&self, input: Input, desk: &CallDesk<'_>) -> Result<ToolOutput, ToolError> {
        let input = own_test_input(desk, &input.id).await?;
        let sources = hear_test_inputs(desk, std::slice::from_ref(&input)).await?;
        let (entity, revision) = (Entity::from(&input.id), input.revision);
        let mut seen =
            Seen { id: input.id, content: input.fields.content, revision: Some(revision) };
        let mut told = ToolOutput::json(&seen);
        let mut share = Share::Whole;
        if told.text.len() > desk.most {
            let over = told.text.len() - desk.most + CUT_BYTES;
            let kept = seen.content.len().saturating_sub(over);
            seen = Seen { content: bounded(seen.content, kept), revision: None, ..seen };
            (told, share) = (ToolOutput::json(&seen), Share::Part);
        }
        desk.show_share(entity, revision, share);
        Ok(ToolOutput { sources, ..told })
    }
}

/// Notes which of these test inputs nobody here wrote, and names them.
pub async fn hear_test_inputs(
    desk: &ToolDesk,
    inputs: &[TestInput],
) -> Result<Vec<Source>, ToolError> {
    let mut link = desk.read().await?;
    let mut sources = Vec::new();
    for input in inputs {
        let entity = Entity::from(&input.id);
        if is_from_elsewhere(&mut link, &entity).await? {
            let title = entity.kind.noun().to_owned();
            let passage = input.fields.content.chars().take(PASSAGE_CHARS).collect();
            sources.push(Source { entity, title, passage });
        }
    }
    desk.hear(Heard::Read, sources.iter().cloned());
    Ok(sources)
}

/// A test input of this persona: those of others do not exist here.
pub async fn own_test_input(desk: &ToolDesk, id: &TestInputId) -> Result<TestInput, ToolError> {
    let found = desk.read().await?.test_input(id).await?;
    if found.persona_id != desk.persona {
        return Err(ToolError::TellModel("That test input does not exist.".into()));
    }
    Ok(found)
}
