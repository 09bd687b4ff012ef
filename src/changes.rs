//! The gate: the only door through which anything is modified, for persons and personas alike.
//!
//! A change that passes writes the new revision, its own row and the audit in one transaction. A
//! change written against an older revision is merged word by word, or answered with both texts.

mod apply;
mod decide;
mod entity;
mod fit;
mod index;
mod proposals;
mod publish;
mod rebase;
mod refused;
mod samples;
mod summary;
mod taken;
mod undo;

use apply::{Applied, Refusal};
pub use decide::leave_drafts;
pub use index::refresh as refresh_index;
pub use refused::Refused;
use serde_json::Value;
pub use taken::{Taken, taken};

use crate::{
    domain::{
        actor::Actor,
        audit::Binned,
        change::{Change, ChangeState, Entity, Fields, Op, Outcome, REASON},
        error::ApiError,
        id::{ChangeId, ConversationId, PersonaId, SpaceId, TestInputId, UserId},
        news::News,
        persona::Tier,
        test_input::{Move, TestInput, moved},
        timestamp::Timestamp,
        version::Revision,
    },
    store::{ChangeRow, Link, Store, StoreError, new_id, now},
};

/// How often a change is tried again when another writer was faster.
const ATTEMPTS: usize = 8;

/// Who asks, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The Space in which everything happens.
    pub space: SpaceId,
    /// The person who asks.
    pub user: UserId,
}

/// The gate, as one actor in one Space stands before it.
#[derive(Clone, Debug)]
pub struct Gate {
    store: Store,
    space: SpaceId,
    actor: Actor,
}

/// What a thing said at a revision.
pub async fn fields_at(
    link: &mut Link,
    entity: &Entity,
    revision: Revision,
) -> Result<Fields, ApiError> {
    entity::fields_at(link, entity, revision).await.map_err(|refusal| match refusal {
        Refusal::Told(error) => error,
        Refusal::Moved => ApiError::Unavailable,
    })
}

/// What the gate does with a change, by who wants it.
enum Verdict {
    Apply,
    Keep,
    Deny,
}

/// The one place where the tier decides. Even an agent that may act does so on its own persona only;
/// about everything else it makes drafts.
fn verdict(actor: &Actor, change: &Change, owner: Option<&PersonaId>) -> Verdict {
    match actor {
        Actor::Person { .. } | Actor::System => Verdict::Apply,
        Actor::Persona { tier: Tier::Read, .. } => Verdict::Deny,
        Actor::Persona { .. } if matches!(change.op, Op::Purge | Op::Publish) => Verdict::Deny,
        Actor::Persona { tier: Tier::Act, persona, .. } if owner == Some(persona) => Verdict::Apply,
        Actor::Persona { tier: Tier::Act | Tier::Suggest, .. } => Verdict::Keep,
    }
}

impl Gate {
    /// The gate in front of this store, for this actor in this Space.
    pub fn new(store: Store, space: SpaceId, actor: Actor) -> Self {
        Self { store, space, actor }
    }

    /// Takes one change.
    pub async fn submit(&self, change: Change) -> Result<Outcome, ApiError> {
        let outcomes = self.submit_all(vec![change]).await?;
        outcomes.into_iter().next().ok_or_else(|| ApiError::not_found("change"))
    }

    /// Takes one change within a transaction of the caller's, which goes with it or not at all.
    pub async fn submit_on(&self, link: &mut Link, change: Change) -> Result<Outcome, ApiError> {
        pass(link, &self.actor, change, now()).await.map_err(|refusal| match refusal {
            Refusal::Told(error) => error,
            Refusal::Moved => ApiError::Unavailable,
        })
    }

    /// Takes several changes, all or none.
    pub async fn submit_all(&self, changes: Vec<Change>) -> Result<Vec<Outcome>, ApiError> {
        for _ in 0..ATTEMPTS {
            let mut link = self.store.write(&self.space).await?;
            self.check_run(&mut link).await?;
            match pass_all(&mut link, &self.actor, &changes, 0).await {
                Ok(outcomes) => match link.commit().await {
                    Ok(()) => return Ok(outcomes),
                    Err(StoreError::Contended) => {}
                    Err(error) => return Err(error.into()),
                },
                // Another writer moved the row between our look at it and our write.
                Err(Refusal::Moved) => {}
                Err(Refusal::Told(error)) => return Err(error),
            }
        }
        Err(ApiError::Unavailable)
    }

    /// An agent changes something only while its run goes on: not when a process that slept wakes and finds that
    /// another one has ended it.
    async fn check_run(&self, link: &mut Link) -> Result<(), ApiError> {
        let Some(run) = self.actor.run() else { return Ok(()) };
        if link.goes_on(run).await? {
            return Ok(());
        }
        let reason = "This answer has ended, so nothing more is changed by it.";
        Err(ApiError::NotNow { reason: reason.into() })
    }

