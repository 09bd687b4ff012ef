//! Everything in one file, and back.

use std::{
    fs,
    io::{Cursor, Write},
    os::unix::fs::PermissionsExt,
    path::Path,
};

use greenroom::{
    accounts::{Accounts, NewToken, Visitor},
    changes::Scope,
    domain::account::TokenScope,
    store::Store,
};
use serde_json::{Value, json};
use zip::{ZipArchive, ZipWriter, write::SimpleFileOptions};

use super::{done, greenroom, refused};
use crate::restart::{Server, script};

const OPTIMIST: &str = "/api/storage/personas/optimist";

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

async fn server(folder: &Path, data: &str) -> Server {
    let script = script(folder, &json!([[{"text": "Hm."}]]));
    Server::start_with(&folder.join(data), &script, &[]).await
}

async fn rename(server: &Server, name: &str) {
    let (status, text) = server.ask("PUT", OPTIMIST, Some(&json!({"name": name}))).await;
    assert_eq!(status, 200, "{text}");
}

async fn json_at(server: &Server, path: &str) -> Value {
    let (status, text) = server.ask("GET", path, None).await;
    assert_eq!(status, 200, "{text}");
    serde_json::from_str(&text).unwrap()
}

#[tokio::test]
async fn a_backup_made_while_everything_goes_on_comes_back_whole() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let server = server(here, "data").await;
    let picture = json!({"prompt": "A lamp in the rain", "personaId": "optimist"});
    let (_, asked) = server.ask("POST", "/api/pictures", Some(&picture)).await;
    let picture: Value = serde_json::from_str(&asked).unwrap();
    let file = format!("/api/pictures/{}/file", picture["id"].as_str().unwrap());
    while server.ask("GET", &file, None).await.0 != 200 {}
    rename(&server, "Before").await;

    let writing = async {
        for turn in 0..60 {
            rename(&server, &format!("Name {turn}")).await;
        }
    };
    let owned = here.to_owned();
    let backing_up = tokio::task::spawn_blocking(move || {
        ["one.zip", "two.zip", "three.zip"].map(|name| done(&greenroom(&["backup", name], &owned)))
    });
    let ((), told) = tokio::join!(writing, backing_up);
    let told = told.unwrap();

    assert!(told[0].contains("One picture is in it."), "{}", told[0]);
    assert_eq!(mode(&here.join("one.zip")), 0o600);
    for (at, name) in ["one.zip", "two.zip", "three.zip"].into_iter().enumerate() {
        let restored = format!("restored-{at}");
        done(&greenroom(&["restore", name, "--data", &restored], here));
        let server = self::server(here, &restored).await;
        let persona = json_at(&server, OPTIMIST).await;
        let newest = persona["revision"].as_u64().unwrap();
        assert!(newest >= 2, "what was written before is in it");
        let versions = json_at(&server, &format!("{OPTIMIST}/versions?limit=200")).await;
        assert_eq!(versions["items"].as_array().unwrap().len() as u64, newest);
        assert_eq!(versions["items"][0]["name"], persona["name"]);
        assert_eq!(server.ask("GET", &file, None).await.0, 200, "the picture came along");
    }
}

#[tokio::test]
async fn what_is_there_is_not_written_over_unless_one_says_so_and_is_kept_even_then() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let first = server(here, "data").await;
    rename(&first, "Backed up").await;
    done(&greenroom(&["backup", "b.zip"], here));
    rename(&first, "Newer").await;

    let told = refused(&greenroom(&["backup", "b.zip"], here));
    assert!(told.contains("already"), "{told}");
    let told = refused(&greenroom(&["restore", "b.zip", "--replace"], here));
    assert!(told.contains("Stop it first."), "a running server keeps its database: {told}");
    drop(first);
    let told = refused(&greenroom(&["restore", "b.zip"], here));
    assert!(told.contains("--replace"), "{told}");
    for (url, named) in
        [("postgres://h/d", "a PostgreSQL server"), ("sqlite:other.db", "the file other.db")]
    {
        let told =
            refused(&greenroom(&["restore", "b.zip", "--replace", "--database-url", url], here));
        assert!(told.contains(&format!("DATABASE_URL names {named}")), "{told}");
    }
    let second = server(here, "data").await;
    assert_eq!(json_at(&second, OPTIMIST).await["name"], "Newer");
    drop(second);

    let own = "sqlite:data/greenroom.db";
    done(&greenroom(&["restore", "b.zip", "--replace", "--database-url", own], here));

    let third = server(here, "data").await;
    assert_eq!(json_at(&third, OPTIMIST).await["name"], "Backed up");
    drop(third);
    let aside = fs::read_dir(here.join("data")).unwrap();
    let aside = aside.map(|entry| entry.unwrap().path());
    let aside = aside.filter(|path| path.display().to_string().contains("before-restore"));
    let aside: Vec<_> = aside.collect();
    assert_eq!(aside.len(), 1, "{aside:?}");
    fs::create_dir(here.join("old")).unwrap();
    fs::copy(&aside[0], here.join("old/greenroom.db")).unwrap();
    let old = server(here, "old").await;
    assert_eq!(json_at(&old, OPTIMIST).await["name"], "Newer");
}

