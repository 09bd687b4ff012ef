//! A PostgreSQL of this test's own, restarted while people write.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::timeout;

use super::{OPTIMIST, brief};
use crate::restart::{Server, arguments, script};

const PATIENCE: Duration = Duration::from_secs(60);

/// A server of PostgreSQL in a folder of its own, gone with the test.
struct Postgres {
    folder: TempDir,
    programs: PathBuf,
}

impl Postgres {
    fn start() -> Self {
        let folder =
            tempfile::Builder::new().prefix("greenroom-postgres").tempdir_in("/tmp").unwrap();
        let programs = std::fs::read_dir("/usr/lib/postgresql").ok().and_then(|versions| {
            let mut versions: Vec<PathBuf> = versions.map(|one| one.unwrap().path()).collect();
            versions.sort();
            versions.pop()
        });
        let programs = programs.map_or(PathBuf::new(), |version| version.join("bin"));
        if rustix::process::geteuid().is_root() {
            // It refuses to run as root.
            let given = Command::new("chown").arg("postgres").arg(folder.path()).status().unwrap();
            assert!(given.success());
        }
        let postgres = Self { folder, programs };
        let data = postgres.data();
        let arguments =
            ["-U", "greenroom", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8", "-D"];
        postgres.call("initdb", &[&arguments[..], &[&data]].concat());
        postgres.up();
        postgres
    }

    fn data(&self) -> String {
        self.folder.path().join("db").display().to_string()
    }

    fn call(&self, program: &str, arguments: &[&str]) {
        let program = self.programs.join(program);
        let mut command = if rustix::process::geteuid().is_root() {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=postgres", "--regid=postgres", "--init-groups"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        let done = command
            .args(arguments)
            .current_dir(self.folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        assert!(done.unwrap().success(), "{arguments:?}");
    }

    fn up(&self) {
        let (data, folder) = (self.data(), self.folder.path().display().to_string());
        let options = format!("-k {folder} -c listen_addresses='' -c fsync=off");
        let log = format!("{folder}/log");
        self.call("pg_ctl", &["-D", &data, "-w", "-l", &log, "-o", &options, "start"]);
    }

    fn down(&self) {
        self.call("pg_ctl", &["-D", &self.data(), "-w", "-m", "immediate", "stop"]);
    }

    fn address(&self) -> String {
        format!("postgres://greenroom@localhost/postgres?host={}", self.folder.path().display())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let data = self.data();
        let stopped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            self.call("pg_ctl", &["-D", &data, "-w", "-m", "immediate", "stop"]);
        }));
        if stopped.is_err() {
            println!("a PostgreSQL is left in {data}");
        }
    }
}

async fn start(postgres: &Postgres, folder: &Path, script: &Path) -> Server {
    let mut command = Command::new(env!("CARGO_BIN_EXE_greenroom"));
    command.args(arguments(&folder.join("data"), script)).env("DATABASE_URL", postgres.address());
    Server::run(command).await
}

async fn ready(server: &Server) {
    // The tables are there a moment before what is in them.
    while server.ask("GET", OPTIMIST, None).await.0 != 200 {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restarted_under_load_nothing_that_was_told_is_lost_and_all_goes_on() {
    let postgres = Postgres::start();
    let folder = tempfile::tempdir().unwrap();
    let server = start(&postgres, folder.path(), &brief(folder.path())).await;
    timeout(PATIENCE, ready(&server)).await.unwrap();
    let titles = std::sync::Mutex::new(Vec::<String>::new());
    let finished = tokio_util::sync::CancellationToken::new();
    let writing = async |writer: usize| {
        let (mut at, mut refused) = (0, 0);
        while !finished.is_cancelled() {
            at += 1;
            let title = format!("Page {writer}-{at}");
            let page = json!({"title": title, "body": "x"});
            match server.ask("POST", "/api/storage/pages", Some(&page)).await {
                (200 | 201, _) => titles.lock().unwrap().push(title),
                (503, told) => {
                    assert!(told.contains("try again"), "{told}");
                    refused += 1;
                }
                (status, told) => panic!("{status} {told}"),
            }
        }
        refused
    };
    let restarting = async {
        let kept = || titles.lock().unwrap().len();
        while kept() < 20 {
            tokio::task::yield_now().await;
        }
        tokio::task::block_in_place(|| postgres.down());
        while server.ask("GET", "/readyz", None).await.0 != 503 {}
        assert_eq!(server.ask("GET", "/healthz", None).await.0, 200, "the server lives");
        tokio::task::block_in_place(|| postgres.up());
        let before = kept();
        while kept() < before + 20 {
            tokio::task::yield_now().await;
        }
        finished.cancel();
    };

    let all = async { tokio::join!(restarting, writing(0), writing(1), writing(2)) };
    let ((), one, two, three) = timeout(PATIENCE, all).await.expect("it does not go on");

    assert!(one + two + three > 0, "nobody noticed");
    let mut kept = std::collections::BTreeSet::new();
    let mut after = String::new();
    loop {
        let page = server.get(&format!("/api/storage/pages?limit=200{after}")).await;
        kept.extend(
            page["items"].as_array().unwrap().iter().map(|one| one["title"].clone().to_string()),
        );
        match &page["next"] {
            Value::String(next) => after = format!("&after={next}"),
            _ => break,
        }
    }
    for title in titles.lock().unwrap().iter() {
        assert!(kept.contains(&json!(title).to_string()), "{title} was told to be kept");
    }
    assert_eq!(server.ask("GET", OPTIMIST, None).await.0, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restarted_while_something_is_answered_it_keeps_all_the_words_and_goes_on() {
    let postgres = Postgres::start();
    let folder = tempfile::tempdir().unwrap();
    let words = json!([[{"repeat": {"times": 300, "text": "word ", "every_ms": 10}}]]);
    let script = script(folder.path(), &words);
    let server = start(&postgres, folder.path(), &script).await;
    timeout(PATIENCE, ready(&server)).await.unwrap();
    let mut chat = server.chat("Tell me everything.").await;
    chat.words(20).await;
    let history = async || server.get("/api/persona-agent/history?personaId=optimist").await;
    let run = history().await["runId"].as_str().unwrap().to_owned();

    tokio::task::block_in_place(|| postgres.down());
    let away = async { while server.ask("GET", "/readyz", None).await.0 != 503 {} };
    timeout(PATIENCE, away).await.unwrap();
    tokio::task::block_in_place(|| postgres.up());
    let last = async {
        loop {
            let event = chat.next().await;
            if ["done", "error"].iter().any(|kind| event["type"] == *kind) {
                return event;
            }
        }
    };
    let last = timeout(PATIENCE, last).await.unwrap();

    assert_eq!(last["type"], "done", "{last}");
    let turns = history().await["turns"].clone();
    assert_eq!(turns[1]["content"], "word ".repeat(300).as_str(), "no word is lost");
    let state = server.get(&format!("/api/runs/{run}")).await;
    assert_eq!(state["status"], "done");
    let retry = format!("/api/runs/{run}/retry");
    let (status, again) = server.ask("POST", &retry, Some(&json!({}))).await;
    assert_eq!(status, 201, "{again}");
}
