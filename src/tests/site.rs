//! The site's files and options.

use axum::{
    body::Body,
    http::{Request, header},
};

use crate::support::{ADDRESS, House};

/// The part of a file below the header that both files share.
fn leptos_section(text: &str) -> Vec<String> {
    let start = text.find("\n[package.metadata.leptos]").expect("the section is there");
    let section = text[start + 1..].lines().skip(1).take_while(|line| !line.starts_with('['));
    section.filter(|line| line.contains('=')).map(|line| line.trim().to_owned()).collect()
}

#[test]
fn leptos_toml_and_cargo_toml_agree() {
    let read = |name: &str| std::fs::read_to_string(name).unwrap();

    let (own, cargo) = (leptos_section(&read("Leptos.toml")), leptos_section(&read("Cargo.toml")));

    assert!(own.len() > 5);
    assert_eq!(own, cargo);
}

#[tokio::test]
async fn files_are_compressed_and_cached_for_ever_under_hashed_names() {
    let house = House::new().await;
    let real = greenroom::server::site_files(&house.state.site);
    let get = async |path: &str, encoding: &str, etag: &str| {
        let request = Request::builder()
            .uri(path)
            .header(header::HOST, ADDRESS)
            .header(header::ACCEPT_ENCODING, encoding)
            .header(header::IF_NONE_MATCH, etag)
            .body(Body::empty())
            .unwrap();
        house.send(request).await
    };

    let hash = real.style.strip_prefix("/pkg/greenroom.").unwrap().strip_suffix(".css").unwrap();
    assert_eq!(hash.len(), 16);
    for (asked, encoding) in
        [("gzip, br", "br"), ("gzip", "gzip"), ("br;q=0, gzip", "gzip"), ("", "")]
    {
        let file = get(&real.style, asked, "").await;
        assert_eq!(file.status, 200);
        assert_eq!(file.header("content-encoding"), encoding);
        assert_eq!(file.header("cache-control"), "public, max-age=31536000, immutable");
        assert_eq!(file.header("content-type"), "text/css; charset=utf-8");
        assert_eq!(file.header("vary"), "accept-encoding");
    }
    let etag = get(&real.style, "", "").await.header("etag").to_owned();
    assert_eq!(get(&real.style, "", &etag).await.status, 304);
    assert_eq!(get("/favicon.svg", "", "").await.header("content-type"), "image/svg+xml");
    for path in ["/pkg/../Cargo.toml", "/pkg/..%2fCargo.toml", "/pkg//etc/passwd", "/pkg/"] {
        assert_eq!(get(path, "", "").await.status, 404, "{path}");
    }
}
