//! Chats as files: what a whole tree is as JSON, and making a chat from it.

use std::collections::{BTreeSet, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Agent, chat_lists,
    chat_restore::{Names, pour},
};
use crate::{
    changes::{Scope, to_fields},
    domain::{
        change::{Change, EntityKind, Op},
        chat::{
            Chat, ChatFields, ChatMode, ChatSettings, MAX_FILE_MESSAGES, MAX_MEMBERS, Member,
            NEW_TITLE, TitledBy, told_left_out,
        },
        error::ApiError,
        field::TextField,
        id::{ConversationId, PersonaId},
        message::{Part, PartBody, Role},
        persona::PersonaFields,
        timestamp::Timestamp,
        tree::MOMENT,
        version::Revision,
    },
    store::{Head, Link, StoreError, new_id},
};

/// What a file says it is.
pub(super) const FORMAT: &str = "greenroom-chat";
/// How files are written. Those of the first version have one persona, and do not say who spoke.
pub(super) const VERSION: u32 = 2;
/// What a model said: it may be longer than what a person may say, and a stopped answer has no words.
pub(super) const ANSWER: TextField =
    TextField { name: "content", label: "The message", max_chars: 500_000 };

/// A whole chat as a file.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatFile {
    /// `greenroom-chat`.
    pub format: String,
    /// How it is written: 2. Without one, it is 1.
    #[serde(default = "first_version")]
    pub version: u32,
    /// What it is called.
    #[serde(default)]
    pub title: String,
    /// How the persona speaks.
    #[serde(default)]
    pub mode: ChatMode,
    /// What is set for it.
    #[serde(default)]
    pub settings: ChatSettings,
    /// The persona; the first of several.
    pub persona_id: PersonaId,
    /// All personas, in order. Those that are not here when it is imported are left out.
    #[serde(default, deserialize_with = "chat_lists::of_members")]
    pub persona_ids: Vec<PersonaId>,
    /// The version of each of them, in the same order. One that is here speaks so when it is imported; any
    /// other speaks as it is now.
    #[serde(default, deserialize_with = "chat_lists::of_members")]
    pub persona_revisions: Vec<Revision>,
    /// The version of the first persona, for files that name no others.
    #[serde(default)]
    pub persona_revision: Revision,
    /// All messages, hidden ones included.
    #[serde(deserialize_with = "chat_lists::messages")]
    pub messages: Vec<FileMessage>,
}

/// A message in a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileMessage {
    /// Its name within the file.
    pub id: String,
    /// What it follows, by that name; `null` at the beginning.
    #[serde(default)]
    pub parent_id: Option<String>,
    /// Who says it.
    pub role: Role,
    /// The persona that says it; `null` for a person's words.
    #[serde(default)]
    pub persona_id: Option<PersonaId>,
    /// Its words.
    pub content: String,
    /// All it consists of, where that is more than its words. Of these, thoughts are read from a file.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "chat_lists::spoken_parts"
    )]
    pub parts: Vec<Part>,
    /// The model that said it.
    #[serde(default)]
    pub model: String,
    /// What a person calls this moment.
    #[serde(default)]
    pub label: String,
    /// Whether a person wants to find it again.
    #[serde(default)]
    pub bookmarked: bool,
    /// Whether it is hidden with all that follows it.
    #[serde(default)]
    pub pruned: bool,
    /// When it was said.
    #[serde(default)]
    pub created_at: Option<Timestamp>,
}

impl FileMessage {
    /// What it consists of, with a model's thoughts among it; `None` when there are none, or when it says
    /// something else than its words.
    pub(super) fn thoughtful(&self, at: Timestamp) -> Option<Vec<Part>> {
        let mut words = Vec::new();
        let mut parts = Vec::new();
        let mut thinks = false;
        for part in &self.parts {
            match &part.body {
                PartBody::Text(text) => words.push(text.as_str()),
                PartBody::Reasoning(thoughts) => {
                    ANSWER.check(thoughts).ok()?;
                    thinks = true;
                }
                PartBody::ToolCall(_) | PartBody::ToolResult(_) => continue,
            }
            parts.push(Part { id: new_id(), at, body: part.body.clone(), carried: None });
        }
        let is_same = self.role == Role::Assistant && words.join("\n\n") == self.content;
        (thinks && is_same).then_some(parts)
    }
}

/// A chat that was made from a file.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportedChat {
    /// The chat.
    #[serde(flatten)]
    pub chat: Chat,
    /// What of its settings could not be used and was left out, as a sentence; `null` when there was nothing.
    pub told: Option<String>,
    /// The same, by name.
    #[serde(skip)]
    pub left_out: Vec<&'static str>,
}

