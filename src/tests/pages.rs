//! Pages as a browser without JavaScript gets them.

use futures::future::join_all;
use greenroom::domain::{
    change::{Change, Op},
    id::PersonaId,
};
use serde_json::json;

use crate::{
    chats::{begin, say},
    support::House,
};

#[tokio::test]
async fn every_page_reads_without_javascript() {
    let house = House::new().await;

    let list = house.get("/").await;
    assert_eq!(list.status, 200);
    for name in ["Optimist", "Skeptic", "Retirement Guide", "Code Reviewer"] {
        assert!(list.text.contains(name), "{name}");
    }
    let editor = house.get("/personas/optimist").await;
    let persona = house.read().await.persona(&"optimist".into()).await.unwrap();
    let line = persona.fields.system_prompt.lines().next().unwrap();
    assert!(editor.text.contains(line));
    assert!(editor.text.contains("What is 2+2?"));
    let preview = house.get("/personas/optimist?preview=1").await;
    assert!(preview.text.contains("class=\"prose\""));
    let versions = house.get("/personas/optimist?versions=1").await;
    assert!(versions.text.contains("Came with Greenroom."));
    assert!(house.get("/bin").await.text.contains("The bin is empty"));
    assert!(house.get("/settings").await.text.contains("Colours"));
}

/// Whoever holds a connection to the database while waiting for another keeps it from those who would give theirs back.
#[tokio::test]
async fn twenty_who_come_at_once_all_get_their_pages() {
    let house = House::new().await;
    let chat = begin(&house, "innkeeper").await;
    say(&house, &chat, json!({"content": "Is there a room?"})).await;
    let chat = chat.replace("/api/", "/");
    let places = [
        "/",
        "/personas/optimist",
        "/personas/optimist?versions=1",
        "/personas/optimist?preview=1",
        "/personas/optimist?enhance=1",
        "/personas/optimist?publish=1",
        &chat,
        &format!("{chat}?settings=1"),
        &format!("{chat}?chats=1"),
        &format!("{chat}?map=1"),
        "/chats",
        "/playground/optimist",
        "/terminal",
        "/knowledge",
        "/search?q=test",
        "/inbox",
        "/gallery",
        "/traces",
        "/usage",
        "/audit",
        "/bin",
        "/settings",
        "/rail?at=/",
    ];
    for place in places {
        let answers = join_all((0..20).map(|_| house.get(place))).await;
        let good = answers.iter().filter(|answer| answer.status == 200).count();
        assert_eq!(good, 20, "{place}: {:?}", answers.iter().find(|answer| answer.status != 200));
    }
}

#[tokio::test]
async fn an_address_without_a_page_is_a_404_that_reads() {
    let house = House::new().await;
    for path in
        ["/nowhere", "/personas/nobody", "/personas/a%00b", "/conflicts/nothing", "/pkg/nothing.js"]
    {
        let page = house.get(path).await;
        assert_eq!(page.status, 404, "{path}");
        assert!(page.text.contains("Nothing here"), "{path}: {}", page.text);
    }
}

#[tokio::test]
async fn plain_forms_work_and_come_back_to_their_page() {
    let house = House::new().await;

    let made = house.form("/fn/create_persona", "/", &[("name", "Plain")]).await;
    assert_eq!(made.status, 302);
    let page = made.header("location").to_owned();
    assert!(page.starts_with("/personas/"), "{page}");
    let id = PersonaId::new(page.trim_start_matches("/personas/"));

    let saved = house
        .form(
            "/fn/save_persona",
            &page,
            &[
                ("id", id.as_str()),
                ("revision", "1"),
                ("form[name]", "Plain"),
                ("form[system_prompt]", "one\r\ntwo"),
                ("form[tools]", "ls, grep"),
                ("form%5Btier%5D", "act"),
            ],
        )
        .await;
    assert_eq!(saved.status, 302);
    assert!(saved.header("location").trim_end_matches('?').ends_with(&page), "{saved:?}");
    let persona = house.read().await.persona(&id).await.unwrap();
    assert_eq!(persona.fields.system_prompt, "one\ntwo");
    assert_eq!(persona.fields.tools, ["ls", "grep"]);
    let emptied = [("id", id.as_str()), ("revision", "2"), ("form[system_prompt]", "")];
    house.form("/fn/save_persona", &page, &emptied).await;
    assert_eq!(house.read().await.persona(&id).await.unwrap().fields.system_prompt, "");

    house.form("/fn/add_test_input", &page, &[("persona", id.as_str()), ("content", "Hi")]).await;
    assert_eq!(house.read().await.test_inputs(&id).await.unwrap().len(), 1);
    let deleted = house.form("/fn/delete_persona", &page, &[("id", id.as_str())]).await;
    assert_eq!((deleted.status.as_u16(), deleted.header("location")), (302, "/"));
    let theme = house.form("/fn/set_theme", "/", &[("theme", "dark")]).await;
    assert!(theme.header("set-cookie").starts_with("theme=dark;"), "{theme:?}");
}

