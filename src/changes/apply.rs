//! Applying a change inside a transaction.

use super::{entity, fit, index, publish, rebase::rebase};
use crate::{
    domain::{
        actor::Actor,
        change::{Change, Entity, EntityKind, Fields, Op},
        chat::TitledBy,
        error::ApiError,
        id::{ChangeId, PersonaId},
        timestamp::Timestamp,
        version::{Revision, check_label},
    },
    store::{Author, Link, StoreError},
};

/// What a change did, or would do.
pub struct Applied {
    /// The revision it found.
    pub from: Option<Revision>,
    /// The revision it made.
    pub to: Option<Revision>,
    /// What the thing said before.
    pub before: Fields,
}

/// Why a change did not go through.
pub enum Refusal {
    /// Another writer was faster: look again.
    Moved,
    /// For the one who asked.
    Told(ApiError),
}

impl From<ApiError> for Refusal {
    fn from(error: ApiError) -> Self {
        Self::Told(error)
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Contended => Self::Moved,
            other => Self::Told(other.into()),
        }
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Moved => Self::Unavailable,
            Refusal::Told(error) => error,
        }
    }
}

/// Says what a change would do, without doing it. What could never be applied is refused here.
pub async fn rehearse(link: &mut Link, change: &Change) -> Result<Applied, Refusal> {
    if change.op == Op::Create {
        entity::rehearse(link, &change.entity, &change.patch).await?;
        return Ok(Applied { from: None, to: None, before: Fields::new() });
    }
    let head = entity::head(link, &change.entity).await?;
    if head.binned && matches!(change.op, Op::Update | Op::Delete | Op::Label | Op::Publish) {
        return Err(ApiError::InBin { what: change.entity.kind.noun().into() }.into());
    }
    if change.op == Op::Update {
        let mut wanted = head.fields.clone();
        wanted.extend(change.patch.clone());
        entity::next(change.entity.kind, wanted)?;
    }
    Ok(Applied { from: Some(head.revision), to: Some(head.revision), before: head.fields })
}

/// Does what the change wants, and keeps the index and the drafts about the same thing in step.
pub async fn apply(
    link: &mut Link,
    actor: &Actor,
    id: &ChangeId,
    change: &mut Change,
    at: Timestamp,
) -> Result<Applied, Refusal> {
    let applied = perform(link, actor, id, change, at).await?;
    match change.op {
        Op::Update if applied.from == applied.to => {}
        Op::Create | Op::Update | Op::Delete | Op::Purge => {
            index::refresh(link, &change.entity).await?;
            if change.op == Op::Update {
                fit::file_anew(link, &change.entity, &applied.before).await?;
            }
        }
        Op::Restore => index::refresh_all(link, &change.entity).await?,
        Op::Label | Op::Publish => {}
    }
    Ok(applied)
}

