//! The line to Redis: one connection speaks, one listens. When either is lost, both are made anew.

use std::{convert::Infallible, future::Future, sync::Arc, time::Duration};

use futures_util::StreamExt;
use redis::{
    AsyncConnectionConfig, Msg, Pipeline, RedisError,
    aio::{MultiplexedConnection, PubSub, PubSubSink},
};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use super::{Exchange, Outbox, RUN_CHANNEL, Relayed, STOP_CHANNEL, channel};
use crate::domain::{event::Stamped, id::RunId};

/// How long to wait for a connection, or for an answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long to wait before trying again.
const RETRY: Duration = Duration::from_millis(500);
/// How often locks are renewed, and a line is tried on which nothing is said.
const BEAT: Duration = Duration::from_secs(5);
/// After how long a lock that is not renewed is gone.
const LOCK_MS: u64 = 20_000;

/// Takes a lock that is free, and renews one's own.
const KEEP: &str = "if redis.call('get', KEYS[1]) == ARGV[1] then
    return redis.call('pexpire', KEYS[1], ARGV[2])
end
return redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])";
/// Gives one's own lock back, and nobody else's.
const RELEASE: &str = "if redis.call('get', KEYS[1]) == ARGV[1] then
    return redis.call('del', KEYS[1])
end
return 0";

/// Why the line ended.
#[derive(Debug, thiserror::Error)]
enum Lost {
    #[error("{0}")]
    Refused(#[from] RedisError),
    #[error("it does not answer")]
    Silent,
    #[error("the connection was closed")]
    Closed,
}

/// Waits for an answer, but not for ever.
async fn answer<T>(asked: impl Future<Output = Result<T, RedisError>>) -> Result<T, Lost> {
    Ok(timeout(PATIENCE, asked).await.map_err(|_| Lost::Silent)??)
}

impl Exchange {
    /// Keeps the line to Redis. Goes on for ever.
    pub(super) async fn keep_line(self: Arc<Self>, stop: impl Fn(RunId) + Send + Sync + 'static) {
        let mut told_away = false;
        loop {
            let Err(lost) = self.one_line(&stop, &mut told_away).await;
            self.hang_up();
            if !told_away {
                // The error is what Redis or the system says; the address is not in it.
                tracing::warn!(%lost, "Redis is away: runs elsewhere are followed by their logs");
                told_away = true;
            }
            sleep(RETRY).await;
        }
    }

    async fn one_line(
        &self,
        stop: &(impl Fn(RunId) + Send + Sync),
        told_away: &mut bool,
    ) -> Result<Infallible, Lost> {
        let settings = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(PATIENCE))
            .set_response_timeout(Some(PATIENCE));
        let line = self.client.get_multiplexed_async_connection_with_config(&settings);
        let (line, ear) = (answer(line).await?, answer(self.client.get_async_pubsub()).await?);
        tokio::select! {
            lost = self.speak(line, told_away) => lost,
            lost = self.listen(ear, stop) => lost,
        }
    }

    /// Nobody is told or heard any more. Whoever has something to tell finds the log.
    fn hang_up(&self) {
        let mut out = self.out();
        let unsaid = std::mem::take(&mut *out);
        // The locks are needed when Redis comes back; the rest is too late then.
        out.locks = unsaid.locks;
        drop(out);
        for live in unsaid.lives {
            Relayed::leave_line(&live);
        }
        for listeners in self.followed().runs.values() {
            listeners.heard.send_replace(false);
        }
    }

