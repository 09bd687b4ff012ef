//! What is said in a session, in the AI SDK's stream: its order, what goes wrong, resuming and stopping.

use axum::http::Method;
use serde_json::{Value, json};

use super::{call, in_session, read, say, script, tinker, words};
use crate::support::{House, error, on_both, request};

on_both!(
    the_stream_has_the_order_and_the_headers_that_clients_want,
    a_tool_that_fails_is_told_and_the_answer_goes_on,
    an_error_in_the_middle_keeps_what_was_said_and_can_be_tried_again,
    a_run_that_a_limit_ends_says_so_to_clients,
    a_model_is_named_as_clients_name_it,
    a_long_history_of_a_client_is_taken,
    a_running_answer_can_be_resumed_and_stopped,
    what_an_answer_took_so_far_is_told_while_it_is_given,
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

/// A client saw an empty step and nothing of why.
async fn a_run_that_a_limit_ends_says_so_to_clients(house: House) {
    let home = tinker(&house).await;
    let usage = json!({"usage": {"input": 1000, "output": 200}});
    let playing =
        house.playing(&script(&[json!([{"text": "Step."}, call("ls", json!({})), usage])]));
    playing.call(Method::PUT, "/api/budgets", json!({"runTokens": 2500})).await.good();

    let told = say(&playing, &home, words("Go on and on.")).await;

    let sentence = "The run was ended: it took 1\u{202f}200 of the 2\u{202f}500 tokens, and the next \
                    answer would not fit into what is left for one run.";
    let errors = told.of("error");
    assert_eq!((errors.len(), &errors[0]["errorText"]), (1, &json!(sentence)), "{}", told.text);
    assert_eq!(told.chunks.last().unwrap()["type"], "error", "nothing follows it");
    let told_of = told.of("message-metadata")[0]["messageMetadata"].clone();
    assert_eq!((&told_of["error"], &told_of["finishReason"]), (&json!(sentence), &json!("error")));
    let kept = read(&playing, &home, &told.session).await["messages"][1]["metadata"].clone();
    assert_eq!((&kept["error"], &kept["finishReason"]), (&json!(sentence), &json!("error")));
}

async fn a_model_is_named_as_clients_name_it(house: House) {
    let home = tinker(&house).await;
    let playing = house.playing(&script(&[json!([{"text": "Hello."}])]));
    for (provider, id, meant) in [
        ("google", "gemini-2.5-flash", "gemini-2.5-flash"),
        ("anthropic", "claude-sonnet-4-5", "anthropic/claude-sonnet-4-5"),
        ("openai", "gpt-5-mini", "gpt-5-mini"),
    ] {
        let mut body = words("Hi");
        body["modelProvider"] = json!(provider);
        body["modelId"] = json!(id);
        let made = playing.call(Method::POST, &format!("{home}/chat"), body).await;
        let session = made.header("greenroom-session-id").to_owned();
        assert_eq!(made.status, 200, "{}", made.text);
        assert_eq!(read(&playing, &home, &session).await["model"], meant);
        // The run, its trace and what is summed up know it by the same name.
        let run = made.header("greenroom-run-id");
        assert_eq!(playing.get(&format!("/api/runs/{run}")).await.good()["model"], meant);
    }
    let mut body = words("Hi");
    body["modelProvider"] = json!("demo");
    body["modelId"] = json!("demo");
    assert_eq!(say(&playing, &home, body).await.words(), "Hello.");
}

/// A client sends all that was said with every message: after two million letters it was shut out.
async fn a_long_history_of_a_client_is_taken(house: House) {
    let home = tinker(&house).await;
    let playing = house.playing(&script(&[json!([{"text": "Yes."}]), json!([{"text": "Still."}])]));
    let first = say(&playing, &home, words("Are you there?")).await;
    let answer = first.of("start")[0]["messageId"].clone();
    let long = "x".repeat(5 * 1024 * 1024);

    let history = json!({"messages": [
        {"id": "one", "role": "user", "parts": [{"type": "text", "text": "Are you there?"}]},
        {"id": answer, "role": "assistant", "parts": [{"type": "tool-ls", "output": long}]},
        {"id": "two", "role": "user", "parts": [{"type": "text", "text": "And now?"}]},
    ]});
    let next = say(&playing, &home, in_session(history, &first.session)).await;

    assert_eq!(next.words(), "Still.");
    let most = 32 * 1024 * 1024;
    let refused = words(&"x".repeat(most));
    let refused = playing.call(Method::POST, &format!("{home}/chat"), refused).await;
    assert_eq!(refused.error(), error(413, "too_large", ""));
    assert!(refused.text.contains("32768"), "{}", refused.text);
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
    // A client asks before the first word, by a name of its own.
    for place in ["", "chat/"] {
        let unknown = playing.get(&format!("{home}/{place}not-said-yet/stream")).await;
        assert_eq!(unknown.status, 204, "{}", unknown.text);
    }
    let stopped = playing.call(Method::POST, &format!("{home}/{session}/stop"), json!({})).await;
    assert_eq!(stopped.good()["run"], Value::Null);
    let messages = read(&playing, &home, &session).await["messages"].clone();
    assert_eq!(messages[1]["parts"][1]["text"], "I begin");
}

/// A long answer was told to be free until its end.
async fn what_an_answer_took_so_far_is_told_while_it_is_given(house: House) {
    let home = tinker(&house).await;
    let usage = json!({"usage": {"input": 1000, "output": 100}});
    let playing = house.playing(&script(&[
        json!([usage, call("ls", json!({}))]),
        json!([{"text": "I begin"}, "stall"]),
    ]));
    let body = words("Hi").to_string().into_bytes();
    let mut told = playing.stream(request(Method::POST, &format!("{home}/chat"), Some(body))).await;
    told.until("text-delta").await;
    let session = told.headers["greenroom-session-id"].to_str().unwrap().to_owned();

    let page = playing.get(&format!("/playground/tinker/{session}")).await.text;

    assert!(page.contains("1\u{202f}000 tokens in, 100 out"), "{page}");
    playing.call(Method::POST, &format!("{home}/{session}/stop"), json!({})).await.good();
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
