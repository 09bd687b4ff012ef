//! What messages were rated with.

use sqlx::FromRow;

use super::{Link, StoreError, link::on};
use crate::domain::{
    id::{ConversationId, MessageId, UserId},
    rating::Rating,
    timestamp::Timestamp,
};

#[derive(FromRow)]
struct RatingRow {
    message_id: String,
    user_id: String,
    rating: i64,
    note: String,
    created_at: i64,
    updated_at: i64,
}

impl From<RatingRow> for Rating {
    fn from(row: RatingRow) -> Self {
        Self {
            message_id: MessageId::new(row.message_id),
            rated_by: UserId::new(row.user_id),
            rating: u8::try_from(row.rating).unwrap_or_default(),
            note: row.note,
            created_at: Timestamp(row.created_at),
            updated_at: Timestamp(row.updated_at),
        }
    }
}

impl Link {
    /// Keeps what somebody gives to a message, instead of what they gave before.
    pub async fn put_rating(&mut self, given: &Rating) -> Result<(), StoreError> {
        const SQL: &str = "insert into rating
            (space_id, message_id, user_id, rating, note, created_at, updated_at)
            values ($1, $2, $3, $4, $5, $6, $7)
            on conflict (space_id, message_id, user_id) do update set
                rating = excluded.rating, note = excluded.note, updated_at = excluded.updated_at";
        let space = self.space.clone();
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(given.message_id.as_str()).bind(given.rated_by.as_str())
            .bind(i64::from(given.rating)).bind(&given.note)
            .bind(given.created_at.0).bind(given.updated_at.0)
            .execute(wire).await.map(drop)?);
        Ok(())
    }

    /// What somebody gave to a message.
    pub async fn rating(
        &mut self,
        message: &MessageId,
        user: &UserId,
    ) -> Result<Rating, StoreError> {
        const SQL: &str = "select message_id, user_id, rating, note, created_at, updated_at
            from rating where space_id = $1 and message_id = $2 and user_id = $3";
        let space = self.space.clone();
        let row: Option<RatingRow> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(message.as_str()).bind(user.as_str())
            .fetch_optional(wire).await?);
        Ok(row.ok_or(StoreError::NotFound("rating"))?.into())
    }

    /// What all messages of a conversation were rated with, in the order in which they were said.
    pub async fn ratings_in(
        &mut self,
        conversation: &ConversationId,
    ) -> Result<Vec<Rating>, StoreError> {
        const SQL: &str = "select r.message_id, r.user_id, r.rating, r.note, r.created_at,
                r.updated_at
            from message m join rating r
                on r.space_id = m.space_id and r.message_id = m.message_id
            where m.space_id = $1 and m.conversation_id = $2
            order by m.created_at, m.message_id, r.user_id";
        let space = self.space.clone();
        let rows: Vec<RatingRow> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(conversation.as_str()).fetch_all(wire).await?);
        Ok(rows.into_iter().map(Rating::from).collect())
    }

    /// Takes back what somebody gave to a message, and says whether there was something.
    pub async fn delete_rating(
        &mut self,
        message: &MessageId,
        user: &UserId,
    ) -> Result<bool, StoreError> {
        const SQL: &str =
            "delete from rating where space_id = $1 and message_id = $2 and user_id = $3";
        let space = self.space.clone();
        let gone = on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(message.as_str()).bind(user.as_str())
            .execute(wire).await?.rows_affected());
        Ok(gone > 0)
    }
}
