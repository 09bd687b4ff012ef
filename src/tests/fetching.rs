//! Fetching a ref's text: a real server on a loopback port, and a canary that nobody may reach.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::{
    Router,
    body::Body,
    http::{HeaderName, Method, Response, header},
    routing::get,
};
use greenroom::{
    domain::{
        change::{Change, Op},
        id::RefId,
    },
    fetch::{Fetcher, Resolve},
};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::{
    hostile::collected,
    support::{Answer, House, error, on_both},
};

on_both!(
    the_text_of_a_ref_is_fetched_as_its_next_version,
    a_text_that_is_longer_than_a_ref_is_cut_and_that_is_said,
);

/// A server on a loopback port: what it gives, and how often it was asked.
struct Site {
    address: SocketAddr,
    asked: Arc<AtomicUsize>,
}

impl Site {
    async fn start(routes: Router) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = asked.clone();
        let routes =
            routes.layer(axum::middleware::map_request(move |request: axum::extract::Request| {
                counted.fetch_add(1, Ordering::SeqCst);
                std::future::ready(request)
            }));
        tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self { address, asked }
    }

    /// One that nobody may reach.
    async fn canary() -> Self {
        Self::start(Router::new().fallback(get(async || "caught"))).await
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    /// The address of a path here, under this name.
    fn url(&self, host: &str, path: &str) -> String {
        format!("http://{host}:{}{path}", self.address.port())
    }
}

fn answer(headers: &[(HeaderName, &str)], body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    for (name, value) in headers {
        response.headers_mut().insert(name.clone(), value.parse().unwrap());
    }
    response
}

fn redirect(to: String) -> Response<Body> {
    let mut response = answer(&[(header::LOCATION, to.as_str())], "");
    *response.status_mut() = axum::http::StatusCode::FOUND;
    response
}

/// Names and what they resolve to.
fn names(known: &'static [(&'static str, &'static str)]) -> Arc<Resolve> {
    Arc::new(move |host: String, port: u16| {
        let found: Vec<SocketAddr> = known
            .iter()
            .filter(|(name, _)| *name == host)
            .map(|(_, address)| SocketAddr::new(address.parse().unwrap(), port))
            .collect();
        let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
        Box::pin(std::future::ready(if found.is_empty() { Err(missing) } else { Ok(found) }))
    })
}

const NAMES: &[(&str, &str)] = &[
    ("good.test", "127.0.0.1"),
    ("intranet.test", "127.0.0.1"),
    ("private.test", "10.0.0.1"),
    ("metadata.test", "169.254.169.254"),
    ("six.test", "::1"),
    ("mapped.test", "::ffff:127.0.0.1"),
    ("mixed.test", "192.168.0.1"),
    ("mixed.test", "fd00::1"),
];

/// A fetcher that may reach this site as `good.test`.
fn fetcher(site: &Site) -> Fetcher {
    Fetcher::new(vec![format!("good.test:{}", site.address.port())]).resolving(names(NAMES))
}

async fn make(house: &House, id: &str, fields: Value) {
    let change = Change::new(&RefId::new(id), Op::Create).with(fields.as_object().unwrap().clone());
    house.submit(change).await.unwrap();
}

async fn fetch(house: &House, id: &str) -> Answer {
    house.call(Method::POST, &format!("/api/storage/refs/{id}/fetch"), json!({})).await
}

