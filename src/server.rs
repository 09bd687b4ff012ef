//! The HTTP server: pages, API and files behind the same guards.

mod assets;
mod guard;

use std::{future::IntoFuture, net::SocketAddr, sync::Arc, time::Duration};

pub use assets::names as site_files;
use axum::{Router, middleware, serve::ListenerExt};
pub use guard::Hosts;
use leptos_axum::{LeptosRoutes, generate_route_list};
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;
use tower_http::{
    catch_panic::CatchPanicLayer, csrf::CsrfLayer, limit::RequestBodyLimitLayer, trace::TraceLayer,
};

use crate::{
    agent::{Agent, Limits, Node, Relay, RelayError},
    api,
    app::{App, shell},
    changes::Gate,
    config::{
        Config, Database, DemoPace, Embeddings, Images, ImagesStyle, KeptFiles, Otlp, OtlpNames,
    },
    domain::error::ApiError,
    fetch::Fetcher,
    jobs::{Allowed, Bucket, Files, FilesError, Jobs},
    providers::{
        Artist, Demo, EmbeddingSettings, ImageSettings, ImageStyle, Pace, ProviderError, Providers,
        Script, TimeLimits,
    },
    sandbox::Sandbox,
    search::Search,
    state::AppState,
    store::{Store, StoreError, now},
    traces::{self, Content, Exporter, ExporterError, Names, OtlpSettings},
};

