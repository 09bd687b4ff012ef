//! Who may come in: what an operator says of it, and what of that makes sense.

use std::{net::SocketAddr, path::PathBuf};

use super::{ConfigError, path_or_none};
use crate::domain::internet::Network;

/// How people come in, as it is typed.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct AccessArgs {
    /// How people come in [default: accounts once one was made with `greenroom user add`, and wherever other
    /// machines reach the address under --public-host; else local].
    #[arg(long, env = "GREENROOM_AUTH", value_enum)]
    pub auth: Option<Auth>,

    /// The host name under which others reach this server, through a proxy that encrypts. Begins with
    /// http:// where nothing encrypts because the network is trusted.
    #[arg(long = "public-host", env = "GREENROOM_PUBLIC_HOST", value_delimiter = ',')]
    pub public_hosts: Vec<String>,

    /// The address of a proxy whose word is taken for where requests come from, or its network (10.0.0.0/8).
    #[arg(long = "trusted-proxy", env = "GREENROOM_TRUSTED_PROXY", value_delimiter = ',')]
    pub trusted_proxies: Vec<String>,

    /// The header in which that proxy names who asks, for --auth proxy.
    #[arg(long, env = "GREENROOM_PROXY_USER_HEADER")]
    pub proxy_user_header: Option<String>,

    /// A file with the password of the account “owner”, which is made or changed to have it.
    #[arg(long, env = "GREENROOM_OWNER_PASSWORD_FILE", value_parser = path_or_none())]
    pub owner_password_file: Option<PathBuf>,

    /// How many connections are held at once; further ones wait [default: 4096].
    #[arg(long, env = "GREENROOM_MAX_CONNECTIONS")]
    pub max_connections: Option<usize>,
}

/// How people come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Auth {
    /// Whoever started the server, from the same machine, without an account.
    Local,
    /// The same, by a link that is printed at the start: where the system does not tell whose a connection is.
    Link,
    /// With a name and a password.
    Accounts,
    /// As a trusted proxy says.
    Proxy,
}

/// What was meant by that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessConfig {
    /// How people come in; nothing when that depends on whether there are accounts.
    pub auth: Option<Auth>,
    /// The host names under which others reach this server.
    pub hosts: Vec<String>,
    /// Whether they are reached encrypted.
    pub encrypted: bool,
    /// The proxies whose word is taken.
    pub trusted: Vec<Network>,
    /// The header in which they name who asks, in small letters; empty without one.
    pub user_header: String,
    /// Where the password of the account “owner” is.
    pub owner_password_file: Option<PathBuf>,
    /// How many connections are held at once.
    pub max_connections: usize,
}

const MAX_CONNECTIONS: usize = 4096;

