//! Watching a run from any place in it, whether it goes on here, elsewhere, or is over.

use std::{sync::Arc, time::Duration};

use async_stream::try_stream;
use futures_util::{Stream, StreamExt, stream::BoxStream};

use super::{
    Agent,
    live::{Batch, Live},
    relay::Hearing,
};
use crate::{
    changes::Scope,
    domain::{
        error::ApiError,
        event::{RunEvent, Stamped},
        id::RunId,
    },
};

/// How many rows of the log are read at once.
const PAGE: u32 = 500;
/// How often a run that goes on in another process is looked at while all that is shared with that process
/// is the database, which calls nobody.
pub(super) const LOOK: Duration = Duration::from_millis(150);

/// What a watcher is told.
pub type Events = BoxStream<'static, Result<Arc<Stamped>, ApiError>>;

impl Agent {
    /// All that a run told after `seen`, and all that it will tell, up to its end. Whoever has seen more
    /// than was kept is told the end.
    pub async fn watch(&self, scope: &Scope, id: &RunId, seen: u64) -> Result<Events, ApiError> {
        // Whether it is this Space's to see is decided by the row, which a run that goes on here knows.
        let here = self.live(id).is_some_and(|live| live.space == scope.space);
        // What is over tells nothing more.
        let over = !here && self.run(scope, id).await?.status.is_over();
        let elsewhere = over.then(Hearing::deaf);
        Ok(events(self.clone(), scope.clone(), id.clone(), seen, elsewhere).boxed())
    }

    /// Whether a run is over and this was the last thing it told.
    pub async fn has_ended_at(
        &self,
        scope: &Scope,
        id: &RunId,
        seen: u64,
    ) -> Result<bool, ApiError> {
        let mut link = self.read(scope).await?;
        let over = link.run(id).await?.status.is_over();
        Ok(over && link.last_seq(id).await? == seen)
    }

    async fn logged(
        &self,
        scope: &Scope,
        id: &RunId,
        seen: u64,
    ) -> Result<Vec<Arc<Stamped>>, ApiError> {
        let events = self.read(scope).await?.run_events(id, seen, PAGE).await?;
        Ok(events.into_iter().map(Arc::new).collect())
    }

    /// What the log has after `seen`, or the end of a run of which it has nothing more.
    async fn look(
        &self,
        scope: &Scope,
        id: &RunId,
        seen: u64,
    ) -> Result<Vec<Arc<Stamped>>, ApiError> {
        let some = self.logged(scope, id, seen).await?;
        if !some.is_empty() {
            return Ok(some);
        }
        let run = self.run(scope, id).await?;
        if !run.status.is_over() || self.live(id).is_some() {
            return Ok(Vec::new());
        }
        // It may have told the rest and its end between the two looks.
        let rest = self.logged(scope, id, seen).await?;
        if !rest.is_empty() {
            return Ok(rest);
        }
        // With the number it has, so that whoever comes back knows that this was the end.
        let seq = self.read(scope).await?.last_seq(id).await?;
        let at = run.ended_at.unwrap_or(run.created_at);
        Ok(vec![Arc::new(Stamped { seq, at, event: run.ended() })])
    }

    /// What comes after `seen` in a run that goes on here; waits until there is something.
    async fn following(
        &self,
        live: &Live,
        scope: &Scope,
        seen: u64,
    ) -> Result<Vec<Arc<Stamped>>, ApiError> {
        let mut news = live.watch();
        loop {
            match live.after(seen) {
                Batch::Events(events) if events.is_empty() => {
                    // The sender lives as long as the run, which we hold.
                    drop(news.changed().await);
                    // Where much is said at once, others go first, and what they say goes along.
                    tokio::task::yield_now().await;
                }
                Batch::Events(events) => return Ok(events),
                Batch::Behind => return self.logged(scope, &live.run, seen).await,
            }
        }
    }
}

fn events(
    agent: Agent,
    scope: Scope,
    id: RunId,
    mut seen: u64,
    mut elsewhere: Option<Hearing>,
) -> impl Stream<Item = Result<Arc<Stamped>, ApiError>> + Send + 'static {
    try_stream! {
        let mut log_is_read = false;
        loop {
            let live = agent.live(&id);
            let mut some = match (&live, &mut elsewhere) {
                (Some(live), _) => agent.following(live, &scope, seen).await?,
                (None, Some(hearing)) if log_is_read => hearing.next(seen).await,
                (None, Some(_)) => Vec::new(),
                // It is listened to before the log is read, so that nothing falls between.
                (None, None) => {
                    elsewhere = Some(agent.shared.relay.follow(&id).await);
                    Vec::new()
                }
            };
            if some.is_empty() {
                some = agent.look(&scope, &id, seen).await?;
                log_is_read = some.is_empty();
                if log_is_read && live.is_some() {
                    tokio::time::sleep(LOOK).await;
                }
            }
            for one in some {
                seen = one.seq;
                let over = matches!(one.event, RunEvent::Ended { .. });
                yield one;
                if over {
                    return;
                }
            }
        }
    }
}
