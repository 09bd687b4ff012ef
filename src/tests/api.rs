//! The API: good answers, and a clear sentence for everything else.

use axum::{
    body::Body,
    http::{Method, Request, header},
};
use serde_json::{Value, json};

use crate::support::{ADDRESS, House, error, on_both, request};

const PERSONAS: &str = "/api/storage/personas";

on_both!(
    a_persona_is_made_read_changed_copied_and_deleted,
    versions_can_be_listed_compared_restored_and_labelled,
    test_inputs_are_kept_below_their_persona,
    the_bin_gives_back_and_forgets,
    bad_input_is_told_by_field_and_changes_nothing,
);

async fn a_persona_is_made_read_changed_copied_and_deleted(house: House) {
    let made = house
        .call(Method::POST, PERSONAS, json!({"name": "Ann", "systemPrompt": "Be brief."}))
        .await;
    assert_eq!(made.status, 201);
    let made = made.json();
    let path = format!("{PERSONAS}/{}", made["id"].as_str().unwrap());
    assert_eq!(made["revision"], 1);
    assert_eq!(made["testInputIds"], json!([]));
    assert_eq!(made["agentChatSessionId"], Value::Null);
    assert_eq!(house.get(&path).await.good(), made);

    // What was read can be sent back, with a change in it.
    let mut edited = made.clone();
    edited["name"] = json!("Ann B.");
    let changed = house.call(Method::PUT, &path, edited.clone()).await.good();
    assert_eq!((&changed["name"], &changed["revision"]), (&json!("Ann B."), &json!(2)));
    assert_eq!(changed["systemPrompt"], "Be brief.");

    // The same write again, against the same old revision, is no conflict: it is what stands.
    assert_eq!(house.call(Method::PUT, &path, edited).await.good()["revision"], 2);
    let stale = json!({"revision": 1, "name": "Anna"});
    let conflict = house.call(Method::PUT, &path, stale).await;
    assert_eq!(conflict.error(), error(409, "conflict", "name"));
    let told = &conflict.json()["error"];
    assert_eq!((&told["yours"], &told["theirs"]), (&json!("Anna"), &json!("Ann B.")));

    let copy = house.call(Method::POST, &format!("{path}/duplicate"), json!({})).await;
    assert_eq!((copy.status.as_u16(), &copy.json()["name"]), (201, &json!("Ann B. (copy)")));

    let found = house.get(&format!("{PERSONAS}?search=ann%20b")).await.good();
    assert_eq!(found["items"].as_array().unwrap().len(), 2);

    let deleted = house.send(request(Method::DELETE, &path, None)).await.good();
    assert_eq!(house.get(&path).await.error(), error(404, "not_found", ""));
    let undo = format!("/api/changes/{}/undo", deleted["changeId"].as_str().unwrap());
    house.call(Method::POST, &undo, json!({})).await.good();
    assert_eq!(house.get(&path).await.good()["name"], "Ann B.");
    assert_eq!(house.call(Method::POST, &undo, json!({})).await.error(), error(409, "not_now", ""));
}

async fn versions_can_be_listed_compared_restored_and_labelled(house: House) {
    let path = format!("{PERSONAS}/optimist");
    let first = house.get(&path).await.good();
    house.call(Method::PUT, &path, json!({"notes": "Mine.", "reason": "A note."})).await.good();

    let versions = house.get(&format!("{path}/versions")).await.good();
    assert_eq!(versions["items"][0]["reason"], "A note.");
    assert_eq!(versions["items"][0]["authorKind"], "person");
    assert_eq!(versions["items"][1]["authorKind"], "system");
    assert_eq!(versions["next"], Value::Null);

    let diff = house.get(&format!("{path}/diff?from=1&to=2")).await.good();
    assert_eq!(diff[0]["label"], "Notes");
    assert!(diff[0]["segments"].as_array().unwrap().iter().any(|part| part["kind"] == "added"));

    let label = format!("{path}/labels/production");
    house.call(Method::PUT, &label, json!({"revision": 1})).await.good();
    assert_eq!(
        house.get(&format!("{path}/versions/1")).await.good()["labels"],
        json!(["production"])
    );
    let missing = house.call(Method::PUT, &label, json!({"revision": 99})).await;
    assert_eq!(missing.error(), error(404, "not_found", ""));
    house.send(request(Method::DELETE, &label, None)).await.good();
    assert_eq!(
        house.send(request(Method::DELETE, &label, None)).await.error(),
        error(404, "not_found", "")
    );

    let restore = format!("{path}/versions/1/restore");
    let restored = house.call(Method::POST, &restore, json!({})).await.good();
    assert_eq!((&restored["revision"], &restored["notes"]), (&json!(3), &first["notes"]));
}

