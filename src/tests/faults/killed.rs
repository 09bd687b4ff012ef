//! Ended without warning, again and again, in the middle of what must not be done by halves.

use std::{path::Path, process::Command};

use futures::{StreamExt, stream::FuturesUnordered};
use greenroom::{
    changes::Gate,
    domain::{
        actor::Actor,
        change::{Change, Op},
        id::PageId,
        persona::Tier,
    },
    store::{Store, new_id, newest_migration},
};
use serde_json::{Value, json};

use super::{Chance, brief, invariants, rounds};
use crate::restart::{Server, arguments, script};

/// How many drafts are decided at once.
const AT_ONCE: usize = 6;

/// Puts so many drafts for new pages before the person.
async fn propose(file: &Path, count: usize) {
    let store = Store::open_sqlite(file).await.unwrap();
    let actor = Actor::Persona {
        persona: "optimist".into(),
        user: "owner".into(),
        run: None,
        tier: Tier::Suggest,
    };
    let gate = Gate::new(store, "home".into(), actor);
    let drafts = (0..count).map(|at| {
        let page: PageId = new_id();
        Change::new(&page, Op::Create).set("title", format!("Draft {at}")).set("body", "x")
    });
    gate.submit_all(drafts.collect()).await.unwrap();
}

#[tokio::test]
async fn killed_while_drafts_are_accepted_each_is_accepted_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let (data, script) = (folder.path().join("data"), brief(folder.path()));
    let file = data.join("greenroom.db");
    drop(Server::start(&data, &script).await);
    let (mut told, mut chance) = (0, Chance(7));
    for round in 0..rounds() {
        propose(&file, 24).await;
        let mut server = Server::start(&data, &script).await;
        let waiting = server.get("/api/pending-changes?state=pending&limit=200").await;
        let ids: Vec<String> = waiting["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|draft| draft["id"].as_str().unwrap().to_owned())
            .collect();
        // Somewhere in the middle, each time somewhere else.
        let kill_after = chance.below(20);
        let asked = &server;
        let accept = |id: String| async move {
            let path = format!("/api/pending-changes/{id}/approve");
            asked.ask("POST", &path, Some(&json!({}))).await.0
        };
        let mut done = 0;
        {
            let mut queue = ids.into_iter();
            let mut going_on: FuturesUnordered<_> =
                queue.by_ref().take(AT_ONCE).map(accept).collect();
            while done < kill_after
                && let Some(status) = going_on.next().await
            {
                assert_eq!(status, 200);
                done += 1;
                going_on.extend(queue.next().map(accept));
            }
            // The others are on their way right now.
        }
        server.kill();
        told += done;

        invariants::hold(&file).await;
        let applied = invariants::number(
            &file,
            "select count(*) from pending_changes where state = 'applied' and op = 'create'
                and entity_type = 'page' and proposed_by_kind = 'persona'",
        )
        .await;
        assert!(applied >= told as i64, "round {round}: {applied} of {told} that were told");
    }
}

#[tokio::test]
async fn killed_while_the_tables_are_brought_up_to_date_it_goes_on_at_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let script = brief(folder.path());
    let apart = newest_migration() / i64::try_from(rounds()).unwrap() + 1;
    for round in (1..=newest_migration()).rev().step_by(usize::try_from(apart).unwrap()) {
        let data = folder.path().join(format!("data-{round}"));
        let file = data.join("greenroom.db");
        let mut process = Command::new(env!("CARGO_BIN_EXE_greenroom"))
            .args(arguments(&data, &script))
            .env("DATABASE_URL", "")
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        // Until it is at this migration, or past it.
        while at(&file).await < round {
            tokio::task::yield_now().await;
        }
        process.kill().unwrap();
        process.wait().unwrap();

        let server = Server::start(&data, &script).await;

        assert_eq!(server.ask("GET", "/readyz", None).await.0, 200);
        assert_eq!(server.ask("GET", super::OPTIMIST, None).await.0, 200);
        drop(server);
        assert_eq!(at(&file).await, newest_migration());
        invariants::hold(&file).await;
    }
}

/// The migration that a database is at, if there is one yet.
async fn at(file: &Path) -> i64 {
    use sqlx::Connection;
    if !file.is_file() {
        return 0;
    }
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(file);
    let Ok(mut wire) = sqlx::SqliteConnection::connect_with(&options).await else { return 0 };
    let version: Result<Option<i64>, _> =
        sqlx::query_scalar("select max(version) from _sqlx_migrations where success")
            .fetch_one(&mut wire)
            .await;
    version.ok().flatten().unwrap_or_default()
}

#[tokio::test]
async fn killed_in_the_middle_of_answers_it_keeps_what_was_asked_and_answers_again() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let endless = json!([[{"repeat": {"times": 1_000_000, "text": "word ", "every_ms": 1}}]]);
    let script = script(folder.path(), &endless);
    let (mut said, mut chance) = (0, Chance(11));
    let mut broken: Option<String> = None;
    for _ in 0..rounds() {
        let mut server = Server::start(&data, &script).await;
        // What broke off last time can be repeated at once; every other time something new is said.
        let run = match broken.take() {
            Some(run) => {
                let path = format!("/api/runs/{run}/retry");
                let (status, again) = server.ask("POST", &path, Some(&json!({}))).await;
                assert_eq!(status, 201, "{again}");
                let again: Value = serde_json::from_str(&again).unwrap();
                let run = again["id"].as_str().unwrap().to_owned();
                server.watch(&run).await.words(1 + chance.below(40)).await;
                run
            }
            None => {
                said += 1;
                let mut chat = server.chat("Tell me everything.").await;
                chat.words(1 + chance.below(40)).await;
                let history = "/api/persona-agent/history?personaId=optimist";
                let run = server.get(history).await["runId"].as_str().unwrap().to_owned();
                broken = Some(run.clone());
                run
            }
        };
        server.kill();
        let file = data.join("greenroom.db");
        invariants::hold(&file).await;
        let left = "select count(*) from run where status in ('queued', 'running')";
        assert!(invariants::number(&file, left).await <= 1, "{run}");
    }

    let server = Server::start(&data, &script).await;

    let history = server.get("/api/persona-agent/history?personaId=optimist").await;
    let turns = history["turns"].as_array().unwrap();
    let asked = turns.iter().filter(|turn| turn["type"] == "user").count();
    assert_eq!((asked, &history["runId"]), (said, &Value::Null));
    server.chat("And now?").await.words(3).await;
}
