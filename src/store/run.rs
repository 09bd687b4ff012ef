//! Runs, and what they told.

use serde::{Deserialize, Serialize};
use sqlx::{FromRow, QueryBuilder};

use super::{Link, StoreError, link::on};
use crate::domain::{
    event::{RunEvent, Stamped},
    id::{ConversationId, MessageId, PersonaId, RunId, SpaceId, UserId},
    run::{Run, RunStatus, Spent},
    timestamp::Timestamp,
};

/// The most rows that one statement writes.
const ROWS_AT_ONCE: usize = 128;

pub(super) const COLUMNS: &str =
    "run_id, conversation_id, message_id, reply_id, round_id, place, follows_id,
    persona_id, persona_revision, model, status, stop, error, spent, created_at, ended_at";

#[derive(FromRow)]
pub(super) struct RunRow {
    run_id: String,
    conversation_id: String,
    message_id: String,
    reply_id: String,
    round_id: String,
    place: i64,
    follows_id: Option<String>,
    persona_id: String,
    persona_revision: i64,
    model: String,
    status: String,
    stop: Option<String>,
    error: Option<String>,
    spent: String,
    created_at: i64,
    ended_at: Option<i64>,
}

impl TryFrom<RunRow> for Run {
    type Error = StoreError;

    fn try_from(row: RunRow) -> Result<Self, StoreError> {
        // One from before there were several is alone.
        let round = if row.round_id.is_empty() { row.run_id.clone() } else { row.round_id };
        Ok(Self {
            id: RunId::new(row.run_id),
            conversation_id: ConversationId::new(row.conversation_id),
            message_id: MessageId::new(row.message_id),
            reply_id: MessageId::new(row.reply_id),
            round_id: RunId::new(round),
            place: row.place,
            follows_id: row.follows_id.map(MessageId::new),
            persona_id: PersonaId::new(row.persona_id),
            persona_revision: row.persona_revision,
            model: row.model,
            status: RunStatus::from_word(&row.status),
            stop: row.stop.as_deref().map(StoreError::read_json).transpose()?,
            error: row.error.as_deref().map(StoreError::read_json).transpose()?,
            spent: StoreError::read_json(&row.spent)?,
            created_at: Timestamp(row.created_at),
            ended_at: row.ended_at.map(Timestamp),
        })
    }
}

/// Some events of one run that are kept as one row: one event, or words that came close together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EventRow {
    /// The Space of the run.
    pub space: SpaceId,
    /// The run.
    pub run: RunId,
    /// The place of the last event in it.
    pub seq: u64,
    /// The lengths in bytes of the joined words; empty for a single event.
    pub lengths: Vec<usize>,
    /// The event, with all the words.
    pub event: RunEvent,
    /// When the first of it happened.
    pub at: Timestamp,
}

impl EventRow {
    /// The place of the first event in it.
    pub fn first_seq(&self) -> u64 {
        self.seq + 1 - self.lengths.len().max(1) as u64
    }

    /// The single events, those after `seen` only.
    pub fn split(self, seen: u64) -> Vec<Stamped> {
        let (mut seq, at) = (self.seq, self.at);
        if self.lengths.is_empty() {
            return if seq > seen {
                vec![Stamped { seq, at, event: self.event }]
            } else {
                Vec::new()
            };
        }
        seq -= self.lengths.len() as u64;
        let mut rest = match &self.event {
            RunEvent::Text { delta, .. } | RunEvent::Reasoning { delta, .. } => delta.as_str(),
            _ => "",
        };
        let mut out = Vec::with_capacity(self.lengths.len());
        for length in &self.lengths {
            seq += 1;
            let (delta, tail) = rest.split_at_checked(*length).unwrap_or((rest, ""));
            rest = tail;
            if seq > seen {
                let delta = delta.to_owned();
                let event = match &self.event {
                    RunEvent::Reasoning { part, .. } => {
                        RunEvent::Reasoning { part: part.clone(), delta }
                    }
                    RunEvent::Text { part, .. } => RunEvent::Text { part: part.clone(), delta },
                    other => other.clone(),
                };
                out.push(Stamped { seq, at, event });
            }
        }
        out
    }
}

/// How a run begins.
#[derive(Clone, Copy, Debug)]
pub struct Beginning<'run> {
    /// Who asked for it.
    pub user: &'run UserId,
    /// The process that drives it.
    pub node: &'run str,
    /// Under what it is counted for its service.
    pub key: &'run str,
    /// What its model is told, as JSON.
    pub prompt: &'run str,
}

