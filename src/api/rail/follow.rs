//! An answer while it is being given, piece by piece.
//!
//! Each event names an element of the page and says what it becomes, or where it is put when it is not
//! there yet. Words come at a pace that people can see, however fast the model is.

use std::{collections::HashMap, time::Duration};

use async_stream::stream as made_of;
use futures_util::{FutureExt, Stream, StreamExt, stream::SelectAll};
use leptos::prelude::*;
use serde::Serialize;
use tokio::time::{Instant, sleep_until};

use super::{
    super::sse::{Event, EventStream, stream},
    shown::{html, proposal, shown_turn},
    words::OpenWords,
};
use crate::{
    app::components::{
        turn::{
            Piece, PieceView, ShownTurn, TurnFoot, TurnView, asks, foot_id, part_id, pieces_id,
            step_id, thoughts_id,
        },
        written::escaped,
    },
    domain::{
        error::ApiError,
        event::{RunEvent, Stamped, fold, not_ready},
        id::{CallId, MessageId, PartId, RunId},
        message::{Part, PartBody, ToolCall, ToolResult},
        run::Run,
        visible::visible_in_prose,
    },
    markdown,
    state::{AppState, Desk},
};

/// The least time between two looks at the words.
const PACE: Duration = Duration::from_millis(60);
/// How much longer for every byte that will be sent again.
const PER_BYTE: Duration = Duration::from_micros(100);
/// The most time between two looks.
const SLOWEST: Duration = Duration::from_millis(1500);
/// How many events are taken in together.
const TOGETHER: usize = 256;

/// What an element of the page becomes.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Patch {
    /// The element; none when something is only added.
    pub(super) id: String,
    /// What it becomes.
    pub(super) html: String,
    /// Where it is put when it is not there yet.
    pub(super) into: String,
    /// Whether nothing more comes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) over: bool,
}

/// Follows runs from wherever they are to their ends. It is over when all are.
pub async fn follow(state: AppState, desk: Desk, ids: &[RunId]) -> Result<EventStream, ApiError> {
    let mut all = SelectAll::new();
    for id in ids {
        let run = desk.agent.run(&desk.scope, id).await?;
        let name = visible_in_prose(desk.agent.voice_of(&desk.scope, &run).await?);
        let events = desk.agent.watch(&desk.scope, id, 0).await?;
        all.push(patches(desk.clone(), name, run, events).boxed());
    }
    let mut going_on = ids.len();
    let told = all.map(move |patch| {
        going_on -= usize::from(patch.over);
        Event::telling(&Patch { over: patch.over && going_on == 0, ..patch })
    });
    Ok(stream(told, state.closing))
}

struct Following {
    desk: Desk,
    name: String,
    run: Run,
    parts: Vec<Part>,
    /// How long tools took that came to their ends.
    took: HashMap<CallId, u64>,
    /// The part that is being written.
    open: Option<(PartId, OpenWords)>,
    /// Whether it was told last that the service is asked again.
    waits: bool,
}

fn patches(
    desk: Desk,
    name: String,
    run: Run,
    events: impl Stream<Item = Result<std::sync::Arc<Stamped>, ApiError>> + Send + 'static,
) -> impl Stream<Item = Patch> + Send + 'static {
    made_of! {
        let (parts, took) = (Vec::new(), HashMap::new());
        let mut following = Following { desk, name, run, parts, took, open: None, waits: false };
        let mut events = Box::pin(events.ready_chunks(TOGETHER));
        let mut next_look = Instant::now();
        // What was told before comes at once, so that one frame shows the turn as it stands.
        let first = events.next().now_or_never().flatten().unwrap_or_default();
        for one in first.iter().flatten() {
            following.take(one);
        }
        yield following.whole().await;
        let mut over = first.iter().flatten().any(|one| is_end(&one.event));
        let mut waiting: Vec<RunEvent> = Vec::new();
        while !over {
            let chunk = tokio::select! {
                biased;
                () = sleep_until(next_look), if !waiting.is_empty() => None,
                chunk = events.next() => Some(chunk),
            };
            match chunk {
                Some(None) => break,
                Some(Some(chunk)) => {
                    for one in chunk {
                        // Whoever watches comes back, and is shown how it stands.
                        let Ok(one) = one else { return };
                        following.take(&one);
                        over |= is_end(&one.event);
                        waiting.push(one.event.clone());
                    }
                    if !over && Instant::now() < next_look {
                        continue;
                    }
                }
                None => {}
            }
            for patch in following.told(std::mem::take(&mut waiting)).await {
                yield patch;
            }
            next_look = Instant::now() + following.pace();
        }
        for patch in following.end().await {
            yield patch;
        }
    }
}