/// What was meant. Nobody may be able to come in by mistake.
pub fn access(mut args: AccessArgs, addr: SocketAddr) -> Result<AccessConfig, ConfigError> {
    let refuse = |rule| Err(ConfigError::Access(rule));
    let is_local = addr.ip().is_loopback();
    // A variable that is set to nothing is not set.
    args.public_hosts.retain(|host| !host.is_empty());
    args.trusted_proxies.retain(|proxy| !proxy.is_empty());
    let trusted = args.trusted_proxies.iter().map(|proxy| proxy.trim().parse());
    let trusted: Vec<Network> = trusted.collect::<Result<_, _>>().map_err(ConfigError::Proxy)?;
    // Whoever says under which name others reach it means that they sign in.
    if !is_local && args.auth.is_none() && !args.public_hosts.is_empty() {
        args.auth = Some(Auth::Accounts);
    }
    let guarded = matches!(args.auth, Some(Auth::Accounts | Auth::Proxy));
    if !is_local && !guarded {
        return Err(ConfigError::Exposed(addr));
    }
    if !is_local && args.public_hosts.is_empty() {
        return Err(ConfigError::Unnamed(addr));
    }
    let user_header = args.proxy_user_header.unwrap_or_default().trim().to_ascii_lowercase();
    if args.auth == Some(Auth::Proxy) && (user_header.is_empty() || trusted.is_empty()) {
        return refuse("--auth proxy needs --trusted-proxy IP and --proxy-user-header NAME.");
    }
    if args.auth != Some(Auth::Proxy) && !user_header.is_empty() {
        return refuse("--proxy-user-header is used with --auth proxy only.");
    }
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if !user_header.bytes().all(letter) {
        return refuse("--proxy-user-header has letters, digits and dashes only.");
    }
    let mut hosts = Vec::new();
    let mut encrypted = !args.public_hosts.is_empty();
    for host in args.public_hosts {
        let host = host.trim();
        encrypted &= !host.starts_with("http://");
        let name = host.trim_start_matches("https://").trim_start_matches("http://");
        let name = name.trim_end_matches('/');
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
        if name.is_empty() || !name.bytes().all(fits) {
            return refuse("--public-host is a host name, with its port if it has one.");
        }
        hosts.push(name.to_ascii_lowercase());
    }
    let max_connections = args.max_connections.unwrap_or(MAX_CONNECTIONS);
    if max_connections == 0 {
        return refuse("--max-connections must be at least 1.");
    }
    Ok(AccessConfig {
        auth: args.auth,
        hosts,
        encrypted,
        trusted,
        user_header,
        owner_password_file: args.owner_password_file.filter(|file| !file.as_os_str().is_empty()),
        max_connections,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant(addr: &str, args: AccessArgs) -> Result<AccessConfig, String> {
        access(args, addr.parse().unwrap()).map_err(|error| error.to_string())
    }

    fn accounts(hosts: &[&str]) -> AccessArgs {
        let public_hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
        AccessArgs { auth: Some(Auth::Accounts), public_hosts, ..AccessArgs::default() }
    }

    #[test]
    fn a_server_that_others_reach_has_accounts_and_a_name() {
        for auth in [None, Some(Auth::Local), Some(Auth::Link)] {
            let args = AccessArgs { auth, ..AccessArgs::default() };
            let told = meant("0.0.0.0:3000", args).unwrap_err();
            assert!(
                told.contains("greenroom user add") && told.contains("--auth accounts"),
                "{told}"
            );
        }
        let told = meant("[::]:3000", accounts(&[])).unwrap_err();
        assert!(told.contains("--public-host"), "{told}");

        let meant = meant("0.0.0.0:3000", accounts(&["https://Green.example.org/"])).unwrap();
        assert_eq!((meant.hosts, meant.encrypted), (vec!["green.example.org".into()], true));
        let unsaid = AccessArgs { auth: None, ..accounts(&["green.example.org"]) };
        let auth = access(unsaid, "0.0.0.0:3000".parse().unwrap()).unwrap().auth;
        assert_eq!(auth, Some(Auth::Accounts));
        let local = AccessArgs { auth: Some(Auth::Local), ..accounts(&["green.example.org"]) };
        assert!(access(local, "0.0.0.0:3000".parse().unwrap()).is_err());
    }

    #[test]
    fn on_this_machine_nothing_need_be_said() {
        let known = meant("127.0.0.1:3000", AccessArgs::default()).unwrap();

        assert_eq!((known.auth, known.encrypted), (None, false));
        let plain = meant("192.168.0.2:80", accounts(&["http://nas.local"])).unwrap();
        assert_eq!((plain.hosts, plain.encrypted), (vec!["nas.local".into()], false));
        for odd in ["a/b", "a b", "https://"] {
            assert!(meant("127.0.0.1:1", accounts(&[odd])).is_err(), "{odd}");
        }
    }

    #[test]
    fn a_proxy_is_named_with_its_address_and_its_header() {
        let proxy = |trusted: &[&str], header: Option<&str>| {
            let args = AccessArgs {
                auth: Some(Auth::Proxy),
                trusted_proxies: trusted.iter().map(|ip| ip.parse().unwrap()).collect(),
                proxy_user_header: header.map(Into::into),
                ..AccessArgs::default()
            };
            meant("127.0.0.1:3000", args)
        };

        assert!(proxy(&[], Some("Remote-User")).is_err());
        assert!(proxy(&["10.0.0.1"], None).is_err());
        assert!(proxy(&["10.0.0.1"], Some("Remote User")).is_err());
        let meant = proxy(&["::ffff:10.0.0.1"], Some("Remote-User")).unwrap();
        assert_eq!(meant.user_header, "remote-user");
        assert_eq!(meant.trusted, ["10.0.0.1".parse::<Network>().unwrap()]);
        for odd in ["proxy", "10.0.0.0/33", "0.0.0.0/0", "10.0.0.0/", "10.0.0.0/8/8"] {
            let told = proxy(&[odd], Some("Remote-User")).unwrap_err();
            assert!(told.contains("--trusted-proxy") && told.contains(odd), "{told}");
        }
    }

    #[test]
    fn what_is_set_to_nothing_is_not_set() {
        let nothing = AccessArgs {
            public_hosts: vec![String::new()],
            trusted_proxies: vec![String::new()],
            owner_password_file: Some(PathBuf::new()),
            ..AccessArgs::default()
        };

        let unset = meant("127.0.0.1:3000", AccessArgs::default()).unwrap();
        assert_eq!(meant("127.0.0.1:3000", nothing.clone()).unwrap(), unset);
        // Nor is it a name under which others reach it.
        assert!(meant("0.0.0.0:3000", nothing).is_err());
    }
}
