//! How this server lets people in. Decided once, when it starts or when its database is there.

use std::{
    sync::{Mutex, OnceLock, PoisonError},
    time::Duration,
};

use super::Secret;
use crate::{
    domain::{error::ApiError, internet::Network},
    store::Holders,
};

const RECHECK: Duration = Duration::from_secs(30);
const BODY_TIME: Duration = Duration::from_secs(30);

/// How people come in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The owner, without an account, from this machine.
    Local(Peers),
    /// With a name and a password.
    Accounts,
    /// As a trusted proxy says, in the header of this name.
    Proxy(String),
}

/// How it is known that whoever asks from this machine is its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peers {
    /// Their socket belongs to the user of the system that runs the server.
    SameUser,
    /// They came by the link that was printed when the server started.
    Link,
    /// There is no socket: requests are made within this process.
    Within,
}

/// How browsers reach the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// On this machine, or over a network that is trusted.
    Plain,
    /// Encrypted, by a proxy before us.
    Tls,
}

/// How this server lets people in.
#[derive(Debug)]
pub struct Access {
    mode: OnceLock<Mode>,
    /// How browsers reach it.
    pub transport: Transport,
    /// Whose word about addresses and people is taken.
    pub trusted: Vec<Network>,
    /// How often it is looked whether whoever listens to a stream is still welcome.
    pub recheck: Duration,
    /// How long a client may be silent while it sends a body, and how far it may fall behind a slow line.
    pub body_time: Duration,
    /// The hash of what opens a server that is opened by a link, until somebody used it.
    entrance: Mutex<Option<String>>,
}

impl Access {
    /// Access that is decided on later.
    pub fn undecided(transport: Transport, trusted: Vec<Network>) -> Self {
        let (mode, entrance) = (OnceLock::new(), Mutex::default());
        Self { mode, transport, trusted, recheck: RECHECK, body_time: BODY_TIME, entrance }
    }

    /// Access in this mode.
    pub fn decided(mode: Mode) -> Self {
        let access = Self::undecided(Transport::Plain, Vec::new());
        access.decide(mode);
        access
    }

    /// Decides on the mode. The first decision stays.
    pub fn decide(&self, mode: Mode) {
        self.mode.get_or_init(|| mode);
    }

    /// The mode, once it is decided on.
    pub fn mode(&self) -> Option<&Mode> {
        self.mode.get()
    }

    /// Whether people have accounts here, and pages to see to them.
    pub fn has_accounts(&self) -> bool {
        match self.mode() {
            Some(Mode::Accounts | Mode::Proxy(_)) => true,
            Some(Mode::Local(_)) | None => false,
        }
    }

    /// Whose sessions and tokens count. Who came in by a printed link, before there were accounts, signs in now
    /// like everybody.
    pub fn holders(&self) -> Holders {
        match self.mode() {
            Some(Mode::Local(_) | Mode::Proxy(_)) => Holders::All,
            Some(Mode::Accounts) | None => Holders::WithPassword,
        }
    }

    /// The name of the cookie that holds a session. The long one is taken by browsers only from the host
    /// itself, and encrypted.
    pub fn cookie(&self) -> &'static str {
        match self.transport {
            Transport::Plain => "sid",
            Transport::Tls => "__Host-sid",
        }
    }

    /// Makes what opens this server, for the link that is printed.
    pub fn open_entrance(&self) -> Result<Secret, ApiError> {
        let secret = Secret::new("")?;
        *self.entrance.lock().unwrap_or_else(PoisonError::into_inner) = Some(secret.hash());
        Ok(secret)
    }

    /// Uses the link that was printed. `false` when it is another, or was used before.
    pub fn enter(&self, secret: &Secret) -> bool {
        let mut entrance = self.entrance.lock().unwrap_or_else(PoisonError::into_inner);
        entrance.take_if(|hash| *hash == secret.hash()).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_link_opens_once() {
        let access = Access::decided(Mode::Local(Peers::Link));
        let secret = access.open_entrance().unwrap();

        assert!(!access.enter(&Secret::given("guess")));
        assert!(access.enter(&secret));
        assert!(!access.enter(&secret));
    }
}
