//! A trace in the words of OpenTelemetry's conventions for generative models.

use serde_json::json;

use super::{
    Content, Names,
    fitting::{cut, fitting},
    message::{
        AnyValue, ArrayValue, Event, KeyValue, Span as Told, SpanKind, Status, StatusCode, Value,
    },
};
use crate::domain::{
    id::CallId,
    message::{PartBody, Role, ToolCall},
    run::{RunStatus, StopReason, Usage},
    sent::Sent,
    trace::{RUN_SPAN, Retry, Span, Trace, What},
};

const NANOS_PER_MS: u64 = 1_000_000;

/// How a trace is told.
#[derive(Clone, Copy)]
pub struct Manner {
    /// Whether what was said goes along.
    pub content: Content,
    /// How things are named.
    pub names: Names,
}

/// The spans of a trace.
pub fn spans(trace: &Trace, sent: Option<&Sent>, manner: Manner) -> Vec<Told> {
    let teller = Teller { trace, sent, manner };
    trace.spans.iter().filter_map(|span| teller.tell(span)).collect()
}

struct Teller<'a> {
    trace: &'a Trace,
    sent: Option<&'a Sent>,
    manner: Manner,
}

/// What a span says beside its place.
struct Said {
    name: String,
    kind: SpanKind,
    attributes: Vec<KeyValue>,
    events: Vec<Event>,
    /// Which kind of error it is, and what of it may be told.
    error: Option<(&'static str, String)>,
}

impl Teller<'_> {
    fn tell(&self, span: &Span) -> Option<Told> {
        let mut said = match &span.what {
            What::Run { status } => self.run(span, *status),
            What::LlmCall { .. } => self.llm_call(span)?,
            What::ToolCall { call, input, .. } => self.tool_call(span, call, input),
            // It is told with its call.
            What::ToolResult { .. } => return None,
        };
        if let Some((kind, _)) = &said.error {
            said.attributes.push(text("error.type", kind));
        }
        let status =
            said.error.map(|(_, message)| Status { message, code: StatusCode::Error.into() });
        let start = self.nanos(span.start_ms);
        Some(Told {
            trace_id: trace_id(self.trace.summary.id.as_str()).to_vec(),
            span_id: self.span_id(&span.id),
            // By the conventions a tool is run by the agent, not by the model that asked for it.
            parent_span_id: match span.id.as_str() {
                RUN_SPAN => Vec::new(),
                _ => self.span_id(RUN_SPAN),
            },
            name: said.name,
            kind: said.kind.into(),
            start_time_unix_nano: start,
            end_time_unix_nano: start + span.duration_ms * NANOS_PER_MS,
            attributes: said.attributes,
            events: said.events,
            status,
        })
    }

    fn includes_content(&self) -> bool {
        self.manner.content == Content::Included
    }

    /// What went wrong. What a tool or a service says of it may quote what was said, so it is content.
    fn failed(&self, span: &Span, kind: &'static str) -> Option<(&'static str, String)> {
        let told =
            |error: &String| if self.includes_content() { cut(error) } else { String::new() };
        span.error.as_ref().map(|error| (kind, told(error)))
    }

    fn nanos(&self, offset_ms: u64) -> u64 {
        (self.trace.began_at.0.max(0).cast_unsigned() + offset_ms) * NANOS_PER_MS
    }

    fn span_id(&self, id: &str) -> Vec<u8> {
        hash64(&[self.trace.summary.id.as_str(), "/", id]).to_be_bytes().to_vec()
    }

    /// What stands on every span.
    fn common(&self, operation: &str) -> Vec<KeyValue> {
        let summary = &self.trace.summary;
        let mut attributes = vec![
            text("gen_ai.operation.name", operation),
            text("gen_ai.conversation.id", summary.conversation_id.as_str()),
            text("gen_ai.agent.id", summary.persona_id.as_str()),
            text("gen_ai.agent.name", &summary.persona_name),
        ];
        if let Some(service) = self.service() {
            let name = match self.manner.names {
                Names::Present => "gen_ai.provider.name",
                Names::Older => "gen_ai.system",
            };
            attributes.push(text(name, provider(service)));
        }
        attributes
    }

    fn service(&self) -> Option<&str> {
        let parameters = self.sent.and_then(|sent| sent.parameters.as_ref());
        parameters.map(|parameters| parameters.service.as_str())
    }

    /// The model as its service names it.
    fn model(&self) -> &str {
        let parameters = self.sent.and_then(|sent| sent.parameters.as_ref());
        parameters.map_or(&self.trace.summary.model, |parameters| &parameters.model)
    }

    fn run(&self, span: &Span, status: RunStatus) -> Said {
        let mut attributes = self.common("invoke_agent");
        attributes.push(text("gen_ai.request.model", self.model()));
        attributes.push(text("greenroom.source", self.trace.summary.source.word()));
        attributes.push(text("greenroom.run.id", self.trace.summary.id.as_str()));
        attributes.push(text("greenroom.run.status", status.word()));
        if let Some(micros) = self.trace.summary.cost_micros {
            attributes.push(double("greenroom.cost_usd", micros as f64 / 1e6));
        }
        let kind = match status {
            RunStatus::Interrupted => "interrupted",
            _ => "failed",
        };
        Said {
            name: format!("invoke_agent {}", self.trace.summary.persona_name),
            kind: SpanKind::Internal,
            attributes,
            events: Vec::new(),
            error: self.failed(span, kind),
        }
    }

