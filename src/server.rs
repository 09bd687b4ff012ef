//! The HTTP server: pages, API and files behind the same guards.

mod access;
mod arriving;
mod assets;
mod counts;
mod framing;
mod guard;
mod listen;
mod modes;
mod pace;
mod peer;
mod rules;

use std::{future::pending, net::SocketAddr, path::Path, sync::Arc, time::Duration};

pub use assets::names as site_files;
use axum::{Router, middleware};
use futures_util::future::OptionFuture;
pub use guard::Hosts;
use leptos_axum::{LeptosRoutes, generate_route_list};
use listen::{Patience, Room};
pub use peer::Peer;
pub use rules::{class_of, named as named_addresses};
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;
use tower_http::{
    catch_panic::CatchPanicLayer, csrf::CsrfLayer, limit::RequestBodyLimitLayer, trace::TraceLayer,
};

use crate::{
    accounts::Accounts,
    agent::{Agent, Limits, Node, Relay, RelayError, TOOLS_FILE, Toolbox},
    api,
    app::{App, shell},
    archive::private_folder,
    changes::Gate,
    config::{
        AccessConfig, AllowedServices, Auth, Config, Database, DemoPace, Embeddings, Images,
        ImagesStyle, KeptFiles, Otlp, OtlpNames,
    },
    domain::error::ApiError,
    fetch::Fetcher,
    jobs::{Allowed, Bucket, Files, FilesError, Jobs},
    providers::{
        Allowance, Artist, Demo, EmbeddingSettings, ImageSettings, ImageStyle, Pace, ProviderError,
        Providers, Script, Seal, TimeLimits,
    },
    sandbox::Sandbox,
    search::Search,
    state::AppState,
    store::{Store, StoreError, now},
    traces::{self, Content, Exporter, ExporterError, Names, OtlpSettings},
};

/// How long requests in progress may take once the server was told to stop.
const SHUTDOWN_TIME: Duration = Duration::from_secs(2);
/// How long runs may take to come to their end before that.
const DRAIN_TIME: Duration = Duration::from_secs(5);
/// How long the last traces may take, while programs of tools end. All of it together is less than ten seconds.
const LAST_TRACES_TIME: Duration = Duration::from_secs(1);
/// How often drafts that are too old are looked for.
const EXPIRY_ROUND: Duration = Duration::from_secs(60 * 60);
/// How long one picture may take.
const PICTURE_TIME: Duration = Duration::from_secs(120);
/// How many runs wait to be sent as traces before further ones are not sent.
const TRACES_WAITING: usize = 4096;
/// How long one attempt to send traces may take.
const TRACES_TIME: Duration = Duration::from_secs(10);
/// The wait before sending them for the second time.
const TRACES_RETRY: Duration = Duration::from_secs(1);
/// How long the database is waited for before anything is served.
const DATABASE_FIRST: Duration = Duration::from_secs(5);
/// How long to wait before asking an absent database again.
const DATABASE_RETRY: Duration = Duration::from_secs(1);

