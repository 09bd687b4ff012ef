//! What must hold of a database whatever happened.

use std::path::Path;

use sqlx::{Column, Connection, Row, SqliteConnection, sqlite::SqliteConnectOptions};

const QUERIES: &str = include_str!("invariants.sql");

pub async fn open(file: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(file);
    SqliteConnection::connect_with(&options).await.unwrap()
}

/// Looks at a database that nobody writes to: it is whole, and nothing in it contradicts itself. Runs that
/// were left may still be called running until the next start.
pub async fn hold(file: &Path) {
    let mut wire = open(file).await;
    let checked: Vec<String> =
        sqlx::query_scalar("pragma integrity_check").fetch_all(&mut wire).await.unwrap();
    assert_eq!(checked, ["ok"]);
    let mut asked = 0;
    for query in QUERIES.split(';').map(str::trim).filter(|query| !query.is_empty()) {
        let found = sqlx::query(query).fetch_all(&mut wire).await;
        let found = found.unwrap_or_else(|error| panic!("{error}: {query}"));
        let shown: Vec<String> = found
            .iter()
            .take(3)
            .map(|row| {
                let column = row.columns().first().unwrap().name().to_owned();
                format!("{column} {:?}", row.try_get::<String, _>(0))
            })
            .collect();
        assert!(found.is_empty(), "{} rows, {shown:?}: {query}", found.len());
        asked += 1;
    }
    assert!(asked >= 14, "only {asked} queries");
}

/// The first column of the first row.
pub async fn number(file: &Path, query: &'static str) -> i64 {
    sqlx::query_scalar(query).fetch_one(&mut open(file).await).await.unwrap()
}

#[tokio::test]
async fn the_queries_find_what_must_not_be() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data/greenroom.db");
    drop(
        crate::restart::Server::start(&folder.path().join("data"), &super::brief(folder.path()))
            .await,
    );
    hold(&file).await;
    let mut wire = open(&file).await;
    let broken = "delete from audit where audit_id = (select max(audit_id) from audit)";
    sqlx::query(broken).execute(&mut wire).await.unwrap();
    drop(wire);

    let told = tokio::spawn(async move { hold(&file).await }).await.unwrap_err();

    assert!(told.is_panic());
}
