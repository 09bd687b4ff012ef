//! Changes, waiting or decided, and the audit of what was done.

use sqlx::FromRow;

use super::{Link, StoreError, link::on, proposal::keep_sources};
use crate::domain::{
    actor::{Actor, ActorKind},
    audit::AuditEntry,
    change::{Change, ChangeState, Entity, EntityKind, Op},
    id::{AuditId, ChangeId, PersonaId, RunId, UserId},
    list::Page,
    proposal::LIFETIME_MS,
    timestamp::Timestamp,
    version::Revision,
};

/// A change as it is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangeRow {
    /// The change.
    pub id: ChangeId,
    /// What it wants.
    pub change: Change,
    /// Where it stands.
    pub state: ChangeState,
    /// What it found when it was applied.
    pub from_revision: Option<Revision>,
    /// What it made.
    pub to_revision: Option<Revision>,
    /// The change that took it back.
    pub undone_by: Option<ChangeId>,
}

#[derive(FromRow)]
struct AuditRow {
    audit_id: String,
    change_id: String,
    entity_type: String,
    entity_id: String,
    op: String,
    summary: String,
    actor_kind: String,
    user_id: Option<String>,
    persona_id: Option<String>,
    run_id: Option<String>,
    from_revision: Option<i64>,
    to_revision: Option<i64>,
    created_at: i64,
}

impl AuditRow {
    fn into_entry(self) -> Option<AuditEntry> {
        Some(AuditEntry {
            id: AuditId::new(self.audit_id),
            change_id: ChangeId::new(self.change_id),
            entity: Entity { kind: EntityKind::from_word(&self.entity_type)?, id: self.entity_id },
            op: Op::from_word(&self.op)?,
            summary: self.summary,
            actor_kind: ActorKind::from_word(&self.actor_kind),
            user_id: self.user_id.map(UserId::new),
            persona_id: self.persona_id.map(PersonaId::new),
            run_id: self.run_id.map(RunId::new),
            from_revision: self.from_revision,
            to_revision: self.to_revision,
            created_at: Timestamp(self.created_at),
        })
    }
}

impl Link {
    /// Keeps a change.
    pub async fn insert_change(
        &mut self,
        row: &ChangeRow,
        actor: &Actor,
        summary: &str,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        const SQL: &str = "insert into pending_changes
            (space_id, change_id, entity_type, entity_id, op, patch, base_revision, state, summary,
                reason, undoes, proposed_by_kind, proposed_by_user_id, proposed_by_persona_id,
                run_id, conversation_id, untrusted, created_at, expires_at, decided_at,
                from_revision, to_revision)
            values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,
                (select conversation_id from run where space_id = $1 and run_id = $15),
                $16, $17, $18, $19, $20, $21)";
        let space = self.space.clone();
        let change = &row.change;
        let patch = serde_json::json!(change.patch).to_string();
        let waits = row.state == ChangeState::Pending;
        let untrusted = keep_sources(&change.untrusted);
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(row.id.as_str())
            .bind(change.entity.kind.word()).bind(change.entity.id.as_str())
            .bind(change.op.word()).bind(patch).bind(change.base).bind(row.state.word())
            .bind(summary).bind(change.reason.as_str())
            .bind(change.undoes.as_ref().map(|id| id.as_str()))
            .bind(actor.kind().word()).bind(actor.user().map(|id| id.as_str()))
            .bind(actor.persona().map(|id| id.as_str())).bind(actor.run().map(|id| id.as_str()))
            .bind(untrusted).bind(at.0).bind(waits.then_some(at.0 + LIFETIME_MS))
            .bind((!waits).then_some(at.0)).bind(row.from_revision).bind(row.to_revision)
            .execute(wire).await.map(drop)?);
        Ok(())
    }

    /// A change of this Space.
    pub async fn change(&mut self, id: &ChangeId) -> Result<ChangeRow, StoreError> {
        match self.proposal(id).await {
            Ok(proposal) => Ok(proposal.row),
            Err(StoreError::NotFound(_)) => Err(StoreError::NotFound("change")),
            Err(error) => Err(error),
        }
    }

    /// Notes that a change was taken back. `false` when it was already.
    pub async fn mark_undone(&mut self, id: &ChangeId, by: &ChangeId) -> Result<bool, StoreError> {
        const SQL: &str = "update pending_changes set undone_by = $3
            where space_id = $1 and change_id = $2 and undone_by is null";
        let space = self.space.clone();
        let marked = on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(id.as_str()).bind(by.as_str())
            .execute(wire).await?.rows_affected());
        Ok(marked > 0)
    }

    /// Writes down what a change did.
    pub async fn insert_audit(
        &mut self,
        row: &ChangeRow,
        actor: &Actor,
        summary: &str,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        const SQL: &str = "insert into audit
            (space_id, audit_id, change_id, entity_type, entity_id, op, summary, actor_kind,
                user_id, persona_id, run_id, from_revision, to_revision, created_at)
            values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)";
        let space = self.space.clone();
        let id: AuditId = super::new_id();
        let change = &row.change;
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(id.as_str()).bind(row.id.as_str())
            .bind(change.entity.kind.word()).bind(change.entity.id.as_str())
            .bind(change.op.word()).bind(summary).bind(actor.kind().word())
            .bind(actor.user().map(|id| id.as_str()))
            .bind(actor.persona().map(|id| id.as_str())).bind(actor.run().map(|id| id.as_str()))
            .bind(row.from_revision).bind(row.to_revision).bind(at.0)
            .execute(wire).await.map(drop)?);
        Ok(())
    }

    /// What was done in this Space, the last first.
    pub async fn audit(
        &mut self,
        before: Option<&AuditId>,
        limit: u32,
    ) -> Result<Page<AuditEntry>, StoreError> {
        const SQL: &str = "select audit_id, change_id, entity_type, entity_id, op, summary,
                actor_kind, user_id, persona_id, run_id, from_revision, to_revision, created_at
            from audit where space_id = $1 and audit_id < $2 order by audit_id desc limit $3";
        let space = self.space.clone();
        let before = before.map_or("~", AuditId::as_str).to_owned();
        let wanted = i64::from(limit) + 1;
        let rows: Vec<AuditRow> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(before).bind(wanted).fetch_all(wire).await?);
        let page = Page::cut(rows, limit, |row| row.audit_id.clone());
        let items = page.items.into_iter().filter_map(AuditRow::into_entry).collect();
        Ok(Page { items, next: page.next })
    }
}
