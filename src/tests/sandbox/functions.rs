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

const CHESS: &str = r#"
from __future__ import annotations
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Optional

class Side(Enum):
    WHITE = "white"
    BLACK = "black"

class Worth(IntEnum):
    PAWN = 1
    QUEEN = 9

@dataclass
class Piece:
    side: Side
    worth: Worth = Worth.PAWN
    at: tuple[int, int] = (0, 0)
    seen: set[str] = field(default_factory=set)

def play(
    side: Side,
    pieces: list[Piece],
    last: Piece | None = None,
    also: Optional[Side] = Side.WHITE,
    by_name: dict[str, Worth] = {},
    raw: list | None = None,
) -> str:
    """Play."""
    return repr((side, pieces, last, also, by_name, raw))
"#;

async fn describe(function: &str) -> Outcome {
    described(WEATHER, function).await
}

async fn described(source: &str, function: &str) -> Outcome {
    let what = What::Describe { source: source.into(), function: function.into() };
    sandbox().run(Program::new(what)).await.unwrap()
}

async fn call(function: &str, keywords: Value) -> Outcome {
    called(WEATHER, function, keywords).await
}

async fn called(source: &str, function: &str, keywords: Value) -> Outcome {
    let Value::Object(keywords) = keywords else { panic!("arguments are an object") };
    let what = What::Call { source: source.into(), function: function.into(), keywords };
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

#[tokio::test]
async fn enums_and_dataclasses_are_described_as_what_a_model_writes() {
    let outcome = described(CHESS, "play").await;

    let side = json!({"enum": ["white", "black"]});
    let piece = json!({
        "type": "object",
        "properties": {
            "side": side,
            "worth": {"enum": [1, 9]},
            "at": {"type": "array"},
            "seen": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["side"],
    });
    let expected = json!({
        "type": "object",
        "properties": {
            "side": side,
            "pieces": {"type": "array", "items": piece},
            "last": {"anyOf": [piece, {"type": "null"}], "default": null},
            "also": {"anyOf": [side, {"type": "null"}], "default": "white"},
            "by_name": {
                "type": "object", "additionalProperties": {"enum": [1, 9]}, "default": {},
            },
            "raw": {"anyOf": [{"type": "array"}, {"type": "null"}], "default": null},
        },
        "required": ["side", "pieces"],
        "additionalProperties": false,
    });
    assert_eq!(
        (outcome.end, outcome.value.unwrap()["parameters"].take()),
        (End::Exit(0), expected)
    );
}

const TREE: &str = r#"
from __future__ import annotations
from dataclasses import dataclass
from typing import Dict, Optional, TypedDict

@dataclass
class Leaf:
    name: str
    below: Optional[Leaf] = None

class Branch(TypedDict):
    leaf: Leaf
    more: list[Branch]

def grow(leaf: Leaf, branch: Branch, any: Dict, maybe: Optional[Dict] = None) -> str:
    """Grow."""
    return repr((leaf, branch["more"][0]["leaf"], any, maybe))
"#;

#[tokio::test]
async fn what_holds_itself_is_described_once_and_given_as_deep_as_it_goes() {
    let outcome = described(TREE, "grow").await;

    let leaf = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string"}, "below": {"anyOf": [{"type": "object"}, {"type": "null"}]},
        },
        "required": ["name"],
    });
    let mut properties = outcome.value.unwrap()["parameters"]["properties"].take();
    assert_eq!(properties["leaf"].take(), leaf);
    let more = json!({"type": "array", "items": {"type": "object"}});
    let branch = json!({"type": "object", "properties": {"leaf": leaf, "more": more}});
    assert_eq!(properties["branch"].take(), branch);
    assert_eq!(properties["any"].take(), json!({"type": "object"}));

    let below = json!({"name": "a", "below": {"name": "b"}});
    let given = json!({
        "leaf": below, "branch": {"leaf": below, "more": [{"leaf": {"name": "c"}, "more": []}]},
        "any": {"x": 1}, "maybe": {"y": [2]},
    });
    let outcome = called(TREE, "grow", given).await;
    let expected = "(Leaf(name='a', below=Leaf(name='b', below=None)), Leaf(name='c', below=None), \
                    {'x': 1}, {'y': [2]})";
    assert_eq!((outcome.end, outcome.value), (End::Exit(0), Some(json!(expected))));
}

#[tokio::test]
async fn a_function_is_given_the_enums_and_dataclasses_that_it_asks_for() {
    let given = json!({
        "side": "black",
        "pieces": [{"side": "white", "worth": 9, "at": [3, 4], "seen": ["a", "a"]}],
        "last": {"side": "black"},
        "also": null,
        "by_name": {"queen": 9},
        "raw": [1, "a"],
    });

    let outcome = called(CHESS, "play", given).await;

    let expected = "(<Side.BLACK: 'black'>, [Piece(side=<Side.WHITE: 'white'>, worth=<Worth.QUEEN: 9>, \
                    at=(3, 4), seen={'a'})], Piece(side=<Side.BLACK: 'black'>, worth=<Worth.PAWN: 1>, \
                    at=(0, 0), seen=set()), None, {'queen': <Worth.QUEEN: 9>}, [1, 'a'])";
    assert_eq!((outcome.end, outcome.value), (End::Exit(0), Some(json!(expected))));
}

#[tokio::test]
async fn what_is_no_enum_or_dataclass_is_told_with_what_would_be() {
    let told = async |pieces: Value, also: &str| {
        let given = json!({"side": "white", "pieces": pieces, "also": also});
        error(called(CHESS, "play", given).await)
    };

    assert_eq!(
        told(json!([]), "red").await,
        "“also” must be one of 'white', 'black', and is 'red'."
    );
    assert_eq!(
        told(json!([{"side": "white", "worth": true}]), "white").await,
        "“pieces.worth” must be one of 1, 9, and is True."
    );
    assert_eq!(
        told(json!([{"worth": 1}]), "white").await,
        "“pieces” is no Piece: missing a required argument: 'side'."
    );
    assert_eq!(
        told(json!(["white"]), "white").await,
        "“pieces” must be an object with side, worth, at, seen, and is 'white'."
    );
}
