//! What is said once, and what is refused.

use greenroom::domain::budget::Budgets;
use serde_json::{Value, json};

use super::program::Room;

fn hello() -> Value {
    json!([[{"text": "Hello "}, {"text": "there."}]])
}

#[test]
fn one_message_is_answered_with_nothing_but_the_answer_on_standard_output() {
    let room = Room::new().playing(&hello());

    let ran = room.chat(&["--single", "Hi"]);

    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "Hello there.\n"), "{ran:?}");
    assert_eq!(ran.err.trim(), format!("session {}", ran.session()));
    assert!(uuid::Uuid::parse_str(&ran.session()).unwrap().get_version_num() == 4);
}

#[test]
fn a_message_comes_from_standard_input_without_one_or_with_a_dash() {
    let room = Room::new();

    for words in [&["--single"][..], &["--single", "-"]] {
        let ran = room.chat_typing(words, "What is 2 + 3?\n");
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.out.contains('5'), "{ran:?}");
    }
    let listed = room.chat(&["--list-sessions", "--json"]).good();
    let session: Value = serde_json::from_str(listed.trim()).unwrap();
    assert_eq!(session["turns"], 2, "both were said in the current session");
}

#[test]
fn what_is_no_text_is_not_taken_for_the_end_of_input() {
    let room = Room::new().playing(&hello());

    let single = room.chat_typing(&["--single"], b"caf\xe9\n");
    let lines = room.chat_typing(&["--plain"], b"Hi\ncaf\xe9\nHi\n");

    for (ran, out) in [(&single, ""), (&lines, "Hello there.\n")] {
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), out), "{ran:?}");
        assert!(ran.err.contains("Standard input cannot be read: "), "{ran:?}");
    }
    assert!(lines.err.contains("Resume it with: "), "{lines:?}");
}

#[test]
fn a_message_that_is_too_long_begins_no_session() {
    let room = Room::new();

    // The reading of the second one ends within a letter.
    for words in ["x".repeat(50_001), format!("x{}", "語".repeat(66_667))] {
        let ran = room.chat_typing(&["--single", "--new-session"], words);

        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{ran:?}");
        assert!(ran.err.contains("too long"), "{ran:?}");
    }
    assert_eq!(room.chat(&["--list-sessions", "--json"]).good(), "");
}

#[test]
fn events_are_lines_of_json() {
    let room = Room::new().playing(&hello());

    let out = room.chat(&["--single", "--json", "Hi"]).good();

    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(kinds.first(), Some(&"session"));
    assert_eq!(kinds.last(), Some(&"ended"));
    let words: String = lines.iter().filter_map(|line| line["delta"].as_str()).collect();
    assert_eq!(words, "Hello there.");
    let seqs: Vec<u64> = lines.iter().filter_map(|line| line["seq"].as_u64()).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
    assert!(lines[1]["at"].is_string() && lines[1]["run"].is_string());
}

#[test]
fn what_makes_no_sense_is_refused_with_the_code_for_that() {
    let room = Room::new();
    let prompt = room.write("prompt.md", "Be brief.");
    let refused: &[(&[&str], &str)] = &[
        (&["Hi"], "--single"),
        (&["--single", ""], "nothing to say"),
        (&["--single", " \n "], "nothing to say"),
        (&["--description", "x"], "needs --session"),
        (&["--system-prompt", "a", "--system-prompt-file", &prompt], "not both"),
        (&["--new-session", "--session", "a"], "cannot be used with"),
        (&["--list-sessions", "--single"], "cannot be used with"),
        (&["--single", "--window-size", "0", "Hi"], "1 to 1000"),
        (&["--single", "--window-size", "many", "Hi"], "invalid value"),
        (&["--single", "--should-truncate-results", "perhaps", "Hi"], "true or false"),
        (&["--single", "--conversation-manager", "magic", "Hi"], "sliding_window"),
        (&["--single", "--model", "nobody-knows-it", "Hi"], "no model"),
        (&["--single", "--model", "gpt-5.1-mni", "Hi"], "write openai/gpt-5.1-mni, or add it"),
        (&["--single", "--model", "persona:nobody", "Hi"], "no persona"),
        (&["--single", "--model", "persona:", "Hi"], "persona:ID"),
        (&["--single", "--server", "nonsense", "Hi"], "no address"),
        (&["--no-such-option"], "unexpected argument"),
    ];

    for (words, told) in refused {
        let ran = room.chat(words);
        assert_eq!(ran.code, Some(2), "{words:?}: {ran:?}");
        assert!(ran.err.contains(told), "{words:?}: {ran:?}");
        assert_eq!(ran.out, "", "{words:?}");
    }
    let listed = room.chat(&["--list-sessions", "--json"]).good();
    assert_eq!(listed, "", "what was refused began no session");
}

#[test]
fn what_is_not_there_has_a_code_of_its_own() {
    let room = Room::new();

    for words in [
        &["--single", "--session", "nothing", "Hi"][..],
        &["--delete-session", "nothing"],
        &["--session", "nothing", "--description", "x"],
        &["--single", "--system-prompt-file", "/nowhere.md", "Hi"],
    ] {
        let ran = room.chat(words);
        assert_eq!(ran.code, Some(66), "{words:?}: {ran:?}");
    }
    let ran = room.chat_in(&["--single", "Hi"], &[("GREENROOM_SESSION_ID", "gone")]);
    assert_eq!(ran.code, Some(66), "{ran:?}");
    assert!(ran.err.contains("GREENROOM_SESSION_ID"), "{ran:?}");
    for words in [&["rate", "nothing"][..], &["export", "nothing", "--dir", "out"]] {
        let ran = room.run(words);
        assert_eq!(ran.code, Some(66), "{words:?}: {ran:?}");
        assert!(ran.err.contains("There is no session “nothing”."), "{words:?}: {ran:?}");
    }
}