/// One of the answers that belong together.
#[derive(Clone, Debug)]
pub struct Answered {
    /// The run.
    pub run: Run,
    /// Whether its message is kept.
    pub kept: bool,
}

impl Link {
    /// Keeps a new run. `false` when another one is going on at its place in the conversation.
    pub async fn insert_run(&mut self, run: &Run, by: Beginning<'_>) -> Result<bool, StoreError> {
        const SQL: &str = "insert into run
            (space_id, run_id, conversation_id, message_id, attempt, reply_id, persona_id,
                persona_revision, user_id, model, status, spent, created_at, alive_at, node,
                round_id, place, follows_id, service_key, prompt)
            values ($1, $2, $3, $4,
                (select coalesce(max(attempt), 0) + 1 from run where space_id = $1 and message_id = $4),
                $5, $6, $7, $8, $9, $10, $11, $12, $12, $13, $14, $15, $16, $17, $18)
            on conflict do nothing";
        let space = self.space.clone();
        let made = on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(run.id.as_str()).bind(run.conversation_id.as_str())
            .bind(run.message_id.as_str()).bind(run.reply_id.as_str())
            .bind(run.persona_id.as_str()).bind(run.persona_revision).bind(by.user.as_str())
            .bind(&run.model).bind(run.status.word())
            .bind(serde_json::json!(run.spent).to_string()).bind(run.created_at.0).bind(by.node)
            .bind(run.round_id.as_str()).bind(run.place)
            .bind(run.follows_id.as_ref().map(|message| message.as_str()))
            .bind(by.key).bind(by.prompt)
            .execute(wire).await?.rows_affected());
        Ok(made > 0)
    }

    /// A run.
    pub async fn run(&mut self, id: &RunId) -> Result<Run, StoreError> {
        let sql = format!("select {COLUMNS} from run where space_id = $1 and run_id = $2");
        let space = self.space.clone();
        let row: Option<RunRow> = on!(self, wire => sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(space.as_str()).bind(id.as_str()).fetch_optional(wire).await?);
        row.ok_or(StoreError::NotFound("run"))?.try_into()
    }

    /// Those of these runs that did not come to a good end.
    pub async fn broken_runs(&mut self, ids: &[&RunId]) -> Result<Vec<Run>, StoreError> {
        let select = |wanted: &str| {
            format!(
                "select {COLUMNS} from run where space_id = $1 and run_id {wanted}
                    and (status in ('stopped', 'failed', 'interrupted') or error is not null)"
            )
        };
        let wanted: Vec<&str> = ids.iter().map(|id| id.as_str()).collect();
        let rows: Vec<RunRow> = self.rows_among(select, &[], &wanted).await?;
        rows.into_iter().map(Run::try_from).collect()
    }

    /// What a run's model was told, as JSON; `None` where that is not kept.
    pub async fn run_prompt(&mut self, id: &RunId) -> Result<Option<String>, StoreError> {
        const SQL: &str = "select prompt from run where space_id = $1 and run_id = $2";
        let space = self.space.clone();
        let prompt: Option<Option<String>> = on!(self, wire => sqlx::query_scalar(SQL)
            .bind(space.as_str()).bind(id.as_str()).fetch_optional(wire).await?);
        Ok(prompt.flatten())
    }

    /// The run that is going on and writes this message.
    pub async fn run_writing(&mut self, reply: &MessageId) -> Result<Option<Run>, StoreError> {
        let sql = format!(
            "select {COLUMNS} from run where space_id = $1 and reply_id = $2
                and status in ('queued', 'running')"
        );
        let space = self.space.clone();
        let row: Option<RunRow> = on!(self, wire => sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(space.as_str()).bind(reply.as_str()).fetch_optional(wire).await?);
        row.map(Run::try_from).transpose()
    }

    /// The run of a conversation that announced this message, when it has ended.
    pub async fn announced(
        &mut self,
        conversation: &ConversationId,
        reply: &MessageId,
    ) -> Result<Option<Run>, StoreError> {
        let sql = format!(
            "select {COLUMNS} from run where space_id = $1 and conversation_id = $2
                and reply_id = $3 and status not in ('queued', 'running')"
        );
        let space = self.space.clone();
        let row: Option<RunRow> = on!(self, wire => sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(space.as_str()).bind(conversation.as_str()).bind(reply.as_str())
            .fetch_optional(wire).await?);
        row.map(Run::try_from).transpose()
    }

    /// For whom a run goes on.
    pub async fn asker(&mut self, id: &RunId) -> Result<UserId, StoreError> {
        const SQL: &str = "select user_id from run where space_id = $1 and run_id = $2";
        let space = self.space.clone();
        let user: Option<String> = on!(self, wire => sqlx::query_scalar(SQL)
            .bind(space.as_str()).bind(id.as_str()).fetch_optional(wire).await?);
        user.map(UserId::new).ok_or(StoreError::NotFound("run"))
    }

    /// The answers that belong together, in order.
    pub async fn round(&mut self, first: &RunId) -> Result<Vec<Answered>, StoreError> {
        #[derive(FromRow)]
        struct Row {
            #[sqlx(flatten)]
            run: RunRow,
            kept: i64,
        }
        let sql = format!(
            "select {COLUMNS}, (select count(*) from message m where m.space_id = run.space_id
                    and m.message_id = run.reply_id) as kept
                from run where space_id = $1 and run_id in (
                    select cast($2 as text) union all
                    select run_id from run where space_id = $1 and round_id = $2)
                order by place, run_id"
        );
        let space = self.space.clone();
        let rows: Vec<Row> = on!(self, wire => sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(space.as_str()).bind(first.as_str()).fetch_all(wire).await?);
        let answered = |row: Row| Ok(Answered { run: row.run.try_into()?, kept: row.kept > 0 });
        rows.into_iter().map(answered).collect()
    }

    /// The run that is going on in a conversation; the first, when there are several.
    pub async fn run_going_on(
        &mut self,
        conversation: &ConversationId,
    ) -> Result<Option<Run>, StoreError> {
        let sql = format!(
            "select {COLUMNS} from run where space_id = $1 and conversation_id = $2
                and status in ('queued', 'running') order by place limit 1"
        );
        let space = self.space.clone();
        let row: Option<RunRow> = on!(self, wire => sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(space.as_str()).bind(conversation.as_str()).fetch_optional(wire).await?);
        row.map(Run::try_from).transpose()
    }

    /// The run that was last begun in a conversation.
    pub async fn last_run(
        &mut self,
        conversation: &ConversationId,
    ) -> Result<Option<Run>, StoreError> {
        let sql = format!(
            "select {COLUMNS} from run where space_id = $1 and conversation_id = $2
                order by run_id desc limit 1"
        );
        let space = self.space.clone();
        let row: Option<RunRow> = on!(self, wire => sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(space.as_str()).bind(conversation.as_str()).fetch_optional(wire).await?);
        row.map(Run::try_from).transpose()
    }

    /// The run that was last begun for a message.
    pub async fn run_of(&mut self, message: &MessageId) -> Result<Option<Run>, StoreError> {
        let sql = format!(
            "select {COLUMNS} from run where space_id = $1 and message_id = $2
                order by attempt desc limit 1"
        );
        let space = self.space.clone();
        let row: Option<RunRow> = on!(self, wire => sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(space.as_str()).bind(message.as_str()).fetch_optional(wire).await?);
        row.map(Run::try_from).transpose()
    }

    /// Says that a run goes on, if it has not ended.
    pub async fn mark_running(&mut self, id: &RunId, at: Timestamp) -> Result<bool, StoreError> {
        const SQL: &str = "update run set status = 'running', alive_at = $3
            where space_id = $1 and run_id = $2 and status in ('queued', 'running')";
        let space = self.space.clone();
        let marked = on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(id.as_str()).bind(at.0)
            .execute(wire).await?.rows_affected());
        Ok(marked > 0)
    }

    /// Asks the process in which a run goes on to stop it.
    pub async fn ask_to_stop(&mut self, id: &RunId, at: Timestamp) -> Result<(), StoreError> {
        const SQL: &str = "update run set stop_asked_at = $3 where space_id = $1 and run_id = $2";
        let space = self.space.clone();
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(id.as_str()).bind(at.0).execute(wire).await.map(drop)?);
        Ok(())
    }

    /// Ends a run, and adds what it took to its day: less than it tells of, where a part was added before.
    /// `false` when it had ended already.
    pub async fn end_run(&mut self, run: &Run, took: Spent) -> Result<bool, StoreError> {
        const SQL: &str =
            "update run set status = $3, stop = $4, error = $5, spent = $6, ended_at = $7,
                cost_micros = $8, duration_ms = $9, input_tokens = $10, output_tokens = $11
            where space_id = $1 and run_id = $2 and status in ('queued', 'running')";
        let space = self.space.clone();
        let stop = run.stop.map(|stop| serde_json::json!(stop).to_string());
        let error = run.error.as_ref().map(|error| serde_json::json!(error).to_string());
        let ended = on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(run.id.as_str()).bind(run.status.word()).bind(stop)
            .bind(error).bind(serde_json::json!(run.spent).to_string())
            .bind(run.ended_at.map(|at| at.0))
            .bind(counted(run.spent.cost_micros)).bind(counted(Some(run.spent.duration_ms)))
            .bind(counted(run.spent.usage.input)).bind(counted(run.spent.usage.output))
            .execute(wire).await?.rows_affected());
        if ended > 0 {
            self.count_usage(run, took).await?;
        }
        Ok(ended > 0)
    }

    /// What a run told after `seen`, at most `limit` rows of it.
    pub async fn run_events(
        &mut self,
        id: &RunId,
        seen: u64,
        limit: u32,
    ) -> Result<Vec<Stamped>, StoreError> {
        const SQL: &str = "select seq, lengths, event, at from run_event
            where space_id = $1 and run_id = $2 and seq > $3 order by seq limit $4";
        let space = self.space.clone();
        let rows: Vec<(i64, Option<String>, String, i64)> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(id.as_str()).bind(seen.cast_signed()).bind(i64::from(limit))
            .fetch_all(wire).await?);
        let mut out = Vec::with_capacity(rows.len());
        for (seq, lengths, event, at) in rows {
            let row = EventRow {
                space: space.clone(),
                run: id.clone(),
                seq: seq.cast_unsigned(),
                lengths: lengths
                    .as_deref()
                    .map(StoreError::read_json)
                    .transpose()?
                    .unwrap_or_default(),
                event: StoreError::read_json(&event)?,
                at: Timestamp(at),
            };
            out.extend(row.split(seen));
        }
        Ok(out)
    }

    /// The place of the last thing a run told.
    pub async fn last_seq(&mut self, id: &RunId) -> Result<u64, StoreError> {
        const SQL: &str = "select coalesce(max(seq), 0) from run_event
            where space_id = $1 and run_id = $2";
        let space = self.space.clone();
        let seq: i64 = on!(self, wire => sqlx::query_scalar(SQL)
            .bind(space.as_str()).bind(id.as_str()).fetch_one(wire).await?);
        Ok(seq.cast_unsigned())
    }

    /// Adds to what runs told.
    pub async fn append_events(&mut self, rows: &[EventRow]) -> Result<(), StoreError> {
        let mut rest = rows;
        while !rest.is_empty() {
            // Statements of a few sizes only, so that each is prepared once.
            let size = 1 << rest.len().min(ROWS_AT_ONCE).ilog2();
            let (some, others) = rest.split_at(size);
            rest = others;
            let mut written = Vec::with_capacity(size);
            for row in some {
                let lengths =
                    (!row.lengths.is_empty()).then(|| to_json(&row.lengths)).transpose()?;
                written.push((row, lengths, to_json(&row.event)?));
            }
            on!(self, wire => {
                let mut insert = QueryBuilder::new(
                    "insert into run_event (space_id, run_id, seq, lengths, event, at) ",
                );
                insert.push_values(written, |mut values, (row, lengths, event)| {
                    values
                        .push_bind(row.space.as_str())
                        .push_bind(row.run.as_str())
                        .push_bind(row.seq.cast_signed())
                        .push_bind(lengths)
                        .push_bind(event)
                        .push_bind(row.at.0);
                });
                // A write whose success was lost on the way is repeated.
                insert.push(" on conflict do nothing");
                insert.build().execute(wire).await.map(drop)?;
            });
        }
        Ok(())
    }
}

/// A number as the database has it.
pub(super) fn counted(number: Option<u64>) -> Option<i64> {
    number.map(|number| i64::try_from(number).unwrap_or(i64::MAX))
}

/// What we write as JSON. It cannot fail for what we have.
pub(super) fn to_json(thing: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(thing)
        .map_err(|error| StoreError::Failed(sqlx::Error::Encode(error.into())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::id::PartId;

    fn text(delta: &str) -> RunEvent {
        RunEvent::Text { part: PartId::new("p"), delta: delta.into() }
    }

    #[test]
    fn joined_words_come_apart_again_after_what_was_seen() {
        let row = EventRow {
            space: "s".into(),
            run: "r".into(),
            seq: 7,
            lengths: vec![3, 3, 3],
            event: text("Hé öx y"),
            at: Timestamp(1),
        };
        let told = |seen| {
            let events = row.clone().split(seen).into_iter();
            events.map(|one| (one.seq, one.event)).collect::<Vec<_>>()
        };

        assert_eq!(told(0), [(5, text("Hé")), (6, text(" ö")), (7, text("x y"))]);
        assert_eq!(told(5), [(6, text(" ö")), (7, text("x y"))]);
        assert_eq!(told(7), []);
    }
}
