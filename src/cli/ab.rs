//! `greenroom ab`: the same questions to several prompts and models, side by side.
//!
//! Every answer is a session of the terminal like any other: it is kept, counted and held to the budgets, and
//! can be read, exported and rated afterwards.

mod inputs;
mod report;

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use clap::value_parser;
use futures_util::{StreamExt, stream};
use inputs::{Checked, Input};
use report::{Cell, CheckResult, Report};
use tokio_util::sync::CancellationToken;

use super::{
    chat::{
        Shown,
        follow::{Interrupts, notice, print_line},
        start_log, unheard,
    },
    exit::{Exit, Failure},
    place::Place,
    stage::Stage,
};
use crate::domain::{
    error::ApiError,
    message::PartBody,
    run::{Run, RunStatus, Spent},
    terminal::{NewTerminal, SystemPrompt, TerminalChanges, TerminalSession, TerminalSettings},
};

/// The most answers of one comparison.
const MAX_CELLS: usize = 1000;
/// The largest prompt that is read, in bytes.
const MAX_PROMPT: u64 = 1024 * 1024;

/// Ask several prompts and models the same, and compare the answers.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// A file with a system prompt; once for each that is compared.
    #[arg(long = "prompt", value_name = "FILE", required = true)]
    pub prompts: Vec<PathBuf>,

    /// A model string as `greenroom chat` takes it; once for each that is compared.
    #[arg(long = "model", value_name = "MODEL", required = true)]
    pub models: Vec<String>,

    /// What is asked, and what a good answer does: a YAML file. See docs/tools.md.
    #[arg(long, value_name = "FILE")]
    pub inputs: PathBuf,

    /// How often each is asked.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u32).range(1..=20))]
    pub repeat: u32,

    /// How many are asked at the same time.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = value_parser!(u32).range(1..=16))]
    pub at_once: u32,

    /// Print everything as JSON.
    #[arg(long)]
    pub json: bool,

    /// Where the answers are kept.
    #[command(flatten)]
    pub place: Place,
}

/// A prompt that is compared.
struct Prompt {
    /// What it is called in the table.
    label: String,
    text: String,
    path: String,
}

/// One answer that is wanted.
#[derive(Clone, Copy)]
struct Wanted<'grid> {
    input: &'grid Input,
    prompt: &'grid Prompt,
    model: &'grid str,
    round: u32,
}

/// Does what the options say.
pub async fn run(args: Args) -> Result<Exit, Failure> {
    start_log(&args.place, Shown::InFile);
    let prompts = prompts(&args.prompts)?;
    let inputs = inputs(&args.inputs)?;
    let mut models: Vec<&str> = Vec::new();
    for model in &args.models {
        if models.contains(&model.as_str()) {
            return Err(Failure::usage(format!("--model {model} is there twice.")));
        }
        models.push(model);
    }
    let mut wanted = Vec::new();
    for input in &inputs {
        for round in 1..=args.repeat {
            for prompt in &prompts {
                let cells = models.iter().map(|model| Wanted { input, prompt, model, round });
                wanted.extend(cells);
            }
        }
    }
    if wanted.len() > MAX_CELLS {
        let told = format!("That is {} answers, and at most {MAX_CELLS} fit.", wanted.len());
        return Err(Failure::usage(told));
    }
    let stage = args.place.stage().await?;
    for problem in stage.tool_problems().await {
        notice(&format!("greenroom: {problem}"));
    }
    let stopped = CancellationToken::new();
    let cells = answered(&stage, &wanted, args.at_once as usize, &stopped).await?;
    stage.close_tools().await;
    let report = Report::new(cells);
    let printed = if args.json { report.json() } else { report.table() };
    print_line(&printed).map_err(unheard)?;
    Ok(match (stopped.is_cancelled(), report.is_good()) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Done,
        (false, false) => Exit::Failed,
    })
}