    /// Takes back an applied change by applying its inverse. Where another edit is in the way, nothing is done.
    pub async fn undo(&self, id: &ChangeId) -> Result<Outcome, ApiError> {
        let inverse = self.inverse(id).await?;
        self.submit(inverse).await.map_err(|error| match error {
            ApiError::Conflict(conflict) => undo::hindered(&conflict),
            other => other,
        })
    }

    /// The change that takes an applied one back.
    pub async fn inverse(&self, id: &ChangeId) -> Result<Change, ApiError> {
        undo::inverse(&mut self.store.read(&self.space).await?, id).await
    }

    /// Copies a persona with its test inputs. The copy's first version says where it came from.
    pub async fn duplicate_persona(&self, id: &PersonaId) -> Result<PersonaId, ApiError> {
        let mut link = self.store.read(&self.space).await?;
        let original = link.persona(id).await?;
        let test_inputs = link.test_inputs(id).await?;
        let copy: PersonaId = new_id();
        let reason = format!("Copied from {}.", original.fields.name);
        let mut fields = original.fields;
        fields.name = copied_name(&fields.name);
        let mut copied = Change::new(&copy, Op::Create).with(to_fields(&fields)?).because(reason);
        // What is from elsewhere is so in a copy, too.
        copied.untrusted = link.brought_in(&Entity::from(id)).await?;
        let mut changes = vec![copied];
        for TestInput { id, fields, .. } in test_inputs {
            let copied: TestInputId = new_id();
            let mut change = Change::new(&copied, Op::Create)
                .with(to_fields(&fields)?)
                .set("personaId", copy.as_str());
            change.untrusted = link.brought_in(&Entity::from(&id)).await?;
            changes.push(change);
        }
        drop(link);
        self.submit_all(changes).await?;
        Ok(copy)
    }

    /// Makes what an old version says the newest version.
    pub async fn restore_version(
        &self,
        entity: impl Into<Entity>,
        revision: Revision,
    ) -> Result<Outcome, ApiError> {
        let entity = entity.into();
        let mut link = self.store.read(&self.space).await?;
        let head = entity::head(&mut link, &entity).await?;
        let mut fields = entity::fields_at(&mut link, &entity, revision).await?;
        let untrusted = link.brought_in_at(&entity, revision).await?;
        drop(link);
        // What the version did not have yet goes again.
        for name in head.fields.keys() {
            fields.entry(name).or_insert(Value::Null);
        }
        let change = Change::new(entity, Op::Update)
            .with(fields)
            .because(format!("Restored version {revision}."));
        self.submit(Change { untrusted, ..change }).await
    }

    /// Moves a test input one place among its siblings. At the end of the row nothing happens.
    pub async fn move_test_input(&self, id: &TestInputId, way: Move) -> Result<(), ApiError> {
        let mut link = self.store.read(&self.space).await?;
        let persona = link.test_input(id).await?.persona_id;
        let siblings = link.test_inputs(&persona).await?;
        drop(link);
        let positions: Vec<&str> =
            siblings.iter().map(|sibling| sibling.fields.position.as_str()).collect();
        let at = siblings.iter().position(|sibling| sibling.id == *id);
        let moves = at.map(|at| moved(&positions, at, way)).unwrap_or_default();
        let changes = moves.into_iter().map(|(row, position)| {
            Change::new(&siblings[row].id, Op::Update).set("position", position)
        });
        self.submit_all(changes.collect()).await?;
        Ok(())
    }

    /// Removes all that lies in the bin for good. Says how much that was.
    pub async fn empty_bin(&self) -> Result<usize, ApiError> {
        let mut gone = 0;
        loop {
            let page = self.store.read(&self.space).await?.bin(None, 100).await?;
            if page.items.is_empty() {
                return Ok(gone);
            }
            gone += page.items.len();
            let (mut purges, mut sessions) = (Vec::new(), Vec::new());
            for Binned { entity_type, entity_id, .. } in page.items {
                match entity_type.entity() {
                    Some(kind) => {
                        purges.push(Change::new(Entity::new(kind, &entity_id), Op::Purge));
                    }
                    None => sessions.push(ConversationId::new(entity_id)),
                }
            }
            self.submit_all(purges).await?;
            for session in &sessions {
                self.purge_terminal(session).await?;
            }
        }
    }

    /// Removes a session of the terminal from the bin for good. It has no versions, and nobody audits it.
    pub async fn purge_terminal(&self, id: &ConversationId) -> Result<(), ApiError> {
        let mut link = self.store.write(&self.space).await?;
        link.terminal(id).await?;
        if !link.purge_terminal(id).await? {
            let reason = "That session is not in the bin. Only the bin can be emptied.";
            return Err(ApiError::NotNow { reason: reason.into() });
        }
        link.tell(News::of_chat(id));
        Ok(link.commit().await?)
    }

