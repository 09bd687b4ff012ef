//! The real program: who it refuses to start for, and whom it lets in.

use std::{
    io::{Read, Write},
    net::TcpStream,
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, Output},
    time::Duration,
};

use crate::restart::Server;

/// Longer than anything here should take.
const PATIENCE: Duration = Duration::from_secs(20);

fn greenroom(data: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_greenroom"))
        .args(args)
        .arg("--data")
        .arg(data)
        .env("DATABASE_URL", "")
        .output()
        .unwrap()
}

fn told(output: &Output) -> String {
    let streams = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&streams).into_owned()
}

#[test]
fn it_is_not_exposed_by_mistake() {
    let folder = tempfile::tempdir().unwrap();
    let anywhere = ["serve", "--addr", "0.0.0.0:0"];
    for (more, advice) in [
        (&[][..], "greenroom user add"),
        (&["--auth", "local"], "greenroom user add"),
        (&["--auth", "accounts"], "--public-host"),
        (&["--auth", "accounts"], "--trusted-proxy"),
        (&[], "--trusted-proxy"),
        (&["--auth", "accounts", "--public-host", "g.test"], "greenroom user add"),
        (&["--public-host", "g.test"], "greenroom user add"),
        (&["--auth", "local", "--public-host", "g.test"], "greenroom user add"),
        (&["--auth", "proxy", "--public-host", "g.test"], "--trusted-proxy"),
    ] {
        let output = greenroom(folder.path(), &[&anywhere[..], more].concat());
        assert_eq!(output.status.code(), Some(78), "{more:?}: {}", told(&output));
        assert!(told(&output).contains(advice), "{more:?}: {}", told(&output));
    }
}

/// With an account, the name under which others reach it is all that need be said.
#[tokio::test]
async fn once_there_is_an_account_people_sign_in_from_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    let (data, file) = (folder.path().join("data"), folder.path().join("password"));
    std::fs::write(&file, "correct horse\n").unwrap();
    let add = ["user", "add", "ann", "--password-file", file.to_str().unwrap()];
    assert!(greenroom(&data, &add).status.success());
    let mut command = Command::new(env!("CARGO_BIN_EXE_greenroom"));
    command.args(["serve", "--addr", "0.0.0.0:0", "--public-host", "g.test", "--data"]).arg(&data);

    let server = Server::run(command).await;

    let (_, port) = server.address().rsplit_once(':').unwrap();
    let words = "GET /api/storage/personas HTTP/1.1\r\nHost: g.test\r\nConnection: close\r\n\r\n";
    let address = format!("127.0.0.1:{port}");
    let answer = tokio::task::spawn_blocking(move || sent_raw(&address, words.as_bytes()));
    let answer = answer.await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
}

/// Behind one, all who come count as one address: one of them who guesses passwords keeps the others out.
#[tokio::test]
async fn a_proxy_that_nobody_named_is_told_of_once() {
    let folder = tempfile::tempdir().unwrap();
    let (data, file) = (folder.path().join("data"), folder.path().join("password"));
    std::fs::write(&file, "correct horse\n").unwrap();
    let add = ["user", "add", "ann", "--password-file", file.to_str().unwrap()];
    assert!(greenroom(&data, &add).status.success());
    let log = folder.path().join("log");
    for (trusted, at_start, later) in [("", 1, 1), ("127.0.0.1", 0, 0)] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_greenroom"));
        command.args(["serve", "--addr", "127.0.0.1:0", "--public-host", "g.test"]);
        command.env("GREENROOM_TRUSTED_PROXY", trusted).arg("--data").arg(&data);
        let server =
            Server::run_telling(command, std::fs::File::create(&log).unwrap().into()).await;

        let words = "GET /login HTTP/1.1\r\nHost: g.test\r\nX-Forwarded-For: 1.2.3.4\r\n\
                     Connection: close\r\n\r\n";
        for _ in 0..2 {
            let address = server.address().to_owned();
            let sent = tokio::task::spawn_blocking(move || sent_raw(&address, words.as_bytes()));
            let answer = sent.await.unwrap();
            assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        }

        drop(server);
        let told = std::fs::read_to_string(&log).unwrap();
        assert_eq!(told.matches("no --trusted-proxy is named").count(), at_start, "{told}");
        assert_eq!(told.matches("X-Forwarded-For came from").count(), later, "{told}");
    }
}

