//! The pages of knowledge and search, as a browser without JavaScript gets them.

use greenroom::domain::{
    change::{Change, Entity, EntityKind, Op},
    knowledge::{PageFields, RefFields, TaskFields, TaskStatus},
    list::PAGE_SIZE,
};

use crate::support::{Answer, House};

/// Something with these fields.
async fn made(house: &House, kind: EntityKind, id: &str, fields: &[(&str, &str)]) -> Entity {
    let entity = Entity::new(kind, id);
    let create = Change::new(entity.clone(), Op::Create);
    let change = fields.iter().fold(create, |change, (field, text)| change.set(field, *text));
    house.submit(change).await.unwrap();
    entity
}

/// A page without the marks that Leptos leaves between its pieces.
async fn read(house: &House, path: &str) -> Answer {
    let page = house.get(path).await;
    Answer { text: page.text.replace("<!>", ""), ..page }
}

/// The page that a form leads to.
async fn followed(house: &House, answer: &Answer) -> (String, Answer) {
    assert_eq!(answer.status, 302, "{}", answer.text);
    let path = answer.header("location").replace("http://127.0.0.1:3000", "");
    let page = read(house, &path).await;
    (path, page)
}

#[tokio::test]
async fn every_list_shows_what_it_has_or_says_that_it_is_empty() {
    let house = House::new().await;
    for (kind, title, empty) in [
        ("page", "Testing a persona", "No pages yet"),
        ("ref", "", "No refs yet"),
        ("task", "", "Nothing to do"),
    ] {
        let list = read(&house, &format!("/knowledge?kind={kind}")).await;
        assert_eq!(list.status, 200);
        assert!(list.text.contains(title), "{}", list.text);
        let word = EntityKind::from_word(kind).unwrap();
        let mut link = house.read().await;
        let own = link.entries_of(word, Default::default(), PAGE_SIZE).await.unwrap();
        drop(link);
        for entry in own.items {
            house.function("delete_entry", &[("kind", kind), ("id", &entry.id)]).await.good();
        }
        let list = read(&house, &format!("/knowledge?kind={kind}")).await;
        assert!(list.text.contains(empty), "{}", list.text);
        assert!(list.text.contains("/fn/create_entry"), "{}", list.text);
    }
}

#[tokio::test]
async fn a_long_list_goes_on_where_it_ended() {
    let house = House::new().await;
    for number in 0..=PAGE_SIZE {
        made(&house, EntityKind::Ref, &format!("r{number}"), &[("text", "x")]).await;
    }

    let first = read(&house, "/knowledge?kind=ref").await;
    let next = first.text.split("href=\"/knowledge?kind=ref&amp;after=").nth(1).unwrap();
    let next = next.split('"').next().unwrap();
    let second = read(&house, &format!("/knowledge?kind=ref&after={next}")).await;

    assert_eq!(first.text.matches("href=\"/refs/").count(), PAGE_SIZE as usize);
    assert!(second.text.contains("href=\"/refs/r0\""), "{}", second.text);
}

#[tokio::test]
async fn tasks_that_are_open_stand_first_and_say_when_they_are_overdue() {
    let house = House::new().await;
    made(&house, EntityKind::Task, "a", &[("title", "Long ago"), ("due", "2020-02-01")]).await;
    let done = [("title", "Was done"), ("due", "2020-01-01"), ("status", "done")];
    made(&house, EntityKind::Task, "b", &done).await;

    let list = read(&house, "/knowledge?kind=task").await.text;

    let at = |text: &str| list.find(text).unwrap_or_else(|| panic!("{text}: {list}"));
    assert!(at("Long ago") < at("Was done"));
    assert!(list.contains("Overdue since"), "{list}");
    assert_eq!(list.matches("class=\"due overdue\"").count(), 1, "{list}");
}

#[tokio::test]
async fn each_kind_is_made_opened_saved_and_deleted_by_plain_forms() {
    let house = House::new().await;
    for (kind, field, text) in [
        ("page", "fields[body]", "one\r\ntwo"),
        ("ref", "fields[text]", "one\r\ntwo"),
        ("task", "fields[note]", "one\r\ntwo"),
    ] {
        let list = format!("/knowledge?kind={kind}");
        let new = [("kind", kind), ("fields[title]", " Made here "), (field, "old")];
        let answer = house.form("/fn/create_entry", &list, &new).await;
        let (path, page) = followed(&house, &answer).await;
        assert_eq!(page.status, 200, "{path}");
        assert!(page.text.contains("Made here"), "{}", page.text);
        let id = path.rsplit('/').next().unwrap().to_owned();

        let fields = [("kind", kind), ("id", &id), ("revision", "1"), (field, text)];
        let answer = house.form("/fn/save_entry", &path, &fields).await;
        let (back, page) = followed(&house, &answer).await;
        assert_eq!(back.trim_end_matches('?'), path);
        assert!(page.text.contains("one\ntwo"), "{}", page.text);
        let versions = read(&house, &format!("{path}?versions=1")).await;
        assert!(versions.text.contains("<del>old</del>"), "{}", versions.text);

        let fields = [("kind", kind), ("id", &id), ("revision", "1")];
        let answer = house.form("/fn/restore_entry_version", &path, &fields).await;
        let (_, page) = followed(&house, &answer).await;
        assert!(page.text.contains("\nold</textarea>"), "{}", page.text);
        let answer = house.form("/fn/delete_entry", &path, &fields[..2]).await;
        let (back, _) = followed(&house, &answer).await;
        assert_eq!(back, list);
        assert_eq!(read(&house, &path).await.status, 404);
        assert!(read(&house, "/bin").await.text.contains("Made here"));
    }
}

