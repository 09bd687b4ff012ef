//! People in a Space: making accounts, passwords and roles.

use super::Accounts;
use crate::{
    changes::{Gate, Scope},
    domain::{
        account::{
            AccountDeed, AccountEvent, LOCAL_OWNER, Member, Membership, Role, check_password,
        },
        error::ApiError,
        id::{SpaceId, UserId},
    },
    store::Link,
};

/// How much of what happened is shown.
const SHOWN_EVENTS: u32 = 100;

impl Accounts {
    /// Puts somebody into a Space with this role and password, as the operator of the server wants it. A
    /// Space that is not there is made. Without a password only a proxy can vouch for them.
    pub async fn add(
        &self,
        scope: &Scope,
        role: Role,
        password: Option<&str>,
    ) -> Result<(), ApiError> {
        let hash = match password {
            Some(password) => {
                check_password(password)?;
                Some(self.hash(password).await?)
            }
            None => None,
        };
        let known = self.store.read_accounts().await?.has_space(&scope.space).await?;
        if !known && role != Role::Owner {
            return Err(ApiError::not_found("Space"));
        }
        if !known {
            Gate::found_space(&self.store, scope, scope.space.as_str()).await?;
        }
        let mut link = self.store.write_accounts().await?;
        link.create_user(&scope.user).await?;
        let joined = link.role_in(&scope.space, &scope.user).await?.is_some();
        if joined && known && link.password_hash(&scope.user).await?.is_some() {
            let reason = format!(
                "There is already an account {}. “greenroom user passwd {}” sets its password.",
                scope.user, scope.user
            );
            return Err(ApiError::NotNow { reason });
        }
        link.set_role(&scope.space, &scope.user, role).await?;
        if let Some(hash) = &hash {
            link.set_password_hash(&scope.user, Some(hash)).await?;
        }
        let (space, user) = (Some(&scope.space), scope.user.as_str());
        link.note_account(space, user, AccountDeed::Joined, role.word(), "").await?;
        Ok(link.commit().await?)
    }

    /// Sets somebody's password, as the operator of the server wants it. All their browsers are signed out.
    pub async fn set_password(&self, user: &UserId, password: &str) -> Result<(), ApiError> {
        check_password(password)?;
        let hash = self.hash(password).await?;
        let mut link = self.store.write_accounts().await?;
        self.put_password(&mut link, user, &hash, "", "").await?;
        Ok(link.commit().await?)
    }

    /// Sees to it that this is somebody's password. Says whether it had to be set.
    pub async fn ensure_password(&self, user: &UserId, password: &str) -> Result<bool, ApiError> {
        let known = self.store.read_accounts().await?.password_hash(user).await?;
        if self.verify(password, known).await? {
            return Ok(false);
        }
        self.set_password(user, password).await?;
        Ok(true)
    }

    /// Changes one's own password. All other browsers are signed out.
    pub async fn change_password(
        &self,
        scope: &Scope,
        session: &str,
        [old, new]: [&str; 2],
        address: &str,
    ) -> Result<(), ApiError> {
        check_password(new)?;
        self.count_try(scope.user.as_str(), address).await?;
        let known = self.store.read_accounts().await?.password_hash(&scope.user).await?;
        let wrong = || ApiError::invalid("old", "That is not your present password.");
        if !self.verify(old, known.clone()).await? {
            return Err(wrong());
        }
        self.forget_tries(&scope.user, address).await?;
        let hash = self.hash(new).await?;
        let mut link = self.store.write_accounts().await?;
        // It may have been changed while it was looked at.
        if link.hold_password_hash(&scope.user).await? != known {
            return Err(wrong());
        }
        self.put_password(&mut link, &scope.user, &hash, session, address).await?;
        Ok(link.commit().await?)
    }

