//! The files of a playground session, as tools and pages work on them.
//!
//! Every write holds the session while it looks and writes, so that calls side by side lose nothing.

use super::Agent;
use crate::{
    changes::Scope,
    domain::{
        change::Entity,
        error::ApiError,
        id::CallId,
        news::News,
        virtual_file::{FileChange, FileInfo, FilePath, VirtualFile, check_room},
    },
    store::{FilePlace, FileStep, Link, now},
};

/// What becomes of files, decided while nobody else writes: what is there goes in, what they become and
/// what is told of it comes out.
pub(super) type Rewrite<T> = Result<(Vec<FileChange>, T), ApiError>;

impl Agent {
    /// The files that are seen from a place.
    pub async fn files(&self, scope: &Scope, place: &FilePlace) -> Result<Vec<FileInfo>, ApiError> {
        Ok(self.read(scope).await?.files(place).await?)
    }

    /// The files that are seen from a place, with what is in them.
    pub async fn whole_files(
        &self,
        scope: &Scope,
        place: &FilePlace,
    ) -> Result<Vec<VirtualFile>, ApiError> {
        Ok(self.read(scope).await?.whole_files(place, None).await?)
    }

    /// One file that is seen from a place.
    pub async fn file(
        &self,
        scope: &Scope,
        place: &FilePlace,
        path: &FilePath,
    ) -> Result<VirtualFile, ApiError> {
        let file = self.read(scope).await?.file(place, path.as_str()).await?;
        file.ok_or_else(|| ApiError::not_found("file"))
    }

    /// What a call did to files.
    pub async fn file_steps(
        &self,
        scope: &Scope,
        place: &FilePlace,
        call: &CallId,
    ) -> Result<Vec<FileStep>, ApiError> {
        Ok(self.read(scope).await?.file_steps(place, call).await?)
    }

    /// Writes files as a person does.
    pub async fn put_files(
        &self,
        scope: &Scope,
        place: &FilePlace,
        changes: Vec<FileChange>,
    ) -> Result<(), ApiError> {
        let mut link = self.write(scope).await?;
        hold(&mut link, place).await?;
        keep(&mut link, place, None, &changes).await?;
        link.tell(News::of_chat(&place.session));
        Ok(link.commit().await?)
    }

    /// Rewrites one file for a call: `rewrite` is given what is there.
    pub(super) async fn rewrite_file<T>(
        &self,
        scope: &Scope,
        place: &FilePlace,
        call: &CallId,
        path: &FilePath,
        rewrite: impl FnOnce(Option<VirtualFile>) -> Rewrite<T>,
    ) -> Result<T, ApiError> {
        let mut link = self.write(scope).await?;
        hold(&mut link, place).await?;
        let file = link.file(place, path.as_str()).await?;
        let (changes, told) = rewrite(file)?;
        keep(&mut link, place, Some(call), &changes).await?;
        link.commit().await?;
        Ok(told)
    }

    /// Writes for a call what it made of files that it was given before. Those that were written
    /// meanwhile by somebody else stay as they are, and are named.
    pub(super) async fn merge_files(
        &self,
        scope: &Scope,
        place: &FilePlace,
        call: &CallId,
        given: &[FileInfo],
        changes: Vec<FileChange>,
    ) -> Result<Vec<FilePath>, ApiError> {
        let mut link = self.write(scope).await?;
        hold(&mut link, place).await?;
        let there = link.files(place).await?;
        let revision = |files: &[FileInfo], path: &FilePath| {
            files.iter().find(|file| file.path == path.as_str()).map(|file| file.revision)
        };
        let (left, taken): (Vec<FileChange>, Vec<FileChange>) = changes
            .into_iter()
            .partition(|change| revision(&there, &change.path) != revision(given, &change.path));
        keep(&mut link, place, Some(call), &taken).await?;
        link.commit().await?;
        Ok(left.into_iter().map(|change| change.path).collect())
    }
}

/// Lets nobody else write in the session until the link is done.
async fn hold(link: &mut Link, place: &FilePlace) -> Result<(), ApiError> {
    Ok(link.lock(&Entity::from(&place.session)).await?)
}

async fn keep(
    link: &mut Link,
    place: &FilePlace,
    call: Option<&CallId>,
    changes: &[FileChange],
) -> Result<(), ApiError> {
    if changes.is_empty() {
        return Ok(());
    }
    let there = link.files(place).await?;
    check_room(&there, changes)?;
    Ok(link.write_files(place, call, changes, now()).await?)
}
