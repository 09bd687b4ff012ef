//! Traces as a receiver of OTLP gets them.

use std::{sync::Arc, time::Duration};

use greenroom::traces::{self, Content, Exporter, Names, OtlpSettings, Queue};
use opentelemetry_proto::tonic::trace::v1::{span::SpanKind, status::StatusCode};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle, time::timeout};

use super::{
    chat,
    receiver::{Receiver, attributes},
    say,
};
use crate::support::House;

/// What may not leave the house unless somebody wants it to.
const CANARY: &str = "canary-7f3a";

fn settings(url: String) -> OtlpSettings {
    OtlpSettings {
        url,
        headers_ref: String::new(),
        content: Content::LeftOut,
        names: Names::Present,
        gzip: false,
        node: "test".into(),
        within: Duration::from_secs(5),
        first_wait: Duration::from_millis(1),
    }
}

/// Sends the traces of a house there from now on.
fn sending(house: &House, settings: OtlpSettings, room: usize) -> Arc<Queue> {
    begin_sending(house, settings, room).0
}

fn begin_sending(
    house: &House,
    settings: OtlpSettings,
    room: usize,
) -> (Arc<Queue>, JoinHandle<()>) {
    let environment = |name: &str| match name {
        "HEADERS" => Some("authorization=Basic%20c2VjcmV0,x-more=1".to_owned()),
        _ => None,
    };
    let exporter = Exporter::new(settings, Arc::new(environment)).unwrap();
    let (queue, waiting) = traces::queue(room);
    house.state.agent.tell_ends_to(queue.clone());
    let (agent, closing) = (house.state.agent.clone(), house.state.closing.clone());
    (queue, tokio::spawn(traces::export(agent, exporter, waiting, closing)))
}

/// Sends the traces of a house there from now on, with all that was said.
pub fn send_everything(house: &House, url: String) {
    let settings = OtlpSettings { content: Content::Included, ..settings(url) };
    sending(house, settings, 1000);
}

/// A house whose agent is given a tool's results, thinks, and says it all with the canary in it.
async fn telling() -> House {
    let house = House::new().await;
    house.dear_model().await;
    house.persona("ann", &format!("Be kind. {CANARY}-prompt")).await;
    house.playing(&json!({"answers": [
        [{"reasoning": format!("{CANARY}-thought")}, {"text": format!("{CANARY}-words")},
            {"usage": {"input": 1000, "output": 50}},
            {"call": {"name": "get_persona", "input": {}}},
            {"call": {"name": "no_such_tool", "input": {"x": format!("{CANARY}-input")}}}],
        [{"usage": {"input": 2000, "output": 10}}, {"text": format!("{CANARY}-answer")}],
        [{"error": {"fault": "bad_request", "message": "no"}}],
    ]}))
}

