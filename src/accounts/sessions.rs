//! Signing in and out, and the tokens of programs.

use std::time::Duration;

use super::{Accounts, Caller, Proof, Secret, TOKEN_PREFIX};
use crate::{
    changes::Scope,
    domain::{
        account::{
            AccountDeed, ApiToken, MAX_TOKEN_DAYS, MAX_TOKEN_NAME_CHARS, Session, TokenScope,
            account_name, browser_name,
        },
        error::ApiError,
        id::{SpaceId, UserId},
        timestamp::Timestamp,
    },
    store::{Holders, new_id, now},
};

const DAY_MS: i64 = 86_400_000;
/// A session that is not used for so long is over.
const IDLE_MS: i64 = 7 * DAY_MS;
/// A session is over after so long however much it is used.
const LASTS_MS: i64 = 30 * DAY_MS;
/// How far behind it may be when something was last used.
const NOTED_MS: i64 = 5 * 60_000;
/// How long whoever asks waits for that to be noted.
const PASSING_TIME: Duration = Duration::from_secs(1);
/// How long it is known what happened to accounts.
const EVENTS_MS: i64 = 366 * DAY_MS;
/// The most that is kept of what a browser calls itself.
const MAX_BROWSER_CHARS: usize = 200;

/// A browser that wants to sign in.
#[derive(Clone, Debug, Default)]
pub struct Visitor {
    /// From where.
    pub address: String,
    /// What it calls itself.
    pub browser: String,
    /// The session that it has, if any. It ends.
    pub session: Option<Secret>,
}

/// An API token as its person wants it.
#[derive(Clone, Debug)]
pub struct NewToken {
    /// What they call it.
    pub name: String,
    /// What it may do.
    pub scope: TokenScope,
    /// For how many days.
    pub days: u32,
}

/// Whether it counts as use that somebody asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asks {
    /// They ask for something.
    Anew,
    /// What they asked for before goes on: a page that is left open is not used.
    Still,
}

