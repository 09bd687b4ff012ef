//! What proves who asks: browsers that are signed in and tokens of programs, known by their hashes only,
//! and how often somebody tried and failed.

use sqlx::FromRow;

use super::{Link, StoreError, link::on};
use crate::domain::{
    account::{ApiToken, Role, Session, TokenScope},
    id::{SpaceId, UserId},
    timestamp::Timestamp,
};

#[derive(FromRow)]
struct SessionRow {
    session_hash: String,
    user_id: String,
    space_id: String,
    browser: String,
    address: String,
    created_at: i64,
    used_at: i64,
    expires_at: i64,
    role: String,
}

impl SessionRow {
    fn session(self) -> (Session, Role) {
        let role = Role::from_word(&self.role);
        let session = Session {
            hash: self.session_hash,
            user: UserId::new(self.user_id),
            space: SpaceId::new(self.space_id),
            browser: self.browser,
            address: self.address,
            created_at: Timestamp(self.created_at),
            used_at: Timestamp(self.used_at),
            expires_at: Timestamp(self.expires_at),
        };
        (session, role)
    }
}

#[derive(FromRow)]
struct TokenRow {
    token_id: String,
    user_id: String,
    space_id: String,
    name: String,
    scope: String,
    created_at: i64,
    used_at: Option<i64>,
    expires_at: i64,
    role: String,
}

impl TokenRow {
    fn token(self) -> (ApiToken, Role) {
        let role = Role::from_word(&self.role);
        let token = ApiToken {
            id: self.token_id,
            user: UserId::new(self.user_id),
            space: SpaceId::new(self.space_id),
            name: self.name,
            // What is no scope may the least.
            scope: TokenScope::from_word(&self.scope).unwrap_or(TokenScope::Read),
            created_at: Timestamp(self.created_at),
            used_at: self.used_at.map(Timestamp),
            expires_at: Timestamp(self.expires_at),
        };
        (token, role)
    }
}

/// How often somebody tried and failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attempts {
    /// So many times.
    pub failures: i64,
    /// Until when nothing further is tried.
    pub blocked_until: Timestamp,
    /// When the last of them was.
    pub updated_at: Timestamp,
}

/// Whose sessions and tokens count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holders {
    /// Those of everybody in the Space.
    All,
    /// Those of people who have a password.
    WithPassword,
}

impl Link {
    /// Keeps a new session.
    pub async fn put_session(&mut self, session: &Session) -> Result<(), StoreError> {
        const SQL: &str = "insert into account_session
            (session_hash, user_id, space_id, browser, address, created_at, used_at, expires_at)
            values ($1, $2, $3, $4, $5, $6, $7, $8)";
        on!(self, wire => sqlx::query(SQL)
            .bind(&session.hash).bind(session.user.as_str()).bind(session.space.as_str())
            .bind(&session.browser).bind(&session.address).bind(session.created_at.0)
            .bind(session.used_at.0).bind(session.expires_at.0)
            .execute(wire).await.map(drop)?);
        Ok(())
    }

    /// A session, whether or not it is over, with what its person is in its Space.
    pub async fn signed_in(
        &mut self,
        hash: &str,
        holders: Holders,
    ) -> Result<Option<(Session, Role)>, StoreError> {
        const SQL: &str = "select s.session_hash, s.user_id, s.space_id, s.browser, s.address,
                s.created_at, s.used_at, s.expires_at, m.role
            from account_session s
            join membership m on m.space_id = s.space_id and m.user_id = s.user_id
            join \"user\" u on u.user_id = s.user_id
            where s.session_hash = $1 and ($2 or u.password_hash is not null)";
        let row: Option<SessionRow> = on!(self, wire => sqlx::query_as(SQL)
            .bind(hash).bind(holders == Holders::All).fetch_optional(wire).await?);
        Ok(row.map(SessionRow::session))
    }

