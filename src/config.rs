//! What an operator can set: flags, variables, and the site's options in `Leptos.toml`.

mod access;
mod otlp;
mod pictures;
mod place;
mod services;

use std::{
    borrow::Cow,
    io::ErrorKind,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

pub use access::{AccessArgs, AccessConfig, Auth};
use clap::builder::{FalseyValueParser, OsStringValueParser, TypedValueParser};
use leptos::config::{LeptosOptions, get_config_from_str};
pub use otlp::{Otlp, OtlpArgs, OtlpNames};
pub use pictures::{Images, ImagesService, ImagesStyle, KeptFiles};
pub use place::PlaceArgs;
pub use services::{AllowedServices, ServiceArgs};

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
    #[arg(long, env = "GREENROOM_DEMO_SCRIPT", value_parser = path_or_none())]
    pub demo_script: Option<PathBuf>,

    /// How fast the scripted demo model speaks.
    #[arg(long, env = "GREENROOM_DEMO_PACE", value_enum, default_value = "natural")]
    pub demo_pace: DemoPace,

    /// What this process is called beside others on the same database [default: host and port].
    #[arg(long, env = "GREENROOM_NODE")]
    pub node: Option<String>,

    /// After how many seconds of silence of this process others on the same PostgreSQL end its runs; the same
    /// for all of them.
    #[arg(long, env = "GREENROOM_SILENCE", default_value_t = 30,
        value_parser = clap::value_parser!(u64).range(2..=600))]
    pub silence: u64,

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

    /// The file with what seals keys that are pasted into the settings [default: seal.key in the data
    /// folder]. Several servers on one database need the same.
    #[arg(long, env = "GREENROOM_SEAL_KEY_FILE", value_parser = path_or_none())]
    pub seal_key_file: Option<PathBuf>,

    /// What owners of Spaces may set about services.
    #[command(flatten)]
    pub services: ServiceArgs,

    /// How traces are sent.
    #[command(flatten)]
    pub otlp: OtlpArgs,

    /// Who may come in.
    #[command(flatten)]
    pub access: AccessArgs,
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
    /// Where to listen.
    pub addr: SocketAddr,
    /// The database.
    pub database: Database,
    /// The folder with what terminals are set up by, and with the operator's own tools.
    pub chat: PathBuf,
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
    /// After how much silence of a process its runs are taken to be left.
    pub silence: Duration,
    /// The service for embeddings, when there is one.
    pub embeddings: Option<Embeddings>,
    /// Who makes pictures.
    pub images: Images,
    /// Where pictures are kept.
    pub files: KeptFiles,
    /// The hosts that may be fetched from wherever they are; `None` when nothing is fetched.
    pub fetch: Option<Vec<String>>,
    /// The file with what seals keys that are pasted.
    pub seal_key_file: PathBuf,
    /// What owners of Spaces may set about services where people have accounts.
    pub services: AllowedServices,
    /// Who receives traces, beside the database.
    pub otlp: Option<Otlp>,
    /// Who may come in.
    pub access: AccessConfig,
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
        "{0} can be reached from other machines, and nobody would have to sign in. Make an account and \
         say so:\n  greenroom user add NAME\n  greenroom --addr {0} --auth accounts --public-host HOST \
         --trusted-proxy IP\nwith the address of the proxy that encrypts, if there is one. Or listen on loopback (--addr 127.0.0.1:3000), and use an SSH tunnel to reach it from elsewhere."
    )]
    Exposed(SocketAddr),
    /// Nobody could say which host names are ours.
    #[error(
        "{0} can be reached from other machines. Say under which host name:\n  \
         greenroom --addr {0} --auth accounts --public-host HOST --trusted-proxy IP\n\
         with the address of the proxy that encrypts, if there is one."
    )]
    Unnamed(SocketAddr),
    /// What is said of who may come in makes no sense.
    #[error("{0}")]
    Access(&'static str),
    /// A proxy is named by what is no address.
    #[error("--trusted-proxy: {0}.")]
    Proxy(String),
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
    /// What is said of services makes no sense.
    #[error("{0}")]
    Services(&'static str),
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
        let access = access::access(self.access, addr)?;
        site.site_addr = addr;
        let database = database(self.database_url.as_deref(), &self.data)?;
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
        let seal_key_file = self.seal_key_file.filter(|file| !file.as_os_str().is_empty());
        let seal_key_file = seal_key_file.unwrap_or_else(|| self.data.join("seal.key"));
        Ok(Config {
            addr,
            database,
            chat: self.data.join("chat"),
            redis,
            allow_hosts: self.allow_hosts,
            site,
            demo_script: self.demo_script,
            demo_pace: self.demo_pace,
            node: self.node,
            silence: Duration::from_secs(self.silence),
            embeddings,
            images,
            files,
            fetch: (!self.no_fetch).then_some(self.fetch_allow),
            seal_key_file,
            services: services::allowed(self.services)?,
            otlp,
            access,
        })
    }
}

/// Reads a path that may be empty: a variable that is set to nothing is no mistake.
pub fn path_or_none() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}

/// The database that an address names, or the file in the data folder.
pub fn database(url: Option<&str>, data: &Path) -> Result<Database, ConfigError> {
    match url {
        None | Some("") => Ok(Database::Sqlite(data.join("greenroom.db"))),
        Some(url) if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
            Ok(Database::Postgres(url.to_owned()))
        }
        Some(url) => match url.strip_prefix("sqlite:") {
            Some(file) => Ok(Database::Sqlite(file.trim_start_matches("//").into())),
            None => Err(ConfigError::UnknownDatabase(scheme(url))),
        },
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
mod tests;