    /// Says what waits, together, as it comes.
    async fn speak(
        &self,
        mut line: MultiplexedConnection,
        told_away: &mut bool,
    ) -> Result<Infallible, Lost> {
        let mut beat = interval(BEAT);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let mut words = redis::pipe();
            tokio::select! {
                // The first beat comes at once, and shows that the line is good.
                _ = beat.tick() => {
                    words.cmd("PING").ignore();
                    for (run, key) in &self.out().locks {
                        keep(&mut words, run, key);
                    }
                }
                () = self.waiting.notified() => {}
            }
            self.put_into_words(&mut words);
            if words.is_empty() {
                continue;
            }
            answer(words.exec_async(&mut line)).await?;
            if self.open_line(&line) {
                if std::mem::take(told_away) {
                    tracing::info!("Redis is back");
                } else {
                    tracing::info!("runs are told to other processes through Redis");
                }
            }
        }
    }

    /// Lets others use the line. `false` when they could already.
    fn open_line(&self, line: &MultiplexedConnection) -> bool {
        let mut out = self.out();
        let first = out.line.is_none();
        if first {
            out.line = Some(line.clone());
        }
        first
    }

    /// Takes what waits to go out.
    fn put_into_words(&self, words: &mut Pipeline) {
        let mut out = self.out();
        let Outbox { lives, begun, ended, stops, locks, .. } = &mut *out;
        for run in begun.drain(..) {
            // It may be over already.
            if let Some(key) = locks.get(&run) {
                keep(words, &run, key);
            }
        }
        for (run, key) in ended.drain(..) {
            words.cmd("EVAL").arg(RELEASE).arg(1).arg(key).arg(run.as_str()).ignore();
        }
        for run in stops.drain(..) {
            words.cmd("PUBLISH").arg(STOP_CHANNEL).arg(run.as_str()).ignore();
        }
        let lives = std::mem::take(lives);
        drop(out);
        for live in lives {
            let events = Relayed::take(&live);
            let events: Vec<&Stamped> = events.iter().map(AsRef::as_ref).collect();
            if !events.is_empty()
                && let Ok(told) = serde_json::to_string(&events)
            {
                words.cmd("PUBLISH").arg(channel(&live.run)).arg(told).ignore();
            }
        }
    }

    /// Hears what others tell.
    async fn listen(
        &self,
        ear: PubSub,
        stop: &(impl Fn(RunId) + Send + Sync),
    ) -> Result<Infallible, Lost> {
        let (mut ear, mut heard) = ear.split();
        answer(ear.subscribe(STOP_CHANNEL)).await?;
        {
            let mut followed = self.followed();
            followed.turned = followed.runs.keys().cloned().collect();
        }
        self.turned.notify_one();
        let mut beat = interval(BEAT);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = self.turned.notified() => self.turn_to(&mut ear).await?,
                _ = beat.tick() => drop(answer(ear.ping::<redis::Value>()).await?),
                told = heard.next() => match told {
                    Some(told) => self.pass_on(&told, stop),
                    None => return Err(Lost::Closed),
                },
            }
        }
    }

    /// Listens to the runs that are followed now, and no longer to those that are not.
    async fn turn_to(&self, ear: &mut PubSubSink) -> Result<(), Lost> {
        let turned = std::mem::take(&mut self.followed().turned);
        let (come, gone): (Vec<_>, Vec<_>) =
            turned.into_iter().partition(|run| self.followed().runs.contains_key(run));
        // Without a name, all would be left.
        if !gone.is_empty() {
            answer(ear.unsubscribe(gone.iter().map(channel).collect::<Vec<_>>())).await?;
        }
        if !come.is_empty() {
            answer(ear.subscribe(come.iter().map(channel).collect::<Vec<_>>())).await?;
        }
        let followed = self.followed();
        for listeners in come.iter().filter_map(|run| followed.runs.get(run)) {
            listeners.heard.send_replace(true);
        }
        Ok(())
    }

    fn pass_on(&self, told: &Msg, stop: &(impl Fn(RunId) + Send + Sync)) {
        let channel = told.get_channel_name();
        if channel == STOP_CHANNEL {
            if let Ok(run) = told.get_payload::<String>() {
                stop(RunId::new(run));
            }
            return;
        }
        let Some(run) = channel.strip_prefix(RUN_CHANNEL) else { return };
        // What cannot be read here is missed, and the log fills the gap.
        let Ok(events) = serde_json::from_slice::<Vec<Stamped>>(told.get_payload_bytes()) else {
            return;
        };
        if let Some(listeners) = self.followed().runs.get(&RunId::new(run)) {
            // Those who were there may have left.
            drop(listeners.told.send(events.into_iter().map(Arc::new).collect()));
        }
    }
}

fn keep(words: &mut Pipeline, run: &RunId, key: &str) {
    words.cmd("EVAL").arg(KEEP).arg(1).arg(key).arg(run.as_str()).arg(LOCK_MS).ignore();
}
