//! Walks through a tree of messages: SQLite shall find each step by its key.

use std::{fs, path::Path};

use sqlx::{ConnectOptions, SqliteConnection, sqlite::SqliteConnectOptions};

use crate::support::{On, store};

/// The statements of the store that walk, as they are sent.
fn walks() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store");
    let mut texts = Vec::new();
    for file in ["branch.rs", "conversation.rs", "tree.rs"] {
        texts.push(fs::read_to_string(folder.join(file)).unwrap());
    }
    let literals = |text: &str, before: &str| -> Vec<String> {
        let pieces = text.split(before).skip(1);
        pieces
            .filter_map(|piece| piece.trim_start().strip_prefix('"'))
            .map(|piece| piece.split('"').next().unwrap().to_owned())
            .collect()
    };
    let begins = |statement: &String| statement.starts_with("with recursive");
    let upwards = literals(&texts[0], "concat!(").into_iter().find(begins).unwrap();
    let mut found = Vec::new();
    for text in &texts {
        found.extend(literals(text, "&str =").into_iter().filter(begins));
        found.extend(literals(text, "upwards!(").iter().map(|rest| format!("{upwards}{rest}")));
    }
    found
}

async fn plan(connection: &mut SqliteConnection, statement: &str) -> Vec<String> {
    let sql = sqlx::AssertSqlSafe(format!("explain query plan {statement}"));
    let rows: Vec<(i64, i64, i64, String)> =
        sqlx::query_as(sql).fetch_all(connection).await.unwrap();
    rows.into_iter().map(|(_, _, _, step)| step).collect()
}

#[tokio::test]
async fn no_walk_goes_through_more_than_its_way() {
    let (_store, folder) = store(On::Sqlite).await;
    let file = folder.as_ref().unwrap().path().join("greenroom.db");
    let mut connection = SqliteConnectOptions::new().filename(file).connect().await.unwrap();
    let walks = walks();
    assert!(walks.len() >= 10, "only {} were found", walks.len());

    for statement in walks {
        for step in plan(&mut connection, &statement).await {
            let of_messages = step.starts_with("SCAN m") || step.starts_with("SEARCH m ");
            let by_key = step.contains("message_id=?") || step.contains("parent_id=?");
            assert!(!of_messages || by_key, "{step}\n{statement}");
        }
    }
}