#[tokio::test]
async fn what_people_write_is_shown_and_never_run() {
    let house = House::new().await;
    let hostile = "</textarea></title><script>alert(1)</script><img src=x onerror=alert(1)>";
    let linking = format!("[[{hostile}]] [[a|{hostile}]] {hostile}");
    let fields = [("title", hostile), ("body", linking.as_str())];
    let page = made(&house, EntityKind::Page, "p", &fields).await;
    let fields = [
        ("title", hostile),
        ("note", hostile),
        ("text", hostile),
        ("url", "https://example.org/\"onclick=\"alert(1)"),
    ];
    made(&house, EntityKind::Ref, "r", &fields).await;
    made(&house, EntityKind::Task, "t", &[("title", hostile), ("note", hostile)]).await;
    house.submit(Change::new(page, Op::Update).set("body", hostile)).await.unwrap();

    for path in [
        "/knowledge",
        "/knowledge?kind=ref",
        "/knowledge?kind=task",
        "/pages/p",
        "/pages/p?preview=1",
        "/pages/p?versions=1",
        "/refs/r",
        "/tasks/t",
        "/search?q=alert",
        "/search?q=%3Cscript%3Ealert(1)",
        "/audit",
    ] {
        let shown = read(&house, path).await;
        assert_eq!(shown.status, 200, "{path}");
        for bad in ["<script>alert", "<img src=x", "example.org/\"onclick=\"alert(1)\""] {
            assert!(!shown.text.contains(bad), "{path}: {}", shown.text);
        }
    }
}

#[tokio::test]
async fn what_is_not_there_is_a_404_that_reads() {
    let house = House::new().await;
    for path in ["/pages/nothing", "/refs/nothing", "/tasks/nothing", "/pages/a%00b"] {
        let page = read(&house, path).await;
        assert_eq!(page.status, 404, "{path}");
        assert!(page.text.contains("Nothing here"), "{path}: {}", page.text);
    }
}

#[tokio::test]
async fn a_page_reads_with_its_links_and_names_the_pages_that_link_to_it() {
    let house = House::new().await;
    let body = "See [[Beta notes]], [[optimist|the kind one]] and [[Nobody]].";
    made(&house, EntityKind::Page, "a", &[("title", "Alpha"), ("body", body)]).await;
    made(&house, EntityKind::Page, "b", &[("title", "Beta Notes")]).await;
    let words = [("title", "Gamma"), ("body", "Beta notes without a link")];
    made(&house, EntityKind::Page, "c", &words).await;

    let page = read(&house, "/pages/a?preview=1").await.text;

    assert!(
        page.contains("<a href=\"/pages/b\" rel=\"noopener noreferrer nofollow\">Beta notes</a>")
    );
    assert!(page.contains("<a href=\"/personas/optimist\" rel"), "{page}");
    assert!(
        page.contains("<span class=\"missing\" title=\"Nothing has this title\">Nobody</span>")
    );
    // What is typed and not saved reads alike.
    let typed = "Now *only* [[Beta notes]].";
    let form = [("kind", "page"), ("id", "a"), ("revision", "1"), ("fields[body]", typed)];
    let html = house.function("read_page", &form).await.good();
    let html = html.as_str().unwrap();
    assert!(html.contains("<em>only</em> <a href=\"/pages/b\""), "{html}");
    let linked = read(&house, "/pages/b").await.text;
    let from = linked.split("Linked from").nth(1).unwrap();
    assert!(from.contains("<a href=\"/pages/a\">Alpha</a>"), "{linked}");
    assert!(!from.contains("/pages/c"), "{linked}");
}

