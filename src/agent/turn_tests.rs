//! The rules of the loop.

use serde_json::json;

use super::*;
use crate::{agent::room::Of, domain::message::Carried};

/// A machine whose identifiers are `i1`, `i2`, …, after its first step.
fn machine(guards: Guards) -> Turn {
    let mut count = 0;
    let mut turn = Turn::new(guards, None, move || {
        count += 1;
        format!("i{count}")
    });
    assert_eq!(turn.begin(), [started(1), Step::AskModel]);
    turn
}

fn turn() -> Turn {
    machine(Guards::default())
}

fn started(step: u32) -> Step {
    Step::Tell(RunEvent::StepStarted { step, left_out: None })
}

fn text(part: &str, delta: &str) -> Step {
    Step::Tell(RunEvent::Text { part: part.into(), delta: delta.into() })
}

fn ended(part: &str) -> Step {
    Step::Tell(RunEvent::PartEnded { part: part.into(), carried: None })
}

fn step_ended(step: u32, stop: StopReason) -> Step {
    let (usage, cost_micros, max_tokens) = (Usage::default(), None, None);
    Step::Tell(RunEvent::StepEnded { step, stop, usage, cost_micros, max_tokens })
}

fn call(id: &str, name: &str) -> ToolCall {
    ToolCall { call: id.into(), name: name.into(), input: json!({}) }
}

fn told_call(part: &str, call: ToolCall) -> Step {
    Step::Tell(RunEvent::ToolCall { part: part.into(), call, carried: Some(Carried::default()) })
}

fn result(id: &str, name: &str, output: &str, is_error: bool) -> ToolResult {
    let (call, name, output) = (id.into(), name.into(), output.into());
    ToolResult { call, name, output, is_error, change_id: None, sources: Vec::new() }
}

fn told_result(part: &str, result: ToolResult) -> Step {
    Step::Tell(RunEvent::ToolResult { part: part.into(), result, took_ms: None })
}

fn finish(status: RunStatus, stop: Option<StopReason>) -> Step {
    Step::Finish(Finish { status, stop, error: None })
}

fn says(turn: &mut Turn, words: &str) -> Vec<Step> {
    turn.on(Input::Model(ModelEvent::Text(words.into())))
}

fn calls(turn: &mut Turn, name: &str) -> Vec<Step> {
    let (input, carried) = (Ok(json!({})), Carried::default());
    turn.on(Input::Model(ModelEvent::ToolCall { name: name.into(), input, carried }))
}

fn stops(turn: &mut Turn, stop: StopReason) -> Vec<Step> {
    turn.on(Input::Model(ModelEvent::Stop(stop)))
}

fn the_end(steps: &[Step]) -> &Finish {
    match steps.last() {
        Some(Step::Finish(finish)) => finish,
        other => panic!("no end: {other:?}"),
    }
}

#[test]
fn a_turn_without_tools_ends_when_the_model_stops() {
    let mut turn = turn();

    assert_eq!(says(&mut turn, "Hel"), [text("i1", "Hel")]);
    assert_eq!(says(&mut turn, "lo"), [text("i1", "lo")]);
    assert_eq!(
        stops(&mut turn, StopReason::EndTurn),
        [
            ended("i1"),
            step_ended(1, StopReason::EndTurn),
            finish(RunStatus::Done, Some(StopReason::EndTurn))
        ]
    );
}

#[test]
fn thoughts_and_words_are_parts_of_their_own() {
    let mut turn = turn();

    let thought = turn.on(Input::Model(ModelEvent::Reasoning("hm".into())));
    assert_eq!(
        thought,
        [Step::Tell(RunEvent::Reasoning { part: "i1".into(), delta: "hm".into() })]
    );
    assert_eq!(says(&mut turn, "Yes"), [ended("i1"), text("i2", "Yes")]);
}