    /// The sessions of a person, the last used first.
    pub async fn sessions_of(
        &mut self,
        user: &UserId,
        now: Timestamp,
        idle_since: Timestamp,
    ) -> Result<Vec<Session>, StoreError> {
        const SQL: &str = "select s.session_hash, s.user_id, s.space_id, s.browser, s.address,
                s.created_at, s.used_at, s.expires_at, m.role
            from account_session s
            join membership m on m.space_id = s.space_id and m.user_id = s.user_id
            where s.user_id = $1 and s.expires_at > $2 and s.used_at > $3
            order by s.used_at desc, s.session_hash";
        let rows: Vec<SessionRow> = on!(self, wire => sqlx::query_as(SQL)
            .bind(user.as_str()).bind(now.0).bind(idle_since.0).fetch_all(wire).await?);
        Ok(rows.into_iter().map(|row| row.session().0).collect())
    }

    /// Notes that a session is in use.
    pub async fn touch_session(&mut self, hash: &str, now: Timestamp) -> Result<(), StoreError> {
        const SQL: &str = "update account_session set used_at = $2 where session_hash = $1";
        on!(self, wire => sqlx::query(SQL).bind(hash).bind(now.0).execute(wire).await.map(drop)?);
        Ok(())
    }

    /// Lets a browser work in another Space.
    pub async fn move_session(&mut self, hash: &str, space: &SpaceId) -> Result<(), StoreError> {
        const SQL: &str = "update account_session set space_id = $2 where session_hash = $1";
        on!(self, wire => sqlx::query(SQL)
            .bind(hash).bind(space.as_str()).execute(wire).await.map(drop)?);
        Ok(())
    }

    /// Ends a session of this person. `false` when there is none.
    pub async fn end_session(&mut self, user: &UserId, hash: &str) -> Result<bool, StoreError> {
        const SQL: &str = "delete from account_session where user_id = $1 and session_hash = $2";
        let ended = on!(self, wire => sqlx::query(SQL)
            .bind(user.as_str()).bind(hash).execute(wire).await?.rows_affected());
        Ok(ended == 1)
    }

    /// Ends all sessions of a person but this one.
    pub async fn end_other_sessions(&mut self, user: &UserId, but: &str) -> Result<(), StoreError> {
        const SQL: &str = "delete from account_session where user_id = $1 and session_hash <> $2";
        on!(self, wire => sqlx::query(SQL)
            .bind(user.as_str()).bind(but).execute(wire).await.map(drop)?);
        Ok(())
    }

    /// Removes what is over: sessions, tokens, links, and tries that nobody counts any more.
    pub async fn purge_sessions(
        &mut self,
        now: Timestamp,
        idle_since: Timestamp,
    ) -> Result<(), StoreError> {
        const SESSIONS: &str =
            "delete from account_session where expires_at <= $1 or used_at <= $2";
        const OTHERS: [&str; 3] = [
            "delete from api_token where expires_at <= $1",
            "delete from account_link where expires_at <= $1",
            "delete from login_attempt where updated_at <= $1",
        ];
        on!(self, wire => sqlx::query(SESSIONS)
            .bind(now.0).bind(idle_since.0).execute(wire).await.map(drop)?);
        for sql in OTHERS {
            on!(self, wire => sqlx::query(sql)
                .bind(idle_since.0).execute(wire).await.map(drop)?);
        }
        Ok(())
    }

    /// Keeps a new token.
    pub async fn put_token(&mut self, hash: &str, token: &ApiToken) -> Result<(), StoreError> {
        const SQL: &str = "insert into api_token
            (token_hash, token_id, user_id, space_id, name, scope, created_at, expires_at)
            values ($1, $2, $3, $4, $5, $6, $7, $8)";
        on!(self, wire => sqlx::query(SQL)
            .bind(hash).bind(&token.id).bind(token.user.as_str()).bind(token.space.as_str())
            .bind(&token.name).bind(token.scope.word()).bind(token.created_at.0)
            .bind(token.expires_at.0).execute(wire).await.map(drop)?);
        Ok(())
    }