#[tokio::test]
async fn the_address_of_a_ref_is_a_link_that_gives_nothing_away() {
    let house = House::new().await;
    let url = "https://example.org:8080/a?b=c";
    made(&house, EntityKind::Ref, "r", &[("url", url)]).await;
    made(&house, EntityKind::Ref, "pasted", &[("text", "x")]).await;

    let page = read(&house, "/refs/r").await.text;

    let link = format!("<a href=\"{url}\" rel=\"noopener noreferrer nofollow\" target=\"_blank\">");
    assert!(page.contains(&format!("{link}example.org:8080</a>")), "{page}");
    assert!(page.contains("Fetch text"), "{page}");
    assert!(!read(&house, "/refs/pasted").await.text.contains("Fetch text"));
}

#[tokio::test]
async fn a_save_that_was_merged_says_so() {
    let house = House::new().await;
    let fields = [("title", "Notes"), ("body", "one\ntwo\nthree\n")];
    let page = made(&house, EntityKind::Page, "p", &fields).await;
    let theirs = Change::new(page, Op::Update).set("body", "ONE\ntwo\nthree\n");
    house.submit(theirs).await.unwrap();
    let save = async |revision: &str, text: &str| {
        let page = [("kind", "page"), ("id", "p")];
        let fields = [page[0], page[1], ("revision", revision), ("fields[body]", text)];
        house.function("save_entry", &fields).await.good()
    };

    let merged = save("1", "one\ntwo\nTHREE\n").await;
    let next = save("3", "ONE\ntwo\nTHREE\nfour\n").await;

    assert_eq!(merged["told"], "Saved. A change from elsewhere was merged into your text.");
    assert_eq!((&merged["state"], &merged["revision"]), (&"applied".into(), &3.into()));
    assert!(next["told"].is_null() && next["changeId"].is_string(), "{next}");
}

#[tokio::test]
async fn two_edits_are_merged_or_both_shown() {
    let house = House::new().await;
    let fields = [("title", "Notes"), ("body", "one\ntwo\nthree\n")];
    let page = made(&house, EntityKind::Page, "p", &fields).await;
    let theirs = Change::new(page.clone(), Op::Update).set("body", "ONE\ntwo\nthree\n");
    house.submit(theirs).await.unwrap();
    let body = async || house.read().await.entry::<PageFields>(&"p".into()).await.unwrap();

    let mine = [("kind", "page"), ("id", "p"), ("revision", "1")];
    let save = async |text: &str, accept_html: bool| {
        let fields = [mine[0], mine[1], mine[2], ("fields[body]", text)];
        match accept_html {
            true => house.form("/fn/save_entry", "/pages/p", &fields).await,
            false => house.function("save_entry", &fields).await,
        }
    };
    save("one\ntwo\nTHREE\n", true).await;
    assert_eq!(body().await.fields.body, "ONE\ntwo\nTHREE\n");

    let (path, conflict) = followed(&house, &save("eins\ntwo\nthree\n", true).await).await;
    assert!(path.starts_with("/conflicts/"), "{path}");
    assert!(conflict.text.contains("eins") && conflict.text.contains("ONE"), "{}", conflict.text);
    assert!(conflict.text.contains("Back to the page"), "{}", conflict.text);
    assert!(conflict.text.contains("eins\ntwo\nTHREE"), "what fits is joined: {}", conflict.text);
    let kept = path.trim_start_matches("/conflicts/");
    let fields = [("id", kept), ("revision", "3"), ("fields[body]", "eins\ntwo\nTHREE\n")];
    house.form("/fn/save_kept", &path, &fields).await;
    assert_eq!(body().await.fields.body, "eins\ntwo\nTHREE\n");

    // With JavaScript, too, both texts are kept and shown.
    let answer = save("uno\ntwo\nthree\n", false).await;
    assert_eq!(answer.good()["state"], "conflict");
    assert!(answer.header("location").starts_with("/conflicts/"), "{answer:?}");
}

#[tokio::test]
async fn a_field_that_was_left_alone_is_in_nobodys_way() {
    let house = House::new().await;
    let page = made(&house, EntityKind::Page, "p", &[("title", "Notes"), ("body", "one")]).await;
    let theirs = Change::new(page, Op::Update).set("title", "Better notes").set("body", "two");
    house.submit(theirs).await.unwrap();
    let mine = [("kind", "page"), ("id", "p"), ("revision", "1"), ("fields[title]", "Notes")];
    let mine = [mine[0], mine[1], mine[2], mine[3], ("fields[body]", "three")];

    let saved = house.form("/fn/save_entry", "/pages/p", &mine).await;

    let (path, conflict) = followed(&house, &saved).await;
    assert!(!conflict.text.contains("fields[title]"), "{}", conflict.text);
    let kept = path.trim_start_matches("/conflicts/");
    let fields = [("id", kept), ("revision", "2"), ("fields[body]", "three")];
    house.form("/fn/save_kept", &path, &fields).await;
    let now = house.read().await.entry::<PageFields>(&"p".into()).await.unwrap().fields;
    assert_eq!((now.title.as_str(), now.body.as_str()), ("Better notes", "three"));
}