#[tokio::test]
async fn a_damaged_a_forged_and_a_newer_backup_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    drop(server(here, "data").await);
    done(&greenroom(&["backup", "good.zip"], here));
    let good = fs::read(here.join("good.zip")).unwrap();
    let manifest = |change: &dyn Fn(&mut Value)| {
        let mut archive = ZipArchive::new(Cursor::new(&good)).unwrap();
        let file = archive.by_name("manifest.json").unwrap();
        let mut manifest: Value = serde_json::from_reader(file).unwrap();
        change(&mut manifest);
        repacked(&good, &manifest)
    };
    let mut cut = good.clone();
    cut.truncate(good.len() / 2);
    let mut flipped = good.clone();
    flipped[good.len() / 3] ^= 0x40;
    let traversal = |path: &'static str| {
        manifest(&move |manifest: &mut Value| {
            let files = manifest["files"].as_array_mut().unwrap();
            files.push(json!({"path": path, "bytes": 1, "sha256": "00"}));
        })
    };
    let bad = [
        (cut, "no backup, or is damaged"),
        (flipped, "damaged"),
        (b"PK\x03\x04 nothing".to_vec(), "no backup"),
        (manifest(&|manifest| manifest["migration"] = json!(9999)), "newer Greenroom"),
        (manifest(&|manifest| manifest["version"] = json!(99)), "newer Greenroom"),
        (manifest(&|manifest| manifest["format"] = json!("other")), "no backup"),
        (manifest(&|manifest| manifest["files"][0]["sha256"] = json!("00")), "damaged"),
        (manifest(&|manifest| manifest["files"][0]["bytes"] = json!(10)), "damaged"),
        (traversal("../../evil"), "that no backup has"),
        (traversal("pictures/home/../../evil"), "that no backup has"),
        (traversal("/etc/evil"), "that no backup has"),
    ];
    for (at, (bytes, wanted)) in bad.into_iter().enumerate() {
        let name = format!("bad-{at}.zip");
        fs::write(here.join(&name), bytes).unwrap();

        let told = refused(&greenroom(&["restore", &name, "--data", "fresh"], here));

        assert!(told.contains(wanted), "{name}: {told}");
        assert!(!here.join("fresh/greenroom.db").exists(), "{name}");
    }
    assert!(!here.join("evil").exists());
    // What a database that is gone left beside it is not taken for this one's.
    fs::write(here.join("fresh/greenroom.db-wal"), b"left over").unwrap();
    done(&greenroom(&["restore", "good.zip", "--data", "fresh"], here));
    assert!(!here.join("fresh/greenroom.db-wal").exists());
    drop(server(here, "fresh").await);
}

/// The same backup with another manifest.
fn repacked(backup: &[u8], manifest: &Value) -> Vec<u8> {
    let mut from = ZipArchive::new(Cursor::new(backup)).unwrap();
    let mut to = ZipWriter::new(Cursor::new(Vec::new()));
    for at in 0..from.len() {
        let file = from.by_index_raw(at).unwrap();
        if file.name().unwrap() != "manifest.json" {
            to.raw_copy_file(file).unwrap();
        }
    }
    to.start_file("manifest.json", SimpleFileOptions::default()).unwrap();
    to.write_all(manifest.to_string().as_bytes()).unwrap();
    to.finish().unwrap().into_inner()
}