#[test]
fn the_model_is_asked_again_only_after_the_last_tool_reports() {
    let mut turn = turn();
    says(&mut turn, "Let me look.");
    assert_eq!(calls(&mut turn, "a"), [ended("i1"), told_call("i3", call("i2", "a"))]);
    assert_eq!(calls(&mut turn, "b"), [told_call("i5", call("i4", "b"))]);

    assert_eq!(
        stops(&mut turn, StopReason::ToolUse),
        [
            step_ended(1, StopReason::ToolUse),
            Step::RunTools(vec![call("i2", "a"), call("i4", "b")])
        ]
    );
    let b = result("i4", "b", "two", false);
    assert_eq!(turn.on(Input::ToolDone(b.clone())), [told_result("i6", b.clone())]);
    assert_eq!(turn.on(Input::ToolDone(b)), [], "a result counts once");
    let a = result("i2", "a", "one", false);
    assert_eq!(
        turn.on(Input::ToolDone(a.clone())),
        [told_result("i7", a), started(2), Step::AskModel]
    );
}

#[test]
fn an_input_that_is_no_json_is_told_to_the_model_and_not_run() {
    let mut turn = turn();
    let broken = ModelEvent::ToolCall {
        name: "a".into(),
        input: Err("{\"x\":".into()),
        carried: Carried::default(),
    };
    turn.on(Input::Model(broken));

    let steps = stops(&mut turn, StopReason::ToolUse);

    let output = "The input was not a JSON object, so the tool was not run: {\"x\":";
    assert_eq!(
        steps,
        [
            step_ended(1, StopReason::ToolUse),
            told_result("i3", result("i1", "a", output, true)),
            started(2),
            Step::AskModel
        ]
    );
}

#[test]
fn a_call_is_never_run_when_the_answer_was_cut_off() {
    let mut turn = turn();
    calls(&mut turn, "a");

    let steps = stops(&mut turn, StopReason::MaxTokens);

    assert!(!steps.iter().any(|step| matches!(step, Step::RunTools(_))), "{steps:?}");
    let output = "Not run. The answer was cut off before it was whole.";
    assert_eq!(steps[1], told_result("i3", result("i1", "a", output, true)));
    let finish = the_end(&steps);
    assert_eq!(finish.stop, Some(StopReason::MaxTokens));
    let told = finish.error.as_ref().map(ToString::to_string);
    assert_eq!(told.as_deref(), Some("The answer was cut off at its longest."));
}

#[test]
fn a_cut_off_answer_says_so_and_whether_anything_was_said() {
    let sentence = |words: &str| {
        let mut turn = turn();
        says(&mut turn, words);
        let steps = stops(&mut turn, StopReason::MaxTokens);
        the_end(&steps).error.clone().map(|error| error.to_string()).unwrap()
    };

    assert!(sentence("Once upon").contains("cut off"));
    assert!(sentence("").contains("thinking"));
}

#[test]
fn every_stop_reason_has_its_end() {
    let ends = |stop| {
        let mut turn = turn();
        says(&mut turn, "x");
        let steps = stops(&mut turn, stop);
        match steps.last() {
            Some(Step::Finish(end)) => Some((end.status, end.error.is_some())),
            _ => None,
        }
    };

    assert_eq!(ends(StopReason::EndTurn), Some((RunStatus::Done, false)));
    assert_eq!(ends(StopReason::StopSequence), Some((RunStatus::Done, false)));
    assert_eq!(ends(StopReason::Other), Some((RunStatus::Done, true)));
    assert_eq!(ends(StopReason::ToolUse), Some((RunStatus::Done, false)), "there was no call");
    assert_eq!(ends(StopReason::MaxTokens), Some((RunStatus::Done, true)));
    assert_eq!(ends(StopReason::Refusal), Some((RunStatus::Done, true)));
    assert_eq!(ends(StopReason::ContextExceeded), Some((RunStatus::Failed, true)));
    assert_eq!(ends(StopReason::Limit), Some((RunStatus::Done, true)));
    assert_eq!(ends(StopReason::PauseTurn), None, "the turn goes on");
}

