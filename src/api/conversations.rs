//! Talking with the companion, or with anyone who listens in a conversation: a message in, and a stream
//! of what is done and said.

use std::collections::HashMap;

use aide::axum::{
    ApiRouter,
    routing::{get_with, post_with},
};
use axum::{
    Json,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use futures_util::StreamExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    extract::{Body, Created, Params, Segments},
    sse::{Event, last_event_id, stream},
};
use crate::{
    agent::Words,
    domain::{
        change::{Entity, EntityKind},
        error::ApiError,
        event::RunEvent,
        id::{CallId, ChangeId, ConversationId, MessageId, RunId},
        list::Page,
        message::{Message, PartBody, Role, ToolCall},
        run::{Spent, Usage},
        timestamp::Timestamp,
    },
    state::{AppState, Desk, looking_at, marking},
};

/// How many messages of a conversation are told.
const MESSAGES: u32 = 200;

pub fn routes() -> ApiRouter<AppState> {
    ApiRouter::new()
        .api_route(
            "/api/conversations/ambient",
            get_with(ambient, |op| op.summary("The conversation with the companion.")),
        )
        .api_route(
            "/api/conversations/{id}/messages",
            post_with(say, |op| op.summary("Say something in a conversation."))
                .get_with(messages, |op| op.summary(
                    "What was said last in a conversation, in order; `next` leads to what was said before.",
                )),
        )
        .api_route(
            "/api/conversations/{id}/stream",
            get_with(follow, |op| {
                op.summary("The answer to a message, as server-sent events; asking again attaches.")
            }),
        )
}

#[derive(Deserialize, JsonSchema)]
struct ConversationPath {
    /// The conversation.
    id: ConversationId,
}

/// A conversation.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Ambient {
    /// The conversation.
    id: ConversationId,
}

/// Something said in a conversation.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Said {
    /// What is said, up to 50 000 characters.
    content: String,
    /// What the person looks at; told to the listener, and not kept.
    view: Option<View>,
    /// The passage that they marked there.
    #[serde(default)]
    selection: String,
    /// What the sender calls it, once in a conversation: the same sent again is told of the first and its run.
    client_id: Option<String>,
}

/// What a person looks at.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct View {
    /// What it is.
    entity_type: EntityKind,
    /// Which one.
    entity_id: String,
}

/// The message that was kept, and the run that answers it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Kept {
    /// The message.
    id: MessageId,
    /// The run.
    run_id: RunId,
}

#[derive(Deserialize, JsonSchema)]
struct MessagesParams {
    /// The `next` of the messages that were said after those that are wanted.
    after: Option<MessageId>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct StreamParams {
    /// The message that is answered.
    message_id: MessageId,
    /// Only what came after this event; `Last-Event-ID` says the same.
    after: Option<u64>,
}

/// A message as a program reads it: one for each answer, with what was done in its metadata.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ToldMessage {
    id: MessageId,
    role: Role,
    /// All its words.
    content: String,
    created_at: Timestamp,
    /// What belongs to an answer; `null` for a person's.
    metadata: Option<Metadata>,
}

/// What belongs to an answer.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    run_id: Option<RunId>,
    /// The tools that were used, in order.
    trace: Vec<TraceStep>,
    /// The drafts that were made.
    draft_ids: Vec<ChangeId>,
    model: String,
    usage: Usage,
    spent: Spent,
}

/// One use of a tool.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TraceStep {
    tool: String,
    args: Value,
    status: ToolStatus,
    result: String,
}

/// Where a tool stands.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ToolStatus {
    Running,
    Done,
    Failed,
}

/// What the stream tells. The type is the event's name, too.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase", rename_all_fields = "camelCase")]
enum Told {
    Tool { tool: String, args_summary: String, status: ToolStatus },
    Delta { text: String },
    Draft { pending_change_id: ChangeId, summary: String },
    Done { assistant_message_id: MessageId, usage: Usage },
    Error { message: String },
}

