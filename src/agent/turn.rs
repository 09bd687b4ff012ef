//! The loop as a machine without I/O: what a model and the tools say goes in, what is to be done
//! comes out. Every stop reason and every guard is decided here.

use serde_json::{Map, Value};

use super::room::{Allowance, Bound, Cuts, Guards, Room, Unfit};
use crate::{
    domain::{
        budget::Taken,
        error::ApiError,
        event::RunEvent,
        id::{CallId, PartId},
        message::{ToolCall, ToolResult},
        model::Price,
        run::{RunStatus, StopReason, Usage, told_dollars},
        tokens::Tally,
    },
    providers::ModelEvent,
};

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// The model said something.
    Model(ModelEvent),
    /// The model's service failed.
    Failed(ApiError),
    /// A tool came to its end.
    ToolDone(ToolResult),
    /// A person wants it stopped.
    Stopped,
    /// The time for the run is over.
    OutOfTime,
    /// There is no room for another answer.
    NoRoom(Bound),
}

/// What the driver must do next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Keep this and tell it to the watchers.
    Tell(RunEvent),
    /// Run these tools and report each with [`Input::ToolDone`].
    RunTools(Vec<ToolCall>),
    /// Send the conversation, results included, to the model.
    AskModel,
    /// Keep the message and end.
    Finish(Finish),
}

/// How a run ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Finish {
    /// Where it stands then.
    pub status: RunStatus,
    /// Why.
    pub stop: Option<StopReason>,
    /// What people read about it, unless it simply came to its end.
    pub error: Option<ApiError>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Reasoning,
}

/// A call of the present answer.
struct Wanted {
    call: ToolCall,
    /// The input as it came, when it is no JSON object.
    broken: Option<String>,
    answered: bool,
}

/// One run of the loop.
pub struct Turn {
    guards: Guards,
    price: Option<Price>,
    ids: Box<dyn FnMut() -> String + Send + Sync>,
    step: u32,
    open: Option<(PartId, Kind)>,
    wanted: Vec<Wanted>,
    spoke: bool,
    /// Whether anything came of it at all, in whichever answer.
    said: bool,
    step_usage: Usage,
    /// About how many tokens the present question has.
    reading: u64,
    /// How long the present answer may be, when something limits it.
    room: Option<Room>,
    /// How long it is.
    heard: Tally,
    /// Whether a service has to be paid for an answer of which it did not tell the end.
    owed: bool,
    usage: Usage,
    cost_micros: Option<u64>,
    /// What runs cost that were started for this one: they keep their own accounts, but it is guarded here.
    others_micros: u64,
    last_wanted: Vec<(String, Value)>,
    repeats: u32,
}

impl Turn {
    /// A run before its first step. `ids` makes new identifiers.
    pub fn new(
        guards: Guards,
        price: Option<Price>,
        ids: impl FnMut() -> String + Send + Sync + 'static,
    ) -> Self {
        Self {
            guards,
            price,
            ids: Box::new(ids),
            step: 0,
            open: None,
            wanted: Vec::new(),
            spoke: false,
            said: false,
            step_usage: Usage::default(),
            reading: 0,
            room: None,
            heard: Tally::default(),
            owed: false,
            usage: Usage::default(),
            cost_micros: price.map(|_| 0),
            others_micros: 0,
            last_wanted: Vec::new(),
            repeats: 0,
        }
    }

    /// The tokens of all steps so far, and what they cost.
    pub fn spent(&self) -> (Usage, Option<u64>) {
        (self.usage, self.cost_micros)
    }

    /// Runs that were started for this one cost something, too.
    pub fn charge(&mut self, micros: u64) {
        self.others_micros = self.others_micros.saturating_add(micros);
    }

    /// What is left of what persons let the run take.
    pub fn left(&self) -> Allowance {
        self.guards.allowed.less(self.usage, self.cost())
    }

    /// What it cost with all that was started for it.
    fn cost(&self) -> u64 {
        self.cost_micros.unwrap_or_default().saturating_add(self.others_micros)
    }

    /// A question of about so many tokens is sent, and the answer that comes now may be this long.
    pub fn hear_out(&mut self, reading: u64, room: Option<Room>) {
        self.reading = reading;
        self.room = room;
        self.heard = Tally::default();
        self.owed = true;
    }