async fn the_text_of_a_ref_is_fetched_as_its_next_version(house: House) {
    let html = "<title>All about tea</title><nav>Menu</nav><h1>Tea</h1><p>Boil water.</p>";
    let routes = Router::new().route(
        "/tea",
        get(async move || answer(&[(header::CONTENT_TYPE, "text/html; charset=utf-8")], html)),
    );
    let site = Site::start(routes).await;
    let house = house.fetching(fetcher(&site));
    make(&house, "tea", json!({"url": site.url("good.test", "/tea")})).await;

    let fetched = fetch(&house, "tea").await.good();

    assert_eq!((&fetched["revision"], &fetched["title"]), (&json!(2), &json!("All about tea")));
    assert_eq!(fetched["text"], "# Tea\n\nBoil water.");
    assert!(fetched["fetchedAt"].as_str().unwrap().ends_with('Z'));
    let versions = house.get("/api/storage/refs/tea/versions").await.good();
    assert_eq!(versions["items"][0]["reason"], "Fetched from good.test.");
    assert_eq!(versions["items"][0]["authorKind"], "person");
    assert_eq!(house.get("/api/search?q=boil").await.good()["items"][0]["id"], "tea");
    // A title that a person gave stays.
    let named = json!({"title": "Mine"});
    house.call(Method::PUT, "/api/storage/refs/tea", named).await.good();
    assert_eq!(fetch(&house, "tea").await.good()["title"], "Mine");
    assert_eq!(site.asked(), 2);

    make(&house, "pasted", json!({"text": "Only text."})).await;
    assert_eq!(fetch(&house, "pasted").await.error(), error(422, "invalid", "url"));
    assert_eq!(fetch(&house, "nothing").await.error(), error(404, "not_found", ""));
    assert!(house.get("/refs/tea").await.text.contains("Fetch text"));
    let off = house.fetching(Fetcher::off());
    let page = off.get("/refs/tea").await.text;
    assert!(page.contains("Boil water.") && !page.contains("etch text"), "{page}");
    assert!(!page.contains("fetch-ref") && !page.contains("or fetch it"), "{page}");
    assert_eq!(fetch(&off, "tea").await.error(), error(403, "denied", ""));
    assert_eq!(site.asked(), 2);
}

async fn a_text_that_is_longer_than_a_ref_is_cut_and_that_is_said(house: House) {
    let letters = |count: usize| {
        get(async move || answer(&[(header::CONTENT_TYPE, "text/plain")], "é".repeat(count)))
    };
    let routes = Router::new().route("/long", letters(500_001)).route("/fits", letters(500_000));
    let site = Site::start(routes).await;
    let house = house.fetching(fetcher(&site));
    for id in ["long", "fits"] {
        make(&house, id, json!({"url": site.url("good.test", &format!("/{id}"))})).await;
    }

    let long = house.function("fetch_ref", &[("id", "long")]).await.good();
    let fits = house.function("fetch_ref", &[("id", "fits")]).await.good();

    let cut = "Only the first 500\u{202f}000 characters were kept: no more fit.";
    assert_eq!((&long["told"], &long["revision"]), (&json!(cut), &json!(2)));
    assert_eq!((&fits["told"], &fits["revision"]), (&Value::Null, &json!(2)));
    let versions = house.get("/api/storage/refs/long/versions").await.good();
    let reason = format!("Fetched from good.test. {cut}");
    assert_eq!(versions["items"][0]["reason"], json!(reason));
    let versions = house.get("/api/storage/refs/fits/versions").await.good();
    assert_eq!(versions["items"][0]["reason"], "Fetched from good.test.");
    let kept = house.get("/api/storage/refs/long").await.good();
    assert_eq!(kept["text"].as_str().unwrap().chars().count(), 500_000);
}

#[tokio::test]
async fn a_text_is_read_in_the_encoding_that_its_server_or_the_page_names() {
    let (html, plain) = ("text/html", "text/plain");
    let page = |meta: &str, words: &[u8]| {
        [&b"<html><head>"[..], meta.as_bytes(), b"</head><p>", words, b"</p>"].concat()
    };
    let http_equiv = "<META http-equiv=\"Content-Type\" content=\"text/html; charset=GB2312\">";
    let cases: Vec<(&'static str, Vec<u8>, &str)> = vec![
        ("text/plain; charset=Shift_JIS", b"\x82\xb1\x82\xf1".into(), "こん"),
        ("text/plain; charset=\"windows-1251\"; x=y", b"\xcc\xe8\xf0".into(), "Мир"),
        ("text/plain; charset=ISO-8859-1", b"\x93caf\xe9\x94".into(), "“café”"),
        ("text/plain; charset=utf-16le", b"c\0a\0f\0\xe9\0".into(), "café"),
        ("text/plain; charset=iso-2022-jp", b"\x1b$B$3$s\x1b(B".into(), "こん"),
        (html, page("<meta charset=windows-1252>", b"caf\xe9"), "café"),
        (html, page("<meta name=x><meta charset='euc-kr' />", b"\xc7\xd1"), "한"),
        (html, page(http_equiv, b"\xd6\xd0"), "中"),
        ("text/html; charset=utf-8", page("<meta charset=koi8-r>", "Мир".as_bytes()), "Мир"),
        // Only a page names its own, and a wrong name does no harm.
        (plain, b"<meta charset=koi8-r> caf\xe9".into(), "<meta charset=koi8-r> caf\u{fffd}"),
        ("text/plain; charset=iso-8859-1", "café".into(), "café"),
        ("text/plain; charset=nonsense", "café".into(), "café"),
        (html, page("<meta charset=utf-16>", "café".as_bytes()), "café"),
        (plain, b"\xff\xfec\0a\0f\0".into(), "caf"),
    ];
    let mut routes = Router::new();
    for (number, (kind, body, _)) in cases.iter().enumerate() {
        let (kind, body) = (*kind, body.clone());
        let give = get(async move || answer(&[(header::CONTENT_TYPE, kind)], body));
        routes = routes.route(&format!("/{number}"), give);
    }
    let site = Site::start(routes).await;
    let fetcher = fetcher(&site);

    for (number, (kind, _, expected)) in cases.iter().enumerate() {
        let fetched = fetcher.fetch(&site.url("good.test", &format!("/{number}"))).await.unwrap();
        assert_eq!((fetched.text.as_str(), fetched.is_cut), (*expected, false), "{number}: {kind}");
    }
}