fn is_end(event: &RunEvent) -> bool {
    matches!(event, RunEvent::Ended { .. })
}

/// The words of a part, and whether they are thoughts.
fn text_of<'a>(parts: &'a [Part], part: &PartId) -> Option<(&'a str, bool)> {
    parts.iter().rfind(|known| known.id == *part).and_then(|known| match &known.body {
        PartBody::Text(text) => Some((text.as_str(), false)),
        PartBody::Reasoning(text) => Some((text.as_str(), true)),
        PartBody::ToolCall(_) | PartBody::ToolResult(_) => None,
    })
}

impl Following {
    /// How long to wait before the next look: a long paragraph is not sent again and again.
    fn pace(&self) -> Duration {
        let unfinished = self.open.as_ref().map_or(0, |(_, open)| open.unfinished());
        let rest = PER_BYTE * u32::try_from(unfinished).unwrap_or(u32::MAX);
        rest.clamp(PACE, SLOWEST)
    }

    /// Takes one more event in.
    fn take(&mut self, one: &Stamped) {
        fold(&mut self.parts, one.at, &one.event);
        if let RunEvent::ToolResult { result, took_ms: Some(took), .. } = &one.event {
            self.took.insert(result.call.clone(), *took);
        }
    }

    fn reply(&self) -> &MessageId {
        &self.run.reply_id
    }

    /// The whole turn as it stands.
    async fn whole(&mut self) -> Patch {
        let message = self.run.reply(self.parts.clone());
        let id = format!("turn-{}", self.reply());
        let turn = shown_turn(&self.desk, &self.name, message, Some(self.run.clone())).await;
        let html = turn.map_or_else(
            |error| {
                let told = escaped(&error.to_string());
                format!("<li id=\"{id}\" class=\"turn\"><p class=\"problem\">{told}</p></li>")
            },
            |mut turn| {
                for piece in &mut turn.pieces {
                    if let Piece::Step { call, took_ms, .. } = piece {
                        *took_ms = self.took.get(&call.call).copied();
                    }
                }
                html(move || view! { <TurnView turn/> }.into_any())
            },
        );
        // Words that go on from here are sent whole at first.
        self.open = None;
        Patch { id, html, into: "turns".into(), over: false }
    }

    /// The end: the last words, and how it ended. The rest stands as it is, for somebody may be deciding
    /// on a draft already.
    async fn end(&mut self) -> Vec<Patch> {
        if let Ok(run) = self.desk.agent.run(&self.desk.scope, &self.run.id).await {
            self.run = run;
        }
        let open = self.open.take().map(|(part, _)| part);
        let mut patches: Vec<Patch> =
            open.and_then(|part| self.part_whole(&part)).into_iter().collect();
        patches.push(Patch { over: true, ..self.foot(None) });
        patches
    }

