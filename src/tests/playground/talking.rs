//! What is said in a session, in the AI SDK's stream: its order, branches, resuming and stopping.

use axum::http::Method;
use serde_json::{Value, json};

use super::{call, in_session, read, say, script, tinker, words};
use crate::support::{House, error, on_both, request};

on_both!(
    the_stream_has_the_order_and_the_headers_that_clients_want,
    a_tool_that_fails_is_told_and_the_answer_goes_on,
    an_error_in_the_middle_keeps_what_was_said_and_can_be_tried_again,
    an_answer_can_be_given_again_and_a_message_written_anew,
    a_running_answer_can_be_resumed_and_stopped,
    a_persona_without_tools_is_told_of_none,
    todos_are_those_of_the_branch,
);

async fn the_stream_has_the_order_and_the_headers_that_clients_want(house: House) {
    let home = tinker(&house).await;
    let playing = house.playing(&script(&[
        json!([
            {"reasoning": "hm"}, {"text": "Looking."},
            call("ls", json!({})), call("glob", json!({"pattern": "**"})),
        ]),
        json!([{"text": "Nothing there."}]),
    ]));

    let told = say(&playing, &home, words("What is there?")).await;

    let kinds: Vec<&str> = told.chunks.iter().map(|one| one["type"].as_str().unwrap()).collect();
    assert_eq!((kinds[0], kinds[1]), ("start", "start-step"));
    assert_eq!(kinds.iter().filter(|kind| **kind == "start-step").count(), 2);
    assert_eq!(kinds.iter().filter(|kind| **kind == "finish-step").count(), 2);
    assert_eq!(kinds[kinds.len() - 2..], ["message-metadata", "finish"]);
    assert!(told.text.ends_with("data: [DONE]\n\n"));
    let outputs = told.of("tool-output-available");
    assert_eq!(outputs.len(), 2);
    let place = |kind: &str| kinds.iter().position(|known| *known == kind).unwrap();
    assert!(place("tool-output-available") < place("finish-step"), "results belong to their step");
    let start = told.of("start")[0];
    assert_eq!(start["messageMetadata"]["sessionId"], told.session.as_str());
    let known: &[&str] = &["type", "messageId", "messageMetadata"];
    assert!(start.as_object().unwrap().keys().all(|key| known.contains(&key.as_str())));

    let chat = format!("{home}/chat");
    let answer = house.call(Method::POST, &chat, in_session(words("Hi"), &told.session)).await;
    assert_eq!(answer.header("x-vercel-ai-ui-message-stream"), "v1");
    assert_eq!(answer.header("content-type"), "text/event-stream");
    assert_eq!(answer.header("x-accel-buffering"), "no");
    assert!(answer.header("cache-control").starts_with("no-cache"));

    // What is kept reads as what was streamed.
    let messages = read(&house, &home, &told.session).await["messages"].clone();
    assert_eq!(messages[1]["id"], start["messageId"]);
    let kinds: Vec<&str> = messages[1]["parts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        ["step-start", "reasoning", "text", "tool-ls", "tool-glob", "step-start", "text"]
    );
}

async fn a_tool_that_fails_is_told_and_the_answer_goes_on(house: House) {
    let home = tinker(&house).await;
    let playing = house.playing(&script(&[
        json!([
            call("read_file", json!({"path": "nothing.txt"})),
            call("read_file", json!({"path": "../etc/passwd"})),
            call("no_such_tool", json!({})),
            call("grep", json!({"pattern": "("})),
            call("edit_file", json!({"path": 7})),
        ]),
        json!([{"text": "None of that worked."}]),
    ]));

    let told = say(&playing, &home, words("Try")).await;

    assert_eq!(told.of("tool-output-error").len(), 5);
    let outputs = told.outputs().join("\n");
    for part in
        ["no file “nothing.txt”", "lead nowhere", "no tool", "cannot be read", "does not fit"]
    {
        assert!(outputs.contains(part), "{part}: {outputs}");
    }
    assert_eq!(told.of("finish").len(), 1);
}

async fn an_error_in_the_middle_keeps_what_was_said_and_can_be_tried_again(house: House) {
    let home = tinker(&house).await;
    let broken = json!({"error": {"fault": "overloaded", "message": "too much to do"}});
    let playing = house
        .playing(&script(&[json!([{"text": "I begin"}, broken]), json!([{"text": "Whole."}])]));

    let told = say(&playing, &home, words("Hi")).await;

    let error = told.of("error")[0]["errorText"].as_str().unwrap();
    assert!(error.ends_with('.'), "{error}");
    assert_eq!(told.of("finish").len(), 0);
    assert_eq!(told.of("text-end").len(), 1, "what is open is closed");
    let body = json!({
        "sessionId": told.session, "messages": [], "trigger": "regenerate-message",
    });
    let again = say(&playing, &home, body).await;
    assert_eq!(again.words(), "Whole.");
    let messages = read(&house, &home, &told.session).await["messages"].clone();
    assert_eq!(messages.as_array().unwrap().len(), 2);
}