#[tokio::test]
async fn a_conflict_in_a_plain_form_keeps_both_texts() {
    let house = House::new().await;
    let id = house.persona("ann", "one").await;
    house.submit(Change::new(&id, Op::Update).set("systemPrompt", "theirs")).await.unwrap();

    let fields = [
        ("id", "ann"),
        ("revision", "1"),
        ("form[name]", "ann"),
        ("form[system_prompt]", "what I wrote"),
    ];
    let answer = house.form("/fn/save_persona", "/personas/ann", &fields).await;

    assert_eq!(answer.status, 302);
    let path = answer.header("location").to_owned();
    assert!(path.starts_with("/conflicts/"), "{path}");
    let page = house.get(&path).await;
    assert_eq!(page.status, 200);
    assert!(page.text.contains("what I wrote") && page.text.contains("theirs"), "{}", page.text);

    // Saving from that page writes against what stands now.
    let kept = path.trim_start_matches("/conflicts/");
    let fields = [("id", kept), ("revision", "2"), ("fields[systemPrompt]", "what I wrote")];
    let saved = house.form("/fn/save_kept", &path, &fields).await;
    assert_eq!(saved.header("location"), "/personas/ann");
    let prompt = house.read().await.persona(&id).await.unwrap().fields.system_prompt;
    assert_eq!(prompt, "what I wrote");
    assert!(house.get(&path).await.text.contains("This was saved."));
}

#[tokio::test]
async fn a_bad_form_says_what_is_wrong_on_its_page() {
    let house = House::new().await;

    let answer = house.form("/fn/create_persona", "/", &[("name", "")]).await;

    assert_eq!(answer.status, 302);
    let back = answer.header("location").replace("http://127.0.0.1:3000", "");
    let page = house.get(&back).await;
    assert!(page.text.contains("The name must not be empty."), "{}", page.text);
}

#[tokio::test]
async fn what_people_write_is_shown_and_never_run() {
    let house = House::new().await;
    let hostile = "</textarea><script>alert(1)</script><img src=x onerror=alert(1)>";
    let id = house.persona("ann", hostile).await;
    let rename = Change::new(&id, Op::Update).set("name", "</title><script>alert(2)</script>");
    house.submit(rename).await.unwrap();

    for path in ["/", "/personas/ann", "/personas/ann?preview=1", "/personas/ann?versions=1"] {
        let page = house.get(path).await;
        assert!(!page.text.contains("<script>alert"), "{path}: {}", page.text);
        assert!(!page.text.contains("<img src=x"), "{path}: {}", page.text);
    }
}

#[tokio::test]
async fn a_plain_form_that_breaks_a_rule_loses_nothing_of_what_was_written() {
    let house = House::new().await;
    house.persona("ann", "one").await;

    let fields = [
        ("id", "ann"),
        ("revision", "1"),
        ("form[name]", "  "),
        ("form[system_prompt]", "a long text that I wrote"),
    ];
    let answer = house.form("/fn/save_persona", "/personas/ann", &fields).await;

    let path = answer.header("location").to_owned();
    let page = house.get(&path).await;
    assert_eq!(page.status, 200, "{path}");
    assert!(page.text.contains("The name must not be empty."), "{}", page.text);
    assert!(page.text.contains("a long text that I wrote"), "{}", page.text);
}
