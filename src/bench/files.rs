//! Searching the files of a session, beside the system's own grep on a disk.

use std::{
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use greenroom::{
    agent::{GrepInput, NewSession},
    domain::virtual_file::{FileChange, FilePath},
};

use super::{
    chats::agent,
    plan::Plan,
    space::space,
    table::{row, title, told},
};

/// How large a file is.
const BYTES: usize = 10 * 1024;
/// What stands in one of them.
const RARE: &str = "the lamp is lit";
const LINE: &str = "The rain has not let up since noon, and the road to the pass is under water.\n";

pub async fn measure(plan: &Plan) {
    let count = plan.count(1_000, 20);
    title(&format!("Searching {count} files of 10 KiB"));
    let space = space().await;
    let agent = agent(&space);
    let folder = tempfile::tempdir().unwrap();
    let mut changes = Vec::new();
    for number in 0..count {
        let mut text = LINE.repeat(BYTES / LINE.len());
        if number == count / 2 {
            text.push_str(RARE);
        }
        let name = format!("file-{number:04}.txt");
        std::fs::write(folder.path().join(&name), &text).unwrap();
        changes.push(FileChange {
            path: FilePath::parse(&name).unwrap(),
            content: Some(text.into_bytes()),
        });
    }
    let new = NewSession { persona: "optimist".into(), ..NewSession::default() };
    let session = agent.create_session(&space.scope, new).await.unwrap();
    let place = agent.session_place(&space.scope, &session.id).await.unwrap();
    agent.put_files(&space.scope, &place, changes).await.unwrap();

    let (mut ours, mut read, mut system) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..plan.count(60, 5) {
        let began = Instant::now();
        let input = GrepInput { pattern: "lamp .* l[ij]t".into(), ..GrepInput::default() };
        let found = agent.grep(&space.scope, &place, input).await.unwrap();
        ours.push(began.elapsed());
        assert!(found.ends_with(RARE), "{found}");
        let began = Instant::now();
        let files = agent.whole_files(&space.scope, &place).await.unwrap();
        read.push(began.elapsed());
        assert_eq!(files.len(), count);
        system.extend(system_grep(folder.path()));
    }
    let ours = told("a grep in the session", ours);
    told("of it, reading the files from the database", read);
    if system.is_empty() {
        row("grep -rnE", "not there");
        return;
    }
    let system = told("grep -rnE, on a disk", system);
    let ratio = ours.p50.as_secs_f64() / system.p50.as_secs_f64();
    row("ours by the system's", &format!("{ratio:.2} ×"));
}

/// The same with the system's own, where there is one.
fn system_grep(folder: &Path) -> Option<Duration> {
    let began = Instant::now();
    let mut grep = Command::new("grep");
    grep.args(["-rnE", "lamp .* l[ij]t"]).arg(folder).stdout(Stdio::null());
    let done = grep.status().ok()?;
    done.success().then(|| began.elapsed())
}