impl Told {
    fn name(&self) -> &'static str {
        match self {
            Self::Tool { .. } => "tool",
            Self::Delta { .. } => "delta",
            Self::Draft { .. } => "draft",
            Self::Done { .. } => "done",
            Self::Error { .. } => "error",
        }
    }
}

async fn ambient(desk: Desk) -> Result<Json<Ambient>, ApiError> {
    Ok(Json(Ambient { id: desk.ambient().await? }))
}

async fn say(
    desk: Desk,
    Segments(path): Segments<ConversationPath>,
    Body(said): Body<Said>,
) -> Result<Created<Kept>, ApiError> {
    let view = said.view.map(|view| Entity::new(view.entity_type, &view.entity_id));
    let context = match view {
        Some(entity) => Some(looking_at(&desk, &entity, &said.selection).await?),
        None if said.selection.trim().is_empty() => None,
        None => {
            let told = "The person does not say what they are looking at.".to_owned();
            Some(marking(&desk, told, &said.selection).await?)
        }
    };
    let agent = &desk.agent;
    let words = Words { text: &said.content, client: said.client_id.as_deref() };
    let run = agent.say_in(&desk.scope, &path.id, words, context).await;
    let run = run.map_err(|error| match error {
        ApiError::Invalid { field, rule } if field == "message" => {
            ApiError::invalid("content", rule)
        }
        other => other,
    })?;
    Ok(Created(Kept { id: run.message_id, run_id: run.id }))
}

async fn messages(
    desk: Desk,
    Segments(path): Segments<ConversationPath>,
    Params(asked): Params<MessagesParams>,
) -> Result<Json<Page<ToldMessage>>, ApiError> {
    if let Some(last) = &asked.after {
        check_said(&desk, &path.id, last).await?;
    }
    let talk = desk.agent.talk(&desk.scope, &path.id, asked.after.as_ref(), MESSAGES).await?;
    let next = talk.earlier.map(|earlier| earlier.to_string());
    let items = talk.messages.into_iter().map(told_message).collect();
    Ok(Json(Page { items, next }))
}

fn told_message(message: Message) -> ToldMessage {
    let content = message.text();
    let metadata = (message.role == Role::Assistant).then(|| Metadata {
        run_id: message.run_id.clone(),
        trace: trace(&message),
        draft_ids: drafts(&message),
        model: message.model.clone(),
        usage: message.spent.usage,
        spent: message.spent,
    });
    ToldMessage {
        id: message.id,
        role: message.role,
        content,
        created_at: message.created_at,
        metadata,
    }
}

fn trace(message: &Message) -> Vec<TraceStep> {
    let mut steps: Vec<(CallId, TraceStep)> = Vec::new();
    for part in &message.parts {
        match &part.body {
            PartBody::ToolCall(call) => steps.push((
                call.call.clone(),
                TraceStep {
                    tool: call.name.clone(),
                    args: call.input.clone(),
                    status: ToolStatus::Running,
                    result: String::new(),
                },
            )),
            PartBody::ToolResult(result) => {
                if let Some((_, step)) = steps.iter_mut().find(|(call, _)| *call == result.call) {
                    step.status = status(result.is_error);
                    step.result.clone_from(&result.output);
                }
            }
            PartBody::Text(_) | PartBody::Reasoning(_) => {}
        }
    }
    steps.into_iter().map(|(_, step)| step).collect()
}

fn drafts(message: &Message) -> Vec<ChangeId> {
    let changes = message.parts.iter().filter_map(|part| match &part.body {
        PartBody::ToolResult(result) => result.change_id.clone(),
        PartBody::Text(_) | PartBody::Reasoning(_) | PartBody::ToolCall(_) => None,
    });
    changes.collect()
}

fn status(failed: bool) -> ToolStatus {
    if failed { ToolStatus::Failed } else { ToolStatus::Done }
}

/// The first words of what a tool is given.
fn summary(call: &ToolCall) -> String {
    call.input.to_string().chars().take(120).collect()
}

