//! The workers: started when they are needed, kept warm, and ended when they do not answer in time.
//!
//! The one rule: whatever a worker does, its parent goes on. Nothing that it says is trusted.

use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use futures_util::future::BoxFuture;
use tokio::{task::spawn_blocking, time::timeout};

use super::{
    Engine, Outcome, Owner, Program, SandboxError, What,
    limits::{AT_ONCE, CHANGED_BYTES, CHANGED_FILES, Limit, WALL_TIME},
    line::Line,
    message::{End, Greeting, Reply, Request, Task, pack, receive, send, unpack_changes},
    module, tree, worker,
};

/// How long a worker may take until it can be asked.
const STARTING_TIME: Duration = Duration::from_secs(30);

/// A process that runs one program after the other. It ends when this is dropped.
#[derive(Debug)]
struct Worker {
    child: Child,
    /// Both ends of the pipe, except while a thread talks through them.
    pipe: Option<Pipe>,
}

#[derive(Debug)]
struct Pipe {
    to: ChildStdin,
    from: ChildStdout,
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nobody to end.
        if self.child.kill().is_ok() {
            drop(self.child.wait());
        }
    }
}

impl Worker {
    async fn start(program: &Path) -> Result<Self, SandboxError> {
        let mut child = Command::new(program)
            .arg(worker::COMMAND)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(not_started)?;
        let (Some(to), Some(mut from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(not_started(io::Error::other("a worker without pipes")));
        };
        let mut worker = Self { child, pipe: None };
        let greeting =
            spawn_blocking(move || receive::<Greeting>(&mut from).map(|it| (it.0, from)));
        let (greeting, from) = match timeout(STARTING_TIME, greeting).await {
            Ok(told) => {
                told.map_err(io::Error::other).and_then(|told| told).map_err(not_started)?
            }
            Err(_) => return Err(not_started(io::Error::from(io::ErrorKind::TimedOut))),
        };
        match greeting {
            Greeting::Ready { missing_walls } if missing_walls.is_empty() => {}
            Greeting::Ready { missing_walls } => {
                tracing::warn!(missing = missing_walls.join(", "), "a sandbox lacks walls");
            }
            Greeting::Failed { reason } => return Err(not_started(io::Error::other(reason))),
        }
        worker.pipe = Some(Pipe { to, from });
        Ok(worker)
    }

    /// Asks and waits. Without an answer in time there is none, and the worker is of no use any more.
    async fn ask(
        &mut self,
        request: Request,
        body: Vec<u8>,
    ) -> Option<io::Result<(Reply, Vec<u8>)>> {
        let Some(mut pipe) = self.pipe.take() else {
            return Some(Err(io::Error::from(io::ErrorKind::BrokenPipe)));
        };
        let asked = spawn_blocking(move || {
            send(&mut pipe.to, &request, &body)?;
            pipe.to.flush()?;
            receive::<Reply>(&mut pipe.from).map(|reply| (reply, pipe))
        });
        let told = timeout(WALL_TIME, asked).await.ok()?;
        match told.map_err(io::Error::other).and_then(|told| told) {
            Ok((reply, pipe)) => {
                self.pipe = Some(pipe);
                Some(Ok(reply))
            }
            Err(error) => Some(Err(error)),
        }
    }
}

fn not_started(error: io::Error) -> SandboxError {
    tracing::error!(%error, "a sandbox could not be started");
    SandboxError::NotStarted { reason: error.to_string() }
}

/// Some workers, and the line before them.
#[derive(Debug)]
pub(super) struct Pool {
    program: PathBuf,
    line: Arc<Line>,
    idle: Mutex<Vec<Worker>>,
}

impl Pool {
    /// Workers that are this program in its hidden role.
    pub(super) fn new(program: &Path) -> Self {
        Self { program: program.to_owned(), line: Line::new(AT_ONCE), idle: Mutex::default() }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Worker>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A worker that waits and lives.
    fn waiting(&self) -> Option<Worker> {
        loop {
            let mut worker = self.idle().pop()?;
            if matches!(worker.child.try_wait(), Ok(None)) {
                return Some(worker);
            }
        }
    }

    async fn run(&self, program: Program) -> Result<Outcome, SandboxError> {
        if !module::IS_THERE {
            return Err(SandboxError::Missing);
        }
        let _turn = self.line.turn(program.owner.clone()).await?;
        if let Some(worker) = self.waiting() {
            match self.run_in(worker, program.clone()).await {
                // It may have died while it waited. A run changes nothing until it is over, so another
                // worker can do it.
                Err(SandboxError::Lost) => {}
                told => return told,
            }
        }
        self.run_in(Worker::start(&self.program).await?, program).await
    }

    async fn run_in(&self, mut worker: Worker, program: Program) -> Result<Outcome, SandboxError> {
        let started = Instant::now();
        let (request, body) = request(program);
        let Some(told) = worker.ask(request, body).await else {
            return Ok(Outcome::stopped(Limit::WallTime, started.elapsed()));
        };
        let (reply, body) = told.map_err(|error| {
            tracing::warn!(%error, "a sandbox ended while it ran a program");
            SandboxError::Lost
        })?;
        let outcome = outcome(reply, &body, started.elapsed())?;
        self.idle().push(worker);
        Ok(outcome)
    }
}

impl Engine for Pool {
    fn run(&self, program: Program) -> BoxFuture<'_, Result<Outcome, SandboxError>> {
        Box::pin(self.run(program))
    }

