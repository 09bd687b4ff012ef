//! Files: written by tools and by people, seen from their branch, and bounded.

use axum::http::Method;
use serde_json::{Value, json};

use super::{call, content, in_session, paths, read, say, script, tinker, words};
use crate::support::{House, error, on_both, request};

on_both!(
    tools_write_read_edit_find_and_delete_files,
    calls_side_by_side_lose_nothing,
    files_follow_the_branch,
    what_is_written_after_clearing_is_not_on_the_branches_before,
    a_file_put_in_beside_an_answer_that_never_came_stays,
    a_file_that_was_changed_meanwhile_is_not_written_over,
    a_person_puts_files_in_and_takes_them_out,
    no_path_leads_out_and_no_file_is_too_large,
    a_file_is_looked_at_before_it_is_edited,
    a_file_keeps_the_ends_of_its_lines,
    a_large_file_in_any_language_is_saved,
    what_a_tool_does_not_take_is_named,
);

async fn tools_write_read_edit_find_and_delete_files(house: House) {
    let home = tinker(&house).await;
    let playing = house.playing(&script(&[
        json!([
            call("write_file", json!({"path": "/notes/plan.md", "content": "one\ntwo\nthree\n"})),
            call("write_file", json!({"path": "main.py", "content": "print(2)"})),
        ]),
        json!([
            call(
                "edit_file",
                json!({"path": "notes/plan.md", "old_string": "two", "new_string": "2"})
            ),
            call(
                "edit_file",
                json!({"path": "notes/plan.md", "old_string": "e", "new_string": "E"})
            ),
        ]),
        json!([
            call("ls", json!({})),
            call("read_file", json!({"path": "notes/plan.md", "first_line": 2})),
            call("glob", json!({"pattern": "**/*.md"})),
            call("grep", json!({"pattern": "T(wo|hree)", "ignore_case": true})),
        ]),
        json!([call("delete_file", json!({"path": "main.py"}))]),
        json!([{"text": "Done."}]),
    ]));

    let told = say(&playing, &home, words("Work")).await;

    assert_eq!(
        told.outputs(),
        [
            "“notes/plan.md” was made (14 bytes).",
            "“main.py” was made (8 bytes).",
            "The passage of “notes/plan.md” was replaced.",
            "The passage occurs 3 times. Nothing was changed. Give more of its surroundings so that \
             it occurs once, or set replace_all.",
            "notes/ (1 file)\nmain.py (8 bytes)",
            "2\t2\n3\tthree",
            "notes/plan.md",
            "notes/plan.md:3: three",
            "“main.py” was deleted.",
        ]
    );
    assert_eq!(paths(&house, &home, &told.session).await, ["notes/plan.md"]);
    assert_eq!(content(&house, &home, &told.session, "notes/plan.md").await, "one\n2\nthree\n");
}

/// Beside an answer that was being given, what its tools did was not seen before its end.
// With PostgreSQL news come through its own channel, which begins to be heard some time after the stream.
#[tokio::test]
async fn open_pages_learn_of_each_thing_that_tools_do() {
    let house = House::new().await;
    let home = tinker(&house).await;
    let todos = json!({"todos": [{"content": "Sweep", "status": "pending"}]});
    let playing = house.playing(&script(&[
        json!([call("write_file", json!({"path": "a", "content": "x"}))]),
        json!([call("ls", json!({}))]),
        json!([call("write_todos", todos)]),
        json!([call("delete_file", json!({"path": "a"}))]),
        json!([{"text": "Done."}]),
    ]));
    let mut heard = playing.stream(request(Method::GET, "/api/live", None)).await;
    let session = say(&playing, &home, words("Go")).await.session;

    let mut topics = Vec::new();
    while topics.iter().filter(|topic| *topic == "run").count() < 2 {
        let (_, news) = heard.next().await.unwrap();
        if news["conversationId"] == session.as_str() {
            topics.push(news["topic"].as_str().unwrap().to_owned());
        }
    }

    let begun = topics.iter().position(|topic| topic == "run").unwrap();
    assert_eq!(topics[begun..], ["run", "chat", "chat", "chat", "run"]);
}

