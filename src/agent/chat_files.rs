//! Chats as files: the whole tree as JSON, in and out, and one path as markdown.

use std::collections::{BTreeSet, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Agent, NewChat, chat_tree::PathAsk, runs::said};
use crate::{
    changes::{Scope, refresh_index},
    domain::{
        change::Entity,
        chat::{Chat, ChatMode, ChatSettings, MAX_MEMBERS, NEW_TITLE, SettingsPatch},
        error::ApiError,
        field::TextField,
        id::{ConversationId, MessageId, PersonaId},
        message::{Message, Part, Role},
        news::News,
        persona::PersonaFields,
        timestamp::Timestamp,
        tree::MOMENT,
        version::Revision,
    },
    store::{Head, Link, Mark, StoreError, now},
};

/// What a file says it is.
const FORMAT: &str = "greenroom-chat";
/// How files are written. Those of the first version have one persona, and do not say who spoke.
const VERSION: u32 = 2;
/// The most messages of a chat that go into one file.
const MAX_MESSAGES: usize = 50_000;
/// How many are read at once.
const AT_ONCE: u32 = 1000;
/// The most messages of a path that are written as markdown.
const MAX_PATH: i64 = 5000;
/// What a model said: it may be longer than what a person may say, and a stopped answer has no words.
const ANSWER: TextField = TextField { name: "content", label: "The message", max_chars: 500_000 };

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
    #[serde(default)]
    pub persona_ids: Vec<PersonaId>,
    /// The version of the persona that spoke; one that is imported speaks as it is now.
    #[serde(default)]
    pub persona_revision: Revision,
    /// All messages, hidden ones included.
    pub messages: Vec<FileMessage>,
}

/// A message in a file.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
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
    /// All it consists of; not read from a file.
    #[serde(default)]
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

impl Agent {
    /// A whole chat as a file.
    pub async fn export_chat(
        &self,
        scope: &Scope,
        id: &ConversationId,
    ) -> Result<ChatFile, ApiError> {
        let mut link = self.read(scope).await?;
        let chat = link.chat(id).await?;
        let mut messages: Vec<FileMessage> = Vec::new();
        let mut after: Option<MessageId> = None;
        loop {
            let some = link.messages_after(id, after.as_ref(), AT_ONCE).await?;
            let mut speakers = link.speakers_after(id, after.as_ref(), AT_ONCE).await?;
            let Some(last) = some.last() else { break };
            after = Some(last.message.id.clone());
            messages.extend(some.into_iter().map(|marked| FileMessage {
                persona_id: speakers.remove(&marked.message.id),
                id: marked.message.id.to_string(),
                parent_id: marked.message.parent_id.as_ref().map(ToString::to_string),
                role: marked.message.role,
                content: marked.message.text(),
                parts: marked.message.parts,
                model: marked.message.model,
                label: marked.label,
                bookmarked: marked.bookmarked,
                pruned: marked.pruned,
                created_at: Some(marked.message.created_at),
            }));
            if messages.len() > MAX_MESSAGES {
                let reason = format!("A file takes at most {MAX_MESSAGES} messages.");
                return Err(ApiError::NotNow { reason });
            }
        }
        Ok(ChatFile {
            format: FORMAT.into(),
            version: VERSION,
            title: chat.title,
            mode: chat.mode,
            settings: chat.settings,
            persona_id: chat.persona_id,
            persona_ids: chat.members.into_iter().map(|member| member.persona_id).collect(),
            persona_revision: chat.persona_revision,
            messages,
        })
    }

