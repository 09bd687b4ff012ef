//! The configuration: what is missing, odd or wrong, and who says what a value is.

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
fn an_unknown_key_is_warned_about_with_its_line_and_does_no_harm() {
    let room = Room::new();
    room.configure("model: demo\nwindow_size: 3\nshould_truncate_results: true\ntemperature: 1\n");

    let ran = room.chat(&["--single", "Hi"]);

    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.contains("line 4: “temperature”"), "{ran:?}");
    let checked = room.run(&["config", "check"]);
    assert!(checked.err.contains("line 4"), "{checked:?}");
    assert!(checked.good().contains("is good"));
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
