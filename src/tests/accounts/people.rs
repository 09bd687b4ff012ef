//! Roles, members and Spaces.

use std::time::Duration;

use axum::http::Method;
use greenroom::{
    accounts::{Access, Mode, NewLink},
    domain::{
        account::{Role, TokenScope},
        actor::Actor,
        change::{Change, Op},
        id::PersonaId,
        persona::Tier,
        timestamp::Timestamp,
    },
    store::now,
};
use serde_json::json;

use super::{PASSWORD, scope};
use crate::support::{House, error, on_both, request};

on_both!(
    owners_see_to_people,
    nobody_else_sees_to_people,
    nobody_reaches_what_is_anothers,
    what_others_did_is_told_under_their_names,
    a_person_of_two_spaces_works_in_one_at_a_time
);

async fn owners_see_to_people(house: House) {
    let people = [("ann", Role::Owner), ("bob", Role::Editor), ("eve", Role::Viewer)];
    let house = house.with_accounts(&people).await;
    let (ann, bob) = (house.signed_in("ann").await, house.signed_in("bob").await);
    let eve = house.signed_in("eve").await;

    let page = ann.page("/people").await;
    for name in ["ann", "bob", "eve", "owner"] {
        assert!(page.text.contains(&format!("<strong>{name}<")), "{name}: {}", page.text);
    }
    assert_eq!(bob.page("/people").await.status, 403);
    let told = eve.call(Method::POST, "/api/storage/personas", json!({"name": "x"})).await;
    assert_eq!(told.error(), error(403, "denied", ""));
    assert!(told.text.contains("change nothing"), "{}", told.text);
    // A form without JavaScript gets a page that says the same.
    let told = eve.form("/fn/create_persona", "/", &[("name", "x")]).await;
    assert!(told.status == 403 && told.text.contains("<main"), "{}", told.text);
    assert_eq!(bob.posted("/people/role", &[("user", "bob"), ("role", "owner")]).await, 403);

    assert_eq!(ann.posted("/people/role", &[("user", "eve"), ("role", "editor")]).await, 303);
    let made = eve.call(Method::POST, "/api/storage/personas", json!({"name": "x"})).await;
    assert_eq!(made.status, 201, "{}", made.text);
    for (user, role, status) in
        [("eve", "king", 422), ("nobody", "viewer", 404), ("ann", "viewer", 409)]
    {
        let fields = [("user", user), ("role", role)];
        assert_eq!(ann.posted("/people/role", &fields).await, status, "{user} {role}");
    }
    // The last owner who can sign in stays.
    let kept = ann.form("/people/remove", "/people", &[("user", "ann")]).await;
    assert!(kept.status == 409 && kept.text.contains("last owner"), "{}", kept.text);
    assert_eq!(ann.posted("/people/remove", &[("user", "bob")]).await, 303);
    assert_eq!(bob.get("/api/chats").await.status, 401);
    assert_eq!(house.sign_in("bob", PASSWORD, "/").await.status, 401);
    let page = ann.page("/people").await;
    for what in ["bob: Removed", "eve: Role changed", "editor by ann"] {
        assert!(page.text.contains(what), "{what}: {}", page.text);
    }
}

async fn nobody_else_sees_to_people(house: House) {
    let people = [("ann", Role::Owner), ("bob", Role::Editor), ("eve", Role::Viewer)];
    let house = house.with_accounts(&people).await;
    let (accounts, home) = (&house.state.accounts, scope("ann"));
    let made = accounts.make_link(&home, NewLink::Invite(Role::Viewer), "").await.unwrap();
    let link = accounts.links(&home).await.unwrap().remove(0).id;
    let before = accounts.members(&home.space).await.unwrap();

    for name in ["bob", "eve"] {
        let member = house.signed_in(name).await;
        for (path, fields) in [
            ("/people/role", [("user", name), ("role", "owner")]),
            ("/people/remove", [("user", "ann"), ("role", "")]),
            ("/people/invite", [("user", ""), ("role", "owner")]),
            ("/people/reset", [("user", "ann"), ("role", "")]),
            ("/people/links/drop", [("link", link.as_str()), ("role", "")]),
        ] {
            assert_eq!(member.posted(path, &fields).await, 403, "{name} {path}");
        }
    }

    assert_eq!(accounts.members(&home.space).await.unwrap(), before);
    let links = accounts.links(&home).await.unwrap();
    assert_eq!(links.iter().map(|kept| &kept.id).collect::<Vec<_>>(), [&link]);
    assert_eq!(house.page(&made.path).await.status, 200);
}