#[tokio::test]
async fn a_run_is_an_agent_that_asks_a_model_and_runs_tools() {
    let mut receiver = Receiver::answering(&[]).await;
    let house = telling().await;
    let settings = OtlpSettings { headers_ref: "env:HEADERS".into(), ..settings(receiver.url()) };
    sending(&house, settings, 16);

    let run = say(&house, "ann", &format!("{CANARY}-question")).await;
    let received = receiver.next().await;

    assert_eq!(received.headers["authorization"], "Basic c2VjcmV0");
    let agent = received.span("invoke_agent ann");
    assert_eq!((agent.kind(), agent.parent_span_id.len()), (SpanKind::Internal, 0));
    let told = attributes(&agent);
    assert_eq!((told["gen_ai.operation.name"].as_str()), "invoke_agent");
    assert_eq!(
        (told["gen_ai.agent.id"].as_str(), told["greenroom.run.id"].as_str()),
        ("ann", run.as_str())
    );
    assert_eq!(told["greenroom.source"], "editor");
    let id: String = agent.trace_id.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(id, run.replace('-', ""), "a run is found by its own name");

    let spans = received.spans();
    assert_eq!(spans.len(), 5);
    for span in spans.iter().filter(|span| span.name != agent.name) {
        assert_eq!((&span.trace_id, &span.parent_span_id), (&agent.trace_id, &agent.span_id));
        assert!(span.start_time_unix_nano >= agent.start_time_unix_nano, "{span:?}");
        assert!(span.end_time_unix_nano <= agent.end_time_unix_nano, "{span:?}");
    }
    let asked: Vec<_> = spans.iter().filter(|span| span.name == "chat demo").collect();
    assert_eq!((asked.len(), asked[0].kind()), (2, SpanKind::Client));
    let told = attributes(asked[0]);
    for (key, value) in [
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.provider.name", "demo"),
        ("gen_ai.request.model", "demo"),
        ("gen_ai.usage.input_tokens", "1000"),
        ("gen_ai.usage.output_tokens", "50"),
        ("greenroom.cost_usd", "0.0025"),
    ] {
        assert_eq!(told[key], value, "{told:?}");
    }
    assert!(told["gen_ai.response.finish_reasons"].contains("tool_call"), "{told:?}");
    assert!(told["gen_ai.request.max_tokens"].parse::<u64>().unwrap() > 0);
    let good = received.span("execute_tool get_persona");
    assert_eq!(attributes(&good)["gen_ai.tool.name"], "get_persona");
    assert!(!attributes(&good)["gen_ai.tool.call.id"].is_empty() && good.status.is_none());
    let bad = received.span("execute_tool no_such_tool");
    assert_eq!(attributes(&bad)["error.type"], "tool_error");
    assert_eq!(bad.status.unwrap().code(), StatusCode::Error);
    // Nothing of what was said is in it, not even in what went wrong.
    let bytes = String::from_utf8_lossy(&received.bytes).into_owned();
    assert!(!bytes.contains(CANARY), "{bytes}");

    say(&house, "ann", "Again").await;
    let failed = receiver.next().await;
    for name in ["invoke_agent", "chat"] {
        let span = failed.span(name);
        assert_eq!(span.status.as_ref().unwrap().code(), StatusCode::Error, "{name}");
        assert_eq!(attributes(&span)["error.type"], "failed");
    }
}

#[tokio::test]
async fn what_waits_when_the_server_closes_is_sent_and_then_nothing_more() {
    let mut receiver = Receiver::answering(&[]).await;
    let house = telling().await;
    let (_queue, sending) = begin_sending(&house, settings(receiver.url()), 16);

    say(&house, "ann", "Before the end").await;
    house.state.closing.cancel();

    timeout(Duration::from_secs(20), sending).await.unwrap().unwrap();
    assert_eq!(receiver.next().await.span("invoke_agent ann").status, None);
}

#[tokio::test]
async fn what_was_said_goes_along_when_it_is_wanted() {
    let mut receiver = Receiver::answering(&[]).await;
    let house = telling().await;
    let settings =
        OtlpSettings { content: Content::Included, gzip: true, ..settings(receiver.url()) };
    sending(&house, settings, 16);

    say(&house, "ann", &format!("{CANARY}-question")).await;
    let received = receiver.next().await;

    let spans = received.spans();
    let asked: Vec<_> = spans.iter().filter(|span| span.name == "chat demo").collect();
    let told = attributes(asked[1]);
    let read: Value = serde_json::from_str(&told["gen_ai.input.messages"]).unwrap();
    assert!(read[0]["parts"][0]["content"].to_string().contains("canary-7f3a-question"), "{read}");
    let roles: Vec<&Value> =
        read.as_array().unwrap().iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "tool"]);
    // What the conventions want of it: its kind and the response.
    let given = &read[3]["parts"][0];
    assert_eq!(given["type"], "tool_call_response");
    assert!(given["response"].as_str().unwrap().contains("no_such_tool"), "{read}");
    let answered: Value = serde_json::from_str(&told["gen_ai.output.messages"]).unwrap();
    assert_eq!(answered[0]["parts"][0]["content"], format!("{CANARY}-answer"));
    assert_eq!(answered[0]["finish_reason"], "stop");
    assert!(told.contains_key("gen_ai.system_instructions"));
    let tool = attributes(&received.span("execute_tool no_such_tool"));
    assert!(tool["gen_ai.tool.call.arguments"].contains("canary-7f3a-input"), "{tool:?}");
    assert!(tool["gen_ai.tool.call.result"].contains("no_such_tool"), "{tool:?}");

    // With the next question all of that was sent again.
    say(&house, "ann", "Again").await;
    let told = attributes(&receiver.next().await.span("chat demo"));
    let read: Value = serde_json::from_str(&told["gen_ai.input.messages"]).unwrap();
    let kinds: Vec<&Value> =
        read.as_array().unwrap().iter().map(|message| &message["parts"][0]["type"]).collect();
    let (call, response) = ("tool_call", "tool_call_response");
    assert_eq!(kinds, ["text", "text", call, call, response, response, "text", "text"]);
}

