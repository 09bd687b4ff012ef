//! What opens something: made of chance, shown once, kept as its hash.

use std::fmt;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    digest::{SHA256, digest},
    rand::{SecureRandom, SystemRandom},
};

use crate::domain::error::ApiError;

/// How every API token begins, so that it is known where it leaks.
pub const TOKEN_PREFIX: &str = "greenroom_";
const BYTES: usize = 32;

/// A text that opens something. It does not show itself in logs.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A new one that begins like this.
    pub fn new(prefix: &str) -> Result<Self, ApiError> {
        let mut bytes = [0_u8; BYTES];
        SystemRandom::new().fill(&mut bytes).map_err(|_| {
            let incident = uuid::Uuid::now_v7().simple().to_string();
            tracing::error!(incident, "the system gives no randomness");
            ApiError::Internal { incident }
        })?;
        Ok(Self(format!("{prefix}{}", URL_SAFE_NO_PAD.encode(bytes))))
    }

    /// One that somebody brought.
    pub fn given(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The text itself, for whoever it is meant for.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// What is kept of it. It is looked up by this, so how long a comparison takes tells nothing of use.
    pub fn hash(&self) -> String {
        let hash = digest(&SHA256, self.0.as_bytes());
        hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_are_alike_and_none_shows_itself() {
        let (one, other) = (Secret::new("x_").unwrap(), Secret::new("x_").unwrap());

        assert_ne!(one, other);
        assert!(one.expose().starts_with("x_") && one.expose().len() == 45, "{}", one.expose());
        assert!(!format!("{one:?}").contains(&one.expose()[2..]));
        assert_eq!(
            Secret::given("abc").hash(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