async fn an_answer_can_be_given_again_and_a_message_written_anew(house: House) {
    let home = tinker(&house).await;
    let answers = ["one", "two", "three", "four"].map(|text| json!([{"text": text}]));
    let playing = house.playing(&script(&answers));
    let said = |text: &str, id: &str| json!({"id": id, "role": "user", "parts": [{"type": "text", "text": text}]});
    let body = |messages: Value| json!({"id": "their-own-name", "trigger": "submit-message", "messages": messages});

    // The client's own name becomes the session's.
    let first = say(&playing, &home, body(json!([said("Hello", "u1")]))).await;
    assert_eq!(first.session, "their-own-name");
    let answer = first.of("start")[0]["messageId"].clone();

    let mut again = body(json!([said("Hello", "u1")]));
    again["trigger"] = json!("regenerate-message");
    again["messageId"] = answer.clone();
    let second = say(&playing, &home, again).await;
    assert_eq!(second.words(), "two");

    // What follows the first answer follows it, though another one was given since.
    let after = json!([said("Hello", "u1"), {"id": answer, "role": "assistant", "parts": []}, said("More", "u2")]);
    say(&playing, &home, body(after)).await;
    let texts = async || {
        let whole = read(&house, &home, "their-own-name").await;
        let messages = whole["messages"].as_array().unwrap().clone();
        let text = |message: &Value| {
            let parts = message["parts"].as_array().unwrap();
            parts.iter().find_map(|part| part["text"].as_str()).unwrap().to_owned()
        };
        messages.iter().map(text).collect::<Vec<_>>()
    };
    assert_eq!(texts().await, ["Hello", "one", "More", "three"]);

    let mut anew = body(json!([said("Good evening", "u1")]));
    anew["messageId"] = json!("u1");
    say(&playing, &home, anew).await;
    assert_eq!(texts().await, ["Good evening", "four"]);
}

async fn a_running_answer_can_be_resumed_and_stopped(house: House) {
    let home = tinker(&house).await;
    let playing = house.playing(&script(&[json!([{"text": "I begin"}, "stall"])]));
    let body = words("Hi").to_string().into_bytes();
    let mut first =
        playing.stream(request(Method::POST, &format!("{home}/chat"), Some(body))).await;
    first.until("text-delta").await;
    let session = first.headers["greenroom-session-id"].to_str().unwrap().to_owned();
    // Whoever closes the connection does not stop it.
    drop(first);

    let chat = format!("{home}/chat");
    let busy = playing.call(Method::POST, &chat, in_session(words("Hm"), &session)).await;
    assert_eq!(busy.error(), error(409, "busy", ""));
    for place in ["", "chat/"] {
        let address = format!("{home}/{place}{session}/stream");
        let mut resumed = playing.stream(request(Method::GET, &address, None)).await;
        assert_eq!(resumed.headers["x-vercel-ai-ui-message-stream"], "v1");
        let (_, start) = resumed.next().await.unwrap();
        assert_eq!(start["type"], "start", "it begins at the beginning");
        assert_eq!(resumed.until("text-delta").await["delta"], "I ");
        assert_eq!(resumed.until("text-delta").await["delta"], "begin");
    }
    let address = format!("{home}/{session}/stream");
    let mut watching = playing.stream(request(Method::GET, &address, None)).await;
    let stopped = playing.call(Method::POST, &format!("{home}/{session}/stop"), json!({})).await;
    assert_eq!(stopped.good()["run"]["status"], "stopped");
    watching.until("abort").await;

    assert_eq!(playing.get(&address).await.status, 204);
    let stopped = playing.call(Method::POST, &format!("{home}/{session}/stop"), json!({})).await;
    assert_eq!(stopped.good()["run"], Value::Null);
    let messages = read(&playing, &home, &session).await["messages"].clone();
    assert_eq!(messages[1]["parts"][1]["text"], "I begin");
}

async fn a_persona_without_tools_is_told_of_none(house: House) {
    let home = "/api/agents/optimist/playground";
    let playing = house.playing(&script(&[
        json!([call("write_file", json!({"path": "a", "content": "b"}))]),
        json!([{"text": "So I cannot."}]),
    ]));

    let told = say(&playing, home, words("Write")).await;

    assert!(told.outputs()[0].contains("no tool “write_file”"), "{:?}", told.outputs());
}

async fn todos_are_those_of_the_branch(house: House) {
    let home = tinker(&house).await;
    let list = |status: &str| {
        call("write_todos", json!({"todos": [{"content": "Sweep", "status": status}]}))
    };
    let playing = house.playing(&script(&[
        json!([list("pending")]),
        json!([{"text": "A plan."}]),
        json!([list("completed")]),
        json!([{"text": "Done."}]),
    ]));
    let first = say(&playing, &home, words("Plan")).await;
    let todos = async || read(&house, &home, &first.session).await["todos"].clone();
    assert_eq!(todos().await, json!([{"content": "Sweep", "status": "pending"}]));
    let leaf = read(&house, &home, &first.session).await["leaf"].clone();

    let done = say(&playing, &home, in_session(words("Do it"), &first.session)).await;
    assert_eq!(todos().await[0]["status"], "completed");
    assert!(done.outputs()[0].contains("1 of 1"));

    let again = json!({
        "sessionId": first.session, "messages": [], "trigger": "regenerate-message",
        "messageId": leaf,
    });
    say(&playing, &home, again).await;
    assert_eq!(todos().await, json!([]), "the new answer made no list");
}
