//! The tools, one per file, and the lists of them.

mod context;
mod create_test_input;
mod delete_file;
mod delete_test_input;
mod edit_file;
mod execute;
mod get_persona;
mod get_test_input;
mod glob;
pub mod grep;
mod list_test_inputs;
mod ls;
pub mod patch_system_prompt;
mod propose_change;
mod read;
mod read_file;
mod run_test_inputs;
mod search;
mod update_persona_name;
mod update_system_prompt;
mod update_test_input;
mod write_file;
mod write_todos;

use serde::Serialize;

use super::{
    desk::Heard,
    tool::{Registry, Tool, ToolOutput},
};
use crate::domain::{
    change::{ChangeState, Outcome},
    id::ChangeId,
};

/// What the agent of a persona may use to work on that persona.
pub fn persona_tools() -> Registry {
    Registry::default()
        .with(get_persona::GetPersona)
        .with(update_persona_name::UpdatePersonaName)
        .with(update_system_prompt::UpdateSystemPrompt)
        .with(patch_system_prompt::PatchSystemPrompt)
        .with(list_test_inputs::ListTestInputs)
        .with(get_test_input::GetTestInput)
        .with(create_test_input::CreateTestInput)
        .with(update_test_input::UpdateTestInput)
        .with(delete_test_input::DeleteTestInput)
        .with(run_test_inputs::RunTestInputs)
}

/// What the companion may use: it looks at everything, and applies nothing.
pub fn companion_tools() -> Registry {
    Registry::default()
        .with(search::Search)
        .with(read::Read)
        .with(context::Context)
        .with(propose_change::ProposeChange)
}

/// What a persona may use in the playground, as far as its own list of tools goes.
pub fn playground_tools() -> Registry {
    Registry::default()
        .with(ls::Ls)
        .with(read_file::ReadFile)
        .with(write_file::WriteFile)
        .with(edit_file::EditFile)
        .with(delete_file::DeleteFile)
        .with(glob::Glob)
        .with(grep::Grep)
        .with(write_todos::WriteTodos)
        .with(execute::Execute)
}

/// What an operator may list by name for sessions in a terminal: what works on their files, and what finds,
/// reads and proposes in the Space.
pub fn terminal_tools() -> Registry {
    playground_tools().with(search::Search).with(read::Read).with(propose_change::ProposeChange)
}

/// What became of a change, as the model is told.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Written<'a> {
    state: &'a str,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    change_id: Option<&'a ChangeId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
}

/// How much what a tool told of elsewhere counts.
pub fn how_heard(name: &str) -> Heard {
    if name == <search::Search as Tool>::NAME { Heard::Found } else { Heard::Read }
}

/// Tells the model what became of its change: done, or a draft that a person will decide on.
fn written(outcome: &Outcome, done: &str) -> ToolOutput {
    written_thing(outcome, done, None, None)
}

fn written_thing(
    outcome: &Outcome,
    done: &str,
    id: Option<&str>,
    content: Option<&str>,
) -> ToolOutput {
    let (state, message) = match outcome.state {
        ChangeState::Applied => ("applied", done.to_owned()),
        _ => (
            "pending",
            "This is a draft now. Nothing has changed yet: the person will accept or reject it. \
             Say so, and do not propose it again."
                .to_owned(),
        ),
    };
    let change_id = outcome.change_id.as_ref();
    let told = Written { state, message, change_id, id, content };
    ToolOutput { change: outcome.change_id.clone(), ..ToolOutput::json(&told) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_told_of_these_tools_in_these_words() {
        let tools = persona_tools();
        let specs = tools.specs();
        let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();

        assert_eq!(
            names,
            [
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
            ]
        );
        for spec in specs {
            assert!(spec.description.len() > 20, "{} has no description", spec.name);
            assert_eq!(spec.schema["type"], "object", "{}", spec.name);
        }
        let prompt = &specs[2].schema;
        assert_eq!(prompt["required"], serde_json::json!(["systemPrompt"]));
        assert!(prompt["properties"]["systemPrompt"]["description"].is_string());
    }

    #[test]
    fn the_playground_has_the_tools_that_a_persona_is_offered() {
        let all = playground_tools();
        let names: Vec<&str> = all.specs().iter().map(|spec| spec.name.as_str()).collect();

        assert_eq!(names, crate::domain::playground::TOOLS.map(|(name, _)| name));
        for spec in all.specs() {
            assert!(spec.description.len() > 20, "{} has no description", spec.name);
            assert_eq!(spec.schema["type"], "object", "{}", spec.name);
        }
        let some = all.only(&["grep".into(), "ls".into(), "unknown".into()]);
        let names: Vec<&str> = some.specs().iter().map(|spec| spec.name.as_str()).collect();
        assert_eq!(names, ["ls", "grep"]);
    }

    #[test]
    fn the_companion_looks_and_proposes_and_no_tool_decides() {
        let names = |tools: &Registry| -> Vec<String> {
            tools.specs().iter().map(|spec| spec.name.clone()).collect()
        };
        let (companion, persona) = (names(&companion_tools()), names(&persona_tools()));

        assert_eq!(companion, ["search", "read", "context", "propose_change"]);
        for name in companion.iter().chain(&persona) {
            for verb in ["approve", "accept", "decide", "reject", "undo", "restore", "purge"] {
                assert!(!name.contains(verb), "{name}");
            }
        }
        let tools = companion_tools();
        let subjects = &tools.specs()[3].schema["properties"]["entityType"]["enum"];
        assert_eq!(*subjects, serde_json::json!(["persona", "test_input", "page", "ref", "task"]));
        assert!(tools.specs()[..2].iter().all(|spec| spec.description.contains("chat")));
        for spec in tools.specs() {
            assert!(spec.description.len() > 20, "{} has no description", spec.name);
            assert_eq!(spec.schema["type"], "object", "{}", spec.name);
        }
    }
}
