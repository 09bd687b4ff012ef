//! A house to test in: a store on a real database, and the router in front of it.

mod answer;

use std::{collections::HashMap, sync::Arc};

pub use answer::{Answer, Events, error, told};
use axum::{
    Router,
    body::Body,
    http::{HeaderName, Method, Request, StatusCode, header},
};
use greenroom::{
    accounts::{Access, Mode, Peers},
    agent::{Agent, Limits, Node},
    app::shell::SiteFiles,
    changes::{Gate, Scope},
    config::site_options,
    domain::{
        actor::Actor,
        change::{Change, Op, Outcome},
        error::ApiError,
        id::PersonaId,
    },
    fetch::Fetcher,
    jobs::Jobs,
    providers::{Demo, Pace, Providers, Script, Seal, TimeLimits},
    search::Search,
    server::{Hosts, router},
    state::{AppState, Desk},
    store::{Link, Store},
};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};
use tempfile::TempDir;
use tower::ServiceExt;

pub const ADDRESS: &str = "127.0.0.1:3000";

/// Which database a test runs on.
#[derive(Clone, Copy)]
pub enum On {
    Sqlite,
    Postgres,
}

/// A store with the samples in it, and the router in front of it.
pub struct House {
    pub state: AppState,
    pub router: Router,
    /// What goes along with every request: a cookie, or a token.
    proof: Option<(HeaderName, String)>,
    /// Held so that the file lives as long as the house.
    folder: Option<Arc<TempDir>>,
}

/// A fresh, empty store.
pub async fn store(on: On) -> (Store, Option<TempDir>) {
    match on {
        On::Sqlite => {
            let folder = tempfile::tempdir().unwrap();
            (Store::open_sqlite(&folder.path().join("greenroom.db")).await.unwrap(), Some(folder))
        }
        On::Postgres => {
            let store = Store::open_postgres(&postgres_database().await).unwrap();
            store.migrate().await.unwrap();
            (store, None)
        }
    }
}

/// The address of a new database on the test server.
pub async fn postgres_database() -> String {
    let server = std::env::var("GREENROOM_TEST_POSTGRES")
        .expect("PostgreSQL is needed: run `scripts/with-services cargo nextest run`");
    let name = format!("t{}", uuid::Uuid::now_v7().simple());
    let mut connection = PgConnection::connect(&server).await.unwrap();
    let statement = sqlx::AssertSqlSafe(format!("create database {name}"));
    sqlx::query(statement).execute(&mut connection).await.unwrap();
    server.replace("/postgres?", &format!("/{name}?"))
}

impl House {
    pub async fn new() -> Self {
        Self::on(On::Sqlite).await
    }

    pub async fn on(on: On) -> Self {
        let (store, folder) = store(on).await;
        let house = Self::around(store, folder);
        Gate::found_space(&house.state.store, &house.state.scope, "Home").await.unwrap();
        house
    }

    /// A house whose services are pointed elsewhere, and held to these limits.
    pub async fn with_services(environment: &[(&str, String)], limits: TimeLimits) -> Self {
        let (store, folder) = store(On::Sqlite).await;
        let known: HashMap<String, String> =
            environment.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let house = Self::asking(store, folder, limits, move |name| known.get(name).cloned());
        Gate::found_space(&house.state.store, &house.state.scope, "Home").await.unwrap();
        house
    }

    /// A house whose variables are looked up like this.
    pub async fn in_environment(
        environment: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        let (store, folder) = store(On::Sqlite).await;
        let house = Self::asking(store, folder, TimeLimits::default(), environment);
        Gate::found_space(&house.state.store, &house.state.scope, "Home").await.unwrap();
        house
    }

    /// A house around a store that may not even work.
    pub fn around(store: Store, folder: Option<TempDir>) -> Self {
        Self::asking(store, folder, TimeLimits::default(), |_| None)
    }

    fn asking(
        store: Store,
        folder: Option<TempDir>,
        limits: TimeLimits,
        environment: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        let (style, tool_style) = ("/pkg/greenroom.css".into(), "/pkg/tools.css".into());
        let files = SiteFiles { style, tool_style, program: None };
        let site = site_options("Leptos.toml".as_ref()).unwrap();
        let demo = Demo::new(Pace::AtOnce);
        let seal = folder.as_ref().map(|folder| Seal::at(folder.path().join("seal.key")));
        let providers = Providers::new(limits, demo, Arc::new(environment)).unwrap();
        let providers = match seal {
            Some(seal) => providers.sealing(seal),
            None => providers,
        };
        let search = Search::new(store.clone());
        let agent = Agent::new(store.clone(), providers, search, Limits::default(), "test".into());
        let state = AppState::new(store, site, files, agent);
        Self { router: routed(&state), state, proof: None, folder: folder.map(Arc::new) }
    }

