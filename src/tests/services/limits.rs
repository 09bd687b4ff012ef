//! Limits that are held while a service answers, whatever it does.

use axum::http::Method;
use greenroom::{domain::tokens::estimate, providers::Dialect};
use serde_json::{Value, json};

use super::{
    CHAT, Stage, said,
    wire::{self, ALL},
};
use crate::{
    fake_service::{Asked, Reply, Then},
    support::error,
};

const BUDGETS: &str = "/api/budgets";
/// How it ends what is told of a run that took enough.
const ENOUGH: &str = " of the 8\u{202f}000 tokens, and the rest of the answer would not fit into what is \
                      left for one run.";

async fn set(stage: &Stage, budgets: Value) {
    stage.call(Method::PUT, BUDGETS, budgets).await.good();
}

/// The longest answer that was asked for.
fn longest(dialect: Dialect, asked: &Asked) -> u64 {
    let field = match dialect {
        Dialect::Anthropic => &asked.body["max_tokens"],
        Dialect::OpenaiChat => &asked.body["max_completion_tokens"],
        Dialect::OpenaiResponses => &asked.body["max_output_tokens"],
        Dialect::Gemini => &asked.body["generationConfig"]["maxOutputTokens"],
    };
    field.as_u64().unwrap_or_else(|| panic!("{dialect:?}: {}", asked.body))
}

#[tokio::test]
async fn no_longer_answer_is_asked_for_than_a_run_may_take_and_its_trace_says_so() {
    for (dialect, _, model) in ALL {
        let stage = Stage::new(model).await;
        stage.fake.play(
            [wire::answer(dialect, "One."), wire::answer(dialect, "Two.")].map(Reply::stream),
        );
        let first = stage.say("Hello").await;
        let usual = longest(dialect, &stage.fake.asked()[0]);
        set(&stage, json!({"runTokens": 8000})).await;

        let told = stage.say("Hello").await;

        assert_eq!((told.text().as_str(), told.error()), ("Two.", ""), "{dialect:?}");
        let asked = longest(dialect, &stage.fake.asked()[0]);
        assert!((16..8000).contains(&asked), "{dialect:?}: what is read takes its part: {asked}");
        for (run, narrowed) in [(first.run, None), (told.run, Some(asked))] {
            let trace = stage.get(&format!("/api/traces/{run}")).await.good();
            assert_eq!(trace["spans"][1]["maxTokens"].as_u64(), narrowed, "{dialect:?}");
            assert_eq!(trace["sent"]["parameters"]["maxTokens"], usual, "{dialect:?}");
        }
        assert_eq!(usual, 8192, "{dialect:?}");
    }
}

#[tokio::test]
async fn a_service_that_goes_on_and_on_is_left_in_the_middle_and_its_words_are_counted() {
    for (dialect, _, model) in ALL {
        let stage = Stage::new(model).await;
        set(&stage, json!({"runTokens": 8000})).await;
        let long = "On and on it goes. ".repeat(20);
        let pieces = [long.as_str(); 150];
        let endless = [wire::opening(dialect), wire::words(dialect, &pieces)].concat();
        stage.fake.play([Reply::stream(endless).then(Then::Stall)]);

        let told = stage.say("Tell me everything").await;

        assert!(told.error().ends_with(ENOUGH), "{dialect:?}: {}", told.error());
        stage.fake.gone(1).await;
        assert!(told.text().len() < pieces.concat().len(), "{dialect:?}: all of it was taken");
        let run = stage.run(&told.run).await;
        assert_eq!(
            (&run["status"], &run["stop"]),
            (&json!("done"), &json!("limit")),
            "{dialect:?}"
        );
        // What nobody tells any more is guessed: about a token for four letters. A guess is given some more.
        let written = run["spent"]["usage"]["output"].as_u64().unwrap();
        let room = longest(dialect, &stage.fake.asked()[0]);
        let most = room + room / 4 + 16;
        assert!((most..most + 200).contains(&written), "{dialect:?}: {written} of {room}");
        let taken = stage.get(BUDGETS).await.good()["today"]["tokens"].as_u64().unwrap();
        assert!(taken > written, "{dialect:?}: what was read counts too");
        let kept = stage.history().await;
        assert_eq!(kept.last().map(|(_, said)| said), Some(&told.text()), "{dialect:?}");
    }
}

