//! The life of each noun, told on SQLite and on PostgreSQL alike.

use greenroom::changes::Gate;
use greenroom::domain::{
    actor::Actor,
    change::{Change, ChangeState, EntityKind, Op},
    error::ApiError,
    id::{PersonaId, TestInputId},
    persona::Tier,
    test_input::Move,
    version::differences,
};
use serde_json::json;

use crate::support::{House, on_both};

on_both!(
    a_new_house_has_its_samples,
    a_persona_lives_through_versions_labels_and_the_bin,
    test_inputs_are_added_moved_rewritten_and_deleted,
    test_inputs_that_share_a_place_can_still_be_moved,
    edits_apart_are_merged_and_edits_of_one_passage_are_not,
    every_change_can_be_taken_back_once,
    taking_back_an_edit_keeps_what_was_written_since,
    many_writers_at_once_lose_nothing,
    a_refused_change_leaves_no_trace,
    an_agent_goes_as_far_as_its_tier,
    a_long_list_comes_in_pages_without_gaps,
    names_are_found_in_any_script_and_wildcards_are_letters,
    what_is_written_comes_back_to_the_letter,
    purging_removes_everything_that_was_written,
);

async fn a_new_house_has_its_samples(house: House) {
    let page = house.read().await.personas("", None, 50).await.unwrap();

    let ids: Vec<&str> = page.items.iter().map(|persona| persona.id.as_str()).collect();
    assert_eq!(
        ids,
        ["optimist", "skeptic", "retirement-guide", "code-reviewer", "plain-writer", "innkeeper"]
    );
    assert!(page.items.iter().all(|persona| (3..=5).contains(&persona.test_inputs)));
    // Founding it again changes nothing.
    Gate::found_space(&house.state.store, &house.state.scope, "Home").await.unwrap();
    assert_eq!(house.read().await.count_personas().await.unwrap(), 6);
}

async fn a_persona_lives_through_versions_labels_and_the_bin(house: House) {
    let id = house.persona("ann", "Be brief.").await;

    let edit = Change::new(&id, Op::Update).set("name", "Ann").because("She has a name.");
    assert_eq!(house.submit(edit).await.unwrap().revision, 2);
    let same = Change::new(&id, Op::Update).set("name", "Ann");
    let unchanged = house.submit(same).await.unwrap();
    assert_eq!((unchanged.revision, unchanged.change_id), (2, None));

    let label = |revision: Option<i64>| {
        Change::new(&id, Op::Label).set("label", "production").set("revision", revision)
    };
    house.submit(label(Some(1))).await.unwrap();
    house.submit(label(Some(2))).await.unwrap();
    assert_eq!(house.submit(label(Some(9))).await, Err(ApiError::not_found("version")));

    let versions = house.read().await.versions(&id, None, 50).await.unwrap().items;
    let told: Vec<_> = versions
        .iter()
        .map(|version| (version.revision, version.reason.as_str(), version.labels.clone()))
        .collect();
    assert_eq!(told, [(2, "She has a name.", vec!["production".to_owned()]), (1, "", vec![])]);

    let mut link = house.read().await;
    let (old, new) = (link.version(&id, 1).await.unwrap(), link.version(&id, 2).await.unwrap());
    drop(link);
    let changed: Vec<String> =
        differences(&old.fields, &new.fields).into_iter().map(|field| field.label).collect();
    assert_eq!(changed, ["Name"]);

    house.gate().restore_version(&id, 1).await.unwrap();
    let restored = house.read().await.persona(&id).await.unwrap();
    assert_eq!((restored.revision, restored.fields.name.as_str()), (3, "ann"));

    house.submit(Change::new(&id, Op::Delete)).await.unwrap();
    assert!(house.read().await.persona(&id).await.is_err());
    let edit = Change::new(&id, Op::Update).set("name", "Ghost");
    assert_eq!(house.submit(edit).await, Err(ApiError::InBin { what: "persona".into() }));
    let binned = house.read().await.bin(None, 50).await.unwrap().items;
    assert_eq!((binned.len(), binned[0].title.as_str()), (1, "ann"));

    house.submit(Change::new(&id, Op::Restore)).await.unwrap();
    assert_eq!(house.read().await.persona(&id).await.unwrap().revision, 3);
    let purge = house.submit(Change::new(&id, Op::Purge)).await;
    assert!(matches!(purge, Err(ApiError::NotNow { .. })), "{purge:?}");

    house.submit(Change::new(&id, Op::Delete)).await.unwrap();
    assert_eq!(house.gate().empty_bin().await.unwrap(), 1);
    assert!(house.read().await.bin(None, 50).await.unwrap().items.is_empty());

    let audit = house.read().await.audit(None, 20).await.unwrap().items;
    let ops: Vec<Op> =
        audit.iter().filter(|entry| entry.entity.id == "ann").map(|entry| entry.op).collect();
    assert_eq!(
        ops,
        [
            Op::Purge,
            Op::Delete,
            Op::Restore,
            Op::Delete,
            Op::Update,
            Op::Label,
            Op::Label,
            Op::Update,
            Op::Create
        ]
    );
}