async fn calls_side_by_side_lose_nothing(house: House) {
    let home = tinker(&house).await;
    let write = |n: usize| call("write_file", json!({"path": format!("f{n}"), "content": "x"}));
    let append = |n: usize| {
        let (old, new) = ("end", format!("{n}\nend"));
        call("edit_file", json!({"path": "log", "old_string": old, "new_string": new}))
    };
    let mut first: Vec<Value> = (0..20).map(write).collect();
    first.push(call("write_file", json!({"path": "log", "content": "end"})));
    let playing = house.playing(&script(&[
        json!(first),
        json!((0..20).map(append).collect::<Vec<_>>()),
        json!([{"text": "Done."}]),
    ]));

    let told = say(&playing, &home, words("Work")).await;

    assert_eq!(told.of("tool-output-error"), Vec::<&Value>::new());
    assert_eq!(paths(&house, &home, &told.session).await.len(), 21);
    let log = content(&house, &home, &told.session, "log").await;
    assert_eq!(log.lines().count(), 21, "{log}");
}

async fn files_follow_the_branch(house: House) {
    let home = tinker(&house).await;
    let write = |path: &str, content: &str| {
        json!([call("write_file", json!({"path": path, "content": content}))])
    };
    let done = json!([{"text": "Done."}]);
    let playing = house.playing(&script(&[
        write("a", "first"),
        done.clone(),
        write("b", "second"),
        done.clone(),
        write("a", "other"),
        done,
    ]));
    let first = say(&playing, &home, words("One")).await;
    let session = &first.session;
    say(&playing, &home, in_session(words("Two"), session)).await;
    let end = read(&house, &home, session).await["leaf"].clone();
    assert_eq!(paths(&house, &home, session).await, ["a", "b"]);

    // The first message is answered again: neither file of the other branch is there.
    let answer = first.of("start")[0]["messageId"].clone();
    let again = json!({
        "sessionId": session, "messages": [], "trigger": "regenerate-message", "messageId": answer,
    });
    say(&playing, &home, again).await;
    assert_eq!(paths(&house, &home, session).await, ["a"]);
    assert_eq!(content(&house, &home, session, "a").await, "other");

    let go = format!("{home}/sessions/{session}/leaf");
    house.call(Method::POST, &go, json!({"leaf": end})).await.good();
    assert_eq!(paths(&house, &home, session).await, ["a", "b"]);
    assert_eq!(content(&house, &home, session, "a").await, "first");
}

async fn what_is_written_after_clearing_is_not_on_the_branches_before(house: House) {
    let home = tinker(&house).await;
    let made = house.call(Method::POST, &format!("{home}/sessions"), json!({})).await.good();
    let session = made["id"].as_str().unwrap();
    let files = format!("{home}/sessions/{session}/files");
    let put = async |path: &str, text: &str| {
        house.call(Method::PUT, &format!("{files}/{path}"), json!({"content": text})).await.good();
    };
    put("data", "first").await;
    put("given", "first").await;
    put("kept", "as it was").await;
    let playing = house.playing(&script(&[
        json!([call("write_file", json!({"path": "data", "content": "by the persona"}))]),
        json!([{"text": "Done."}]),
        json!([{"text": "Another beginning."}]),
    ]));
    say(&playing, &home, in_session(words("Write"), session)).await;
    let end = read(&house, &home, session).await["leaf"].clone();
    let clear = format!("{home}/sessions/{session}/clear");
    house.call(Method::POST, &clear, json!({})).await.good();

    // What a beginning finds is there again; what is done to it now is the next one's.
    assert_eq!(paths(&house, &home, session).await, ["data", "given", "kept"]);
    assert_eq!(content(&house, &home, session, "data").await, "first");
    put("data", "second").await;
    put("given", "second").await;
    put("new", "second").await;
    house.send(request(Method::DELETE, &format!("{files}/kept"), None)).await;
    assert_eq!(paths(&house, &home, session).await, ["data", "given", "new"]);

    let go = format!("{home}/sessions/{session}/leaf");
    house.call(Method::POST, &go, json!({"leaf": end})).await.good();
    assert_eq!(paths(&house, &home, session).await, ["data", "given", "kept"]);
    assert_eq!(content(&house, &home, session, "data").await, "by the persona");
    assert_eq!(content(&house, &home, session, "given").await, "first");

    house.call(Method::POST, &clear, json!({})).await.good();
    say(&playing, &home, in_session(words("Hello"), session)).await;
    assert_eq!(paths(&house, &home, session).await, ["data", "given", "new"]);
    assert_eq!(content(&house, &home, session, "data").await, "second");
}

