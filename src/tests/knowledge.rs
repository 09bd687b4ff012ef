//! Pages, refs and tasks: their life behind the gate, on SQLite and on PostgreSQL alike.

use greenroom::domain::{
    actor::Actor,
    audit::BinnedKind,
    change::{Change, ChangeState, Entity, EntityKind, Op},
    error::ApiError,
    id::{PageId, PersonaId, RefId, TaskId},
    knowledge::{EntryOf, Knowledge, PageFields, RefFields, TaskFields, TaskStatus},
    persona::Tier,
    wiki::{self, links},
};
use greenroom::store::EntryFilter;
use serde_json::json;

use crate::support::{House, on_both};

on_both!(
    a_new_house_has_some_knowledge,
    a_page_lives_through_versions_and_the_bin,
    a_ref_and_a_task_live_as_a_page_does,
    edits_of_a_page_apart_are_merged_and_edits_of_one_passage_are_not,
    taking_back_an_edit_of_a_page_keeps_what_was_written_since,
    what_knowledge_cannot_be_is_refused_by_field,
    a_draft_of_a_page_waits_and_a_page_of_another_kind_is_not_found,
    tasks_are_listed_by_what_is_due,
    links_lead_to_pages_and_personas_in_whatever_letters,
    what_is_purged_leaves_nothing_of_its_text,
);

async fn page(house: &House, id: &str, title: &str, body: &str) -> PageId {
    let id = PageId::new(id);
    let change = Change::new(&id, Op::Create).set("title", title).set("body", body);
    house.submit(change).await.unwrap();
    id
}

async fn entry<K: Knowledge>(house: &House, id: &str) -> EntryOf<K> {
    house.read().await.entry::<K>(&id.to_owned().into()).await.unwrap()
}

async fn titles<K: Knowledge>(house: &House, filter: EntryFilter<'_>) -> Vec<String> {
    let page = house.read().await.entries::<K>(filter, 50).await.unwrap();
    page.items.into_iter().map(|entry| entry.card.title).collect()
}

async fn a_new_house_has_some_knowledge(house: House) {
    let all = EntryFilter::default();
    assert_eq!(
        titles::<PageFields>(&house, all).await,
        ["Writing a persona's prompt", "Testing a persona"]
    );
    assert_eq!(titles::<RefFields>(&house, all).await, ["Tips on writing for everyone"]);
    assert_eq!(titles::<TaskFields>(&house, all).await.len(), 1);

    // Every link of the samples leads somewhere.
    for id in ["writing-a-prompt", "testing-a-persona"] {
        let body = entry::<PageFields>(&house, id).await.fields.body;
        let found = links(&body);
        assert!(!found.is_empty(), "{id}");
        for link in found {
            let target = house.read().await.titled([link.title]).await.unwrap();
            assert_eq!(target.len(), 1, "{id}: {}", link.title);
        }
    }
}

