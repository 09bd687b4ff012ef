//! Drafts that wait for a person, and what was decided.

use serde::Deserialize;
use sqlx::FromRow;

use super::{Link, Store, StoreError, change::ChangeRow, link::on};
use crate::domain::{
    actor::ActorKind,
    change::{Change, ChangeState, Entity, EntityKind, Fields, Op},
    id::{ChangeId, ConversationId, PersonaId, RunId, SpaceId, UserId},
    list::Page,
    news::News,
    proposal::{Source, Sources},
    run::Run,
    timestamp::Timestamp,
    version::Revision,
};

/// A change with who proposed it and who decided.
#[derive(Clone, Debug, PartialEq)]
pub struct ProposalRow {
    /// The change.
    pub row: ChangeRow,
    /// One line for people.
    pub summary: String,
    /// What kind of actor proposed it.
    pub kind: ActorKind,
    /// For whom.
    pub user: Option<UserId>,
    /// The persona that proposed it.
    pub persona: Option<PersonaId>,
    /// The run in which that happened.
    pub run: Option<RunId>,
    /// The conversation in which the run went on.
    pub conversation: Option<ConversationId>,
    /// When it was proposed.
    pub created_at: Timestamp,
    /// When it is too old.
    pub expires_at: Option<Timestamp>,
    /// Who decided.
    pub decided_by: Option<UserId>,
    /// When.
    pub decided_at: Option<Timestamp>,
    /// What they said about it.
    pub note: String,
    /// What was proposed at first, where a person has written it anew since.
    pub proposed: Option<Fields>,
}

/// What a person decided about a draft.
#[derive(Clone, Copy, Debug)]
pub struct Decision<'a> {
    /// Where the draft stands from then on.
    pub state: ChangeState,
    /// Who decided; nobody when it ends by itself.
    pub by: Option<&'a UserId>,
    /// What they said about it.
    pub note: &'a str,
    /// When.
    pub at: Timestamp,
}

#[derive(FromRow)]
struct Row {
    change_id: String,
    entity_type: String,
    entity_id: String,
    op: String,
    patch: String,
    base_revision: Option<i64>,
    state: String,
    summary: String,
    reason: String,
    undoes: Option<String>,
    undone_by: Option<String>,
    proposed_by_kind: String,
    proposed_by_user_id: Option<String>,
    proposed_by_persona_id: Option<String>,
    run_id: Option<String>,
    conversation_id: Option<String>,
    untrusted: Option<String>,
    created_at: i64,
    expires_at: Option<i64>,
    decided_by_user_id: Option<String>,
    decided_at: Option<i64>,
    decision_note: Option<String>,
    from_revision: Option<i64>,
    to_revision: Option<i64>,
    proposed: Option<String>,
}

/// What was read from elsewhere, as it is kept: drafts from before it was counted have a list.
#[derive(Deserialize)]
#[serde(untagged)]
enum KeptSources {
    Counted(Sources),
    Listed(Vec<Source>),
}

fn kept_sources(kept: String) -> Sources {
    match serde_json::from_str(&kept) {
        Ok(KeptSources::Counted(sources)) => sources,
        Ok(KeptSources::Listed(named)) => Sources { named, more: 0 },
        Err(_) => Sources::default(),
    }
}

/// The same, as it is written; nothing when nothing was read.
pub(super) fn keep_sources(sources: &Sources) -> Option<String> {
    (!sources.is_empty()).then(|| serde_json::json!(sources).to_string())
}

/// All columns of a change that a program reads.
macro_rules! select_changes {
    ($rest:literal) => {
        concat!(
            "select change_id, entity_type, entity_id, op, patch, base_revision, state, summary,
                reason, undoes, undone_by, proposed_by_kind, proposed_by_user_id,
                proposed_by_persona_id, run_id, conversation_id, untrusted, created_at, expires_at,
                decided_by_user_id, decided_at, decision_note, from_revision, to_revision,
                proposed
            from pending_changes ",
            $rest
        )
    };
}

