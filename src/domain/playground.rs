//! The playground: sessions with a persona that has tools, and the places in its prompt that are filled.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    error::ApiError,
    event::RunEvent,
    field::{TextField, unix_lines},
    id::{ConversationId, MessageId, PersonaId},
    persona::SYSTEM_PROMPT,
    timestamp::Timestamp,
    version::Revision,
};

/// What a session is called.
pub const TITLE: TextField = TextField { name: "title", label: "The title", max_chars: 200 };
/// What a session is called before somebody calls it otherwise.
pub const NEW_TITLE: &str = "New session";
/// What stands in for a variable.
pub const VALUE: TextField =
    TextField { name: "variables", label: "A variable", max_chars: 20_000 };
/// The most variables of a session.
pub const MAX_VARIABLES: usize = 50;
/// The longest name of one.
const MAX_NAME: usize = 64;

/// The tool that runs Python.
pub const EXECUTE: &str = "execute";
/// How it tells of a file that a program wrote or deleted, up to the path.
pub const CHANGED: [&str; 2] = ["It wrote “", "It deleted “"];
/// The tool that keeps a list of what is to be done.
pub const WRITE_TODOS: &str = "write_todos";
/// The tools that a persona can have, in the order in which they are offered.
pub const TOOLS: [(&str, &str); 9] = [
    ("ls", "List files"),
    ("read_file", "Read a file"),
    ("write_file", "Write a file"),
    ("edit_file", "Replace a passage of a file"),
    ("delete_file", "Delete a file"),
    ("glob", "Find files by name"),
    ("grep", "Search in files"),
    (WRITE_TODOS, "Keep a list of what is to be done"),
    (EXECUTE, "Run Python"),
];

/// What all answers of a session took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSpent {
    /// Tokens read.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
    /// Millionths of a dollar, as far as prices are known.
    pub micros: u64,
    /// How many answers have a price that is not known.
    pub unpriced: u64,
}

impl SessionSpent {
    /// Both together.
    pub fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            micros: self.micros.saturating_add(other.micros),
            unpriced: self.unpriced.saturating_add(other.unpriced),
        }
    }

    /// Adds what one asking of a model took, in an answer that is being given.
    pub fn add_step(&mut self, event: &RunEvent) {
        let RunEvent::StepEnded { usage, cost_micros, .. } = event else { return };
        self.input = self.input.saturating_add(usage.input.unwrap_or_default());
        self.output = self.output.saturating_add(usage.output.unwrap_or_default());
        match cost_micros {
            Some(micros) => self.micros = self.micros.saturating_add(*micros),
            None => self.unpriced = 1,
        }
    }
}

/// What stands in for the places in a prompt, by name.
pub type Variables = BTreeMap<String, String>;

/// A session as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlaygroundSession {
    /// The identifier.
    pub id: ConversationId,
    /// What it is called.
    pub title: String,
    /// Who speaks.
    pub persona_id: PersonaId,
    /// What that persona is called, at the version that speaks.
    pub persona_name: String,
    /// The version that speaks.
    pub persona_revision: Revision,
    /// The model; empty for the persona's own.
    pub model: String,
    /// What stands in for `{{name}}` in the prompt.
    pub variables: Variables,
    /// What is tried instead of the version's own prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// The last message of the branch in use; `null` while nothing is said on it.
    pub leaf: Option<MessageId>,
    /// When it was begun.
    pub created_at: Timestamp,
    /// When something was last said or set.
    pub updated_at: Timestamp,
    /// When it was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<Timestamp>,
}

/// What somebody sets for a session. What is left out stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionChanges {
    /// What it is called.
    #[serde(default)]
    pub title: Option<String>,
    /// The version that speaks.
    #[serde(default)]
    pub persona_revision: Option<Revision>,
    /// The model; empty for the persona's own.
    #[serde(default)]
    pub model: Option<String>,
    /// What stands in for `{{name}}` in the prompt: all of them.
    #[serde(default)]
    pub variables: Option<Variables>,
    /// What stands in for some of them; what is empty is taken away.
    #[serde(skip)]
    pub some_variables: Variables,
}

impl SessionChanges {
    /// Refuses what no session can have.
    pub fn check(&self) -> Result<(), ApiError> {
        if let Some(title) = &self.title {
            TITLE.check_line(title)?;
        }
        match &self.variables {
            Some(variables) => check_variables(variables),
            None => Ok(()),
        }
    }

    /// Sets them, and leaves what they do not name.
    pub fn apply(&self, session: &mut PlaygroundSession) -> Result<(), ApiError> {
        if let Some(title) = &self.title {
            session.title = title.trim().to_owned();
        }
        if let Some(revision) = self.persona_revision {
            session.persona_revision = revision;
        }
        if let Some(model) = &self.model {
            session.model.clone_from(model);
        }
        if let Some(variables) = &self.variables {
            session.variables.clone_from(variables);
        }
        if !self.some_variables.is_empty() {
            session.variables.extend(self.some_variables.clone());
            session.variables.retain(|_, value| !value.is_empty());
            check_variables(&session.variables)?;
        }
        Ok(())
    }
}

