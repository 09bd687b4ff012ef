//! Drafts beside what happens meanwhile: what they are about is changed, lies in the bin, or is gone.

use std::slice::from_ref;

use axum::http::Method;
use greenroom::{
    changes::Gate,
    domain::{
        actor::Actor,
        change::{Change, ChangeState, Fields, Op},
        error::ApiError,
        id::{ChangeId, PersonaId},
        persona::Tier,
        proposal::Approval,
    },
};
use serde_json::{Value, json};

use crate::support::{House, error, on_both};

on_both!(
    a_draft_is_found_among_the_conflicts_as_soon_as_it_does_not_fit_and_waits_again_once_it_does,
    a_draft_that_does_not_fit_from_the_beginning_or_is_taken_up_again_is_a_conflict,
    a_conflict_in_a_persons_own_words_stays_theirs_when_it_would_fit_again,
    a_conflict_that_nobody_tried_grows_old_and_gives_way_as_any_draft,
    two_drafts_about_one_thing_are_accepted_at_once,
    a_draft_about_something_in_the_bin_says_so_and_its_conversation_can_be_read,
    a_draft_that_was_accepted_in_part_says_so,
    a_card_stands_where_it_is_asked_for_and_has_its_keys_in_a_conflict_too,
    what_another_edit_keeps_from_being_taken_back_stands_beside_it_until_a_person_decides,
    a_page_of_the_inbox_on_which_all_was_decided_leads_to_the_first,
);

const PROMPT: &str = "Be brief and kind.\nAsk once.\nNever shout.";

fn agent_of(house: &House, persona: &PersonaId) -> Gate {
    house.gate_for(Actor::Persona {
        persona: persona.clone(),
        user: house.state.scope.user.clone(),
        run: None,
        tier: Tier::Suggest,
    })
}

/// A draft of a persona's agent about a field of it, as it stood at a revision.
async fn draft(house: &House, id: &PersonaId, field: &str, text: &str, base: i64) -> ChangeId {
    let change = Change::new(id, Op::Update).set(field, text).based_on(base);
    agent_of(house, id).submit(change).await.unwrap().change_id.unwrap()
}

async fn write(house: &House, id: &PersonaId, prompt: &str) {
    house.submit(Change::new(id, Op::Update).set("systemPrompt", prompt)).await.unwrap();
}

/// The drafts that stand so, by the API.
async fn listed(house: &House, state: &str) -> Vec<String> {
    let list = house.get(&format!("/api/pending-changes?state={state}")).await.good();
    let one = |one: &Value| {
        assert_eq!(one["state"], state, "{one}");
        one["id"].as_str().unwrap().to_owned()
    };
    list["items"].as_array().unwrap().iter().map(one).collect()
}

async fn a_draft_is_found_among_the_conflicts_as_soon_as_it_does_not_fit_and_waits_again_once_it_does(
    house: House,
) {
    let id = house.persona("ann", PROMPT).await;
    let clash = draft(&house, &id, "systemPrompt", &PROMPT.replace("brief", "terse"), 1).await;
    let apart = draft(&house, &id, "notes", "A note.", 1).await;
    let (clash, apart) = (clash.to_string(), apart.to_string());
    assert_eq!(listed(&house, "conflict").await, Vec::<String>::new());

    write(&house, &id, &PROMPT.replace("brief", "short")).await;

    assert_eq!(listed(&house, "conflict").await, from_ref(&clash));
    assert_eq!(listed(&house, "pending").await, from_ref(&apart));
    let page = house.get("/inbox?state=conflict").await.text;
    assert!(page.contains(&format!("id=\"inbox-draft-{clash}\"")), "{page}");
    assert!(page.contains("data-state=\"conflict\"") && page.contains("expires "), "{page}");
    assert!(!house.get("/inbox").await.text.contains(&clash));

    // What was in the way is taken back.
    write(&house, &id, PROMPT).await;

    assert_eq!(listed(&house, "conflict").await, Vec::<String>::new());
    assert_eq!(listed(&house, "pending").await, [apart, clash.clone()]);
    house.gate().approve(&clash.as_str().into(), &Approval::default()).await.unwrap();

    // What an accepted draft writes is in the way of others, and taking it back lets them fit again.
    let other = draft(&house, &id, "notes", "Another note.", 3).await.to_string();
    let notes = listed(&house, "pending").await;
    let first = notes.iter().find(|known| **known != other).unwrap().as_str().into();
    house.gate().approve(&first, &Approval::default()).await.unwrap();
    assert_eq!(listed(&house, "conflict").await, from_ref(&other));
    house.gate().undo(&first).await.unwrap();
    assert_eq!(listed(&house, "pending").await, [other]);
}

