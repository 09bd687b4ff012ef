//! The screen as a person uses it: the real program in a terminal, keys that are pressed, and what is seen.

use serde_json::{Value, json};

use super::{program::Room, window::Window};

/// Sixty lines, an endless answer, and so on.
pub fn answers() -> Value {
    let lines: Vec<String> =
        (1..=60).map(|number| format!("- line {number} of **many**")).collect();
    let odd = "# Plan\n\n日本語 e\u{301} 👨\u{200d}👩\u{200d}👧 \u{1b}]0;evil\u{7}\u{1b}[31mtame\u{1b}[2J\u{7}\n\n";
    json!([
        [{"text": format!("{odd}{}", lines.join("\n"))}],
        [{"repeat": {"times": 1_000_000, "text": "word ", "every_ms": 5}}],
    ])
}

#[test]
fn a_person_talks_reads_and_leaves() {
    let room = Room::new().playing(&answers());
    let window = Window::open(&room, "");
    window.sees("Say something: Enter sends it.");

    // Several lines are written, and sent at once.
    window.write("Hello");
    window.press(&["M-Enter"]);
    window.write("world");
    window.sees("  world");
    window.press(&["Enter"]);
    let seen = window.until("the end of the answer", |seen| {
        seen.contains("• line 60 of many") && seen.contains("─ ready")
    });
    assert!(!seen.contains("line 5 of"), "{seen}");

    // What was said before is scrolled to, and the end is found again.
    window.press(&["PPage", "PPage", "PPage"]);
    let seen = window.until("the beginning", |seen| seen.contains("Hello\n  world"));
    assert!(seen.contains("more below: Ctrl-End"), "{seen}");
    assert!(seen.contains("日本語 e\u{301} 👨👩👧 tame␇"), "{seen}");
    assert_ne!(window.shown("#{pane_title}"), "evil");
    window.press(&["C-End"]);
    window.sees("line 60 of many");

    // A smaller window shows the same, and so does a larger one.
    window.resize(40, 12);
    let seen = window.until("a small screen", |seen| {
        seen.lines().count() <= 12 && seen.contains("line 60") && seen.contains("─ ready")
    });
    assert!(seen.lines().all(|line| line.chars().count() <= 40), "{seen}");
    window.resize(100, 30);
    window.until("a large screen", |seen| seen.contains("line 40") && seen.contains("line 60"));

    // Words are found, and the message that has them is copied.
    window.press(&["C-f"]);
    window.sees("─ searching");
    window.write("line 7 of");
    window.sees("• line 7 of many");
    window.press(&["Enter"]);
    window.sees("─ reading");
    window.press(&["y"]);
    window.sees("The message is in the terminal's clipboard.");
    let copied = window.tmux(&["show-buffer"]);
    assert!(copied.contains("- line 7 of **many**"), "{copied}");
    window.press(&["Escape"]);
    window.sees("more below: Ctrl-End");

    // The keys are shown.
    window.press(&["F1"]);
    window.sees("Stop the answer and keep it; again: leave");
    window.press(&["Escape"]);
    window.sees("─ ready");

    // An answer that goes on is stopped, and what was said is kept.
    window.write("Go on for ever.");
    window.press(&["Enter"]);
    window.until("words", |seen| seen.contains("word word") && seen.contains("answering…"));
    window.press(&["C-c"]);
    let seen = window.sees("Stopped. What was said is kept.");
    assert!(seen.contains("word word"), "{seen}");

    // Leaving tells how to come back, and coming back shows what was said.
    window.sees("Ctrl-C again leaves.");
    window.press(&["C-c"]);
    let seen = window.left_with(130);
    let resume = seen.lines().find_map(|line| line.split_once("--session ")).expect(&seen).1;
    let again = Window::open(&room, &format!("--session {resume}"));
    again.sees("Stopped. What was said is kept.");
    again.press(&["C-d"]);
    assert!(again.left().contains(resume));
}

