//! How long somebody waits until a terminal is ready for the first line: from the start of the program to
//! the first screen in a terminal, and to its end with nothing to read, against that of `true` and of what
//! other programs take to help.

use std::{
    io::Read,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use super::{
    client::Times,
    plan::Plan,
    table::{millis, title},
};

/// Nobody should wait longer for the first line.
const AIM: Duration = Duration::from_millis(50);
/// What the screen says when it waits for words.
const PROMPT: &str = "Enter sends";
/// Other programs to talk in a terminal, where they are installed.
const OTHERS: [&str; 5] = ["aichat", "llm", "ollama", "claude", "codex"];

pub fn measure(plan: &Plan) {
    title("Starting in a terminal");
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    std::fs::create_dir_all(data.join("chat")).unwrap();
    let config = "model: demo\nwindow_size: 20\nshould_truncate_results: true\n";
    std::fs::write(data.join("chat/config.yaml"), config).unwrap();
    let chat = |words: &[&str]| chat(plan, data, words);
    // The first one makes the database, and a session to go on with.
    assert!(chat(&["--single", "Hi"]).status().unwrap().success(), "it does not start");

    let rounds = plan.count(40, 5);
    let least = timed(rounds, || Command::new("true"));
    row("true", &least, &least);
    let back = timed(rounds, || chat(&[]));
    row("going on with a session", &back, &least);
    row("a new session", &timed(rounds, || chat(&["--new-session"])), &least);
    row("the list of sessions", &timed(rounds, || chat(&["--list-sessions"])), &least);
    for other in OTHERS.into_iter().filter(|other| is_there(other)) {
        let helping = || {
            let mut command = Command::new(other);
            command.arg("--help");
            command
        };
        row(&format!("{other} --help"), &timed(rounds.min(10), helping), &least);
    }
    judge("going on with a session", &back);
    match to_prompt(plan, data, rounds) {
        Some(drawn) => {
            row("to the first screen", &drawn, &least);
            judge("to the first screen", &drawn);
        }
        None => println!("  NOT MEASURED: the first screen needs `script` of util-linux."),
    }
}

/// Says loudly when somebody waits too long.
fn judge(what: &str, times: &Times) {
    let (p50, aim) = (millis(times.p50), millis(AIM));
    match times.p50 > AIM {
        true => println!("  >>> MISSED: {what} takes {p50:.1} ms, and the aim is {aim:.0} ms. <<<"),
        false => println!("  met: {what} takes {p50:.1} ms of {aim:.0} ms."),
    }
}

/// From the start of the program to the moment at which its screen can be written in, in a terminal that
/// `script` makes. What that and a shell take is in it.
fn to_prompt(plan: &Plan, data: &Path, rounds: usize) -> Option<Times> {
    if !is_there("script") {
        return None;
    }
    let line = format!(
        "stty cols 80 rows 24; exec '{}' chat --data '{}'",
        plan.binary.display(),
        data.display()
    );
    let one = || {
        let mut command = Command::new("script");
        command.args(["-qfec", &line, "/dev/null"]).env("TERM", "xterm-256color");
        command.env("DATABASE_URL", "").env("SHELL", "/bin/sh");
        command.env_remove("GREENROOM_SESSION_ID").env_remove("RETIRE_CURRENT_SESSION_ID");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let began = Instant::now();
        let mut child = command.spawn().unwrap();
        let mut out = child.stdout.take().unwrap();
        let (mut seen, mut piece) = (Vec::new(), [0; 8192]);
        while !String::from_utf8_lossy(&seen).contains(PROMPT) {
            let length = out.read(&mut piece).unwrap();
            assert!(length > 0, "no screen came: {}", String::from_utf8_lossy(&seen));
            seen.extend_from_slice(&piece[..length]);
        }
        let took = began.elapsed();
        // Without its terminal the program ends.
        child.kill().unwrap();
        child.wait().unwrap();
        took
    };
    Some(Times::of((0..rounds).map(|_| one()).collect()))
}

fn chat(plan: &Plan, data: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(&plan.binary);
    command.arg("chat").args(words).arg("--data").arg(data).env("DATABASE_URL", "");
    command.env_remove("GREENROOM_SESSION_ID").env_remove("RETIRE_CURRENT_SESSION_ID");
    command.env("GREENROOM_DEMO_PACE", "at-once").stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn timed(rounds: usize, command: impl Fn() -> Command) -> Times {
    let one = || {
        let mut command = command();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let began = Instant::now();
        command.status().unwrap();
        began.elapsed()
    };
    Times::of((0..rounds).map(|_| one()).collect())
}

fn row(what: &str, times: &Times, least: &Times) {
    let ratio = times.p50.as_secs_f64() / least.p50.as_secs_f64();
    let (p50, p99) = (millis(times.p50), millis(times.p99));
    println!("  {what:<30} p50 {p50:>7.2} ms   p99 {p99:>7.2} ms   {ratio:>6.1} × true");
}