/// Why the server could not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The folder for the data cannot be made.
    #[error("The folder {0} cannot be made: {1}")]
    Folder(std::path::PathBuf, #[source] std::io::Error),
    /// The database cannot be opened.
    #[error("The database cannot be opened: {0}")]
    Database(#[from] StoreError),
    /// Redis cannot be used.
    #[error("{0}")]
    Redis(#[from] RelayError),
    /// The first Space cannot be made.
    #[error("{0}")]
    Space(#[from] ApiError),
    /// The script of the demo model cannot be played.
    #[error("The demo script cannot be played: {0}")]
    Script(String),
    /// No connection to any service could be prepared.
    #[error("Connections cannot be prepared: {0}")]
    Client(String),
    /// The image service cannot be asked.
    #[error("The image service cannot be asked: {0}")]
    Images(ProviderError),
    /// Traces cannot be sent.
    #[error("Traces cannot be sent: {0}")]
    Traces(#[from] ExporterError),
    /// Pictures cannot be kept.
    #[error("Pictures cannot be kept: {0}")]
    Files(String),
    /// Another server uses the same file.
    #[error("A server uses this database already: it is at {0}.")]
    Running(String),
    /// Others cannot be told that this process is there.
    #[error("The folder of the database cannot be written to: {0}")]
    Company(#[source] std::io::Error),
    /// The address cannot be had.
    #[error("Cannot listen on {0}: {1}. Choose another address with --addr 127.0.0.1:PORT.")]
    Address(SocketAddr, #[source] std::io::Error),
    /// Who may come in cannot be settled.
    #[error("{0}")]
    Access(String),
}

impl ServeError {
    /// Whether it is what the operator said that makes no sense.
    pub fn is_configuration(&self) -> bool {
        matches!(self, Self::Access(_))
    }
}

/// Everything that is served, behind its guards. The outermost guard is the last one named.
pub fn router(state: AppState, hosts: Hosts) -> Router {
    let page_shell = {
        let (files, looker) = (state.files.clone(), state.clone());
        move || shell::shell(files.clone(), access::role_shown(&looker))
    };
    let routes = generate_route_list(App);
    let (api, files) = api::routers();
    let access = (state.clone(), pace::Pace::default());
    let (transport, body_time) = (state.access.transport, state.access.body_time);
    Router::new()
        .merge(api)
        .leptos_routes(&state, routes, page_shell)
        .fallback(assets::serve_or_not_found)
        .layer(middleware::from_fn(api::read_of_function))
        .layer(RequestBodyLimitLayer::new(api::MAX_FILE_FORM_BYTES))
        .layer(middleware::from_fn(api::limit_body))
        .merge(files)
        .with_state(state)
        .layer(middleware::from_fn_with_state(body_time, arriving::pace))
        .layer(middleware::from_fn_with_state(access, access::admit))
        .layer(CsrfLayer::new())
        .layer(middleware::from_fn(api::put_into_words))
        .layer(middleware::from_fn(guard::refuse_foreign_readers))
        .layer(middleware::from_fn_with_state(transport, guard::add_headers))
        .layer(middleware::from_fn_with_state(hosts, guard::check_host))
        .layer(CatchPanicLayer::custom(guard::tell_panic))
        .layer(TraceLayer::new_for_http().make_span_with(guard::span))
}

/// The addresses of all pages of the app, named as the router does.
pub fn pages() -> Vec<String> {
    generate_route_list(App).iter().map(|page| page.path().to_owned()).collect()
}

/// Opens the store that the configuration names.
pub async fn open_store(database: &Database) -> Result<Store, ServeError> {
    match database {
        Database::Sqlite(file) => {
            let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
            if let Some(folder) = folder {
                private_folder(folder).map_err(|error| ServeError::Folder(folder.into(), error))?;
            }
            Ok(Store::open_sqlite(file).await?)
        }
        Database::Postgres(url) => Ok(Store::open_postgres(url)?),
    }
}

/// Serves until told to stop.
pub async fn serve(config: Config) -> Result<(), ServeError> {
    let store = open_store(&config.database).await?;
    let listener = TcpListener::bind(config.addr)
        .await
        .map_err(|error| ServeError::Address(config.addr, error))?;
    let addr = listener.local_addr().map_err(|error| ServeError::Address(config.addr, error))?;
    let seal = &config.seal_key_file;
    let AllowedServices { keys, hosts } = config.services.clone();
    let providers = providers(config.demo_pace, config.demo_script.as_deref(), seal)?
        .allowing(Allowance { keys, hosts })
        .map_err(|error| ServeError::Client(error.to_string()))?;
    let embedder = config.embeddings.clone().map(|Embeddings { url, model, key_ref }| {
        providers.embedder(EmbeddingSettings { url, model, key_ref })
    });
    let name = config.node.clone().unwrap_or_else(|| node_name(addr));
    enter(&store, &name, addr)?;
    let node = Node { name, relay: relay(&config)? };
    let files = site_files(&config.site);
    let search = Search::new(store.clone());
    let search = match embedder {
        Some(embedder) => search.with_embedder(embedder),
        None => search,
    };
    let (artist, allowed) = artist(&config.images, &providers)?;
    let kept = kept_files(&config.files, &providers)?;
    let jobs = Jobs::new(store.clone(), artist, kept, &node.name).allowing(allowed);
    let (pictures, silence) = (allowed == Allowed::Yes, config.silence);
    let limits = Limits { pictures, silence, ..Limits::default() };
    let name = node.name.clone();
    let agent = Agent::new(store.clone(), providers.clone(), search, limits, node);
    // Without a program of our own to start, tools say that there is no Python.
    let sandbox = std::env::current_exe().ok().map(|binary| Sandbox::new(&binary));
    if let Some(sandbox) = &sandbox {
        agent.use_sandbox(sandbox.clone());
    }
    let toolbox = Toolbox::new(config.chat.join(TOOLS_FILE), sandbox, providers);
    agent.use_toolbox(toolbox.clone());
    // What is wrong with the file is in the log before somebody wants a tool.
    tokio::spawn({
        let toolbox = toolbox.clone();
        async move { drop(toolbox.tools().await) }
    });
    let mut state = AppState::new(store, config.site, files, agent);
    state.access = Arc::new(modes::access(&config.access));
    modes::fence(&state);
    state.jobs = jobs;
    state.fetcher = config.fetch.map_or_else(Fetcher::off, Fetcher::new);
    let (agent, closing) = (state.agent.clone(), state.closing.clone());
    let sending = match config.otlp {
        Some(otlp) => Some(send_traces(&state.agent, otlp, name, closing.clone())?),
        None => None,
    };
    let mut founding = None;
    match config.database {
        Database::Sqlite(_) => found_home(&state, &config.access, addr).await?,
        // A database server may come up after us: until then every page says so. Where accounts are wanted and
        // it is there, it is known at once that there are none.
        Database::Postgres(_) => {
            let access = config.access.clone();
            let migrated = async {
                access.auth == Some(Auth::Accounts)
                    && tokio::time::timeout(DATABASE_FIRST, state.store.migrate())
                        .await
                        .is_ok_and(|done| done.is_ok())
            };
            if migrated.await {
                found_home(&state, &access, addr).await?;
            } else {
                founding = Some(tokio::spawn(await_database(state.clone(), access, addr)));
            }
        }
    }
    let names = [&config.allow_hosts[..], &config.access.hosts[..]].concat();
    let router = router(state, Hosts::new(addr, &names));
    let stopping = shutdown_signal();
    announce(addr);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let (most, trusted) = (config.access.max_connections, config.access.trusted);
    let room = Room { most, trusted, patience: Patience::default() };
    let server = listen::serve(listener, router, room, async move {
        stopping.await;
        tracing::info!("stopping");
        // Whoever watches a run hears its end before the stream closes.
        agent.drain(DRAIN_TIME).await;
        closing.cancel();
        drop(stop);
    });
    tokio::select! {
        () = server => {}
        () = async {
            // The sender is dropped, never used: either way the wait is over.
            stopped.await.unwrap_or_default();
            tokio::time::sleep(SHUTDOWN_TIME).await;
        } => {}
        Some(Ok(error)) = OptionFuture::from(founding) => return Err(error),
    }
    // What cannot be sent in time stays in the database.
    let sending = sending.map(|sending| tokio::time::timeout(LAST_TRACES_TIME, sending));
    tokio::join!(toolbox.close(), OptionFuture::from(sending));
    Ok(())
}

/// Says that this server uses its database. A file has one server at a time.
fn enter(store: &Store, node: &str, addr: SocketAddr) -> Result<(), ServeError> {
    if let Some(other) = store.company().into_iter().find_map(|one| one.address) {
        return Err(ServeError::Running(other));
    }
    store.enter(node, Some(format!("http://{addr}"))).map_err(ServeError::Company)
}

/// Tells where the server is: to people on standard output, whatever the log's level.
#[expect(clippy::print_stdout, reason = "the address is what whoever started us waits for")]
fn announce(addr: SocketAddr) {
    println!("Greenroom is at http://{addr}");
}

/// The services, with keys from the environment; those that were pasted are sealed with this file.
pub fn providers(
    pace: DemoPace,
    script: Option<&Path>,
    seal: &Path,
) -> Result<Providers, ServeError> {
    let pace = match pace {
        DemoPace::Natural => Pace::Natural,
        DemoPace::AtOnce => Pace::AtOnce,
    };
    // A variable that is set to nothing is not set.
    let demo = match script.filter(|file| !file.as_os_str().is_empty()) {
        None => Demo::new(pace),
        Some(file) => {
            let wrong = |why: String| ServeError::Script(format!("{}: {why}", file.display()));
            let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
            Demo::scripted(Script::parse(&text).map_err(wrong)?, pace)
        }
    };
    let environment = |name: &str| std::env::var(name).ok();
    Providers::new(TimeLimits::default(), demo, Arc::new(environment))
        .map(|providers| providers.sealing(Seal::at(seal)))
        .map_err(|error| ServeError::Client(error.to_string()))
}

/// The way to other processes on the same database.
fn relay(config: &Config) -> Result<Relay, ServeError> {
    match (&config.redis, &config.database) {
        (None, _) => Ok(Relay::default()),
        (Some(url), Database::Postgres(_)) => Ok(Relay::open(url)?),
        (Some(_), Database::Sqlite(_)) => {
            tracing::warn!("REDIS_URL is not used: a SQLite file has one process only");
            Ok(Relay::default())
        }
    }
}

/// Who makes pictures, and whether any are made.
fn artist(images: &Images, providers: &Providers) -> Result<(Artist, Allowed), ServeError> {
    let service = match images {
        Images::Off => return Ok((Artist::demo(), Allowed::No)),
        Images::Demo => return Ok((Artist::demo(), Allowed::Yes)),
        Images::Service(service) => service.clone(),
    };
    let style = match service.style {
        ImagesStyle::Fal => ImageStyle::Fal,
        ImagesStyle::Openai => ImageStyle::Openai,
    };
    let settings = ImageSettings {
        url: service.url,
        style,
        model: service.model,
        key_ref: service.key_ref,
        file_hosts: service.hosts,
        within: PICTURE_TIME,
    };
    let artist = providers.artist(settings).map_err(ServeError::Images)?;
    Ok((artist, Allowed::Yes))
}

/// Where pictures are kept.
fn kept_files(files: &KeptFiles, providers: &Providers) -> Result<Files, ServeError> {
    let kept = match files {
        KeptFiles::Folder(folder) => {
            private_folder(folder).map_err(|error| ServeError::Folder(folder.clone(), error))?;
            Files::in_folder(folder)
        }
        KeptFiles::Bucket { name, prefix, endpoint, region, key_id_ref, secret_ref } => {
            let key = |reference: &String| {
                let key = providers.key(reference);
                key.map(|key| key.expose().to_owned())
                    .map_err(|error| ServeError::Files(error.message))
            };
            Files::in_bucket(Bucket {
                name: name.clone(),
                prefix: prefix.clone(),
                endpoint: endpoint.clone(),
                region: region.clone(),
                key_id: key(key_id_ref)?,
                secret: key(secret_ref)?,
            })
        }
    };
    kept.map_err(|error: FilesError| ServeError::Files(error.to_string()))
}

/// Sends the traces of all runs that end from now on, until the server closes.
fn send_traces(
    agent: &Agent,
    otlp: Otlp,
    node: String,
    closing: CancellationToken,
) -> Result<JoinHandle<()>, ServeError> {
    let Otlp { url, headers_ref, content, names, gzip } = otlp;
    let content = if content { Content::Included } else { Content::LeftOut };
    let names = match names {
        OtlpNames::Present => Names::Present,
        OtlpNames::Older => Names::Older,
    };
    let (within, first_wait) = (TRACES_TIME, TRACES_RETRY);
    let settings =
        OtlpSettings { url, headers_ref, content, names, gzip, node, within, first_wait };
    let environment = |name: &str| std::env::var(name).ok();
    let exporter = Exporter::new(settings, Arc::new(environment))?;
    let (queue, waiting) = traces::queue(TRACES_WAITING);
    agent.tell_ends_to(queue);
    Ok(tokio::spawn(traces::export(agent.clone(), exporter, waiting, closing)))
}

/// What this process is called when nobody named it.
fn node_name(addr: SocketAddr) -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{}:{}", host.trim(), addr.port())
}

/// Makes the first Space, settles who may come in, and looks after the runs that an earlier process left.
async fn found_home(
    state: &AppState,
    access: &AccessConfig,
    addr: SocketAddr,
) -> Result<(), ServeError> {
    Gate::found_space(&state.store, &state.scope, "Home").await?;
    modes::settle(state, access, addr).await?;
    state.agent.recover().await?;
    state.jobs.recover().await?;
    // From here on nothing fails: none of these is begun twice.
    tokio::spawn(state.agent.clone().keep_alive());
    tokio::spawn(state.store.clone().follow_news());
    tokio::spawn(expire(state.store.clone(), state.accounts.clone()));
    tokio::spawn(state.jobs.clone().keep_working());
    tokio::spawn(state.search.clone().keep_index());
    tokio::spawn(state.search.clone().keep_vectors());
    Ok(())
}

/// Ends drafts that nobody decided on in time, and removes sessions that are over. Goes on for ever.
async fn expire(store: Store, accounts: Accounts) {
    let mut round = tokio::time::interval(EXPIRY_ROUND);
    loop {
        round.tick().await;
        if let Err(error) = store.expire_drafts(now()).await {
            tracing::debug!(%error, "old drafts could not be ended");
        }
        if let Err(error) = accounts.purge().await {
            tracing::debug!(%error, "old sessions could not be removed");
        }
    }
}

/// Tries until the database is there. Comes back only with what waiting does not help against.
async fn await_database(state: AppState, access: AccessConfig, addr: SocketAddr) -> ServeError {
    let mut told = String::new();
    loop {
        let done = match state.store.migrate().await {
            Ok(()) => found_home(&state, &access, addr).await,
            Err(error) => Err(error.into()),
        };
        match done {
            Ok(()) => return pending().await,
            Err(error) if error.is_configuration() => return error,
            Err(error) => {
                let problem = error.to_string();
                if problem != told {
                    tracing::warn!(problem, "the database is not ready; trying again every second");
                    told = problem;
                }
            }
        }
        tokio::time::sleep(DATABASE_RETRY).await;
    }
}

/// Ends with Ctrl-C or, where there is one, a polite request to end. Both are listened for from now on, not
/// only when somebody waits.
fn shutdown_signal() -> impl Future<Output = ()> {
    use tokio::signal::unix::{SignalKind, signal};
    let terminate = signal(SignalKind::terminate());
    async move {
        let interrupt = tokio::signal::ctrl_c();
        match terminate {
            Ok(mut terminate) => {
                tokio::select! { _ = interrupt => {}, _ = terminate.recv() => {} }
            }
            Err(_) => drop(interrupt.await),
        }
    }
}
