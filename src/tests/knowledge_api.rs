//! The storage API of pages, refs and tasks.

use axum::http::Method;
use serde_json::{Value, json};

use crate::support::{House, error, on_both, request};

on_both!(
    knowledge_of_every_kind_is_made_read_changed_and_deleted,
    tasks_are_filtered_by_status,
    bad_knowledge_is_told_by_field_and_changes_nothing,
);

async fn knowledge_of_every_kind_is_made_read_changed_and_deleted(house: House) {
    let kinds = [
        ("pages", "page", json!({"title": "Alpha", "body": "one two three"}), "body"),
        ("refs", "ref", json!({"title": "Alpha", "text": "one two three"}), "text"),
        ("tasks", "task", json!({"title": "Alpha", "note": "one two three"}), "note"),
    ];
    for (many, one, new, prose) in kinds {
        let list = format!("/api/storage/{many}");
        let made = house.call(Method::POST, &list, new.clone()).await;
        assert_eq!(made.status, 201, "{}", made.text);
        let made = made.json();
        let path = format!("{list}/{}", made["id"].as_str().unwrap());
        assert_eq!((&made["revision"], &made[prose]), (&json!(1), &new[prose]));
        assert_eq!(house.get(&path).await.good(), made);
        let found = house.get(&format!("{list}?q=ALPH&limit=1")).await.good();
        assert_eq!(found["items"][0]["id"], made["id"]);
        assert_eq!((&found["items"][0]["title"], &found["next"]), (&json!("Alpha"), &Value::Null));

        // What was read can be sent back, with a change in it; edits apart are merged.
        let mut edited = made.clone();
        edited[prose] = json!("ONE two three");
        assert_eq!(house.call(Method::PUT, &path, edited).await.good()["revision"], 2);
        let apart = json!({"revision": 1, prose: "one two THREE", "reason": "Louder."});
        let merged = house.call(Method::PUT, &path, apart).await.good();
        assert_eq!((&merged["revision"], &merged[prose]), (&json!(3), &json!("ONE two THREE")));
        let clash =
            house.call(Method::PUT, &path, json!({"revision": 1, prose: "eins two three"})).await;
        assert_eq!(clash.error(), error(409, "conflict", prose));
        let told = &clash.json()["error"];
        assert_eq!(
            (&told["yours"], &told["theirs"]),
            (&json!("eins two three"), &json!("ONE two THREE"))
        );

        let versions = house.get(&format!("{path}/versions")).await.good();
        assert_eq!(versions["items"][0]["reason"], "Louder.");
        assert_eq!(versions["items"].as_array().unwrap().len(), 3);
        let first = house.get(&format!("{path}/versions/1")).await.good();
        assert_eq!(first["fields"][prose], new[prose]);
        assert_eq!(house.get(&format!("{path}/versions/9")).await.status, 404);
        let restore = format!("{path}/versions/1/restore");
        let restored = house.call(Method::POST, &restore, json!({})).await.good();
        assert_eq!((&restored["revision"], &restored[prose]), (&json!(4), &new[prose]));

        house.send(request(Method::DELETE, &path, None)).await.good();
        for gone in ["", "/versions", "/versions/1"] {
            assert_eq!(house.get(&format!("{path}{gone}")).await.status, 404, "{path}{gone}");
        }
        assert_eq!(house.send(request(Method::DELETE, &path, None)).await.status, 404);
        let bin = house.get("/api/storage/bin").await.good();
        assert_eq!(bin["items"][0]["entityType"], one);
        let id = made["id"].as_str().unwrap();
        let restore = format!("/api/storage/bin/{one}/{id}/restore");
        house.call(Method::POST, &restore, json!({})).await.good();
        assert_eq!(house.get(&path).await.good()["revision"], 4);
    }
}

async fn tasks_are_filtered_by_status(house: House) {
    for (title, status) in [("A", "open"), ("B", "doing"), ("C", "done")] {
        let new = json!({"title": title, "status": status, "due": "2026-12-24"});
        house.call(Method::POST, "/api/storage/tasks", new).await.good();
    }
    let titles = async |query: &str| {
        let found = house.get(&format!("/api/storage/tasks?{query}")).await.good();
        let titles = found["items"].as_array().unwrap().iter().map(|task| task["title"].clone());
        titles.collect::<Vec<Value>>()
    };

    assert_eq!(titles("status=doing").await, ["B"]);
    assert_eq!(titles("status=open&q=a&limit=1").await, ["A"]);
    assert_eq!(house.get("/api/storage/tasks?status=later").await.error().0, 400);
    let found = house.get("/api/storage/tasks?status=done").await.good();
    assert_eq!(found["items"][0]["due"], "2026-12-24");
}

async fn bad_knowledge_is_told_by_field_and_changes_nothing(house: House) {
    let audit = house.get("/api/audit").await.good();
    let (pages, refs, tasks) = ("/api/storage/pages", "/api/storage/refs", "/api/storage/tasks");
    let one = "/api/storage/pages/testing-a-persona";
    let cases = [
        (Method::POST, pages, json!({}), error(422, "invalid", "title")),
        (Method::POST, pages, json!({"title": " "}), error(422, "invalid", "title")),
        (Method::POST, pages, json!({"title": 7}), error(422, "invalid", "title")),
        (Method::POST, pages, json!({"title": "A", "kind": "ref"}), error(422, "invalid", "kind")),
        (
            Method::POST,
            pages,
            json!({"title": "A", "spaceId": "x"}),
            error(422, "invalid", "spaceId"),
        ),
        (
            Method::POST,
            pages,
            json!({"title": "A", "deletedAt": 1}),
            error(422, "invalid", "deletedAt"),
        ),
        (Method::POST, pages, json!({"title": "A", "id": "a/b"}), error(422, "invalid", "id")),
        (
            Method::POST,
            pages,
            json!({"title": "A", "id": "testing-a-persona"}),
            error(409, "taken", ""),
        ),
        (Method::POST, pages, json!([]), error(422, "invalid", "body")),
        (Method::POST, refs, json!({"url": "ftp://a"}), error(422, "invalid", "url")),
        (Method::POST, refs, json!({"title": "A"}), error(422, "invalid", "url")),
        (Method::POST, tasks, json!({"title": "A", "due": "soon"}), error(422, "invalid", "due")),
        (Method::PUT, one, json!({"id": "other"}), error(422, "invalid", "id")),
        (Method::PUT, one, json!({"title": null}), error(422, "invalid", "title")),
        (Method::PUT, one, json!({"title": "B", "revision": 77}), error(404, "not_found", "")),
        (
            Method::PUT,
            one,
            json!({"title": "B", "revision": "x"}),
            error(422, "invalid", "revision"),
        ),
        (Method::PUT, "/api/storage/pages/a%00b", json!({}), error(404, "not_found", "")),
        (
            Method::PUT,
            "/api/storage/tasks/testing-a-persona",
            json!({}),
            error(404, "not_found", ""),
        ),
        (Method::PATCH, one, json!({}), error(405, "wrong_method", "")),
    ];
    for (method, path, body, expected) in cases {
        let answer = house.call(method.clone(), path, body.clone()).await;
        assert_eq!(answer.error(), expected, "{method} {path} {body}");
    }
    assert_eq!(house.get("/api/audit").await.good(), audit);
}
