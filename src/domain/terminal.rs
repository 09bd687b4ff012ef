//! Sessions of the terminal: what can be set for one, and who speaks in it.

mod meant;
mod record;

pub use meant::{NAMED_SESSIONS, meant};
pub use record::{
    HistoryEntry, Metadata, RecordedCall, RecordedResult, RecordedSource, SessionRecord,
    TokenCount, ToolUse, TurnRecord,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    error::ApiError,
    field::TextField,
    id::{ConversationId, MessageId, PersonaId, is_wellformed},
    message::Message,
    persona::{MODEL, SYSTEM_PROMPT},
    run::Run,
    timestamp::Timestamp,
};

/// What a session is called.
pub const DESCRIPTION: TextField =
    TextField { name: "description", label: "The description", max_chars: 200 };
/// Where a system prompt was read from.
const PROMPT_PATH: TextField =
    TextField { name: "systemPrompt.path", label: "The path", max_chars: 4096 };
/// How many exchanges a model is sent unless somebody says otherwise.
pub const WINDOW_SIZE: u32 = 20;
/// The most exchanges that a model can be sent.
pub const MAX_WINDOW_SIZE: u32 = 1000;
/// How the model string of a persona begins.
pub const PERSONA: &str = "persona:";

/// Who decides what of a conversation a model is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ManagerKind {
    /// The last exchanges, and nothing of those before.
    #[default]
    SlidingWindow,
    /// The last exchanges, and a summary of those before.
    Summarizing,
}

impl ManagerKind {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::SlidingWindow, Self::Summarizing];

    /// The word in JSON, in files and in the database.
    pub fn word(self) -> &'static str {
        match self {
            Self::SlidingWindow => "sliding_window",
            Self::Summarizing => "summarizing",
        }
    }

    /// The manager with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// Where a system prompt came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PromptSource {
    /// It was written where it was set.
    Inline,
    /// It was read from a file.
    File,
}

impl PromptSource {
    /// The word in JSON, in files and in the database.
    pub fn word(self) -> &'static str {
        match self {
            Self::Inline => "inline",
            Self::File => "file",
        }
    }

    /// The source with this word.
    pub fn from_word(word: &str) -> Self {
        if word == "file" { Self::File } else { Self::Inline }
    }
}

/// What a model is told before all else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SystemPrompt {
    /// The words.
    pub text: String,
    /// Where they came from.
    pub source: PromptSource,
    /// The file, as it was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

impl SystemPrompt {
    /// One that was written where it was set.
    pub fn inline(text: impl Into<String>) -> Self {
        Self { text: text.into(), source: PromptSource::Inline, path: None }
    }

    /// One that was read from a file.
    pub fn file(text: impl Into<String>, path: impl Into<String>) -> Self {
        Self { text: text.into(), source: PromptSource::File, path: Some(path.into()) }
    }
}

/// What a session speaks with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TerminalSettings {
    /// The model string, or `persona:ID` with `@LABEL` for a labelled version.
    pub model: String,
    /// How many exchanges the model is sent.
    pub window_size: u32,
    /// Whether long results of tools are cut in the exchanges before the last one.
    pub should_truncate_results: bool,
    /// Who decides what is sent.
    #[serde(default)]
    pub conversation_manager: ManagerKind,
    /// What the model is told before all else; a persona's own prompt without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<SystemPrompt>,
}

impl Default for TerminalSettings {
    fn default() -> Self {
        Self {
            model: String::new(),
            window_size: WINDOW_SIZE,
            should_truncate_results: true,
            conversation_manager: ManagerKind::default(),
            system_prompt: None,
        }
    }
}

/// A session as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalSession {
    /// The identifier, a random UUID.
    pub id: ConversationId,
    /// What it is called; may be empty.
    pub description: String,
    /// What it speaks with.
    pub settings: TerminalSettings,
    /// How often a person said something.
    pub turns: u32,
    /// The last message; `null` while nothing is said.
    pub leaf: Option<MessageId>,
    /// When it was begun.
    pub created_at: Timestamp,
    /// When something was last said or set.
    pub updated_at: Timestamp,
    /// When it was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<Timestamp>,
}

impl TerminalSession {
    /// What people read where it has no description.
    pub fn title(&self) -> String {
        titled(&self.id, &self.description)
    }
}

/// What people read of a session: its description, or how its identifier begins.
pub fn titled(id: &ConversationId, description: &str) -> String {
    match description.trim() {
        "" => format!("Session {}", short(id)),
        description => description.to_owned(),
    }
}

/// The beginning of an identifier, for people.
pub fn short(id: &ConversationId) -> &str {
    id.as_str().get(..8).unwrap_or(id.as_str())
}

