//! How a trace is made of what a run told.

use super::{RUN_SPAN, Retry, Span, Trace, TraceSummary, What};
use crate::domain::{
    error::ApiError,
    event::{RunEvent, Stamped, fold},
    message::{ConversationKind, Part, ToolCall, ToolResult},
    run::{Run, RunStatus, StopReason, Usage},
    timestamp::Timestamp,
    tokens::estimate,
};

/// A step that is being put together.
struct Step {
    number: u32,
    from: Timestamp,
    to: Option<Timestamp>,
    first: Option<Timestamp>,
    stop: Option<StopReason>,
    usage: Usage,
    cost_micros: Option<u64>,
    max_tokens: Option<u64>,
    retries: Vec<Retry>,
    reasoning: String,
    text: String,
    calls: Vec<Call>,
}

/// A call of a step.
struct Call {
    call: ToolCall,
    at: Timestamp,
    answer: Option<Answer>,
}

struct Answer {
    result: ToolResult,
    at: Timestamp,
    took_ms: Option<u64>,
}

impl Step {
    fn new(number: u32, from: Timestamp) -> Self {
        Self {
            number,
            from,
            to: None,
            first: None,
            stop: None,
            usage: Usage::default(),
            cost_micros: None,
            max_tokens: None,
            retries: Vec::new(),
            reasoning: String::new(),
            text: String::new(),
            calls: Vec::new(),
        }
    }
}

impl Trace {
    /// The trace of a run that told this so far.
    pub fn of(
        run: &Run,
        source: ConversationKind,
        persona_name: String,
        told: impl IntoIterator<Item = Stamped>,
    ) -> Self {
        let (mut began, mut last) = (None, run.created_at);
        let mut steps: Vec<Step> = Vec::new();
        let mut taken_over: Vec<Part> = Vec::new();
        for Stamped { at, event, .. } in told {
            if matches!(event, RunEvent::Ended { .. }) {
                // A run that was interrupted is ended when that is noticed, which may be much later.
                if run.status != RunStatus::Interrupted {
                    last = last.max(at);
                }
                continue;
            }
            began.get_or_insert(at);
            last = last.max(at);
            if steps.is_empty() {
                fold(&mut taken_over, at, &event);
            }
            take(&mut steps, at, event);
        }
        // What a service wants to see again is nothing that people read.
        taken_over.iter_mut().for_each(|part| part.carried = None);
        let began = began.unwrap_or(run.created_at);
        let mut spans = Spans { run, began, last, out: Vec::new() };
        spans.add_run(&persona_name);
        spans.share_the_rest(&mut steps);
        let count = steps.len();
        for (at, step) in steps.into_iter().enumerate() {
            spans.add_step(step, at + 1 == count);
        }
        Self {
            waited_ms: between(run.created_at, began),
            began_at: began,
            traced_ms: between(began, last),
            taken_over,
            spans: spans.out,
            summary: TraceSummary::of(run, source, persona_name),
        }
    }
}

/// Takes one more event in.
fn take(steps: &mut Vec<Step>, at: Timestamp, event: RunEvent) {
    if let RunEvent::StepStarted { step, .. } = event {
        steps.push(Step::new(step, at));
        return;
    }
    let Some(open) = steps.last_mut() else { return };
    match event {
        RunEvent::Retrying { attempt, wait_ms, reason } => {
            open.retries.push(Retry { attempt, wait_ms, reason });
        }
        RunEvent::Text { delta, .. } => {
            open.first.get_or_insert(at);
            open.text.push_str(&delta);
        }
        RunEvent::Reasoning { delta, .. } => {
            open.first.get_or_insert(at);
            open.reasoning.push_str(&delta);
        }
        RunEvent::ToolCall { call, .. } => {
            open.first.get_or_insert(at);
            open.calls.push(Call { call, at, answer: None });
        }
        RunEvent::ToolResult { result, took_ms, .. } => {
            let asked = open.calls.iter_mut().find(|known| known.call.call == result.call);
            if let Some(asked) = asked {
                asked.answer = Some(Answer { result, at, took_ms });
            }
        }
        RunEvent::StepEnded { stop, usage, cost_micros, max_tokens, .. } => {
            open.to = Some(at);
            open.stop = Some(stop);
            open.usage = usage;
            open.cost_micros = cost_micros;
            open.max_tokens = max_tokens;
        }
        RunEvent::Started { .. }
        | RunEvent::StepStarted { .. }
        | RunEvent::PartEnded { .. }
        | RunEvent::Ended { .. } => {}
    }
}

fn between(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.0 - from.0).unwrap_or_default()
}

/// The spans of a run, as they are made.
struct Spans<'run> {
    run: &'run Run,
    began: Timestamp,
    last: Timestamp,
    out: Vec<Span>,
}

