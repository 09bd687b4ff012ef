//! Runs whose process is gone: how they are found, and how they end.

use std::time::Duration;

use super::{
    Agent,
    chat_pictures::ask_for_pictures,
    runs::{close, ended_row},
};
use crate::{
    domain::{
        error::ApiError,
        event::{RunEvent, Stamped, fold},
        run::RunStatus,
        timestamp::Timestamp,
    },
    store::{OwnedRun, now},
};

/// How often this process says which runs go on in it, and looks whether it should stop one.
const HEARTBEAT: Duration = Duration::from_secs(1);
/// After how much silence a run is taken to be left by its process.
const SILENCE_MS: i64 = 30_000;

impl Agent {
    /// Ends the runs whose process is gone: their words stay, and they can be repeated. Called when this
    /// process starts.
    pub async fn recover(&self) -> Result<usize, ApiError> {
        let before = if self.shared.store.is_shared() {
            now().0 - SILENCE_MS
        } else {
            // A database that is a file is this process's alone, and nothing goes on in it yet.
            self.shared.store.replay_journal().await?;
            i64::MAX
        };
        self.recover_left(&self.shared.node, Timestamp(before)).await
    }

    async fn recover_left(&self, node: &str, before: Timestamp) -> Result<usize, ApiError> {
        let mut recovered = 0;
        for left in self.shared.store.left_runs(node, before).await? {
            // What goes on here is not left.
            if self.live(&left.run.id).is_none() {
                recovered += usize::from(self.interrupt(left).await?);
            }
        }
        if recovered > 0 {
            tracing::info!(recovered, "runs were interrupted and can be repeated");
        }
        self.resume_lines().await?;
        Ok(recovered)
    }

    /// Ends a run that nobody drives any more. `false` when it had ended.
    pub(super) async fn interrupt(&self, left: OwnedRun) -> Result<bool, ApiError> {
        let OwnedRun { space, mut run } = left;
        let mut link = self.shared.store.write(&space).await?;
        let route = self.catalog_on(&mut link, &space).await?.find(&run.model);
        let price = route.ok().and_then(|route| route.model.price);
        run.spent.cost_micros = price.map(|_| 0);
        let (mut parts, mut seen, mut last) = (Vec::new(), 0, run.created_at);
        loop {
            let events = link.run_events(&run.id, seen, 1000).await?;
            if events.is_empty() {
                break;
            }
            for Stamped { seq, at, event } in &events {
                (seen, last) = (*seq, *at);
                fold(&mut parts, *at, event);
                if let RunEvent::StepStarted { step } = event {
                    run.spent.steps = *step;
                }
                if let RunEvent::StepEnded { usage, .. } = event {
                    run.spent.usage = run.spent.usage.plus(*usage);
                    // Each step has its price: a long request may cost more.
                    if let (Some(price), Some(cost)) = (price, &mut run.spent.cost_micros) {
                        *cost += price.micros(*usage);
                    }
                }
            }
        }
        run.status = RunStatus::Interrupted;
        let reason = "The server was restarted while this was being answered. What was said is kept; \
                      ask again.";
        run.error = Some(ApiError::NotNow { reason: reason.into() });
        run.spent.duration_ms = (last.0 - run.created_at.0).max(0).cast_unsigned();
        run.ended_at = Some(now());
        let last = vec![ended_row(&space, &run, seen + 1)];
        let ended = close(&mut link, &run, parts, last).await?;
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
        // Nobody else looks at a database that is a file.
        if !self.shared.store.is_shared() {
            return;
        }
        let mut round = tokio::time::interval(HEARTBEAT);
        // Others are judged by their silence only after this process was heard for as long: when the
        // database comes back from being away, everybody seems silent.
        let mut heard_since = None;
        loop {
            round.tick().await;
            match self.shared.store.keep_alive(&self.shared.node, now()).await {
                Ok(asked) => {
                    for run in asked {
                        if let Some(live) = self.live(&run) {
                            live.stopped.cancel();
                        }
                    }
                }
                Err(error) => {
                    tracing::debug!(%error, "the heartbeat was missed");
                    heard_since = None;
                    continue;
                }
            }
            let since = *heard_since.get_or_insert_with(now);
            if now().0 - since.0 > SILENCE_MS {
                let left = self.recover_left("", Timestamp(now().0 - SILENCE_MS)).await;
                if let Err(error) = left {
                    tracing::debug!(%error, "left runs could not be looked for");
                }
            }
        }
    }
}
