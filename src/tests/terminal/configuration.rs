//! The configuration: what is missing, odd or wrong, and who says what a value is.

use std::{collections::BTreeSet, ffi::OsStr, os::unix::ffi::OsStrExt};

use greenroom::store::settle_sqlite;
use serde_json::{Value, json};
use sqlx::{ConnectOptions, Connection, sqlite::SqliteConnectOptions};

use super::program::{Room, finished};

#[test]
fn without_a_configuration_it_says_what_is_needed_and_how_to_make_one() {
    let room = Room::bare();

    let ran = room.chat(&["--single", "Hi"]);

    assert_eq!((ran.code, ran.out.as_str()), (Some(78), ""), "{ran:?}");
    for word in ["model", "window_size", "should_truncate_results", "greenroom config init"] {
        assert!(ran.err.contains(word), "{word}: {ran:?}");
    }
}

#[test]
fn every_missing_key_and_every_wrong_value_is_named() {
    let room = Room::new();

    room.configure("window_size: 3\n");
    let ran = room.chat(&["--single", "--new-session", "Hi"]);
    assert_eq!(ran.code, Some(78));
    assert!(ran.err.contains("lacks model, should_truncate_results"), "{ran:?}");

    room.configure("model: demo\nwindow_size: lots\nshould_truncate_results: 7\n");
    let ran = room.chat(&["--single", "--new-session", "Hi"]);
    assert_eq!(ran.code, Some(78));
    assert!(ran.err.contains("line 2: window_size"), "{ran:?}");
    assert!(ran.err.contains("line 3: should_truncate_results"), "{ran:?}");

    room.configure("model: [demo\n");
    assert_eq!(room.chat(&["--single", "--new-session", "Hi"]).code, Some(78));
    assert_eq!(room.run(&["config", "check"]).code, Some(78));
}

#[test]
fn what_nobody_can_speak_with_is_told_with_its_place_in_the_file() {
    let room = Room::new();
    let configure = |model: &str, prompt: &str| {
        room.configure(&format!(
            "window_size: 3\nmodel: \"{model}\"\nshould_truncate_results: true\n{prompt}"
        ));
    };
    let said = |words: &[&str]| room.chat(&[&["--single"], words, &["Hi"]].concat());
    let long = format!("system_prompt: {}\n", "p".repeat(100_001));

    for model in ["nobody-knows-it", "persona:nobody", "persona:"] {
        configure(model, "");
        let ran = said(&[]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(78), ""), "{model}: {ran:?}");
        assert!(ran.err.contains("config.yaml, line 2: "), "{model}: {ran:?}");
    }
    let checked = room.run(&["config", "check"]);
    assert_eq!((checked.code, checked.out.as_str()), (Some(78), ""), "{checked:?}");
    assert!(checked.err.contains("config.yaml, line 2: A persona is named"), "{checked:?}");

    configure("demo", &long);
    for ran in [said(&[]), room.run(&["config", "check"])] {
        assert_eq!(ran.code, Some(78), "{ran:?}");
        assert!(ran.err.contains("config.yaml, line 4: The system prompt is too long"), "{ran:?}");
    }

    configure("nobody-knows-it", "");
    let option = said(&["--model", "persona:nobody"]);
    assert_eq!(option.code, Some(2), "an option is no configuration: {option:?}");
    assert_eq!(said(&["--model", "demo"]).code, Some(0), "the option counts more");
}

#[test]
fn an_unknown_key_is_warned_about_with_its_line_and_does_no_harm() {
    let room = Room::new();
    room.configure("model: demo\nwindow_size: 3\nshould_truncate_results: true\ntemperature: 1\n");

    let ran = room.chat(&["--single", "Hi"]);

    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.contains("line 4: “temperature”"), "{ran:?}");
    let checked = room.run(&["config", "check"]);
    assert!(checked.err.contains("line 4: “temperature”"), "{checked:?}");
    assert!(checked.good().contains("is good"));
    let explained = room.run(&["config", "explain"]);
    assert!(explained.err.contains("line 4: “temperature”"), "{explained:?}");
    assert!(explained.good().contains("window_size"));
}

