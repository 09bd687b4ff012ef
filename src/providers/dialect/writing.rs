//! What a decoder writes down: the parts of an answer, begun and ended in order.

use serde_json::Value;

use crate::{
    domain::{
        message::Carried,
        run::{StopReason, Usage},
    },
    providers::{Ask, ModelEvent},
};

/// The events of an answer so far, and which part is going on.
pub struct Writing {
    service: String,
    model: String,
    open: Option<Open>,
    has_calls: bool,
    is_over: bool,
    events: Vec<ModelEvent>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    Words,
    Refusal,
    Thoughts,
}

impl Writing {
    /// An empty page.
    pub fn new(ask: &Ask<'_>) -> Self {
        Self {
            service: ask.service.to_owned(),
            model: ask.model.to_owned(),
            open: None,
            has_calls: false,
            is_over: false,
            events: Vec::new(),
        }
    }

    /// More words.
    pub fn text(&mut self, piece: &str) {
        self.go_on(Open::Words, piece, ModelEvent::Text);
    }

    /// More of saying no: what was said before it stands apart.
    pub fn refusal(&mut self, piece: &str) {
        self.go_on(Open::Refusal, piece, ModelEvent::Text);
    }

    /// More thoughts.
    pub fn thought(&mut self, piece: &str) {
        self.go_on(Open::Thoughts, piece, ModelEvent::Reasoning);
    }

    fn go_on(&mut self, kind: Open, piece: &str, event: fn(String) -> ModelEvent) {
        if piece.is_empty() {
            return;
        }
        if self.open != Some(kind) {
            self.end();
            self.open = Some(kind);
        }
        self.events.push(event(piece.to_owned()));
    }

    /// Ends the part that is going on, if one is. Thoughts keep whose they were, so that no other
    /// service is ever shown them.
    pub fn end(&mut self) {
        match self.open.take() {
            None => {}
            Some(Open::Words | Open::Refusal) => self.events.push(ModelEvent::PartEnd(None)),
            Some(Open::Thoughts) => {
                let carried = self.carried(None, None);
                self.events.push(ModelEvent::PartEnd(Some(carried)));
            }
        }
    }

    /// Ends the part that is going on, or a hidden one, with what the service wants back.
    pub fn end_with(&mut self, id: Option<String>, data: Value) {
        self.open = None;
        let carried = self.carried(id, Some(data));
        self.events.push(ModelEvent::PartEnd(Some(carried)));
    }

    /// A whole call.
    pub fn call(
        &mut self,
        name: String,
        input: Result<Value, String>,
        id: Option<String>,
        data: Option<Value>,
    ) {
        self.end();
        self.has_calls = true;
        let carried = self.carried(id, data);
        self.events.push(ModelEvent::ToolCall { name, input, carried });
    }

    /// The tokens so far, when the service told any.
    pub fn usage(&mut self, usage: Usage) {
        if usage != Usage::default() {
            self.events.push(ModelEvent::Usage(usage));
        }
    }

    /// The end of the answer.
    pub fn stop(&mut self, usage: Usage, reason: StopReason) {
        self.end();
        self.usage(usage);
        self.is_over = true;
        self.events.push(ModelEvent::Stop(reason));
    }

    /// Whether the model called a tool.
    pub fn has_calls(&self) -> bool {
        self.has_calls
    }

    /// Whether the answer has ended; whatever comes then is noise of a proxy.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// What was written since this was asked last.
    pub fn take(&mut self) -> Vec<ModelEvent> {
        std::mem::take(&mut self.events)
    }

    fn carried(&self, id: Option<String>, data: Option<Value>) -> Carried {
        Carried { service: self.service.clone(), model: self.model.clone(), id, data }
    }
}

/// The last value that a service told: cumulative counts are replaced, never added.
pub fn keep_last(known: &mut Option<u64>, told: Option<u64>) {
    *known = told.or(*known);
}