#[tokio::test]
async fn nothing_but_the_public_internet_is_reached() {
    let canary = Site::canary().await;
    let port = canary.address.port();
    let fetcher = Fetcher::default().resolving(names(NAMES));
    let at_port: Vec<String> = ["127.0.0.1", "[::1]", "localhost", "intranet.test", "0x7f.1"]
        .iter()
        .map(|host| canary.url(host, "/"))
        .collect();
    // On an unusual port, and with the port allowed for another host only.
    let other = Fetcher::new(vec![format!("other.test:{port}")]).resolving(names(NAMES));
    for url in &at_port {
        assert_eq!(fetcher.fetch(url).await.unwrap_err().status(), 422, "{url}");
        assert_eq!(other.fetch(url).await.unwrap_err().status(), 422, "{url}");
    }
    // On the usual ports: by number in any writing, and by name.
    for url in [
        "http://127.0.0.1/",
        "http://127.1/",
        "http://0x7f000001/",
        "http://2130706433/",
        "http://0177.0.0.1/",
        "http://①②⑦.⓪.⓪.①/",
        "http://0.0.0.0/",
        "http://10.1.2.3/",
        "http://100.64.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://168.63.129.16/",
        "http://172.16.0.1/",
        "http://192.0.0.192/",
        "https://192.168.0.1/",
        "http://224.0.0.1/",
        "http://[::]/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:7f00:1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[fd00:ec2::254]/",
        "http://[fe80::1]/",
        "http://intranet.test/",
        "http://private.test/",
        "http://metadata.test/",
        "http://six.test/",
        "http://mapped.test/",
        "http://mixed.test/",
        "http://127.0.0.1#@example.com/",
    ] {
        let told = fetcher.fetch(url).await.unwrap_err();
        assert_eq!(told.status(), 422, "{url}: {told}");
    }
    // What is no address of the web, or holds a password.
    for url in [
        "",
        "nothing",
        "ftp://good.test/",
        "file:///etc/passwd",
        "gopher://127.0.0.1:80/x",
        "http://me@good.test/",
        "http://me:secret@good.test/",
        "http://",
        "data:text/plain,x",
        "http://127.1.1.1:80:\\@@127.2.2.2:80/",
        "javascript:alert(1)",
    ] {
        assert_eq!(fetcher.fetch(url).await.unwrap_err().status(), 422, "{url}");
    }
    assert_eq!(fetcher.fetch("http://unknown.test/").await.unwrap_err().status(), 502);
    // A name of the public internet is nobody's here.
    for url in collected("ssrf_urls.json", "payload") {
        let told = fetcher.fetch(&url).await.unwrap_err();
        assert!(matches!(told.status(), 422 | 502), "{url}: {told}");
    }
    assert_eq!(canary.asked(), 0);
}

