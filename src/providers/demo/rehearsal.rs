//! A stage for tests: a persona with real-looking tools, and the agent loop around the demo.

use futures_util::StreamExt;
use serde_json::{Value, json};

use super::{Demo, plan::plan};
use crate::{
    domain::{
        id::CallId,
        message::{Part, PartBody, Role, ToolCall, ToolResult, Turn},
        run::StopReason,
        timestamp::Timestamp,
    },
    providers::{Ask, ModelEvent, ProviderError, Quirks, Thoughts, ToolSpec},
};

const TOOLS: &[&str] = &[
    "get_persona",
    "update_persona_name",
    "update_system_prompt",
    "patch_system_prompt",
    "list_test_inputs",
    "get_test_input",
    "create_test_input",
    "update_test_input",
    "delete_test_input",
    "run_test_inputs",
];

/// How many test inputs the tool lists at once.
const PAGE: usize = 60;

/// A question without tools, unless some are given.
pub fn ask<'ask>(system: &'ask str, turns: &'ask [Turn], tools: &'ask [ToolSpec]) -> Ask<'ask> {
    Ask {
        service: "demo",
        model: "demo",
        system,
        turns,
        tools,
        max_tokens: 1000,
        thoughts: Thoughts::AsIs,
        quirks: Quirks::default(),
    }
}

pub fn turn(role: Role, body: PartBody) -> Turn {
    Turn { role, part: Part { id: "part".into(), at: Timestamp(0), body, carried: None } }
}

pub fn user(text: &str) -> Turn {
    turn(Role::User, PartBody::Text(text.into()))
}

/// All events of an answer, at once.
pub async fn played(demo: &Demo, ask: &Ask<'_>) -> Vec<Result<ModelEvent, ProviderError>> {
    demo.play(ask).collect().await
}

/// What a persona with this prompt says first.
pub fn chat(system: &str, text: &str) -> String {
    chat_after(system, &[], text)
}

/// What a persona says after these messages.
pub fn chat_after(system: &str, before: &[&str], text: &str) -> String {
    let mut turns = Vec::new();
    for text in before.iter().chain([&text]) {
        turns.push(user(text));
        let said = words(&plan(&ask(system, &turns, &[])));
        turns.push(turn(Role::Assistant, PartBody::Text(said)));
    }
    match turns.pop().map(|turn| turn.part.body) {
        Some(PartBody::Text(text)) => text,
        _ => String::new(),
    }
}

