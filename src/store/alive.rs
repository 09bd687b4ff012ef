//! In which process runs go on, and which were left by theirs.

use sqlx::FromRow;

use super::{
    EventRow, Link, Pool, Store, StoreError,
    link::{Wire, on},
    run::{COLUMNS, RunRow},
};
use crate::domain::{
    id::{RunId, SpaceId},
    run::Run,
    timestamp::Timestamp,
};

/// What PostgreSQL calls a lock that could not be had in time.
const NOT_HAD: &str = "55P03";

/// A run with the Space it is in.
#[derive(Clone, Debug)]
pub struct OwnedRun {
    /// The Space.
    pub space: SpaceId,
    /// The run.
    pub run: Run,
    /// The process in which it goes on.
    pub node: String,
}

impl Link {
    /// The process in which a run goes on or went on.
    pub async fn node_of(&mut self, id: &RunId) -> Result<String, StoreError> {
        const SQL: &str = "select node from run where space_id = $1 and run_id = $2";
        let space = self.space.clone();
        let node: Option<String> = on!(self, wire => sqlx::query_scalar(SQL)
            .bind(space.as_str()).bind(id.as_str()).fetch_optional(wire).await?);
        node.ok_or(StoreError::NotFound("run"))
    }

    /// Whether a run has not ended. What is written for it in this transaction comes before its end: whoever
    /// ends it in its place waits for that, or comes first.
    pub async fn goes_on(&mut self, id: &RunId) -> Result<bool, StoreError> {
        const SQL: &str = "select 1 from run
            where space_id = $1 and run_id = $2 and status in ('queued', 'running')";
        let space = self.space.clone();
        let found = match self.wire() {
            // A writer has the whole file to itself.
            Wire::Sqlite(wire) => sqlx::query(SQL)
                .bind(space.as_str())
                .bind(id.as_str())
                .fetch_optional(wire)
                .await?
                .is_some(),
            Wire::Postgres(wire) => {
                sqlx::query(sqlx::AssertSqlSafe(format!("{SQL} for key share")))
                    .bind(space.as_str())
                    .bind(id.as_str())
                    .fetch_optional(wire)
                    .await?
                    .is_some()
            }
        };
        Ok(found)
    }

    /// Lets nobody write for a run until the transaction is done, so that it can be ended in the place of its
    /// process. `false` when somebody writes for it and does not come to an end: a process that sleeps in the
    /// middle of that holds up nobody for long.
    pub async fn hold_run(&mut self, id: &RunId) -> Result<bool, StoreError> {
        const SQL: &str = "select 1 from run where space_id = $1 and run_id = $2 for update";
        let space = self.space.clone();
        let Wire::Postgres(wire) = self.wire() else { return Ok(true) };
        sqlx::query("set local lock_timeout = '200ms'").execute(&mut *wire).await?;
        let row = sqlx::query(SQL).bind(space.as_str()).bind(id.as_str());
        match row.fetch_optional(&mut *wire).await {
            Ok(row) => {
                sqlx::query("set local lock_timeout to default").execute(&mut *wire).await?;
                Ok(row.is_some())
            }
            Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some(NOT_HAD) => {
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Which of the runs with these events ended in another process, so that nothing may be added to them. In a
    /// file no other process ends them.
    pub(super) async fn ended_elsewhere(
        &mut self,
        rows: &[EventRow],
    ) -> Result<Vec<RunId>, StoreError> {
        const SQL: &str = "select r.run_id from run r
            join unnest($1::text[], $2::text[]) as told (space_id, run_id)
                on r.space_id = told.space_id and r.run_id = told.run_id
            where r.status in ('queued', 'running') for key share of r";
        let Wire::Postgres(wire) = self.wire() else { return Ok(Vec::new()) };
        let mut told: Vec<(&str, &str)> =
            rows.iter().map(|row| (row.space.as_str(), row.run.as_str())).collect();
        told.dedup();
        if told.is_empty() {
            return Ok(Vec::new());
        }
        let (spaces, runs): (Vec<&str>, Vec<&str>) = told.iter().copied().unzip();
        let going_on: Vec<String> =
            sqlx::query_scalar(SQL).bind(spaces).bind(&runs).fetch_all(wire).await?;
        let ended = runs.into_iter().filter(|run| !going_on.iter().any(|one| one == run));
        Ok(ended.map(RunId::new).collect())
    }
}

impl Store {
    /// Says that the runs of this node go on, and gives those that it was asked to stop.
    pub async fn keep_alive(&self, node: &str, at: Timestamp) -> Result<Vec<RunId>, StoreError> {
        const ALIVE: &str = "update run set alive_at = $2
            where node = $1 and status in ('queued', 'running')";
        let mut link = self.write(&SpaceId::default()).await?;
        on!(link, wire => sqlx::query(ALIVE).bind(node).bind(at.0).execute(wire).await.map(drop)?);
        link.commit().await?;
        self.asked_to_stop(node).await
    }

    /// The runs of this node that it was asked to stop.
    pub async fn asked_to_stop(&self, node: &str) -> Result<Vec<RunId>, StoreError> {
        const SQL: &str = "select run_id from run
            where node = $1 and status in ('queued', 'running') and stop_asked_at is not null";
        let mut link = self.read(&SpaceId::default()).await?;
        let asked: Vec<String> =
            on!(link, wire => sqlx::query_scalar(SQL).bind(node).fetch_all(wire).await?);
        Ok(asked.into_iter().map(RunId::new).collect())
    }

    /// Which of these runs have ended. Asked by the process in which they go on, where others share the
    /// database.
    pub async fn ended_among(&self, runs: &[RunId]) -> Result<Vec<RunId>, StoreError> {
        const SQL: &str = "select run_id from run
            where run_id = any($1) and status not in ('queued', 'running')";
        let runs: Vec<&str> = runs.iter().map(RunId::as_str).collect();
        let mut link = self.read(&SpaceId::default()).await?;
        let Wire::Postgres(wire) = link.wire() else { return Ok(Vec::new()) };
        let ended: Vec<String> = sqlx::query_scalar(SQL).bind(runs).fetch_all(wire).await?;
        Ok(ended.into_iter().map(RunId::new).collect())
    }

    /// Runs of any Space that have not ended, though their process may have: those of this node
    /// (the caller knows which of them it keeps itself) and those of which nothing was heard since `before`.
    pub async fn left_runs(
        &self,
        node: &str,
        before: Timestamp,
    ) -> Result<Vec<OwnedRun>, StoreError> {
        #[derive(FromRow)]
        struct Row {
            space_id: String,
            node: String,
            #[sqlx(flatten)]
            run: RunRow,
        }
        let sql = format!(
            "select space_id, node, {COLUMNS} from run
                where status in ('queued', 'running')
                    and (node = $1 or alive_at < $2)"
        );
        let mut link = self.read(&SpaceId::default()).await?;
        let rows: Vec<Row> = on!(link, wire => sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(node).bind(before.0).fetch_all(wire).await?);
        let owned = |row: Row| {
            let (space, run) = (SpaceId::new(row.space_id), Run::try_from(row.run)?);
            Ok(OwnedRun { space, run, node: row.node })
        };
        rows.into_iter().map(owned).collect()
    }

    /// Whether other processes can use the same database.
    pub fn is_shared(&self) -> bool {
        match self.pool {
            Pool::Sqlite { .. } => false,
            Pool::Postgres(_) => true,
        }
    }
}