async fn a_page_lives_through_versions_and_the_bin(house: House) {
    let id = page(&house, "notes", "Notes", "one").await;
    let edit = Change::new(&id, Op::Update).set("title", "Better notes").because("A better name.");
    assert_eq!(house.submit(edit).await.unwrap().revision, 2);
    let same = Change::new(&id, Op::Update).set("title", "Better notes");
    assert_eq!(house.submit(same).await.unwrap().change_id, None);

    let versions =
        house.read().await.entry_versions::<PageFields>(&id, None, 50).await.unwrap().items;
    let told: Vec<_> = versions
        .iter()
        .map(|version| (version.revision, version.name.as_str(), version.reason.as_str()))
        .collect();
    assert_eq!(told, [(2, "Better notes", "A better name."), (1, "Notes", "")]);
    let first = house.read().await.entry_version::<PageFields>(&id, 1).await.unwrap();
    assert_eq!(first.fields, PageFields { title: "Notes".into(), body: "one".into() });
    assert!(house.read().await.entry_version::<PageFields>(&id, 3).await.is_err());
    assert!(house.read().await.entry_version::<PageFields>(&id, i64::MAX).await.is_err());

    let restored = house.gate().restore_version(&id, 1).await.unwrap();
    assert_eq!(restored.revision, 3);
    assert_eq!(entry::<PageFields>(&house, "notes").await.fields.title, "Notes");

    let deleted = house.submit(Change::new(&id, Op::Delete)).await.unwrap();
    assert!(house.read().await.entry::<PageFields>(&id).await.is_err());
    let edit = Change::new(&id, Op::Update).set("title", "Ghost");
    assert_eq!(house.submit(edit).await, Err(ApiError::InBin { what: "page".into() }));
    let binned = house.read().await.bin(None, 50).await.unwrap().items;
    assert_eq!((binned[0].entity_type, binned[0].title.as_str()), (BinnedKind::Page, "Notes"));
    house.gate().undo(&deleted.change_id.unwrap()).await.unwrap();
    assert_eq!(entry::<PageFields>(&house, "notes").await.revision, 3);

    let label = Change::new(&id, Op::Label).set("label", "draft").set("revision", 1);
    assert_eq!(house.submit(label).await.unwrap_err().status(), 422);
    house.submit(Change::new(&id, Op::Delete)).await.unwrap();
    assert_eq!(house.gate().empty_bin().await.unwrap(), 1);
    let audit = house.read().await.audit(None, 20).await.unwrap().items;
    let told: Vec<&str> = audit
        .iter()
        .filter(|entry| entry.entity.kind == EntityKind::Page && entry.entity.id == "notes")
        .map(|entry| entry.summary.as_str())
        .collect();
    assert_eq!(
        told,
        [
            "Removed the page “Notes” for good",
            "Moved the page “Notes” to the bin",
            "Restored the page “Notes” from the bin",
            "Moved the page “Notes” to the bin",
            "Changed the title to “Notes”",
            "Changed the title to “Better notes”",
            "Made the page “Notes”",
        ]
    );
}

async fn a_ref_and_a_task_live_as_a_page_does(house: House) {
    let source = RefId::new("source");
    let create = Change::new(&source, Op::Create)
        .set("url", "https://example.org/a")
        .set("fetchedAt", "2026-11-16T10:00:00.000Z");
    house.submit(create).await.unwrap();
    house.submit(Change::new(&source, Op::Update).set("text", "All of it.")).await.unwrap();
    house.submit(Change::new(&source, Op::Update).set("fetchedAt", json!(null))).await.unwrap();
    assert_eq!(entry::<RefFields>(&house, "source").await.fields.fetched_at, None);
    house.gate().restore_version(&source, 1).await.unwrap();
    let restored = entry::<RefFields>(&house, "source").await.fields;
    assert_eq!((restored.text.as_str(), restored.fetched_at.is_some()), ("", true));

    let task = TaskId::new("todo");
    let create = Change::new(&task, Op::Create).set("title", "Do it").set("due", "2026-12-01");
    house.submit(create).await.unwrap();
    let done =
        house.submit(Change::new(&task, Op::Update).set("status", "done")).await.unwrap().change_id;
    house.gate().undo(&done.unwrap()).await.unwrap();
    let task = entry::<TaskFields>(&house, "todo").await;
    assert_eq!((task.revision, task.fields.status), (3, TaskStatus::Open));
}