#[test]
fn a_server_that_is_not_there_is_a_failure() {
    let room = Room::new();

    let ran = room.chat(&["--single", "--server", "http://127.0.0.1:9", "--new-session", "Hi"]);

    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("could not be reached"), "{ran:?}");
}

#[test]
fn an_answer_that_fails_says_why_and_keeps_what_was_said() {
    let answers =
        json!([[{"text": "So far "}, {"error": {"fault": "bad_request", "message": "no"}}]]);
    let room = Room::new().playing(&answers);

    let ran = room.chat(&["--single", "Hi"]);

    assert_eq!((ran.code, ran.out.as_str()), (Some(1), "So far \n"), "{ran:?}");
    assert!(ran.err.lines().count() >= 2, "{ran:?}");
    let again = room.chat_typing(&[], "");
    assert!(again.err.contains("< So far"), "{again:?}");
}

#[tokio::test]
async fn an_answer_that_is_not_whole_is_no_success() {
    let cut = json!([{"text": "So far"}, {"stop": "max_tokens"}]);
    let refused = json!([{"text": "No."}, {"stop": "refusal"}]);
    let spent = json!([
        {"text": "Let me see."},
        {"call": {"name": "look_up", "input": {}}},
        {"usage": {"input": 5, "output": 2_000_000}},
    ]);
    for (answer, out, told) in [
        (cut, "So far\n", "The answer was cut off at its longest."),
        (refused, "No.\n", "The model refused to answer. Ask it in other words."),
        (spent, "Let me see.\n", "The run wrote as much as it may and was ended."),
    ] {
        let room = Room::new().playing(&json!([answer]));
        room.limit(Budgets { run_tokens: Some(1_000_000), ..Budgets::default() }).await;

        let ran = room.chat(&["--single", "Hi"]);
        let json = room.chat(&["--single", "--json", "Hi"]);
        let typed = room.chat_typing(&["--plain"], "Hi\nAnd?\n");

        assert_eq!((ran.code, ran.out.as_str()), (Some(1), out), "{ran:?}");
        assert!(ran.err.contains(told), "{ran:?}");
        assert_eq!(json.code, Some(1), "{json:?}");
        assert_eq!(
            (typed.code, typed.out.as_str()),
            (Some(1), out),
            "nobody would see it: {typed:?}"
        );
    }
}

#[test]
fn help_has_three_examples_and_ends_without_a_session() {
    let room = Room::bare();

    for flag in ["-h", "--help"] {
        let help = room.chat(&[flag]).good();
        for word in [
            "--single",
            "--new-session",
            "--session",
            "--list-sessions",
            "--description",
            "--delete-session",
            "--model",
            "--window-size",
            "--should-truncate-results",
            "--system-prompt",
            "--system-prompt-file",
            "--config",
            "--verbose",
            "--server",
        ] {
            assert!(help.contains(word), "{word}");
        }
        let examples = help.lines().filter(|line| line.contains("greenroom chat --"));
        assert!(examples.count() >= 3, "{help}");
        assert!(help.contains("130"), "the codes are told");
    }
    assert!(!room.data().join("greenroom.db").exists());
}

#[test]
fn shells_are_helped() {
    let room = Room::bare();

    for shell in ["bash", "zsh", "fish"] {
        let script = room.run(&["completions", shell]).good();
        assert!(script.contains("list-sessions"), "{shell}");
        assert!(!script.contains("sandbox-worker"), "{shell}");
        assert!(script.contains("summarizing"), "{shell} knows what can be chosen");
        let wrapper = room.run(&["shell-init", shell]).good();
        assert!(wrapper.contains("GREENROOM_SESSION_ID RETIRE_CURRENT_SESSION_ID"), "{shell}");
        assert!(wrapper.contains("GREENROOM_SESSION_KEPT"), "{shell}");
    }
    assert_eq!(room.run(&["completions", "nonsense"]).code, Some(2));
    let page = room.run(&["man", "chat"]).good();
    assert!(page.contains(".TH") && page.contains("window\\-size"), "{page}");
    assert!(!page.contains("EXTRA") && page.contains(".SH \"EXIT CODES\"\n.nf\n"), "{page}");
    assert!(page.contains(".SH \"EXAMPLES\"\n.nf\n  greenroom chat \\-\\-new"), "{page}");
    let explain = room.run(&["man", "config", "explain"]).good();
    assert!(explain.contains(".TH") && explain.contains("where it comes from"), "{explain}");
    assert_eq!(room.run(&["man", "config-explain"]).good(), explain);
    room.run(&["man", "shell-init"]).good();
    for odd in [&["man", "nonsense"][..], &["man", "config", "x"], &["man", "sandbox-worker"]] {
        assert_eq!(room.run(odd).code, Some(2), "{odd:?}");
    }
    let folder = room.path("man").display().to_string();
    room.run(&["man", "--dir", &folder]).good();
    assert!(room.path("man").join("greenroom-chat.1").exists());
    let explain = std::fs::read_to_string(room.path("man").join("greenroom-config-explain.1"));
    assert!(explain.unwrap().contains("where it comes from"));
    assert!(!room.path("man").join("greenroom-help-chat.1").exists());
}
