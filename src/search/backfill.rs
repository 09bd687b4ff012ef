//! Building the index of an installation from before there was one.

use super::Search;
use crate::{changes::refresh_index, domain::error::ApiError};

/// How many things are indexed in one transaction.
const BATCH: u32 = 50;

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

    /// Builds the index and tells the log. For a task of its own.
    pub async fn keep_index(self) {
        match self.build_index().await {
            Ok(0) => {}
            Ok(built) => tracing::info!(built, "the index for searching was built"),
            Err(error) => tracing::warn!(%error, "the index for searching is not complete"),
        }
    }
}
