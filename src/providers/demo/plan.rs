//! What the demo answers, as events: pure, so the same question gets the same answer.

use serde_json::Value;

use super::{agent, character, companion, handy, story::Story};
use crate::{
    domain::{
        message::{Carried, PartBody},
        run::{StopReason, Usage},
        tokens::estimate,
    },
    providers::{Ask, ModelEvent},
};

/// What is said, and then which tools are wanted.
#[derive(Debug, Default, PartialEq)]
pub struct Answer {
    /// The words.
    pub text: String,
    /// The calls.
    pub calls: Vec<Call>,
}

/// A tool that is wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The tool's name.
    pub name: &'static str,
    /// What it is given.
    pub input: Value,
}

/// The whole answer. With the persona editor's tools it is that editor's agent, with those that make
/// drafts about everything the companion, with others a persona that is handy; without any, a persona.
pub fn plan(ask: &Ask<'_>) -> Vec<ModelEvent> {
    let story = Story::read(ask.turns);
    let has = |name: &str| ask.tools.iter().any(|tool| tool.name == name);
    let answer = if has("get_persona") {
        agent::answer(&story, ask.tools)
    } else if has("propose_change") {
        companion::answer(&story, ask.tools)
    } else if !ask.tools.is_empty() {
        handy::answer(&story, ask.tools).unwrap_or_else(|| {
            let said = character::answer(ask, &story);
            Answer { text: format!("{}\n\n{}", said.text, handy::HINT), calls: said.calls }
        })
    } else {
        character::answer(ask, &story)
    };

    let stop = if answer.calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse };
    let mut events = Vec::new();
    // An answer that broke off goes on where it did.
    let text = answer.text.strip_prefix(&story.said).unwrap_or(&answer.text).to_owned();
    let mut written = estimate(&text);
    if !text.is_empty() {
        events.push(ModelEvent::Text(text));
        events.push(ModelEvent::PartEnd(None));
    }
    for (index, call) in answer.calls.into_iter().enumerate() {
        let input = Ok(call.input);
        written += call_tokens(call.name, &input);
        let carried = carried(story.calls + index + 1);
        events.push(ModelEvent::ToolCall { name: call.name.to_owned(), input, carried });
    }
    events.push(ModelEvent::Usage(usage(ask, written)));
    events.push(ModelEvent::Stop(stop));
    events
}

/// How many calls the conversation has already.
pub fn calls_before(ask: &Ask<'_>) -> usize {
    ask.turns.iter().filter(|turn| matches!(turn.part.body, PartBody::ToolCall(_))).count()
}

/// What goes along with the call of this number.
pub fn carried(number: usize) -> Carried {
    Carried {
        service: "demo".into(),
        model: "demo".into(),
        id: Some(format!("demo_{number}")),
        data: None,
    }
}

/// About how many tokens a call has.
pub fn call_tokens(name: &str, input: &Result<Value, String>) -> usize {
    let input = match input {
        Ok(input) => input.to_string(),
        Err(raw) => raw.clone(),
    };
    estimate(name) + estimate(&input)
}

/// About what was read and written.
pub fn usage(ask: &Ask<'_>, written: usize) -> Usage {
    let turns = ask.turns.iter().map(|turn| match &turn.part.body {
        PartBody::Text(text) | PartBody::Reasoning(text) => estimate(text),
        PartBody::ToolCall(call) => estimate(&call.name) + estimate(&call.input.to_string()),
        PartBody::ToolResult(result) => estimate(&result.output),
    });
    let read = estimate(ask.system) + turns.sum::<usize>();
    let count = |tokens: usize| u64::try_from(tokens).ok();
    Usage { input: count(read), output: count(written), ..Usage::default() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        domain::message::{Role, ToolCall, ToolResult},
        providers::demo::rehearsal::{Stage, ask, turn, user},
    };

    fn used(input: u64, output: u64) -> ModelEvent {
        let usage = Usage { input: Some(input), output: Some(output), ..Usage::default() };
        ModelEvent::Usage(usage)
    }

    #[test]
    fn words_come_first_then_calls_then_usage_and_one_stop() {
        let tools = Stage::new().tools;
        let turns = [user("Show the prompt and list the test inputs")];

        let events = plan(&ask("You edit a persona.", &turns, &tools));

        let call = |name: &str, number| ModelEvent::ToolCall {
            name: name.into(),
            input: Ok(json!({})),
            carried: carried(number),
        };
        assert_eq!(
            events,
            [
                ModelEvent::Text("Let me look at the persona.".into()),
                ModelEvent::PartEnd(None),
                call("get_persona", 1),
                call("list_test_inputs", 2),
                used(15, 16),
                ModelEvent::Stop(StopReason::ToolUse),
            ]
        );
    }

    #[test]
    fn the_number_of_a_call_goes_on_from_the_calls_before() {
        let tools = Stage::new().tools;
        let name = "get_persona".to_owned();
        let call = ToolCall { call: "demo_1".into(), name: name.clone(), input: json!({}) };
        let output = r#"{"name":"A","systemPrompt":""}"#.to_owned();
        let result = ToolResult {
            call: "demo_1".into(),
            name,
            output,
            is_error: false,
            change_id: None,
            sources: Vec::new(),
        };
        let turns = [
            user("Add 'B' to the prompt"),
            turn(Role::Assistant, PartBody::ToolCall(call)),
            turn(Role::User, PartBody::ToolResult(result)),
        ];

        let events = plan(&ask("", &turns, &tools));

        assert_eq!(
            events,
            [
                ModelEvent::ToolCall {
                    name: "update_system_prompt".into(),
                    input: Ok(json!({ "systemPrompt": "B" })),
                    carried: carried(2),
                },
                used(18, 10),
                ModelEvent::Stop(StopReason::ToolUse),
            ]
        );
    }

    #[test]
    fn nothing_said_is_no_reason_to_break() {
        let tools = Stage::new().tools;
        for turns in [vec![], vec![user("")], vec![user(" \n")]] {
            for tools in [tools.as_slice(), &[]] {
                let events = plan(&ask("", &turns, tools));

                assert_eq!(events.last(), Some(&ModelEvent::Stop(StopReason::EndTurn)));
            }
        }
    }
}
