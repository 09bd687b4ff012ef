//! The files of a folder, read and understood before anything is changed.
//!
//! What a thing is called comes from within its file; the file's own name counts for nothing. Links are
//! not followed.

use std::{
    fs,
    io::{ErrorKind, Read},
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::within;
use crate::{
    agent::TalkFile,
    archive::{
        ArchiveError, about,
        document::Document,
        export::{CHATS, FORMAT, HEAD, PERSONAS, TALKS, VERSION, body_of},
        printable,
        settings::{SETTINGS, SpaceSettings},
        space_chat::SpaceChat,
    },
    domain::{
        change::{Entity, EntityKind, Fields},
        chat::MAX_FILE_MIB,
        id::{PersonaId, is_wellformed},
        version::Revision,
    },
};

/// The longest file that is read: a chat is written over many lines here, and longer than it came.
const MAX_BYTES: u64 = 4 * MAX_FILE_MIB as u64 * 1024 * 1024;
/// The most files of one folder.
const MAX_FILES: usize = 100_000;

/// A Space as it stands in a folder.
pub struct SpaceFiles {
    pub personas: Vec<PersonaFiles>,
    pub things: Vec<Thing>,
    pub chats: Vec<(String, SpaceChat)>,
    pub talks: Vec<(String, TalkFile)>,
    pub settings: SpaceSettings,
}

/// A persona with all that is its own.
pub struct PersonaFiles {
    pub id: PersonaId,
    /// The file, for people.
    pub shown: String,
    pub versions: Vec<VersionFile>,
    /// What it says now.
    pub now: Fields,
    pub labels: Vec<(String, Revision)>,
    pub test_inputs: Vec<Thing>,
}

/// A version of a persona.
pub struct VersionFile {
    pub revision: Revision,
    pub reason: String,
    pub fields: Fields,
}

/// A test input, page, ref or task.
pub struct Thing {
    pub entity: Entity,
    /// The file, for people.
    pub shown: String,
    pub fields: Fields,
}

impl SpaceFiles {
    pub fn read(folder: &Path) -> Result<Self, ArchiveError> {
        let head: Value = json(&folder.join(HEAD)).map_err(|error| match error {
            ArchiveError::File(_, error) if error.kind() == ErrorKind::NotFound => {
                ArchiveError::refused(format!(
                    "{} has no {HEAD}: it is no exported Space, or the export was not finished.",
                    printable(folder)
                ))
            }
            other => other,
        })?;
        if head["format"] != FORMAT {
            return Err(ArchiveError::refused(format!("{HEAD} does not say “{FORMAT}”.")));
        }
        if head["version"].as_u64().is_none_or(|version| version > u64::from(VERSION)) {
            return Err(ArchiveError::refused("The folder was written by a newer Greenroom."));
        }
        let mut personas = Vec::new();
        for (name, path) in list(&folder.join(PERSONAS), Kind::Folder)? {
            let shown = format!("{PERSONAS}/{name}");
            personas.push(persona(&path, &shown).map_err(|error| within(&shown, error))?);
        }
        let mut things = Vec::new();
        for kind in [EntityKind::Page, EntityKind::Ref, EntityKind::Task] {
            let plural = format!("{}s", kind.word());
            things.extend(all(&folder.join(&plural), &plural, kind)?);
        }
        let mut chats = Vec::new();
        for (name, path) in list(&folder.join(CHATS), Kind::File(".json"))? {
            let shown = format!("{CHATS}/{name}");
            let chat: SpaceChat = json(&path).map_err(|error| within(&shown, error))?;
            if !is_wellformed(chat.id.as_str()) {
                return Err(ArchiveError::refused(format!("{shown}: Its “id” is none.")));
            }
            chats.push((shown, chat));
        }
        let mut talks = Vec::new();
        for (name, path) in list(&folder.join(TALKS), Kind::File(".json"))? {
            let shown = format!("{TALKS}/{name}");
            let talk: TalkFile = json(&path).map_err(|error| within(&shown, error))?;
            if !is_wellformed(talk.id.as_str()) {
                return Err(ArchiveError::refused(format!("{shown}: Its “id” is none.")));
            }
            talks.push((shown, talk));
        }
        let settings = match json(&folder.join(SETTINGS)) {
            Err(ArchiveError::File(_, error)) if error.kind() == ErrorKind::NotFound => {
                SpaceSettings::default()
            }
            read => read?,
        };
        Ok(Self { personas, things, chats, talks, settings })
    }
}

fn persona(folder: &Path, shown: &str) -> Result<PersonaFiles, ArchiveError> {
    let body = body_of(EntityKind::Persona);
    let mut document = document(&folder.join("persona.md"))?;
    let id = identifier(&mut document)?;
    let labels = match document.take("labels") {
        Some(Value::Object(labels)) => labels
            .into_iter()
            .filter_map(|(label, revision)| Some((label, revision.as_i64()?)))
            .collect(),
        _ => Vec::new(),
    };
    let mut versions = Vec::new();
    for (name, path) in list(&folder.join("versions"), Kind::File(".md"))? {
        let read = || -> Result<VersionFile, ArchiveError> {
            let mut document = self::document(&path)?;
            if identifier(&mut document)? != id {
                return Err(ArchiveError::refused("It belongs to another persona."));
            }
            let revision = document.take("revision").and_then(|revision| revision.as_i64());
            let revision = revision.filter(|revision| *revision > 0);
            let revision =
                revision.ok_or_else(|| ArchiveError::refused("“revision” is missing."))?;
            let reason = document.take_text("reason").unwrap_or_default();
            Ok(VersionFile { revision, reason, fields: document.into_fields(body) })
        };
        versions.push(read().map_err(|error| within(&format!("versions/{name}"), error))?);
    }
    let test_inputs =
        all(&folder.join("test-inputs"), &format!("{shown}/test-inputs"), EntityKind::TestInput)?;
    Ok(PersonaFiles {
        id: PersonaId::new(id),
        shown: shown.to_owned(),
        versions,
        now: document.into_fields(body),
        labels,
        test_inputs,
    })
}

/// All things of one kind in a folder.
fn all(folder: &Path, place: &str, kind: EntityKind) -> Result<Vec<Thing>, ArchiveError> {
    let mut things = Vec::new();
    for (name, path) in list(folder, Kind::File(".md"))? {
        let shown = format!("{place}/{name}");
        let read = || -> Result<(String, Fields), ArchiveError> {
            let mut document = document(&path)?;
            Ok((identifier(&mut document)?, document.into_fields(body_of(kind))))
        };
        let (id, fields) = read().map_err(|error| within(&shown, error))?;
        things.push(Thing { entity: Entity::new(kind, &id), shown, fields });
    }
    Ok(things)
}

fn identifier(document: &mut Document) -> Result<String, ArchiveError> {
    let id = document.take_text("id")?;
    if is_wellformed(&id) {
        return Ok(id);
    }
    let rule = "An “id” has up to 64 letters, digits, dashes and underscores.";
    Err(ArchiveError::refused(rule))
}

/// What is looked for in a folder.
enum Kind {
    Folder,
    /// A file whose name ends so.
    File(&'static str),
}

/// What a folder holds, by printable name, in order. What begins with a dot is left: editors and version
/// control keep their own there.
fn list(folder: &Path, kind: Kind) -> Result<Vec<(String, PathBuf)>, ArchiveError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(about(folder)(error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(about(folder))?;
        let (path, name) = (entry.path(), printable(entry.file_name()));
        let about_it = entry.file_type().map_err(about(&path))?;
        if name.starts_with('.') {
            continue;
        }
        if about_it.is_symlink() {
            let sentence = format!("{} is a link, and an export has none.", printable(&path));
            return Err(ArchiveError::refused(sentence));
        }
        let wanted = match kind {
            Kind::Folder => about_it.is_dir(),
            Kind::File(ending) => about_it.is_file() && name.ends_with(ending),
        };
        if wanted {
            found.push((name, path));
        }
        if found.len() > MAX_FILES {
            let sentence = format!("{} has too many files.", printable(folder));
            return Err(ArchiveError::refused(sentence));
        }
    }
    found.sort();
    Ok(found)
}

fn document(path: &Path) -> Result<Document, ArchiveError> {
    Document::read(&text(path)?)
}

fn json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, ArchiveError> {
    serde_json::from_str(&text(path)?)
        .map_err(|error| ArchiveError::refused(format!("It cannot be read: {error}.")))
}

/// The text of a file that is no link, no pipe and no device, and not too long.
fn text(path: &Path) -> Result<String, ArchiveError> {
    let found = path.symlink_metadata().map_err(about(path))?;
    if !found.is_file() || found.len() > MAX_BYTES {
        let sentence = format!("{} is no file that could be read whole.", printable(path));
        return Err(ArchiveError::refused(sentence));
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(about(path))?;
    file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(about(path))?;
    String::from_utf8(bytes)
        .map_err(|_| ArchiveError::refused(format!("{} is not UTF-8.", printable(path))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_that_is_longer_than_a_chat_may_be_and_none_without_end() {
        let folder = tempfile::tempdir().unwrap();
        let long = |bytes: u64| {
            let path = folder.path().join(bytes.to_string());
            fs::File::create(&path).unwrap().set_len(bytes).unwrap();
            text(&path).map(|text| text.len() as u64)
        };

        let as_a_chat = 1 + MAX_FILE_MIB as u64 * 1024 * 1024;
        assert_eq!(long(as_a_chat).unwrap(), as_a_chat);
        let refused = long(MAX_BYTES + 1).unwrap_err().to_string();
        assert!(refused.contains("no file that could be read whole"), "{refused}");
    }
}
