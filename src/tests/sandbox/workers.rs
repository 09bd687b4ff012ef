//! The workers: fresh for each program, replaced when they fall, and never more than there are places.

use std::{fs, path::Path, process::Command, time::Duration};

use futures::future::join_all;
use greenroom::sandbox::{End, Limit, Outcome, Program, Sandbox, SandboxError, What, limits};

use super::sandbox;

/// A sandbox whose workers can be told from those of other tests, by the name they were started under.
struct Own {
    sandbox: Sandbox,
    folder: tempfile::TempDir,
}

impl Own {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let binary = folder.path().join("greenroom");
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_greenroom"), &binary).unwrap();
        Self { sandbox: Sandbox::new(&binary), folder }
    }

    async fn run(&self, text: &str) -> Result<Outcome, SandboxError> {
        self.sandbox.run(source(text)).await
    }

    fn workers(&self) -> Vec<u32> {
        let started = self.folder.path().display().to_string();
        let numbers = fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let number: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let line = fs::read_to_string(format!("/proc/{number}/cmdline")).ok()?;
            line.starts_with(&started).then_some(number)
        });
        numbers.collect()
    }
}

fn kill(worker: u32) {
    signal("-KILL", worker);
}

fn signal(name: &str, worker: u32) {
    assert!(Command::new("kill").args([name, &worker.to_string()]).status().unwrap().success());
}

fn source(text: &str) -> Program {
    Program::new(What::Source(text.to_owned()))
}

#[tokio::test]
async fn nothing_stays_from_one_run_to_the_next() {
    let own = Own::new();
    let leave = "import builtins, sys, math, random, os\nbuiltins.left = 1\nsys.left = 1\nmath.pi = 3\n\
        sys.path.append('/left')\nsys.modules['left'] = math\nopen('left', 'w').write('x')\nopen('/tmp/left', 'w')\nos.chdir('/tmp')";
    let look = "import builtins, sys, math, os\nprint(hasattr(builtins, 'left'), hasattr(sys, 'left'), math.pi, sys.path, \
        'left' in sys.modules, os.listdir('/'), os.listdir('/tmp'), os.getcwd())";
    for _ in 0..3 {
        own.run(leave).await.unwrap();
        let outcome = own.run(look).await.unwrap();
        assert_eq!(outcome.stdout, "False False 3.141592653589793 ['/'] False ['tmp'] [] /\n");
    }
}

#[tokio::test]
async fn sixty_four_at_once_all_end_right() {
    let sandbox = sandbox();
    let runs = (0..64).map(|n| {
        let sandbox = sandbox.clone();
        async move {
            let text = format!("open('n', 'w').write('{n}')\nprint({n} * {n})");
            let outcome = sandbox.run(source(&text)).await.unwrap();
            (outcome.stdout, outcome.changed["n"].clone())
        }
    });

    let told = join_all(runs).await;

    let expected: Vec<_> =
        (0..64).map(|n: u32| (format!("{}\n", n * n), Some(n.to_string().into_bytes()))).collect();
    assert_eq!(told, expected);
}

#[tokio::test]
async fn a_worker_that_is_killed_in_the_middle_is_replaced() {
    let own = Own::new();
    let running = tokio::spawn({
        let sandbox = own.sandbox.clone();
        async move { sandbox.run(source("while True: pass")).await }
    });
    let victim = loop {
        match own.workers().into_iter().find(|worker| is_behind_its_walls(*worker)) {
            Some(found) => break found,
            None => tokio::task::yield_now().await,
        }
    };

    kill(victim);

    assert_eq!(running.await.unwrap(), Err(SandboxError::Lost));
    assert_eq!(own.run("print(1)").await.unwrap().stdout, "1\n");
    assert!(!own.workers().contains(&victim));
}

