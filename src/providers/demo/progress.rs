//! How far a message was carried out: the tools used since, read again from the start each time.
//!
//! The demo keeps nothing between askings. It does its requests over, taking the results that are
//! there, and stops at the first tool whose result is missing.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::{
    plan::Call,
    story::{Done, Story},
    which::Input,
};
use crate::providers::ToolSpec;

/// Why a request cannot be told as done.
#[derive(Debug, PartialEq)]
pub enum Halt {
    /// A tool has to be used first.
    Use(Call),
    /// It did not work: the sentence about it.
    Failed(String),
}

/// What became of a change.
#[derive(Debug, PartialEq)]
pub enum Written {
    /// It is done.
    Applied,
    /// It waits for a person's decision.
    Pending,
    /// Something else, in the tool's own word.
    Other(String),
}

/// The results that are there, and what was learnt from them.
pub struct Progress<'story> {
    tools: &'story [ToolSpec],
    done: VecDeque<Done<'story>>,
    persona: Option<Value>,
    inputs: Option<Vec<Input>>,
    /// The system prompt as this message last wrote it, even if that still waits for a decision.
    pub prompt: Option<String>,
    /// The test input that was made last.
    pub made: Option<String>,
}

impl<'story> Progress<'story> {
    /// Nothing learnt yet.
    pub fn new(story: &Story<'story>, tools: &'story [ToolSpec]) -> Self {
        Self {
            tools,
            done: story.done.iter().copied().collect(),
            persona: None,
            inputs: None,
            prompt: None,
            made: None,
        }
    }

    /// Whether there is such a tool.
    pub fn has(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.name == name)
    }

    /// The persona, looked at once until something changes it.
    pub fn persona(&mut self) -> Result<Value, Halt> {
        if let Some(persona) = &self.persona {
            return Ok(persona.clone());
        }
        let persona = self.result("get_persona", json!({}))?;
        self.persona = Some(persona.clone());
        Ok(persona)
    }

    /// The system prompt to go on writing at.
    pub fn prompt(&mut self) -> Result<String, Halt> {
        match &self.prompt {
            Some(prompt) => Ok(prompt.clone()),
            None => Ok(text(&self.persona()?, "systemPrompt").to_owned()),
        }
    }

    /// The test inputs, listed once until one is added.
    pub fn inputs(&mut self) -> Result<&mut Vec<Input>, Halt> {
        if self.inputs.is_none() {
            let (mut all, mut page) = (Vec::new(), json!({}));
            loop {
                let list = self.result("list_test_inputs", page)?;
                let entries = list.get("testInputs").and_then(Value::as_array);
                all.extend(entries.into_iter().flatten().map(|entry| Input {
                    id: text(entry, "id").to_owned(),
                    content: Some(text(entry, "content").to_owned()),
                }));
                match text(&list, "next") {
                    "" => break,
                    next => page = json!({ "after": next }),
                }
            }
            self.inputs = Some(all);
        }
        Ok(self.inputs.get_or_insert_default())
    }

    /// Makes a change.
    pub fn write(&mut self, name: &'static str, input: Value) -> Result<Written, Halt> {
        let value = self.result(name, input)?;
        self.persona = None;
        if name == "create_test_input" {
            self.inputs = None;
            self.made = Some(text(&value, "id").to_owned()).filter(|id| !id.is_empty());
        }
        Ok(match text(&value, "state") {
            "applied" => Written::Applied,
            "pending" => Written::Pending,
            other => Written::Other(other.to_owned()),
        })
    }

    /// What a tool gave as JSON, if it was used.
    pub fn result(&mut self, name: &'static str, input: Value) -> Result<Value, Halt> {
        let output = self.told(name, input)?;
        serde_json::from_str(output)
            .map_err(|_| Halt::Failed(format!("I could not read what the tool `{name}` gave me.")))
    }

    /// What a tool said, if it was used.
    pub fn told(&mut self, name: &'static str, input: Value) -> Result<&'story str, Halt> {
        if !self.has(name) {
            let sentence = format!("I cannot do that here: I am not given the tool `{name}`.");
            return Err(Halt::Failed(sentence));
        }
        let Some(place) = self.done.iter().position(|done| done.name == name) else {
            return Err(Halt::Use(Call { name, input }));
        };
        // What stands before it belongs to another plan, such as another model's.
        self.done.drain(..place);
        match self.done.pop_front().map(|done| done.result) {
            Some(Ok(output)) => Ok(output),
            Some(Err(output)) => Err(Halt::Failed(format!(
                "That did not work: “{}” I stopped there; nothing else was done.",
                first_sentence(output)
            ))),
            None => Err(Halt::Use(Call { name, input })),
        }
    }
}

/// A text of an object, or nothing.
pub fn text<'value>(value: &'value Value, key: &str) -> &'value str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn first_sentence(output: &str) -> String {
    let line = output.trim().lines().next().unwrap_or_default().trim();
    let end = line.find(". ").map_or(line.len(), |end| end + 1);
    let sentence: String = line[..end].chars().take(300).collect();
    match sentence.chars().next_back() {
        None => "The tool did not say why.".into(),
        Some('.' | '!' | '?') => sentence,
        Some(_) => format!("{sentence}."),
    }
}
