//! People, what they are in which Space, the links that owners make for them, and what happened to their
//! accounts. Some of it is asked before anybody knows in which Space the answer lies.

use sqlx::FromRow;

use super::{
    Link, Store, StoreError,
    link::{Wire, on},
    new_id, now,
};
use crate::domain::{
    account::{AccountDeed, AccountEvent, AccountLink, LinkKind, Member, Membership, Role},
    id::{SpaceId, UserId},
    timestamp::Timestamp,
};

/// The Space of a link that asks about all of them.
const EVERY_SPACE: &str = "every-space";

#[derive(FromRow)]
struct MemberRow {
    user_id: String,
    role: String,
    has_password: i64,
    created_at: i64,
}

impl From<MemberRow> for Member {
    fn from(row: MemberRow) -> Self {
        Self {
            user: UserId::new(row.user_id),
            role: Role::from_word(&row.role),
            has_password: row.has_password == 1,
            since: Timestamp(row.created_at),
        }
    }
}

#[derive(FromRow)]
struct LinkRow {
    link_id: String,
    kind: String,
    space_id: String,
    user_id: Option<String>,
    role: Option<String>,
    expires_at: i64,
}

impl From<LinkRow> for AccountLink {
    fn from(row: LinkRow) -> Self {
        Self {
            id: row.link_id,
            kind: if row.kind == "invite" { LinkKind::Invite } else { LinkKind::Reset },
            space: SpaceId::new(row.space_id),
            user: row.user_id.map(UserId::new),
            role: Role::from_word(&row.role.unwrap_or_default()),
            expires_at: Timestamp(row.expires_at),
        }
    }
}

impl Store {
    /// A link that reads accounts, of whichever Space.
    pub async fn read_accounts(&self) -> Result<Link, StoreError> {
        self.read(&EVERY_SPACE.into()).await
    }

    /// A link that writes accounts, of whichever Space.
    pub async fn write_accounts(&self) -> Result<Link, StoreError> {
        self.write(&EVERY_SPACE.into()).await
    }
}

impl Link {
    /// Whether anybody could sign in with a password.
    pub async fn has_accounts(&mut self) -> Result<bool, StoreError> {
        const SQL: &str = "select 1 from \"user\" u
            join membership m on m.user_id = u.user_id
            where u.password_hash is not null limit 1";
        let found: Option<(i32,)> = on!(self, wire => sqlx::query_as(SQL)
            .fetch_optional(wire).await?);
        Ok(found.is_some())
    }

    /// Makes a person. `false` when there is one with that name already.
    pub async fn create_user(&mut self, user: &UserId) -> Result<bool, StoreError> {
        const SQL: &str = "insert into \"user\" (user_id, name, created_at) values ($1, $1, $2)
            on conflict do nothing";
        let made = on!(self, wire => sqlx::query(SQL)
            .bind(user.as_str()).bind(now().0).execute(wire).await?.rows_affected());
        Ok(made == 1)
    }

    /// The hash of somebody's password. Without one they cannot sign in.
    pub async fn password_hash(&mut self, user: &UserId) -> Result<Option<String>, StoreError> {
        const SQL: &str = "select password_hash from \"user\" where user_id = $1";
        let found: Option<(Option<String>,)> = on!(self, wire => sqlx::query_as(SQL)
            .bind(user.as_str()).fetch_optional(wire).await?);
        Ok(found.and_then(|(hash,)| hash))
    }

    /// The same, held until the end of the transaction: whoever changes it waits, or was waited for.
    pub async fn hold_password_hash(
        &mut self,
        user: &UserId,
    ) -> Result<Option<String>, StoreError> {
        const HOLD: &str = "select 1 from \"user\" where user_id = $1 for no key update";
        // On SQLite a writer has the whole file to itself already.
        if let Wire::Postgres(wire) = self.wire() {
            sqlx::query(HOLD).bind(user.as_str()).execute(wire).await.map(drop)?;
        }
        self.password_hash(user).await
    }

    /// Sets the hash of somebody's password, or takes it away.
    pub async fn set_password_hash(
        &mut self,
        user: &UserId,
        hash: Option<&str>,
    ) -> Result<(), StoreError> {
        const SQL: &str = "update \"user\" set password_hash = $2 where user_id = $1";
        let set = on!(self, wire => sqlx::query(SQL)
            .bind(user.as_str()).bind(hash).execute(wire).await?.rows_affected());
        if set == 0 { Err(StoreError::NotFound("account")) } else { Ok(()) }
    }

