//! Links that an owner makes for somebody else: to come in, or to choose a new password. Each opens once,
//! and not for long.

use super::{Accounts, Secret, Visitor};
use crate::{
    changes::Scope,
    domain::{
        account::{AccountDeed, AccountLink, LinkKind, Role, account_name, check_password},
        error::ApiError,
        id::UserId,
        timestamp::Timestamp,
    },
    store::{new_id, now},
};

const DAY_MS: i64 = 86_400_000;
/// An invitation waits for so long.
const INVITE_MS: i64 = 7 * DAY_MS;
/// A link to a new password waits for so long.
const RESET_MS: i64 = DAY_MS;

/// A link as its maker wants it.
#[derive(Clone, Debug)]
pub enum NewLink {
    /// For somebody new, who becomes this.
    Invite(Role),
    /// For a member who is to choose a new password.
    Reset(UserId),
}

/// A link that was made, with the path that is to be shown once.
#[derive(Clone, Debug)]
pub struct Made {
    /// Its path on this site.
    pub path: String,
    /// Until when it waits.
    pub expires_at: Timestamp,
}

/// What is told where a link opens nothing, and not why.
fn spent() -> ApiError {
    ApiError::NotFound { what: "link (it may have been used, or be too old)".into() }
}

impl Accounts {
    /// Makes a link.
    pub async fn make_link(
        &self,
        scope: &Scope,
        new: NewLink,
        address: &str,
    ) -> Result<Made, ApiError> {
        let (secret, now) = (Secret::new("")?, now());
        let mut link = self.store.write_accounts().await?;
        let (kind, user, role, lasts, what) = match new {
            NewLink::Invite(role) => {
                (LinkKind::Invite, None, role, INVITE_MS, AccountDeed::Invited)
            }
            NewLink::Reset(user) => {
                let Some(role) = link.role_in(&scope.space, &user).await? else {
                    return Err(ApiError::not_found("member"));
                };
                // An owner of one Space must not get into the others of somebody who is in several.
                for other in link.memberships(&user).await? {
                    if link.role_in(&other.space, &scope.user).await? != Some(Role::Owner) {
                        let reason = format!(
                            "{user} is in other Spaces too. Whoever runs the server can make this link \
                             with “greenroom user reset {user}”."
                        );
                        return Err(ApiError::Denied { reason });
                    }
                }
                link.drop_reset_links(&user).await?;
                (LinkKind::Reset, Some(user), role, RESET_MS, AccountDeed::ResetLinkMade)
            }
        };
        let about = user.clone().unwrap_or_else(|| scope.user.clone());
        let expires_at = Timestamp(now.0 + lasts);
        let (id, space) = (new_id(), scope.space.clone());
        let kept = AccountLink { id, kind, space, user, role, expires_at };
        link.put_account_link(&secret.hash(), &kept, &scope.user).await?;
        let detail = format!("{} by {}", role.word(), scope.user);
        link.note_account(Some(&scope.space), about.as_str(), what, &detail, address).await?;
        link.commit().await?;
        Ok(Made { path: format!("/{}/{}", kind.word(), secret.expose()), expires_at })
    }

    /// Makes a link to a new password, as the operator of the server wants it.
    pub async fn make_reset_link(&self, user: &UserId) -> Result<Made, ApiError> {
        let spaces = self.spaces(user).await?;
        let Some(first) = spaces.into_iter().next() else {
            return Err(ApiError::not_found("account"));
        };
        let (secret, expires_at) = (Secret::new("")?, Timestamp(now().0 + RESET_MS));
        let kept = AccountLink {
            id: new_id(),
            kind: LinkKind::Reset,
            space: first.space,
            user: Some(user.clone()),
            role: first.role,
            expires_at,
        };
        let mut link = self.store.write_accounts().await?;
        link.drop_reset_links(user).await?;
        link.put_account_link(&secret.hash(), &kept, user).await?;
        let what = AccountDeed::ResetLinkMade;
        link.note_account(Some(&kept.space), user.as_str(), what, "on the server", "").await?;
        link.commit().await?;
        Ok(Made { path: format!("/reset/{}", secret.expose()), expires_at })
    }

