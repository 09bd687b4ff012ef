//! What a model can do: the shape of a tool, and the list of all of them.
//!
//! A tool's input type is its schema: the doc comments are what the model reads. What a tool changes
//! goes through the gate, which alone knows what the persona's tier allows.

use std::{fmt::Debug, future::Future, pin::Pin, sync::Arc};

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::desk::{CallDesk, ToolDesk};
use crate::{
    domain::{
        error::ApiError,
        id::ChangeId,
        message::{ToolCall, ToolResult},
        persona::Tier,
        proposal::Source,
        tokens::estimate,
    },
    providers::ToolSpec,
    store::StoreError,
};

/// The most that a model is told by one tool, in bytes. The longest system prompt fits if its letters take two
/// bytes or fewer.
pub const MAX_RESULT_BYTES: usize = 256 * 1024;

/// How much a draft quotes of what was read from elsewhere.
pub const PASSAGE_CHARS: usize = 300;

/// Whether a tool can run beside others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It only looks.
    Reads,
    /// It wants to change something, so it runs in its turn.
    Writes,
}

/// What a tool gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolOutput {
    /// What the model is told.
    pub text: String,
    /// The change that was applied or waits for a decision.
    pub change: Option<ChangeId>,
    /// What of it nobody here wrote.
    pub sources: Vec<Source>,
}

impl ToolOutput {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A thing as JSON.
    pub fn json(thing: &impl Serialize) -> Self {
        Self::text(serde_json::json!(thing).to_string())
    }
}

/// Why a tool gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The model can do better: tell it this, and go on.
    #[error("{0}")]
    TellModel(String),
    /// The same, in words that nobody here wrote.
    #[error("{}", .0.text)]
    TellOutput(ToolOutput),
    /// Nobody in the conversation can help: end the run.
    #[error("{0}")]
    Fatal(ApiError),
}

impl From<ApiError> for ToolError {
    fn from(error: ApiError) -> Self {
        match error {
            ApiError::Unavailable
            | ApiError::DiskFull
            | ApiError::Offline
            | ApiError::Internal { .. } => Self::Fatal(error),
            ApiError::Conflict(conflict) => Self::TellModel(format!(
                "The person changed the same passage of the {} meanwhile. Read it again before you \
                 change it. It now says:\n{}",
                conflict.label(),
                conflict.theirs
            )),
            other => Self::TellModel(other.to_string()),
        }
    }
}

impl From<StoreError> for ToolError {
    fn from(error: StoreError) -> Self {
        ApiError::from(error).into()
    }
}

/// Something a model can do.
pub trait Tool: Send + Sync + 'static {
    /// What it is given; its doc comments are what the model reads.
    type Input: DeserializeOwned + JsonSchema + Send;
    /// The name by which the model calls it.
    const NAME: &'static str;
    /// Whether it can run beside others.
    const EFFECT: Effect;

    /// Does it.
    fn run(
        &self,
        input: Self::Input,
        desk: &CallDesk<'_>,
    ) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send;
}

/// What a tool gives when it is done.
pub type Running<'a> = Pin<Box<dyn Future<Output = Result<ToolOutput, ToolError>> + Send + 'a>>;

/// What a tool does that is known only once the program runs.
pub trait Does: Send + Sync + 'static {
    /// Does it. The input is what the model gave: nobody compared it with the schema.
    fn run<'a>(&'a self, input: Value, desk: CallDesk<'a>) -> Running<'a>;
}

/// A tool that is known only once the program runs.
#[derive(Clone)]
pub struct FoundTool {
    /// What the model is told of it.
    pub spec: ToolSpec,
    /// Whether it can run beside others.
    pub effect: Effect,
    /// How far whoever uses it must be allowed to go.
    pub needs: Tier,
    /// What it does.
    pub does: Arc<dyn Does>,
}

/// A tool whose input type is forgotten.
trait Erased: Send + Sync {
    fn name(&self) -> &str;
    fn effect(&self) -> Effect;
    fn needs(&self) -> Tier;
    fn spec(&self) -> ToolSpec;
    /// Does it. `spec` is what the model was told of it.
    fn call<'a>(&'a self, input: Value, spec: &'a ToolSpec, desk: CallDesk<'a>) -> Running<'a>;
}

impl Erased for FoundTool {
    fn name(&self) -> &str {
        &self.spec.name
    }

    fn effect(&self) -> Effect {
        self.effect
    }

    fn needs(&self) -> Tier {
        self.needs
    }

    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn call<'a>(&'a self, input: Value, _: &'a ToolSpec, desk: CallDesk<'a>) -> Running<'a> {
        self.does.run(input, desk)
    }
}

