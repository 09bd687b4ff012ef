//! Does the waiting for the loop: asks the model, runs the tools, keeps what they say.

mod brief;

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, resume_unwind},
    sync::Arc,
    time::Duration,
};

pub use brief::{Brief, ChatBrief, Prepared, System, Workspace};
use futures_util::{FutureExt, StreamExt, future::BoxFuture};
use tokio::{
    sync::Semaphore,
    task::{JoinError, JoinSet},
    time::{Instant, sleep_until},
};

use super::{
    Agent,
    asking::{Asked, Asking},
    begun::Begun,
    chat_pictures::ask_for_pictures,
    desk::ToolDesk,
    live::{Added, Live},
    runs::{close, ended_row, opening},
    tool::{Effect, MAX_RESULT_BYTES},
    turn::{Finish, Input, Step, Turn},
    window,
};
use crate::{
    changes::Scope,
    domain::{
        budget::Taken,
        error::ApiError,
        event::RunEvent,
        message::{ToolCall, ToolResult},
        run::{Run, RunStatus, Spent, Usage},
    },
    providers::{Fault, ModelEvent, ProviderError},
    store::{FilePlace, StoreError, new_id, now},
};

/// How long to wait before keeping again what could not be kept.
const RETRY: Duration = Duration::from_millis(500);

/// How many pieces of an answer are taken together when they are there.
const AT_ONCE: usize = 64;

/// One run on its way.
struct Drive {
    agent: Agent,
    live: Arc<Live>,
    scope: Scope,
    run: Run,
    brief: Brief,
    turn: Turn,
    desk: Arc<ToolDesk>,
    began: Instant,
    deadline: Instant,
    first_token: Option<Duration>,
    /// What was asked before this began.
    asked: Option<Asked>,
    /// The step that is told of once it is known what has no room in its question.
    step: Option<RunEvent>,
    /// Whether the desk knows what was read in the conversation before.
    recalled: bool,
}

impl Agent {
    /// Takes a run from its beginning to its end, whatever happens on the way.
    pub(super) async fn drive(self, scope: Scope, begun: Begun) {
        let Begun { run, live, brief, guards, wait, asked, .. } = begun;
        let mut turn =
            Turn::new(guards, brief.route.model.price, || uuid::Uuid::now_v7().to_string());
        // Watchers know of the first step already.
        turn.begin();
        let began = asked.as_ref().map_or_else(Instant::now, |asked| asked.at);
        let desk = ToolDesk::new(
            self.clone(),
            scope.clone(),
            brief.persona.id.clone(),
            &run,
            brief.tier,
            live.stopped.clone(),
        );
        let files = match brief.workspace {
            Workspace::None => None,
            Workspace::Files => Some(FilePlace {
                session: run.conversation_id.clone(),
                leaf: run.message_id.clone(),
                writing: run.reply_id.clone(),
            }),
        };
        let desk = Arc::new(desk.in_context(brief.context.clone()).with_files(files));
        let mut drive = Drive {
            desk,
            deadline: began + self.shared.limits.time,
            agent: self.clone(),
            live: live.clone(),
            scope,
            run,
            brief,
            turn,
            began,
            first_token: None,
            asked,
            step: None,
            recalled: false,
        };
        let finish = match AssertUnwindSafe(drive.go(wait)).catch_unwind().await {
            Ok(finish) => finish,
            Err(_) => {
                let incident = uuid::Uuid::now_v7().simple().to_string();
                tracing::error!(incident, run = %drive.run.id, "a run broke");
                drive.tell_left_open().await;
                failed(ApiError::Internal { incident })
            }
        };
        drive.finish(finish).boxed().await;
        self.lives().remove(&live.run);
        self.shared.relay.release(&live.run);
        // What was started for this run ends with it.
        live.stopped.cancel();
        live.over.cancel();
        if drive.brief.chat.is_some() {
            let space = drive.scope.space.clone();
            self.go_on_in(space, drive.run.conversation_id.clone()).boxed().await;
        }
        if drive.brief.chat.is_some() && drive.run.status == RunStatus::Done {
            self.name_chat(&drive.scope, &drive.run).boxed().await;
        }
    }
}

/// The event that a step tells.
fn told_by(step: Step) -> Option<RunEvent> {
    match step {
        Step::Tell(event) => Some(event),
        Step::RunTools(_) | Step::AskModel | Step::Finish(_) => None,
    }
}