#[tokio::test]
async fn nobody_else_can_read_the_data() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let server = server(here, "data").await;
    rename(&server, "Private").await;

    assert_eq!(mode(&here.join("data")), 0o700);
    for name in ["greenroom.db", "greenroom.db-wal", "greenroom.db-shm"] {
        assert_eq!(mode(&here.join("data").join(name)), 0o600, "{name}");
    }
    drop(server);
    // A file that others could read is closed to them.
    let database = here.join("data/greenroom.db");
    fs::set_permissions(&database, fs::Permissions::from_mode(0o644)).unwrap();
    let _server = self::server(here, "data").await;
    assert_eq!(mode(&database), 0o600);
}

#[tokio::test]
async fn nobody_else_can_read_what_stands_beside_a_database_that_is_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let script = script(here, &json!([[{"text": "Hm."}]]));
    let file = format!("sqlite:{}", here.join("elsewhere/x.db").display());
    for (data, database) in [("one", file), ("two", crate::support::postgres_database().await)] {
        let data = here.join(data);
        let _server = Server::start_with(&data, &script, &[("DATABASE_URL", database)]).await;

        assert_eq!(mode(&data), 0o700);
        assert_eq!(mode(&data.join("pictures")), 0o700);
    }
}

/// What was ended since the backup was made does not come back to life with it.
#[tokio::test]
async fn a_backup_that_comes_back_signs_nobody_in() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let add = ["user", "add", "ann", "--password-file", "password", "--data", "data"];
    fs::write(here.join("password"), "correct horse\n").unwrap();
    done(&greenroom(&add, here));
    done(&greenroom(&["user", "invite", "--data", "data"], here));
    let database = here.join("data/greenroom.db");
    let store = Store::open_sqlite(&database).await.unwrap();
    let accounts = Accounts::new(store.clone());
    let ann = Scope { space: "home".into(), user: "ann".into() };
    accounts.begin_session(&ann.user, &ann.space, None, &Visitor::default()).await.unwrap();
    let program = NewToken { name: "a program".into(), scope: TokenScope::Read, days: 1 };
    accounts.make_token(&ann, program, "").await.unwrap();
    drop((accounts, store));
    done(&greenroom(&["backup", "one.zip"], here));

    let told = done(&greenroom(&["restore", "one.zip", "--data", "back"], here));

    let says = "Everybody is signed out, and links that nobody had used open nothing. One API token is good as \
                of then: revoke on /account what should not be.";
    assert!(told.contains(says), "{told}");
    let accounts =
        Accounts::new(Store::open_sqlite(&here.join("back/greenroom.db")).await.unwrap());
    assert_eq!(accounts.sessions(&ann.user).await.unwrap(), []);
    assert_eq!(accounts.links(&ann).await.unwrap(), []);
    assert_eq!(accounts.tokens(&ann.user).await.unwrap().len(), 1);
    // Where they were, nothing was ended.
    let accounts = Accounts::new(Store::open_sqlite(&database).await.unwrap());
    assert_eq!(accounts.sessions(&ann.user).await.unwrap().len(), 1);
}

#[test]
fn on_postgres_it_says_what_to_do_instead() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["backup", "b.zip", "--database-url", "postgres://u:secret@h/d"];

    let told = refused(&greenroom(&arguments, folder.path()));

    assert!(told.contains("pg_dump") && !told.contains("secret"), "{told}");
}

#[tokio::test]
async fn what_the_operator_wrote_by_hand_is_named_where_it_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    drop(server(here, "data").await);
    let told = done(&greenroom(&["backup", "one.zip"], here));
    assert!(told.ends_with("see docs/operations.md.\n"), "{told}");

    fs::create_dir_all(here.join("data/chat")).unwrap();
    fs::write(here.join("data/chat/tools.yaml"), "tools: []\n").unwrap();
    let told = done(&greenroom(&["backup", "two.zip"], here));

    let end = "see docs/operations.md. Nor is ./data/chat/tools.yaml: keep a copy of it.\n";
    assert!(told.ends_with(end), "{told}");
}