#[tokio::test]
async fn money_that_is_left_says_how_long_an_answer_may_be() {
    let (dialect, _, model) = ALL[0];
    let stage = Stage::new(model).await;
    stage.fake.play([Reply::stream(wire::answer(dialect, "Cheap."))]);
    set(&stage, json!({"runDollars": 0.05})).await;

    assert_eq!(stage.say("Hello").await.text(), "Cheap.");

    let asked = longest(dialect, &stage.fake.asked()[0]);
    assert!((16..8000).contains(&asked), "{asked}");
    // What cannot be paid is not asked for, and nothing is kept of it.
    let history = stage.history().await;
    for limit in [json!({"runDollars": 0.000_1}), json!({"runTokens": 3})] {
        set(&stage, limit.clone()).await;
        let refused = stage.call(Method::POST, CHAT, said("Hello")).await;
        assert_eq!(refused.error(), error(429, "limited", ""), "{limit}");
        assert!(refused.text.contains("settings"), "{}", refused.text);
    }
    assert_eq!((stage.fake.asked().len(), stage.history().await), (0, history));
}

#[tokio::test]
async fn what_is_left_of_a_day_and_of_a_conversation_is_held_in_an_answer() {
    let (dialect, _, model) = ALL[1];
    for limit in ["dayTokens", "sessionTokens"] {
        let stage = Stage::new(model).await;
        let answers = ["One.", "Two."].map(|said| Reply::stream(wire::answer(dialect, said)));
        stage.fake.play(answers);
        stage.say("Hello").await;
        let taken = stage.get(BUDGETS).await.good()["today"]["tokens"].as_u64().unwrap();
        stage.fake.asked();
        set(&stage, json!({ limit: taken + 8000 })).await;

        assert_eq!(stage.say("Hello").await.error(), "", "{limit}");

        let asked = longest(dialect, &stage.fake.asked()[0]);
        assert!((16..8000).contains(&asked), "{limit}: what is read takes its part: {asked}");
    }
}

#[tokio::test]
async fn what_is_asked_in_passing_is_paid_for_by_the_day() {
    let (dialect, _, model) = ALL[0];
    let stage = Stage::new(model).await;
    let drawn = r#"{"appearance": "tall", "summary": "A persona."}"#;
    stage.fake.play([Reply::stream(wire::answer(dialect, drawn))]);

    let answer = stage.house.function("draw_roleplay", &[("id", "ann")]).await;

    assert_eq!(answer.status, 200, "{}", answer.text);
    let usage = stage.get("/api/usage?days=7").await.good();
    let total = &usage["total"];
    assert_eq!((&total["runs"], &total["inputTokens"]), (&json!(0), &json!(10)));
    assert!(total["costMicros"].as_u64() > Some(0), "{usage}");
    assert_eq!(usage["byPersona"][0]["personaId"], "ann");
}

/// What a model is told of tools was not counted, so that a conversation grew beyond a small window.
#[tokio::test]
async fn a_long_conversation_leaves_room_for_the_tools_and_the_answer_in_a_small_window() {
    const CONTEXT: u64 = 8000;
    let stage = Stage::new("demo").await;
    let small = json!({
        "id": "ollama/small", "service": "ollama", "name": "small", "label": "Small", "context": CONTEXT,
        "maxOutput": 500, "tools": true, "vision": false, "reasoning": false,
    });
    stage.call(Method::PUT, "/api/models", small).await.good();
    stage.cast("ollama/small").await;
    let long = "All the words of a long question. ".repeat(70);
    let mut sent = Value::Null;
    for _ in 0..12 {
        stage.fake.play([Reply::stream(wire::answer(Dialect::OpenaiChat, "I see."))]);
        assert_eq!(stage.say(&long).await.error(), "");
        sent = stage.fake.asked().remove(0).body;
    }

    let tokens = |part: &str| estimate(&sent[part].to_string()) as u64;
    assert!(tokens("tools") > 500, "{}", sent["tools"]);
    assert_eq!(sent["max_tokens"], 500);
    let all = tokens("messages") + tokens("tools") + 500;
    assert!(all <= CONTEXT, "{all} of {CONTEXT}");
    let said = sent["messages"].as_array().unwrap().len();
    assert!((4..24).contains(&said), "{said}: some is left out, and not all");
}
