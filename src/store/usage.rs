//! What runs took, summed up by day, model and persona as they end.

use sqlx::FromRow;

use super::{
    Link, StoreError,
    link::{Wire, on},
    run::counted,
};
use crate::domain::{
    budget::Taken,
    id::{ConversationId, PersonaId, RunId, UserId},
    playground::SessionSpent,
    run::{Run, RunStatus, Spent},
    timestamp::Timestamp,
    usage::{DaySum, Sum, day_of},
};

/// What people call what was asked for from a terminal, of no persona.
const TERMINAL: &str = "Terminal";

#[derive(FromRow)]
struct DayRow {
    day: i64,
    model: String,
    persona_id: String,
    name: Option<String>,
    runs: i64,
    errors: i64,
    input_tokens: i64,
    output_tokens: i64,
    cost_micros: i64,
    unpriced: i64,
}

impl From<DayRow> for DaySum {
    fn from(row: DayRow) -> Self {
        let number = |number: i64| u64::try_from(number).unwrap_or_default();
        Self {
            day: row.day,
            model: row.model,
            // What models answered as themselves, from a terminal, is nobody's.
            name: row.name.or(row.persona_id.is_empty().then(|| TERMINAL.into())),
            persona: PersonaId::new(row.persona_id),
            sum: Sum {
                runs: number(row.runs),
                errors: number(row.errors),
                input_tokens: number(row.input_tokens),
                output_tokens: number(row.output_tokens),
                cost_micros: number(row.cost_micros),
                unpriced: number(row.unpriced),
            },
        }
    }
}

impl Link {
    /// Adds what a run took that just ended to the sums of its day.
    pub(super) async fn count_usage(&mut self, run: &Run, took: Spent) -> Result<(), StoreError> {
        let failed = matches!(run.status, RunStatus::Failed | RunStatus::Interrupted);
        let (usage, cost) = (took.usage, took.cost_micros);
        let sum = Sum {
            runs: 1,
            errors: u64::from(failed),
            input_tokens: usage.input.unwrap_or_default(),
            output_tokens: usage.output.unwrap_or_default(),
            cost_micros: cost.unwrap_or_default(),
            unpriced: u64::from(cost.is_none()),
        };
        self.add_usage(day_of(run.created_at), &run.model, &run.persona_id, sum).await
    }

