//! Sessions as files, out and in again.

use serde_json::{Value, json};

use super::program::{Room, read_json};

#[test]
fn a_session_goes_out_with_all_that_was_said_and_set_and_comes_in_again() {
    let answers = json!([[{"text": "Hello."}, {"usage": {"input": 12, "output": 3}}]]);
    let room = Room::new().playing(&answers);
    let prompt = room.write("guide.md", "You are a guide.");
    let id = room.chat(&["--single", "--system-prompt-file", &prompt, "One"]).session();
    room.chat(&["--single", "--system-prompt", "You are a guide.", "Two"]).good();
    room.chat(&["--single", "--system-prompt", "Be brief.", "--window-size", "4", "Three"]).good();
    room.chat(&["--session", &id, "--description", "Mine"]).good();
    let folder = room.path("out").display().to_string();

    let ran = room.run(&["export", "mine", "--dir", &folder]);

    assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""), "{ran:?}");
    let history = read_json(&room.path("out/history.json"));
    let said: Vec<(&str, &str)> = history
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["role"].as_str().unwrap(), one["content"].as_str().unwrap()))
        .collect();
    assert_eq!(
        said,
        [
            ("system", "You are a guide."),
            ("user", "One"),
            ("assistant", "Hello."),
            ("user", "Two"),
            ("assistant", "Hello."),
            ("system", "Be brief."),
            ("user", "Three"),
            ("assistant", "Hello."),
        ],
        "a prompt with the same words is no other prompt"
    );
    let metadata = read_json(&room.path("out/metadata.json"));
    assert_eq!(metadata["session_id"], json!(id));
    assert_eq!(metadata["description"], "Mine");
    assert_eq!(metadata["model"], "demo");
    assert_eq!(metadata["conversation_manager"], "sliding_window");
    assert_eq!(metadata["window_size"], 4);
    assert_eq!(metadata["should_truncate_results"], true);
    assert_eq!(metadata["system_prompt_text"], "Be brief.");
    assert_eq!(metadata["system_prompt_source"], "inline");
    let turns = metadata["turns"].as_array().unwrap();
    assert_eq!(turns.len(), 3);
    assert_eq!(turns[0]["tokens"], json!({"prompt": 12, "completion": 3}));
    assert_eq!((&turns[0]["status"], &turns[0]["cost_usd"]), (&json!("done"), &json!(0.0)));
    assert_eq!(turns[0]["overrides"]["system_prompt_file_path"], json!(prompt));
    assert_eq!(turns[1]["overrides"], json!({}));
    assert_eq!(turns[2]["overrides"]["window_size"], 4);
    for turn in turns {
        assert!(turn["latency_ms"].is_u64() && turn["timestamp"].is_string(), "{turn}");
        assert!(turn["first_token_ms"].is_u64(), "{turn}");
    }

    let other = Room::bare();
    let came = other.run(&["import", &folder]).good();
    assert_eq!(came.trim(), id, "its identifier was free");
    let back = other.path("back").display().to_string();
    other.run(&["export", &id, "--dir", &back]).good();
    assert_eq!(read_json(&other.path("back/history.json")), history);
    assert_eq!(read_json(&other.path("back/metadata.json")), metadata);
    let second = other.run(&["import", &folder]);
    assert!(second.err.contains("already"), "{second:?}");
    assert_ne!(second.good().trim(), id);
    let said = other.chat_typing(&["--session", &id], "What is 2 + 2?\n");
    assert!(said.err.contains("> Three"), "{said:?}");
    assert_eq!(said.code, Some(0), "{said:?}");
}

