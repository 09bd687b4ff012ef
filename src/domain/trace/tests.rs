//! Traces, made of what runs told.

use serde_json::json;

use super::*;
use crate::domain::{
    event::{RunEvent, Stamped},
    id::PartId,
    message::{ToolCall, ToolResult},
    run::Spent,
};

fn run(status: RunStatus) -> Run {
    Run {
        id: "r".into(),
        conversation_id: "c".into(),
        message_id: "m".into(),
        reply_id: "a".into(),
        round_id: "r".into(),
        place: 0,
        follows_id: None,
        persona_id: "p".into(),
        persona_revision: 1,
        model: "demo".into(),
        status,
        stop: None,
        error: None,
        spent: Spent::default(),
        created_at: Timestamp(1000),
        ended_at: None,
    }
}

fn traced(run: &Run, told: Vec<(i64, RunEvent)>) -> Trace {
    let told = (1..).zip(told).map(|(seq, (at, event))| Stamped { seq, at: Timestamp(at), event });
    Trace::of(run, ConversationKind::Chat, "Ann".into(), told)
}

fn started() -> RunEvent {
    RunEvent::Started { reply_id: "a".into(), model: "demo".into() }
}

fn step(step: u32) -> RunEvent {
    RunEvent::StepStarted { step, left_out: None }
}

fn text(delta: &str) -> RunEvent {
    RunEvent::Text { part: PartId::new("t"), delta: delta.into() }
}

fn call(id: &str) -> RunEvent {
    let call = ToolCall { call: id.into(), name: "search".into(), input: json!({"text": id}) };
    RunEvent::ToolCall { part: "c".into(), call, carried: None }
}

fn result(id: &str, output: &str, is_error: bool, took_ms: Option<u64>) -> RunEvent {
    let (call, name, output) = (CallId::new(id), "search".into(), output.into());
    let result = ToolResult { call, name, output, is_error, change_id: None, sources: Vec::new() };
    RunEvent::ToolResult { part: "o".into(), result, took_ms }
}

fn ended_step(step: u32, stop: StopReason, output: u64) -> RunEvent {
    let usage = Usage { input: Some(100), output: Some(output), ..Usage::default() };
    RunEvent::StepEnded { step, stop, usage, cost_micros: Some(7), max_tokens: None }
}

fn end(run: &Run) -> RunEvent {
    run.ended()
}

/// What a waterfall is drawn of.
fn bars(trace: &Trace) -> Vec<(&str, Option<&str>, u32, u64, u64)> {
    let bar = |span: &'_ Span| (span.depth, span.start_ms, span.duration_ms);
    let spans = trace.spans.iter();
    spans
        .map(|span| {
            let (depth, start, took) = bar(span);
            (span.id.as_str(), span.parent_id.as_deref(), depth, start, took)
        })
        .collect()
}

#[test]
fn steps_and_tools_stand_where_they_happened() {
    let run = run(RunStatus::Done);
    let told = vec![
        (1100, started()),
        (1100, step(1)),
        (1150, text("Let me ")),
        (1160, text("look.")),
        (1200, call("x")),
        (1200, call("y")),
        (1210, ended_step(1, StopReason::ToolUse, 20)),
        (1260, result("y", "why", false, Some(40))),
        (1310, result("x", "no such thing", true, Some(90))),
        (1320, step(2)),
        (1400, text("Done.")),
        (1420, ended_step(2, StopReason::EndTurn, 5)),
        (1425, end(&run)),
    ];

    let trace = traced(&run, told);

    assert_eq!((trace.waited_ms, trace.began_at, trace.traced_ms), (100, Timestamp(1100), 325));
    assert_eq!(
        bars(&trace),
        [
            ("run", None, 0, 0, 325),
            ("step-1", Some("run"), 1, 0, 110),
            ("call-x", Some("step-1"), 2, 120, 90),
            ("result-x", Some("call-x"), 3, 210, 0),
            ("call-y", Some("step-1"), 2, 120, 40),
            ("result-y", Some("call-y"), 3, 160, 0),
            ("step-2", Some("run"), 1, 220, 100),
        ]
    );
    let What::LlmCall { text, first_token_ms, stop, calls, cost_micros, .. } =
        &trace.span("step-1").unwrap().what
    else {
        panic!("it asks the model");
    };
    assert_eq!((text.as_str(), *first_token_ms), ("Let me look.", Some(50)));
    assert_eq!((*stop, *cost_micros), (Some(StopReason::ToolUse), Some(7)));
    assert_eq!(*calls, [CallId::new("x"), CallId::new("y")]);
    assert_eq!(trace.span("call-x").unwrap().error.as_deref(), Some("no such thing"));
    assert_eq!(trace.span("call-y").unwrap().error, None);
}

