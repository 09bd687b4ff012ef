//! Python in a session: it sees the session's files, and what it writes stays there.

use axum::http::Method;
use greenroom::sandbox::Sandbox;
use serde_json::json;

use super::{call, content, paths, say, script, tinker, words};
use crate::support::{House, on_both, request};

on_both!(
    python_reads_and_writes_the_files_of_its_session,
    what_goes_wrong_in_python_is_told_and_the_answer_goes_on,
    others_are_answered_while_programs_run_without_end,
    what_was_printed_is_told_though_a_file_is_refused,
    what_a_program_wrote_before_it_failed_is_kept_and_shown,
    a_program_that_writes_no_file_is_no_change,
    a_program_is_stopped_at_once_and_changes_no_file,
);

fn with_python(house: &House) {
    house.state.agent.use_sandbox(Sandbox::new(env!("CARGO_BIN_EXE_greenroom").as_ref()));
}

async fn python_reads_and_writes_the_files_of_its_session(house: House) {
    let home = tinker(&house).await;
    let code = "import csv, pathlib\nrows = list(csv.reader(open('data/in.csv')))\n\
                pathlib.Path('out.txt').write_text(str(sum(int(row[1]) for row in rows)))\n\
                pathlib.Path('old.txt').unlink()\nprint(len(rows), 'rows')";
    let playing = house.playing(&script(&[
        json!([
            call("write_file", json!({"path": "data/in.csv", "content": "a,1\nb,2\n"})),
            call("write_file", json!({"path": "old.txt", "content": "x"})),
            call("write_file", json!({"path": "main.py", "content": code})),
        ]),
        json!([call("execute", json!({"command": "python main.py"}))]),
        json!([call("execute", json!({"command": "print(open('out.txt').read())"}))]),
        json!([{"text": "Done."}]),
    ]));
    with_python(&playing);

    let told = say(&playing, &home, words("Sum it")).await;

    let outputs = told.outputs();
    assert_eq!(outputs[3], "2 rows\nIt deleted “old.txt”.\nIt wrote “out.txt”.");
    assert_eq!(outputs[4].trim(), "3");
    assert_eq!(paths(&house, &home, &told.session).await, ["data/in.csv", "main.py", "out.txt"]);
    assert_eq!(content(&house, &home, &told.session, "out.txt").await, "3");
}

/// One file that was too large took with it all that the program had printed.
async fn what_was_printed_is_told_though_a_file_is_refused(house: House) {
    let home = tinker(&house).await;
    let large = "open('a.txt', 'w').write('x' * (1024 * 1024 + 1))\n\
                 open('b.txt', 'w').write('y')\nprint('The sum is 42.')";
    let folder = "import os\nos.mkdir('c')\nopen('c/d', 'w').write('1')";
    let file = "import os\nos.remove('c/d')\nos.rmdir('c')\nopen('c', 'w').write('2')";
    let execute = |command: &str| call("execute", json!({ "command": command }));
    let playing = house.playing(&script(&[
        json!([execute(large)]),
        json!([execute(folder)]),
        json!([execute(file)]),
        json!([{"text": "It is 42."}]),
    ]));
    with_python(&playing);

    let told = say(&playing, &home, words("Sum it")).await;

    let outputs = told.outputs();
    assert_eq!(
        outputs[0],
        "The sum is 42.\nNo file was changed. The file “a.txt” is too large: 1048577 bytes, and at most \
         1048576 fit."
    );
    assert_eq!(told.of("tool-output-error").len(), 1, "{outputs:?}");
    // A folder becomes a file.
    assert_eq!(paths(&house, &home, &told.session).await, ["c"]);
}

/// The file was kept, but the page offered no look at what the step had changed.
async fn what_a_program_wrote_before_it_failed_is_kept_and_shown(house: House) {
    let home = tinker(&house).await;
    let code = "open('kept.txt', 'w').write('so far')\n1 / 0";
    let playing = house.playing(&script(&[
        json!([call("execute", json!({ "command": code }))]),
        json!([{"text": "It failed."}]),
    ]));
    with_python(&playing);

    let told = say(&playing, &home, words("Try")).await;

    assert_eq!(told.of("tool-output-error").len(), 1);
    assert_eq!(content(&house, &home, &told.session, "kept.txt").await, "so far");
    let page = format!("/playground/tinker/{}", told.session);
    let call = told.of("tool-input-available")[0]["toolCallId"].as_str().unwrap();
    let changes = format!("{page}?call={call}");
    let shown = playing.get(&page).await.text;
    assert!(shown.contains(&format!("href=\"{changes}\"")), "{shown}");
    let shown = playing.get(&changes).await.text;
    assert!(shown.contains("What this step changed") && !shown.contains("No file."), "{shown}");
}

