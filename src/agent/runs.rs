//! Starting, stopping, repeating and recovering runs.

use std::{mem::take, sync::Arc, time::Duration};

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::{
    Agent, asking::keep_asking, begun::Begun, chat_tree::ChatWords, driver::Brief, room::Guards,
    rounds::settle, session_talk::Follows, watch::LOOK,
};
use crate::{
    changes::{Scope, leave_drafts, refresh_index},
    domain::{
        change::Entity,
        error::ApiError,
        event::{RunEvent, Stamped, told_of},
        id::{ConversationId, MessageId, RunId, SpaceId, TestInputId},
        message::{Conversation, ConversationKind, Message, Part, PartBody, Role},
        news::News,
        run::{GO_ON, Run, Spent},
        terminal::LeftOut,
        timestamp::Timestamp,
        version::Revision,
    },
    providers::Route,
    store::{EventRow, Link, StoreError, new_id, now},
};

/// How long a stop waits for the run to come to its end.
const STOP_TIME: Duration = Duration::from_secs(10);

/// Why nobody could begin while another run came to its end.
const JUST_ENDED: &str = "The last answer came to its end in this very moment. Send it again.";

/// Whether another run was in the way, so that the same may go well a moment later.
pub(super) fn was_in_the_way(error: &ApiError) -> bool {
    match error {
        ApiError::Busy { .. } => true,
        ApiError::NotNow { reason } => reason == JUST_ENDED,
        _ => false,
    }
}

/// What a run is made of.
pub(super) struct Order {
    /// What it will be called.
    pub id: RunId,
    /// The first of the answers that it belongs to.
    pub round: RunId,
    /// Its place among them.
    pub place: i64,
    /// What its message follows, when that is not the message that asks for it.
    pub follows: Option<MessageId>,
    /// The conversation it goes on in.
    pub conversation: Conversation,
    /// The message that asks for it.
    pub message: MessageId,
    /// That message, when it was only just written.
    pub said: Option<Message>,
    /// Who speaks, and how it is reached.
    pub brief: Brief,
    /// The test input that it answers, at this revision.
    pub answers: Option<(TestInputId, Revision)>,
    /// What it waits for before it begins.
    pub wait: Option<Arc<Semaphore>>,
    /// Ends when it shall stop.
    pub stopped: CancellationToken,
    /// The message that it writes.
    pub reply: MessageId,
    /// What that message begins with: what another run said and did, when this one goes on from there.
    pub so_far: Vec<Part>,
}

impl Order {
    /// A run that begins at once.
    pub fn now(conversation: Conversation, message: MessageId, brief: Brief) -> Self {
        let id: RunId = new_id();
        Self {
            round: id.clone(),
            id,
            place: 0,
            follows: None,
            conversation,
            message,
            said: None,
            brief,
            answers: None,
            wait: None,
            stopped: CancellationToken::new(),
            reply: new_id(),
            so_far: Vec::new(),
        }
    }

    /// A run that answers what was only just said, at once.
    pub fn answering(conversation: Conversation, said: Message, brief: Brief) -> Self {
        let message = said.id.clone();
        Self { said: Some(said), ..Self::now(conversation, message, brief) }
    }
}

/// A message of a person.
pub(super) fn said(parent: Option<MessageId>, words: &str, at: Timestamp) -> Message {
    let body = PartBody::Text(words.to_owned());
    Message {
        id: new_id(),
        parent_id: parent,
        role: Role::User,
        parts: vec![Part { id: new_id(), at, body, carried: None }],
        run_id: None,
        model: String::new(),
        stop: None,
        spent: Spent::default(),
        created_at: at,
    }
}

impl Agent {
    /// How long one answer of a model may be, in tokens.
    pub(super) fn answer_tokens(&self, route: &Route) -> u64 {
        route.model.max_output.min(self.shared.limits.answer_tokens)
    }

    /// The way to a model, or why there is none.
    pub(super) async fn route(&self, scope: &Scope, model: &str) -> Result<Route, ApiError> {
        self.catalog(scope).await?.find(model)
    }

    /// The one name of a model that is chosen; an empty string stays one. A model that nobody would choose on
    /// purpose is refused.
    pub(super) async fn chosen_model(
        &self,
        scope: &Scope,
        model: &str,
    ) -> Result<String, ApiError> {
        let route = self.catalog(scope).await?.choose(model)?;
        Ok(if model.trim().is_empty() { String::new() } else { route.model.id })
    }

