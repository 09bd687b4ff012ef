//! The companion's four tools: what they give, and what they refuse.

use axum::http::Method;
use serde_json::{Value, json};

use super::{called, made, playing, say, say_of, trace, waiting};
use crate::support::{House, on_both};

on_both!(
    search_finds_things_of_every_kind_with_their_types_and_ids,
    what_is_read_comes_whole_in_pieces_that_join,
    everything_can_be_proposed_to_be_made_changed_and_deleted,
    a_ref_without_an_address_and_a_test_input_are_proposed_with_all_that_they_are,
    the_due_date_of_a_task_can_be_taken_away,
    what_was_read_in_part_is_replaced_only_once_it_was_read_to_its_end,
    an_update_of_something_that_moved_is_merged_when_it_is_accepted,
    the_tier_of_the_companion_never_lets_it_apply_anything,
);

fn propose(input: Value) -> Value {
    json!(["propose_change", input])
}

fn read(kind: &str, id: &str) -> Value {
    json!(["read", {"entityType": kind, "entityId": id}])
}

/// Asserts that each call was told to be wrong in words with these in them.
fn assert_told(trace: &[(String, String, String)], parts: &[&str]) {
    assert_eq!(trace.len(), parts.len(), "{trace:?}");
    for ((_, status, result), part) in trace.iter().zip(parts) {
        assert_eq!(status, "failed", "{result}");
        assert!(result.contains(part), "{part} is not in {result}");
    }
}

async fn accept(house: &House, draft: &str) -> Value {
    let path = format!("/api/pending-changes/{draft}/approve");
    house.call(Method::POST, &path, json!({})).await.good()
}

async fn search_finds_things_of_every_kind_with_their_types_and_ids(house: House) {
    let page = made(&house, "pages", json!({"title": "Zephyr", "body": "A light wind."})).await;
    made(&house, "refs", json!({"title": "On winds", "text": "The zephyr is mild."})).await;
    made(&house, "tasks", json!({"title": "Wait for the zephyr"})).await;
    let persona = json!({"id": "wind", "name": "Zephyr the Wind"});
    house.call(Method::POST, "/api/storage/personas", persona).await.good();
    let input = json!({"content": "How strong is a zephyr?"});
    house.call(Method::POST, "/api/storage/personas/wind/test-inputs", input).await.good();

    let told = called(
        &house,
        json!([
            ["search", {"query": "zephyr"}],
            ["search", {"query": "zephyr", "entityType": "page"}],
            ["search", {"query": "zephyr", "limit": 2}],
            ["search", {"query": "nothing-like-it"}],
        ]),
    )
    .await;

    let hits = |place: usize| -> Vec<Value> { serde_json::from_str(&told[place].2).unwrap() };
    let mut kinds: Vec<Value> = hits(0).iter().map(|hit| hit["entityType"].clone()).collect();
    kinds.sort_by_key(ToString::to_string);
    assert_eq!(kinds, ["page", "persona", "ref", "task", "test_input"]);
    assert_eq!(
        hits(1),
        [
            json!({"entityType": "page", "entityId": page, "title": "Zephyr", "passage": hits(1)[0]["passage"]})
        ]
    );
    assert_eq!(hits(2).len(), 2);
    assert_eq!(told[3].2, "Nothing fits. Try fewer or other words.");
}

async fn what_is_read_comes_whole_in_pieces_that_join(house: House) {
    let body: String = (0..9_000).map(|number| format!("{number} é ")).collect();
    let body = body.trim_end();
    let page = made(&house, "pages", json!({"title": "Long", "body": body})).await;
    let piece =
        |offset: u64| json!(["read", {"entityType": "page", "entityId": page, "offset": offset}]);

    let told = called(
        &house,
        json!([read("page", &page), piece(20_000), piece(40_000), piece(60_000), piece(u64::MAX)]),
    )
    .await;

    let mut whole = String::new();
    for (place, (_, status, text)) in told.iter().enumerate() {
        assert_eq!(status, "done");
        let next = format!("go on with offset {})", (place + 1) * 20_000);
        match text.rsplit_once("\n\n… (") {
            Some((piece, more)) => {
                assert!(more.ends_with(&next), "{more}");
                whole.push_str(piece);
            }
            None => whole.push_str(text),
        }
    }
    let told = whole.strip_prefix("## body (text)\n").unwrap();
    assert_eq!(told, format!("{body}\n\n## title (title)\nLong"));
}

