//! A chat: a conversation with a persona as it was at one version, kept as a tree of messages.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    error::ApiError,
    field::TextField,
    id::{ConversationId, MessageId, PersonaId},
    persona::{MODEL, RoleplayData},
    timestamp::Timestamp,
    version::Revision,
};

/// What a chat is called before anybody gave it a title.
pub const NEW_TITLE: &str = "New chat";
/// What a persona is called in its chats once it is removed for good.
pub const GONE_PERSONA: &str = "Somebody who is gone";
/// The title: a line of up to 200 characters.
pub const TITLE: TextField = TextField { name: "title", label: "The title", max_chars: 200 };
/// The fewest messages that go to the model.
pub const MIN_WINDOW: u32 = 10;
/// The most messages that go to the model.
pub const MAX_WINDOW: u32 = 20;
/// What a person calls the setting of the model.
pub const MODEL_SETTING: &str = "the model";
/// What a person calls the setting of the window.
pub const WINDOW_SETTING: &str = "the number of messages";
/// What settings are called that may not fit.
pub const SETTINGS: [&str; 5] =
    [MODEL_SETTING, WINDOW_SETTING, "your name", "your appearance", "your overview"];
/// The most messages of a file that a chat is made from.
pub const MAX_FILE_MESSAGES: usize = 100_000;
/// How large such a file may be.
pub const MAX_FILE_MIB: usize = 128;
/// The most personas that a chat may have.
pub const MAX_MEMBERS: usize = 8;
const USER_NAME: TextField =
    TextField { name: "settings.userPersona.name", label: "Your name", max_chars: 100 };
const USER_APPEARANCE: TextField = TextField {
    name: "settings.userPersona.appearance",
    label: "Your appearance",
    max_chars: 2000,
};
const USER_OVERVIEW: TextField =
    TextField { name: "settings.userPersona.overview", label: "Your overview", max_chars: 4000 };

/// How a persona speaks in a chat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChatMode {
    /// Turn by turn, in character.
    #[default]
    Roleplay,
    /// As long narration.
    Story,
}

impl ChatMode {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Roleplay, Self::Story];

    /// The word in JSON and in the database.
    pub fn word(self) -> &'static str {
        match self {
            Self::Roleplay => "roleplay",
            Self::Story => "story",
        }
    }

    /// What a person calls it.
    pub fn label(self) -> &'static str {
        match self {
            Self::Roleplay => "Roleplay",
            Self::Story => "Story",
        }
    }

    /// The mode with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.word() == word)
    }
}

/// How several personas answer one message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Answering {
    /// One after another: each has read those before it.
    #[default]
    InTurn,
    /// All at once: each has read the message only.
    InParallel,
}

impl Answering {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::InTurn, Self::InParallel];

    /// The word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::InTurn => "in_turn",
            Self::InParallel => "in_parallel",
        }
    }

    /// What a person calls it.
    pub fn label(self) -> &'static str {
        match self {
            Self::InTurn => "In turn",
            Self::InParallel => "In parallel",
        }
    }

    /// The one with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|answering| answering.word() == word)
    }
}

/// Who gave a chat its title.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TitledBy {
    /// Nobody yet.
    #[default]
    New,
    /// A model, after the first answer.
    Model,
    /// A person: no model writes another one over it.
    Person,
}

impl TitledBy {
    /// The word in JSON and in the database.
    pub fn word(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Model => "model",
            Self::Person => "person",
        }
    }
}

/// Who the person is in a chat.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct UserPersona {
    /// What the persona calls them, up to 100 characters.
    pub name: String,
    /// How they look, up to 2000 characters.
    pub appearance: String,
    /// Who they are, up to 4000 characters.
    pub overview: String,
}

impl UserPersona {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        [&self.name, &self.appearance, &self.overview].iter().all(|text| text.trim().is_empty())
    }
}