    /// Keeps what the link holds together with a new run, and starts it. When another run goes on in the
    /// conversation, nothing is kept.
    pub(super) async fn start(
        &self,
        link: Link,
        scope: &Scope,
        order: Order,
    ) -> Result<Run, ApiError> {
        let mut runs = self.start_all(link, scope, vec![order]).await?;
        runs.pop().ok_or_else(|| ApiError::Internal { incident: "no run was asked for".into() })
    }

    /// Keeps what the link holds together with new runs, of one conversation or each of a new one, and starts
    /// all of them.
    pub(super) async fn start_all(
        &self,
        mut link: Link,
        scope: &Scope,
        orders: Vec<Order>,
    ) -> Result<Vec<Run>, ApiError> {
        self.check_open()?;
        let mut guards = self.shared.limits.guards;
        if let Some(first) = orders.first() {
            let conversation = &first.conversation.id;
            guards = self.check_budgets(&mut link, scope, conversation, &orders).await?;
        }
        // Whoever asked may be gone before it is done: a run that is kept must also be driven.
        let kept = self.clone().keep_and_drive(link, scope.clone(), orders, guards);
        let started = tokio::spawn(kept);
        started.await.unwrap_or_else(|broke| {
            let incident = uuid::Uuid::now_v7().simple().to_string();
            tracing::error!(incident, %broke, "a run could not be started");
            Err(ApiError::Internal { incident })
        })
    }

    async fn keep_and_drive(
        self,
        mut link: Link,
        scope: Scope,
        orders: Vec<Order>,
        guards: Guards,
    ) -> Result<Vec<Run>, ApiError> {
        let mut begun = Vec::with_capacity(orders.len());
        for order in orders {
            let conversation = order.conversation.id.clone();
            match self.keep(&mut link, &scope, order, guards).await? {
                Some(kept) => begun.push(kept),
                None => {
                    drop(link);
                    return Err(self.in_the_way(&scope, &conversation).await?);
                }
            }
        }
        // They are known here before others can see their rows, so that nobody takes them for left ones.
        for Begun { run, live, .. } in &begun {
            self.lives().insert(run.id.clone(), live.clone());
        }
        let told = begun.iter_mut().flat_map(|one| take(&mut one.told)).collect();
        let keeping = keep_rest(link, begun.last().map(|one| one.run.clone()), told);
        let first = begun.first_mut().and_then(|first| first.asked.as_mut());
        let kept = match first {
            Some(asked) => keep_asking(keeping, &mut asked.answer).await,
            None => keeping.await,
        };
        if let Err(error) = kept {
            for Begun { run, .. } in &begun {
                self.lives().remove(&run.id);
            }
            return Err(error.into());
        }
        let mut runs = Vec::with_capacity(begun.len());
        for begun in begun {
            self.shared.relay.hold(&scope.space, &begun.run);
            runs.push(begun.run.clone());
            tokio::spawn(self.clone().drive(scope.clone(), begun));
        }
        Ok(runs)
    }

    /// Why nobody can begin in a conversation.
    async fn in_the_way(
        &self,
        scope: &Scope,
        conversation: &ConversationId,
    ) -> Result<ApiError, ApiError> {
        let going_on = self.read(scope).await?.run_going_on(conversation).await?;
        Ok(match going_on {
            Some(other) => ApiError::Busy { run_id: other.id },
            None => ApiError::NotNow { reason: JUST_ENDED.into() },
        })
    }

    /// A run as it stands.
    pub async fn run(&self, scope: &Scope, id: &RunId) -> Result<Run, ApiError> {
        Ok(self.read(scope).await?.run(id).await?)
    }

    /// Waits for a run's end.
    pub async fn ended(&self, scope: &Scope, id: &RunId) -> Result<Run, ApiError> {
        let mut elsewhere = None;
        loop {
            let live = self.live(id);
            if let Some(live) = live {
                live.over.cancelled().await;
            } else if elsewhere.is_none() {
                elsewhere = Some(self.shared.relay.follow(id).await);
            }
            let run = self.run(scope, id).await?;
            if run.status.is_over() {
                return Ok(run);
            }
            match &mut elsewhere {
                Some(hearing) => hearing.wait_for_end().await,
                None => tokio::time::sleep(LOOK).await,
            }
        }
    }