impl Agent {
    /// A new chat from a file, with all of it or not at all. Every message gets a new identifier; settings
    /// that cannot be used here are left out.
    pub async fn import_chat(
        &self,
        scope: &Scope,
        file: ChatFile,
    ) -> Result<ImportedChat, ApiError> {
        let order = understood(&file)?;
        // One that had no title of its own gets one here.
        let (title, titled_by) = match file.title.trim() {
            "" | NEW_TITLE => (NEW_TITLE.to_owned(), TitledBy::New),
            title => (title.chars().take(200).collect(), TitledBy::Person),
        };
        let members = self.present(scope, &file).await?;
        let (settings, left_out) = self.usable_settings(scope, file.settings).await?;
        let fields = ChatFields { title, titled_by, mode: file.mode, settings, members };
        let id: ConversationId = new_id();
        let change = Change::new(&id, Op::Create).with(to_fields(&fields)?);
        let mut link = self.write(scope).await?;
        self.gate(scope).submit_on(&mut link, change).await?;
        pour(&mut link, &id, &file.messages, order, Names::New).await?;
        link.commit().await?;
        self.make_roleplay_data(scope, &id);
        let chat = self.read(scope).await?.chat(&id).await?;
        Ok(ImportedChat { chat, told: told_left_out(&left_out), left_out })
    }

    /// Those of the personas of a file that are here, in order; the first may be another than the file's.
    /// Each is as of the version that the file names, if that one is here, and otherwise as it is now.
    async fn present(&self, scope: &Scope, file: &ChatFile) -> Result<Vec<Member>, ApiError> {
        if file.persona_ids.len() > MAX_MEMBERS {
            let rule = format!("A chat has 1 to {MAX_MEMBERS} personas.");
            return Err(ApiError::invalid("personaIds", rule));
        }
        let known = file.persona_ids.iter().zip(&file.persona_revisions);
        let mut named: HashMap<&PersonaId, Revision> =
            known.map(|(id, revision)| (id, *revision)).collect();
        if file.persona_ids.first().is_none_or(|first| *first == file.persona_id) {
            named.entry(&file.persona_id).or_insert(file.persona_revision);
        }
        let mut link = self.read(scope).await?;
        let mut present: Vec<Member> = Vec::new();
        for id in std::iter::once(&file.persona_id).chain(file.persona_ids.iter().skip(1)) {
            let Some(head) = head(&mut link, id).await?.filter(|head| !head.binned) else {
                continue;
            };
            if present.iter().any(|member| member.persona_id == *id) {
                continue;
            }
            let revision = match named.get(id) {
                Some(revision) => match link.persona_at(id, *revision).await {
                    Ok(_) => *revision,
                    Err(StoreError::NotFound(_)) => head.revision,
                    Err(error) => return Err(error.into()),
                },
                None => head.revision,
            };
            present.push(Member { persona_id: id.clone(), revision });
        }
        match present.is_empty() {
            true => Err(ApiError::not_found(EntityKind::Persona.noun())),
            false => Ok(present),
        }
    }
}

/// The order in which the messages of a file can be kept. A file that breaks a rule is refused.
pub(super) fn understood(file: &ChatFile) -> Result<Vec<usize>, ApiError> {
    if file.format != FORMAT {
        let rule = format!("The file must say that its format is {FORMAT}.");
        return Err(ApiError::invalid("format", rule));
    }
    if file.version > VERSION {
        let rule = format!("The file is of a later version than {VERSION}, which is known here.");
        return Err(ApiError::invalid("version", rule));
    }
    check_messages(&file.messages)
}

/// The order in which messages of a file can be kept. Those that break a rule are refused.
pub(super) fn check_messages(messages: &[FileMessage]) -> Result<Vec<usize>, ApiError> {
    let order = in_order(messages)?;
    for message in messages {
        let checked = match message.role {
            Role::User => super::chat_tree::check_content(&message.content),
            Role::Assistant => ANSWER.check(&message.content),
        };
        checked.map_err(|error| about(&message.id, error))?;
        if !message.label.is_empty() {
            MOMENT.check_line(&message.label).map_err(|error| about(&message.id, error))?;
        }
    }
    Ok(order)
}

/// What a file that names no version is written in.
fn first_version() -> u32 {
    1
}

