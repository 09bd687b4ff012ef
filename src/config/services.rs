//! What owners of Spaces may set about services where people have accounts.

use super::{ConfigError, refers};

/// It as it is typed.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ServiceArgs {
    /// A key of this server that owners of Spaces may give a service where people have accounts, with the origin
    /// it may be sent to: env:NAME=https://host or file:/path=https://host.
    #[arg(long = "service-key", env = "GREENROOM_SERVICE_KEY", value_delimiter = ',')]
    pub keys: Vec<String>,

    /// A host (with its port, unless that is its scheme's own) that owners of Spaces may point a service at where
    /// people have accounts, though it is not on the public internet.
    #[arg(long = "service-allow", env = "GREENROOM_SERVICE_ALLOW", value_delimiter = ',')]
    pub hosts: Vec<String>,
}

/// What was meant by that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedServices {
    /// Where keys are, each with the origin that it may be sent to.
    pub keys: Vec<(String, String)>,
    /// Hosts that may be anywhere.
    pub hosts: Vec<String>,
}

/// What was meant.
pub fn allowed(args: ServiceArgs) -> Result<AllowedServices, ConfigError> {
    let given = |text: &String| !text.trim().is_empty();
    let key = |text: String| {
        let (key, origin) = text.trim().rsplit_once('=')?;
        let host =
            origin.split_once("://").filter(|(scheme, _)| ["http", "https"].contains(scheme));
        let is_origin =
            host.is_some_and(|(_, host)| !host.is_empty() && !host.contains(['/', '@']));
        (refers(key) && is_origin).then(|| (key.to_owned(), origin.to_ascii_lowercase()))
    };
    let keys: Option<Vec<_>> = args.keys.into_iter().filter(given).map(key).collect();
    let rule = "GREENROOM_SERVICE_KEY says where a key is and to which origin it may be sent, as \
                env:NAME=https://host or file:/path=https://host, and is not the key.";
    let keys = keys.ok_or(ConfigError::Services(rule))?;
    let hosts = args.hosts.iter().filter(|text| given(text));
    let hosts = hosts.map(|host| host.trim().to_ascii_lowercase()).collect();
    Ok(AllowedServices { keys, hosts })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_named_with_where_it_may_go() {
        let keys = |keys: &[&str]| {
            let keys = keys.iter().map(|key| (*key).to_owned()).collect();
            allowed(ServiceArgs { keys, hosts: vec!["Box:8000".into(), String::new()] })
        };

        assert_eq!(
            keys(&["env:A=https://Ours.test", "file:/run/a=b=http://h:1"]).unwrap(),
            AllowedServices {
                keys: vec![
                    ("env:A".into(), "https://ours.test".into()),
                    ("file:/run/a=b".into(), "http://h:1".into()),
                ],
                hosts: vec!["box:8000".into()],
            }
        );
        for bad in ["env:A", "sk-secret=https://ours.test", "env:A=ours.test", "env:A=https://a/b"]
        {
            let told = keys(&[bad]).unwrap_err().to_string();
            assert!(!told.contains("secret"), "{told}");
        }
    }
}
