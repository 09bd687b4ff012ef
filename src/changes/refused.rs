//! What persons wrote and could not be saved. It is kept until they save it in other words or leave it.

use super::{
    Gate, apply, entity,
    rebase::{beside, rebase_over},
    summary, undo,
};
use crate::{
    domain::{
        change::{Change, ChangeState, Conflict, Entity, Fields, Op, Outcome},
        error::ApiError,
        id::ChangeId,
        news::News,
        proposal::Approval,
        version::Revision,
    },
    store::{ChangeRow, Link, ProposalRow, new_id, now},
};

/// A refused change beside what stands now.
pub struct Refused {
    /// How it stands.
    pub state: ChangeState,
    /// What it is about.
    pub entity: Entity,
    /// What it does.
    pub op: Op,
    /// Why it cannot be applied by itself; `None` when another edit was in the way of one's own.
    pub why: Option<ApiError>,
    /// Both texts of every field in which they differ.
    pub texts: Vec<Conflict>,
}

impl Gate {
    /// Keeps a change that was refused, so that what was written in it is not lost.
    pub async fn keep_refused(&self, change: Change) -> Result<ChangeId, ApiError> {
        let mut link = self.store.write(&self.space).await?;
        let (fields, from_revision) = standing(&mut link, &change).await?;
        let state = ChangeState::Conflict;
        let summary = summary::of(&change, &fields, state);
        let id: ChangeId = new_id();
        link.tell(News::of_change(&id, &change.entity, state, None));
        let (id_of_row, to_revision, undone_by) = (id.clone(), None, None);
        let row = ChangeRow { id: id_of_row, change, state, from_revision, to_revision, undone_by };
        link.insert_change(&row, &self.actor, &summary, now()).await?;
        link.commit().await?;
        Ok(id)
    }

    /// A refused change beside what stands now: why it was refused, and both texts of every field in
    /// which they differ. Of one that was decided on, only how.
    pub async fn open_refused(&self, id: &ChangeId) -> Result<Refused, ApiError> {
        let mut link = self.store.read(&self.space).await?;
        let ChangeRow { change, state, .. } = kept_by_person(&mut link, id).await?;
        let (why, texts) = match state {
            ChangeState::Conflict => {
                let (fields, revision) = standing(&mut link, &change).await?;
                let why = apply::rehearse(&mut link, &change).await.err().map(ApiError::from);
                let why = why.or_else(|| change.undoes.as_ref().map(|_| undo::kept()));
                let base = match change.base {
                    Some(base) => entity::fields_at(&mut link, &change.entity, base).await.ok(),
                    None => None,
                };
                let patch = match base {
                    Some(base) => rebase_over(&base, &fields, &change.patch),
                    None => change.patch.clone(),
                };
                (why, beside(&fields, &patch, revision.unwrap_or_default()))
            }
            ChangeState::Applied | ChangeState::Rejected => (None, Vec::new()),
            ChangeState::Pending | ChangeState::Superseded | ChangeState::Expired => {
                return Err(ApiError::not_found("change"));
            }
        };
        Ok(Refused { state, entity: change.entity, op: change.op, why, texts })
    }

    /// Saves what a person makes of a refused change. What is refused again takes the place of what was
    /// kept. What an agent proposed is decided on elsewhere, and is not found here.
    pub async fn save_refused(
        &self,
        id: &ChangeId,
        seen: Option<Revision>,
        own: Fields,
    ) -> Result<(Entity, Outcome), ApiError> {
        let mut link = self.store.read(&self.space).await?;
        let ChangeRow { mut change, state, .. } = kept_by_person(&mut link, id).await?;
        drop(link);
        let approval = Approval { revision: seen, patch: own.clone(), hunks: None };
        let refused = match self.approve(id, &approval).await {
            Ok(outcome) => return Ok((change.entity, outcome)),
            Err(refused) if state == ChangeState::Conflict => refused,
            Err(refused) => return Err(refused),
        };
        let (ApiError::Conflict(_) | ApiError::Invalid { .. }) = refused else {
            return Err(refused);
        };
        change.patch.extend(own);
        change.base = seen.filter(|_| change.op == Op::Update).or(change.base);
        let mut link = self.store.write(&self.space).await?;
        if !link.reword(id, &change).await? {
            return Err(refused);
        }
        link.commit().await?;
        let revision = seen.unwrap_or_default();
        let state = ChangeState::Conflict;
        Ok((change.entity, Outcome { change_id: Some(id.clone()), state, revision }))
    }
}

/// A change that a person wrote, whatever became of it.
async fn kept_by_person(link: &mut Link, id: &ChangeId) -> Result<ChangeRow, ApiError> {
    let ProposalRow { row, kind, .. } = link.proposal(id).await?;
    if kind.is_person() { Ok(row) } else { Err(ApiError::not_found("change")) }
}

/// What stands of the thing that a change is about: nothing, while it is only to be made.
async fn standing(
    link: &mut Link,
    change: &Change,
) -> Result<(Fields, Option<Revision>), ApiError> {
    if change.op == Op::Create {
        return Ok((Fields::new(), None));
    }
    let head = entity::head(link, &change.entity).await?;
    Ok((head.fields, Some(head.revision)))
}