/// The step that begins after these events, which is told of when its question is there.
fn step_of(events: &mut Vec<RunEvent>) -> Option<RunEvent> {
    events.pop_if(|event| matches!(event, RunEvent::StepStarted { .. }))
}

/// What a call gave that ran in a task of its own, and how long it took. One that broke breaks the run.
fn ended(call: Result<Result<(ToolResult, u64), ApiError>, JoinError>) -> (Input, Option<u64>) {
    match call.map_err(JoinError::try_into_panic) {
        Ok(Ok((result, ran))) => (Input::ToolDone(result), Some(ran)),
        Ok(Err(error)) => (Input::Failed(error), None),
        Err(Ok(panic)) => resume_unwind(panic),
        // The process ends.
        Err(Err(_)) => (Input::Stopped, None),
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// What a run took so far.
fn taken((usage, micros): (Usage, Option<u64>)) -> Taken {
    let (input, output) = (usage.input.unwrap_or_default(), usage.output.unwrap_or_default());
    Taken { tokens: input.saturating_add(output), cost_micros: micros.unwrap_or_default() }
}

fn failed(error: ApiError) -> Finish {
    Finish { status: RunStatus::Failed, stop: None, error: Some(error) }
}

impl Drive {
    async fn go(&mut self, wait: Option<Arc<Semaphore>>) -> Finish {
        let _turn_in_line = match wait {
            None => None,
            Some(line) => tokio::select! {
                permit = line.acquire_owned() => {
                    match self.begin().boxed().await {
                        Ok(true) => permit.ok(),
                        // It was ended elsewhere while it stood in line.
                        Ok(false) => {
                            return Finish { status: RunStatus::Stopped, stop: None, error: None };
                        }
                        Err(error) => return failed(error),
                    }
                }
                () = self.live.stopped.cancelled() => {
                    return Finish { status: RunStatus::Stopped, stop: None, error: None };
                }
            },
        };
        let mut steps: VecDeque<Step> = [Step::AskModel].into();
        while let Some(step) = steps.pop_front() {
            match step {
                Step::Tell(event) => {
                    let mut events = vec![event];
                    while let Some(Step::Tell(_)) = steps.front() {
                        if let Some(Step::Tell(event)) = steps.pop_front() {
                            events.push(event);
                        }
                    }
                    self.step = step_of(&mut events);
                    self.tell(events).await;
                }
                Step::AskModel => steps.extend(self.ask_model().await),
                // Rare beside the waiting for words, so its room is taken only then.
                Step::RunTools(calls) => steps.extend(self.run_tools(calls).boxed().await),
                Step::Finish(finish) => return finish,
            }
        }
        failed(ApiError::Internal { incident: "the loop ended by itself".into() })
    }

    /// A run that waited in line begins.
    async fn begin(&mut self) -> Result<bool, ApiError> {
        self.began = Instant::now();
        self.deadline = self.began + self.agent.shared.limits.time;
        let mut link = self.agent.write(&self.scope).await?;
        if !link.mark_running(&self.run.id, now()).await? {
            return Ok(false);
        }
        link.commit().await?;
        let opening = opening(&self.run, now(), &[], None).into_iter().map(|one| one.event);
        let mut opening = opening.collect();
        self.step = step_of(&mut opening);
        self.tell(opening).await;
        Ok(true)
    }

    /// Keeps events and lets watchers see them.
    async fn tell(&mut self, events: Vec<RunEvent>) {
        if events.is_empty() {
            return;
        }
        let words =
            |event: &RunEvent| matches!(event, RunEvent::Text { .. } | RunEvent::Reasoning { .. });
        if self.first_token.is_none() && events.iter().any(words) {
            self.first_token = Some(self.began.elapsed());
        }
        let Added { seq, urgency, hold } = self.live.add(now(), events);
        self.agent.shared.log.call(&self.live, urgency);
        self.agent.shared.relay.call(&self.live);
        if hold {
            self.live.wait_written(seq).await;
            self.live.publish(seq);
            self.agent.shared.relay.call(&self.live);
        }
    }

    /// Lets the desk know what was read or shown before, which still stands in the conversation.
    async fn recall(&mut self) -> Result<(), ApiError> {
        if std::mem::replace(&mut self.recalled, true) {
            return Ok(());
        }
        let mut link = self.agent.read(&self.scope).await?;
        self.desk.recall(&mut link, &self.run).await
    }

    /// The answer that was asked for already, or a new one.
    async fn answer(&mut self) -> Result<Asking, ApiError> {
        match self.asked.take() {
            Some(asked) => Ok(Ok(asked)),
            None => {
                let (so_far, left) = (self.live.parts(), self.turn.left());
                let (run, brief, agent) = (&self.run, &self.brief, &self.agent);
                if !left.is_counted() {
                    let mut link = agent.read(&self.scope).await?;
                    return agent.ask_model(&mut link, run, brief, None, so_far, left).await;
                }
                // Others may have begun meanwhile: what they hold is not there any more.
                let mut link = agent.write(&self.scope).await?;
                let spent = taken(self.turn.spent());
                let left = agent.left_beside(&mut link, &self.scope, run, left, spent).await?;
                let asked = agent.ask_model(&mut link, run, brief, None, so_far, left).await?;
                if let Ok(Asked { held: Some(held), .. }) = &asked {
                    link.hold_for_run(&run.id, spent.plus(*held)).await?;
                }
                link.commit().await?;
                Ok(asked)
            }
        }
    }

    /// How much one tool may tell: at four bytes a token, half of what the model can read.
    fn result_bytes(&self) -> usize {
        let context = usize::try_from(self.brief.route.model.context).unwrap_or(usize::MAX);
        context.saturating_mul(2).min(MAX_RESULT_BYTES)
    }

    async fn ask_model(&mut self) -> Vec<Step> {
        let answer = self.answer().boxed().await;
        if let Some(mut step) = self.step.take() {
            if let (Ok(Ok(asked)), RunEvent::StepStarted { left_out, .. }) = (&answer, &mut step) {
                *left_out = asked.left_out;
            }
            self.tell(vec![step]).await;
        }
        // What is there already is taken together: it costs no wait, and one round for all of it.
        let mut answer = match answer {
            Ok(Ok(Asked { answer, reading, room, .. })) => {
                self.turn.hear_out(reading, room);
                answer.ready_chunks(AT_ONCE)
            }
            Ok(Err(bound)) => return self.turn.on(Input::NoRoom(bound)),
            Err(error) => return self.turn.on(Input::Failed(error)),
        };
        let label = self.brief.route.service.label.clone();
        let live = self.live.clone();
        let (stopped, late) = (live.stopped.cancelled(), sleep_until(self.deadline));
        tokio::pin!(stopped, late);
        loop {
            let inputs: Vec<Input> = tokio::select! {
                biased;
                () = &mut stopped => vec![Input::Stopped],
                () = &mut late => vec![Input::OutOfTime],
                events = answer.next() => match events {
                    Some(events) => events
                        .into_iter()
                        .map(|event| match event {
                            Ok(event) => Input::Model(event),
                            Err(error) => Input::Failed(error.tell(&label)),
                        })
                        .collect(),
                    None => {
                        let cut = ProviderError::new(Fault::Truncated, "the stream just ended");
                        vec![Input::Failed(cut.tell(&label))]
                    }
                },
            };
            let mut told = Vec::with_capacity(inputs.len());
            for input in inputs {
                let last = match &input {
                    Input::Stopped | Input::OutOfTime | Input::Failed(_) | Input::NoRoom(_) => true,
                    Input::Model(event) => matches!(event, ModelEvent::Stop(_)),
                    Input::ToolDone(_) => false,
                };
                let steps = self.turn.on(input);
                // An answer that passes its room is ended in the middle.
                let over = steps.iter().any(|step| matches!(step, Step::Finish(_)));
                if last || over {
                    // Dropping the stream closes the connection.
                    return told.into_iter().map(Step::Tell).chain(steps).collect();
                }
                told.extend(steps.into_iter().filter_map(told_by));
            }
            self.tell(told).await;
        }
    }

    /// Runs the calls of one answer: side by side when they only look, else one after another.
    async fn run_tools(&mut self, calls: Vec<ToolCall>) -> Vec<Step> {
        if let Err(error) = self.recall().await {
            return self.turn.on(Input::Failed(error));
        }
        let (tools, desk) = (self.brief.tools.clone(), self.desk.clone());
        let reads = calls.iter().all(|call| tools.effect(call) == Effect::Reads);
        let most = self.result_bytes();
        let running = |call: ToolCall| -> BoxFuture<'static, Result<(ToolResult, u64), ApiError>> {
            let (tools, desk) = (tools.clone(), desk.clone());
            async move {
                let began = Instant::now();
                let result = tools.run(&call, &desk, most).await?;
                Ok((result, millis(began.elapsed())))
            }
            .boxed()
        };
        let mut line: VecDeque<ToolCall> = calls.into();
        // Each goes on by itself while one of them is told of: it may hold the writer that the log waits for.
        let mut going_on = JoinSet::new();
        let at_once = if reads { line.len() } else { 1 };
        let mut interruptible = reads;
        let steps = loop {
            while going_on.len() < at_once
                && let Some(call) = line.pop_front()
            {
                interruptible = tools.effect(&call) == Effect::Reads;
                going_on.spawn(running(call));
            }
            let (input, took) = tokio::select! {
                biased;
                Some(call) = going_on.join_next() => ended(call),
                // What writes is not left half way: it is short, and comes to its end first.
                () = self.live.stopped.cancelled(), if interruptible => (Input::Stopped, None),
                () = sleep_until(self.deadline), if interruptible => (Input::OutOfTime, None),
            };
            self.turn.charge(self.desk.take_charges());
            let mut steps = self.turn.on(input);
            if let Some(Step::Tell(RunEvent::ToolResult { took_ms, .. })) = steps.first_mut() {
                *took_ms = took;
            }
            if steps.iter().any(|step| !matches!(step, Step::Tell(_))) {
                break steps;
            }
            self.tell(steps.into_iter().filter_map(told_by).collect()).await;
            if self.live.stopped.is_cancelled() {
                break self.turn.on(Input::Stopped);
            }
        };
        // Nothing of it goes on after the run.
        going_on.shutdown().await;
        steps
    }

    /// Tells of calls whose tools broke that their results are not known.
    async fn tell_left_open(&mut self) {
        let result = |result| RunEvent::ToolResult { part: new_id(), result, took_ms: None };
        let results = window::left_open(&self.live.parts()).into_iter().map(result);
        self.tell(results.collect()).await;
    }

    /// Keeps the end. What cannot be kept now is tried again: the words are not given up.
    async fn finish(&mut self, finish: Finish) {
        let finish = self.agent.ending(finish);
        let (usage, cost_micros) = self.turn.spent();
        self.run.status = finish.status;
        self.run.stop = finish.stop;
        self.run.error = finish.error;
        self.run.ended_at = Some(now());
        let spent = Spent {
            usage,
            cost_micros,
            first_token_ms: self.first_token.map(millis),
            duration_ms: millis(self.began.elapsed()),
            steps: self.turn.steps(),
        };
        self.run.spent = self.brief.prepared.before(spent);
        let ended = self.run.ended();
        let parts = self.live.parts();
        let pictured = self.agent.shared.limits.pictures && self.brief.chat.is_some();
        let (seq, rest) = self.live.seal(now(), ended, &self.agent.shared.log).await;
        let mut told = false;
        let closed = loop {
            let kept = async {
                let mut link = self.agent.shared.store.write(&self.scope.space).await?;
                let ended = ended_row(&self.scope.space, &self.run, seq);
                let last = rest.iter().cloned().chain([ended]).collect();
                let closed = close(&mut link, &self.run, spent, parts.clone(), last).await?;
                if closed && pictured {
                    ask_for_pictures(&mut link, &self.run).await?;
                }
                link.commit().await?;
                Ok::<bool, StoreError>(closed)
            };
            match kept.await {
                Ok(closed) => break closed,
                Err(error) if !told => {
                    tracing::error!(%error, run = %self.run.id, "the end of a run cannot be kept");
                    told = true;
                }
                Err(_) => {}
            }
            tokio::time::sleep(RETRY).await;
        };
        if closed {
            self.agent.collect(&self.scope.space, &self.run.id);
        } else if let Ok(ended) = self.agent.run(&self.scope, &self.run.id).await {
            let at = ended.ended_at.unwrap_or(ended.created_at);
            self.live.correct_end(seq, at, ended.ended());
            self.run = ended;
        }
        self.live.mark_ended(seq);
        self.live.publish(seq);
        self.agent.shared.relay.call(&self.live);
    }
}
