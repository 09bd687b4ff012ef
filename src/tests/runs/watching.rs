//! Watchers that come back, and watchers that do not look.

use std::time::Duration;

use axum::http::Method;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    time::timeout,
};

use super::{run, saying, watching};
use crate::support::{ADDRESS, House};

/// Longer than anything here should take.
const PATIENCE: Duration = Duration::from_secs(120);

/// Opens the events of a run and reads nothing but the first line: what comes fills the connection.
async fn open_and_look_away(house: &House, run: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut stream = socket.connect(house.listening().await).await.unwrap();
    let head = format!("GET /api/runs/{run}/events HTTP/1.1\r\nhost: {ADDRESS}\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut first = [0; 15];
    stream.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 200 OK");
    stream
}

#[tokio::test]
async fn a_watcher_that_never_reads_does_not_slow_a_run() {
    let house = House::new().await.playing(&json!({"answers": [
        [{"repeat": {"times": 50_000, "text": "word ", "every_ms": 0}}],
    ]}));
    let id = house.stream(saying("Tell me everything")).await.run();
    let silent = open_and_look_away(&house, &id).await;

    let run = id.as_str().into();
    let ended = house.state.agent.ended(&house.state.scope, &run);
    let ended = timeout(PATIENCE, ended).await.expect("the run waits for a watcher").unwrap();

    assert_eq!(ended.status.word(), "done");
    let history = house.get("/api/persona-agent/history?personaId=optimist").await.good();
    assert_eq!(history["turns"][1]["content"].as_str().unwrap().len(), 5 * 50_000);
    drop(silent);
}

#[tokio::test]
async fn whoever_comes_back_in_the_middle_goes_on_after_the_last_event_they_saw() {
    let house = House::new().await.playing(&json!({"answers": [
        [{"repeat": {"times": 100, "text": "word ", "every_ms": 0}}, "stall"],
    ]}));
    let id = house.stream(saying("Tell me a lot")).await.run();
    let mut first = house.stream(watching(&id, 0)).await;
    let mut seen: Vec<(u64, Value)> = Vec::new();
    while seen.iter().filter(|(_, event)| event["type"] == "text").count() < 100 {
        let (seq, event) = first.next().await.unwrap();
        seen.push((seq.unwrap(), event));
    }
    assert_eq!(run(&house, &id).await["status"], "running");

    // A browser says it in this header, whatever stood in the address at first.
    let mut back = watching(&id, 3);
    back.headers_mut().insert("last-event-id", 60.into());
    let mut back = house.stream(back).await;

    for (seq, event) in seen.iter().filter(|(seq, _)| *seq > 60) {
        assert_eq!(back.next().await, Some((Some(*seq), event.clone())));
    }
    house.call(Method::POST, &format!("/api/runs/{id}/stop"), json!({})).await.good();
    assert_eq!(back.until("ended").await["status"], "stopped");
    assert_eq!(back.next().await, None);
}