#[test]
fn a_configuration_can_be_made_and_stand_elsewhere() {
    let room = Room::bare();

    room.run(&["config", "init"]).good();
    assert_eq!(room.run(&["config", "init"]).code, Some(2), "it is not written over");
    room.run(&["config", "init", "--force", "--model", "gpt-5.1"]).good();
    assert_eq!(room.run(&["config", "init", "--force", "--model", "nothing"]).code, Some(2));

    room.run(&["config", "check"]).good();
    let text = std::fs::read_to_string(room.data().join("chat/config.yaml")).unwrap();
    assert!(text.contains("model: gpt-5.1"), "{text}");
    let elsewhere =
        room.write("other.yaml", "model: demo\nwindow_size: 2\nshould_truncate_results: true\n");
    room.chat(&["--single", "--config", &elsewhere, "Hi"]).good();
}

#[test]
fn the_files_of_an_example_have_their_own_names_and_no_server_has_the_configuration() {
    let room = Room::bare();
    let example = ["config", "init", "--example", "retirement"];

    let named = room.run(&[&example[..], &["--config", "my.yaml"]].concat());
    assert_eq!(named.code, Some(2), "{named:?}");
    assert!(named.err.contains("cannot be used with"), "{named:?}");
    for words in [&["config", "init"][..], &["config", "check"], &["tools"], &example] {
        let ran = room.run(&[words, &["--server", "http://127.0.0.1:9"]].concat());
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{words:?}: {ran:?}");
        assert!(ran.err.contains("leave --server out"), "{words:?}: {ran:?}");
    }
    assert!(!room.data().exists(), "nothing is written");
}

#[test]
fn each_value_is_explained_by_who_says_so() {
    let room = Room::new();
    let explained = |words: &[&str]| room.run(&[&["config", "explain"], words].concat()).good();
    let line = |text: &str, key: &str| {
        text.lines().find(|line| line.starts_with(key)).unwrap_or_default().to_owned()
    };

    let file = explained(&[]);
    assert!(line(&file, "window_size").contains("config.yaml, line 2"), "{file}");
    assert!(line(&file, "conversation_manager").contains("the default"), "{file}");

    let id = room.chat(&["--single", "--window-size", "4", "Hi"]).session();
    let session = explained(&[]);
    assert!(line(&session, "window_size").contains(&format!("the session {id}")), "{session}");
    assert!(line(&session, "window_size").contains('4'), "{session}");

    let flag = explained(&["--window-size", "5", "--system-prompt", "Be brief."]);
    assert!(line(&flag, "window_size").contains("the option --window-size"), "{flag}");
    assert!(line(&flag, "system_prompt").contains("the option --system-prompt"), "{flag}");
}

#[test]
fn a_persona_that_an_option_names_speaks_with_its_own_prompt() {
    const CONFIG: &str =
        "model: demo\nwindow_size: 20\nshould_truncate_results: true\nsystem_prompt: Be brief.\n";
    let room = Room::bare();
    room.configure(CONFIG);
    let prompt = |words: &[&str]| {
        let begun = room.chat(&[&["--single", "--new-session", "Hi"], words].concat()).session();
        let folder = room.path(&begun).display().to_string();
        room.run(&["export", &begun, "--dir", &folder]).good();
        let text = std::fs::read_to_string(room.path(&begun).join("metadata.json")).unwrap();
        let told: serde_json::Value = serde_json::from_str(&text).unwrap();
        told["system_prompt_source"].clone()
    };

    assert_eq!(prompt(&[]), "inline");
    assert_eq!(prompt(&["--model", "persona:optimist"]), "persona");
    assert_eq!(prompt(&["--model", "persona:optimist", "--system-prompt", "Sing."]), "inline");
    let nobody_talked = Room::bare();
    nobody_talked.configure(CONFIG);
    let explain = ["config", "explain", "--model", "persona:optimist"];
    let explained = nobody_talked.run(&explain).good();
    assert!(!explained.contains("system_prompt"), "{explained}");
}