/// What can be set for one chat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ChatSettings {
    /// The model string; empty means the persona's own.
    pub model: String,
    /// Who the person is.
    pub user_persona: UserPersona,
    /// How many of the last messages go to the model: 10 to 20.
    pub window: u32,
    /// Whether answers get pictures.
    pub images: bool,
    /// How several personas answer one message.
    pub answers: Answering,
}

impl Default for ChatSettings {
    fn default() -> Self {
        let user_persona = UserPersona::default();
        let answers = Answering::default();
        Self { model: String::new(), user_persona, window: MAX_WINDOW, images: true, answers }
    }
}

impl ChatSettings {
    /// Refuses what settings cannot be. Whether there is such a model is for others to say.
    pub fn check(&self) -> Result<(), ApiError> {
        MODEL.check(&self.model).map_err(|error| in_settings(error, "model"))?;
        USER_NAME.check(&self.user_persona.name)?;
        USER_APPEARANCE.check(&self.user_persona.appearance)?;
        USER_OVERVIEW.check(&self.user_persona.overview)?;
        if !(MIN_WINDOW..=MAX_WINDOW).contains(&self.window) {
            let rule =
                format!("Between {MIN_WINDOW} and {MAX_WINDOW} messages can go to the model.");
            return Err(ApiError::invalid("settings.window", rule));
        }
        Ok(())
    }
}

impl ChatSettings {
    /// As much of these settings as can be, each by itself, and what the others are called.
    pub fn fitting(self) -> (Self, Vec<&'static str>) {
        type Take = fn(&mut ChatSettings, &ChatSettings);
        const TAKES: [Take; 5] = [
            |kept, from| kept.model.clone_from(&from.model),
            |kept, from| kept.window = from.window,
            |kept, from| {
                kept.user_persona.name.clone_from(&from.user_persona.name);
            },
            |kept, from| {
                kept.user_persona.appearance.clone_from(&from.user_persona.appearance);
            },
            |kept, from| {
                kept.user_persona.overview.clone_from(&from.user_persona.overview);
            },
        ];
        let (images, answers) = (self.images, self.answers);
        let mut kept = Self { images, answers, ..Self::default() };
        let mut left_out = Vec::new();
        for (name, take) in SETTINGS.into_iter().zip(TAKES) {
            let mut tried = kept.clone();
            take(&mut tried, &self);
            match tried.check() {
                Ok(()) => kept = tried,
                Err(_) => left_out.push(name),
            }
        }
        (kept, left_out)
    }
}

/// An error of a field that stands in the settings.
pub fn in_settings(error: ApiError, field: &str) -> ApiError {
    match error {
        ApiError::Invalid { rule, .. } => ApiError::invalid(format!("settings.{field}"), rule),
        other => other,
    }
}

impl From<ChatSettings> for SettingsPatch {
    fn from(settings: ChatSettings) -> Self {
        Self {
            model: Some(settings.model),
            user_persona: Some(settings.user_persona),
            window: Some(settings.window),
            images: Some(settings.images),
            answers: Some(settings.answers),
        }
    }
}

/// Some settings of a chat: what is left out stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SettingsPatch {
    /// The model string; empty means the persona's own.
    pub model: Option<String>,
    /// Who the person is.
    pub user_persona: Option<UserPersona>,
    /// How many of the last messages go to the model: 10 to 20.
    pub window: Option<u32>,
    /// Whether answers get pictures.
    pub images: Option<bool>,
    /// How several personas answer one message.
    pub answers: Option<Answering>,
}

impl SettingsPatch {
    /// The settings with what is said here.
    pub fn over(self, settings: ChatSettings) -> ChatSettings {
        ChatSettings {
            model: self.model.unwrap_or(settings.model),
            user_persona: self.user_persona.unwrap_or(settings.user_persona),
            window: self.window.unwrap_or(settings.window),
            images: self.images.unwrap_or(settings.images),
            answers: self.answers.unwrap_or(settings.answers),
        }
    }
}

/// A persona that speaks in a chat, as it was at a version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Member {
    /// The persona.
    pub persona_id: PersonaId,
    /// The version.
    pub revision: Revision,
}

