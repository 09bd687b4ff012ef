//! A folder of files as a Space: everything is read and understood first, and then goes through the gate
//! as a person's changes do.
//!
//! What is not there is made, what is there and differs gets another version, and what is not in the
//! folder stays. Doing it twice does no more than doing it once.

mod read;

use std::{collections::HashMap, path::Path};

use read::{PersonaFiles, SpaceFiles, Thing};
use serde_json::Value;

use super::{ArchiveError, settings::SpaceSettings, space_chat::SpaceChat};
use crate::{
    agent::{Agent, BroughtBack, TalkFile},
    changes::{Gate, Scope, to_fields},
    domain::{
        actor::Actor,
        change::{Change, Entity, EntityKind, Fields, Op},
        error::ApiError,
        id::{PersonaId, PictureId},
        proposal::Source,
        version::Revision,
    },
    store::{Head, Store, StoreError},
};

/// What every version says that only the import made.
const REASON: &str = "Imported from a folder.";

/// Whether the settings of the folder are taken on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settings {
    /// They stay as they are here.
    Keep,
    /// Those of the folder count: whoever wrote it says where conversations are sent.
    Take,
}

/// Who wrote what lies in the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// Nobody here need have: drafts that were written after it was read say so.
    Somebody,
    /// Whoever imports it.
    Oneself,
}

/// What was imported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// How many things were made.
    pub made: usize,
    /// How many were brought to what the folder says.
    pub changed: usize,
    /// How many were as the folder says.
    pub same: usize,
    /// What was left as it is, and why.
    pub left: Vec<String>,
}

/// Reads a folder into a Space.
pub async fn import_space(
    store: &Store,
    agent: &Agent,
    scope: &Scope,
    folder: &Path,
    settings: Settings,
    author: Author,
) -> Result<Imported, ArchiveError> {
    let SpaceFiles { personas, things, chats, talks, settings: theirs } = SpaceFiles::read(folder)?;
    let gate =
        Gate::new(store.clone(), scope.space.clone(), Actor::Person { user: scope.user.clone() });
    let imported = Imported::default();
    let mut import = Import { store, agent, scope, gate, author, imported };
    if settings == Settings::Take {
        import.imported.left = theirs.set(store, agent, scope).await?;
    } else if theirs != SpaceSettings::default() {
        import.imported.left.push("settings.json (take it with --settings)".into());
    }
    for persona in personas {
        let shown = persona.shown.clone();
        import.persona(persona).await.map_err(|error| within(&shown, error))?;
    }
    for thing in things {
        let shown = thing.shown.clone();
        import.thing(thing, None).await.map_err(|error| within(&shown, error))?;
    }
    for (shown, chat) in chats {
        import.chat(&shown, chat).await.map_err(|error| within(&shown, error))?;
    }
    for (shown, talk) in talks {
        import.talk(&shown, talk).await.map_err(|error| within(&shown, error))?;
    }
    Ok(import.imported)
}

/// An error about one file.
fn within(shown: &str, error: ArchiveError) -> ArchiveError {
    match error {
        ArchiveError::Refused(sentence) => ArchiveError::Refused(format!("{shown}: {sentence}")),
        ArchiveError::Told(error) => ArchiveError::Refused(format!("{shown}: {error}")),
        other => other,
    }
}

struct Import<'a> {
    store: &'a Store,
    agent: &'a Agent,
    scope: &'a Scope,
    gate: Gate,
    author: Author,
    imported: Imported,
}

