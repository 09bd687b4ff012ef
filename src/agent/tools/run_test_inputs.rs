//! Running the test inputs, to see what the persona answers.

use futures_util::{StreamExt, stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    get_persona::hear_persona,
    get_test_input::{hear_test_inputs, own_test_input},
};
use crate::{
    agent::{
        desk::{CallDesk, ToolDesk},
        test_runs::AT_ONCE,
        tool::{Effect, Tool, ToolError, ToolOutput, bounded},
    },
    domain::{
        change::Entity,
        error::ApiError,
        id::TestInputId,
        run::{RunStatus, Usage},
    },
};

/// How much of one answer the model is shown, in bytes.
const SHOWN: usize = 6000;
/// How much of the test input itself is repeated, in bytes.
const SHOWN_INPUT: usize = 500;
/// The most test inputs that one call runs.
const MAX_INPUTS: usize = 50;

/// Runs test inputs of the persona with the persona's own model and returns its answers. Use it to see
/// what a change of the prompt does.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Input {
    /// Which ones, by id; all of them when absent.
    #[serde(default)]
    ids: Option<Vec<TestInputId>>,
    /// How many run at the same time, 1 to 8; 3 when absent.
    #[serde(default)]
    at_once: Option<usize>,
}

#[derive(Serialize)]
struct Answers {
    answers: Vec<Answer>,
}

#[derive(Serialize)]
struct Answer {
    id: TestInputId,
    #[serde(skip_serializing_if = "String::is_empty")]
    input: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    answer: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    model: String,
    usage: Usage,
}

impl Answer {
    /// One that could not even be asked for.
    fn failed(id: TestInputId, error: String) -> Self {
        let (input, answer, model) = Default::default();
        Self { id, input, answer, error: Some(error), model, usage: Usage::default() }
    }
}

/// The tool.
pub struct RunTestInputs;

impl Tool for RunTestInputs {
    type Input = Input;
    const NAME: &'static str = "run_test_inputs";
    const EFFECT: Effect = Effect::Reads;

    async fn run(&self, input: Input, desk: &CallDesk<'_>) -> Result<ToolOutput, ToolError> {
        let persona = desk.persona().await?;
        let ids = match input.ids {
            Some(ids) => {
                for id in &ids {
                    own_test_input(desk, id).await?;
                }
                ids
            }
            None => persona.test_input_ids.clone(),
        };
        if ids.is_empty() {
            return Err(ToolError::TellModel("The persona has no test inputs yet.".into()));
        }
        if ids.len() > MAX_INPUTS {
            let told = format!("Those are {}; name at most {MAX_INPUTS} by id.", ids.len());
            return Err(ToolError::TellModel(told));
        }
        let mut inputs = desk.read().await?.test_inputs(&desk.persona).await?;
        inputs.retain(|input| ids.contains(&input.id));
        // What it answers comes of its prompt as much as of what it is asked.
        let mut sources = hear_persona(desk, &persona).await?;
        sources.extend(hear_test_inputs(desk, &inputs).await?);
        for input in inputs.iter().filter(|input| input.fields.content.len() > SHOWN_INPUT) {
            let entity = Entity::from(&input.id);
            // Where more is known, its beginning says nothing.
            if desk.shown(&entity).is_none() {
                desk.show_part(entity);
            }
        }
        let at_once = input.at_once.unwrap_or(AT_ONCE).clamp(1, 8);
        let answers = stream::iter(ids)
            .map(|id| async move { (id.clone(), answer(desk, id).await) })
            .buffered(at_once)
            .collect::<Vec<_>>()
            .await;
        let is_any = answers.iter().any(|(_, answer)| answer.is_ok());
        let mut told = Vec::with_capacity(answers.len());
        for (id, answer) in answers {
            told.push(match answer {
                // The others were answered, and paid for.
                Err(error) if is_any => Answer::failed(id, error.to_string()),
                answer => answer?,
            });
        }
        Ok(ToolOutput { sources, ..ToolOutput::json(&Answers { answers: told }) })
    }
}

/// Runs one test input to its end. It is stopped with the run that asked for it.
async fn answer(desk: &ToolDesk, id: TestInputId) -> Result<Answer, ApiError> {
    let stopped = desk.stopped.child_token();
    let run = desk.agent.run_test_input(&desk.scope, &id, stopped).await?;
    let ended = desk.agent.ended(&desk.scope, &run.id).await?;
    desk.charge(ended.spent.cost_micros.unwrap_or_default());
    let mut link = desk.agent.store().read(&desk.scope.space).await?;
    let input = link.message(&ended.message_id).await?.text();
    let text = link.message(&ended.reply_id).await.map(|reply| reply.text()).unwrap_or_default();
    let error = match (ended.status, &ended.error) {
        (_, Some(error)) => Some(error.to_string()),
        (RunStatus::Stopped, None) => Some("It was stopped.".to_owned()),
        _ => None,
    };
    Ok(Answer {
        id,
        input: bounded(input, SHOWN_INPUT),
        answer: bounded(text, SHOWN),
        error,
        model: ended.model,
        usage: ended.spent.usage,
    })
}
