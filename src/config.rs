//! What an operator can set: flags, variables, and the site's options in `Leptos.toml`.

mod otlp;
mod pictures;

use std::{
    borrow::Cow,
    io::ErrorKind,
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
};

use clap::builder::FalseyValueParser;
use leptos::config::{LeptosOptions, get_config_from_str};
pub use otlp::{Otlp, OtlpArgs, OtlpNames};
pub use pictures::{Images, ImagesService, ImagesStyle, KeptFiles};

/// The site's options as they were when this binary was built.
const SITE_OPTIONS: &str = include_str!("../Leptos.toml");
const SITE_OPTIONS_FILE: &str = "Leptos.toml";

/// How an address of Redis begins.
const REDIS_SCHEMES: [&str; 4] = ["redis://", "rediss://", "redis+unix://", "unix://"];

/// How the server is started.
#[derive(Clone, Debug, clap::Args)]
pub struct ServeArgs {
    /// The address to listen on [default: site-addr in Leptos.toml, 127.0.0.1:3000].
    #[arg(long, env = "GREENROOM_ADDR")]
    pub addr: Option<SocketAddr>,

    /// The folder that holds the database and everything else.
    #[arg(long, env = "GREENROOM_DATA", default_value = "./data")]
    pub data: PathBuf,

    /// Where the database is: postgres://… or sqlite:FILE [default: greenroom.db in the data folder].
    #[arg(long, env = "DATABASE_URL", hide_env_values = true)]
    pub database_url: Option<String>,

    /// Where Redis is, through which several servers on one PostgreSQL reach each other at once:
    /// redis://…, rediss://… or redis+unix:///path.
    #[arg(long, env = "REDIS_URL", hide_env_values = true)]
    pub redis_url: Option<String>,

    /// A further host name (with its port, if it has one) under which this server may be addressed.
    #[arg(long = "allow-host", env = "GREENROOM_ALLOW_HOST", value_delimiter = ',')]
    pub allow_hosts: Vec<String>,

    /// What the scripted demo model plays instead of its own answers: a JSON file.
    #[arg(long, env = "GREENROOM_DEMO_SCRIPT")]
    pub demo_script: Option<PathBuf>,

    /// How fast the scripted demo model speaks.
    #[arg(long, env = "GREENROOM_DEMO_PACE", value_enum, default_value = "natural")]
    pub demo_pace: DemoPace,

    /// What this process is called beside others on the same database [default: host and port].
    #[arg(long, env = "GREENROOM_NODE")]
    pub node: Option<String>,

    /// A service for embeddings, so that searching finds by meaning too: the base address of one that
    /// speaks as OpenAI does (https://…/v1), or Ollama's (http://127.0.0.1:11434).
    #[arg(long, env = "GREENROOM_EMBEDDINGS_URL")]
    pub embeddings_url: Option<String>,

    /// The model that makes the embeddings.
    #[arg(long, env = "GREENROOM_EMBEDDINGS_MODEL")]
    pub embeddings_model: Option<String>,

    /// Where the key of that service is: env:NAME or file:/path.
    #[arg(long, env = "GREENROOM_EMBEDDINGS_KEY", hide_env_values = true)]
    pub embeddings_key: Option<String>,

    /// A service that makes pictures: https://fal.run, or the base address of one that speaks as OpenAI's
    /// image API does (https://…/v1). Without it a demo draws something small.
    #[arg(long, env = "GREENROOM_IMAGES_URL")]
    pub images_url: Option<String>,

    /// How that service is asked [default: fal for fal.run, else openai].
    #[arg(long, env = "GREENROOM_IMAGES_STYLE", value_enum)]
    pub images_style: Option<ImagesStyle>,

    /// The model that makes the pictures [default for fal: fal-ai/flux/schnell].
    #[arg(long, env = "GREENROOM_IMAGES_MODEL")]
    pub images_model: Option<String>,

    /// Where the key of that service is: env:NAME or file:/path.
    #[arg(long, env = "GREENROOM_IMAGES_KEY", hide_env_values = true)]
    pub images_key: Option<String>,

    /// A further host (with its port, if it has one) that the service's pictures may be fetched from.
    #[arg(long = "images-host", env = "GREENROOM_IMAGES_HOST", value_delimiter = ',')]
    pub images_hosts: Vec<String>,