#[test]
fn how_turns_ended_goes_out_and_comes_in_again() {
    let room = Room::new().playing(&json!([
        [{"text": "Fine."}],
        [{"error": {"fault": "bad_request", "message": "no"}}],
    ]));
    let mut going = room.chatting(&["--json"]);
    going.say("One");
    going.until("\"done\"");
    let id = {
        let told: Value = serde_json::from_str(going.out.lines().next().unwrap()).unwrap();
        told["session"]["id"].as_str().unwrap().to_owned()
    };
    going.say("Two");
    assert_eq!(going.end().code, Some(1));
    // The script begins anew with each command.
    room.chat(&["--single", "--session", &id, "Three"]).good();
    let endless = json!([[{"repeat": {"times": 1_000_000, "text": "word ", "every_ms": 5}}]]);
    let room = room.playing(&endless);
    let mut going = room.chatting(&["--single", "--session", &id, "Four"]);
    going.until("word word");
    going.signal(rustix::process::Signal::INT);
    assert_eq!(going.end().code, Some(130));
    let (out, back) = (room.path("out"), room.path("back"));
    room.run(&["export", &id, "--dir", &out.display().to_string()]).good();

    let other = Room::bare();
    other.run(&["import", &out.display().to_string()]).good();
    other.run(&["export", &id, "--dir", &back.display().to_string()]).good();

    let metadata = read_json(&out.join("metadata.json"));
    let statuses: Vec<&str> = metadata["turns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|turn| turn["status"].as_str().unwrap())
        .collect();
    assert_eq!(statuses, ["done", "failed", "done", "stopped"]);
    assert!(metadata["turns"][1]["error"].is_string(), "{metadata}");
    assert_eq!(read_json(&back.join("metadata.json")), metadata);
    assert_eq!(read_json(&back.join("history.json")), read_json(&out.join("history.json")));
}

#[test]
fn a_turn_without_an_answer_keeps_its_model_and_what_it_took() {
    let room = Room::new();
    let at = "2026-01-01T00:00:00.000Z";
    let turn = json!({
        "turn": 1, "timestamp": at, "model": "gpt-5.1", "status": "failed",
        "error": "The service is away.", "latency_ms": 1234, "first_token_ms": null,
        "tokens": {"prompt": 7, "completion": null}, "cost_usd": 0.5,
        "tools": [], "overrides": {},
    });
    let metadata = json!({
        "session_id": "0b9a7a52-52d8-4a49-8d5c-6bd3f9f9d1aa", "created_at": at, "model": "demo",
        "window_size": 3, "should_truncate_results": true, "turns": [turn],
    });
    room.write("in/metadata.json", &metadata.to_string());
    let said = json!([{"role": "user", "content": "Hi", "timestamp": at}]);
    room.write("in/history.json", &said.to_string());

    let id = room.run(&["import", &room.path("in").display().to_string()]).good();
    let out = room.path("out").display().to_string();
    room.run(&["export", id.trim(), "--dir", &out]).good();

    assert_eq!(read_json(&room.path("out/metadata.json"))["turns"], json!([turn]));
}

#[test]
fn files_of_another_session_are_not_written_over() {
    let room = Room::new();
    let one = room.chat(&["--single", "--new-session", "One"]).session();
    let other = room.chat(&["--single", "--new-session", "Other"]).session();
    let folder = room.path("out").display().to_string();
    room.run(&["export", &one, "--dir", &folder]).good();

    room.run(&["export", &one, "--dir", &folder]).good();
    let refused = room.run(&["export", &other, "--dir", &folder]);

    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains(&one) && refused.err.contains("--force"), "{refused:?}");
    assert_eq!(read_json(&room.path("out/metadata.json"))["session_id"], json!(one));
    room.run(&["export", &other, "--dir", &folder, "--force"]).good();
    assert_eq!(read_json(&room.path("out/metadata.json"))["session_id"], json!(other));
    room.write("mine/history.json", "[]");
    let mine = room.path("mine").display().to_string();
    assert_eq!(room.run(&["export", &one, "--dir", &mine]).code, Some(2));
}

#[test]
fn tools_go_out_with_what_they_were_given_and_gave() {
    let answers = json!([
        [{"call": {"name": "write_file", "input": {"path": "a.txt", "content": "one"}}}],
        [{"text": "Written."}],
    ]);
    let room = Room::new().playing(&answers);
    let id = room.chat(&["--single", "--model", "persona:code-reviewer", "Write it."]).session();
    let folder = room.path("out").display().to_string();

    room.run(&["export", &id, "--dir", &folder]).good();

    let metadata = read_json(&room.path("out/metadata.json"));
    let used = &metadata["turns"][0]["tools"][0];
    assert_eq!(used["name"], "write_file");
    assert_eq!(used["arguments"], json!({"path": "a.txt", "content": "one"}));
    assert_eq!(used["is_error"], false, "{used}");
    assert!(used["result"].is_string());
    let history = read_json(&room.path("out/history.json"));
    assert_eq!(history[2]["tool_calls"][0]["name"], "write_file");
    assert_eq!(history[2]["tool_results"][0]["id"], history[2]["tool_calls"][0]["id"]);
}