/// What waiting does not help against ends the start, also where a database is waited for.
#[tokio::test]
async fn a_password_file_that_cannot_be_read_ends_the_start() {
    let folder = tempfile::tempdir().unwrap();
    for database in [String::new(), crate::support::postgres_database().await] {
        let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_greenroom"));
        command.args(["serve", "--addr", "127.0.0.1:0", "--data"]).arg(folder.path());
        command.env("DATABASE_URL", &database).kill_on_drop(true);
        command.env("GREENROOM_OWNER_PASSWORD_FILE", folder.path().join("nowhere"));

        let ended = tokio::time::timeout(PATIENCE, command.output()).await;

        let ended = ended.expect("it is tried for ever").unwrap();
        assert_eq!(ended.status.code(), Some(78), "{}", told(&ended));
        assert!(told(&ended).contains("cannot be read"), "{}", told(&ended));
    }
}

#[test]
fn accounts_are_made_by_whoever_runs_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let (data, file) = (folder.path(), folder.path().join("password"));
    std::fs::write(&file, "correct horse\n").unwrap();
    let file = file.to_str().unwrap();
    let user = |args: &[&str]| {
        let output = greenroom(data, &[&["user"], args].concat());
        (output.status.success(), told(&output))
    };

    assert!(!user(&["add", "a b", "--password-file", file]).0);
    let (made, said) = user(&["add", "Ann", "--password-file", file]);
    assert!(made && said.contains("ann is owner of home"), "{said}");
    assert!(!user(&["add", "ann", "--password-file", file]).0, "an account is not made twice");
    assert!(user(&["add", "eve", "--role", "viewer", "--no-password"]).0);
    let (_, listed) = user(&["list"]);
    assert!(listed.contains("ann: owner of home\n"), "{listed}");
    assert!(listed.contains("eve: viewer of home (cannot sign in"), "{listed}");
    let (made, said) = user(&["add", "Bo.Lee@Example.org", "--role", "viewer", "--no-password"]);
    assert!(made && said.contains("bo.lee@example.org is viewer of home"), "{said}");
    assert!(user(&["remove", "bo.lee@example.org"]).0);
    assert!(user(&["passwd", "eve", "--password-file", file]).0);
    assert!(user(&["invite", "--role", "viewer"]).1.contains("/invite/"));
    assert!(user(&["reset", "eve"]).1.contains("/reset/"));
    assert!(!user(&["reset", "nobody"]).0);
    assert!(!user(&["remove", "ann"]).0, "the last owner stays");
    assert!(user(&["remove", "eve"]).0);
    let everything = std::fs::read_dir(data).unwrap().map(|file| file.unwrap().path());
    for file in everything.filter(|file| file.file_name().unwrap() != "password") {
        let bytes = std::fs::read(&file).unwrap();
        let found = bytes.windows(13).any(|part| part == b"correct horse");
        assert!(!found, "the password is in {}", file.display());
    }
}

/// The first line of the answer to a request that another user of the machine makes.
fn asked_by(user: u32, address: &str) -> String {
    let script = format!(
        "exec 3<>/dev/tcp/{}; printf 'GET /api/storage/personas HTTP/1.1\\r\\nHost: {address}\\r\\n\
         Connection: close\\r\\n\\r\\n' >&3; head -n 1 <&3",
        address.replace(':', "/")
    );
    let output = Command::new("bash").args(["-c", &script]).uid(user).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[tokio::test]
async fn other_users_of_the_machine_are_strangers() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script.json");
    std::fs::write(&script, "{}").unwrap();
    let server = Server::start_with(folder.path(), &script, &[]).await;
    let own = rustix::process::geteuid().as_raw();

    assert!(asked_by(own, server.address()).contains(" 200 "));
    // Only root can ask as somebody else.
    if own == 0 {
        assert!(asked_by(65_534, server.address()).contains(" 401 "));
    }
}