async fn edits_of_a_page_apart_are_merged_and_edits_of_one_passage_are_not(house: House) {
    let id = page(&house, "notes", "Notes", "one two three\n").await;
    let edit = |body: &str| Change::new(&id, Op::Update).set("body", body).based_on(1);
    house.submit(edit("ONE two three\n")).await.unwrap();

    let merged = house.submit(edit("one two THREE\n")).await.unwrap();

    assert_eq!(merged.revision, 3);
    assert_eq!(entry::<PageFields>(&house, "notes").await.fields.body, "ONE two THREE\n");
    let error = house.submit(edit("eins two three\n")).await.unwrap_err();
    let ApiError::Conflict(conflict) = error else { panic!("{error:?}") };
    assert_eq!((conflict.field.as_str(), conflict.yours.as_str()), ("body", "eins two three\n"));
    assert_eq!(conflict.theirs, "ONE two THREE\n");
    let title = |title: &str| Change::new(&id, Op::Update).set("title", title).based_on(1);
    house.submit(title("New notes")).await.unwrap();
    assert_eq!(house.submit(title("Notes too")).await.unwrap_err().status(), 409);
}

async fn taking_back_an_edit_of_a_page_keeps_what_was_written_since(house: House) {
    let id = page(&house, "notes", "Notes", "one two three").await;
    let edit = |body: &str| Change::new(&id, Op::Update).set("body", body);
    let first = house.submit(edit("ONE two three")).await.unwrap().change_id.unwrap();
    house.submit(edit("ONE two THREE")).await.unwrap();

    house.gate().undo(&first).await.unwrap();

    assert_eq!(entry::<PageFields>(&house, "notes").await.fields.body, "one two THREE");
}

async fn what_knowledge_cannot_be_is_refused_by_field(house: House) {
    let before = house.read().await.audit(None, 200).await.unwrap();
    let new = |kind: EntityKind| Change::new(Entity::new(kind, "new"), Op::Create);
    let (page, source, task) = (EntityKind::Page, EntityKind::Ref, EntityKind::Task);
    let cases = [
        (new(page), "title"),
        (new(page).set("title", ""), "title"),
        (new(page).set("title", "a\nb"), "title"),
        (new(page).set("title", "A").set("body", "x".repeat(200_001)), "body"),
        (new(page).set("title", "A").set("body", "a\0b"), "body"),
        (new(page).set("title", "A").set("url", "https://example.org"), "url"),
        (new(source), "url"),
        (new(source).set("url", "file:///etc/passwd"), "url"),
        (new(source).set("url", "https://me:pw@example.org"), "url"),
        (new(source).set("text", "x".repeat(500_001)), "text"),
        (new(source).set("text", "x").set("fetchedAt", "yesterday"), "fetchedAt"),
        (new(task).set("title", "A").set("status", "later"), "status"),
        (new(task).set("title", "A").set("due", "2026-02-30"), "due"),
        (new(task).set("title", "A").set("due", 7), "due"),
    ];
    for (change, field) in cases {
        let error = house.submit(change).await.unwrap_err();
        let ApiError::Invalid { field: told, .. } = &error else { panic!("{error:?}") };
        assert_eq!(told, field, "{error}");
    }
    assert_eq!(house.read().await.audit(None, 200).await.unwrap(), before);
}

async fn a_draft_of_a_page_waits_and_a_page_of_another_kind_is_not_found(house: House) {
    let id = page(&house, "notes", "Notes", "one").await;
    let agent = Actor::Persona {
        persona: PersonaId::new("optimist"),
        user: house.state.scope.user.clone(),
        run: None,
        tier: Tier::Suggest,
    };
    let draft = Change::new(&id, Op::Update).set("body", "two");
    let kept = house.gate_for(agent.clone()).submit(draft).await.unwrap();
    assert_eq!(kept.state, ChangeState::Pending);
    assert_eq!(entry::<PageFields>(&house, "notes").await.fields.body, "one");
    let bad = Change::new(&TaskId::new("t"), Op::Create).set("title", "");
    assert_eq!(house.gate_for(agent).submit(bad).await.unwrap_err().status(), 422);

    for op in [Op::Update, Op::Delete, Op::Restore, Op::Purge] {
        let change = Change::new(&TaskId::new("notes"), op);
        assert_eq!(house.submit(change).await, Err(ApiError::not_found("task")), "{op:?}");
    }
    let taken = Change::new(&TaskId::new("notes"), Op::Create).set("title", "x");
    assert_eq!(house.submit(taken).await.unwrap_err().status(), 409);
    assert_eq!(entry::<PageFields>(&house, "notes").await.revision, 1);
}