/// What somebody sets for a session. What is left out stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TerminalChanges {
    /// What it is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The model string.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How many exchanges the model is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_size: Option<u32>,
    /// Whether long results of tools are cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub should_truncate_results: Option<bool>,
    /// Who decides what is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_manager: Option<ManagerKind>,
    /// What the model is told before all else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<SystemPrompt>,
}

impl TerminalChanges {
    /// Refuses what no session can have.
    pub fn check(&self) -> Result<(), ApiError> {
        if let Some(description) = self.description.as_deref().filter(|text| !text.is_empty()) {
            DESCRIPTION.check_line(description)?;
        }
        if let Some(model) = &self.model {
            MODEL.check_line(model)?;
        }
        if let Some(size) = self.window_size
            && !(1..=MAX_WINDOW_SIZE).contains(&size)
        {
            let rule = format!("The window has 1 to {MAX_WINDOW_SIZE} exchanges.");
            return Err(ApiError::invalid("windowSize", rule));
        }
        if let Some(prompt) = &self.system_prompt {
            SYSTEM_PROMPT.check(&prompt.text)?;
            if let Some(path) = &prompt.path {
                PROMPT_PATH.check_line(path)?;
            }
        }
        Ok(())
    }

    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What of it is different from what a session has. A prompt without words is none.
    pub fn beside(self, session: &TerminalSession) -> Self {
        let now = &session.settings;
        let prompt = self.system_prompt.filter(|prompt| {
            let wanted = Some(prompt).filter(|prompt| !prompt.text.is_empty());
            wanted != now.system_prompt.as_ref()
        });
        Self {
            description: self.description.filter(|text| *text != session.description),
            model: self.model.filter(|model| *model != now.model),
            window_size: self.window_size.filter(|size| *size != now.window_size),
            should_truncate_results: self
                .should_truncate_results
                .filter(|cut| *cut != now.should_truncate_results),
            conversation_manager: self
                .conversation_manager
                .filter(|manager| *manager != now.conversation_manager),
            system_prompt: prompt,
        }
    }

    /// What of it changes how a session answers: not what it is called, nor where the same words came from.
    pub fn for_history(self, session: &TerminalSession) -> Self {
        let known = session.settings.system_prompt.as_ref();
        let known = known.map(|prompt| prompt.text.as_str()).unwrap_or_default();
        let system_prompt = self.system_prompt.filter(|prompt| prompt.text != known);
        Self { description: None, system_prompt, ..self }
    }

    /// The settings with these in them.
    pub fn apply(&self, settings: &mut TerminalSettings) {
        let Self { model, window_size, should_truncate_results, .. } = self;
        if let Some(model) = model {
            settings.model = model.clone();
        }
        settings.window_size = window_size.unwrap_or(settings.window_size);
        settings.should_truncate_results =
            should_truncate_results.unwrap_or(settings.should_truncate_results);
        settings.conversation_manager =
            self.conversation_manager.unwrap_or(settings.conversation_manager);
        if let Some(prompt) = &self.system_prompt {
            // A prompt without words is none.
            settings.system_prompt = Some(prompt.clone()).filter(|prompt| !prompt.text.is_empty());
        }
    }
}

/// What a session is begun with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewTerminal {
    /// What it is called.
    #[serde(default)]
    pub description: String,
    /// What it speaks with unless something else is said.
    pub settings: TerminalSettings,
    /// What somebody said otherwise, for this session.
    #[serde(default)]
    pub overrides: TerminalChanges,
}

/// What was set for a session, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SettingsChange {
    /// When.
    pub at: Timestamp,
    /// What.
    pub set: TerminalChanges,
}

/// What of a conversation a model was not sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeftOut {
    /// How many exchanges from the beginning.
    pub exchanges: u32,
    /// How many messages that are.
    pub messages: u32,
    /// How many results of tools were cut.
    pub results_cut: u32,
    /// Whether a summary stands for the exchanges.
    pub summarized: bool,
}

impl LeftOut {
    /// For people; `None` when all of it is sent.
    pub fn told(self) -> Option<String> {
        let counted = |count: u32, one: &str| match count {
            1 => format!("1 {one}"),
            count => format!("{count} {one}s"),
        };
        let mut told = Vec::new();
        if self.exchanges > 0 {
            let instead = if self.summarized { ", told as a summary" } else { "" };
            told.push(format!(
                "{} left out ({}){instead}",
                counted(self.exchanges, "exchange"),
                counted(self.messages, "message")
            ));
        }
        if self.results_cut > 0 {
            told.push(format!("{} cut", counted(self.results_cut, "long tool result")));
        }
        (!told.is_empty()).then(|| told.join("; "))
    }
}

