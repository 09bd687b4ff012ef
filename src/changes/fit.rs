//! Whether a draft fits what its thing says now.
//!
//! How a draft stands is kept with it: the Inbox reads a page of the drafts of one state, and that stays as
//! fast with ten thousand of them only while the index knows the state. So whoever changes a thing files the
//! drafts about it anew, in the same transaction: those that cannot be merged any more are conflicts, and
//! those that fit again wait again.

use super::{apply::Refusal, decide::stands, entity, rebase::rebase};
use crate::{
    domain::{
        change::{Change, ChangeState, Entity, Fields, Op},
        error::ApiError,
    },
    store::{Head, Link},
};

/// So many drafts about one thing are filed anew after a change, the last ones first. Those before them are
/// told as what they are when they are read, and filed when somebody tries to accept them.
const MAX_FILED: u32 = 200;

/// How a draft stands that nobody has decided on.
pub async fn standing(link: &mut Link, change: &Change) -> Result<ChangeState, Refusal> {
    if change.op != Op::Update {
        return Ok(ChangeState::Pending);
    }
    match entity::head(link, &change.entity).await {
        Ok(head) => beside(link, change, &head).await,
        // Nothing stands against a draft about something that is gone.
        Err(Refusal::Told(ApiError::NotFound { .. })) => Ok(ChangeState::Pending),
        Err(refusal) => Err(refusal),
    }
}

/// Files the open drafts about a thing that has just said something else.
pub async fn file_anew(link: &mut Link, entity: &Entity, before: &Fields) -> Result<(), Refusal> {
    let drafts = link.open_updates(entity, MAX_FILED).await?;
    if drafts.is_empty() {
        return Ok(());
    }
    let head = entity::head(link, entity).await?;
    // The first first, as everybody does who ends several, so that nobody waits for the other.
    for draft in drafts.into_iter().rev() {
        // What a person wrote in its place is theirs to settle.
        if draft.proposed.is_some() {
            continue;
        }
        let change = &draft.row.change;
        let is_touched = |field: &String| before.get(field) != head.fields.get(field);
        if !change.patch.keys().any(is_touched) {
            continue;
        }
        let state = beside(link, change, &head).await?;
        if state != draft.row.state && link.file_draft(&draft.row.id, state).await? {
            stands(link, &draft, state);
        }
    }
    Ok(())
}

async fn beside(
    link: &mut Link,
    change: &Change,
    head: &Head<Fields>,
) -> Result<ChangeState, Refusal> {
    // What was written for what stands now fits.
    let Some(base) = change.base.filter(|base| *base != head.revision) else {
        return Ok(ChangeState::Pending);
    };
    let base = match entity::fields_at(link, &change.entity, base).await {
        Ok(base) => base,
        Err(Refusal::Told(ApiError::NotFound { .. })) => return Ok(ChangeState::Pending),
        Err(refusal) => return Err(refusal),
    };
    Ok(match rebase(&base, &head.fields, &change.patch, head.revision) {
        Ok(_) => ChangeState::Pending,
        Err(_) => ChangeState::Conflict,
    })
}