async fn test_inputs_that_share_a_place_can_still_be_moved(house: House) {
    let id = house.persona("ann", "").await;
    let rows = [add(&house, &id, "one").await, add(&house, &id, "two").await];
    let last = add(&house, &id, "three").await;
    let place = house.read().await.test_input(&rows[1]).await.unwrap().fields.position;
    house.submit(Change::new(&last, Op::Update).set("position", place)).await.unwrap();

    house.gate().move_test_input(&rows[0], Move::Down).await.unwrap();

    assert_eq!(contents(&house, &id).await.len(), 3);
    assert_eq!(contents(&house, &id).await[1], "one");
    // One that comes back from the bin finds its place free.
    let deleted = house.submit(Change::new(&last, Op::Delete)).await.unwrap();
    add(&house, &id, "four").await;
    house.gate().undo(&deleted.change_id.unwrap()).await.unwrap();
    house.gate().move_test_input(&rows[0], Move::Down).await.unwrap();
    assert_eq!(contents(&house, &id).await.len(), 4);
}

/// The contents of a persona's test inputs, in order.
async fn contents(house: &House, id: &PersonaId) -> Vec<String> {
    let rows = house.read().await.test_inputs(id).await.unwrap();
    rows.into_iter().map(|row| row.fields.content).collect()
}

async fn add(house: &House, persona: &PersonaId, id: &str) -> TestInputId {
    let test = TestInputId::new(id);
    let change =
        Change::new(&test, Op::Create).set("content", id).set("personaId", persona.as_str());
    house.submit(change).await.unwrap();
    test
}

