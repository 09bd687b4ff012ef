//! Drafts: proposed by personas, decided on by people.

use std::slice::from_ref;

use axum::http::Method;
use greenroom::{
    changes::Gate,
    domain::{
        actor::Actor,
        change::{Change, ChangeState, Op},
        error::ApiError,
        id::{ChangeId, PersonaId},
        news::{News, Topic},
        persona::Tier,
        proposal::Approval,
    },
    store::now,
};
use serde_json::{Value, json};

use crate::support::{House, error, on_both};

on_both!(
    a_draft_is_accepted_once_and_can_be_taken_back,
    a_draft_that_changed_nothing_can_be_taken_back_too,
    single_changes_of_a_draft_are_accepted,
    a_draft_is_accepted_in_the_persons_own_words,
    a_rejected_draft_keeps_the_reason_and_can_wait_again,
    several_drafts_are_decided_on_and_taken_back_at_once,
    the_audit_says_who_accepted_and_who_was_allowed_to_act,
    a_draft_written_for_an_older_text_is_merged_or_shown_with_both_texts,
    what_a_person_makes_of_a_draft_that_does_not_fit_is_kept_with_it,
    two_decisions_at_once_are_one,
    saying_yes_and_no_at_once_is_one_decision,
    a_persons_own_refused_text_is_found_until_it_is_saved_or_left,
    an_agent_that_may_act_does_so_on_its_own_persona_only,
    no_agent_decides_on_a_draft,
    drafts_that_nobody_decides_on_expire,
    every_page_of_the_space_is_told_of_changes,
);

const PROMPT: &str = "Be brief and kind.\nAsk once.\nNever shout.";

fn agent_of(house: &House, persona: &PersonaId, tier: Tier) -> Gate {
    house.gate_for(Actor::Persona {
        persona: persona.clone(),
        user: house.state.scope.user.clone(),
        run: None,
        tier,
    })
}

/// A persona, and a draft of its agent about its prompt.
async fn drafted(house: &House, wanted: &str) -> (PersonaId, ChangeId) {
    let id = house.persona("ann", PROMPT).await;
    let change = Change::new(&id, Op::Update).set("systemPrompt", wanted).based_on(1);
    let outcome = agent_of(house, &id, Tier::Suggest).submit(change).await.unwrap();
    assert_eq!(outcome.state, ChangeState::Pending);
    (id, outcome.change_id.unwrap())
}

async fn prompt(house: &House, id: &PersonaId) -> String {
    house.read().await.persona(id).await.unwrap().fields.system_prompt
}

fn approval(value: Value) -> Approval {
    serde_json::from_value(value).unwrap()
}

async fn a_draft_is_accepted_once_and_can_be_taken_back(house: House) {
    let wanted = PROMPT.replace("brief", "short");
    let (id, draft) = drafted(&house, &wanted).await;
    let path = format!("/api/pending-changes/{draft}");

    let listed = house.get("/api/pending-changes").await.good();
    let one = &listed["items"][0];
    assert_eq!(one["id"], draft.as_str());
    assert_eq!((&one["state"], &one["op"]), (&json!("pending"), &json!("update")));
    assert_eq!((&one["entityType"], &one["entityId"]), (&json!("persona"), &json!("ann")));
    assert_eq!(one["summary"], "Change the system prompt");
    assert_eq!(one["proposedBy"]["personaId"], "ann");
    let pieces = one["diff"][0]["segments"].as_array().unwrap();
    let told: Vec<_> = pieces.iter().map(|piece| (&piece["kind"], &piece["text"])).collect();
    assert_eq!(
        told[1..3],
        [(&json!("removed"), &json!("brief")), (&json!("added"), &json!("short")),]
    );
    assert_eq!(prompt(&house, &id).await, PROMPT);

    let accepted = house.call(Method::POST, &format!("{path}/approve"), json!({})).await.good();
    assert_eq!((&accepted["state"], &accepted["revision"]), (&json!("applied"), &json!(2)));
    assert_eq!(prompt(&house, &id).await, wanted);
    let audited = house.read().await.audit(None, 1).await.unwrap().items.remove(0);
    assert_eq!((audited.change_id, audited.persona_id), (draft.clone(), Some(id.clone())));
    assert_eq!(audited.user_id.as_ref(), Some(&house.state.scope.user));

    for again in ["approve", "reject"] {
        let answer = house.call(Method::POST, &format!("{path}/{again}"), json!({})).await;
        assert_eq!(answer.error(), error(409, "decided", ""));
        assert_eq!(answer.json()["error"]["state"], "applied");
        assert!(answer.json()["error"]["decidedAt"].is_string());
    }
    assert_eq!(house.get("/api/pending-changes").await.good()["items"], json!([]));
    let applied = house.get("/api/pending-changes?state=applied").await.good();
    assert_eq!(applied["items"].as_array().unwrap().len(), 1, "a person's edits are no drafts");

    house.call(Method::POST, &format!("/api/changes/{draft}/undo"), json!({})).await.good();
    assert_eq!(prompt(&house, &id).await, PROMPT);
    assert_eq!(house.get(&path).await.good()["undone"], true);
}

