//! The AI SDK's UI message stream, version 1: what a run tells, as its clients read it.
//!
//! Clients end a stream at what they do not know, older ones also at keys they do not know. So only what
//! every version knows is sent, and everything of our own travels in the message's metadata.

use std::sync::Arc;

use async_stream::stream as made_of;
use axum::{
    http::HeaderValue,
    response::{IntoResponse, Response},
};
use futures_util::{Stream, StreamExt};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::sse::{Event, stream};
use crate::{
    agent::SessionPath,
    domain::{
        error::ApiError,
        event::{RunEvent, Stamped},
        id::{CallId, ConversationId, MessageId, PartId, RunId},
        message::{Message, PartBody, Role},
        run::{Run, RunStatus, Spent, StopReason},
    },
};

/// One piece of the stream.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Chunk {
    Start { message_id: MessageId, message_metadata: Metadata },
    StartStep,
    TextStart { id: PartId },
    TextDelta { id: PartId, delta: String },
    TextEnd { id: PartId },
    ReasoningStart { id: PartId },
    ReasoningDelta { id: PartId, delta: String },
    ReasoningEnd { id: PartId },
    ToolInputStart { tool_call_id: CallId, tool_name: String },
    ToolInputAvailable { tool_call_id: CallId, tool_name: String, input: Value },
    ToolOutputAvailable { tool_call_id: CallId, output: Value },
    ToolOutputError { tool_call_id: CallId, error_text: String },
    FinishStep,
    MessageMetadata { message_metadata: Metadata },
    Finish,
    Abort,
    Error { error_text: String },
}

/// What we say of a message beside its words.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<ConversationId>,
    /// The run, which is also its trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<RunId>,
    /// The model that answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Why it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<&'static str>,
    /// What people read about how it ended, unless it simply came to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spent: Option<Spent>,
}

/// A message as a client keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UiMessage {
    /// The identifier.
    pub id: MessageId,
    /// Who says it.
    pub role: Role,
    /// What we say of it beside its words.
    pub metadata: Metadata,
    /// Its parts, as the AI SDK shapes them.
    pub parts: Vec<Value>,
}

/// What is being told of at the moment.
#[derive(Clone, Debug, PartialEq)]
enum Open {
    Text(PartId),
    Reasoning(PartId),
}

/// Turns what a run tells into the stream.
pub struct Projection {
    session: ConversationId,
    run: RunId,
    open: Option<Open>,
    in_step: bool,
    unanswered: Vec<CallId>,
}

impl Projection {
    /// Nothing told yet.
    pub fn new(run: &Run) -> Self {
        Self {
            session: run.conversation_id.clone(),
            run: run.id.clone(),
            open: None,
            in_step: false,
            unanswered: Vec::new(),
        }
    }

    fn close_part(&mut self) -> Option<Chunk> {
        Some(match self.open.take()? {
            Open::Text(id) => Chunk::TextEnd { id },
            Open::Reasoning(id) => Chunk::ReasoningEnd { id },
        })
    }

    /// Ends the step with all that is open in it: every call gets an answer.
    fn close_step(&mut self) -> Vec<Chunk> {
        let mut chunks: Vec<Chunk> = self.close_part().into_iter().collect();
        let left = std::mem::take(&mut self.unanswered).into_iter();
        chunks.extend(left.map(|tool_call_id| Chunk::ToolOutputError {
            tool_call_id,
            error_text: "The run ended before this tool gave its result.".into(),
        }));
        if std::mem::take(&mut self.in_step) {
            chunks.push(Chunk::FinishStep);
        }
        chunks
    }

