//! A Space as a folder of files, and back.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use axum::http::Method;
use greenroom::{
    archive::{Author, Imported, Settings, export_space, import_space},
    changes::Scope,
    store::Store,
};
use serde_json::{Value, json};
use sqlx::Connection;

use super::{done, greenroom, refused};
use crate::{
    hostile::collected,
    restart::{Server, script},
    support::{House, On, on_both, postgres_database},
};

on_both!(what_goes_out_comes_in_and_goes_out_the_same, hostile_names_lead_nowhere);

/// All files of a folder with their texts.
fn files(folder: &Path) -> BTreeMap<PathBuf, String> {
    fn walk(folder: &Path, root: &Path, out: &mut BTreeMap<PathBuf, String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, root, out);
            } else {
                let name = path.strip_prefix(root).unwrap().to_owned();
                out.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    let mut out = BTreeMap::new();
    walk(folder, folder, &mut out);
    out
}

async fn export(house: &House, folder: &Path) {
    let state = &house.state;
    export_space(&state.store, &state.agent, &state.scope, folder).await.unwrap();
}

async fn import(house: &House, folder: &Path) -> Imported {
    let state = &house.state;
    let (settings, author) = (Settings::Take, Author::Oneself);
    import_space(&state.store, &state.agent, &state.scope, folder, settings, author).await.unwrap()
}

/// The same store, seen from a Space with nothing in it.
async fn empty_space(house: &House, name: &str) -> House {
    let scope = Scope { space: name.into(), user: "owner".into() };
    let mut link = house.state.store.write(&scope.space).await.unwrap();
    link.create_space(name, &scope.user).await.unwrap();
    link.commit().await.unwrap();
    house.seen_from(scope)
}

/// Something of everything, some of it odd.
async fn furnish(house: &House) {
    let put = async |path: &str, body: Value| house.call(Method::PUT, path, body).await.good();
    let post = async |path: &str, body: Value| house.call(Method::POST, path, body).await.good();
    let optimist = "/api/storage/personas/optimist";
    put(optimist, json!({"name": "Optimist \"the\" 2nd: yes", "notes": "a: b\n---\nc"})).await;
    put(
        optimist,
        json!({"systemPrompt": "\n\n---\nfront: no\n---\n\ntext\r\n\n", "tools": ["ls"]}),
    )
    .await;
    let labels = format!("{optimist}/labels/production");
    let labelled = house.call(Method::PUT, &labels, json!({"revision": 2})).await;
    assert!(labelled.status.is_success(), "{}", labelled.text);
    for strange in naughty() {
        let page = json!({"title": "A page", "body": strange});
        post("/api/storage/pages", page).await;
    }
    let odd = json!({"title": "../../etc/passwd", "url": "https://example.com/", "text": "x"});
    post("/api/storage/refs", odd).await;
    let task = json!({"title": "CON", "status": "doing", "due": "2026-12-24", "note": "n"});
    post("/api/storage/tasks", task).await;
    let chat = post("/api/chats", json!({"personaId": "optimist", "title": "Rain"})).await;
    let path = format!("/api/chats/{}", chat["id"].as_str().unwrap());
    let (first, _) = crate::chats::say(house, &path, json!({"content": "Is there a room?"})).await;
    crate::chats::say(house, &path, json!({"content": "And a bath?"})).await;
    let edit = json!({"content": "Is there a bed?", "answer": true});
    let edited = post(&format!("/api/messages/{first}/edit"), edit).await;
    crate::chats::settle(house, &edited).await;
    put(optimist, json!({"appearance": "Tall."})).await;
    // What was said elsewhere than in chats.
    let said = json!({"personaId": "optimist", "message": "Hello, who are you?"});
    let said = house.call(Method::POST, "/api/persona-agent/chat", said).await;
    assert!(said.status.is_success(), "{}", said.text);
    let ambient = house.get("/api/conversations/ambient").await.good();
    let ambient = format!("/api/conversations/{}/messages", ambient["id"].as_str().unwrap());
    crate::chats::settle(house, &post(&ambient, json!({"content": "Hello?"})).await).await;
    let playground = "/api/agents/optimist/playground";
    let made = json!({"id": "a-session", "title": "Numbers", "variables": {"thing": "x"}});
    post(&format!("{playground}/sessions"), made).await;
    let words = json!({"sessionId": "a-session", "messages": [{"role": "user", "content": "Hi"}]});
    let said = house.call(Method::POST, &format!("{playground}/chat"), words).await;
    assert!(said.status.is_success(), "{}", said.text);
    let file = format!("{playground}/sessions/a-session/files/notes/one.txt");
    let written = house.call(Method::PUT, &file, json!({"content": "one\n"})).await;
    assert!(written.status.is_success(), "{}", written.text);
    let terminal = post(
        "/api/terminal/sessions",
        json!({"settings": {"model": "demo", "windowSize": 5, "shouldTruncateResults": true}}),
    )
    .await;
    let terminal = format!("/api/terminal/sessions/{}/messages", terminal["id"].as_str().unwrap());
    let said = post(&terminal, json!({"content": "Hi"})).await;
    let run = json!({"runId": said["run"]["id"]});
    crate::chats::settle(house, &run).await;
    let rated = said["run"]["replyId"].as_str().unwrap();
    let given = json!({"rating": 2, "note": "Beside the \"point\"."});
    put(&format!("/api/messages/{first}/rating"), json!({"rating": 4})).await;
    put(&format!("/api/messages/{first}/rating"), json!({"rating": 5, "note": "Good."})).await;
    put(&format!("/api/messages/{rated}/rating"), given).await;
}

