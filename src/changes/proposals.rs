//! Drafts as people read them: beside what stands now, word by word.

use super::{
    Gate, entity,
    rebase::{beside, rebase, rebase_over, text},
    summary,
    taken::{Taken, taken},
};
use crate::{
    domain::{
        actor::told_name,
        change::{Change, ChangeState, Conflict, Entity, EntityKind, Fields, Op, field_label},
        diff::segments,
        error::ApiError,
        id::{ChangeId, ConversationId, PersonaId, UserId},
        list::Page,
        proposal::{Proposal, ProposedField, Proposer},
        version::Revision,
    },
    store::{Head, Link, ProposalRow, StoreError},
};

impl Gate {
    /// The drafts that stand so, of one persona or of all, the last first.
    pub async fn proposals(
        &self,
        state: ChangeState,
        persona: Option<&PersonaId>,
        before: Option<&ChangeId>,
        limit: u32,
    ) -> Result<Page<Proposal>, ApiError> {
        let mut link = self.store.read(&self.space).await?;
        let page = link.proposals(state, persona, before, limit).await?;
        let mut items = Vec::with_capacity(page.items.len());
        for row in page.items {
            items.push(shown(&mut link, row, self.actor.user()).await?);
        }
        Ok(Page { items, next: page.next })
    }

    /// The drafts of a conversation that wait for a decision, the first first.
    pub async fn proposals_in(
        &self,
        conversation: &ConversationId,
    ) -> Result<Vec<Proposal>, ApiError> {
        let mut link = self.store.read(&self.space).await?;
        let mut items = Vec::new();
        for row in link.waiting_in(conversation).await? {
            items.push(shown(&mut link, row, self.actor.user()).await?);
        }
        Ok(items)
    }

    /// What a thing says now, in the bin or not.
    pub async fn head(&self, entity: &Entity) -> Result<Head<Fields>, ApiError> {
        let mut link = self.store.read(&self.space).await?;
        Ok(entity::head(&mut link, entity).await?)
    }

    /// What a thing is called.
    pub async fn title(&self, entity: &Entity) -> Result<String, ApiError> {
        Ok(summary::title(&self.head(entity).await?.fields))
    }

    /// What differs between two versions of a thing that is not in the bin, word by word.
    pub async fn compare(
        &self,
        entity: &Entity,
        from: Revision,
        to: Revision,
    ) -> Result<Vec<ProposedField>, ApiError> {
        let mut link = self.store.read(&self.space).await?;
        if entity::head(&mut link, entity).await?.binned {
            return Err(ApiError::not_found(entity.kind.noun()));
        }
        let before = entity::fields_at(&mut link, entity, from).await?;
        let after = entity::fields_at(&mut link, entity, to).await?;
        Ok(differing(&before, &after))
    }

    /// One draft, however it stands.
    pub async fn proposal(&self, id: &ChangeId) -> Result<Proposal, ApiError> {
        let mut link = self.store.read(&self.space).await?;
        let row = link.proposal(id).await?;
        shown(&mut link, row, self.actor.user()).await
    }
}

/// A draft beside what stands now or, once it was applied, what it did.
async fn shown(
    link: &mut Link,
    draft: ProposalRow,
    reader: Option<&UserId>,
) -> Result<Proposal, ApiError> {
    let change = &draft.row.change;
    let Comparison { title, before, after, revision, conflicts, binned } =
        compared(link, &draft).await?;
    let diff = match change.op {
        Op::Create | Op::Update => differing(&before, &after),
        Op::Delete | Op::Restore | Op::Purge | Op::Label | Op::Publish => Vec::new(),
    };
    let name = match &draft.persona {
        // A model that speaks as itself has no persona.
        Some(persona) if persona.as_str().is_empty() => "The model in the terminal".into(),
        Some(persona) => match link.persona_head(persona).await {
            Ok(head) => head.fields.name,
            Err(StoreError::NotFound(_)) => "A persona that is gone".into(),
            Err(error) => return Err(error.into()),
        },
        None => told_name(draft.user.as_ref(), reader),
    };
    // What is still to be made says itself whose it will be.
    let persona_id = entity::owner(link, &change.entity).await?.or(entity::named_owner(change));
    let of = match persona_id.as_ref().filter(|_| change.entity.kind == EntityKind::TestInput) {
        Some(persona) => match link.persona_head(persona).await {
            Ok(head) => Some(head),
            Err(StoreError::NotFound(_)) => None,
            Err(error) => return Err(error.into()),
        },
        None => None,
    };
    // A test input goes into the bin with its persona.
    let in_bin = binned || of.as_ref().is_some_and(|persona| persona.binned);
    // It may not have been filed anew since what it is about was changed.
    let state = match draft.row.state {
        ChangeState::Pending if !conflicts.is_empty() => ChangeState::Conflict,
        state => state,
    };
    let in_part = is_in_part(link, &draft).await?;
    let change = draft.row.change;
    Ok(Proposal {
        id: draft.row.id,
        state,
        in_part,
        entity: change.entity,
        title,
        in_bin,
        persona_id,
        of: of.map(|persona| persona.fields.name),
        op: change.op,
        summary: draft.summary,
        reason: change.reason,
        diff,
        conflicts,
        revision,
        proposed_by: Proposer {
            kind: draft.kind,
            persona_id: draft.persona,
            name,
            run_id: draft.run,
            conversation_id: draft.conversation,
        },
        untrusted: change.untrusted.named,
        untrusted_more: change.untrusted.more,
        created_at: draft.created_at,
        expires_at: draft.expires_at,
        decided_at: draft.decided_at,
        decided_by: draft.decided_by,
        note: draft.note,
        undone: draft.row.undone_by.is_some(),
    })
}

