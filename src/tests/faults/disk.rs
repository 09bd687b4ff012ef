//! A disk that is full, and one that is read-only. The disk is a small one in memory that only the server
//! sees, in a mount namespace of its own; it goes with the process.

use std::{
    fs,
    io::Write,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::Command,
};

use greenroom::{
    accounts::NewToken,
    changes::Gate,
    domain::account::{Role, TokenScope},
    store::Store,
};
use serde_json::json;

use super::{OPTIMIST, answered, brief, invariants, rename};
use crate::{
    accounts::scope,
    restart::{Server, arguments, script},
    support::House,
};

/// A shell whose mounts nobody else sees. Without rights it is root in a namespace of its own.
fn apart(line: &str) -> Command {
    let mut command = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["--mount", "sh", "-c", line, "sh"]);
    command
}

/// Whether this machine lets us mount something. Where it does not, somebody must say that they know.
fn can_mount(folder: &Path) -> bool {
    let tried = apart("mount -t tmpfs none \"$1\"").arg(folder).status();
    let can = tried.is_ok_and(|status| status.success());
    if !can {
        let known = std::env::var_os("GREENROOM_TEST_NO_MOUNTS").is_some();
        assert!(
            known,
            "no disk was filled: nothing can be mounted here. Run the tests as root or where users have \
             namespaces, or set GREENROOM_TEST_NO_MOUNTS=1 to leave this out."
        );
        println!("0 disks were filled: nothing can be mounted here");
    }
    can
}

/// A server whose data folder is a small disk, with what was in the folder.
async fn on_small_disk(data: &Path, script: &Path) -> Server {
    let line = "data=$1; shift; cp -a \"$data\" \"$data.before\" \
                && mount -t tmpfs -o size=12m,mode=0700 none \"$data\" \
                && cp -a \"$data.before/.\" \"$data\" && exec \"$@\"";
    let mut command = apart(line);
    command.arg(data).arg(env!("CARGO_BIN_EXE_greenroom")).args(arguments(data, script));
    command.process_group(0);
    Server::run(command).await
}

/// Takes all the room that is left.
fn fill(filler: &Path) {
    let mut file = fs::File::create(filler).unwrap();
    while file.write_all(&[7; 4096]).is_ok() {}
}

#[tokio::test]
async fn an_answer_for_which_there_is_no_room_keeps_its_first_words_and_can_be_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let long = format!("{} ", "word".repeat(500));
    let words = json!([[{"repeat": {"times": 100_000, "text": long, "every_ms": 5}}]]);
    let script = script(folder.path(), &words);
    fs::create_dir(&data).unwrap();
    if !can_mount(&data) {
        return;
    }
    let server = on_small_disk(&data, &script).await;
    let mut chat = server.chat("Tell me everything.").await;
    let first: String = chat.words(20).await.into_iter().map(|(_, word)| word).collect();
    let history = async || server.get("/api/persona-agent/history?personaId=optimist").await;
    let run = history().await["runId"].as_str().unwrap().to_owned();
    // What came is kept a moment later.
    let kept = async || history().await["turns"][1]["content"].as_str().map(str::len);
    while kept().await.is_none_or(|kept| kept < first.len()) {}
    let filler = inside(&server, &data).join("filler");
    fill(&filler);

    // It goes on until somebody writes in vain, and longer.
    let rename_in_vain = async || rename(&server, &"x".repeat(100)).await == 507;
    let mut refused = false;
    for _ in 0..500 {
        chat.words(5).await;
        refused = refused || rename_in_vain().await;
        if refused {
            break;
        }
    }
    assert!(refused, "the disk was never full");
    assert_eq!(server.ask("GET", OPTIMIST, None).await.0, 200, "reading goes on");
    fs::remove_file(&filler).unwrap();

    let path = |what: &str| format!("/api/runs/{run}/{what}");
    let (status, stopped) = server.ask("POST", &path("stop"), Some(&json!({}))).await;
    assert_eq!(status, 200, "{stopped}");
    let state = server.get(&format!("/api/runs/{run}")).await;
    assert_ne!(state["status"], "running", "{state}");
    let turns = history().await["turns"].clone();
    assert!(turns[1]["content"].as_str().unwrap().starts_with(&first), "the first words are kept");
    let (status, again) = server.ask("POST", &path("retry"), Some(&json!({}))).await;
    assert_eq!(status, 201, "{again}");
    assert_eq!(rename(&server, "After").await, 200);
}

/// The data folder as the server sees it.
fn inside(server: &Server, data: &Path) -> PathBuf {
    let root = format!("/proc/{}/root", server.pid());
    Path::new(&root).join(data.strip_prefix("/").unwrap())
}

