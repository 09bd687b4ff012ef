//! Work that is done while nobody waits: it may be late, fail and be tried again, and is never lost.
//!
//! Whoever wants something done writes a row, in the transaction that gives the reason for it; the
//! runner here is woken by the news of that, takes the row on, and says how it ended. A process that dies
//! leaves its rows to the next one.
//!
//! The one rule of the room: each job is one module, and doing it twice does no harm.

mod draw_picture;
mod files;
mod pictures;
mod remove_picture;

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

pub use files::{Bucket, Files, FilesError};
use futures_util::FutureExt;
pub use pictures::Imagine;
use tokio::sync::{Notify, Semaphore};

use crate::{
    domain::{error::ApiError, timestamp::Timestamp},
    providers::Artist,
    store::{Job, JobEnd, Link, Store, Work, now},
};

/// How many jobs go on here at once.
const AT_ONCE: usize = 3;
/// How often work is begun before it is given up.
const ATTEMPTS: i64 = 5;
/// The wait before the second attempt; each further one is four times as long.
const FIRST_WAIT: Duration = Duration::from_secs(3);
/// The longest wait between two attempts.
const MAX_WAIT: Duration = Duration::from_secs(10 * 60);
/// How long to wait for a database that is away.
const RETRY: Duration = Duration::from_secs(1);
/// How often a process tells the others on one PostgreSQL that its work goes on, and looks after theirs.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// After so long a silence its work is taken away from it.
const SILENCE_MS: i64 = 60_000;
/// How long it is remembered what was done.
const REMEMBERED_MS: i64 = 7 * 24 * 60 * 60 * 1000;

/// Whether the operator lets pictures be made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Allowed {
    /// They are made.
    #[default]
    Yes,
    /// None are made.
    No,
}

/// The room. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Jobs {
    store: Store,
    artist: Artist,
    files: Files,
    /// What other processes on the same database call this one.
    node: Arc<str>,
    allowed: Allowed,
    first_wait: Duration,
    /// Called when something is to be tried again.
    woken: Arc<Notify>,
}

impl Jobs {
    /// The room in front of this store: pictures are drawn by `artist` and kept in `files`.
    pub fn new(store: Store, artist: Artist, files: Files, node: &str) -> Self {
        Self {
            store,
            artist,
            files,
            node: node.into(),
            allowed: Allowed::default(),
            first_wait: FIRST_WAIT,
            woken: Arc::default(),
        }
    }

    /// The same room in which pictures are made or not.
    pub fn allowing(self, allowed: Allowed) -> Self {
        Self { allowed, ..self }
    }

    /// The same room, with another wait before a second attempt.
    pub fn waiting(self, first_wait: Duration) -> Self {
        Self { first_wait, ..self }
    }

    /// Who draws.
    pub fn artist(&self) -> &Artist {
        &self.artist
    }

    async fn read(&self, job: &Job) -> Result<Link, ApiError> {
        Ok(self.store.read(&job.space).await?)
    }

    async fn write(&self, job: &Job) -> Result<Link, ApiError> {
        Ok(self.store.write(&job.space).await?)
    }

    /// Takes up again what an earlier process left, and says how much that was.
    pub async fn recover(&self) -> Result<u64, ApiError> {
        // A database that is a file is this process's alone.
        let before = if self.store.is_shared() { now().0 - SILENCE_MS } else { i64::MAX };
        let left = self.store.requeue_jobs(&self.node, Timestamp(before)).await?;
        if left > 0 {
            tracing::info!(left, "work that was left is taken up again");
        }
        self.store.forget_jobs(Timestamp(now().0 - REMEMBERED_MS)).await?;
        Ok(left)
    }

    /// Does what is due, one after another, until nothing is. Says how much that was.
    pub async fn work_off(&self) -> Result<usize, ApiError> {
        let mut done = 0;
        while let Some(job) = self.store.claim_job(&self.node, now()).await? {
            self.work(job).await;
            done += 1;
        }
        Ok(done)
    }

