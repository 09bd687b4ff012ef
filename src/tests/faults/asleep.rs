//! A process that sleeps for longer than others wait for it, and wakes: what it had begun was ended by them, and
//! what it does from then on is refused.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};
use tokio::time::timeout;

use super::OPTIMIST;
use crate::{
    restart::{Server, script},
    support::postgres_database,
};

const PATIENCE: Duration = Duration::from_secs(60);

fn signal(server: &Server, signal: Signal) {
    let pid = Pid::from_raw(server.pid().try_into().unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// Puts a process to sleep while it is not in the middle of a transaction.
async fn put_to_sleep(server: &Server, database: &str) {
    const BUSY: &str = "select count(*) from pg_stat_activity where datname = current_database()
        and pid <> pg_backend_pid() and state in ('active', 'idle in transaction')";
    let mut look = PgConnection::connect(database).await.unwrap();
    loop {
        signal(server, Signal::STOP);
        let busy: i64 = sqlx::query_scalar(BUSY).fetch_one(&mut look).await.unwrap();
        if busy == 0 {
            return;
        }
        signal(server, Signal::CONT);
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_server_that_slept_for_too_long_writes_nothing_more_for_what_others_ended() {
    let folder = tempfile::tempdir().unwrap();
    let rename = json!({"call": {"name": "update_persona_name", "input": {"name": "Too late"}}});
    let words = json!({"repeat": {"times": 3, "text": "word ", "every_ms": 1000}});
    let script = script(folder.path(), &json!([[words, rename], [{"text": "Renamed."}]]));
    let database = postgres_database().await;
    let variables = [("DATABASE_URL", database.clone()), ("GREENROOM_SILENCE", "2".into())];
    let start = async |name: &str| {
        let server = Server::start_with(&folder.path().join(name), &script, &variables).await;
        let ready = async { while server.ask("GET", OPTIMIST, None).await.0 != 200 {} };
        timeout(PATIENCE, ready).await.unwrap();
        server
    };
    let (one, two) = (start("one").await, start("two").await);
    let mut chat = one.chat("Rename it.").await;
    chat.words(1).await;
    let history = two.get("/api/persona-agent/history?personaId=optimist").await;
    let run = format!("/api/runs/{}", history["runId"].as_str().unwrap());

    let before = two.get(OPTIMIST).await;
    put_to_sleep(&one, &database).await;
    let ended = async {
        loop {
            let state = two.get(&run).await;
            if state["status"] != "running" {
                return state;
            }
        }
    };
    let ended = timeout(PATIENCE, ended).await.unwrap();
    assert_eq!(ended["status"], "interrupted");
    let events = format!("{run}/events");
    let (_, told) = two.ask("GET", &events, None).await;
    signal(&one, Signal::CONT);
    // Whoever watches there hears the end that the other one wrote.
    let last = async {
        loop {
            let event = chat.next().await;
            if ["done", "error"].iter().any(|kind| event["type"] == *kind) {
                return event;
            }
        }
    };
    let last: Value = timeout(PATIENCE, last).await.unwrap();

    assert_eq!(last["type"], "error", "{last}");
    assert_eq!(two.get(OPTIMIST).await, before);
    assert_eq!(two.get(&run).await, ended);
    assert_eq!(two.ask("GET", &events, None).await.1, told, "nothing comes after the end");
    let pending = two.get("/api/pending-changes?state=pending").await;
    assert_eq!(pending["items"], json!([]));
    // Both go on.
    one.chat("And now?").await.words(1).await;
}
