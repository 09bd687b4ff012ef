//! Many at once, for a minute: people who talk, and tabs that are merely open. Nothing may fail, memory stays
//! as it is, and nobody waits long.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use super::{
    client::{Load, Times, drain},
    plan::Plan,
    process::{Server, descriptors},
    service,
    streams::make_personas,
    table::{millis, row, title},
};

/// How many talk, and how many only have a tab open.
const TALKERS: usize = 64;
const WATCHERS: usize = 2_000;
/// For how long, after everything was begun.
const SPAN: Duration = Duration::from_secs(60);
/// How long it takes until memory is what it is in the long run.
const WARM: Duration = Duration::from_secs(15);
/// How often memory and the waiting of others is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// One answer: a hundred tokens, fifty a second.
const TOKENS: usize = 100;
const PACE: Duration = Duration::from_millis(20);
/// What memory may grow by, from the end of the warming on: a tenth, and what an allocator keeps at hand.
const GROWTH: f64 = 1.10;
const SLACK_KIB: f64 = 8.0 * 1024.0;
/// What the first token, and a page, may take for 99 of 100.
const MOST: Duration = Duration::from_millis(500);
/// What a process needs beside these connections.
const OTHER_DESCRIPTORS: usize = 400;

/// What went wrong, and how long what went well took.
#[derive(Default)]
struct Tally {
    answers: AtomicUsize,
    failed: AtomicUsize,
}

pub async fn measure(plan: &Plan) {
    let watchers = plan.count(WATCHERS, 50).min(descriptors().saturating_sub(OTHER_DESCRIPTORS));
    let talkers = plan.count(TALKERS, 4);
    let span = SPAN.mul_f64(plan.count(100, 20) as f64 / 100.0);
    title("Load: people who talk, and tabs that are open (aim: no error, flat memory)");
    let service = Server::service().await;
    let folder = tempfile::tempdir().unwrap();
    let server = Server::greenroom(&plan.binary, folder.path(), service.port);
    let server = server.ready("/healthz").await;
    let load = server.load();
    make_personas(&load, talkers).await;
    let tally = Arc::new(Tally::default());

    let mut idle = Vec::with_capacity(watchers);
    for _ in 0..watchers {
        match load.watch("/api/live").await {
            Some(body) => idle.push(tokio::spawn(drain(body))),
            None => drop(tally.failed.fetch_add(1, Ordering::Relaxed)),
        }
    }
    let until = Instant::now() + WARM.min(span) + span;
    let talking: Vec<_> = (0..talkers)
        .map(|number| tokio::spawn(talk(load.clone(), number, until, tally.clone())))
        .collect();
    let warm = Instant::now() + WARM.min(span);
    let (mut memory, mut pages) = (Vec::new(), Vec::new());
    while Instant::now() < until {
        tokio::time::sleep(LOOK).await;
        let began = Instant::now();
        match load.read("/api/storage/personas/optimist").await {
            Some(_) => pages.push(began.elapsed()),
            None => drop(tally.failed.fetch_add(1, Ordering::Relaxed)),
        }
        if Instant::now() > warm {
            memory.push(server.memory_kib());
        }
    }
    let mut first = Vec::new();
    for talker in talking {
        first.extend(talker.await.unwrap());
    }
    let gone = idle.iter().filter(|watcher| watcher.is_finished()).count();
    idle.iter().for_each(tokio::task::JoinHandle::abort);

    let (failed, answers) =
        (tally.failed.load(Ordering::Relaxed), tally.answers.load(Ordering::Relaxed));
    row(
        &format!("{talkers} who talk, {watchers} who watch, for"),
        &format!("{} s", span.as_secs()),
    );
    if watchers < plan.count(WATCHERS, 50) {
        row(
            "  NOT what was aimed at: this machine allows",
            &format!("{watchers} watchers of {WATCHERS} (raise `ulimit -n`)"),
        );
    }
    row("answers", &answers.to_string());
    row("failed", &failed.to_string());
    row("watchers that were lost", &gone.to_string());
    let (first, pages) = (Times::of(first), Times::of(pages));
    let shown =
        |times: &Times| format!("p50 {:.1} ms  p99 {:.1} ms", millis(times.p50), millis(times.p99));
    row("until the first token", &shown(&first));
    row("a persona is read in", &shown(&pages));
    // The middle of the first and of the last few: one look may fall on a busy moment.
    let some = (memory.len() / 8).max(1);
    let begun = super::median(memory[..some].to_vec());
    let ended = super::median(memory[memory.len() - some..].to_vec());
    row("memory, from", &format!("{:.1} MiB", begun / 1024.0));
    row("  to", &format!("{:.1} MiB", ended / 1024.0));
    assert_eq!((failed, gone), (0, 0), "something failed");
    assert!(answers >= talkers, "not everybody was answered");
    assert!(ended <= begun * GROWTH + SLACK_KIB, "memory grows");
    let usual = plan.remark().is_none();
    assert!(!usual || (first.p99 < MOST && pages.p99 < MOST), "somebody waits too long");
}

/// Says something again and again, and gives how long each first token took.
async fn talk(load: Load, number: usize, until: Instant, tally: Arc<Tally>) -> Vec<Duration> {
    let mut first = Vec::new();
    while Instant::now() < until {
        let question = service::question(TOKENS, PACE);
        let body = format!("{{\"personaId\":\"bench-{number}\",\"message\":\"{question}\"}}");
        let answer = load.answer("/api/persona-agent/chat", body, "text_delta").await;
        let whole = answer.tail.windows(6).any(|some| some == b"\"done\"");
        if whole {
            tally.answers.fetch_add(1, Ordering::Relaxed);
            first.push(answer.first);
        } else {
            tally.failed.fetch_add(1, Ordering::Relaxed);
        }
    }
    first
}