    /// Stops a run and keeps its words. One that has ended stays as it is.
    pub async fn stop(&self, scope: &Scope, id: &RunId) -> Result<Run, ApiError> {
        let run = self.run(scope, id).await?;
        if run.status.is_over() {
            return Ok(run);
        }
        match self.live(id) {
            Some(live) => live.stopped.cancel(),
            None if !self.shared.store.is_shared() && !self.goes_on_beside(scope, id).await? => {
                self.interrupt(scope.space.clone(), run).await?;
            }
            None => {
                let mut link = self.write(scope).await?;
                link.ask_to_stop(id, now()).await?;
                link.commit().await?;
                self.shared.relay.ask_to_stop(id);
            }
        }
        match tokio::time::timeout(STOP_TIME, self.ended(scope, id)).await {
            Ok(ended) => ended,
            Err(_) => self.run(scope, id).await,
        }
    }

    /// Asks the same again: the answer so far is left aside.
    pub async fn retry(&self, scope: &Scope, id: &RunId) -> Result<Run, ApiError> {
        let run = self.run(scope, id).await?;
        let conversation = self.read(scope).await?.conversation(&run.conversation_id).await?;
        match conversation.kind {
            ConversationKind::Test if run.status.is_over() => self.retry_test(scope, &run).await,
            ConversationKind::Test => Err(ApiError::Busy { run_id: run.id }),
            ConversationKind::Chat => self.retry_in_chat(scope, &run).await,
            ConversationKind::Playground => self.retry_in_session(scope, &run).await,
            ConversationKind::Editor | ConversationKind::Companion | ConversationKind::Terminal => {
                let reach = self.reach(scope, &run.message_id).await?;
                let mut brief = self.brief(scope, &conversation, reach).await?;
                brief.context = self.shared.sights.of(&run.message_id);
                let (mut link, conversation) = self.last_run(scope, &run).await?;
                // Nobody would find them in the conversation any more.
                leave_drafts(&mut link, &run.id).await?;
                self.start(link, scope, Order::now(conversation, run.message_id, brief)).await
            }
        }
    }

    /// Goes on with an answer that broke off.
    pub async fn go_on(&self, scope: &Scope, id: &RunId) -> Result<Run, ApiError> {
        let run = self.run(scope, id).await?;
        let known = self.read(scope).await?.conversation(&run.conversation_id).await?;
        let broke_off = || {
            let reason = "That answer did not break off, so there is nothing to go on with.";
            Err(ApiError::NotNow { reason: reason.into() })
        };
        if known.kind == ConversationKind::Chat {
            // Any branch can be gone on with: the words are said where the answer broke off.
            if !run.can_continue(known.kind) {
                return if run.status.is_over() {
                    broke_off()
                } else {
                    Err(ApiError::Busy { run_id: run.id })
                };
            }
            let kept = self.read(scope).await?.message(&run.reply_id).await.is_ok();
            let parent = if kept { run.reply_id.clone() } else { run.follows().clone() };
            let (content, parent) = (GO_ON.into(), Some(parent));
            let said = ChatWords { content, parent, branch: true, ..ChatWords::default() };
            let runs = self.say_to(scope, &known.id, said, Some(&run.persona_id)).await?;
            return runs.into_iter().next().ok_or_else(|| ApiError::not_found("run"));
        }
        if known.kind == ConversationKind::Playground && run.can_continue(known.kind) {
            let session = self.read(scope).await?.session(&known.id).await?;
            let kept = self.read(scope).await?.message(&run.reply_id).await.is_ok();
            let after = if kept { run.reply_id.clone() } else { run.message_id.clone() };
            return self.say_in_session(scope, session, GO_ON, Follows::After(after), None).await;
        }
        if matches!(known.kind, ConversationKind::Test | ConversationKind::Playground) {
            return if run.status.is_over() {
                broke_off()
            } else {
                Err(ApiError::Busy { run_id: run.id })
            };
        }
        let reach = self.reach(scope, &run.message_id).await?;
        let mut brief = self.brief(scope, &known, reach).await?;
        brief.context = self.shared.sights.of(&run.message_id);
        let (mut link, conversation) = self.last_run(scope, &run).await?;
        if !run.can_continue(known.kind) {
            return broke_off();
        }
        let message = said(conversation.leaf.clone(), GO_ON, now());
        link.insert_message(&conversation.id, &message).await?;
        reach.keep(&mut link, &message.id).await?;
        self.start(link, scope, Order::answering(conversation, message, brief)).await
    }