    /// What an event becomes.
    pub fn project(&mut self, event: &RunEvent) -> Vec<Chunk> {
        match event {
            RunEvent::Started { reply_id, model } => vec![Chunk::Start {
                message_id: reply_id.clone(),
                message_metadata: Metadata {
                    session_id: Some(self.session.clone()),
                    trace_id: Some(self.run.clone()),
                    model: Some(model.clone()),
                    ..Metadata::default()
                },
            }],
            RunEvent::StepStarted { .. } => {
                let mut chunks = self.close_step();
                self.in_step = true;
                chunks.push(Chunk::StartStep);
                chunks
            }
            RunEvent::Text { part, delta } => {
                let (id, delta) = (part.clone(), delta.clone());
                let mut chunks = self.open_part(Open::Text(id.clone()));
                chunks.push(Chunk::TextDelta { id, delta });
                chunks
            }
            RunEvent::Reasoning { part, delta } => {
                let (id, delta) = (part.clone(), delta.clone());
                let mut chunks = self.open_part(Open::Reasoning(id.clone()));
                chunks.push(Chunk::ReasoningDelta { id, delta });
                chunks
            }
            RunEvent::PartEnded { .. } => self.close_part().into_iter().collect(),
            RunEvent::ToolCall { call, .. } => {
                let mut chunks: Vec<Chunk> = self.close_part().into_iter().collect();
                let (tool_call_id, tool_name) = (call.call.clone(), call.name.clone());
                self.unanswered.push(tool_call_id.clone());
                chunks.push(Chunk::ToolInputStart {
                    tool_call_id: tool_call_id.clone(),
                    tool_name: tool_name.clone(),
                });
                let input = call.input.clone();
                chunks.push(Chunk::ToolInputAvailable { tool_call_id, tool_name, input });
                chunks
            }
            RunEvent::ToolResult { result, .. } => {
                let tool_call_id = result.call.clone();
                self.unanswered.retain(|open| *open != tool_call_id);
                vec![match result.is_error {
                    true => {
                        let error_text = result.output.clone();
                        Chunk::ToolOutputError { tool_call_id, error_text }
                    }
                    false => {
                        let output = Value::String(result.output.clone());
                        Chunk::ToolOutputAvailable { tool_call_id, output }
                    }
                }]
            }
            // The results of a step's tools belong to it, and are still to come.
            RunEvent::StepEnded { .. } | RunEvent::Retrying { .. } => Vec::new(),
            RunEvent::Ended { status, stop, error, spent } => {
                let mut chunks = self.close_step();
                chunks.push(Chunk::MessageMetadata {
                    message_metadata: Metadata {
                        finish_reason: Some(finish_reason(*status, *stop)),
                        error: error.as_ref().map(ToString::to_string),
                        spent: Some(*spent),
                        ..Metadata::default()
                    },
                });
                chunks.push(match (status, error) {
                    (RunStatus::Stopped, _) => Chunk::Abort,
                    (_, None) => Chunk::Finish,
                    // A limit leaves the work undone: clients tell people of nothing else but an error.
                    (RunStatus::Done, Some(_)) if *stop != Some(StopReason::Limit) => Chunk::Finish,
                    (_, Some(error)) => Chunk::Error { error_text: error.to_string() },
                });
                chunks
            }
        }
    }

    /// Opens a part, unless it is open.
    fn open_part(&mut self, wanted: Open) -> Vec<Chunk> {
        if self.open.as_ref() == Some(&wanted) {
            return Vec::new();
        }
        let mut chunks: Vec<Chunk> = self.close_part().into_iter().collect();
        chunks.push(match &wanted {
            Open::Text(id) => Chunk::TextStart { id: id.clone() },
            Open::Reasoning(id) => Chunk::ReasoningStart { id: id.clone() },
        });
        self.open = Some(wanted);
        chunks
    }
}

/// Why a run ended, in the AI SDK's words.
fn finish_reason(status: RunStatus, stop: Option<StopReason>) -> &'static str {
    match (status, stop) {
        (RunStatus::Failed | RunStatus::Interrupted, _) => "error",
        (_, Some(StopReason::EndTurn | StopReason::StopSequence)) => "stop",
        (_, Some(StopReason::MaxTokens | StopReason::ContextExceeded)) => "length",
        (_, Some(StopReason::Refusal)) => "content-filter",
        (_, Some(StopReason::ToolUse)) => "tool-calls",
        (_, Some(StopReason::Limit)) => "error",
        (_, Some(StopReason::PauseTurn | StopReason::Other) | None) => "other",
    }
}

