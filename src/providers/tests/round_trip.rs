//! Any conversation, sent and read back, is the same conversation.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    replay::{ASK, carried},
    requests::{assistant, from, turn, user},
};
use crate::{
    domain::{
        id::CallId,
        message::{Carried, PartBody, Role, ToolCall, ToolResult, Turn},
    },
    providers::{Ask, Dialect, Quirks},
};

/// What one side does before the other has its turn.
#[derive(Clone, Debug)]
enum Step {
    User(Vec<String>),
    Assistant {
        thoughts: Vec<(String, Thought)>,
        texts: Vec<String>,
        calls: Vec<Called>,
        flip: bool,
    },
}

#[derive(Clone, Copy, Debug)]
enum Thought {
    Signed,
    Item,
    Elsewhere,
    Unsigned,
}

#[derive(Clone, Debug)]
struct Called {
    name: String,
    input: Value,
    output: String,
    is_error: bool,
    carried: Option<Carried>,
}

/// A conversation without identifiers: calls are counted, results name the count.
#[derive(Debug, PartialEq)]
enum Said {
    Words(Role, String),
    Call(usize, String, Value),
    Result(usize, String, String, bool),
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![4 => "\\PC{1,12}", 1 => "[ \n]{0,2}"]
}

fn input() -> impl Strategy<Value = Value> {
    let pairs = prop::collection::btree_map("[a-z]{1,4}", "\\PC{0,6}", 0..3);
    prop_oneof![
        4 => pairs.prop_map(|pairs| json!(pairs)),
        1 => Just(json!({"deep": {"list": [1, null, true, "é"]}})),
        1 => Just(Value::Null),
        1 => Just(json!(["no object"])),
    ]
}

fn called() -> impl Strategy<Value = Called> {
    let carried = prop_oneof![
        Just(None),
        // Some services begin anew in every turn.
        Just(from("here", "model-1", "call_0")),
        "[a-z]{12}".prop_map(|id| from("here", "model-1", &id)),
        Just(from("elsewhere", "model-1", "toolu_1")),
        Just(Some(carried(None, json!({"thoughtSignature": "s"})))),
    ];
    ("[a-c]", input(), "\\PC{0,12}", any::<bool>(), carried).prop_map(
        |(name, input, output, is_error, carried)| Called {
            name,
            input,
            output,
            is_error,
            carried,
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    let kind = prop_oneof![
        Just(Thought::Signed),
        Just(Thought::Item),
        Just(Thought::Elsewhere),
        Just(Thought::Unsigned),
    ];
    let thoughts = prop::collection::vec(("\\PC{0,8}", kind), 0..3);
    let texts = || prop::collection::vec(text(), 0..3);
    let calls = prop::collection::vec(called(), 0..4);
    prop_oneof![
        1 => texts().prop_map(Step::User),
        2 => (thoughts, texts(), calls, any::<bool>()).prop_map(|(thoughts, texts, calls, flip)| {
            Step::Assistant { thoughts, texts, calls, flip }
        }),
    ]
}

fn carry(kind: Thought) -> Option<Carried> {
    let signed = json!({"type": "thinking", "signature": "s", "thoughtSignature": "s"});
    match kind {
        Thought::Signed => Some(carried(None, signed)),
        Thought::Item => Some(carried(Some("rs_1"), json!({"type": "reasoning", "id": "rs_1"}))),
        Thought::Elsewhere => from("elsewhere", "model-1", "x"),
        Thought::Unsigned => None,
    }
}

fn turns(steps: Vec<Step>) -> Vec<Turn> {
    let mut turns = vec![user("Begin.")];
    let mut count = 0;
    for step in steps {
        match step {
            Step::User(texts) => turns.extend(texts.iter().map(|text| user(text))),
            Step::Assistant { thoughts, texts, calls, flip } => {
                turns.extend(thoughts.into_iter().map(|(text, kind)| {
                    turn(Role::Assistant, PartBody::Reasoning(text), carry(kind))
                }));
                turns.extend(texts.iter().map(|text| assistant(text)));
                let mut results = Vec::new();
                for Called { name, input, output, is_error, carried } in calls {
                    count += 1;
                    let call = CallId::new(format!("ours-{count}"));
                    let asked = ToolCall { call: call.clone(), name: name.clone(), input };
                    turns.push(turn(Role::Assistant, PartBody::ToolCall(asked), carried));
                    let result = ToolResult {
                        call,
                        name,
                        output,
                        is_error,
                        change_id: None,
                        sources: Vec::new(),
                    };
                    results.push(turn(Role::User, PartBody::ToolResult(result), None));
                }
                if flip {
                    results.reverse();
                }
                turns.extend(results);
            }
        }
    }
    turns
}

/// The conversation itself: blank texts and thoughts left out, texts in a row put together, results in
/// a row in the order of their calls.
fn said(turns: &[Turn]) -> Vec<Said> {
    let mut said: Vec<Said> = Vec::new();
    let mut numbers = BTreeMap::new();
    for turn in turns {
        match &turn.part.body {
            PartBody::Text(text) if text.trim().is_empty() => {}
            PartBody::Text(text) => match said.last_mut() {
                Some(Said::Words(role, words)) if *role == turn.role => {
                    *words = format!("{words}\n\n{text}");
                }
                _ => said.push(Said::Words(turn.role, text.clone())),
            },
            PartBody::Reasoning(_) => {}
            PartBody::ToolCall(call) => {
                let number = numbers.len();
                assert_eq!(numbers.insert(call.call.clone(), number), None);
                let input = if call.input.is_object() { call.input.clone() } else { json!({}) };
                said.push(Said::Call(number, call.name.clone(), input));
            }
            PartBody::ToolResult(result) => {
                assert_eq!(turn.role, Role::User);
                let (name, output) = (result.name.clone(), result.output.clone());
                let number = numbers[&result.call];
                let after = said.iter().rposition(|other| match other {
                    Said::Result(before, ..) => *before < number,
                    Said::Words(..) | Said::Call(..) => true,
                });
                let at = after.map_or(0, |at| at + 1);
                said.insert(at, Said::Result(number, name, output, result.is_error));
            }
        }
    }
    said
}

fn list<'body>(body: &'body Value, key: &str) -> &'body Vec<Value> {
    body[key].as_array().unwrap()
}