/// Somebody had written by hand exactly what it proposed.
async fn a_draft_that_changed_nothing_can_be_taken_back_too(house: House) {
    let wanted = PROMPT.replace("brief", "short");
    let (id, draft) = drafted(&house, &wanted).await;
    house.submit(Change::new(&id, Op::Update).set("systemPrompt", wanted.as_str())).await.unwrap();
    house.gate().approve(&draft, &Approval::default()).await.unwrap();

    let back = house.gate().undo(&draft).await.unwrap();

    assert_eq!((back.change_id, back.revision), (None, 2));
    assert_eq!(prompt(&house, &id).await, wanted);
    assert!(house.gate().proposal(&draft).await.unwrap().undone);
    let twice = house.gate().undo(&draft).await;
    assert!(matches!(twice, Err(ApiError::NotNow { .. })), "{twice:?}");
}

async fn single_changes_of_a_draft_are_accepted(house: House) {
    let wanted = "Be short and kind.\nAsk twice.\nNever ever shout.";
    let (id, draft) = drafted(&house, wanted).await;
    let gate = house.gate();

    let none = approval(json!({"revision": 1, "hunks": {"systemPrompt": []}}));
    let refused = gate.approve(&draft, &none).await;
    assert!(matches!(refused, Err(ApiError::Invalid { .. })), "{refused:?}");
    let unseen = gate.approve(&draft, &approval(json!({"hunks": {"systemPrompt": [0]}}))).await;
    assert!(matches!(unseen, Err(ApiError::Invalid { .. })), "{unseen:?}");
    assert_eq!(prompt(&house, &id).await, PROMPT, "nothing was changed");

    let some = approval(json!({"revision": 1, "hunks": {"systemPrompt": [0, 2]}}));
    gate.approve(&draft, &some).await.unwrap();
    assert_eq!(prompt(&house, &id).await, "Be short and kind.\nAsk once.\nNever ever shout.");
    // What is shown afterwards is what was done, not what was wanted.
    let shown = gate.proposal(&draft).await.unwrap();
    assert_eq!(shown.diff[0].after, "Be short and kind.\nAsk once.\nNever ever shout.");
}

async fn a_draft_is_accepted_in_the_persons_own_words(house: House) {
    let (id, draft) = drafted(&house, &PROMPT.replace("once", "twice")).await;
    // Meanwhile somebody else edits another passage.
    let edit = Change::new(&id, Op::Update).set("systemPrompt", PROMPT.replace("kind", "warm"));
    house.submit(edit).await.unwrap();

    let own = PROMPT.replace("once", "three times");
    let approval = approval(json!({"revision": 1, "patch": {"systemPrompt": own}}));
    house.gate().approve(&draft, &approval).await.unwrap();

    assert_eq!(prompt(&house, &id).await, own.replace("kind", "warm"));
}

async fn a_rejected_draft_keeps_the_reason_and_can_wait_again(house: House) {
    let (id, draft) = drafted(&house, "something else").await;
    let path = format!("/api/pending-changes/{draft}");

    let why = json!({"reason": "Too vague."});
    house.call(Method::POST, &format!("{path}/reject"), why).await.good();
    let shown = house.get(&path).await.good();
    assert_eq!((&shown["state"], &shown["note"]), (&json!("rejected"), &json!("Too vague.")));
    assert_eq!(prompt(&house, &id).await, PROMPT);

    house.call(Method::POST, &format!("{path}/reopen"), json!({})).await.good();
    assert_eq!(house.get(&path).await.good()["state"], "pending");
    let twice = house.call(Method::POST, &format!("{path}/reopen"), json!({})).await;
    assert_eq!(twice.error(), error(409, "not_now", ""));
    let long = json!({"reason": "x".repeat(501)});
    let answer = house.call(Method::POST, &format!("{path}/reject"), long).await;
    assert_eq!(answer.error(), error(422, "invalid", "reason"));
}