async fn everything_can_be_proposed_to_be_made_changed_and_deleted(house: House) {
    let ann = house.persona("ann", "Be brief.").await;
    let kinds = [
        (
            "persona",
            json!({"name": "New", "systemPrompt": "Be new."}),
            json!({"name": "Newer", "notes": "n"}),
        ),
        (
            "test_input",
            json!({"personaId": ann.as_str(), "content": "Hi?"}),
            json!({"content": "Hello?"}),
        ),
        ("page", json!({"title": "New", "body": "One."}), json!({"body": "One.\n\nTwo."})),
        ("ref", json!({"url": "https://example.org", "title": "New"}), json!({"note": "Good."})),
        (
            "task",
            json!({"title": "New", "due": "2026-12-31"}),
            json!({"status": "doing", "note": "n"}),
        ),
    ];
    for (kind, new, edit) in kinds {
        let fields = if kind == "test_input" { "testInput" } else { kind };
        let create =
            json!({"op": "create", "entityType": kind, fields: new, "reason": "It is missing."});
        let told = say(&playing(&house, json!([propose(create)])), "Make it").await;
        let drafts = told.drafts();
        assert_eq!(drafts.len(), 1, "{:?}", trace(&house).await);
        let draft = house.get(&format!("/api/pending-changes/{}", drafts[0])).await.good();
        assert_eq!((&draft["op"], &draft["entityType"]), (&json!("create"), &json!(kind)));
        assert_eq!(
            (&draft["state"], &draft["reason"]),
            (&json!("pending"), &json!("It is missing."))
        );
        assert_eq!(draft["proposedBy"]["personaId"], "companion");
        accept(&house, &drafts[0]).await;

        let id = draft["entityId"].as_str().unwrap();
        let update = json!({"op": "update", "entityType": kind, "entityId": id, fields: edit});
        let told =
            say(&playing(&house, json!([read(kind, id), propose(update)])), "Change it").await;
        assert_eq!(told.drafts().len(), 1, "{kind}: {:?}", trace(&house).await);
        accept(&house, &told.drafts()[0]).await;
        let read = called(&house, json!([read(kind, id)])).await;
        for value in edit.as_object().unwrap().values() {
            assert!(read[0].2.contains(value.as_str().unwrap()), "{value} is not in {read:?}");
        }

        let delete = json!({"op": "delete", "entityType": kind, "entityId": id});
        let told = say(&playing(&house, json!([propose(delete)])), "Delete it").await;
        accept(&house, &told.drafts()[0]).await;
        let bin = house.get("/api/storage/bin").await.good();
        assert_eq!(
            (&bin["items"][0]["entityType"], &bin["items"][0]["entityId"]),
            (&json!(kind), &json!(id))
        );
    }
    let audit = house.read().await.audit(None, 100).await.unwrap().items;
    let by_companion = audit.iter().filter(|entry| {
        entry.persona_id.as_ref().is_some_and(|persona| persona.as_str() == "companion")
    });
    assert_eq!(by_companion.filter(|entry| entry.run_id.is_some()).count(), 15);
}

async fn the_due_date_of_a_task_can_be_taken_away(house: House) {
    let task = made(&house, "tasks", json!({"title": "Wait", "due": "2026-12-31"})).await;
    let update =
        json!({"op": "update", "entityType": "task", "entityId": task, "task": {"due": ""}});

    let told = say(&playing(&house, json!([read("task", &task), propose(update)])), "Later").await;
    let drafts = told.drafts();
    assert_eq!(drafts.len(), 1, "{:?}", trace(&house).await);
    accept(&house, &drafts[0]).await;

    let task = house.get(&format!("/api/storage/tasks/{task}")).await.good();
    assert_eq!((&task["due"], &task["revision"]), (&Value::Null, &json!(2)));
}