async fn test_inputs_are_added_moved_rewritten_and_deleted(house: House) {
    let id = house.persona("ann", "").await;
    let one = add(&house, &id, "one").await;
    add(&house, &id, "two").await;
    let three = add(&house, &id, "three").await;

    house.gate().move_test_input(&three, Move::Up).await.unwrap();
    assert_eq!(contents(&house, &id).await, ["one", "three", "two"]);
    house.gate().move_test_input(&one, Move::Down).await.unwrap();
    assert_eq!(contents(&house, &id).await, ["three", "one", "two"]);
    house.gate().move_test_input(&three, Move::Up).await.unwrap();
    assert_eq!(contents(&house, &id).await, ["three", "one", "two"]);

    house.submit(Change::new(&one, Op::Update).set("content", "ONE")).await.unwrap();
    let deleted = house.submit(Change::new(&three, Op::Delete)).await.unwrap();
    assert_eq!(contents(&house, &id).await, ["ONE", "two"]);
    let binned = house.read().await.bin(None, 50).await.unwrap().items;
    assert_eq!(binned[0].of.as_deref(), Some("ann"));

    house.gate().undo(&deleted.change_id.unwrap()).await.unwrap();
    assert_eq!(contents(&house, &id).await, ["three", "ONE", "two"]);
    let persona = house.read().await.persona(&id).await.unwrap();
    assert_eq!(persona.test_input_ids.len(), 3);
    assert_eq!(persona.test_input_ids[0], three);

    // With its persona in the bin, a test input cannot be reached.
    house.submit(Change::new(&id, Op::Delete)).await.unwrap();
    assert!(house.read().await.test_input(&one).await.is_err());
    let edit = house.submit(Change::new(&one, Op::Update).set("content", "x")).await;
    assert_eq!(edit, Err(ApiError::InBin { what: "test input".into() }));
    let orphan = Change::new(&TestInputId::new("new"), Op::Create)
        .set("content", "x")
        .set("personaId", "ann");
    assert_eq!(house.submit(orphan).await, Err(ApiError::InBin { what: "persona".into() }));
}

async fn edits_apart_are_merged_and_edits_of_one_passage_are_not(house: House) {
    let id = house.persona("ann", "Be brief.\nBe kind.\nAsk.\n").await;
    let edit = |prompt: &str| Change::new(&id, Op::Update).set("systemPrompt", prompt).based_on(1);
    house.submit(edit("Be very brief.\nBe kind.\nAsk.\n")).await.unwrap();

    let merged = house.submit(edit("Be brief.\nBe kind.\nAsk twice.\n")).await.unwrap();

    assert_eq!(merged.revision, 3);
    let prompt = house.read().await.persona(&id).await.unwrap().fields.system_prompt;
    assert_eq!(prompt, "Be very brief.\nBe kind.\nAsk twice.\n");

    let error = house.submit(edit("Be terse.\nBe kind.\nAsk.\n")).await.unwrap_err();
    let ApiError::Conflict(conflict) = error else { panic!("{error:?}") };
    assert_eq!(conflict.yours, "Be terse.\nBe kind.\nAsk.\n");
    assert_eq!(conflict.theirs, prompt);
    assert_eq!(conflict.base, "Be brief.\nBe kind.\nAsk.\n");
    assert_eq!(house.read().await.persona(&id).await.unwrap().revision, 3);
}

async fn every_change_can_be_taken_back_once(house: House) {
    let id = house.persona("ann", "one").await;
    let name = async || house.read().await.persona(&id).await.map(|found| found.fields.name).ok();
    let edited = house.submit(Change::new(&id, Op::Update).set("name", "Ann")).await.unwrap();
    let edited = edited.change_id.unwrap();

    let undone = house.gate().undo(&edited).await.unwrap();
    assert_eq!(name().await.as_deref(), Some("ann"));
    let again = house.gate().undo(&edited).await;
    assert!(matches!(again, Err(ApiError::NotNow { .. })), "{again:?}");
    // Taking back what took back is doing it again.
    house.gate().undo(&undone.change_id.unwrap()).await.unwrap();
    assert_eq!(name().await.as_deref(), Some("Ann"));

    let deleted = house.submit(Change::new(&id, Op::Delete)).await.unwrap();
    assert_eq!(name().await, None);
    house.gate().undo(&deleted.change_id.unwrap()).await.unwrap();
    assert_eq!(name().await.as_deref(), Some("Ann"));

    let label =
        |revision: i64| Change::new(&id, Op::Label).set("label", "draft").set("revision", revision);
    house.submit(label(1)).await.unwrap();
    let moved = house.submit(label(2)).await.unwrap();
    house.gate().undo(&moved.change_id.unwrap()).await.unwrap();
    assert_eq!(house.read().await.labels(&id).await.unwrap(), [("draft".to_owned(), 1)]);
}

