//! The connections over which services are asked.
//!
//! A service that speaks HTTP/2 takes about a hundred answers on one connection and lets further ones wait,
//! and a client never opens a second one. So there are as many clients as it takes: each carries some of
//! the answers.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use reqwest::{Client, dns, redirect::Policy};
use rustls::ClientConfig;

use super::trust::trust;
use crate::domain::internet::is_public;

/// How many answers one client carries: fewer than any known service allows on a connection.
const MOST: usize = 64;

/// What is told of an address that is not reached though it is there.
pub const NOT_PUBLIC: &str = "its address is not one of the public internet";

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
    /// Whom all of them trust: the certificates are read once, when they are first needed.
    trust: ClientConfig,
    reach: Reach,
    first: Arc<Client>,
    more: Mutex<Vec<Arc<Client>>>,
}

/// Where connections lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Anywhere.
    Everywhere,
    /// To the public internet only, whatever a name stands for at the moment.
    Public,
}

impl Lines {
    /// Connections that may take so long to be made.
    pub fn new(connect: Duration, reach: Reach) -> Result<Self, LinesError> {
        let mut trust = trust()?;
        trust.alpn_protocols = vec!["h2".into(), "http/1.1".into()];
        let first = Arc::new(client(connect, trust.clone(), reach)?);
        let more = Mutex::default();
        Ok(Self { shared: Arc::new(Shared { connect, trust, reach, first, more }) })
    }

    /// A client for what is asked now and then.
    pub fn first(&self) -> Client {
        self.shared.first.as_ref().clone()
    }

    /// A client that can carry one more answer from this address, for as long as it is held.
    pub fn free(&self, address: &str) -> Arc<Client> {
        let Shared { connect, trust, reach, first, more } = self.shared.as_ref();
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
        match client(*connect, trust.clone(), *reach) {
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

fn client(connect: Duration, trust: ClientConfig, reach: Reach) -> Result<Client, reqwest::Error> {
    let builder = match reach {
        Reach::Everywhere => Client::builder(),
        // A proxy would resolve the name again.
        Reach::Public => Client::builder().no_proxy().dns_resolver(Arc::new(PublicNames)),
    };
    builder
        .tls_backend_preconfigured(trust)
        .connect_timeout(connect)
        // A service that points elsewhere would be given the key there.
        .redirect(Policy::none())
        .user_agent(concat!("greenroom/", env!("CARGO_PKG_VERSION")))
        .build()
}

/// Finds those addresses of a name that are of the public internet.
struct PublicNames;

impl dns::Resolve for PublicNames {
    fn resolve(&self, name: dns::Name) -> dns::Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let public: Vec<SocketAddr> = found.filter(|address| is_public(address.ip())).collect();
            if public.is_empty() {
                return Err(NOT_PUBLIC.into());
            }
            Ok(Box::new(public.into_iter()) as dns::Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_carries_so_many_answers_and_is_free_again_when_they_end() {
        let lines = Lines::new(Duration::from_secs(1), Reach::Everywhere).unwrap();
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