    fn warm(&self) -> BoxFuture<'_, Result<(), SandboxError>> {
        Box::pin(async {
            if !module::IS_THERE {
                return Err(SandboxError::Missing);
            }
            // Where all turns are taken, others get ready, and there are never more workers than turns.
            let Some(_turn) = self.line.free_turn(&Owner::default()) else { return Ok(()) };
            let worker = match self.waiting() {
                Some(worker) => worker,
                None => Worker::start(&self.program).await?,
            };
            self.idle().push(worker);
            Ok(())
        })
    }
}

fn request(program: Program) -> (Request, Vec<u8>) {
    let arguments = program.arguments;
    let task = match program.what {
        What::Source(source) => Task::Run { source: Some(source), script: None, arguments },
        What::Script(script) => Task::Run { source: None, script: Some(script), arguments },
        What::Describe { source, function } => Task::Describe { source, function },
        What::Call { source, function, keywords } => Task::Call { source, function, keywords },
    };
    let now = program.now.unwrap_or_else(SystemTime::now).duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |passed| u64::try_from(passed.as_nanos()).unwrap_or(u64::MAX));
    let seed = match program.seed {
        Some(seed) => u128::from(seed).to_le_bytes(),
        None => uuid::Uuid::new_v4().into_bytes(),
    };
    let (files, body) = pack(&program.files);
    (Request { task, stdin: program.stdin, now, seed, files }, body)
}

/// What a worker said, as far as it keeps to the rules.
fn outcome(reply: Reply, body: &[u8], wall_time: Duration) -> Result<Outcome, SandboxError> {
    let broke_rules = |_| SandboxError::Lost;
    let written = reply.files.iter().filter(|(_, length)| length.is_some()).count();
    let is_proper = |path: &str| tree::key(path).is_ok_and(|key| key == *path && !key.is_empty());
    if written > CHANGED_FILES
        || body.len() > CHANGED_BYTES
        || !reply.files.iter().all(|(path, _)| is_proper(path))
    {
        return Err(SandboxError::Lost);
    }
    Ok(Outcome {
        end: reply.end,
        value: reply.value,
        stdout: reply.stdout,
        stderr: reply.stderr,
        changed: unpack_changes(reply.files, body).map_err(broke_rules)?,
        reached: reply.reached,
        guest_time: Duration::from_micros(reply.guest_time),
        wall_time,
    })
}

impl Outcome {
    fn stopped(limit: Limit, wall_time: Duration) -> Self {
        Self {
            end: End::Stopped(limit),
            value: None,
            stdout: String::new(),
            stderr: String::new(),
            changed: Default::default(),
            reached: vec![limit],
            guest_time: Duration::ZERO,
            wall_time,
        }
    }
}
