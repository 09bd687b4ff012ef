//! What is from elsewhere is named by the drafts that are written after it was read.

use axum::http::Method;
use greenroom::{
    archive::{Author, Settings, export_space, import_space},
    changes::Scope,
    domain::{
        change::{Change, Op},
        id::{PageId, PersonaId, TestInputId},
        proposal::Source,
        test_input::Move,
    },
};
use serde_json::{Value, json};

use super::{
    made, playing,
    safety::{POISON, poisoned},
    say, say_of, trace, waiting,
};
use crate::support::{House, on_both, told};

on_both!(
    drafts_after_something_from_elsewhere_say_so_in_later_runs_too,
    a_ref_without_a_text_is_from_elsewhere_with_its_title_note_and_address,
    what_the_person_shows_from_elsewhere_is_named_by_drafts,
    a_passage_marked_among_many_things_is_traced_to_where_it_stands,
    an_imported_chat_is_from_elsewhere_and_one_begun_here_is_not,
    a_moment_of_an_imported_chat_is_from_elsewhere_however_it_is_copied_and_read,
    what_an_imported_space_says_is_from_elsewhere_until_a_person_writes_it,
    what_an_imported_persona_answers_to_a_test_input_is_from_elsewhere,
    a_draft_names_what_was_read_and_counts_the_rest,
);

async fn a_ref_without_a_text_is_from_elsewhere_with_its_title_note_and_address(house: House) {
    let note = json!({"title": POISON, "note": "Mind this.", "url": "https://example.org/x"});
    let source = made(&house, "refs", note).await;
    let read = json!(["read", {"entityType": "ref", "entityId": source}]);

    let told = say(&playing(&house, json!([read, task("After")])), "Go").await;

    let draft = format!("/api/pending-changes/{}", told.drafts()[0]);
    let untrusted = house.get(&draft).await.good()["untrusted"].clone();
    assert_eq!(untrusted[0]["entityId"], source.as_str(), "{untrusted}");
    assert_eq!(untrusted[0]["title"], POISON);
    let passage = untrusted[0]["passage"].as_str().unwrap();
    assert!(passage.contains("Mind this.") && passage.contains("example.org"), "{passage}");
    let warned = trace(&house).await.remove(0).2;
    assert!(warned.starts_with("(The text of this ref was written elsewhere."), "{warned}");
}

async fn drafts_after_something_from_elsewhere_say_so_in_later_runs_too(house: House) {
    let things = poisoned(&house).await;
    let (page, source) = (&things[0].1, &things[1].1);
    let untrusted = async |draft: &str| {
        house.get(&format!("/api/pending-changes/{draft}")).await.good()["untrusted"].clone()
    };

    let read_page = json!(["read", {"entityType": "page", "entityId": page}]);
    let before = say(&playing(&house, json!([read_page, task("Before")])), "Go").await;
    assert_eq!(untrusted(&before.drafts()[0]).await, json!([]));

    let read_ref = json!(["read", {"entityType": "ref", "entityId": source}]);
    let after = say(&playing(&house, json!([read_ref, task("After")])), "Go").await;
    let warned = trace(&house).await.remove(0).2;
    assert!(warned.starts_with("(The text of this ref was written elsewhere."), "{warned}");
    let named = json!([
        {"entityType": "ref", "entityId": source, "title": "Found", "passage": POISON},
    ]);
    assert_eq!(untrusted(&after.drafts()[0]).await, named);
    let inbox = house.get("/inbox").await.text;
    let badge = inbox.split("class=\"untrusted").nth(1).unwrap_or_default();
    assert!(badge.contains("Found") && badge.contains(POISON), "{inbox}");

    let later = say(&playing(&house, json!([task("Later")])), "Go on").await;
    assert_eq!(untrusted(&later.drafts()[0]).await, named);

    // A new conversation knows nothing of it; a passage that is found is from elsewhere, too.
    house.function("start_afresh", &[("at", "/")]).await.good();
    let fresh = say(&playing(&house, json!([task("Fresh")])), "Go").await;
    assert_eq!(untrusted(&fresh.drafts()[0]).await, json!([]));
    let search = json!(["search", {"query": "approve"}]);
    let found = say(&playing(&house, json!([search, task("Found")])), "Go").await;
    let told = untrusted(&found.drafts()[0]).await;
    assert_eq!((&told[0]["entityId"], told.as_array().unwrap().len()), (&json!(source), 1));
    assert!(told[0]["passage"].as_str().unwrap().contains("approve the draft"), "{told}");
}

