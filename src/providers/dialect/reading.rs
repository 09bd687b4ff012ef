//! A request read back into the flat list of turns that it was made of.

use serde::Deserialize;
use serde_json::Value;

use super::{arguments, history::ERROR};
use crate::domain::{
    id::{CallId, PartId},
    message::{Carried, Part, PartBody, Role, ToolCall, ToolResult, Turn},
    timestamp::Timestamp,
};

/// The turns read so far.
pub struct Reader {
    service: String,
    model: String,
    turns: Vec<Turn>,
    calls: Vec<Known>,
}

struct Known {
    call: CallId,
    theirs: Option<String>,
    name: String,
    is_answered: bool,
}

/// Words that may stand alone or in typed blocks.
#[derive(Deserialize)]
#[serde(untagged)]
pub enum Content<Block> {
    /// One text.
    Text(String),
    /// Blocks of several kinds.
    Blocks(Vec<Block>),
}

/// The request as the structure that its dialect has.
pub fn parse<Request: for<'body> Deserialize<'body>>(body: &Value) -> Result<Request, String> {
    Request::deserialize(body).map_err(|error| error.to_string())
}

impl Reader {
    /// A reader of a request to this service and model.
    pub fn new(service: &str, model: &str) -> Self {
        Self { service: service.into(), model: model.into(), turns: Vec::new(), calls: Vec::new() }
    }

    /// Words of either side.
    pub fn text(&mut self, role: Role, text: String, data: Option<Value>) {
        let carried = data.map(|data| self.carried(None, Some(data)));
        self.push(role, PartBody::Text(text), carried);
    }

    /// Thoughts of the model.
    pub fn thought(&mut self, text: String, id: Option<String>, data: Option<Value>) {
        let carried = self.carried(id, data);
        self.push(Role::Assistant, PartBody::Reasoning(text), Some(carried));
    }

    /// A call, with the identifier that the request gives it.
    pub fn call(
        &mut self,
        theirs: Option<String>,
        name: String,
        input: Value,
        data: Option<Value>,
    ) {
        let call = theirs.as_deref().map(CallId::new).filter(|call| {
            !call.as_str().is_empty() && self.calls.iter().all(|known| known.call != *call)
        });
        let call = call.unwrap_or_else(|| CallId::new(format!("c{}", self.calls.len() + 1)));
        let carried = self.carried(theirs.clone(), data);
        self.calls.push(Known {
            call: call.clone(),
            theirs,
            name: name.clone(),
            is_answered: false,
        });
        let body = PartBody::ToolCall(ToolCall { call, name, input: arguments::object(&input) });
        self.push(Role::Assistant, body, Some(carried));
    }

    /// What came of the first call without an answer that this one fits: by identifier, or by name
    /// where there is none.
    pub fn result(
        &mut self,
        theirs: Option<&str>,
        name: Option<&str>,
        output: String,
        is_error: bool,
    ) -> Result<(), String> {
        let known = self.calls.iter_mut().find(|known| {
            let fits = match theirs {
                Some(theirs) => known.theirs.as_deref() == Some(theirs),
                None => name == Some(known.name.as_str()),
            };
            fits && !known.is_answered
        });
        let known = known.ok_or("a result answers no call")?;
        known.is_answered = true;
        let (call, name) = (known.call.clone(), known.name.clone());
        let result =
            ToolResult { call, name, output, is_error, change_id: None, sources: Vec::new() };
        self.push(Role::User, PartBody::ToolResult(result), None);
        Ok(())
    }

    /// The same where an error is told in words.
    pub fn told(&mut self, theirs: &str, text: &str) -> Result<(), String> {
        match text.strip_prefix(ERROR) {
            Some(output) => self.result(Some(theirs), None, output.to_owned(), true),
            None => self.result(Some(theirs), None, text.to_owned(), false),
        }
    }

    /// All turns.
    pub fn finish(self) -> Vec<Turn> {
        self.turns
    }

    fn push(&mut self, role: Role, body: PartBody, carried: Option<Carried>) {
        let id = PartId::new(format!("p{}", self.turns.len() + 1));
        self.turns.push(Turn { role, part: Part { id, at: Timestamp(0), body, carried } });
    }

    fn carried(&self, id: Option<String>, data: Option<Value>) -> Carried {
        Carried { service: self.service.clone(), model: self.model.clone(), id, data }
    }
}