async fn tasks_are_listed_by_what_is_due(house: House) {
    house.submit(Change::new(&TaskId::new("first-test-run"), Op::Delete)).await.unwrap();
    for (title, due, status) in [
        ("whenever", None, "open"),
        ("later", Some("2027-01-01"), "open"),
        ("past and done", Some("2020-01-01"), "done"),
        ("soon", Some("2026-11-20"), "doing"),
        ("newest", None, "open"),
    ] {
        let id = TaskId::new(title.replace(' ', "-"));
        let change =
            Change::new(&id, Op::Create).set("title", title).set("due", due).set("status", status);
        house.submit(change).await.unwrap();
    }
    let open = EntryFilter { status: Some(TaskStatus::Open), ..EntryFilter::default() };
    assert_eq!(titles::<TaskFields>(&house, open).await[0], "later");
    assert_eq!(titles::<TaskFields>(&house, open).await.len(), 3);
    let found = EntryFilter { search: "DONE", ..EntryFilter::default() };
    assert_eq!(titles::<TaskFields>(&house, found).await, ["past and done"]);

    let mut seen = Vec::new();
    let mut after = None;
    loop {
        let filter = EntryFilter { after: after.as_deref(), ..EntryFilter::default() };
        let page = house.read().await.entries::<TaskFields>(filter, 2).await.unwrap();
        seen.extend(page.items.into_iter().map(|task| task.card.title));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!((seen.len(), &seen[..2]), (5, &["soon".to_owned(), "later".to_owned()][..]));
}

async fn links_lead_to_pages_and_personas_in_whatever_letters(house: House) {
    let leads = async |title: &str| {
        let mut found = house.read().await.titled([title]).await.unwrap();
        found.remove(&wiki::key(title))
    };
    let older = page(&house, "older", "ÜBER uns", "").await;
    page(&house, "newer", "Über Uns", "").await;

    assert_eq!(leads(" über UNS ").await, Some(Entity::from(&older)));
    assert_eq!(leads("optimist").await, Some(Entity::from(&PersonaId::new("optimist"))));
    let page = page(&house, "shadow", "Optimist", "").await;
    assert_eq!(leads("Optimist").await, Some(Entity::from(&page)));
    house.submit(Change::new(&page, Op::Delete)).await.unwrap();
    assert_eq!(leads("Optimist").await.unwrap().kind, EntityKind::Persona);
    for nothing in ["", "Opt%", "a\0b", &"x".repeat(300)] {
        assert_eq!(leads(nothing).await, None);
    }
    let many = ["über uns", "Nothing", "OPTIMIST", "Skeptic", "skeptic"];
    let found = house.read().await.titled(many).await.unwrap();
    assert_eq!(found.keys().collect::<Vec<_>>(), ["optimist", "skeptic", "über uns"]);
    assert_eq!(found["über uns"], Entity::from(&older));
    let elsewhere = house.neighbour().await.read().await.titled(["ÜBER uns"]).await.unwrap();
    assert!(elsewhere.is_empty(), "{elsewhere:?}");
}

async fn what_is_purged_leaves_nothing_of_its_text(house: House) {
    let id = page(&house, "notes", "Notes", "a secret").await;
    let edited = house.submit(Change::new(&id, Op::Update).set("body", "x")).await.unwrap();
    house.submit(Change::new(&id, Op::Delete)).await.unwrap();

    house.submit(Change::new(&id, Op::Purge)).await.unwrap();

    let mut link = house.read().await;
    assert!(link.entry_head::<PageFields>(&id).await.is_err());
    assert!(link.entry_at::<PageFields>(&id, 1).await.is_err());
    assert!(link.change(&edited.change_id.unwrap()).await.is_err());
}