/// What stands of a persona, if it is here.
pub(super) async fn head(
    link: &mut Link,
    persona: &PersonaId,
) -> Result<Option<Head<PersonaFields>>, StoreError> {
    match link.persona_head(persona).await {
        Ok(head) => Ok(Some(head)),
        Err(StoreError::NotFound(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The places of the messages, each after what it follows and otherwise as they stand. What follows
/// nothing that is there, or itself, is refused.
fn in_order(messages: &[FileMessage]) -> Result<Vec<usize>, ApiError> {
    let refuse = |rule: String| Err(ApiError::invalid("messages", rule));
    if messages.len() > MAX_FILE_MESSAGES {
        let count = messages.len();
        return refuse(format!(
            "The file has {count} messages, and at most {MAX_FILE_MESSAGES} can be brought in."
        ));
    }
    let mut places: HashMap<&str, usize> = HashMap::with_capacity(messages.len());
    for (at, message) in messages.iter().enumerate() {
        if places.insert(&message.id, at).is_some() {
            return refuse(format!("Two messages are called “{}”.", shown(&message.id)));
        }
    }
    let mut children: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut ready: BTreeSet<usize> = BTreeSet::new();
    for (at, message) in messages.iter().enumerate() {
        match message.parent_id.as_deref() {
            None => drop(ready.insert(at)),
            Some(parent) => match places.get(parent) {
                Some(parent) => children.entry(*parent).or_default().push(at),
                None => {
                    let (id, parent) = (shown(&message.id), shown(parent));
                    return refuse(format!("“{id}” follows “{parent}”, which is not there."));
                }
            },
        }
    }
    let mut order = Vec::with_capacity(messages.len());
    while let Some(at) = ready.pop_first() {
        order.push(at);
        ready.extend(children.remove(&at).unwrap_or_default());
    }
    if order.len() < messages.len() {
        return refuse("Some messages follow each other in a circle.".into());
    }
    Ok(order)
}

/// An error in a message of a file.
fn about(id: &str, error: ApiError) -> ApiError {
    ApiError::invalid("messages", format!("In the message “{}”: {error}", shown(id)))
}

fn shown(id: &str) -> String {
    id.chars().take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(id: &str, parent: Option<&str>) -> FileMessage {
        FileMessage {
            id: id.into(),
            parent_id: parent.map(str::to_owned),
            role: Role::User,
            persona_id: None,
            content: "x".into(),
            parts: Vec::new(),
            model: String::new(),
            label: String::new(),
            bookmarked: false,
            pruned: false,
            created_at: None,
        }
    }

    #[test]
    fn a_message_comes_after_what_it_follows_and_siblings_keep_their_order() {
        let file = [
            message("late", Some("root")),
            message("root", None),
            message("later", Some("root")),
            message("deep", Some("late")),
        ];

        assert_eq!(in_order(&file), Ok(vec![1, 0, 2, 3]));
    }

    #[test]
    fn a_file_with_more_messages_than_fit_is_refused_with_both_numbers() {
        let file = vec![message("a", None); MAX_FILE_MESSAGES + 1];

        let ApiError::Invalid { rule, .. } = in_order(&file).unwrap_err() else { panic!() };

        assert_eq!(rule, "The file has 100001 messages, and at most 100000 can be brought in.");
    }

    #[test]
    fn thoughts_come_in_beside_the_words_that_they_led_to_and_no_others() {
        let part = |body| Part { id: "p".into(), at: Timestamp(1), body, carried: None };
        let parts = vec![
            part(PartBody::Reasoning("Hm.".into())),
            part(PartBody::Text("One".into())),
            part(PartBody::Text("two".into())),
        ];
        let words = "One\n\ntwo".to_owned();
        let told =
            FileMessage { role: Role::Assistant, content: words, parts, ..message("a", None) };
        let other = FileMessage { content: "Three".into(), ..told.clone() };
        let person = FileMessage { role: Role::User, ..told.clone() };

        let kept = told.thoughtful(Timestamp(2)).unwrap();

        let bodies: Vec<&PartBody> = kept.iter().map(|part| &part.body).collect();
        assert_eq!(bodies, told.parts.iter().map(|part| &part.body).collect::<Vec<_>>());
        for refused in [other, person, message("a", None)] {
            assert_eq!(refused.thoughtful(Timestamp(2)), None);
        }
    }

    #[test]
    fn circles_strangers_and_namesakes_are_refused() {
        let circle = [message("a", Some("b")), message("b", Some("a"))];
        let own = [message("a", Some("a"))];
        let stranger = [message("a", Some("nobody"))];
        let namesakes = [message("a", None), message("a", None)];

        for file in [&circle[..], &own, &stranger, &namesakes] {
            assert_eq!(in_order(file).unwrap_err().status(), 422);
        }
    }
}
