//! What is sent to the house: no more than it takes, and nothing that is not a client's to say.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::{
    body::{Body, Bytes},
    http::{Method, Request, header},
};
use futures::StreamExt;
use serde_json::{Value, json};

use crate::support::{House, error, form_request, request, server_functions};

/// The most that an address takes, with what lies in buffers: files, and chats that are imported.
const MOST_BYTES: usize = 34 * 1024 * 1024;
const MOST_IMPORTED_BYTES: usize = 130 * 1024 * 1024;
/// Where the largest are taken.
const IMPORT: &str = "/api/chats/import";
/// What is sent.
const SENT_BYTES: usize = 256 * 1024 * 1024;

/// Things of which there is one of each kind under a name of its own.
const KINDS: [&str; 3] = ["pages", "refs", "tasks"];

/// The addresses that write, with a good part in each place of their paths, and the fields they know.
async fn writing(house: &House) -> Vec<(Method, String, Vec<String>)> {
    let document = house.get("/api/openapi.json").await.good();
    let schemas = &document["components"]["schemas"];
    let mut all = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let method: Method = method.to_uppercase().parse().unwrap();
            if method == Method::GET {
                continue;
            }
            let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
            let named = schema["$ref"].as_str().and_then(|name| name.rsplit('/').next());
            let schema = named.map_or(schema, |name| &schemas[name]);
            let known = schema["properties"].as_object().into_iter().flatten();
            let known = known.map(|(name, _)| name.clone()).collect();
            let parts = path.split('/').map(|part| match part {
                "{id}" => "optimist",
                "{entityType}" => "persona",
                "{revision}" => "1",
                part if part.starts_with('{') => "x",
                part => part,
            });
            let has_body = !operation["requestBody"].is_null();
            let mut address = parts.collect::<Vec<_>>().join("/");
            for kind in KINDS {
                let there = format!("/{kind}/optimist");
                address = address.replace(&there, &format!("/{kind}/one-of-the-{kind}"));
            }
            all.push((method, address, if has_body { known } else { vec!["*".into()] }));
        }
    }
    all
}

/// A body that goes on and on, and counts how much of it was read.
fn endless() -> (Body, Arc<AtomicUsize>) {
    let read = Arc::new(AtomicUsize::new(0));
    let counted = read.clone();
    let piece = Bytes::from(vec![b' '; 64 * 1024]);
    let pieces = futures::stream::iter(0..SENT_BYTES / piece.len()).map(move |_| {
        counted.fetch_add(piece.len(), Ordering::Relaxed);
        Ok::<_, Infallible>(piece.clone())
    });
    (Body::from_stream(pieces), read)
}

#[tokio::test]
async fn no_address_reads_more_than_it_takes() {
    let house = House::new().await;
    let mut asked = Vec::new();
    for (method, address, _) in writing(&house).await {
        for kind in ["application/json", "multipart/form-data; boundary=x", "text/plain"] {
            asked.push((request(method.clone(), &address, Some(Vec::new())), kind));
        }
    }
    let form = "application/x-www-form-urlencoded";
    for path in server_functions() {
        asked.push((form_request(path, "/", &[], "application/json"), form));
    }
    for path in ["/login", "/logout", "/account/tokens", "/people/invite", "/invite/x", "/reset/x"]
    {
        asked.push((form_request(path, "/", &[], "text/html"), form));
    }

    for (request, kind) in asked {
        let (mut parts, _) = request.into_parts();
        parts.headers.insert(header::CONTENT_TYPE, kind.parse().unwrap());
        let told = format!("{} {} as {kind}", parts.method, parts.uri);
        let imports = parts.uri.path().contains("import");
        let most = if imports { MOST_IMPORTED_BYTES } else { MOST_BYTES };
        let (body, read) = endless();
        let status = house.status(Request::from_parts(parts, body)).await.as_u16();
        let read = read.load(Ordering::Relaxed);
        assert!(read <= most, "{told}: {read} bytes were read");
        assert!(status < 500, "{told}: {status}");
        if told.contains(" /fn/") {
            assert_eq!(status, 413, "{told}");
        }
    }
}

#[tokio::test]
async fn what_says_that_it_is_too_large_is_not_read() {
    let house = House::new().await;
    let mut asked: Vec<Request<Body>> = Vec::new();
    for (method, address, _) in writing(&house).await {
        asked.push(request(method, &address, Some(Vec::new())));
    }
    let forms = ["/login", "/logout", "/account/tokens", "/people/invite", "/invite/x", "/reset/x"];
    let undescribed = [
        "/api/chats/import-file",
        "/api/storage/personas/import-file",
        "/api/agents/optimist/playground/sessions/x/upload",
    ];
    for path in server_functions().into_iter().chain(forms).chain(undescribed) {
        asked.push(form_request(path, "/", &[], "application/json"));
    }

    for mut request in asked {
        let told = format!("{} {}", request.method(), request.uri());
        request.headers_mut().insert(header::CONTENT_LENGTH, "10000000000".parse().unwrap());
        let (body, read) = endless();
        let answer = house.send(request.map(|_| body)).await;
        let read = read.load(Ordering::Relaxed);
        assert_eq!((answer.status.as_u16(), read), (413, 0), "{told}: {}", answer.text);
        assert!(answer.text.contains("too large: at most"), "{told}: {}", answer.text);
    }
}

