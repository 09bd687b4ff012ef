//! Signing in and out, and how long it lasts.

use axum::http::header;
use greenroom::{
    accounts::{Access, Mode, Transport},
    domain::{
        account::{Role, Session},
        timestamp::Timestamp,
    },
    store::{Holders, now},
};

use super::{PASSWORD, scope};
use crate::support::{House, error, on_both};

on_both!(
    one_signs_in_stays_in_and_signs_out,
    twelve_tries_at_once_are_five_tries,
    a_changed_password_ends_all_other_sessions,
    a_password_that_is_changed_while_it_is_looked_at_lets_nobody_in,
    a_session_ends_by_itself,
);

const DAY_MS: i64 = 86_400_000;

async fn one_signs_in_stays_in_and_signs_out(house: House) {
    let house = house.with_accounts(&[("ann", Role::Owner)]).await;

    let turned_away = house.page("/personas/optimist?x=1").await;
    assert_eq!(turned_away.status, 303);
    assert_eq!(turned_away.header("location"), "/login?next=/personas/optimist%3Fx%3D1");
    let told = house.get("/api/storage/personas").await;
    assert_eq!(told.error(), error(401, "sign_in", ""));
    assert_eq!(told.header("www-authenticate"), "Bearer");
    let login = house.page("/login?next=/inbox").await;
    assert!(login.status == 200 && login.text.contains("value=\"/inbox\""), "{}", login.text);
    assert!(login.header("content-security-policy").contains("form-action 'self'"));
    assert!(!login.text.contains("<script"));

    // A planted session is not taken over by signing in.
    let planted = house.seen_by(header::COOKIE, "sid=planted");
    let answer = planted.sign_in("Ann", PASSWORD, "/inbox").await;
    assert_eq!((answer.status.as_u16(), answer.header("location")), (303, "/inbox"));
    let cookie = answer.header("set-cookie").to_owned();
    assert!(cookie.starts_with("sid=") && !cookie.contains("planted"), "{cookie}");
    for part in ["Path=/", "HttpOnly", "SameSite=Lax", "Max-Age=2592000"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(!cookie.contains("Secure"), "{cookie}");
    assert_eq!(planted.get("/api/storage/personas").await.status, 401);
    let inside = house.keeping(&answer);
    assert_eq!(inside.get("/api/storage/personas").await.status, 200);
    let page = inside.page("/").await;
    assert!(page.status == 200 && page.text.contains("data-account=\"owner\""), "{}", page.text);
    assert_eq!(inside.page("/login?next=/inbox").await.header("location"), "/inbox");

    // What is kept opens nothing.
    let sessions = house.state.accounts.sessions(&"ann".into()).await.unwrap();
    let held = cookie.split(['=', ';']).nth(1).unwrap();
    assert_eq!(sessions.len(), 1);
    assert!(sessions[0].hash.len() == 64 && sessions[0].hash != held);
    let by_hash = house.seen_by(header::COOKIE, &format!("sid={}", sessions[0].hash));
    assert_eq!(by_hash.get("/api/storage/personas").await.status, 401);

    // Signing in again ends the session that the browser had.
    let again = inside.sign_in("ann", PASSWORD, "//evil.test").await;
    assert_eq!(again.header("location"), "/");
    assert_eq!(inside.get("/api/storage/personas").await.status, 401);
    let inside = house.keeping(&again);
    // Also when somebody else does so there.
    house.with_accounts(&[("bob", Role::Viewer)]).await;
    let bobs = inside.sign_in("bob", PASSWORD, "/").await;
    assert_eq!(bobs.status, 303);
    assert_eq!(inside.get("/api/storage/personas").await.status, 401);
    let inside = house.keeping(&bobs);
    let out = inside.form("/logout", "/", &[]).await;
    assert!(out.header("set-cookie").contains("Max-Age=0"));
    assert_eq!(inside.get("/api/storage/personas").await.status, 401);
}

async fn twelve_tries_at_once_are_five_tries(house: House) {
    let house = house.with_accounts(&[("ann", Role::Owner)]).await;

    let tries = (0..12).map(|_| house.sign_in("ann", "wrong password", "/"));
    let answers = futures::future::join_all(tries).await;

    let count = |status: u16| answers.iter().filter(|answer| answer.status == status).count();
    assert_eq!((count(401), count(429)), (5, 7));
    let slowed = answers.iter().find(|answer| answer.status == 429).unwrap();
    assert!(slowed.header("retry-after").parse::<u32>().unwrap() <= 6, "{slowed:?}");
    assert!(slowed.text.contains("Too many tries"), "{}", slowed.text);
    // Even the right password waits, and the owners see what happened, a moment after it was told.
    assert_eq!(house.sign_in("ann", PASSWORD, "/").await.status, 429);
    let failed = async || {
        let events = house.state.accounts.events(&scope("ann").space).await.unwrap();
        events.iter().filter(|event| event.what.unwrap().word() == "failed").count()
    };
    while failed().await < 5 {}
    assert_eq!(failed().await, 5);
}

async fn a_changed_password_ends_all_other_sessions(house: House) {
    let house = house.with_accounts(&[("ann", Role::Viewer)]).await;
    let (here, elsewhere) = (house.signed_in("ann").await, house.signed_in("ann").await);

    let fields = |old, new| [("old", old), ("new", new)];
    let path = "/account/password";
    let wrong = here.form(path, "/account", &fields("wrong password", "battery staple")).await;
    assert!(wrong.status == 422 && wrong.text.contains("not your present password"));
    assert_eq!(here.posted(path, &fields(PASSWORD, "short")).await, 422);
    assert_eq!(elsewhere.page("/account").await.status, 200);
    assert_eq!(here.posted(path, &fields(PASSWORD, "battery staple")).await, 200);

    assert_eq!(here.get("/api/chats").await.status, 200);
    assert_eq!(elsewhere.get("/api/chats").await.status, 401);
    assert_eq!(house.sign_in("ann", PASSWORD, "/").await.status, 401);
    assert_eq!(house.sign_in("ann", "battery staple", "/").await.status, 303);
}

async fn a_password_that_is_changed_while_it_is_looked_at_lets_nobody_in(house: House) {
    let house = house.with_accounts(&[("ann", Role::Owner)]).await;
    let (accounts, ann) = (&house.state.accounts, greenroom::domain::id::UserId::from("ann"));
    let hash = async || house.read().await.password_hash(&ann).await.unwrap();
    let begin = async |hash: Option<&str>| {
        accounts.begin_session(&ann, &"home".into(), hash, &Default::default()).await
    };
    // They typed the right one.
    let seen = hash().await;
    assert!(begin(seen.as_deref()).await.is_ok());

    accounts.set_password(&ann, "battery staple").await.unwrap();

    assert_eq!(begin(seen.as_deref()).await.unwrap_err().status(), 401);
    assert_eq!(accounts.sessions(&ann).await.unwrap(), []);
    assert!(begin(hash().await.as_deref()).await.is_ok());
    // Nor whoever was taken out meanwhile.
    let seen = hash().await;
    let bob = scope("bob");
    accounts.add(&bob, Role::Owner, Some(PASSWORD)).await.unwrap();
    accounts.remove(&bob, &ann, "").await.unwrap();
    assert_eq!(begin(seen.as_deref()).await.unwrap_err().status(), 401);
}

async fn a_session_ends_by_itself(house: House) {
    let house = house.with_accounts(&[("ann", Role::Owner)]).await;
    let now = now();
    let session = |used: i64, ends: i64| Session {
        hash: greenroom::accounts::Secret::given("held").hash(),
        user: "ann".into(),
        space: "home".into(),
        browser: String::new(),
        address: String::new(),
        created_at: Timestamp(now.0 - 20 * DAY_MS),
        used_at: Timestamp(now.0 - used),
        expires_at: Timestamp(now.0 + ends),
    };
    let held = house.seen_by(header::COOKIE, "sid=held");
    for (used, ends, status) in [(6 * DAY_MS, DAY_MS, 200), (7 * DAY_MS, DAY_MS, 401), (0, -1, 401)]
    {
        let mut link = house.state.store.write_accounts().await.unwrap();
        link.end_session(&"ann".into(), &session(0, 0).hash).await.unwrap();
        link.put_session(&session(used, ends)).await.unwrap();
        link.commit().await.unwrap();

        assert_eq!(held.get("/api/chats").await.status, status, "{used} {ends}");
        // One that is over is gone, whatever the clock says later.
        let mut link = house.state.store.read_accounts().await.unwrap();
        let left = link.signed_in(&session(0, 0).hash, Holders::All).await.unwrap();
        assert_eq!(left.is_some(), status == 200);
    }
    house.state.accounts.purge().await.unwrap();
}

#[tokio::test]
async fn nothing_leads_out_of_the_site() {
    let house = House::new().await.with_accounts(&[("ann", Role::Owner)]).await;
    let payloads: Vec<String> = serde_json::from_str(include_str!("open_redirect.json")).unwrap();

    for payload in &payloads {
        let answer = house.sign_in("ann", PASSWORD, payload).await;
        let to = answer.header("location").to_owned();
        assert_eq!(answer.status, 303, "{payload}");
        let inside = to.starts_with('/') && !to.starts_with("//") && !to.contains('\\');
        assert!(inside && !to.split('?').next().unwrap().contains("//"), "{payload} leads to {to}");
    }
    assert!(payloads.len() >= 80);
}

#[tokio::test]
async fn an_unknown_name_is_told_as_a_wrong_password_is() {
    let house = House::new().await.with_accounts(&[("ann", Role::Owner)]).await;
    // The owner of the machine has no password, and is no way in.
    for name in ["ann", "nobody", "owner", "", "a\u{202e}b"] {
        let answer = house.sign_in(name, "wrong password", "/").await;
        assert_eq!(answer.status, 401, "{name}");
        assert!(answer.text.contains("The name or the password is wrong."), "{name}");
        assert!(answer.headers.get("set-cookie").is_none());
    }
}

#[tokio::test]
async fn behind_encryption_the_cookie_is_bound_to_the_host() {
    let access = Access::undecided(Transport::Tls, Vec::new());
    access.decide(Mode::Accounts);
    let house = House::new().await;
    house.with_accounts(&[("ann", Role::Owner)]).await;
    let house = house.with_access(access);

    let answer = house.sign_in("ann", PASSWORD, "/").await;

    let cookie = answer.header("set-cookie");
    assert!(cookie.starts_with("__Host-sid=") && cookie.ends_with("; Secure"), "{cookie}");
    assert_eq!(answer.header("strict-transport-security"), "max-age=31536000");
    assert_eq!(house.keeping(&answer).get("/api/chats").await.status, 200);
    let plain = cookie.split(['=', ';']).nth(1).unwrap();
    let plain = house.seen_by(header::COOKIE, &format!("sid={plain}"));
    assert_eq!(plain.get("/api/chats").await.status, 401);
}
