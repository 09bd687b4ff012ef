//! Several processes on one data folder: nobody takes another's runs for left ones.

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{
    between::{Between, Fate},
    program::Room,
};

fn endless() -> Value {
    json!([[{"repeat": {"times": 1_000_000, "text": "word ", "every_ms": 5}}]])
}

#[test]
fn killed_in_the_middle_it_keeps_what_was_said_and_can_be_gone_on_with() {
    let room = Room::new().playing(&endless());
    let mut going = room.chatting(&["--single", "--json", "Tell me everything."]);
    going.until("\"delta\"");
    let id = {
        let line = going.out.lines().next().unwrap();
        let told: Value = serde_json::from_str(line).unwrap();
        told["session"]["id"].as_str().unwrap().to_owned()
    };
    // Some of it is in the database within a moment.
    let words = going.out.matches("\"delta\"").count() + 60;
    while going.out.matches("\"delta\"").count() < words {
        let more = going.out.len() + 1;
        going.until_longer(more);
    }
    going.signal(Signal::KILL);
    drop(going);

    let again = room.chat_typing(&["--session", &id], "");

    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(again.err.contains("< word word"), "{again:?}");
    assert!(!again.err.contains("It is being answered"), "{again:?}");
}

#[test]
fn two_terminals_answer_beside_each_other() {
    let room = Room::new().playing(&endless());
    let mut one = room.chatting(&["--single", "--new-session", "Tell me everything."]);
    one.until("word word");
    let mut other = room.chatting(&["--single", "--new-session", "Me, too."]);
    other.until("word word");
    let seen = one.out.len();

    one.until_longer(seen + 50);
    one.signal(Signal::INT);
    other.signal(Signal::INT);

    let (one, other) = (one.end(), other.end());
    assert_eq!((one.code, other.code), (Some(130), Some(130)), "{one:?} {other:?}");
    assert_ne!(one.session(), other.session());
}

#[test]
fn the_same_session_is_answered_once_at_a_time() {
    let room = Room::new().playing(&endless());
    let mut one = room.chatting(&["--single", "--new-session", "Tell me everything."]);
    one.until("word word");

    let other = room.chat(&["--single", "And me?"]);

    assert_eq!(other.code, Some(75), "{other:?}");
    assert!(other.err.contains("still being answered"), "{other:?}");
    one.signal(Signal::INT);
    assert_eq!(one.end().code, Some(130));
}

#[test]
fn an_answer_of_another_terminal_is_followed_and_stopped_from_here() {
    let room = Room::new().playing(&endless());
    let mut one = room.chatting(&["--single", "--new-session", "Tell me everything."]);
    one.until("word word");

    let mut other = room.chatting(&[]);
    other.until("word word");
    other.signal(Signal::INT);
    let (one, other) = (one.end(), other.end());

    assert_eq!(one.code, Some(130), "{one:?}");
    assert!(other.err.contains("It is being answered."), "{other:?}");
    assert!(!other.err.contains("word word"), "it is printed once: {other:?}");
    assert!(other.err.contains("Stopped."), "{other:?}");
    assert_eq!(one.session(), other.session());
}

#[test]
fn a_server_that_starts_leaves_the_terminals_answer_alone() {
    let room = Room::new().playing(&endless());
    let mut one = room.chatting(&["--single", "--new-session", "Tell me everything."]);
    one.until("word word");

    let server = room.serve();
    let seen = one.out.len();
    one.until_longer(seen + 50);
    one.signal(Signal::INT);

    assert_eq!(one.end().code, Some(130), "it was not interrupted by the server");
    drop(server);
}

#[test]
fn a_server_on_the_folder_is_found_and_answers() {
    let room = Room::new().playing(&json!([[{"text": "From afar."}]]));
    let mut server = room.serve();

    let ran = room.chat(&["--single", "--verbose", "Hi"]);

    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "From afar.\n"), "{ran:?}");
    assert!(ran.err.contains(&server.address), "{ran:?}");
    let second = room.command(&["serve", "--addr", "127.0.0.1:0"]).output().unwrap();
    assert_eq!(second.status.code(), Some(1), "a file has one server at a time");
    let told = String::from_utf8(second.stderr).unwrap();
    assert!(told.contains(&server.address), "{told}");
    server.kill();
    let alone = room.chat(&["--single", "--verbose", "Hi"]);
    assert_eq!((alone.code, alone.out.as_str()), (Some(0), "From afar.\n"), "{alone:?}");
    assert_eq!(alone.session(), ran.session(), "it is the same session without the server");
}

