//! Reading the persona.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    agent::{
        desk::{CallDesk, Heard, Share, ToolDesk},
        is_from_elsewhere,
        tool::{Effect, PASSAGE_CHARS, Tool, ToolError, ToolOutput, bounded},
    },
    domain::{
        change::Entity,
        id::TestInputId,
        persona::{Persona, Tier},
        proposal::Source,
        version::Revision,
    },
};

/// Reads the persona as it is now: its name, its system prompt, its appearance, notes, model and tier, and
/// the ids of its test inputs. Read it before you change the system prompt. A text that is too long for you
/// is cut, and says so at its end.
#[derive(Deserialize, JsonSchema)]
pub struct Input {}

/// What the model sees of a persona.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Seen {
    /// Which version it is, when the system prompt is whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<Revision>,
    name: String,
    system_prompt: String,
    appearance: String,
    notes: String,
    model: String,
    tier: Tier,
    test_input_ids: Vec<TestInputId>,
}

impl Seen {
    /// The same in so many bytes of JSON: the longest of its texts is cut, and then the next, until it fits.
    fn within(mut self, most: usize) -> (Self, Share) {
        let mut share = Share::Whole;
        loop {
            let length = json!(self).to_string().len();
            let prompt = self.system_prompt.len();
            let texts = [&mut self.system_prompt, &mut self.appearance, &mut self.notes];
            let longest = texts.into_iter().max_by_key(|text| text.len());
            let Some(text) = longest.filter(|text| length > most && text.len() > CUT_BYTES) else {
                return (self, share);
            };
            let kept = text.len().saturating_sub(length - most + CUT_BYTES);
            *text = bounded(std::mem::take(text), kept);
            if self.system_prompt.len() != prompt {
                (self.revision, share) = (None, Share::Part);
            }
        }
    }
}

/// What it takes to say at the end of a text that it was cut.
pub const CUT_BYTES: usize = 64;

/// The tool.
pub struct GetPersona;

impl Tool for GetPersona {
    type Input = Input;
    const NAME: &'static str = "get_persona";
    const EFFECT: Effect = Effect::Reads;

    async fn run(&self, _: Input, desk: &CallDesk<'_>) -> Result<ToolOutput, ToolError> {
        let persona = desk.persona().await?;
        let sources = hear_persona(desk, &persona).await?;
        let entity = Entity::from(&persona.id);
        let fields = persona.fields;
        let seen = Seen {
            revision: Some(persona.revision),
            name: fields.name,
            system_prompt: fields.system_prompt,
            appearance: fields.appearance,
            notes: fields.notes,
            model: fields.model,
            tier: fields.tier,
            test_input_ids: persona.test_input_ids,
        };
        let (seen, share) = seen.within(desk.most);
        desk.show_share(entity, persona.revision, share);
        Ok(ToolOutput { sources, ..ToolOutput::json(&seen) })
    }
}

/// Notes whether nobody here wrote what the persona is told, and names it then.
pub async fn hear_persona(desk: &ToolDesk, persona: &Persona) -> Result<Vec<Source>, ToolError> {
    let entity = Entity::from(&persona.id);
    let elsewhere = is_from_elsewhere(&mut desk.read().await?, &entity).await?;
    let source = elsewhere.then(|| Source {
        entity,
        title: persona.fields.name.clone(),
        passage: persona.fields.system_prompt.chars().take(PASSAGE_CHARS).collect(),
    });
    let sources: Vec<Source> = source.into_iter().collect();
    desk.hear(Heard::Read, sources.iter().cloned());
    Ok(sources)
}