async fn taking_back_an_edit_keeps_what_was_written_since(house: House) {
    let id = house.persona("ann", "one two three").await;
    let edit = |prompt: &str| Change::new(&id, Op::Update).set("systemPrompt", prompt);
    let first = house.submit(edit("ONE two three")).await.unwrap().change_id.unwrap();
    house.submit(edit("ONE two THREE")).await.unwrap();

    house.gate().undo(&first).await.unwrap();

    let prompt = house.read().await.persona(&id).await.unwrap().fields.system_prompt;
    assert_eq!(prompt, "one two THREE");
}

async fn many_writers_at_once_lose_nothing(house: House) {
    let lines: Vec<String> = (0..40).map(|number| format!("line {number}\n")).collect();
    let id = house.persona("ann", &lines.concat()).await;
    let edits = (0..20).map(|writer| {
        let mut mine = lines.clone();
        mine[writer * 2] = format!("writer {writer} was here\n");
        let change = Change::new(&id, Op::Update).set("systemPrompt", mine.concat()).based_on(1);
        let gate = house.gate();
        tokio::spawn(async move { gate.submit(change).await })
    });
    for writer in edits.collect::<Vec<_>>() {
        writer.await.unwrap().unwrap();
    }

    let persona = house.read().await.persona(&id).await.unwrap();
    let expected: String = (0..40)
        .map(|number| match number % 2 {
            0 => format!("writer {} was here\n", number / 2),
            _ => format!("line {number}\n"),
        })
        .collect();
    assert_eq!(persona.fields.system_prompt, expected);
    assert_eq!(persona.revision, 21);
    let versions = house.read().await.versions(&id, None, 50).await.unwrap().items;
    assert_eq!(versions.len(), 21);
}

async fn a_refused_change_leaves_no_trace(house: House) {
    let id = house.persona("ann", "").await;
    let before = house.read().await.audit(None, 200).await.unwrap();
    let refused = [
        Change::new(&id, Op::Update).set("name", ""),
        Change::new(&id, Op::Update).set("name", "x".repeat(201)),
        Change::new(&id, Op::Update).set("systemPrompt", "x".repeat(100_001)),
        Change::new(&id, Op::Update).set("notes", "a\0b"),
        Change::new(&id, Op::Update).set("colour", "red"),
        Change::new(&id, Op::Update).set("tools", "ls"),
        Change::new(&id, Op::Update).set("tools", json!(["two words"])),
        Change::new(&id, Op::Update).set("name", "B").because("a\0b"),
        Change::new(&id, Op::Create).set("name", "Again"),
        Change::new(&id, Op::Label).set("label", "Not A Label").set("revision", 1),
        Change::new(&PersonaId::new("nobody"), Op::Delete),
    ];
    for change in refused {
        let told = format!("{change:?}");
        house.submit(change).await.expect_err(&told);
    }
    // All or nothing: the good change goes down with the bad one.
    let good = Change::new(&id, Op::Update).set("name", "Good");
    let bad = Change::new(&id, Op::Update).set("name", "");
    house.gate().submit_all(vec![good, bad]).await.unwrap_err();

    assert_eq!(house.read().await.persona(&id).await.unwrap().fields.name, "ann");
    assert_eq!(house.read().await.audit(None, 200).await.unwrap(), before);
}