/// A call that proposes a task.
fn task(title: &str) -> Value {
    json!(["propose_change", {"op": "create", "entityType": "task", "task": {"title": title}}])
}

async fn what_the_person_shows_from_elsewhere_is_named_by_drafts(house: House) {
    let things = poisoned(&house).await;
    let (page, source) = (&things[0].1, &things[1].1);
    let untrusted = async |draft: &str| {
        house.get(&format!("/api/pending-changes/{draft}")).await.good()["untrusted"].clone()
    };
    let show = async |kind: &str, id: &str, marked: &str, title: &str| {
        let view = json!({"entityType": kind, "entityId": id});
        let said = json!({"content": "Go", "view": view, "selection": marked});
        say_of(&playing(&house, json!([task(title)])), said).await.drafts().remove(0)
    };

    let own = show("page", page, "delete everything", "Own").await;
    assert_eq!(untrusted(&own).await, json!([]), "a page is somebody's own");
    let looked = show("ref", source, "", "Looked at").await;
    let named = |passage: &str| json!([{"entityType": "ref", "entityId": source, "title": "Found", "passage": passage}]);
    assert_eq!(untrusted(&looked).await, named("Found"), "its title was told");
    let marked = show("ref", source, "approve the draft", "Marked").await;
    assert_eq!(untrusted(&marked).await, named("approve the draft"));

    // It stands behind what is said from then on, even by another process.
    let later = say(&playing(&house, json!([task("Later")])), "Go on").await;
    assert_eq!(untrusted(&later.drafts()[0]).await, named("approve the draft"));
}

async fn a_passage_marked_among_many_things_is_traced_to_where_it_stands(house: House) {
    let things = poisoned(&house).await;
    let source = &things[1].1;
    let show = async |marked: &str, title: &str| {
        let said = json!({"content": "Go", "selection": marked});
        let draft = say_of(&playing(&house, json!([task(title)])), said).await.drafts().remove(0);
        house.get(&format!("/api/pending-changes/{draft}")).await.good()["untrusted"].clone()
    };

    assert_eq!(show("nobody wrote this anywhere", "Own").await, json!([]));
    assert_eq!(show("the draft", "Two words").await, json!([]), "they stand everywhere");
    let passage = "…approve the draft, print the";
    let named = json!([
        {"entityType": "ref", "entityId": source, "title": "Found", "passage": passage},
    ]);
    assert_eq!(show(passage, "Marked").await, named);
}

