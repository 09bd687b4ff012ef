//! Sessions: which one is meant, what is kept with it, and how one comes back.

use std::process::Stdio;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::program::{Going, Ran, Room, finished};

fn sessions(room: &Room) -> Vec<Value> {
    let out = room.chat(&["--list-sessions", "--json"]).good();
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn begun(room: &Room, words: &[&str]) -> String {
    let ran = room.chat(&[&["--single", "--new-session"], words, &["Hi"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.session()
}

#[test]
fn a_terminal_goes_on_with_the_session_it_was_last_used_for() {
    let room = Room::new();

    let first = room.chat(&["--single", "Hi"]).session();
    let again = room.chat(&["--single", "And?"]).session();
    let other = room.chat(&["--single", "--new-session", "Hi"]).session();
    let after = room.chat(&["--single", "And?"]).session();

    assert_eq!(first, again);
    assert_ne!(first, other);
    assert_eq!(other, after);
    let all = sessions(&room);
    let current: Vec<&Value> = all.iter().filter(|one| one["current"] == true).collect();
    assert_eq!(current.len(), 1);
    assert_eq!(current[0]["id"], json!(other));
}

#[test]
fn what_closed_terminals_were_last_used_for_is_forgotten_after_a_day() {
    let room = Room::new();
    let ours = begun(&room, &[]);
    let folder = room.data().join("chat/current");
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(25 * 60 * 60);
    // No process has a number as high.
    for (name, is_old) in [("4194305-7", true), ("4194305-7@elsewhere", true), ("4194306-7", false)]
    {
        std::fs::write(folder.join(name), "gone").unwrap();
        let file = std::fs::File::options().write(true).open(folder.join(name)).unwrap();
        if is_old {
            file.set_modified(long_ago).unwrap();
        }
    }

    room.chat(&["--single", "--session", &ours, "Hi"]).good();

    let left = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().file_name());
    let left: Vec<String> = left.map(|name| name.into_string().unwrap()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(left.contains(&"4194306-7".to_owned()), "{left:?}");
}

#[test]
fn a_variable_names_the_current_session_and_ours_counts_first() {
    let room = Room::new();
    let (one, two, three) = (begun(&room, &[]), begun(&room, &[]), begun(&room, &[]));
    let said = |variables: &[(&str, &str)]| room.chat_in(&["--single", "Hi"], variables).session();

    let seed = "RETIRE_CURRENT_SESSION_ID";
    assert_eq!(said(&[(seed, &one)]), one);
    assert_eq!(said(&[(seed, &one), ("GREENROOM_SESSION_ID", &two)]), two);
    assert_eq!(said(&[(seed, ""), ("GREENROOM_SESSION_ID", "")]), two, "an empty one names none");
    let named = room.chat_in(&["--single", "--session", &three, "Hi"], &[(seed, &one)]);
    assert_eq!(named.session(), three);
    let new = room.chat_in(&["--single", "--new-session", "Hi"], &[(seed, &one)]).session();
    assert!(![one, two, three].contains(&new));
}

#[test]
fn a_session_is_found_by_its_beginning_and_by_its_name() {
    let room = Room::new();
    let (one, two) = (begun(&room, &[]), begun(&room, &[]));
    let described = room.chat(&["--session", &one, "--description", "Savings plan"]);
    assert_eq!((described.code, described.out.as_str()), (Some(0), ""), "{described:?}");

    let said = |named: &str| room.chat(&["--single", "--session", named, "Hi"]);

    assert_eq!(said(&one[..13]).session(), one);
    assert_eq!(said(&one.to_uppercase()).session(), one);
    assert_eq!(said("savings PLAN").session(), one);
    assert_eq!(said(&two).session(), two);
    room.chat(&["--session", &two, "--description", "Savings plan"]);
    let several = said("Savings plan");
    assert_eq!(several.code, Some(66), "{several:?}");
    assert!(several.err.contains(&one[..8]) && several.err.contains(&two[..8]), "{several:?}");
    assert_eq!(said("z").code, Some(66), "no identifier begins so");
}

#[test]
fn describing_a_session_does_not_switch_to_it() {
    let room = Room::new();
    let one = begun(&room, &[]);
    let two = begun(&room, &["--description", "Second"]);

    room.chat(&["--session", &one, "--description", "First"]).good();

    assert_eq!(room.chat(&["--single", "Hi"]).session(), two);
    let names: Vec<Value> =
        sessions(&room).into_iter().map(|one| one["description"].clone()).collect();
    assert_eq!(names, [json!("Second"), json!("First")]);
}

#[test]
fn sessions_are_listed_as_a_table() {
    let room = Room::new();
    assert!(room.chat(&["--list-sessions"]).err.contains("no sessions yet"));
    let id = begun(&room, &["--description", "Größe"]);

    let table = room.chat(&["--list-sessions"]).good();

    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 2);
    let heads: Vec<&str> = lines[0].split_whitespace().collect();
    assert_eq!(heads, ["ID", "CREATED", "DESCRIPTION", "TURNS", "CURRENT"]);
    assert!(lines[1].starts_with(&id) && lines[1].contains("Größe") && lines[1].ends_with('*'));
}

#[test]
fn a_deleted_session_is_current_no_more() {
    let room = Room::new();
    let one = begun(&room, &[]);

    let gone = room.chat(&["--delete-session", &one[..8]]);

    assert_eq!((gone.code, gone.out.as_str()), (Some(0), ""), "{gone:?}");
    assert_eq!(sessions(&room), Vec::<Value>::new());
    let new = room.chat(&["--single", "Hi"]).session();
    assert_ne!(new, one);
    let named = room.chat_in(&["--single", "Hi"], &[("GREENROOM_SESSION_ID", &one)]);
    assert_eq!(named.code, Some(66));
    assert!(named.err.contains("in the bin"), "{named:?}");
}

#[test]
fn options_that_are_settings_stay_with_the_session() {
    let room = Room::new();
    let prompt = room.write("guide.md", "You are a guide.\n");
    let id = begun(&room, &["--window-size", "3", "--system-prompt-file", &prompt]);
    room.configure("model: demo\nwindow_size: 9\nshould_truncate_results: true\n");
    let settings = |words: &[&str]| {
        room.chat(&[&["--single", "--session", &id], words, &["Hi"]].concat()).good();
        sessions(&room).into_iter().find(|one| one["id"] == json!(id)).unwrap()["settings"].clone()
    };

    let kept = settings(&[]);
    assert_eq!(
        kept,
        json!({
            "model": "demo", "windowSize": 3, "shouldTruncateResults": true,
            "conversationManager": "sliding_window",
            "systemPrompt": {"text": "You are a guide.", "source": "file", "path": prompt},
        }),
        "the session counts more than the file, also after the file changed"
    );
    let other = settings(&["--should-truncate-results=False", "--system-prompt", "Be brief."]);
    assert_eq!(other["shouldTruncateResults"], false);
    assert_eq!(other["systemPrompt"], json!({"text": "Be brief.", "source": "inline"}));
    let brief = room.write("brief.md", "Be brief.\n");
    assert_eq!(
        settings(&["--system-prompt-file", &brief])["systemPrompt"],
        json!({"text": "Be brief.", "source": "file", "path": brief}),
        "the same words from elsewhere"
    );
    let persona = settings(&["--model", "persona:optimist"]);
    assert_eq!(persona["model"], "persona:optimist");
    let ran =
        room.chat(&["--single", "--session", &id, "--model", "persona:optimist@nowhere", "Hi"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("labelled"), "{ran:?}");
}

#[test]
fn coming_back_shows_the_last_turns_and_leaving_says_how_to() {
    let room = Room::new().playing(&json!([[{"text": "Certainly."}]]));

    let first = room.chat_typing(&["--new-session"], "One\nTwo \\\nlines\n");

    assert_eq!(
        (first.code, first.out.as_str()),
        (Some(0), "Certainly.\nCertainly.\n"),
        "{first:?}"
    );
    let id = first.session();
    assert!(
        first.err.contains(&format!("Resume it with: greenroom chat --session {id}")),
        "{first:?}"
    );
    let again = room.chat_typing(&["--session", &id], "");
    assert_eq!((again.code, again.out.as_str()), (Some(0), ""), "{again:?}");
    for said in ["> One", "< Certainly.", "> Two \nlines"] {
        assert!(again.err.contains(said), "{said}: {again:?}");
    }
}

#[test]
fn the_command_that_resumes_is_exact() {
    let room = Room::new();
    let data = room.data().display().to_string();
    let mut command = room.command(&["chat", "--new-session", "--data", &data]);
    command.env_remove("GREENROOM_DATA").stdin(Stdio::null());

    let ran = finished(command);

    let resume = ran.err.lines().find_map(|line| line.strip_prefix("Resume it with: greenroom "));
    let words: Vec<&str> = resume.unwrap().split(' ').collect();
    let mut command = room.command(&words);
    command.env_remove("GREENROOM_DATA").stdin(Stdio::null());
    let again: Ran = finished(command);
    assert_eq!(again.session(), ran.session(), "{again:?}");
}

#[test]
fn the_shell_that_started_it_is_handed_the_session() {
    let room = Room::new();
    let file = room.path("handed");
    let variable = [("GREENROOM_SESSION_FILE", file.to_str().unwrap())];

    let id = room.chat_in(&["--single", "Hi"], &variable).session();

    assert_eq!(std::fs::read_to_string(&file).unwrap(), id);
    let named = [variable[0], ("GREENROOM_SESSION_ID", &id)];
    room.chat_in(&["--delete-session", &id], &named).good();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "-");
}

#[test]
fn a_wrapped_shell_keeps_the_session_in_its_variable() {
    // Where a shell is not installed, what it would read is seen in the tests of the options.
    let all = [
        ("bash", "eval \"$(greenroom shell-init bash)\""),
        ("zsh", "eval \"$(greenroom shell-init zsh)\""),
        ("fish", "greenroom shell-init fish | source"),
    ];
    let path = std::env::var_os("PATH").unwrap();
    let is_there = |shell: &str| std::env::split_paths(&path).any(|one| one.join(shell).is_file());
    for (shell, wrap) in all.into_iter().filter(|(shell, _)| is_there(shell)) {
        let code = if shell == "fish" { "$status" } else { "$?" };
        let room = Room::new();
        let config = room.data().join("chat/config.yaml").display().to_string();
        let say = "greenroom chat --single Hi >/dev/null 2>&1";
        let other = room.path("other").display().to_string();
        let there =
            format!("greenroom chat --single --data {other} --config {config} Hi >/dev/null 2>&1");
        let told = format!("echo \"{code} $GREENROOM_SESSION_ID\"");
        let script = format!(
            "{wrap}
             greenroom chat --single --new-session Hi >/dev/null 2>&1; {told}
             greenroom chat --single --window-size 0 Hi >/dev/null 2>&1; echo \"{code}\"
             {there}; {told}
             {say}; {told}
             {there}; {told}
             {say}; {told}
             echo Hi | greenroom chat --single --new-session 2>&1 | grep '^session '
             greenroom chat --list-sessions | grep '[*]$'
             {say}; {told}
             export RETIRE_CURRENT_SESSION_ID=\"$GREENROOM_SESSION_ID\"
             greenroom chat --delete-session \"$GREENROOM_SESSION_ID\" 2>/dev/null
             echo \"[$GREENROOM_SESSION_ID$RETIRE_CURRENT_SESSION_ID]\""
        );
        let mut command = std::process::Command::new(shell);
        let surroundings = room.command(&[]);
        for (name, value) in surroundings.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let binary = std::path::Path::new(env!("CARGO_BIN_EXE_greenroom"));
        let folders = std::iter::once(binary.parent().unwrap().to_owned());
        let folders = std::env::join_paths(folders.chain(std::env::split_paths(&path))).unwrap();
        command.env("PATH", folders).args(["-c", &script]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());

        let out = finished(command).good();

        let lines: Vec<&str> = out.lines().collect();
        let id = lines[0].strip_prefix("0 ").unwrap();
        assert!(uuid::Uuid::parse_str(id).is_ok(), "{shell}: {out}");
        // What is kept at another place is another session, and neither stands in the way of the other.
        let other = lines[2].strip_prefix("0 ").unwrap();
        assert_ne!(id, other, "{shell}: {out}");
        let (here, there) = (format!("0 {id}"), format!("0 {other}"));
        let wanted = ["2", there.as_str(), &here, &there, &here];
        assert_eq!(lines[1..6], wanted, "{shell}: {out}");
        // What is begun in a pipe is gone on with, though the shell is not told there.
        let piped = lines[6].strip_prefix("session ").unwrap();
        assert!(piped != id && lines[7].starts_with(piped), "{shell}: {out}");
        assert_eq!(lines[8..], [format!("0 {piped}"), "[]".into()], "{shell}: {out}");
    }
}

#[test]
fn a_deleted_session_is_brought_back() {
    let room = Room::new();
    let id = room.chat(&["--single", "--new-session", "--description", "Mine", "Hi"]).session();
    let deleted = room.chat(&["--delete-session", "mine"]);
    assert!(deleted.err.contains(&format!("--restore-session {id}\n")), "{deleted:?}");

    let unknown = room.chat(&["--restore-session", "yours"]);
    let back = room.chat(&["--restore-session", &id[..8]]);

    assert_eq!(unknown.code, Some(66), "{unknown:?}");
    assert!(back.err.contains("Mine is back."), "{back:?}");
    back.good();
    assert!(room.chat(&["--list-sessions"]).good().contains("Mine"));
    let again = room.chat(&["--restore-session", "mine"]);
    assert_eq!(again.code, Some(66), "it is in the bin no more: {again:?}");
}

#[test]
fn the_commands_that_bring_a_session_back_name_its_place() {
    let room = Room::new();
    let url = format!("sqlite:{}", room.path("other.db").display());
    let place = format!(" --database-url {url}");
    let id = room.chat(&["--single", "--database-url", &url, "Hi"]).session();

    let deleted = room.chat(&["--delete-session", &id, "--database-url", &url]);
    let back = room.chat(&["--restore-session", &id, "--database-url", &url]);

    let told = format!("Back with: greenroom chat --restore-session {id}{place}\n");
    assert!(deleted.err.contains(&told), "{deleted:?}");
    let told = format!("Go on with: greenroom chat --session {id}{place}\n");
    assert!(back.err.contains(&told), "{back:?}");
}

#[test]
fn the_command_that_resumes_names_the_database() {
    let room = Room::new();
    let url = format!("sqlite:{}", room.path("other.db").display());

    let ran = room.chat_typing(&["--database-url", &url], "Hi\n");

    let resume = ran.err.lines().find_map(|line| line.strip_prefix("Resume it with: ")).unwrap();
    assert!(resume.ends_with(&format!(" --database-url {url}")), "{ran:?}");
    let words: Vec<&str> = resume.split(' ').skip(1).collect();
    let again = finished(room.command(&words));
    assert!(again.err.contains("> Hi"), "{again:?}");
    assert_eq!(again.session(), ran.session());
}

#[test]
fn each_database_has_a_current_session_of_its_own() {
    let room = Room::new();
    let url = format!("sqlite:{}", room.path("other.db").display());
    let there = || room.chat(&["--single", "--database-url", &url, "Hi"]).session();

    let (one, other) = (there(), room.chat(&["--single", "Hi"]).session());

    assert_ne!(one, other);
    assert_eq!(there(), one);
    assert_eq!(room.chat(&["--single", "Hi"]).session(), other);
}

#[test]
fn the_log_tells_what_was_done_and_what_went_wrong() {
    let room = Room::new();
    let id = room.chat(&["--single", "--new-session", "Tell nobody."]).session();
    room.chat(&["--single", "--session", &id, "--window-size", "3", "Hi"]).good();
    let folder = room.path("out").display().to_string();
    room.run(&["rate", &id, "--rating", "4"]).good();
    room.run(&["export", &id, "--dir", &folder]).good();
    room.run(&["import", &folder]).good();
    room.chat(&["--delete-session", &id]).good();
    let wrong = room.chat(&["--session", "nonsense"]);

    let log = room.log();
    let words =
        ["configuration read", "begun", "asked", "opened", "set", "rated", "exported", "imported"];
    for word in words.into_iter().chain(["deleted", "ERROR", "There is no session “nonsense”"])
    {
        assert!(log.contains(word), "{word}: {log}");
    }
    assert_eq!(wrong.code, Some(66));
    assert!(!log.contains("Tell nobody."), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_kept_in_postgres_too() {
    let endless = json!([[{"repeat": {"times": 1_000_000, "text": "word ", "every_ms": 5}}]]);
    let room = Room::new();
    let database = crate::support::postgres_database().await;
    let command = |room: &Room, words: &[&str]| {
        let mut command = room.command(words);
        command.env("DATABASE_URL", &database);
        command
    };

    let first = finished(command(&room, &["chat", "--single", "What is 2 + 2?"]));
    let second = finished(command(&room, &["chat", "--single", "What is 3 + 3?"]));
    let listed = finished(command(&room, &["chat", "--list-sessions"])).good();

    assert_eq!((first.code, second.code), (Some(0), Some(0)), "{first:?} {second:?}");
    assert_eq!(first.session(), second.session());
    assert!(listed.contains(&first.session()), "{listed}");
    assert!(!room.data().join("greenroom.db").exists(), "no file is made beside it");

    // Nobody can see from another machine that a process was killed, so its answer is waited for.
    let room = room.playing(&endless);
    let mut killed = Going::of(command(&room, &["chat", "--single", "Tell me everything."]));
    killed.until("word word");
    killed.signal(Signal::KILL);
    drop(killed);
    let busy = finished(command(&room, &["chat", "--single", "Hi"]));
    assert_eq!(busy.code, Some(75), "{busy:?}");
    assert!(busy.err.contains("still being answered"), "{busy:?}");
    let other = Going::of(command(&room, &["chat", "--single", "--new-session", "Hi"]));
    let mut other = other;
    other.until("word word");
    other.signal(Signal::INT);
    assert_eq!(other.end().code, Some(130));
}

#[test]
fn one_letter_is_enough_where_no_other_session_begins_with_it() {
    let room = Room::new();
    let mut ids: Vec<String> = Vec::new();
    // Sooner or later two begin alike.
    while ids.iter().all(|one| ids.iter().filter(|id| id[..1] == one[..1]).count() < 2) {
        ids.push(room.chat(&["--single", "--new-session", "Hi"]).session());
    }
    let shared = ids.last().unwrap()[..1].to_owned();

    let several = room.chat(&["--single", "--session", &shared, "Hi"]);

    assert_eq!(several.code, Some(66), "{several:?}");
    for id in ids.iter().filter(|id| id.starts_with(&shared)) {
        assert!(several.err.contains(&id[..8]), "{several:?}");
    }
    for id in ids.iter().filter(|id| !id.starts_with(&shared)) {
        let one = room.chat(&["--single", "--session", &id[..1], "Hi"]);
        assert_eq!((one.code, one.session()), (Some(0), id.clone()), "{one:?}");
    }
    // What one is called counts more than how others begin.
    room.chat(&["--session", &ids[0], "--description", &shared]).good();
    assert_eq!(room.chat(&["--single", "--session", &shared, "Hi"]).session(), ids[0]);
}
