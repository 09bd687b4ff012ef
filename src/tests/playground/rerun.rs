//! Going on from the middle of a run, with something in it changed.

use axum::http::Method;
use serde_json::{Value, json};

use super::{call, in_session, paths, read, say, script, tinker, words};
use crate::support::{House, error, on_both};

on_both!(
    a_run_goes_on_from_another_result_as_a_branch_of_its_session,
    another_prompt_is_tried_on_a_branch_of_the_session,
    another_question_is_asked_on_a_branch_of_the_session,
    a_run_of_another_surface_goes_on_in_a_session_of_its_own,
    what_was_told_is_told_again_letter_by_letter,
    a_session_is_opened_from_a_trace_on_the_branch_of_its_run,
    what_cannot_be_gone_on_from_is_told,
);

async fn ended(house: &House, run: &Value) -> Value {
    let id = run["id"].as_str().unwrap().into();
    let run = house.state.agent.ended(&house.state.scope, &id).await.unwrap();
    json!(run)
}

async fn a_run_goes_on_from_another_result_as_a_branch_of_its_session(house: House) {
    let home = tinker(&house).await;
    let playing = house.playing(&script(&[
        json!([call("write_file", json!({"path": "a", "content": "x"}))]),
        json!([call("read_file", json!({"path": "a"}))]),
        json!([call("write_file", json!({"path": "b", "content": "later"}))]),
        json!([{"text": "It says x."}]),
        json!([{"text": "It says something else."}]),
    ]));
    let first = say(&playing, &home, words("Read it")).await;
    let run = first.of("start")[0]["messageMetadata"]["traceId"].as_str().unwrap().to_owned();
    let call_id = first.of("tool-input-available")[1]["toolCallId"].clone();
    assert_eq!(paths(&house, &home, &first.session).await, ["a", "b"]);

    let other = json!({"step": 3, "results": [{"callId": call_id, "output": "1\tchanged"}]});
    let made = playing.call(Method::POST, &format!("/api/runs/{run}/branch"), other).await.good();
    ended(&playing, &made["run"]).await;

    assert_eq!(made["session"]["id"], first.session.as_str());
    let messages = read(&house, &home, &first.session).await["messages"].clone();
    assert_eq!(messages.as_array().unwrap().len(), 2, "it stands beside the first answer");
    let parts = messages[1]["parts"].as_array().unwrap();
    let outputs: Vec<&Value> = parts.iter().filter_map(|part| part.get("output")).collect();
    assert_eq!(outputs[1], "1\tchanged");
    assert_eq!(parts.last().unwrap()["text"], "It says something else.");
    // What was written before that step is there, what was written after it is not.
    assert_eq!(paths(&house, &home, &first.session).await, ["a"]);
    // Its trace tells from what it went on, and that it did none of that itself.
    let run = made["run"]["id"].as_str().unwrap();
    let trace = playing.get(&format!("/api/traces/{run}")).await.good();
    let taken_over = trace["takenOver"].as_array().unwrap();
    assert_eq!(taken_over.len(), 4, "{trace}");
    assert_eq!(taken_over[3]["body"]["tool_result"]["output"], "1\tchanged");
    let kinds: Vec<&Value> =
        trace["spans"].as_array().unwrap().iter().map(|span| &span["kind"]).collect();
    assert_eq!(kinds, ["run", "llm_call"]);
    let page = playing.get(&format!("/traces/{run}")).await.text;
    for told in [
        "Asked for write_file before this run",
        "Result of read_file before this run",
        "1\tchanged",
    ] {
        assert!(page.contains(told), "{told}: {page}");
    }
}

async fn a_run_of_another_surface_goes_on_in_a_session_of_its_own(house: House) {
    let home = tinker(&house).await;
    let chat = json!({"personaId": "tinker"});
    let chat = house.call(Method::POST, "/api/chats", chat).await.good();
    let chat = chat["id"].as_str().unwrap();
    let playing = house.playing(&json!({"speakers": {
        "Be stern.": [{"text": "Sternly so."}],
    }}));
    let said = json!({"content": "Hello"});
    let said =
        playing.call(Method::POST, &format!("/api/chats/{chat}/messages"), said).await.good();
    let id = said["runId"].as_str().unwrap();
    ended(&playing, &json!({"id": id})).await;

    let other = json!({"step": 1, "systemPrompt": "Be stern."});
    let made = playing.call(Method::POST, &format!("/api/runs/{id}/branch"), other).await.good();
    ended(&playing, &made["run"]).await;

    let session = made["session"]["id"].as_str().unwrap();
    assert_eq!(made["session"]["systemPrompt"], "Be stern.");
    let messages = read(&house, &home, session).await["messages"].clone();
    assert_eq!(messages[0]["parts"][0]["text"], "Hello");
    assert_eq!(messages[1]["parts"][1]["text"], "Sternly so.");
}