/// Every program was told to have changed something.
async fn a_program_that_writes_no_file_is_no_change(house: House) {
    let home = tinker(&house).await;
    let playing = house.playing(&script(&[
        json!([call("execute", json!({"command": "print(6 * 7)"}))]),
        json!([{"text": "42."}]),
    ]));
    with_python(&playing);

    let told = say(&playing, &home, words("Try")).await;

    assert_eq!(told.of("tool-output-available")[0]["output"], "42\n");
    let page = playing.get(&format!("/playground/tinker/{}", told.session)).await.text;
    assert!(!page.contains("Changes: "), "{page}");
}

/// It went on until its own limit, and what it had written was kept.
async fn a_program_is_stopped_at_once_and_changes_no_file(house: House) {
    let home = tinker(&house).await;
    let endless = "open('a.txt', 'w').write('half')\nwhile True: pass";
    // Once the first call is done, the program is what goes on.
    let playing = house.playing(&script(&[json!([
        call("write_file", json!({"path": "b.txt", "content": "whole"})),
        call("execute", json!({ "command": endless })),
    ])]));
    with_python(&playing);
    let asking =
        request(Method::POST, &format!("{home}/chat"), Some(words("Run").to_string().into_bytes()));
    let mut running = playing.stream(asking).await;
    running.until("tool-output-available").await;
    let session = running.headers["greenroom-session-id"].to_str().unwrap().to_owned();

    let stopped = playing.call(Method::POST, &format!("{home}/{session}/stop"), json!({})).await;

    assert_eq!(stopped.good()["run"]["status"], "stopped");
    let told = running.until("tool-output-error").await;
    let sentence = "The program was stopped with this answer, and no file was changed.";
    assert_eq!(told["errorText"], sentence);
    assert_eq!(paths(&house, &home, &session).await, ["b.txt"]);
}

async fn others_are_answered_while_programs_run_without_end(house: House) {
    let home = tinker(&house).await;
    let endless = json!([call("execute", json!({"command": "while True: pass"}))]);
    let playing = house.playing(&script(&[endless.clone(), endless]));
    with_python(&playing);
    let mut sessions = Vec::new();
    for _ in 0..2 {
        let body = words("Run").to_string().into_bytes();
        let asking = request(Method::POST, &format!("{home}/chat"), Some(body));
        let mut running = playing.stream(asking).await;
        running.until("tool-input-available").await;
        sessions.push(running.headers["greenroom-session-id"].to_str().unwrap().to_owned());
    }

    for _ in 0..3 {
        playing.get("/api/storage/personas").await.good();
        assert_eq!(playing.get("/playground/tinker").await.status, 200);
    }

    // All that while the programs went on.
    for session in &sessions {
        let stopped =
            playing.call(Method::POST, &format!("{home}/{session}/stop"), json!({})).await;
        assert_eq!(stopped.good()["run"]["status"], "stopped");
    }
}

async fn what_goes_wrong_in_python_is_told_and_the_answer_goes_on(house: House) {
    let home = tinker(&house).await;
    let execute = |command: &str| call("execute", json!({ "command": command }));
    let playing = house.playing(&script(&[
        json!([
            execute("1 / 0"),
            execute("open('a.txt', 'w').write('half')\nwhile True: pass"),
            execute("rm -rf /"),
            execute("python nothing.py"),
            execute("import socket; socket.create_connection(('127.0.0.1', 80))"),
            execute("import sys; print('bye'); sys.exit(3)"),
            execute("MODE=fast python nothing.py"),
            execute("terraform init\nterraform apply"),
        ]),
        json!([{"text": "None of that worked."}]),
    ]));
    with_python(&playing);

    let told = say(&playing, &home, words("Try")).await;

    let outputs = told.outputs();
    assert_eq!(told.of("tool-output-error").len(), 8, "{outputs:?}");
    for (at, part) in [
        (0, "ZeroDivisionError"),
        // By the processor's clock, or by the one on the wall when others use the processor as well.
        (1, "The program was stopped: it "),
        (2, "python"),
        (3, "nothing.py"),
        (5, "It ended with status 3."),
        (6, "\nWhat works: `python script.py arguments`"),
        (7, "\nWhat works: `python script.py arguments`"),
    ] {
        assert!(outputs[at].contains(part), "{part}: {}", outputs[at]);
    }
    assert!(outputs[5].starts_with("bye"));
    assert_eq!(paths(&house, &home, &told.session).await, Vec::<String>::new());
    assert_eq!(told.of("finish").len(), 1);
}