impl Row {
    /// `None` for a row of a kind that this program does not know.
    fn into_proposal(self) -> Option<ProposalRow> {
        let change = Change {
            entity: Entity { kind: EntityKind::from_word(&self.entity_type)?, id: self.entity_id },
            op: Op::from_word(&self.op)?,
            patch: serde_json::from_str(&self.patch).ok()?,
            base: self.base_revision,
            reason: self.reason,
            undoes: self.undoes.map(ChangeId::new),
            untrusted: self.untrusted.map(kept_sources).unwrap_or_default(),
        };
        Some(ProposalRow {
            row: ChangeRow {
                id: ChangeId::new(self.change_id),
                change,
                state: ChangeState::from_word(&self.state)?,
                from_revision: self.from_revision,
                to_revision: self.to_revision,
                undone_by: self.undone_by.map(ChangeId::new),
            },
            summary: self.summary,
            kind: ActorKind::from_word(&self.proposed_by_kind),
            user: self.proposed_by_user_id.map(UserId::new),
            persona: self.proposed_by_persona_id.map(PersonaId::new),
            run: self.run_id.map(RunId::new),
            conversation: self.conversation_id.map(ConversationId::new),
            created_at: Timestamp(self.created_at),
            expires_at: self.expires_at.map(Timestamp),
            decided_by: self.decided_by_user_id.map(UserId::new),
            decided_at: self.decided_at.map(Timestamp),
            note: self.decision_note.unwrap_or_default(),
            proposed: self.proposed.and_then(|proposed| serde_json::from_str(&proposed).ok()),
        })
    }
}

impl Link {
    /// Whether what a thing says came from a file, and no person has written it since.
    pub async fn is_brought_in(&mut self, entity: &Entity) -> Result<bool, StoreError> {
        Ok(!self.brought_in(entity).await?.is_empty())
    }

    /// Where what a thing says came from, as long as no person has written it since.
    pub async fn brought_in(&mut self, entity: &Entity) -> Result<Sources, StoreError> {
        self.brought_in_at(entity, Revision::MAX).await
    }