async fn a_file_put_in_beside_an_answer_that_never_came_stays(house: House) {
    let home = tinker(&house).await;
    let playing = house.playing(&script(&[json!(["stall"]), json!([{"text": "Here."}])]));
    let body = words("Hi").to_string().into_bytes();
    let mut first =
        playing.stream(request(Method::POST, &format!("{home}/chat"), Some(body))).await;
    first.until("start").await;
    let session = first.headers["greenroom-session-id"].to_str().unwrap().to_owned();
    let address = format!("{home}/sessions/{session}/files/mine.txt");
    playing.call(Method::PUT, &address, json!({"content": "mine"})).await.good();
    assert_eq!(paths(&playing, &home, &session).await, ["mine.txt"]);

    playing.call(Method::POST, &format!("{home}/{session}/stop"), json!({})).await.good();

    assert_eq!(paths(&playing, &home, &session).await, ["mine.txt"]);
    say(&playing, &home, in_session(words("And now?"), &session)).await;
    assert_eq!(content(&playing, &home, &session, "mine.txt").await, "mine");
}

async fn a_file_that_was_changed_meanwhile_is_not_written_over(house: House) {
    let home = tinker(&house).await;
    let made = house.call(Method::POST, &format!("{home}/sessions"), json!({})).await.good();
    let session = made["id"].as_str().unwrap();
    let address = format!("{home}/sessions/{session}/files/plan.md");
    let put = async |text: &str, revision: i64| {
        let written = json!({"content": text, "revision": revision});
        house.call(Method::PUT, &address, written).await
    };
    put("one", 0).await.good();
    put("two", 1).await.good();

    let refused = put("mine", 1).await;

    assert_eq!(refused.error(), error(409, "conflict", "file"));
    let told = refused.json()["error"].clone();
    assert_eq!((&told["yours"], &told["theirs"]), (&json!("mine"), &json!("two")));
    assert_eq!((&told["base"], &told["revision"]), (&json!("one"), &json!(2)));
    assert_eq!(put("mine", 0).await.status, 409, "it is not new");
    assert_eq!(content(&house, &home, session, "plan.md").await, "two");

    // On the page nothing that was typed is lost.
    let save = async |fields: &[(&str, &str)]| {
        let mut all = vec![("persona", "tinker"), ("session", session), ("path", "plan.md")];
        all.extend(fields);
        let saved = house.function("save_file", &all).await;
        saved.good()["told"].as_str().unwrap().to_owned()
    };
    let page = format!("/playground/tinker/{session}?file=plan.md&edit=1");
    let shown = async || house.get(&page).await.text;
    assert!(shown().await.contains("name=\"revision\" value=\"2\""));
    let told = save(&[("content", "typed"), ("revision", "1")]).await;
    assert_eq!(told, "The file was changed meanwhile. Yours is not saved yet.");
    let both = shown().await;
    for text in ["Two texts", "\ntyped</textarea>", "\ntwo</textarea>", "Leave mine"] {
        assert!(both.contains(text), "{text}: {both}");
    }
    assert_eq!(paths(&house, &home, session).await, ["plan.md"], "it is on no branch");
    assert_eq!(save(&[("leave", "true")]).await, "Your text is left.");
    assert!(!shown().await.contains("Two texts"));
    let told = save(&[("content", "new"), ("revision", "0")]).await;
    assert_eq!(told, "There is already a file “plan.md”. It stays.");
    assert_eq!(content(&house, &home, session, "plan.md").await, "two");
    assert_eq!(save(&[("content", "joined"), ("revision", "2")]).await, "The file is saved.");
    assert!(!shown().await.contains("Two texts"));
    assert_eq!(content(&house, &home, session, "plan.md").await, "joined");
}

