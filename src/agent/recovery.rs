//! Runs whose process is gone: how they are found, and how they end.

use std::time::Duration;

use super::{
    Agent,
    chat_pictures::ask_for_pictures,
    runs::{close, ended_row},
    window,
};
use crate::{
    changes::Scope,
    domain::{
        error::ApiError,
        event::{RunEvent, Stamped, fold},
        id::{RunId, SpaceId},
        run::{Run, RunStatus, Usage},
        timestamp::Timestamp,
        tokens::Tally,
    },
    store::{EventRow, new_id, now},
};

/// How often this process says at least which runs go on in it, and looks whether it should stop one.
const HEARTBEAT: Duration = Duration::from_secs(1);

impl Agent {
    /// Ends the runs whose process is gone: their words stay, and they can be repeated. Called when this
    /// process starts.
    pub async fn recover(&self) -> Result<usize, ApiError> {
        let recovered = self.end_left().await?;
        self.resume_lines().await?;
        Ok(recovered)
    }

    /// The same for a process that goes soon: nothing that waits is begun in it.
    pub async fn end_left(&self) -> Result<usize, ApiError> {
        let before = if self.shared.store.is_shared() {
            now().0 - self.silence_ms()
        } else {
            let company = self.shared.store.company();
            // Only a server writes to the journal, and it may be there.
            if company.iter().all(|one| one.address.is_none()) {
                self.shared.store.replay_journal().await?;
            }
            // In a file nobody says when a run was last alive: whose process is there goes on.
            i64::MAX
        };
        self.recover_left(&self.shared.node, Timestamp(before)).await
    }

    async fn recover_left(&self, node: &str, before: Timestamp) -> Result<usize, ApiError> {
        let mut recovered = 0;
        let company = self.shared.store.company();
        for left in self.shared.store.left_runs(node, before).await? {
            // What goes on here, or beside us in the same file, is not left.
            let beside = company.iter().any(|one| one.node == left.node);
            if self.live(&left.run.id).is_none() && !beside {
                recovered += usize::from(self.interrupt(left.space, left.run).await?);
            }
        }
        if recovered > 0 {
            tracing::info!(recovered, "runs were interrupted and can be repeated");
        }
        Ok(recovered)
    }

    /// Ends a run that nobody drives any more. `false` when it had ended.
    pub(super) async fn interrupt(&self, space: SpaceId, mut run: Run) -> Result<bool, ApiError> {
        let mut link = self.shared.store.write(&space).await?;
        // Its process may only have slept: what it writes from now on is refused.
        if !link.hold_run(&run.id).await? {
            return Ok(false);
        }
        let route = self.catalog_on(&mut link, &space).await?.find(&run.model);
        let price = route.ok().and_then(|route| route.model.price);
        run.spent.cost_micros = price.map(|_| 0);
        let count = |run: &mut Run, usage: Usage| {
            run.spent.usage = run.spent.usage.plus(usage);
            // Each step has its price: a long request may cost more.
            if let (Some(price), Some(cost)) = (price, &mut run.spent.cost_micros) {
                *cost += price.micros(usage);
            }
        };
        let (mut parts, mut seen, mut last) = (Vec::new(), 0, run.created_at);
        // The step whose end was not told: after how many parts it began, and what came of it.
        let mut open: Option<(usize, Tally)> = None;
        loop {
            let events = link.run_events(&run.id, seen, 1000).await?;
            if events.is_empty() {
                break;
            }
            for Stamped { seq, at, event } in &events {
                (seen, last) = (*seq, *at);
                match event {
                    RunEvent::StepStarted { step, .. } => {
                        run.spent.steps = *step;
                        open = Some((parts.len(), Tally::default()));
                    }
                    RunEvent::Text { delta, .. } | RunEvent::Reasoning { delta, .. } => {
                        open.iter_mut().for_each(|(_, heard)| heard.add(delta));
                    }
                    RunEvent::ToolCall { call, .. } => {
                        let input = call.input.to_string();
                        open.iter_mut().for_each(|(_, heard)| heard.add(&input));
                    }
                    RunEvent::StepEnded { usage, .. } => {
                        count(&mut run, *usage);
                        open = None;
                    }
                    RunEvent::Started { .. }
                    | RunEvent::Retrying { .. }
                    | RunEvent::PartEnded { .. }
                    | RunEvent::ToolResult { .. }
                    | RunEvent::Ended { .. } => {}
                }
                fold(&mut parts, *at, event);
            }
        }
        // Whether a question was refused before the first word is not known: without one, nothing is counted.
        if let Some((before, heard)) = open.filter(|(_, heard)| *heard != Tally::default()) {
            let read = match self.sent_in(&mut link, run.clone()).await {
                Ok(sent) => {
                    let done = run.reply(parts[..before].to_vec());
                    Some(sent.tokens + window::tokens(&done))
                }
                Err(ApiError::NotFound { .. }) => None,
                Err(error) => return Err(error),
            };
            count(&mut run, Usage::default().or_about(read, heard.tokens() as u64));
        }
        run.status = RunStatus::Interrupted;
        let reason = "The server was restarted while this was being answered. What was said is kept; \
                      ask again.";
        run.error = Some(ApiError::NotNow { reason: reason.into() });
        run.spent.duration_ms = (last.0 - run.created_at.0).max(0).cast_unsigned();
        run.ended_at = Some(now());
        let mut rest = Vec::new();
        for result in window::left_open(&parts) {
            let event = RunEvent::ToolResult { part: new_id(), result, took_ms: None };
            fold(&mut parts, last, &event);
            seen += 1;
            rest.push(EventRow {
                space: space.clone(),
                run: run.id.clone(),
                seq: seen,
                lengths: Vec::new(),
                event,
                at: last,
            });
        }
        rest.push(ended_row(&space, &run, seen + 1));
        let ended = close(&mut link, &run, run.spent, parts, rest).await?;
        // Others may have waited for this one.
        if ended && self.shared.limits.pictures {
            ask_for_pictures(&mut link, &run).await?;
        }
        link.commit().await?;
        if ended {
            self.collect(&space, &run.id);
        }
        Ok(ended)
    }