async fn nobody_reaches_what_is_anothers(house: House) {
    let people = [("ann", Role::Owner), ("eve", Role::Viewer)];
    let house = house.with_accounts(&people).await;
    let (accounts, home) = (&house.state.accounts, scope("ann"));
    let mut elsewhere = scope("dan");
    elsewhere.space = "second".into();
    accounts.add(&elsewhere, Role::Owner, Some(PASSWORD)).await.unwrap();
    let made = accounts.make_link(&home, NewLink::Invite(Role::Viewer), "").await.unwrap();
    let link = accounts.links(&home).await.unwrap().remove(0).id;
    let program = house.with_token("ann", TokenScope::Read).await;
    let token = accounts.tokens(&home.user).await.unwrap().remove(0).id;
    let (ann, dan) = (house.signed_in("ann").await, house.signed_in("dan").await);
    let eve = house.signed_in("eve").await;

    // An owner, but of another Space.
    for (path, fields) in [
        ("/people/links/drop", [("link", link.as_str()), ("role", "")]),
        ("/people/remove", [("user", "eve"), ("role", "")]),
        ("/people/role", [("user", "eve"), ("role", "owner")]),
        ("/people/reset", [("user", "eve"), ("role", "")]),
    ] {
        assert_eq!(dan.posted(path, &fields).await, 404, "{path}");
    }
    assert_eq!(house.page(&made.path).await.status, 200);
    for other in [&dan, &eve] {
        assert_eq!(other.posted("/account/tokens/revoke", &[("token", &token)]).await, 404);
    }
    assert_eq!(program.get("/api/chats").await.status, 200);
    // Whose password it is, the session says and no field.
    let fields = [("user", "ann"), ("old", PASSWORD), ("new", "battery staple")];
    assert_eq!(eve.posted("/account/password", &fields).await, 200);
    assert_eq!(house.sign_in("ann", PASSWORD, "/").await.status, 303);
    assert_eq!(house.sign_in("eve", "battery staple", "/").await.status, 303);

    assert_eq!(ann.posted("/account/tokens/revoke", &[("token", &token)]).await, 303);
    assert_eq!(program.get("/api/chats").await.status, 401);
}

async fn what_others_did_is_told_under_their_names(house: House) {
    let house = house.with_accounts(&[("ann", Role::Owner), ("bob", Role::Editor)]).await;
    let (ann, bob) = (house.signed_in("ann").await, house.signed_in("bob").await);
    let made = json!({"id": "kit", "name": "Kit", "systemPrompt": "Be kind."});
    bob.call(Method::POST, "/api/storage/personas", made).await.good();
    let made = bob.call(Method::POST, "/api/storage/pages", json!({"title": "Fog"})).await.good();
    let page = format!("/pages/{}?versions=1", made["id"].as_str().unwrap());
    let agent = house.gate_for(Actor::Persona {
        persona: "kit".into(),
        user: "bob".into(),
        run: None,
        tier: Tier::Suggest,
    });
    let change = Change::new(&PersonaId::new("kit"), Op::Update).set("name", "Kitty").based_on(1);
    let draft = agent.submit(change).await.unwrap().change_id.unwrap();
    ann.function("approve_draft", &[("id", draft.as_str()), ("take", "all")]).await.good();

    let plain = |text: String| text.replace("<!>", "");
    let by_ann = plain(ann.page("/audit").await.text);
    let by_bob = plain(bob.page("/audit").await.text);
    assert!(by_ann.contains("bob · page") && by_ann.contains("Kitty, accepted by you"), "{by_ann}");
    assert!(by_bob.contains("You · page") && by_bob.contains("Kitty, accepted by ann"), "{by_bob}");
    for (reader, who) in [(&ann, "bob"), (&bob, "You")] {
        let shown = plain(reader.page(&page).await.text);
        assert!(shown.contains(&format!("<p class=\"small\">{who}")), "{who}: {shown}");
        let listed = reader.function("list_versions", &[("id", "kit")]).await.good();
        let author = listed["items"].as_array().unwrap().last().unwrap()["author"].clone();
        assert_eq!(author, if who == "You" { json!(null) } else { json!(who) });
    }
}

