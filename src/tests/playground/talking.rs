//! What is said in a session, in the AI SDK's stream: its order, branches, resuming and stopping.

use axum::http::Method;
use greenroom::domain::{
    change::{Change, Op},
    id::PersonaId,
};
use serde_json::{Value, json};

use super::{call, in_session, read, say, script, tinker, words};
use crate::support::{House, error, on_both, request};

on_both!(
    the_stream_has_the_order_and_the_headers_that_clients_want,
    a_tool_that_fails_is_told_and_the_answer_goes_on,
    an_error_in_the_middle_keeps_what_was_said_and_can_be_tried_again,
    a_run_that_a_limit_ends_says_so_to_clients,
    an_answer_that_never_came_can_be_given_again_by_the_name_it_was_announced_with,
    an_answer_is_given_again_by_another_model,
    a_model_is_named_as_clients_name_it,
    an_answer_can_be_given_again_and_a_message_written_anew,
    what_was_refused_is_said_when_a_client_wants_it_answered_again,
    a_client_that_wants_its_own_words_answered_again_is_understood,
    a_long_history_of_a_client_is_taken,
    a_running_answer_can_be_resumed_and_stopped,
    what_an_answer_took_so_far_is_told_while_it_is_given,
    a_persona_without_tools_is_told_of_none,
    todos_are_those_of_the_branch,
    an_answer_that_failed_can_be_tried_again_though_something_follows_it,
    what_failed_is_asked_once_more_of_whoever_was_asked,
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

async fn an_answer_that_never_came_can_be_given_again_by_the_name_it_was_announced_with(
    house: House,
) {
    let home = tinker(&house).await;
    let broken = || json!([{"error": {"fault": "bad_request", "message": "not like that"}}]);
    let playing = house.playing(&script(&[
        broken(),
        json!([{"text": "Whole."}]),
        broken(),
        json!([{"text": "Fine."}]),
    ]));
    let told = say(&playing, &home, words("Hi")).await;
    let announced = told.of("start")[0]["messageId"].clone();
    let sentence = &told.of("error")[0]["errorText"];
    let kept = read(&playing, &home, &told.session).await["messages"][0]["metadata"].clone();
    assert_eq!((&kept["error"], &kept["finishReason"]), (sentence, &json!("error")));

    let body = json!({
        "sessionId": told.session, "messages": [], "trigger": "regenerate-message",
        "messageId": announced,
    });
    let again = say(&playing, &home, body).await;
    assert_eq!(again.words(), "Whole.");
    // What follows an answer that never came follows what asked for it.
    let next = say(&playing, &home, in_session(words("More"), &told.session)).await;
    let announced = next.of("start")[0]["messageId"].as_str().unwrap().to_owned();
    let at = format!("/playground/tinker/{}", told.session);
    let fields = [("at", at.as_str()), ("words", "Now?"), ("parent", announced.as_str())];
    let sent = playing.function("say", &fields).await;
    let run = sent.good().as_str().unwrap().into();
    playing.state.agent.ended(&playing.state.scope, &run).await.unwrap();
    let messages = read(&playing, &home, &told.session).await["messages"].clone();
    let texts: Vec<&str> = messages
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["parts"].as_array().unwrap().last().unwrap()["text"].as_str().unwrap())
        .collect();
    assert_eq!(texts, ["Hi", "Whole.", "More", "Now?", "Fine."]);
}

