//! Who may ask, and what browsers are told.

use axum::{
    body::Body,
    http::{Method, Request, header},
};
use greenroom::store::Store;
use serde_json::json;

use crate::support::{ADDRESS, House, error};

async fn ask(house: &House, method: Method, path: &str, headers: &[(&str, &str)]) -> u16 {
    let mut builder = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        builder = builder.header(*name, *value);
    }
    house.send(builder.body(Body::from("{}")).unwrap()).await.status.as_u16()
}

#[tokio::test]
async fn only_our_own_names_are_answered() {
    let house = House::new().await;
    for path in ["/", "/api/storage/personas", "/healthz", "/favicon.svg"] {
        for host in [
            "evil.test",
            "evil.test:3000",
            "127.0.0.1",
            "127.0.0.1:80",
            "localhost.evil.test:3000",
            "",
        ] {
            assert_eq!(
                ask(&house, Method::GET, path, &[("host", host)]).await,
                421,
                "{host} {path}"
            );
        }
        for host in ["127.0.0.1:3000", "localhost:3000", "LOCALHOST:3000", "[::1]:3000"] {
            assert_eq!(
                ask(&house, Method::GET, path, &[("host", host)]).await,
                200,
                "{host} {path}"
            );
        }
        assert_eq!(ask(&house, Method::GET, path, &[]).await, 421);
        let twice = [("host", ADDRESS), ("host", ADDRESS)];
        assert_eq!(ask(&house, Method::GET, path, &twice).await, 421);
    }
    let absolute = "http://evil.test/api/storage/personas";
    assert_eq!(ask(&house, Method::GET, absolute, &[("host", ADDRESS)]).await, 421);
}

#[tokio::test]
async fn other_sites_can_neither_write_nor_read() {
    let house = House::new().await;
    let path = "/api/storage/personas/optimist/duplicate";
    let with = |extra: &[(&'static str, &'static str)]| {
        [&[("host", ADDRESS), ("content-type", "application/json")], extra].concat()
    };
    let refused: [&[(&str, &str)]; 5] = [
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site")],
        &[("origin", "http://evil.test")],
        &[("origin", "null")],
        &[("origin", "http://127.0.0.1:4000")],
    ];
    for headers in refused {
        for path in [path, "/fn/empty_bin"] {
            let answer = ask(&house, Method::POST, path, &with(headers)).await;
            assert_eq!(answer, 403, "{path} {headers:?}");
        }
    }
    let foreign = with(&[("sec-fetch-site", "cross-site")]);
    let paths = [
        "/api/storage/personas",
        "/rail/answers/x",
        "/rail?at=/",
        "/rail/runs/x",
        "/rail/drafts/x",
    ];
    for path in paths {
        assert_eq!(ask(&house, Method::GET, path, &foreign).await, 403, "{path}");
    }
    assert_eq!(house.read().await.count_personas().await.unwrap(), 6);

    let own: [&[(&str, &str)]; 3] = [
        &[],
        &[("sec-fetch-site", "same-origin"), ("origin", "http://127.0.0.1:3000")],
        &[("origin", "http://127.0.0.1:3000")],
    ];
    for headers in own {
        assert_eq!(ask(&house, Method::POST, path, &with(headers)).await, 201, "{headers:?}");
    }
}

#[tokio::test]
async fn a_refusal_is_a_sentence_too() {
    let house = House::new().await;
    let request = Request::builder()
        .method(Method::POST)
        .uri("/api/storage/personas")
        .header(header::HOST, ADDRESS)
        .header("origin", "http://evil.test")
        .body(Body::empty())
        .unwrap();

    assert_eq!(house.send(request).await.error(), error(403, "denied", ""));
}

#[tokio::test]
async fn pages_tell_the_browser_to_be_strict() {
    let house = House::new().await;

    let page = house.get("/").await;

    let policy = page.header("content-security-policy").to_owned();
    for part in [
        "default-src 'none'",
        "script-src 'self' 'nonce-",
        "frame-ancestors 'none'",
        "form-action 'self'",
    ] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("unsafe-inline") && !policy.contains("'unsafe-eval'"), "{policy}");
    let nonce = policy.split("'nonce-").nth(1).unwrap().split('\'').next().unwrap();
    let scripts = page.text.matches("<script").count();
    assert_eq!(page.text.matches(&format!("nonce=\"{nonce}\"")).count(), scripts);
    assert!(!page.text.contains(" style=\"") && !page.text.contains(" onclick="), "inline code");
    let again = house.get("/").await;
    assert_ne!(again.header("content-security-policy"), policy, "the nonce is used once");
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "same-origin"),
        ("x-frame-options", "DENY"),
        ("cache-control", "no-store"),
    ] {
        assert_eq!(page.header(name), value);
    }
    let data = house.get("/api/storage/personas").await;
    assert!(data.header("content-security-policy").contains("default-src 'none'"));
}

/// What a model or a stranger wrote is no document of ours, even where a browser is made to show it.
#[tokio::test]
async fn what_is_no_page_is_shut_away_from_this_origin() {
    let house = House::new().await;
    let session = json!({"id": "a-session"});
    let home = "/api/agents/optimist/playground/sessions";
    house.call(Method::POST, home, session).await.good();
    let file = format!("{home}/a-session/files/page.html");
    let content = json!({"content": "<script>alert(1)</script>"});
    house.call(Method::PUT, &file, content).await.good();
    let chat =
        house.call(Method::POST, "/api/chats", json!({"personaId": "optimist"})).await.good();
    let chat = format!("/api/chats/{}", chat["id"].as_str().unwrap());
    let picture =
        house.call(Method::POST, "/api/pictures", json!({"prompt": "A lamp"})).await.good();
    house.state.jobs.work_off().await.unwrap();
    let picture = format!("/api/pictures/{}/file", picture["id"].as_str().unwrap());

    for path in [
        file.clone(),
        format!("{home}/a-session/files.zip"),
        format!("{chat}/export"),
        format!("{chat}/markdown"),
        picture,
        "/api/openapi.json".into(),
    ] {
        let answer = house.get(&path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        let policy = answer.header("content-security-policy");
        assert!(policy.split("; ").any(|part| part == "sandbox"), "{path}: {policy}");
        assert!(policy.contains("default-src 'none'"), "{path}: {policy}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert_ne!(answer.header("content-type"), "text/html", "{path}");
    }
    let answer = house.get(&file).await;
    assert!(answer.header("content-disposition").starts_with("attachment"), "{answer:?}");
}

#[tokio::test]
async fn a_database_that_is_away_is_told_and_the_server_lives() {
    let away = "postgres://nobody@127.0.0.1:1/none";
    let house = House::around(Store::open_postgres(away).unwrap(), None);

    assert_eq!(house.get("/healthz").await.status, 200);
    assert_eq!(house.get("/readyz").await.error(), error(503, "unavailable", ""));
    assert_eq!(house.get("/api/storage/personas").await.error(), error(503, "unavailable", ""));
    for path in ["/", "/personas/optimist", "/bin"] {
        let page = house.get(path).await;
        assert_eq!(page.status, 503, "{path}");
        assert!(page.text.contains("The database is not reachable"), "{path}");
    }
}
