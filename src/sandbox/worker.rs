//! The worker: a process that loads Python, gives up everything else, and answers one request after the
//! other until nobody asks any more.

use std::{
    io::{self, Write},
    process::ExitCode,
    thread,
};

use super::{
    machine::{Machine, THREAD_STACK},
    message::{Greeting, Request, Task, receive, send, unpack},
    module, walls,
};

/// The name of its command.
pub const COMMAND: &str = "sandbox-worker";

/// Works until the parent closes the pipe.
pub fn work() -> ExitCode {
    // Threads inherit these walls, so they stand before there are others.
    let missing = walls::before();
    // The main thread's stack is as large as the shell says; the machine needs its own.
    let worker = thread::Builder::new().stack_size(THREAD_STACK).spawn(move || {
        let mut out = io::stdout().lock();
        let done = match prepare(missing) {
            Ok((machine, missing_walls)) => send(&mut out, &Greeting::Ready { missing_walls }, &[])
                .and_then(|()| answer(&machine, &mut out)),
            Err(reason) => send(&mut out, &Greeting::Failed { reason }, &[]),
        };
        if done.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    });
    worker.map_or(ExitCode::FAILURE, |worker| worker.join().unwrap_or(ExitCode::FAILURE))
}

fn prepare(mut missing: Vec<String>) -> Result<(Machine, Vec<String>), String> {
    let compiled = module::unpack()?;
    let machine = Machine::new(&compiled)
        .map_err(|error| format!("The built-in Python does not fit this Greenroom: {error:#}."))?;
    drop(compiled);
    // The first instance makes what the later ones share; that needs more of the system than running.
    let task = Task::Run { source: Some(String::new()), script: None, arguments: Vec::new() };
    let first = Request { task, stdin: String::new(), now: 0, seed: [0; 16], files: Vec::new() };
    drop(machine.run(first, Default::default()));
    missing.extend(walls::after());
    Ok((machine, missing))
}

fn answer(machine: &Machine, out: &mut impl Write) -> io::Result<()> {
    let mut requests = io::stdin().lock();
    loop {
        let (mut request, body) = match receive::<Request>(&mut requests) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            other => other?,
        };
        let files = unpack(std::mem::take(&mut request.files), &body)?;
        let (reply, body) = machine.run(request, files);
        send(out, &reply, &body)?;
    }
}
