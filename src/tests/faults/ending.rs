//! Asked to end, as an operator asks: what goes on is let come to its end, or told to repeat.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

use super::{brief, invariants};
use crate::restart::{Server, script};

/// All ends within this.
const AT_MOST: Duration = Duration::from_secs(10);

#[tokio::test]
async fn a_run_that_is_almost_done_comes_to_its_end_before_the_server_does() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let short = json!([[{"repeat": {"times": 60, "text": "word ", "every_ms": 20}}]]);
    let script = script(folder.path(), &short);
    let server = Server::start(&data, &script).await;
    let mut chat = server.chat("Tell me something.").await;
    chat.words(3).await;

    let ((status, took), last) = tokio::join!(server.terminate(), async {
        loop {
            let event = chat.next().await;
            if ["done", "error"].contains(&event["type"].as_str().unwrap()) {
                return event;
            }
        }
    });

    assert_eq!((status.code(), &last["type"]), (Some(0), &json!("done")));
    assert!(took < AT_MOST, "{took:?}");
    let server = Server::start(&data, &script).await;
    let history = server.get("/api/persona-agent/history?personaId=optimist").await;
    assert_eq!(history["turns"][1]["content"], "word ".repeat(60));
    drop(server);
    invariants::hold(&data.join("greenroom.db")).await;
}

#[tokio::test]
async fn a_run_without_an_end_is_broken_off_with_a_sentence_and_can_be_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let endless = json!([[{"repeat": {"times": 1_000_000, "text": "word ", "every_ms": 5}}]]);
    let script = script(folder.path(), &endless);
    let server = Server::start(&data, &script).await;
    let mut chat = server.chat("Tell me everything.").await;
    chat.words(3).await;
    let history = server.get("/api/persona-agent/history?personaId=optimist").await;
    let run = history["runId"].as_str().unwrap().to_owned();
    let mut watcher = server.send("GET", &format!("/api/runs/{run}/events"), None).await;
    let mut news = server.send("GET", "/api/live", None).await;

    let ((status, took), heard, ended) = tokio::join!(
        server.terminate(),
        async {
            let mut heard = String::new();
            watcher.read_to_string(&mut heard).await.unwrap();
            heard
        },
        async {
            let mut heard = String::new();
            news.read_to_string(&mut heard).await.unwrap();
            heard
        },
    );

    assert_eq!(status.code(), Some(0));
    assert!(took < AT_MOST, "{took:?}");
    // It ends as streams do, and says why.
    let last = ended.rsplit("data: ").next().unwrap();
    assert!(ended.contains("event: shutdown\n") && last.starts_with("{}\n\n"), "{ended}");
    let last = heard.lines().rev().find_map(|line| line.strip_prefix("data: ")).unwrap();
    let last: Value = serde_json::from_str(last).unwrap();
    assert_eq!((&last["type"], &last["status"]), (&json!("ended"), &json!("interrupted")));
    let told = last["error"].to_string();
    assert!(told.contains("What was said is kept; ask again."), "{last}");
    // It was kept before the end, and needs no recovery.
    let left = "select count(*) from run where status in ('queued', 'running')";
    assert_eq!(invariants::number(&data.join("greenroom.db"), left).await, 0);
    invariants::hold(&data.join("greenroom.db")).await;
    let server = Server::start(&data, &brief(folder.path())).await;
    let state = server.get(&format!("/api/runs/{run}")).await;
    assert_eq!((&state["status"], &state["canRetry"]), (&json!("interrupted"), &json!(true)));
}

#[tokio::test]
async fn a_server_with_nothing_to_do_ends_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("data"), &brief(folder.path())).await;

    let (status, took) = server.terminate().await;

    assert_eq!(status.code(), Some(0));
    assert!(took < Duration::from_secs(3), "{took:?}");
}
