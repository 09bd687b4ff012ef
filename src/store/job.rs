//! Work that is done while nobody waits: claimed by one process at a time, and never lost.

use sqlx::FromRow;

use super::{Link, Store, StoreError, link::Wire, link::on, new_id, now};
use crate::domain::{
    id::{JobId, PictureId, SpaceId},
    timestamp::Timestamp,
};

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// Make a picture.
    DrawPicture(PictureId),
    /// Remove a picture that was deleted long ago, or whose row is gone, with its file.
    RemovePicture(PictureId),
}

/// The kinds of work that this program knows. A newer one beside it may know more.
const KNOWN: &str = "('draw_picture', 'remove_picture')";

impl Work {
    /// The word in the database.
    fn word(&self) -> &'static str {
        match self {
            Self::DrawPicture(_) => "draw_picture",
            Self::RemovePicture(_) => "remove_picture",
        }
    }

    fn payload(&self) -> String {
        match self {
            Self::DrawPicture(picture) | Self::RemovePicture(picture) => {
                serde_json::json!({ "pictureId": picture }).to_string()
            }
        }
    }

    fn read(kind: &str, payload: &str) -> Result<Self, StoreError> {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Payload {
            picture_id: PictureId,
        }
        let Payload { picture_id } = StoreError::read_json(payload)?;
        Ok(match kind {
            "remove_picture" => Self::RemovePicture(picture_id),
            _ => Self::DrawPicture(picture_id),
        })
    }
}

/// Work that this process has taken on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The identifier.
    pub id: JobId,
    /// The Space it is done in.
    pub space: SpaceId,
    /// What is to be done.
    pub work: Work,
    /// How often it was begun, this time included.
    pub attempts: i64,
}

#[derive(FromRow)]
struct Row {
    job_id: String,
    space_id: String,
    kind: String,
    payload: String,
    attempts: i64,
}

/// How work came to its end, or did not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobEnd {
    /// It is done.
    Done,
    /// It is tried again, not before this moment.
    Again(Timestamp, String),
    /// It cannot be done.
    Failed(String),
}

impl Link {
    /// Has something done, not before this moment.
    pub async fn insert_job(
        &mut self,
        work: &Work,
        not_before: Timestamp,
    ) -> Result<(), StoreError> {
        const SQL: &str = "insert into job
            (job_id, space_id, kind, payload, state, attempts, not_before, created_at)
            values ($1, $2, $3, $4, 'queued', 0, $5, $6)";
        let (space, id) = (self.space.clone(), new_id::<JobId>());
        on!(self, wire => sqlx::query(SQL)
            .bind(id.as_str()).bind(space.as_str()).bind(work.word()).bind(work.payload())
            .bind(not_before.0).bind(now().0).execute(wire).await.map(drop)?);
        Ok(())
    }
}

impl Store {
    /// Takes on the work that is due the longest, if there is some.
    pub async fn claim_job(&self, node: &str, at: Timestamp) -> Result<Option<Job>, StoreError> {
        let mut link = self.write(&SpaceId::default()).await?;
        // On PostgreSQL others claim at the same time; a file has one writer only.
        let lock = match link.wire() {
            Wire::Sqlite(_) => "",
            Wire::Postgres(_) => "for update skip locked",
        };
        let sql = format!(
            "update job set state = 'running', node = $1, alive_at = $2, attempts = attempts + 1
            where job_id = (select job_id from job
                where state = 'queued' and not_before <= $2 and kind in {KNOWN}
                order by not_before, job_id limit 1 {lock})
            returning job_id, space_id, kind, payload, attempts"
        );
        let row: Option<Row> = on!(link, wire => sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(node).bind(at.0).fetch_optional(wire).await?);
        link.commit().await?;
        row.map(|row| {
            Ok(Job {
                id: JobId::new(row.job_id),
                space: SpaceId::new(row.space_id),
                work: Work::read(&row.kind, &row.payload)?,
                attempts: row.attempts,
            })
        })
        .transpose()
    }

    /// When the next work is due.
    pub async fn next_job(&self) -> Result<Option<Timestamp>, StoreError> {
        let sql =
            format!("select min(not_before) from job where state = 'queued' and kind in {KNOWN}");
        let mut link = self.read(&SpaceId::default()).await?;
        let next: Option<i64> = on!(link, wire => sqlx::query_scalar(sqlx::AssertSqlSafe(sql))
            .fetch_one(wire).await?);
        Ok(next.map(Timestamp))
    }

    /// Says that the work this process took on goes on. `false` when it was taken away meanwhile.
    pub async fn keep_job(&self, job: &Job, node: &str, at: Timestamp) -> Result<bool, StoreError> {
        const SQL: &str = "update job set alive_at = $4
            where job_id = $1 and node = $2 and attempts = $3 and state = 'running'";
        let mut link = self.write(&job.space).await?;
        let kept = on!(link, wire => sqlx::query(SQL)
            .bind(job.id.as_str()).bind(node).bind(job.attempts).bind(at.0)
            .execute(wire).await?.rows_affected());
        link.commit().await?;
        Ok(kept > 0)
    }

    /// Says how work ended, and of a picture that is not there when its work is given up, that it will not
    /// come. What was taken away meanwhile is for others to say.
    pub async fn end_job(&self, job: &Job, node: &str, end: &JobEnd) -> Result<(), StoreError> {
        const SQL: &str = "update job set state = $4, not_before = coalesce($5, not_before),
                problem = $6, ended_at = $7, node = null, alive_at = null
            where job_id = $1 and node = $2 and attempts = $3 and state = 'running'";
        let (state, again, problem) = match end {
            JobEnd::Done => ("done", None, None),
            JobEnd::Again(at, problem) => ("queued", Some(at.0), Some(problem)),
            JobEnd::Failed(problem) => ("failed", None, Some(problem)),
        };
        let ended = (state != "queued").then(|| now().0);
        let mut link = self.write(&job.space).await?;
        let told = on!(link, wire => sqlx::query(SQL)
            .bind(job.id.as_str()).bind(node).bind(job.attempts).bind(state).bind(again)
            .bind(problem).bind(ended).execute(wire).await?.rows_affected());
        if let (1.., JobEnd::Failed(_), Work::DrawPicture(picture)) = (told, end, &job.work) {
            link.give_up_picture(picture).await?;
        }
        link.commit().await
    }

    /// Queues again what was begun and left: by an earlier process of this name, or by one of which
    /// nothing was heard since `before`. Says how much that was.
    pub async fn requeue_jobs(&self, node: &str, before: Timestamp) -> Result<u64, StoreError> {
        const SQL: &str = "update job set state = 'queued', node = null, alive_at = null
            where state = 'running' and (node = $1 or alive_at < $2)";
        let mut link = self.write(&SpaceId::default()).await?;
        let left = on!(link, wire => sqlx::query(SQL)
            .bind(node).bind(before.0).execute(wire).await?.rows_affected());
        link.commit().await?;
        Ok(left)
    }

    /// Forgets work that ended before this moment.
    pub async fn forget_jobs(&self, before: Timestamp) -> Result<(), StoreError> {
        const SQL: &str = "delete from job where ended_at < $1";
        let mut link = self.write(&SpaceId::default()).await?;
        on!(link, wire => sqlx::query(SQL).bind(before.0).execute(wire).await.map(drop)?);
        link.commit().await
    }
}