#[test]
fn the_shell_has_the_terminal_until_it_brings_the_screen_back() {
    let room = Room::new();
    let program = env!("CARGO_BIN_EXE_greenroom");
    // The shell waits for a line while the program is stopped, and brings it back then.
    let window = Window::of(
        &room,
        &format!(
            "set -m; '{program}' chat; echo away; read -r line; fg; echo \"left with $?\"; exec cat"
        ),
    );
    window.sees("Say something");
    assert_eq!(window.shown("#{mouse_any_flag}"), "1");
    window.press(&["F5"]);
    window.sees("Drag to select text.");

    window.press(&["C-z"]);
    window.sees("away");
    assert_eq!(window.shown("#{alternate_on} #{mouse_any_flag}"), "0 0");
    window.resize(40, 12);
    window.press(&["Enter"]);

    let seen = window.sees("─ ready");
    assert!(seen.lines().all(|line| line.chars().count() <= 40), "{seen}");
    assert_eq!(window.shown("#{alternate_on} #{mouse_any_flag}"), "1 0");
    window.write("What is written goes on below, in a window as narrow as this");
    window.sees("narrow as this");
    window.press(&["C-c", "C-c"]);
    window.left_with(130);
}

#[test]
fn sessions_and_models_are_changed_without_leaving() {
    let room = Room::new();
    let window = Window::open(&room, "");
    window.sees("Say something");
    window.write("What is 2 + 2?");
    window.press(&["Enter"]);
    window.until("an answer", |seen| seen.contains(" out · ") && seen.contains("─ ready"));

    window.press(&["F2"]);
    window.sees("Sessions (1)");
    window.press(&["e"]);
    window.sees("Enter keeps the description");
    window.write("My sums");
    window.press(&["Enter"]);
    window.sees("Greenroom · My sums");
    window.press(&["n"]);
    window.until("another session", |seen| {
        seen.contains("Say something") && !seen.contains("My sums")
    });
    window.press(&["F2"]);
    window.sees("Sessions (2)");
    window.press(&["/"]);
    window.sees("Type to see fewer");
    window.write("sums");
    window.sees("Sessions (1)");
    window.press(&["Enter"]);
    window.sees("Enter opens");
    window.press(&["Enter"]);
    window.until("the first session", |seen| {
        seen.contains("Greenroom · My sums") && seen.contains("What is 2 + 2?")
    });

    window.press(&["F3"]);
    window.sees("Models (");
    // The first that fits has the cursor, and not the one that stands where it was.
    window.write("gem");
    window.until("fewer models", |seen| seen.contains("/ gem") && !seen.contains("gpt-"));
    window.press(&["Enter"]);
    window.sees("gemini-2.5-pro answers from now on.");
    window.press(&["F3"]);
    window.sees("Models (");
    window.write("persona:optimist");
    window.sees("Enter takes “persona:optimist” as it is written");
    window.press(&["Enter"]);
    window.sees("persona:optimist answers from now on.");
    window.write("/model nonsense-9");
    window.press(&["Enter"]);
    window.until("a refusal", |seen| {
        seen.contains("nonsense-9") && seen.contains("persona:optimist")
    });

    window.press(&["F2"]);
    window.sees("Sessions (2)");
    window.press(&["d"]);
    window.sees("into the bin? y moves it");
    window.press(&["y"]);
    window.until("another one", |seen| seen.contains("Say something"));
    window.write("/exit");
    window.press(&["Enter"]);
    window.left();
    let sessions = room.chat(&["--list-sessions"]).good();
    assert!(!sessions.contains("My sums"), "{sessions}");
}

#[test]
fn one_change_of_a_draft_is_accepted_and_another_draft_rejected() {
    let edits = |first: &str, second: &str| {
        json!({"call": {"name": "patch_system_prompt", "input": {"edits": [
            {"find": "brief", "replace": first}, {"find": "once", "replace": second},
        ]}}})
    };
    let room = Room::new().playing(&json!([
        [edits("short", "twice")],
        [{"text": "Drafted."}],
        [edits("long", "never")],
        [{"text": "Drafted again."}],
    ]));
    let server = room.serve();
    let prompt = "Be brief and kind to everybody. Ask only once.";
    for id in ["ann", "ben"] {
        let persona = json!({"id": id, "name": id, "systemPrompt": prompt});
        server.asked("/api/storage/personas", Some(persona));
        let request = json!({"personaId": id, "message": "Improve it."});
        let told = server.asked("/api/persona-agent/chat", Some(request));
        assert!(told.contains("Drafted"), "{told}");
    }
    let window = Window::open(&room, "");
    window.sees("2 drafts wait");

    window.press(&["C-r"]);
    let seen = window.sees("Draft 1 of 2");
    assert!(seen.contains("ben:"), "the last one comes first: {seen}");
    window.press(&["r"]);
    window.sees("Why?");
    window.write("Too long.");
    window.press(&["Enter"]);
    let seen = window.sees("Draft 1 of 1");
    assert!(seen.contains("[x]brief→short and kind"), "{seen}");
    window.press(&["l"]);
    window.press(&["Space"]);
    window.sees("[ ]once→twice");
    window.press(&["a"]);
    window.sees("No draft waits for a decision.");
    window.press(&["Escape"]);
    window.sees("─ ready");
    window.press(&["C-d"]);
    window.left();

    let persona = server.asked("/api/storage/personas/ann", None);
    assert!(persona.contains("Be short and kind to everybody. Ask only once."), "{persona}");
    let rejected = server.asked("/api/pending-changes?state=rejected", None);
    assert!(rejected.contains("Too long."), "{rejected}");
}

