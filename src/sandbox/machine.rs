//! The machine that runs Python: a component without a compiler beside it, and a fresh instance for
//! each program.

use std::{
    sync::mpsc::{self, RecvTimeoutError, Sender},
    thread,
    time::{Duration, Instant},
};

use rustix::time::{ClockId, clock_gettime};
use serde::Deserialize;
use serde_json::Value;
use wasmtime::{
    Config, Engine, Store, Trap, UpdateDeadline,
    component::{Component, InstancePre, Linker},
};

use super::{
    Files,
    limits::{ERROR_BYTES, GUEST_TIME, Limit, VALUE_BYTES, WALL_TIME},
    message::{End, Reply, Request, pack_changes},
    tree::Tree,
    wasi::{self, Host, Stop},
};

/// How often a running program is looked at.
const TICK: Duration = Duration::from_millis(10);
/// How much earlier than its parent a worker ends a program by the clock on the wall.
const MARGIN: Duration = Duration::from_millis(500);
/// The stack of the machine's own calls, and of the thread they are made on.
const WASM_STACK: usize = 2 * 1024 * 1024;
pub(super) const THREAD_STACK: usize = 8 * WASM_STACK;

/// A loaded interpreter.
pub(super) struct Machine {
    interpreter: InstancePre<Host>,
    ticking: Sender<bool>,
}

/// What the guest says at the end.
#[derive(Debug, Deserialize)]
struct Told {
    exit: Option<i32>,
    error: Option<String>,
    value: Option<Value>,
}

impl Machine {
    /// Loads the compiled interpreter, and starts its clock.
    pub(super) fn new(compiled: &[u8]) -> wasmtime::Result<Self> {
        // `scripts/precompile-sandbox` says the same.
        let mut config = Config::new();
        config.epoch_interruption(true).max_wasm_stack(WASM_STACK);
        let engine = Engine::new(&config)?;
        #[expect(
            unsafe_code,
            reason = "the bytes are our own: built with us, and just checked by hash"
        )]
        // SAFETY: `module::unpack` gives only what the build made with the same line of wasmtime.
        let component = unsafe { Component::deserialize(&engine, compiled)? };
        let mut linker = Linker::new(&engine);
        wasi::define(&mut linker)?;
        linker.define_unknown_imports_as_traps(&component)?;
        let interpreter = linker.instantiate_pre(&component)?;
        let (ticking, told) = mpsc::channel();
        thread::Builder::new().spawn(move || {
            let mut is_running = false;
            loop {
                let next = if is_running {
                    told.recv_timeout(TICK)
                } else {
                    told.recv().map_err(|_| RecvTimeoutError::Disconnected)
                };
                match next {
                    Ok(state) => is_running = state,
                    Err(RecvTimeoutError::Timeout) => engine.increment_epoch(),
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        })?;
        Ok(Self { interpreter, ticking })
    }

    /// Runs one program in a fresh interpreter.
    pub(super) fn run(&self, request: Request, files: Files) -> (Reply, Vec<u8>) {
        let (before, started) = (processor_time(), Instant::now());
        let tree = Tree::new(files, request.now);
        let host = Host::new(tree, request.stdin.into_bytes(), request.now, request.seed);
        let mut store = Store::new(self.interpreter.engine(), host);
        store.limiter(|host| host);
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(move |_| {
            if processor_time().saturating_sub(before) > GUEST_TIME {
                return Err(wasmtime::Error::new(Stop::Reached(Limit::GuestTime)));
            }
            // On a busy machine the wall comes first. Stopped from here, what was printed is kept.
            if started.elapsed() > WALL_TIME - MARGIN {
                return Err(wasmtime::Error::new(Stop::Reached(Limit::WallTime)));
            }
            Ok(UpdateDeadline::Continue(1))
        });
        let asked = serde_json::to_string(&request.task).map_err(wasmtime::Error::new);
        // A closed channel means that the clock is gone, and then nothing may run.
        let answer = match self.ticking.send(true) {
            Ok(()) => asked.and_then(|asked| self.ask(&mut store, &asked)),
            Err(error) => Err(wasmtime::Error::new(error)),
        };
        self.ticking.send(false).ok();
        let guest_time = processor_time().saturating_sub(before);
        let host = store.into_data();
        let mut reached = Vec::new();
        if host.is_memory_full {
            reached.push(Limit::Memory);
        }
        if host.tree.is_full {
            reached.push(Limit::Files);
        }
        let (end, value) = told(answer, &reached);
        if let End::Stopped(limit) = end
            && !reached.contains(&limit)
        {
            reached.push(limit);
        }
        let is_kept = !matches!(end, End::Stopped(_));
        let changes = if is_kept { host.tree.changes() } else { Default::default() };
        let (files, body) = pack_changes(changes);
        let reply = Reply {
            end,
            value,
            stdout: String::from_utf8_lossy(&host.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&host.stderr).into_owned(),
            reached,
            guest_time: u64::try_from(guest_time.as_micros()).unwrap_or(u64::MAX),
            files,
        };
        (reply, body)
    }

    fn ask(&self, store: &mut Store<Host>, asked: &str) -> wasmtime::Result<String> {
        let instance = self.interpreter.instantiate(&mut *store)?;
        let answer = instance.get_typed_func::<(&str,), (String,)>(&mut *store, "answer")?;
        Ok(answer.call(store, (asked,))?.0)
    }
}

/// How a program ended, from what its interpreter said or did not say.
fn told(answer: wasmtime::Result<String>, reached: &[Limit]) -> (End, Option<Value>) {
    let broken = || End::Error("The program broke its own interpreter.".to_owned());
    let error = match answer {
        Ok(answer) => {
            // The program could have changed what its interpreter says.
            let Ok(told) = serde_json::from_str::<Told>(&answer) else { return (broken(), None) };
            return match (told.error, told.exit) {
                _ if told.value.is_some() && answer.len() > VALUE_BYTES => {
                    let rule = format!("The result is larger than {} KiB.", VALUE_BYTES / 1024);
                    (End::Error(rule), None)
                }
                (Some(error), _) => (End::Error(shortened(error)), None),
                (None, exit) => (End::Exit(exit.unwrap_or_default()), told.value),
            };
        }
        Err(error) => error,
    };
    let end = match (error.downcast_ref::<Stop>(), error.downcast_ref::<Trap>()) {
        (Some(Stop::Reached(limit)), _) => End::Stopped(*limit),
        (Some(Stop::Exit(status)), _) => End::Exit(*status),
        (None, Some(Trap::StackOverflow)) => End::Stopped(Limit::Stack),
        (None, _) if reached.contains(&Limit::Memory) => End::Stopped(Limit::Memory),
        (None, Some(_)) => broken(),
        (None, None) => End::Stopped(Limit::Absent),
    };
    (end, None)
}

/// The beginning and the end of an error, which say most.
fn shortened(error: String) -> String {
    if error.len() <= ERROR_BYTES {
        return error;
    }
    let head = error.floor_char_boundary(ERROR_BYTES / 4);
    let tail = error.ceil_char_boundary(error.len() - ERROR_BYTES / 2);
    format!("{}\n…\n{}", &error[..head], &error[tail..])
}

/// What this thread used of the processor.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}
