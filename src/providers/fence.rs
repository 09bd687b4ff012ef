//! What owners of Spaces may set about services where people have accounts: they need not be who runs the
//! server. A key that the server has goes only where it was meant to go, and nothing is asked for that only
//! the server can reach. It holds when something is set, and again when a service is asked.

use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use reqwest::Url;

use super::{
    Fault, ProviderError,
    catalog::Environment,
    lines::{Lines, LinesError, NOT_PUBLIC, Reach},
    services::{BUILT_IN, BuiltIn, built_in},
};
use crate::domain::{
    error::ApiError,
    internet::is_public,
    model::{BASE_URL, KEY_REF, SEALED, Service},
};

/// What whoever runs the server allows owners of Spaces, beyond what comes with the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowance {
    /// Where keys are, each with the origin that it may be sent to.
    pub keys: Vec<(String, String)>,
    /// Hosts that may be anywhere, as `host` or `host:port`.
    pub hosts: Vec<String>,
}

/// The fence. Until it is raised, it holds nobody back.
pub struct Fence {
    is_up: AtomicBool,
    allowed: Allowance,
    /// The connections for what is not near.
    public: Lines,
    environment: Arc<Environment>,
}

impl Fence {
    /// A fence that is not raised yet, and lets this through when it is.
    pub fn new(
        connect: Duration,
        environment: Arc<Environment>,
        allowed: Allowance,
    ) -> Result<Self, LinesError> {
        let public = Lines::new(connect, Reach::Public)?;
        Ok(Self { is_up: AtomicBool::new(false), allowed, public, environment })
    }

    /// Raises it.
    pub fn raise(&self) {
        self.is_up.store(true, Ordering::Release);
    }

    fn is_up(&self) -> bool {
        self.is_up.load(Ordering::Acquire)
    }

    /// Refuses what may not be set.
    pub fn check(&self, service: &Service) -> Result<(), ApiError> {
        if self.check_key(service).is_err() {
            let rule = "On this server the key of a variable or a file goes only to the service that it \
                        belongs to. Paste the key instead, or ask whoever runs the server to allow it \
                        (--service-key).";
            return Err(ApiError::invalid(KEY_REF.name, rule));
        }
        if self.reach(service).is_none() {
            let rule = "The address is not one of the public internet. Whoever runs the server can allow \
                        it (--service-allow).";
            return Err(ApiError::invalid(BASE_URL.name, rule));
        }
        Ok(())
    }

    /// Refuses to read the key of a service that is not that key's.
    pub fn check_key(&self, service: &Service) -> Result<(), ProviderError> {
        let (key, origin) = (service.key_ref.trim(), service.origin());
        // One that was pasted opens for its own origin only.
        if !self.is_up() || key.is_empty() || key.starts_with(SEALED) {
            return Ok(());
        }
        let comes_so = built_in(&service.service).is_some_and(|known| {
            let own = known.key_variables.iter().any(|name| key.strip_prefix("env:") == Some(name));
            own && known.settings(self.environment.as_ref()).origin() == origin
        });
        if comes_so || self.allowed.keys.iter().any(|(known, to)| known == key && *to == origin) {
            return Ok(());
        }
        let told = "this key does not belong to this service";
        Err(ProviderError::new(Fault::NoKey, told))
    }

    /// The connections over which a service may be asked: these, unless it must not be near.
    pub fn lines(&self, service: &Service, everywhere: &Lines) -> Result<Lines, ProviderError> {
        match self.reach(service) {
            Some(Reach::Everywhere) => Ok(everywhere.clone()),
            Some(Reach::Public) => Ok(self.public.clone()),
            None => Err(ProviderError::new(Fault::Unreached, NOT_PUBLIC)),
        }
    }