async fn a_draft_that_does_not_fit_from_the_beginning_or_is_taken_up_again_is_a_conflict(
    house: House,
) {
    let id = house.persona("ann", PROMPT).await;
    let early = draft(&house, &id, "systemPrompt", &PROMPT.replace("once", "twice"), 1).await;
    house.gate().reject(&early, "").await.unwrap();
    write(&house, &id, "Something else.").await;

    let late = draft(&house, &id, "systemPrompt", &PROMPT.replace("brief", "terse"), 1).await;
    let reopened = house.gate().reopen(&early).await.unwrap();

    assert_eq!(reopened.state, ChangeState::Conflict);
    assert_eq!(listed(&house, "conflict").await, [late.to_string(), early.to_string()]);
    let refused = house.gate().approve(&late, &Approval::default()).await;
    assert!(matches!(refused, Err(ApiError::Conflict(_))), "{refused:?}");
}

/// What they had written grew old as a draft that nobody had tried, and a newer one took its place.
async fn a_conflict_in_a_persons_own_words_stays_theirs_when_it_would_fit_again(house: House) {
    let id = house.persona("ann", PROMPT).await;
    let tried = draft(&house, &id, "systemPrompt", &PROMPT.replace("brief", "terse"), 1).await;
    write(&house, &id, &PROMPT.replace("brief", "short")).await;
    let own = json!(PROMPT.replace("brief", "curt"));
    let patch = Fields::from_iter([("systemPrompt".to_owned(), own.clone())]);
    let approval = Approval { revision: Some(1), patch, ..Approval::default() };
    let refused = house.gate().approve(&tried, &approval).await;
    assert!(matches!(refused, Err(ApiError::Conflict(_))), "{refused:?}");
    let before = house.read().await.proposal(&tried).await.unwrap();

    write(&house, &id, PROMPT).await;

    let after = house.read().await.proposal(&tried).await.unwrap();
    assert_eq!(after, before);
    assert_eq!(after.row.change.patch["systemPrompt"], own);
    assert_eq!((after.row.state, after.decided_at.is_some()), (ChangeState::Conflict, true));
    assert_eq!(house.state.store.expire_drafts(after.expires_at.unwrap()).await.unwrap(), 0);
    house.gate().approve(&tried, &Approval::default()).await.unwrap();
    let now = house.read().await.persona(&id).await.unwrap().fields.system_prompt;
    assert_eq!(json!(now), own);
}

async fn a_conflict_that_nobody_tried_grows_old_and_gives_way_as_any_draft(house: House) {
    let id = house.persona("ann", PROMPT).await;
    let left = draft(&house, &id, "systemPrompt", &PROMPT.replace("brief", "terse"), 1).await;
    let tried = draft(&house, &id, "systemPrompt", &PROMPT.replace("brief", "curt"), 1).await;
    write(&house, &id, &PROMPT.replace("brief", "short")).await;
    let refused = house.gate().approve(&tried, &Approval::default()).await;
    assert!(matches!(refused, Err(ApiError::Conflict(_))), "{refused:?}");
    let expires = house.gate().proposal(&tried).await.unwrap().expires_at.unwrap();

    assert_eq!(house.state.store.expire_drafts(expires).await.unwrap(), 1);

    assert_eq!(house.gate().proposal(&left).await.unwrap().state, ChangeState::Expired);
    assert_eq!(listed(&house, "conflict").await, [tried.to_string()], "a person wants it");
}