/// What a version of a chat keeps: everything but what is said in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChatFields {
    /// What it is called.
    pub title: String,
    /// Who called it so.
    #[serde(default)]
    pub titled_by: TitledBy,
    /// How the personas speak.
    #[serde(default)]
    pub mode: ChatMode,
    /// What is set for it.
    #[serde(default)]
    pub settings: ChatSettings,
    /// Who speaks, in order.
    #[serde(default)]
    pub members: Vec<Member>,
}

impl ChatFields {
    /// Refuses what a chat cannot be.
    pub fn check(&self) -> Result<(), ApiError> {
        TITLE.check_line(&self.title)?;
        self.settings.check()?;
        if !(1..=MAX_MEMBERS).contains(&self.members.len()) {
            let rule = format!("A chat has 1 to {MAX_MEMBERS} personas.");
            return Err(ApiError::invalid("members", rule));
        }
        let twice = |(at, member): (usize, &Member)| {
            self.members[..at].iter().any(|other| other.persona_id == member.persona_id)
        };
        if self.members.iter().enumerate().any(twice) {
            let rule = "Each persona speaks in a chat only once.";
            return Err(ApiError::invalid("members", rule));
        }
        Ok(())
    }
}

/// A persona of a chat, beside what became of it since.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemberState {
    /// The persona.
    pub persona_id: PersonaId,
    /// What it was called at that version.
    pub name: String,
    /// The version that speaks here.
    pub revision: Revision,
    /// The version that the persona is at.
    pub current_revision: Revision,
    /// How many changes lie between them.
    pub changes: i64,
    /// Whether the persona lies in the bin, where nobody can speak.
    pub in_bin: bool,
    /// The model that the version names; empty means the default one.
    pub model: String,
    /// What roleplay knows of the version; `null` until it was made.
    pub roleplay_data: Option<RoleplayData>,
}

/// A chat as it is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Chat {
    /// The identifier.
    pub id: ConversationId,
    /// How often its title, mode, settings or personas were written.
    pub revision: Revision,
    /// What it is called.
    pub title: String,
    /// Who called it so.
    pub titled_by: TitledBy,
    /// How the personas speak.
    pub mode: ChatMode,
    /// What is set for it.
    pub settings: ChatSettings,
    /// The first persona.
    pub persona_id: PersonaId,
    /// The version of the first persona that speaks here.
    pub persona_revision: Revision,
    /// Who speaks, in order.
    pub members: Vec<MemberState>,
    /// The last message that was written, on whichever branch.
    pub leaf: Option<MessageId>,
    /// When it was begun.
    pub created_at: Timestamp,
    /// When it was last written in.
    pub updated_at: Timestamp,
}

/// A chat as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatSummary {
    /// The identifier.
    pub id: ConversationId,
    /// What it is called.
    pub title: String,
    /// How the personas speak.
    pub mode: ChatMode,
    /// The first persona.
    pub persona_id: PersonaId,
    /// What it was called at the version that speaks here.
    pub persona_name: String,
    /// What all that speak here are called, in order.
    pub persona_names: Vec<String>,
    /// When it was begun.
    pub created_at: Timestamp,
    /// When it was last written in.
    pub updated_at: Timestamp,
}

impl From<Chat> for ChatSummary {
    fn from(chat: Chat) -> Self {
        let names: Vec<String> = chat.members.into_iter().map(|member| member.name).collect();
        Self {
            id: chat.id,
            title: chat.title,
            mode: chat.mode,
            persona_id: chat.persona_id,
            persona_name: names.first().cloned().unwrap_or_default(),
            persona_names: names,
            created_at: chat.created_at,
            updated_at: chat.updated_at,
        }
    }
}

/// What is told about settings of a file that were left out.
pub fn told_left_out(names: &[&str]) -> Option<String> {
    (!names.is_empty()).then(|| {
        let names = names.join(", ");
        format!(
            "Of the settings in the file, these cannot be used here and were left out: {names}."
        )
    })
}

#[cfg(test)]
mod tests;