async fn several_drafts_are_decided_on_and_taken_back_at_once(house: House) {
    let (id, prompted) = drafted(&house, &PROMPT.replace("once", "twice")).await;
    let draft = async |field: &str, text: &str| {
        let change = Change::new(&id, Op::Update).set(field, text).based_on(1);
        let outcome = agent_of(&house, &id, Tier::Suggest).submit(change).await.unwrap();
        outcome.change_id.unwrap()
    };
    let noted = draft("notes", "A note.").await;
    let refused = draft("appearance", "Tall.").await;
    house.gate().reject(&refused, "").await.unwrap();
    let decide = async |decision: &str| {
        let mut fields = vec![("decision", decision)];
        fields.extend([("ids[0]", prompted.as_str()), ("ids[1]", noted.as_str())]);
        fields.push(("ids[2]", refused.as_str()));
        house.function("decide_drafts", &fields).await
    };
    let state = async |draft: &ChangeId| house.gate().proposal(draft).await.unwrap().state;

    let accepted = decide("approve").await.good();

    assert_eq!((&accepted["decided"], &accepted["refused"]), (&json!(2), &json!(1)));
    let told = accepted["told"].as_str().unwrap();
    assert!(told.starts_with("2 accepted, 1 could not be: "), "{told}");
    let none = decide("approve").await;
    assert!(!none.status.is_success() && none.text.contains("decided"), "{}", none.text);
    let undo = async |decided: &Value| {
        let ids = decided["changeId"].as_str().unwrap().to_owned();
        house.function("undo_change", &[("id", &ids)]).await.good()
    };
    undo(&accepted).await;
    let now = house.read().await.persona(&id).await.unwrap().fields;
    assert_eq!((now.system_prompt.as_str(), now.notes.as_str()), (PROMPT, ""));

    // What was rejected waits again, one draft or several.
    undo(&json!({"changeId": refused.as_str()})).await;
    assert_eq!(state(&refused).await, ChangeState::Pending);
    let one = house.function("reject_draft", &[("id", refused.as_str())]).await.good();
    undo(&one).await;
    let again = draft("notes", "Another note.").await;
    let both = [("ids[0]", refused.as_str()), ("ids[1]", again.as_str()), ("decision", "reject")];
    let rejected = house.function("decide_drafts", &both).await.good();
    assert_eq!(rejected["told"], "2 rejected.");
    undo(&rejected).await;
    // Where something is written on a card, the person decides there.
    let some = [("ids[0]", refused.as_str()), ("left[0]", again.as_str()), ("decision", "reject")];
    let rejected = house.function("decide_drafts", &some).await.good();
    let told = "1 rejected. 1 left out, as you have written on them: decide on them there.";
    assert_eq!(rejected["told"], told);
    assert_eq!(state(&again).await, ChangeState::Pending);
    undo(&rejected).await;
    let left = [("left[0]", again.as_str()), ("decision", "approve")];
    let none = house.function("decide_drafts", &left).await;
    let told = "You have written on what is marked: decide on it there.";
    assert!(!none.status.is_success() && none.text.contains(told), "{}", none.text);
    assert_eq!(
        (state(&refused).await, state(&again).await),
        (ChangeState::Pending, ChangeState::Pending)
    );
}