    /// Does what is due, whenever something is. Goes on for ever; for a task of its own.
    pub async fn keep_working(self) {
        // What is asked for while work is looked for is heard afterwards.
        let mut news = self.store.all_news();
        let line = Arc::new(Semaphore::new(AT_ONCE));
        let mut looked = now();
        loop {
            while self.begin_one(&line).await {}
            let wait = match self.store.next_job().await {
                Ok(next) => next.map(|next| Duration::from_millis(until(next))),
                Err(_) => Some(RETRY),
            };
            // Nobody else works on a file, so that nothing happens there unheard.
            let shared = self.store.is_shared();
            let wait = if shared { Some(wait.unwrap_or(HEARTBEAT).min(HEARTBEAT)) } else { wait };
            tokio::select! {
                () = news.something_asked() => {}
                () = self.woken.notified() => {}
                () = sleep_or_not(wait) => {}
            }
            if shared && now().0 - looked.0 > SILENCE_MS {
                looked = now();
                let before = Timestamp(now().0 - SILENCE_MS);
                if let Err(error) = self.store.requeue_jobs("", before).await {
                    tracing::debug!(%error, "left work could not be looked for");
                }
            }
        }
    }

    /// Begins the work that is due the longest. `false` when there is none, or it cannot be known.
    async fn begin_one(&self, line: &Arc<Semaphore>) -> bool {
        let Ok(place) = line.clone().acquire_owned().await else { return false };
        match self.store.claim_job(&self.node, now()).await {
            Ok(Some(job)) => {
                let jobs = self.clone();
                tokio::spawn(async move {
                    jobs.work(job).await;
                    drop(place);
                });
                true
            }
            Ok(None) => false,
            Err(error) => {
                tracing::debug!(%error, "no work could be taken on");
                tokio::time::sleep(RETRY).await;
                false
            }
        }
    }

    /// Says every now and then that a job goes on here, until it is somebody else's.
    async fn keep_until_taken(&self, job: &Job) {
        loop {
            tokio::time::sleep(HEARTBEAT).await;
            // Silence is what counts; whether it was heard this time does not.
            if let Ok(false) = self.store.keep_job(job, &self.node, now()).await {
                return;
            }
        }
    }

    /// Does one job, whatever happens on the way, and says how it ended.
    async fn work(&self, job: Job) {
        // Both go on at once: the work may hold what the sign of life waits for.
        let end = tokio::select! {
            end = AssertUnwindSafe(self.perform(&job)).catch_unwind() => end,
            () = self.keep_until_taken(&job), if self.store.is_shared() => {
                tracing::warn!(job = %job.id, "work was taken away");
                return;
            }
        };
        let end = match end {
            Ok(Ok(end)) => end,
            // The database was away, or the files were.
            Ok(Err(error)) => self.again(&job, error.to_string(), None),
            Err(_) => {
                tracing::error!(job = %job.id, work = ?job.work, "a job broke");
                self.again(&job, "it broke".into(), None)
            }
        };
        match &end {
            JobEnd::Done => {}
            JobEnd::Again(_, problem) => {
                tracing::info!(job = %job.id, problem, "work is tried again")
            }
            JobEnd::Failed(problem) => tracing::warn!(job = %job.id, problem, "work was given up"),
        }
        while let Err(error) = self.store.end_job(&job, &self.node, &end).await {
            tracing::debug!(%error, job = %job.id, "the end of a job cannot be kept");
            tokio::time::sleep(RETRY).await;
        }
        self.woken.notify_one();
    }

    async fn perform(&self, job: &Job) -> Result<JobEnd, ApiError> {
        match &job.work {
            Work::DrawPicture(picture) => self.draw_picture(job, picture).await,
            Work::RemovePicture(picture) => self.remove_picture(job, picture).await,
        }
    }

    /// Tries again later, unless that was done often enough. Whoever asks to be left alone for longer is.
    fn again(&self, job: &Job, problem: String, wish: Option<Duration>) -> JobEnd {
        if job.attempts >= ATTEMPTS {
            return JobEnd::Failed(problem);
        }
        let tried = u32::try_from(job.attempts.max(1) - 1).unwrap_or(0);
        let wait = self.first_wait.saturating_mul(4_u32.saturating_pow(tried)).min(MAX_WAIT);
        let wait = wait.max(wish.unwrap_or_default().min(MAX_WAIT));
        let millis = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
        JobEnd::Again(Timestamp(now().0.saturating_add(millis)), problem)
    }
}

/// How long it is until a moment, in milliseconds.
fn until(moment: Timestamp) -> u64 {
    u64::try_from(moment.0 - now().0).unwrap_or(0)
}

async fn sleep_or_not(wait: Option<Duration>) {
    match wait {
        Some(wait) => tokio::time::sleep(wait).await,
        None => std::future::pending().await,
    }
}
