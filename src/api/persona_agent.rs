//! Talking with a persona's agent: one message in, a stream of what it says and does out.

use std::collections::HashMap;

use aide::axum::{
    ApiRouter,
    routing::{get_with, post_with},
};
use axum::{Json, extract::State};
use futures_util::StreamExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    extract::{Body, Params},
    sse::{Event, EventStream, stream},
};
use crate::{
    agent::Words,
    domain::{
        error::ApiError,
        event::RunEvent,
        id::{CallId, ConversationId, PartId, PersonaId, RunId},
        message::{PartBody, Role, Turn},
        run::StopReason,
        timestamp::Timestamp,
    },
    state::{AppState, Desk},
};

pub fn routes() -> ApiRouter<AppState> {
    ApiRouter::new()
        .api_route(
            "/api/persona-agent/chat",
            post_with(chat, |op| {
                op.summary("Say something to a persona's agent. Answers with server-sent events.")
            }),
        )
        .api_route(
            "/api/persona-agent/clear",
            post_with(clear, |op| op.summary("Begin a new conversation with a persona's agent.")),
        )
        .api_route(
            "/api/persona-agent/history",
            get_with(history, |op| op.summary("What was said with a persona's agent.")),
        )
}

/// Something said to a persona's agent.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Said {
    /// The persona.
    persona_id: PersonaId,
    /// What is said, up to 50 000 characters.
    message: String,
    /// What the sender calls it, once in a conversation: the same sent again hears the first answer.
    client_id: Option<String>,
}

/// A persona, named in a body.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Clearing {
    /// The persona.
    persona_id: PersonaId,
}

/// A persona, named after the question mark.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Named {
    /// The persona.
    persona_id: PersonaId,
}

/// The conversation that was begun.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Cleared {
    /// The conversation.
    session_id: ConversationId,
}

/// What was said with a persona's agent.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Told {
    /// All of it, in order.
    turns: Vec<AgentTurn>,
    /// The conversation; `null` before the first word.
    session_id: Option<ConversationId>,
    /// The run that goes on; its words so far are among the turns.
    run_id: Option<RunId>,
}

/// One entry of the flat list.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
enum AgentTurn {
    /// A person said something.
    User { id: PartId, content: String, created_at: Timestamp },
    /// The agent said something.
    AssistantText { id: PartId, content: String, created_at: Timestamp },
    /// The agent called a tool.
    ToolCall {
        id: PartId,
        tool_use_id: CallId,
        tool_name: String,
        input: Value,
        created_at: Timestamp,
    },
    /// The tool gave its result.
    ToolResult {
        id: PartId,
        tool_use_id: CallId,
        output: String,
        is_error: bool,
        created_at: Timestamp,
    },
}

/// What the stream of a message tells.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
enum ChatEvent {
    TextDelta { content: String },
    TextComplete { id: PartId, content: String },
    ToolCall { id: PartId, tool_use_id: CallId, tool_name: String, input: Value },
    ToolResult { id: PartId, tool_use_id: CallId, output: String, is_error: bool },
    Done,
    Error { message: String },
}

fn entry(turn: Turn) -> Option<AgentTurn> {
    let (id, created_at) = (turn.part.id, turn.part.at);
    match turn.part.body {
        PartBody::Text(content) => Some(match turn.role {
            Role::User => AgentTurn::User { id, content, created_at },
            Role::Assistant => AgentTurn::AssistantText { id, content, created_at },
        }),
        PartBody::Reasoning(_) => None,
        PartBody::ToolCall(call) => Some(AgentTurn::ToolCall {
            id,
            tool_use_id: call.call,
            tool_name: call.name,
            input: call.input,
            created_at,
        }),
        PartBody::ToolResult(result) => Some(AgentTurn::ToolResult {
            id,
            tool_use_id: result.call,
            output: result.output,
            is_error: result.is_error,
            created_at,
        }),
    }
}

/// Turns what a run tells into what this stream tells; texts are joined for their completion.
#[derive(Default)]
struct Projection {
    texts: HashMap<PartId, String>,
}

impl Projection {
    fn project(&mut self, event: &RunEvent) -> Option<ChatEvent> {
        match event {
            RunEvent::Text { part, delta } => {
                self.texts.entry(part.clone()).or_default().push_str(delta);
                Some(ChatEvent::TextDelta { content: delta.clone() })
            }
            RunEvent::PartEnded { part, .. } => {
                let content = self.texts.remove(part)?;
                Some(ChatEvent::TextComplete { id: part.clone(), content })
            }
            RunEvent::ToolCall { part, call, .. } => Some(ChatEvent::ToolCall {
                id: part.clone(),
                tool_use_id: call.call.clone(),
                tool_name: call.name.clone(),
                input: call.input.clone(),
            }),
            RunEvent::ToolResult { part, result, .. } => Some(ChatEvent::ToolResult {
                id: part.clone(),
                tool_use_id: result.call.clone(),
                output: result.output.clone(),
                is_error: result.is_error,
            }),
            // It came to its end, also when that was all.
            RunEvent::Ended {
                stop: Some(StopReason::EndTurn | StopReason::StopSequence | StopReason::ToolUse),
                ..
            }
            | RunEvent::Ended { error: None, .. } => Some(ChatEvent::Done),
            RunEvent::Ended { error: Some(error), .. } => {
                Some(ChatEvent::Error { message: error.to_string() })
            }
            RunEvent::Started { .. }
            | RunEvent::StepStarted { .. }
            | RunEvent::Retrying { .. }
            | RunEvent::Reasoning { .. }
            | RunEvent::StepEnded { .. } => None,
        }
    }
}

async fn chat(
    State(state): State<AppState>,
    desk: Desk,
    Body(said): Body<Said>,
) -> Result<EventStream, ApiError> {
    let words = Words { text: &said.message, client: said.client_id.as_deref() };
    let run = desk.agent.send(&desk.scope, &said.persona_id, words, None).await?;
    let events = desk.agent.watch(&desk.scope, &run.id, 0).await?;
    let mut projection = Projection::default();
    let told = events.filter_map(move |event| {
        let told = match event {
            Ok(stamped) => projection.project(&stamped.event),
            Err(error) => Some(ChatEvent::Error { message: error.to_string() }),
        };
        std::future::ready(told.map(|told| Event::telling(&told)))
    });
    Ok(stream(told, state.closing).of_run(&run.id))
}

async fn clear(desk: Desk, Body(named): Body<Clearing>) -> Result<Json<Cleared>, ApiError> {
    let session_id = desk.agent.clear(&desk.scope, &named.persona_id).await?;
    Ok(Json(Cleared { session_id }))
}

async fn history(desk: Desk, Params(named): Params<Named>) -> Result<Json<Told>, ApiError> {
    let history = desk.agent.history(&desk.scope, &named.persona_id).await?;
    Ok(Json(Told {
        turns: history.turns.into_iter().filter_map(entry).collect(),
        session_id: history.conversation,
        run_id: history.going_on,
    }))
}
