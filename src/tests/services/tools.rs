//! The tools as a service is told of them.

use greenroom::providers::Dialect;
use serde_json::{Map, Value, json};

use super::{Stage, wire};
use crate::fake_service::Reply;

/// What a schema says of its properties: their names and types, and which must be there.
fn short(schema: &Value) -> Value {
    let properties: Map<String, Value> = schema["properties"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, property)| (name.clone(), property["type"].clone()))
        .collect();
    let required = schema.get("required").cloned().unwrap_or_else(|| json!([]));
    json!({"properties": properties, "required": required})
}

#[tokio::test]
async fn each_of_the_ten_tools_says_what_it_takes_and_what_it_must_have() {
    let stage = Stage::new("claude-sonnet-5-5").await;
    stage.fake.play([Reply::stream(wire::answer(Dialect::Anthropic, "Hi."))]);

    stage.say("Hello").await;

    let asked = stage.fake.asked();
    let tools = asked[0].body["tools"].as_array().unwrap();
    let told: Map<String, Value> = tools
        .iter()
        .map(|tool| (tool["name"].as_str().unwrap().to_owned(), short(&tool["input_schema"])))
        .collect();
    let takes = |properties: Value, required: Value| json!({"properties": properties, "required": required});
    let optional = |kind: &str| json!([kind, "null"]);
    assert_eq!(tools.len(), 10);
    assert_eq!(
        json!(told),
        json!({
            "get_persona": takes(json!({}), json!([])),
            "update_persona_name": takes(json!({"name": "string"}), json!(["name"])),
            "update_system_prompt":
                takes(json!({"systemPrompt": "string"}), json!(["systemPrompt"])),
            "patch_system_prompt": takes(json!({"edits": "array"}), json!(["edits"])),
            "list_test_inputs": takes(json!({"after": optional("string")}), json!([])),
            "get_test_input": takes(json!({"id": "string"}), json!(["id"])),
            "create_test_input": takes(json!({"content": "string"}), json!(["content"])),
            "update_test_input":
                takes(json!({"id": "string", "content": "string"}), json!(["id", "content"])),
            "delete_test_input": takes(json!({"id": "string"}), json!(["id"])),
            "run_test_inputs":
                takes(json!({"ids": optional("array"), "atOnce": optional("integer")}), json!([])),
        })
    );
    let edit = tools.iter().find(|tool| tool["name"] == "patch_system_prompt").unwrap();
    assert_eq!(
        short(&edit["input_schema"]["properties"]["edits"]["items"]),
        takes(json!({"find": "string", "replace": "string"}), json!(["find", "replace"]))
    );
}