/// What a service would refuse.
pub fn check_shape(dialect: Dialect, body: &Value) {
    match dialect {
        Dialect::Anthropic => {
            let messages = list(body, "messages");
            check_roles(messages);
            assert!(body.to_string().matches("cache_control").count() <= 4);
            assert!(body["tools"].is_array() || !body.to_string().contains("\"tool_use\""));
            for pair in messages.windows(2) {
                let kinds = |at: usize, kind: &str| {
                    list(&pair[at], "content").iter().filter(|block| block["type"] == kind).count()
                };
                assert_eq!(kinds(0, "tool_use"), kinds(1, "tool_result"));
            }
            for message in messages {
                let last = list(message, "content").last().unwrap();
                assert_ne!(last["type"], "thinking");
            }
        }
        Dialect::OpenaiChat => {
            let messages = list(body, "messages");
            check_roles_beside_tools(&messages[1..]);
            for (at, message) in messages.iter().enumerate() {
                for offset in 1..=message["tool_calls"].as_array().map_or(0, Vec::len) {
                    assert_eq!(messages[at + offset]["role"], "tool");
                }
            }
        }
        Dialect::OpenaiResponses => {
            let items = list(body, "input");
            assert_eq!(items[0]["role"], "user");
            assert!(items.last().is_none_or(|last| last["type"] != "reasoning"));
            for pair in items.windows(2).filter(|pair| pair[0]["type"] == "reasoning") {
                assert_ne!(pair[1]["type"], "function_call_output");
                assert_ne!(pair[1]["role"], "user");
            }
        }
        Dialect::Gemini => {
            let contents = list(body, "contents");
            check_roles(contents);
            for pair in contents.windows(2) {
                let names = |at: usize, kind: &str| -> Vec<String> {
                    let parts = list(&pair[at], "parts").iter();
                    parts.filter_map(|part| Some(part.get(kind)?["name"].to_string())).collect()
                };
                assert_eq!(names(0, "functionCall"), names(1, "functionResponse"));
            }
        }
    }
}

fn check_roles(messages: &[Value]) {
    assert_eq!(messages[0]["role"], "user");
    for pair in messages.windows(2) {
        assert_ne!(pair[0]["role"], pair[1]["role"]);
    }
}

/// The same, where each result of a tool is a message, too.
fn check_roles_beside_tools(messages: &[Value]) {
    assert_eq!(messages[0]["role"], "user");
    for pair in messages.windows(2) {
        assert!(pair[0]["role"] != pair[1]["role"] || pair[0]["role"] == "tool", "{pair:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_conversation_comes_back_as_it_went(
        steps in prop::collection::vec(step(), 0..8),
        short_call_ids in any::<bool>(),
        echo_reasoning in any::<bool>(),
    ) {
        let turns = turns(steps);
        let quirks = Quirks { short_call_ids, echo_reasoning, ..Quirks::default() };
        let ask = Ask { turns: &turns, quirks, ..ASK };
        for dialect in Dialect::ALL {
            let body = dialect.body(&ask);
            prop_assert_eq!(body.to_string(), dialect.body(&ask).to_string());
            check_shape(dialect, &body);

            let back = dialect.read_messages(&body, ask.service, ask.model).unwrap();

            prop_assert_eq!(said(&back), said(&turns), "{:?} {}", dialect, body);
            // What came back says the same again, so nothing is lost on the second way either.
            let again = dialect.body(&Ask { turns: &back, ..ask });
            let back = dialect.read_messages(&again, ask.service, ask.model).unwrap();
            prop_assert_eq!(said(&back), said(&turns), "{:?}, again", dialect);
        }
    }
}
