//! Changing passages of the system prompt.

use schemars::JsonSchema;
use serde::Deserialize;

use super::written;
use crate::{
    agent::{
        desk::CallDesk,
        tool::{Effect, Tool, ToolError, ToolOutput},
    },
    domain::change::{Change, Op},
};

/// The most passages in one call.
const MAX_EDITS: usize = 100;

/// Replaces passages of the persona's system prompt and leaves the rest exactly as it is. Prefer this
/// to replacing the prompt whole. To add something, find the passage it should follow and replace it
/// with itself and the addition.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The passages to replace, in order; all of them or none.
    edits: Vec<Edit>,
}

/// One passage.
#[derive(Deserialize, JsonSchema)]
pub struct Edit {
    /// The passage as it stands, letter by letter. It must occur exactly once.
    find: String,
    /// What stands there afterwards; empty to remove the passage.
    replace: String,
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

/// The prompt with all passages replaced, or why that cannot be.
fn patched(prompt: &str, edits: &[Edit]) -> Result<String, String> {
    if edits.is_empty() || edits.len() > MAX_EDITS {
        return Err(format!("Give 1 to {MAX_EDITS} edits."));
    }
    let mut text = prompt.to_owned();
    for Edit { find, replace } in edits {
        if find.is_empty() {
            return Err("The passage to find must not be empty.".into());
        }
        let shown: String = find.chars().take(80).collect();
        match text.matches(find.as_str()).count() {
            1 => text = text.replacen(find.as_str(), replace, 1),
            0 => {
                return Err(format!(
                    "The passage “{shown}” does not occur in the system prompt. Nothing was \
                     changed. Read the prompt and copy the passage exactly."
                ));
            }
            times => {
                return Err(format!(
                    "The passage “{shown}” occurs {times} times. Nothing was changed. Give more of \
                     its surroundings so that it occurs once."
                ));
            }
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(find: &str, replace: &str) -> Edit {
        Edit { find: find.into(), replace: replace.into() }
    }

    #[test]
    fn passages_are_replaced_in_order_and_the_rest_stays() {
        let edits = [edit("kind", "warm"), edit("warm.", "warm.\nBe brief.")];

        assert_eq!(patched("Be kind.\nAlways.", &edits), Ok("Be warm.\nBe brief.\nAlways.".into()));
    }

    #[test]
    fn a_passage_that_is_not_there_once_changes_nothing() {
        assert!(patched("a b", &[edit("c", "d")]).unwrap_err().contains("does not occur"));
        assert!(patched("a a", &[edit("a", "d")]).unwrap_err().contains("2 times"));
        assert!(patched("a", &[edit("", "d")]).is_err());
        assert!(patched("a", &[]).is_err());
    }
}