async fn test_inputs_are_kept_below_their_persona(house: House) {
    let path = format!("{PERSONAS}/skeptic/test-inputs");
    let before = house.get(&path).await.good()["items"].as_array().unwrap().len();

    let made = house.call(Method::POST, &path, json!({"content": "Really?"})).await;
    assert_eq!(made.status, 201);
    let id = made.json()["id"].as_str().unwrap().to_owned();
    let one = format!("{path}/{id}");

    let edited = house.call(Method::PUT, &one, json!({"content": "Oh, really?"})).await.good();
    assert_eq!((&edited["content"], &edited["revision"]), (&json!("Oh, really?"), &json!(2)));
    house.call(Method::PUT, &one, json!({"move": "up"})).await.good();
    let all = house.get(&path).await.good();
    assert_eq!(all["items"][before - 1]["id"], json!(id));
    let persona = house.get(&format!("{PERSONAS}/skeptic")).await.good();
    assert_eq!(persona["testInputIds"][before - 1], json!(id));

    // Another persona's test input is not found below this one.
    let elsewhere = format!("{PERSONAS}/optimist/test-inputs/{id}");
    for method in [Method::GET, Method::DELETE] {
        let answer = house.send(request(method, &elsewhere, None)).await;
        assert_eq!(answer.error(), error(404, "not_found", ""));
    }
    house.send(request(Method::DELETE, &one, None)).await.good();
    assert_eq!(house.get(&one).await.status, 404);
}

async fn the_bin_gives_back_and_forgets(house: House) {
    for id in ["optimist", "skeptic", "innkeeper"] {
        house.send(request(Method::DELETE, &format!("{PERSONAS}/{id}"), None)).await.good();
    }
    let bin = house.get("/api/storage/bin").await.good();
    assert_eq!(bin["items"].as_array().unwrap().len(), 3);
    assert_eq!(bin["items"][0]["entityType"], "persona");

    house.call(Method::POST, "/api/storage/bin/persona/optimist/restore", json!({})).await.good();
    assert_eq!(house.get(&format!("{PERSONAS}/optimist")).await.status, 200);
    let again =
        house.call(Method::POST, "/api/storage/bin/persona/optimist/restore", json!({})).await;
    assert_eq!(again.error(), error(409, "not_now", ""));

    let one = request(Method::DELETE, "/api/storage/bin/persona/skeptic", None);
    house.send(one).await.good();
    let emptied = house.send(request(Method::DELETE, "/api/storage/bin", None)).await.good();
    assert_eq!(emptied["removed"], 1);
    let gone =
        house.call(Method::POST, "/api/storage/bin/persona/skeptic/restore", json!({})).await;
    assert_eq!(gone.error(), error(404, "not_found", ""));
}

async fn bad_input_is_told_by_field_and_changes_nothing(house: House) {
    let audit = house.get("/api/audit").await.good();
    let one = format!("{PERSONAS}/optimist");
    let long_name = "ä".repeat(201);
    let cases = [
        (Method::POST, PERSONAS, json!({}), error(422, "invalid", "name")),
        (Method::POST, PERSONAS, json!({"name": ""}), error(422, "invalid", "name")),
        (Method::POST, PERSONAS, json!({"name": "   "}), error(422, "invalid", "name")),
        (Method::POST, PERSONAS, json!({"name": long_name}), error(422, "invalid", "name")),
        (Method::POST, PERSONAS, json!({"name": "a\nb"}), error(422, "invalid", "name")),
        (Method::POST, PERSONAS, json!({"name": 7}), error(422, "invalid", "name")),
        (Method::POST, PERSONAS, json!({"name": "a\0"}), error(422, "invalid", "name")),
        (Method::POST, PERSONAS, json!([]), error(422, "invalid", "body")),
        (
            Method::POST,
            PERSONAS,
            json!({"name": "A", "spaceId": "x"}),
            error(422, "invalid", "spaceId"),
        ),
        (Method::POST, PERSONAS, json!({"name": "A", "id": "../x"}), error(422, "invalid", "id")),
        (Method::POST, PERSONAS, json!({"name": "A", "id": "optimist"}), error(409, "taken", "")),
        (
            Method::POST,
            PERSONAS,
            json!({"name": "A", "tier": "god"}),
            error(422, "invalid", "tier"),
        ),
        (
            Method::POST,
            PERSONAS,
            json!({"name": "A", "systemPrompt": "x".repeat(100_001)}),
            error(422, "invalid", "systemPrompt"),
        ),
        (Method::PUT, &one, json!({"name": null, "colour": 1}), error(422, "invalid", "colour")),
        (Method::PUT, &one, json!({"id": "skeptic"}), error(422, "invalid", "id")),
        (Method::PUT, &one, json!({"testInputIds": []}), error(422, "invalid", "testInputIds")),
        (Method::PUT, &one, json!({"name": "B", "revision": 77}), error(404, "not_found", "")),
        (
            Method::PUT,
            "/api/storage/personas/nobody",
            json!({"name": "B"}),
            error(404, "not_found", ""),
        ),
        (
            Method::PUT,
            "/api/storage/personas/a%00b",
            json!({"name": "B"}),
            error(404, "not_found", ""),
        ),
        (
            Method::PUT,
            "/api/storage/personas/%ff",
            json!({"name": "B"}),
            error(404, "not_found", ""),
        ),
        (Method::PATCH, &one, json!({}), error(405, "wrong_method", "")),
        (Method::POST, "/api/nothing", json!({}), error(404, "not_found", "")),
    ];
    for (method, path, body, expected) in cases {
        let answer = house.call(method.clone(), path, body.clone()).await;
        let told = body.to_string().chars().take(80).collect::<String>();
        assert_eq!(answer.error(), expected, "{method} {path} {told}");
    }
    for path in ["versions/0", "versions/x", "diff?from=1", "versions?limit=-1"] {
        let answer = house.get(&format!("{one}/{path}")).await;
        assert!([400, 404].contains(&answer.error().0), "{path}: {answer:?}");
    }
    assert_eq!(house.get("/api/audit").await.good(), audit);
}