/// How long requests in progress may take once the server was told to stop.
const SHUTDOWN_TIME: Duration = Duration::from_secs(10);
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
    /// The address cannot be had.
    #[error("Cannot listen on {0}: {1}. Choose another address with --addr 127.0.0.1:PORT.")]
    Address(SocketAddr, #[source] std::io::Error),
    /// Serving ended.
    #[error("The server stopped: {0}")]
    Stopped(#[source] std::io::Error),
}

/// Everything that is served, behind its guards. The outermost guard is the last one named.
pub fn router(state: AppState, hosts: Hosts) -> Router {
    let page_shell = {
        let files = state.files.clone();
        move || shell::shell(files.clone())
    };
    let routes = generate_route_list(App);
    let (api, files) = api::routers();
    Router::new()
        .merge(api)
        .leptos_routes(&state, routes, page_shell)
        .fallback(assets::serve_or_not_found)
        .layer(RequestBodyLimitLayer::new(api::MAX_BODY_BYTES))
        .merge(files)
        .with_state(state)
        .layer(CsrfLayer::new())
        .layer(middleware::from_fn(api::put_into_words))
        .layer(middleware::from_fn(guard::refuse_foreign_readers))
        .layer(middleware::from_fn(guard::add_headers))
        .layer(middleware::from_fn_with_state(hosts, guard::check_host))
        .layer(CatchPanicLayer::custom(guard::tell_panic))
        .layer(TraceLayer::new_for_http())
}

/// Opens the store that the configuration names.
pub async fn open_store(config: &Config) -> Result<Store, ServeError> {
    match &config.database {
        Database::Sqlite(file) => {
            let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
            if let Some(folder) = folder {
                std::fs::create_dir_all(folder)
                    .map_err(|error| ServeError::Folder(folder.into(), error))?;
            }
            Ok(Store::open_sqlite(file).await?)
        }
        Database::Postgres(url) => Ok(Store::open_postgres(url)?),
    }
}

/// Serves until told to stop.
pub async fn serve(config: Config) -> Result<(), ServeError> {
    let store = open_store(&config).await?;
    let listener = TcpListener::bind(config.addr)
        .await
        .map_err(|error| ServeError::Address(config.addr, error))?;
    let addr = listener.local_addr().map_err(|error| ServeError::Address(config.addr, error))?;
    let providers = providers(&config)?;
    let embedder = config.embeddings.clone().map(|Embeddings { url, model, key_ref }| {
        providers.embedder(EmbeddingSettings { url, model, key_ref })
    });
    let name = config.node.clone().unwrap_or_else(|| node_name(addr));
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
    let limits = Limits { pictures: allowed == Allowed::Yes, ..Limits::default() };
    let name = node.name.clone();
    let agent = Agent::new(store.clone(), providers, search, limits, node);
    // Without a program of our own to start, tools say that there is no Python.
    if let Ok(binary) = std::env::current_exe() {
        agent.use_sandbox(Sandbox::new(&binary));
    }
    let mut state = AppState::new(store, config.site, files, agent);
    state.jobs = jobs;
    state.fetcher = config.fetch.map_or_else(Fetcher::off, Fetcher::new);
    let closing = state.closing.clone();
    let sending = match config.otlp {
        Some(otlp) => Some(send_traces(&state.agent, otlp, name, closing.clone())?),
        None => None,
    };
    match config.database {
        Database::Sqlite(_) => found_home(&state).await?,
        // A database server may come up after us: until then every page says so.
        Database::Postgres(_) => drop(tokio::spawn(await_database(state.clone()))),
    }
    let router = router(state, Hosts::new(addr, &config.allow_hosts));
    announce(addr);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    // Words are small and must not wait for more of them.
    let listener = listener.tap_io(|connection| {
        if let Err(error) = connection.set_nodelay(true) {
            tracing::debug!(%error, "a connection will send late");
        }
    });
    // As it is, the router would be built anew for every connection.
    let server = axum::serve(listener, router.into_make_service())
        .with_graceful_shutdown(async move {
            shutdown_signal().await;
            tracing::info!("stopping");
            closing.cancel();
            drop(stop);
        })
        .into_future();
    let ended = tokio::select! {
        ended = server => ended.map_err(ServeError::Stopped),
        () = async {
            // The sender is dropped, never used: either way the wait is over.
            stopped.await.unwrap_or_default();
            tokio::time::sleep(SHUTDOWN_TIME).await;
        } => Ok(()),
    };
    // What cannot be sent in time stays in the database.
    if let Some(sending) = sending {
        drop(tokio::time::timeout(TRACES_TIME, sending).await);
    }
    ended
}

/// Tells where the server is: to people on standard output, whatever the log's level.
#[expect(clippy::print_stdout, reason = "the address is what whoever started us waits for")]
fn announce(addr: SocketAddr) {
    println!("Greenroom is at http://{addr}");
}

/// The services, with keys from the environment.
fn providers(config: &Config) -> Result<Providers, ServeError> {
    let pace = match config.demo_pace {
        DemoPace::Natural => Pace::Natural,
        DemoPace::AtOnce => Pace::AtOnce,
    };
    let demo = match &config.demo_script {
        None => Demo::new(pace),
        Some(file) => {
            let text = std::fs::read_to_string(file);
            let text = text.map_err(|error| ServeError::Script(error.to_string()))?;
            Demo::scripted(Script::parse(&text).map_err(ServeError::Script)?, pace)
        }
    };
    let environment = |name: &str| std::env::var(name).ok();
    Providers::new(TimeLimits::default(), demo, Arc::new(environment))
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
        KeptFiles::Folder(folder) => Files::in_folder(folder),
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

/// Makes the first Space, and looks after the runs that an earlier process left.
async fn found_home(state: &AppState) -> Result<(), ApiError> {
    Gate::found_space(&state.store, &state.scope, "Home").await?;
    state.agent.recover().await?;
    tokio::spawn(state.agent.clone().keep_alive());
    tokio::spawn(state.store.clone().follow_news());
    tokio::spawn(expire_drafts(state.store.clone()));
    state.jobs.recover().await?;
    tokio::spawn(state.jobs.clone().keep_working());
    tokio::spawn(state.search.clone().keep_index());
    tokio::spawn(state.search.clone().keep_vectors());
    Ok(())
}

/// Ends drafts that nobody decided on in time. Goes on for ever.
async fn expire_drafts(store: Store) {
    let mut round = tokio::time::interval(EXPIRY_ROUND);
    loop {
        round.tick().await;
        if let Err(error) = store.expire_drafts(now()).await {
            tracing::debug!(%error, "old drafts could not be ended");
        }
    }
}

async fn await_database(state: AppState) {
    let mut told = String::new();
    loop {
        let done = match state.store.migrate().await {
            Ok(()) => found_home(&state).await.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        match done {
            Ok(()) => return,
            Err(problem) if problem != told => {
                tracing::warn!(problem, "the database is not ready; trying again every second");
                told = problem;
            }
            Err(_) => {}
        }
        tokio::time::sleep(DATABASE_RETRY).await;
    }
}

/// Waits for Ctrl-C or, where there is one, a polite request to end.
async fn shutdown_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let interrupt = tokio::signal::ctrl_c();
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => {
            tokio::select! { _ = interrupt => {}, _ = terminate.recv() => {} }
        }
        Err(_) => drop(interrupt.await),
    }
}