#[tokio::test]
async fn a_password_file_makes_the_owner_sign_in() {
    let folder = tempfile::tempdir().unwrap();
    let (script, file) = (folder.path().join("script.json"), folder.path().join("password"));
    std::fs::write(&script, "{}").unwrap();
    std::fs::write(&file, "correct horse\n").unwrap();
    let variable = ("GREENROOM_OWNER_PASSWORD_FILE", file.to_str().unwrap().to_owned());
    let server = Server::start_with(folder.path(), &script, &[variable]).await;

    let own = rustix::process::geteuid().as_raw();
    assert!(asked_by(own, server.address()).contains(" 401 "));
}

/// What comes back, until the server closes the connection.
fn sent_raw(address: &str, words: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(words).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn where_a_request_ends_is_never_in_doubt() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script.json");
    std::fs::write(&script, "{}").unwrap();
    let server = Server::start_with(folder.path(), &script, &[]).await;
    let address = server.address().to_owned();
    // What is made when its end is in no doubt.
    let (json, personas) = (r#"{"name": "Made"}"#, "/api/storage/personas");
    let body = format!("{:x}\r\n{json}\r\n0\r\n\r\n", json.len());
    let ask = async |lengths: &str| {
        let words = format!(
            "POST {personas} HTTP/1.1\r\nHost: {address}\r\n\
             Content-Type: application/json\r\n{lengths}\r\n\r\n{body}\
             GET /healthz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
        );
        let address = address.clone();
        tokio::task::spawn_blocking(move || sent_raw(&address, words.as_bytes())).await.unwrap()
    };
    let made = async || {
        let all = server.get(personas).await;
        all["items"].as_array().unwrap().iter().filter(|one| one["name"] == "Made").count()
    };
    let taken = ask("Transfer-Encoding: chunked").await;
    assert!(taken.starts_with("HTTP/1.1 201 "), "{taken}");
    assert_eq!((made().await, taken.matches("HTTP/1.1 ").count()), (1, 1), "{taken}");
    for lengths in [
        "Content-Length: 6\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 6",
        "transfer-encoding: chunked\r\nX: y\r\ncontent-length: 0",
        "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: identity, chunked",
        "Transfer-Encoding: chunked, chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: xchunked",
        "Transfer-Encoding: chunked, identity",
        "Transfer-Encoding: identity\r\nContent-Length: 6",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: x",
        "Transfer-Encoding : chunked\r\nContent-Length: 5",
        "Transfer-Encoding:\tchunked\r\nContent-Length: 5",
        "Transfer-Encoding: \x0bchunked\r\nContent-Length: 5",
        "X: a\r\n Transfer-Encoding: chunked\r\nContent-Length: 5",
        "X: a\rTransfer-Encoding: chunked\r\nContent-Length: 5",
        "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: 5, 6",
        "Content-Length: +5",
        "Content-Length: -5",
        "Content-Length: 0x5",
        "Content-Length: 5 5",
        "Content-Length: 5;x",
        "Content-Length: 5.0",
        "Content-Length: 99999999999999999999",
        "Content-Length: \u{ff15}",
        "Content-Length: 5\r\nTransfer-Encoding: gzip",
        "Transfer-Encoding: gzip",
        "Transfer-Encoding: \"chunked\"",
        "Transfer-Encoding: chunked\0\r\nContent-Length: 5",
        "Transfer-Encoding\0: chunked\r\nContent-Length: 5",
        "Transfer Encoding: chunked\r\nContent-Length: 5",
        ": chunked\r\nContent-Length: 5",
    ] {
        let shown = lengths.escape_debug().to_string();
        let answer = ask(lengths).await;

        // One answer, and the connection is closed: what came after was never read as a request.
        assert!(answer.starts_with("HTTP/1.1 400 "), "{shown}: {answer}");
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{shown}: {answer}");
        assert_eq!(made().await, 1, "{shown}: it was made");
    }
}