/// Texts that break what is careless with them, but for those that no field takes.
fn naughty() -> Vec<String> {
    let mut texts = collected("blns.json", "payload");
    texts.extend([
        "---".into(),
        "---\n".into(),
        "\n".into(),
        "\r\n---\r\n".into(),
        " \u{feff}".into(),
    ]);
    texts.retain(|text| !text.contains('\0'));
    texts
}

async fn what_goes_out_comes_in_and_goes_out_the_same(house: House) {
    furnish(&house).await;
    let folder = tempfile::tempdir().unwrap();
    let [first, second, third] = ["first", "second", "third"].map(|name| folder.path().join(name));

    export(&house, &first).await;
    let copy = empty_space(&house, "copy").await;
    let imported = import(&copy, &first).await;
    export(&copy, &second).await;

    let (out, again) = (files(&first), files(&second));
    for (name, text) in &out {
        assert_eq!(again.get(name), Some(text), "{}", name.display());
    }
    assert_eq!(out.len(), again.len());
    assert_eq!((imported.changed, &imported.left), (0, &Vec::new()));
    let prompt = &out[Path::new("personas/optimist-the-2nd-yes~optimist/persona.md")];
    assert!(prompt.starts_with("---\nid: \"optimist\"\nlabels: {\"production\":2}\n"), "{prompt}");
    assert!(out.contains_key(Path::new("personas/optimist-the-2nd-yes~optimist/versions/0004.md")));
    assert!(
        out.keys()
            .any(|name| name.starts_with("refs") && name.to_string_lossy().contains("etc-passwd~"))
    );

    let talks: Vec<Value> = out
        .iter()
        .filter(|(name, _)| name.starts_with("conversations"))
        .map(|(_, text)| serde_json::from_str(text).unwrap())
        .collect();
    let mut kinds: Vec<&str> = talks.iter().map(|talk| talk["kind"].as_str().unwrap()).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, ["companion", "editor", "playground", "terminal"]);
    // They are there again, and can be gone on with.
    let history = copy.get("/api/persona-agent/history?personaId=optimist").await.good();
    assert_eq!(history["turns"][0]["content"], "Hello, who are you?");
    let file = "/api/agents/optimist/playground/sessions/a-session/files/notes/one.txt";
    assert_eq!(copy.get(file).await.text, "one\n");

    let rated: Vec<Value> = out
        .values()
        .filter_map(|text| serde_json::from_str::<Value>(text).ok()?.get("ratings").cloned())
        .collect();
    assert_eq!(rated.len(), 2, "a chat and a session of a terminal");
    let [given] = rated[0].as_array().unwrap().as_slice() else { panic!("{rated:?}") };
    let about = given["messageId"].as_str().unwrap();
    assert_eq!(copy.get(&format!("/api/messages/{about}/rating")).await.good(), *given);

    // Once more changes nothing, and neither does a home that has it all.
    let again = import(&copy, &first).await;
    assert_eq!((again.made, again.changed), (0, 0));
    let at_home = import(&house, &first).await;
    assert_eq!((at_home.made, at_home.changed, at_home.left), (0, 0, Vec::new()));
    export(&copy, &third).await;
    assert_eq!(files(&second), files(&third));
}