    /// How often the model was asked.
    pub fn steps(&self) -> u32 {
        self.step
    }

    /// The first thing to do.
    pub fn begin(&mut self) -> Vec<Step> {
        self.ask()
    }

    /// Takes in what happened and says what to do.
    pub fn on(&mut self, input: Input) -> Vec<Step> {
        match input {
            Input::Model(event) => self.on_model(event),
            Input::ToolDone(result) => self.on_tool(result),
            Input::Failed(error) => {
                // A question that is refused takes nothing.
                self.owed &= self.heard != Tally::default();
                self.end(RunStatus::Failed, None, Some(error), "The answer broke off.")
            }
            Input::Stopped => self.end(RunStatus::Stopped, None, None, "Stopped by the person."),
            Input::OutOfTime => self.end_at_limit("The run took too long and was ended."),
            Input::NoRoom(bound) => self.end_for(bound, Unfit::Next),
        }
    }

    fn on_model(&mut self, event: ModelEvent) -> Vec<Step> {
        match event {
            ModelEvent::Text(delta) => {
                self.spoke |= !delta.is_empty();
                let passed = self.hear(&delta);
                let steps = self.words(Kind::Text, delta);
                self.unless(passed, steps)
            }
            ModelEvent::Reasoning(delta) => {
                let passed = self.hear(&delta);
                let steps = self.words(Kind::Reasoning, delta);
                self.unless(passed, steps)
            }
            ModelEvent::PartEnd(carried) => match self.open.take() {
                Some((part, _)) => vec![Step::Tell(RunEvent::PartEnded { part, carried })],
                None if carried.is_some() => {
                    vec![Step::Tell(RunEvent::PartEnded { part: self.new_part(), carried })]
                }
                None => Vec::new(),
            },
            ModelEvent::ToolCall { name, input, carried } => {
                let passed = match &input {
                    Ok(input) => self.hear(&input.to_string()),
                    Err(raw) => self.hear(raw),
                };
                let mut steps = self.close();
                let (input, broken) = match input {
                    Ok(input) => (input, None),
                    Err(raw) => (Value::Object(Map::new()), Some(raw)),
                };
                let call = ToolCall { call: CallId::new((self.ids)()), name, input };
                steps.push(Step::Tell(RunEvent::ToolCall {
                    part: self.new_part(),
                    call: call.clone(),
                    carried: Some(carried),
                }));
                self.wanted.push(Wanted { call, broken, answered: false });
                self.unless(passed, steps)
            }
            ModelEvent::Usage(usage) => {
                self.step_usage = usage;
                Vec::new()
            }
            ModelEvent::Retrying { attempt, wait_ms, reason } => {
                self.step_usage = Usage::default();
                self.owed = false;
                vec![Step::Tell(RunEvent::Retrying { attempt, wait_ms, reason })]
            }
            ModelEvent::Stop(stop) => self.on_stop(stop),
        }
    }

    /// Counts what comes of an answer, and gives the room that it no longer fits in.
    fn hear(&mut self, piece: &str) -> Option<Room> {
        self.said |= !piece.is_empty();
        self.heard.add(piece);
        self.owed = true;
        let room = self.room?;
        room.is_passed(self.step_usage.output, self.heard.tokens() as u64).then_some(room)
    }

    /// These steps, and the end in the middle of an answer when it passed its room.
    fn unless(&mut self, passed: Option<Room>, mut steps: Vec<Step>) -> Vec<Step> {
        let Some(room) = passed else { return steps };
        self.guess_owed();
        steps.extend(self.close());
        steps.push(self.step_ended(StopReason::Limit));
        steps.extend(self.end_for(room.bound, Unfit::Rest));
        steps
    }

    /// What an answer took of which nobody tells the end any more: it is paid for all the same.
    fn guess_owed(&mut self) {
        if self.owed {
            let heard = self.heard.tokens() as u64;
            self.step_usage = self.step_usage.or_about(Some(self.reading), heard);
        }
    }

