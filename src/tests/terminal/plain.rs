//! Line by line in a terminal, without a screen.

use serde_json::{Value, json};

use super::{program::Room, screen::answers, window::Window};

#[test]
fn whoever_gives_no_message_in_a_terminal_is_told_that_it_is_waited_for() {
    let room = Room::new();
    let window = Window::open(&room, "--single");
    window.sees("Write what to say; Ctrl-D on a line of its own sends it.");

    window.write("What is 2 + 2?");
    window.press(&["Enter", "C-d"]);

    assert!(window.left().contains('4'));
}

#[test]
fn plain_talks_line_by_line_in_a_terminal_too() {
    let room = Room::new();
    let window = Window::open(&room, "--plain");
    window.sees("/help says more.");
    assert_eq!(window.shown("#{alternate_on}"), "0");
    window.write("What is 2 + 2?");
    window.press(&["Enter"]);
    window.sees("4");
    window.press(&["C-d"]);
    window.left();
}

#[test]
fn a_draft_that_waits_is_named_with_its_number_after_the_answer() {
    let call = |name: &str, input: Value| json!([{"call": {"name": name, "input": input}}]);
    let page = json!({"op": "create", "entityType": "page", "page": {"title": "Fog"}});
    let room = Room::new().playing(&json!([call("propose_change", page), [{"text": "Drafted."}]]));
    room.write("data/chat/tools.yaml", "- propose_change\n");
    let window = Window::open(&room, "--plain");
    window.sees("/help says more.");

    window.write("Write about fog.");
    window.press(&["Enter"]);
    window.sees("A draft waits for your decision: /drafts shows it.");
    window.sees("1. ");
    window.write("/accept 1");
    window.press(&["Enter"]);

    window.sees("Accepted: ");
    window.press(&["C-d"]);
    window.left();
}

#[test]
fn line_by_line_a_terminal_is_not_told_what_to_do_and_a_pipe_gets_all() {
    let room = Room::new().playing(&answers());
    let window = Window::open(&room, "--plain");
    window.sees("/help says more.");
    window.write("Hello");
    window.press(&["Enter"]);
    window.sees("line 60 of **many**");
    window.press(&["C-d"]);
    let seen = window.left();
    assert_ne!(window.shown("#{pane_title}"), "evil");

    // What is shown again is clean, too.
    let resume = seen.lines().find_map(|line| line.split_once("--session ")).expect(&seen).1;
    let again = Window::open(&room, &format!("--plain --session {resume}"));
    again.sees("line 60 of **many**");
    let all = again.tmux(&["capture-pane", "-p", "-S", "-200"]);
    assert!(all.contains("tame␇"), "{all}");
    assert_ne!(again.shown("#{pane_title}"), "evil");
    again.press(&["C-d"]);
    again.left();

    let piped = room.chat(&["--single", "--new-session", "Hello"]).good();
    assert!(piped.contains("\u{1b}]0;evil\u{7}"), "{piped:?}");
}