    /// Where what a thing said at a revision came from, as long as no person had written it by then.
    pub async fn brought_in_at(
        &mut self,
        entity: &Entity,
        revision: Revision,
    ) -> Result<Sources, StoreError> {
        // What a persona wrote names what it had read, and takes nothing of that away.
        const SQL: &str = "select untrusted from pending_changes
            where space_id = $1 and entity_type = $2 and entity_id = $3 and state = 'applied'
                and proposed_by_kind = 'person' and op in ('create', 'update')
                and to_revision <= $4
            order by change_id desc limit 1";
        let space = self.space.clone();
        let last: Option<(Option<String>,)> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(entity.kind.word()).bind(entity.id.as_str())
            .bind(revision).fetch_optional(wire).await?);
        Ok(last.and_then(|(untrusted,)| untrusted).map(kept_sources).unwrap_or_default())
    }

    /// A change of this Space, with who proposed it and who decided.
    pub async fn proposal(&mut self, id: &ChangeId) -> Result<ProposalRow, StoreError> {
        const SQL: &str = select_changes!("where space_id = $1 and change_id = $2");
        let space = self.space.clone();
        let row: Option<Row> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(id.as_str()).fetch_optional(wire).await?);
        row.and_then(Row::into_proposal).ok_or(StoreError::NotFound("draft"))
    }

    /// What personas proposed and stands so, and what persons wrote and could not be saved at once: the
    /// last first. With a persona: what its agent proposed, and what others proposed about it or its
    /// test inputs.
    pub async fn proposals(
        &mut self,
        state: ChangeState,
        persona: Option<&PersonaId>,
        before: Option<&ChangeId>,
        limit: u32,
    ) -> Result<Page<ProposalRow>, StoreError> {
        const SQL: &str = select_changes!(
            "where space_id = $1 and state = $2 and change_id < $3
                and (proposed_by_kind = 'persona' or state = 'conflict'
                    or decided_by_user_id is not null)
                and ($5 = '' or proposed_by_persona_id = $5
                    or (entity_type = 'persona' and entity_id = $5)
                    or (entity_type = 'test_input' and (entity_id in
                            (select test_input_id from test_input
                                where space_id = $1 and persona_id = $5)
                        or op = 'create' and patch like '%\"personaId\":\"' || $5 || '\"%')))
            order by change_id desc limit $4"
        );
        let space = self.space.clone();
        let before = before.map_or("~", ChangeId::as_str).to_owned();
        let wanted = i64::from(limit) + 1;
        let rows: Vec<Row> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(state.word()).bind(before).bind(wanted)
            .bind(persona.map_or("", PersonaId::as_str)).fetch_all(wire).await?);
        let page = Page::cut(rows, limit, |row| row.change_id.clone());
        let items = page.items.into_iter().filter_map(Row::into_proposal).collect();
        Ok(Page { items, next: page.next })
    }

    /// What a conversation's runs proposed about one thing and still waits.
    pub async fn waiting_beside(
        &mut self,
        entity: &Entity,
        run: &RunId,
    ) -> Result<Vec<ProposalRow>, StoreError> {
        const SQL: &str = select_changes!(
            "where space_id = $1 and entity_type = $2 and entity_id = $3
                and state in ('pending', 'conflict') and decided_at is null
                and conversation_id =
                    (select conversation_id from run where space_id = $1 and run_id = $4)
            order by change_id"
        );
        let space = self.space.clone();
        let rows: Vec<Row> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(entity.kind.word()).bind(entity.id.as_str())
            .bind(run.as_str()).fetch_all(wire).await?);
        Ok(rows.into_iter().filter_map(Row::into_proposal).collect())
    }

    /// What personas would write into a thing and nobody has settled yet: the last first.
    pub async fn open_updates(
        &mut self,
        entity: &Entity,
        limit: u32,
    ) -> Result<Vec<ProposalRow>, StoreError> {
        const SQL: &str = select_changes!(
            "where space_id = $1 and entity_type = $2 and entity_id = $3
                and state in ('pending', 'conflict') and op = 'update'
                and proposed_by_kind = 'persona'
            order by change_id desc limit $4"
        );
        let space = self.space.clone();
        let rows: Vec<Row> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(entity.kind.word()).bind(entity.id.as_str())
            .bind(i64::from(limit)).fetch_all(wire).await?);
        Ok(rows.into_iter().filter_map(Row::into_proposal).collect())
    }

    /// What a run proposed and still waits.
    pub async fn waiting_of(&mut self, run: &RunId) -> Result<Vec<ProposalRow>, StoreError> {
        const SQL: &str = select_changes!(
            "where space_id = $1 and run_id = $2
                and state in ('pending', 'conflict') and decided_at is null
                and conversation_id =
                    (select conversation_id from run where space_id = $1 and run_id = $2)
            order by change_id"
        );
        let space = self.space.clone();
        let rows: Vec<Row> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(run.as_str()).fetch_all(wire).await?);
        Ok(rows.into_iter().filter_map(Row::into_proposal).collect())
    }

    /// What a conversation's runs proposed and still waits, the first first.
    pub async fn waiting_in(
        &mut self,
        conversation: &ConversationId,
    ) -> Result<Vec<ProposalRow>, StoreError> {
        const SQL: &str = select_changes!(
            "where space_id = $1 and conversation_id = $2 and proposed_by_kind = 'persona'
                and state in ('pending', 'conflict')
            order by change_id limit 50"
        );
        let space = self.space.clone();
        let rows: Vec<Row> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(conversation.as_str()).fetch_all(wire).await?);
        Ok(rows.into_iter().filter_map(Row::into_proposal).collect())
    }

    /// What was decided in a conversation since a moment, or taken back or left for too long since then:
    /// the first first.
    pub async fn decided_since(
        &mut self,
        conversation: &ConversationId,
        since: Timestamp,
    ) -> Result<Vec<ProposalRow>, StoreError> {
        const SQL: &str = select_changes!(
            "where space_id = $1 and conversation_id = $2 and proposed_by_kind = 'persona'
                and (decided_at > $3 and (decided_by_user_id is not null or state = 'expired')
                    or exists (select 1 from pending_changes taken_back
                        where taken_back.space_id = $1
                            and taken_back.change_id = pending_changes.undone_by
                            and taken_back.created_at > $3))
            order by decided_at, change_id limit 50"
        );
        let space = self.space.clone();
        let rows: Vec<Row> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(conversation.as_str()).bind(since.0).fetch_all(wire).await?);
        Ok(rows.into_iter().filter_map(Row::into_proposal).collect())
    }

    /// What earlier runs of the same persona changed or proposed that answered the same message.
    pub async fn changes_of_tries(&mut self, run: &Run) -> Result<Vec<ProposalRow>, StoreError> {
        const SQL: &str = select_changes!(
            "where space_id = $1 and conversation_id = $2 and proposed_by_kind = 'persona'
                and run_id in (select tried.run_id from run tried
                    where tried.space_id = $1 and tried.message_id = $3 and tried.persona_id = $4
                        and tried.run_id <> $5)
            order by created_at, change_id limit 50"
        );
        let space = self.space.clone();
        let rows: Vec<Row> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(run.conversation_id.as_str())
            .bind(run.message_id.as_str()).bind(run.persona_id.as_str()).bind(run.id.as_str())
            .fetch_all(wire).await?);
        Ok(rows.into_iter().filter_map(Row::into_proposal).collect())
    }

    /// Writes down a decision. `false` when the draft was decided on before.
    pub async fn decide(
        &mut self,
        id: &ChangeId,
        decision: Decision<'_>,
    ) -> Result<bool, StoreError> {
        const SQL: &str = "update pending_changes
            set state = $3, decided_by_user_id = $4, decided_at = $5, decision_note = $6
            where space_id = $1 and change_id = $2 and state in ('pending', 'conflict')";
        let space = self.space.clone();
        let decided = on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(id.as_str()).bind(decision.state.word())
            .bind(decision.by.map(|user| user.as_str())).bind(decision.at.0).bind(decision.note)
            .execute(wire).await?.rows_affected());
        Ok(decided > 0)
    }

    /// Notes what an accepted draft found and made, and what of that nobody here wrote.
    pub async fn mark_applied(&mut self, row: &ChangeRow) -> Result<(), StoreError> {
        const SQL: &str = "update pending_changes
            set from_revision = $3, to_revision = $4, untrusted = $5
            where space_id = $1 and change_id = $2";
        let space = self.space.clone();
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(row.id.as_str()).bind(row.from_revision)
            .bind(row.to_revision).bind(keep_sources(&row.change.untrusted))
            .execute(wire).await.map(drop)?);
        Ok(())
    }

    /// Lets a rejected draft stand as it did before. `false` when it was not rejected.
    pub async fn reopen(&mut self, id: &ChangeId, state: ChangeState) -> Result<bool, StoreError> {
        const SQL: &str = "update pending_changes
            set state = $3, decided_by_user_id = null, decided_at = null, decision_note = null
            where space_id = $1 and change_id = $2 and state = 'rejected'";
        let space = self.space.clone();
        let reopened = on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(id.as_str()).bind(state.word())
            .execute(wire).await?.rows_affected());
        Ok(reopened > 0)
    }

    /// Files an open draft as one that fits, or as one that does not, as if nobody had tried it. `false`
    /// when it was decided on.
    pub async fn file_draft(
        &mut self,
        id: &ChangeId,
        state: ChangeState,
    ) -> Result<bool, StoreError> {
        const SQL: &str = "update pending_changes
            set state = $3, decided_by_user_id = null, decided_at = null, decision_note = null
            where space_id = $1 and change_id = $2 and state in ('pending', 'conflict')";
        let space = self.space.clone();
        let filed = on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(id.as_str()).bind(state.word())
            .execute(wire).await?.rows_affected());
        Ok(filed > 0)
    }

    /// Rewrites what could not be saved. `false` when it was decided on.
    pub async fn reword(&mut self, id: &ChangeId, change: &Change) -> Result<bool, StoreError> {
        const SQL: &str = "update pending_changes
            set proposed = coalesce(proposed, patch), patch = $3, base_revision = $4
            where space_id = $1 and change_id = $2 and state = 'conflict'";
        let space = self.space.clone();
        let patch = serde_json::json!(change.patch).to_string();
        let reworded = on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(id.as_str()).bind(patch).bind(change.base)
            .execute(wire).await?.rows_affected());
        Ok(reworded > 0)
    }
}

