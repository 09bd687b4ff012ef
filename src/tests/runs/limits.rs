//! How far a run may go: in time, and in what one tool tells.

use std::time::Duration;

use axum::http::Method;
use greenroom::agent::Limits;
use serde_json::{Value, json};

use super::{results, run, saying, turn, turns, watching};
use crate::support::{House, told};

/// Long enough for a machine that is busy, short enough to wait for.
const SOON: Duration = Duration::from_millis(500);

#[tokio::test]
async fn a_run_that_takes_too_long_ends_politely_and_can_be_gone_on_with() {
    let limits = Limits { time: SOON, ..Limits::default() };
    let house = House::new()
        .await
        .limited(limits, &json!({"answers": [[{"text": "Once "}, "stall"], [{"text": "upon."}]]}));

    let answer = house.send(saying("Tell me a story")).await;

    let sentence = "The run took too long and was ended.";
    assert_eq!(told(&answer).last().unwrap()["message"], sentence);
    let id = answer.header("greenroom-run-id");
    let state = run(&house, id).await;
    assert_eq!((&state["status"], &state["stop"]), (&json!("done"), &json!("limit")));
    assert_eq!(state["canContinue"], true);
    assert_eq!(turns(&house).await[1], turn("assistant_text", "Once "));

    let on = house.call(Method::POST, &format!("/api/runs/{id}/continue"), json!({})).await.good();
    told(&house.send(watching(on["id"].as_str().unwrap(), 0)).await);
    assert_eq!(turns(&house).await.last(), Some(&turn("assistant_text", "upon.")));
}

/// A house in which the optimist has a long system prompt, and a model that reads so many tokens.
async fn long_prompt(context: u64) -> House {
    let house = House::new().await;
    let small = json!({
        "id": "demo/small", "service": "demo", "name": "demo", "label": "Small",
        "context": context, "maxOutput": 100, "price": null, "tools": true, "vision": false,
        "reasoning": false,
    });
    house.call(Method::PUT, "/api/models", small).await.good();
    let prompt = format!("You are an optimist. {}", "Be kind. ".repeat(5000));
    let long = json!({"model": "demo/small", "systemPrompt": prompt});
    house.call(Method::PUT, "/api/storage/personas/optimist", long).await.good();
    house
}

#[tokio::test]
async fn a_prompt_that_the_model_cannot_read_whole_is_cut_and_can_only_be_patched() {
    let house = long_prompt(4000).await;
    let edits = json!([{"find": "an optimist", "replace": "a great optimist"}]);
    let house = house.playing(&json!({"answers": [
        [{"call": {"name": "get_persona", "input": {}}}],
        [{"call": {"name": "update_system_prompt", "input": {"systemPrompt": "Be brief."}}},
            {"call": {"name": "patch_system_prompt", "input": {"edits": edits}}}],
        [{"text": "That is long."}],
    ]}));

    let events = told(&house.send(saying("Read it")).await);

    let results = results(&events);
    let (output, is_error) = results[0];
    let seen: Value = serde_json::from_str(output).unwrap();
    let prompt = seen["systemPrompt"].as_str().unwrap();
    assert!(!is_error && prompt.ends_with(" more bytes were left out)"), "{output}");
    assert_eq!(seen["testInputIds"].as_array().unwrap().len(), 5, "{output}");
    // Two bytes for each token that the model can read.
    assert!((7900..=8000).contains(&output.len()), "{}", output.len());
    let (refused, is_error) = results[1];
    assert!(
        is_error && refused.ends_with("Change passages with patch_system_prompt."),
        "{refused}"
    );
    assert!(!results[2].1, "{}", results[2].0);
    let prompt = house.get("/api/storage/personas/optimist").await.good()["systemPrompt"].clone();
    let prompt = prompt.as_str().unwrap();
    assert!(prompt.starts_with("You are a great optimist. Be kind.") && prompt.len() > 45_000);
    assert_eq!(events.last(), Some(&json!({"type": "done"})));
}

#[tokio::test]
async fn what_was_cut_in_an_earlier_answer_is_not_replaced_whole_later() {
    let house = long_prompt(4000).await;
    let path = "/api/storage/personas/optimist/test-inputs";
    let long = json!({"content": "Why? ".repeat(4000)});
    let made = house.call(Method::POST, path, long).await.good()["id"].clone();
    let house = house.playing(&json!({"answers": [
        [{"call": {"name": "get_persona", "input": {}}}], [{"text": "That is long."}],
        [{"call": {"name": "get_test_input", "input": {"id": made}}}], [{"text": "And that."}],
        [{"call": {"name": "update_system_prompt", "input": {"systemPrompt": "Be brief."}}},
            {"call": {"name": "update_test_input", "input": {"id": made, "content": "Why?"}}}],
        [{"text": "So be it."}],
    ]}));
    told(&house.send(saying("Read it")).await);
    let events = told(&house.send(saying("And the test input")).await);
    let (output, is_error) = results(&events)[0];
    let seen: Value = serde_json::from_str(output).unwrap();
    assert!(!is_error && output.len() <= 8000, "{}", output.len());
    assert!(seen["content"].as_str().unwrap().ends_with(" more bytes were left out)"), "{output}");

    let events = told(&house.send(saying("Replace both")).await);

    for (refused, is_error) in results(&events) {
        assert!(is_error && refused.starts_with("You were shown only the beginning"), "{refused}");
    }
    assert_eq!(results(&events).len(), 2);
}

#[tokio::test]
async fn what_a_run_gathers_is_cut_before_it_is_more_than_the_model_can_read() {
    let context = 20_000;
    let look = json!([{"call": {"name": "get_persona", "input": {}}}]);
    let house = long_prompt(context).await.playing(&json!({"answers": [
        look, look, [{"text": "That is long."}],
    ]}));

    let answer = house.send(saying("Read it twice")).await;

    let told_whole = results(&told(&answer)).iter().map(|(output, _)| output.len()).min();
    assert!(told_whole > Some(39_000), "what is kept is whole: {told_whole:?}");
    let events = told(&house.send(watching(answer.header("greenroom-run-id"), 0)).await);
    let read: Vec<u64> = events
        .iter()
        .filter(|event| event["type"] == "step_ended")
        .map(|event| event["usage"]["input"].as_u64().unwrap())
        .collect();
    assert_eq!(read.len(), 3);
    assert!(read.iter().all(|tokens| *tokens < context), "{read:?}");
    assert!(read[1] > read[0] + 9000 && read[2] < read[1] + 1000, "{read:?}");
}
