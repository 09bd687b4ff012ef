//! Invitations and links to a new password.

use greenroom::{
    accounts::NewLink,
    domain::account::{AccountLink, LinkKind, Role},
    store::now,
};

use super::{PASSWORD, scope};
use crate::support::{Answer, House, on_both};

on_both!(
    an_invitation_lets_one_person_in,
    a_reset_link_sets_one_password,
    nobody_comes_back_by_links_they_made,
);

/// The path of the link on a page that shows it.
fn link_on(page: &Answer, kind: &str) -> String {
    let (_, rest) = page.text.split_once(&format!("/{kind}/")).unwrap();
    format!("/{kind}/{}", rest.split('<').next().unwrap())
}

async fn an_invitation_lets_one_person_in(house: House) {
    let house = house.with_accounts(&[("ann", Role::Owner)]).await;
    let ann = house.signed_in("ann").await;

    let made = ann.form("/people/invite", "/people", &[("role", "viewer")]).await;
    let path = link_on(&made, "invite");
    assert!(made.text.contains(&format!("http://127.0.0.1:3000{path}")), "{}", made.text);
    let listed = ann.page("/people").await;
    assert!(listed.text.contains("An invitation, as viewer") && !listed.text.contains(&path[8..]));
    let opened = house.page(&path).await;
    assert!(opened.status == 200 && opened.text.contains("You come in as viewer"));

    let fields = |name, password| [("name", name), ("password", password)];
    // What is wrong is told, and the link goes on waiting.
    for (name, password) in [("", PASSWORD), ("a b", PASSWORD), ("bob", "short")] {
        assert_eq!(house.posted(&path, &fields(name, password)).await, 422, "{name}");
    }
    // Nobody becomes the owner of the machine, or somebody else, by an invitation.
    for name in ["owner", "ann"] {
        assert_eq!(house.posted(&path, &fields(name, "another password")).await, 422, "{name}");
    }
    let come = [fields("bob", PASSWORD), fields("bea", PASSWORD)];
    let both =
        futures::future::join_all(come.iter().map(|fields| house.form(&path, &path, &fields[..])))
            .await;
    let inside: Vec<_> = both.iter().filter(|answer| answer.status == 303).collect();
    assert_eq!(inside.len(), 1, "{both:?}");
    let member = house.keeping(inside[0]);
    assert_eq!(member.get("/api/chats").await.status, 200);
    assert_eq!(member.page("/people").await.status, 403);
    assert_eq!(house.page(&path).await.status, 404);
    assert_eq!(house.posted(&path, &fields("cid", PASSWORD)).await, 404);
    let members = house.state.accounts.members(&scope("ann").space).await.unwrap();
    assert_eq!(members.len(), 3, "{members:?}");
}

async fn a_reset_link_sets_one_password(house: House) {
    let people = [("ann", Role::Owner), ("bob", Role::Editor)];
    let house = house.with_accounts(&people).await;
    let (ann, bob) = (house.signed_in("ann").await, house.signed_in("bob").await);
    assert_eq!(bob.posted("/people/reset", &[("user", "ann")]).await, 403);
    assert_eq!(ann.posted("/people/reset", &[("user", "nobody")]).await, 404);
    let first = link_on(&ann.form("/people/reset", "/people", &[("user", "bob")]).await, "reset");
    let path = link_on(&ann.form("/people/reset", "/people", &[("user", "bob")]).await, "reset");

    // A newer link takes the place of an older one.
    assert_eq!(house.page(&first).await.status, 404);
    assert_eq!(house.posted(&path, &[("password", "short")]).await, 422);
    let set = house.form(&path, &path, &[("password", "battery staple")]).await;
    assert_eq!(set.status, 303, "{}", set.text);
    assert_eq!(house.keeping(&set).get("/api/chats").await.status, 200);
    assert_eq!(bob.get("/api/chats").await.status, 401);
    assert_eq!(house.posted(&path, &[("password", "battery staple 2")]).await, 404);
    assert_eq!(house.sign_in("bob", PASSWORD, "/").await.status, 401);
    assert_eq!(house.sign_in("bob", "battery staple", "/").await.status, 303);
}

async fn nobody_comes_back_by_links_they_made(house: House) {
    let people = [("ann", Role::Owner), ("bob", Role::Owner), ("cid", Role::Owner)];
    let house = house.with_accounts(&people).await;
    let accounts = &house.state.accounts;
    let (ann, eve) = (scope("ann"), "eve".into());
    accounts.add(&scope("eve"), Role::Editor, Some(PASSWORD)).await.unwrap();
    let made =
        async |by: &str, new: NewLink| accounts.make_link(&scope(by), new, "").await.unwrap().path;
    // Of several links to one password the last one opens.
    let mut links = Vec::new();
    for by in ["bob", "cid"] {
        links.push((by, made(by, NewLink::Invite(Role::Owner)).await));
    }
    links.push(("cid", made("cid", NewLink::Reset(eve)).await));
    let others = made("ann", NewLink::Invite(Role::Viewer)).await;
    for (by, path) in &links {
        assert_eq!(house.page(path).await.status, 200, "{by}: {path}");
    }

    accounts.remove(&ann, &"bob".into(), "").await.unwrap();
    accounts.set_role(&ann, &"cid".into(), Role::Editor, "").await.unwrap();

    for (by, path) in &links {
        assert_eq!(house.page(path).await.status, 404, "{by}: {path}");
    }
    assert_eq!(house.page(&others).await.status, 200);
}

#[tokio::test]
async fn an_owner_resets_nobody_who_is_in_others_spaces_too() {
    let house = House::new().await;
    let house = house.with_accounts(&[("ann", Role::Owner), ("bob", Role::Editor)]).await;
    let mut elsewhere = scope("bob");
    elsewhere.space = "another".into();
    house.state.accounts.add(&elsewhere, Role::Owner, None).await.unwrap();

    let wanted = NewLink::Reset("bob".into());
    let refused = house.state.accounts.make_link(&scope("ann"), wanted, "").await.unwrap_err();

    assert_eq!(refused.status(), 403);
    assert!(house.state.accounts.make_reset_link(&"bob".into()).await.is_ok());
}

#[tokio::test]
async fn a_link_that_is_too_old_opens_nothing() {
    let house = House::new().await.with_accounts(&[("ann", Role::Owner)]).await;
    let secret = greenroom::accounts::Secret::given("old");
    let mut link = house.state.store.write_accounts().await.unwrap();
    let old = AccountLink {
        id: "old".into(),
        kind: LinkKind::Invite,
        space: "home".into(),
        user: None,
        role: Role::Owner,
        expires_at: now(),
    };
    link.put_account_link(&secret.hash(), &old, &"ann".into()).await.unwrap();
    link.commit().await.unwrap();

    assert_eq!(house.page("/invite/old").await.status, 404);
    let fields = [("name", "eve"), ("password", PASSWORD)];
    assert_eq!(house.posted("/invite/old", &fields).await, 404);
    // A link of one kind is none of the other.
    assert_eq!(house.page("/reset/old").await.status, 404);
    assert_eq!(house.page("/enter/old").await.status, 404);
}
