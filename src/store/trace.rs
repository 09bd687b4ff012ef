//! Runs as a list of traces, and all that one of them told.

use sqlx::FromRow;

use super::{
    Link, StoreError,
    link::on,
    run::{COLUMNS, RunRow, counted},
};
use crate::domain::{
    event::{RunEvent, Stamped},
    id::{CallId, RunId, is_wellformed},
    list::Page,
    message::ConversationKind,
    run::{Run, RunStatus},
    timestamp::Timestamp,
    trace::{TraceFilter, TraceSummary},
};

/// How many runs are looked through for one page: what is rare is looked for page by page, so that
/// none takes long.
const LOOKED_THROUGH: i64 = 2000;
/// How many rows of what a run told are read at once.
const ROWS_AT_ONCE: i64 = 1000;

/// A page of traces. It may have fewer than were asked for, or none, though there is a next one.
pub type TracePage = Page<TraceSummary>;

#[derive(FromRow)]
struct TraceRow {
    #[sqlx(flatten)]
    run: RunRow,
    kind: String,
    persona_name: Option<String>,
}

impl TryFrom<TraceRow> for (Run, ConversationKind, String) {
    type Error = StoreError;

    fn try_from(row: TraceRow) -> Result<Self, StoreError> {
        let kind = ConversationKind::from_word(&row.kind);
        let run: Run = row.run.try_into()?;
        // A model that speaks as itself is nobody's persona.
        let own = Some(run.model.clone()).filter(|_| run.persona_id.as_str().is_empty());
        let name = row.persona_name.or(own).unwrap_or_default();
        Ok((run, kind, name))
    }
}

/// What is added to the columns of a run.
const BESIDE: &str = "c.kind, v.name as persona_name";
const JOINS: &str = "join conversation c on c.space_id = r.space_id
        and c.conversation_id = r.conversation_id
    left join persona_version v on v.space_id = r.space_id
        and v.persona_id = r.persona_id and v.revision = r.persona_revision";

/// The runs that one page looks through. Those of a persona, of a model, or in which something went wrong
/// have an index, which is found only when the statement asks for nothing else there.
fn looked_through(filter: &TraceFilter) -> String {
    let persona = if filter.persona.is_some() { "persona_id = $2" } else { "$2 = ''" };
    let model = if filter.model.is_some() { "model = $3" } else { "$3 = ''" };
    let errors = if filter.only_errors { " and error is not null" } else { "" };
    format!(
        "from run where space_id = $1 and {persona} and {model}{errors} and run_id < $4
            order by run_id desc"
    )
}

