//! Spaces, the people in them, and what they may do there.

use super::{Link, StoreError, link::on, now};
use crate::domain::id::UserId;

impl Link {
    /// Makes this link's Space with its owner. `false` when it is there already.
    pub async fn create_space(&mut self, name: &str, owner: &UserId) -> Result<bool, StoreError> {
        const SPACE: &str = "insert into space (space_id, name, created_at) values ($1, $2, $3)
            on conflict do nothing";
        const USER: &str = "insert into \"user\" (user_id, name, created_at) values ($1, $2, $3)
            on conflict do nothing";
        const MEMBER: &str = "insert into membership (space_id, user_id, role, created_at)
            values ($1, $2, 'owner', $3)";
        let (space, now) = (self.space.clone(), now().0);
        let made = on!(self, wire => sqlx::query(SPACE)
            .bind(space.as_str()).bind(name).bind(now).execute(wire).await?.rows_affected());
        if made == 0 {
            return Ok(false);
        }
        on!(self, wire => sqlx::query(USER)
            .bind(owner.as_str()).bind(owner.as_str()).bind(now).execute(wire).await.map(drop)?);
        on!(self, wire => sqlx::query(MEMBER)
            .bind(space.as_str()).bind(owner.as_str()).bind(now).execute(wire).await.map(drop)?);
        Ok(true)
    }

    /// Whether this link's Space was made.
    pub async fn is_there(&mut self) -> Result<bool, StoreError> {
        const SQL: &str = "select count(*) from space where space_id = $1";
        let space = self.space.clone();
        let count: i64 = on!(self, wire => sqlx::query_scalar(SQL)
            .bind(space.as_str()).fetch_one(wire).await?);
        Ok(count > 0)
    }
}
