//! What is answered again, by whichever name a client calls it, and what is said in other words.

use axum::http::Method;
use greenroom::domain::{
    change::{Change, Op},
    id::PersonaId,
};
use serde_json::{Value, json};

use super::{in_session, read, say, script, tinker, words};
use crate::support::{House, on_both};

on_both!(
    an_answer_that_never_came_can_be_given_again_by_the_name_it_was_announced_with,
    an_answer_is_given_again_by_another_model,
    an_answer_can_be_given_again_and_a_message_written_anew,
    what_was_refused_is_said_when_a_client_wants_it_answered_again,
    a_client_that_wants_its_own_words_answered_again_is_understood,
    an_answer_that_failed_can_be_tried_again_though_something_follows_it,
    what_failed_is_asked_once_more_of_whoever_was_asked,
);

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