/// The stream of a run, from its beginning to its end.
pub fn respond(
    run: &Run,
    events: impl Stream<Item = Result<Arc<Stamped>, ApiError>> + Send + 'static,
    closing: CancellationToken,
) -> Response {
    let mut projection = Projection::new(run);
    let told = made_of! {
        let mut events = std::pin::pin!(events);
        while let Some(event) = events.next().await {
            let chunks = match event {
                Ok(stamped) => projection.project(&stamped.event),
                Err(error) => vec![Chunk::Error { error_text: error.to_string() }],
            };
            for chunk in chunks {
                yield Event::telling(&chunk);
            }
        }
        yield Event::done();
    };
    let mut response = stream(told, closing).of_run(&run.id).into_response();
    let headers = response.headers_mut();
    headers.insert("x-vercel-ai-ui-message-stream", HeaderValue::from_static("v1"));
    headers.insert("cache-control", HeaderValue::from_static("no-cache, no-transform"));
    if let Ok(session) = HeaderValue::from_str(run.conversation_id.as_str()) {
        headers.insert("greenroom-session-id", session);
    }
    response
}

/// The messages of a session's branch, as a client keeps them.
pub fn ui_messages(path: &SessionPath) -> Vec<UiMessage> {
    let messages = || path.items.iter().map(|item| &item.message);
    let message = |message: &Message| {
        let answered = messages().any(|other| other.parent_id.as_ref() == Some(&message.id));
        // An answer that never came is told with the question.
        let told_here =
            |run: &&Run| run.reply_id == message.id || !answered && run.message_id == message.id;
        ui_message(message, path.troubled.iter().rev().find(told_here))
    };
    messages().map(message).collect()
}

/// A message, and the run that wrote it or that it asked for, when that one did not simply come to its end.
fn ui_message(message: &Message, troubled: Option<&Run>) -> UiMessage {
    let mut parts: Vec<Value> = Vec::new();
    // A step begins where the model speaks after results.
    let mut fresh = message.role == Role::Assistant;
    for part in &message.parts {
        if let PartBody::ToolResult(result) = &part.body {
            let call = parts.iter_mut().find(|known| known["toolCallId"] == json!(result.call));
            if let Some(call) = call {
                match result.is_error {
                    true => {
                        call["state"] = json!("output-error");
                        call["errorText"] = json!(result.output);
                    }
                    false => {
                        call["state"] = json!("output-available");
                        call["output"] = json!(result.output);
                    }
                }
            }
            fresh = true;
            continue;
        }
        if std::mem::take(&mut fresh) {
            parts.push(json!({"type": "step-start"}));
        }
        match &part.body {
            PartBody::Text(text) => {
                parts.push(json!({"type": "text", "text": text, "state": "done"}));
            }
            PartBody::Reasoning(text) if !text.is_empty() => {
                parts.push(json!({"type": "reasoning", "text": text, "state": "done"}));
            }
            PartBody::ToolCall(call) => parts.push(json!({
                "type": format!("tool-{}", call.name),
                "toolCallId": call.call,
                "state": "input-available",
                "input": call.input,
            })),
            PartBody::Reasoning(_) | PartBody::ToolResult(_) => {}
        }
    }
    let error = troubled.and_then(|run| run.error.as_ref()).map(ToString::to_string);
    let metadata = match message.role {
        Role::User => Metadata {
            trace_id: troubled.map(|run| run.id.clone()),
            finish_reason: troubled.map(|run| finish_reason(run.status, run.stop)),
            error,
            ..Metadata::default()
        },
        Role::Assistant => Metadata {
            trace_id: message.run_id.clone(),
            model: Some(message.model.clone()),
            finish_reason: troubled
                .map(|run| finish_reason(run.status, run.stop))
                .or(message.stop.map(|stop| finish_reason(RunStatus::Done, Some(stop)))),
            error,
            spent: Some(message.spent),
            ..Metadata::default()
        },
    };
    UiMessage { id: message.id.clone(), role: message.role, metadata, parts }
}

#[cfg(test)]
mod tests;
