//! The files of a playground session, as tools and pages work on them.
//!
//! Every write holds the session while it looks and writes, so that calls side by side lose nothing.

use super::Agent;
use crate::{
    changes::Scope,
    domain::{
        change::Entity,
        error::ApiError,
        id::{CallId, ConversationId, MessageId},
        news::News,
        version::Revision,
        virtual_file::{FileChange, FileInfo, FilePath, VirtualFile, check_room},
    },
    store::{FilePlace, FileStep, Link, StoreError, now},
};

/// What becomes of files, decided while nobody else writes: what is there goes in, what they become and
/// what is told of it comes out.
pub(super) type Rewrite<T> = Result<(Vec<FileChange>, T), ApiError>;

/// What came of writing a file over what somebody saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Put {
    /// It is written.
    Kept,
    /// Something else stands there by now, or nothing; what was to be written is kept beside it if that
    /// was wanted.
    Changed(Option<VirtualFile>),
}

/// What becomes of a text that cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsaved {
    /// It is kept for whoever wrote it.
    Kept,
    /// Whoever wrote it has it.
    Dropped,
}

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
        let place = &kept_place(&mut link, place).await?;
        keep(&mut link, place, None, &changes).await?;
        Ok(link.commit().await?)
    }

    /// Writes a file as a person does, over the revision that they saw; 0 when they saw none.
    pub async fn put_file_over(
        &self,
        scope: &Scope,
        place: &FilePlace,
        change: FileChange,
        seen: Revision,
        unsaved: Unsaved,
    ) -> Result<Put, ApiError> {
        let (session, path) = (&place.session, change.path.clone());
        let mut link = self.write(scope).await?;
        hold(&mut link, place).await?;
        let place = &kept_place(&mut link, place).await?;
        let there = link.file(place, path.as_str()).await?;
        let is_same = |file: &VirtualFile| Some(&file.content) == change.content.as_ref();
        if there.as_ref().map_or(0, |file| file.info.revision) != seen
            && !there.as_ref().is_some_and(is_same)
        {
            if unsaved == Unsaved::Kept {
                check_room(&[], std::slice::from_ref(&change))?;
                link.keep_unsaved_file(session, change, &scope.user, now()).await?;
                link.commit().await?;
            }
            return Ok(Put::Changed(there));
        }
        match there.as_ref().is_some_and(is_same) {
            true => link.tell(News::of_chat(session)),
            false => keep(&mut link, place, None, &[change]).await?,
        }
        link.forget_unsaved_file(session, path.as_str(), &scope.user).await?;
        link.commit().await?;
        Ok(Put::Kept)
    }

    /// What this person wrote to a file and could not save.
    pub async fn unsaved_file(
        &self,
        scope: &Scope,
        session: &ConversationId,
        path: &FilePath,
    ) -> Result<Option<String>, ApiError> {
        let kept =
            self.read(scope).await?.unsaved_file(session, path.as_str(), &scope.user).await?;
        Ok(kept.and_then(|kept| String::from_utf8(kept).ok()))
    }

    /// Forgets what this person wrote to a file and could not save.
    pub async fn forget_unsaved_file(
        &self,
        scope: &Scope,
        session: &ConversationId,
        path: &FilePath,
    ) -> Result<(), ApiError> {
        let mut link = self.write(scope).await?;
        link.forget_unsaved_file(session, path.as_str(), &scope.user).await?;
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
        check_written(&mut link, place).await?;
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
        check_written(&mut link, place).await?;
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

/// The place once nobody else writes: an answer that ended without a word meanwhile is not there to belong
/// to.
async fn kept_place(link: &mut Link, place: &FilePlace) -> Result<FilePlace, ApiError> {
    if place.writing.as_str().is_empty() || link.run_writing(&place.writing).await?.is_some() {
        return Ok(place.clone());
    }
    match link.conversation_of(&place.writing).await {
        Ok(_) => Ok(place.clone()),
        Err(StoreError::NotFound(_)) => {
            Ok(FilePlace { writing: MessageId::default(), ..place.clone() })
        }
        Err(error) => Err(error.into()),
    }
}

/// A call writes only while its run goes on: not when its process slept and another one ended the run.
async fn check_written(link: &mut Link, place: &FilePlace) -> Result<(), ApiError> {
    if let Some(run) = link.run_writing(&place.writing).await?
        && link.goes_on(&run.id).await?
    {
        return Ok(());
    }
    let reason = "This answer has ended, so no file is written by it.";
    Err(ApiError::NotNow { reason: reason.into() })
}

/// Writes files, and tells open pages of it.
pub(super) async fn keep(
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
    link.write_files(place, call, changes, now()).await?;
    link.tell(News::of_chat(&place.session));
    Ok(())
}
