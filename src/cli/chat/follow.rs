//! Following an answer: its words go out as they come, and Ctrl-C stops it.

use std::{
    borrow::Cow,
    io::{self, IsTerminal, Write},
    pin::pin,
};

use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::{
    cli::{
        exit::{Exit, Failure},
        stage::Stage,
        tui::clean::{Cleaning, clean},
    },
    domain::{
        error::ApiError,
        event::{RunEvent, Stamped, not_ready},
        id::RunId,
        run::RunStatus,
        terminal::LeftOut,
    },
};

/// How events are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The words, and nothing else.
    Words,
    /// Each event as a line of JSON.
    Json,
}

/// What a person presses to stop something.
pub struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
}

impl Interrupts {
    /// Listens from now on.
    pub fn listen() -> io::Result<Self> {
        let interrupt = signal(SignalKind::interrupt())?;
        Ok(Self { interrupt, terminate: signal(SignalKind::terminate())? })
    }

    /// Waits for the next one.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    /// What something gives, unless somebody stops it before.
    pub async fn before<T>(&mut self, done: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            done = done => Some(done),
            () = self.next() => None,
        }
    }

    /// What is answered when something is asked, unless somebody does not wait for it.
    pub async fn answer<T>(
        &mut self,
        asked: impl Future<Output = Result<T, ApiError>>,
    ) -> Result<T, Failure> {
        let told = "Stopped before there was an answer.";
        let answer = self.before(asked).await;
        Ok(answer.ok_or_else(|| Failure::new(Exit::Interrupted, told))??)
    }
}

/// How an answer came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By itself, well or not.
    Itself(Exit),
    /// A person stopped it.
    Stopped,
    /// A person left before it ended.
    Left,
    /// Nobody reads it any more.
    Unheard,
}

impl Ending {
    /// The one of a run. An answer that was refused or cut off is done, and says so in its error: a
    /// script must not take it for a whole one.
    fn of(status: RunStatus, error: Option<&ApiError>) -> Self {
        match (status, error) {
            (RunStatus::Stopped, _) => Self::Stopped,
            (RunStatus::Done, None) => Self::Itself(Exit::Done),
            (RunStatus::Done, Some(_))
            | (
                RunStatus::Queued | RunStatus::Running | RunStatus::Failed | RunStatus::Interrupted,
                _,
            ) => Self::Itself(Exit::Failed),
        }
    }

    /// How a command that waited for it ends.
    pub fn exit(self) -> Exit {
        match self {
            Self::Itself(exit) => exit,
            Self::Stopped | Self::Left => Exit::Interrupted,
            Self::Unheard => Exit::Failed,
        }
    }
}

/// Prints an answer from an event on, up to its end.
pub async fn follow(
    stage: &Stage,
    run: &RunId,
    after: u64,
    form: Form,
    interrupts: &mut Interrupts,
) -> Result<Ending, Failure> {
    let mut stopped = false;
    let mut opening = pin!(stage.watch(run, after));
    let mut events = loop {
        tokio::select! {
            biased;
            events = &mut opening => break events?,
            () = interrupts.next() => {
                if std::mem::replace(&mut stopped, true) {
                    return Ok(Ending::Left);
                }
                stop_beside(stage, run);
            }
        }
    };
    let cleaning = io::stdout().is_terminal().then(Cleaning::default);
    let mut printer = Printer { form, run, open_line: false, cleaning };
    loop {
        tokio::select! {
            biased;
            event = events.next() => {
                let event = match event.unwrap_or(Err(ApiError::Offline)) {
                    Ok(event) => event,
                    Err(error) => {
                        // Why it is cut stands below it. That nobody reads it does not count any more.
                        printer.close_line().unwrap_or_default();
                        return Err(error.into());
                    }
                };
                if let Err(error) = printer.print(&event) {
                    // Whoever read it is gone, and knows; a disk that is full says nothing by itself.
                    if error.kind() != io::ErrorKind::BrokenPipe {
                        notice(&format!("greenroom: Nothing can be printed: {error}."));
                    }
                    interrupts.before(stage.stop(run)).await.transpose()?;
                    return Ok(Ending::Unheard);
                }
                if let RunEvent::Ended { status, error, .. } = event.event {
                    return Ok(Ending::of(status, error.as_ref()));
                }
            }
            () = interrupts.next() => {
                if std::mem::replace(&mut stopped, true) {
                    return Ok(Ending::Left);
                }
                stop_beside(stage, run);
            }
        }
    }
}

/// Stops an answer beside the watching, so that its last words are still printed.
fn stop_beside(stage: &Stage, run: &RunId) {
    let (stage, run) = (stage.clone(), run.clone());
    tokio::spawn(async move {
        if let Err(error) = stage.stop(&run).await {
            tracing::warn!(%error, "the answer could not be stopped");
        }
    });
}

