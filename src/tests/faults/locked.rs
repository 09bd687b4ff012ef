//! Another program that holds the database.

use std::time::Duration;

use axum::http::header;
use futures::{StreamExt, stream};
use greenroom::{
    accounts::Secret,
    domain::{
        account::{Role, Session, TokenScope},
        timestamp::Timestamp,
    },
    store::now,
};
use serde_json::json;
use tokio::time::timeout;

use super::{OPTIMIST, answered, brief, invariants, rename};
use crate::{
    restart::Server,
    support::{House, on_both},
};

on_both!(a_link_that_reads_writes_nothing);

#[tokio::test]
async fn a_writer_waits_for_another_program_and_gives_up_in_time() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let file = data.join("greenroom.db");
    let server = Server::start(&data, &brief(folder.path())).await;
    let chat = answered(&server).await;
    let mut foreign = invariants::open(&file).await;
    let lock = async |foreign: &mut sqlx::SqliteConnection, statement: &'static str| {
        sqlx::query(statement).execute(foreign).await.unwrap();
    };

    lock(&mut foreign, "begin immediate").await;
    {
        let renaming = rename(&server, "Patient");
        tokio::pin!(renaming);
        let waits = timeout(Duration::from_secs(2), &mut renaming).await;
        assert!(waits.is_err(), "it must not write while another program does");
        assert_eq!(server.ask("GET", OPTIMIST, None).await.0, 200, "reading goes on");
        lock(&mut foreign, "rollback").await;
        assert_eq!(renaming.await, 200);
    }
    lock(&mut foreign, "begin immediate").await;
    let late = json!({"name": "Too late"});
    let ((status, told), (shown, page)) = tokio::join!(
        server.ask("PUT", OPTIMIST, Some(&late)),
        // By a device that was not there before, and whose place cannot be kept.
        server.ask("GET", &chat, None)
    );
    assert_eq!(status, 503, "{told}");
    assert!(told.contains("Nothing was changed; try again"), "{told}");
    assert!(shown == 200 && page.contains("Well?"), "{shown} {page}");
    lock(&mut foreign, "rollback").await;
    drop(foreign);

    let persona = server.get(OPTIMIST).await;
    assert_eq!((&persona["name"], &persona["revision"]), (&"Patient".into(), &2.into()));
    assert_eq!(rename(&server, "Again").await, 200);
    drop(server);
    invariants::hold(&file).await;
}

#[tokio::test]
async fn many_who_write_and_more_who_read_are_all_answered() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = Server::start(&data, &brief(folder.path())).await;
    let reads = ["/api/storage/personas", "/api/storage/pages", "/api/chats", OPTIMIST];

    // Four reads for each write, forty of all at once.
    let answered: Vec<(usize, u16, String)> = stream::iter(0..1000)
        .map(|at| {
            let (server, page) = (&server, json!({"title": format!("Page {at}"), "body": "x"}));
            async move {
                let (status, told) = match at % 5 {
                    0 => server.ask("POST", "/api/storage/pages", Some(&page)).await,
                    read => server.ask("GET", reads[read - 1], None).await,
                };
                (at, status, told)
            }
        })
        .buffer_unordered(40)
        .collect()
        .await;

    for (at, status, told) in answered {
        assert_eq!(status, if at % 5 == 0 { 201 } else { 200 }, "{told}");
    }
    drop(server);
    let file = data.join("greenroom.db");
    invariants::hold(&file).await;
    let pages = "select count(*) from entry where title like 'Page %'";
    assert_eq!(invariants::number(&file, pages).await, 200);
}

#[tokio::test]
async fn whoever_has_an_account_reads_while_another_program_writes() {
    let house = House::new().await.with_accounts(&[("ann", Role::Owner)]).await;
    let (now, day) = (now().0, 86_400_000);
    let session = |held: &str, used: i64| Session {
        hash: Secret::given(held).hash(),
        user: "ann".into(),
        space: "home".into(),
        browser: String::new(),
        address: String::new(),
        created_at: Timestamp(now - 20 * day),
        used_at: Timestamp(used),
        expires_at: Timestamp(now + day),
    };
    let mut link = house.state.store.write_accounts().await.unwrap();
    link.put_session(&session("of-yesterday", now - day)).await.unwrap();
    link.put_session(&session("over", now - 8 * day)).await.unwrap();
    link.commit().await.unwrap();
    let browser = house.seen_by(header::COOKIE, "sid=of-yesterday");
    let over = house.seen_by(header::COOKIE, "sid=over");
    let program = house.with_token("ann", TokenScope::Read).await;
    let mut foreign = invariants::open(&house.database_file()).await;

    sqlx::query("begin immediate").execute(&mut foreign).await.unwrap();
    assert_eq!(browser.get(OPTIMIST).await.status, 200);
    assert_eq!(program.get(OPTIMIST).await.status, 200);
    assert_eq!(over.get(OPTIMIST).await.status, 401);
    sqlx::query("rollback").execute(&mut foreign).await.unwrap();

    // It is noted the next time.
    assert_eq!(browser.get(OPTIMIST).await.status, 200);
    let sessions = house.state.accounts.sessions(&"ann".into()).await.unwrap();
    assert!(sessions[0].used_at.0 >= now, "{sessions:?}");
}

async fn a_link_that_reads_writes_nothing(house: House) {
    let mut link = house.read().await;
    link.set_preference("theme", "dark").await.unwrap_err();
    drop(link);
    let mut link = house.read().await;
    link.end_session(&"nobody".into(), "none").await.unwrap_err();
    drop(link);

    // The same connections write when they are asked to.
    let mut link = house.state.store.write(&house.state.scope.space).await.unwrap();
    link.set_preference("theme", "dark").await.unwrap();
    link.commit().await.unwrap();
    let mut link = house.read().await;
    link.set_preference("theme", "light").await.unwrap_err();
}
