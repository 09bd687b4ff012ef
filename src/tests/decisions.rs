//! Decisions on drafts: one wins however many decide at once, and nothing decides by merely looking.

use axum::http::{Method, header};
use futures::future::join_all;
use greenroom::{
    domain::{
        account::{Role, TokenScope},
        actor::Actor,
        change::{Change, ChangeState, Op},
        id::ChangeId,
        persona::Tier,
    },
    server::Peer,
};
use serde_json::json;

use crate::support::{ADDRESS, House, error, on_both, request};

on_both!(of_fifty_decisions_at_once_one_wins_and_the_others_are_told_which);

/// How many drafts are decided on by fifty at once: few, unless one wants to wait.
fn drafts() -> usize {
    let wanted = std::env::var("GREENROOM_TEST_DECISIONS").ok();
    wanted.and_then(|wanted| wanted.parse().ok()).unwrap_or(4)
}

/// A draft about a persona of its own.
async fn drafted(house: &House, name: &str) -> ChangeId {
    let id = house.persona(name, "Be brief.").await;
    let agent = house.gate_for(Actor::Persona {
        persona: id.clone(),
        user: house.state.scope.user.clone(),
        run: None,
        tier: Tier::Suggest,
    });
    let change = Change::new(&id, Op::Update).set("systemPrompt", "Be kind.").based_on(1);
    let outcome = agent.submit(change).await.unwrap();
    assert_eq!(outcome.state, ChangeState::Pending);
    outcome.change_id.unwrap()
}

async fn of_fifty_decisions_at_once_one_wins_and_the_others_are_told_which(house: House) {
    for at in 0..drafts() {
        let name = format!("persona-{at}");
        let draft = drafted(&house, &name).await;
        let path = format!("/api/pending-changes/{draft}");
        let audited = house.read().await.audit(None, 200).await.unwrap().items.len();

        // Half of them say yes, half of them no, and who comes first differs.
        let decided = (0..50).map(|one| {
            let way = if (one + at) % 2 == 0 { "approve" } else { "reject" };
            let path = format!("{path}/{way}");
            let house = &house;
            async move { house.call(Method::POST, &path, json!({})).await }
        });
        let answers = join_all(decided).await;

        let state = house.get(&path).await.good()["state"].clone();
        let won: Vec<_> = answers.iter().filter(|answer| answer.status.is_success()).collect();
        assert_eq!(won.len(), 1, "{name}: {state}");
        assert_eq!(won[0].json()["state"], state, "{name}");
        for late in answers.iter().filter(|answer| !answer.status.is_success()) {
            assert_eq!(late.error(), error(409, "decided", ""), "{name}");
            assert_eq!(late.json()["error"]["state"], state, "{name}");
        }
        let persona = house.get(&format!("/api/storage/personas/{name}")).await.good();
        let rows = house.read().await.audit(None, 200).await.unwrap().items.len() - audited;
        let (revision, prompt, audited) = match state.as_str().unwrap() {
            "applied" => (2, "Be kind.", 1),
            "rejected" => (1, "Be brief.", 0),
            other => panic!("{name} is {other}"),
        };
        assert_eq!(persona["revision"], revision, "{name}");
        assert_eq!(persona["systemPrompt"], prompt, "{name}");
        assert_eq!(rows, audited, "{name}");
    }
}

#[tokio::test]
async fn nothing_is_decided_by_looking_or_fetching_ahead() {
    let plain = House::new().await;
    let draft = drafted(&plain, "ann").await;
    let house = plain.with_accounts(&[("ann", Role::Owner)]).await.signed_in("ann").await;
    let mut tried = 0;
    for address in [
        format!("/api/pending-changes/{draft}/approve"),
        format!("/api/pending-changes/{draft}/reject"),
        format!("/fn/approve_draft?id={draft}&take=all"),
        format!("/fn/reject_draft?id={draft}"),
        format!("/fn/decide_drafts?ids[0]={draft}&decision=approve"),
        format!("/inbox?approve={draft}"),
    ] {
        for method in [Method::GET, Method::HEAD, Method::OPTIONS] {
            for purpose in ["", "prefetch", "prefetch;prerender"] {
                let mut asked = request(method.clone(), &address, None);
                if !purpose.is_empty() {
                    asked.headers_mut().insert("sec-purpose", purpose.parse().unwrap());
                }
                asked.headers_mut().insert(header::ACCEPT, "text/html".parse().unwrap());
                house.status(asked).await;
                tried += 1;
            }
        }
    }
    assert_eq!(tried, 54);
    let state = house.get(&format!("/api/pending-changes/{draft}")).await.good()["state"].clone();
    assert_eq!(state, "pending");
}

#[tokio::test]
async fn with_accounts_people_who_may_write_decide_and_no_program_does() {
    let plain = House::new().await;
    let draft = drafted(&plain, "ann").await;
    let people = [("ann", Role::Owner), ("ed", Role::Editor), ("eve", Role::Viewer)];
    let house = plain.with_accounts(&people).await;
    let path = format!("/api/pending-changes/{draft}/approve");
    let decide = async |house: &House| {
        let mut asked = request(Method::POST, &path, Some(b"{}".to_vec()));
        let remote = "10.0.0.1:4000".parse().unwrap();
        asked.extensions_mut().insert(Peer::new(remote, ADDRESS.parse().unwrap()));
        house.send(asked).await.status.as_u16()
    };

    assert_eq!(decide(&house).await, 401, "nobody");
    for scope in [TokenScope::Read, TokenScope::Write] {
        let program = house.with_token("ann", scope).await;
        assert_eq!(decide(&program).await, 403, "a program of the owner, {scope:?}");
    }
    assert_eq!(decide(&house.signed_in("eve").await).await, 403, "a viewer");
    assert_eq!(decide(&house.signed_in("ed").await).await, 200, "an editor");
}