#[tokio::test]
async fn what_could_not_be_made_is_not_lost() {
    let house = House::new().await;
    let fields = [
        ("kind", "ref"),
        ("fields[url]", "ftp://example.org"),
        ("fields[text]", "a long text that I pasted"),
    ];

    let answer = house.form("/fn/create_entry", "/knowledge?kind=ref", &fields).await;

    let (path, page) = followed(&house, &answer).await;
    assert!(path.starts_with("/conflicts/"), "{path}");
    assert!(page.text.contains("must begin with http://"), "{}", page.text);
    assert!(page.text.contains("a long text that I pasted"), "{}", page.text);
    let kept = path.trim_start_matches("/conflicts/").to_owned();
    let fields =
        [("id", kept.as_str()), ("revision", "0"), ("fields[url]", "ftp://else"), fields[2]];
    let (again, page) = followed(&house, &house.form("/fn/save_kept", &path, &fields).await).await;
    assert_eq!(again, path, "it is refused again, and kept where it was");
    assert!(page.text.contains("ftp://else"), "{}", page.text);
    let fields = [fields[0], fields[1], ("fields[url]", "https://example.org"), fields[3]];
    let answer = house.form("/fn/save_kept", &path, &fields).await;
    let (path, _) = followed(&house, &answer).await;
    let id = path.trim_start_matches("/refs/").into();
    let made = house.read().await.entry::<RefFields>(&id).await.unwrap();
    assert_eq!(made.fields.text, "a long text that I pasted");
}

#[tokio::test]
async fn a_task_has_no_day_when_the_field_is_empty() {
    let house = House::new().await;
    let fields = [("title", "Call"), ("due", "2026-12-24")];
    made(&house, EntityKind::Task, "t", &fields).await;

    let fields = [
        ("kind", "task"),
        ("id", "t"),
        ("revision", "1"),
        ("fields[due]", ""),
        ("fields[status]", "doing"),
    ];
    house.form("/fn/save_entry", "/tasks/t", &fields).await;

    let task = house.read().await.entry::<TaskFields>(&"t".into()).await.unwrap().fields;
    assert_eq!((task.due, task.status), (None, TaskStatus::Doing));
}

#[tokio::test]
async fn searching_finds_everything_and_says_how() {
    let house = House::new().await;
    let id = house.persona("ann", "Knows the zeppelin.").await;
    house
        .form("/fn/add_test_input", "/", &[("persona", id.as_str()), ("content", "Zeppelin?")])
        .await;
    made(&house, EntityKind::Page, "p", &[("title", "Zeppelins"), ("body", "x")]).await;
    made(&house, EntityKind::Ref, "r", &[("text", "A zeppelin flew by.")]).await;
    made(&house, EntityKind::Task, "t", &[("title", "Book a zeppelin")]).await;

    let all = read(&house, "/search?q=zeppel").await.text;

    for path in ["/personas/ann", "/pages/p", "/refs/r", "/tasks/t"] {
        assert!(all.contains(&format!("<a href=\"{path}\">")), "{path}: {all}");
    }
    assert!(all.contains("5 things were found"), "{all}");
    assert!(all.contains("A <mark>zeppelin</mark> flew by."), "{all}");
    assert!(all.contains("no service for embeddings is set"), "{all}");
    let refs = read(&house, "/search?q=zeppel&kind=ref").await.text;
    assert!(refs.contains("1 thing was found"), "{refs}");
    assert!(read(&house, "/search?q=qqqq").await.text.contains("Nothing has these words in it"));
    assert!(read(&house, "/search").await.text.contains("What are you looking for?"));

    let targets = house.function("find_targets", &[("text", "zeppel")]).await.good();
    let paths: Vec<&str> =
        targets.as_array().unwrap().iter().map(|target| target["path"].as_str().unwrap()).collect();
    assert_eq!(paths.len(), 4, "{targets}");
    assert_eq!(paths[0], "/pages/p");
    let recent = house.function("find_targets", &[("text", "")]).await.good();
    assert_eq!(recent[0]["path"], "/personas/ann");
}

#[tokio::test]
async fn the_audit_leads_to_what_was_changed() {
    let house = House::new().await;
    let page = made(&house, EntityKind::Page, "p", &[("title", "Notes"), ("body", "one")]).await;
    house.submit(Change::new(page, Op::Update).set("body", "two")).await.unwrap();

    let audit = read(&house, "/audit").await.text;

    assert!(audit.contains("Changed the text"), "{audit}");
    assert!(audit.contains("<a href=\"/pages/p\">Notes</a>"), "{audit}");
}