/// The words of an answer.
pub fn words(events: &[ModelEvent]) -> String {
    let texts = events.iter().filter_map(|event| match event {
        ModelEvent::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// A persona, its tools, and the conversation with its agent.
pub struct Stage {
    pub name: String,
    pub prompt: String,
    pub inputs: Vec<(String, String)>,
    /// What becomes of changes: `applied` or `pending`.
    pub state: &'static str,
    /// A tool that fails, and what it says.
    pub broken: Option<(&'static str, &'static str)>,
    pub tools: Vec<ToolSpec>,
    pub turns: Vec<Turn>,
}

/// What one message led to.
#[derive(Debug, PartialEq)]
pub struct Scene {
    /// The calls, one line for each answer of the demo.
    pub calls: Vec<String>,
    /// The words before the first tool.
    pub lead: String,
    /// The words at the end.
    pub answer: String,
}

/// Lets the loop run to its end, with tools that do this.
pub fn perform(
    turns: &mut Vec<Turn>,
    tools: &[ToolSpec],
    mut used: impl FnMut(&ToolCall) -> ToolResult,
) -> Scene {
    let mut scene = Scene { calls: Vec::new(), lead: String::new(), answer: String::new() };
    loop {
        let events = plan(&ask("You have tools.", turns, tools));
        let said = words(&events);
        if !said.is_empty() {
            turns.push(turn(Role::Assistant, PartBody::Text(said.clone())));
        }
        let calls = calls(&events);
        let Some(ModelEvent::Stop(stop)) = events.last() else { panic!("no stop: {events:?}") };
        if calls.is_empty() {
            assert_eq!(*stop, StopReason::EndTurn);
            scene.answer = said;
            return scene;
        }
        assert_eq!(*stop, StopReason::ToolUse);
        scene.lead.push_str(&said);
        let lines = calls.iter().map(|call| format!("{} {}", call.name, call.input));
        scene.calls.push(lines.collect::<Vec<_>>().join(" + "));
        assert!(scene.calls.len() < 30, "no end: {:?}", scene.calls);
        for call in calls {
            turns.push(turn(Role::Assistant, PartBody::ToolCall(call.clone())));
            let result = used(&call);
            turns.push(turn(Role::User, PartBody::ToolResult(result)));
        }
    }
}

fn calls(events: &[ModelEvent]) -> Vec<ToolCall> {
    let calls = events.iter().filter_map(|event| match event {
        ModelEvent::ToolCall { name, input: Ok(input), carried } => Some(ToolCall {
            call: CallId::new(carried.id.clone().expect("an id")),
            name: name.clone(),
            input: input.clone(),
        }),
        _ => None,
    });
    calls.collect()
}

/// Tools by their names alone.
pub fn tools(names: &[&str]) -> Vec<ToolSpec> {
    let tools = names.iter().map(|name| ToolSpec {
        name: (*name).into(),
        description: String::new(),
        schema: json!({ "type": "object" }),
    });
    tools.collect()
}

/// What a tool said.
pub fn result(call: &ToolCall, output: Result<String, String>) -> ToolResult {
    let is_error = output.is_err();
    ToolResult {
        call: call.call.clone(),
        name: call.name.clone(),
        output: output.unwrap_or_else(|sentence| sentence),
        is_error,
        change_id: None,
        sources: Vec::new(),
    }
}

impl Stage {
    pub fn new() -> Self {
        Self {
            name: "Optimist".into(),
            prompt: "You look for what can still be done.".into(),
            inputs: vec![
                ("a".into(), "What is 2+2?".into()),
                ("b".into(), "How do I bake bread?".into()),
            ],
            state: "applied",
            broken: None,
            tools: tools(TOOLS),
            turns: Vec::new(),
        }
    }

    /// Says this and lets the loop run to its end.
    pub fn say(&mut self, text: &str) -> Scene {
        let (mut turns, tools) = (std::mem::take(&mut self.turns), self.tools.clone());
        turns.push(user(text));
        let scene = perform(&mut turns, &tools, |call| self.used(call));
        self.turns = turns;
        scene
    }

    fn used(&mut self, call: &ToolCall) -> ToolResult {
        let broken = self.broken.filter(|(name, _)| *name == call.name);
        match broken {
            Some((_, sentence)) => result(call, Err(sentence.to_owned())),
            None => result(call, Ok(self.output(&call.name, &call.input).to_string())),
        }
    }

    fn output(&mut self, name: &str, input: &Value) -> Value {
        let text = |key: &str| input[key].as_str().expect(key).to_owned();
        let place = |stage: &Self| {
            let id = input["id"].as_str().expect("an id");
            stage.inputs.iter().position(|(other, _)| other == id).expect("a known id")
        };
        let applies = self.state == "applied";
        match name {
            "get_persona" => {
                let ids: Vec<&String> = self.inputs.iter().map(|(id, _)| id).collect();
                return json!({ "name": self.name, "systemPrompt": self.prompt, "testInputIds": ids });
            }
            "list_test_inputs" => {
                let entry =
                    |(id, content): &(String, String)| json!({ "id": id, "content": content });
                let seen = input["after"].as_str().map_or(0, |after| {
                    let seen = self.inputs.iter().position(|(id, _)| id == after);
                    seen.expect("a known id") + 1
                });
                let entries: Vec<Value> =
                    self.inputs.iter().skip(seen).take(PAGE).map(entry).collect();
                let mut list = json!({ "testInputs": entries });
                if self.inputs.len() > seen + PAGE {
                    list["next"] = json!(self.inputs[seen + PAGE - 1].0);
                }
                return list;
            }
            "get_test_input" => {
                let (id, content) = &self.inputs[place(self)];
                return json!({ "id": id, "content": content });
            }
            "run_test_inputs" => return json!({ "answers": [{ "input": "Q", "answer": "A" }] }),
            "update_persona_name" if applies => self.name = text("name"),
            "update_system_prompt" if applies => self.prompt = text("systemPrompt"),
            "patch_system_prompt" if applies => {
                for edit in input["edits"].as_array().expect("edits") {
                    let (find, replace) = (edit["find"].as_str(), edit["replace"].as_str());
                    let (find, replace) = (find.expect("find"), replace.expect("replace"));
                    self.prompt = self.prompt.replace(find, replace);
                }
            }
            "create_test_input" if applies => {
                let id = format!("new{}", self.inputs.len());
                self.inputs.push((id.clone(), text("content")));
                return json!({ "state": self.state, "id": id });
            }
            "update_test_input" if applies => {
                let place = place(self);
                self.inputs[place].1 = text("content");
            }
            "delete_test_input" if applies => {
                let place = place(self);
                self.inputs.remove(place);
            }
            _ => assert!(!applies, "an unknown tool: {name}"),
        }
        json!({ "state": self.state })
    }
}