    fn llm_call(&self, span: &Span) -> Option<Said> {
        let What::LlmCall {
            step,
            stop,
            usage,
            cost_micros,
            max_tokens,
            first_token_ms,
            retries,
            ..
        } = &span.what
        else {
            return None;
        };
        let mut attributes = self.common("chat");
        attributes.push(text("gen_ai.request.model", self.model()));
        if let Some(parameters) = self.sent.and_then(|sent| sent.parameters.as_ref()) {
            let most = max_tokens.unwrap_or(parameters.max_tokens);
            attributes.push(int("gen_ai.request.max_tokens", most));
        }
        attributes.extend(stop.map(|stop| list("gen_ai.response.finish_reasons", finish(stop))));
        attributes.extend(used(*usage, self.manner.names));
        attributes.push(int("greenroom.step", u64::from(*step)));
        attributes.extend(first_token_ms.map(|millis| int("greenroom.first_token_ms", millis)));
        let cost = cost_micros.map(|micros| double("greenroom.cost_usd", micros as f64 / 1e6));
        attributes.extend(cost);
        if self.includes_content() {
            attributes.extend(self.said(span, *step));
        }
        let name = format!("chat {}", self.model());
        let again = |retry: &Retry| Event {
            time_unix_nano: self.nanos(span.start_ms),
            name: "greenroom.retry".into(),
            attributes: vec![
                int("greenroom.retry.attempt", u64::from(retry.attempt)),
                int("greenroom.retry.wait_ms", retry.wait_ms),
            ],
        };
        Some(Said {
            name,
            kind: SpanKind::Client,
            attributes,
            events: retries.iter().map(again).collect(),
            error: self.failed(span, "failed"),
        })
    }

    fn tool_call(&self, span: &Span, call: &CallId, input: &serde_json::Value) -> Said {
        let mut attributes = self.common("execute_tool");
        attributes.push(text("gen_ai.tool.name", &span.name));
        attributes.push(text("gen_ai.tool.call.id", call.as_str()));
        attributes.push(text("gen_ai.tool.type", "function"));
        if self.includes_content() {
            attributes.push(data("gen_ai.tool.call.arguments", input.clone()));
            if let Some(What::ToolResult { output, .. }) =
                self.trace.result(call).map(|result| &result.what)
            {
                attributes.push(text("gen_ai.tool.call.result", output));
            }
        }
        Said {
            name: format!("execute_tool {}", span.name),
            kind: SpanKind::Internal,
            attributes,
            events: Vec::new(),
            error: self.failed(span, "tool_error"),
        }
    }

    /// What the model was told, asked, and answered.
    fn said(&self, span: &Span, step: u32) -> Vec<KeyValue> {
        let What::LlmCall { text: answer, reasoning, stop, .. } = &span.what else {
            return Vec::new();
        };
        let part = |content: &str| json!({"type": "text", "content": content});
        let mut read = Vec::new();
        let mut told = Vec::new();
        if let Some(sent) = self.sent {
            told.extend(sent.sections.iter().map(|section| part(&section.text)));
            for message in &sent.messages {
                if message.parts.is_empty() {
                    read.push(json!({"role": message.role.word(), "parts": [part(&message.text)]}));
                }
                read.extend(message.parts.iter().filter_map(earlier));
            }
        }
        read.extend(self.said_before(step));
        let mut parts = Vec::new();
        if !reasoning.is_empty() {
            parts.push(json!({"type": "reasoning", "content": reasoning}));
        }
        if !answer.is_empty() {
            parts.push(part(answer));
        }
        parts.extend(self.calls_of(step));
        let reason = stop.map_or("error", finish);
        let answered =
            json!([{"role": Role::Assistant.word(), "parts": parts, "finish_reason": reason}]);
        match self.manner.names {
            Names::Present => vec![
                data("gen_ai.system_instructions", told.into()),
                data("gen_ai.input.messages", read.into()),
                data("gen_ai.output.messages", answered),
            ],
            Names::Older => {
                let system = json!({"role": "system", "parts": told});
                let all: Vec<serde_json::Value> = std::iter::once(system).chain(read).collect();
                vec![data("gen_ai.prompt", all.into()), data("gen_ai.completion", answered)]
            }
        }
    }

    /// The calls that a step asked for.
    fn calls_of(&self, step: u32) -> Vec<serde_json::Value> {
        let parent = format!("step-{step}");
        let of_step =
            self.trace.spans.iter().filter(|span| span.parent_id.as_ref() == Some(&parent));
        of_step
            .filter_map(|span| match &span.what {
                What::ToolCall { call, input, .. } => Some(asked_for(call, &span.name, input)),
                _ => None,
            })
            .collect()
    }

