//! The messages of a chat as a tree: paths from a leaf upwards, siblings, marks, and the map.
//!
//! Every walk is bounded, so that no tree, however it came about, can hold a reader up. It is joined by
//! `cross join`, which SQLite takes in the order it is written: it would rather go through all messages and
//! ask of each whether it lies on the way.

use sqlx::FromRow;

use super::{Link, StoreError, branch::upwards, conversation::MessageRow, link::on};
use crate::domain::{
    chat::{GONE_PERSONA, MAX_FILE_MESSAGES},
    id::{ConversationId, MessageId, PersonaId},
    message::{Message, Part, PartBody},
    search::SEARCHED_MESSAGES,
    timestamp::Timestamp,
    tree::{MAX_BESIDE, MAX_COUNTED, MAX_HIDDEN, MAX_SIBLINGS, PathMessage, TreeNode, excerpt},
};

/// The longest way that is gone in a tree: as long as what a file may bring in, and as much again said after
/// it.
pub(super) const MAX_STEPS: i64 = 2 * MAX_FILE_MESSAGES as i64;
/// How much of the newest messages of a chat is searched.
const SEARCHED_BYTES: usize = 400_000;

/// Something about the siblings `s` of a message `m`, itself among them: what is asked, before and after the
/// condition that makes them siblings. They share the parent; one that is null is asked for in its own words,
/// or no index would help.
macro_rules! of_siblings {
    ($before:literal, $after:literal) => {
        concat!(
            "case when m.parent_id is null then (",
            $before,
            "s.space_id = $1 and s.conversation_id = $2 and s.parent_id is null
                and s.pruned_at is null",
            $after,
            ") else (",
            $before,
            "s.space_id = $1 and s.conversation_id = $2 and s.parent_id = m.parent_id
                and s.pruned_at is null",
            $after,
            ") end"
        )
    };
}

#[derive(FromRow)]
struct PathRow {
    #[sqlx(flatten)]
    message: MessageRow,
    persona_id: Option<String>,
    persona_revision: Option<i64>,
    persona_name: Option<String>,
    siblings: i64,
    position: i64,
    previous: Option<String>,
    following: Option<String>,
    hidden: i64,
    label: String,
    bookmarked_at: Option<i64>,
}

#[derive(FromRow)]
pub(super) struct NodeRow {
    #[sqlx(flatten)]
    message: MessageRow,
    label: String,
    bookmarked_at: Option<i64>,
    pruned_at: Option<i64>,
}

/// A message with the marks on it.
#[derive(Clone, Debug, PartialEq)]
pub struct MarkedMessage {
    /// The message.
    pub message: Message,
    /// What a person calls it.
    pub label: String,
    /// Whether a person wants to find it again.
    pub bookmarked: bool,
    /// Whether it is hidden with all that follows it.
    pub pruned: bool,
}

/// What a person marks a message with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// What this moment is called; empty for nothing.
    Label(String),
    /// That it shall be found again: since when.
    Bookmark(Option<Timestamp>),
    /// That it is hidden with all that follows it: since when.
    Pruned(Option<Timestamp>),
}

