//! Deciding on drafts: whole, word by word, in one's own words, or not at all.
//!
//! Only a person decides. The first decision counts, and a second one is told which it was.

use super::{
    ATTEMPTS, Gate,
    apply::{self, Refusal},
    entity, fit,
    rebase::rebase,
    summary,
};
use crate::{
    domain::{
        actor::Actor,
        change::{Change, ChangeState, Fields, Op, Outcome, REASON},
        diff::accept,
        error::ApiError,
        id::{ChangeId, RunId, UserId},
        news::News,
        persona::Tier,
        proposal::Approval,
        timestamp::Timestamp,
    },
    store::{Decision, Link, ProposalRow, StoreError, now},
};

impl Gate {
    /// Accepts a draft. One that no longer fits what stands now becomes a conflict, and both texts are
    /// told.
    pub async fn approve(&self, id: &ChangeId, approval: &Approval) -> Result<Outcome, ApiError> {
        let user = self.person()?;
        for _ in 0..ATTEMPTS {
            let mut link = self.store.write(&self.space).await?;
            match accept_draft(&mut link, id, approval, user).await {
                Ok(outcome) => match link.commit().await {
                    Ok(()) => return Ok(outcome),
                    Err(StoreError::Contended) => {}
                    Err(error) => return Err(error.into()),
                },
                Err(Refusal::Moved) => {}
                Err(Refusal::Told(ApiError::Conflict(conflict))) => {
                    drop(link);
                    self.keep_words(id, approval).await?;
                    return Err(ApiError::Conflict(conflict));
                }
                Err(Refusal::Told(error)) => return Err(error),
            }
        }
        Err(ApiError::Unavailable)
    }

    /// Rejects a draft. What the person says about it is told to whoever proposed it.
    pub async fn reject(&self, id: &ChangeId, why: &str) -> Result<Outcome, ApiError> {
        REASON.check(why)?;
        self.settle(id, ChangeState::Rejected, why.trim()).await
    }

    /// Takes a rejection back: the draft waits again.
    pub async fn reopen(&self, id: &ChangeId) -> Result<Outcome, ApiError> {
        self.person()?;
        let mut link = self.store.write(&self.space).await?;
        let draft = link.proposal(id).await?;
        // A person's own text was never a draft: it could not be saved.
        let state = match draft.kind.is_person() {
            true => ChangeState::Conflict,
            false => fit::standing(&mut link, &draft.row.change).await?,
        };
        if !link.reopen(id, state).await? {
            let reason = "Only a draft that was rejected can be taken up again.".into();
            return Err(ApiError::NotNow { reason });
        }
        let outcome = stands(&mut link, &draft, state);
        link.commit().await?;
        Ok(outcome)
    }

    fn person(&self) -> Result<&UserId, ApiError> {
        match &self.actor {
            Actor::Person { user } => Ok(user),
            Actor::Persona { .. } | Actor::System => {
                Err(ApiError::Denied { reason: "Only a person decides on a draft.".into() })
            }
        }
    }

    /// Ends a draft without applying it.
    async fn settle(
        &self,
        id: &ChangeId,
        state: ChangeState,
        note: &str,
    ) -> Result<Outcome, ApiError> {
        let decision = Decision { state, by: Some(self.person()?), note, at: now() };
        let mut link = self.store.write(&self.space).await?;
        let draft = end(&mut link, id, decision).await?;
        let outcome = stands(&mut link, &draft, state);
        link.commit().await?;
        Ok(outcome)
    }

    /// Leaves a draft that cannot be accepted as it is as a conflict: in the person's own words, where they have
    /// some.
    pub async fn keep_words(&self, id: &ChangeId, approval: &Approval) -> Result<(), ApiError> {
        let state = ChangeState::Conflict;
        let decision = Decision { state, by: Some(self.person()?), note: "", at: now() };
        let mut link = self.store.write(&self.space).await?;
        let draft = end(&mut link, id, decision).await?;
        stands(&mut link, &draft, state);
        if !approval.patch.is_empty() {
            let own = Approval { hunks: None, ..approval.clone() };
            let change = match taken(&mut link, &draft, &own).await {
                Ok(change) => change,
                // What they left alone does not fit what they saw: it stays as it was proposed.
                Err(Refusal::Told(ApiError::Conflict(_))) => {
                    let mut change = draft.row.change;
                    change.patch.extend(own.patch);
                    change
                }
                Err(other) => return Err(other.into()),
            };
            link.reword(id, &change).await?;
        }
        Ok(link.commit().await?)
    }
}

