//! Branches of a chat as wholes: the way to a message, a stretch of it, and what was written around one.

use super::{
    Link, MarkedMessage, StoreError,
    conversation::MessageRow,
    link::on,
    tree::{MAX_STEPS, NodeRow},
};
use crate::domain::{
    id::{ConversationId, MessageId},
    message::Message,
};

impl Link {
    /// The way from a message up to the beginning, itself first.
    pub async fn way_up(
        &mut self,
        chat: &ConversationId,
        from: &MessageId,
    ) -> Result<Vec<MessageId>, StoreError> {
        const SQL: &str = "with recursive path (message_id, parent_id, depth) as (
                select message_id, parent_id, cast(0 as bigint) from message
                where space_id = $1 and conversation_id = $2 and message_id = $3
                union all
                select m.message_id, m.parent_id, p.depth + 1 from message m
                join path p on m.message_id = p.parent_id
                where m.space_id = $1 and m.conversation_id = $2 and p.depth < $4
            )
            select message_id from path order by depth";
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
        const SQL: &str = "with recursive path (message_id, parent_id, depth) as (
                select message_id, parent_id, cast(0 as bigint) from message
                where space_id = $1 and conversation_id = $2 and message_id = $3
                union all
                select m.message_id, m.parent_id, p.depth + 1 from message m
                join path p on m.message_id = p.parent_id
                where m.space_id = $1 and m.conversation_id = $2 and p.depth + 1 < $5
            )
            select m.message_id, m.parent_id, m.role, m.parts, m.run_id, m.model, m.stop, m.spent,
                m.created_at
            from path p join message m on m.space_id = $1 and m.message_id = p.message_id
            where p.depth >= $4 order by p.depth desc";
        if take == 0 {
            return Ok(Vec::new());
        }
        let space = self.space.clone();
        let rows: Vec<MessageRow> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(chat.as_str()).bind(leaf.as_str()).bind(skip as i64)
            .bind((skip + take) as i64).fetch_all(wire).await?);
        rows.into_iter().map(Message::try_from).collect()
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

    /// The messages of a chat that a person marked or hid, the newest first.
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
