//! Branches of a chat as wholes: the way to a message, a stretch of it, who speaks there, and what was
//! written around one.

use super::{
    Link, MarkedMessage, StoreError,
    conversation::MessageRow,
    link::on,
    tree::{MAX_STEPS, NodeRow},
};
use crate::domain::{
    chat::GONE_PERSONA,
    id::{ConversationId, MessageId, PersonaId},
    message::Message,
    tree::MAX_COUNTED,
};

/// A statement that begins with the way from a message of a chat upwards, as `path`: `$1` is the Space, `$2`
/// the chat, `$3` the message, and `$4` how many messages the way has at most.
macro_rules! upwards {
    ($($rest:tt)*) => {
        concat!(
            "with recursive path (message_id, parent_id, depth) as (
                select message_id, parent_id, cast(0 as bigint) from message
                where space_id = $1 and conversation_id = $2 and message_id = $3
                union all
                select m.message_id, m.parent_id, p.depth + 1 from path p
                cross join message m
                where m.space_id = $1 and m.conversation_id = $2 and m.message_id = p.parent_id
                    and p.depth + 1 < $4
            )
            ",
            $($rest)*
        )
    };
}
pub(super) use upwards;

/// Who said a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Voice {
    /// The message.
    pub message: MessageId,
    /// The persona that said it.
    pub persona: PersonaId,
    /// What it was called then.
    pub name: String,
}

impl From<(String, String, Option<String>)> for Voice {
    fn from((message, persona, name): (String, String, Option<String>)) -> Self {
        Self {
            message: MessageId::new(message),
            persona: PersonaId::new(persona),
            name: name.unwrap_or_else(|| GONE_PERSONA.to_owned()),
        }
    }
}

impl Link {
    /// The way from a message up to the beginning, itself first.
    pub async fn way_up(
        &mut self,
        chat: &ConversationId,
        from: &MessageId,
    ) -> Result<Vec<MessageId>, StoreError> {
        const SQL: &str = upwards!("select message_id from path order by depth");
        let space = self.space.clone();
        let ids: Vec<String> = on!(self, wire => sqlx::query_scalar(SQL)
            .bind(space.as_str()).bind(chat.as_str()).bind(from.as_str()).bind(MAX_STEPS)
            .fetch_all(wire).await?);
        Ok(ids.into_iter().map(MessageId::new).collect())
    }

