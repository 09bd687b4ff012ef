//! How people come in without a password: from this machine, by a printed link, or through a proxy.

use axum::http::{Method, header};
use greenroom::{
    accounts::{Access, Mode, Peers, Transport},
    domain::{
        account::{LOCAL_OWNER, Role, TokenScope},
        publication::PublishWish,
    },
    server::Peer,
};

use super::PASSWORD;
use crate::support::{House, error, form_request, request};

/// Asks from another machine, or from this one.
async fn from(house: &House, address: &str, path: &str, headers: &[(&'static str, &str)]) -> u16 {
    let mut request = request(Method::GET, path, None);
    for (name, value) in headers {
        request.headers_mut().append(*name, value.parse().unwrap());
    }
    let local = "127.0.0.1:3000".parse().unwrap();
    request.extensions_mut().insert(Peer::new(format!("{address}:1").parse().unwrap(), local));
    house.status(request).await.as_u16()
}

#[tokio::test]
async fn what_a_proxy_passes_on_is_not_the_owners() {
    let house = House::new().await;
    for name in [
        "forwarded",
        "x-forwarded-for",
        "x-forwarded-host",
        "x-forwarded-proto",
        "x-forwarded-prefix",
        "x-forwarded-user",
        "x-real-ip",
        "via",
        "cf-connecting-ip",
    ] {
        for path in ["/", "/api/storage/personas", "/p/x", "/favicon.svg"] {
            let mut request = request(Method::GET, path, None);
            request.headers_mut().insert(name, "1.2.3.4".parse().unwrap());
            let answer = house.send(request).await;
            assert_eq!(answer.error(), error(403, "denied", ""), "{name} {path}");
            for advice in ["greenroom user add", "--trusted-proxy"] {
                assert!(answer.text.contains(advice), "{}", answer.text);
            }
        }
    }
}

#[tokio::test]
async fn a_link_on_another_site_opens_nothing_by_itself() {
    let house = House::new().await;
    for (site, status) in
        [("cross-site", 401), ("same-site", 401), ("none", 200), ("same-origin", 200)]
    {
        let mut request = request(Method::GET, "/personas/optimist", None);
        request.headers_mut().insert("sec-fetch-site", site.parse().unwrap());
        request.headers_mut().insert(header::ACCEPT, "text/html".parse().unwrap());
        let answer = house.send(request).await;
        assert_eq!(answer.status, status, "{site}");
        if status == 401 {
            // A person who wants to go there does so by a click of their own.
            assert!(answer.text.contains("href=\"/personas/optimist\""), "{}", answer.text);
            assert!(!answer.text.contains("Optimist"), "{}", answer.text);
        }
    }
}

#[tokio::test]
async fn whoever_is_not_the_user_who_started_the_server_is_a_stranger() {
    let house = House::new().await.in_mode(Mode::Local(Peers::SameUser));

    assert_eq!(house.get("/api/storage/personas").await.error(), error(401, "sign_in", ""));
    assert_eq!(house.page("/").await.status, 401);
    assert_eq!(from(&house, "10.0.0.1", "/api/storage/personas", &[]).await, 401);
    // There is no such connection.
    assert_eq!(from(&house, "127.0.0.1", "/api/storage/personas", &[]).await, 401);
    assert_eq!(house.get("/healthz").await.status, 200);
}

#[tokio::test]
async fn the_printed_link_opens_one_browser() {
    let house = House::new().await.in_mode(Mode::Local(Peers::Link));
    let path = format!("/enter/{}", house.state.access.open_entrance().unwrap().expose());

    assert_eq!(house.get("/api/storage/personas").await.status, 401);
    assert_eq!(house.page("/enter/guess").await.status, 404);
    let entered = house.page(&path).await;
    assert_eq!((entered.status.as_u16(), entered.header("location")), (303, "/"));
    assert_eq!(house.page(&path).await.status, 404);
    let browser = house.keeping(&entered);
    assert_eq!(browser.get("/api/storage/personas").await.status, 200);
    assert_eq!(browser.page("/account").await.status, 200);
}

#[tokio::test]
async fn what_the_printed_link_opened_is_closed_once_there_are_accounts() {
    let house = House::new().await.in_mode(Mode::Local(Peers::Link));
    let path = format!("/enter/{}", house.state.access.open_entrance().unwrap().expose());
    let entered = house.page(&path).await;
    assert_eq!(house.keeping(&entered).get("/api/chats").await.status, 200);
    let program = house.with_token(LOCAL_OWNER, TokenScope::Write).await;
    assert_eq!(program.get("/api/chats").await.status, 200);

    let house = house.with_accounts(&[("ann", Role::Owner)]).await;

    let browser = house.keeping(&entered);
    assert_eq!(browser.get("/api/chats").await.error(), error(401, "sign_in", ""));
    assert_eq!(browser.page("/").await.header("location"), "/login?next=/");
    assert_eq!(browser.page("/login").await.status, 200);
    let program = house.with_token(LOCAL_OWNER, TokenScope::Write).await;
    assert_eq!(program.get("/api/chats").await.error(), error(401, "sign_in", ""));
    // With a password of their own they come in again.
    house.state.accounts.set_password(&LOCAL_OWNER.into(), PASSWORD).await.unwrap();
    assert_eq!(house.signed_in(LOCAL_OWNER).await.get("/api/chats").await.status, 200);
}

#[tokio::test]
async fn whoever_is_no_trusted_proxy_says_nothing_about_encryption() {
    let plain = House::new().await;
    let wish = PublishWish { slug: Some("the-optimist".into()), ..PublishWish::default() };
    plain.gate().publish(&"optimist".into(), wish).await.unwrap();
    let house = plain.with_accounts(&[("ann", Role::Owner)]).await;
    let access = Access::undecided(Transport::Plain, vec!["10.0.0.1".parse().unwrap()]);
    access.decide(Mode::Accounts);
    let house = house.with_access(access);
    let address_from = async |peer: &str| {
        let mut asked = request(Method::GET, "/p/the-optimist", None);
        asked.headers_mut().insert("x-forwarded-proto", "https".parse().unwrap());
        let local = "127.0.0.1:3000".parse().unwrap();
        asked.extensions_mut().insert(Peer::new(format!("{peer}:1").parse().unwrap(), local));
        let page = house.send(asked).await;
        assert_eq!(page.status, 200);
        let (_, rest) = page.text.split_once("property=\"og:url\" content=\"").unwrap();
        rest.split('"').next().unwrap().to_owned()
    };

    assert_eq!(address_from("10.0.0.1").await, "https://127.0.0.1:3000/p/the-optimist");
    assert_eq!(address_from("10.0.0.2").await, "http://127.0.0.1:3000/p/the-optimist");
}

#[tokio::test]
async fn a_proxy_is_believed_if_it_is_the_one_that_is_trusted() {
    let plain = House::new().await;
    let mail = "ann.lee+work@example.org";
    plain.with_accounts(&[("ann", Role::Owner), ("eve", Role::Viewer), (mail, Role::Viewer)]).await;
    let trusted = ["10.0.0.1", "172.18.0.0/16"].map(|proxy| proxy.parse().unwrap());
    let access = Access::undecided(Transport::Tls, trusted.into());
    access.decide(Mode::Proxy("remote-user".into()));
    let house = plain.with_access(access);
    let path = "/api/storage/personas";

    assert_eq!(from(&house, "10.0.0.1", path, &[("remote-user", "ann")]).await, 200);
    assert_eq!(from(&house, "172.18.7.8", path, &[("remote-user", "ann")]).await, 200);
    assert_eq!(from(&house, "172.19.0.1", path, &[("remote-user", "ann")]).await, 403);
    // Most proxies call people by where their mail goes.
    let called = [("remote-user", "Ann.Lee+work@Example.org")];
    assert_eq!(from(&house, "10.0.0.1", path, &called).await, 200);
    assert_eq!(from(&house, "10.0.0.1", "/people", &called).await, 403);
    assert_eq!(from(&house, "10.0.0.1", path, &[("remote-user", "nobody")]).await, 403);
    assert_eq!(from(&house, "10.0.0.1", path, &[]).await, 403);
    assert_eq!(from(&house, "10.0.0.2", path, &[("remote-user", "ann")]).await, 403);
    assert_eq!(from(&house, "127.0.0.1", path, &[("remote-user", "ann")]).await, 403);
    assert_eq!(from(&house, "10.0.0.1", "/people", &[("remote-user", "eve")]).await, 403);
    assert_eq!(from(&house, "10.0.0.1", "/people", &[("remote-user", "ann")]).await, 200);
    // Whoever has no session of their own is not offered to work elsewhere with it.
    let mut elsewhere = super::scope("ann");
    elsewhere.space = "second".into();
    house.state.accounts.add(&elsewhere, Role::Owner, None).await.unwrap();
    let mut asked = request(Method::GET, "/account", None);
    asked.headers_mut().insert("remote-user", "ann".parse().unwrap());
    let local = "127.0.0.1:3000".parse().unwrap();
    asked.extensions_mut().insert(Peer::new("10.0.0.1:1".parse().unwrap(), local));
    let page = house.send(asked).await;
    assert!(page.status == 200 && !page.text.contains("Work there"), "{}", page.text);
    // Elsewhere the header says nothing.
    let accounts = plain.in_mode(Mode::Accounts);
    assert_eq!(from(&accounts, "10.0.0.1", path, &[("remote-user", "ann")]).await, 401);
}

#[tokio::test]
async fn where_a_request_comes_from_is_told_by_a_trusted_proxy_only() {
    let plain = House::new().await;
    plain.with_accounts(&[("ann", Role::Owner)]).await;
    let access = Access::undecided(Transport::Plain, vec!["10.0.0.1".parse().unwrap()]);
    access.decide(Mode::Accounts);
    let house = plain.with_access(access);
    for (peer, address) in [("10.0.0.1", "5.6.7.8"), ("10.0.0.2", "10.0.0.2")] {
        let fields = [("name", "ann"), ("password", PASSWORD)];
        let mut request = form_request("/login", "/login", &fields, "text/html");
        request.headers_mut().insert("x-forwarded-for", "1.2.3.4, 5.6.7.8".parse().unwrap());
        let local = "10.0.0.9:3000".parse().unwrap();
        request.extensions_mut().insert(Peer::new(format!("{peer}:1").parse().unwrap(), local));
        assert_eq!(house.send(request).await.status, 303);

        let sessions = house.state.accounts.sessions(&"ann".into()).await.unwrap();
        assert!(sessions.iter().any(|session| session.address == address), "{sessions:?}");
    }
}

#[tokio::test]
async fn until_it_is_settled_who_may_come_in_nobody_does() {
    let house = House::new().await;
    let house = house.with_access(Access::undecided(Transport::Plain, Vec::new()));

    assert_eq!(house.get("/api/storage/personas").await.error(), error(503, "unavailable", ""));
    assert_eq!(house.page("/").await.status, 503);
    assert_eq!(house.get("/healthz").await.status, 200);
    house.state.access.decide(Mode::Accounts);
    assert_eq!(house.get("/api/storage/personas").await.status, 401);
}

#[tokio::test]
async fn where_there_are_no_accounts_there_is_nothing_to_sign_in_to() {
    let house = House::new().await;

    assert_eq!(house.page("/login").await.status, 409);
    assert_eq!(house.sign_in("owner", PASSWORD, "/").await.status, 409);
    let told = house.page("/people").await;
    assert!(told.status == 409 && told.text.contains("greenroom user add"), "{}", told.text);
    assert!(!house.page("/").await.text.contains("data-account"));
}