#[test]
fn a_configuration_that_is_named_is_read_also_when_the_session_counts_more() {
    let room = Room::new();
    let id = room.chat(&["--single", "--window-size", "4", "Hi"]).session();
    let odd = room.write(
        "odd.yaml",
        "model: demo\nwindow_size: 3\nshould_truncate_results: true\ntemperature: 1\n",
    );

    let nowhere = room.chat(&["--single", "--config", "/nowhere.yaml", "Hi"]);
    let explained = room.run(&["config", "explain", "--config", "/nowhere.yaml"]);
    let warned = room.chat(&["--single", "--session", &id, "--config", &odd, "Hi"]);

    assert_eq!((nowhere.code, nowhere.out.as_str()), (Some(78), ""), "{nowhere:?}");
    assert!(nowhere.err.contains("There is no configuration at /nowhere.yaml."), "{nowhere:?}");
    assert_eq!(explained.code, Some(78), "{explained:?}");
    assert!(warned.err.contains("line 4: “temperature”"), "{warned:?}");
    assert_eq!((warned.code, warned.session()), (Some(0), id));
    assert!(room.run(&["config", "explain"]).good().contains("window_size              4 "));
}

#[test]
fn explaining_says_what_is_in_the_way_as_talking_does() {
    let room = Room::new();
    let gone = room.chat(&["--single", "Hi"]).session();
    room.chat(&["--delete-session", &gone]).good();
    let mut named = room.command(&["config", "explain"]);
    named.env("GREENROOM_SESSION_ID", &gone);

    let named = finished(named);
    let unknown = room.run(&["config", "explain", "--session", "nothing"]);
    let mut nobody = room.command(&["config", "explain", "--server", "http://127.0.0.1:9"]);
    nobody.env("GREENROOM_SESSION_ID", &gone);
    let nobody = finished(nobody);

    assert_eq!(named.code, Some(66), "{named:?}");
    assert!(named.err.contains("which is in the bin"), "{named:?}");
    assert_eq!(unknown.code, Some(66), "{unknown:?}");
    assert_eq!(nobody.code, Some(1), "{nobody:?}");
    assert!(nobody.err.contains("could not be reached"), "{nobody:?}");
}

#[test]
fn the_log_is_a_file_without_secrets_and_seen_when_asked_for() {
    let room = Room::new();
    let secret =
        [("OPENAI_API_KEY", "sk-very-secret-thing-123"), ("GREENROOM_TOKEN", "top-secret-token")];

    let quiet = room.chat_in(&["--single", "Hi"], &secret);
    let loud = room.chat_in(&["--single", "--verbose", "Hi"], &secret);

    let log = room.log();
    assert!(log.contains(&quiet.session()), "{log}");
    assert!(log.contains("begun") && log.contains("asked"), "{log}");
    assert_eq!(quiet.err.lines().count(), 1, "{quiet:?}");
    assert!(loud.err.contains("window_size=20"), "{loud:?}");
    assert!(loud.err.contains("the answer ended"), "{loud:?}");
    for text in [&log, &loud.err] {
        assert!(!text.contains("secret"), "{text}");
    }
}

#[test]
fn the_environment_adds_to_what_people_see_and_changes_nothing_in_the_file() {
    let call =
        json!({"call": {"name": "write_file", "input": {"path": "a.txt", "content": "one"}}});
    let asked = |variables: &[(&str, &str)]| {
        let room = Room::new().playing(&json!([[call], [{"text": "Written."}]]));
        let model = ["--model", "persona:code-reviewer"];
        let words = [&["--single", "--verbose"][..], &model, &["Go on"]].concat();
        let seen = room.chat_in(&words, variables).err;
        assert!(seen.contains("a tool is called") && seen.contains("a.txt"), "{seen}");
        let log = room.log();
        assert!(!log.contains("a.txt"), "{log}");
        log.lines().count()
    };

    let usual = asked(&[]);

    assert!(usual > 0);
    assert_eq!(asked(&[("RUST_LOG", "error")]), usual);
    assert_eq!(asked(&[("RUST_LOG", "trace")]), usual);
}

#[test]
fn a_variable_that_is_no_text_is_in_nobodys_way() {
    let room = Room::new();
    let mut command = room.command(&["chat", "--single", "What is 2 + 2?"]);
    command.env("ODD_TOKEN", OsStr::from_bytes(b"caf\xe9-\xff-latin"));

    let ran = finished(command);

    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(room.log().contains(&ran.session()), "{ran:?}");
}

