//! Functions of Python files as tools.

use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use greenroom::sandbox::{Engine, Outcome, Owner, Program, Sandbox, SandboxError, What};
use serde_json::json;

use super::{Folder, called, problems, sandbox, toolbox_in};
use crate::support::House;

const TRIPS: &str = r#"
from typing import Literal, Optional
from places import HOME

def plan(
    to: str,
    days: int = 3,
    by: Literal["train", "bike"] = "train",
    stops: list[str] = [],
    budget: Optional[float] = None,
    notes: dict[str, int] | None = None,
) -> dict:
    """Plan a trip
    from home.

    It is only a plan.

    Args:
        to: Where it
            goes.
        days (int): How long.
        by: How one travels.
    """
    print("planning")
    return {"from": HOME, "to": to, "days": days, "by": by, "stops": stops, "budget": budget}

def late(minutes: int):
    """Always late."""
    def deeper():
        raise ValueError(f"{minutes} minutes late")
    deeper()

def blind(x: int, y: float = 0.5):
    return f"{x + y} as words"

def forever():
    """Never ends."""
    while True:
        pass
"#;

fn trips() -> Folder {
    Folder::new(&[
        (
            "tools.yaml",
            "- code/trips.py:plan\n- code/trips.py:late\n- code/trips.py:blind\n- code/trips.py:forever\n",
        ),
        ("code/trips.py", TRIPS),
        ("code/places.py", "HOME = 'Bern'\n"),
    ])
}

#[tokio::test]
async fn signature_and_docstring_are_what_a_model_is_told() {
    let folder = trips();
    let toolbox = folder.toolbox();

    let tools = toolbox.tools().await;

    let plan = &tools.specs()[0];
    let told = "Plan a trip from home.\n\nIt is only a plan.";
    assert_eq!((plan.name.as_str(), plan.description.as_str()), ("plan", told));
    let expected = json!({
        "type": "object",
        "properties": {
            "to": {"type": "string", "description": "Where it goes."},
            "days": {"type": "integer", "default": 3, "description": "How long."},
            "by": {
                "enum": ["train", "bike"], "type": "string", "default": "train",
                "description": "How one travels.",
            },
            "stops": {"type": "array", "items": {"type": "string"}, "default": []},
            "budget": {"anyOf": [{"type": "number"}, {"type": "null"}], "default": null},
            "notes": {
                "anyOf": [
                    {"type": "object", "additionalProperties": {"type": "integer"}},
                    {"type": "null"},
                ],
                "default": null,
            },
        },
        "required": ["to"],
        "additionalProperties": false,
    });
    assert_eq!(plan.schema, expected);
    assert_eq!(tools.specs()[2].description, "blind(x: int, y: float = 0.5)");
    assert_eq!(
        problems(&toolbox).await,
        [
            "tools.yaml, line 3: code/trips.py:blind has no docstring, so a model sees its signature and \
          nothing else."
        ]
    );
}

#[tokio::test]
async fn a_list_of_which_nothing_is_said_may_hold_anything() {
    let source = "def measure(points: list, at: tuple, span: tuple[float, float], tags: set | None = None):\n    \
                  \"\"\"Measure.\"\"\"\n    return len(points)\n";
    let folder = Folder::new(&[("tools.yaml", "- a.py:measure\n"), ("a.py", source)]);

    let tools = folder.toolbox().tools().await;

    let list = json!({"type": "array", "items": {}});
    let expected = json!({
        "type": "object",
        "properties": {
            "points": list,
            "at": list,
            "span": list,
            "tags": {"anyOf": [list, {"type": "null"}], "default": null},
        },
        "required": ["points", "at", "span"],
        "additionalProperties": false,
    });
    assert_eq!(tools.specs()[0].schema, expected);
}

#[tokio::test]
async fn a_parameter_that_no_service_takes_is_named() {
    let source = "def wide(größe: int):\n    \"\"\"How wide.\"\"\"\n    return größe\n";
    let folder = Folder::new(&[("tools.yaml", "- ls\n- a.py:wide\n"), ("a.py", source)]);

    let told = problems(&folder.toolbox()).await;

    assert_eq!(
        told,
        [
            "tools.yaml, line 2: a.py:wide cannot be used: “größe” cannot be the name of a parameter: \
          services take up to 64 letters from a to z, digits and underscores."
        ]
    );
}

#[tokio::test]
async fn functions_run_in_the_sandbox_and_their_errors_are_told() {
    let house = House::new().await;
    let calls = [
        ("plan", json!({"to": "Olten", "stops": ["Burgdorf"]})),
        ("blind", json!({"x": 2})),
        ("late", json!({"minutes": 7})),
        ("plan", json!({"days": 2})),
        ("forever", json!({})),
    ];

    let given = called(&house, trips().toolbox(), &calls).await;

    let (plan, is_error) = &given[0];
    assert!(!*is_error);
    assert_eq!(
        plan,
        "{\"budget\":null,\"by\":\"train\",\"days\":3,\"from\":\"Bern\",\"stops\":[\"Burgdorf\"],\
         \"to\":\"Olten\"}\n\nIt printed:\nplanning"
    );
    assert_eq!(given[1], ("2.5 as words".to_owned(), false));
    let (late, is_error) = &given[2];
    assert!(*is_error && late.ends_with("ValueError: 7 minutes late"), "{late}");
    assert!(late.contains("File \"code/trips.py\", line") && late.contains("in deeper"), "{late}");
    let (missing, is_error) = &given[3];
    assert!(*is_error && missing.contains("missing a required argument: 'to'"), "{missing}");
    let (forever, is_error) = &given[4];
    // Of the processor's time; where others have most of that, the clock is first.
    let ended = ["it computed for longer than 2 seconds", "it took longer than 5 seconds"];
    assert!(*is_error && ended.iter().any(|ended| forever.contains(ended)), "{forever}");
}

/// A sandbox, and for whom functions were called in it.
struct Noting {
    sandbox: Sandbox,
    owners: Mutex<Vec<Owner>>,
}

impl Engine for Noting {
    fn run(&self, program: Program) -> BoxFuture<'_, Result<Outcome, SandboxError>> {
        if let What::Call { .. } = program.what {
            self.owners.lock().unwrap().push(program.owner.clone());
        }
        Box::pin(self.sandbox.run(program))
    }

    fn warm(&self) -> BoxFuture<'_, Result<(), SandboxError>> {
        Box::pin(self.sandbox.warm())
    }
}

/// All sessions of a Space waited in line as one.
#[tokio::test]
async fn a_function_runs_for_the_session_in_which_it_is_called() {
    let house = House::new().await;
    let folder = trips();
    let noting = Arc::new(Noting { sandbox: sandbox(), owners: Mutex::default() });
    let tools = toolbox_in(Sandbox::with(noting.clone()), &folder.path().join("tools.yaml"));

    called(&house, tools, &[("blind", json!({"x": 2}))]).await;

    let sessions = house.get("/api/agents/handy/playground/sessions").await.good();
    let session = sessions["items"][0]["id"].as_str().unwrap().to_owned();
    let space = house.state.scope.space.to_string();
    assert_eq!(*noting.owners.lock().unwrap(), [Owner { space, session }]);
}