fn prompts(paths: &[PathBuf]) -> Result<Vec<Prompt>, Failure> {
    let mut prompts: Vec<Prompt> = Vec::new();
    for path in paths {
        let shown = path.display().to_string();
        if prompts.iter().any(|known| known.path == shown) {
            return Err(Failure::usage(format!("--prompt {shown} is there twice.")));
        }
        let text = text_of(path, MAX_PROMPT)?;
        let stem = path.file_stem().map_or(shown.clone(), |stem| stem.to_string_lossy().into());
        let taken = prompts.iter().any(|known| known.label == stem);
        let label = if taken { shown.clone() } else { stem };
        prompts.push(Prompt { label, text: text.trim().to_owned(), path: shown });
    }
    Ok(prompts)
}

fn inputs(path: &Path) -> Result<Vec<Input>, Failure> {
    let text = text_of(path, crate::yaml::MAX_BYTES as u64)?;
    inputs::read(&text).map_err(|problems| {
        let told: Vec<String> =
            problems.iter().map(|problem| format!("{}, {problem}", path.display())).collect();
        Failure::new(Exit::Configuration, told.join("\ngreenroom: "))
    })
}

fn text_of(path: &Path, most: u64) -> Result<String, Failure> {
    let unread = |error: std::io::Error| {
        Failure::new(Exit::NotFound, format!("{} cannot be read: {error}.", path.display()))
    };
    let about = std::fs::metadata(path).map_err(unread)?;
    if about.len() > most {
        let told = format!("{} is larger than {} KiB.", path.display(), most / 1024);
        return Err(Failure::usage(told));
    }
    std::fs::read_to_string(path).map_err(unread)
}