#[tokio::test]
async fn a_body_that_cannot_be_read_is_told_why() {
    let house = House::new().await;
    let send = async |kind: &str, body: Vec<u8>| {
        let request = Request::builder()
            .method(Method::POST)
            .uri(PERSONAS)
            .header(header::HOST, ADDRESS)
            .header(header::CONTENT_TYPE, kind)
            .body(Body::from(body))
            .unwrap();
        house.send(request).await.error()
    };
    let json = "application/json";

    assert_eq!(send(json, b"{".to_vec()).await, error(400, "malformed", ""));
    assert_eq!(send(json, b"{\"name\": \"\xff\xfe\"}".to_vec()).await, error(400, "malformed", ""));
    assert_eq!(send(json, "[".repeat(100_000).into_bytes()).await, error(400, "malformed", ""));
    assert_eq!(send("text/plain", b"{}".to_vec()).await, error(415, "wrong_type", ""));
    assert_eq!(send("", b"{}".to_vec()).await, error(415, "wrong_type", ""));
    let huge = format!("{{\"name\": \"{}\"}}", "x".repeat(2 * 1024 * 1024));
    assert_eq!(send(json, huge.into_bytes()).await, error(413, "too_large", ""));
    // Deep nesting inside a field is refused as well, not followed.
    let deep = format!("{{\"name\": {}1{}}}", "[".repeat(5_000), "]".repeat(5_000));
    assert!([400, 422].contains(&send(json, deep.into_bytes()).await.0));
}

#[tokio::test]
async fn a_body_without_a_length_is_cut_off_at_the_limit() {
    let house = House::new().await;
    let chunk = || Ok::<_, std::io::Error>(axum::body::Bytes::from(vec![b' '; 64 * 1024]));
    let stream = Body::from_stream(futures::stream::iter((0..64).map(move |_| chunk())));
    let request = Request::builder()
        .method(Method::POST)
        .uri(PERSONAS)
        .header(header::HOST, ADDRESS)
        .header(header::CONTENT_TYPE, "application/json")
        .body(stream)
        .unwrap();

    assert_eq!(house.send(request).await.error(), error(413, "too_large", ""));
}