/// A bare question stood there, and nobody knew why.
#[test]
fn an_answer_without_a_word_says_so() {
    let told = |turn: &mut Turn| {
        let steps = stops(turn, StopReason::EndTurn);
        (the_end(&steps).status, the_end(&steps).error.as_ref().map(ToString::to_string))
    };
    let sentence = "The model said nothing. Try again.".to_owned();

    assert_eq!(told(&mut turn()), (RunStatus::Done, Some(sentence)));
    // What it did before is something.
    let mut busy = turn();
    calls(&mut busy, "a");
    stops(&mut busy, StopReason::ToolUse);
    busy.on(Input::ToolDone(result("i1", "a", "one", false)));
    assert_eq!(told(&mut busy), (RunStatus::Done, None));
}

#[test]
fn a_failure_keeps_the_words_and_ends_the_run() {
    let mut turn = turn();
    says(&mut turn, "Half");
    let error = ApiError::Provider { service: "x".into(), reason: "Gone.".into() };

    assert_eq!(
        turn.on(Input::Failed(error.clone())),
        [
            ended("i1"),
            Step::Finish(Finish { status: RunStatus::Failed, stop: None, error: Some(error) })
        ]
    );
}

#[test]
fn stopping_answers_the_calls_that_were_not_run() {
    let mut turn = turn();
    calls(&mut turn, "a");
    calls(&mut turn, "b");
    stops(&mut turn, StopReason::ToolUse);
    turn.on(Input::ToolDone(result("i1", "a", "one", false)));

    assert_eq!(
        turn.on(Input::Stopped),
        [
            told_result("i6", result("i3", "b", "Not run. Stopped by the person.", true)),
            finish(RunStatus::Stopped, None)
        ]
    );
}

#[test]
fn a_run_that_is_out_of_time_keeps_its_words_answers_its_calls_and_says_so() {
    let reason = "The run took too long and was ended.".into();
    let end = Step::Finish(Finish {
        status: RunStatus::Done,
        stop: Some(StopReason::Limit),
        error: Some(ApiError::NotNow { reason }),
    });
    let mut speaking = turn();
    says(&mut speaking, "Half");
    assert_eq!(speaking.on(Input::OutOfTime), [ended("i1"), end.clone()]);

    let mut looking = turn();
    calls(&mut looking, "a");
    stops(&mut looking, StopReason::ToolUse);
    assert_eq!(
        looking.on(Input::OutOfTime),
        [told_result("i3", result("i1", "a", "Not run. The run was ended.", true)), end]
    );
}

/// Lets the model call a tool again and again, each time with another input, until it is ended.
fn steps_until_the_end(guards: Guards, usage: Usage, price: Option<Price>) -> (u32, Finish) {
    let mut count = 0;
    let mut turn = Turn::new(guards, price, move || {
        count += 1;
        format!("i{count}")
    });
    turn.begin();
    for step in 1..100 {
        let (input, carried) = (Ok(json!({"step": step})), Carried::default());
        turn.on(Input::Model(ModelEvent::ToolCall { name: "a".into(), input, carried }));
        turn.on(Input::Model(ModelEvent::Usage(usage)));
        let steps = stops(&mut turn, StopReason::ToolUse);
        let Some(Step::RunTools(calls)) = steps.last() else { panic!("{steps:?}") };
        let id = calls[0].call.clone();
        let steps = turn.on(Input::ToolDone(result(id.as_str(), "a", "", false)));
        if let Some(Step::Finish(finish)) = steps.last() {
            return (step, finish.clone());
        }
    }
    panic!("it never ended");
}

#[test]
fn steps_tokens_and_money_are_guarded() {
    let usage = Usage { input: Some(1000), output: Some(100), ..Usage::default() };
    let price = Price { input: 1.0, output: 10.0, ..Price::default() };
    let wide = Guards {
        steps: 90,
        output_tokens: 1 << 40,
        cost_micros: 1 << 40,
        repeats: 9,
        allowed: Allowance::default(),
    };

    let by = |guards| {
        let (steps, finish) = steps_until_the_end(guards, usage, Some(price));
        assert_eq!((finish.status, finish.stop), (RunStatus::Done, Some(StopReason::Limit)));
        (steps, finish.error.map(|error| error.to_string()).unwrap_or_default())
    };

    assert_eq!(by(Guards { steps: 5, ..wide }).0, 5);
    assert!(by(Guards { steps: 5, ..wide }).1.contains("after 5 steps"));
    assert_eq!(by(Guards { output_tokens: 700, ..wide }).0, 7);
    assert_eq!(by(Guards { cost_micros: 6000, ..wide }).0, 3, "2000 a step");
}

