//! Functions of the operator's Python files as tools. They are described and called in the sandbox: nothing
//! of them ever runs in this process, or in a Python of the host.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{docstring::Docstring, file::refuse_name};
use crate::{
    agent::{
        desk::CallDesk,
        tool::{Does, Effect, FoundTool, Running, ToolError, ToolOutput},
    },
    domain::persona::Tier,
    providers::ToolSpec,
    sandbox::{End, Files, Outcome, Owner, Program, Sandbox, What, limits},
};

/// The most that a model is told of what a function does, in bytes.
const MAX_DESCRIPTION: usize = 4000;
/// So many of the last lines of a traceback are told.
const TRACEBACK_LINES: usize = 12;
/// As much of what a function prints is told.
const MAX_PRINTED: usize = 4000;
/// What the sandbox calls the file.
const PROGRAM: &str = "File \"<program>\"";

/// A Python file as it was when it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// The path as it is written in `tools.yaml`.
    path: String,
    source: String,
    /// The Python files beside it, which it may import.
    beside: Arc<Files>,
}

impl Module {
    /// Reads a file and the Python files beside it.
    pub async fn read(folder: &Path, path: &str) -> Result<Self, String> {
        let file = folder.join(path);
        let unread = |error: std::io::Error| format!("{path} cannot be read: {error}.");
        let about = tokio::fs::metadata(&file).await.map_err(unread)?;
        if !about.is_file() || about.len() > limits::SOURCE_BYTES as u64 {
            let most = limits::SOURCE_BYTES / 1024;
            return Err(format!("{path} is not a file of at most {most} KiB."));
        }
        let source = tokio::fs::read_to_string(&file).await.map_err(unread)?;
        let mut beside = Files::new();
        let mut bytes = 0;
        let folder = file.parent().unwrap_or(folder);
        let mut list = tokio::fs::read_dir(folder).await.map_err(unread)?;
        while let Some(one) = list.next_entry().await.map_err(unread)? {
            let name = one.file_name().to_string_lossy().into_owned();
            let about = tokio::fs::metadata(one.path()).await;
            let is_python = name.ends_with(".py") && about.as_ref().is_ok_and(|it| it.is_file());
            bytes += about.map_or(0, |about| if is_python { about.len() } else { 0 });
            if bytes > limits::GIVEN_BYTES as u64 {
                let most = limits::GIVEN_BYTES / 1024 / 1024;
                return Err(format!("The Python files beside {path} are larger than {most} MiB."));
            }
            if is_python {
                beside.insert(name, tokio::fs::read(one.path()).await.map_err(unread)?);
            }
        }
        Ok(Self { path: path.to_owned(), source, beside: Arc::new(beside) })
    }

    /// Where the files are that it may import, seen from the folder of `tools.yaml`.
    pub fn beside(&self, folder: &Path) -> Vec<PathBuf> {
        let file = folder.join(&self.path);
        self.beside.keys().map(|name| file.with_file_name(name)).collect()
    }

    fn program(&self, what: What) -> Program {
        Program { files: self.beside.as_ref().clone(), ..Program::new(what) }
    }

    /// How a function ended that did not do what it should.
    fn told(&self, end: &End) -> String {
        match end {
            End::Exit(status) => format!("It ended with status {status}."),
            End::Stopped(limit) => limit.to_string(),
            End::Error(traceback) => {
                let lines: Vec<&str> = traceback.lines().collect();
                let last = lines[lines.len().saturating_sub(TRACEBACK_LINES)..].join("\n");
                last.replace(PROGRAM, &format!("File \"{}\"", self.path))
            }
        }
    }
}

/// What the sandbox says of a function.
#[derive(Deserialize)]
struct Described {
    signature: String,
    description: String,
    parameters: Map<String, Value>,
}

/// A function as a tool, and what could be better about it.
pub async fn tool(
    sandbox: &Sandbox,
    module: Module,
    function: &str,
) -> Result<(FoundTool, Option<String>), String> {
    let what = What::Describe { source: module.source.clone(), function: function.to_owned() };
    let outcome = sandbox.run(module.program(what)).await.map_err(|error| error.to_string())?;
    let Outcome { end: End::Exit(0), value: Some(value), .. } = outcome else {
        let path = &module.path;
        return Err(format!("{path}:{function} cannot be used: {}", module.told(&outcome.end)));
    };
    let described: Described = serde_json::from_value(value)
        .map_err(|error| format!("{}:{function} is not described well: {error}.", module.path))?;
    let Described { signature, description, mut parameters } = described;
    let read = Docstring::read(&description);
    let properties = parameters.get_mut("properties").and_then(Value::as_object_mut);
    for (name, schema) in properties.into_iter().flatten() {
        refuse_name("parameter", name)
            .map_err(|reason| format!("{}:{function} cannot be used: {reason}", module.path))?;
        let Some(schema) = schema.as_object_mut() else { continue };
        if let Some(said) = read.parameters.get(name)
            && !schema.contains_key("description")
        {
            schema.insert("description".into(), said.as_str().into());
        }
        name_kind(schema);
    }
    let warning = read.description.is_empty().then(|| {
        format!(
            "{}:{function} has no docstring, so a model sees its signature and nothing else.",
            module.path
        )
    });
    let mut description = if read.description.is_empty() { signature } else { read.description };
    description.truncate(description.floor_char_boundary(MAX_DESCRIPTION));
    let (name, schema) = (function.to_owned(), Value::Object(parameters));
    let spec = ToolSpec { name, description, schema };
    let does = Arc::new(PythonFunction {
        sandbox: sandbox.clone(),
        module,
        function: function.to_owned(),
    });
    // It reaches nothing, so it can run beside anything.
    Ok((FoundTool { spec, effect: Effect::Reads, needs: Tier::Read, does }, warning))
}

/// Some services want to know of what kind a choice is.
fn name_kind(schema: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = schema.get("enum") else { return };
    let kind = if choices.iter().all(Value::is_string) {
        "string"
    } else if choices.iter().all(|choice| choice.is_i64() || choice.is_u64()) {
        "integer"
    } else {
        return;
    };
    schema.entry("type").or_insert_with(|| kind.into());
}

struct PythonFunction {
    sandbox: Sandbox,
    module: Module,
    function: String,
}

impl Does for PythonFunction {
    fn run<'a>(&'a self, input: Value, desk: CallDesk<'a>) -> Running<'a> {
        Box::pin(async move {
            let Value::Object(keywords) = input else {
                return Err(ToolError::TellModel("The input is not an object.".into()));
            };
            let what = What::Call {
                source: self.module.source.clone(),
                function: self.function.clone(),
                keywords,
            };
            let (space, session) = (desk.scope.space.to_string(), desk.conversation.to_string());
            let owner = Owner { space, session };
            let program = Program { owner, ..self.module.program(what) };
            let outcome = self.sandbox.run(program).await;
            let outcome = outcome.map_err(|error| ToolError::TellModel(error.to_string()))?;
            match (&outcome.end, &outcome.value) {
                (End::Exit(0), Some(value)) => Ok(ToolOutput::text(given(value, &outcome))),
                (end, _) => Err(ToolError::TellModel(self.module.told(end))),
            }
        })
    }
}

/// What a function returned, and what it printed on the way.
fn given(value: &Value, outcome: &Outcome) -> String {
    let mut text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let printed = outcome.stdout.trim();
    if !printed.is_empty() {
        let end = printed.floor_char_boundary(MAX_PRINTED);
        text.push_str(&format!("\n\nIt printed:\n{}", &printed[..end]));
        if end < printed.len() {
            text.push_str("\n… (more was printed)");
        }
    }
    text
}