    /// Makes a Space with its owner and the samples, unless it is there already.
    pub async fn found_space(store: &Store, scope: &Scope, name: &str) -> Result<(), ApiError> {
        let mut link = store.write(&scope.space).await?;
        if link.create_space(name, &scope.user).await? {
            let changes = samples::changes()?;
            // The list shows the last changed first, and the first sample on top.
            pass_all(&mut link, &Actor::System, &changes, 1).await?;
            link.commit().await?;
        }
        Ok(())
    }
}

/// All changes through the gate, each dated `apart_ms` before the last.
async fn pass_all(
    link: &mut Link,
    actor: &Actor,
    changes: &[Change],
    apart_ms: i64,
) -> Result<Vec<Outcome>, Refusal> {
    let mut at = now();
    let mut outcomes = Vec::with_capacity(changes.len());
    for change in changes {
        outcomes.push(pass(link, actor, change.clone(), at).await?);
        at.0 -= apart_ms;
    }
    Ok(outcomes)
}

/// One change through the gate, inside a transaction.
async fn pass(
    link: &mut Link,
    actor: &Actor,
    mut change: Change,
    at: Timestamp,
) -> Result<Outcome, Refusal> {
    REASON.check(&change.reason)?;
    let id: ChangeId = new_id();
    let owner = match &change.entity {
        // What is about to be made says whose it is; what is about to go says so for the last time.
        _ if change.op == Op::Create => entity::named_owner(&change),
        known => entity::owner(link, known).await?,
    };
    let (state, applied) = match verdict(actor, &change, owner.as_ref()) {
        Verdict::Deny => {
            let reason = match change.op {
                Op::Purge => "Only a person removes something for good.",
                Op::Publish => "Only a person decides what is public.",
                _ => {
                    "This persona's agent may only read. A person can raise its tier in the \
                     persona's settings."
                }
            };
            return Err(ApiError::Denied { reason: reason.into() }.into());
        }
        Verdict::Keep => {
            let rehearsed = apply::rehearse(link, &change).await?;
            decide::supersede(link, actor, &change, at).await?;
            (ChangeState::Pending, rehearsed)
        }
        Verdict::Apply => {
            (ChangeState::Applied, apply::apply(link, actor, &id, &mut change, at).await?)
        }
    };
    let Applied { from, to, before } = applied;
    // What stands already as it did before counts as taken back, too.
    if let Some(undone) = &change.undoes
        && state == ChangeState::Applied
    {
        if !link.mark_undone(undone, &id).await? {
            return Err(undo::already().into());
        }
        let told = News::of_change(undone, &change.entity, state, to);
        link.tell(News { persona_id: owner.clone(), ..told });
    }
    if state == ChangeState::Applied && change.op == Op::Update && from == to {
        return Ok(Outcome { change_id: None, state, revision: to.unwrap_or_default() });
    }
    let summary = summary::of(&change, &before, state);
    let row = ChangeRow {
        id: id.clone(),
        change,
        state,
        from_revision: from,
        to_revision: to.filter(|_| state == ChangeState::Applied),
        undone_by: None,
    };
    link.insert_change(&row, actor, &summary, at).await?;
    // What was changed since the agent read it can be in the way from the beginning.
    let filed = match state {
        ChangeState::Pending => fit::standing(link, &row.change).await?,
        other => other,
    };
    if filed != state {
        link.file_draft(&id, filed).await?;
    }
    if state == ChangeState::Applied {
        link.insert_audit(&row, actor, &summary, at).await?;
    }
    let entity = &row.change.entity;
    link.tell(News { persona_id: owner, ..News::of_change(&id, entity, filed, row.to_revision) });
    Ok(Outcome { change_id: Some(id), state: filed, revision: to.unwrap_or_default() })
}

/// The fields of a typed thing, as changes carry them.
pub fn to_fields(thing: &impl serde::Serialize) -> Result<Fields, ApiError> {
    match serde_json::to_value(thing) {
        Ok(serde_json::Value::Object(fields)) => Ok(fields),
        _ => Err(ApiError::Malformed { problem: "it is not an object".into() }),
    }
}

/// `Ann` becomes `Ann (copy)`, and a name at the limit is cut to leave room.
fn copied_name(name: &str) -> String {
    const MARK: &str = " (copy)";
    let room = crate::domain::persona::NAME.max_chars - MARK.len();
    let kept: String = name.chars().take(room).collect();
    format!("{}{MARK}", kept.trim_end())
}
