//! Runs whose process is gone: what is left of them, and what can be done with them.

use axum::http::Method;
use greenroom::{
    domain::{
        actor::Actor,
        change::{Change, Op},
        error::ApiError,
        event::{RunEvent, Stamped},
        id::PersonaId,
        persona::Tier,
        timestamp::Timestamp,
    },
    store::{EventRow, KeptRound, LogRound},
};
use serde_json::json;

use super::{run, saying, some_words, turn, turns, watching};
use crate::support::{House, error, on_both, told};

on_both!(
    a_run_whose_process_is_gone_is_interrupted_and_can_be_repeated_or_gone_on_with,
    an_interrupted_run_is_told_what_it_took_until_then,
    a_test_run_that_was_interrupted_can_be_repeated_and_not_gone_on_with,
    what_was_ended_by_another_process_changes_nothing_more,
);

/// A process that slept went on where it was when it woke: its agent changed things after the run had ended.
async fn what_was_ended_by_another_process_changes_nothing_more(house: House) {
    let asleep = house.playing(&json!({"answers": [[{"text": "Half an ans"}, "stall"]]}));
    let mut chat = asleep.stream(saying("Say something long")).await;
    some_words(&mut chat).await;
    let id = chat.run();
    let optimist = PersonaId::new("optimist");
    let agent = asleep.gate_for(Actor::Persona {
        persona: optimist.clone(),
        user: asleep.state.scope.user.clone(),
        run: Some(id.as_str().into()),
        tier: Tier::Act,
    });
    let rename = |name: &str| Change::new(&optimist, Op::Update).set("name", name);
    agent.submit(rename("While it goes on")).await.unwrap();

    let next = house.playing(&json!({"answers": []}));
    assert_eq!(next.state.agent.recover().await.unwrap(), 1);
    let told = next.read().await.run_events(&id.as_str().into(), 0, 99).await.unwrap();
    let late = agent.submit(rename("Too late")).await.unwrap_err();

    assert!(matches!(late, ApiError::NotNow { .. }), "{late:?}");
    let persona = next.read().await.persona(&optimist).await.unwrap();
    assert_eq!(persona.fields.name, "While it goes on");
    let row = EventRow {
        space: next.state.scope.space.clone(),
        run: id.as_str().into(),
        seq: told.last().unwrap().seq + 1,
        lengths: Vec::new(),
        event: RunEvent::StepStarted { step: 2, left_out: None },
        at: Timestamp(1),
    };
    if asleep.state.store.is_shared() {
        let round = LogRound { log: vec![row], ..LogRound::default() };
        let kept = asleep.state.store.keep_round(&round).await.unwrap();
        assert_eq!(kept, KeptRound { round: None, ended: vec![id.as_str().into()] });
        assert_eq!(next.read().await.run_events(&id.as_str().into(), 0, 99).await.unwrap(), told);
    }
}

async fn a_run_whose_process_is_gone_is_interrupted_and_can_be_repeated_or_gone_on_with(
    house: House,
) {
    let gone = house.playing(&json!({"answers": [[{"text": "Half an ans"}, "stall"]]}));
    let mut chat = gone.stream(saying("Say something long")).await;
    some_words(&mut chat).await;
    let id = chat.run();
    // What was seen is in the log a moment later: a call makes the wait certain.
    let mut kept = gone.stream(watching(&id, 0)).await;
    kept.until("text").await;
    while gone.read().await.run_events(&id.as_str().into(), 2, 9).await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }

    // The next process finds it.
    let next = house.playing(&json!({"answers": [
        [{"text": "A whole answer."}], [{"text": "er, continued."}],
    ]}));
    assert_eq!(next.state.agent.recover().await.unwrap(), 1);
    let state = run(&next, &id).await;
    assert_eq!(state["status"], "interrupted");
    assert_eq!((&state["canRetry"], &state["canContinue"]), (&json!(true), &json!(true)));
    // Nobody told what it took: what was read and said is counted all the same.
    assert!(state["spent"]["usage"]["input"].as_u64() > Some(100), "{state}");
    assert!(state["spent"]["usage"]["output"].as_u64() > Some(0), "{state}");
    let words = turns(&next).await;
    assert_eq!(words[0], turn("user", "Say something long"));
    assert!("Half an ans".starts_with(&words[1].1) && !words[1].1.is_empty(), "{words:?}");
    let end = told(&next.send(watching(&id, 1000)).await);
    assert_eq!(end[0]["status"], "interrupted");

    let again = next.call(Method::POST, &format!("/api/runs/{id}/retry"), json!({})).await;
    assert_eq!(again.status, 201);
    let second = again.json()["id"].as_str().unwrap().to_owned();
    told(&next.send(watching(&second, 0)).await);
    assert_eq!(
        turns(&next).await,
        [turn("user", "Say something long"), turn("assistant_text", "A whole answer.")]
    );
    let old = next.call(Method::POST, &format!("/api/runs/{id}/retry"), json!({})).await;
    assert_eq!(old.error(), error(409, "not_now", ""), "the conversation has gone on");
    let whole = next.call(Method::POST, &format!("/api/runs/{second}/continue"), json!({})).await;
    assert_eq!(whole.error(), error(409, "not_now", ""), "it did not break off");
    assert_eq!(next.state.agent.recover().await.unwrap(), 0);
}