impl Link {
    /// The last messages of a path up to this one, at most so many, the oldest first.
    pub async fn path(
        &mut self,
        chat: &ConversationId,
        leaf: &MessageId,
        limit: u32,
    ) -> Result<Vec<PathMessage>, StoreError> {
        const SQL: &str = upwards!(
            "select m.message_id, m.parent_id, m.role, m.parts, m.run_id, m.model, m.stop, m.spent,
                m.created_at, m.label, m.bookmarked_at,
                coalesce(r.persona_id, m.persona_id) as persona_id, r.persona_revision,
                v.name as persona_name, ",
            of_siblings!(
                "select count(*) from (select 1 from message s where ",
                " limit $5) as counted"
            ),
            " as siblings, ",
            of_siblings!(
                "select count(*) from (select 1 from message s where ",
                " and s.message_id <= m.message_id limit $5) as counted"
            ),
            " as position, ",
            of_siblings!(
                "select max(s.message_id) from message s where ",
                " and s.message_id < m.message_id"
            ),
            " as previous, ",
            of_siblings!(
                "select min(s.message_id) from message s where ",
                " and s.message_id > m.message_id"
            ),
            " as following, ",
            // Neither database goes on with the walk when nobody wants more of its rows.
            of_siblings!(
                "with recursive below (message_id, depth) as (
                    select message_id, cast(0 as bigint) from (
                        select s.message_id from message s where ",
                " and s.message_id <> m.message_id limit $6) as beside
                    union all
                    select c.message_id, b.depth + 1 from below b
                    cross join message c
                    where c.space_id = $1 and c.conversation_id = $2
                        and c.parent_id = b.message_id and c.pruned_at is null and b.depth < $7
                )
                select count(*) from (select 1 from below where depth > 0 limit $7) as counted"
            ),
            " as hidden
            from path p cross join message m
            left join run r on r.space_id = $1 and r.run_id = m.run_id
            left join persona o on o.space_id = $1 and o.persona_id = m.persona_id
            left join persona_version v on v.space_id = $1
                and v.persona_id = coalesce(r.persona_id, o.persona_id)
                and v.revision = coalesce(r.persona_revision, o.revision)
            where m.space_id = $1 and m.message_id = p.message_id
            order by p.depth desc"
        );
        let space = self.space.clone();
        let rows: Vec<PathRow> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(chat.as_str()).bind(leaf.as_str())
            .bind(i64::from(limit)).bind(MAX_SIBLINGS).bind(MAX_BESIDE).bind(MAX_HIDDEN)
            .fetch_all(wire).await?);
        let mut path = Vec::with_capacity(rows.len());
        for row in rows {
            let message = Message::try_from(row.message)?;
            // Of one that was removed for good, nothing is known but that it was somebody else.
            let gone = row.persona_id.as_ref().map(|_| GONE_PERSONA.to_owned());
            path.push(PathMessage {
                content: message.text(),
                persona_id: row.persona_id.map(PersonaId::new),
                persona_revision: row.persona_revision,
                persona_name: row.persona_name.or(gone),
                position: row.position,
                siblings: row.siblings,
                previous: row.previous.map(MessageId::new),
                following: row.following.map(MessageId::new),
                hidden: row.hidden,
                label: row.label,
                bookmarked: row.bookmarked_at.is_some(),
                generating: false,
                message,
            });
        }
        Ok(path)
    }

    /// The newest end below a message: at every fork the newest branch is taken.
    pub async fn newest_below(
        &mut self,
        chat: &ConversationId,
        message: &MessageId,
    ) -> Result<MessageId, StoreError> {
        const SQL: &str = "with recursive down (message_id, depth) as (
                select message_id, cast(0 as bigint) from message
                where space_id = $1 and conversation_id = $2 and message_id = $3
                union all
                select (select max(c.message_id) from message c where c.space_id = $1
                        and c.conversation_id = $2 and c.parent_id = d.message_id
                        and c.pruned_at is null), d.depth + 1
                from down d where d.message_id is not null and d.depth < $4
            )
            select message_id from down where message_id is not null order by depth desc limit 1";
        let space = self.space.clone();
        let leaf: Option<String> = on!(self, wire => sqlx::query_scalar(SQL)
            .bind(space.as_str()).bind(chat.as_str()).bind(message.as_str()).bind(MAX_STEPS)
            .fetch_optional(wire).await?);
        leaf.map(MessageId::new).ok_or(StoreError::NotFound("message"))
    }

    /// The newest beginning of a chat.
    pub async fn newest_root(
        &mut self,
        chat: &ConversationId,
    ) -> Result<Option<MessageId>, StoreError> {
        const SQL: &str = "select max(message_id) from message where space_id = $1
            and conversation_id = $2 and parent_id is null and pruned_at is null";
        let space = self.space.clone();
        let root: Option<String> = on!(self, wire => sqlx::query_scalar(SQL)
            .bind(space.as_str()).bind(chat.as_str()).fetch_one(wire).await?);
        Ok(root.map(MessageId::new))
    }

    /// A message of a chat, with the marks on it.
    pub async fn marked_message(
        &mut self,
        chat: &ConversationId,
        id: &MessageId,
    ) -> Result<MarkedMessage, StoreError> {
        const SQL: &str = "select message_id, parent_id, role, parts, run_id, model, stop, spent,
                created_at, label, bookmarked_at, pruned_at
            from message where space_id = $1 and conversation_id = $2 and message_id = $3";
        let space = self.space.clone();
        let row: Option<NodeRow> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(chat.as_str()).bind(id.as_str())
            .fetch_optional(wire).await?);
        row.ok_or(StoreError::NotFound("message"))?.try_into()
    }

    /// The messages of a chat in the order in which they were written, after one of them, the hidden
    /// ones included.
    pub async fn messages_after(
        &mut self,
        chat: &ConversationId,
        after: Option<&MessageId>,
        limit: u32,
    ) -> Result<Vec<MarkedMessage>, StoreError> {
        const SQL: &str = "select message_id, parent_id, role, parts, run_id, model, stop, spent,
                created_at, label, bookmarked_at, pruned_at
            from message where space_id = $1 and conversation_id = $2 and message_id > $3
            order by message_id limit $4";
        let space = self.space.clone();
        let rows: Vec<NodeRow> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(chat.as_str())
            .bind(after.map_or("", |after| after.as_str())).bind(i64::from(limit))
            .fetch_all(wire).await?);
        rows.into_iter().map(MarkedMessage::try_from).collect()
    }

    /// What was last said in a chat, on all branches: as much of it as is searched.
    pub async fn chat_words(&mut self, chat: &ConversationId) -> Result<String, StoreError> {
        const SQL: &str = "select parts from message where space_id = $1
            and conversation_id = $2 and pruned_at is null order by message_id desc limit $3";
        let space = self.space.clone();
        let parts: Vec<String> = on!(self, wire => sqlx::query_scalar(SQL)
            .bind(space.as_str()).bind(chat.as_str()).bind(SEARCHED_MESSAGES)
            .fetch_all(wire).await?);
        let mut words = String::new();
        for parts in parts {
            let parts: Vec<Part> = StoreError::read_json(&parts)?;
            for part in parts {
                if let PartBody::Text(text) = part.body
                    && words.len() + text.len() <= SEARCHED_BYTES
                {
                    words.push_str(&text);
                    words.push_str("\n\n");
                }
            }
        }
        Ok(words)
    }

    /// How many messages there are from the beginning to this one, counted so far.
    pub async fn depth(&mut self, message: &MessageId, most: i64) -> Result<i64, StoreError> {
        const SQL: &str = "with recursive path (parent_id, depth) as (
                select parent_id, cast(1 as bigint) from message
                where space_id = $1 and message_id = $2
                union all
                select m.parent_id, p.depth + 1 from path p
                cross join message m
                where m.space_id = $1 and m.message_id = p.parent_id and p.depth < $3
            )
            select count(*) from path";
        let space = self.space.clone();
        Ok(on!(self, wire => sqlx::query_scalar(SQL)
            .bind(space.as_str()).bind(message.as_str()).bind(most).fetch_one(wire).await?))
    }

    /// How many messages follow a message at once, and the newest of them.
    pub async fn children(
        &mut self,
        chat: &ConversationId,
        message: &MessageId,
    ) -> Result<(i64, Option<MessageId>), StoreError> {
        const SQL: &str = "select count(*), max(message_id) from (
                select message_id from message where space_id = $1 and conversation_id = $2
                    and parent_id = $3 and pruned_at is null
                order by message_id desc limit $4) as children";
        let space = self.space.clone();
        let (count, newest): (i64, Option<String>) = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(chat.as_str()).bind(message.as_str()).bind(MAX_COUNTED)
            .fetch_one(wire).await?);
        Ok((count, newest.map(MessageId::new)))
    }

    /// How many messages stand below those that follow a message at once, counted as on a path.
    pub async fn below_children(
        &mut self,
        chat: &ConversationId,
        message: &MessageId,
    ) -> Result<i64, StoreError> {
        const SQL: &str = "with recursive below (message_id, depth) as (
                select message_id, cast(0 as bigint) from (
                    select s.message_id from message s where s.space_id = $1
                        and s.conversation_id = $2 and s.parent_id = $3 and s.pruned_at is null
                    limit $4) as beside
                union all
                select c.message_id, b.depth + 1 from below b
                cross join message c
                where c.space_id = $1 and c.conversation_id = $2
                    and c.parent_id = b.message_id and c.pruned_at is null and b.depth < $5
            )
            select count(*) from (select 1 from below where depth > 0 limit $5) as counted";
        let space = self.space.clone();
        Ok(on!(self, wire => sqlx::query_scalar(SQL)
            .bind(space.as_str()).bind(chat.as_str()).bind(message.as_str())
            .bind(MAX_BESIDE).bind(MAX_HIDDEN).fetch_one(wire).await?))
    }

    /// Says where a chat ends, when that is not where something was last written.
    pub async fn move_leaf(
        &mut self,
        chat: &ConversationId,
        leaf: Option<&MessageId>,
    ) -> Result<(), StoreError> {
        const SQL: &str =
            "update conversation set leaf_id = $3 where space_id = $1 and conversation_id = $2";
        let space = self.space.clone();
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(chat.as_str()).bind(leaf.map(|leaf| leaf.as_str()))
            .execute(wire).await.map(drop)?);
        Ok(())
    }

    /// Puts a mark on a message, or takes it away.
    pub async fn mark_message(&mut self, id: &MessageId, mark: &Mark) -> Result<(), StoreError> {
        const LABEL: &str = "update message set label = $3 where space_id = $1 and message_id = $2";
        const BOOKMARK: &str =
            "update message set bookmarked_at = $3 where space_id = $1 and message_id = $2";
        const PRUNED: &str =
            "update message set pruned_at = $3 where space_id = $1 and message_id = $2";
        let space = self.space.clone();
        match mark {
            Mark::Label(label) => on!(self, wire => sqlx::query(LABEL)
                .bind(space.as_str()).bind(id.as_str()).bind(label)
                .execute(wire).await.map(drop)?),
            Mark::Bookmark(at) => on!(self, wire => sqlx::query(BOOKMARK)
                .bind(space.as_str()).bind(id.as_str()).bind(at.map(|at| at.0))
                .execute(wire).await.map(drop)?),
            Mark::Pruned(at) => on!(self, wire => sqlx::query(PRUNED)
                .bind(space.as_str()).bind(id.as_str()).bind(at.map(|at| at.0))
                .execute(wire).await.map(drop)?),
        }
        Ok(())
    }
}

impl TryFrom<NodeRow> for MarkedMessage {
    type Error = StoreError;

    fn try_from(row: NodeRow) -> Result<Self, StoreError> {
        Ok(Self {
            message: row.message.try_into()?,
            label: row.label,
            bookmarked: row.bookmarked_at.is_some(),
            pruned: row.pruned_at.is_some(),
        })
    }
}

impl From<MarkedMessage> for TreeNode {
    fn from(marked: MarkedMessage) -> Self {
        Self {
            excerpt: excerpt(&marked.message.text()),
            id: marked.message.id,
            parent_id: marked.message.parent_id,
            role: marked.message.role,
            label: marked.label,
            bookmarked: marked.bookmarked,
            pruned: marked.pruned,
            created_at: marked.message.created_at,
        }
    }
}