impl Store {
    /// Ends the drafts of all Spaces that nobody decided on in time. Says how many there were.
    pub async fn expire_drafts(&self, now: Timestamp) -> Result<u64, StoreError> {
        // What a person tried to accept is theirs to settle, however old it is.
        const SPACES: &str = "select distinct space_id from pending_changes
            where state in ('pending', 'conflict') and decided_at is null and expires_at <= $1";
        const SQL: &str = "update pending_changes set state = 'expired', decided_at = $2
            where space_id = $1 and state in ('pending', 'conflict') and decided_at is null
                and expires_at <= $2
            returning change_id, entity_type, entity_id";
        // The first statement is about all Spaces, so it does not matter for which one the link is.
        let mut link = self.read(&"every-space".into()).await?;
        let spaces: Vec<String> = on!(link, wire => sqlx::query_scalar(SPACES)
            .bind(now.0).fetch_all(wire).await?);
        drop(link);
        let mut expired = 0;
        for space in spaces.into_iter().map(SpaceId::new) {
            let mut link = self.write(&space).await?;
            let rows: Vec<(String, String, String)> = on!(link, wire => sqlx::query_as(SQL)
                .bind(space.as_str()).bind(now.0).fetch_all(wire).await?);
            for (change, kind, id) in rows {
                expired += 1;
                if let Some(kind) = EntityKind::from_word(&kind) {
                    let (change, entity) = (ChangeId::new(change), Entity { kind, id });
                    link.tell(News::of_change(&change, &entity, ChangeState::Expired, None));
                }
            }
            link.commit().await?;
        }
        Ok(expired)
    }
}