impl Spans<'_> {
    /// Why the run did not come to a good end.
    fn failure(&self) -> Option<String> {
        let failed = matches!(self.run.status, RunStatus::Failed | RunStatus::Interrupted);
        self.run.error.as_ref().filter(|_| failed).map(ApiError::to_string)
    }

    fn add_run(&mut self, name: &str) {
        self.out.push(Span {
            id: RUN_SPAN.into(),
            parent_id: None,
            depth: 0,
            name: name.to_owned(),
            start_ms: 0,
            duration_ms: between(self.began, self.last),
            error: self.failure(),
            what: What::Run { status: self.run.status },
        });
    }

    /// A last step that was cut short told no account, but was paid for as far as it went: the rest is its.
    fn share_the_rest(&self, steps: &mut [Step]) {
        let Some((cut, whole)) = steps.split_last_mut().filter(|(last, _)| last.to.is_none())
        else {
            return;
        };
        if !self.run.status.is_over() {
            return;
        }
        let spent = self.run.spent;
        let known = whole.iter().fold(Usage::default(), |sum, step| sum.plus(step.usage));
        cut.usage = less(spent.usage, known);
        let costs: Option<u64> = whole.iter().map(|step| step.cost_micros).sum();
        cut.cost_micros =
            spent.cost_micros.zip(costs).map(|(whole, known)| whole.saturating_sub(known));
    }

    fn add_step(&mut self, step: Step, is_last: bool) {
        let id = format!("step-{}", step.number);
        let cut_short = step.to.is_none();
        // Without its own end it went on until something else was heard, or to the end of the run.
        let to = step.to.unwrap_or(self.last);
        self.out.push(Span {
            id: id.clone(),
            parent_id: Some(RUN_SPAN.into()),
            depth: 1,
            name: self.run.model.clone(),
            start_ms: between(self.began, step.from),
            duration_ms: between(step.from, to),
            error: self.failure().filter(|_| cut_short && is_last),
            what: What::LlmCall {
                step: step.number,
                stop: step.stop,
                usage: step.usage,
                cost_micros: step.cost_micros,
                max_tokens: step.max_tokens,
                first_token_ms: step.first.map(|first| between(step.from, first)),
                retries: step.retries,
                reasoning: step.reasoning,
                text: step.text,
                calls: step.calls.iter().map(|call| call.call.call.clone()).collect(),
            },
        });
        for call in step.calls {
            self.add_call(call, &id);
        }
    }

    fn add_call(&mut self, call: Call, parent: &str) {
        let Call { call: ToolCall { call, name, input }, at, answer } = call;
        let ended = answer.as_ref().map_or(self.last, |answer| answer.at);
        let from = match &answer {
            Some(Answer { took_ms: Some(took), at, .. }) => {
                Timestamp(at.0 - took.cast_signed()).max(self.began)
            }
            // It was told without being run, or it is not known when it was begun.
            Some(answer) if answer.result.is_error => answer.at,
            Some(_) | None => at,
        };
        let id = format!("call-{call}");
        let failed = answer.as_ref().filter(|answer| answer.result.is_error);
        let error = match (&answer, self.run.status.is_over()) {
            (None, true) => Some("It did not come to its end.".to_owned()),
            _ => failed.map(|answer| answer.result.output.clone()),
        };
        self.out.push(Span {
            id: id.clone(),
            parent_id: Some(parent.to_owned()),
            depth: 2,
            name: name.clone(),
            start_ms: between(self.began, from),
            duration_ms: between(from, ended),
            error: error.clone(),
            what: What::ToolCall {
                call: call.clone(),
                tokens: estimate(&input.to_string()) as u64,
                input,
            },
        });
        let Some(Answer { result, at, .. }) = answer else { return };
        self.out.push(Span {
            id: format!("result-{call}"),
            parent_id: Some(id),
            depth: 3,
            name,
            start_ms: between(self.began, at),
            duration_ms: 0,
            error,
            what: What::ToolResult {
                call,
                tokens: estimate(&result.output) as u64,
                output: result.output,
                change_id: result.change_id,
            },
        });
    }
}

/// What is left of a usage without another.
fn less(whole: Usage, known: Usage) -> Usage {
    let rest = |whole: Option<u64>, known: Option<u64>| {
        whole.map(|whole| whole.saturating_sub(known.unwrap_or_default()))
    };
    Usage {
        input: rest(whole.input, known.input),
        cache_read: rest(whole.cache_read, known.cache_read),
        cache_write: rest(whole.cache_write, known.cache_write),
        output: rest(whole.output, known.output),
        reasoning: rest(whole.reasoning, known.reasoning),
    }
}
