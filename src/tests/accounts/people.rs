//! Roles, members and Spaces.

use std::time::Duration;

use axum::http::Method;
use greenroom::{
    accounts::{Access, Mode},
    domain::{
        account::Role,
        actor::Actor,
        change::{Change, Op},
        id::PersonaId,
        persona::Tier,
    },
};
use serde_json::json;

use super::{PASSWORD, scope};
use crate::support::{House, error, on_both, request};

on_both!(
    owners_see_to_people,
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