/// A worker that neither computes nor answers, whatever keeps it from that: only the parent's clock is left.
#[tokio::test]
async fn a_worker_that_does_not_answer_is_ended_by_the_clock_on_the_wall() {
    let own = Own::new();
    own.sandbox.warm().await.unwrap();
    let [worker] = own.workers()[..] else { panic!("more than one worker") };
    signal("-STOP", worker);

    let outcome = own.run("print('never')").await.unwrap();

    assert_eq!(outcome.end, End::Stopped(Limit::WallTime));
    assert_eq!(outcome.reached, [Limit::WallTime]);
    assert_eq!(
        Limit::WallTime.to_string(),
        "The program was stopped: it took longer than 5 seconds."
    );
    let late = limits::WALL_TIME + Duration::from_secs(1);
    assert!((limits::WALL_TIME..late).contains(&outcome.wall_time), "{:?}", outcome.wall_time);
    assert_eq!((outcome.stdout.as_str(), outcome.changed.len()), ("", 0));
    // The worker is gone, and the next program has another.
    assert!(!own.workers().contains(&worker));
    assert_eq!(own.run("print(4)").await.unwrap().stdout, "4\n");
}

/// Whether it computes behind its walls: nobody warmed it, so it runs what it was started for.
fn is_behind_its_walls(worker: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{worker}/status")).unwrap_or_default();
    let threads = fs::read_dir(format!("/proc/{worker}/task")).into_iter().flatten().flatten();
    let is_running = threads.into_iter().any(|thread| {
        let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('R'))
    });
    status.contains("Seccomp:\t2") && is_running
}

#[tokio::test]
async fn an_idle_worker_that_died_is_noticed() {
    let own = Own::new();
    own.run("pass").await.unwrap();
    let [worker] = own.workers()[..] else { panic!("more than one worker") };
    kill(worker);
    while !fs::read_to_string(format!("/proc/{worker}/stat")).unwrap_or_default().contains(") Z") {
        tokio::task::yield_now().await;
    }

    assert_eq!(own.run("print(2)").await.unwrap().stdout, "2\n");
}

#[tokio::test]
async fn a_worker_has_nothing_but_its_pipes() {
    let own = Own::new();
    own.run("pass").await.unwrap();
    let [worker] = own.workers()[..] else { panic!("more than one worker") };

    let environment = fs::read_to_string(format!("/proc/{worker}/environ")).unwrap();
    let status = fs::read_to_string(format!("/proc/{worker}/status")).unwrap();
    let limits = fs::read_to_string(format!("/proc/{worker}/limits")).unwrap();

    assert_eq!(environment, "");
    assert!(status.contains("Seccomp:\t2") && status.contains("NoNewPrivs:\t1"), "{status}");
    let files = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    assert_eq!(files.split_whitespace().nth(3), Some("0"), "{files}");
}

/// Whoever waits for an answer of the server comes before a program.
#[tokio::test]
async fn a_worker_stands_back_behind_the_server() {
    let own = Own::new();
    own.run("pass").await.unwrap();
    let [worker] = own.workers()[..] else { panic!("more than one worker") };
    let niceness = |process: &str| -> i64 {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
        let (_, rest) = stat.rsplit_once(") ").unwrap();
        rest.split_whitespace().nth(16).unwrap().parse().unwrap()
    };

    assert_eq!(niceness(&worker.to_string()), (niceness("self") + 10).min(19));
    for thread in fs::read_dir(format!("/proc/{worker}/task")).unwrap() {
        let thread = thread.unwrap().file_name().into_string().unwrap();
        assert!(niceness(&format!("{worker}/task/{thread}")) >= niceness("self") + 10);
    }
}

#[tokio::test]
async fn a_run_that_nobody_waits_for_ends() {
    let own = Own::new();
    own.sandbox.warm().await.unwrap();
    let [worker] = own.workers()[..] else { panic!("more than one worker") };
    let given_up = tokio::time::timeout(Duration::from_millis(1), own.run("while True: pass"));

    assert!(given_up.await.is_err());
    assert!(!own.workers().contains(&worker));
    assert_eq!(own.run("print(3)").await.unwrap().stdout, "3\n");
}

#[tokio::test]
async fn without_the_binary_it_says_so() {
    let sandbox = Sandbox::new(Path::new("/nowhere/greenroom"));

    let error = sandbox.run(source("pass")).await.unwrap_err();

    assert!(error.to_string().starts_with("Python could not be started: "), "{error}");
}

#[tokio::test]
async fn a_warm_worker_answers_quickly() {
    let own = Own::new();
    own.sandbox.warm().await.unwrap();

    let outcome = own.run("print('warm')").await.unwrap();

    assert_eq!((outcome.end, outcome.stdout.as_str()), (End::Exit(0), "warm\n"));
    assert!(outcome.guest_time < Duration::from_secs(1), "{:?}", outcome.guest_time);
}