    /// A new chat from a file. Every message gets a new identifier.
    pub async fn import_chat(&self, scope: &Scope, file: ChatFile) -> Result<Chat, ApiError> {
        if file.format != FORMAT {
            let rule = format!("The file must say that its format is {FORMAT}.");
            return Err(ApiError::invalid("format", rule));
        }
        if file.version > VERSION {
            let rule =
                format!("The file is of a later version than {VERSION}, which is known here.");
            return Err(ApiError::invalid("version", rule));
        }
        let order = in_order(&file.messages)?;
        for message in &file.messages {
            let checked = match message.role {
                Role::User => super::chat_tree::check_content(&message.content),
                Role::Assistant => ANSWER.check(&message.content),
            };
            checked.map_err(|error| about(&message.id, error))?;
            if !message.label.is_empty() {
                MOMENT.check_line(&message.label).map_err(|error| about(&message.id, error))?;
            }
        }
        let settings = SettingsPatch {
            model: Some(file.settings.model),
            user_persona: Some(file.settings.user_persona),
            window: Some(file.settings.window),
            images: Some(file.settings.images),
            answers: Some(file.settings.answers),
        };
        // One that had no title of its own gets one here.
        let title: String = match file.title.trim() {
            NEW_TITLE => String::new(),
            title => title.chars().take(200).collect(),
        };
        let mut others = self.present(scope, &file.persona_id, &file.persona_ids).await?;
        let persona = if others.is_empty() { file.persona_id } else { others.remove(0) };
        let new = NewChat { persona, others, mode: file.mode, title, settings };
        let chat = self.create_chat(scope, new).await?;
        let mut link = self.write(scope).await?;
        let mut speakers: HashMap<&PersonaId, bool> = HashMap::new();
        let mut ids: HashMap<&str, MessageId> = HashMap::with_capacity(order.len());
        let mut leaf = None;
        for message in order.into_iter().map(|at| &file.messages[at]) {
            let parent = message.parent_id.as_deref().and_then(|parent| ids.get(parent).cloned());
            let kept = Message {
                role: message.role,
                model: message.model.chars().take(200).collect(),
                ..said(parent, &message.content, message.created_at.unwrap_or_else(now))
            };
            link.insert_message(&chat.id, &kept).await?;
            if let (Role::Assistant, Some(persona)) = (message.role, &message.persona_id) {
                let here = match speakers.get(persona) {
                    Some(here) => *here,
                    None => head(&mut link, persona).await?.is_some(),
                };
                speakers.insert(persona, here);
                if here {
                    link.set_speaker(&kept.id, persona).await?;
                }
            }
            if !message.label.is_empty() {
                link.mark_message(&kept.id, &Mark::Label(message.label.clone())).await?;
            }
            if message.bookmarked {
                link.mark_message(&kept.id, &Mark::Bookmark(Some(now()))).await?;
            }
            if message.pruned {
                link.mark_message(&kept.id, &Mark::Pruned(Some(now()))).await?;
            }
            ids.insert(&message.id, kept.id.clone());
            leaf = Some(kept.id);
        }
        if let Some(last) = leaf {
            let leaf = match link.pruned_above(&chat.id, &last).await? {
                None => Some(last),
                Some(_) => match link.newest_root(&chat.id).await? {
                    Some(root) => Some(link.newest_below(&chat.id, &root).await?),
                    None => None,
                },
            };
            link.move_leaf(&chat.id, leaf.as_ref()).await?;
        }
        refresh_index(&mut link, &Entity::from(&chat.id)).await?;
        link.tell(News::of_chat(&chat.id));
        link.commit().await?;
        Ok(self.read(scope).await?.chat(&chat.id).await?)
    }

    /// Those of the personas of a file that are here, in order; the first may be another than the file's.
    async fn present(
        &self,
        scope: &Scope,
        first: &PersonaId,
        all: &[PersonaId],
    ) -> Result<Vec<PersonaId>, ApiError> {
        if all.len() > MAX_MEMBERS {
            let rule = format!("A chat has 1 to {MAX_MEMBERS} personas.");
            return Err(ApiError::invalid("personaIds", rule));
        }
        let mut link = self.read(scope).await?;
        let mut present: Vec<PersonaId> = Vec::new();
        for persona in std::iter::once(first).chain(all.iter().skip(1)) {
            let here = head(&mut link, persona).await?.is_some_and(|head| !head.binned);
            if here && !present.contains(persona) {
                present.push(persona.clone());
            }
        }
        Ok(present)
    }

    /// One path through a chat as markdown.
    pub async fn chat_markdown(
        &self,
        scope: &Scope,
        id: &ConversationId,
        leaf: Option<MessageId>,
        device: Option<String>,
    ) -> Result<String, ApiError> {
        let ask = PathAsk { leaf, device, limit: Some(1), before: None };
        let page = self.path(scope, id, ask).await?;
        let mut link = self.read(scope).await?;
        let chat = link.chat(id).await?;
        let messages = match &page.leaf {
            Some(leaf) => link.branch_end(leaf, MAX_PATH).await?,
            None => Vec::new(),
        };
        let voices = match &page.leaf {
            Some(leaf) => link.voices(id, leaf, MAX_PATH).await?,
            None => Vec::new(),
        };
        let persona = chat.members.first().map_or("Persona", |member| member.name.as_str());
        let person = match chat.settings.user_persona.name.trim() {
            "" => "You",
            name => name,
        };
        let mut out = format!("# {}\n", chat.title);
        if messages.first().is_some_and(|first| first.parent_id.is_some()) {
            let count = messages.len();
            out.push_str(&format!(
                "\n*These are the last {count} messages; earlier ones are left out.*\n"
            ));
        }
        for message in messages {
            let voice = voices.iter().find(|voice| voice.message == message.id);
            let who = match message.role {
                Role::User => person,
                Role::Assistant => voice.map_or(persona, |voice| voice.name.as_str()),
            };
            out.push_str(&format!("\n**{who}**\n\n{}\n", message.text().trim()));
        }
        Ok(out)
    }
}

/// What a file that names no version is written in.
fn first_version() -> u32 {
    1
}

/// What stands of a persona, if it is here.
async fn head(
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
    if messages.len() > MAX_MESSAGES {
        return refuse(format!("A file takes at most {MAX_MESSAGES} messages."));
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