    fn words(&mut self, kind: Kind, delta: String) -> Vec<Step> {
        if delta.is_empty() {
            return Vec::new();
        }
        let mut steps = Vec::new();
        let part = match &self.open {
            Some((part, open)) if *open == kind => part.clone(),
            _ => {
                steps = self.close();
                let part = self.new_part();
                self.open = Some((part.clone(), kind));
                part
            }
        };
        steps.push(Step::Tell(match kind {
            Kind::Text => RunEvent::Text { part, delta },
            Kind::Reasoning => RunEvent::Reasoning { part, delta },
        }));
        steps
    }

    fn on_stop(&mut self, stop: StopReason) -> Vec<Step> {
        let mut steps = self.close();
        steps.push(self.step_ended(stop));
        let rest = match stop {
            StopReason::ToolUse if !self.wanted.is_empty() => self.run_tools(),
            StopReason::EndTurn | StopReason::StopSequence | StopReason::ToolUse => {
                let reason = "The model said nothing. Try again.";
                let error = (!self.said).then(|| ApiError::NotNow { reason: reason.into() });
                self.end(RunStatus::Done, Some(stop), error, "The model ended its turn.")
            }
            StopReason::Other => {
                let reason = "The model stopped before its end and did not say why.".into();
                let error = ApiError::NotNow { reason };
                self.end(RunStatus::Done, Some(stop), Some(error), "The answer broke off.")
            }
            StopReason::PauseTurn => self.go_on(),
            StopReason::MaxTokens
                if let Some(room) = self.room.filter(|room| room.cuts == Cuts::Early) =>
            {
                self.end_for(room.bound, Unfit::Rest)
            }
            StopReason::MaxTokens => {
                let told = if self.spoke || !self.wanted.is_empty() {
                    "The answer was cut off at its longest."
                } else {
                    "The model used all the room for its answer on thinking. Try again, or choose \
                     another model."
                };
                let error = ApiError::NotNow { reason: told.into() };
                let why = "The answer was cut off before it was whole.";
                self.end(RunStatus::Done, Some(stop), Some(error), why)
            }
            StopReason::Refusal => {
                let reason = "The model refused to answer. Ask it in other words.".into();
                let error = ApiError::NotNow { reason };
                self.end(RunStatus::Done, Some(stop), Some(error), "The model refused.")
            }
            StopReason::ContextExceeded => {
                let reason = "The conversation is longer than this model can read. Start a new one, \
                              or choose a model that reads more.";
                let error = ApiError::NotNow { reason: reason.into() };
                self.end(RunStatus::Failed, Some(stop), Some(error), "There was no room left.")
            }
            StopReason::Limit => self.end_at_limit("A limit was reached."),
        };
        steps.extend(rest);
        steps
    }

    /// The end of the present step, with what it took.
    fn step_ended(&mut self, stop: StopReason) -> Step {
        let (usage, cost_micros) = self.count();
        let narrowed = self.room.filter(|room| room.cuts == Cuts::Early);
        let max_tokens = narrowed.map(|room| room.tokens);
        Step::Tell(RunEvent::StepEnded { step: self.step, stop, usage, cost_micros, max_tokens })
    }

    /// Counts what the present step took, and its price.
    fn count(&mut self) -> (Usage, Option<u64>) {
        self.owed = false;
        let usage = std::mem::take(&mut self.step_usage);
        self.usage = self.usage.plus(usage);
        let micros = self.price.map(|price| price.micros(usage));
        if let (Some(micros), Some(cost)) = (micros, &mut self.cost_micros) {
            *cost += micros;
        }
        (usage, micros)
    }

    fn run_tools(&mut self) -> Vec<Step> {
        let asked: Vec<(String, Value)> = self
            .wanted
            .iter()
            .map(|wanted| (wanted.call.name.clone(), wanted.call.input.clone()))
            .collect();
        self.repeats = if asked == self.last_wanted { self.repeats + 1 } else { 1 };
        self.last_wanted = asked;
        if self.repeats > self.guards.repeats {
            return self.end_at_limit(
                "The model asked for the same thing over and over, so the run was ended.",
            );
        }
        // What cannot be read is answered at once; the model can say it again.
        let mut steps = Vec::new();
        let mut good = Vec::new();
        for at in 0..self.wanted.len() {
            let wanted = &mut self.wanted[at];
            match wanted.broken.take() {
                None => good.push(wanted.call.clone()),
                Some(raw) => {
                    wanted.answered = true;
                    let shown: String = raw.chars().take(200).collect();
                    let output = format!(
                        "The input was not a JSON object, so the tool was not run: {shown}"
                    );
                    let result = failed(&wanted.call, output);
                    steps.push(self.tell_result(result));
                }
            }
        }
        if good.is_empty() {
            steps.extend(self.go_on());
        } else {
            steps.push(Step::RunTools(good));
        }
        steps
    }

