//! Two processes on one PostgreSQL, somebody who reads along, and a Redis that can be killed.

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use axum::http::Method;
use greenroom::{
    agent::{Node, Relay},
    domain::event::Stamped,
};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};
use tempfile::TempDir;
use tokio::{sync::mpsc, time::timeout};

use crate::support::{House, postgres_database, request};

/// Longer than anything here should take.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How long a watcher is given to go on while the log stands still.
const GAP_TIME: Duration = Duration::from_secs(2);

/// The Redis that all tests share.
pub fn shared_redis() -> String {
    std::env::var("GREENROOM_TEST_REDIS")
        .expect("Redis is needed: run `scripts/with-services cargo nextest run`")
}

/// Two processes on one database: in the first the model plays the script.
pub struct Pair {
    pub database: String,
    pub redis: String,
    pub one: House,
    pub two: House,
    /// Held so that it lives as long as they do.
    own: Option<OwnRedis>,
}

impl Pair {
    pub async fn on(redis: String, script: Value) -> Self {
        let database = postgres_database().await;
        let node = |name: &str| Node { relay: Relay::open(&redis).unwrap(), ..Node::from(name) };
        let one = House::process(&database, node("one"), &script).await;
        let two = House::process(&database, node("two"), &json!({"answers": []})).await;
        Self { database, redis, one, two, own: None }
    }

    /// With a Redis of their own, to which both listen.
    pub async fn new(script: Value) -> Self {
        let own = OwnRedis::start();
        own.is_up().await;
        let mut pair = Self::on(own.url(), script).await;
        pair.own = Some(own);
        pair.both_listen().await;
        pair
    }

    /// Their Redis is killed, without warning.
    pub fn kill_redis(&mut self) {
        self.own.as_mut().unwrap().kill();
    }

    /// It is there again, and both listen to it.
    pub async fn restart_redis(&mut self) {
        let own = self.own.as_mut().unwrap();
        own.process = OwnRedis::launch(&own.socket);
        own.is_up().await;
        self.both_listen().await;
    }

    /// A line to Redis of the test's own.
    async fn redis(&self) -> redis::aio::MultiplexedConnection {
        let client = redis::Client::open(self.redis.as_str()).unwrap();
        client.get_multiplexed_async_connection().await.unwrap()
    }

    /// Asks Redis until the answer is good.
    pub async fn ask_until<T: redis::FromRedisValue>(
        &self,
        command: &[&str],
        good: impl Fn(&T) -> bool,
    ) -> T {
        let mut line = self.redis().await;
        let mut ask = redis::cmd(command[0]);
        ask.arg(&command[1..]);
        let answer = async {
            loop {
                let answer: T = ask.query_async(&mut line).await.unwrap();
                if good(&answer) {
                    return answer;
                }
                tokio::task::yield_now().await;
            }
        };
        timeout(PATIENCE, answer).await.unwrap()
    }

    /// Waits until both processes hear which run shall stop.
    async fn both_listen(&self) {
        let two = |(_, count): &(String, u64)| *count == 2;
        self.ask_until(&["PUBSUB", "NUMSUB", "greenroom:stop"], two).await;
    }

    /// Says something to the optimist's agent in the first process, and gives the run.
    pub async fn say(&self) -> String {
        self.one.stream(saying("Go on")).await.run()
    }

    /// A connection to the database that holds up whoever writes to this table.
    async fn hold(&self, table: &str) -> PgConnection {
        let mut held = PgConnection::connect(&self.database).await.unwrap();
        let statement = format!("begin; lock table {table} in exclusive mode");
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement)).execute(&mut held).await.unwrap();
        held
    }

    /// Sees that a watcher is told more than the log has, which therefore came through Redis.
    pub async fn hears(&self, watcher: &mut Watcher, run: &str) {
        let proof = async {
            loop {
                let held = self.hold("run_event").await;
                let logged = self.last_logged(run).await;
                // It may just have been waiting for the log to fill a gap: then that has to come first.
                let heard = timeout(GAP_TIME, watcher.up_to(logged + 20)).await.is_ok();
                assert_eq!(self.last_logged(run).await, logged);
                held.close().await.unwrap();
                if heard {
                    return;
                }
                watcher.up_to(logged + 1).await;
            }
        };
        timeout(PATIENCE, proof).await.unwrap();
    }

    async fn last_logged(&self, run: &str) -> u64 {
        self.two.read().await.last_seq(&run.into()).await.unwrap()
    }

    pub async fn stop(&self, run: &str) -> Value {
        self.two.call(Method::POST, &format!("/api/runs/{run}/stop"), json!({})).await.good()
    }
}

