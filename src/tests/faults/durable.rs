//! What is answered with success is on the disk by then, as the system saw it.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::json;

use super::brief;
use crate::restart::Server;

/// Longer than anything here should take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Watches a process. Where that is not possible, somebody must say that they know.
fn watching(pid: u32, log: &Path) -> Option<Child> {
    let strace = attached(pid, log);
    let known = std::env::var_os("GREENROOM_TEST_NO_STRACE").is_some();
    assert!(
        strace.is_some() || known,
        "no call was watched: strace is not there or may not attach. Run scripts/install-test-tools, or set \
         GREENROOM_TEST_NO_STRACE=1 to leave this out."
    );
    strace
}

fn attached(pid: u32, log: &Path) -> Option<Child> {
    let mut strace = Command::new("strace")
        .args(["-f", "-y", "-s", "32", "-e", "trace=fdatasync,fsync,write,writev,sendto,sendmsg"])
        .args(["-p", &pid.to_string(), "-o"])
        .arg(log)
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    // It says so once it is attached, or why it cannot.
    let mut told = String::new();
    let out = strace.stderr.take()?;
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut told).ok()?;
    if told.contains("attached") {
        return Some(strace);
    }
    println!("nothing is watched: {told}");
    strace.wait().ok()?;
    None
}

#[tokio::test]
async fn an_answer_of_success_comes_after_the_disk_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &brief(folder.path())).await;
    let log = folder.path().join("calls");
    // Left out, the test of the store stands alone: it asks SQLite itself.
    let Some(mut strace) = watching(server.pid(), &log) else { return };

    let (status, _) =
        server.ask("PUT", super::OPTIMIST, Some(&json!({"name": "Kept for good"}))).await;

    assert_eq!(status, 200);
    let begun = Instant::now();
    let calls = loop {
        let calls = fs::read_to_string(&log).unwrap();
        if calls.contains("HTTP/1.0 200") || calls.contains("HTTP/1.1 200") {
            break calls;
        }
        assert!(begun.elapsed() < PATIENCE, "{calls}");
        tokio::task::yield_now().await;
    };
    strace.kill().unwrap();
    strace.wait().unwrap();
    let answered = calls.find("HTTP/1.0 200").or_else(|| calls.find("HTTP/1.1 200")).unwrap();
    let synced = calls.lines().find(|line| {
        (line.contains("fdatasync(") || line.contains("fsync("))
            && line.contains("greenroom.db-wal")
    });
    let synced =
        calls.find(synced.unwrap_or_else(|| panic!("nothing was synced: {calls}"))).unwrap();
    assert!(synced < answered, "{calls}");
}