async fn the_audit_says_who_accepted_and_who_was_allowed_to_act(house: House) {
    let (id, draft) = drafted(&house, "something else").await;
    house.gate().approve(&draft, &Approval::default()).await.unwrap();
    let audit = house.get("/audit").await.text.replace("<!>", "");
    assert!(audit.contains(", accepted by you") && !audit.contains(", allowed to act"), "{audit}");

    let change = Change::new(&id, Op::Update).set("notes", "A note.").based_on(2);
    let acted = agent_of(&house, &id, Tier::Act).submit(change).await.unwrap();
    assert_eq!(acted.state, ChangeState::Applied);

    let audit = house.get("/audit").await.text.replace("<!>", "");
    assert!(audit.contains(", allowed to act"), "{audit}");

    // What is removed for good was not taken back for that.
    for op in [Op::Delete, Op::Purge] {
        house.submit(Change::new(&id, op)).await.unwrap();
    }
    let audit = house.get("/audit").await.text.replace("<!>", "");
    assert!(!audit.contains("taken back"), "{audit}");
    assert!(audit.contains("removed for good since"), "{audit}");
}

async fn a_draft_written_for_an_older_text_is_merged_or_shown_with_both_texts(house: House) {
    let (id, apart) = drafted(&house, &PROMPT.replace("once", "twice")).await;
    let same = Change::new(&id, Op::Update)
        .set("systemPrompt", PROMPT.replace("brief", "terse"))
        .based_on(1);
    let same = agent_of(&house, &id, Tier::Suggest).submit(same).await.unwrap().change_id.unwrap();
    let edit = Change::new(&id, Op::Update).set("systemPrompt", PROMPT.replace("brief", "short"));
    house.submit(edit).await.unwrap();
    let gate = house.gate();

    gate.approve(&apart, &Approval::default()).await.unwrap();
    let merged = PROMPT.replace("brief", "short").replace("once", "twice");
    assert_eq!(prompt(&house, &id).await, merged);

    let refused = gate.approve(&same, &Approval::default()).await;
    assert!(matches!(refused, Err(ApiError::Conflict(_))), "{refused:?}");
    assert_eq!(prompt(&house, &id).await, merged, "nothing was changed");
    let shown = gate.proposal(&same).await.unwrap();
    assert_eq!(shown.state, ChangeState::Conflict);
    assert_eq!(shown.conflicts[0].theirs, merged);
    let own = merged.replace("short", "terse");
    assert_eq!(shown.conflicts[0].yours, own, "what does fit is not written over");

    let settled = json!({"revision": shown.revision, "patch": {"systemPrompt": own}});
    gate.approve(&same, &approval(settled)).await.unwrap();
    assert_eq!(prompt(&house, &id).await, own);
}

async fn what_a_person_makes_of_a_draft_that_does_not_fit_is_kept_with_it(house: House) {
    let (id, draft) = drafted(&house, &PROMPT.replace("brief", "terse")).await;
    let edit = Change::new(&id, Op::Update).set("systemPrompt", PROMPT.replace("brief", "short"));
    house.submit(edit).await.unwrap();
    let gate = house.gate();

    let own = json!({"revision": 1, "patch": {"systemPrompt": PROMPT.replace("brief", "curt")}});
    let refused = gate.approve(&draft, &approval(own)).await;

    assert!(matches!(refused, Err(ApiError::Conflict(_))), "{refused:?}");
    let shown = gate.proposal(&draft).await.unwrap();
    let texts: Vec<_> = shown.conflicts.iter().map(|text| (&*text.yours, &*text.theirs)).collect();
    assert_eq!(
        (shown.state, texts),
        (
            ChangeState::Conflict,
            vec![(&*PROMPT.replace("brief", "curt"), &*PROMPT.replace("brief", "short"))]
        )
    );
    // Marking changes says nothing in one's own words: what was kept stays.
    let marked = approval(json!({"revision": 1, "hunks": {"systemPrompt": [0]}}));
    assert!(matches!(gate.approve(&draft, &marked).await, Err(ApiError::Conflict(_))));
    assert_eq!(gate.proposal(&draft).await.unwrap().conflicts, shown.conflicts);
}

async fn two_decisions_at_once_are_one(house: House) {
    let (id, draft) = drafted(&house, "something else").await;
    let gate = house.gate();
    let whole = Approval::default();

    let decisions = futures::future::join_all((0..8).map(|_| gate.approve(&draft, &whole))).await;

    let good = decisions.iter().filter(|decision| decision.is_ok()).count();
    let told = |decision: &&Result<_, ApiError>| {
        matches!(decision, Err(ApiError::Decided { state: ChangeState::Applied, .. }))
    };
    assert_eq!((good, decisions.iter().filter(told).count()), (1, 7), "{decisions:?}");
    assert_eq!(house.read().await.persona(&id).await.unwrap().revision, 2);
}

