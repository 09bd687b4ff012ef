//! Building the index of an installation from before there was one.

use std::time::Duration;

use super::Search;
use crate::{changes::refresh_index, domain::error::ApiError};

/// How many things are indexed in one transaction.
const BATCH: u32 = 50;
/// How long to wait after the first failure, and the longest wait.
const FIRST_WAIT: Duration = Duration::from_secs(5);
const MAX_WAIT: Duration = Duration::from_secs(600);

impl Search {
    /// Indexes what is not yet, some at a time, and says how much that was. Everything else goes on
    /// meanwhile.
    pub async fn build_index(&self) -> Result<usize, ApiError> {
        let mut built = 0;
        let mut last = Vec::new();
        loop {
            let batch = self.store.unindexed(BATCH).await?;
            // What could not be indexed would come again and again.
            if batch.is_empty() || batch == last {
                return Ok(built);
            }
            for in_space in batch.chunk_by(|left, right| left.0 == right.0) {
                let mut link = self.store.write(&in_space[0].0).await?;
                for (_, entity) in in_space {
                    link.lock(entity).await?;
                    refresh_index(&mut link, entity).await?;
                }
                link.commit().await?;
                built += in_space.len();
            }
            last = batch;
        }
    }

    /// Builds the index, and tries again later while that fails. For a task of its own.
    pub async fn keep_index(self) {
        let mut wait = FIRST_WAIT;
        loop {
            match self.build_index().await {
                Ok(built) => {
                    if built > 0 {
                        tracing::info!(built, "the index for searching was built");
                        self.built.notify_one();
                    }
                    return;
                }
                Err(error) => {
                    let wait = wait.as_secs();
                    tracing::warn!(%error, wait, "the index for searching is not complete");
                }
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(MAX_WAIT);
        }
    }
}
