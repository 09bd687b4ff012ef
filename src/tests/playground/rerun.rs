//! Going on from the middle of a run, with something in it changed.

use axum::http::Method;
use serde_json::{Value, json};

use super::{call, paths, read, say, script, tinker, words};
use crate::support::{House, error, on_both};

on_both!(
    a_run_goes_on_from_another_result_as_a_branch_of_its_session,
    a_run_of_another_surface_goes_on_in_a_session_of_its_own,
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
