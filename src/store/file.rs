//! The files of playground sessions: one row for each revision, seen from a place in the tree.

use sqlx::FromRow;

use super::{Link, StoreError, branch::upwards, link::on, tree::MAX_STEPS};
use crate::domain::{
    id::{CallId, ConversationId, MessageId, UserId},
    timestamp::Timestamp,
    virtual_file::{FileChange, FileInfo, VirtualFile},
};

/// From where the files of a session are seen: what the messages on the way to here wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilePlace {
    /// The session.
    pub session: ConversationId,
    /// The last message on the way; the empty one before anything was said.
    pub leaf: MessageId,
    /// The message after it that is being written; the empty one when there is none.
    pub writing: MessageId,
}

impl FilePlace {
    /// The message that what is written here belongs to.
    fn message(&self) -> &MessageId {
        if self.writing.as_str().is_empty() { &self.leaf } else { &self.writing }
    }
}

#[derive(FromRow)]
struct Row {
    path: String,
    revision: i64,
    message_id: String,
    call_id: String,
    size: i64,
    created_at: i64,
}

impl From<Row> for FileInfo {
    fn from(row: Row) -> Self {
        Self {
            path: row.path,
            size: row.size.cast_unsigned(),
            revision: row.revision,
            message_id: Some(row.message_id).filter(|id| !id.is_empty()).map(MessageId::new),
            call_id: Some(row.call_id).filter(|id| !id.is_empty()).map(CallId::new),
            updated_at: Timestamp(row.created_at),
        }
    }
}

#[derive(FromRow)]
struct WholeRow {
    #[sqlx(flatten)]
    row: Row,
    content: Vec<u8>,
}

/// A file as a call left it, and as it was before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStep {
    /// Where it stands.
    pub path: String,
    /// Its bytes before; `None` when it was not there.
    pub before: Option<Vec<u8>>,
    /// Its bytes after; `None` when it was deleted.
    pub after: Option<Vec<u8>>,
}

/// A statement that begins with the way to a place, as `way`, the nearest message first, and last the empty
/// one, for what was put in before anything was said; that is `begun` when it was. `$5` is the message that
/// is being written.
macro_rules! way {
    ($rest:expr) => {
        upwards!(concat!(
            ", begun (at) as (
                select m.created_at from path p cross join message m
                where m.space_id = $1 and m.message_id = p.message_id and p.parent_id is null
            ), way (message_id, depth) as (
                select message_id, depth from path
                union all
                select cast($5 as text), cast(-1 as bigint) where $5 <> ''
                union all
                select '', cast(9223372036854775807 as bigint)
            )
            ",
            $rest
        ))
    };
}

/// A statement that begins with the revision of each path that is seen from a place: the newest of the
/// nearest message that wrote it. What was put in after the way began, when the session had been begun anew,
/// is another beginning's. `$6` is the one path that is wanted, or nothing.
macro_rules! seen {
    ($rest:literal) => {
        way!(concat!(
            ", newest (path, revision, turn) as (
                select s.path, s.revision,
                    row_number() over (partition by s.path order by w.depth, s.revision desc)
                from way w cross join playground_file s
                where s.space_id = $1 and s.conversation_id = $2 and s.message_id = w.message_id
                    and ($6 = '' or s.path = $6) and (w.message_id <> ''
                        or s.created_at <= coalesce((select at from begun), s.created_at))
            )
            ",
            $rest
        ))
    };
}