/// Something was said in a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Said {
    /// The run that answers.
    pub run: Run,
    /// What of the session the model is not sent.
    pub left_out: LeftOut,
    /// The tools that the persona names and that are not there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing_tools: Vec<String>,
}

/// The end of what was said in a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalTalk {
    /// The messages, the oldest first, the answer that is being given included.
    pub messages: Vec<Message>,
    /// The last message before them.
    pub earlier: Option<MessageId>,
    /// The run that was last begun.
    pub run: Option<Run>,
}

impl TerminalTalk {
    /// The run that goes on.
    pub fn going_on(&self) -> Option<&Run> {
        self.run.as_ref().filter(|run| !run.status.is_over())
    }
}

/// Whom a model string means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// A model of the catalogue.
    Model(String),
    /// A persona, at its present version or at a labelled one.
    Persona(PersonaId, Option<String>),
}

impl Speaker {
    /// Reads a model string.
    pub fn parse(model: &str) -> Result<Self, ApiError> {
        let model = model.trim();
        let Some(named) = model.strip_prefix(PERSONA) else { return Ok(Self::Model(model.into())) };
        let (id, label) = match named.split_once('@') {
            Some((id, label)) => (id, Some(label.to_owned())),
            None => (named, None),
        };
        if !is_wellformed(id) || label.as_ref().is_some_and(String::is_empty) {
            let rule = "A persona is named as persona:ID or persona:ID@LABEL.";
            return Err(ApiError::invalid("model", rule));
        }
        Ok(Self::Persona(PersonaId::new(id), label))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_string_means_a_model_or_a_persona_at_a_version() {
        let persona = |id: &str, label: Option<&str>| {
            Speaker::Persona(PersonaId::new(id), label.map(str::to_owned))
        };

        assert_eq!(Speaker::parse(" gpt-5.1 ").unwrap(), Speaker::Model("gpt-5.1".into()));
        assert_eq!(Speaker::parse("ollama/a:b").unwrap(), Speaker::Model("ollama/a:b".into()));
        assert_eq!(Speaker::parse("persona:ann").unwrap(), persona("ann", None));
        assert_eq!(Speaker::parse("persona:ann@live").unwrap(), persona("ann", Some("live")));
        for odd in ["persona:", "persona:a b", "persona:ann@"] {
            assert!(Speaker::parse(odd).is_err(), "{odd}");
        }
    }

    #[test]
    fn only_what_differs_is_a_change_and_the_same_words_are_no_news() {
        let settings = TerminalSettings {
            model: "demo".into(),
            system_prompt: Some(SystemPrompt::inline("Be brief.")),
            ..TerminalSettings::default()
        };
        let session = TerminalSession {
            id: "a".into(),
            description: "Mine".into(),
            settings,
            turns: 0,
            leaf: None,
            created_at: Timestamp(0),
            updated_at: Timestamp(0),
            deleted_at: None,
        };
        let same = TerminalChanges {
            description: Some("Mine".into()),
            model: Some("demo".into()),
            window_size: Some(WINDOW_SIZE),
            system_prompt: session.settings.system_prompt.clone(),
            ..TerminalChanges::default()
        };
        let prompt = |prompt: SystemPrompt| TerminalChanges {
            system_prompt: Some(prompt),
            ..TerminalChanges::default()
        };
        let other = TerminalChanges { window_size: Some(3), ..same.clone() };

        assert!(same.beside(&session).is_empty());
        let other = other.beside(&session);
        assert_eq!(other, TerminalChanges { window_size: Some(3), ..TerminalChanges::default() });
        let moved = prompt(SystemPrompt::file("Be brief.", "a.md"));
        assert_eq!(moved.clone().beside(&session), moved, "it is known where it comes from");
        assert!(moved.for_history(&session).is_empty());
        let words = prompt(SystemPrompt::inline("Sing."));
        assert_eq!(words.clone().beside(&session).for_history(&session), words);
        let none = prompt(SystemPrompt::inline(""));
        let bare = TerminalSession { settings: TerminalSettings::default(), ..session.clone() };
        assert_eq!(none.clone().beside(&session).for_history(&session), none);
        assert!(none.beside(&bare).is_empty());
        let mut settings = session.settings;
        other.apply(&mut settings);
        assert_eq!(settings.window_size, 3);
    }

    #[test]
    fn people_read_what_a_model_is_not_sent() {
        let left = LeftOut { exchanges: 2, messages: 4, results_cut: 1, summarized: true };

        assert_eq!(LeftOut::default().told(), None);
        assert_eq!(
            left.told().unwrap(),
            "2 exchanges left out (4 messages), told as a summary; 1 long tool result cut"
        );
    }
}