async fn saying_yes_and_no_at_once_is_one_decision(house: House) {
    for round in 0..8 {
        let id = house.persona(&format!("ann-{round}"), PROMPT).await;
        let change = Change::new(&id, Op::Update).set("systemPrompt", "other").based_on(1);
        let draft = agent_of(&house, &id, Tier::Suggest).submit(change).await.unwrap();
        let path = format!("/api/pending-changes/{}", draft.change_id.unwrap());
        let (yes, no) = (format!("{path}/approve"), format!("{path}/reject"));

        let (yes, no) = tokio::join!(
            house.call(Method::POST, &yes, json!({})),
            house.call(Method::POST, &no, json!({})),
        );

        let (state, late) = match yes.status.as_u16() {
            200 => ("applied", no),
            _ => ("rejected", yes),
        };
        assert_eq!(late.error(), error(409, "decided", ""));
        assert_eq!(late.json()["error"]["state"], state);
        assert_eq!(house.get(&path).await.good()["state"], state);
        assert_eq!(prompt(&house, &id).await == "other", state == "applied");
    }
}

async fn a_persons_own_refused_text_is_found_until_it_is_saved_or_left(house: House) {
    let id = house.persona("ann", PROMPT).await;
    let edit = |text: String| Change::new(&id, Op::Update).set("systemPrompt", text);
    house.submit(edit(PROMPT.replace("brief", "short"))).await.unwrap();
    let gate = house.gate();
    let mine = edit(PROMPT.replace("brief", "terse")).set("tools", json!(["ls"])).based_on(1);
    let kept = gate.keep_refused(mine).await.unwrap();
    let listed = async |state: ChangeState| {
        let page = gate.proposals(state, None, None, 50).await.unwrap();
        page.items.into_iter().map(|draft| draft.id).collect::<Vec<_>>()
    };
    assert_eq!(listed(ChangeState::Conflict).await, from_ref(&kept));

    gate.reject(&kept, "").await.unwrap();
    assert_eq!(listed(ChangeState::Rejected).await, from_ref(&kept));
    assert_eq!(listed(ChangeState::Conflict).await, []);
    assert_eq!(gate.reopen(&kept).await.unwrap().state, ChangeState::Conflict);
    assert_eq!(listed(ChangeState::Conflict).await, from_ref(&kept));
    assert_eq!(listed(ChangeState::Pending).await, []);

    // Meanwhile somebody writes the same passage once more: what is refused again is kept.
    house.submit(edit(PROMPT.replace("brief", "curt"))).await.unwrap();
    let own = |text: &str| json!({"systemPrompt": text}).as_object().unwrap().clone();
    let again = gate.save_refused(&kept, Some(2), own("mine, later")).await.unwrap().1;
    assert_eq!(again.state, ChangeState::Conflict);
    let texts = gate.open_refused(&kept).await.unwrap().texts;
    let prompt_of = texts.iter().find(|text| text.field == "systemPrompt").unwrap();
    assert_eq!(prompt_of.yours, "mine, later");

    let saved = gate.save_refused(&kept, Some(3), own("mine, later")).await.unwrap().1;
    assert_eq!((saved.state, saved.revision), (ChangeState::Applied, 4));
    let persona = house.read().await.persona(&id).await.unwrap().fields;
    assert_eq!(
        (persona.system_prompt.as_str(), &*persona.tools),
        ("mine, later", &["ls".into()][..])
    );
    assert_eq!(listed(ChangeState::Conflict).await, []);
    assert_eq!(listed(ChangeState::Applied).await, from_ref(&kept));
    let twice = gate.save_refused(&kept, Some(4), own("x")).await;
    assert!(matches!(twice, Err(ApiError::Decided { .. })), "{twice:?}");
    gate.undo(&kept).await.unwrap();
    assert_eq!(prompt(&house, &id).await, PROMPT.replace("brief", "curt"));
}

