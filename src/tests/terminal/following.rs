//! Words as they come, stopping them, and what of a session is sent.

use std::process::Stdio;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{
    between::{Between, Fate},
    program::{Going, PATIENCE, Room, read_json},
    window::Window,
};

fn endless() -> Value {
    json!([[{"repeat": {"times": 1_000_000, "text": "word ", "every_ms": 5}}]])
}

#[test]
fn ctrl_c_stops_the_answer_and_keeps_it() {
    let room = Room::new().playing(&endless());
    let mut going = room.chatting(&["--single", "Tell me everything."]);
    going.until("word word word");

    going.signal(Signal::INT);
    let ran = going.end();

    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert!(ran.err.contains("Stopped. What was said is kept."), "{ran:?}");
    let again = room.chat_typing(&["--session", &ran.session()], "");
    assert!(again.err.contains("< word word word"), "{again:?}");
}

#[test]
fn in_a_conversation_ctrl_c_stops_the_answer_too() {
    let room = Room::new().playing(&endless());
    let mut going = room.chatting(&["--json"]);
    going.say("Go on for ever.");
    going.until("\"delta\"");

    going.signal(Signal::INT);
    going.until("\"stopped\"");
    let ran = going.end();

    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert!(ran.err.contains("Resume it with"), "{ran:?}");
}

#[test]
fn a_second_ctrl_c_leaves_though_the_answer_does_not_stop() {
    let room = Room::new().playing(&endless());
    let server = room.serve();
    let mut going = room.chatting(&["--single", "Tell me everything."]);
    going.until("word word");

    // A server that does nothing any more does not stop an answer, either.
    server.signal(Signal::STOP);
    going.signal(Signal::INT);
    going.signal(Signal::INT);
    let ran = going.until_it_ends(Signal::INT);

    assert_eq!(ran.code, Some(130), "{ran:?}");
    server.signal(Signal::CONT);
}

#[test]
fn ctrl_c_is_heard_whatever_a_server_does_not_answer() {
    let room = Room::new().playing(&json!([[{"text": "Yes."}]]));
    let server = room.serve();
    for (typed, asked) in
        [("/drafts", "/drafts "), ("/model persona:optimist", "PATCH "), ("Hi", "/events?after=")]
    {
        let fate = move |line: &str| if line.contains(asked) { Fate::Held } else { Fate::Passed };
        let between = Between::before(&server, fate);
        let mut going = room.chatting(&["--new-session", "--plain", "--server", &between.address]);
        going.say(typed);
        between.meets();

        let ran = going.until_it_ends(Signal::INT);

        assert_eq!(ran.code, Some(130), "{typed}: {ran:?}");
        assert_eq!(ran.out, "", "{typed}: {ran:?}");
    }
}

#[test]
fn ctrl_c_is_heard_before_the_screen_is_there() {
    let room = Room::new().playing(&json!([[{"text": "Yes."}]]));
    let id = room.chat(&["--single", "Hi"]).session();
    let server = room.serve();
    let between = Between::before(&server, |line| match line.contains("/messages?") {
        true => Fate::Held,
        false => Fate::Passed,
    });
    // Ctrl-C is for the program alone.
    let (program, address) = (env!("CARGO_BIN_EXE_greenroom"), &between.address);
    let chat = format!("'{program}' chat --session {id} --server {address}");
    let window = Window::of(&room, &format!("set -m; {chat}; echo \"left with $?\"; exec cat"));
    between.meets();

    window.press(&["C-c"]);

    window.left_with(130);
}

#[test]
fn a_model_is_sent_whole_exchanges_and_verbose_tells_what_is_not() {
    let room = Room::new();
    room.chat(&["--single", "--window-size", "2", "My name is Ann."]).good();
    room.chat(&["--single", "What is 1 + 1?"]).good();

    let third = room.chat(&["--single", "--verbose", "What is 2 + 2?"]);
    let fourth = room.chat(&["--single", "--verbose", "What is 3 + 3?"]);

    assert!(third.err.contains("not sent: 1 exchange left out (2 messages)"), "{third:?}");
    assert!(fourth.err.contains("not sent: 2 exchanges left out (4 messages)"), "{fourth:?}");
}

#[test]
fn what_leaves_the_window_is_summed_up_and_told() {
    let answers = json!([
        [{"text": "One."}], [{"text": "Two."}],
        // The third question has the first exchange summed up before it is answered.
        [{"text": "The person counts."}], [{"text": "Three."}],
    ]);
    // One script for the whole session, so that it is one process.
    let room = Room::new().playing(&answers);
    let words = ["--verbose", "--window-size", "2", "--conversation-manager", "summarizing"];

    let ran = room.chat_typing(&words, "a\nb\nc\n");

    assert_eq!(ran.out, "One.\nTwo.\nThree.\n", "{ran:?}");
    assert!(ran.err.contains("1 exchange left out (2 messages), told as a summary"), "{ran:?}");
}

