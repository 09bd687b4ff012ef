//! Removes one picture for good: a month after it was deleted, or when what it belonged to is gone.

use super::Jobs;
use crate::{
    domain::{error::ApiError, id::PictureId},
    store::{Job, JobEnd, StoreError, now},
};

/// How long a deleted picture can be brought back.
pub(super) const KEPT_MS: i64 = 30 * 24 * 60 * 60 * 1000;

impl Jobs {
    /// Removes a picture, unless it was brought back.
    pub(super) async fn remove_picture(
        &self,
        job: &Job,
        id: &PictureId,
    ) -> Result<JobEnd, ApiError> {
        let mut link = self.write(job).await?;
        match link.picture(id).await {
            Ok(picture) => {
                let due = picture.deleted_at.is_some_and(|at| at.0 + KEPT_MS <= now().0);
                // Deleted again since then, it is removed by the job of that time.
                if !due {
                    return Ok(JobEnd::Done);
                }
                link.remove_picture(id).await?;
                // Without its row it is removed the next time, should that fail here.
                link.commit().await?;
            }
            Err(StoreError::NotFound(_)) => drop(link),
            Err(error) => return Err(error.into()),
        }
        if let Err(error) = self.files.remove(&job.space, id).await {
            return Ok(self.again(job, error.to_string(), None));
        }
        Ok(JobEnd::Done)
    }
}
