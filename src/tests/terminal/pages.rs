//! Sessions of the terminal in the browser: listed, read, renamed, deleted and brought back.

use axum::http::Method;
use serde_json::json;

use crate::support::House;

#[tokio::test]
async fn a_session_is_listed_read_and_brought_back() {
    let house = House::new().await;
    let empty = house.get("/terminal").await;
    assert!(empty.text.contains("No sessions yet"), "{}", empty.text);
    let prompt = json!({"text": "You are a guide.", "source": "file", "path": "guide.md"});
    let new = json!({
        "description": "Savings",
        "settings": {"model": "demo", "windowSize": 5, "shouldTruncateResults": true, "systemPrompt": prompt},
    });
    let session = house.call(Method::POST, "/api/terminal/sessions", new).await.good();
    let id = session["id"].as_str().unwrap();
    let path = format!("/api/terminal/sessions/{id}/messages");
    let said =
        house.call(Method::POST, &path, json!({"content": "What is **2 + 2**?"})).await.good();
    let run = said["run"]["id"].as_str().unwrap().into();
    house.state.agent.ended(&house.state.scope, &run).await.unwrap();

    assert!(house.get("/chats").await.text.contains("href=\"/terminal\""));
    let list = house.get("/terminal").await.text;
    assert!(list.contains("Savings") && list.contains(&format!("/terminal/{id}")), "{list}");
    assert!(list.contains("1 turn"), "{list}");
    let page = house.get(&format!("/terminal/{id}")).await.text;
    for shown in
        ["<strong>2 + 2</strong>", "You are a guide.", "guide.md", "greenroom chat --session"]
    {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    let from = format!("/terminal/{id}");
    house.form("/fn/describe_terminal", &from, &[("id", id), ("description", "Pension")]).await;
    assert!(house.get(&from).await.text.contains("Pension"));
    house.form("/fn/delete_terminal", "/terminal", &[("id", id)]).await;
    assert!(!house.get("/terminal").await.text.contains("Pension"));
    assert!(house.get("/terminal?deleted=1").await.text.contains("Bring back"));
    let bin = house.get("/bin").await.text;
    assert!(bin.contains("Pension") && bin.contains("session of the terminal"), "{bin}");
    let named = [("kind", "terminal"), ("id", id)];
    house.form("/fn/restore_from_bin", "/bin", &named).await;
    assert!(house.get("/terminal").await.text.contains("Pension"));
    house.form("/fn/delete_terminal", "/terminal", &[("id", id)]).await;
    house.form("/fn/delete_terminal", "/terminal", &[("id", id), ("back", "true")]).await;
    assert!(house.get("/terminal").await.text.contains("Pension"));
    assert_eq!(house.get("/terminal/nothing").await.status, 404);
    house.form("/fn/delete_terminal", "/terminal", &[("id", id)]).await;
    house.form("/fn/purge_from_bin", "/bin", &named).await;
    assert!(!house.get("/bin").await.text.contains("Pension"));
    assert!(!house.get("/terminal?deleted=1").await.text.contains("Pension"));
}

#[tokio::test]
async fn a_session_without_a_name_is_known_by_the_words_that_began_it() {
    let house = House::new().await;
    let settings = json!({"model": "demo", "windowSize": 5, "shouldTruncateResults": true});
    let new = json!({"settings": settings, "overrides": {}});
    let session = house.call(Method::POST, "/api/terminal/sessions", new).await.good();
    let path = format!("/api/terminal/sessions/{}/messages", session["id"].as_str().unwrap());
    for words in ["Sum\nthis up.", "And that."] {
        let said = house.call(Method::POST, &path, json!({"content": words})).await.good();
        let run = said["run"]["id"].as_str().unwrap().into();
        house.state.agent.ended(&house.state.scope, &run).await.unwrap();
    }

    let list = house.get("/terminal").await.text;

    assert!(list.contains("“Sum this up.”"), "{list}");
}

#[tokio::test]
async fn an_answer_that_is_being_given_is_marked_so_that_it_grows_where_it_stands() {
    let house = House::new().await;
    let house =
        house.playing(&json!({"answers": [[{"text": "Whole."}], [{"text": "Half "}, "stall"]]}));
    let settings = json!({"model": "demo", "windowSize": 5, "shouldTruncateResults": true});
    let new = json!({"settings": settings});
    let session = house.call(Method::POST, "/api/terminal/sessions", new).await.good();
    let id = session["id"].as_str().unwrap();
    let path = format!("/api/terminal/sessions/{id}/messages");
    let said = house.call(Method::POST, &path, json!({"content": "First words?"})).await.good();
    let run = said["run"]["id"].as_str().unwrap().into();
    house.state.agent.ended(&house.state.scope, &run).await.unwrap();
    let first = said["run"]["replyId"].as_str().unwrap();
    let still = house.get(&format!("/terminal/{id}")).await.text;
    assert!(!still.contains("data-live") && !still.contains("data-follow"), "{still}");

    let said = house.call(Method::POST, &path, json!({"content": "And then?"})).await.good();
    let (run, reply) = (said["run"]["id"].as_str().unwrap(), &said["run"]["replyId"]);
    let page = house.get(&format!("/terminal/{id}")).await.text;

    assert!(page.contains(&format!("data-follow=\"{run}\"")), "{page}");
    let turn = |page: &str, id: &str| {
        let begin = page.split(&format!("id=\"turn-{id}\"")).nth(1).unwrap();
        begin.split('>').next().unwrap().to_owned()
    };
    assert!(turn(&page, reply.as_str().unwrap()).contains("data-live"), "{page}");
    assert!(!turn(&page, first).contains("data-live"), "{page}");
    // Where programs run nobody needs a link to see more.
    let without = page.split("<noscript>").nth(1).unwrap().split("</noscript>").next().unwrap();
    assert!(without.contains("Show what came since"), "{page}");
    // Earlier messages do not grow.
    let earlier = house.get(&format!("/terminal/{id}?until={first}")).await.text;
    assert!(!earlier.contains("data-follow") && !earlier.contains("data-live"), "{earlier}");
    let list = house.get("/terminal").await.text;
    assert!(list.contains("“First words?”") && list.contains(&id[..8]), "{list}");
    let run = run.into();
    house.state.agent.stop(&house.state.scope, &run).await.unwrap();
}
