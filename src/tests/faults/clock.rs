//! A clock that is moved while everything goes on. Needs libfaketime, which scripts/install-test-tools
//! installs.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::{OPTIMIST, invariants, rename};
use crate::restart::{Server, arguments, script};

/// Where systems keep the library.
fn library() -> PathBuf {
    let folders =
        ["/usr/lib", "/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"];
    let mut places = folders.map(|folder| Path::new(folder).join("faketime/libfaketime.so.1"));
    places.sort();
    let place = places.into_iter().find(|place| place.is_file());
    place.expect("libfaketime is needed: run scripts/install-test-tools")
}

/// A clock that a server goes by, in a file.
struct Clock {
    folder: PathBuf,
}

impl Clock {
    fn new(folder: &Path) -> Self {
        let clock = Self { folder: folder.to_owned() };
        clock.set("+0");
        clock
    }

    fn file(&self) -> PathBuf {
        self.folder.join("clock")
    }

    /// Moves it.
    fn set(&self, offset: &str) {
        // Replaced as a whole: it is read at every look at the clock.
        fs::write(self.folder.join("next"), offset).unwrap();
        fs::rename(self.folder.join("next"), self.file()).unwrap();
    }

    /// Lets a program go by it.
    fn given_to<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .env("LD_PRELOAD", library())
            .env("FAKETIME_TIMESTAMP_FILE", self.file())
            .env("FAKETIME_NO_CACHE", "1")
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
            .env("DONT_FAKE_MONOTONIC", "1")
    }
}

/// Sends a request with these headers: the status, and the cookie that comes back.
async fn send(server: &Server, line: &str, headers: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    let request = format!(
        "{line} HTTP/1.0\r\nhost: {}\r\ncontent-length: {}\r\n{headers}\r\n{body}",
        server.address(),
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: "));
    let cookie = cookie.and_then(|cookie| cookie.split(';').next()).unwrap_or_default();
    (answer.split(' ').nth(1).unwrap().parse().unwrap(), cookie.to_owned())
}

#[tokio::test]
async fn a_session_that_is_over_stays_over_when_the_clock_is_moved_back() {
    let folder = tempfile::tempdir().unwrap();
    let (data, clock) = (folder.path().join("data"), Clock::new(folder.path()));
    let password = folder.path().join("password");
    fs::write(&password, "correct horse").unwrap();
    let script = script(folder.path(), &json!([[{"text": "Hm."}]]));
    let mut command = Command::new(env!("CARGO_BIN_EXE_greenroom"));
    command
        .args(arguments(&data, &script))
        .args(["--auth", "accounts"])
        .env("GREENROOM_OWNER_PASSWORD_FILE", password);
    clock.given_to(&mut command);
    let server = Server::run(command).await;
    let form = "content-type: application/x-www-form-urlencoded\r\naccept: text/html\r\n";
    let sign_in = async || {
        let fields = "name=owner&password=correct%20horse";
        let (status, cookie) = send(&server, "POST /login", form, fields).await;
        assert_eq!(status, 303);
        format!("cookie: {cookie}\r\n")
    };
    let asked = async |cookie: &str| send(&server, "GET /api/chats", cookie, "").await.0;
    let (used, forgotten) = (sign_in().await, sign_in().await);
    assert_eq!((asked(&used).await, asked("").await), (200, 401));

    clock.set("-1d");
    assert_eq!(asked(&used).await, 200, "it was not used for less than nothing");
    clock.set("+365d");
    assert_eq!(asked(&used).await, 401, "a year is too long");
    clock.set("+0");
    assert_eq!(asked(&used).await, 401, "it does not come back");
    clock.set("-1d");
    assert_eq!(asked(&used).await, 401);
    // Who comes back with a clock that is right again signs in once more.
    clock.set("+0");
    assert_eq!(asked(&sign_in().await).await, 200);
    assert_eq!(asked(&forgotten).await, 200, "nobody looked at it while the clock was wrong");
}

#[tokio::test]
async fn what_is_said_and_done_stays_in_order_when_the_clock_is_moved() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let said: Vec<Value> = (0..9).map(|at| json!([{"text": format!("Answer {at}.")}])).collect();
    let script = script(folder.path(), &json!(said));
    let clock = Clock::new(folder.path());
    let mut command = Command::new(env!("CARGO_BIN_EXE_greenroom"));
    clock.given_to(command.args(arguments(&data, &script)));
    let server = Server::run(command).await;
    let mut names = Vec::new();
    let mut words = Vec::new();
    for (at, offset) in ["+0", "-1d", "+365d", "-2d", "+0"].into_iter().enumerate() {
        clock.set(offset);
        let name = format!("Name {at}");
        assert_eq!(rename(&server, &name).await, 200, "{offset}");
        names.push(json!(name));
        let said = json!({"personaId": "optimist", "message": format!("Question {at}?")});
        let (status, told) = server.ask("POST", "/api/persona-agent/chat", Some(&said)).await;
        assert_eq!(status, 200, "{told}");
        assert!(told.contains("\"type\":\"done\""), "{told}");
        words.extend([format!("Question {at}?"), format!("Answer {at}.")]);
    }

    let history = server.get("/api/persona-agent/history?personaId=optimist").await;
    let heard: Vec<&str> = history["turns"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|turn| turn["content"].as_str())
        .collect();
    assert_eq!(heard, words);
    let versions = server.get(&format!("{OPTIMIST}/versions")).await;
    let mut kept: Vec<Value> =
        versions["items"].as_array().unwrap().iter().map(|one| one["name"].clone()).collect();
    kept.reverse();
    assert_eq!(kept[1..], names);
    let audit = server.get("/api/audit?limit=5").await;
    let last: Vec<i64> = audit["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line["toRevision"].as_i64().unwrap())
        .collect();
    assert_eq!(last, [6, 5, 4, 3, 2], "the audit is in the order in which things were done");
    drop(server);
    invariants::hold(&data.join("greenroom.db")).await;
}

#[tokio::test]
async fn nobody_waits_for_a_minute_that_is_a_day_ahead_when_the_clock_was_set_back() {
    let folder = tempfile::tempdir().unwrap();
    let said: Vec<Value> = (0..4).map(|at| json!([{"text": format!("Answer {at}.")}])).collect();
    let script = script(folder.path(), &json!(said));
    let clock = Clock::new(folder.path());
    let mut command = Command::new(env!("CARGO_BIN_EXE_greenroom"));
    clock.given_to(command.args(arguments(&folder.path().join("data"), &script)));
    let server = Server::run(command).await;
    let limits = json!({"runsPerMinute": 1, "servicePerMinute": 1});
    assert_eq!(server.ask("PUT", "/api/budgets", Some(&limits)).await.0, 200);
    let ask = async || {
        let said = json!({"personaId": "optimist", "message": "Who are you?"});
        server.ask("POST", "/api/persona-agent/chat", Some(&said)).await.0
    };

    for offset in ["+1d", "+0", "-1d"] {
        clock.set(offset);
        assert_eq!((ask().await, ask().await), (200, 429), "{offset}");
    }
}
