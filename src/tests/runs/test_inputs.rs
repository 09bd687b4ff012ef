//! Test inputs that are run: from the editor, and by the agent itself.

use std::time::Duration;

use axum::http::Method;
use greenroom::domain::run::Run;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{results, run, saying, watching};
use crate::support::{House, error, on_both, request, told};

on_both!(test_inputs_are_run_and_their_answers_kept_by_version);

/// Longer than anything here should take.
const PATIENCE: Duration = Duration::from_secs(30);

/// The newest answer to a test input of the optimist.
async fn newest(house: &House, input: &str) -> Value {
    let answers = format!("/api/storage/personas/optimist/test-inputs/{input}/answers");
    house.get(&answers).await.good()["items"][0].clone()
}

/// Waits until all of these are being answered in the same moment.
async fn all_running(house: &House, inputs: &[&str]) {
    let running = async {
        loop {
            let mut count = 0;
            for input in inputs {
                count += usize::from(newest(house, input).await["status"] == "running");
            }
            if count == inputs.len() {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, running).await.expect("they do not run side by side");
}

/// The run behind the newest answer to a test input.
async fn run_of(house: &House, input: &str) -> Run {
    let id = newest(house, input).await["runId"].as_str().unwrap().into();
    house.state.agent.run(&house.state.scope, &id).await.unwrap()
}

async fn test_inputs_are_run_and_their_answers_kept_by_version(house: House) {
    let answers = "/api/storage/personas/optimist/answers";
    let runs = house.call(Method::POST, answers, json!({})).await;
    assert_eq!(runs.status, 201);
    for run in runs.json()["items"].as_array().unwrap() {
        let events = told(&house.send(watching(run["id"].as_str().unwrap(), 0)).await);
        assert_eq!(events.last().unwrap()["status"], "done");
    }
    let first = house.get(answers).await.good()["items"].clone();
    assert_eq!(first.as_array().unwrap().len(), 5);
    for answer in first.as_array().unwrap() {
        assert_eq!((&answer["status"], &answer["personaRevision"]), (&json!("done"), &json!(1)));
        assert_eq!((&answer["model"], &answer["inputRevision"]), (&json!("demo"), &json!(1)));
        assert!(!answer["text"].as_str().unwrap().is_empty());
        assert!(answer["spent"]["usage"]["output"].as_u64() > Some(0), "{answer}");
    }

    let edit = json!({"systemPrompt": "You are a grumpy skeptic."});
    house.call(Method::PUT, "/api/storage/personas/optimist", edit).await.good();
    let one = "/api/storage/personas/optimist/test-inputs/optimist-1/answers";
    let run = house.call(Method::POST, one, json!({})).await.good();
    told(&house.send(watching(run["id"].as_str().unwrap(), 0)).await);

    let kept = house.get(one).await.good();
    let revisions: Vec<&Value> =
        kept["items"].as_array().unwrap().iter().map(|one| &one["personaRevision"]).collect();
    assert_eq!(revisions, [&json!(2), &json!(1)]);
    assert_ne!(kept["items"][0]["text"], kept["items"][1]["text"]);
    let page = house.get(&format!("{one}?limit=1")).await.good();
    let next = page["next"].as_str().unwrap();
    let older = house.get(&format!("{one}?limit=1&after={next}")).await.good();
    assert_eq!(older["items"][0], kept["items"][1]);

    let elsewhere = "/api/storage/personas/skeptic/test-inputs/optimist-1/answers";
    assert_eq!(house.get(elsewhere).await.error(), error(404, "not_found", ""));
}

#[tokio::test]
async fn the_agent_can_run_the_test_inputs_and_is_stopped_with_them() {
    let house = House::new().await;
    let said = saying("Run the test inputs");
    let events = told(&house.send(said).await);
    let output = results(&events)[0].0.to_owned();
    let answers: Value = serde_json::from_str(&output).unwrap();
    assert_eq!(answers["answers"].as_array().unwrap().len(), 5);
    assert_eq!(
        house.get("/api/storage/personas/optimist/answers").await.good()["items"]
            .as_array()
            .unwrap()
            .len(),
        5
    );

    let stalling = house.playing(&json!({"answers": [
        [{"call": {"name": "run_test_inputs", "input": {"ids": ["optimist-1", "optimist-2"], "atOnce": 2}}}],
        ["stall"], ["stall"],
    ]}));
    let mut chat = stalling.stream(saying("Again")).await;
    chat.until("tool_call").await;
    all_running(&stalling, &["optimist-1", "optimist-2"]).await;
    let path = format!("/api/runs/{}/stop", chat.run());
    assert_eq!(stalling.call(Method::POST, &path, json!({})).await.good()["status"], "stopped");
    for id in ["optimist-1", "optimist-2"] {
        let run = newest(&stalling, id).await["runId"].as_str().unwrap().into();
        let ended = stalling.state.agent.ended(&stalling.state.scope, &run).await.unwrap();
        assert_eq!(ended.status.word(), "stopped", "{id}");
    }
}

/// Open tabs learn by it that there are answers to look at.
#[tokio::test]
async fn news_of_a_test_run_name_the_persona() {
    let house = House::new().await;
    let mut heard = house.stream(request(Method::GET, "/api/live", None)).await;
    let path = "/api/storage/personas/optimist/test-inputs/optimist-1/answers";
    let begun = house.call(Method::POST, path, json!({})).await.good();

    let mut told = Vec::new();
    while told.len() < 2 {
        let (_, news) = heard.next().await.unwrap();
        if news["topic"] == "run" {
            told.push((news["runId"].clone(), news["personaId"].clone(), news["status"].clone()));
        }
    }

    let of = |status: &str| (begun["id"].clone(), json!("optimist"), json!(status));
    assert_eq!(told, [of("running"), of("done")]);
}

#[tokio::test]
async fn older_answers_are_found_page_by_page() {
    let house = House::new().await;
    let path = "/api/storage/personas/optimist/test-inputs/optimist-1/answers";
    let mut runs = Vec::new();
    for _ in 0..23 {
        let begun = house.call(Method::POST, path, json!({})).await.good();
        runs.insert(0, begun["id"].clone());
    }
    let earlier = async |before: Option<&Value>| {
        let mut form = vec![("id", "optimist-1")];
        form.extend(before.map(|before| ("before", before.as_str().unwrap())));
        let page = house.function("earlier_answers", &form).await.good();
        let ids = page[0].as_array().unwrap().iter().map(|one| one["answer"]["runId"].clone());
        (ids.collect::<Vec<_>>(), page[1].clone())
    };

    assert_eq!(earlier(None).await, (runs[..20].to_vec(), json!(true)));
    assert_eq!(earlier(Some(&runs[19])).await, (runs[20..].to_vec(), json!(false)));
}

#[tokio::test]
async fn a_test_run_that_was_stopped_cannot_be_gone_on_with_and_says_so() {
    let house = House::new().await.playing(&json!({"answers": [[{"text": "Half "}, "stall"]]}));
    let inputs = house.get("/api/storage/personas/optimist").await.good();
    let input = inputs["testInputIds"][0].as_str().unwrap().to_owned();
    let path = format!("/api/storage/personas/optimist/test-inputs/{input}/answers");
    let begun = house.call(Method::POST, &path, json!({})).await.good();
    let id = begun["id"].as_str().unwrap().to_owned();

    let stop = format!("/api/runs/{id}/stop");
    let stopped = house.call(Method::POST, &stop, json!({})).await.good();

    assert_eq!((&stopped["status"], &stopped["canContinue"]), (&json!("stopped"), &json!(false)));
    assert_eq!(run(&house, &id).await["canContinue"], false);
    let on = house.call(Method::POST, &format!("/api/runs/{id}/continue"), json!({})).await;
    assert_eq!(on.error(), error(409, "not_now", ""));
}

#[tokio::test]
async fn two_calls_that_only_look_run_side_by_side() {
    let look = |id: &str| json!({"call": {"name": "run_test_inputs", "input": {"ids": [id]}}});
    let house = House::new().await.playing(&json!({"answers": [
        [look("optimist-1"), look("optimist-2")], ["stall"], ["stall"],
    ]}));
    let chat = house.stream(saying("Run two")).await;

    all_running(&house, &["optimist-1", "optimist-2"]).await;

    let path = format!("/api/runs/{}/stop", chat.run());
    assert_eq!(house.call(Method::POST, &path, json!({})).await.good()["status"], "stopped");
}

/// The first one's result waited for the log, and the log for the writer that a call held which nobody drove
/// on meanwhile: the run never ended, and nothing could be written any more.
#[tokio::test]
async fn a_call_that_ends_first_does_not_keep_the_writer_from_the_log() {
    let house = House::new().await;
    let run = json!({"call": {"name": "run_test_inputs", "input": {"ids": ["optimist-1"]}}});
    let looks = ["get_persona", "list_test_inputs"]
        .map(|name| json!({"call": {"name": name, "input": {}}}));
    for look in looks {
        for calls in [json!([run, look]), json!([look, run])] {
            let house = house.playing(&json!({"loop": true, "answers": [
                calls, [{"text": "Yes."}], [{"text": "Done."}],
            ]}));
            for round in 0..10 {
                let said = timeout(PATIENCE, house.send(saying("Look"))).await;
                let events = told(&said.unwrap_or_else(|_| panic!("{calls}, round {round}")));

                assert_eq!(events.last(), Some(&json!({"type": "done"})), "{events:?}");
                let results = results(&events);
                assert!(results.len() == 2 && !results.iter().any(|one| one.1), "{events:?}");
            }
        }
    }

    let renamed = json!({"name": "Still there"});
    house.call(Method::PUT, "/api/storage/personas/optimist", renamed).await.good();
}

#[tokio::test]
async fn one_at_a_time_is_one_at_a_time_with_the_personas_own_model() {
    let house = House::new().await;
    let model = house.dear_model().await;
    let inputs = ["optimist-1", "optimist-2", "optimist-3"];
    let call = json!({"name": "run_test_inputs", "input": {"ids": inputs, "atOnce": 1}});
    // Each takes a moment, in which the next ones would begin if they could.
    let slow = |words: &str| json!([{"wait_ms": 30}, {"text": words}]);
    let house = house.playing(&json!({"answers": [
        [{"call": call}], slow("One."), slow("Two."), slow("Three."), [{"text": "Done."}],
    ]}));

    let events = told(&house.send(saying("Run three")).await);

    let answers: Value = serde_json::from_str(results(&events)[0].0).unwrap();
    let answers = answers["answers"].as_array().unwrap().iter();
    let short: Vec<Value> = answers
        .map(|one| json!({"id": one["id"], "answer": one["answer"], "model": one["model"]}))
        .collect();
    let words = ["One.", "Two.", "Three."];
    let expected =
        [0, 1, 2].map(|at| json!({"id": inputs[at], "answer": words[at], "model": model}));
    assert_eq!(short, expected);
    let mut runs = Vec::new();
    for input in inputs {
        runs.push(run_of(&house, input).await);
    }
    for pair in runs.windows(2) {
        assert!(pair[0].ended_at.unwrap() <= pair[1].created_at, "{pair:?}");
    }
}

#[tokio::test]
async fn an_answer_of_a_model_with_a_price_costs_something() {
    let house = House::new().await;
    house.dear_model().await;
    let path = "/api/storage/personas/optimist/test-inputs/optimist-1/answers";
    let begun = house.call(Method::POST, path, json!({})).await.good();
    told(&house.send(watching(begun["id"].as_str().unwrap(), 0)).await);

    let spent = newest(&house, "optimist-1").await["spent"].clone();

    let tokens = |name: &str| spent["usage"][name].as_u64().unwrap();
    assert!(tokens("input") > 0 && tokens("output") > 0, "{spent}");
    assert_eq!(spent["costMicros"], tokens("input") * 2 + tokens("output") * 10);
}