impl Link {
    /// The files that are seen from a place, by their paths.
    pub async fn files(&mut self, place: &FilePlace) -> Result<Vec<FileInfo>, StoreError> {
        const SQL: &str = seen!(
            "select f.path, f.revision, f.message_id, f.call_id, f.size, f.created_at
            from newest n cross join playground_file f
            where f.space_id = $1 and f.conversation_id = $2 and n.turn = 1
                and f.path = n.path and f.revision = n.revision and f.content is not null order by f.path"
        );
        let space = self.space.clone();
        let rows: Vec<Row> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(place.session.as_str()).bind(place.leaf.as_str())
            .bind(MAX_STEPS).bind(place.writing.as_str()).bind("")
            .fetch_all(wire).await?);
        Ok(rows.into_iter().map(FileInfo::from).collect())
    }

    /// The files that are seen from a place with what is in them, by their paths; only one of them, if it
    /// is named.
    pub async fn whole_files(
        &mut self,
        place: &FilePlace,
        only: Option<&str>,
    ) -> Result<Vec<VirtualFile>, StoreError> {
        const SQL: &str = seen!(
            "select f.path, f.revision, f.message_id, f.call_id, f.size, f.created_at, f.content
            from newest n cross join playground_file f
            where f.space_id = $1 and f.conversation_id = $2 and n.turn = 1
                and f.path = n.path and f.revision = n.revision and f.content is not null order by f.path"
        );
        let space = self.space.clone();
        let rows: Vec<WholeRow> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(place.session.as_str()).bind(place.leaf.as_str())
            .bind(MAX_STEPS).bind(place.writing.as_str()).bind(only.unwrap_or_default())
            .fetch_all(wire).await?);
        let whole = |row: WholeRow| VirtualFile { info: row.row.into(), content: row.content };
        Ok(rows.into_iter().map(whole).collect())
    }

    /// One file that is seen from a place.
    pub async fn file(
        &mut self,
        place: &FilePlace,
        path: &str,
    ) -> Result<Option<VirtualFile>, StoreError> {
        Ok(self.whole_files(place, Some(path)).await?.into_iter().next())
    }

    /// Writes files at a place. Nobody else may be writing in the session: see [`Link::lock`].
    pub async fn write_files(
        &mut self,
        place: &FilePlace,
        call: Option<&CallId>,
        changes: &[FileChange],
        at: Timestamp,
    ) -> Result<(), StoreError> {
        const SQL: &str = "insert into playground_file
            (space_id, conversation_id, path, revision, message_id, call_id, content, size, created_at)
            values ($1, $2, $3,
                (select coalesce(max(revision), 0) + 1 from playground_file
                    where space_id = $1 and conversation_id = $2 and path = $3),
                $4, $5, $6, $7, $8)";
        let space = self.space.clone();
        for change in changes {
            let size = change.content.as_ref().map_or(0, Vec::len) as i64;
            on!(self, wire => sqlx::query(SQL)
                .bind(space.as_str()).bind(place.session.as_str()).bind(change.path.as_str())
                .bind(place.message().as_str()).bind(call.map_or("", |call| call.as_str()))
                .bind(change.content.as_deref()).bind(size).bind(at.0)
                .execute(wire).await.map(drop)?);
        }
        Ok(())
    }

    /// What a call did to files, and what they were before on its branch. `place` is where the call was
    /// made.
    pub async fn file_steps(
        &mut self,
        place: &FilePlace,
        call: &CallId,
    ) -> Result<Vec<FileStep>, StoreError> {
        const DONE: &str = "select path, revision, content from playground_file
            where space_id = $1 and conversation_id = $2 and call_id = $3 and message_id = $4
            order by path, revision";
        const BEFORE: &str = way!(
            "select f.content from way w cross join playground_file f
            where f.space_id = $1 and f.conversation_id = $2 and f.message_id = w.message_id
                and f.path = $6 and f.revision < $7 and (w.message_id <> ''
                    or f.created_at <= coalesce((select at from begun), f.created_at))
            order by w.depth, f.revision desc limit 1"
        );
        let space = self.space.clone();
        let done: Vec<(String, i64, Option<Vec<u8>>)> = on!(self, wire => sqlx::query_as(DONE)
            .bind(space.as_str()).bind(place.session.as_str()).bind(call.as_str())
            .bind(place.message().as_str()).fetch_all(wire).await?);
        let mut steps = Vec::with_capacity(done.len());
        for (path, revision, after) in done {
            let before: Option<Option<Vec<u8>>> = on!(self, wire => sqlx::query_scalar(BEFORE)
                .bind(space.as_str()).bind(place.session.as_str()).bind(place.leaf.as_str())
                .bind(MAX_STEPS).bind(place.writing.as_str()).bind(&path).bind(revision)
                .fetch_optional(wire).await?);
            steps.push(FileStep { path, before: before.flatten(), after });
        }
        Ok(steps)
    }

    /// Lets what was written with a message belong to another one: the first is not kept.
    pub async fn move_files(
        &mut self,
        session: &ConversationId,
        from: &MessageId,
        to: &MessageId,
    ) -> Result<(), StoreError> {
        const SQL: &str = "update playground_file set message_id = $4
            where space_id = $1 and conversation_id = $2 and message_id = $3";
        let space = self.space.clone();
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(session.as_str()).bind(from.as_str()).bind(to.as_str())
            .execute(wire).await.map(drop)?);
        Ok(())
    }

    /// What a revision of a file said; `None` when there is no such one, or it was deleted.
    pub async fn file_revision(
        &mut self,
        session: &ConversationId,
        path: &str,
        revision: i64,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        const SQL: &str = "select content from playground_file
            where space_id = $1 and conversation_id = $2 and path = $3 and revision = $4";
        let space = self.space.clone();
        let content: Option<Option<Vec<u8>>> = on!(self, wire => sqlx::query_scalar(SQL)
            .bind(space.as_str()).bind(session.as_str()).bind(path).bind(revision)
            .fetch_optional(wire).await?);
        Ok(content.flatten())
    }

    /// What somebody wrote to a file and could not save.
    pub async fn unsaved_file(
        &mut self,
        session: &ConversationId,
        path: &str,
        who: &UserId,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        const SQL: &str = "select content from playground_file
            where space_id = $1 and conversation_id = $2 and path = $3 and message_id = $4
            order by revision desc limit 1";
        let space = self.space.clone();
        let content: Option<Option<Vec<u8>>> = on!(self, wire => sqlx::query_scalar(SQL)
            .bind(space.as_str()).bind(session.as_str()).bind(path).bind(aside(who).as_str())
            .fetch_optional(wire).await?);
        Ok(content.flatten())
    }

    /// Keeps what somebody wrote to a file and could not save, on no branch.
    pub async fn keep_unsaved_file(
        &mut self,
        session: &ConversationId,
        change: FileChange,
        who: &UserId,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        self.forget_unsaved_file(session, change.path.as_str(), who).await?;
        let (leaf, writing) = (aside(who), MessageId::default());
        let place = FilePlace { session: session.clone(), leaf, writing };
        self.write_files(&place, None, &[change], at).await
    }

    /// Forgets what somebody wrote to a file and could not save.
    pub async fn forget_unsaved_file(
        &mut self,
        session: &ConversationId,
        path: &str,
        who: &UserId,
    ) -> Result<(), StoreError> {
        const SQL: &str = "delete from playground_file
            where space_id = $1 and conversation_id = $2 and path = $3 and message_id = $4";
        let space = self.space.clone();
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(session.as_str()).bind(path).bind(aside(who).as_str())
            .execute(wire).await.map(drop)?);
        Ok(())
    }
}

/// To what a text belongs that somebody could not save: no message is called so.
fn aside(who: &UserId) -> MessageId {
    MessageId::new(format!("unsaved-{who}"))
}
