//! Functions that are described and called.

use greenroom::sandbox::{End, Outcome, Program, What};
use serde_json::{Value, json};

use super::sandbox;

const WEATHER: &str = r#"
from typing import Annotated, Literal, Optional
from dataclasses import dataclass
import datetime

@dataclass
class Place:
    name: str
    height: float

def forecast(
    city: Annotated[str, "Where."],
    days: int = 3,
    unit: Literal["C", "F"] = "C",
    tags: list[str] | None = None,
    *,
    verbose: bool = False,
) -> dict[str, float]:
    """Tells the weather.

    Nobody knows it."""
    print("asked")
    return {"city": city, "days": days, "unit": unit, "tags": tags, "on": datetime.date(2026, 1, 2)}

def broken(x: int):
    return 1 / x

def strange():
    return object()

async def later():
    pass

def positional(a, /):
    return a
"#;

async fn describe(function: &str) -> Outcome {
    let what = What::Describe { source: WEATHER.into(), function: function.into() };
    sandbox().run(Program::new(what)).await.unwrap()
}

async fn call(function: &str, keywords: Value) -> Outcome {
    let Value::Object(keywords) = keywords else { panic!("arguments are an object") };
    let what = What::Call { source: WEATHER.into(), function: function.into(), keywords };
    sandbox().run(Program::new(what)).await.unwrap()
}

fn error(outcome: Outcome) -> String {
    let End::Error(error) = outcome.end else { panic!("it worked: {outcome:?}") };
    error
}

#[tokio::test]
async fn a_function_is_described_as_json_schema() {
    let outcome = describe("forecast").await;

    let expected = json!({
        "name": "forecast",
        "signature": "forecast(city: Annotated[str, 'Where.'], days: int = 3, unit: Literal['C', 'F'] = 'C', tags: list[str] | None = None, *, verbose: bool = False) -> dict[str, float]",
        "description": "Tells the weather.\n\nNobody knows it.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "Where."},
                "days": {"type": "integer", "default": 3},
                "unit": {"enum": ["C", "F"], "default": "C"},
                "tags": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}], "default": null},
                "verbose": {"type": "boolean", "default": false},
            },
            "required": ["city"],
            "additionalProperties": false,
        },
        "returns": {"type": "object", "additionalProperties": {"type": "number"}},
    });
    assert_eq!((outcome.end, outcome.value), (End::Exit(0), Some(expected)));
}

#[tokio::test]
async fn a_function_is_called_by_the_names_of_its_arguments() {
    let outcome = call("forecast", json!({"city": "Bern", "tags": ["a"]})).await;

    let expected =
        json!({"city": "Bern", "days": 3, "unit": "C", "tags": ["a"], "on": "2026-01-02"});
    assert_eq!((outcome.end, outcome.value), (End::Exit(0), Some(expected)));
    assert_eq!(outcome.stdout, "asked\n");
}

#[tokio::test]
async fn what_cannot_be_called_is_told_in_a_sentence() {
    let missing = error(call("forecast", json!({})).await);
    assert_eq!(
        missing,
        "forecast cannot be called like this: missing a required argument: 'city'."
    );
    assert!(
        error(call("forecast", json!({"city": "", "x": 1})).await)
            .contains("unexpected keyword argument 'x'")
    );
    assert_eq!(
        error(call("nobody", json!({})).await),
        "There is no function named nobody in the source."
    );
    assert_eq!(
        error(describe("later").await),
        "later is asynchronous; there is no event loop here."
    );
    assert!(error(describe("positional").await).contains("must take its arguments by name"));
    assert!(
        error(call("strange", json!({})).await)
            .starts_with("The result cannot be told as JSON: object is not")
    );
    let traceback = error(call("broken", json!({"x": 0})).await);
    assert!(traceback.contains("line 26, in broken\n    return 1 / x"), "{traceback}");
    assert!(!traceback.contains("greenroom"), "{traceback}");
}