/// What stands before a variable's name in a form, where a name that begins with a digit would be read as a
/// place in a list.
const MARK: char = '_';

/// What a form calls the field of a variable.
pub fn variable_field(name: &str) -> String {
    format!("variables[{MARK}{name}]")
}

/// What the fields of a form stand for.
pub fn variables_of_form(fields: Variables) -> Variables {
    let named = fields.into_iter().map(|(field, value)| {
        let name = field.strip_prefix(MARK).unwrap_or(&field);
        (name.to_owned(), unix_lines(&value))
    });
    named.collect()
}

/// Refuses names that no place can have, and values that are too long.
pub fn check_variables(variables: &Variables) -> Result<(), ApiError> {
    if variables.len() > MAX_VARIABLES {
        let rule = format!("A session has at most {MAX_VARIABLES} variables.");
        return Err(ApiError::invalid(VALUE.name, rule));
    }
    for (name, value) in variables {
        if !is_name(name) {
            let rule = "A variable's name has letters, digits, dashes, dots and underscores.";
            return Err(ApiError::invalid(VALUE.name, rule));
        }
        VALUE.check(value)?;
    }
    Ok(())
}

fn is_name(text: &str) -> bool {
    (1..=MAX_NAME).contains(&text.len())
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-.".contains(letter))
}

/// The places of a text that are filled, as ranges with their names.
fn places(text: &str) -> impl Iterator<Item = (std::ops::Range<usize>, &str)> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let start = from + text[from..].find("{{")?;
            let inside = start + 2;
            // A name is short, so its end is near.
            let near = &text.as_bytes()[inside..text.len().min(inside + 2 * MAX_NAME)];
            let end = near.windows(2).position(|two| two == b"}}").map(|at| inside + at);
            if let Some(end) = end
                && let name = text[inside..end].trim()
                && is_name(name)
            {
                from = end + 2;
                return Some((start..from, name));
            }
            // Braces that belong to something else may hold the beginning of a place.
            from = start + 1;
        }
    })
}

/// The names of the places in a prompt, each once, in their order.
pub fn variables_in(prompt: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (_, name) in places(prompt) {
        if names.len() < MAX_VARIABLES && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// The prompt with its places filled. What nothing stands in for stays as it is written, and what is put
/// in is not looked through again.
pub fn filled(prompt: &str, variables: &Variables) -> String {
    let mut out = String::with_capacity(prompt.len());
    let mut from = 0;
    for (range, name) in places(prompt) {
        out.push_str(&prompt[from..range.start]);
        match variables.get(name).filter(|value| !value.is_empty()) {
            Some(value) => out.push_str(value),
            None => out.push_str(&prompt[range.clone()]),
        }
        from = range.end;
    }
    out.push_str(&prompt[from..]);
    out
}

/// Refuses a prompt that is tried and could not be a persona's.
pub fn check_prompt(prompt: &str) -> Result<(), ApiError> {
    SYSTEM_PROMPT.check(prompt)
}

/// Where something to be done stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Nobody began it.
    Pending,
    /// It is being done.
    InProgress,
    /// It is done.
    Completed,
}

impl TodoStatus {
    /// What a person calls it.
    pub fn label(self) -> &'static str {
        match self {
            Self::Pending => "to do",
            Self::InProgress => "doing",
            Self::Completed => "done",
        }
    }
}

/// Something that a persona wants to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Todo {
    /// What it is, in a line.
    pub content: String,
    /// Where it stands.
    pub status: TodoStatus,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_once_each_in_their_order() {
        let prompt = "Ask {{ name }} about {{topic}}; {{name}}. {{ }} {{a b}} {{{x}}} {{open";

        assert_eq!(variables_in(prompt), ["name", "topic", "x"]);
        assert_eq!(variables_in("nothing } here {{"), Vec::<String>::new());
    }

    #[test]
    fn places_are_filled_and_what_is_put_in_is_left_alone() {
        let variables: Variables = [("a", "{{b}}"), ("b", "two"), ("empty", "")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();

        assert_eq!(
            filled("{{a}} {{ b }} {{c}} {{empty}}é", &variables),
            "{{b}} two {{c}} {{empty}}é"
        );
        assert_eq!(filled("", &variables), "");
        assert_eq!(filled(&"{{".repeat(50_000), &variables).len(), 100_000);
    }

    #[test]
    fn odd_variables_are_refused() {
        let one = |name: &str, value: &str| Variables::from([(name.to_owned(), value.to_owned())]);

        assert_eq!(check_variables(&one("user.name-1", "x")), Ok(()));
        assert!(check_variables(&one("a b", "x")).is_err());
        assert!(check_variables(&one("", "x")).is_err());
        assert!(check_variables(&one("a", &"x".repeat(20_001))).is_err());
        let many = (0..51).map(|n| (n.to_string(), String::new())).collect();
        assert!(check_variables(&many).is_err());
    }
}