async fn what_was_read_in_part_is_replaced_only_once_it_was_read_to_its_end(house: House) {
    let text = "Fog is wet. ".repeat(2_000);
    let found = made(&house, "refs", json!({"title": "Fog", "note": "Mine.", "text": text})).await;
    let further = json!(["read", {"entityType": "ref", "entityId": found, "offset": 20_000}]);
    let update = |fields: Value| {
        propose(json!({"op": "update", "entityType": "ref", "entityId": found, "ref": fields}))
    };
    let replaced = || update(json!({"text": "Fog is dry."}));

    let told = called(
        &house,
        json!([
            read("ref", &found),
            replaced(),
            update(json!({"title": "Wet fog", "note": "It is wet."})),
            further,
            replaced(),
        ]),
    )
    .await;

    let told: Vec<(&str, &str)> =
        told.iter().map(|(_, status, result)| (status.as_str(), result.as_str())).collect();
    let refused = "You were shown only a part of the text, so replacing it whole would lose the rest. \
                   Read it to its end first.";
    assert_eq!(told[1], ("failed", refused));
    let statuses: Vec<&str> = told.iter().map(|(status, _)| *status).collect();
    assert_eq!(statuses, ["done", "failed", "done", "done", "done"], "{told:?}");
}

async fn an_update_of_something_that_moved_is_merged_when_it_is_accepted(house: House) {
    let page = made(&house, "pages", json!({"title": "Plan", "body": "One two three."})).await;
    let path = format!("/api/storage/pages/{page}");
    let update = json!({
        "op": "update", "entityType": "page", "entityId": page, "page": {"body": "One two THREE."},
    });
    let told = say(&playing(&house, json!([read("page", &page), propose(update)])), "Louder").await;
    house.call(Method::PUT, &path, json!({"body": "ONE two three."})).await.good();

    accept(&house, &told.drafts()[0]).await;

    assert_eq!(house.get(&path).await.good()["body"], "ONE two THREE.");
}

async fn the_tier_of_the_companion_never_lets_it_apply_anything(house: House) {
    let page = made(&house, "pages", json!({"title": "Plan", "body": "One."})).await;
    // It is there once it was talked with.
    say(&house, "Hello").await;
    let calls = json!([
        read("page", &page),
        propose(
            json!({"op": "update", "entityType": "page", "entityId": page, "page": {"body": "Two."}})
        ),
        read("persona", "companion"),
        propose(json!({
            "op": "update", "entityType": "persona", "entityId": "companion", "persona": {"name": "Boss"},
        })),
        propose(json!({"op": "delete", "entityType": "persona", "entityId": "companion"})),
    ]);
    for (tier, word) in [("act", "done"), ("suggest", "done"), ("read", "failed")] {
        let tier = json!({"tier": tier});
        house.call(Method::PUT, "/api/storage/personas/companion", tier.clone()).await.good();

        let told = called(&house, calls.clone()).await;

        for place in [1, 3, 4] {
            let (_, status, result) = &told[place];
            assert_eq!(status, word, "{tier}: {result}");
            let part = if word == "done" { "\"state\":\"pending\"" } else { "may only read" };
            assert!(result.contains(part), "{tier}: {result}");
        }
        assert_eq!(house.get(&format!("/api/storage/pages/{page}")).await.good()["body"], "One.");
        let companion = house.get("/api/storage/personas/companion").await.good();
        assert_eq!(companion["name"], "Companion");
    }
    for draft in waiting(&house).await {
        assert_eq!(draft["state"], "pending");
    }
}

