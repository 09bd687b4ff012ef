//! Running Python in the sandbox, beside the start of the system's own.

use std::{
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use futures::future::join_all;
use greenroom::sandbox::{Program, Sandbox, What};

use super::{
    plan::Plan,
    table::{millis, row, title, told},
};

/// How many ask at the same time.
const AT_ONCE: usize = 64;

pub async fn measure(plan: &Plan) {
    title("Python in the sandbox");
    if !Sandbox::is_built_in() {
        row("was not built in", "make sandbox");
        return;
    }
    let binary = plan.binary.canonicalize().expect("`make build` comes first");
    let sandbox = Sandbox::new(&binary);
    let started = Instant::now();
    sandbox.warm().await.unwrap();
    row("a worker from nothing", &format!("{:.0} ms", millis(started.elapsed())));

    let (mut system, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..plan.count(200, 10) {
        system.extend(system_python());
        ours.push(once(&sandbox).await);
    }
    let ours = told("a trivial program", ours);
    if system.is_empty() {
        row("python3 -c pass", "not there");
    } else {
        let system = told("python3 -c pass", system);
        let ratio = ours.p50.as_secs_f64() / system.p50.as_secs_f64();
        row("the sandbox beside it", &format!("{ratio:.2} ×"));
    }

    let started = Instant::now();
    join_all((0..AT_ONCE).map(|_| once(&sandbox))).await;
    let all = started.elapsed();
    let ratio = all.as_secs_f64() / (ours.p50.as_secs_f64() * AT_ONCE as f64);
    row("64 at once", &format!("{:.0} ms", millis(all)));
    row("64 at once beside 64 in turn", &format!("{ratio:.2} ×"));
}

async fn once(sandbox: &Sandbox) -> Duration {
    let started = Instant::now();
    let outcome = sandbox.run(Program::new(What::Source("pass".into()))).await.unwrap();
    assert!(outcome.is_success(), "{outcome:?}");
    started.elapsed()
}

/// The start of the system's own Python, where there is one.
fn system_python() -> Option<Duration> {
    let started = Instant::now();
    let mut command = Command::new("python3");
    command.args(["-c", "pass"]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().ok().filter(std::process::ExitStatus::success).map(|_| started.elapsed())
}