struct Printer<'run> {
    form: Form,
    run: &'run RunId,
    /// Whether words stand on the last line.
    open_line: bool,
    /// Takes out what a terminal would do, where there is one. Whoever reads a pipe gets all of it.
    cleaning: Option<Cleaning>,
}

impl Printer<'_> {
    fn print(&mut self, event: &Stamped) -> io::Result<()> {
        match self.form {
            Form::Json => print_line(&as_json(self.run, event))?,
            Form::Words => self.print_words(&event.event)?,
        }
        log(&event.event);
        Ok(())
    }

    fn print_words(&mut self, event: &RunEvent) -> io::Result<()> {
        match event {
            RunEvent::Text { delta, .. } if !delta.is_empty() => {
                let shown = match &mut self.cleaning {
                    Some(cleaning) => Cow::Owned(cleaning.add(delta)),
                    None => Cow::Borrowed(delta.as_str()),
                };
                return self.write(&shown);
            }
            RunEvent::ToolCall { .. } => self.close_line()?,
            RunEvent::Retrying { wait_ms, reason, .. } => {
                let (told, seconds) = (not_ready(reason), *wait_ms as f64 / 1000.0);
                notice(&format!("{told} Trying again in {seconds:.1} s."));
            }
            RunEvent::Ended { status, error, .. } => {
                self.close_line()?;
                if let Some(told) = ended(*status, error.as_ref()) {
                    notice(&told);
                }
            }
            RunEvent::Text { .. }
            | RunEvent::Started { .. }
            | RunEvent::StepStarted { .. }
            | RunEvent::Reasoning { .. }
            | RunEvent::PartEnded { .. }
            | RunEvent::ToolResult { .. }
            | RunEvent::StepEnded { .. } => {}
        }
        Ok(())
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.open_line = !text.ends_with('\n');
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    fn close_line(&mut self) -> io::Result<()> {
        if let Some(rest) = self.cleaning.as_mut().map(Cleaning::end) {
            self.write(&rest)?;
        }
        match std::mem::take(&mut self.open_line) {
            true => print_line(""),
            false => Ok(()),
        }
    }
}

/// Logs what has no room any more, what tools are given and give, and what an answer takes.
fn log(event: &RunEvent) {
    match event {
        RunEvent::StepStarted { left_out, .. } => {
            if let Some(told) = left_out.and_then(LeftOut::told) {
                tracing::debug!("not sent: {told}");
            }
        }
        RunEvent::ToolCall { call, .. } => {
            tracing::debug!(tool = call.name, input = %call.input, "a tool is called");
        }
        RunEvent::ToolResult { result, took_ms, .. } => {
            let failed = result.is_error;
            tracing::debug!(
                tool = result.name,
                failed,
                took_ms,
                output = result.output,
                "a tool gave something"
            );
        }
        RunEvent::Ended { status, spent, .. } => {
            tracing::debug!(
                status = status.word(),
                // As people read it: its spaces would be written as escapes.
                spent = %spent.told(),
                first_token_ms = spent.first_token_ms,
                "the answer ended"
            );
        }
        RunEvent::Text { .. }
        | RunEvent::Started { .. }
        | RunEvent::Reasoning { .. }
        | RunEvent::PartEnded { .. }
        | RunEvent::Retrying { .. }
        | RunEvent::StepEnded { .. } => {}
    }
}

/// What people are told of an end that is not simply the end.
fn ended(status: RunStatus, error: Option<&ApiError>) -> Option<String> {
    match (status, error) {
        (_, Some(error)) => Some(error.to_string()),
        (RunStatus::Stopped, None) => Some("Stopped. What was said is kept.".into()),
        (RunStatus::Failed | RunStatus::Interrupted, None) => {
            Some("The answer broke off. What was said is kept.".into())
        }
        (RunStatus::Done | RunStatus::Queued | RunStatus::Running, None) => None,
    }
}

/// An event as a line: what it tells, its place and time, and the run.
fn as_json(run: &RunId, event: &Stamped) -> String {
    let mut told = json!(event.event);
    if let Value::Object(told) = &mut told {
        told.insert("run".into(), json!(run));
        told.insert("seq".into(), json!(event.seq));
        told.insert("at".into(), json!(event.at));
    }
    told.to_string()
}

/// Prints a line of what was asked for. A terminal is told nothing that it would do.
pub fn print_line(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let line = if out.is_terminal() { clean(line) } else { Cow::Borrowed(line) };
    writeln!(out, "{line}")?;
    out.flush()
}

/// Tells people something beside what they asked for. A terminal is told nothing that it would do.
#[expect(clippy::print_stderr, reason = "standard output has nothing but what was asked for")]
pub fn notice(text: &str) {
    let text = if io::stderr().is_terminal() { clean(text) } else { Cow::Borrowed(text) };
    eprintln!("{text}");
}
