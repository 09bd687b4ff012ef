//! A question that is asked again, and what its first try has done.

use axum::http::Method;
use greenroom::providers::Dialect;
use serde_json::json;

use super::{
    Stage,
    wire::{self, Ending},
};
use crate::fake_service::Reply;

const DIALECT: Dialect = Dialect::OpenaiChat;
const TRIED: &str = "An earlier try at this question already did this";

/// Ann's agent of this tier renames her, and then its service fails. Gives the run.
async fn first_try(stage: &Stage, tier: &str) -> String {
    stage.call(Method::PUT, "/api/storage/personas/ann", json!({"tier": tier})).await.good();
    let call = wire::call(DIALECT, "update_persona_name", &json!({"name": "Anna"}));
    let ending = wire::ending(DIALECT, Ending::Calls, &wire::usage(DIALECT));
    let renaming = [wire::opening(DIALECT), call, ending].concat();
    let failing = Reply::status(401, json!({"error": {"message": "no"}}));
    stage.fake.play([Reply::stream(renaming), failing]);
    let run = stage.say("Call her Anna").await.run;
    for asked in stage.fake.asked() {
        assert!(!asked.body.to_string().contains(TRIED), "{}", asked.body);
    }
    run
}

/// What the model hears when it is asked again.
async fn heard_again(stage: &Stage, run: &str) -> String {
    stage.fake.play([Reply::stream(wire::answer(DIALECT, "She is Anna."))]);
    assert_eq!(stage.retry(run).await["status"], "done");
    stage.fake.asked().pop().unwrap().body.to_string()
}

#[tokio::test]
async fn a_model_that_is_asked_again_hears_what_it_did_already() {
    let stage = Stage::new("gpt-4o").await;
    let run = first_try(&stage, "act").await;

    let heard = heard_again(&stage, &run).await;

    assert!(heard.contains(TRIED), "{heard}");
    assert!(heard.contains("the name to “Anna”: done."), "{heard}");
}

#[tokio::test]
async fn a_model_that_is_asked_again_hears_what_became_of_its_first_draft() {
    let stage = Stage::new("gpt-4o").await;
    let run = first_try(&stage, "suggest").await;
    let drafts = stage.get("/api/pending-changes?personaId=ann").await.good();
    let draft = drafts["items"][0]["id"].as_str().unwrap().to_owned();
    let path = format!("/api/pending-changes/{draft}/approve");
    stage.call(Method::POST, &path, json!({})).await.good();

    let heard = heard_again(&stage, &run).await;

    let told = format!("(draft {draft}): accepted as you wrote it.");
    assert!(heard.contains(&told), "{told} is not in {heard}");
}