    /// A link that writes, and the conversation of a run that has ended and is the last there. Nobody else
    /// begins one until the link is done.
    async fn last_run(&self, scope: &Scope, run: &Run) -> Result<(Link, Conversation), ApiError> {
        let mut link = self.write(scope).await?;
        link.lock(&Entity::from(&run.persona_id)).await?;
        let conversation = link.conversation(&run.conversation_id).await?;
        if !link.run(&run.id).await?.status.is_over() {
            return Err(ApiError::Busy { run_id: run.id.clone() });
        }
        let last = conversation.leaf.as_ref();
        if last != Some(&run.reply_id) && last != Some(&run.message_id) {
            let reason =
                "The conversation has gone on since. Only its last answer can be repeated.";
            return Err(ApiError::NotNow { reason: reason.into() });
        }
        Ok((link, conversation))
    }
}

/// Keeps what no question to a model depends on: where the conversation stands, and the first events.
async fn keep_rest(
    mut link: Link,
    last: Option<Run>,
    told: Vec<EventRow>,
) -> Result<(), StoreError> {
    if let Some(run) = last {
        link.set_leaf(&run.conversation_id, run.follows(), run.created_at).await?;
    }
    link.append_events(&told).await?;
    link.commit().await
}

/// What every run tells first, with what it goes on from and what has no room in its first question.
pub(super) fn opening(
    run: &Run,
    at: Timestamp,
    so_far: &[Part],
    left_out: Option<LeftOut>,
) -> Vec<Stamped> {
    let (reply_id, model) = (run.reply_id.clone(), run.model.clone());
    let mut events = vec![RunEvent::Started { reply_id, model }];
    events.extend(so_far.iter().flat_map(|part| told_of(part.clone())));
    events.push(RunEvent::StepStarted { step: 1, left_out });
    (1..).zip(events).map(|(seq, event)| Stamped { seq, at, event }).collect()
}

/// The end of a run, for the log.
pub(super) fn ended_row(space: &SpaceId, run: &Run, seq: u64) -> EventRow {
    let at = run.ended_at.unwrap_or(run.created_at);
    let (space, run_id) = (space.clone(), run.id.clone());
    EventRow { space, run: run_id, seq, lengths: Vec::new(), event: run.ended(), at }
}

/// Keeps the end of a run: its last events, its message, and how it stands, and adds what it took since it
/// began to its day. `false` when it had ended.
pub(super) async fn close(
    link: &mut Link,
    run: &Run,
    took: Spent,
    parts: Vec<Part>,
    last: Vec<EventRow>,
) -> Result<bool, StoreError> {
    let kind = match link.conversation_kind(&run.conversation_id).await {
        Ok(kind) => kind,
        // It was removed for good, with all that was said in it.
        Err(StoreError::NotFound(_)) => return Ok(false),
        Err(error) => return Err(error),
    };
    let in_chat = kind == ConversationKind::Chat;
    let unsaid = kind == ConversationKind::Playground && parts.is_empty();
    if in_chat || unsaid {
        // Answers that end in the same moment learn of each other one by one, and nobody puts a file in
        // beside an answer that is not kept.
        link.lock(&Entity::from(&run.conversation_id)).await?;
    }
    if !link.end_run(run, took).await? {
        return Ok(false);
    }
    link.tell(News::of_run(run, kind));
    link.append_events(&last).await?;
    if in_chat {
        settle(link, run, parts).await?;
        refresh_index(link, &Entity::from(&run.conversation_id)).await?;
    } else if unsaid {
        link.move_files(&run.conversation_id, &run.reply_id, &run.message_id).await?;
    } else if !parts.is_empty() {
        link.insert_message(&run.conversation_id, &run.reply(parts)).await?;
        let at = run.ended_at.unwrap_or(run.created_at);
        link.set_leaf(&run.conversation_id, &run.reply_id, at).await?;
    }
    Ok(true)
}
