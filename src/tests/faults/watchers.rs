//! Very many who watch and never read.

use std::{
    fs,
    time::{Duration, Instant},
};

use futures::{StreamExt, stream};
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt},
    net::TcpSocket,
};

use crate::restart::{Server, script};

const WATCHERS: usize = 2000;
/// What each of them may take of the server's memory.
const BYTES_EACH: usize = 256 * 1024;

fn memory(pid: u32) -> usize {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<usize>().unwrap() * 1024
}

#[tokio::test]
async fn two_thousand_who_never_read_slow_nobody_and_cost_little() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let long = json!([[{"repeat": {"times": 4_000, "text": "word ", "every_ms": 0}}]]);
    let server = Server::start(&data, &script(folder.path(), &long)).await;
    let said = json!({"personaId": "optimist", "message": "Tell me everything."});
    let mut asking = server.send("POST", "/api/persona-agent/chat", Some(&said)).await;
    let run = loop {
        let mut line = String::new();
        assert!(asking.read_line(&mut line).await.unwrap() > 0, "the answer names no run");
        if let Some(run) = line.trim_end().strip_prefix("greenroom-run-id: ") {
            break run.to_owned();
        }
    };
    let before = memory(server.pid());

    let address: std::net::SocketAddr = server.address().parse().unwrap();
    let silent: Vec<_> = stream::iter(0..WATCHERS)
        .map(|at| {
            let path: String =
                if at % 2 == 0 { format!("/api/runs/{run}/events") } else { "/api/live".into() };
            async move {
                let socket = TcpSocket::new_v4().unwrap();
                socket.set_recv_buffer_size(4096).unwrap();
                let mut stream = socket.connect(address).await.unwrap();
                let head = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\n\r\n");
                stream.write_all(head.as_bytes()).await.unwrap();
                let mut first = [0; 15];
                stream.read_exact(&mut first).await.unwrap();
                assert_eq!(&first, b"HTTP/1.1 200 OK");
                stream
            }
        })
        .buffer_unordered(16)
        .collect()
        .await;

    let began = Instant::now();
    let (status, _) = server.ask("GET", super::OPTIMIST, None).await;
    assert_eq!(status, 200);
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(super::rename(&server, "Still there").await, 200);
    let ended =
        async { while server.get(&format!("/api/runs/{run}")).await["status"] != "done" {} };
    tokio::time::timeout(Duration::from_secs(60), ended).await.expect("the run waits for watchers");
    let grown = memory(server.pid()).saturating_sub(before);
    assert!(grown < WATCHERS * BYTES_EACH, "{} MiB more", grown / 1024 / 1024);
    drop(silent);
    assert_eq!(super::rename(&server, "And after").await, 200);
}
