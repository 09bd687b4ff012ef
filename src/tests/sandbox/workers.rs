//! The workers: fresh for each program, replaced when they fall, and never more than there are places.

use std::{fs, path::Path, process::Command, time::Duration};

use futures::future::join_all;
use greenroom::sandbox::{End, Program, Sandbox, SandboxError, What};

use super::{printed, run, sandbox};

fn own_sandbox() -> Sandbox {
    Sandbox::new(Path::new(env!("CARGO_BIN_EXE_greenroom")))
}

fn source(text: &str) -> Program {
    Program::new(What::Source(text.to_owned()))
}

/// The workers that are this process's children.
fn workers() -> Vec<u32> {
    let children = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let number: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let status = fs::read_to_string(format!("/proc/{number}/status")).ok()?;
        let is_ours = status.lines().any(|line| {
            line.strip_prefix("PPid:").is_some_and(|it| it.trim() == std::process::id().to_string())
        });
        let line = fs::read_to_string(format!("/proc/{number}/cmdline")).ok()?;
        (is_ours && line.contains("sandbox-worker")).then_some(number)
    });
    children.collect()
}

#[tokio::test]
async fn nothing_stays_from_one_run_to_the_next() {
    let sandbox = own_sandbox();
    let leave = "import builtins, sys, math, random, os\nbuiltins.left = 1\nsys.left = 1\nmath.pi = 3\n\
        sys.path.append('/left')\nsys.modules['left'] = math\nopen('left', 'w').write('x')\nopen('/tmp/left', 'w')\nos.chdir('/tmp')";
    let look = "import builtins, sys, math, os\nprint(hasattr(builtins, 'left'), hasattr(sys, 'left'), math.pi, sys.path, \
        'left' in sys.modules, os.listdir('/'), os.listdir('/tmp'), os.getcwd())";
    for _ in 0..3 {
        sandbox.run(source(leave)).await.unwrap();
        let outcome = sandbox.run(source(look)).await.unwrap();
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
    let sandbox = own_sandbox();
    let before = workers();
    let running = tokio::spawn({
        let sandbox = sandbox.clone();
        async move { sandbox.run(source("while True: pass")).await }
    });
    let victim = loop {
        let new = workers().into_iter().find(|it| !before.contains(it) && is_computing(*it));
        match new {
            Some(found) => break found,
            None => tokio::task::yield_now().await,
        }
    };

    assert!(Command::new("kill").args(["-9", &victim.to_string()]).status().unwrap().success());

    let told = running.await.unwrap();
    assert_eq!(told, Err(SandboxError::Lost));
    assert_eq!(sandbox.run(source("print(1)")).await.unwrap().stdout, "1\n");
}

/// Whether a worker is behind its walls: then it has been asked, because nobody warmed it.
fn is_computing(number: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{number}/status")).unwrap_or_default();
    status.contains("Seccomp:\t2") && status.contains("State:\tR")
}

#[tokio::test]
async fn an_idle_worker_that_died_is_noticed() {
    let sandbox = own_sandbox();
    let before = workers();
    sandbox.run(source("pass")).await.unwrap();
    for worker in workers().into_iter().filter(|it| !before.contains(it)) {
        assert!(Command::new("kill").args(["-9", &worker.to_string()]).status().unwrap().success());
    }

    let outcome = sandbox.run(source("print(2)")).await;

    // The signal may arrive while the worker is already asked.
    assert!(
        outcome.is_ok_and(|it| it.stdout == "2\n") || sandbox.run(source("pass")).await.is_ok()
    );
}

#[tokio::test]
async fn a_worker_has_nothing_but_its_pipes() {
    let sandbox = own_sandbox();
    let before = workers();
    sandbox.run(source("pass")).await.unwrap();
    let worker = workers().into_iter().find(|it| !before.contains(it)).unwrap();

    let environment = fs::read_to_string(format!("/proc/{worker}/environ")).unwrap();
    let status = fs::read_to_string(format!("/proc/{worker}/status")).unwrap();
    let limits = fs::read_to_string(format!("/proc/{worker}/limits")).unwrap();

    assert_eq!(environment, "");
    assert!(status.contains("Seccomp:\t2") && status.contains("NoNewPrivs:\t1"), "{status}");
    let files = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    assert_eq!(files.split_whitespace().nth(3), Some("0"), "{files}");
}

#[tokio::test]
async fn a_run_that_nobody_waits_for_ends() {
    let sandbox = own_sandbox();
    let given_up =
        tokio::time::timeout(Duration::from_millis(1), sandbox.run(source("while True: pass")));

    assert!(given_up.await.is_err());
    assert_eq!(sandbox.run(source("print(3)")).await.unwrap().stdout, "3\n");
}

#[tokio::test]
async fn without_the_binary_it_says_so() {
    let sandbox = Sandbox::new(Path::new("/nowhere/greenroom"));

    let error = sandbox.run(source("pass")).await.unwrap_err();

    assert!(error.to_string().starts_with("Python could not be started: "), "{error}");
}

#[tokio::test]
async fn a_warm_worker_answers_quickly() {
    let sandbox = own_sandbox();
    sandbox.warm().await.unwrap();

    let outcome = sandbox.run(source("print('warm')")).await.unwrap();

    assert_eq!((outcome.end, outcome.stdout.as_str()), (End::Exit(0), "warm\n"));
    assert!(outcome.guest_time < Duration::from_secs(1), "{:?}", outcome.guest_time);
    assert_eq!(printed("print(1)").await, "1\n");
    assert!(run("pass").await.is_success());
}
