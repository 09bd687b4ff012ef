//! Passwords: hashed with argon2id, a few at a time, off the threads that answer.

use std::time::Duration;

use super::Accounts;
use crate::domain::error::ApiError;

/// How long one waits for others to be hashed.
const WAIT: Duration = Duration::from_secs(10);
/// When to try again after that.
const RETRY_SECONDS: u64 = 5;

impl Accounts {
    /// The hash of a password, with its own salt and the cost that made it.
    pub(super) async fn hash(&self, password: &str) -> Result<String, ApiError> {
        let password = password.to_owned();
        self.hashing(move || password_auth::generate_hash(password)).await
    }

    /// Whether this password made that hash. Without a hash it takes as long, and is wrong.
    pub(super) async fn verify(
        &self,
        password: &str,
        hash: Option<String>,
    ) -> Result<bool, ApiError> {
        let (password, nobodys) = (password.to_owned(), self.nobodys.clone());
        self.hashing(move || {
            let known = hash.is_some();
            // It is nobody's, whatever it is made of.
            let nobodys = || nobodys.get_or_init(|| password_auth::generate_hash("nobody")).clone();
            let hash = hash.unwrap_or_else(nobodys);
            password_auth::verify_password(password, &hash).is_ok() && known
        })
        .await
    }

    async fn hashing<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let turn = tokio::time::timeout(WAIT, self.hashing.clone().acquire_owned()).await;
        let Ok(Ok(turn)) = turn else {
            let reason = "Too many people sign in at this moment. Try again in a few seconds.";
            let retry_after = Some(RETRY_SECONDS);
            return Err(ApiError::Limited { reason: reason.into(), retry_after });
        };
        let done = tokio::task::spawn_blocking(move || {
            let done = work();
            drop(turn);
            done
        });
        done.await.map_err(|error| {
            let incident = uuid::Uuid::now_v7().simple().to_string();
            tracing::error!(incident, %error, "a password could not be hashed");
            ApiError::Internal { incident }
        })
    }
}
