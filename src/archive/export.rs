//! A Space as a folder of files that a person can read.
//!
//! | file | what |
//! |---|---|
//! | `personas/NAME/persona.md` | the persona as it is: its prompt below, all else above |
//! | `personas/NAME/versions/0001.md` | each of its versions, with the reason |
//! | `personas/NAME/test-inputs/NAME.md` | its test inputs |
//! | `pages/`, `refs/`, `tasks/` | one file each |
//! | `chats/NAME.json` | each chat with all its branches and ratings |
//! | `conversations/NAME.json` | what was said with the companion, with agents, in the playground and in terminals |
//! | `settings.json` | services, models and limits, without keys |
//! | `greenroom.json` | that this is such a folder; written last |

use std::{
    fs::{self, OpenOptions},
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use serde_json::{Value, json};

use super::{
    ArchiveError, about,
    document::Document,
    names::Names,
    private_folder,
    settings::{SETTINGS, SpaceSettings},
    space_chat::SpaceChat,
    space_talk::talk_of,
};
use crate::{
    agent::Agent,
    changes::{Scope, to_fields},
    domain::{
        change::EntityKind,
        error::ApiError,
        id::PersonaId,
        knowledge::{Knowledge, PageFields, RefFields, TaskFields},
        list::MAX_PAGE_SIZE,
        persona::Persona,
        version::Revision,
    },
    store::{EntryFilter, Link, Store},
};

/// The file that says what the folder is.
pub const HEAD: &str = "greenroom.json";
/// What it says.
pub(super) const FORMAT: &str = "greenroom-space";
/// How the folder is written.
pub(super) const VERSION: u32 = 1;
/// The folder of the chats.
pub(super) const CHATS: &str = "chats";
/// The folder of the conversations that are no chats.
pub(super) const TALKS: &str = "conversations";
/// The folder of the personas.
pub(super) const PERSONAS: &str = "personas";

/// What was exported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// How many personas.
    pub personas: usize,
    /// How many pages, refs and tasks.
    pub entries: usize,
    /// How many chats.
    pub chats: usize,
    /// How many other conversations.
    pub talks: usize,
}

/// The field of a thing that is its long text.
pub(super) fn body_of(kind: EntityKind) -> &'static str {
    match kind {
        EntityKind::Persona => "systemPrompt",
        EntityKind::TestInput => "content",
        EntityKind::Page => "body",
        EntityKind::Ref => "text",
        EntityKind::Task => "note",
        EntityKind::Chat => "title",
    }
}

/// Writes all of a Space that is not in the bin into a folder, which must be empty or not there.
pub async fn export_space(
    store: &Store,
    agent: &Agent,
    scope: &Scope,
    folder: &Path,
) -> Result<Exported, ArchiveError> {
    let taken = fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
    if taken {
        let sentence = format!("The folder {} is not empty.", folder.display());
        return Err(ArchiveError::refused(sentence));
    }
    let mut exported = Exported::default();
    let mut link = store.read(&scope.space).await?;
    if !link.is_there().await? {
        let sentence = format!("There is no Space “{}”.", scope.space);
        return Err(ArchiveError::refused(sentence));
    }
    let mut names = Names::default();
    for id in personas(&mut link).await? {
        let persona = link.persona(&id).await?;
        let name = names.give(&persona.fields.name, id.as_str());
        export_persona(&mut link, persona, &folder.join(PERSONAS).join(name)).await?;
        exported.personas += 1;
    }
    exported.entries += export_entries::<PageFields>(&mut link, folder).await?;
    exported.entries += export_entries::<RefFields>(&mut link, folder).await?;
    exported.entries += export_entries::<TaskFields>(&mut link, folder).await?;
    let mut chats = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let page = link.chats(None, after.as_deref(), MAX_PAGE_SIZE).await?;
        chats.extend(page.items);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    drop(link);
    chats.sort_by(|left, right| left.id.cmp(&right.id));
    let mut names = Names::default();
    for chat in chats {
        let name = names.give(&chat.title, chat.id.as_str());
        let chat = SpaceChat::of(agent, scope, &chat.id).await?;
        put_json(&folder.join(CHATS).join(format!("{name}.json")), &json!(chat))?;
        exported.chats += 1;
    }
    let mut names = Names::default();
    for conversation in agent.talks(scope).await? {
        // What is about a persona in the bin stays there with it.
        let talk = match talk_of(agent, scope, &conversation).await {
            Err(ArchiveError::Told(ApiError::NotFound { .. } | ApiError::InBin { .. })) => continue,
            talk => talk?,
        };
        let name = names.give(&talk.title(), talk.id.as_str());
        put_json(&folder.join(TALKS).join(format!("{name}.json")), &json!(talk))?;
        exported.talks += 1;
    }
    let settings = SpaceSettings::of(store, agent, scope).await?;
    put_json(&folder.join(SETTINGS), &json!(settings))?;
    put_json(&folder.join(HEAD), &json!({"format": FORMAT, "version": VERSION}))?;
    Ok(exported)
}