#[test]
fn what_a_persona_was_told_goes_out_and_stays_its_own() {
    let room = Room::new().playing(&json!([[{"text": "Yes."}]]));
    let say = |words: &[&str]| room.chat(&[&["--single"], words, &["Hi"]].concat());
    let id = say(&["--new-session"]).session();
    say(&["--model", "persona:optimist"]).good();
    say(&[]).good();
    say(&["--system-prompt", "Be brief."]).good();
    say(&["--system-prompt", ""]).good();
    let (out, back) = (room.path("out"), room.path("back"));

    room.run(&["export", &id, "--dir", &out.display().to_string()]).good();

    let history = read_json(&out.join("history.json"));
    let entries = history.as_array().unwrap();
    let roles: Vec<&str> = entries.iter().map(|one| one["role"].as_str().unwrap()).collect();
    let (exchange, system) = (&["user", "assistant"][..], &["system"][..]);
    let persona = [exchange, system, exchange, exchange].concat();
    let own = [system, exchange, system, system, exchange].concat();
    assert_eq!(roles, [persona, own].concat());
    let told: Vec<(&str, &str)> = entries
        .iter()
        .filter(|one| one["role"] == "system")
        .map(|one| (one["source"].as_str().unwrap_or("own"), one["content"].as_str().unwrap()))
        .collect();
    let optimist = told[0].1;
    assert!(optimist.starts_with("# Optimist"), "{optimist}");
    assert_eq!(
        told,
        [("persona", optimist), ("own", "Be brief."), ("own", ""), ("persona", optimist)]
    );
    let metadata = read_json(&out.join("metadata.json"));
    assert_eq!(metadata["system_prompt_text"], optimist);
    assert_eq!(metadata["system_prompt_source"], "persona");

    let other = Room::bare();
    other.run(&["import", &out.display().to_string()]).good();
    other.run(&["export", &id, "--dir", &back.display().to_string()]).good();
    assert_eq!(read_json(&back.join("history.json")), history);
    assert_eq!(read_json(&back.join("metadata.json")), metadata);
    let listed = other.chat(&["--list-sessions", "--json"]).good();
    let session: Value = serde_json::from_str(listed.trim()).unwrap();
    assert_eq!(session["settings"].get("systemPrompt"), None, "{session}");
}

#[test]
fn what_is_no_session_is_refused() {
    let room = Room::new();
    let metadata = json!({
        "session_id": "x", "created_at": "2026-01-01T00:00:00Z", "model": "demo", "window_size": 3,
        "should_truncate_results": true,
    });
    let entry =
        |role: &str| json!([{"role": role, "content": "a", "timestamp": "2026-01-01T00:00:00Z"}]);
    let import = |history: Value, metadata: Value| {
        room.write("in/history.json", &history.to_string());
        room.write("in/metadata.json", &metadata.to_string());
        room.run(&["import", &room.path("in").display().to_string()])
    };

    let nothing = room.run(&["import", &room.path("nowhere").display().to_string()]);
    assert_eq!(nothing.code, Some(66), "{nothing:?}");
    let role = import(entry("robot"), metadata.clone());
    assert_eq!(role.code, Some(2), "{role:?}");
    assert!(role.err.contains("robot"), "{role:?}");
    let missing = import(entry("user"), json!({"session_id": "x"}));
    assert_eq!(missing.code, Some(2), "{missing:?}");
    assert!(missing.err.contains("metadata.json"), "{missing:?}");
    let id = "3F2A77AA2B6C4D7E8F90A1B2C3D4E5F6";
    let mut written = metadata.clone();
    written["session_id"] = json!(id);
    for is_there in [false, true] {
        let ran = import(entry("user"), written.clone());
        let told = format!("There is a session {id} already");
        assert_eq!(ran.err.contains(&told), is_there, "however it is written: {ran:?}");
        assert_eq!(ran.good().trim() == "3f2a77aa-2b6c-4d7e-8f90-a1b2c3d4e5f6", !is_there);
    }
    let good = import(entry("user"), metadata);
    assert!(good.err.contains("“x” is no identifier of a session"), "{good:?}");
    assert!(uuid::Uuid::parse_str(good.good().trim()).is_ok());
    // Without a session, the whole Space is meant.
    let whole = room.path("whole");
    room.run(&["export", "--dir", &whole.display().to_string()]).good();
    assert!(whole.join("greenroom.json").is_file());
}