#[test]
fn what_runs_cost_that_were_started_for_this_one_is_guarded_and_not_counted_twice() {
    let mut turn = machine(Guards { cost_micros: 6000, ..Guards::default() });
    for charged in [4000, 2000] {
        let told = calls(&mut turn, "run_test_inputs");
        stops(&mut turn, StopReason::ToolUse);
        let Some(Step::Tell(RunEvent::ToolCall { call, .. })) = told.last() else { panic!() };
        turn.charge(charged);
        let done = result(call.call.as_str(), "run_test_inputs", &charged.to_string(), false);
        let steps = turn.on(Input::ToolDone(done));
        assert_eq!(steps.contains(&Step::AskModel), charged == 4000, "{steps:?}");
    }
    assert_eq!(turn.spent().1, None, "they keep their own accounts");
}

#[test]
fn asking_for_the_same_thing_over_and_over_ends_the_run() {
    let mut turn = machine(Guards { repeats: 2, ..Guards::default() });
    for round in 1..=3 {
        let told = calls(&mut turn, "a");
        let steps = stops(&mut turn, StopReason::ToolUse);
        if round == 3 {
            assert_eq!(the_end(&steps).stop, Some(StopReason::Limit));
            return;
        }
        let Some(Step::Tell(RunEvent::ToolCall { call, .. })) = told.last() else { panic!() };
        turn.on(Input::ToolDone(result(call.call.as_str(), "a", "", false)));
    }
}

#[test]
fn what_was_spent_adds_up_over_the_steps() {
    let usage =
        |input, output| Usage { input: Some(input), output: Some(output), ..Usage::default() };
    let price = Price { input: 2.0, output: 10.0, ..Price::default() };
    let mut turn = Turn::new(Guards::default(), Some(price), || "i".into());
    turn.begin();
    turn.on(Input::Model(ModelEvent::Usage(usage(1, 1))));
    turn.on(Input::Model(ModelEvent::Usage(usage(10, 3))));
    stops(&mut turn, StopReason::PauseTurn);
    turn.on(Input::Model(ModelEvent::Usage(usage(20, 4))));
    stops(&mut turn, StopReason::EndTurn);

    assert_eq!(turn.spent(), (usage(30, 7), Some(30 * 2 + 7 * 10)));
    assert_eq!(turn.steps(), 2);
}

/// Services such as OpenAI's tell what an answer took with its end. One that was stopped before counted for
/// nothing, so that whoever stopped in time came past every limit.
#[test]
fn an_answer_that_is_cut_off_is_paid_for_though_nobody_tells_what_it_took() {
    let price = Price { input: 2.0, output: 10.0, ..Price::default() };
    let spent = |before: &[ModelEvent], end: Input| {
        let mut turn = Turn::new(Guards::default(), Some(price), || "i".into());
        turn.begin();
        turn.hear_out(100, None);
        before.iter().for_each(|event| drop(turn.on(Input::Model(event.clone()))));
        the_end(&turn.on(end));
        turn.spent()
    };
    let usage =
        |input, output| Usage { input: Some(input), output: Some(output), ..Usage::default() };
    let words = || ModelEvent::Text("Half an".into());
    let again = || ModelEvent::Retrying { attempt: 2, wait_ms: 1, reason: "busy".into() };
    let error = || Input::Failed(ApiError::NotNow { reason: "It broke.".into() });
    let nothing = (Usage::default(), Some(0));

    assert_eq!(spent(&[words()], Input::Stopped), (usage(100, 2), Some(220)));
    assert_eq!(spent(&[words()], error()), (usage(100, 2), Some(220)));
    assert_eq!(spent(&[again(), words()], Input::OutOfTime), (usage(100, 2), Some(220)));
    // What a service told already is not guessed.
    let told = ModelEvent::Usage(usage(90, 5));
    assert_eq!(spent(&[told, words()], Input::Stopped), (usage(90, 5), Some(230)));
    // A question was read, unless it was refused.
    assert_eq!(spent(&[], Input::Stopped), (usage(100, 0), Some(200)));
    assert_eq!(spent(&[again()], Input::Stopped), nothing);
    assert_eq!(spent(&[], error()), nothing);
    // An answer that is whole told what it took.
    let mut turn = turn();
    turn.hear_out(100, None);
    calls(&mut turn, "a");
    stops(&mut turn, StopReason::ToolUse);
    turn.on(Input::Stopped);
    assert_eq!(turn.spent().0, Usage::default());
}