    /// Adds something to the sums of a day, a model and a persona.
    pub async fn add_usage(
        &mut self,
        day: i64,
        model: &str,
        persona: &PersonaId,
        sum: Sum,
    ) -> Result<(), StoreError> {
        const SQL: &str = "insert into usage_day
            (space_id, day, model, persona_id, runs, errors, input_tokens, output_tokens,
                cost_micros, unpriced)
            values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
            on conflict (space_id, day, model, persona_id) do update set
                runs = usage_day.runs + excluded.runs,
                errors = usage_day.errors + excluded.errors,
                input_tokens = usage_day.input_tokens + excluded.input_tokens,
                output_tokens = usage_day.output_tokens + excluded.output_tokens,
                cost_micros = usage_day.cost_micros + excluded.cost_micros,
                unpriced = usage_day.unpriced + excluded.unpriced";
        let number = |number: u64| counted(Some(number)).unwrap_or_default();
        let space = self.space.clone();
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(day).bind(model).bind(persona.as_str())
            .bind(number(sum.runs)).bind(number(sum.errors))
            .bind(number(sum.input_tokens)).bind(number(sum.output_tokens))
            .bind(number(sum.cost_micros)).bind(number(sum.unpriced))
            .execute(wire).await.map(drop)?);
        Ok(())
    }

    /// The sums of this day and those after it.
    pub async fn usage_since(&mut self, day: i64) -> Result<Vec<DaySum>, StoreError> {
        const SQL: &str = "select u.day, u.model, u.persona_id, v.name, u.runs, u.errors,
                u.input_tokens, u.output_tokens, u.cost_micros, u.unpriced
            from usage_day u
                left join persona p on p.space_id = u.space_id and p.persona_id = u.persona_id
                left join persona_version v on v.space_id = p.space_id
                    and v.persona_id = p.persona_id and v.revision = p.revision
            where u.space_id = $1 and u.day >= $2";
        let space = self.space.clone();
        let rows: Vec<DayRow> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(day).fetch_all(wire).await?);
        Ok(rows.into_iter().map(DaySum::from).collect())
    }

    /// What the runs took that were asked for on a day, those that have ended.
    pub async fn taken_on(&mut self, day: i64) -> Result<Taken, StoreError> {
        const SQL: &str = "select
                cast(coalesce(sum(input_tokens + output_tokens), 0) as bigint),
                cast(coalesce(sum(cost_micros), 0) as bigint)
            from usage_day where space_id = $1 and day = $2";
        let space = self.space.clone();
        let sums: (i64, i64) = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(day).fetch_one(wire).await?);
        Ok(taken(sums))
    }

    /// What the runs of a conversation took, those that have ended.
    pub async fn taken_in(&mut self, conversation: &ConversationId) -> Result<Taken, StoreError> {
        const SQL: &str = "select cast(coalesce(sum(coalesce(input_tokens, 0)
                + coalesce(output_tokens, 0)), 0) as bigint),
                cast(coalesce(sum(cost_micros), 0) as bigint)
            from run where space_id = $1 and conversation_id = $2";
        let space = self.space.clone();
        let sums: (i64, i64) = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(conversation.as_str()).fetch_one(wire).await?);
        Ok(taken(sums))
    }

    /// The same as [`Link::taken_in`] for people: what was read, what was written, and of how many answers
    /// the price is not known.
    pub async fn spent_in(
        &mut self,
        conversation: &ConversationId,
    ) -> Result<SessionSpent, StoreError> {
        // A question that was refused took nothing, whatever it would have cost.
        const SQL: &str = "select cast(coalesce(sum(input_tokens), 0) as bigint),
                cast(coalesce(sum(output_tokens), 0) as bigint),
                cast(coalesce(sum(cost_micros), 0) as bigint),
                cast(coalesce(sum(case when cost_micros is null and (status in ('done', 'stopped')
                    or input_tokens is not null or output_tokens is not null)
                    then 1 else 0 end), 0) as bigint)
            from run where space_id = $1 and conversation_id = $2";
        let space = self.space.clone();
        let (input, output, micros, unpriced): (i64, i64, i64, i64) = on!(self, wire =>
            sqlx::query_as(SQL).bind(space.as_str()).bind(conversation.as_str())
                .fetch_one(wire).await?);
        Ok(SessionSpent {
            input: input.cast_unsigned(),
            output: output.cast_unsigned(),
            micros: micros.cast_unsigned(),
            unpriced: unpriced.cast_unsigned(),
        })
    }

    /// What the runs that go on may still take: those begun from this moment on, in one conversation if it
    /// is named, without this one.
    pub async fn held(
        &mut self,
        since: Timestamp,
        conversation: Option<&ConversationId>,
        without: Option<&RunId>,
    ) -> Result<Taken, StoreError> {
        const SQL: &str = "select cast(coalesce(sum(held_tokens), 0) as bigint),
                cast(coalesce(sum(held_micros), 0) as bigint)
            from run where space_id = $1 and status in ('queued', 'running')
                and created_at >= $2 and ($3 = '' or conversation_id = $3) and run_id <> $4";
        let space = self.space.clone();
        let sums: (i64, i64) = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(since.0)
            .bind(conversation.map_or("", |one| one.as_str()))
            .bind(without.map_or("", |run| run.as_str()))
            .fetch_one(wire).await?);
        Ok(taken(sums))
    }

    /// Says what a run that goes on may take in all.
    pub async fn hold_for_run(&mut self, run: &RunId, held: Taken) -> Result<(), StoreError> {
        const SQL: &str = "update run set held_tokens = $3, held_micros = $4
            where space_id = $1 and run_id = $2";
        let number = |number: u64| counted(Some(number)).unwrap_or_default();
        let space = self.space.clone();
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(run.as_str())
            .bind(number(held.tokens)).bind(number(held.cost_micros))
            .execute(wire).await.map(drop)?);
        Ok(())
    }

    /// How many runs a person began after a moment and until another, counted up to so many, and when the first
    /// of those was.
    pub async fn begun_by(
        &mut self,
        user: &UserId,
        [after, until]: [Timestamp; 2],
        most: u32,
    ) -> Result<(u32, Timestamp), StoreError> {
        const SQL: &str = "select count(*), coalesce(min(created_at), 0) from (
                select created_at from run
                where space_id = $1 and user_id = $2 and created_at > $3 and created_at <= $4
                order by created_at desc limit $5) as begun";
        let space = self.space.clone();
        let begun: (i64, i64) = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(user.as_str()).bind(after.0).bind(until.0)
            .bind(i64::from(most))
            .fetch_one(wire).await?);
        Ok(times(begun))
    }

    /// The same for the runs with a key, in whichever Space: nothing else is told of them.
    pub async fn begun_with(
        &mut self,
        key: &str,
        [after, until]: [Timestamp; 2],
        most: u32,
    ) -> Result<(u32, Timestamp), StoreError> {
        const SQL: &str = "select count(*), coalesce(min(created_at), 0) from (
                select created_at from run
                where service_key = $1 and service_key <> '' and created_at > $2
                    and created_at <= $3
                order by created_at desc limit $4) as begun";
        let begun: (i64, i64) = on!(self, wire => sqlx::query_as(SQL)
            .bind(key).bind(after.0).bind(until.0).bind(i64::from(most)).fetch_one(wire).await?);
        Ok(times(begun))
    }

    /// Holds a name until the end of the transaction, so that what is counted under it stays true. On
    /// SQLite a writer has the whole file to itself already.
    pub async fn hold_count(&mut self, name: &str) -> Result<(), StoreError> {
        const SQL: &str = "select pg_advisory_xact_lock(hashtextextended($1, 0))";
        if let Wire::Postgres(wire) = self.wire() {
            sqlx::query(SQL).bind(name).execute(wire).await.map(drop)?;
        }
        Ok(())
    }
}

fn times((count, first): (i64, i64)) -> (u32, Timestamp) {
    (u32::try_from(count).unwrap_or(u32::MAX), Timestamp(first))
}

fn taken((tokens, micros): (i64, i64)) -> Taken {
    Taken { tokens: tokens.cast_unsigned(), cost_micros: micros.cast_unsigned() }
}