/// What is noted while somebody only asks.
enum Seen<'a> {
    /// The session with this hash was used.
    Session(&'a str),
    /// The token with this hash was used.
    Token(&'a str),
    /// This session is over.
    Over(&'a Session),
}

/// What is told whoever did not sign in, and not why.
fn wrong() -> ApiError {
    ApiError::SignIn { reason: "The name or the password is wrong.".into() }
}

impl Accounts {
    /// Signs somebody in, if the password is theirs, and gives what their browser is to hold. The same is
    /// told, after the same work, whether or not there is such an account.
    pub async fn sign_in(
        &self,
        typed: &str,
        password: &str,
        visitor: Visitor,
    ) -> Result<Secret, ApiError> {
        let name = account_name(typed).unwrap_or_default();
        self.count_try(name.as_str(), &visitor.address).await?;
        let mut link = self.store.read_accounts().await?;
        let spaces = link.memberships(&name).await?;
        let first = spaces.first().map(|membership| membership.space.clone());
        let hash = link.password_hash(&name).await?.filter(|_| first.is_some());
        drop(link);
        let right = self.verify(password, hash.clone()).await?;
        let (Some(space), Some(hash), true) = (&first, hash, right) else {
            // What was typed may be a password in the wrong field: it is kept nowhere.
            tracing::warn!(address = visitor.address, "signing in failed");
            self.note_failure(first, name, visitor.address);
            return Err(wrong());
        };
        self.forget_tries(&name, &visitor.address).await?;
        self.begin_session(&name, space, Some(&hash), &visitor).await
    }

    /// Makes a session of this person, whose password has this hash if they came by one: while it was looked at, it
    /// may have been changed. Whatever the browser held before is over.
    pub async fn begin_session(
        &self,
        user: &UserId,
        space: &SpaceId,
        hash: Option<&str>,
        visitor: &Visitor,
    ) -> Result<Secret, ApiError> {
        let (secret, now) = (Secret::new("")?, now());
        let session = Session {
            hash: secret.hash(),
            user: user.clone(),
            space: space.clone(),
            browser: visitor.browser.chars().take(MAX_BROWSER_CHARS).collect(),
            address: visitor.address.clone(),
            created_at: now,
            used_at: now,
            expires_at: Timestamp(now.0 + LASTS_MS),
        };
        let mut link = self.store.write_accounts().await?;
        if hash.is_some() && link.hold_password_hash(user).await?.as_deref() != hash {
            return Err(wrong());
        }
        if let Some(before) = &visitor.session
            && let Some((held, _)) = link.signed_in(&before.hash(), Holders::All).await?
        {
            link.end_session(&held.user, &held.hash).await?;
        }
        link.put_session(&session).await?;
        let (what, from) = (AccountDeed::SignedIn, &visitor.address);
        let browser = browser_name(&session.browser);
        link.note_account(Some(space), user.as_str(), what, &browser, from).await?;
        link.commit().await?;
        Ok(secret)
    }

    /// Who of these holds this session; nobody when it is over.
    pub async fn by_session(
        &self,
        secret: &Secret,
        holders: Holders,
        asks: Asks,
    ) -> Result<Option<Caller>, ApiError> {
        let hash = secret.hash();
        let found = self.store.read_accounts().await?.signed_in(&hash, holders).await?;
        let Some((session, role)) = found else { return Ok(None) };
        let now = now();
        if session.expires_at <= now || session.used_at.0 <= now.0 - IDLE_MS {
            // It must not come back when the clock is set back.
            self.note_in_passing(Seen::Over(&session), now).await;
            return Ok(None);
        }
        if asks == Asks::Anew && now.0 - session.used_at.0 > NOTED_MS {
            self.note_in_passing(Seen::Session(&hash), now).await;
        }
        let scope = Scope { space: session.space, user: session.user };
        Ok(Some(Caller { scope, role, proof: Proof::Session(hash) }))
    }

    /// Writes what is noted while somebody only asks. It is no reason to refuse them: they must be able to
    /// read while nothing can be written, and soon.
    async fn note_in_passing(&self, seen: Seen<'_>, now: Timestamp) {
        let noted = async {
            let mut link = self.store.write_accounts().await?;
            match seen {
                Seen::Session(hash) => link.touch_session(hash, now).await?,
                Seen::Token(hash) => link.touch_token(hash, now).await?,
                Seen::Over(session) => {
                    link.end_session(&session.user, &session.hash).await?;
                }
            }
            link.commit().await
        };
        match tokio::time::timeout(PASSING_TIME, noted).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "it was not noted who was here"),
            Err(_) => tracing::warn!("it was not noted in time who was here"),
        }
    }

    /// For whom of these this token works; nobody when it is over.
    pub async fn by_token(
        &self,
        secret: &Secret,
        holders: Holders,
    ) -> Result<Option<Caller>, ApiError> {
        let (hash, now) = (secret.hash(), now());
        let found = self.store.read_accounts().await?.token(&hash, now, holders).await?;
        let Some((token, role)) = found else { return Ok(None) };
        if token.used_at.is_none_or(|used| now.0 - used.0 > NOTED_MS) {
            self.note_in_passing(Seen::Token(&hash), now).await;
        }
        let scope = Scope { space: token.space, user: token.user };
        Ok(Some(Caller { scope, role, proof: Proof::Token(token.scope) }))
    }

    /// The person for whom a trusted proxy vouches; nobody when they are in no Space.
    pub async fn by_name(&self, name: &str) -> Result<Option<Caller>, ApiError> {
        let Ok(user) = account_name(name) else { return Ok(None) };
        let spaces = self.store.read_accounts().await?.memberships(&user).await?;
        let caller = |membership: crate::domain::account::Membership| Caller {
            scope: Scope { space: membership.space, user },
            role: membership.role,
            proof: Proof::Proxy,
        };
        Ok(spaces.into_iter().next().map(caller))
    }

    /// Signs a browser out.
    pub async fn sign_out(&self, secret: &Secret, address: &str) -> Result<(), ApiError> {
        let hash = secret.hash();
        let found = self.store.read_accounts().await?.signed_in(&hash, Holders::All).await?;
        let Some((session, _)) = found else { return Ok(()) };
        let mut link = self.store.write_accounts().await?;
        link.end_session(&session.user, &hash).await?;
        let (space, user) = (Some(&session.space), session.user.as_str());
        link.note_account(space, user, AccountDeed::SignedOut, "", address).await?;
        Ok(link.commit().await?)
    }

    /// The browsers in which somebody is signed in.
    pub async fn sessions(&self, user: &UserId) -> Result<Vec<Session>, ApiError> {
        let now = now();
        let mut link = self.store.read_accounts().await?;
        Ok(link.sessions_of(user, now, Timestamp(now.0 - IDLE_MS)).await?)
    }

    /// Signs another browser of one's own out.
    pub async fn end_session(
        &self,
        scope: &Scope,
        hash: &str,
        address: &str,
    ) -> Result<(), ApiError> {
        let mut link = self.store.write_accounts().await?;
        if !link.end_session(&scope.user, hash).await? {
            return Err(ApiError::not_found("session"));
        }
        let (space, user) = (Some(&scope.space), scope.user.as_str());
        link.note_account(space, user, AccountDeed::SessionEnded, "", address).await?;
        Ok(link.commit().await?)
    }

    /// Lets a browser work in another Space that its person is in.
    pub async fn switch_space(&self, caller: &Caller, space: &SpaceId) -> Result<(), ApiError> {
        let Some(hash) = caller.session() else { return Err(ApiError::not_found("session")) };
        let mut link = self.store.write_accounts().await?;
        if link.role_in(space, &caller.scope.user).await?.is_none() {
            return Err(ApiError::not_found("Space"));
        }
        link.move_session(hash, space).await?;
        Ok(link.commit().await?)
    }

    /// Makes a token, and gives what is to be shown once.
    pub async fn make_token(
        &self,
        scope: &Scope,
        new: NewToken,
        address: &str,
    ) -> Result<Secret, ApiError> {
        let name = new.name.trim();
        if name.is_empty() || name.chars().count() > MAX_TOKEN_NAME_CHARS {
            return Err(ApiError::invalid("name", "A token's name has 1 to 60 characters."));
        }
        if !(1..=MAX_TOKEN_DAYS).contains(&new.days) {
            return Err(ApiError::invalid("days", "A token lasts for 1 to 366 days."));
        }
        let (secret, now) = (Secret::new(TOKEN_PREFIX)?, now());
        let token = ApiToken {
            id: new_id(),
            user: scope.user.clone(),
            space: scope.space.clone(),
            name: name.to_owned(),
            scope: new.scope,
            created_at: now,
            used_at: None,
            expires_at: Timestamp(now.0 + i64::from(new.days) * DAY_MS),
        };
        let mut link = self.store.write_accounts().await?;
        link.put_token(&secret.hash(), &token).await?;
        let (space, user) = (Some(&scope.space), scope.user.as_str());
        let detail = format!("{name} ({})", new.scope.word());
        link.note_account(space, user, AccountDeed::TokenMade, &detail, address).await?;
        link.commit().await?;
        Ok(secret)
    }

    /// One's own tokens.
    pub async fn tokens(&self, user: &UserId) -> Result<Vec<ApiToken>, ApiError> {
        Ok(self.store.read_accounts().await?.tokens_of(user, now()).await?)
    }

    /// Takes a token of one's own away.
    pub async fn revoke_token(
        &self,
        scope: &Scope,
        id: &str,
        address: &str,
    ) -> Result<(), ApiError> {
        let mut link = self.store.write_accounts().await?;
        if !link.drop_token(&scope.user, id).await? {
            return Err(ApiError::not_found("token"));
        }
        let (space, user) = (Some(&scope.space), scope.user.as_str());
        link.note_account(space, user, AccountDeed::TokenRevoked, "", address).await?;
        Ok(link.commit().await?)
    }

    /// Removes what is over.
    pub async fn purge(&self) -> Result<(), ApiError> {
        let now = now();
        let mut link = self.store.write_accounts().await?;
        link.purge_sessions(now, Timestamp(now.0 - IDLE_MS)).await?;
        link.forget_account_events(Timestamp(now.0 - EVENTS_MS)).await?;
        Ok(link.commit().await?)
    }

    /// Notes that somebody could not sign in, after they are told so: the time that takes must not tell whether
    /// there is such an account.
    fn note_failure(&self, space: Option<SpaceId>, user: UserId, address: String) {
        // What nobody can be shown is not kept: anybody could fill the disk with it.
        let Some(space) = space else { return };
        let store = self.store.clone();
        tokio::spawn(async move {
            let noted = async {
                let mut link = store.write_accounts().await?;
                let what = AccountDeed::Failed;
                link.note_account(Some(&space), user.as_str(), what, "", &address).await?;
                link.commit().await
            };
            if let Err(error) = noted.await {
                tracing::warn!(%error, "it was not noted that signing in failed");
            }
        });
    }
}