impl<T: Tool> Erased for T {
    fn name(&self) -> &str {
        T::NAME
    }

    fn effect(&self) -> Effect {
        T::EFFECT
    }

    /// What one of ours changes goes through the gate, which knows what is allowed.
    fn needs(&self) -> Tier {
        Tier::Read
    }

    fn spec(&self) -> ToolSpec {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        });
        let schema = settings.into_generator().into_root_schema_for::<T::Input>();
        let mut schema = schema.to_value();
        let mut description = String::new();
        if let Some(schema) = schema.as_object_mut() {
            schema.remove("title");
            if let Some(Value::String(text)) = schema.remove("description") {
                description = text;
            }
            schema.entry("properties").or_insert_with(|| serde_json::json!({}));
            schema.insert("additionalProperties".into(), Value::Bool(false));
        }
        ToolSpec { name: T::NAME.into(), description, schema }
    }

    fn call<'a>(&'a self, input: Value, spec: &'a ToolSpec, desk: CallDesk<'a>) -> Running<'a> {
        Box::pin(async move {
            if let Some(told) = unknown(&input, spec) {
                return Err(ToolError::TellModel(told));
            }
            let input = serde_path_to_error::deserialize(input).map_err(|error| {
                let path = error.path().to_string();
                let place = if path == "." { String::new() } else { format!(" at “{path}”") };
                ToolError::TellModel(format!("The input does not fit{place}: {}.", error.inner()))
            })?;
            self.run(input, &desk).await
        })
    }
}

/// What of an input the schema does not know: whoever wrote it meant something by it.
fn unknown(input: &Value, spec: &ToolSpec) -> Option<String> {
    let known = spec.schema["properties"].as_object()?;
    let named = |names: Vec<&String>| {
        let named: Vec<String> = names.into_iter().map(|name| format!("“{name}”")).collect();
        named.join(", ")
    };
    let odd: Vec<&String> =
        input.as_object()?.keys().filter(|name| !known.contains_key(*name)).collect();
    if odd.is_empty() {
        return None;
    }
    let takes = match known.is_empty() {
        true => "It takes nothing.".to_owned(),
        false => format!("It takes {}.", named(known.keys().collect())),
    };
    Some(format!("The input does not fit: {} has no {}. {takes}", spec.name, named(odd)))
}

/// About how many tokens a model is told of a tool.
fn reading(tool: &ToolSpec) -> u64 {
    let parts = [&tool.name, &tool.description, &tool.schema.to_string()];
    parts.into_iter().map(|part| estimate(part) as u64).sum()
}

/// The tools that a run may use.
#[derive(Clone, Default)]
pub struct Registry {
    tools: Vec<Arc<dyn Erased>>,
    /// Made once, because every run shows them to its model.
    specs: Arc<[ToolSpec]>,
    /// About how many tokens they are.
    reading: u64,
}

impl Debug for Registry {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_list().entries(self.names()).finish()
    }
}

impl Registry {
    fn of(tools: Vec<Arc<dyn Erased>>) -> Self {
        let specs = tools.iter().map(|tool| tool.spec()).collect();
        Self::told(tools, specs)
    }

    fn told(tools: Vec<Arc<dyn Erased>>, specs: Vec<ToolSpec>) -> Self {
        let reading = specs.iter().map(reading).sum();
        Self { tools, specs: specs.into(), reading }
    }

    /// The same list with one more.
    pub fn with(mut self, tool: impl Tool) -> Self {
        self.tools.push(Arc::new(tool));
        Self::of(self.tools)
    }

    /// The same list with one more that was found.
    pub fn with_found(mut self, tool: FoundTool) -> Self {
        self.tools.push(Arc::new(tool));
        Self::of(self.tools)
    }

    /// Those of them that have one of these names.
    pub fn only(&self, names: &[String]) -> Self {
        let wanted = |tool: &&Arc<dyn Erased>| names.iter().any(|name| name == tool.name());
        let tools: Vec<Arc<dyn Erased>> = self.tools.iter().filter(wanted).cloned().collect();
        let named = |spec: &&ToolSpec| names.contains(&spec.name);
        Self::told(tools, self.specs.iter().filter(named).cloned().collect())
    }

    /// Those of them that somebody may use who may go this far.
    pub fn within(&self, tier: Tier) -> Self {
        let rank = |tier: Tier| Tier::ALL.iter().position(|known| *known == tier);
        let allowed = |tool: &&Arc<dyn Erased>| rank(tool.needs()) <= rank(tier);
        Self::of(self.tools.iter().filter(allowed).cloned().collect())
    }