struct Comparison {
    title: String,
    before: Fields,
    after: Fields,
    revision: Option<Revision>,
    conflicts: Vec<Conflict>,
    binned: bool,
}

/// Whether a draft was accepted, but not all of it.
async fn is_in_part(link: &mut Link, draft: &ProposalRow) -> Result<bool, ApiError> {
    if draft.row.change.op != Op::Update {
        return Ok(false);
    }
    match taken(link, draft).await {
        Ok(fields) => Ok(fields.iter().any(|(_, how)| matches!(how, Taken::InPart | Taken::Left))),
        // What it was about was removed for good.
        Err(ApiError::NotFound { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

async fn compared(link: &mut Link, draft: &ProposalRow) -> Result<Comparison, ApiError> {
    let change = &draft.row.change;
    let nothing = |title: String| Comparison {
        title,
        before: Fields::new(),
        after: Fields::new(),
        revision: None,
        conflicts: Vec::new(),
        binned: false,
    };
    if change.op == Op::Create {
        // What was made may have been worded by the person.
        let made = match draft.row.to_revision {
            Some(first) => entity::fields_at(link, &change.entity, first).await.ok(),
            None => None,
        };
        let after = made.unwrap_or_else(|| change.patch.clone());
        return Ok(Comparison { title: summary::title(&after), after, ..nothing(String::new()) });
    }
    let head = match entity::head(link, &change.entity).await.map_err(ApiError::from) {
        Ok(head) => head,
        Err(ApiError::NotFound { .. }) => return Ok(nothing("Something that is gone".into())),
        Err(error) => return Err(error),
    };
    let title = summary::title(&head.fields);
    let binned = head.binned;
    if change.op != Op::Update {
        return Ok(Comparison { revision: Some(head.revision), binned, ..nothing(title) });
    }
    // What was applied is shown as it was then.
    if let (ChangeState::Applied, Some(from), Some(to)) =
        (draft.row.state, draft.row.from_revision, draft.row.to_revision)
    {
        let before = entity::fields_at(link, &change.entity, from).await?;
        let after = entity::fields_at(link, &change.entity, to).await?;
        return Ok(Comparison { before, after, revision: Some(to), binned, ..nothing(title) });
    }
    let base = match change.base {
        Some(base) if base != head.revision => {
            entity::fields_at(link, &change.entity, base).await?
        }
        _ => head.fields.clone(),
    };
    let (before, revision) = (head.fields, Some(head.revision));
    let (after, conflicts) = merged(&base, &before, change, head.revision);
    Ok(Comparison { title, before, after, revision, conflicts, binned })
}

/// What stands now with the draft in it; where it does not fit, both texts, the draft's with all that does.
fn merged(
    base: &Fields,
    current: &Fields,
    change: &Change,
    revision: Revision,
) -> (Fields, Vec<Conflict>) {
    match rebase(base, current, &change.patch, revision) {
        Ok(after) => (after, Vec::new()),
        Err(_) => {
            let patch = rebase_over(base, current, &change.patch);
            let conflicts = beside(current, &patch, revision);
            let mut after = current.clone();
            after.extend(patch);
            (after, conflicts)
        }
    }
}

/// The fields of `after` that are not the same in `before`, word by word.
fn differing(before: &Fields, after: &Fields) -> Vec<ProposedField> {
    let is =
        |fields: &Fields, field: &str| text(fields.get(field).unwrap_or(&serde_json::Value::Null));
    // Where a test input stands, and whose it is, is not what people read.
    let read = after.keys().filter(|field| !matches!(field.as_str(), "position" | "personaId"));
    let mut read: Vec<&String> = read.collect();
    // What it is called comes first.
    read.sort_by_key(|field| !summary::TITLES.contains(&field.as_str()));
    read.into_iter()
        .map(|field| (field, is(before, field), is(after, field)))
        .filter(|(_, before, after)| before != after)
        .map(|(field, before, after)| ProposedField {
            field: field.clone(),
            label: field_label(field).to_owned(),
            segments: segments(&before, &after),
            after,
        })
        .collect()
}