/// Asks all of them, a few at a time. A person who stops it gets what is there by then.
async fn answered(
    stage: &Stage,
    wanted: &[Wanted<'_>],
    at_once: usize,
    stopped: &CancellationToken,
) -> Result<Vec<Cell>, Failure> {
    let mut interrupts = Interrupts::listen()
        .map_err(|error| Failure::new(Exit::Failed, format!("Signals are not heard: {error}.")))?;
    let (done, all) = (AtomicUsize::new(0), wanted.len());
    let asking = stream::iter(wanted.iter().enumerate()).map(|(place, wanted)| {
        let (stage, stopped, done) = (&stage, &stopped, &done);
        async move {
            let cell = cell(stage, *wanted, stopped).await;
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            notice(&format!("{done} of {all}: {}", cell.told()));
            (place, cell)
        }
    });
    let mut asking = std::pin::pin!(asking.buffer_unordered(at_once));
    let mut cells: Vec<(usize, Cell)> = Vec::with_capacity(all);
    loop {
        tokio::select! {
            cell = asking.next() => match cell {
                Some(cell) => cells.push(cell),
                None => break,
            },
            () = interrupts.next() => {
                if stopped.is_cancelled() {
                    notice("Leaving; what was answered by now is shown.");
                    break;
                }
                notice("Stopping; the answers that are there are shown. Ctrl-C again leaves at once.");
                stopped.cancel();
            }
        }
    }
    cells.sort_by_key(|(place, _)| *place);
    Ok(cells.into_iter().map(|(_, cell)| cell).collect())
}

/// One answer, with what must be true of it.
async fn cell(stage: &Stage, wanted: Wanted<'_>, stopped: &CancellationToken) -> Cell {
    let Wanted { input, prompt, model, round } = wanted;
    let mut cell = Cell {
        input: input.name.clone(),
        prompt: prompt.label.clone(),
        model: model.to_owned(),
        round,
        note: input.note.clone(),
        ..Cell::default()
    };
    if let Err(error) = ask(stage, wanted, &mut cell, stopped).await {
        tracing::warn!(%error, input = input.name, model, "no answer");
        cell.error = Some(error.to_string());
    }
    let (tools, millis) = (&cell.tools, cell.last_ms);
    let answer = Checked { text: &cell.text, tools, millis };
    let is_whole = cell.error.is_none();
    cell.checks = input
        .checks
        .iter()
        .map(|check| CheckResult { check: check.told(), passed: is_whole && check.holds(&answer) })
        .collect();
    cell
}

/// Begins a session and says all turns in it.
async fn ask(
    stage: &Stage,
    Wanted { input, prompt, model, .. }: Wanted<'_>,
    cell: &mut Cell,
    stopped: &CancellationToken,
) -> Result<(), ApiError> {
    if stopped.is_cancelled() {
        return Err(stopped_by_person());
    }
    let name = format!("ab: {} · {} · {model}", input.name, prompt.label);
    let new = NewTerminal {
        description: name.chars().filter(|letter| !letter.is_control()).take(120).collect(),
        settings: TerminalSettings {
            model: model.to_owned(),
            system_prompt: Some(SystemPrompt::file(&prompt.text, &prompt.path)),
            ..TerminalSettings::default()
        },
        overrides: TerminalChanges::default(),
    };
    let session = stage.create(new).await?;
    tracing::info!(session = %session.id, model, prompt = prompt.label, "begun");
    cell.session_id = Some(session.id.clone());
    let told = say_all(stage, input, &session, cell, stopped).await;
    let read = read_answer(stage, &session, cell).await;
    told.and(read)
}

/// Says all turns, and stops at the first that has no whole answer.
async fn say_all(
    stage: &Stage,
    input: &Input,
    session: &TerminalSession,
    cell: &mut Cell,
    stopped: &CancellationToken,
) -> Result<(), ApiError> {
    for turn in &input.turns {
        let said = tokio::select! {
            biased;
            said = stage.say(&session.id, turn) => said?,
            () = stopped.cancelled() => return Err(stopped_by_person()),
        };
        tracing::info!(session = %session.id, run = %said.run.id, model = said.run.model, "asked");
        let run = ended(stage, said.run, stopped).await?;
        cell.run_id = Some(run.id.clone());
        cell.last_ms = run.spent.duration_ms;
        cell.spent = together(cell.spent, run.spent);
        match (run.status, run.error) {
            (RunStatus::Done, None) => {}
            (RunStatus::Stopped, _) => return Err(stopped_by_person()),
            // One that was refused or cut off is done, and is no whole answer.
            (_, Some(error)) => return Err(error),
            (status, None) => {
                let reason = format!("The answer is {}.", status.word());
                return Err(ApiError::NotNow { reason });
            }
        }
    }
    Ok(())
}

/// Reads what the last run answered, whole or not.
async fn read_answer(
    stage: &Stage,
    session: &TerminalSession,
    cell: &mut Cell,
) -> Result<(), ApiError> {
    let talk = stage.talk(&session.id, 1).await?;
    // One that failed before its first word was not kept.
    let answer = talk.messages.last().filter(|last| last.run_id.is_some());
    if let Some(answer) = answer.filter(|answer| answer.run_id == cell.run_id) {
        cell.text = answer.text();
        cell.tools = answer
            .parts
            .iter()
            .filter_map(|part| match &part.body {
                PartBody::ToolCall(call) => Some(call.name.clone()),
                PartBody::Text(_) | PartBody::Reasoning(_) | PartBody::ToolResult(_) => None,
            })
            .collect();
    }
    Ok(())
}

/// Waits for a run's end, or stops it.
async fn ended(stage: &Stage, run: Run, stopped: &CancellationToken) -> Result<Run, ApiError> {
    let mut events = stage.watch(&run.id, 0).await?;
    loop {
        tokio::select! {
            event = events.next() => match event {
                Some(event) => drop(event?),
                None => return stage.run(&run.id).await,
            },
            () = stopped.cancelled() => return stage.stop(&run.id).await,
        }
    }
}

fn stopped_by_person() -> ApiError {
    ApiError::NotNow { reason: "It was stopped.".into() }
}

/// What both took. A price that is not known makes the sum unknown.
fn together(before: Spent, next: Spent) -> Spent {
    if before.steps == 0 {
        return next;
    }
    Spent {
        usage: before.usage.plus(next.usage),
        cost_micros: before.cost_micros.zip(next.cost_micros).map(|(one, other)| one + other),
        first_token_ms: before.first_token_ms.or(next.first_token_ms),
        duration_ms: before.duration_ms + next.duration_ms,
        steps: before.steps + next.steps,
    }
}