    /// A token that is not over, with what its person is in its Space.
    pub async fn token(
        &mut self,
        hash: &str,
        now: Timestamp,
        holders: Holders,
    ) -> Result<Option<(ApiToken, Role)>, StoreError> {
        const SQL: &str = "select t.token_id, t.user_id, t.space_id, t.name, t.scope, t.created_at,
                t.used_at, t.expires_at, m.role
            from api_token t
            join membership m on m.space_id = t.space_id and m.user_id = t.user_id
            join \"user\" u on u.user_id = t.user_id
            where t.token_hash = $1 and t.expires_at > $2 and ($3 or u.password_hash is not null)";
        let row: Option<TokenRow> = on!(self, wire => sqlx::query_as(SQL)
            .bind(hash).bind(now.0).bind(holders == Holders::All).fetch_optional(wire).await?);
        Ok(row.map(TokenRow::token))
    }

    /// The tokens of a person, the last made first.
    pub async fn tokens_of(
        &mut self,
        user: &UserId,
        now: Timestamp,
    ) -> Result<Vec<ApiToken>, StoreError> {
        const SQL: &str = "select t.token_id, t.user_id, t.space_id, t.name, t.scope, t.created_at,
                t.used_at, t.expires_at, m.role
            from api_token t
            join membership m on m.space_id = t.space_id and m.user_id = t.user_id
            where t.user_id = $1 and t.expires_at > $2
            order by t.created_at desc, t.token_id";
        let rows: Vec<TokenRow> = on!(self, wire => sqlx::query_as(SQL)
            .bind(user.as_str()).bind(now.0).fetch_all(wire).await?);
        Ok(rows.into_iter().map(|row| row.token().0).collect())
    }

    /// Notes that a token is in use.
    pub async fn touch_token(&mut self, hash: &str, now: Timestamp) -> Result<(), StoreError> {
        const SQL: &str = "update api_token set used_at = $2 where token_hash = $1";
        on!(self, wire => sqlx::query(SQL).bind(hash).bind(now.0).execute(wire).await.map(drop)?);
        Ok(())
    }

    /// Takes a token of this person away. `false` when there is none.
    pub async fn drop_token(&mut self, user: &UserId, id: &str) -> Result<bool, StoreError> {
        const SQL: &str = "delete from api_token where user_id = $1 and token_id = $2";
        let gone = on!(self, wire => sqlx::query(SQL)
            .bind(user.as_str()).bind(id).execute(wire).await?.rows_affected());
        Ok(gone == 1)
    }

    /// How often this key tried and failed. On PostgreSQL its row is held until the end of the
    /// transaction, as the whole file is on SQLite.
    pub async fn attempts(&mut self, key: &str) -> Result<Attempts, StoreError> {
        const MAKE: &str = "insert into login_attempt
            (attempt_key, failures, blocked_until, updated_at) values ($1, 0, 0, 0)
            on conflict (attempt_key) do update set failures = login_attempt.failures
            returning failures, blocked_until, updated_at";
        let (failures, until, at): (i64, i64, i64) = on!(self, wire => sqlx::query_as(MAKE)
            .bind(key).fetch_one(wire).await?);
        Ok(Attempts { failures, blocked_until: Timestamp(until), updated_at: Timestamp(at) })
    }

    /// Keeps how often this key tried.
    pub async fn set_attempts(&mut self, key: &str, tries: Attempts) -> Result<(), StoreError> {
        const SQL: &str = "update login_attempt
            set failures = $2, blocked_until = $3, updated_at = $4 where attempt_key = $1";
        on!(self, wire => sqlx::query(SQL)
            .bind(key).bind(tries.failures).bind(tries.blocked_until.0).bind(tries.updated_at.0)
            .execute(wire).await.map(drop)?);
        Ok(())
    }

    /// Forgets that this key failed.
    pub async fn forget_attempts(&mut self, key: &str) -> Result<(), StoreError> {
        const SQL: &str = "delete from login_attempt where attempt_key = $1";
        on!(self, wire => sqlx::query(SQL).bind(key).execute(wire).await.map(drop)?);
        Ok(())
    }
}