async fn an_imported_chat_is_from_elsewhere_and_one_begun_here_is_not(house: House) {
    house.persona("ann", "Be kind.").await;
    let file = json!({
        "format": "greenroom-chat", "title": "Brought along", "personaId": "ann",
        "messages": [
            {"id": "1", "role": "user", "content": "What shall I do?"},
            {"id": "2", "parentId": "1", "role": "assistant", "content": POISON},
        ],
    });
    let chat = house.call(Method::POST, "/api/chats/import", file).await.good();
    let chat = chat["id"].as_str().unwrap();
    let own = json!({"personaId": "ann", "title": "Begun here"});
    let own = house.call(Method::POST, "/api/chats", own).await.good();
    let own = own["id"].as_str().unwrap();
    let words = json!({"content": "Tell me of the harbour."});
    let asked = house.call(Method::POST, &format!("/api/chats/{own}/messages"), words).await.good();
    house.get(&format!("/api/runs/{}/events", asked["runId"].as_str().unwrap())).await;
    let untrusted = async |draft: &str| {
        house.get(&format!("/api/pending-changes/{draft}")).await.good()["untrusted"].clone()
    };
    let read = |id: &str| json!(["read", {"entityType": "chat", "entityId": id}]);

    let before = say(&playing(&house, json!([read(own), task("Before")])), "Go").await;
    assert_eq!(untrusted(&before.drafts()[0]).await, json!([]), "it was said here");
    let told = trace(&house).await.remove(0).2;
    assert!(told.contains("Tell me of the harbour.") && !told.starts_with("(The text"), "{told}");

    let after = say(&playing(&house, json!([read(chat), task("After")])), "Go").await;
    let told = trace(&house).await.remove(0).2;
    assert!(told.starts_with("(The text of this chat was written elsewhere."), "{told}");
    assert!(told.contains("What shall I do?") && told.contains(POISON), "{told}");
    let named = untrusted(&after.drafts()[0]).await;
    assert_eq!((&named[0]["entityType"], &named[0]["entityId"]), (&json!("chat"), &json!(chat)));
    assert!(named[0]["passage"].as_str().unwrap().contains(POISON), "{named}");
    let card = house.get(&format!("/rail/drafts/{}", after.drafts()[0])).await.text;
    let badge = card.split("class=\"untrusted").nth(1).unwrap_or_default();
    assert!(badge.contains("Brought along") && badge.contains(POISON), "{card}");

    // What is found of it, and what is shown of it, is from elsewhere, too.
    for (calls, view) in [
        (json!([["search", {"query": "approve"}], task("Found")]), Value::Null),
        (json!([task("Shown")]), json!({"entityType": "chat", "entityId": chat})),
    ] {
        house.function("start_afresh", &[("at", "/")]).await.good();
        let mut said = json!({"content": "Go", "selection": "delete everything"});
        if view.is_object() {
            said["view"] = view;
        }
        let draft = say_of(&playing(&house, calls), said).await.drafts().remove(0);
        let named = untrusted(&draft).await;
        assert_eq!(named[0]["entityId"], json!(chat), "{named}");
        assert_eq!(named[0]["title"], "Brought along");
    }
}

async fn a_moment_of_an_imported_chat_is_from_elsewhere_however_it_is_copied_and_read(
    house: House,
) {
    house.persona("ann", "Be kind.").await;
    let file = json!({
        "format": "greenroom-chat", "title": "Brought along", "personaId": "ann",
        "messages": [
            {"id": "1", "role": "user", "content": POISON},
            {"id": "2", "parentId": "1", "role": "assistant", "content": "No."},
        ],
    });
    let chat = house.call(Method::POST, "/api/chats/import", file).await.good();
    let path = format!("/api/chats/{}/messages", chat["id"].as_str().unwrap());
    let said = house.get(&path).await.good()["items"][0]["id"].as_str().unwrap().to_owned();
    let path = format!("/api/messages/{said}/test-input");
    let moment = house.call(Method::POST, &path, json!({})).await.good()["id"].clone();
    let path = "/api/storage/personas/ann/duplicate";
    let copy = house.call(Method::POST, path, json!({})).await.good();
    let copied = copy["testInputIds"][0].clone();
    assert!(copied.is_string() && copied != moment, "{copy}");

    for (persona, input, call) in [
        (json!("ann"), &moment, json!(["list_test_inputs", {}])),
        (copy["id"].clone(), &copied, json!(["get_test_input", {"id": copied}])),
    ] {
        let rename = json!(["update_persona_name", {"name": "Owned"}]);
        let said = json!({"personaId": persona, "message": "Obey"});
        let playing = playing(&house, json!([call, rename]));
        told(&playing.call(Method::POST, "/api/persona-agent/chat", said).await);

        let draft = waiting(&house).await.remove(0);
        assert_eq!(draft["entityId"], persona);
        let named = json!([{
            "entityType": "test_input", "entityId": input, "title": "test input", "passage": POISON,
        }]);
        assert_eq!(draft["untrusted"], named);
    }
}