    /// Make no pictures.
    #[arg(long, env = "GREENROOM_NO_IMAGES", value_parser = FalseyValueParser::new())]
    pub no_images: bool,

    /// Where pictures are kept: s3://BUCKET or s3://BUCKET/PREFIX [default: pictures in the data folder].
    #[arg(long, env = "GREENROOM_FILES_URL")]
    pub files_url: Option<String>,

    /// The address of an S3-compatible service that is not Amazon's.
    #[arg(long, env = "GREENROOM_FILES_ENDPOINT")]
    pub files_endpoint: Option<String>,

    /// The region of the bucket.
    #[arg(long, env = "GREENROOM_FILES_REGION", default_value = "us-east-1")]
    pub files_region: String,

    /// Where the name of the key to the bucket is: env:NAME or file:/path.
    #[arg(
        long,
        env = "GREENROOM_FILES_KEY_ID",
        default_value = "env:AWS_ACCESS_KEY_ID",
        hide_env_values = true
    )]
    pub files_key_id: String,

    /// Where the key to the bucket is: env:NAME or file:/path.
    #[arg(
        long,
        env = "GREENROOM_FILES_SECRET",
        default_value = "env:AWS_SECRET_ACCESS_KEY",
        hide_env_values = true
    )]
    pub files_secret: String,

    /// Fetch nothing from the web: a ref's text is pasted or nothing.
    #[arg(long, env = "GREENROOM_NO_FETCH", value_parser = FalseyValueParser::new())]
    pub no_fetch: bool,

    /// A host (with its port, unless that is 80 or 443) that may be fetched from though it is not on the
    /// public internet.
    #[arg(long, env = "GREENROOM_FETCH_ALLOW", value_delimiter = ',')]
    pub fetch_allow: Vec<String>,

    /// How traces are sent.
    #[command(flatten)]
    pub otlp: OtlpArgs,
}

/// How fast the scripted demo model speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum DemoPace {
    /// As a model does.
    Natural,
    /// Without waiting, for tests.
    AtOnce,
}

/// What was meant by that.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where to listen: loopback.
    pub addr: SocketAddr,
    /// The database.
    pub database: Database,
    /// Where Redis is, when it is used.
    pub redis: Option<String>,
    /// Host names beside the loopback ones.
    pub allow_hosts: Vec<String>,
    /// Leptos's options for the site.
    pub site: LeptosOptions,
    /// What the scripted demo model plays.
    pub demo_script: Option<PathBuf>,
    /// How fast it speaks.
    pub demo_pace: DemoPace,
    /// What this process is called beside others on the same database.
    pub node: Option<String>,
    /// The service for embeddings, when there is one.
    pub embeddings: Option<Embeddings>,
    /// Who makes pictures.
    pub images: Images,
    /// Where pictures are kept.
    pub files: KeptFiles,
    /// The hosts that may be fetched from wherever they are; `None` when nothing is fetched.
    pub fetch: Option<Vec<String>>,
    /// Who receives traces, beside the database.
    pub otlp: Option<Otlp>,
}

/// A service for embeddings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Embeddings {
    /// Its base address.
    pub url: String,
    /// The model.
    pub model: String,
    /// Where its key is; nothing when it needs none.
    pub key_ref: String,
}

/// Which database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Database {
    /// A file.
    Sqlite(PathBuf),
    /// A server, with its address.
    Postgres(String),
}