async fn another_prompt_is_tried_on_a_branch_of_the_session(house: House) {
    let home = tinker(&house).await;
    let playing = house.playing(&json!({"speakers": {
        "Be handy": [{"text": "Handy."}], "Be stern.": [{"text": "Sternly so."}],
    }}));
    let first = say(&playing, &home, words("Hello")).await;
    let run = first.of("start")[0]["messageMetadata"]["traceId"].as_str().unwrap().to_owned();
    let old = first.of("start")[0]["messageId"].clone();
    let sessions = format!("{home}/sessions");

    let wish = json!({"step": 1, "systemPrompt": "Be stern."});
    let path = format!("/api/runs/{run}/branch");
    let made = playing.call(Method::POST, &path, wish).await.good();
    ended(&playing, &made["run"]).await;

    assert_eq!(made["session"]["id"], first.session.as_str());
    let list = playing.get(&sessions).await.good();
    assert_eq!(list["items"].as_array().unwrap().len(), 1, "no other session was begun");
    assert_eq!(list["items"][0]["systemPrompt"], Value::Null, "only the branch has it");
    let messages = read(&playing, &home, &first.session).await["messages"].clone();
    assert_eq!(messages[1]["parts"][1]["text"], "Sternly so.");
    let page = format!("/playground/tinker/{}", first.session);
    let tries = async || playing.get(&page).await.text.contains("tried on this branch");
    assert!(tries().await);
    // What follows is told the same, also what is asked once more.
    let on = say(&playing, &home, in_session(words("And now?"), &first.session)).await;
    assert_eq!(on.words(), "Sternly so.");
    let body =
        json!({"messages": [], "trigger": "regenerate-message", "messageId": messages[1]["id"]});
    say(&playing, &home, in_session(body, &first.session)).await;
    let on = say(&playing, &home, in_session(words("And now?"), &first.session)).await;
    assert_eq!(on.words(), "Sternly so.");
    let retry = format!("/api/runs/{}/retry", made["run"]["id"].as_str().unwrap());
    let retried = playing.call(Method::POST, &retry, json!({})).await.good();
    ended(&playing, &retried).await;
    assert!(tries().await);
    // On the other branch all is as before, and going on with the same prompt tries nothing.
    let go = format!("{sessions}/{}/leaf", first.session);
    playing.call(Method::POST, &go, json!({"leaf": old})).await.good();
    assert!(!tries().await);
    let same = json!({"step": 1, "systemPrompt": "Be handy with {{thing}}."});
    let made = playing.call(Method::POST, &path, same).await.good();
    ended(&playing, &made["run"]).await;
    assert!(!tries().await);
    let other = say(&playing, &home, in_session(words("And now?"), &first.session)).await;
    assert_eq!(other.words(), "Handy.");
}

/// What stood in for a place and looked like one was filled as well.
async fn what_was_told_is_told_again_letter_by_letter(house: House) {
    let home = tinker(&house).await;
    let playing = house.playing(&json!({"speakers": {
        "Be handy with {{other}}.": [{"text": "As it was."}],
        "Be handy with clocks.": [{"text": "Filled twice."}],
    }}));
    let new = json!({"variables": {"thing": "{{other}}", "other": "clocks"}});
    let made = playing.call(Method::POST, &format!("{home}/sessions"), new).await.good();
    let id = made["id"].as_str().unwrap();
    let first = say(&playing, &home, in_session(words("Hello"), id)).await;
    assert_eq!(first.words(), "As it was.");
    let run = first.of("start")[0]["messageMetadata"]["traceId"].as_str().unwrap().to_owned();

    let path = format!("/api/runs/{run}/branch");
    let made = playing.call(Method::POST, &path, json!({"step": 1})).await.good();
    ended(&playing, &made["run"]).await;

    let messages = read(&playing, &home, id).await["messages"].clone();
    assert_eq!(messages[1]["parts"][1]["text"], "As it was.");
}

