//! How far a run may go: in time, and in what one tool tells.

use std::time::Duration;

use axum::http::Method;
use greenroom::agent::Limits;
use serde_json::json;

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

#[tokio::test]
async fn a_tool_that_tells_more_than_the_model_can_read_is_cut_and_says_so() {
    let house = House::new().await;
    let small = json!({
        "id": "demo/small", "service": "demo", "name": "demo", "label": "Small", "context": 4000,
        "maxOutput": 100, "price": null, "tools": true, "vision": false, "reasoning": false,
    });
    house.call(Method::PUT, "/api/models", small).await.good();
    let long = json!({"model": "demo/small", "systemPrompt": "Be kind. ".repeat(5000)});
    house.call(Method::PUT, "/api/storage/personas/optimist", long).await.good();
    let house = house.playing(&json!({"answers": [
        [{"call": {"name": "get_persona", "input": {}}}], [{"text": "That is long."}],
    ]}));

    let events = told(&house.send(saying("Read it")).await);

    let (output, is_error) = results(&events)[0];
    assert!(!is_error && output.ends_with(" more bytes were left out)"), "{output}");
    // Two bytes for each token that the model can read, and what says how many there were.
    assert!((8000..8100).contains(&output.len()), "{}", output.len());
    assert_eq!(events.last(), Some(&json!({"type": "done"})));
}