async fn a_person_puts_files_in_and_takes_them_out(house: House) {
    let home = tinker(&house).await;
    let made = house.call(Method::POST, &format!("{home}/sessions"), json!({})).await.good();
    let session = made["id"].as_str().unwrap();
    let files = format!("{home}/sessions/{session}/files");
    let put = async |path: &str, text: &str| {
        house.call(Method::PUT, &format!("{files}/{path}"), json!({"content": text})).await.status
    };
    assert_eq!(put("data/a.csv", "x,y\n1,2\n").await, 204);
    assert_eq!(put("data/a.csv", "x,y\n3,4\n").await, 204);

    // What was put in before anything was said is there on every branch.
    let playing = house.playing(&script(&[
        json!([call("read_file", json!({"path": "data/a.csv"}))]),
        json!([{"text": "Read."}]),
    ]));
    let told = say(&playing, &home, in_session(words("Read"), session)).await;
    assert_eq!(told.outputs(), ["1\tx,y\n2\t3,4"]);

    let address = format!("{files}/data/a.csv");
    let file = house.get(&address).await;
    assert!(file.header("content-disposition").starts_with("attachment"));
    assert_eq!(file.header("x-content-type-options"), "nosniff");
    let archive = house.get(&format!("{home}/sessions/{session}/files.zip")).await;
    assert_eq!(archive.header("content-type"), "application/zip");
    assert_eq!(house.send(request(Method::DELETE, &address, None)).await.status, 204);
    assert_eq!(house.send(request(Method::DELETE, &address, None)).await.status, 404);
    assert_eq!(paths(&house, &home, session).await, Vec::<String>::new());

    let boundary = "----b";
    let form = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"up.txt\"\r\n\r\nup\r\n--{boundary}--\r\n"
    );
    let mut upload = request(
        Method::POST,
        &format!("{home}/sessions/{session}/upload"),
        Some(form.into_bytes()),
    );
    let kind = format!("multipart/form-data; boundary={boundary}");
    upload.headers_mut().insert("content-type", kind.parse().unwrap());
    let sent = house.send(upload).await;
    assert_eq!(sent.status, 303, "{}", sent.text);
    assert!(!sent.header("location").contains("__err"), "{}", sent.header("location"));
    assert_eq!(content(&house, &home, session, "up.txt").await, "up");

    // More than all files may have is heard out, and refused with a sentence.
    let large = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"l\"\r\n\r\n{}\r\n--{boundary}--\r\n",
        "x".repeat(16 * 1024 * 1024)
    );
    let length = large.len().to_string();
    let mut upload = request(
        Method::POST,
        &format!("{home}/sessions/{session}/upload"),
        Some(large.into_bytes()),
    );
    upload.headers_mut().insert("content-type", kind.parse().unwrap());
    upload.headers_mut().insert("content-length", length.parse().unwrap());
    let refused = house.send(upload).await;
    assert_eq!(refused.status, 303);
    let page = house.get(refused.header("location")).await;
    assert!(page.text.contains("at most 16384 KiB are taken"), "{}", page.text);
}

async fn no_path_leads_out_and_no_file_is_too_large(house: House) {
    let home = tinker(&house).await;
    let made = house.call(Method::POST, &format!("{home}/sessions"), json!({})).await.good();
    let session = made["id"].as_str().unwrap();
    let files = format!("{home}/sessions/{session}/files");
    for odd in ["%2e%2e/x", "a/%2e%2e/%2e%2e/x", "a%5cb", "a%00b", "a//b", "%20a", "a%e2%80%aeb"] {
        let address = format!("{files}/{odd}");
        let answer = house.call(Method::PUT, &address, json!({"content": "x"})).await;
        assert_eq!(answer.error(), error(422, "invalid", "path"), "{odd}");
    }
    let large = "x".repeat(1024 * 1024 + 1);
    let answer = house.call(Method::PUT, &format!("{files}/a"), json!({"content": large})).await;
    assert_eq!(answer.error(), error(422, "invalid", "content"));
    house.call(Method::PUT, &format!("{files}/a"), json!({"content": "x"})).await;
    let within = house.call(Method::PUT, &format!("{files}/a/b"), json!({"content": "x"})).await;
    assert_eq!(within.error(), error(422, "invalid", "path"));
    assert_eq!(paths(&house, &home, session).await, ["a"]);
}

/// A form that puts one file in.
fn upload(
    home: &str,
    session: &str,
    name: &str,
    bytes: &[u8],
) -> axum::http::Request<axum::body::Body> {
    let head = format!(
        "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n"
    );
    let form = [head.as_bytes(), bytes, b"\r\n--b--\r\n"].concat();
    let mut upload =
        request(Method::POST, &format!("{home}/sessions/{session}/upload"), Some(form));
    let kind = "multipart/form-data; boundary=b";
    upload.headers_mut().insert("content-type", kind.parse().unwrap());
    upload
}

