//! What a persona's agent can be asked to make better.

use serde::{Deserialize, Serialize};

use super::{error::ApiError, field::TextField};

/// What a person adds to the request.
pub const WISH: TextField = TextField { name: "words", label: "The wish", max_chars: 2000 };
/// How every such request begins, so that whoever reads it knows it for one.
pub const OPENING: &str = "Improve this persona: ";
/// What stands before what a person adds to one of our requests.
pub const MIND: &str = "Mind this: ";

/// What shall become better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Enhancement {
    /// How it speaks.
    #[default]
    Voice,
    /// How much it takes to say who it is.
    Prompt,
    /// What it is tried on.
    TestInputs,
    /// What denies itself.
    Contradictions,
    /// What the person says.
    Own,
}

impl Enhancement {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Voice, Self::Prompt, Self::TestInputs, Self::Contradictions, Self::Own];

    /// The word in a form.
    pub fn word(self) -> &'static str {
        match self {
            Self::Voice => "voice",
            Self::Prompt => "prompt",
            Self::TestInputs => "test_inputs",
            Self::Contradictions => "contradictions",
            Self::Own => "own",
        }
    }

    /// What a person calls it.
    pub fn label(self) -> &'static str {
        match self {
            Self::Voice => "Clearer voice",
            Self::Prompt => "Tighter prompt",
            Self::TestInputs => "Better test inputs",
            Self::Contradictions => "Find contradictions",
            Self::Own => "Your own wish",
        }
    }

    /// What it is about, in a few words.
    pub fn hint(self) -> &'static str {
        match self {
            Self::Voice => "how it speaks, shown rather than named",
            Self::Prompt => "the same in fewer words",
            Self::TestInputs => "what real people would say to it",
            Self::Contradictions => "rules that deny each other",
            Self::Own => "said below",
        }
    }

    /// What is asked for, in plain words.
    pub fn request(self) -> &'static str {
        match self {
            Self::Voice => "give it a clearer voice.",
            Self::Prompt => "say the same with a tighter system prompt.",
            Self::TestInputs => "write better test inputs for it.",
            Self::Contradictions => "find rules in it that contradict each other, and settle them.",
            Self::Own => "",
        }
    }

    /// The request with what the person adds.
    pub fn asked(self, words: &str) -> Result<String, ApiError> {
        WISH.check(words)?;
        let request = self.request();
        match (self, words.trim()) {
            (Self::Own, "") => {
                Err(ApiError::invalid(WISH.name, "Say what should become better, or choose one."))
            }
            (Self::Own, words) => Ok(format!("{OPENING}{words}")),
            (_, "") => Ok(format!("{OPENING}{request}")),
            (_, words) => Ok(format!("{OPENING}{request} {MIND}{words}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_says_what_was_chosen_and_what_was_added() {
        let asked = |enhancement: Enhancement, words| enhancement.asked(words).unwrap();

        assert_eq!(
            asked(Enhancement::Voice, " "),
            "Improve this persona: give it a clearer voice."
        );
        assert_eq!(
            asked(Enhancement::Voice, "No jokes."),
            "Improve this persona: give it a clearer voice. Mind this: No jokes."
        );
        assert_eq!(asked(Enhancement::Own, "Be warmer."), "Improve this persona: Be warmer.");
        assert!(Enhancement::Own.asked("").is_err());
        assert!(Enhancement::Voice.asked(&"x".repeat(2001)).is_err());
    }
}
