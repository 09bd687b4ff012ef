//! Two who talk in one session, each in a terminal of their own.

use serde_json::{Value, json};

use super::{
    program::{Going, Room},
    window::Window,
};

fn ticking() -> Value {
    json!([{"repeat": {"times": 1_000_000, "text": "tick ", "every_ms": 5}}])
}

/// The name of the one session that there is.
fn only_session(room: &Room) -> String {
    let listed = room.chat(&["--list-sessions", "--json"]).good();
    let listed: Value = serde_json::from_str(listed.trim()).unwrap();
    listed["id"].as_str().unwrap().to_owned()
}

/// Says something in a session, and is being answered without end.
fn talking_on(room: &Room, id: &str, words: &str) -> Going {
    let slow = json!({"loop": true, "answers": [ticking()]});
    let slow = room.write("slow.json", &slow.to_string());
    let mut command = room.command(&["chat", "--single", "--session", id, words]);
    command.env("GREENROOM_DEMO_SCRIPT", slow);
    let mut going = Going::of(command);
    going.until("tick");
    going
}

/// Another terminal talks in the session that is open in this one.
fn two_talk_in_one_session(room: &Room) {
    let window = Window::open(room, "");
    window.sees("Say something");
    window.write("Mine?");
    window.press(&["Enter"]);
    window.until("an answer", |seen| seen.contains("Short.") && seen.contains("─ ready"));
    let id = &only_session(room);

    // What they say comes by itself, with its answer.
    room.chat(&["--single", "--session", id, "Theirs, first?"]).good();
    window.until("their words", |seen| {
        seen.contains("Theirs, first?") && seen.matches("Short.").count() == 2
    });

    // Whoever is faster is heard first, and what was written waits in the field.
    let going = talking_on(room, id, "Theirs, second?");
    window.write("Mine, too?");
    window.press(&["Enter"]);
    window.until("their answer", |seen| {
        let heard = seen.contains("Theirs, second?") && seen.contains("tick tick");
        heard && seen.contains("> Mine, too?")
    });
    going.signal(rustix::process::Signal::INT);
    going.end();
    let seen = window.sees("Stopped. What was said is kept.");
    assert!(seen.contains("> Mine, too?"), "{seen}");
    window.press(&["C-c"]);
    window.sees("Up brings back what you wrote. Ctrl-C again leaves.");
    window.press(&["C-c"]);
    window.left_with(130);
}

#[test]
fn what_another_terminal_says_in_the_session_is_seen() {
    two_talk_in_one_session(&Room::new().playing(&json!([[{"text": "Short."}]])));
}

#[test]
fn what_another_terminal_says_to_a_server_is_seen() {
    let short = json!([{"text": "Short."}]);
    let room = Room::new().playing(&json!([short, short, ticking()]));
    let _server = room.serve();
    two_talk_in_one_session(&room);
}

#[test]
fn line_by_line_what_another_terminal_says_is_shown_before_one_speaks() {
    let room = Room::new().playing(&json!([[{"text": "Short."}]]));
    let window = Window::open(&room, "--plain");
    window.sees("/help says more.");
    window.write("Mine?");
    window.press(&["Enter"]);
    window.sees("Short.");
    let id = &only_session(&room);
    room.chat(&["--single", "--session", id, "Theirs, first?"]).good();
    let going = talking_on(&room, id, "Theirs, second?");

    window.write("Mine, too?");
    window.press(&["Enter"]);
    window.sees("tick tick");
    going.signal(rustix::process::Signal::INT);
    going.end();

    let seen = window.sees("What you wrote was not sent.");
    let at = |text: &str| seen.find(text).unwrap_or_else(|| panic!("no {text}: {seen}"));
    assert!(at("Meanwhile, from elsewhere:") < at("> Theirs, first?"), "{seen}");
    assert!(at("> Theirs, first?") < at("> Theirs, second?"), "{seen}");
    assert!(at("> Theirs, second?") < at("Somebody else is being answered here:"), "{seen}");
    window.press(&["C-d"]);
    window.left();
}