impl Link {
    /// Runs that fit, the newest first, from before the run `after`.
    pub async fn traces(
        &mut self,
        filter: &TraceFilter,
        after: Option<&str>,
        limit: u32,
    ) -> Result<TracePage, StoreError> {
        // No text here may hold it, and PostgreSQL takes no such question.
        if filter.model.as_ref().is_some_and(|model| model.contains('\0')) {
            return Ok(Page { items: Vec::new(), next: None });
        }
        let looked = looked_through(filter);
        let of_source = match filter.source {
            Some(_) => {
                "exists (select 1 from conversation k where k.space_id = $1
                    and k.conversation_id = l.conversation_id and k.kind = $6)"
            }
            None => "$6 = ''",
        };
        // What is looked through is in an index; only what fits is read whole.
        let found = format!(
            "select {}, {BESIDE} from (
                select run_id from (
                    select run_id, status, cost_micros, duration_ms, conversation_id
                    {looked} limit $5) l
                where ($7 = '' or status = $7) and coalesce(cost_micros, -1) >= $8
                    and coalesce(duration_ms, -1) >= $9 and {of_source}
                order by run_id desc limit $10) f
            cross join run r {JOINS}
            where r.space_id = $1 and r.run_id = f.run_id order by r.run_id desc",
            of_run()
        );
        let rare = filter.source.is_some()
            || filter.status.is_some()
            || filter.min_cost_micros.is_some()
            || filter.min_duration_ms.is_some();
        let wanted = i64::from(limit) + 1;
        let most = if rare { LOOKED_THROUGH } else { wanted };
        let space = self.space.clone();
        let persona = filter.persona.as_ref().map_or("", |persona| persona.as_str());
        let model = filter.model.as_deref().unwrap_or_default();
        // Identifiers of ours sort by the time they were made, and before this.
        let before = after.filter(|after| is_wellformed(after)).unwrap_or("~");
        let rows: Vec<TraceRow> = on!(self, wire => sqlx::query_as(sqlx::AssertSqlSafe(found))
            .bind(space.as_str()).bind(persona).bind(model).bind(before).bind(most)
            .bind(filter.source.map_or("", ConversationKind::word))
            .bind(filter.status.map_or("", RunStatus::word))
            .bind(counted(filter.min_cost_micros).unwrap_or(-1))
            .bind(counted(filter.min_duration_ms).unwrap_or(-1))
            .bind(wanted).fetch_all(wire).await?);
        let mut items = Vec::with_capacity(rows.len());
        for row in rows {
            let (run, kind, name) = row.try_into()?;
            items.push(TraceSummary::of(&run, kind, name));
        }
        let page = Page::cut(items, limit, |last: &TraceSummary| last.id.to_string());
        if !rare || page.next.is_some() {
            return Ok(page);
        }
        // What fits may stand further back than one page looks.
        let last = format!("select run_id {looked} limit 1 offset $5");
        let last: Option<String> = on!(self, wire => sqlx::query_scalar(sqlx::AssertSqlSafe(last))
            .bind(space.as_str()).bind(persona).bind(model).bind(before)
            .bind(LOOKED_THROUGH - 1).fetch_optional(wire).await?);
        Ok(Page { next: last, ..page })
    }

    /// A run with the kind of its conversation, and what its persona was called.
    pub async fn traced_run(
        &mut self,
        id: &RunId,
    ) -> Result<(Run, ConversationKind, String), StoreError> {
        let sql = format!(
            "select {}, {BESIDE} from run r {JOINS} where r.space_id = $1 and r.run_id = $2",
            of_run()
        );
        let space = self.space.clone();
        let row: Option<TraceRow> = on!(self, wire => sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(space.as_str()).bind(id.as_str()).fetch_optional(wire).await?);
        row.ok_or(StoreError::NotFound("trace"))?.try_into()
    }

    /// All that a run told, words that came close together as one.
    pub async fn told_by_run(&mut self, id: &RunId) -> Result<Vec<Stamped>, StoreError> {
        const SQL: &str = "select seq, event, at from run_event
            where space_id = $1 and run_id = $2 and seq > $3 order by seq limit $4";
        let space = self.space.clone();
        let mut told: Vec<Stamped> = Vec::new();
        loop {
            let seen = told.last().map_or(0, |last| last.seq);
            let rows: Vec<(i64, String, i64)> = on!(self, wire => sqlx::query_as(SQL)
                .bind(space.as_str()).bind(id.as_str()).bind(seen.cast_signed())
                .bind(ROWS_AT_ONCE).fetch_all(wire).await?);
            let last = (rows.len() as i64) < ROWS_AT_ONCE;
            for (seq, event, at) in rows {
                let event = StoreError::read_json(&event)?;
                told.push(Stamped { seq: seq.cast_unsigned(), at: Timestamp(at), event });
            }
            if last {
                return Ok(told);
            }
        }
    }

    /// How long the tools of these runs ran, where that was measured.
    pub async fn times_of_tools(
        &mut self,
        runs: &[&RunId],
    ) -> Result<Vec<(RunId, CallId, u64)>, StoreError> {
        if runs.is_empty() {
            return Ok(Vec::new());
        }
        // Within words a quote is escaped, so that only a field is found.
        let select = |wanted: &str| {
            format!(
                "select run_id, event from run_event
                where space_id = $1 and run_id {wanted} and event like '%\"tookMs\":%'"
            )
        };
        let wanted: Vec<&str> = runs.iter().map(|id| id.as_str()).collect();
        let rows: Vec<(String, String)> = self.rows_among(select, &[], &wanted).await?;
        let mut times = Vec::with_capacity(rows.len());
        for (run, event) in rows {
            if let RunEvent::ToolResult { result, took_ms: Some(took), .. } =
                StoreError::read_json(&event)?
            {
                times.push((RunId::new(run), result.call, took));
            }
        }
        Ok(times)
    }

    /// The models that were asked since a day, for choosing from.
    pub async fn models_used_since(&mut self, day: i64) -> Result<Vec<String>, StoreError> {
        const SQL: &str = "select distinct model from usage_day
            where space_id = $1 and day >= $2 order by model";
        let space = self.space.clone();
        Ok(on!(self, wire => sqlx::query_scalar(SQL)
            .bind(space.as_str()).bind(day).fetch_all(wire).await?))
    }
}

/// The columns of a run, where others stand beside them.
fn of_run() -> String {
    let named = COLUMNS.split(',').map(|column| format!("r.{}", column.trim()));
    named.collect::<Vec<_>>().join(", ")
}