    /// Keeps a password's hash. Every session but one, and every link to set a password, is over.
    pub(super) async fn put_password(
        &self,
        link: &mut Link,
        user: &UserId,
        hash: &str,
        but: &str,
        address: &str,
    ) -> Result<(), ApiError> {
        link.set_password_hash(user, Some(hash)).await?;
        link.end_other_sessions(user, but).await?;
        link.drop_reset_links(user).await?;
        for membership in link.memberships(user).await? {
            let (space, what) = (Some(&membership.space), AccountDeed::PasswordSet);
            link.note_account(space, user.as_str(), what, "", address).await?;
        }
        Ok(())
    }

    /// Everybody in a Space.
    pub async fn members(&self, space: &SpaceId) -> Result<Vec<Member>, ApiError> {
        Ok(self.store.read_accounts().await?.members(space).await?)
    }

    /// The Spaces that somebody is in.
    pub async fn spaces(&self, user: &UserId) -> Result<Vec<Membership>, ApiError> {
        Ok(self.store.read_accounts().await?.memberships(user).await?)
    }

    /// Everybody, with whether they have a password, and where they are.
    pub async fn everybody(&self) -> Result<Vec<(UserId, bool, Vec<Membership>)>, ApiError> {
        Ok(self.store.read_accounts().await?.users().await?)
    }

    /// What happened to the accounts of a Space, the last first.
    pub async fn events(&self, space: &SpaceId) -> Result<Vec<AccountEvent>, ApiError> {
        Ok(self.store.read_accounts().await?.account_events(space, SHOWN_EVENTS).await?)
    }

    /// Gives a member another role.
    pub async fn set_role(
        &self,
        scope: &Scope,
        user: &UserId,
        role: Role,
        address: &str,
    ) -> Result<(), ApiError> {
        let mut link = self.store.write_accounts().await?;
        owned_without(&mut link, &scope.space, user, Some(role)).await?;
        link.set_role(&scope.space, user, role).await?;
        let detail = format!("{} by {}", role.word(), scope.user);
        let (space, what) = (Some(&scope.space), AccountDeed::RoleSet);
        link.note_account(space, user.as_str(), what, &detail, address).await?;
        Ok(link.commit().await?)
    }

    /// Takes a member out of a Space.
    pub async fn remove(
        &self,
        scope: &Scope,
        user: &UserId,
        address: &str,
    ) -> Result<(), ApiError> {
        let mut link = self.store.write_accounts().await?;
        owned_without(&mut link, &scope.space, user, None).await?;
        link.remove_member(&scope.space, user).await?;
        // Who is in no Space has no account.
        if link.memberships(user).await?.is_empty() {
            link.set_password_hash(user, None).await?;
        }
        let detail = format!("by {}", scope.user);
        let (space, what) = (Some(&scope.space), AccountDeed::Removed);
        link.note_account(space, user.as_str(), what, &detail, address).await?;
        Ok(link.commit().await?)
    }
}

/// A Space keeps an owner who can come in, if it has one, when this member becomes something else or goes.
/// Whoever is no member of it is not there.
async fn owned_without(
    link: &mut Link,
    space: &SpaceId,
    user: &UserId,
    becomes: Option<Role>,
) -> Result<(), ApiError> {
    link.lock_space(space).await?;
    let members = link.members(space).await?;
    let Some(member) = members.iter().find(|member| member.user == *user) else {
        return Err(ApiError::not_found("member"));
    };
    // The owner of the machine comes in by no password, and where others come in, not at all.
    let comes_in = |member: &&Member| member.has_password || member.user.as_str() != LOCAL_OWNER;
    let mut others = members.iter().filter(|other| other.user != *user).filter(comes_in);
    let owned = others.any(|other| other.role == Role::Owner);
    if member.role == Role::Owner && becomes != Some(Role::Owner) && comes_in(&member) && !owned {
        let reason =
            format!("{user} is the last owner who can sign in. Make somebody else an owner first.");
        return Err(ApiError::NotNow { reason });
    }
    Ok(())
}