/// Only refs and chats counted, though a folder may come from anybody.
async fn what_an_imported_space_says_is_from_elsewhere_until_a_person_writes_it(house: House) {
    let things = poisoned(&house).await;
    let (page, source) = (&things[0].1, &things[1].1);
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let state = &house.state;
    export_space(&state.store, &state.agent, &state.scope, &out).await.unwrap();
    let brought = async |name: &str, author: Author| {
        let scope = Scope { space: name.into(), user: "owner".into() };
        let mut link = state.store.write(&scope.space).await.unwrap();
        link.create_space(name, &scope.user).await.unwrap();
        link.commit().await.unwrap();
        let keep = Settings::Keep;
        import_space(&state.store, &state.agent, &scope, &out, keep, author).await.unwrap();
        house.seen_from(scope)
    };
    let named = async |house: &House, calls: Value, view: Value| -> Vec<String> {
        house.function("start_afresh", &[("at", "/")]).await.good();
        let mut said = json!({"content": "Go"});
        if view.is_object() {
            said["view"] = view;
        }
        let draft = say_of(&playing(house, calls), said).await.drafts().remove(0);
        let draft = house.get(&format!("/api/pending-changes/{draft}")).await.good();
        let named = draft["untrusted"].as_array().unwrap().iter();
        let mut named: Vec<String> =
            named.map(|source| source["title"].as_str().unwrap().to_owned()).collect();
        named.sort();
        named
    };
    let read = |kind: &str, id: &str| json!(["read", {"entityType": kind, "entityId": id}]);
    let view = |kind: &str, id: &str| json!({"entityType": kind, "entityId": id});
    let copy = brought("copy", Author::Somebody).await;

    let pages = json!([read("page", page), task("Read")]);
    assert_eq!(named(&copy, pages.clone(), Value::Null).await, ["Plan"]);
    let personas = json!([read("persona", "victim"), task("Persona")]);
    assert_eq!(named(&copy, personas.clone(), Value::Null).await, ["test input", "victim"]);
    let found = json!([["search", {"query": "approve"}], task("Found")]);
    let found = named(&copy, found, Value::Null).await;
    assert!(
        ["Found", "Plan"].iter().all(|title| found.iter().any(|one| one == title)),
        "{found:?}"
    );
    assert_eq!(named(&copy, json!([task("Seen")]), view("page", page)).await, ["Plan"]);

    // Whoever renames it, chooses its model or moves it has not written it.
    let path = format!("/api/storage/pages/{page}");
    copy.call(Method::PUT, &path, json!({"title": "Plans"})).await.good();
    assert_eq!(named(&copy, pages.clone(), Value::Null).await, ["Plans"]);
    let victim = "/api/storage/personas/victim";
    copy.call(Method::PUT, victim, json!({"model": "demo", "tier": "read"})).await.good();
    let inputs = format!("{victim}/test-inputs");
    copy.call(Method::POST, &inputs, json!({"content": "Mine."})).await.good();
    let input = TestInputId::new(things[2].1.as_str());
    copy.gate().move_test_input(&input, Move::Down).await.unwrap();
    assert_eq!(copy.read().await.test_input(&input).await.unwrap().revision, 2);
    assert_eq!(named(&copy, personas, Value::Null).await, ["test input", "victim"]);

    // What somebody here wrote is theirs; what an agent wrote is not enough for that.
    let update = json!({
        "op": "update", "entityType": "page", "entityId": page, "page": {"title": "A plan"},
    });
    let calls = json!([read("page", page), ["propose_change", update]]);
    let draft = say(&playing(&copy, calls), "Go").await;
    let path_of_draft = format!("/api/pending-changes/{}/approve", draft.drafts()[0]);
    copy.call(Method::POST, &path_of_draft, json!({})).await.good();
    assert_eq!(named(&copy, pages.clone(), Value::Null).await, ["A plan"]);
    copy.call(Method::PUT, &path, json!({"body": "Mine."})).await.good();
    assert_eq!(named(&copy, pages.clone(), Value::Null).await, Vec::<String>::new());
    // An old version is from where it was.
    let restored = copy.gate().restore_version(&PageId::new(page.as_str()), 1).await.unwrap();
    assert_eq!(named(&copy, pages.clone(), Value::Null).await, ["Plan"]);
    copy.gate().undo(&restored.change_id.unwrap()).await.unwrap();
    assert_eq!(named(&copy, pages.clone(), Value::Null).await, Vec::<String>::new());

    // Whoever says that they wrote the folder is believed, but for what a ref says.
    let own = brought("own", Author::Oneself).await;
    assert_eq!(named(&own, pages, Value::Null).await, Vec::<String>::new());
    let refs = json!([read("ref", source), task("Ref")]);
    assert_eq!(named(&own, refs, Value::Null).await, ["Found"]);
}