    /// The same store, seen from another Space with its own owner.
    pub async fn neighbour(&self) -> House {
        let mut state = self.state.clone();
        state.scope = Scope { space: "next-door".into(), user: "neighbour".into() };
        state.access = Arc::new(Access::decided(Mode::Local(Peers::Within)));
        Gate::found_space(&state.store, &state.scope, "Next door").await.unwrap();
        Self { router: routed(&state), state, proof: None, folder: None }
    }

    /// The same store, where people come in like this.
    pub fn in_mode(&self, mode: Mode) -> House {
        self.with_access(Access::decided(mode))
    }

    /// The same store, with this way in.
    pub fn with_access(&self, access: Access) -> House {
        let mut state = self.state.clone();
        state.access = Arc::new(access);
        if state.access.has_accounts() {
            state.agent.fence_services();
        }
        Self { router: routed(&state), state, proof: None, folder: self.folder.clone() }
    }

    /// The same house, seen by whoever has this header.
    pub fn seen_by(&self, name: HeaderName, value: &str) -> House {
        let (router, state) = (self.router.clone(), self.state.clone());
        let proof = Some((name, value.to_owned()));
        Self { router, state, proof, folder: self.folder.clone() }
    }

    /// The same house for the same person, who has asked for nothing yet.
    pub fn afresh(&self) -> House {
        let (router, state) = (routed(&self.state), self.state.clone());
        Self { router, state, proof: self.proof.clone(), folder: self.folder.clone() }
    }

    fn proven(&self, mut request: Request<Body>) -> Request<Body> {
        if let Some((name, value)) = &self.proof {
            request.headers_mut().insert(name.clone(), value.parse().unwrap());
        }
        request
    }

    /// The same store, seen from another Space.
    pub fn seen_from(&self, scope: Scope) -> House {
        let mut state = self.state.clone();
        state.scope = scope;
        Self { router: routed(&state), state, proof: None, folder: self.folder.clone() }
    }

    /// The same store behind another process, in which the demo model plays this script.
    pub fn playing(&self, script: &Value) -> House {
        self.playing_as("test".into(), Limits::default(), script)
    }

    /// The same, held to these limits.
    pub fn limited(&self, limits: Limits, script: &Value) -> House {
        self.playing_as("test".into(), limits, script)
    }

    /// A process on this PostgreSQL database, with nothing but that in common with others, in which the
    /// demo model plays this script.
    pub async fn process(database: &str, node: Node, script: &Value) -> House {
        let store = Store::open_postgres(database).unwrap();
        store.migrate().await.unwrap();
        let house = Self::around(store, None);
        Gate::found_space(&house.state.store, &house.state.scope, "Home").await.unwrap();
        house.playing_as(node, Limits::default(), script)
    }

    fn playing_as(&self, node: Node, limits: Limits, script: &Value) -> House {
        let demo = Demo::scripted(Script::parse(&script.to_string()).unwrap(), Pace::AtOnce);
        let providers =
            Providers::new(TimeLimits::default(), demo, Arc::new(|_: &str| None)).unwrap();
        let mut state = self.state.clone();
        let (store, search) = (state.store.clone(), state.search.clone());
        state.agent = Agent::new(store, providers, search, limits, node);
        Self { router: routed(&state), state, proof: None, folder: self.folder.clone() }
    }

    /// The same store behind another process, which searches like this.
    pub fn searching(&self, search: Search) -> House {
        let mut state = self.state.clone();
        state.search = search;
        Self { router: routed(&state), state, proof: None, folder: self.folder.clone() }
    }

    /// The same store behind another process, which fetches like this.
    pub fn fetching(&self, fetcher: Fetcher) -> House {
        let mut state = self.state.clone();
        state.fetcher = fetcher;
        Self { router: routed(&state), state, proof: None, folder: self.folder.clone() }
    }

    /// The same store behind another process, whose work is done like this.
    pub fn working(&self, jobs: Jobs) -> House {
        let mut state = self.state.clone();
        state.jobs = jobs;
        Self { router: routed(&state), state, proof: None, folder: self.folder.clone() }
    }

    /// Answers on a real socket, for as long as the test goes on, and says where.
    pub async fn listening(&self) -> std::net::SocketAddr {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, router) = (listener.local_addr().unwrap(), self.router.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        address
    }

