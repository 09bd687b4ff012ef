//! The operator's own tools, with real Python, real servers, and a scripted model that uses them.

mod mcp;
mod python;
mod retirement;

use std::{path::Path, sync::Arc};

use axum::http::Method;
use greenroom::{
    agent::{ToolProblem, Toolbox, Weight},
    domain::{
        change::{Change, Op},
        id::PersonaId,
    },
    providers::{Demo, Pace, Providers, TimeLimits},
    sandbox::Sandbox,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::House;

/// A folder with `tools.yaml` and other files in it.
struct Folder(TempDir);

impl Folder {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for (path, text) in files {
            folder.write(path, text);
        }
        folder
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, path: &str, text: &str) {
        let file = self.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    fn toolbox(&self) -> Toolbox {
        toolbox(&self.path().join("tools.yaml"))
    }
}

fn sandbox() -> Sandbox {
    assert!(Sandbox::is_built_in(), "Python was not built in: run `make sandbox`");
    Sandbox::new(env!("CARGO_BIN_EXE_greenroom").as_ref())
}

/// The tools of a file. The environment has a key in it, and a variable that entries may name.
fn toolbox(file: &Path) -> Toolbox {
    toolbox_in(sandbox(), file)
}

fn toolbox_in(sandbox: Sandbox, file: &Path) -> Toolbox {
    let environment = |name: &str| match name {
        "OPENAI_API_KEY" => Some("sk-secret".to_owned()),
        "NAMED" => Some("a-named-value".to_owned()),
        _ => None,
    };
    let demo = Demo::new(Pace::AtOnce);
    let providers = Providers::new(TimeLimits::default(), demo, Arc::new(environment)).unwrap();
    Toolbox::new(file, Some(sandbox), providers)
}

async fn names(toolbox: &Toolbox) -> Vec<String> {
    toolbox.tools().await.specs().iter().map(|spec| spec.name.clone()).collect()
}

async fn problems(toolbox: &Toolbox) -> Vec<String> {
    toolbox.tools().await.problems.iter().map(ToolProblem::to_string).collect()
}

/// What tools give that a model calls one after the other in the playground: the texts, and whether each was
/// an error.
async fn called(house: &House, toolbox: Toolbox, calls: &[(&str, Value)]) -> Vec<(String, bool)> {
    let id = PersonaId::new("handy");
    let tools: Vec<&str> = calls.iter().map(|(name, _)| *name).collect();
    let create = Change::new(&id, Op::Create)
        .set("name", "Handy")
        .set("systemPrompt", "Use your tools.")
        .set("tools", json!(tools));
    house.submit(create).await.unwrap();
    let mut answers: Vec<Value> = calls
        .iter()
        .map(|(name, input)| json!([{"call": {"name": name, "input": input}}]))
        .collect();
    answers.push(json!([{"text": "Done."}]));
    let playing = house.playing(&json!({ "answers": answers }));
    playing.state.agent.use_toolbox(toolbox);
    let said = json!({"messages": [{"role": "user", "content": "Go on"}]});
    let answer = playing.call(Method::POST, "/api/agents/handy/playground/chat", said).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let data = answer.text.lines().filter_map(|line| line.strip_prefix("data: "));
    let chunks = data.filter_map(|data| serde_json::from_str::<Value>(data).ok());
    let given = chunks.filter_map(|chunk| match chunk["type"].as_str() {
        Some("tool-output-available") => {
            Some((chunk["output"].as_str().unwrap_or_default().to_owned(), false))
        }
        Some("tool-output-error") => {
            Some((chunk["errorText"].as_str().unwrap_or_default().to_owned(), true))
        }
        _ => None,
    });
    given.collect()
}

#[tokio::test]
async fn good_entries_work_and_bad_ones_are_named_with_their_lines() {
    let folder = Folder::new(&[
        (
            "tools.yaml",
            "- ls\n- fly\n- a.py:double\n- a.py:missing\n- nowhere.py:x\n- b.py:double\n- ls\n\
             - grep\n- mcp: gone\n  command: /no/such/program\n- search\n",
        ),
        ("a.py", "def double(x: int) -> int:\n    \"\"\"Double it.\"\"\"\n    return 2 * x\n"),
        ("b.py", "def double(x: int) -> int:\n    \"\"\"Double it.\"\"\"\n    return 2 * x\n"),
    ]);
    let toolbox = folder.toolbox();

    let problems = problems(&toolbox).await;

    assert_eq!(names(&toolbox).await, ["ls", "double", "grep", "search"]);
    let expected = [
        "tools.yaml, line 2: There is no built-in tool “fly”. There are: ls, read_file,",
        "tools.yaml, line 4: a.py:missing cannot be used: There is no function named missing",
        "tools.yaml, line 5: nowhere.py cannot be read: No such file",
        "tools.yaml, line 6: The name “double” is taken",
        "tools.yaml, line 7: The name “ls” is taken",
        "tools.yaml, line 9: The MCP server “gone” cannot be used: /no/such/program could not be started",
    ];
    assert_eq!(problems.len(), expected.len(), "{problems:#?}");
    for (problem, expected) in problems.iter().zip(expected) {
        assert!(problem.starts_with(expected), "{problem}\n{expected}");
    }
    let tools = toolbox.tools().await;
    assert!(tools.problems.iter().all(|problem| problem.weight == Weight::Error));
}

#[tokio::test]
async fn what_changes_in_the_files_applies_to_what_is_asked_next() {
    let folder =
        Folder::new(&[("sums.py", "def one() -> int:\n    \"\"\"One.\"\"\"\n    return 1\n")]);
    let toolbox = folder.toolbox();
    assert_eq!(names(&toolbox).await, Vec::<String>::new(), "no file is no tools, and no problem");
    assert_eq!(problems(&toolbox).await, Vec::<String>::new());

    folder.write("tools.yaml", "- ls\n- sums.py:one\n");
    assert_eq!(names(&toolbox).await, ["ls", "one"]);

    folder.write(
        "sums.py",
        "def one(of: str) -> int:\n    \"\"\"The first one.\"\"\"\n    return 1\n",
    );
    let tools = toolbox.tools().await;
    assert_eq!(tools.specs()[1].description, "The first one.");

    // Whoever is in the middle of writing keeps what was there.
    folder.write("tools.yaml", "- ls\n- [sums.py:one\n");
    assert_eq!(names(&toolbox).await, ["ls", "one"]);
    assert!(problems(&toolbox).await[0].contains("This is no YAML"));

    std::fs::remove_file(folder.path().join("tools.yaml")).unwrap();
    assert_eq!(names(&toolbox).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_persona_uses_only_what_its_list_names() {
    let house = House::new().await;
    let folder = Folder::new(&[
        ("tools.yaml", "- a.py:double\n- a.py:triple\n"),
        (
            "a.py",
            "def double(x: int):\n    \"\"\"Double.\"\"\"\n    return 2 * x\n\n\
             def triple(x: int):\n    \"\"\"Triple.\"\"\"\n    return 3 * x\n",
        ),
    ]);

    let given = called(&house, folder.toolbox(), &[("double", json!({"x": 21}))]).await;
    assert_eq!(given, [("42".to_owned(), false)]);

    let change = Change::new(&PersonaId::new("handy"), Op::Update).set("tools", json!(["ls"]));
    house.submit(change).await.unwrap();
    let playing = house.playing(&json!({"answers": [
        [{"call": {"name": "double", "input": {"x": 1}}}], [{"text": "Done."}]
    ]}));
    playing.state.agent.use_toolbox(folder.toolbox());
    let said = json!({"messages": [{"role": "user", "content": "Go on"}]});
    let answer = playing.call(Method::POST, "/api/agents/handy/playground/chat", said).await;
    assert!(answer.text.contains("There is no tool “double”. There are: ls."), "{}", answer.text);
}

#[tokio::test]
async fn a_persona_is_given_the_operators_tools_on_its_page() {
    let house = House::new().await;
    let folder = Folder::new(&[
        ("tools.yaml", "- a.py:double\n- ls\n"),
        ("a.py", "def double(x: int):\n    \"\"\"Double <it>.\"\"\"\n    return 2 * x\n"),
    ]);
    let id = house.persona("handy", "Use your tools.").await;
    let change = Change::new(&id, Op::Update).set("tools", json!(["ls", "unheard_of"]));
    house.submit(change).await.unwrap();
    let toolbox = folder.toolbox();
    toolbox.tools().await;
    house.state.agent.use_toolbox(toolbox);

    let page = house.get("/playground/handy").await.text;
    assert!(page.contains("value=\"double\"") && page.contains("Double &lt;it&gt;."), "{page}");
    assert_eq!(page.matches("value=\"ls\"").count(), 1);

    let fields = [("persona", "handy"), ("tools[0]", "double"), ("tools[1]", "fly")];
    house.form("/fn/set_tools", "/playground/handy", &fields).await;
    let tools = house.read().await.persona(&id).await.unwrap().fields.tools;
    assert_eq!(tools, ["double", "unheard_of"]);
}