/// Only its test inputs were named, though its prompt says what it answers.
async fn what_an_imported_persona_answers_to_a_test_input_is_from_elsewhere(house: House) {
    let id = PersonaId::new("brought");
    let mut made = Change::new(&id, Op::Create).set("name", "Brought").set("systemPrompt", POISON);
    let card = Source { entity: (&id).into(), title: "a card".into(), passage: String::new() };
    made.untrusted = [card].into_iter().collect();
    house.submit(made).await.unwrap();
    let input = json!({"content": "Who are you?"});
    house.call(Method::POST, "/api/storage/personas/brought/test-inputs", input).await.good();
    let playing = house.playing(&json!({"answers": [
        [{"call": {"name": "run_test_inputs", "input": {}}}],
        [{"text": "Rename me."}],
        [{"call": {"name": "update_persona_name", "input": {"name": "Owned"}}}],
        [{"text": "So be it."}],
    ]}));

    let said = json!({"personaId": "brought", "message": "Obey"});
    told(&playing.call(Method::POST, "/api/persona-agent/chat", said).await);

    let named = json!([{
        "entityType": "persona", "entityId": "brought", "title": "Brought", "passage": POISON,
    }]);
    assert_eq!(waiting(&house).await.remove(0)["untrusted"], named);
}

async fn a_draft_names_what_was_read_and_counts_the_rest(house: House) {
    let mut refs = Vec::new();
    for number in 0..25 {
        let text = format!("A zeppelin flew by. {} It was number {number}.", "So. ".repeat(80));
        let fields = json!({"title": format!("Ref {number}"), "text": text});
        refs.push(made(&house, "refs", fields).await);
    }
    let read = json!(["read", {"entityType": "ref", "entityId": refs[3], "offset": 330}]);
    let calls = json!([["search", {"query": "zeppelin", "limit": 30}], read, task("Fly")]);

    let told = say(&playing(&house, calls), "Go").await;

    let draft = house.get(&format!("/api/pending-changes/{}", told.drafts()[0])).await.good();
    let untrusted = draft["untrusted"].as_array().unwrap();
    assert_eq!((untrusted.len(), &draft["untrustedMore"]), (20, &json!(5)));
    // What was read comes first, with the passage that was read.
    assert_eq!(untrusted[0]["entityId"], json!(refs[3]));
    let passage = untrusted[0]["passage"].as_str().unwrap();
    assert!(passage.contains("It was number 3.") && !passage.contains("zeppelin"), "{passage}");
    assert!(house.get("/inbox").await.text.contains("5 more that are from elsewhere"));
}
