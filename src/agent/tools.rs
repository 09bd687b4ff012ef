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

use serde::{Deserialize, Serialize};

use super::{
    desk::Heard,
    tool::{Registry, Tool, ToolOutput, is_bounded},
};
use crate::domain::{
    change::{ChangeState, Entity, Outcome},
    id::{ChangeId, PersonaId, TestInputId},
    message::ToolResult,
    version::Revision,
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
    message: &'a str,
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

/// How a model knows a thing that a result is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Known {
    /// It was shown all of it, at this revision.
    Whole(Revision),
    /// It was shown the beginning.
    Part,
    /// The beginning came along, which says nothing where more is known.
    Along,
    /// It wrote it, with this change.
    Written(ChangeId),
}

/// What a result says of versions. Only what is whole names its own.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Heading {
    id: Option<TestInputId>,
    revision: Option<Revision>,
    input: String,
    #[serde(alias = "answers")]
    test_inputs: Vec<Heading>,
}

impl Heading {
    /// What a result that was cut off says is nothing.
    fn of(result: &ToolResult) -> Self {
        serde_json::from_str(&result.output).unwrap_or_default()
    }

    fn entity(&self) -> Option<Entity> {
        self.id.as_ref().map(Entity::from)
    }

    fn known(&self) -> Known {
        self.revision.map_or(Known::Part, Known::Whole)
    }
}

/// What a model knows of this persona and its test inputs by a result of its agent's tools.
pub fn known(persona: &PersonaId, result: &ToolResult) -> Vec<(Entity, Known)> {
    let written = || result.change_id.clone().map(Known::Written);
    let known: Vec<(Option<Entity>, Option<Known>)> = match result.name.as_str() {
        _ if result.is_error => Vec::new(),
        get_persona::GetPersona::NAME => {
            vec![(Some(Entity::from(persona)), Some(Heading::of(result).known()))]
        }
        get_test_input::GetTestInput::NAME => {
            let told = Heading::of(result);
            vec![(told.entity(), Some(told.known()))]
        }
        list_test_inputs::ListTestInputs::NAME => {
            let told = Heading::of(result).test_inputs;
            told.iter().map(|told| (told.entity(), Some(told.known()))).collect()
        }
        run_test_inputs::RunTestInputs::NAME => {
            let told = Heading::of(result).test_inputs;
            let along = |told: &Heading| is_bounded(&told.input).then_some(Known::Along);
            told.iter().map(|told| (told.entity(), along(told))).collect()
        }
        update_persona_name::UpdatePersonaName::NAME
        | update_system_prompt::UpdateSystemPrompt::NAME
        | patch_system_prompt::PatchSystemPrompt::NAME => {
            vec![(Some(Entity::from(persona)), written())]
        }
        create_test_input::CreateTestInput::NAME | update_test_input::UpdateTestInput::NAME => {
            vec![(Heading::of(result).entity(), written())]
        }
        _ => Vec::new(),
    };
    known.into_iter().filter_map(|(entity, known)| Some((entity?, known?))).collect()
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
    let message = match outcome.state {
        ChangeState::Applied => done,
        ChangeState::Conflict => {
            "This is a draft now, but it does not fit: the same passage was changed since you \
             read it. Read it again, and propose it anew for what it says now."
        }
        ChangeState::Pending
        | ChangeState::Rejected
        | ChangeState::Superseded
        | ChangeState::Expired => {
            "This is a draft now. Nothing has changed yet: the person will accept or reject it. \
             Say so, and do not propose it again."
        }
    };
    let (state, change_id) = (outcome.state.word(), outcome.change_id.as_ref());
    let told = Written { state, message, change_id, id, content };
    ToolOutput { change: outcome.change_id.clone(), ..ToolOutput::json(&told) }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn result(name: &str, output: &Value, change: Option<&str>) -> ToolResult {
        ToolResult {
            call: "call".into(),
            name: name.into(),
            output: output.to_string(),
            is_error: false,
            change_id: change.map(ChangeId::new),
            sources: Vec::new(),
        }
    }

    #[test]
    fn results_say_which_versions_the_model_knows() {
        let ann = PersonaId::new("ann");
        let knows = |result: ToolResult| -> Vec<(String, Known)> {
            known(&ann, &result).into_iter().map(|(entity, known)| (entity.id, known)).collect()
        };
        let one = |id: &str, known: Known| vec![(id.to_owned(), known)];

        let seen = json!({"revision": 3, "systemPrompt": "Be brief."});
        assert_eq!(knows(result("get_persona", &seen, None)), one("ann", Known::Whole(3)));
        let mut cut = result("get_persona", &seen, None);
        cut.output.truncate(9);
        assert_eq!(knows(cut), one("ann", Known::Part));
        let failed = ToolResult { is_error: true, ..result("get_persona", &seen, None) };
        assert_eq!(knows(failed), []);

        let list = json!({"testInputs": [
            {"id": "t1", "content": "Hi?", "revision": 2}, {"id": "t2", "content": "Long … (cut)"},
        ]});
        let both = vec![("t1".to_owned(), Known::Whole(2)), ("t2".to_owned(), Known::Part)];
        assert_eq!(knows(result("list_test_inputs", &list, None)), both);
        let read = json!({"id": "t2", "content": "Long.", "revision": 1});
        assert_eq!(knows(result("get_test_input", &read, None)), one("t2", Known::Whole(1)));
        let long = super::super::tool::bounded("Long.".into(), 2);
        let ran = json!({"answers": [{"id": "t1", "input": "Hi?"}, {"id": "t2", "input": long}]});
        assert_eq!(knows(result("run_test_inputs", &ran, None)), one("t2", Known::Along));

        let written = Known::Written(ChangeId::new("c"));
        let done = json!({"state": "applied", "id": "t3"});
        assert_eq!(
            knows(result("patch_system_prompt", &done, Some("c"))),
            one("ann", written.clone())
        );
        assert_eq!(knows(result("create_test_input", &done, Some("c"))), one("t3", written));
        assert_eq!(knows(result("update_test_input", &done, None)), [], "nothing was changed");
        assert_eq!(knows(result("delete_test_input", &done, Some("c"))), []);
    }

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