    /// What the page shows after these events, as far as it changed.
    async fn told(&mut self, events: Vec<RunEvent>) -> Vec<Patch> {
        let mut patches = Vec::new();
        let mut words: Option<PartId> = None;
        for event in events {
            let came = matches!(
                event,
                RunEvent::Text { .. } | RunEvent::Reasoning { .. } | RunEvent::ToolCall { .. }
            );
            if came && std::mem::take(&mut self.waits) {
                patches.push(self.foot(None));
            }
            match event {
                RunEvent::Text { part, .. } | RunEvent::Reasoning { part, .. } => {
                    if words.as_ref().is_some_and(|other| *other != part) {
                        patches.extend(words.take().and_then(|part| self.part_whole(&part)));
                    }
                    words = Some(part);
                }
                RunEvent::PartEnded { part, .. } => {
                    patches.extend(self.part_whole(&part));
                    words = words.filter(|open| *open != part);
                }
                RunEvent::ToolCall { call, .. } => patches.push(self.step(call, None, None)),
                RunEvent::ToolResult { result, took_ms, .. } => {
                    let change = result.change_id.clone();
                    if let Some(call) = self.call(&result.call) {
                        patches.push(self.step(call, Some(result), took_ms));
                    }
                    if let Some(change) = change
                        && let Ok(Some(draft)) = proposal(&self.desk, &change).await
                    {
                        let id = format!("rail-draft-{change}");
                        patches.push(self.piece(id, Piece::Draft(Box::new(draft))));
                    }
                }
                RunEvent::Retrying { reason, attempt, .. } => {
                    self.waits = true;
                    patches.push(self.foot(Some(format!(
                        "{} Asking again (attempt {attempt})…",
                        not_ready(&reason)
                    ))));
                }
                RunEvent::Started { .. }
                | RunEvent::StepStarted { .. }
                | RunEvent::StepEnded { .. }
                | RunEvent::Ended { .. } => {}
            }
        }
        if let Some(part) = words {
            patches.extend(self.more_words(&part));
        }
        patches
    }

    fn call(&self, id: &CallId) -> Option<ToolCall> {
        self.parts.iter().find_map(|part| match &part.body {
            PartBody::ToolCall(call) if call.call == *id => Some(call.clone()),
            _ => None,
        })
    }

    fn piece(&self, id: String, piece: Piece) -> Patch {
        let html = html(move || view! { <PieceView piece/> }.into_any());
        Patch { id, html, into: pieces_id(self.reply()), over: false }
    }

    fn step(&self, call: ToolCall, result: Option<ToolResult>, took_ms: Option<u64>) -> Patch {
        self.piece(step_id(&call.call), Piece::Step { call, result, took_ms })
    }

    fn foot(&self, told: Option<String>) -> Patch {
        let message = self.run.reply(Vec::new());
        let turn = ShownTurn {
            id: message.id,
            role: message.role,
            who: self.name.clone(),
            pieces: Vec::new(),
            at: message.created_at,
            model: message.model,
            stop: message.stop,
            spent: message.spent,
            run: Some(self.run.clone()),
            told,
            asks: asks(&self.run.reply(self.parts.clone()).text()),
        };
        let (id, into) = (foot_id(self.reply()), format!("turn-{}", self.reply()));
        Patch { id, html: html(move || view! { <TurnFoot turn/> }.into_any()), into, over: false }
    }

    /// A part as it is when it is whole, or as far as it is there.
    fn part_whole(&mut self, part: &PartId) -> Option<Patch> {
        self.open = self.open.take().filter(|(open, _)| open != part);
        let (text, thoughts) = text_of(&self.parts, part)?;
        // Some models think without saying what.
        let silent = thoughts && text.trim().is_empty();
        (!silent).then(|| self.rendered(part, thoughts, markdown::to_html(text)))
    }

    /// The new words of a part: paragraphs that have become whole, and the one that is being written.
    fn more_words(&mut self, part: &PartId) -> Vec<Patch> {
        let known = self.open.take().filter(|(open, _)| open == part);
        let Some((text, thoughts)) = text_of(&self.parts, part) else { return Vec::new() };
        if thoughts && text.trim().is_empty() {
            return Vec::new();
        }
        let mut patches = Vec::new();
        let mut open = match known {
            Some((_, open)) => open,
            None => {
                // From here on it consists of paragraphs.
                patches.push(self.rendered(part, thoughts, String::new()));
                OpenWords::new(if thoughts { thoughts_id(part) } else { part_id(part) })
            }
        };
        patches.extend(open.grow(text));
        self.open = Some((part.clone(), open));
        patches
    }

    fn rendered(&self, part: &PartId, thoughts: bool, html: String) -> Patch {
        let (id, part) = (part_id(part), part.clone());
        self.piece(
            id,
            if thoughts { Piece::Thoughts { part, html } } else { Piece::Words { part, html } },
        )
    }
}