async fn a_ref_without_an_address_and_a_test_input_are_proposed_with_all_that_they_are(
    house: House,
) {
    let persona = house.persona("ann", "Be kind.").await;
    let text = json!({"title": "Found", "text": "Fog is wet."});
    let input =
        json!({"personaId": persona, "content": "Where is it?", "check": "Says where it is."});
    let calls = json!([
        ["propose_change", {"op": "create", "entityType": "ref", "ref": text}],
        ["propose_change", {"op": "create", "entityType": "test_input", "testInput": input}],
    ]);
    let drafts = say(&playing(&house, calls), "Go").await.drafts();
    assert_eq!(drafts.len(), 2);

    let path = format!("/api/pending-changes/{}/approve", drafts[0]);
    house.call(Method::POST, &path, json!({})).await.good();
    let made = house.get("/api/storage/refs").await.good()["items"][0]["id"].clone();
    let made = house.get(&format!("/api/storage/refs/{}", made.as_str().unwrap())).await.good();
    assert_eq!((&made["title"], &made["text"]), (&json!("Found"), &json!("Fog is wet.")));

    let listed = house.get("/api/pending-changes?personaId=ann").await.good();
    let one = &listed["items"][0];
    assert_eq!(
        (&one["id"], &one["personaId"], &one["of"]),
        (&json!(drafts[1]), &json!("ann"), &json!("ann"))
    );
    let others = house.get("/api/pending-changes?personaId=companion").await.good();
    assert_eq!(others["items"].as_array().unwrap().len(), 1);
    let card = house.get(&format!("/rail/drafts/{}", drafts[1])).await.text.replace("<!>", "");
    assert!(card.contains("test input of ann"), "{card}");
    accept(&house, &drafts[1]).await;
    let inputs = house.get("/api/storage/personas/ann/test-inputs").await.good();
    assert_eq!(inputs["items"][0]["check"], "Says where it is.");
}

#[tokio::test]
async fn context_tells_what_the_person_looks_at_and_what_they_marked() {
    let house = House::new().await;
    let page = made(&house, "pages", json!({"title": "Fog", "body": "Fog is wet."})).await;
    let looks = playing(&house, json!([["context", {}]]));
    let view = json!({"entityType": "page", "entityId": page});

    let said = json!({"content": "What is this?", "view": view, "selection": " is wet "});
    say_of(&looks, said).await;
    let told = trace(&house).await;
    let expected = format!(
        "The person is looking at the page “Fog” (entityType page, entityId {page}).\n\
         They marked this passage, and mean it:\n«is wet»"
    );
    assert_eq!(told, [("context".into(), "done".into(), expected)]);

    let nothing = called(&house, json!([["context", {}]])).await;
    assert_eq!(nothing[0].2, "Nothing is known about what the person looks at.");
}

#[tokio::test]
async fn what_is_wrong_with_a_look_is_told_to_the_model() {
    let house = House::new().await;
    let page = made(&house, "pages", json!({"title": "Fog"})).await;

    let told = called(
        &house,
        json!([
            ["search", {}],
            ["search", {"query": "x", "entityType": "secret"}],
            ["search", {"query": "x", "limit": "many"}],
            ["read", {"entityType": "page"}],
            ["read", {"entityType": "page", "entityId": "no-such-page"}],
            ["read", {"entityType": "task", "entityId": page}],
            ["read", {"entityType": "page", "entityId": "../../etc/passwd"}],
            ["read", {"entityType": "page", "entityId": page, "offset": -1}],
        ]),
    )
    .await;

    assert_told(
        &told,
        &[
            "missing field `query`",
            "at “entityType”",
            "at “limit”",
            "missing field `entityId`",
            "does not exist",
            "does not exist",
            "does not exist",
            "at “offset”",
        ],
    );
}