/// What is told of a run that took what one may.
fn all_taken(taken: u64, limit: u64) -> String {
    format!(
        "The run was ended: it took {taken} of the {limit} tokens, and the rest of the answer would not \
         fit into what is left for one run."
    )
}

/// A machine that reads seven tokens and may then write so many, held to that in its first answer.
fn held(written: u64, usual: u64) -> Turn {
    let allowed = Allowance { tokens: Some((7 + written, Of::Run)), ..Allowance::default() };
    let mut turn = machine(Guards { allowed, ..Guards::default() });
    let room = turn.left().room(7, None).map(|room| room.beside(usual));
    turn.hear_out(7, room);
    turn
}

#[test]
fn an_answer_that_passes_its_room_is_ended_in_the_middle_and_paid_for() {
    let mut turn = held(20, 8000);
    let long = "four".repeat(41);

    assert_eq!(says(&mut turn, "four"), [text("i1", "four")]);
    let steps = says(&mut turn, &long);

    let usage = Usage { input: Some(7), output: Some(42), ..Usage::default() };
    let stop = StopReason::Limit;
    let max_tokens = Some(20);
    let told = RunEvent::StepEnded { step: 1, stop, usage, cost_micros: None, max_tokens };
    assert_eq!(steps[..3], [text("i1", &long), ended("i1"), Step::Tell(told)]);
    let finish = the_end(&steps);
    assert_eq!((finish.status, finish.stop), (RunStatus::Done, Some(StopReason::Limit)));
    let error = finish.error.as_ref().map(ToString::to_string);
    assert_eq!(error, Some(all_taken(49, 27)));
    assert_eq!(turn.spent().0, usage);
}

#[test]
fn a_model_that_stops_where_it_was_asked_to_came_to_the_limit_that_asked() {
    let told = |usual| {
        let mut turn = held(100, usual);
        says(&mut turn, "So far");
        let usage = Usage { input: Some(7), output: Some(100), ..Usage::default() };
        turn.on(Input::Model(ModelEvent::Usage(usage)));
        let error = the_end(&stops(&mut turn, StopReason::MaxTokens)).error.clone();
        error.map(|error| error.to_string()).unwrap_or_default()
    };

    assert_eq!(told(8000), all_taken(107, 107));
    assert_eq!(told(50), "The answer was cut off at its longest.");
}

#[test]
fn without_room_for_another_answer_the_model_is_not_asked_again() {
    let mut turn = held(100, 8000);
    let told = calls(&mut turn, "a");
    let usage = Usage { input: Some(7), output: Some(90), ..Usage::default() };
    turn.on(Input::Model(ModelEvent::Usage(usage)));
    stops(&mut turn, StopReason::ToolUse);
    let Some(Step::Tell(RunEvent::ToolCall { call, .. })) = told.last() else { panic!() };

    let steps = turn.on(Input::ToolDone(result(call.call.as_str(), "a", "", false)));

    let finish = the_end(&steps);
    assert_eq!(finish.stop, Some(StopReason::Limit), "ten are too few");
    assert_eq!(
        finish.error.as_ref().map(ToString::to_string).as_deref(),
        Some(
            "The run was ended: it took 97 of the 107 tokens, and the next answer would not fit into \
             what is left for one run."
        )
    );
}