#[test]
fn tools_and_ends_are_seen_beside_lines_of_json_too() {
    let call =
        json!({"call": {"name": "write_file", "input": {"path": "a.txt", "content": "one"}}});
    let room = Room::new().playing(&json!([[call], [{"text": "Written."}]]));
    let words = ["--single", "--json", "--verbose", "--model", "persona:code-reviewer", "Go on"];

    let ran = room.chat(&words);

    for told in ["a tool is called", "a tool gave something", "the answer ended"] {
        assert!(ran.err.contains(told), "{told}: {ran:?}");
    }
    for line in ran.good().lines() {
        assert!(serde_json::from_str::<Value>(line).is_ok(), "{line}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_knows_whom_a_session_could_speak_with() {
    let room = Room::bare();
    let configure = |model: &str| {
        room.configure(&format!("window_size: 3\nmodel: {model}\nshould_truncate_results: true\n"));
    };
    let check = || room.run(&["config", "check"]);
    // A service could have it, and it is more likely a slip of the pen.
    let slip = || {
        configure("gemini-2.5-por");
        let checked = check();
        let refusal = "config.yaml, line 2: Nothing is known of a model “gemini-2.5-por”. If its service has it, \
                       write gemini/gemini-2.5-por, or add it in the settings.\n";
        assert!(checked.err.ends_with(refusal), "{checked:?}");
        assert_eq!((checked.code, checked.out.as_str()), (Some(78), ""), "{checked:?}");
        configure("gemini/gemini-2.5-por");
        assert!(check().good().contains("is good"));
    };

    // Without any data there are the models that come with the program.
    configure("nobody-knows-it");
    let unknown = check();
    assert_eq!((unknown.code, unknown.out.as_str()), (Some(78), ""), "{unknown:?}");
    assert!(unknown.err.contains("config.yaml, line 2: "), "{unknown:?}");
    assert!(unknown.err.contains("nobody-knows-it"), "{unknown:?}");
    for model in ["demo", "gpt-5.1", "ollama/any", "persona:anybody"] {
        configure(model);
        let checked = check();
        assert_eq!(checked.err, "", "{model}");
        assert!(checked.good().contains("is good"), "{model}");
    }
    slip();
    assert!(!room.data().join("greenroom.db").exists(), "nothing is made to see that");

    // With it, there is what the Space has.
    drop(room.open().await);
    configure("persona:anybody");
    let refused = check();
    assert_eq!((refused.code, refused.out.as_str()), (Some(78), ""), "{refused:?}");
    assert!(refused.err.contains("There is no persona “anybody”"), "{refused:?}");
    for model in ["demo", "persona:optimist"] {
        configure(model);
        let checked = check();
        assert_eq!(checked.err, "", "{model}");
        checked.good();
    }
    slip();
    configure("nobody-knows-it");
    assert_eq!(check().code, Some(78));
}

/// It brought the database up to date, and ended what others had left there.
#[tokio::test(flavor = "multi_thread")]
async fn a_check_changes_nothing() {
    const LAST: &str = "delete from _sqlx_migrations
        where version = (select max(version) from _sqlx_migrations)";
    let room = Room::new();
    room.chat(&["--single", "Hi"]).good();
    room.configure("window_size: 3\nmodel: persona:nobody\nshould_truncate_results: true\n");
    let file = room.data().join("greenroom.db");
    settle_sqlite(&file).await.unwrap();
    let whole = || {
        let names = std::fs::read_dir(room.data()).unwrap().map(|entry| entry.unwrap().file_name());
        (names.collect::<BTreeSet<_>>(), std::fs::read(&file).unwrap())
    };

    let before = whole();
    assert_eq!(room.run(&["config", "check"]).code, Some(78));
    assert!(whole() == before, "it was only looked into");

    // Of a database from before there are the models that come with the program.
    let mut wire = SqliteConnectOptions::new().filename(&file).connect().await.unwrap();
    sqlx::query(LAST).execute(&mut wire).await.unwrap();
    wire.close().await.unwrap();
    let before = whole();
    room.run(&["config", "check"]).good();
    assert!(whole() == before, "it stays as it was");
}