/// Only steps that had ended were counted, and nothing was priced: what was paid for was lost.
async fn an_interrupted_run_is_told_what_it_took_until_then(house: House) {
    let model = house.dear_model().await;
    let gone = house.playing(&json!({"answers": [
        [{"usage": {"input": 1000, "output": 50}}, {"call": {"name": "get_persona", "input": {}}}],
        [{"usage": {"input": 300, "output": 5}},
            {"call": {"name": "list_test_inputs", "input": {}}}],
        ["stall"],
    ]}));
    let id = gone.stream(saying("Look around")).await.run();
    let mut watcher = gone.stream(watching(&id, 0)).await;
    while watcher.until("step_started").await["step"] != 3 {}

    let next = house.playing(&json!({"answers": []}));
    assert_eq!(next.state.agent.recover().await.unwrap(), 1);

    let state = run(&next, &id).await;
    assert_eq!((&state["status"], &state["model"]), (&json!("interrupted"), &json!(model)));
    let spent = &state["spent"];
    assert_eq!(spent["usage"], json!({"input": 1300, "output": 55}));
    assert_eq!(spent["costMicros"], 1300 * 2 + 55 * 10);
    assert_eq!(spent["steps"], 3, "the one that was cut short was asked, too");
}

async fn a_test_run_that_was_interrupted_can_be_repeated_and_not_gone_on_with(house: House) {
    let gone = house.playing(&json!({"answers": [[{"text": "Half "}, "stall"]]}));
    let path = "/api/storage/personas/optimist/test-inputs/optimist-1/answers";
    let begun = gone.call(Method::POST, path, json!({})).await.good();
    assert_eq!(begun["canContinue"], false);
    let id = begun["id"].as_str().unwrap();

    let next = house.playing(&json!({"answers": []}));
    assert_eq!(next.state.agent.recover().await.unwrap(), 1);

    let state = run(&next, id).await;
    assert_eq!(state["status"], "interrupted");
    assert_eq!((&state["canRetry"], &state["canContinue"]), (&json!(true), &json!(false)));
    let on = next.call(Method::POST, &format!("/api/runs/{id}/continue"), json!({})).await;
    assert_eq!(on.error(), error(409, "not_now", ""));
    let again = next.call(Method::POST, &format!("/api/runs/{id}/retry"), json!({})).await;
    assert_eq!(again.status, 201);
    let second = again.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(told(&next.send(watching(&second, 0)).await).last().unwrap()["status"], "done");
}

/// When a process is killed, its last words lie in the journal and nowhere else.
#[tokio::test]
async fn what_lies_in_the_journal_is_told_by_the_next_process() {
    let house = House::new().await.playing(&json!({"answers": [["stall"]]}));
    let id = house.stream(saying("Say something")).await.run();
    let (space, run) = (house.state.scope.space.clone(), id.as_str().into());
    let text = |delta: &str| RunEvent::Text { part: "p".into(), delta: delta.into() };
    let row = |seq, lengths, delta: &str| EventRow {
        space: space.clone(),
        run: id.as_str().into(),
        seq,
        lengths,
        event: text(delta),
        at: Timestamp(7),
    };
    let unknown = EventRow { run: "gone-for-good".into(), ..row(3, Vec::new(), "x") };
    let rounds = [
        LogRound { journal: vec![row(4, vec![3, 4], "One two"), unknown], ..LogRound::default() },
        // It was put among the events, and not forgotten yet.
        LogRound { log: vec![row(4, vec![3, 4], "One two")], ..LogRound::default() },
        LogRound { journal: vec![row(5, Vec::new(), " three")], ..LogRound::default() },
    ];
    for round in &rounds {
        house.state.store.keep_round(round).await.unwrap();
    }

    for _ in ["the first start", "the second"] {
        house.state.store.replay_journal().await.unwrap();
        let told = house.read().await.run_events(&run, 2, 9).await.unwrap();
        let word = |seq, delta| Stamped { seq, at: Timestamp(7), event: text(delta) };
        assert_eq!(told, [word(3, "One"), word(4, " two"), word(5, " three")]);
    }
}
