//! Where pictures lie: a folder, or a bucket of an S3-compatible service.
//!
//! A file is written whole or not at all, under the picture's own name, and never changed.

use std::{path::Path as FilePath, sync::Arc, time::Duration};

use bytes::Bytes;
use object_store::{
    ObjectStore, ObjectStoreExt, RetryConfig, aws::AmazonS3Builder, local::LocalFileSystem,
    memory::InMemory, path::Path,
};

use crate::domain::id::{PictureId, SpaceId};

/// How long a bucket is asked again before the job is.
const RETRY_TIME: Duration = Duration::from_secs(20);

/// Why files cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// There is no such file.
    #[error("the file is not there")]
    Missing,
    /// Asking again may help.
    #[error("the files cannot be reached: {0}")]
    Away(String),
}

impl From<object_store::Error> for FilesError {
    fn from(error: object_store::Error) -> Self {
        match error {
            object_store::Error::NotFound { .. } => Self::Missing,
            other => Self::Away(other.to_string()),
        }
    }
}

/// A bucket of an S3-compatible service.
#[derive(Clone)]
pub struct Bucket {
    /// Its name.
    pub name: String,
    /// What stands before every file's name.
    pub prefix: String,
    /// The service's address; empty for Amazon's.
    pub endpoint: String,
    /// The region.
    pub region: String,
    /// The name of the key.
    pub key_id: String,
    /// The key.
    pub secret: String,
}

/// The files. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Files {
    kept: Arc<dyn ObjectStore>,
    prefix: Path,
}

impl Files {
    /// Files in a folder, which is made if it is not there.
    pub fn in_folder(folder: &FilePath) -> Result<Self, FilesError> {
        std::fs::create_dir_all(folder).map_err(|error| FilesError::Away(error.to_string()))?;
        // What is told to be there must survive a power cut.
        let kept = LocalFileSystem::new_with_prefix(folder)?.with_fsync(true);
        Ok(Self { kept: Arc::new(kept), prefix: Path::default() })
    }

    /// Files in a bucket.
    pub fn in_bucket(bucket: Bucket) -> Result<Self, FilesError> {
        let retry = RetryConfig { max_retries: 2, retry_timeout: RETRY_TIME, ..Default::default() };
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(bucket.name)
            .with_region(bucket.region)
            .with_access_key_id(bucket.key_id)
            .with_secret_access_key(bucket.secret)
            .with_allow_http(bucket.endpoint.starts_with("http://"))
            // Not every service removes many at once.
            .with_disable_bulk_delete(true)
            .with_retry(retry);
        if !bucket.endpoint.is_empty() {
            builder = builder.with_endpoint(bucket.endpoint);
        }
        Ok(Self { kept: Arc::new(builder.build()?), prefix: Path::from(bucket.prefix) })
    }

    /// Files that are gone when the process is, for tests.
    pub fn in_memory() -> Self {
        Self { kept: Arc::new(InMemory::new()), prefix: Path::default() }
    }

    fn path(&self, space: &SpaceId, picture: &PictureId) -> Path {
        self.prefix.clone().join(space.as_str()).join(picture.as_str())
    }

    /// Keeps a picture.
    pub(super) async fn put(
        &self,
        space: &SpaceId,
        picture: &PictureId,
        file: Vec<u8>,
    ) -> Result<(), FilesError> {
        self.kept.put(&self.path(space, picture), Bytes::from(file).into()).await?;
        Ok(())
    }

    /// A picture.
    pub(super) async fn get(
        &self,
        space: &SpaceId,
        picture: &PictureId,
    ) -> Result<Bytes, FilesError> {
        Ok(self.kept.get(&self.path(space, picture)).await?.bytes().await?)
    }

    /// Removes a picture. One that is not there is removed.
    pub(super) async fn remove(
        &self,
        space: &SpaceId,
        picture: &PictureId,
    ) -> Result<(), FilesError> {
        match self.kept.delete(&self.path(space, picture)).await.map_err(FilesError::from) {
            Ok(()) | Err(FilesError::Missing) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