    /// How far connections to a service may lead; nowhere when its address says itself that it is near. What a
    /// name stands for is seen when it is connected to.
    fn reach(&self, service: &Service) -> Option<Reach> {
        if !self.is_up() {
            return Some(Reach::Everywhere);
        }
        let origin = service.origin();
        // Where the environment points a service, there any may be; where one comes, only that one: of what
        // listens there otherwise nobody has said anything.
        let environment = self.environment.as_ref();
        let may_be = |known: &BuiltIn| {
            let its_own = known.service == service.service || known.is_pointed(environment);
            its_own && known.settings(environment).origin() == origin
        };
        if BUILT_IN.iter().any(may_be) {
            return Some(Reach::Everywhere);
        }
        let url = Url::parse(&service.base_url).ok()?;
        let host = url.host_str()?;
        let port = url.port_or_known_default().unwrap_or_default();
        let named = format!("{host}:{port}");
        let is_allowed =
            |entry: &String| (url.port().is_none() && entry == host) || *entry == named;
        if self.allowed.hosts.iter().any(is_allowed) {
            return Some(Reach::Everywhere);
        }
        // A name may end in the dot that stands for the root of all.
        let name = host.trim_end_matches('.');
        match host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
            Ok(address) => is_public(address).then_some(Reach::Public),
            Err(_) if name == "localhost" || name.ends_with(".localhost") => None,
            Err(_) => Some(Reach::Public),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(service: &str, base_url: &str, key_ref: &str) -> Service {
        let (base_url, key_ref) = (base_url.into(), key_ref.into());
        let (label, dialect) = (service.into(), "openai-chat".into());
        Service { service: service.into(), label, dialect, base_url, key_ref }
    }

    fn fence(allowed: Allowance) -> Fence {
        let environment = |name: &str| match name {
            "OPENAI_BASE_URL" => Some("http://10.0.0.7/v1".to_owned()),
            _ => name.ends_with("_KEY").then(|| "k".to_owned()),
        };
        Fence::new(Duration::from_secs(1), Arc::new(environment), allowed).unwrap()
    }

    #[test]
    fn a_key_of_the_server_goes_where_it_belongs_and_nowhere_else() {
        let keys = vec![("file:/run/key".to_owned(), "https://ours.test".to_owned())];
        let fence = fence(Allowance { keys, hosts: Vec::new() });
        let anywhere = service("mine", "https://evil.test", "env:DATABASE_URL");
        assert_eq!(fence.check(&anywhere), Ok(()), "nobody has an account yet");
        fence.raise();

        for (name, address, key) in [
            ("anthropic", "https://api.anthropic.com", "env:ANTHROPIC_API_KEY"),
            ("openai", "http://10.0.0.7/v2", "env:OPENAI_API_KEY"),
            ("mine", "https://ours.test/v1", "file:/run/key"),
            ("mine", "https://evil.test", "sealed:abcd:x"),
            ("mine", "https://evil.test", ""),
        ] {
            assert_eq!(fence.check(&service(name, address, key)), Ok(()), "{name} {address} {key}");
        }
        for (name, address, key) in [
            ("mine", "https://evil.test", "env:DATABASE_URL"),
            ("mine", "https://api.anthropic.com", "env:ANTHROPIC_API_KEY"),
            ("anthropic", "https://evil.test", "env:ANTHROPIC_API_KEY"),
            ("anthropic", "https://api.anthropic.com.evil.test", "env:ANTHROPIC_API_KEY"),
            ("anthropic", "https://api.anthropic.com", "env:OPENAI_API_KEY"),
            ("openai", "https://api.openai.com/v1", "env:OPENAI_API_KEY"),
            ("mine", "https://evil.test", "file:/run/key"),
            ("mine", "http://ours.test", "file:/run/key"),
        ] {
            let refused = fence.check(&service(name, address, key)).unwrap_err();
            assert!(
                matches!(&refused, ApiError::Invalid { field, .. } if field == "keyRef"),
                "{name} {address} {key}: {refused}"
            );
        }
    }

    #[test]
    fn only_the_public_internet_and_what_the_operator_points_at_is_reached() {
        let hosts = vec!["models.internal".to_owned(), "192.168.0.9:8000".to_owned()];
        let fence = fence(Allowance { keys: Vec::new(), hosts });
        fence.raise();
        let reach = |address: &str| fence.reach(&service("mine", address, ""));

        for address in
            ["http://10.0.0.7", "http://models.internal/v1", "http://192.168.0.9:8000/v1"]
        {
            assert_eq!(reach(address), Some(Reach::Everywhere), "{address}");
        }
        // What comes with the program is where it comes, and nothing else is there.
        for (name, address) in
            [("ollama", "http://127.0.0.1:11434/v1"), ("vllm", "http://127.0.0.1:8000/v1")]
        {
            assert_eq!(fence.reach(&service(name, address, "")), Some(Reach::Everywhere));
            assert_eq!(fence.reach(&service("llamacpp", address, "")), None, "{address}");
        }
        for address in ["https://example.org", "http://8.8.8.8/v1"] {
            assert_eq!(reach(address), Some(Reach::Public), "{address}");
        }
        for address in [
            "http://127.0.0.1:9",
            "http://127.0.0.1:11434/v1",
            "http://127.0.0.1:8080",
            "http://127.0.0.1:8000/v1",
            "http://169.254.169.254/latest",
            "http://[::1]:80/",
            "http://0x7f.1/",
            "http://localhost:11434",
            "http://a.localhost",
            "http://192.168.0.9",
            "http://10.0.0.7:22",
        ] {
            assert_eq!(reach(address), None, "{address}");
        }
    }
}
