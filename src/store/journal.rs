//! The journal: what runs of all Spaces told in the last moments, a row for each round of the log. Among the
//! events every run has pages of its own, and thousands of runs would write thousands of pages for a word
//! each; here they share one.
//!
//! The one rule of the journal: it is read only after a sudden end. Whoever writes to it puts the same among
//! the events of the runs soon after, and then forgets the round.

use super::{EventRow, Link, Store, StoreError, link::on, run::to_json};
use crate::domain::id::{RunId, SpaceId};

/// What the writer of the log has to keep at once.
#[derive(Debug, Default)]
pub struct LogRound {
    /// What goes among the events of the runs.
    pub log: Vec<EventRow>,
    /// What goes to the journal.
    pub journal: Vec<EventRow>,
    /// The rounds before this one are among the events, and need not be kept.
    pub forget: Option<i64>,
}

/// What became of a round.
#[derive(Debug, Default, PartialEq)]
pub struct KeptRound {
    /// Which it is in the journal, if anything of it is.
    pub round: Option<i64>,
    /// The runs that another process ended meanwhile: nothing of theirs is kept.
    pub ended: Vec<RunId>,
}

impl Store {
    /// Keeps a round.
    pub async fn keep_round(&self, round: &LogRound) -> Result<KeptRound, StoreError> {
        if round.log.is_empty() && round.journal.is_empty() && round.forget.is_none() {
            return Ok(KeptRound::default());
        }
        let mut link = self.write(&SpaceId::default()).await?;
        let ended = link.ended_elsewhere(&round.log).await?;
        if ended.is_empty() {
            link.append_events(&round.log).await?;
        } else {
            let rest = round.log.iter().filter(|row| !ended.contains(&row.run));
            link.append_events(&rest.cloned().collect::<Vec<_>>()).await?;
        }
        if let Some(before) = round.forget {
            link.forget_rounds(before).await?;
        }
        let round = link.keep_in_journal(&round.journal).await?;
        link.commit().await?;
        Ok(KeptRound { round, ended })
    }

    /// Puts what lies in the journal among the events of the runs. Nobody may be writing to it.
    pub async fn replay_journal(&self) -> Result<(), StoreError> {
        const SQL: &str = "select told from run_journal order by round_id";
        let mut link = self.write(&SpaceId::default()).await?;
        let rounds: Vec<String> = on!(link, wire => sqlx::query_scalar(SQL).fetch_all(wire).await?);
        for told in rounds {
            let rows: Vec<EventRow> = StoreError::read_json(&told)?;
            for row in rows {
                link.space = row.space.clone();
                // Some of it may be among the events already, and the run may be gone for good.
                let known = match link.run(&row.run).await {
                    Ok(_) => link.last_seq(&row.run).await?,
                    Err(StoreError::NotFound(_)) => continue,
                    Err(error) => return Err(error),
                };
                if row.seq > known {
                    link.append_events(&[row]).await?;
                }
            }
        }
        link.forget_rounds(i64::MAX).await?;
        link.commit().await
    }
}

impl Link {
    async fn keep_in_journal(&mut self, rows: &[EventRow]) -> Result<Option<i64>, StoreError> {
        const SQL: &str = "insert into run_journal (told) values ($1) returning round_id";
        if rows.is_empty() {
            return Ok(None);
        }
        let told = to_json(&rows)?;
        let round: i64 = on!(self, wire =>
            sqlx::query_scalar(SQL).bind(told).fetch_one(wire).await?);
        Ok(Some(round))
    }

    async fn forget_rounds(&mut self, before: i64) -> Result<(), StoreError> {
        const SQL: &str = "delete from run_journal where round_id < $1";
        on!(self, wire => sqlx::query(SQL).bind(before).execute(wire).await.map(drop)?);
        Ok(())
    }
}