async fn two_drafts_about_one_thing_are_accepted_at_once(house: House) {
    let id = house.persona("ann", PROMPT).await;
    let first = draft(&house, &id, "systemPrompt", &PROMPT.replace("brief", "terse"), 1).await;
    let other = draft(&house, &id, "systemPrompt", &PROMPT.replace("shout", "yell"), 1).await;
    let gate = house.gate();

    let whole = Approval::default();
    let (one, two) = tokio::join!(gate.approve(&first, &whole), gate.approve(&other, &whole));

    assert_eq!((one.is_ok(), two.is_ok()), (true, true), "{one:?} {two:?}");
    let now = house.read().await.persona(&id).await.unwrap().fields.system_prompt;
    assert_eq!(now, PROMPT.replace("brief", "terse").replace("shout", "yell"));
}

async fn a_draft_about_something_in_the_bin_says_so_and_its_conversation_can_be_read(house: House) {
    let id = house.persona("ann", "Line one.").await;
    let said = "Replace 'one' with 'four' in the system prompt";
    let ask = json!({"personaId": id, "message": said});
    assert!(house.call(Method::POST, "/api/persona-agent/chat", ask).await.status.is_success());
    let waiting = house.get("/inbox").await.text;
    assert!(waiting.contains("/fn/approve_draft"), "{waiting}");

    house.submit(Change::new(&id, Op::Delete)).await.unwrap();

    let page = house.get("/inbox").await.text.replace("<!>", "").replace("&amp;", "&");
    assert!(page.contains("This persona lies in the bin."), "{page}");
    assert!(page.contains("href=\"/bin\"") && !page.contains("/fn/approve_draft"), "{page}");
    assert!(page.contains("/fn/reject_draft"), "{page}");
    let link = page.split("href=\"/rail?").nth(1).unwrap().split(['#', '"']).next().unwrap();
    let shown = house.get(&format!("/rail?{link}")).await;
    assert_eq!(shown.status, 200, "{}", shown.text);
    for part in ["This persona is in the bin", said, "ann’s agent", "href=\"/bin\""] {
        assert!(shown.text.contains(part), "{part}: {}", shown.text);
    }
    assert!(!shown.text.contains("start_afresh"), "{}", shown.text);

    // What is removed for good takes its drafts along, and of what was said a sentence is left.
    house.submit(Change::new(&id, Op::Purge)).await.unwrap();
    let gone = house.get(&format!("/rail?{link}")).await;
    assert_eq!(gone.status, 404);
    assert!(gone.text.starts_with("<!DOCTYPE html>") && gone.text.contains("does not exist"));
    let page = house.get("/inbox").await.text;
    assert!(page.contains("Nothing waits for you."), "{page}");
}

async fn a_card_stands_where_it_is_asked_for_and_has_its_keys_in_a_conflict_too(house: House) {
    let id = house.persona("ann", PROMPT).await;
    let clash = draft(&house, &id, "systemPrompt", &PROMPT.replace("brief", "terse"), 1).await;
    let card = async |place: &str| house.get(&format!("/rail/drafts/{clash}{place}")).await.text;
    let keys = |card: &str| -> Vec<String> {
        let keys = card.split("data-key=\"").skip(1);
        keys.map(|rest| rest.chars().take(1).collect()).collect()
    };

    let waiting = card("?place=inbox").await;
    assert!(waiting.contains(&format!("id=\"inbox-draft-{clash}\"")), "{waiting}");
    assert_eq!(keys(&waiting), ["a", "e", "r"]);
    write(&house, &id, &PROMPT.replace("brief", "short")).await;

    let clashing = card("?place=workbench").await;
    assert!(clashing.contains(&format!("id=\"workbench-draft-{clash}\"")), "{clashing}");
    assert_eq!(keys(&clashing), ["e", "a", "r"]);
    let card = card("").await;
    assert!(card.contains(&format!("id=\"rail-draft-{clash}\"")), "{card}");
}