pub fn saying(message: &str) -> axum::http::Request<axum::body::Body> {
    let said = json!({"personaId": "optimist", "message": message});
    request(Method::POST, "/api/persona-agent/chat", Some(said.to_string().into_bytes()))
}

fn watching(run: &str) -> axum::http::Request<axum::body::Body> {
    request(Method::GET, &format!("/api/runs/{run}/events"), None)
}

/// An answer that goes on until it is stopped.
pub fn endless() -> Value {
    json!({"answers": [[{"repeat": {"times": 1_000_000, "text": "word ", "every_ms": 5}}]]})
}

/// Somebody who reads along as fast as it comes.
pub struct Watcher {
    coming: mpsc::UnboundedReceiver<(u64, Value)>,
    /// All that was read.
    pub seen: Vec<(u64, Value)>,
}

impl Watcher {
    pub async fn of(house: &House, run: &str) -> Self {
        let mut events = house.stream(watching(run)).await;
        let (told, coming) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Some((seq, mut event)) = events.next().await {
                // When words were said is not kept for each of them.
                event.as_object_mut().unwrap().remove("at");
                if told.send((seq.unwrap(), event)).is_err() {
                    return;
                }
            }
        });
        Self { coming, seen: Vec::new() }
    }

    /// Reads one more event; `false` at the end.
    async fn read(&mut self) -> bool {
        let one = timeout(PATIENCE, self.coming.recv()).await.unwrap();
        let more = one.is_some();
        self.seen.extend(one);
        more
    }

    /// Reads so many words more.
    pub async fn words(&mut self, mut count: usize) {
        while count > 0 {
            assert!(self.read().await, "it ended");
            count -= usize::from(self.seen.last().unwrap().1["type"] == "text");
        }
    }

    /// Reads up to this event.
    pub async fn up_to(&mut self, seq: u64) {
        while self.seen.last().is_none_or(|(last, _)| *last < seq) {
            assert!(self.read().await, "it ended");
        }
    }

    /// Reads to the end, and gives the last event.
    pub async fn end(&mut self) -> Value {
        while self.read().await {}
        self.seen.last().unwrap().1.clone()
    }
}

/// All that a run told, as it is kept.
pub async fn log(house: &House, run: &str) -> Vec<(u64, Value)> {
    let events = house.read().await.run_events(&run.into(), 0, u32::MAX).await.unwrap();
    events.into_iter().map(|Stamped { seq, event, .. }| (seq, json!(event))).collect()
}

/// A Redis of one's own, that can be killed.
struct OwnRedis {
    process: Child,
    socket: PathBuf,
    _folder: TempDir,
}

impl OwnRedis {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("redis.sock");
        Self { process: Self::launch(&socket), socket, _folder: folder }
    }

    fn launch(socket: &Path) -> Child {
        Command::new("redis-server")
            .args(["--port", "0", "--save", "", "--unixsocket"])
            .arg(socket)
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    }

    fn url(&self) -> String {
        format!("redis+unix://{}", self.socket.display())
    }

    fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Waits until it can be talked to.
    async fn is_up(&self) {
        let up = async {
            let client = redis::Client::open(self.url()).unwrap();
            while client.get_multiplexed_async_connection().await.is_err() {
                tokio::task::yield_now().await;
            }
        };
        timeout(PATIENCE, up).await.unwrap();
    }
}

impl Drop for OwnRedis {
    fn drop(&mut self) {
        // It may be dead already.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}
