//! What a model is asked: the window of the conversation, and the question made of it.

use std::pin::{Pin, pin};

use futures_util::{
    StreamExt,
    stream::{BoxStream, Peekable},
};
use tokio::time::Instant;

use super::{Agent, driver::Brief, notes, voices, window};
use crate::{
    domain::{
        error::ApiError,
        message::{Message, Part, PartBody},
        run::Run,
        tokens::estimate,
    },
    providers::{Ask, ModelEvent, ProviderError},
    store::{Link, StoreError},
};

/// What a model answers, piece by piece. Dropping it closes the connection.
pub(super) type Answer = Peekable<BoxStream<'static, Result<ModelEvent, ProviderError>>>;

/// An answer that was asked for before its run was driven.
pub(super) struct Asked {
    /// The answer.
    pub answer: Answer,
    /// When it was asked for.
    pub at: Instant,
}

impl Agent {
    /// Asks the model of a run: the branch as this link sees it, and what the run has said and done so
    /// far. What was only just `said` is not read again. Nothing is sent before the answer is polled, and
    /// nothing of the branch is held from then on.
    pub(super) async fn ask_model(
        &self,
        link: &mut Link,
        run: &Run,
        brief: &Brief,
        said: Option<Message>,
        so_far: Vec<Part>,
    ) -> Result<Answer, ApiError> {
        let (route, model) = (&brief.route, &brief.route.model);
        let mut branch = match (&brief.chat, said) {
            (Some(chat), _) => link.branch_end(&run.message_id, i64::from(chat.window)).await?,
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
            Some(chat) => {
                link.voices(&run.conversation_id, &run.message_id, i64::from(chat.window)).await?
            }
            None => Vec::new(),
        };
        let decided = notes::decided(link, run, &branch).await?;
        let context = brief.context.as_ref().map(|sight| sight.told.as_str());
        notes::add(&mut branch, context, decided);
        if !so_far.is_empty() {
            branch.push(run.reply(so_far));
        }
        // A model that knows no tools is not told of any.
        if !model.tools {
            for message in &mut branch {
                message.parts.retain(|part| matches!(part.body, PartBody::Text(_)));
            }
        }
        let max_tokens = self.answer_tokens(route);
        let system = brief.system();
        let reserved = estimate(&system) as u64 + max_tokens;
        let turns = window::fit(branch, window::room(model.context, reserved), |newest| {
            voices::hear(newest, &heard, &brief.persona.id);
        });
        let ask = Ask {
            service: &route.service.service,
            model: &model.name,
            system: &system,
            turns: &turns,
            tools: if model.tools { brief.tools.specs() } else { &[] },
            max_tokens,
            thoughts: route.thoughts,
            quirks: route.quirks,
        };
        Ok(self.shared.providers.ask(route, &ask).peekable())
    }
}

/// Keeps a new run while its model is asked already: a disk takes its time. When it cannot be kept,
/// whoever called drops the answer unseen.
pub(super) async fn keep_asking(
    keeping: impl Future<Output = Result<(), StoreError>>,
    answer: &mut Answer,
) -> Result<(), StoreError> {
    let (mut keeping, first) = (pin!(keeping), Pin::new(answer).peek());
    tokio::select! {
        biased;
        kept = &mut keeping => kept,
        _ = first => keeping.await,
    }
}