    /// Whether there is a tool with this name.
    pub fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// The names of all of them.
    pub fn names(&self) -> Vec<&str> {
        self.tools.iter().map(|tool| tool.name()).collect()
    }

    /// These and those others whose names are not taken.
    pub fn beside(&self, others: &Self) -> Self {
        let (mut tools, mut specs) = (self.tools.clone(), self.specs.to_vec());
        for (tool, spec) in others.tools.iter().zip(others.specs.iter()) {
            if self.find(tool.name()).is_none() {
                tools.push(tool.clone());
                specs.push(spec.clone());
            }
        }
        Self::told(tools, specs)
    }

    /// What the model is told of them.
    pub fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    /// About how many tokens that is.
    pub fn reading(&self) -> u64 {
        self.reading
    }

    /// Whether a call only looks. What is not known does nothing.
    pub fn effect(&self, call: &ToolCall) -> Effect {
        self.find(&call.name).map_or(Effect::Reads, |tool| tool.effect())
    }

    fn find(&self, name: &str) -> Option<&Arc<dyn Erased>> {
        self.tools.iter().find(|tool| tool.name() == name)
    }

    /// Runs a call. What the model can do something about is a result, not an error; it is told `most`
    /// bytes at the most.
    pub async fn run(
        &self,
        call: &ToolCall,
        desk: &ToolDesk,
        most: usize,
    ) -> Result<ToolResult, ApiError> {
        let spec = self.specs.iter().find(|spec| spec.name == call.name);
        let outcome = match self.find(&call.name).zip(spec) {
            Some((tool, spec)) => {
                let desk = CallDesk { desk, call: &call.call, most };
                tool.call(call.input.clone(), spec, desk).await
            }
            None => Err(ToolError::TellModel(format!(
                "There is no tool “{}”. There are: {}.",
                call.name,
                self.names().join(", ")
            ))),
        };
        let (output, is_error) = match outcome {
            Ok(output) => (output, false),
            Err(ToolError::TellModel(text)) => (ToolOutput::text(text), true),
            Err(ToolError::TellOutput(output)) => (output, true),
            Err(ToolError::Fatal(error)) => return Err(error),
        };
        Ok(ToolResult {
            call: call.call.clone(),
            name: call.name.clone(),
            output: bounded(output.text, most),
            is_error,
            change_id: output.change,
            sources: output.sources,
        })
    }
}

/// A text of at most so many bytes, saying what was left out.
pub fn bounded(text: String, most: usize) -> String {
    if text.len() <= most {
        return text;
    }
    let end = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    format!("{}\n… ({} more bytes were left out)", &text[..end], text.len() - end)
}

/// Whether a text was cut so.
pub fn is_bounded(text: &str) -> bool {
    text.ends_with(" more bytes were left out)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_result_is_cut_between_letters_and_says_so() {
        assert_eq!(bounded("short".into(), 5), "short");
        assert_eq!(bounded("é".repeat(4), 5), "éé\n… (4 more bytes were left out)");
        assert!(is_bounded(&bounded("é".repeat(4), 5)) && !is_bounded("short"));
    }
    /// Says what it was given.
    struct Echo;

    impl Does for Echo {
        fn run<'a>(&'a self, input: Value, _: CallDesk<'a>) -> Running<'a> {
            Box::pin(async move { Ok(ToolOutput::json(&input)) })
        }
    }

    fn found(name: &str, needs: Tier) -> FoundTool {
        let schema = serde_json::json!({"type": "object", "properties": {}});
        let spec = ToolSpec { name: name.into(), description: "Echoes.".into(), schema };
        FoundTool { spec, effect: Effect::Reads, needs, does: Arc::new(Echo) }
    }

    #[test]
    fn what_is_found_stands_beside_what_is_built_in() {
        let ours = super::super::tools::playground_tools().only(&["ls".into(), "grep".into()]);
        let found = Registry::default()
            .with_found(found("ls", Tier::Read))
            .with_found(found("echo", Tier::Read))
            .with_found(found("send", Tier::Act));

        let all = ours.beside(&found);

        assert_eq!(all.names(), ["ls", "grep", "echo", "send"]);
        assert_ne!(all.specs()[0].description, "Echoes.", "what was there first keeps its name");
        assert_eq!(all.specs()[2].description, "Echoes.");
        assert_eq!(all.within(Tier::Suggest).names(), ["ls", "grep", "echo"]);
        assert_eq!(all.only(&["send".into()]).within(Tier::Act).names(), ["send"]);
        assert!(all.has("echo") && !all.has("Echo"));
    }
}