async fn hostile_names_lead_nowhere(house: House) {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let good = here.join("good");
    export(&house, &good).await;
    let outside = here.join("outside.md");
    fs::write(&outside, "---\nid: outside\ntitle: Outside\n---\nsecret\n").unwrap();
    let refused = async |name: &str, change: &dyn Fn(&Path)| {
        let bad = here.join(name);
        copy(&good, &bad);
        change(&bad);
        let state = &house.state;
        let (settings, author) = (Settings::Keep, Author::Somebody);
        let done =
            import_space(&state.store, &state.agent, &state.scope, &bad, settings, author).await;
        done.unwrap_err().to_string()
    };
    let page = |text: &'static str| {
        move |folder: &Path| fs::write(folder.join("pages/x.md"), text).unwrap()
    };

    let told = refused("id", &page("---\nid: ../../x\ntitle: X\n---\n")).await;
    assert!(told.starts_with("pages/x.md: An “id” has"), "{told}");
    let told = refused("field", &page("---\nid: x\ntitle: X\nspace: other\n---\n")).await;
    assert!(told.contains("no field “space”"), "{told}");
    let told = refused(
        "long",
        &page(Box::leak(format!("---\nid: x\ntitle: {}\n---\n", "x".repeat(300)).into_boxed_str())),
    )
    .await;
    assert!(told.contains("too long"), "{told}");
    let told = refused("nul", &page("---\nid: x\ntitle: \"a\\u0000b\"\n---\n")).await;
    assert!(told.contains("NUL"), "{told}");
    let told = refused("utf8", &|folder| {
        fs::write(folder.join("pages/x.md"), b"---\nid: x\n---\n\xff").unwrap();
    })
    .await;
    assert!(told.contains("not UTF-8"), "{told}");
    let told =
        refused("link", &|folder| symlink(&outside, folder.join("pages/x.md")).unwrap()).await;
    assert!(told.contains("is a link"), "{told}");
    let told =
        refused("head", &|folder| fs::remove_file(folder.join("greenroom.json")).unwrap()).await;
    assert!(told.contains("not finished"), "{told}");
    // A name may be anything; what is in the file counts.
    let odd = here.join("odd");
    copy(&good, &odd);
    let name = "\u{202e}\u{1b}[31m;rm -rf ~.md";
    fs::write(odd.join("pages").join(name), "---\nid: odd-name\ntitle: Odd\n---\nx\n").unwrap();
    import(&house, &odd).await;
    assert_eq!(house.get("/api/storage/pages/odd-name").await.good()["title"], "Odd");
    assert_eq!(house.get("/api/storage/pages/x").await.status, 404);
    assert_eq!(house.get("/api/storage/pages/outside").await.status, 404);
}

#[tokio::test]
async fn a_session_comes_in_with_its_files_or_not_at_all() {
    let house = House::on(On::Sqlite).await;
    let playground = "/api/agents/optimist/playground";
    let made = json!({"id": "a-session", "title": "Numbers"});
    house.call(Method::POST, &format!("{playground}/sessions"), made).await.good();
    let words = json!({"sessionId": "a-session", "messages": [{"role": "user", "content": "Hi"}]});
    let said = house.call(Method::POST, &format!("{playground}/chat"), words).await;
    assert!(said.status.is_success(), "{}", said.text);
    let file = format!("{playground}/sessions/a-session/files/one.txt");
    let written = house.call(Method::PUT, &file, json!({"content": "one\n"})).await;
    assert!(written.status.is_success(), "{}", written.text);
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    export(&house, &out).await;
    let mut talks = fs::read_dir(out.join("conversations")).unwrap();
    let talk = talks.next().unwrap().unwrap().path();
    let good = fs::read_to_string(&talk).unwrap();
    let bad = good.replace("\"path\": \"one.txt\"", "\"path\": \"../one.txt\"");
    assert_ne!(good, bad);
    let copy = empty_space(&house, "copy").await;
    let state = &copy.state;

    fs::write(&talk, bad).unwrap();
    let (keep, author) = (Settings::Keep, Author::Oneself);
    let done = import_space(&state.store, &state.agent, &state.scope, &out, keep, author).await;

    let told = done.unwrap_err().to_string();
    assert!(told.starts_with("conversations/"), "{told}");
    assert_eq!(copy.get(&format!("{playground}/sessions/a-session")).await.status, 404);
    fs::write(&talk, good).unwrap();
    import(&copy, &out).await;
    assert_eq!(copy.get(&file).await.text, "one\n");
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        if path.is_dir() { copy(&path, &to) } else { fs::copy(&path, &to).map(|_| ()).unwrap() }
    }
}

