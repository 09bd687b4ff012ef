//! Keeping a list of what is to be done.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    agent::{
        desk::CallDesk,
        tool::{Effect, Tool, ToolError, ToolOutput},
    },
    domain::{
        news::News,
        playground::{Todo, TodoStatus},
    },
};

/// The most entries.
const MAX_TODOS: usize = 50;
/// The longest entry, in characters.
const MAX_CHARS: usize = 500;

/// Keeps your list of what is to be done, which the person sees. Give the whole list each time: it takes
/// the place of the one before. Use it for work of several steps, and say where each step stands.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// All entries, in order.
    todos: Vec<Todo>,
}

/// The tool. The list is where its last call stands in the conversation, so it follows the branch.
pub struct WriteTodos;

impl Tool for WriteTodos {
    type Input = Input;
    const NAME: &'static str = "write_todos";
    const EFFECT: Effect = Effect::Writes;

    async fn run(&self, input: Input, desk: &CallDesk<'_>) -> Result<ToolOutput, ToolError> {
        let long = |todo: &Todo| todo.content.chars().count() > MAX_CHARS;
        if input.todos.len() > MAX_TODOS || input.todos.iter().any(long) {
            return Err(ToolError::TellModel(format!(
                "A list has at most {MAX_TODOS} entries of {MAX_CHARS} characters."
            )));
        }
        // Nothing is written: the list is in the call, and open pages look for it there.
        let (agent, scope, place) = (&desk.agent, &desk.scope, desk.files()?);
        let mut link = agent.write(scope).await?;
        link.tell(News::of_chat(&place.session));
        link.commit().await?;
        let done = input.todos.iter().filter(|todo| todo.status == TodoStatus::Completed).count();
        let all = input.todos.len();
        Ok(ToolOutput::text(format!("The list is kept: {done} of {all} are done.")))
    }
}