    fn on_tool(&mut self, result: ToolResult) -> Vec<Step> {
        let known = self.wanted.iter_mut().find(|wanted| wanted.call.call == result.call);
        match known {
            Some(wanted) if !wanted.answered => wanted.answered = true,
            _ => return Vec::new(),
        }
        let mut steps = vec![self.tell_result(result)];
        if self.wanted.iter().all(|wanted| wanted.answered) {
            steps.extend(self.go_on());
        }
        steps
    }

    /// Asks the model once more, unless a guard says that it is enough.
    fn go_on(&mut self) -> Vec<Step> {
        if self.step >= self.guards.steps {
            return self.end_at_limit(&format!(
                "The run was ended after {} steps. It can be continued.",
                self.guards.steps
            ));
        }
        if self.usage.output.is_some_and(|output| output >= self.guards.output_tokens) {
            return self.end_at_limit("The run wrote as much as it may and was ended.");
        }
        let cost = self.cost();
        if cost >= self.guards.cost_micros {
            return self.end_at_limit(&format!(
                "The run was ended: it cost {} of the {} that one run may cost.",
                told_dollars(cost),
                told_dollars(self.guards.cost_micros)
            ));
        }
        if let Some(room) = self.left().room(0, self.price).filter(|room| !room.is_enough()) {
            return self.end_for(room.bound, Unfit::Next);
        }
        self.ask()
    }

    fn ask(&mut self) -> Vec<Step> {
        self.step += 1;
        self.wanted.clear();
        self.spoke = false;
        let started = RunEvent::StepStarted { step: self.step, left_out: None };
        vec![Step::Tell(started), Step::AskModel]
    }

    /// Ends the run because something does not fit into what persons let it take.
    fn end_for(&mut self, bound: Bound, unfit: Unfit) -> Vec<Step> {
        let (input, output) = (self.usage.input, self.usage.output);
        let tokens = input.unwrap_or_default().saturating_add(output.unwrap_or_default());
        let taken = Taken { tokens, cost_micros: self.cost() };
        self.end_at_limit(&bound.told(taken, self.guards.allowed, unfit))
    }

    fn end_at_limit(&mut self, told: &str) -> Vec<Step> {
        let error = ApiError::NotNow { reason: told.into() };
        self.end(RunStatus::Done, Some(StopReason::Limit), Some(error), "The run was ended.")
    }

    /// Ends the run. No call stays without its result: those not run are told `why`.
    fn end(
        &mut self,
        status: RunStatus,
        stop: Option<StopReason>,
        error: Option<ApiError>,
        why: &str,
    ) -> Vec<Step> {
        // A step that was cut short was paid for as far as it went.
        self.guess_owed();
        self.count();
        let mut steps = self.close();
        for wanted in std::mem::take(&mut self.wanted) {
            if !wanted.answered {
                let result = failed(&wanted.call, format!("Not run. {why}"));
                steps.push(self.tell_result(result));
            }
        }
        steps.push(Step::Finish(Finish { status, stop, error }));
        steps
    }

    fn tell_result(&mut self, result: ToolResult) -> Step {
        Step::Tell(RunEvent::ToolResult { part: self.new_part(), result, took_ms: None })
    }

    fn close(&mut self) -> Vec<Step> {
        let ended = self.open.take().map(|(part, _)| RunEvent::PartEnded { part, carried: None });
        ended.map(Step::Tell).into_iter().collect()
    }

    fn new_part(&mut self) -> PartId {
        PartId::new((self.ids)())
    }
}

fn failed(call: &ToolCall, output: String) -> ToolResult {
    let (call, name) = (call.call.clone(), call.name.clone());
    ToolResult { call, name, output, is_error: true, change_id: None, sources: Vec::new() }
}

#[cfg(test)]
#[path = "turn_tests.rs"]
mod tests;
