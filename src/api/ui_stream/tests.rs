//! The order of what is sent, whatever a run tells.

use super::*;
use crate::domain::{
    message::{Part, ToolCall, ToolResult},
    run::Usage,
    timestamp::Timestamp,
};

fn run() -> Run {
    Run {
        id: "r".into(),
        conversation_id: "s".into(),
        message_id: "m".into(),
        reply_id: "a".into(),
        round_id: "r".into(),
        place: 0,
        follows_id: None,
        persona_id: "p".into(),
        persona_revision: 1,
        model: "demo".into(),
        status: RunStatus::Running,
        stop: None,
        error: None,
        spent: Spent::default(),
        created_at: Timestamp(0),
        ended_at: None,
    }
}

fn words(part: &str, delta: &str) -> RunEvent {
    RunEvent::Text { part: part.into(), delta: delta.into() }
}

fn call(id: &str) -> ToolCall {
    ToolCall { call: id.into(), name: "ls".into(), input: json!({}) }
}

fn result(id: &str, is_error: bool) -> ToolResult {
    ToolResult {
        call: id.into(),
        name: "ls".into(),
        output: "out".into(),
        is_error,
        change_id: None,
        sources: Vec::new(),
    }
}

fn ended(status: RunStatus, error: Option<ApiError>) -> RunEvent {
    let stop = Some(StopReason::EndTurn);
    RunEvent::Ended { status, stop, error, spent: Spent::default() }
}

/// The types of all that is sent, in order.
fn types(events: &[RunEvent]) -> Vec<String> {
    let mut projection = Projection::new(&run());
    let chunks = events.iter().flat_map(|event| projection.project(event)).collect::<Vec<_>>();
    chunks.iter().map(|chunk| json!(chunk)["type"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_step_ends_after_the_results_of_its_tools() {
    let events = [
        RunEvent::Started { reply_id: "a".into(), model: "demo".into() },
        RunEvent::StepStarted { step: 1, left_out: None },
        RunEvent::Reasoning { part: "p1".into(), delta: "hm".into() },
        words("p2", "Hel"),
        words("p2", "lo"),
        RunEvent::PartEnded { part: "p2".into(), carried: None },
        RunEvent::ToolCall { part: "p3".into(), call: call("c1"), carried: None },
        RunEvent::ToolCall { part: "p4".into(), call: call("c2"), carried: None },
        RunEvent::StepEnded {
            step: 1,
            stop: StopReason::ToolUse,
            usage: Usage::default(),
            cost_micros: None,
            max_tokens: None,
        },
        RunEvent::ToolResult { part: "p5".into(), result: result("c2", true), took_ms: None },
        RunEvent::ToolResult { part: "p6".into(), result: result("c1", false), took_ms: None },
        RunEvent::StepStarted { step: 2, left_out: None },
        words("p7", "Done."),
        ended(RunStatus::Done, None),
    ];

    assert_eq!(
        types(&events),
        [
            "start",
            "start-step",
            "reasoning-start",
            "reasoning-delta",
            "reasoning-end",
            "text-start",
            "text-delta",
            "text-delta",
            "text-end",
            "tool-input-start",
            "tool-input-available",
            "tool-input-start",
            "tool-input-available",
            "tool-output-error",
            "tool-output-available",
            "finish-step",
            "start-step",
            "text-start",
            "text-delta",
            "text-end",
            "finish-step",
            "message-metadata",
            "finish",
        ]
    );
}

#[test]
fn whatever_is_open_at_the_end_is_closed_and_the_end_says_how_it_came() {
    let begun = [
        RunEvent::StepStarted { step: 1, left_out: None },
        RunEvent::ToolCall { part: "p".into(), call: call("c"), carried: None },
    ];
    let with = |end: RunEvent| types(&[&begun[..], &[end]].concat())[3..].to_vec();
    let failed = ApiError::NotNow { reason: "No.".into() };
    let at = |stop: StopReason| {
        let (stop, error) = (Some(stop), Some(failed.clone()));
        RunEvent::Ended { status: RunStatus::Done, stop, error, spent: Spent::default() }
    };
    let middle = ["tool-output-error", "finish-step", "message-metadata"];

    for (end, last) in [
        (ended(RunStatus::Stopped, None), "abort"),
        (ended(RunStatus::Failed, Some(failed.clone())), "error"),
        (ended(RunStatus::Done, None), "finish"),
        (at(StopReason::Limit), "error"),
        (at(StopReason::MaxTokens), "finish"),
    ] {
        assert_eq!(with(end), [&middle[..], &[last]].concat());
    }
}

#[test]
fn a_kept_message_has_the_parts_that_the_stream_would_have_made() {
    let part = |body| Part { id: "p".into(), at: Timestamp(0), body, carried: None };
    let parts = vec![
        part(PartBody::Text("Look.".into())),
        part(PartBody::ToolCall(call("c"))),
        part(PartBody::ToolResult(result("c", false))),
        part(PartBody::Reasoning(String::new())),
        part(PartBody::Text("Done.".into())),
    ];

    let message = ui_message(&run().reply(parts), None);

    assert_eq!(
        message.parts,
        [
            json!({"type": "step-start"}),
            json!({"type": "text", "text": "Look.", "state": "done"}),
            json!({"type": "tool-ls", "toolCallId": "c", "state": "output-available",
                "input": {}, "output": "out"}),
            json!({"type": "step-start"}),
            json!({"type": "text", "text": "Done.", "state": "done"}),
        ]
    );
}