    /// A model of the demo's that costs something, which speaks from now on when a persona has none.
    pub async fn dear_model(&self) -> &'static str {
        let model = json!({
            "id": "demo/dear", "service": "demo", "name": "demo", "label": "Dear", "context": 100_000,
            "maxOutput": 8192, "price": {"input": 2.0, "output": 10.0}, "tools": true, "vision": false,
            "reasoning": false,
        });
        self.call(Method::PUT, "/api/models", model).await.good();
        let chosen = json!({"model": "demo/dear"});
        let chosen = self.call(Method::PUT, "/api/models/default", chosen).await;
        assert!(chosen.status.is_success(), "{}", chosen.text);
        "demo/dear"
    }

    /// Sends a request and gives the status; what is streamed back is left.
    pub async fn status(&self, request: Request<Body>) -> StatusCode {
        self.router.clone().oneshot(self.proven(request)).await.unwrap().status()
    }

    /// Sends a request and gives what is streamed back, event by event.
    pub async fn stream(&self, request: Request<Body>) -> Events {
        let response = self.router.clone().oneshot(self.proven(request)).await.unwrap();
        assert_eq!(response.status(), 200);
        Events {
            headers: response.headers().clone(),
            body: response.into_body(),
            rest: String::new(),
        }
    }

    /// The owner's desk.
    pub fn desk(&self) -> Desk {
        self.state.desk(&self.state.local_owner())
    }

    /// The gate, as the owner stands before it.
    pub fn gate(&self) -> Gate {
        self.desk().gate
    }

    /// The gate, as somebody else stands before it.
    pub fn gate_for(&self, actor: Actor) -> Gate {
        Gate::new(self.state.store.clone(), self.state.scope.space.clone(), actor)
    }

    pub async fn read(&self) -> Link {
        self.state.store.read(&self.state.scope.space).await.unwrap()
    }

    pub async fn submit(&self, change: Change) -> Result<Outcome, ApiError> {
        self.gate().submit(change).await
    }

    /// A persona with this prompt.
    pub async fn persona(&self, id: &str, prompt: &str) -> PersonaId {
        let id = PersonaId::new(id);
        let change =
            Change::new(&id, Op::Create).set("name", id.as_str()).set("systemPrompt", prompt);
        self.submit(change).await.unwrap();
        id
    }

    /// The database's file.
    pub fn database_file(&self) -> std::path::PathBuf {
        self.folder.as_ref().expect("the database is not a file").path().join("greenroom.db")
    }

    /// All that the database has written, byte by byte.
    pub fn database_bytes(&self) -> Vec<u8> {
        let folder = self.folder.as_ref().expect("the database is not a file").path();
        let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        files.flat_map(|file| std::fs::read(file).unwrap()).collect()
    }

    pub async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(self.proven(request)).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        Answer {
            status: parts.status,
            headers: parts.headers,
            text: String::from_utf8_lossy(&bytes).into_owned(),
        }
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(request(Method::GET, path, None)).await
    }

    pub async fn call(&self, method: Method, path: &str, body: Value) -> Answer {
        self.send(request(method, path, Some(body.to_string().into_bytes()))).await
    }

    /// A server function as our own page calls it.
    pub async fn function(&self, name: &str, fields: &[(&str, &str)]) -> Answer {
        self.send(form_request(&format!("/fn/{name}"), "/", fields, "application/json")).await
    }

    /// A form as a browser without JavaScript sends it.
    pub async fn form(&self, path: &str, from: &str, fields: &[(&str, &str)]) -> Answer {
        self.send(form_request(path, from, fields, "text/html")).await
    }
}

/// The addresses of all server functions.
pub fn server_functions() -> Vec<&'static str> {
    leptos::server_fn::axum::server_fn_paths().map(|(path, _)| path).collect()
}

pub fn form_request(
    path: &str,
    from: &str,
    fields: &[(&str, &str)],
    accept: &str,
) -> Request<Body> {
    let body: Vec<String> =
        fields.iter().map(|(name, value)| format!("{name}={}", escaped(value))).collect();
    Request::builder()
        .method(Method::POST)
        .uri(path)
        .header(header::HOST, ADDRESS)
        .header(header::ACCEPT, accept)
        .header(header::REFERER, format!("http://{ADDRESS}{from}"))
        .header("sec-fetch-site", "same-origin")
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(Body::from(body.join("&")))
        .unwrap()
}

fn routed(state: &AppState) -> Router {
    router(state.clone(), Hosts::new(ADDRESS.parse().unwrap(), &[]))
}

fn escaped(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// A request as a program on this machine sends it.
pub fn request(method: Method, path: &str, body: Option<Vec<u8>>) -> Request<Body> {
    let builder = Request::builder().method(method).uri(path).header(header::HOST, ADDRESS);
    match body {
        Some(body) => {
            builder.header(header::CONTENT_TYPE, "application/json").body(Body::from(body)).unwrap()
        }
        None => builder.body(Body::empty()).unwrap(),
    }
}

/// One story, told on both databases.
macro_rules! on_both {
    ($($name:ident),* $(,)?) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $name() {
                super::$name($crate::support::House::on($crate::support::On::Sqlite).await).await;
            })*
        }
        mod postgres {
            $(#[tokio::test]
            async fn $name() {
                super::$name($crate::support::House::on($crate::support::On::Postgres).await).await;
            })*
        }
    };
}
pub(crate) use on_both;
