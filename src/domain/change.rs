//! A change: the only way in which anything is ever modified.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    field::{TextField, unix_lines},
    id::{ChangeId, ConversationId, PageId, PersonaId, RefId, TaskId, TestInputId, is_wellformed},
    persona::PersonaFields,
    proposal::Sources,
    version::Revision,
};

/// Field names and values, as JSON names them.
pub type Fields = Map<String, Value>;

/// The kinds of things that changes are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EntityKind {
    /// A persona.
    Persona,
    /// A test input of a persona.
    TestInput,
    /// A page.
    Page,
    /// A ref: a text from elsewhere.
    Ref,
    /// A task.
    Task,
    /// A chat.
    Chat,
}

impl EntityKind {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Persona, Self::TestInput, Self::Page, Self::Ref, Self::Task, Self::Chat];

    /// The word in JSON and in the database.
    pub fn word(self) -> &'static str {
        match self {
            Self::Persona => "persona",
            Self::TestInput => "test_input",
            Self::Page => "page",
            Self::Ref => "ref",
            Self::Task => "task",
            Self::Chat => "chat",
        }
    }

    /// What a person calls it.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Persona => "persona",
            Self::TestInput => "test input",
            Self::Page => "page",
            Self::Ref => "ref",
            Self::Task => "task",
            Self::Chat => "chat",
        }
    }

    /// What a person calls many of them, at the start of a sentence.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Persona => "Personas",
            Self::TestInput => "Test inputs",
            Self::Page => "Pages",
            Self::Ref => "Refs",
            Self::Task => "Tasks",
            Self::Chat => "Chats",
        }
    }

    /// The folder that its pages stand in; a test input stands on its persona's page.
    pub fn folder(self) -> Option<&'static str> {
        match self {
            Self::Persona => Some("personas"),
            Self::Page => Some("pages"),
            Self::Ref => Some("refs"),
            Self::Task => Some("tasks"),
            Self::Chat => Some("chats"),
            Self::TestInput => None,
        }
    }

    /// The kind with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// The thing that a change is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Entity {
    /// What kind of thing.
    #[serde(rename = "entityType")]
    pub kind: EntityKind,
    /// Which one.
    #[serde(rename = "entityId")]
    pub id: String,
}

impl Entity {
    /// The page on which it is edited.
    pub fn path(&self) -> Option<String> {
        self.kind.folder().map(|folder| format!("/{folder}/{}", self.id))
    }

    /// What the page with this address is about.
    pub fn at(path: &str) -> Option<Self> {
        let mut steps = path.trim_matches('/').split('/');
        let (folder, id) = (steps.next()?, steps.next()?);
        let kind = EntityKind::ALL.into_iter().find(|kind| kind.folder() == Some(folder))?;
        is_wellformed(id).then(|| Self::new(kind, id))
    }

    /// The thing with this identifier. An identifier that cannot be ours names nothing.
    pub fn new(kind: EntityKind, id: &str) -> Self {
        Self { kind, id: if is_wellformed(id) { id.to_owned() } else { String::new() } }
    }
}

macro_rules! entities {
    ($($id:ident => $kind:ident),*) => {$(
        impl From<&$id> for Entity {
            fn from(id: &$id) -> Self {
                Self { kind: EntityKind::$kind, id: id.to_string() }
            }
        }
    )*};
}

entities! {
    PersonaId => Persona, TestInputId => TestInput, PageId => Page, RefId => Ref, TaskId => Task,
    ConversationId => Chat
}

/// What a change does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// Makes a new thing; the patch is all of it.
    Create,
    /// Writes the fields in the patch.
    Update,
    /// Moves it to the bin.
    Delete,
    /// Takes it out of the bin.
    Restore,
    /// Removes it from the bin for good. The one change that cannot be undone.
    Purge,
    /// Points a label at a version, or takes it away: `{label, revision or null}`.
    Label,
    /// Makes a version public, or takes it away: `{publication or null}`.
    Publish,
}

impl Op {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Create,
        Self::Update,
        Self::Delete,
        Self::Restore,
        Self::Purge,
        Self::Label,
        Self::Publish,
    ];

    /// The word in JSON and in the database.
    pub fn word(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Restore => "restore",
            Self::Purge => "purge",
            Self::Label => "label",
            Self::Publish => "publish",
        }
    }

    /// The operation with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|op| op.word() == word)
    }
}

