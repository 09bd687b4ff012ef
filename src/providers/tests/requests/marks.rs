//! The cache marks of Anthropic.

use serde_json::json;

use super::{assistant, call, result, tools, user};
use crate::providers::{Ask, Dialect, tests::replay::ASK};

#[test]
fn the_marks_are_four_at_most_and_on_the_last_two_questions() {
    let turns: Vec<_> =
        (0..6).flat_map(|at| [user(&format!("q{at}")), assistant(&format!("a{at}"))]).collect();
    let tools = tools();

    let body = Dialect::Anthropic.body(&Ask { turns: &turns, tools: &tools, ..ASK });

    assert_eq!(body.to_string().matches("cache_control").count(), 4);
    for (at, is_marked) in [(6, false), (8, true), (10, true)] {
        let block = &body["messages"][at]["content"][0];
        assert_eq!(block.get("cache_control").is_some(), is_marked, "{block}");
    }
}

#[test]
fn a_result_that_ends_the_message_is_marked() {
    let turns = [user("Hi"), call("one", json!({}), None), result("one", "fine", false)];

    let body = Dialect::Anthropic.body(&Ask { turns: &turns, ..ASK });

    let block = &body["messages"][2]["content"][0];
    assert_eq!(block["cache_control"], json!({"type": "ephemeral"}));
}
