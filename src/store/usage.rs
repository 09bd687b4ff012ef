//! What runs took, summed up by day, model and persona as they end.

use sqlx::FromRow;

use super::{Link, StoreError, link::on, run::counted};
use crate::domain::{
    budget::Taken,
    id::{ConversationId, PersonaId},
    run::{Run, RunStatus},
    usage::{DaySum, Sum, day_of},
};

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
            persona: PersonaId::new(row.persona_id),
            name: row.name,
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
    pub(super) async fn count_usage(&mut self, run: &Run) -> Result<(), StoreError> {
        const SQL: &str = "insert into usage_day
            (space_id, day, model, persona_id, runs, errors, input_tokens, output_tokens,
                cost_micros, unpriced)
            values ($1, $2, $3, $4, 1, $5, $6, $7, $8, $9)
            on conflict (space_id, day, model, persona_id) do update set
                runs = usage_day.runs + 1,
                errors = usage_day.errors + excluded.errors,
                input_tokens = usage_day.input_tokens + excluded.input_tokens,
                output_tokens = usage_day.output_tokens + excluded.output_tokens,
                cost_micros = usage_day.cost_micros + excluded.cost_micros,
                unpriced = usage_day.unpriced + excluded.unpriced";
        let failed = matches!(run.status, RunStatus::Failed | RunStatus::Interrupted);
        let (usage, cost) = (run.spent.usage, run.spent.cost_micros);
        let space = self.space.clone();
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(day_of(run.created_at)).bind(&run.model)
            .bind(run.persona_id.as_str()).bind(i64::from(failed))
            .bind(counted(usage.input).unwrap_or_default())
            .bind(counted(usage.output).unwrap_or_default())
            .bind(counted(cost).unwrap_or_default()).bind(i64::from(cost.is_none()))
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
}

fn taken((tokens, micros): (i64, i64)) -> Taken {
    Taken { tokens: tokens.cast_unsigned(), cost_micros: micros.cast_unsigned() }
}
