//! Does the waiting for the loop: asks the model, runs the tools, keeps what they say.

use std::{
    collections::VecDeque,
    panic::AssertUnwindSafe,
    sync::{Arc, PoisonError},
    time::Duration,
};

use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use tokio::{
    sync::Semaphore,
    time::{Instant, sleep_until},
};

use super::{
    Agent,
    desk::ToolDesk,
    live::{Live, Urgency},
    runs::{close, opening},
    tool::{Effect, Registry},
    turn::{Finish, Input, Step, Turn},
    window,
};
use crate::{
    changes::Scope,
    domain::{
        error::ApiError,
        event::RunEvent,
        message::{Message, Role, ToolCall, ToolResult},
        persona::Persona,
        run::{Run, RunStatus, Spent},
        tokens::estimate,
    },
    providers::{Ask, Fault, ModelEvent, ProviderError, Route, Thoughts, ToolSpec},
    store::now,
};

/// How long to wait before keeping again what could not be kept.
const RETRY: Duration = Duration::from_millis(500);

/// Who speaks in a run, and with what.
pub struct Brief {
    /// The persona that speaks or is worked on, as it was when the run was asked for.
    pub persona: Persona,
    /// The model.
    pub route: Route,
    /// What it is told before all else.
    pub system: String,
    /// What it may use.
    pub tools: Registry,
}

/// One run on its way.
struct Drive {
    agent: Agent,
    live: Arc<Live>,
    scope: Scope,
    run: Run,
    brief: Brief,
    turn: Turn,
    branch: Vec<Message>,
    specs: Vec<ToolSpec>,
    desk: Arc<ToolDesk>,
    began: Instant,
    deadline: Instant,
    first_token: Option<Duration>,
}