async fn perform(
    link: &mut Link,
    actor: &Actor,
    id: &ChangeId,
    change: &mut Change,
    at: Timestamp,
) -> Result<Applied, Refusal> {
    let reason = change.reason.clone();
    let author = Author { actor, change: id, reason: &reason, at };
    let what = change.entity.kind.noun();
    if change.op == Op::Create {
        entity::create(link, &change.entity, &change.patch, author).await?;
        return Ok(Applied { from: None, to: Some(1), before: Fields::new() });
    }
    link.lock(&change.entity).await?;
    let head = entity::head(link, &change.entity).await?;
    let stays =
        Applied { from: Some(head.revision), to: Some(head.revision), before: head.fields.clone() };
    match change.op {
        Op::Create => Ok(stays),
        Op::Update => {
            if head.binned {
                return Err(ApiError::InBin { what: what.into() }.into());
            }
            let mut base = match change.base {
                Some(base) if base != head.revision => {
                    entity::fields_at(link, &change.entity, base).await?
                }
                _ => head.fields.clone(),
            };
            yield_title(&mut base, &head.fields, &change.patch);
            let merged = rebase(&base, &head.fields, &change.patch, head.revision)
                .map_err(|conflict| ApiError::Conflict(Box::new(conflict)))?;
            let next = entity::next(change.entity.kind, merged)?;
            let is_said = |field: &&str| next.get(*field) == head.fields.get(*field);
            // Whoever moves, renames or dresses what is from elsewhere has not written it.
            if matches!(actor, Actor::Person { .. })
                && change.untrusted.is_empty()
                && said_in(change.entity.kind).iter().all(is_said)
            {
                change.untrusted = link.brought_in(&change.entity).await?;
            }
            if next == head.fields {
                return Ok(stays);
            }
            if !entity::advance(link, &change.entity, head.revision, next, author).await? {
                return Err(Refusal::Moved);
            }
            Ok(Applied { to: Some(head.revision + 1), ..stays })
        }
        Op::Delete => {
            if head.binned || !link.mark_binned(&change.entity, Some(at)).await? {
                return Err(ApiError::InBin { what: what.into() }.into());
            }
            Ok(stays)
        }
        Op::Restore => {
            if !link.mark_binned(&change.entity, None).await? {
                let reason = format!("That {what} is not in the bin.");
                return Err(ApiError::NotNow { reason }.into());
            }
            Ok(stays)
        }
        Op::Purge => {
            let mut handed = Vec::new();
            if change.entity.kind == EntityKind::Persona {
                let persona = PersonaId::new(change.entity.id.as_str());
                handed = link.hand_over_chats(&persona).await?;
            }
            if !link.purge(&change.entity).await? {
                let reason = format!("That {what} is not in the bin. Only the bin can be emptied.");
                return Err(ApiError::NotNow { reason }.into());
            }
            for chat in handed {
                index::refresh(link, &Entity::from(&chat)).await?;
            }
            Ok(Applied { to: None, ..stays })
        }
        Op::Label | Op::Publish if head.binned => Err(ApiError::InBin { what: what.into() }.into()),
        Op::Label => label(link, change, stays).await,
        Op::Publish => {
            publish::apply(link, change, author).await?;
            Ok(stays)
        }
    }
}

/// The fields in which a thing says what it says. A chat says it in its messages.
pub fn said_in(kind: EntityKind) -> &'static [&'static str] {
    match kind {
        EntityKind::Persona => &["systemPrompt"],
        EntityKind::TestInput => &["content"],
        EntityKind::Page => &["body"],
        EntityKind::Ref => &["text"],
        EntityKind::Task => &["title", "note"],
        EntityKind::Chat => &[],
    }
}

/// A title that a person gives a chat is never held against one that a model found for it meanwhile.
fn yield_title(base: &mut Fields, current: &Fields, patch: &Fields) {
    let person = Some(TitledBy::Person.word());
    let titled_by = |fields: &Fields| fields.get("titledBy").and_then(|by| by.as_str()) == person;
    if titled_by(patch) && !titled_by(current) {
        for field in ["title", "titledBy"] {
            base.insert(field.into(), current.get(field).cloned().unwrap_or_default());
        }
    }
}

/// Points a label at a version. The change keeps what the label pointed at before, for its undo.
async fn label(link: &mut Link, change: &mut Change, stays: Applied) -> Result<Applied, Refusal> {
    if change.entity.kind != EntityKind::Persona {
        return Err(ApiError::invalid("label", "Only personas have labels.").into());
    }
    let persona = PersonaId::new(change.entity.id.as_str());
    let name = change.patch.get("label").and_then(|label| label.as_str()).unwrap_or_default();
    let name = name.to_owned();
    check_label(&name)?;
    let revision = change.patch.get("revision").and_then(|revision| revision.as_i64());
    if let Some(revision) = revision {
        // A version that does not exist, or a persona in the bin, is told as such.
        link.version(&persona, revision).await?;
    }
    let labels = link.labels(&persona).await?;
    let previous = labels.into_iter().find(|(label, _)| *label == name).map(|(_, at)| at);
    if revision.is_none() && previous.is_none() {
        return Err(ApiError::not_found("label").into());
    }
    change.patch.insert("previous".into(), previous.into());
    link.set_label(&persona, &name, revision).await?;
    Ok(stays)
}