#[tokio::test]
async fn a_full_disk_is_told_reading_goes_on_and_writing_too_once_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let (data, script) = (folder.path().join("data"), brief(folder.path()));
    fs::create_dir(&data).unwrap();
    if !can_mount(&data) {
        return;
    }
    let server = on_small_disk(&data, &script).await;
    assert_eq!(rename(&server, "Before").await, 200);
    let chat = answered(&server).await;
    let filler = inside(&server, &data).join("filler");
    let mut file = fs::File::create(&filler).unwrap();
    while file.write_all(&[7; 4096]).is_ok() {}

    // What is in the WAL already has room; what needs more has not.
    let long = json!({"systemPrompt": "x".repeat(99_000)});
    let mut refused = 0;
    for _ in 0..200 {
        let (status, told) = server.ask("PUT", OPTIMIST, Some(&long)).await;
        let (again, _) =
            server.ask("PUT", OPTIMIST, Some(&json!({"systemPrompt": "y".repeat(99_000)}))).await;
        if status == 507 || again == 507 {
            refused += 1;
            let full = "The disk is full. Nothing was changed; free some space and try again.";
            assert!(status != 507 || told.contains(full), "{told}");
        }
        assert!([200, 507].contains(&status) && [200, 507].contains(&again), "{status} {again}");
        if refused > 2 {
            break;
        }
    }
    assert!(refused > 2, "the disk was never full");
    assert_eq!(server.ask("GET", OPTIMIST, None).await.0, 200, "reading goes on");
    assert_eq!(server.ask("GET", "/", None).await.0, 200);
    // Each is a device that was not there before, and whose place cannot be kept.
    for _ in 0..40 {
        let (status, page) = server.ask("GET", &chat, None).await;
        assert!(status == 200 && page.contains("Well?"), "{status} {page}");
    }
    // What is still open takes its room with it.
    drop(file);
    fs::remove_file(&filler).unwrap();

    assert_eq!(rename(&server, "After").await, 200);
    let copy = folder.path().join("copy");
    fs::create_dir(&copy).unwrap();
    for name in ["greenroom.db", "greenroom.db-wal"] {
        fs::copy(inside(&server, &data).join(name), copy.join(name)).unwrap();
    }
    invariants::hold(&copy.join("greenroom.db")).await;
    let name = "select count(*) from persona_version where name = 'After'";
    assert_eq!(invariants::number(&copy.join("greenroom.db"), name).await, 1);
}

#[tokio::test]
async fn on_a_full_disk_whoever_has_an_account_goes_on_reading() {
    let folder = tempfile::tempdir().unwrap();
    let (data, script) = (folder.path().join("data"), brief(folder.path()));
    fs::create_dir(&data).unwrap();
    if !can_mount(&data) {
        return;
    }
    let house = House::around(Store::open_sqlite(&data.join("greenroom.db")).await.unwrap(), None);
    Gate::found_space(&house.state.store, &house.state.scope, "Home").await.unwrap();
    let house = house.with_accounts(&[("ann", Role::Owner)]).await;
    let token = async || {
        let new = NewToken { name: "a program".into(), scope: TokenScope::Write, days: 1 };
        house.state.accounts.make_token(&scope("ann"), new, "").await.unwrap()
    };
    let (writes, reads) = (token().await, token().await);
    let mut server = on_small_disk(&data, &script).await;
    server.show(&writes);
    assert_eq!(rename(&server, "Before").await, 200);
    fill(&inside(&server, &data).join("filler"));
    let mut refused = 0;
    for round in 0..400 {
        let long = json!({"systemPrompt": format!("{round}").repeat(30_000)});
        let status = server.ask("PUT", OPTIMIST, Some(&long)).await.0;
        assert!([200, 507].contains(&status), "{status}");
        refused += usize::from(status == 507);
        if refused > 2 {
            break;
        }
    }
    assert!(refused > 2, "the disk was never full");

    // That this one was used cannot be noted.
    server.show(&reads);

    assert_eq!(server.ask("GET", OPTIMIST, None).await.0, 200);
    assert_eq!(server.ask("GET", "/", None).await.0, 200);
}

#[tokio::test]
async fn a_disk_that_can_only_be_read_is_told_before_anything_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let (data, script) = (folder.path().join("data"), brief(folder.path()));
    drop(Server::start(&data, &script).await);
    if !can_mount(&data) {
        return;
    }
    let before = fs::read(data.join("greenroom.db")).unwrap();
    let line = "data=$1; shift; mount --bind \"$data\" \"$data\" \
                && mount -o remount,bind,ro \"$data\" && exec \"$@\"";
    let mut command = apart(line);
    command.arg(&data).arg(env!("CARGO_BIN_EXE_greenroom")).args(arguments(&data, &script));

    let ended = command.env("DATABASE_URL", "").output().unwrap();

    let told = String::from_utf8_lossy(&ended.stderr);
    assert!(!ended.status.success() && told.contains("cannot be written"), "{told}");
    assert!(fs::read(data.join("greenroom.db")).unwrap() == before);
}