async fn an_answer_is_given_again_by_another_model(house: House) {
    let home = tinker(&house).await;
    house.dear_model().await;
    let chosen = json!({"model": "demo"});
    house.call(Method::PUT, "/api/models/default", chosen).await;
    let broken = json!({"error": {"fault": "bad_request", "message": "not like that"}});
    let playing = house.playing(&script(&[json!([broken]), json!([{"text": "Dearly."}])]));
    let told = say(&playing, &home, words("Hi")).await;
    let asked = read(&playing, &home, &told.session).await["messages"][0]["id"].clone();
    let page = playing.get(&format!("/playground/tinker/{}", told.session)).await.text;
    assert!(page.contains("value=\"demo/dear\""), "another model is offered: {page}");

    let fields = [
        ("persona", "tinker"),
        ("session", told.session.as_str()),
        ("id", asked.as_str().unwrap()),
        ("model", "demo/dear"),
    ];
    let run = playing.function("answer_again", &fields).await.good().as_str().unwrap().into();
    let run = playing.state.agent.ended(&playing.state.scope, &run).await.unwrap();

    assert_eq!(run.model, "demo/dear");
    let whole = read(&playing, &home, &told.session).await;
    assert_eq!(whole["messages"][1]["parts"][1]["text"], "Dearly.");
    assert_eq!(whole["model"], "", "the session keeps its own");
    let odd = [("persona", "tinker"), ("session", &told.session), fields[2], ("model", "no/such")];
    assert_eq!(playing.function("answer_again", &odd).await.status, 422);
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

/// The words that are on the branch in use.
async fn texts(house: &House, home: &str, session: &str) -> Vec<String> {
    let whole = read(house, home, session).await;
    let text = |message: &Value| {
        let parts = message["parts"].as_array().unwrap();
        parts.iter().find_map(|part| part["text"].as_str()).unwrap().to_owned()
    };
    whole["messages"].as_array().unwrap().iter().map(text).collect()
}

/// What a client of the AI SDK sends in a chat of its own.
fn sent(trigger: &str, messages: &[Value]) -> Value {
    json!({"id": "their-own-name", "trigger": trigger, "messages": messages})
}

fn of_user(id: &str, text: &str) -> Value {
    json!({"id": id, "role": "user", "parts": [{"type": "text", "text": text}]})
}

/// Says something that a limit refuses.
async fn refused(house: &House, home: &str, body: Value) {
    house.call(Method::PUT, "/api/budgets", json!({"runTokens": 1})).await.good();
    assert_eq!(house.call(Method::POST, &format!("{home}/chat"), body).await.status, 429);
    house.call(Method::PUT, "/api/budgets", json!({})).await.good();
}

/// Retry answered the question before, and what was refused was lost.
async fn what_was_refused_is_said_when_a_client_wants_it_answered_again(house: House) {
    let home = tinker(&house).await;
    let answers = ["one", "two", "three", "four"].map(|text| json!([{"text": text}]));
    let playing = house.playing(&script(&answers));
    let branch = async || texts(&playing, &home, "their-own-name").await;
    let (submit, again) = ("submit-message", "regenerate-message");
    let hello = of_user("first-of-the-client", "Hello");

    // The first message of all.
    refused(&playing, &home, sent(submit, std::slice::from_ref(&hello))).await;
    let first = say(&playing, &home, sent(again, std::slice::from_ref(&hello))).await;
    assert_eq!((first.session.as_str(), first.words().as_str()), ("their-own-name", "one"));

    // One that follows others.
    let answer = json!({"id": first.of("start")[0]["messageId"], "role": "assistant", "parts": []});
    let history = [hello, answer, of_user("second-of-the-client", "More")];
    refused(&playing, &home, sent(submit, &history)).await;
    assert_eq!(say(&playing, &home, sent(again, &history)).await.words(), "two");
    assert_eq!(branch().await, ["Hello", "one", "More", "two"]);
    // It is there now, and is not said again.
    assert_eq!(say(&playing, &home, sent(again, &history)).await.words(), "three");
    assert_eq!(branch().await, ["Hello", "one", "More", "three"]);

    // One that was written anew and keeps its name.
    let anew = [of_user("first-of-the-client", "Good evening")];
    let mut body = sent(submit, &anew);
    body["messageId"] = json!("first-of-the-client");
    refused(&playing, &home, body).await;
    say(&playing, &home, sent(again, &anew)).await;
    assert_eq!(branch().await, ["Good evening", "four"]);
}

async fn a_client_that_wants_its_own_words_answered_again_is_understood(house: House) {
    let home = tinker(&house).await;
    let answers = ["one", "two", "three", "four", "five"].map(|text| json!([{"text": text}]));
    let playing = house.playing(&script(&answers));
    let branch = async || texts(&playing, &home, "their-own-name").await;
    let (submit, again) = ("submit-message", "regenerate-message");
    let hello = [of_user("first-of-the-client", "Hello")];
    say(&playing, &home, sent(submit, &hello)).await;

    // By the client's own name for them.
    let mut body = sent(again, &hello);
    body["messageId"] = json!("first-of-the-client");
    assert_eq!(say(&playing, &home, body).await.words(), "two");
    // By the words alone, where a client only counts its messages.
    assert_eq!(say(&playing, &home, sent(again, &[of_user("1", "Hello")])).await.words(), "three");
    assert_eq!(branch().await, ["Hello", "three"]);

    // Though another branch is in use meanwhile.
    let mut anew = sent(submit, &[of_user("first-of-the-client", "Good evening")]);
    anew["messageId"] = json!("first-of-the-client");
    say(&playing, &home, anew).await;
    assert_eq!(branch().await, ["Good evening", "four"]);
    assert_eq!(say(&playing, &home, sent(again, &hello)).await.words(), "five");
    assert_eq!(branch().await, ["Hello", "five"]);
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

async fn an_answer_that_failed_can_be_tried_again_though_something_follows_it(house: House) {
    let home = tinker(&house).await;
    let broken = json!({"error": {"fault": "bad_request", "message": "not like that"}});
    let playing = house.playing(&script(&[
        json!([{"text": "I begin"}, broken]),
        json!([broken]),
        json!([{"text": "Fine."}]),
        json!([{"text": "Whole."}]),
    ]));
    let first = say(&playing, &home, words("One")).await;
    for said in ["Two", "Three"] {
        say(&playing, &home, in_session(words(said), &first.session)).await;
    }
    let whole = read(&playing, &home, &first.session).await;
    let id = |at: usize| whole["messages"][at]["id"].as_str().unwrap().to_owned();
    assert_eq!(whole["messages"].as_array().unwrap().len(), 5, "the second never came");
    let address = format!("/playground/tinker/{}", first.session);

    let page = playing.get(&address).await.text;

    // The answer that broke off, and the question that nothing came for.
    for failed in [id(1), id(2)] {
        assert!(page.contains(&format!("id=\"again-{failed}\"")), "{failed}");
    }
    assert!(!page.contains(&format!("id=\"again-{}\"", id(0))), "it was answered");
    assert_eq!(page.matches("/fn/retry_run").count(), 2, "one each");
    let run = first.of("start")[0]["messageMetadata"]["traceId"].as_str().unwrap();
    let retried = playing.call(Method::POST, &format!("/api/runs/{run}/retry"), json!({})).await;
    let run = retried.good()["id"].as_str().unwrap().into();
    playing.state.agent.ended(&playing.state.scope, &run).await.unwrap();
    let messages = read(&playing, &home, &first.session).await["messages"].clone();
    assert_eq!(messages[1]["parts"][1]["text"], "Whole.");
    assert_eq!(messages.as_array().unwrap().len(), 2, "what followed stays on its branch");
}

async fn what_failed_is_asked_once_more_of_whoever_was_asked(house: House) {
    let home = tinker(&house).await;
    let dear = house.dear_model().await;
    let broken = json!({"error": {"fault": "bad_request", "message": "not like that"}});
    let playing = house
        .playing(&script(&[json!([{"text": "I begin"}, broken]), json!([{"text": "Whole."}])]));
    let mut body = words("One");
    body["modelId"] = json!("demo");
    let first = say(&playing, &home, body).await;
    let failed = first.of("start")[0]["messageMetadata"]["traceId"].as_str().unwrap();
    let other = Change::new(&PersonaId::new("tinker"), Op::Update).set("systemPrompt", "Be quick.");
    playing.submit(other).await.unwrap();
    let fields = [
        ("persona", "tinker"),
        ("id", first.session.as_str()),
        ("title", "One"),
        ("revision", "2"),
        ("model", dear),
    ];
    playing.function("save_session", &fields).await.good();

    let again = format!("/api/runs/{failed}/retry");
    let again = playing.call(Method::POST, &again, json!({})).await.good();

    assert_eq!((&again["model"], &again["personaRevision"]), (&json!("demo"), &json!(1)));
    let session = read(&playing, &home, &first.session).await;
    assert_eq!((&session["model"], &session["personaRevision"]), (&json!(dear), &json!(2)));
}