async fn another_question_is_asked_on_a_branch_of_the_session(house: House) {
    let home = tinker(&house).await;
    let playing = house.playing(&script(&[
        json!([call("write_file", json!({"path": "a", "content": "x"}))]),
        json!([{"text": "Written."}]),
        json!([{"text": "Otherwise."}]),
    ]));
    let session = playing.call(Method::POST, &format!("{home}/sessions"), json!({})).await.good();
    let session = session["id"].as_str().unwrap();
    let given = format!("{home}/sessions/{session}/files/given.txt");
    let put = playing.call(Method::PUT, &given, json!({"content": "by hand"})).await;
    assert_eq!(put.status, 204);
    let first = say(&playing, &home, in_session(words("Write it"), session)).await;
    let run = first.of("start")[0]["messageMetadata"]["traceId"].as_str().unwrap().to_owned();

    let wish = json!({"step": 2, "message": "Write something else"});
    let path = format!("/api/runs/{run}/branch");
    let made = playing.call(Method::POST, &path, wish).await.good();
    ended(&playing, &made["run"]).await;

    let messages = read(&playing, &home, session).await["messages"].clone();
    assert_eq!(messages[0]["parts"][0]["text"], "Write something else");
    assert_eq!(messages[1]["parts"].as_array().unwrap().last().unwrap()["text"], "Otherwise.");
    assert_eq!(paths(&playing, &home, session).await, ["a", "given.txt"]);
    let refused = playing.call(Method::POST, &path, json!({"step": 1, "message": " "})).await;
    assert_eq!(refused.error(), error(422, "invalid", "message"));
}

/// From a trace one came to whichever branch was in use, and did not find there what the trace told.
async fn a_session_is_opened_from_a_trace_on_the_branch_of_its_run(house: House) {
    let home = tinker(&house).await;
    let playing = house.playing(&script(&[json!([{"text": "One."}]), json!([{"text": "Two."}])]));
    let first = say(&playing, &home, words("Hello")).await;
    let reply = first.of("start")[0]["messageId"].as_str().unwrap();
    let run = first.of("start")[0]["messageMetadata"]["traceId"].as_str().unwrap();
    let path = format!("/api/runs/{run}/branch");
    let made = playing.call(Method::POST, &path, json!({"step": 1})).await.good();
    ended(&playing, &made["run"]).await;
    let answer = async || {
        let session = read(&playing, &home, &first.session).await;
        session["messages"][1]["id"].as_str().unwrap().to_owned()
    };
    assert_ne!(answer().await, reply);

    let page = format!("/traces/{run}");
    let shown = playing.get(&page).await.text;
    let fields =
        [("persona", "tinker"), ("session", &first.session), ("id", reply), ("open", "true")];
    for (name, value) in fields {
        assert!(shown.contains(&format!("name=\"{name}\" value=\"{value}\"")), "{name}: {shown}");
    }
    let opened = playing.form("/fn/go_to_in_session", &page, &fields).await;

    assert!(opened.status.is_redirection(), "{}", opened.text);
    assert_eq!(opened.header("location"), format!("/playground/tinker/{}", first.session));
    assert_eq!(answer().await, reply);
}

async fn what_cannot_be_gone_on_from_is_told(house: House) {
    let home = tinker(&house).await;
    let first = say(&house, &home, words("Hello")).await;
    let run = first.of("start")[0]["messageMetadata"]["traceId"].as_str().unwrap().to_owned();
    let path = format!("/api/runs/{run}/branch");
    for (body, told) in [
        (json!({"step": 9}), error(422, "invalid", "step")),
        (
            json!({"step": 1, "results": [{"callId": "x", "output": "y"}]}),
            error(422, "invalid", "results"),
        ),
        (json!({"step": 1, "model": "no such"}), error(422, "invalid", "model")),
    ] {
        assert_eq!(house.call(Method::POST, &path, body.clone()).await.error(), told, "{body}");
    }
    let unknown = house.call(Method::POST, "/api/runs/nothing/branch", json!({"step": 1})).await;
    assert_eq!(unknown.error(), error(404, "not_found", ""));
    assert_eq!(read(&house, &home, &first.session).await["messages"].as_array().unwrap().len(), 2);
}