#[tokio::test]
async fn settings_go_along_without_keys_and_are_taken_only_when_asked_for() {
    let house = House::on(On::Sqlite).await;
    let service = json!({
        "service": "mine", "label": "Mine", "dialect": "openai-chat",
        "baseUrl": "http://127.0.0.1:9/v1", "keyRef": "env:CANARY_REFERENCE",
    });
    let set = house.call(Method::PUT, "/api/services", service).await;
    assert!(set.status.is_success(), "{}", set.text);
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");

    export(&house, &out).await;

    let settings = fs::read_to_string(out.join("settings.json")).unwrap();
    assert!(settings.contains("http://127.0.0.1:9/v1"), "{settings}");
    assert!(!files(&out).values().any(|text| text.contains("CANARY")));
    let copy = empty_space(&house, "copy").await;
    let (state, keep, author) = (&copy.state, Settings::Keep, Author::Somebody);
    let done = import_space(&state.store, &state.agent, &state.scope, &out, keep, author).await;
    let done = done.unwrap();
    assert_eq!(done.left, ["settings.json (take it with --settings)"]);
    let known = async || {
        copy.state.store.read(&copy.state.scope.space).await.unwrap().services().await.unwrap()
    };
    assert_eq!(known().await, []);
    import(&copy, &out).await;
    assert_eq!((known().await[0].key_ref.as_str(), known().await.len()), ("", 1));
    // A default that cannot be used here is told, not passed over.
    let mut settings: Value = serde_json::from_str(&settings).unwrap();
    settings["defaultModel"] = json!("nowhere/at-all");
    fs::write(out.join("settings.json"), settings.to_string()).unwrap();
    let done = import(&copy, &out).await;
    assert!(done.left[0].starts_with("the default model: "), "{:?}", done.left);
}

#[tokio::test]
async fn the_program_exports_beside_a_running_server_and_imports_into_an_empty_folder() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let script = script(here, &json!([[{"text": "Hm."}]]));
    let server = Server::start_with(&here.join("data"), &script, &[]).await;
    let change = json!({"name": "Exported"});
    server.ask("PUT", "/api/storage/personas/optimist", Some(&change)).await;

    let told = done(&greenroom(&["export", "--dir", "out"], here));

    assert!(told.starts_with("Exported "), "{told}");
    let nowhere = greenroom(&["export", "--dir", "none", "--space", "nobody"], here);
    assert!(super::refused(&nowhere).contains("There is no Space “nobody”."));
    let busy = greenroom(&["import", "out"], here);
    assert!(super::refused(&busy).contains("Stop it first."));
    drop(server);
    done(&greenroom(&["import", "out", "--data", "fresh"], here));
    done(&greenroom(&["export", "--dir", "again", "--data", "fresh"], here));
    assert_eq!(files(&here.join("out")), files(&here.join("again")));
}

#[tokio::test]
async fn what_only_reads_brings_no_server_up_to_date() {
    let folder = tempfile::tempdir().unwrap();
    let database = postgres_database().await;
    let arguments = ["export", "--dir", "out", "--database-url", &database];

    let told = refused(&greenroom(&arguments, folder.path()));

    assert!(told.contains("Start a server of this version on it once"), "{told}");
    let mut wire = sqlx::PgConnection::connect(&database).await.unwrap();
    let tables: i64 =
        sqlx::query_scalar("select count(*) from pg_tables where schemaname = 'public'")
            .fetch_one(&mut wire)
            .await
            .unwrap();
    assert_eq!(tables, 0);
    Store::open_postgres(&database).unwrap().migrate().await.unwrap();
    Store::open_postgres(&database).unwrap().require_current().await.unwrap();
}
