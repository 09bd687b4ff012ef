//! The tokens of programs.

use axum::http::{Method, header};
use greenroom::domain::{
    account::{ApiToken, Role, TokenScope},
    change::{Change, ChangeState, Op},
    id::PersonaId,
    persona::Tier,
    proposal::Approval,
    timestamp::Timestamp,
};
use greenroom::{
    accounts::{Class, Secret},
    domain::actor::Actor,
    server::class_of,
    store::now,
};
use serde_json::json;

use super::scope;
use crate::support::{House, error, on_both, server_functions};

on_both!(
    a_token_is_shown_once_and_revoked,
    no_token_decides_on_drafts,
    no_function_lets_a_token_decide_on_drafts,
);

async fn a_token_is_shown_once_and_revoked(house: House) {
    let house = house.with_accounts(&[("ann", Role::Editor)]).await;
    let ann = house.signed_in("ann").await;

    let fields = [("name", "A script"), ("scope", "write"), ("days", "30")];
    let made = ann.form("/account/tokens", "/account", &fields).await;
    let secret = made.text.split("greenroom_").nth(1).unwrap().split('<').next().unwrap();
    let bearer = format!("Bearer greenroom_{secret}");
    let page = ann.page("/account").await;
    assert!(page.text.contains("A script") && page.text.contains("never used"));
    assert!(!page.text.contains(secret), "it is shown once");
    let program = house.seen_by(header::AUTHORIZATION, &bearer);
    assert_eq!(program.get("/api/storage/personas").await.status, 200);
    let named = json!({"name": "By a script"});
    let written = program.call(Method::POST, "/api/storage/personas", named).await;
    assert_eq!(written.status, 201, "{}", written.text);
    // No page of the account is for programs.
    assert_eq!(program.get("/account").await.error(), error(403, "denied", ""));
    let [token] = house.state.accounts.tokens(&"ann".into()).await.unwrap().try_into().unwrap();
    assert!(token.used_at.is_some());

    // Nobody else takes it away.
    let bob = house.with_accounts(&[("bob", Role::Owner)]).await.signed_in("bob").await;
    assert_eq!(bob.posted("/account/tokens/revoke", &[("token", &token.id)]).await, 404);
    assert_eq!(ann.posted("/account/tokens/revoke", &[("token", &token.id)]).await, 303);
    assert_eq!(program.get("/api/storage/personas").await.error(), error(401, "sign_in", ""));
    for bad in [
        ("name", ""),
        ("scope", ""),
        ("scope", "admin"),
        ("scope", "Read"),
        ("days", "0"),
        ("days", "367"),
        ("days", "x"),
    ] {
        let mut fields = [("name", "x"), ("scope", "read"), ("days", "1")];
        for field in &mut fields {
            if field.0 == bad.0 {
                field.1 = bad.1;
            }
        }
        assert_eq!(ann.posted("/account/tokens", &fields).await, 422, "{bad:?}");
    }
    assert_eq!(house.state.accounts.tokens(&"ann".into()).await.unwrap(), []);
}

async fn no_token_decides_on_drafts(house: House) {
    let persona = PersonaId::new("optimist");
    let agent = Actor::Persona {
        persona: persona.clone(),
        user: "owner".into(),
        run: None,
        tier: Tier::Suggest,
    };
    let change = Change::new(&persona, Op::Update).set("name", "Taken over").based_on(1);
    let draft = house.gate_for(agent).submit(change).await.unwrap().change_id.unwrap();
    let house = house.with_accounts(&[("ann", Role::Owner), ("eve", Role::Viewer)]).await;
    let (ann, eve) = (house.signed_in("ann").await, house.signed_in("eve").await);
    let path = |what: &str| format!("/api/pending-changes/{draft}/{what}");

    for scope in [TokenScope::Read, TokenScope::Write] {
        let program = house.with_token("ann", scope).await;
        assert_eq!(program.get(&format!("/api/pending-changes/{draft}")).await.status, 200);
        for what in ["approve", "reject", "reopen"] {
            let answer = program.call(Method::POST, &path(what), json!({})).await;
            assert_eq!(answer.error(), error(403, "denied", ""), "{what}");
            assert_eq!(program.get(&path(what)).await.status, 403);
        }
        let fields = [("id", draft.as_str()), ("take", "all")];
        assert_eq!(program.function("approve_draft", &fields).await.status, 403);
        let fields = [("ids[0]", draft.as_str()), ("decision", "approve")];
        assert_eq!(program.function("decide_drafts", &fields).await.status, 403);
    }
    assert_eq!(eve.call(Method::POST, &path("approve"), json!({})).await.status, 403);
    assert_eq!(ann.get(&path("approve")).await.status, 405);
    let still = ann.get(&format!("/api/pending-changes/{draft}")).await.good();
    assert_eq!(still["state"], "pending", "{still}");

    ann.call(Method::POST, &path("approve"), json!({})).await.good();
    let audit = house.read().await.audit(None, 1).await.unwrap();
    assert_eq!(audit.items[0].change_id, draft);
}