impl Agent {
    /// Takes a run from its beginning to its end, whatever happens on the way.
    pub(super) async fn drive(
        self,
        live: Arc<Live>,
        scope: Scope,
        run: Run,
        brief: Brief,
        wait: Option<Arc<Semaphore>>,
    ) {
        let mut turn = Turn::new(self.shared.limits.guards, brief.route.model.price, || {
            uuid::Uuid::now_v7().to_string()
        });
        // Watchers know of the first step already.
        turn.begin();
        let began = Instant::now();
        let desk = Arc::new(ToolDesk::new(
            self.clone(),
            scope.clone(),
            brief.persona.id.clone(),
            run.id.clone(),
            brief.persona.fields.tier,
            live.stopped.clone(),
        ));
        let mut drive = Drive {
            desk,
            deadline: began + self.shared.limits.time,
            agent: self.clone(),
            live: live.clone(),
            scope,
            specs: brief.tools.specs(),
            run,
            brief,
            turn,
            branch: Vec::new(),
            began,
            first_token: None,
        };
        let finish = match AssertUnwindSafe(drive.go(wait)).catch_unwind().await {
            Ok(finish) => finish,
            Err(_) => {
                let incident = uuid::Uuid::now_v7().simple().to_string();
                tracing::error!(incident, run = %drive.run.id, "a run broke");
                failed(ApiError::Internal { incident })
            }
        };
        drive.finish(finish).await;
        let lives = &self.shared.lives;
        lives.lock().unwrap_or_else(PoisonError::into_inner).remove(&live.run);
        live.over.cancel();
    }
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
                    if let Err(error) = self.begin().await {
                        return failed(error);
                    }
                    permit.ok()
                }
                () = self.live.stopped.cancelled() => {
                    return Finish { status: RunStatus::Stopped, stop: None, error: None };
                }
            },
        };
        match self.read_branch().await {
            Ok(branch) => self.branch = branch,
            Err(error) => return failed(error),
        }
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
                    self.tell(events).await;
                }
                Step::AskModel => steps.extend(self.ask_model().await),
                Step::RunTools(calls) => steps.extend(self.run_tools(calls).await),
                Step::Finish(finish) => return finish,
            }
        }
        failed(ApiError::Internal { incident: "the loop ended by itself".into() })
    }

    /// A run that waited in line begins.
    async fn begin(&mut self) -> Result<(), ApiError> {
        self.began = Instant::now();
        self.deadline = self.began + self.agent.shared.limits.time;
        let mut link = self.agent.write(&self.scope).await?;
        link.mark_running(&self.run.id, now()).await?;
        link.commit().await?;
        let opening = opening(&self.run, now()).into_iter().map(|one| one.event).collect();
        self.tell(opening).await;
        Ok(())
    }

    async fn read_branch(&self) -> Result<Vec<Message>, ApiError> {
        Ok(self.agent.read(&self.scope).await?.branch(&self.run.message_id).await?)
    }

    /// Keeps events and lets watchers see them.
    async fn tell(&mut self, events: Vec<RunEvent>) {
        let mut wait_for = None;
        for event in events {
            let words = matches!(event, RunEvent::Text { .. } | RunEvent::Reasoning { .. });
            if words && self.first_token.is_none() {
                self.first_token = Some(self.began.elapsed());
            }
            let (seq, urgency) = self.live.add(now(), event);
            wait_for = if words { None } else { Some(seq) };
            // The last one calls for all.
            if words || urgency != Urgency::Now {
                self.agent.shared.log.call(&self.live, urgency);
            }
        }
        if let Some(seq) = wait_for {
            self.agent.shared.log.call(&self.live, Urgency::Now);
            self.live.wait_written(seq).await;
            self.live.publish(seq);
        }
    }

    /// What the model is sent: the branch, and what this run has said and done so far.
    fn window(&self) -> Vec<crate::domain::message::Turn> {
        let model = &self.brief.route.model;
        let parts = self.live.parts();
        let mut branch = self.branch.clone();
        if !parts.is_empty() {
            branch.push(Message {
                id: self.run.reply_id.clone(),
                parent_id: Some(self.run.message_id.clone()),
                role: Role::Assistant,
                parts,
                run_id: Some(self.run.id.clone()),
                model: self.run.model.clone(),
                stop: None,
                spent: Spent::default(),
                created_at: self.run.created_at,
            });
        }
        let reserved = estimate(&self.brief.system) as u64 + self.answer_tokens();
        window::fit(&branch, model.context, reserved)
    }

    fn answer_tokens(&self) -> u64 {
        self.brief.route.model.max_output.min(self.agent.shared.limits.answer_tokens)
    }

    async fn ask_model(&mut self) -> Vec<Step> {
        let turns = self.window();
        let route = &self.brief.route;
        let ask = Ask {
            service: &route.service.service,
            model: &route.model.name,
            system: &self.brief.system,
            turns: &turns,
            tools: if route.model.tools { &self.specs } else { &[] },
            max_tokens: self.answer_tokens(),
            thoughts: Thoughts::AsIs,
            quirks: route.quirks,
        };
        let mut answer = self.agent.shared.providers.ask(route, &ask);
        let label = route.service.label.clone();
        let live = self.live.clone();
        let (stopped, late) = (live.stopped.cancelled(), sleep_until(self.deadline));
        tokio::pin!(stopped, late);
        loop {
            let input = tokio::select! {
                biased;
                () = &mut stopped => Input::Stopped,
                () = &mut late => Input::OutOfTime,
                event = answer.next() => match event {
                    Some(Ok(event)) => Input::Model(event),
                    Some(Err(error)) => Input::Failed(error.tell(&label)),
                    None => {
                        let cut = ProviderError::new(Fault::Truncated, "the stream just ended");
                        Input::Failed(cut.tell(&label))
                    }
                },
            };
            let last = matches!(
                input,
                Input::Stopped
                    | Input::OutOfTime
                    | Input::Failed(_)
                    | Input::Model(ModelEvent::Stop(_))
            );
            let steps = self.turn.on(input);
            if last {
                // Dropping the stream closes the connection.
                return steps;
            }
            let told = steps.into_iter().filter_map(|step| match step {
                Step::Tell(event) => Some(event),
                Step::RunTools(_) | Step::AskModel | Step::Finish(_) => None,
            });
            self.tell(told.collect()).await;
        }
    }

    /// Runs the calls of one answer: side by side when they only look, else one after another.
    async fn run_tools(&mut self, calls: Vec<ToolCall>) -> Vec<Step> {
        let (tools, desk) = (self.brief.tools.clone(), self.desk.clone());
        let reads = calls.iter().all(|call| tools.effect(call) == Effect::Reads);
        let running = |call: ToolCall| -> BoxFuture<'static, Result<ToolResult, ApiError>> {
            let (tools, desk) = (tools.clone(), desk.clone());
            async move { tools.run(&call, &desk).await }.boxed()
        };
        let mut line: VecDeque<ToolCall> = calls.into();
        let mut going_on = FuturesUnordered::new();
        let at_once = if reads { line.len() } else { 1 };
        loop {
            while going_on.len() < at_once
                && let Some(call) = line.pop_front()
            {
                going_on.push(running(call));
            }
            let input = tokio::select! {
                biased;
                Some(result) = going_on.next() => match result {
                    Ok(result) => Input::ToolDone(result),
                    Err(error) => Input::Failed(error),
                },
                // What writes is not left half way: it is short, and comes to its end first.
                () = self.live.stopped.cancelled(), if reads => Input::Stopped,
                () = sleep_until(self.deadline), if reads => Input::OutOfTime,
            };
            let steps = self.turn.on(input);
            if steps.iter().any(|step| !matches!(step, Step::Tell(_))) {
                return steps;
            }
            let told = steps.into_iter().filter_map(|step| match step {
                Step::Tell(event) => Some(event),
                Step::RunTools(_) | Step::AskModel | Step::Finish(_) => None,
            });
            self.tell(told.collect()).await;
            if self.live.stopped.is_cancelled() {
                return self.turn.on(Input::Stopped);
            }
        }
    }

    /// Keeps the end. What cannot be kept now is tried again: the words are not given up.
    async fn finish(&mut self, finish: Finish) {
        let (usage, cost_micros) = self.turn.spent();
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.run.status = finish.status;
        self.run.stop = finish.stop;
        self.run.error = finish.error;
        self.run.ended_at = Some(now());
        self.run.spent = Spent {
            usage,
            cost_micros,
            first_token_ms: self.first_token.map(millis),
            duration_ms: millis(self.began.elapsed()),
            steps: self.turn.steps(),
        };
        let ended = RunEvent::Ended {
            status: self.run.status,
            stop: self.run.stop,
            error: self.run.error.clone(),
            spent: self.run.spent,
        };
        let parts = self.live.parts();
        let seq = self.live.seal(now(), ended, &self.agent.shared.log).await;
        let mut told = false;
        loop {
            let kept = async {
                let mut link = self.agent.shared.store.write(&self.scope.space).await?;
                close(&mut link, &self.scope.space, &self.run, parts.clone(), seq).await?;
                link.commit().await
            };
            match kept.await {
                Ok(()) => break,
                Err(error) if !told => {
                    tracing::error!(%error, run = %self.run.id, "the end of a run cannot be kept");
                    told = true;
                }
                Err(_) => {}
            }
            tokio::time::sleep(RETRY).await;
        }
        self.live.mark_written(seq);
        self.live.publish(seq);
    }
}