    /// What the run went on from, and what it said and was answered before this step.
    fn said_before(&self, step: u32) -> Vec<serde_json::Value> {
        let taken_over = self.trace.taken_over.iter().map(|part| &part.body);
        let mut out: Vec<_> = taken_over.filter_map(earlier).collect();
        for span in &self.trace.spans {
            match &span.what {
                What::LlmCall { step: other, text, .. } if *other < step => {
                    let said = (!text.is_empty()).then(|| json!({"type": "text", "content": text}));
                    let parts: Vec<_> = said.into_iter().chain(self.calls_of(*other)).collect();
                    out.push(json!({"role": "assistant", "parts": parts}));
                }
                What::LlmCall { .. } => break,
                What::ToolResult { call, output, .. } => out.push(given_back(call, output)),
                What::Run { .. } | What::ToolCall { .. } => {}
            }
        }
        out
    }
}

/// A call as a part of a message.
fn asked_for(call: &CallId, name: &str, input: &serde_json::Value) -> serde_json::Value {
    json!({"type": "tool_call", "id": call, "name": name, "arguments": input})
}

/// What a tool gave as a message.
fn given_back(call: &CallId, output: &str) -> serde_json::Value {
    let part = json!({"type": "tool_call_response", "id": call, "response": output});
    json!({"role": "tool", "parts": [part]})
}

/// Something that another run said or did, as a message.
fn earlier(part: &PartBody) -> Option<serde_json::Value> {
    let said = match part {
        PartBody::Text(text) => json!({"type": "text", "content": text}),
        PartBody::Reasoning(_) => return None,
        PartBody::ToolCall(ToolCall { call, name, input }) => asked_for(call, name, input),
        PartBody::ToolResult(result) => return Some(given_back(&result.call, &result.output)),
    };
    Some(json!({"role": Role::Assistant.word(), "parts": [said]}))
}

/// The tokens.
fn used(usage: Usage, names: Names) -> Vec<KeyValue> {
    let cached = match names {
        Names::Present => [
            ("gen_ai.usage.cache_read.input_tokens", usage.cache_read),
            ("gen_ai.usage.cache_creation.input_tokens", usage.cache_write),
        ],
        Names::Older => [
            ("gen_ai.usage.cache_read_input_tokens", usage.cache_read),
            ("gen_ai.usage.cache_creation_input_tokens", usage.cache_write),
        ],
    };
    let plain =
        [("gen_ai.usage.input_tokens", usage.input), ("gen_ai.usage.output_tokens", usage.output)];
    let known = plain.into_iter().chain(cached);
    known.filter_map(|(name, count)| count.map(|count| int(name, count))).collect()
}

/// The provider as the conventions name it.
fn provider(service: &str) -> &str {
    match service {
        "gemini" => "gcp.gemini",
        "mistral" => "mistral_ai",
        "xai" => "x_ai",
        other => other,
    }
}

/// Why a model stopped, as the conventions name it.
fn finish(stop: StopReason) -> &'static str {
    match stop {
        StopReason::EndTurn | StopReason::StopSequence | StopReason::PauseTurn => "stop",
        StopReason::ToolUse => "tool_call",
        StopReason::MaxTokens | StopReason::Limit => "length",
        StopReason::Refusal => "content_filter",
        StopReason::ContextExceeded | StopReason::Other => "error",
    }
}

fn value(key: &str, value: Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }) }
}

/// A text, as far as one attribute goes.
pub(super) fn text(key: &str, content: &str) -> KeyValue {
    value(key, Value::Text(cut(content)))
}

/// JSON, as far as one attribute goes.
fn data(key: &str, all: serde_json::Value) -> KeyValue {
    value(key, Value::Text(fitting(all)))
}

fn int(key: &str, number: u64) -> KeyValue {
    value(key, Value::Int(i64::try_from(number).unwrap_or(i64::MAX)))
}

fn double(key: &str, number: f64) -> KeyValue {
    value(key, Value::Double(number))
}

fn list(key: &str, only: &str) -> KeyValue {
    let values = vec![AnyValue { value: Some(Value::Text(only.to_owned())) }];
    value(key, Value::Array(ArrayValue { values }))
}

/// The identifier of a trace: a run's own is as long, so it can be looked up by it.
fn trace_id(run: &str) -> [u8; 16] {
    match uuid::Uuid::parse_str(run) {
        Ok(id) => id.into_bytes(),
        Err(_) => {
            let halves = [hash64(&[run]), hash64(&[run, "/trace"])];
            let mut id = [0; 16];
            for (part, half) in id.chunks_exact_mut(8).zip(halves) {
                part.copy_from_slice(&half.to_be_bytes());
            }
            id
        }
    }
}

/// FNV-1a: the same for the same, in every process and version.
fn hash64(parts: &[&str]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runs_identifier_is_that_of_its_trace() {
        let id = "0193a5c0-0000-7000-8000-000000000001";
        assert_eq!(trace_id(id)[..2], [0x01, 0x93]);
        assert_eq!(trace_id("run-1"), trace_id("run-1"));
        assert_ne!(trace_id("run-1"), trace_id("run-2"));
    }
}