#[test]
fn a_long_session_comes_in_through_a_server() {
    let room = Room::new();
    let at = "2026-01-01T00:00:00.000Z";
    let words = "word ".repeat(50);
    let said = (0..5_001).flat_map(|number| {
        ["user", "assistant"].map(
            |role| json!({"role": role, "content": format!("{words}{number}"), "timestamp": at}),
        )
    });
    let history = Value::Array(said.collect());
    let text = history.to_string();
    assert!(text.len() > 2 * 1024 * 1024);
    room.write("in/history.json", &text);
    let metadata = json!({
        "session_id": "x", "created_at": at, "model": "demo", "window_size": 3,
        "should_truncate_results": true,
    });
    room.write("in/metadata.json", &metadata.to_string());
    let folder = room.path("in").display().to_string();
    let server = room.serve();

    let id = room.run(&["import", &folder, "--server", &server.address]).good();

    let out = room.path("out").display().to_string();
    room.run(&["export", id.trim(), "--dir", &out, "--server", &server.address]).good();
    assert!(read_json(&room.path("out/history.json")) == history, "all of it is there");
}

#[test]
fn files_of_others_say_by_their_folder_which_session_they_are() {
    let room = Room::new();
    let at = |second: u32| format!("2025-01-01T00:00:0{second}Z");
    let history = json!([
        {"role": "system", "content": "Be brief.", "timestamp": at(3)},
        {"role": "user", "content": "q", "timestamp": at(4)},
        {"role": "assistant", "content": "a", "timestamp": at(5)},
    ]);
    let metadata = json!({
        "model": "gpt-5.1", "conversation_manager": "sliding_window", "window_size": 20,
        "should_truncate_results": true, "system_prompt_text": "Be brief.",
        "system_prompt_source": "inline",
    });
    let (one, two) =
        ("11111111-2222-4333-8444-555555555555", "61111111-2222-4333-8444-555555555555");
    for folder in [one, two, "else"] {
        room.write(&format!("sessions/{folder}/history.json"), &history.to_string());
        room.write(&format!("sessions/{folder}/metadata.json"), &metadata.to_string());
    }
    let index =
        json!([{"id": one, "created_at": at(1), "description": "Pension", "is_current": true}]);
    room.write("sessions/index.json", &index.to_string());
    let import = |folder: &str| {
        let came =
            room.run(&["import", &room.path(&format!("sessions/{folder}")).display().to_string()]);
        assert_eq!(came.err, "", "{came:?}");
        came.good().trim().to_owned()
    };

    assert_eq!(import(one), one);
    assert_eq!(import(two), two);
    let new = import("else");

    assert!(uuid::Uuid::parse_str(&new).is_ok(), "{new}");
    let listed = room.chat(&["--list-sessions", "--json"]).good();
    let listed: Vec<Value> =
        listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told = |id: &str| {
        let session = listed.iter().find(|session| session["id"] == *id).unwrap();
        (session["createdAt"].clone(), session["description"].clone(), session["turns"].clone())
    };
    assert_eq!(told(one), (json!("2025-01-01T00:00:01.000Z"), json!("Pension"), json!(1)));
    assert_eq!(told(two), (json!("2025-01-01T00:00:03.000Z"), json!(""), json!(1)));
    assert_eq!(told(&new), (json!("2025-01-01T00:00:03.000Z"), json!(""), json!(1)));
    // Another shape of the same list.
    let index = json!({"sessions": {two: {"id": two, "created_at": at(2)}}});
    room.write("sessions/index.json", &index.to_string());
    let other = Room::new();
    other.run(&["import", &room.path(&format!("sessions/{two}")).display().to_string()]).good();
    let listed = other.chat(&["--list-sessions", "--json"]).good();
    assert!(listed.contains("2025-01-01T00:00:02.000Z"), "{listed}");
}
