//! Trees that nothing here can write: whatever is in the database, it can be read.

use greenroom::changes::Gate;
use serde_json::{Value, json};
use sqlx::{ConnectOptions, SqliteConnection, sqlite::SqliteConnectOptions};

use super::{CHATS, path, post, text, words};
use crate::support::{House, On, error, store};

/// Puts a message behind another, without asking whether that can be.
async fn hang(database: &mut SqliteConnection, message: &str, parent: &str) {
    let sql = "update message set parent_id = $2 where message_id = $1";
    let done = sqlx::query(sql).bind(message).bind(parent).execute(database).await.unwrap();
    assert_eq!(done.rows_affected(), 1);
}

#[tokio::test]
async fn circles_and_loose_ends_do_not_break_reading() {
    let (store, folder) = store(On::Sqlite).await;
    let file = folder.as_ref().unwrap().path().join("greenroom.db");
    let house = House::around(store, folder);
    Gate::found_space(&house.state.store, &house.state.scope, "Home").await.unwrap();
    let said = |id: &str, parent: Value, role: &str| json!({"id": id, "parentId": parent, "role": role, "content": format!("Words {id}")});
    let messages = json!([
        said("a", Value::Null, "user"),
        said("b", json!("a"), "assistant"),
        said("c", json!("b"), "user"),
        said("d", Value::Null, "user"),
        said("e", json!("d"), "assistant"),
    ]);
    let chat = json!({"format": "greenroom-chat", "personaId": "optimist", "messages": messages});
    let chat = post(&house, &format!("{CHATS}/import"), chat).await.good();
    let chat = format!("{CHATS}/{}", text(&chat["id"]));
    let tree = house.get(&format!("{chat}/tree")).await.good();
    let ids: Vec<String> =
        tree["items"].as_array().unwrap().iter().map(|node| text(&node["id"])).collect();
    let [a, b, c, d, e] = &ids[..] else { panic!("{tree}") };
    let options = SqliteConnectOptions::new().filename(file).foreign_keys(false);
    let mut database = options.connect().await.unwrap();
    hang(&mut database, a, c).await;
    hang(&mut database, d, "nowhere").await;

    // Of a circle, a page shows as much as of any other path.
    let round = path(&house, &chat, &format!("leaf={c}")).await;
    assert_eq!(words(&round).len(), 50);
    for said in ["Words a", "Words b", "Words c"] {
        assert!(words(&round).iter().any(|words| words == said), "{said}");
    }
    let loose = path(&house, &chat, &format!("leaf={e}")).await;
    assert_eq!(words(&loose), ["Words d", "Words e"]);
    assert_eq!(words(&path(&house, &chat, &format!("before={d}")).await), Vec::<String>::new());
    assert_eq!(words(&path(&house, &chat, "").await), ["Words d", "Words e"]);

    assert_eq!(
        house.get(&format!("{chat}/tree")).await.good()["items"].as_array().unwrap().len(),
        5
    );
    let page = chat.replace("/api", "");
    for query in [
        String::new(),
        format!("leaf={c}"),
        format!("before={a}"),
        format!("see={a}"),
        format!("see={d}&stay={e}"),
        "map=1".into(),
        format!("map=1&around={b}&leaf={c}"),
        "map=1&find=words".into(),
        format!("compare={c}&with={e}"),
        format!("compare={c}&with={b}"),
    ] {
        let shown = house.get(&format!("{page}?{query}")).await;
        assert_eq!(shown.status, 200, "{query}: {}", shown.text);
        assert!(shown.text.contains("Words"), "{query}: {}", shown.text);
    }
    for leaf in [c, e] {
        let markdown = house.get(&format!("{chat}/markdown?leaf={leaf}")).await;
        assert_eq!(markdown.status, 200);
        assert!(markdown.text.contains("Words"), "{}", markdown.text);
    }
    // All of it goes out, and what cannot be does not come in again.
    let file = house.get(&format!("{chat}/export")).await.good();
    assert_eq!(file["messages"].as_array().unwrap().len(), 5);
    let refused = post(&house, &format!("{CHATS}/import"), file).await;
    assert_eq!(refused.error(), error(422, "invalid", "messages"));
}

#[tokio::test]
async fn a_file_that_fails_in_the_middle_leaves_nothing_behind() {
    let (store, folder) = store(On::Sqlite).await;
    let file = folder.as_ref().unwrap().path().join("greenroom.db");
    let house = House::around(store, folder);
    Gate::found_space(&house.state.store, &house.state.scope, "Home").await.unwrap();
    let mut database = SqliteConnectOptions::new().filename(file).connect().await.unwrap();
    let full = "create trigger full before insert on message
        when (select count(*) from message) >= 3 begin select raise(abort, 'full'); end";
    sqlx::query(full).execute(&mut database).await.unwrap();
    let said = |at: usize| json!({"id": format!("m{at}"), "parentId": null, "role": "user", "content": "Marzipan"});
    let messages: Vec<Value> = (0..9).map(said).collect();
    let chat = json!({"format": "greenroom-chat", "personaId": "optimist", "title": "Sweets", "messages": messages});

    let refused = post(&house, &format!("{CHATS}/import"), chat.clone()).await;

    assert!(refused.status.as_u16() >= 500, "{}", refused.text);
    assert_eq!(house.get(CHATS).await.good()["items"], json!([]));
    assert_eq!(house.get("/api/search?q=sweets").await.good()["items"], json!([]));
    sqlx::query("drop trigger full").execute(&mut database).await.unwrap();
    let made = post(&house, &format!("{CHATS}/import"), chat).await.good();
    let tree = house.get(&format!("{CHATS}/{}/tree", text(&made["id"]))).await.good();
    assert_eq!(tree["items"].as_array().unwrap().len(), 9);
}
