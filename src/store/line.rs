//! What comes next in chats.

use sqlx::FromRow;

use super::{Link, Store, StoreError, link::on};
use crate::domain::{
    id::{ConversationId, NextId, SpaceId, UserId},
    line::{Next, NextItem},
    timestamp::Timestamp,
};

#[derive(FromRow)]
struct Row {
    item_id: String,
    item: String,
    user_id: String,
    held: Option<String>,
    created_at: i64,
}

impl TryFrom<Row> for NextItem {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: NextId::new(row.item_id),
            what: StoreError::read_json(&row.item)?,
            held: row.held,
            created_at: Timestamp(row.created_at),
            user: UserId::new(row.user_id),
        })
    }
}

impl Link {
    /// What comes next in a chat, in order.
    pub async fn line(&mut self, chat: &ConversationId) -> Result<Vec<NextItem>, StoreError> {
        const SQL: &str = "select item_id, item, user_id, held, created_at from chat_next
            where space_id = $1 and conversation_id = $2 order by rank, item_id";
        let space = self.space.clone();
        let rows: Vec<Row> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(chat.as_str()).fetch_all(wire).await?);
        rows.into_iter().map(NextItem::try_from).collect()
    }

    /// Puts something into a chat's line, or writes it anew.
    pub async fn put_next(
        &mut self,
        chat: &ConversationId,
        item: &NextItem,
    ) -> Result<(), StoreError> {
        const SQL: &str = "insert into chat_next
            (space_id, conversation_id, item_id, rank, item, user_id, held, created_at)
            values ($1, $2, $3, $4, $5, $6, $7, $8)
            on conflict (space_id, conversation_id, item_id) do update
            set rank = excluded.rank, item = excluded.item, held = excluded.held";
        let space = self.space.clone();
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(chat.as_str()).bind(item.id.as_str())
            .bind(item.what.rank()).bind(serde_json::json!(item.what).to_string())
            .bind(item.user.as_str()).bind(item.held.as_deref()).bind(item.created_at.0)
            .execute(wire).await.map(drop)?);
        Ok(())
    }

    /// Takes something out of a chat's line. `false` when it is not there.
    pub async fn take_next(
        &mut self,
        chat: &ConversationId,
        item: &NextId,
    ) -> Result<bool, StoreError> {
        const SQL: &str = "delete from chat_next
            where space_id = $1 and conversation_id = $2 and item_id = $3";
        let space = self.space.clone();
        let taken = on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(chat.as_str()).bind(item.as_str())
            .execute(wire).await?.rows_affected());
        Ok(taken > 0)
    }
}

impl Store {
    /// The chats of any Space in which something would go on by itself, though nobody is answering.
    pub async fn halted_lines(&self) -> Result<Vec<(SpaceId, ConversationId)>, StoreError> {
        const SQL: &str = "select distinct n.space_id, n.conversation_id from chat_next n
            join conversation c on c.space_id = n.space_id and c.conversation_id = n.conversation_id
            where n.held is null and n.rank < $1 and c.deleted_at is null and not exists (
                select 1 from run r where r.space_id = n.space_id
                    and r.conversation_id = n.conversation_id and r.status in ('queued', 'running'))";
        let mut link = self.read(&SpaceId::default()).await?;
        let rows: Vec<(String, String)> =
            on!(link, wire => sqlx::query_as(SQL).bind(Next::AT_REST).fetch_all(wire).await?);
        let named = |(space, chat)| (SpaceId::new(space), ConversationId::new(chat));
        Ok(rows.into_iter().map(named).collect())
    }
}
