//! Who asks, how they prove it, and what they may do.
//!
//! The one rule of the room: what opens something is never kept. Passwords are kept as argon2id says,
//! and everything that we make up (sessions, tokens, links) as its SHA-256.

mod access;
mod caller;
mod links;
mod password;
mod people;
mod secret;
mod sessions;
mod throttle;

use std::sync::{Arc, OnceLock};

pub use access::{Access, Mode, Peers, Transport};
pub use caller::{Caller, Class, Proof};
pub use links::{Made, NewLink};
pub use secret::{Secret, TOKEN_PREFIX};
pub use sessions::{Asks, NewToken, Visitor};
use tokio::sync::Semaphore;

use crate::{domain::error::ApiError, store::Store};

/// How many passwords are hashed at once: each takes much memory, and a processor.
const HASHED_AT_ONCE: usize = 2;

/// Everything about accounts, cheap to clone.
#[derive(Clone, Debug)]
pub struct Accounts {
    store: Store,
    hashing: Arc<Semaphore>,
    /// What a password is compared with where there is no account, so that it takes as long.
    nobodys: Arc<OnceLock<String>>,
}

impl Accounts {
    /// The accounts in this store.
    pub fn new(store: Store) -> Self {
        let hashing = Arc::new(Semaphore::new(HASHED_AT_ONCE));
        Self { store, hashing, nobodys: Arc::default() }
    }

    /// Whether anybody could sign in with a password.
    pub async fn exist(&self) -> Result<bool, ApiError> {
        Ok(self.store.read_accounts().await?.has_accounts().await?)
    }
}