async fn an_agent_goes_as_far_as_its_tier(house: House) {
    let id = house.persona("ann", "one").await;
    let agent = |tier: Tier| Actor::Persona {
        persona: id.clone(),
        user: house.state.scope.user.clone(),
        run: None,
        tier,
    };
    let edit = || Change::new(&id, Op::Update).set("systemPrompt", "two");
    let prompt = async || house.read().await.persona(&id).await.unwrap().fields.system_prompt;

    let denied = house.gate_for(agent(Tier::Read)).submit(edit()).await;
    assert!(matches!(denied, Err(ApiError::Denied { .. })), "{denied:?}");

    let kept = house.gate_for(agent(Tier::Suggest)).submit(edit()).await.unwrap();
    assert_eq!((kept.state, prompt().await.as_str()), (ChangeState::Pending, "one"));
    let row = house.read().await.change(&kept.change_id.unwrap()).await.unwrap();
    assert_eq!(row.change.patch["systemPrompt"], json!("two"));
    let bad = Change::new(&id, Op::Update).set("name", "");
    house.gate_for(agent(Tier::Suggest)).submit(bad).await.unwrap_err();

    let done = house.gate_for(agent(Tier::Act)).submit(edit()).await.unwrap();
    assert_eq!((done.state, prompt().await.as_str()), (ChangeState::Applied, "two"));
    let audit = house.read().await.audit(None, 1).await.unwrap().items;
    assert_eq!(audit[0].persona_id.as_ref(), Some(&id));
}

async fn a_long_list_comes_in_pages_without_gaps(house: House) {
    for number in 0..25 {
        house.persona(&format!("p{number:02}"), "").await;
    }
    let mut seen = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let page = house.read().await.personas("", after.as_deref(), 7).await.unwrap();
        seen.extend(page.items.into_iter().map(|persona| persona.id.to_string()));
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }

    assert_eq!(seen.len(), 31);
    let mut unique = seen.clone();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), 31);
}

async fn names_are_found_in_any_script_and_wildcards_are_letters(house: House) {
    for (id, name) in [("a", "ÄRZTIN Müller"), ("b", "50% off_er"), ("c", "Студент"), ("d", "a\\b")]
    {
        let id = PersonaId::new(id);
        house.submit(Change::new(&id, Op::Create).set("name", name)).await.unwrap();
    }
    let found = async |search: &str| {
        let page = house.read().await.personas(search, None, 50).await.unwrap();
        let mut ids: Vec<String> =
            page.items.into_iter().map(|found| found.id.to_string()).collect();
        ids.sort();
        ids
    };

    assert_eq!(found("ärztin").await, ["a"]);
    assert_eq!(found("студ").await, ["c"]);
    assert_eq!(found("50%").await, ["b"]);
    assert_eq!(found("f_e").await, ["b"]);
    assert_eq!(found("\\").await, ["d"]);
    assert_eq!(found("%%").await, Vec::<String>::new());
    assert_eq!(found("\0optimist").await, ["optimist"]);
}

async fn what_is_written_comes_back_to_the_letter(house: House) {
    let odd = [
        "tabs\tand\r\nlines\n\n",
        "'; drop table persona; --",
        "emoji 👩‍👩‍👧 and \u{202e}bidi",
        "\u{feff}bom \u{0301}",
        "  spaces  ",
        "<script>alert(1)</script>",
    ];
    for (number, prompt) in odd.into_iter().enumerate() {
        let id = house.persona(&format!("odd{number}"), prompt).await;
        let back = house.read().await.persona(&id).await.unwrap();
        assert_eq!(back.fields.system_prompt, prompt);
    }
}

async fn purging_removes_everything_that_was_written(house: House) {
    let id = house.persona("ann", "a secret").await;
    let test = add(&house, &id, "another secret").await;
    let edited = house.submit(Change::new(&test, Op::Update).set("content", "x")).await.unwrap();
    house.submit(Change::new(&id, Op::Delete)).await.unwrap();

    house.submit(Change::new(&id, Op::Purge)).await.unwrap();

    let mut link = house.read().await;
    assert!(link.persona_head(&id).await.is_err());
    assert!(link.persona_at(&id, 1).await.is_err());
    assert!(link.test_input_at(&test, 1).await.is_err());
    assert!(link.change(&edited.change_id.unwrap()).await.is_err());
    let audit = link.audit(None, 1).await.unwrap().items;
    assert_eq!((audit[0].op, audit[0].entity.kind), (Op::Purge, EntityKind::Persona));
}