#[test]
fn a_summary_that_fails_leaves_a_window_like_any_other() {
    let answers = json!([
        [{"text": "One."}], [{"text": "Two."}],
        [{"error": {"fault": "bad_request", "message": "no"}}], [{"text": "Three."}],
    ]);
    let room = Room::new().playing(&answers);
    let words = ["--verbose", "--window-size", "2", "--conversation-manager", "summarizing"];

    let ran = room.chat_typing(&words, "a\nb\nc\n");

    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "One.\nTwo.\nThree.\n"), "{ran:?}");
    assert!(ran.err.contains("not sent: 1 exchange left out (2 messages)\n"), "{ran:?}");
}

#[test]
fn the_model_can_be_changed_on_the_way() {
    let room = Room::new().playing(&json!([[{"text": "Yes."}]]));

    let ran =
        room.chat_typing(&[], "Hi\n/model persona:optimist\nHi\n/nonsense\n/drafts\n/exit\nHi\n");

    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "Yes.\nYes.\n"), "{ran:?}");
    assert!(ran.err.contains("persona:optimist speaks now."), "{ran:?}");
    assert!(ran.err.contains("There is no /nonsense"), "{ran:?}");
    assert!(ran.err.contains("Nothing waits"), "{ran:?}");
    let folder = room.path("out").display().to_string();
    room.run(&["export", &ran.session(), "--dir", &folder]).good();
    let turns = read_json(&room.path("out/metadata.json"))["turns"].clone();
    assert_eq!(turns[1]["overrides"], json!({"model": "persona:optimist"}), "{turns}");
}

#[test]
fn whoever_stops_reading_stops_the_answer() {
    let room = Room::new().playing(&endless());
    let mut command = room.command(&["chat", "--single", "Tell me everything."]);
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());

    let output = child.wait_with_output().unwrap();

    assert_eq!(output.status.code(), Some(1));
    let again = room.chat_typing(&[], "");
    assert!(!again.err.contains("It is being answered"), "{again:?}");
}

/// A server of tools that never says anything.
const SILENT: &str = "- mcp: silent\n  command: sleep\n  args: ['300']\n  start_seconds: 600\n";

#[test]
fn ctrl_c_is_heard_while_tools_are_looked_for() {
    let room = Room::new();
    room.write("data/chat/tools.yaml", SILENT);
    let mut going = room.chatting(&["--single", "--json", "Hi"]);
    going.until("\"session\"");
    let began = std::time::Instant::now();

    going.signal(Signal::INT);
    let ran = going.end();

    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert!(ran.err.contains("Stopped before anything was sent."), "{ran:?}");
    assert!(began.elapsed() < PATIENCE, "it waited for the server");
    std::fs::remove_file(room.path("data/chat/tools.yaml")).unwrap();
    assert_eq!(room.chat(&["--single", "What is 2 + 2?"]).session(), ran.session());
}

#[test]
fn ctrl_c_is_heard_while_something_is_being_said() {
    let room = Room::new();
    room.write("data/chat/tools.yaml", SILENT);
    let mut going = room.chatting(&["--json"]);
    going.until("\"session\"");
    going.say("Hi");
    let began = std::time::Instant::now();

    let ran = going.until_it_ends(Signal::INT);

    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert!(began.elapsed() < PATIENCE, "it waited for the server");
}

#[test]
fn a_disk_that_is_full_is_told() {
    let room = Room::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = room.command(&["chat", "--single", "What is 2 + 2?"]);
    command.stdout(full);

    let output = command.output().unwrap();

    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("greenroom: Nothing can be printed: "), "{told}");
}

#[test]
fn what_an_answer_took_is_told_as_people_read_it() {
    let usage = json!({"usage": {"input": 12_345, "output": 7}});
    let room = Room::new().playing(&json!([[{"text": "Yes."}, usage]]));

    let ran = room.chat(&["--single", "--verbose", "Hi"]);

    assert!(ran.err.contains("12\u{202f}345 in"), "{ran:?}");
    assert!(!ran.err.contains("u{202f}"), "{ran:?}");
}

#[test]
fn why_an_answer_is_cut_stands_on_a_line_of_its_own() {
    let room = Room::new().playing(&endless());
    let mut server = room.serve();
    let mut command = room.command(&["chat", "--single", "Tell me everything."]);
    command.stderr(Stdio::null());
    let mut going = Going::of(command);
    going.until("word word");

    server.kill();
    going.until("\n");

    assert!(going.out.trim_end_matches('\n').ends_with("word "), "{}", going.out);
}

#[test]
fn a_script_that_is_not_there_is_named_and_an_empty_name_is_none() {
    let room = Room::new();

    let missing = room.chat_in(&["--single", "Hi"], &[("GREENROOM_DEMO_SCRIPT", "no/such.json")]);
    let empty = room.chat_in(&["--single", "What is 2 + 2?"], &[("GREENROOM_DEMO_SCRIPT", "")]);

    assert_eq!(missing.code, Some(1), "{missing:?}");
    assert!(missing.err.contains("no/such.json: "), "{missing:?}");
    assert!(empty.good().contains('4'));
}