#[tokio::test]
async fn what_is_wrong_with_a_draft_is_told_to_the_model_and_nothing_is_kept() {
    let house = House::new().await;
    let page = made(&house, "pages", json!({"title": "Fog"})).await;
    let cases: Vec<(Value, &str)> = vec![
        (json!({"op": "create", "entityType": "page"}), "Give the fields of the page"),
        (json!({"op": "create", "entityType": "page", "page": {}}), "at least one"),
        (json!({"op": "create", "entityType": "page", "task": {"title": "A"}}), "of nothing else"),
        (
            json!({"op": "create", "entityType": "page", "entityId": "mine", "page": {"title": "A"}}),
            "Leave entityId out",
        ),
        (json!({"op": "create", "entityType": "page", "page": {"title": ""}}), "must not be empty"),
        (json!({"op": "create", "entityType": "page", "page": {"body": "A"}}), "title"),
        (json!({"op": "create", "entityType": "page", "page": {"title": "a\nb"}}), "line"),
        (
            json!({"op": "create", "entityType": "task", "task": {"title": "A", "due": "2026-02-30"}}),
            "due",
        ),
        (
            json!({"op": "create", "entityType": "task", "task": {"title": "A", "status": "later"}}),
            "status",
        ),
        (
            json!({"op": "create", "entityType": "ref", "ref": {"url": "javascript:alert(1)"}}),
            "http",
        ),
        (json!({"op": "create", "entityType": "ref", "ref": {"note": "A"}}), "address or a text"),
        (
            json!({"op": "create", "entityType": "test_input", "testInput": {"content": "A"}}),
            "needs its persona",
        ),
        (
            json!({"op": "create", "entityType": "test_input", "testInput": {"content": "A", "personaId": "x"}}),
            "does not exist",
        ),
        (
            json!({"op": "create", "entityType": "persona", "persona": {"name": "A", "tier": "act"}}),
            "unknown field `tier`",
        ),
        (
            json!({"op": "create", "entityType": "persona", "persona": {"name": "A", "model": "x"}}),
            "unknown field `model`",
        ),
        (json!({"op": "update", "entityType": "page", "page": {"title": "A"}}), "by its entityId"),
        (
            json!({"op": "update", "entityType": "page", "entityId": page, "page": {"title": "A"}}),
            "Read the page before",
        ),
        (json!({"op": "delete", "entityType": "page"}), "by its entityId"),
        (
            json!({"op": "delete", "entityType": "page", "entityId": page, "page": {"title": "A"}}),
            "takes no fields",
        ),
        (
            json!({"op": "delete", "entityType": "page", "entityId": "no-such-page"}),
            "does not exist",
        ),
        (json!({"op": "purge", "entityType": "page", "entityId": page}), "unknown variant `purge`"),
        (
            json!({"op": "delete", "entityType": "page", "entityId": page, "approve": true}),
            "propose_change has no “approve”",
        ),
        (
            json!({"op": "delete", "entityType": "page", "entityId": page, "reason": "x".repeat(501)}),
            "500",
        ),
    ];
    for chunk in cases.chunks(8) {
        let calls: Vec<Value> = chunk.iter().map(|(input, _)| propose(input.clone())).collect();
        let parts: Vec<&str> = chunk.iter().map(|(_, part)| *part).collect();
        assert_told(&called(&house, json!(calls)).await, &parts);
    }
    assert_eq!(waiting(&house).await, Vec::<Value>::new());
}

#[tokio::test]
async fn what_lies_in_the_bin_is_not_proposed_to_be_changed_or_deleted() {
    let house = House::new().await;
    let page = made(&house, "pages", json!({"title": "Old", "body": "One."})).await;
    let path = format!("/api/storage/pages/{page}");
    house.send(crate::support::request(Method::DELETE, &path, None)).await.good();
    let update =
        json!({"op": "update", "entityType": "page", "entityId": page, "page": {"body": "Two."}});
    let delete = json!({"op": "delete", "entityType": "page", "entityId": page});

    let told = called(&house, json!([read("page", &page), propose(update), propose(delete)])).await;

    assert!(told[0].2.starts_with("(It lies in the bin.)"), "{told:?}");
    assert_told(&told[1..], &["is in the bin", "is in the bin"]);
    assert_eq!(waiting(&house).await, Vec::<Value>::new());
}
