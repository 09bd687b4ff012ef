//! The connections over which services are asked.
//!
//! A service that speaks HTTP/2 takes about a hundred answers on one connection and lets further ones wait,
//! and a client never opens a second one. So there are as many clients as it takes: each carries some of
//! the answers.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use reqwest::{Client, redirect::Policy};
use rustls::ClientConfig;
use rustls_platform_verifier::ConfigVerifierExt;

/// How many answers one client carries: fewer than any known service allows on a connection.
const MOST: usize = 64;

/// Why no service can be reached.
#[derive(Debug, thiserror::Error)]
pub enum LinesError {
    /// Nobody could be trusted.
    #[error("{0}")]
    Trust(#[from] rustls::Error),
    /// No client could be made.
    #[error("{0}")]
    Client(#[from] reqwest::Error),
}

/// The clients. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Lines {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    connect: Duration,
    /// Whom all of them trust: the certificates are read once.
    trust: ClientConfig,
    first: Arc<Client>,
    more: Mutex<Vec<Arc<Client>>>,
}

impl Lines {
    /// Connections that may take so long to be made.
    pub fn new(connect: Duration) -> Result<Self, LinesError> {
        // Another part of the program may have chosen already; then that choice stands.
        drop(rustls::crypto::ring::default_provider().install_default());
        let mut trust = ClientConfig::with_platform_verifier()?;
        trust.alpn_protocols = vec!["h2".into(), "http/1.1".into()];
        let first = Arc::new(client(connect, trust.clone())?);
        Ok(Self { shared: Arc::new(Shared { connect, trust, first, more: Mutex::default() }) })
    }

    /// A client for what is asked now and then.
    pub fn first(&self) -> Client {
        self.shared.first.as_ref().clone()
    }

    /// A client that can carry one more answer from this address, for as long as it is held.
    pub fn free(&self, address: &str) -> Arc<Client> {
        let Shared { connect, trust, first, more } = self.shared.as_ref();
        // Without encryption a service is not asked by HTTP/2, and each answer has a connection of its own.
        if !address.starts_with("https://") {
            return first.clone();
        }
        // One is held here.
        let is_free = |client: &&Arc<Client>| Arc::strong_count(client) <= MOST;
        let mut more = more.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(free) = std::iter::once(first).chain(more.iter()).find(is_free) {
            return free.clone();
        }
        match client(*connect, trust.clone()) {
            Ok(new) => {
                let new = Arc::new(new);
                more.push(new.clone());
                new
            }
            Err(error) => {
                tracing::warn!(%error, "no further client could be made; answers may wait");
                first.clone()
            }
        }
    }
}

fn client(connect: Duration, trust: ClientConfig) -> Result<Client, reqwest::Error> {
    Client::builder()
        .tls_backend_preconfigured(trust)
        .connect_timeout(connect)
        // A service that points elsewhere would be given the key there.
        .redirect(Policy::none())
        .user_agent(concat!("greenroom/", env!("CARGO_PKG_VERSION")))
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_carries_so_many_answers_and_is_free_again_when_they_end() {
        let lines = Lines::new(Duration::from_secs(1)).unwrap();
        let there = "https://there.test/v1";
        let held: Vec<_> = (0..MOST).map(|_| lines.free(there)).collect();
        assert!(held.iter().all(|one| Arc::ptr_eq(one, &held[0])));

        let next = lines.free(there);
        assert!(!Arc::ptr_eq(&next, &held[0]));
        assert!(Arc::ptr_eq(&lines.free("http://here.test"), &held[0]));
        drop(held);

        let first = lines.free(there);
        assert!(!Arc::ptr_eq(&next, &first), "the first one is free again");
    }
}
