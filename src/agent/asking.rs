//! What a model is asked: the window of the conversation, and the question made of it.

use std::pin::{Pin, pin};

use futures_util::{
    StreamExt,
    stream::{BoxStream, Peekable},
};
use tokio::time::Instant;

use super::{
    Agent,
    driver::Brief,
    manager, notes,
    room::{Allowance, Bound, Room},
    tool::Registry,
    voices, window,
};
use crate::{
    domain::{
        budget::Taken,
        error::ApiError,
        message::{Message, Part, PartBody, Turn},
        run::{Run, Usage},
        terminal::LeftOut,
        tokens::estimate,
    },
    providers::{Ask, ModelEvent, ProviderError, Route},
    store::{Link, StoreError},
};

/// Which part of a model's window is left free: tokens are only estimated.
const MARGIN: u64 = 32;

/// What a model answers, piece by piece. Dropping it closes the connection.
pub(super) type Answer = Peekable<BoxStream<'static, Result<ModelEvent, ProviderError>>>;

/// An answer that was asked for.
pub(super) struct Asked {
    /// The answer.
    pub answer: Answer,
    /// About how many tokens the question has.
    pub reading: u64,
    /// How long the answer may be, when something limits it.
    pub room: Option<Room>,
    /// What it may take at most, where that is counted.
    pub held: Option<Taken>,
    /// What had no room in the question any more.
    pub left_out: Option<LeftOut>,
    /// When it was asked for.
    pub at: Instant,
}

/// What came of wanting to ask: an answer, or the limit that leaves no room for one.
pub(super) type Asking = Result<Asked, Bound>;

impl Agent {
    /// How many tokens of a model's window are not for the conversation: what it is told before it, its answer,
    /// and the part that is left free.
    fn reserved(&self, route: &Route, told: u64) -> u64 {
        told + self.answer_tokens(route) + route.model.context / MARGIN
    }

    /// How many tokens of a conversation a model is sent beside what it is told. What is recorded of a question
    /// and what is foretold of one are cut by it where the question itself is.
    pub(super) fn history_room(&self, route: &Route, told: u64) -> u64 {
        window::room(route.model.context, self.reserved(route, told))
    }

    /// Asks the model of a run: the branch as this link sees it, and what the run has said and done so
    /// far. What was only just `said` is not read again. Nothing is sent before the answer is polled, and
    /// nothing of the branch is held from then on. No longer answer is asked for than what is `left` allows.
    pub(super) async fn ask_model(
        &self,
        link: &mut Link,
        run: &Run,
        brief: &Brief,
        said: Option<Message>,
        so_far: Vec<Part>,
        left: Allowance,
    ) -> Result<Asking, ApiError> {
        let (route, model) = (&brief.route, &brief.route.model);
        // What was only just said is asked for the first time.
        let is_new = said.is_some();
        let mut branch = match (&brief.chat, said) {
            (Some(chat), _) => {
                let most = i64::from(chat.window + window::REACH);
                let mut branch = link.branch_end(&run.message_id, most).await?;
                branch.split_off(window::last(&branch, chat.window))
            }
            (None, None) => link.branch(&run.message_id).await?,
            (None, Some(said)) => {
                let mut before = match &said.parent_id {
                    Some(parent) => link.branch(parent).await?,
                    None => Vec::new(),
                };
                before.push(said);
                before
            }
        };
        let heard = match &brief.chat {
            Some(_) => {
                let most = i64::try_from(branch.len()).unwrap_or(i64::MAX);
                link.voices(&run.conversation_id, &run.message_id, most).await?
            }
            None => Vec::new(),
        };
        // Before the first words of a conversation there was nothing to decide on.
        let decided = match branch.as_slice() {
            [first] if is_new && first.parent_id.is_none() => Vec::new(),
            branch => notes::decided(link, run, branch).await?,
        };
        let context = brief.context.as_ref().map(|sight| sight.told.as_str());
        let tried = if is_new { Vec::new() } else { notes::tried(link, run, &decided).await? };
        notes::add(&mut branch, context, &tried, &decided);
        if let Some(window) = &brief.window {
            let from = branch.iter().position(|message| message.id == window.first);
            branch.drain(..from.unwrap_or_default());
            if window.cut_results {
                manager::cut_results(&mut branch);
            }
        }
        if !so_far.is_empty() {
            branch.push(run.reply(so_far));
        }
        // A model that knows no tools is not told of any.
        if !model.tools {
            window::leave_words(&mut branch);
        }
        let usual = self.answer_tokens(route);
        let system = brief.system();
        let tools = if model.tools { brief.tools.specs() } else { &[] };
        let told = told(route, &system, &brief.tools);
        let whole = model.context.saturating_sub(self.reserved(route, told));
        let results_cut = window::shorten(&mut branch, whole);
        let (turns, before) = window::fit(branch, self.history_room(route, told), |newest| {
            voices::hear(newest, &heard, &brief.persona.id);
        });
        let left_out = left_out(&before, results_cut);
        let reading = told + reading(&turns);
        let room = left.room(reading, model.price).map(|room| room.beside(usual));
        if let Some(room) = room.filter(|room| !room.is_enough()) {
            return Ok(Err(room.bound));
        }
        let max_tokens = room.map_or(usual, |room| room.tokens.min(usual));
        let held = room.filter(|_| left.is_counted()).map(|_| {
            let (input, output) = (Some(reading), Some(max_tokens));
            let usage = Usage { input, output, ..Usage::default() };
            let cost_micros = model.price.map_or(0, |price| price.micros(usage));
            Taken { tokens: reading.saturating_add(max_tokens), cost_micros }
        });
        let ask = Ask {
            service: &route.service.service,
            model: &model.name,
            system: &system,
            turns: &turns,
            tools,
            max_tokens,
            thoughts: route.thoughts,
            quirks: route.quirks,
        };
        let answer = self.shared.providers.ask(route, &ask).peekable();
        Ok(Ok(Asked { answer, reading, room, held, left_out, at: Instant::now() }))
    }
}

/// What did not fit by now: what was set aside before the answer began is told there.
fn left_out(before: &[Message], results_cut: u32) -> Option<LeftOut> {
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let (exchanges, messages) = (count(manager::exchanges(before)), count(before.len()));
    let left_out = LeftOut { exchanges, messages, results_cut, summarized: false };
    (left_out != LeftOut::default()).then_some(left_out)
}

/// About how many tokens a model is told before the conversation.
pub(super) fn told(route: &Route, system: &str, tools: &Registry) -> u64 {
    estimate(system) as u64 + if route.model.tools { tools.reading() } else { 0 }
}

/// About how many tokens a conversation has.
fn reading(turns: &[Turn]) -> u64 {
    let said = turns.iter().map(|turn| match &turn.part.body {
        PartBody::Text(text) | PartBody::Reasoning(text) => estimate(text),
        PartBody::ToolCall(call) => estimate(&call.name) + estimate(&call.input.to_string()),
        PartBody::ToolResult(result) => estimate(&result.output),
    });
    said.sum::<usize>() as u64
}

/// Keeps a new run while its model is asked already: a disk takes its time. When it cannot be kept,
/// whoever called drops the answer unseen.
pub(super) async fn keep_asking(
    keeping: impl Future<Output = Result<(), StoreError>>,
    answer: &mut Answer,
) -> Result<(), StoreError> {
    let (mut keeping, first) = (pin!(keeping), Pin::new(answer).peek());
    tokio::select! {
        // The question goes out first.
        biased;
        _ = first => keeping.await,
        kept = &mut keeping => kept,
    }
}
