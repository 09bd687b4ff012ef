//! Who asks too much, or too slowly: they are held up, and nobody else is.

use std::{net::SocketAddr, time::Duration};

use axum::http::Method;
use greenroom::{
    accounts::{Access, Mode},
    domain::account::Role,
    server::Peer,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::timeout,
};

use crate::support::{ADDRESS, House, error, request};

/// Somebody asks from this address until they are told that it is too much: how often they were answered.
async fn flood(house: &House, path: &str, from: &str) -> usize {
    for count in 0..5000 {
        let answer = ask(house, path, from).await;
        if answer.status == 429 {
            let wait: u64 = answer.header("retry-after").parse().unwrap();
            assert!(wait >= 1);
            assert_eq!(answer.error(), error(429, "limited", ""));
            return count;
        }
    }
    panic!("{path} is answered for ever");
}

async fn ask(house: &House, path: &str, from: &str) -> crate::support::Answer {
    let remote: SocketAddr = format!("{from}:4000").parse().unwrap();
    let mut request = request(Method::GET, path, None);
    request.extensions_mut().insert(Peer::new(remote, ADDRESS.parse().unwrap()));
    house.send(request).await
}

#[tokio::test]
async fn what_is_open_to_all_is_counted_by_address() {
    let house = House::new().await.with_accounts(&[("ann", Role::Owner)]).await;

    let answered = flood(&house, "/favicon.svg", "10.0.0.1").await;

    assert!(answered >= 1000, "a page with its files, {answered}");
    assert_eq!(ask(&house, "/readyz", "10.0.0.1").await.status, 429, "all of it together");
    assert_eq!(ask(&house, "/favicon.svg", "10.0.0.2").await.status, 200, "others go on");
    assert_eq!(ask(&house, "/healthz", "10.0.0.1").await.status, 200, "it is alive");
}

#[tokio::test]
async fn one_person_listens_to_so_many_streams_and_the_others_to_theirs() {
    let house = House::new().await;
    let house = house.with_accounts(&[("ann", Role::Owner), ("eve", Role::Viewer)]).await;
    let (ann, eve) = (house.signed_in("ann").await, house.signed_in("eve").await);
    let live = || request(Method::GET, "/api/live", None);
    let mut held = Vec::new();
    for _ in 0..256 {
        held.push(eve.stream(live()).await);
    }

    assert_eq!(eve.send(live()).await.error(), error(429, "limited", ""));

    assert_eq!(eve.get("/api/chats").await.status, 200, "reading goes on");
    assert_eq!(ann.status(live()).await, 200);
    held.pop();
    assert_eq!(eve.status(live()).await, 200);
}

#[tokio::test]
async fn strangers_are_counted_by_address() {
    let house = House::new().await.with_accounts(&[("ann", Role::Owner)]).await;

    let answered = flood(&house, "/api/chats", "10.0.0.1").await;

    assert!((100..200).contains(&answered), "{answered}");
    assert_eq!(ask(&house, "/api/chats", "10.0.0.2").await.status, 401);
    let ann = house.signed_in("ann").await;
    assert_eq!(ask(&ann, "/api/chats", "10.0.0.1").await.status, 200, "who is known goes on");
}

#[tokio::test]
async fn who_is_signed_in_is_counted_wherever_they_ask_from() {
    let people = [("ann", Role::Owner), ("eve", Role::Viewer)];
    let house = House::new().await.with_accounts(&people).await;
    let (ann, eve) = (house.signed_in("ann").await, house.signed_in("eve").await);

    let answered = flood(&ann, "/api/chats", "10.0.0.1").await;

    assert!(answered >= 600, "{answered}");
    assert_eq!(ask(&eve, "/api/chats", "10.0.0.1").await.status, 200);
    let again = house.signed_in("ann").await;
    let more = flood(&again, "/api/chats", "10.0.0.2").await;
    assert!(more < 600, "another session of hers: {more}");
}

#[tokio::test]
async fn on_ones_own_machine_nothing_is_counted() {
    let house = House::new().await;
    for _ in 0..1100 {
        assert_eq!(house.get("/favicon.svg").await.status, 200);
    }
}

#[tokio::test]
async fn who_does_not_go_on_with_a_body_is_let_go() {
    let mut access = Access::decided(Mode::Local(greenroom::accounts::Peers::Within));
    access.body_time = Duration::from_millis(100);
    let house = House::new().await.with_access(access);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = house.router.clone();
    tokio::spawn(async move { axum::serve(listener, router).await });
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST /api/chats HTTP/1.1\r\nhost: {ADDRESS}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: 90\r\n\r\n{{\"personaId\":"
    );
    stream.write_all(head.as_bytes()).await.unwrap();

    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer);
    timeout(Duration::from_secs(30), read).await.expect("it waits for ever").unwrap();

    let answer = String::from_utf8(answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap_or_default();
    assert!(["400", "408"].contains(&status), "{answer}");
    assert!(answer.contains("\"message\""), "{answer}");
    assert_eq!(house.get("/api/chats").await.status, 200);
}