    /// A stretch of the way to a message, the oldest first: without the last `skip` messages, the
    /// `take` before them.
    pub async fn stretch(
        &mut self,
        chat: &ConversationId,
        leaf: &MessageId,
        skip: usize,
        take: usize,
    ) -> Result<Vec<Message>, StoreError> {
        const SQL: &str = upwards!(
            "select m.message_id, m.parent_id, m.role, m.parts, m.run_id, m.model, m.stop, m.spent,
                m.created_at
            from path p cross join message m
            where m.space_id = $1 and m.message_id = p.message_id and p.depth >= $5 order by p.depth desc"
        );
        if take == 0 {
            return Ok(Vec::new());
        }
        let space = self.space.clone();
        let rows: Vec<MessageRow> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(chat.as_str()).bind(leaf.as_str())
            .bind((skip + take) as i64).bind(skip as i64).fetch_all(wire).await?);
        rows.into_iter().map(Message::try_from).collect()
    }

    /// Whether a message is hidden, by itself or with one that it follows. Where a message is known that is
    /// shown, the way up ends where it meets the last of that one's way: all above is shown, too.
    pub async fn is_hidden(
        &mut self,
        chat: &ConversationId,
        message: &MessageId,
        shown: Option<&MessageId>,
    ) -> Result<bool, StoreError> {
        const ANY: &str = "select count(*) from (select 1 from message where space_id = $1
            and conversation_id = $2 and pruned_at is not null limit 1) as pruned";
        const SQL: &str = "with recursive shown (message_id, parent_id, depth) as (
                select message_id, parent_id, cast(0 as bigint) from message
                where space_id = $1 and conversation_id = $2 and message_id = $5
                union all
                select m.message_id, m.parent_id, s.depth + 1 from shown s
                cross join message m
                where m.space_id = $1 and m.conversation_id = $2 and m.message_id = s.parent_id
                    and s.depth + 1 < $6
            ), path (message_id, parent_id, pruned_at, depth) as (
                select message_id, parent_id, pruned_at, cast(0 as bigint) from message
                where space_id = $1 and conversation_id = $2 and message_id = $3
                union all
                select m.message_id, m.parent_id, m.pruned_at, p.depth + 1 from path p
                cross join message m
                where m.space_id = $1 and m.conversation_id = $2 and m.message_id = p.parent_id
                    and p.pruned_at is null and p.depth + 1 < $4
                    and p.parent_id not in (select message_id from shown)
            )
            select count(*) from path where pruned_at is not null";
        let space = self.space.clone();
        let any: i64 = on!(self, wire => sqlx::query_scalar(ANY)
            .bind(space.as_str()).bind(chat.as_str()).fetch_one(wire).await?);
        if any == 0 {
            return Ok(false);
        }
        let shown = shown.map_or("", MessageId::as_str).to_owned();
        let pruned: i64 = on!(self, wire => sqlx::query_scalar(SQL)
            .bind(space.as_str()).bind(chat.as_str()).bind(message.as_str()).bind(MAX_STEPS)
            .bind(&shown).bind(MAX_COUNTED).fetch_one(wire).await?);
        Ok(pruned > 0)
    }

    /// Whether `above` stands on the way from a message to the beginning, or is that message.
    pub async fn is_above(
        &mut self,
        chat: &ConversationId,
        above: &MessageId,
        message: &MessageId,
    ) -> Result<bool, StoreError> {
        const SQL: &str = upwards!("select count(*) from path where message_id = $5");
        let space = self.space.clone();
        let found: i64 = on!(self, wire => sqlx::query_scalar(SQL)
            .bind(space.as_str()).bind(chat.as_str()).bind(message.as_str())
            .bind(MAX_STEPS).bind(above.as_str()).fetch_one(wire).await?);
        Ok(found > 0)
    }

    /// Where a stretch of the way to a leaf ends that shows a message: at the leaf, when the message is
    /// among the last `last` of that way, and so many messages below it otherwise. `None` when the message
    /// is not on that way.
    pub async fn end_of_stretch(
        &mut self,
        chat: &ConversationId,
        leaf: &MessageId,
        message: &MessageId,
        last: u32,
        below: u32,
    ) -> Result<Option<MessageId>, StoreError> {
        const SQL: &str = upwards!(
            ", here (depth) as (select min(depth) from path where message_id = $5)
            select p.message_id from path p cross join here h
            where p.depth = case when h.depth < $6 then 0 else h.depth - $7 end"
        );
        let space = self.space.clone();
        let end: Option<String> = on!(self, wire => sqlx::query_scalar(SQL)
            .bind(space.as_str()).bind(chat.as_str()).bind(leaf.as_str()).bind(MAX_STEPS)
            .bind(message.as_str()).bind(i64::from(last)).bind(i64::from(below))
            .fetch_optional(wire).await?);
        Ok(end.map(MessageId::new))
    }

    /// How many messages lie on the path to one leaf and not on the path to another.
    pub async fn apart(
        &mut self,
        chat: &ConversationId,
        leaf: &MessageId,
        other: &MessageId,
    ) -> Result<i64, StoreError> {
        const SQL: &str = upwards!(
            ", other (message_id, parent_id, depth) as (
                select message_id, parent_id, cast(0 as bigint) from message
                where space_id = $1 and conversation_id = $2 and message_id = $5
                union all
                select m.message_id, m.parent_id, o.depth + 1 from other o
                cross join message m
                where m.space_id = $1 and m.conversation_id = $2 and m.message_id = o.parent_id and o.depth + 1 < $4
            )
            select count(*) from path where message_id not in (select message_id from other)"
        );
        let space = self.space.clone();
        Ok(on!(self, wire => sqlx::query_scalar(SQL)
            .bind(space.as_str()).bind(chat.as_str()).bind(leaf.as_str()).bind(MAX_COUNTED)
            .bind(other.as_str()).fetch_one(wire).await?))
    }

    /// Who said the last messages up to this one, at most so many. A person's words, and what came from a
    /// file that names nobody, are nobody's; those of a persona that was removed for good are still not
    /// another's.
    pub async fn voices(
        &mut self,
        chat: &ConversationId,
        leaf: &MessageId,
        most: i64,
    ) -> Result<Vec<Voice>, StoreError> {
        const SQL: &str = upwards!(
            "select m.message_id, coalesce(r.persona_id, m.persona_id), v.name from path p
            cross join message m
            left join run r on r.space_id = $1 and r.run_id = m.run_id
            left join persona o on o.space_id = $1 and o.persona_id = m.persona_id
            left join persona_version v on v.space_id = $1
                and v.persona_id = coalesce(r.persona_id, o.persona_id)
                and v.revision = coalesce(r.persona_revision, o.revision)
            where m.space_id = $1 and m.message_id = p.message_id
                and coalesce(r.persona_id, m.persona_id) is not null"
        );
        let space = self.space.clone();
        let rows: Vec<(String, String, Option<String>)> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(chat.as_str()).bind(leaf.as_str()).bind(most)
            .fetch_all(wire).await?);
        Ok(rows.into_iter().map(Voice::from).collect())
    }

    /// The messages of a chat that were written before one, or last, the newest first, the hidden ones
    /// included.
    pub async fn messages_before(
        &mut self,
        chat: &ConversationId,
        before: Option<&MessageId>,
        limit: u32,
    ) -> Result<Vec<MarkedMessage>, StoreError> {
        const SQL: &str = "select message_id, parent_id, role, parts, run_id, model, stop, spent,
                created_at, label, bookmarked_at, pruned_at
            from message where space_id = $1 and conversation_id = $2 and message_id < $3
            order by message_id desc limit $4";
        let space = self.space.clone();
        // No identifier has a letter beyond this one.
        let before = before.map_or("~", MessageId::as_str).to_owned();
        let rows: Vec<NodeRow> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(chat.as_str()).bind(before).bind(i64::from(limit))
            .fetch_all(wire).await?);
        rows.into_iter().map(MarkedMessage::try_from).collect()
    }

    /// The messages of a chat that a person marked or hid, the newest first. The condition is that of an index.
    pub async fn marked_messages(
        &mut self,
        chat: &ConversationId,
        limit: u32,
    ) -> Result<Vec<MarkedMessage>, StoreError> {
        const SQL: &str = "select message_id, parent_id, role, parts, run_id, model, stop, spent,
                created_at, label, bookmarked_at, pruned_at
            from message where space_id = $1 and conversation_id = $2
                and (label <> '' or bookmarked_at is not null or pruned_at is not null)
            order by message_id desc limit $3";
        let space = self.space.clone();
        let rows: Vec<NodeRow> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(chat.as_str()).bind(i64::from(limit))
            .fetch_all(wire).await?);
        rows.into_iter().map(MarkedMessage::try_from).collect()
    }
}