/// Where a change stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeState {
    /// Waits for a person.
    Pending,
    /// Done.
    Applied,
    /// A person said no.
    Rejected,
    /// A later proposal took its place.
    Superseded,
    /// Nobody decided in time.
    Expired,
    /// Approved, but what it was written against has moved.
    Conflict,
}

impl ChangeState {
    /// All of them, in the order in which lists offer them.
    pub const ALL: [Self; 6] = [
        Self::Pending,
        Self::Conflict,
        Self::Applied,
        Self::Rejected,
        Self::Superseded,
        Self::Expired,
    ];

    /// What a person calls it.
    pub fn label(self) -> &'static str {
        match self {
            Self::Pending => "Waiting",
            Self::Applied => "Accepted",
            Self::Rejected => "Rejected",
            Self::Superseded => "Replaced",
            Self::Expired => "Expired",
            Self::Conflict => "In conflict",
        }
    }

    /// The word in JSON and in the database.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Applied => "applied",
            Self::Rejected => "rejected",
            Self::Superseded => "superseded",
            Self::Expired => "expired",
            Self::Conflict => "conflict",
        }
    }

    /// The state with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.word() == word)
    }
}

/// Why somebody changed something, in their words.
pub const REASON: TextField = TextField { name: "reason", label: "The reason", max_chars: 500 };

/// What somebody wants to change.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// What it is about.
    pub entity: Entity,
    /// What it does.
    pub op: Op,
    /// The fields it writes.
    pub patch: Fields,
    /// The version it was written against; `None` means whatever is there now.
    pub base: Option<Revision>,
    /// Why, in the author's words.
    pub reason: String,
    /// The change that this one takes back.
    pub undoes: Option<ChangeId>,
    /// What its author had read before that nobody here wrote.
    pub untrusted: Sources,
}

impl Change {
    /// A change with nothing in its patch.
    pub fn new(entity: impl Into<Entity>, op: Op) -> Self {
        Self {
            entity: entity.into(),
            op,
            patch: Fields::new(),
            base: None,
            reason: String::new(),
            undoes: None,
            untrusted: Sources::default(),
        }
    }

    /// The same change, writing these fields.
    pub fn with(mut self, patch: Fields) -> Self {
        self.patch = patch;
        self
    }

    /// The same change, setting one field.
    pub fn set(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.patch.insert(field.to_owned(), value.into());
        self
    }

    /// The same change, written against this version.
    pub fn based_on(mut self, base: impl Into<Option<Revision>>) -> Self {
        self.base = base.into();
        self
    }

    /// The same change, with a reason.
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = reason.into();
        self
    }
}

/// What came of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// The change; `null` when there was nothing to change.
    pub change_id: Option<ChangeId>,
    /// Applied, waiting, or in conflict with what was changed since its author read it.
    pub state: ChangeState,
    /// The revision of the thing after it.
    pub revision: Revision,
}

/// Two people (or a person and a persona) wrote the same passage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Conflict {
    /// The field, as JSON names it.
    pub field: String,
    /// What the change would have written.
    pub yours: String,
    /// What is there now.
    pub theirs: String,
    /// What both started from.
    pub base: String,
    /// The revision that `theirs` is.
    pub revision: Revision,
}

impl Conflict {
    /// What a person calls the field.
    pub fn label(&self) -> &str {
        field_label(&self.field)
    }
}

/// What a person calls a field that JSON names so.
pub fn field_label(field: &str) -> &str {
    match field {
        "systemPrompt" => "system prompt",
        "roleplayData" => "roleplay data",
        "content" => "test input",
        "body" => "text",
        "url" => "address",
        "due" => "due date",
        "fetchedAt" => "time of fetching",
        "members" => "version of the persona",
        other => other,
    }
}

/// The fields of a form, which knows only texts: an empty day is none, a line has no spaces around it,
/// and tools are parted by commas.
pub fn from_form(form: BTreeMap<String, String>) -> Fields {
    let value = |field: &str, text: &str| match field {
        "due" if text.trim().is_empty() => Value::Null,
        "title" | "url" | "due" => text.trim().into(),
        "tools" => PersonaFields::parse_tools(text).into(),
        _ => unix_lines(text).into(),
    };
    form.into_iter().map(|(field, text)| (field.clone(), value(&field, &text))).collect()
}
