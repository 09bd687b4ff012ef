//! Writing a run down: its row, what its model is told, what it tells first, and the first question, which is
//! asked while all of that is kept.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::{
    Agent,
    asking::Asked,
    budgets::counted_key,
    driver::Brief,
    live::Live,
    room::{Bound, Guards},
    runs::{Order, opening},
};
use crate::{
    changes::Scope,
    domain::{
        error::ApiError,
        event::Stamped,
        id::RunId,
        news::News,
        run::{Run, RunStatus, Spent},
    },
    store::{Beginning, EventRow, Link, now},
};

/// A run that is written down, and all that it takes to drive it.
pub(super) struct Begun {
    /// The run.
    pub run: Run,
    /// How it is known here.
    pub live: Arc<Live>,
    /// Who speaks, and how it is reached.
    pub brief: Brief,
    /// How far it may go.
    pub guards: Guards,
    /// What it waits for before it begins.
    pub wait: Option<Arc<Semaphore>>,
    /// What was asked already.
    pub asked: Option<Asked>,
    /// What it told first, which is not kept yet.
    pub told: Vec<EventRow>,
}

impl Agent {
    /// Writes a run down. `None` when another one goes on at its place.
    pub(super) async fn keep(
        &self,
        link: &mut Link,
        scope: &Scope,
        order: Order,
        guards: Guards,
    ) -> Result<Option<Begun>, ApiError> {
        let at = now();
        let Order { id, round, place, follows, conversation, message, said, .. } = order;
        let Order { brief, answers, wait, stopped, reply, so_far, .. } = order;
        let status = if wait.is_some() { RunStatus::Queued } else { RunStatus::Running };
        let run = Run {
            id,
            conversation_id: conversation.id.clone(),
            message_id: message.clone(),
            reply_id: reply,
            round_id: round,
            place,
            follows_id: follows.filter(|follows| *follows != message),
            persona_id: brief.persona.id.clone(),
            persona_revision: brief.persona.revision,
            model: brief.route.model.id.clone(),
            status,
            stop: None,
            error: None,
            spent: Spent::default(),
            created_at: at,
            ended_at: None,
        };
        let key = counted_key(&scope.space, &brief.route);
        // It is there even if the run is interrupted.
        let prompt = match &brief.chat {
            Some(chat) => serde_json::json!(chat.recorded),
            None => serde_json::json!(self.recorded(&brief)),
        };
        let by = Beginning {
            user: &scope.user,
            node: &self.shared.node,
            key: &key,
            prompt: &prompt.to_string(),
        };
        if !link.insert_run(&run, by).await? {
            return Ok(None);
        }
        if let Some((input, revision)) = &answers {
            let persona = (&run.persona_id, run.persona_revision);
            link.insert_test_answer(input, *revision, persona, &run.id, at).await?;
        }
        if let Some(sight) = &brief.context {
            self.shared.sights.remember(&message, sight);
            link.keep_shown_sources(&conversation.id, &message, &sight.sources).await?;
        }
        let (asked, opening) = match wait {
            Some(_) => (None, Vec::new()),
            None => {
                let before = so_far.clone();
                let asking = self.ask_model(link, &run, &brief, said, before, guards.allowed);
                let asked = asking.await?.map_err(Bound::refused)?;
                if let Some(held) = asked.held {
                    link.hold_for_run(&run.id, held).await?;
                }
                let opening = opening(&run, at, &so_far, asked.left_out);
                (Some(asked), opening)
            }
        };
        // The first events are kept with the run itself, while the model is asked.
        let told = opening.iter().map(|one| row(scope, &run.id, one)).collect();
        let live = Arc::new(Live::new(scope.space.clone(), run.id.clone(), opening, stopped));
        link.tell(News::of_run(&run, conversation.kind));
        Ok(Some(Begun { run, live, brief, guards, wait, asked, told }))
    }
}

fn row(scope: &Scope, run: &RunId, one: &Stamped) -> EventRow {
    EventRow {
        space: scope.space.clone(),
        run: run.clone(),
        seq: one.seq,
        lengths: Vec::new(),
        event: one.event.clone(),
        at: one.at,
    }
}
