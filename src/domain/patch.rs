//! Passages of a text that are replaced, and the rest that stays exactly as it is.

use schemars::JsonSchema;
use serde::Deserialize;

/// The most passages at once.
pub const MAX_EDITS: usize = 100;

/// One passage.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Edit {
    /// The passage as it stands, letter by letter. It must occur exactly once.
    pub find: String,
    /// What stands there afterwards; empty to remove the passage.
    pub replace: String,
}

/// Where a passage stands that occurs exactly once; otherwise how often it occurs. Two that overlap are two as
/// well: “aa” stands twice in “aaa”.
pub fn only_place(text: &str, passage: &str) -> Result<usize, usize> {
    match (text.find(passage), text.rfind(passage)) {
        (Some(first), Some(last)) if first == last => Ok(first),
        (None, _) | (_, None) => Err(0),
        (Some(_), Some(_)) => Err(text.matches(passage).count().max(2)),
    }
}

/// The prompt with all passages replaced, or why that cannot be.
pub fn patched(prompt: &str, edits: &[Edit]) -> Result<String, String> {
    if edits.is_empty() || edits.len() > MAX_EDITS {
        return Err(format!("Give 1 to {MAX_EDITS} edits."));
    }
    let mut text = prompt.to_owned();
    for Edit { find, replace } in edits {
        if find.is_empty() {
            return Err("The passage to find must not be empty.".into());
        }
        let shown: String = find.chars().take(80).collect();
        let at = only_place(&text, find).map_err(|times| match times {
            0 => format!(
                "The passage “{shown}” does not occur in the system prompt. Nothing was \
                 changed. Read the prompt and copy the passage exactly."
            ),
            times => format!(
                "The passage “{shown}” occurs {times} times. Nothing was changed. Give more of \
                 its surroundings so that it occurs once."
            ),
        })?;
        text.replace_range(at..at + find.len(), replace);
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
        assert!(patched("aaa", &[edit("aa", "d")]).unwrap_err().contains("2 times"));
        assert!(patched("a", &[edit("", "d")]).is_err());
        assert!(patched("a", &[]).is_err());
    }
}