async fn no_function_lets_a_token_decide_on_drafts(house: House) {
    let persona = PersonaId::new("optimist");
    let agent = Actor::Persona {
        persona: persona.clone(),
        user: "owner".into(),
        run: None,
        tier: Tier::Suggest,
    };
    let draft = async |field: &str, words: &str| {
        let change = Change::new(&persona, Op::Update).set(field, words).based_on(1);
        house.gate_for(agent.clone()).submit(change).await.unwrap().change_id.unwrap()
    };
    let waits = draft("appearance", "Tall").await;
    let (rejected, conflict) = (draft("name", "Two").await, draft("name", "Three").await);
    house.gate().reject(&rejected, "").await.unwrap();
    let rename = Change::new(&persona, Op::Update).set("name", "Renamed");
    house.submit(rename).await.unwrap();
    house.gate().approve(&conflict, &Approval::default()).await.unwrap_err();
    let drafts = [waits, rejected, conflict];
    let states = async || {
        let mut link = house.read().await;
        let mut states = Vec::new();
        for draft in &drafts {
            states.push(link.change(draft).await.unwrap().state);
        }
        states
    };
    let before = [ChangeState::Pending, ChangeState::Rejected, ChangeState::Conflict];
    assert_eq!(states().await, before);
    let accounts = house.with_accounts(&[("ann", Role::Owner)]).await;
    let program = accounts.with_token("ann", TokenScope::Write).await;

    for function in server_functions() {
        if class_of(&Method::POST, function) != Some(Class::Editor) {
            continue;
        }
        for id in drafts.iter().map(|draft| draft.as_str()) {
            // Whatever a function calls what it is about, this is its name.
            let fields = [
                ("id", id),
                ("ids[0]", id),
                ("chat", id),
                ("session", id),
                ("persona", id),
                ("kind", "persona"),
                ("revision", "2"),
                ("fields[name]", "Taken over"),
                ("form[name]", "Taken over"),
                ("content", "Taken over"),
                ("title", "Taken over"),
                ("words", "Taken over"),
                ("take", "all"),
                ("decision", "approve"),
            ];
            program.function(function.trim_start_matches("/fn/"), &fields).await;
            assert_eq!(states().await, before, "{function}");
        }
    }
    // A person takes a rejection back by the same function: then it is what it would have become.
    let ann = accounts.signed_in("ann").await;
    let undone = ann.function("undo_change", &[("id", drafts[1].as_str())]).await;
    assert_eq!(undone.status, 200, "{}", undone.text);
    assert_eq!(states().await[1], ChangeState::Conflict);
}

#[tokio::test]
async fn a_token_ends_and_goes_with_its_persons_place() {
    let house = House::new().await;
    let house = house.with_accounts(&[("ann", Role::Owner), ("bob", Role::Editor)]).await;
    let secret = Secret::given("greenroom_old");
    let token = ApiToken {
        id: "old".into(),
        user: "ann".into(),
        space: "home".into(),
        name: "Old".into(),
        scope: TokenScope::Read,
        created_at: Timestamp(0),
        used_at: None,
        expires_at: now(),
    };
    let mut link = house.state.store.write_accounts().await.unwrap();
    link.put_token(&secret.hash(), &token).await.unwrap();
    link.commit().await.unwrap();

    let old = house.seen_by(header::AUTHORIZATION, "Bearer greenroom_old");
    assert_eq!(old.get("/api/chats").await.status, 401);
    let bobs = house.with_token("bob", TokenScope::Write).await;
    assert_eq!(bobs.get("/api/chats").await.status, 200);
    // A token can do what its person can do now, not what they could when it was made.
    house.state.accounts.set_role(&scope("ann"), &"bob".into(), Role::Viewer, "").await.unwrap();
    let named = json!({"name": "x"});
    assert_eq!(bobs.call(Method::POST, "/api/storage/personas", named).await.status, 403);
    house.state.accounts.remove(&scope("ann"), &"bob".into(), "").await.unwrap();
    assert_eq!(bobs.get("/api/chats").await.status, 401);
}