    /// Whether there is such a Space.
    pub async fn has_space(&mut self, space: &SpaceId) -> Result<bool, StoreError> {
        const SQL: &str = "select 1 from space where space_id = $1";
        let found: Option<(i32,)> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).fetch_optional(wire).await?);
        Ok(found.is_some())
    }

    /// What somebody is in a Space; nothing when they are not in it.
    pub async fn role_in(
        &mut self,
        space: &SpaceId,
        user: &UserId,
    ) -> Result<Option<Role>, StoreError> {
        const SQL: &str = "select role from membership where space_id = $1 and user_id = $2";
        let found: Option<(String,)> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(user.as_str()).fetch_optional(wire).await?);
        Ok(found.map(|(role,)| Role::from_word(&role)))
    }

    /// The Spaces that somebody is in, the first joined first.
    pub async fn memberships(&mut self, user: &UserId) -> Result<Vec<Membership>, StoreError> {
        const SQL: &str = "select m.space_id, s.name, m.role from membership m
            join space s on s.space_id = m.space_id
            where m.user_id = $1 order by m.created_at, m.space_id";
        let rows: Vec<(String, String, String)> = on!(self, wire => sqlx::query_as(SQL)
            .bind(user.as_str()).fetch_all(wire).await?);
        let membership = |(space, name, role): (String, String, String)| Membership {
            space: SpaceId::new(space),
            name,
            role: Role::from_word(&role),
        };
        Ok(rows.into_iter().map(membership).collect())
    }

    /// Puts somebody into a Space, or gives them another role there. Links that only an owner makes do not
    /// outlast being one.
    pub async fn set_role(
        &mut self,
        space: &SpaceId,
        user: &UserId,
        role: Role,
    ) -> Result<(), StoreError> {
        const SQL: &str = "insert into membership (space_id, user_id, role, created_at)
            values ($1, $2, $3, $4)
            on conflict (space_id, user_id) do update set role = excluded.role";
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(user.as_str()).bind(role.word()).bind(now().0)
            .execute(wire).await.map(drop)?);
        match role {
            Role::Owner => Ok(()),
            Role::Editor | Role::Viewer => self.drop_links_made_by(space, user).await,
        }
    }

    /// Takes away the links that somebody made for a Space and nobody used: they could come back by them.
    async fn drop_links_made_by(
        &mut self,
        space: &SpaceId,
        user: &UserId,
    ) -> Result<(), StoreError> {
        const SQL: &str =
            "delete from account_link where space_id = $1 and made_by = $2 and used_at is null";
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(user.as_str()).execute(wire).await.map(drop)?);
        Ok(())
    }

    /// Takes somebody out of a Space, with every session, token and link that led there, and the links that
    /// they made.
    pub async fn remove_member(
        &mut self,
        space: &SpaceId,
        user: &UserId,
    ) -> Result<(), StoreError> {
        const STATEMENTS: [&str; 4] = [
            "delete from account_session where space_id = $1 and user_id = $2",
            "delete from api_token where space_id = $1 and user_id = $2",
            "delete from account_link where space_id = $1 and user_id = $2",
            "delete from membership where space_id = $1 and user_id = $2",
        ];
        for sql in STATEMENTS {
            on!(self, wire => sqlx::query(sql)
                .bind(space.as_str()).bind(user.as_str()).execute(wire).await.map(drop)?);
        }
        self.drop_links_made_by(space, user).await
    }

    /// Everybody in a Space, held until the end of the transaction when this link writes: who is its last
    /// owner stays so.
    pub async fn members(&mut self, space: &SpaceId) -> Result<Vec<Member>, StoreError> {
        const SQL: &str = "select m.user_id, m.role, m.created_at,
                cast(case when u.password_hash is null then 0 else 1 end as bigint) as has_password
            from membership m join \"user\" u on u.user_id = m.user_id
            where m.space_id = $1 order by m.created_at, m.user_id";
        let rows: Vec<MemberRow> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).fetch_all(wire).await?);
        Ok(rows.into_iter().map(Member::from).collect())
    }

    /// Holds a Space's row, so that two owners who remove each other are taken one after the other.
    pub async fn lock_space(&mut self, space: &SpaceId) -> Result<(), StoreError> {
        const SQL: &str = "update space set name = name where space_id = $1";
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).execute(wire).await.map(drop)?);
        Ok(())
    }

    /// All people with the number of their Spaces, by name.
    pub async fn users(&mut self) -> Result<Vec<(UserId, bool, Vec<Membership>)>, StoreError> {
        const SQL: &str = "select user_id,
                cast(case when password_hash is null then 0 else 1 end as bigint)
            from \"user\" order by user_id";
        let rows: Vec<(String, i64)> = on!(self, wire => sqlx::query_as(SQL)
            .fetch_all(wire).await?);
        let mut users = Vec::with_capacity(rows.len());
        for (user, has_password) in rows {
            let user = UserId::new(user);
            let memberships = self.memberships(&user).await?;
            users.push((user, has_password == 1, memberships));
        }
        Ok(users)
    }

    /// Keeps a link that an owner made.
    pub async fn put_account_link(
        &mut self,
        hash: &str,
        link: &AccountLink,
        made_by: &UserId,
    ) -> Result<(), StoreError> {
        const SQL: &str = "insert into account_link
            (link_hash, link_id, kind, space_id, user_id, role, made_by, created_at, expires_at)
            values ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
        on!(self, wire => sqlx::query(SQL)
            .bind(hash).bind(&link.id).bind(link.kind.word()).bind(link.space.as_str())
            .bind(link.user.as_ref().map(UserId::as_str)).bind(link.role.word())
            .bind(made_by.as_str()).bind(now().0).bind(link.expires_at.0)
            .execute(wire).await.map(drop)?);
        Ok(())
    }

    /// The link that a browser came by, while it is good.
    pub async fn account_link(
        &mut self,
        hash: &str,
        kind: LinkKind,
        now: Timestamp,
    ) -> Result<Option<AccountLink>, StoreError> {
        const SQL: &str = "select link_id, kind, space_id, user_id, role, expires_at
            from account_link
            where link_hash = $1 and kind = $2 and used_at is null and expires_at > $3";
        let row: Option<LinkRow> = on!(self, wire => sqlx::query_as(SQL)
            .bind(hash).bind(kind.word()).bind(now.0).fetch_optional(wire).await?);
        Ok(row.map(AccountLink::from))
    }

    /// Uses a link up. `false` when somebody else did, or it is over.
    pub async fn use_account_link(
        &mut self,
        hash: &str,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        const SQL: &str = "update account_link set used_at = $2
            where link_hash = $1 and used_at is null and expires_at > $2";
        let used = on!(self, wire => sqlx::query(SQL)
            .bind(hash).bind(now.0).execute(wire).await?.rows_affected());
        Ok(used == 1)
    }

    /// The links of a Space that wait to be used.
    pub async fn account_links(
        &mut self,
        space: &SpaceId,
        now: Timestamp,
    ) -> Result<Vec<AccountLink>, StoreError> {
        const SQL: &str = "select link_id, kind, space_id, user_id, role, expires_at
            from account_link where space_id = $1 and used_at is null and expires_at > $2
            order by created_at, link_id";
        let rows: Vec<LinkRow> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(now.0).fetch_all(wire).await?);
        Ok(rows.into_iter().map(AccountLink::from).collect())
    }

    /// Takes a link away before it is used.
    pub async fn drop_account_link(&mut self, space: &SpaceId, id: &str) -> Result<(), StoreError> {
        const SQL: &str = "delete from account_link
            where space_id = $1 and link_id = $2 and used_at is null";
        let gone = on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(id).execute(wire).await?.rows_affected());
        if gone == 0 { Err(StoreError::NotFound("link")) } else { Ok(()) }
    }

    /// Takes away the links by which somebody could choose a new password.
    pub async fn drop_reset_links(&mut self, user: &UserId) -> Result<(), StoreError> {
        const SQL: &str = "delete from account_link where user_id = $1 and kind = 'reset'";
        on!(self, wire => sqlx::query(SQL)
            .bind(user.as_str()).execute(wire).await.map(drop)?);
        Ok(())
    }

    /// Notes what happened to an account.
    pub async fn note_account(
        &mut self,
        space: Option<&SpaceId>,
        user: &str,
        what: AccountDeed,
        detail: &str,
        address: &str,
    ) -> Result<(), StoreError> {
        const SQL: &str = "insert into account_event
            (event_id, space_id, user_id, what, detail, address, created_at)
            values ($1, $2, $3, $4, $5, $6, $7)";
        let id: String = new_id();
        on!(self, wire => sqlx::query(SQL)
            .bind(id).bind(space.map(SpaceId::as_str)).bind(user).bind(what.word()).bind(detail)
            .bind(address).bind(now().0).execute(wire).await.map(drop)?);
        Ok(())
    }

    /// What happened to the accounts of a Space, the last first.
    pub async fn account_events(
        &mut self,
        space: &SpaceId,
        limit: u32,
    ) -> Result<Vec<AccountEvent>, StoreError> {
        const SQL: &str = "select user_id, what, detail, address, created_at from account_event
            where space_id = $1 order by event_id desc limit $2";
        let rows: Vec<(Option<String>, String, String, String, i64)> = on!(self, wire => sqlx::query_as(SQL)
                .bind(space.as_str()).bind(i64::from(limit)).fetch_all(wire).await?);
        let event =
            |(user, what, detail, address, at): (Option<String>, String, _, _, i64)| AccountEvent {
                user: user.unwrap_or_default(),
                what: AccountDeed::ALL.into_iter().find(|deed| deed.word() == what),
                detail,
                address,
                at: Timestamp(at),
            };
        Ok(rows.into_iter().map(event).collect())
    }

    /// Forgets what happened to accounts before this moment.
    pub async fn forget_account_events(&mut self, before: Timestamp) -> Result<(), StoreError> {
        const SQL: &str = "delete from account_event where created_at < $1";
        on!(self, wire => sqlx::query(SQL).bind(before.0).execute(wire).await.map(drop)?);
        Ok(())
    }
}