#[test]
fn the_terminal_is_given_back_when_the_program_is_ended_from_outside() {
    let room = Room::new();
    let window = Window::open(&room, "");
    window.sees("Say something");
    window.write("What is 2 + 2?");
    window.press(&["Enter"]);
    window.until("an answer", |seen| seen.contains(" out · ") && seen.contains("─ ready"));
    let shell = window.shown("#{pane_pid}");
    let children = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children")).unwrap();
    let program = children.split_whitespace().next().unwrap().parse().unwrap();

    let program = rustix::process::Pid::from_raw(program).unwrap();
    rustix::process::kill_process(program, rustix::process::Signal::TERM).unwrap();

    assert!(window.left_with(130).contains("Resume it with: greenroom chat --session"));
}

#[test]
fn what_is_wrong_with_tools_stays_until_it_is_hidden() {
    let room = Room::new();
    room.write("data/chat/tools.yaml", "- fly\n- swim\n- ls\n");
    let window = Window::open(&room, "");
    window.sees("F6 hides this");

    window.write("What is 2 + 2?");
    window.press(&["Enter"]);
    let seen = window.until("an answer", |seen| seen.contains("─ ready") && seen.contains("4"));
    assert!(seen.contains("tools.yaml, line 1: There is no built-in tool “fly”"), "{seen}");
    let whole = seen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(whole.contains("A Python function is written as path.py:function."), "{seen}");
    window.press(&["F6"]);
    window.until("a screen without it", |seen| !seen.contains("tools.yaml"));
    window.press(&["C-d"]);
    window.left();
    assert!(room.log().contains("asked"), "{}", room.log());
}

#[test]
fn ctrl_c_is_heard_before_an_answer_begins() {
    let room = Room::new();
    let silent = "- mcp: silent\n  command: sleep\n  args: ['60']\n  start_seconds: 600\n";
    room.write("data/chat/tools.yaml", silent);
    let window = Window::open(&room, "");
    window.sees("Say something");
    window.write("Hello");
    window.press(&["Enter"]);
    window.sees("─ asking…");

    window.press(&["C-c"]);
    window.sees("The answer is stopped as soon as it begins. Ctrl-C again leaves.");
    window.press(&["C-c"]);

    // Something was said, though nobody heard it.
    assert!(window.left_with(130).contains("Resume it with"));
}

#[test]
fn a_session_that_was_only_opened_is_not_kept() {
    let room = Room::new();
    let window = Window::open(&room, "");
    window.sees("Say something");
    window.press(&["F2"]);
    window.sees("Sessions (1)");
    window.press(&["n"]);
    window.sees("Say something");
    window.press(&["C-d"]);
    assert!(window.left().contains("Nothing was said, so no session is kept."));
    let plain = Window::open(&room, "--plain");
    plain.sees("/help says more.");
    plain.press(&["C-d"]);
    plain.left();
    let named = Window::open(&room, "--new-session --description Plans");
    named.sees("Say something");
    named.press(&["C-d"]);
    assert!(named.left().contains("Resume it with"));
    let script = room.chat_typing(&["--new-session"], "");

    let kept = room.chat(&["--list-sessions"]).good();

    assert_eq!(kept.lines().count(), 3, "the named one and the script's: {kept}");
    assert!(kept.contains("Plans") && kept.contains(&script.session()), "{kept}");
}