/// Writes down a decision, the first one.
async fn end(
    link: &mut Link,
    id: &ChangeId,
    decision: Decision<'_>,
) -> Result<ProposalRow, ApiError> {
    let draft = link.proposal(id).await?;
    if !link.decide(id, decision).await? {
        // It may have been decided between the look and the try.
        return Err(decided(&link.proposal(id).await?));
    }
    Ok(draft)
}

/// What a second decision is told.
fn decided(draft: &ProposalRow) -> ApiError {
    ApiError::Decided { state: draft.row.state, decided_at: draft.decided_at }
}

/// Tells every page of the Space how a draft stands from now on.
pub fn stands(link: &mut Link, draft: &ProposalRow, state: ChangeState) -> Outcome {
    link.tell(News::of_change(&draft.row.id, &draft.row.change.entity, state, None));
    let revision = draft.row.from_revision.unwrap_or_default();
    Outcome { change_id: Some(draft.row.id.clone()), state, revision }
}

/// Applies a draft, or what the person takes of it, in the name of whoever proposed it.
async fn accept_draft(
    link: &mut Link,
    id: &ChangeId,
    approval: &Approval,
    user: &UserId,
) -> Result<Outcome, Refusal> {
    let at = now();
    let draft = link.proposal(id).await?;
    let old = draft.expires_at.is_some_and(|expires| expires <= at);
    if old && draft.decided_at.is_none() {
        return Err(ApiError::Decided { state: ChangeState::Expired, decided_at: None }.into());
    }
    // The thing before its drafts, as everybody does who changes it and files them anew.
    link.lock(&draft.row.change.entity).await?;
    let decision = Decision { state: ChangeState::Applied, by: Some(user), note: "", at };
    end(link, id, decision).await?;
    let mut change = taken(link, &draft, approval).await?;
    let author = match (&draft.persona, draft.kind.is_person()) {
        (Some(persona), false) => Actor::Persona {
            persona: persona.clone(),
            user: user.clone(),
            run: draft.run.clone(),
            tier: Tier::Suggest,
        },
        _ => Actor::Person { user: user.clone() },
    };
    let applied = apply::apply(link, &author, id, &mut change, at).await?;
    let row = crate::store::ChangeRow {
        change,
        state: ChangeState::Applied,
        from_revision: applied.from,
        to_revision: applied.to,
        ..draft.row
    };
    link.mark_applied(&row).await?;
    let summary = summary::of(&row.change, &applied.before, ChangeState::Applied);
    link.insert_audit(&row, &author, &summary, at).await?;
    let persona_id = entity::owner(link, &row.change.entity).await?;
    // An undo that was kept, once a person has said what becomes of it.
    if let Some(undone) = &row.change.undoes
        && link.mark_undone(undone, id).await?
    {
        let told = News::of_change(undone, &row.change.entity, row.state, applied.to);
        link.tell(News { persona_id: persona_id.clone(), ..told });
    }
    link.tell(News {
        persona_id,
        ..News::of_change(id, &row.change.entity, ChangeState::Applied, applied.to)
    });
    let revision = applied.to.unwrap_or_default();
    Ok(Outcome { change_id: Some(id.clone()), state: ChangeState::Applied, revision })
}