#[tokio::test]
async fn every_redirect_is_checked_again() {
    let canary = Site::canary().await;
    let inside: Vec<String> = ["127.0.0.1", "[::1]", "localhost", "intranet.test"]
        .map(|host| canary.url(host, "/"))
        .into();
    let mut routes = Router::new();
    for (number, target) in inside.iter().enumerate() {
        let target = target.clone();
        routes = routes.route(&format!("/in/{number}"), get(async move || redirect(target)));
    }
    let plain = [(header::CONTENT_TYPE, "text/plain")];
    let routes = routes
        .route("/named", get(async || redirect("http://metadata.test/latest".into())))
        .route("/file", get(async || redirect("file:///etc/passwd".into())))
        .route("/secret", get(async || redirect("http://me:pw@good.test/".into())))
        .route("/nowhere", get(async || redirect(String::new())))
        .route("/loop", get(async || redirect("/loop".into())))
        .route(
            "/steps/{left}",
            get(async |axum::extract::Path(left): axum::extract::Path<u32>| {
                redirect(if left == 0 { "/end".into() } else { format!("/steps/{}", left - 1) })
            }),
        )
        .route("/end", get(async move || answer(&plain, "arrived")));
    let site = Site::start(routes).await;
    let fetcher = fetcher(&site);
    let get = async |path: &str| fetcher.fetch(&site.url("good.test", path)).await;

    for number in 0..inside.len() {
        let told = get(&format!("/in/{number}")).await.unwrap_err();
        assert_eq!(told.status(), 422, "{told}");
    }
    for path in ["/named", "/file", "/secret"] {
        assert_eq!(get(path).await.unwrap_err().status(), 422, "{path}");
    }
    assert_eq!(canary.asked(), 0);
    assert_eq!(get("/steps/4").await.unwrap().text, "arrived");
    let before = site.asked();
    assert_eq!(get("/steps/5").await.unwrap_err().status(), 502);
    assert_eq!(get("/loop").await.unwrap_err().status(), 502);
    assert_eq!(site.asked() - before, 12);
    assert_eq!(get("/nowhere").await.unwrap_err().status(), 502);
}

#[tokio::test]
async fn only_texts_of_some_size_are_taken() {
    let plain = [(header::CONTENT_TYPE, "text/plain")];
    let with = |kind: &'static str, body: &'static str| {
        get(async move || answer(&[(header::CONTENT_TYPE, kind)], body))
    };
    let endless = || {
        let piece = || Ok::<_, std::io::Error>(axum::body::Bytes::from(vec![b'x'; 64 * 1024]));
        Body::from_stream(futures::stream::iter((0..1000).map(move |_| piece())))
    };
    let routes = Router::new()
        .route("/plain", with("text/plain; charset=utf-8", " plain\r\ntext\0 "))
        .route("/json", with("application/json", "{\"a\": 1}"))
        .route("/feed", with("application/feed+json", "{}"))
        .route("/xhtml", with("application/xhtml+xml", "<p>x</p>"))
        .route("/image", with("image/png", "x"))
        .route("/pdf", with("application/pdf", "x"))
        .route("/binary", with("application/octet-stream", "x"))
        .route("/silent", get(async || answer(&[], Body::from(vec![1, 2]))))
        .route(
            "/packed",
            get(async || {
                let packed =
                    [(header::CONTENT_TYPE, "text/plain"), (header::CONTENT_ENCODING, "gzip")];
                answer(&packed, "x")
            }),
        )
        .route(
            "/latin",
            get(async || {
                let kind = [(header::CONTENT_TYPE, "text/plain; charset=ISO-8859-1")];
                answer(&kind, vec![b'c', b'a', b'f', 0xe9])
            }),
        )
        .route("/large", get(async move || answer(&plain, endless())))
        .route(
            "/long",
            get(async || answer(&[(header::CONTENT_TYPE, "text/plain")], "é".repeat(900_000))),
        );
    let site = Site::start(routes).await;
    let fetcher = fetcher(&site);
    let get = async |path: &str| fetcher.fetch(&site.url("good.test", path)).await;
    let text = async |path: &str| get(path).await.unwrap().text;

    assert_eq!(text("/plain").await, "plain\ntext");
    assert_eq!(text("/json").await, "{\"a\": 1}");
    assert_eq!(text("/feed").await, "{}");
    assert_eq!(text("/xhtml").await, "x");
    assert_eq!(text("/latin").await, "café");
    assert_eq!(text("/long").await.chars().count(), 500_000);
    for path in ["/image", "/pdf", "/binary", "/silent", "/packed", "/large", "/missing"] {
        let told = get(path).await.unwrap_err();
        assert_eq!(told.status(), 502, "{path}: {told}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_document_that_does_not_come_is_not_waited_for() {
    let never: Arc<Resolve> = Arc::new(|_, _| Box::pin(std::future::pending()));
    let fetcher = Fetcher::default().resolving(never);

    let told = fetcher.fetch("http://slow.test/").await.unwrap_err();

    assert!(told.to_string().contains("longer than 10 s"), "{told}");
}
