//! What is said while an answer is being given, and waits for it.

use axum::http::Method;
use futures::FutureExt;
use greenroom::agent::Follows;
use serde_json::{Value, json};

use super::{read, script, tinker, words};
use crate::support::{House, on_both, request};

on_both!(what_waits_for_an_answer_is_said_though_nobody_waits_any_more,);

/// What waited for an answer was lost when its page was closed, and a plain form was refused.
async fn what_waits_for_an_answer_is_said_though_nobody_waits_any_more(house: House) {
    let home = tinker(&house).await;
    let playing = house.playing(&script(&[
        json!([{"text": "I begin"}, "stall"]),
        json!([{"text": "Still."}]),
        json!([{"text": "And yes."}]),
    ]));
    let body = words("Hi").to_string().into_bytes();
    let mut first =
        playing.stream(request(Method::POST, &format!("{home}/chat"), Some(body))).await;
    first.until("text-delta").await;
    let session = first.headers["greenroom-session-id"].to_str().unwrap().to_owned();
    let (agent, scope) = (&playing.state.agent, &playing.state.scope);
    let known = agent.session(scope, &"tinker".into(), &session.as_str().into()).await.unwrap();

    let waiting = agent.say_next_in_session(scope, &known, "Are you there?".into(), Follows::Leaf);
    assert!(waiting.now_or_never().is_none(), "the answer is still being given");
    let at = format!("/playground/tinker/{session}");
    let fields = [("at", at.as_str()), ("words", "Sure?")];
    let stop = format!("{home}/{session}/stop");
    let (stopped, ()) = tokio::join!(playing.call(Method::POST, &stop, json!({})), async {
        while read(&playing, &home, &session).await["messages"].as_array().unwrap().len() < 4 {
            tokio::task::yield_now().await;
        }
    });
    stopped.good();
    assert_eq!(playing.form("/fn/say", &at, &fields).await.status, 302);

    let said = async || {
        let messages = read(&playing, &home, &session).await["messages"].clone();
        let text = |message: &Value| {
            message["parts"].as_array()?.last()?["text"].as_str().map(str::to_owned)
        };
        messages.as_array().unwrap().iter().filter_map(text).collect::<Vec<_>>()
    };
    while !said().await.iter().any(|words| words == "And yes.") {
        tokio::task::yield_now().await;
    }
    let all = ["Hi", "I begin", "Are you there?", "Still.", "Sure?", "And yes."];
    assert_eq!(said().await, all);
}