#[tokio::test]
async fn the_document_describes_every_route() {
    let house = House::new().await;

    let document = house.get("/api/openapi.json").await.good();

    let mut paths: Vec<&str> =
        document["paths"].as_object().unwrap().keys().map(String::as_str).collect();
    paths.sort_unstable();
    assert_eq!(
        paths,
        [
            "/api/agents/{id}/playground/chat",
            "/api/agents/{id}/playground/chat/{sessionId}/stream",
            "/api/agents/{id}/playground/sessions",
            "/api/agents/{id}/playground/sessions/{sessionId}",
            "/api/agents/{id}/playground/sessions/{sessionId}/clear",
            "/api/agents/{id}/playground/sessions/{sessionId}/files",
            "/api/agents/{id}/playground/sessions/{sessionId}/files.zip",
            "/api/agents/{id}/playground/sessions/{sessionId}/files/{path}",
            "/api/agents/{id}/playground/sessions/{sessionId}/leaf",
            "/api/agents/{id}/playground/sessions/{sessionId}/restore",
            "/api/agents/{id}/playground/{sessionId}/stop",
            "/api/agents/{id}/playground/{sessionId}/stream",
            "/api/audit",
            "/api/budgets",
            "/api/changes/{id}/undo",
            "/api/chats",
            "/api/chats/import",
            "/api/chats/{id}",
            "/api/chats/{id}/estimate",
            "/api/chats/{id}/export",
            "/api/chats/{id}/leaf",
            "/api/chats/{id}/markdown",
            "/api/chats/{id}/messages",
            "/api/chats/{id}/queue",
            "/api/chats/{id}/queue/{nextId}",
            "/api/chats/{id}/tree",
            "/api/chats/{id}/update-persona",
            "/api/conversations/ambient",
            "/api/conversations/{id}/messages",
            "/api/conversations/{id}/ratings",
            "/api/conversations/{id}/stream",
            "/api/live",
            "/api/messages/{id}",
            "/api/messages/{id}/edit",
            "/api/messages/{id}/prompt",
            "/api/messages/{id}/prune",
            "/api/messages/{id}/rating",
            "/api/messages/{id}/regenerate",
            "/api/messages/{id}/restore",
            "/api/messages/{id}/test-input",
            "/api/models",
            "/api/models/default",
            "/api/pending-changes",
            "/api/pending-changes/{id}",
            "/api/pending-changes/{id}/approve",
            "/api/pending-changes/{id}/reject",
            "/api/pending-changes/{id}/reopen",
            "/api/persona-agent/chat",
            "/api/persona-agent/clear",
            "/api/persona-agent/history",
            "/api/picture-settings",
            "/api/pictures",
            "/api/pictures/{id}",
            "/api/pictures/{id}/face",
            "/api/pictures/{id}/file",
            "/api/pictures/{id}/restore",
            "/api/pictures/{id}/retry",
            "/api/runs/{id}",
            "/api/runs/{id}/branch",
            "/api/runs/{id}/continue",
            "/api/runs/{id}/events",
            "/api/runs/{id}/retry",
            "/api/runs/{id}/stop",
            "/api/search",
            "/api/services",
            "/api/storage/bin",
            "/api/storage/bin/{entityType}/{id}",
            "/api/storage/bin/{entityType}/{id}/restore",
            "/api/storage/pages",
            "/api/storage/pages/{id}",
            "/api/storage/pages/{id}/versions",
            "/api/storage/pages/{id}/versions/{revision}",
            "/api/storage/pages/{id}/versions/{revision}/restore",
            "/api/storage/personas",
            "/api/storage/personas/import",
            "/api/storage/personas/{id}",
            "/api/storage/personas/{id}/answers",
            "/api/storage/personas/{id}/diff",
            "/api/storage/personas/{id}/duplicate",
            "/api/storage/personas/{id}/labels/{label}",
            "/api/storage/personas/{id}/publication",
            "/api/storage/personas/{id}/test-inputs",
            "/api/storage/personas/{id}/test-inputs/{testInputId}",
            "/api/storage/personas/{id}/test-inputs/{testInputId}/answers",
            "/api/storage/personas/{id}/versions",
            "/api/storage/personas/{id}/versions/{revision}",
            "/api/storage/personas/{id}/versions/{revision}/restore",
            "/api/storage/refs",
            "/api/storage/refs/{id}",
            "/api/storage/refs/{id}/fetch",
            "/api/storage/refs/{id}/versions",
            "/api/storage/refs/{id}/versions/{revision}",
            "/api/storage/refs/{id}/versions/{revision}/restore",
            "/api/storage/tasks",
            "/api/storage/tasks/{id}",
            "/api/storage/tasks/{id}/versions",
            "/api/storage/tasks/{id}/versions/{revision}",
            "/api/storage/tasks/{id}/versions/{revision}/restore",
            "/api/terminal/find",
            "/api/terminal/import",
            "/api/terminal/problems",
            "/api/terminal/sessions",
            "/api/terminal/sessions/{sessionId}",
            "/api/terminal/sessions/{sessionId}/discard",
            "/api/terminal/sessions/{sessionId}/drafts",
            "/api/terminal/sessions/{sessionId}/messages",
            "/api/terminal/sessions/{sessionId}/record",
            "/api/terminal/sessions/{sessionId}/restore",
            "/api/traces",
            "/api/traces/{id}",
            "/api/usage",
            "/healthz",
            "/readyz",
        ]
    );
    let events = &document["paths"]["/api/runs/{id}/events"]["get"]["responses"];
    assert!(events["200"]["content"]["text/event-stream"].is_object(), "{events}");
    let file = "/api/agents/{id}/playground/sessions/{sessionId}/files/{path}";
    assert!(document["paths"][file]["put"]["responses"]["204"].is_object());
    let create = &document["paths"]["/api/storage/personas"]["post"];
    assert!(create["responses"]["201"]["content"]["application/json"]["schema"].is_object());
    let update = &document["paths"]["/api/storage/personas/{id}"]["put"];
    assert!(update["requestBody"]["content"]["application/json"]["schema"].is_object());
    assert!(
        update["responses"].get("default").is_some() || update["responses"].get("4XX").is_some()
    );
}