    /// The link that somebody came by, while it is good.
    pub async fn link(&self, secret: &Secret, kind: LinkKind) -> Result<AccountLink, ApiError> {
        let mut link = self.store.read_accounts().await?;
        link.account_link(&secret.hash(), kind, now()).await?.ok_or_else(spent)
    }

    /// The links of a Space that wait.
    pub async fn links(&self, scope: &Scope) -> Result<Vec<AccountLink>, ApiError> {
        Ok(self.store.read_accounts().await?.account_links(&scope.space, now()).await?)
    }

    /// Takes a link away before it is used.
    pub async fn drop_link(&self, scope: &Scope, id: &str, address: &str) -> Result<(), ApiError> {
        let mut link = self.store.write_accounts().await?;
        link.drop_account_link(&scope.space, id).await?;
        let (space, user) = (Some(&scope.space), scope.user.as_str());
        link.note_account(space, user, AccountDeed::LinkRevoked, "", address).await?;
        Ok(link.commit().await?)
    }

    /// Comes in by an invitation, with a name and a password of one's own choice. Who has an account
    /// already comes in with its password.
    pub async fn accept(
        &self,
        secret: &Secret,
        typed: &str,
        password: &str,
        visitor: Visitor,
    ) -> Result<Secret, ApiError> {
        let user = account_name(typed)?;
        check_password(password)?;
        let invitation = self.link(secret, LinkKind::Invite).await?;
        let known = self.store.read_accounts().await?.password_hash(&user).await?;
        let hash = match known.clone() {
            Some(known) => {
                self.count_try(user.as_str(), &visitor.address).await?;
                if !self.verify(password, Some(known)).await? {
                    let rule = "There is already an account of that name, with another password.";
                    return Err(ApiError::invalid("name", rule));
                }
                self.forget_tries(&user, &visitor.address).await?;
                None
            }
            None => Some(self.hash(password).await?),
        };
        let mut link = self.store.write_accounts().await?;
        if !link.use_account_link(&secret.hash(), now()).await? {
            return Err(spent());
        }
        let is_new = link.create_user(&user).await?;
        // The person of this machine has no password and every right: nobody becomes them by an invitation.
        // Nor does anybody take over the name of somebody who left, or was faster.
        if hash.is_some() && !is_new {
            return Err(ApiError::invalid("name", "That name is taken. Choose another."));
        }
        if link.role_in(&invitation.space, &user).await?.is_some() {
            let reason = "You are in this Space already. Sign in.";
            return Err(ApiError::NotNow { reason: reason.into() });
        }
        link.set_role(&invitation.space, &user, invitation.role).await?;
        if let Some(hash) = &hash {
            link.set_password_hash(&user, Some(hash)).await?;
        }
        let (space, what) = (Some(&invitation.space), AccountDeed::Joined);
        let (role, from) = (invitation.role.word(), &visitor.address);
        link.note_account(space, user.as_str(), what, role, from).await?;
        link.commit().await?;
        let hash = known.or(hash);
        self.begin_session(&user, &invitation.space, hash.as_deref(), &visitor).await
    }

    /// Chooses a new password by a link. All browsers of that person are signed out but this one.
    pub async fn reset(
        &self,
        secret: &Secret,
        password: &str,
        visitor: Visitor,
    ) -> Result<Secret, ApiError> {
        check_password(password)?;
        let kept = self.link(secret, LinkKind::Reset).await?;
        let Some(user) = kept.user else { return Err(spent()) };
        let hash = self.hash(password).await?;
        let mut link = self.store.write_accounts().await?;
        if !link.use_account_link(&secret.hash(), now()).await? {
            return Err(spent());
        }
        self.put_password(&mut link, &user, &hash, "", &visitor.address).await?;
        link.commit().await?;
        self.begin_session(&user, &kept.space, Some(&hash), &visitor).await
    }
}