async fn a_draft_that_was_accepted_in_part_says_so(house: House) {
    let id = house.persona("ann", PROMPT).await;
    let wanted = PROMPT.replace("brief", "terse").replace("once", "twice");
    let part = draft(&house, &id, "systemPrompt", &wanted, 1).await;
    let approve = async |draft: &ChangeId, approval: Value| {
        let path = format!("/api/pending-changes/{draft}/approve");
        house.call(Method::POST, &path, approval).await.good()
    };
    let badge = async |draft: &ChangeId| {
        let card = house.get(&format!("/rail/drafts/{draft}")).await.text;
        card.split("class=\"badge").nth(1).unwrap().split(['>', '<']).nth(1).unwrap().to_owned()
    };

    approve(&part, json!({"revision": 1, "hunks": {"systemPrompt": [0]}})).await;
    assert_eq!(badge(&part).await, "Accepted in part");
    let shown = house.get(&format!("/api/pending-changes/{part}")).await.good();
    assert_eq!((&shown["state"], &shown["inPart"]), (&json!("applied"), &json!(true)));

    let whole = draft(&house, &id, "notes", "A note.", 2).await;
    approve(&whole, json!({})).await;
    assert_eq!(badge(&whole).await, "Accepted");
    let own = draft(&house, &id, "notes", "Another note.", 3).await;
    approve(&own, json!({"revision": 3, "patch": {"notes": "My own."}})).await;
    assert_eq!(badge(&own).await, "Accepted", "in their own words, but all of it");
}

async fn what_another_edit_keeps_from_being_taken_back_stands_beside_it_until_a_person_decides(
    house: House,
) {
    let id = house.persona("ann", PROMPT).await;
    let accepted = draft(&house, &id, "systemPrompt", &PROMPT.replace("brief", "terse"), 1).await;
    house.gate().approve(&accepted, &Approval::default()).await.unwrap();
    let written = PROMPT.replace("brief", "short");
    write(&house, &id, &written).await;
    let prompt = async || house.read().await.persona(&id).await.unwrap().fields.system_prompt;
    let undo = [("id", accepted.as_str())];

    // A program is told that nothing was done, and nothing is kept of it.
    let undo_path = format!("/api/changes/{accepted}/undo");
    let refused = house.call(Method::POST, &undo_path, json!({})).await;
    assert_eq!(refused.error(), error(409, "not_now", ""));
    assert!(refused.text.contains("so nothing was taken back."), "{}", refused.text);
    assert_eq!(listed(&house, "conflict").await, Vec::<String>::new());

    let pressed = house.function("undo_change", &undo).await;
    assert_eq!(pressed.good()["state"], "conflict");
    assert!(pressed.header("location").starts_with("/conflicts/"), "{pressed:?}");
    let sent = house.form("/fn/undo_change", "/audit", &undo).await;
    assert_eq!(sent.status, 302);
    let path = sent.header("location").to_owned();
    assert!(path.starts_with("/conflicts/"), "{path}");
    let page = house.get(&path).await.text;
    for part in ["not taken back by itself", "Be brief and kind.", "Be short and kind."] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert_eq!(prompt().await, written);
    assert!(!house.gate().proposal(&accepted).await.unwrap().undone);

    let kept = path.trim_start_matches("/conflicts/");
    let fields = [("id", kept), ("revision", "3"), ("fields[systemPrompt]", PROMPT)];
    house.form("/fn/save_kept", &path, &fields).await;
    assert_eq!(prompt().await, PROMPT);
    assert!(house.gate().proposal(&accepted).await.unwrap().undone);
    let twice = house.gate().undo(&accepted).await;
    assert!(matches!(twice, Err(ApiError::NotNow { .. })), "{twice:?}");
}

async fn a_page_of_the_inbox_on_which_all_was_decided_leads_to_the_first(house: House) {
    let id = house.persona("ann", PROMPT).await;
    let waiting = draft(&house, &id, "notes", "A note.", 1).await;

    let page = house.get(&format!("/inbox?state=pending&after={waiting}")).await.text;

    assert!(page.contains("Nothing is left on this page."), "{page}");
    assert!(page.contains("First page") && !page.contains("Nothing waits for you."), "{page}");
    assert!(house.get("/inbox?state=pending").await.text.contains(waiting.as_str()));
}