/// Refuses a message of another conversation.
pub(super) async fn check_said(
    desk: &Desk,
    conversation: &ConversationId,
    message: &MessageId,
) -> Result<(), ApiError> {
    match desk.read().await?.conversation_of(message).await? == *conversation {
        true => Ok(()),
        false => Err(ApiError::not_found("message")),
    }
}

/// The answer to a message.
async fn follow(
    State(state): State<AppState>,
    desk: Desk,
    Segments(path): Segments<ConversationPath>,
    Params(params): Params<StreamParams>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let message = &params.message_id;
    check_said(&desk, &path.id, message).await?;
    let run = desk.agent.answer(&desk.scope, message).await?;
    let last = last_event_id(&headers)?;
    let seen = last.or(params.after).unwrap_or_default();
    // A browser that has seen the end asks once more by itself: this tells it to stop.
    if last.is_some() && desk.agent.has_ended_at(&desk.scope, &run.id, seen).await? {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    // From the beginning, because the end of a call says what the call was.
    let mut events = desk.agent.watch(&desk.scope, &run.id, 0).await?;
    let (id, reply) = (run.id.clone(), run.reply_id.clone());
    let told = async_stream::stream! {
        let mut calls: HashMap<CallId, ToolCall> = HashMap::new();
        while let Some(event) = events.next().await {
            let (seq, told) = match event {
                Ok(one) if one.seq <= seen && !matches!(one.event, RunEvent::Ended { .. }) => {
                    note_call(&mut calls, &one.event);
                    continue;
                }
                Ok(one) => (Some(one.seq), told(&desk, &mut calls, &one.event, &reply).await),
                Err(error) => (None, vec![Told::Error { message: error.to_string() }]),
            };
            let count = told.len();
            for (number, told) in (1..).zip(told) {
                // Whoever comes back between the pieces of one event is told all of them.
                yield Event::named(told.name(), seq.filter(|_| number == count), &told);
            }
        }
    };
    Ok(stream(told, state.closing).of_run(&id).into_response())
}

/// Remembers a call until its result comes.
fn note_call(calls: &mut HashMap<CallId, ToolCall>, event: &RunEvent) {
    if let RunEvent::ToolCall { call, .. } = event {
        calls.insert(call.call.clone(), call.clone());
    }
}

async fn told(
    desk: &Desk,
    calls: &mut HashMap<CallId, ToolCall>,
    event: &RunEvent,
    reply: &MessageId,
) -> Vec<Told> {
    match event {
        RunEvent::Text { delta, .. } => vec![Told::Delta { text: delta.clone() }],
        RunEvent::ToolCall { call, .. } => {
            note_call(calls, event);
            let (tool, args_summary) = (call.name.clone(), summary(call));
            vec![Told::Tool { tool, args_summary, status: ToolStatus::Running }]
        }
        RunEvent::ToolResult { result, .. } => {
            let args_summary = calls.remove(&result.call).map(|call| summary(&call));
            let mut told = vec![Told::Tool {
                tool: result.name.clone(),
                args_summary: args_summary.unwrap_or_default(),
                status: status(result.is_error),
            }];
            if let Some(change) = &result.change_id
                && let Ok(draft) = desk.gate.proposal(change).await
            {
                let pending_change_id = change.clone();
                told.push(Told::Draft { pending_change_id, summary: draft.summary });
            }
            told
        }
        RunEvent::Ended { error: Some(error), .. } => {
            vec![Told::Error { message: error.to_string() }]
        }
        RunEvent::Ended { error: None, spent, .. } => {
            vec![Told::Done { assistant_message_id: reply.clone(), usage: spent.usage }]
        }
        RunEvent::Started { .. }
        | RunEvent::StepStarted { .. }
        | RunEvent::Retrying { .. }
        | RunEvent::Reasoning { .. }
        | RunEvent::PartEnded { .. }
        | RunEvent::StepEnded { .. } => Vec::new(),
    }
}