/// Why the configuration makes no sense.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// Anybody on the network could use it.
    #[error(
        "{0} can be reached from other machines, and there are no accounts yet. \
         Listen on loopback (--addr 127.0.0.1:3000), and use an SSH tunnel to reach it from elsewhere."
    )]
    Exposed(IpAddr),
    /// The database's address is of no known kind.
    #[error("DATABASE_URL must begin with postgres:// or sqlite:, and this begins with “{0}”.")]
    UnknownDatabase(String),
    /// The address of Redis is of no known kind.
    #[error(
        "REDIS_URL must begin with redis://, rediss:// or redis+unix://, and this begins with “{0}”."
    )]
    UnknownRedis(String),
    /// The service for embeddings cannot be asked.
    #[error("{0}")]
    Embeddings(&'static str),
    /// The image service cannot be asked.
    #[error("{0}")]
    Images(&'static str),
    /// The pictures cannot be kept there.
    #[error("{0}")]
    Files(&'static str),
    /// Traces cannot be sent there.
    #[error("{0}")]
    Otlp(&'static str),
    /// `Leptos.toml` cannot be read.
    #[error("{SITE_OPTIONS_FILE} cannot be read: {0}")]
    SiteOptions(String),
}

impl ServeArgs {
    /// Reads the site's options and checks the rest.
    pub fn resolve(self) -> Result<Config, ConfigError> {
        let mut site = site_options(Path::new(SITE_OPTIONS_FILE))?;
        let addr = self.addr.unwrap_or(site.site_addr);
        if !addr.ip().is_loopback() {
            return Err(ConfigError::Exposed(addr.ip()));
        }
        site.site_addr = addr;
        let database = match self.database_url.as_deref() {
            None | Some("") => Database::Sqlite(self.data.join("greenroom.db")),
            Some(url) if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
                Database::Postgres(url.to_owned())
            }
            Some(url) => match url.strip_prefix("sqlite:") {
                Some(file) => Database::Sqlite(file.trim_start_matches("//").into()),
                None => return Err(ConfigError::UnknownDatabase(scheme(url))),
            },
        };
        let redis = self.redis_url.filter(|url| !url.is_empty());
        if let Some(url) = &redis
            && !REDIS_SCHEMES.iter().any(|known| url.starts_with(known))
        {
            return Err(ConfigError::UnknownRedis(scheme(url)));
        }
        let embeddings = embeddings(
            self.embeddings_url.unwrap_or_default(),
            self.embeddings_model.unwrap_or_default(),
            self.embeddings_key.unwrap_or_default(),
        )?;
        let files = pictures::kept_files(
            self.files_url.unwrap_or_default(),
            self.data.join("pictures"),
            self.files_endpoint.unwrap_or_default(),
            self.files_region,
            [self.files_key_id, self.files_secret],
        )?;
        let images = match (self.no_images, self.images_url.unwrap_or_default()) {
            (true, _) => Images::Off,
            (false, url) if url.trim().is_empty() => Images::Demo,
            (false, url) => Images::Service(pictures::service(
                url.trim().to_owned(),
                self.images_style,
                self.images_model.unwrap_or_default(),
                self.images_key.unwrap_or_default(),
                self.images_hosts,
            )?),
        };
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let otlp = otlp::otlp(self.otlp, is_set)?;
        Ok(Config {
            addr,
            database,
            redis,
            allow_hosts: self.allow_hosts,
            site,
            demo_script: self.demo_script,
            demo_pace: self.demo_pace,
            node: self.node,
            embeddings,
            images,
            files,
            fetch: (!self.no_fetch).then_some(self.fetch_allow),
            otlp,
        })
    }
}

/// What stands before the colon of an address is no secret; the rest may be.
fn scheme(url: &str) -> String {
    let (scheme, _) = url.split_once(':').unwrap_or_default();
    scheme.chars().take(20).collect()
}

/// The service for embeddings, when an address for it is set.
fn embeddings(
    url: String,
    model: String,
    key_ref: String,
) -> Result<Option<Embeddings>, ConfigError> {
    if url.trim().is_empty() {
        return Ok(None);
    }
    let refuse = |rule| Err(ConfigError::Embeddings(rule));
    if !url.starts_with("http://") && !url.starts_with("https://") {
        return refuse("GREENROOM_EMBEDDINGS_URL must begin with http:// or https://.");
    }
    if model.trim().is_empty() {
        return refuse("GREENROOM_EMBEDDINGS_URL needs GREENROOM_EMBEDDINGS_MODEL.");
    }
    if !key_ref.is_empty() && !refers(&key_ref) {
        return refuse(
            "GREENROOM_EMBEDDINGS_KEY says where the key is, as env:NAME or file:/path, and is not \
             the key.",
        );
    }
    Ok(Some(Embeddings { url, model, key_ref }))
}

/// Whether a text says where a key is.
fn refers(key_ref: &str) -> bool {
    key_ref.starts_with("env:") || key_ref.starts_with("file:/")
}

/// The options in the file, or those built in when there is none; `LEPTOS_*` variables override both.
pub fn site_options(file: &Path) -> Result<LeptosOptions, ConfigError> {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => Cow::Owned(text),
        Err(error) if error.kind() == ErrorKind::NotFound => Cow::Borrowed(SITE_OPTIONS),
        Err(error) => return Err(ConfigError::SiteOptions(error.to_string())),
    };
    get_config_from_str(&text).map_err(|error| ConfigError::SiteOptions(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn args(addr: Option<&str>, database_url: Option<&str>) -> ServeArgs {
        ServeArgs {
            addr: addr.map(|addr| addr.parse().unwrap()),
            data: "d".into(),
            database_url: database_url.map(Into::into),
            redis_url: None,
            allow_hosts: Vec::new(),
            demo_script: None,
            demo_pace: DemoPace::Natural,
            node: None,
            embeddings_url: None,
            embeddings_model: None,
            embeddings_key: None,
            images_url: None,
            images_style: None,
            images_model: None,
            images_key: None,
            images_hosts: Vec::new(),
            no_images: false,
            files_url: None,
            files_endpoint: None,
            files_region: "us-east-1".into(),
            files_key_id: "env:AWS_ACCESS_KEY_ID".into(),
            files_secret: "env:AWS_SECRET_ACCESS_KEY".into(),
            no_fetch: false,
            fetch_allow: Vec::new(),
            otlp: OtlpArgs::default(),
        }
    }

    #[test]
    fn an_address_that_others_can_reach_is_refused_with_advice() {
        let error = args(Some("0.0.0.0:3000"), None).resolve().unwrap_err();

        assert!(error.to_string().contains("--addr 127.0.0.1:3000"), "{error}");
    }

    #[test]
    fn the_database_is_a_file_in_the_data_folder_unless_said_otherwise() {
        let database = |url| args(None, url).resolve().map(|config| config.database);

        assert_eq!(database(None).unwrap(), Database::Sqlite("d/greenroom.db".into()));
        assert_eq!(database(Some("sqlite://x.db")).unwrap(), Database::Sqlite("x.db".into()));
        assert_eq!(
            database(Some("postgres://h/d")).unwrap(),
            Database::Postgres("postgres://h/d".into())
        );
        let error = database(Some("mysql://user:secret@h/d")).unwrap_err().to_string();
        assert!(error.contains("mysql") && !error.contains("secret"), "{error}");
    }

    #[test]
    fn redis_is_used_when_its_address_is_set_and_its_password_is_not_shown() {
        let redis = |url: &str| {
            let mut args = args(None, None);
            args.redis_url = Some(url.into());
            args.resolve().map(|config| config.redis)
        };

        assert_eq!(redis("").unwrap(), None);
        for good in ["redis://h", "rediss://u:p@h:1/2", "redis+unix:///run/redis.sock"] {
            assert_eq!(redis(good).unwrap().as_deref(), Some(good));
        }
        for bad in ["http://u:secret@h", "secret"] {
            let told = redis(bad).unwrap_err().to_string();
            assert!(told.contains("redis://") && !told.contains("secret"), "{told}");
        }
    }

    #[test]
    fn a_service_for_embeddings_has_a_model_and_a_reference_to_its_key() {
        let with = |url: &str, model: &str, key: &str| {
            let mut args = args(None, None);
            args.embeddings_url = Some(url.into());
            args.embeddings_model = Some(model.into());
            args.embeddings_key = Some(key.into());
            args.resolve().map(|config| config.embeddings)
        };

        assert_eq!(with("", "", "").unwrap(), None);
        let set = with("http://127.0.0.1:11434", "nomic", "env:KEY").unwrap().unwrap();
        assert_eq!(set.key_ref, "env:KEY");
        for (url, model, key) in
            [("ftp://x", "m", ""), ("http://x", "", ""), ("http://x", "m", "sk-secret")]
        {
            let told = with(url, model, key).unwrap_err().to_string();
            assert!(!told.contains("secret"), "{told}");
        }
    }

    #[test]
    fn the_sites_options_come_from_the_file_and_from_the_binary_without_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("Leptos.toml");

        assert_eq!(&*site_options(&file).unwrap().site_pkg_dir, "pkg");
        let other = SITE_OPTIONS.replace("site-pkg-dir = \"pkg\"", "site-pkg-dir = \"assets\"");
        std::fs::write(&file, other).unwrap();
        assert_eq!(&*site_options(&file).unwrap().site_pkg_dir, "assets");
        std::fs::write(&file, "nothing").unwrap();
        assert!(site_options(&file).is_err());
    }
}
