//! What a model asks of its tools leads into no other Space: each that takes an identifier is given the
//! neighbour's.

use std::collections::BTreeSet;

use axum::http::Method;
use greenroom::domain::{
    change::{Change, Entity, EntityKind, Op},
    id::TestInputId,
};
use serde_json::{Value, json};

use crate::{
    companion::{called, playing, waiting},
    support::{House, on_both},
};

on_both!(no_tool_reaches_into_another_space);

/// The tools whose input has an identifier in it, by their sources.
fn tools_that_take_ids() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for file in std::fs::read_dir("src/agent/tools").unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let input = text.split("pub struct Input {\n").nth(1).unwrap_or_default();
        let input = input.split("\n}").next().unwrap_or_default();
        let fields = input.lines().map(str::trim).filter(|line| !line.starts_with("//"));
        let takes = |line: &str| ["Id,", "Id>", "_id:", "_ids:"].iter().any(|id| line.contains(id));
        if fields.into_iter().any(takes) {
            found.insert(path.file_stem().unwrap().to_str().unwrap().to_owned());
        }
    }
    found
}

async fn no_tool_reaches_into_another_space(house: House) {
    let neighbour = house.neighbour().await;
    let persona = neighbour.persona("secret", "a secret").await;
    let test = TestInputId::new("secret-test");
    let create = Change::new(&test, Op::Create).set("content", "a secret");
    neighbour.submit(create.set("personaId", persona.as_str())).await.unwrap();
    for kind in [EntityKind::Page, EntityKind::Ref, EntityKind::Task] {
        let id = format!("secret-{}", kind.word());
        let create = Change::new(Entity::new(kind, &id), Op::Create).set("title", "a secret");
        let create = match kind {
            EntityKind::Ref => create.set("text", "a secret"),
            _ => create,
        };
        neighbour.submit(create).await.unwrap();
    }
    let before = neighbour.read().await.audit(None, 200).await.unwrap();
    let things = [
        ("persona", "secret", json!({"persona": {"name": "Taken over"}})),
        ("test_input", "secret-test", json!({"testInput": {"content": "Taken over"}})),
        ("page", "secret-page", json!({"page": {"title": "Taken over"}})),
        ("ref", "secret-ref", json!({"ref": {"title": "Taken over"}})),
        ("task", "secret-task", json!({"task": {"title": "Taken over"}})),
    ];
    let mut calls = Vec::new();
    for (kind, id, fields) in &things {
        let named = json!({"entityType": kind, "entityId": id});
        calls.push(json!(["read", named]));
        let mut update = fields.clone();
        for (name, value) in [("op", "update"), ("entityType", *kind), ("entityId", *id)] {
            update[name] = json!(value);
        }
        calls.push(json!(["propose_change", update]));
        let delete = json!({"op": "delete", "entityType": kind, "entityId": id});
        calls.push(json!(["propose_change", delete]));
    }
    let create = json!({"op": "create", "entityType": "test_input",
                        "testInput": {"personaId": "secret", "content": "Taken over"}});
    calls.push(json!(["propose_change", create]));
    let of_agent = [
        json!(["get_test_input", {"id": test}]),
        json!(["update_test_input", {"id": test, "content": "Taken over"}]),
        json!(["delete_test_input", {"id": test}]),
        json!(["run_test_inputs", {"ids": [test]}]),
        json!(["list_test_inputs", {"after": test}]),
    ];
    let name = |call: &Value| call[0].as_str().unwrap().to_owned();
    let tried: BTreeSet<String> = calls.iter().chain(&of_agent).map(name).collect();
    assert_eq!(tools_that_take_ids(), tried, "a tool that takes an identifier is tried here");

    let told = called(&house, json!(calls)).await;

    assert_eq!(told.len(), calls.len());
    for ((_, status, result), call) in told.iter().zip(&calls) {
        assert_eq!(status, "failed", "{call}: {result}");
        assert!(!result.contains("a secret"), "{call}: {result}");
    }
    let said = json!({"personaId": "optimist", "message": "Go"});
    let agent = playing(&house, json!(of_agent));
    let answer = agent.call(Method::POST, "/api/persona-agent/chat", said).await;
    assert!(answer.text.contains("So be it."), "{}", answer.text);
    assert!(!answer.text.contains("a secret"), "{}", answer.text);
    assert_eq!(waiting(&house).await, Vec::<Value>::new());
    assert_eq!(neighbour.read().await.audit(None, 200).await.unwrap(), before);
    assert_eq!(waiting(&neighbour).await, Vec::<Value>::new());
    let test = neighbour.read().await.test_input(&test).await.unwrap();
    assert_eq!(test.fields.content, "a secret");
}