#[tokio::test]
async fn older_receivers_are_told_the_older_names() {
    let mut receiver = Receiver::answering(&[]).await;
    let house = House::new().await;
    let (names, content) = (Names::Older, Content::Included);
    sending(&house, OtlpSettings { names, content, ..settings(receiver.url()) }, 16);

    chat(&house, "optimist", "Hello").await;
    let received = receiver.next().await;

    let told = attributes(&received.span("chat demo"));
    assert_eq!(told["gen_ai.system"], "demo");
    assert!(told["gen_ai.prompt"].contains("Hello") && !told["gen_ai.completion"].is_empty());
    assert!(!told.keys().any(|key| key.contains("provider") || key.contains("messages")));
    assert_eq!(attributes(&received.span("invoke_agent Optimist"))["greenroom.source"], "chat");
}

#[tokio::test]
async fn a_receiver_that_is_not_ready_is_asked_again_and_no_run_waits() {
    let mut receiver = Receiver::answering(&[500, 429, 503]).await;
    let house = House::new().await;
    sending(&house, settings(receiver.url()), 16);

    let run = chat(&house, "optimist", "Hello").await;

    let told = attributes(&receiver.next().await.span("invoke_agent"));
    assert_eq!(told["greenroom.run.id"], run);
    assert_eq!(receiver.waiting(), 0, "it is told once");
}

#[tokio::test]
async fn what_is_refused_is_given_up_and_the_next_is_sent() {
    let mut receiver = Receiver::answering(&[400]).await;
    let house = House::new().await;
    sending(&house, settings(receiver.url()), 16);
    chat(&house, "optimist", "Hello").await;
    // Sent one by one: a run waits half a second for others to go along.
    while receiver.refused() == 0 {
        tokio::task::yield_now().await;
    }

    let second = chat(&house, "optimist", "Hello").await;

    let told = attributes(&receiver.next().await.span("invoke_agent"));
    assert_eq!(told["greenroom.run.id"], second);
}

#[tokio::test]
async fn a_receiver_that_is_away_or_silent_slows_no_run_and_gets_what_there_was_room_for() {
    // It takes the connection and says nothing, as long as this goes on.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = silent.local_addr().unwrap();
    let house = House::new().await;
    let within = Duration::from_millis(200);
    let url = format!("http://{address}/v1/traces");
    let queue = sending(&house, OtlpSettings { within, ..settings(url) }, 1);

    let mut runs = Vec::new();
    for _ in 0..4 {
        runs.push(chat(&house, "optimist", "Hello").await);
    }
    for run in &runs {
        let state = house.get(&format!("/api/runs/{run}")).await.good();
        assert_eq!(state["status"], "done");
    }

    // It comes back while it is still being tried.
    let mut receiver = Receiver::at(silent, &[]);
    let first = receiver.next().await;
    assert!(!first.spans().is_empty());
    assert!(queue.dropped() <= 3, "{}", queue.dropped());
    // All of them are in Greenroom.
    assert_eq!(super::listed(&house, "").await.len(), 4);
}

#[tokio::test]
async fn a_run_that_was_interrupted_is_told_by_whoever_finds_it() {
    let mut receiver = Receiver::answering(&[]).await;
    let house = House::new().await;
    let gone = house.playing(&json!({"answers": [[{"text": "Half"}, "stall"]]}));
    let path = "/api/storage/personas/optimist/test-inputs/optimist-1/answers";
    gone.call(axum::http::Method::POST, path, json!({})).await.good();

    let next = house.playing(&json!({"answers": []}));
    sending(&next, settings(receiver.url()), 16);
    assert_eq!(next.state.agent.recover().await.unwrap(), 1);

    let agent = receiver.next().await.span("invoke_agent Optimist");
    let told = attributes(&agent);
    assert_eq!(
        (told["error.type"].as_str(), told["greenroom.run.status"].as_str()),
        ("interrupted", "interrupted")
    );
    assert_eq!(agent.status.unwrap().code(), StatusCode::Error);
}