#[test]
fn with_a_server_all_is_as_without() {
    let (home, away) = (Room::new().playing(&endless()), Room::new());
    let server = home.serve();
    let with = |words: &[&str]| away.chat(&[words, &["--server", &server.address]].concat());
    let mut going =
        away.chatting(&["--single", "--new-session", "--server", &server.address, "Go on."]);
    going.until("word word");

    // The terminal is gone, and the answer goes on: it is attached to, followed and stopped.
    going.signal(Signal::KILL);
    drop(going);
    let listed = with(&["--list-sessions", "--json"]).good();
    let session: Value = serde_json::from_str(listed.trim()).unwrap();
    let id = session["id"].as_str().unwrap();
    let busy = with(&["--single", "--session", id, "Hi"]);
    assert_eq!(busy.code, Some(75), "{busy:?}");
    let mut back = away.chatting(&["--session", &id[..8], "--server", &server.address]);
    back.until("word word word");
    back.signal(Signal::INT);
    let back = back.end();

    assert!(back.err.contains("It is being answered."), "{back:?}");
    assert!(back.err.contains("Stopped."), "{back:?}");
    assert!(back.err.contains(&format!("--server {}", server.address)), "{back:?}");
    with(&["--session", id, "--description", "Far away"]).good();
    let folder = away.path("out").display().to_string();
    away.run(&["export", "far away", "--dir", &folder, "--server", &server.address]).good();
    assert!(away.path("out/history.json").exists());
    with(&["--delete-session", id]).good();
    assert_eq!(with(&["--list-sessions", "--json"]).good(), "");
    assert!(!away.data().join("greenroom.db").exists(), "nothing is opened here");
}

#[test]
fn events_from_a_server_say_when_they_happened() {
    let room = Room::new();
    let server = room.serve();
    let json = |line: &str| serde_json::from_str::<Value>(line).unwrap();

    let out = room.chat(&["--single", "--json", "--server", &server.address, "Hi"]).good();

    let last = out.lines().last().map(json).unwrap();
    let path = format!("/api/runs/{}/events", last["run"].as_str().unwrap());
    let again = server.asked(&path, None);
    let told = again.lines().rev().find_map(|line| line.strip_prefix("data: ")).map(json).unwrap();
    assert_eq!((&told["type"], &told["at"]), (&last["type"], &last["at"]), "{again}");
}

#[test]
fn what_is_said_is_said_once_though_the_answer_is_lost() {
    let room = Room::new().playing(&json!([[{"text": "Yes."}]]));
    let server = room.serve();
    let lost = std::sync::atomic::AtomicUsize::new(0);
    let between = Between::before(&server, move |line| {
        let is_said = line.starts_with("POST ") && line.contains("/messages ");
        match is_said && lost.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0 {
            true => Fate::Lost,
            false => Fate::Passed,
        }
    });

    let ran = room.chat(&["--single", "--server", &between.address, "Hi"]);

    assert_eq!(between.met().len(), 1, "the answer was lost");
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "Yes.\n"), "{ran:?}");
    let listed = room.chat(&["--list-sessions", "--json"]).good();
    let session: Value = serde_json::from_str(listed.trim()).unwrap();
    assert_eq!(session["turns"], 1, "{listed}");
}

#[test]
fn a_server_is_told_who_asks() {
    let room = Room::new();
    let (mine, other) = (Some("gr-token-of-mine"), Some("gr-token-of-others"));
    for (option, variable) in [(None, mine), (mine, None), (mine, other)] {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let heard = std::thread::spawn(move || {
            use std::io::{Read, Write};
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = [0; 4096];
            let length = stream.read(&mut head).unwrap();
            stream.write_all(b"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n").unwrap();
            String::from_utf8_lossy(&head[..length]).into_owned()
        });

        let mut words = vec!["--list-sessions", "--server", address.as_str()];
        words.extend(option.into_iter().flat_map(|token| ["--token", token]));
        let variables: Vec<(&str, &str)> =
            variable.into_iter().map(|token| ("GREENROOM_TOKEN", token)).collect();
        let ran = room.chat_in(&words, &variables);

        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.err.contains("GREENROOM_TOKEN"), "{ran:?}");
        let head = heard.join().unwrap().to_lowercase();
        assert!(head.contains("authorization: bearer gr-token-of-mine"), "{head}");
    }
}

#[test]
fn a_server_tells_what_is_wrong_with_its_tools() {
    let (home, away) = (Room::new(), Room::new());
    home.write("data/chat/tools.yaml", "- fly\n- ls\n");
    let server = home.serve();

    let ran = away.chat(&["--single", "--server", &server.address, "What is 2 + 2?"]);

    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.contains("tools.yaml, line 1: There is no built-in tool “fly”"), "{ran:?}");
}

#[test]
fn a_server_with_accounts_says_how_to_be_let_in() {
    let room = Room::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let answers = std::thread::spawn(move || {
        use std::io::{Read, Write};
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = [0; 4096];
        assert!(stream.read(&mut head).unwrap() > 0);
        let body = r#"{"error": {"code": "sign_in", "message": "Sign in first.", "reason": "Sign in first."}}"#;
        let length = body.len();
        write!(stream, "HTTP/1.1 401 No\r\nContent-Length: {length}\r\n\r\n{body}").unwrap();
    });

    let ran = room.chat(&["--single", "--server", &address, "Hi"]);

    answers.join().unwrap();
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let how = format!("make a token on {address}/account, and set GREENROOM_TOKEN");
    assert!(ran.err.contains(&how), "{ran:?}");
}
