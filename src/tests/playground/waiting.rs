//! What is said while an answer is being given, and waits for it.

use axum::http::Method;
use futures::{FutureExt, future::join_all};
use greenroom::{
    agent::Follows,
    domain::{error::ApiError, line::MAX_WAITING, playground::PlaygroundSession},
};
use serde_json::{Value, json};

use super::{read, script, tinker, words};
use crate::support::{Events, House, on_both, request};

on_both!(
    what_follows_an_answer_that_is_being_given_can_wait_for_it,
    what_waits_for_an_answer_is_said_though_nobody_waits_any_more,
    so_many_wait_for_an_answer_and_all_of_them_are_said,
);

/// A session in which an answer is being given, and whoever listens to it.
async fn begun(playing: &House, home: &str) -> (PlaygroundSession, Events) {
    let body = words("Hi").to_string().into_bytes();
    let mut first =
        playing.stream(request(Method::POST, &format!("{home}/chat"), Some(body))).await;
    first.until("text-delta").await;
    let id = first.headers["greenroom-session-id"].to_str().unwrap().into();
    let (agent, scope) = (&playing.state.agent, &playing.state.scope);
    (agent.session(scope, &"tinker".into(), &id).await.unwrap(), first)
}

/// The page names the answer that it shows, and was told that no such message is there.
async fn what_follows_an_answer_that_is_being_given_can_wait_for_it(house: House) {
    let home = tinker(&house).await;
    let playing =
        house.playing(&script(&[json!([{"text": "I begin"}, "stall"]), json!([{"text": "Yes."}])]));
    let (known, _first) = begun(&playing, &home).await;
    let session = known.id.to_string();
    let (agent, scope) = (&playing.state.agent, &playing.state.scope);
    let run = playing.read().await.run_going_on(&known.id).await.unwrap().unwrap();
    let follows = Follows::After(run.reply_id.clone());

    let refused = agent.say_in_session(scope, known.clone(), "Sure?", follows.clone(), None).await;

    assert_eq!(refused.unwrap_err(), ApiError::Busy { run_id: run.id });
    let mut waiting = Box::pin(agent.say_next_in_session(scope, &known, "Sure?".into(), follows));
    assert!(waiting.as_mut().now_or_never().is_none(), "the answer is still being given");
    let stop = format!("{home}/{session}/stop");
    playing.call(Method::POST, &stop, json!({})).await.good();
    let said = waiting.await.unwrap();
    agent.ended(scope, &said.id).await.unwrap();
    let whole = read(&playing, &home, &session).await;
    let messages = whole["messages"].as_array().unwrap();
    assert_eq!((messages.len(), &messages[2]["parts"][0]["text"]), (4, &json!("Sure?")));
    assert_eq!(messages[1]["id"], run.reply_id.as_str());
}

/// What waited for an answer was lost when its page was closed, and a plain form was refused.
async fn what_waits_for_an_answer_is_said_though_nobody_waits_any_more(house: House) {
    let home = tinker(&house).await;
    let playing = house.playing(&script(&[
        json!([{"text": "I begin"}, "stall"]),
        json!([{"text": "Still."}]),
        json!([{"text": "And yes."}]),
    ]));
    let (known, _first) = begun(&playing, &home).await;
    let session = known.id.to_string();
    let (agent, scope) = (&playing.state.agent, &playing.state.scope);

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

/// Whatever was sent waited, and some of it was lost when several wanted to be said in the same moment.
async fn so_many_wait_for_an_answer_and_all_of_them_are_said(house: House) {
    let home = tinker(&house).await;
    let mut answers = vec![json!([{"text": "I begin"}, "stall"])];
    answers.extend((0..MAX_WAITING).map(|_| json!([{"text": "Yes."}])));
    let playing = house.playing(&script(&answers));
    let (known, _first) = begun(&playing, &home).await;
    let session = known.id.to_string();
    let (agent, scope) = (&playing.state.agent, &playing.state.scope);
    let wait = |words: String| agent.say_next_in_session(scope, &known, words, Follows::Leaf);

    let mut waiting: Vec<_> =
        (0..MAX_WAITING).map(|number| Box::pin(wait(number.to_string()))).collect();
    for one in &mut waiting {
        assert!(one.now_or_never().is_none(), "it waits");
    }
    let refused = wait("One too many".into()).now_or_never().unwrap().unwrap_err();

    assert_eq!(refused.to_string(), "20 messages wait already. Let one be answered first.");
    let stop = format!("{home}/{session}/stop");
    playing.call(Method::POST, &stop, json!({})).await.good();
    for said in join_all(waiting).await {
        said.unwrap();
    }
    let whole = read(&playing, &home, &session).await;
    let said = whole["messages"].as_array().unwrap().iter().filter(|one| one["role"] == "user");
    let said: Vec<&str> = said.map(|one| one["parts"][0]["text"].as_str().unwrap()).collect();
    let in_order = (0..MAX_WAITING).map(|number| number.to_string());
    let expected: Vec<String> = std::iter::once("Hi".to_owned()).chain(in_order).collect();
    assert_eq!(said, expected);
    let next = wait("Is there room?".into()).now_or_never();
    assert!(next.is_none(), "{next:?}");
}