/// All personas outside the bin, in an order that stays.
async fn personas(link: &mut Link) -> Result<Vec<PersonaId>, ArchiveError> {
    let mut ids = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let page = link.personas("", after.as_deref(), MAX_PAGE_SIZE).await?;
        ids.extend(page.items.into_iter().map(|persona| persona.id));
        after = page.next;
        if after.is_none() {
            ids.sort();
            return Ok(ids);
        }
    }
}

async fn export_persona(
    link: &mut Link,
    persona: Persona,
    folder: &Path,
) -> Result<(), ArchiveError> {
    let id = json!(persona.id);
    let body = body_of(EntityKind::Persona);
    let mut first = vec![("id", id.clone())];
    let labels = link.labels(&persona.id).await?;
    if !labels.is_empty() {
        let labels: serde_json::Map<String, Value> =
            labels.into_iter().map(|(label, revision)| (label, json!(revision))).collect();
        first.push(("labels", Value::Object(labels)));
    }
    let document = Document::new(first, to_fields(&persona.fields)?, body);
    put(&folder.join("persona.md"), &document.write())?;
    for revision in 1..=persona.revision {
        let version = link.version(&persona.id, revision).await?;
        let first = vec![
            ("id", id.clone()),
            ("revision", json!(revision)),
            ("reason", json!(version.summary.reason)),
        ];
        let document = Document::new(first, to_fields(&version.fields)?, body);
        put(&folder.join("versions").join(version_name(revision)), &document.write())?;
    }
    let mut names = Names::default();
    for input in link.test_inputs(&persona.id).await? {
        let name = names.give(&input.fields.content, input.id.as_str());
        let first = vec![("id", json!(input.id))];
        let fields = to_fields(&input.fields)?;
        let document = Document::new(first, fields, body_of(EntityKind::TestInput));
        put(&folder.join("test-inputs").join(format!("{name}.md")), &document.write())?;
    }
    Ok(())
}

/// The name of a version's file: they stand in order.
fn version_name(revision: Revision) -> String {
    format!("{revision:04}.md")
}

async fn export_entries<K: Knowledge>(
    link: &mut Link,
    folder: &Path,
) -> Result<usize, ArchiveError> {
    let mut found = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let filter = EntryFilter { after: after.as_deref(), ..EntryFilter::default() };
        let page = link.entries::<K>(filter, MAX_PAGE_SIZE).await?;
        found.extend(page.items.into_iter().map(|entry| (entry.id, entry.card.title)));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    found.sort_by(|(left, _), (right, _)| left.as_ref().cmp(right.as_ref()));
    let mut names = Names::default();
    for (id, title) in &found {
        let entry = link.entry::<K>(id).await?;
        let name = names.give(title, id.as_ref());
        let first = vec![("id", json!(id.as_ref()))];
        let document = Document::new(first, to_fields(&entry.fields)?, body_of(K::KIND));
        put(&folder.join(K::PLURAL).join(format!("{name}.md")), &document.write())?;
    }
    Ok(found.len())
}

fn put_json(path: &Path, value: &Value) -> Result<(), ArchiveError> {
    put(path, &format!("{value:#}\n"))
}

/// Writes a new file, and the folders above it.
fn put(path: &Path, text: &str) -> Result<(), ArchiveError> {
    if let Some(parent) = path.parent() {
        private_folder(parent).map_err(about(parent))?;
    }
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(about(path))
}