/// The change as the person takes it.
async fn taken(
    link: &mut Link,
    draft: &ProposalRow,
    approval: &Approval,
) -> Result<Change, Refusal> {
    let mut change = draft.row.change.clone();
    if approval.is_whole() {
        return Ok(change);
    }
    match change.op {
        Op::Create if approval.hunks.is_some() => {
            let rule = "Something new is accepted whole, or in your own words.";
            Err(ApiError::invalid("hunks", rule).into())
        }
        Op::Create => {
            change.patch.extend(approval.patch.clone());
            Ok(change)
        }
        Op::Update => {
            let Some(seen) = approval.revision else {
                let rule = "Say which revision you saw, so that nothing is written over.";
                return Err(ApiError::invalid("revision", rule).into());
            };
            let shown = shown_at(link, draft, seen, approval).await?;
            change.patch = shown;
            change.base = Some(seen);
            if change.patch.is_empty() {
                let rule = "Choose at least one change, or reject the draft.";
                return Err(ApiError::invalid("hunks", rule).into());
            }
            Ok(change)
        }
        Op::Delete | Op::Restore | Op::Purge | Op::Label | Op::Publish => {
            let rule = "This draft can only be accepted or rejected whole.";
            Err(ApiError::invalid("hunks", rule).into())
        }
    }
}

/// The fields to write: the person's own words where there are some, else the chosen changes.
async fn shown_at(
    link: &mut Link,
    draft: &ProposalRow,
    seen: i64,
    approval: &Approval,
) -> Result<Fields, Refusal> {
    let change = &draft.row.change;
    let current = entity::fields_at(link, &change.entity, seen).await?;
    let base = match change.base {
        Some(base) if base != seen => entity::fields_at(link, &change.entity, base).await?,
        _ => current.clone(),
    };
    let mut out = Fields::new();
    for (field, wanted) in &change.patch {
        if let Some(own) = approval.patch.get(field) {
            out.insert(field.clone(), own.clone());
            continue;
        }
        let chosen = match &approval.hunks {
            None => None,
            Some(hunks) => match hunks.get(field) {
                Some(chosen) if !chosen.is_empty() => Some(chosen),
                _ => continue,
            },
        };
        let alone = Fields::from_iter([(field.clone(), wanted.clone())]);
        let merged = rebase(&base, &current, &alone, seen)
            .map_err(|conflict| ApiError::Conflict(Box::new(conflict)))?;
        let wanted = merged.get(field).cloned().unwrap_or_default();
        let text = current.get(field).and_then(|text| text.as_str());
        out.insert(
            field.clone(),
            match (text, wanted.as_str(), chosen) {
                (Some(old), Some(new), Some(chosen)) => accept(old, new, chosen).into(),
                _ => wanted,
            },
        );
    }
    Ok(out)
}

/// Ends the drafts of the same conversation that a new one makes pointless: those that do the same, and
/// those that write the same passages in another way.
pub async fn supersede(
    link: &mut Link,
    actor: &Actor,
    change: &Change,
    at: Timestamp,
) -> Result<(), Refusal> {
    let Some(run) = actor.run() else { return Ok(()) };
    for other in link.waiting_beside(&change.entity, run).await? {
        if other.row.change.op != change.op || !is_replaced(link, &other.row.change, change).await?
        {
            continue;
        }
        leave(link, &other, at).await?;
    }
    Ok(())
}

/// Ends the drafts of an answer that is left aside, as far as nobody has decided on them.
pub async fn leave_drafts(link: &mut Link, run: &RunId) -> Result<(), ApiError> {
    for draft in link.waiting_of(run).await? {
        leave(link, &draft, now()).await?;
    }
    Ok(())
}

async fn leave(link: &mut Link, draft: &ProposalRow, at: Timestamp) -> Result<(), StoreError> {
    let decision = Decision { state: ChangeState::Superseded, by: None, note: "", at };
    if link.decide(&draft.row.id, decision).await? {
        stands(link, draft, ChangeState::Superseded);
    }
    Ok(())
}

async fn is_replaced(link: &mut Link, old: &Change, new: &Change) -> Result<bool, Refusal> {
    if new.op != Op::Update {
        return Ok(true);
    }
    if !old.patch.keys().all(|field| new.patch.contains_key(field)) {
        return Ok(false);
    }
    let base = match old.base {
        Some(base) => entity::fields_at(link, &new.entity, base).await?,
        None => entity::head(link, &new.entity).await?.fields,
    };
    let mut both = base.clone();
    both.extend(old.patch.clone());
    Ok(rebase(&base, &both, &new.patch, 0).is_err())
}