async fn a_person_of_two_spaces_works_in_one_at_a_time(house: House) {
    let house = house.with_accounts(&[("ann", Role::Owner), ("bob", Role::Editor)]).await;
    let mut second = scope("bob");
    second.space = "second".into();
    house.state.accounts.add(&second, Role::Owner, None).await.unwrap();
    let (ann, bob) = (house.signed_in("ann").await, house.signed_in("bob").await);
    let named = |name: &str| json!({"id": "here-only", "name": name});
    bob.call(Method::POST, "/api/storage/personas", named("Here only")).await.good();

    assert_eq!(bob.posted("/account/space", &[("space", "another")]).await, 404);
    assert_eq!(ann.posted("/account/space", &[("space", "second")]).await, 404);
    assert_eq!(bob.posted("/account/space", &[("space", "second")]).await, 303);

    assert_eq!(bob.get("/api/storage/personas/here-only").await.status, 404);
    assert_eq!(bob.page("/people").await.status, 200);
    assert_eq!(ann.get("/api/storage/personas/here-only").await.status, 200);
    let page = bob.page("/account").await;
    assert!(page.text.contains("Work there"), "{}", page.text);
}

#[tokio::test]
async fn one_signs_out_only_ones_own_browsers() {
    let house = House::new().await;
    let house = house.with_accounts(&[("ann", Role::Owner), ("eve", Role::Viewer)]).await;
    let (ann, eve) = (house.signed_in("ann").await, house.signed_in("eve").await);
    let session = |user: &'static str| async {
        house.state.accounts.sessions(&user.into()).await.unwrap().remove(0).hash
    };
    let (anns, eves) = (session("ann").await, session("eve").await);

    assert_eq!(eve.posted("/account/sessions/end", &[("session", &anns)]).await, 404);
    assert_eq!(ann.get("/api/chats").await.status, 200);
    assert_eq!(eve.posted("/account/sessions/end", &[("session", &eves)]).await, 303);
    assert_eq!(eve.get("/api/chats").await.status, 401);
}

#[tokio::test]
async fn a_stream_ends_with_the_session_of_whoever_listens() {
    let plain = House::new().await;
    plain.with_accounts(&[("ann", Role::Owner), ("eve", Role::Viewer)]).await;
    let mut access = Access::decided(Mode::Accounts);
    access.recheck = Duration::from_millis(20);
    let house = plain.with_access(access);
    let (ann, eve) = (house.signed_in("ann").await, house.signed_in("eve").await);
    let mut heard = eve.stream(request(Method::GET, "/api/live", None)).await;
    let mut goes_on = ann.stream(request(Method::GET, "/api/live", None)).await;
    assert!(heard.next().await.is_some() && goes_on.next().await.is_some());

    assert_eq!(ann.posted("/people/remove", &[("user", "eve")]).await, 303);

    while heard.next().await.is_some() {}
    let named = json!({"id": "fresh", "name": "Fresh"});
    ann.call(Method::POST, "/api/storage/personas", named).await.good();
    assert!(goes_on.next().await.is_some());
}

/// A page that is left open asks nothing anew: the session behind it ends as any other that nobody uses.
#[tokio::test]
async fn a_stream_keeps_no_session_in_use() {
    const IDLE_MS: i64 = 7 * 86_400_000;
    let plain = House::new().await;
    plain.with_accounts(&[("ann", Role::Owner)]).await;
    let mut access = Access::decided(Mode::Accounts);
    access.recheck = Duration::from_millis(20);
    let house = plain.with_access(access);
    let ann = house.signed_in("ann").await;
    let mut heard = ann.stream(request(Method::GET, "/api/live", None)).await;
    assert!(heard.next().await.is_some());
    let held = house.state.accounts.sessions(&"ann".into()).await.unwrap().remove(0);

    // It was last used almost seven days ago.
    let mut link = house.state.store.write_accounts().await.unwrap();
    link.touch_session(&held.hash, Timestamp(now().0 - IDLE_MS + 300)).await.unwrap();
    link.commit().await.unwrap();

    let ended = async { while heard.next().await.is_some() {} };
    tokio::time::timeout(Duration::from_secs(20), ended).await.expect("the stream keeps it in use");
    assert_eq!(ann.get("/api/chats").await.status, 401);
}