async fn a_file_is_looked_at_before_it_is_edited(house: House) {
    let home = tinker(&house).await;
    let made = house.call(Method::POST, &format!("{home}/sessions"), json!({})).await.good();
    let session = made["id"].as_str().unwrap();
    let picture = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff";
    for (name, bytes) in [
        ("plan.md", &b"# Plan\n\n<script>alert(1)</script>"[..]),
        ("a.csv", b"who,much\nAnn,\"1,5\"\n"),
        ("code.py", b"one = 1\ntwo = '<b>'\n"),
        ("page.svg", b"<svg onload=\"alert(1)\"/>"),
        ("photo.bin", picture),
        ("odd.bin", b"\0\x01\xff"),
    ] {
        assert_eq!(house.send(upload(&home, session, name, bytes)).await.status, 303, "{name}");
    }
    let page =
        async |query: &str| house.get(&format!("/playground/tinker/{session}?{query}")).await.text;

    let plan = page("file=plan.md").await;
    assert!(plan.contains("<h1>Plan</h1>") && !plan.contains("<script>alert"), "{plan}");
    assert!(!plan.contains("id=\"file-content\""), "nothing is edited yet: {plan}");
    assert!(
        plan.contains("file=plan.md&amp;edit=1") && plan.contains("file=plan.md&amp;written=1")
    );
    let written = page("file=plan.md&written=1").await;
    assert!(written.contains("# Plan\n") && written.contains("1\n2\n3\n"), "{written}");
    let edited = page("file=plan.md&edit=1").await;
    assert!(edited.contains("id=\"file-content\""), "{edited}");
    let table = page("file=a.csv").await;
    assert!(table.contains("<th scope=\"col\">who<") && table.contains("<td>1,5<"), "{table}");
    let code = page("file=code.py").await;
    assert!(code.contains("1\n2\n<") && code.contains("two = '&lt;b&gt;'"), "{code}");
    let drawing = page("file=page.svg").await;
    assert!(!drawing.contains("<svg onload") && !drawing.contains("files/page.svg?"), "{drawing}");
    let shown = page("file=photo.bin").await;
    assert!(shown.contains("files/photo.bin?revision=1\""), "{shown}");
    assert!(page("file=odd.bin").await.contains("This is not a text file."));

    // What is drawn on a page of ours can still not be opened as one.
    for (name, kind) in [
        ("photo.bin", "image/png"),
        ("page.svg", "text/plain; charset=utf-8"),
        ("odd.bin", "application/octet-stream"),
    ] {
        let file = house.get(&format!("{home}/sessions/{session}/files/{name}?revision=1")).await;
        assert_eq!(file.header("content-type"), kind, "{name}");
        assert!(file.header("content-disposition").starts_with("attachment"), "{name}");
        assert_eq!(file.header("x-content-type-options"), "nosniff", "{name}");
    }
}

/// A form takes three bytes for each byte of such letters, and was refused.
async fn a_large_file_in_any_language_is_saved(house: House) {
    let home = tinker(&house).await;
    let made = house.call(Method::POST, &format!("{home}/sessions"), json!({})).await.good();
    let session = made["id"].as_str().unwrap();
    let text = "привет".repeat(900 * 1024 / 12);
    let fields = [("persona", "tinker"), ("session", session), ("path", "long.txt")];
    let save = async |text: &str| {
        let typed = [("content", text), ("revision", "0")];
        house.function("save_file", &[&fields[..], &typed].concat()).await
    };

    assert_eq!(save(&text).await.good()["told"], "The file is saved.");

    assert_eq!(content(&house, &home, session, "long.txt").await, text);
    let refused = save(&text.repeat(2)).await;
    assert_eq!(refused.status, 413);
    assert!(refused.text.contains("4096"), "{}", refused.text);
}

/// What the editor of a browser sends turned every line of a table that Python had written into another.
async fn a_file_keeps_the_ends_of_its_lines(house: House) {
    let home = tinker(&house).await;
    let made = house.call(Method::POST, &format!("{home}/sessions"), json!({})).await.good();
    let session = made["id"].as_str().unwrap();
    house.send(upload(&home, session, "a.csv", b"a,1\r\nb,2\r\n")).await;
    let page = format!("/playground/tinker/{session}?file=a.csv");

    let written = house.get(&format!("{page}&written=1")).await.text;
    assert!(written.contains("\na,1\nb,2\n<!></pre>"), "{written}");

    let fields = [("persona", "tinker"), ("session", session), ("path", "a.csv")];
    let typed = [("content", "a,1\r\nb,3\r\n"), ("revision", "1")];
    let saved = house.function("save_file", &[&fields[..], &typed].concat()).await.good();
    assert_eq!(saved["told"], "The file is saved.");
    assert_eq!(content(&house, &home, session, "a.csv").await, "a,1\r\nb,3\r\n");
}

/// A misspelt argument was left aside, and the model took what came for what it asked for.
async fn what_a_tool_does_not_take_is_named(house: House) {
    let home = tinker(&house).await;
    let playing = house.playing(&script(&[
        json!([
            call("write_file", json!({"path": "a.txt", "content": "x"})),
            call("read_file", json!({"path": "a.txt", "lines": 3})),
            call("read_file", json!({"path": "a.txt", "first_line": 3, "last_line": 2})),
            call("ls", json!({})),
        ]),
        json!([{"text": "So."}]),
    ]));

    let told = say(&playing, &home, words("Try")).await.outputs();

    assert_eq!(
        told,
        [
            "“a.txt” was made (1 byte).",
            "The input does not fit: read_file has no “lines”. It takes “first_line”, “last_line”, “path”.",
            "first_line (3) comes after last_line (2).",
            "a.txt (1 byte)",
        ]
    );
}