#[tokio::test]
async fn large_bodies_are_taken_two_at_a_time() {
    let house = House::new().await;
    let import = |body: Body| request(Method::POST, IMPORT, Some(Vec::new())).map(|_| body);
    let stuck = || Body::from_stream(futures::stream::pending::<Result<Bytes, Infallible>>());
    let asked = (0..3).map(|_| Box::pin(house.send(import(stuck()))));

    let (refused, _, others) = futures::future::select_all(asked).await;

    assert_eq!(refused.error(), error(503, "limited", ""));
    assert_eq!(refused.header("retry-after"), "10");
    // What says that it is small needs no turn, and neither is one lost.
    let small = || Body::from("{}");
    assert_eq!(house.send(import(small())).await.status, 422);
    drop(others);
    for _ in 0..3 {
        let piece = futures::stream::iter([Ok::<_, Infallible>(Bytes::from("{}"))]);
        assert_eq!(house.send(import(Body::from_stream(piece))).await.status, 422);
    }
}

#[tokio::test]
async fn nobody_says_whose_a_thing_is_or_who_made_it() {
    const OURS: [&str; 18] = [
        "spaceId",
        "space_id",
        "userId",
        "user_id",
        "ownerId",
        "owner",
        "role",
        "state",
        "status",
        "createdAt",
        "created_at",
        "deletedAt",
        "deleted_at",
        "authorKind",
        "proposedBy",
        "decidedBy",
        "untrusted",
        "appliedAt",
    ];
    // These speak other programs' words, or read files of other times, and leave out what they do not know.
    let lenient = [
        "/api/agents/optimist/playground/chat",
        "/api/chats/import",
        "/api/storage/personas/import",
        "/api/terminal/import",
    ];
    let house = House::new().await;
    for kind in KINDS {
        let mut made = json!({"id": format!("one-of-the-{kind}"), "title": "Ours"});
        if kind == "refs" {
            made["text"] = json!("Ours");
        }
        house.call(Method::POST, &format!("/api/storage/{kind}"), made).await.good();
    }
    let before = house.read().await.audit(None, 200).await.unwrap();

    let (mut tried, mut took) = (0, Vec::new());
    for (method, address, known) in writing(&house).await {
        if known == ["*"] || lenient.contains(&address.as_str()) {
            continue;
        }
        for field in OURS.iter().filter(|field| !known.iter().any(|known| known == *field)) {
            let mut body = json!({});
            body[*field] = Value::from("taken-over");
            let answer = house.call(method.clone(), &address, body).await;
            // It is this field that is refused, and not the lack of another.
            let problem =
                if answer.status == 422 { answer.json()["error"].clone() } else { Value::Null };
            let named =
                ["unknown field", "has no field"].iter().any(|why| answer.text.contains(why));
            if problem["field"] != *field || !named {
                took.push(format!("{method} {address} {field}: {} {}", answer.status, answer.text));
            }
            tried += 1;
        }
    }
    assert_eq!(took, Vec::<String>::new());
    assert!(tried > 300, "only {tried} were tried");
    assert_eq!(house.read().await.audit(None, 200).await.unwrap(), before);
}

/// The pages' functions read what they know; what else is sent along changes nothing of it.
#[tokio::test]
async fn what_is_sent_along_to_a_function_is_left_out() {
    let house = House::new().await;
    let neighbour = house.neighbour().await;
    let along = [
        ("spaceId", "next-door"),
        ("space_id", "next-door"),
        ("scope[space]", "next-door"),
        ("userId", "neighbour"),
        ("user_id", "neighbour"),
        ("owner", "neighbour"),
        ("role", "owner"),
        ("state", "applied"),
        ("authorKind", "system"),
        ("form[spaceId]", "next-door"),
        ("form[space_id]", "next-door"),
        ("form[userId]", "neighbour"),
    ];
    let theirs = neighbour.read().await.audit(None, 200).await.unwrap();
    let known = house.read().await.audit(None, 200).await.unwrap().items.len();
    let functions: [(&str, &[(&str, &str)]); 5] = [
        ("save_persona", &[("id", "optimist"), ("revision", "1"), ("form[name]", "Renamed")]),
        ("duplicate_persona", &[("id", "skeptic")]),
        ("add_test_input", &[("persona", "optimist"), ("content", "Hi")]),
        ("create_entry", &[("kind", "page"), ("title", "A page")]),
        ("begin_chat", &[("persona", "optimist")]),
    ];

    for (function, fields) in functions {
        let fields = [fields, &along[..]].concat();
        house.function(function, &fields).await;
    }

    assert_eq!(neighbour.read().await.audit(None, 200).await.unwrap(), theirs);
    let audit = house.get("/api/audit?limit=200").await.good();
    let new = &audit["items"].as_array().unwrap()[..];
    let new = &new[..new.len() - known.min(new.len())];
    assert!(new.len() >= 2, "nothing was written: {audit}");
    assert!(!format!("{new:?}").contains("neighbour"), "{new:?}");
    let persona = house.get("/api/storage/personas/optimist").await.good();
    assert_eq!(persona["name"], "Renamed");
}