async fn an_agent_that_may_act_does_so_on_its_own_persona_only(house: House) {
    let own = house.persona("own", PROMPT).await;
    let other = house.persona("other", PROMPT).await;
    let gate = agent_of(&house, &own, Tier::Act);
    let state = async |change: Change| gate.submit(change).await.map(|outcome| outcome.state);
    let input = |persona: &PersonaId, id: &str| {
        let id = greenroom::domain::id::TestInputId::new(id);
        Change::new(&id, Op::Create).set("content", "Hi").set("personaId", persona.as_str())
    };

    assert_eq!(
        state(Change::new(&own, Op::Update).set("name", "Own")).await,
        Ok(ChangeState::Applied)
    );
    assert_eq!(state(input(&own, "mine")).await, Ok(ChangeState::Applied));
    let mine = greenroom::domain::id::TestInputId::new("mine");
    assert_eq!(state(Change::new(&mine, Op::Delete)).await, Ok(ChangeState::Applied));

    let elsewhere = Change::new(&other, Op::Update).set("name", "Mine");
    assert_eq!(state(elsewhere).await, Ok(ChangeState::Pending));
    assert_eq!(state(Change::new(&other, Op::Delete)).await, Ok(ChangeState::Pending));
    assert_eq!(state(input(&other, "foreign")).await, Ok(ChangeState::Pending));
    let new = PersonaId::new("new");
    let create = Change::new(&new, Op::Create).set("name", "New");
    assert_eq!(state(create).await, Ok(ChangeState::Pending));
    house.submit(Change::new(&own, Op::Delete)).await.unwrap();
    let purge = state(Change::new(&own, Op::Purge)).await;
    assert!(matches!(purge, Err(ApiError::Denied { .. })), "{purge:?}");
}

async fn no_agent_decides_on_a_draft(house: House) {
    let (id, draft) = drafted(&house, "something else").await;
    for tier in [Tier::Read, Tier::Suggest, Tier::Act] {
        let gate = agent_of(&house, &id, tier);
        let tries = [
            gate.approve(&draft, &Approval::default()).await,
            gate.reject(&draft, "").await,
            gate.reopen(&draft).await,
        ];
        for one in tries {
            assert!(matches!(one, Err(ApiError::Denied { .. })), "{one:?}");
        }
    }
    assert_eq!(house.gate().proposal(&draft).await.unwrap().state, ChangeState::Pending);
}

async fn drafts_that_nobody_decides_on_expire(house: House) {
    let (_, draft) = drafted(&house, "something else").await;
    let shown = house.gate().proposal(&draft).await.unwrap();
    let expires = shown.expires_at.unwrap();
    assert!(expires.0 > now().0);

    let following = tokio::spawn(house.state.store.clone().follow_news());
    let mut feed = house.state.store.news(&house.state.scope.space);
    if house.state.store.is_shared() {
        // Listening has begun when this comes.
        assert_eq!(feed.next().await, Some(News::default()));
    }
    assert_eq!(house.state.store.expire_drafts(now()).await.unwrap(), 0);
    assert_eq!(house.state.store.expire_drafts(expires).await.unwrap(), 1);
    let news = feed.next().await.unwrap();
    assert_eq!((news.state, news.entity_id.as_str()), (Some(ChangeState::Expired), "ann"));
    following.abort();

    let late = house.gate().approve(&draft, &Approval::default()).await;
    let expected = matches!(late, Err(ApiError::Decided { state: ChangeState::Expired, .. }));
    assert!(expected, "{late:?}");
}

async fn every_page_of_the_space_is_told_of_changes(house: House) {
    let neighbour = house.neighbour().await;
    let following = tokio::spawn(house.state.store.clone().follow_news());
    let mut feed = house.state.store.news(&house.state.scope.space);
    if house.state.store.is_shared() {
        // Listening has begun when this comes.
        assert_eq!(feed.next().await, Some(News::default()));
    }

    neighbour.persona("secret", "x").await;
    let (_, draft) = drafted(&house, "something else").await;
    house.gate().reject(&draft, "").await.unwrap();

    let mut told = Vec::new();
    while told.len() < 3 {
        let news = feed.next().await.unwrap();
        assert_eq!((news.topic, news.entity_id.as_str()), (Topic::Change, "ann"));
        told.push((news.state, news.revision));
    }
    assert_eq!(
        told,
        [
            (Some(ChangeState::Applied), Some(1)),
            (Some(ChangeState::Pending), None),
            (Some(ChangeState::Rejected), None),
        ]
    );
    following.abort();
}
