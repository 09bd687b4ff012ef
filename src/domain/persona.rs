//! A persona: anyone who speaks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    error::ApiError,
    field::TextField,
    id::{ConversationId, PersonaId, TestInputId, is_wellformed},
    timestamp::Timestamp,
    version::{Edited, Revision},
};

/// The name: a line of up to 200 characters.
pub const NAME: TextField = TextField { name: "name", label: "The name", max_chars: 200 };
/// The system prompt.
pub const SYSTEM_PROMPT: TextField =
    TextField { name: "systemPrompt", label: "The system prompt", max_chars: 100_000 };
/// The appearance.
pub const APPEARANCE: TextField =
    TextField { name: "appearance", label: "The appearance", max_chars: 10_000 };
/// The author's notes.
pub const NOTES: TextField = TextField { name: "notes", label: "The notes", max_chars: 20_000 };
/// The model string.
pub const MODEL: TextField = TextField { name: "model", label: "The model", max_chars: 200 };
/// The name of a tool.
pub const TOOL: TextField = TextField { name: "tools", label: "A tool's name", max_chars: 64 };
/// The most tools a persona may have.
pub const MAX_TOOLS: usize = 64;
/// A text of what roleplay knows.
pub const ROLEPLAY: TextField =
    TextField { name: "roleplayData", label: "The roleplay data", max_chars: 10_000 };

/// How far a persona's agent may go by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// It may look, and change nothing.
    Read,
    /// What it wants to change waits for a person's decision.
    #[default]
    Suggest,
    /// It changes its persona at once; every change can be undone.
    Act,
}

impl Tier {
    /// All of them, from the most careful on.
    pub const ALL: [Self; 3] = [Self::Read, Self::Suggest, Self::Act];

    /// The word in JSON, in the database and in a form.
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Suggest => "suggest",
            Self::Act => "act",
        }
    }

    /// What it means, in one sentence.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Read => "The agent may look, and change nothing.",
            Self::Suggest => "What the agent wants to change waits for your decision.",
            Self::Act => "The agent changes this persona at once; you can undo every change.",
        }
    }

    /// The tier with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tier| tier.word() == word)
    }
}

/// What a roleplay needs to know of a persona, drawn from its prompt once per version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RoleplayData {
    /// How the persona looks.
    pub appearance: String,
    /// Who the persona is, in a few sentences.
    pub summary: String,
}

/// What a person writes about a persona: exactly what a version keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PersonaFields {
    /// The name, up to 200 characters on one line.
    pub name: String,
    /// The system prompt, up to 100 000 characters.
    #[serde(default)]
    pub system_prompt: String,
    /// How it looks, for pictures and for chats.
    #[serde(default)]
    pub appearance: String,
    /// What its author wants to remember; never sent to a model.
    #[serde(default)]
    pub notes: String,
    /// The model string; empty means the default model.
    #[serde(default)]
    pub model: String,
    /// The names of the tools it may use.
    #[serde(default)]
    pub tools: Vec<String>,
    /// How far its agent may go by itself.
    #[serde(default)]
    pub tier: Tier,
    /// The identifier of the picture that is its face; empty for one that is drawn from its name.
    #[serde(default)]
    pub face: String,
    /// What roleplay needs to know, once it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roleplay_data: Option<RoleplayData>,
}

impl PersonaFields {
    /// Refuses what a persona cannot be.
    pub fn check(&self) -> Result<(), ApiError> {
        NAME.check_line(&self.name)?;
        SYSTEM_PROMPT.check(&self.system_prompt)?;
        APPEARANCE.check(&self.appearance)?;
        NOTES.check(&self.notes)?;
        MODEL.check(&self.model)?;
        if self.tools.len() > MAX_TOOLS {
            return Err(ApiError::invalid(
                TOOL.name,
                format!("A persona may have at most {MAX_TOOLS} tools."),
            ));
        }
        for tool in &self.tools {
            TOOL.check_line(tool)?;
            let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./:".contains(letter);
            if !tool.chars().all(plain) {
                return Err(ApiError::invalid(
                    TOOL.name,
                    format!("“{tool}” is no tool's name: letters, digits and _-./: only."),
                ));
            }
        }
        if !self.face.is_empty() && !is_wellformed(&self.face) {
            return Err(ApiError::invalid("face", "A face is the identifier of a picture."));
        }
        if let Some(data) = &self.roleplay_data {
            ROLEPLAY.check(&data.appearance)?;
            ROLEPLAY.check(&data.summary)?;
        }
        Ok(())
    }

    /// Tools as a form writes them: names parted by commas, spaces or lines.
    pub fn parse_tools(text: &str) -> Vec<String> {
        let mut tools = Vec::<String>::new();
        for name in text.split([',', ' ', '\n', '\t']).filter(|name| !name.is_empty()) {
            if !tools.iter().any(|known| known == name) {
                tools.push(name.to_owned());
            }
        }
        tools
    }
}

/// A persona as it is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Persona {
    /// The identifier.
    pub id: PersonaId,
    /// The number of the version it is at.
    pub revision: Revision,
    /// What the version says.
    #[serde(flatten)]
    pub fields: PersonaFields,
    /// Its test inputs, in order.
    pub test_input_ids: Vec<TestInputId>,
    /// The conversation with its agent, once there was one.
    pub agent_chat_session_id: Option<ConversationId>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// A persona in an editor.
pub type EditedPersona = Edited<PersonaId, PersonaFields>;

impl From<Persona> for EditedPersona {
    fn from(persona: Persona) -> Self {
        Self { id: persona.id, revision: persona.revision, fields: persona.fields }
    }
}

/// A persona as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PersonaSummary {
    /// The identifier.
    pub id: PersonaId,
    /// The name.
    pub name: String,
    /// The first words of its system prompt.
    pub excerpt: String,
    /// The model string; empty means the default model.
    pub model: String,
    /// The identifier of the picture that is its face; empty for one that is drawn from its name.
    #[serde(default)]
    pub face: String,
    /// The number of the version it is at.
    pub revision: Revision,
    /// How many test inputs it has.
    pub test_inputs: i64,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// The first words of a prompt as a line of text: headings and marks of markdown are left out.
pub fn excerpt(prompt: &str) -> String {
    let lines = prompt.lines().map(str::trim).filter(|line| !line.starts_with(['#', '|']));
    let plain = lines.map(|line| line.trim_start_matches(['-', '*', '>', ' ']));
    let text = plain.collect::<Vec<_>>().join(" ").replace(['*', '`'], "");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_what_the_prompt_says_without_its_marks() {
        assert_eq!(
            excerpt("# Optimist\n\nYou **look** for\n- what can `still` be done\n"),
            "You look for what can still be done"
        );
    }

    #[test]
    fn tools_in_a_form_are_split_and_kept_once() {
        assert_eq!(
            PersonaFields::parse_tools("ls, grep\nls  read_file,"),
            ["ls", "grep", "read_file"]
        );
    }

    #[test]
    fn a_prompt_may_have_a_hundred_thousand_characters_and_no_more() {
        let with = |chars: usize| PersonaFields {
            name: "Long".into(),
            system_prompt: "ä".repeat(chars),
            ..Default::default()
        };

        assert_eq!(with(100_000).check(), Ok(()));
        assert_eq!(with(100_001).check().unwrap_err().status(), 422);
    }
}