    /// Says that this process is there, and looks after runs whose process is not. Goes on for ever.
    pub async fn keep_alive(self) {
        let mut round = tokio::time::interval(HEARTBEAT.min(self.shared.limits.silence / 4));
        // In a file others see that we are there; all they can do is ask us to stop something.
        while !self.shared.store.is_shared() {
            round.tick().await;
            if self.lives().is_empty() {
                continue;
            }
            match self.shared.store.asked_to_stop(&self.shared.node).await {
                Ok(asked) => self.stop_asked(asked),
                Err(error) => tracing::debug!(%error, "whether to stop cannot be told"),
            }
        }
        // Others are judged by their silence only after this process was heard for as long: when the
        // database comes back from being away, everybody seems silent.
        let mut heard_since = None;
        loop {
            round.tick().await;
            match self.shared.store.keep_alive(&self.shared.node, now()).await {
                Ok(asked) => self.stop_asked(asked),
                Err(error) => {
                    tracing::debug!(%error, "the heartbeat was missed");
                    heard_since = None;
                    continue;
                }
            }
            if let Err(error) = self.stop_ended().await {
                tracing::debug!(%error, "whether runs ended elsewhere cannot be told");
            }
            let since = *heard_since.get_or_insert_with(now);
            if now().0 - since.0 > self.silence_ms() {
                let left = self.recover_left("", Timestamp(now().0 - self.silence_ms())).await;
                let resumed = match left {
                    Ok(_) => self.resume_lines().await,
                    Err(error) => Err(error),
                };
                if let Err(error) = resumed {
                    tracing::debug!(%error, "left runs could not be looked for");
                }
            }
        }
    }

    /// Whether the process of a run is there, beside this one in the same file.
    pub(super) async fn goes_on_beside(&self, scope: &Scope, id: &RunId) -> Result<bool, ApiError> {
        let node = self.read(scope).await?.node_of(id).await?;
        Ok(self.shared.store.company().iter().any(|one| one.node == node))
    }

    /// After how much silence a run is taken to be left by its process.
    fn silence_ms(&self) -> i64 {
        i64::try_from(self.shared.limits.silence.as_millis()).unwrap_or(i64::MAX)
    }

    /// Stops what goes on here though another process has ended it: this one was not heard for too long.
    async fn stop_ended(&self) -> Result<(), ApiError> {
        let runs: Vec<RunId> = self.lives().keys().cloned().collect();
        if !runs.is_empty() {
            self.stop_asked(self.shared.store.ended_among(&runs).await?);
        }
        Ok(())
    }

    fn stop_asked(&self, asked: Vec<RunId>) {
        for live in asked.iter().filter_map(|run| self.live(run)) {
            live.stopped.cancel();
        }
    }
}