impl Import<'_> {
    async fn head(&self, entity: &Entity) -> Result<Option<Head<Fields>>, ArchiveError> {
        match self.gate.head(entity).await {
            Ok(head) => Ok(Some(head)),
            Err(ApiError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// A persona with its versions: those that are here already are passed over, the others are made one
    /// after another. Where the two stories differ, only the present text is taken.
    async fn persona(&mut self, files: PersonaFiles) -> Result<(), ArchiveError> {
        let PersonaFiles { id, shown, mut versions, mut now, labels, test_inputs } = files;
        let entity = Entity::from(&id);
        for fields in versions.iter_mut().map(|version| &mut version.fields).chain([&mut now]) {
            self.forget_missing_face(fields).await?;
        }
        let head = self.head(&entity).await?;
        if head.as_ref().is_some_and(|head| head.binned) {
            self.imported.left.push(format!("{shown} (it is in the bin)"));
            return Ok(());
        }
        let known = head.as_ref().map_or(0, |head| head.revision);
        let told_alike = match &head {
            None => true,
            Some(head) => versions.iter().any(|version| {
                version.revision == head.revision && same(&version.fields, &head.fields)
            }),
        };
        let mut op = made_or_written(head.as_ref());
        let mut steps: Vec<(Option<Revision>, Change)> = Vec::new();
        if told_alike {
            versions.sort_by_key(|version| version.revision);
            for version in versions.into_iter().filter(|version| version.revision > known) {
                let change = self.step(&entity, op, version.fields).because(version.reason);
                steps.push((Some(version.revision), change));
                op = Op::Update;
            }
        }
        steps.push((None, self.step(&entity, op, now).because(REASON)));
        let (revisions, changes): (Vec<_>, Vec<_>) = steps.into_iter().unzip();
        let outcomes = self.gate.submit_all(changes).await?;
        let changed = outcomes.iter().any(|outcome| outcome.change_id.is_some());
        self.count(made_or_written(head.as_ref()), changed);
        if told_alike {
            let made: HashMap<Revision, Revision> = revisions
                .into_iter()
                .zip(&outcomes)
                .filter_map(|(theirs, outcome)| Some((theirs?, outcome.revision)))
                .chain((1..=known).map(|revision| (revision, revision)))
                .collect();
            self.labels(&id, labels, &made).await?;
        }
        for input in test_inputs {
            let shown = input.shown.clone();
            self.thing(input, Some(&id)).await.map_err(|error| within(&shown, error))?;
        }
        Ok(())
    }

    /// A face is a picture of this Space or none.
    async fn forget_missing_face(&self, fields: &mut Fields) -> Result<(), ArchiveError> {
        let Some(Value::String(face)) = fields.get_mut("face") else { return Ok(()) };
        if face.is_empty() {
            return Ok(());
        }
        let mut link = self.store.read(&self.scope.space).await?;
        match link.picture(&PictureId::new(face.as_str())).await {
            Ok(_) => Ok(()),
            Err(StoreError::NotFound(_)) => {
                face.clear();
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn labels(
        &self,
        id: &PersonaId,
        labels: Vec<(String, Revision)>,
        made: &HashMap<Revision, Revision>,
    ) -> Result<(), ArchiveError> {
        let known = self.store.read(&self.scope.space).await?.labels(id).await?;
        for (label, theirs) in labels {
            let Some(revision) = made.get(&theirs).copied() else { continue };
            if known.contains(&(label.clone(), revision)) {
                continue;
            }
            let change = Change::new(id, Op::Label).set("label", label).set("revision", revision);
            self.gate.submit(change).await?;
        }
        Ok(())
    }

    /// A page, ref or task; or a test input of a persona.
    async fn thing(&mut self, thing: Thing, owner: Option<&PersonaId>) -> Result<(), ArchiveError> {
        let Thing { entity, shown, fields } = thing;
        let head = self.head(&entity).await?;
        if head.as_ref().is_some_and(|head| head.binned) {
            self.imported.left.push(format!("{shown} (it is in the bin)"));
            return Ok(());
        }
        let op = made_or_written(head.as_ref());
        let mut change = self.step(&entity, op, fields).because(REASON);
        if let (Some(owner), None) = (owner, &head) {
            change = change.set("personaId", owner.as_str());
        }
        let outcome = self.gate.submit(change).await?;
        self.count(op, outcome.change_id.is_some());
        Ok(())
    }

    /// A chat that is not here. One that is stays as it is: it goes on from where it is.
    async fn chat(&mut self, shown: &str, chat: SpaceChat) -> Result<(), ArchiveError> {
        let fields = chat.fields();
        let said = (chat.chat, chat.ratings);
        let kept = self.agent.bring_chat_back(self.scope, &chat.id, &fields, said).await;
        self.count_brought(shown, kept)
    }

    /// A conversation that is no chat and not here. One that is stays as it is.
    async fn talk(&mut self, shown: &str, talk: TalkFile) -> Result<(), ArchiveError> {
        let kept = self.agent.bring_talk_back(self.scope, talk).await;
        self.count_brought(shown, kept)
    }

    fn count_brought(
        &mut self,
        shown: &str,
        kept: Result<BroughtBack, ApiError>,
    ) -> Result<(), ArchiveError> {
        match kept {
            Ok(BroughtBack::Made) => self.imported.made += 1,
            Ok(BroughtBack::WasThere) => self.imported.same += 1,
            // Who spoke in it is not here: the others' words would hang in the air.
            Err(ApiError::NotFound { .. } | ApiError::InBin { .. }) => {
                self.imported.left.push(format!("{shown} (its personas are not here)"));
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// The change that makes a thing, or brings it to these fields. It says when nobody here need have
    /// written them.
    fn step(&self, entity: &Entity, op: Op, mut fields: Fields) -> Change {
        if op == Op::Update && entity.kind == EntityKind::Persona {
            // What an earlier version had and this one has not goes again.
            fields.entry("roleplayData").or_insert(Value::Null);
        }
        let mut change = Change::new(entity.clone(), op).with(fields);
        if self.author == Author::Somebody {
            let (title, passage) = ("a folder".into(), String::new());
            change.untrusted =
                [Source { entity: entity.clone(), title, passage }].into_iter().collect();
        }
        change
    }

    fn count(&mut self, op: Op, changed: bool) {
        match (op, changed) {
            (Op::Create, _) => self.imported.made += 1,
            (_, true) => self.imported.changed += 1,
            (_, false) => self.imported.same += 1,
        }
    }
}

/// What has to be done about a thing, by what stands of it.
fn made_or_written(head: Option<&Head<Fields>>) -> Op {
    head.map_or(Op::Create, |_| Op::Update)
}

/// Whether two say the same, whatever is left out because it is empty.
fn same(left: &Fields, right: &Fields) -> bool {
    let plain = |fields: &Fields| -> Option<crate::domain::persona::PersonaFields> {
        serde_json::from_value(Value::Object(fields.clone())).ok()
    };
    match (plain(left), plain(right)) {
        (Some(left), Some(right)) => to_fields(&left).ok() == to_fields(&right).ok(),
        _ => false,
    }
}