#[test]
fn a_step_that_broke_has_the_runs_error_and_what_is_left_of_the_account() {
    let usage = Usage { input: Some(230), output: Some(25), ..Usage::default() };
    let mut run = run(RunStatus::Failed);
    run.spent = Spent { usage, cost_micros: Some(10), ..Spent::default() };
    run.error = Some(ApiError::Provider { service: "x".into(), reason: "It broke.".into() });
    let reason = "overloaded".to_owned();
    let told = vec![
        (1000, started()),
        (1000, step(1)),
        (1100, ended_step(1, StopReason::PauseTurn, 20)),
        (1100, step(2)),
        (1110, RunEvent::Retrying { attempt: 2, wait_ms: 50, reason: reason.clone() }),
        (1200, text("Hal")),
        (1250, end(&run)),
    ];

    let trace = traced(&run, told);

    let broken = trace.span("step-2").unwrap();
    assert_eq!((broken.start_ms, broken.duration_ms), (100, 150));
    assert_eq!(broken.error.as_deref(), Some("It broke."));
    assert_eq!(trace.span(RUN_SPAN).unwrap().error.as_deref(), Some("It broke."));
    assert_eq!(trace.span("step-1").unwrap().error, None);
    let What::LlmCall { usage, cost_micros, retries, stop, .. } = &broken.what else {
        panic!("it asks the model");
    };
    assert_eq!((usage.input, usage.output, *cost_micros), (Some(130), Some(5), Some(3)));
    assert_eq!(*retries, [Retry { attempt: 2, wait_ms: 50, reason }]);
    assert_eq!(*stop, None);
}

#[test]
fn an_interrupted_run_ends_with_the_last_it_told() {
    let mut run = run(RunStatus::Interrupted);
    run.error = Some(ApiError::NotNow { reason: "The server was restarted.".into() });
    let told = vec![
        (1000, started()),
        (1000, step(1)),
        (1040, call("x")),
        (1050, ended_step(1, StopReason::ToolUse, 1)),
        (90_000_000, end(&run)),
    ];

    let trace = traced(&run, told);

    assert_eq!(trace.traced_ms, 50);
    let left = trace.span("call-x").unwrap();
    assert_eq!((left.start_ms, left.duration_ms), (40, 10));
    assert_eq!(left.error.as_deref(), Some("It did not come to its end."));
}

#[test]
fn a_run_that_told_nothing_is_a_trace_of_itself() {
    let trace = traced(&run(RunStatus::Queued), Vec::new());

    assert_eq!(bars(&trace), [("run", None, 0, 0, 0)]);
    assert_eq!(trace.summary.path(), "/chats/c?leaf=m");
}

#[test]
fn what_was_kept_before_this_was_known_is_read() {
    let old = json!({"type": "step_ended", "step": 1, "stop": "end_turn", "usage": {}});
    let event: RunEvent = serde_json::from_value(old).unwrap();
    assert!(matches!(event, RunEvent::StepEnded { cost_micros: None, max_tokens: None, .. }));
    let result = json!({"call": "x", "name": "n", "output": "o", "isError": false});
    let old = json!({"type": "tool_result", "part": "p", "result": result});
    let event: RunEvent = serde_json::from_value(old).unwrap();
    assert!(matches!(event, RunEvent::ToolResult { took_ms: None, .. }));
}

#[test]
fn a_tool_without_a_known_time_runs_from_when_it_was_asked_for() {
    let run = run(RunStatus::Done);
    let told = vec![
        (1000, step(1)),
        (1010, call("x")),
        (1020, ended_step(1, StopReason::ToolUse, 1)),
        (1060, result("x", "yes", false, None)),
    ];

    let trace = traced(&run, told);

    let span = trace.span("call-x").unwrap();
    assert_eq!((span.start_ms, span.duration_ms), (10, 50));
}

#[test]
fn an_axis_has_few_round_parts_and_room_for_all() {
    let axis = |whole: u64| {
        let axis = Axis::over(whole);
        assert!(axis.whole_ms() >= whole, "{axis:?}");
        (axis.step_ms, axis.count)
    };

    assert_eq!(axis(0), (1, 1));
    assert_eq!(axis(4), (1, 4));
    assert_eq!(axis(325), (100, 4));
    assert_eq!(axis(12_000), (2000, 6));
    assert_eq!(axis(12_001), (5000, 3));
    assert!(Axis::over(u64::MAX / 2).count <= 6);
}
