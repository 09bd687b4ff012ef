//! What a body names leads into no other Space: every field of one that ends in `Id` is given the neighbour's.

use std::collections::BTreeSet;

use axum::http::Method;
use greenroom::{
    agent::{ChatWords, NewChat, NewSession},
    domain::{
        change::{Change, Op},
        id::TestInputId,
    },
};
use serde_json::{Value, json};

use crate::support::{House, on_both};

on_both!(no_body_reaches_into_another_space);

/// What a client calls something of its own, and nobody looks for anywhere else.
const OWN: [&str; 4] = ["callId", "clientId", "deviceId", "modelId"];

/// The fields of all bodies that end so, each as `METHOD path field`.
async fn named_in_bodies(house: &House) -> BTreeSet<String> {
    let document = house.get("/api/openapi.json").await.good();
    let mut found = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
            let mut fields = BTreeSet::new();
            collect(&document, schema, &mut fields, &mut BTreeSet::new());
            let names = fields.iter().filter(|name| !OWN.contains(&name.as_str()));
            found.extend(names.map(|name| format!("{} {path} {name}", method.to_uppercase())));
        }
    }
    found
}

/// The names that end so, of a schema and of all that it refers to.
fn collect(
    document: &Value,
    schema: &Value,
    found: &mut BTreeSet<String>,
    seen: &mut BTreeSet<String>,
) {
    match schema {
        Value::Object(fields) => {
            if let Some(at) = fields.get("$ref").and_then(Value::as_str) {
                if seen.insert(at.to_owned()) {
                    let named = document.pointer(at.trim_start_matches('#'));
                    collect(document, named.unwrap(), found, seen);
                }
                return;
            }
            if let Some(Value::Object(properties)) = fields.get("properties") {
                let ends = |name: &&String| name.ends_with("Id") || name.ends_with("Ids");
                found.extend(properties.keys().filter(ends).cloned());
            }
            fields.values().for_each(|inner| collect(document, inner, found, seen));
        }
        Value::Array(all) => all.iter().for_each(|inner| collect(document, inner, found, seen)),
        _ => {}
    }
}

async fn no_body_reaches_into_another_space(house: House) {
    let neighbour = house.neighbour().await;
    let secret = neighbour.persona("secret", "a secret").await;
    let test = TestInputId::new("secret-test");
    let create = Change::new(&test, Op::Create).set("content", "a secret");
    let made = neighbour.submit(create.set("personaId", "secret")).await.unwrap();
    let change = made.change_id.unwrap();
    let (agent, scope) = (&neighbour.state.agent, &neighbour.state.scope);
    let new = NewSession {
        id: Some("secret-session".into()),
        persona: secret.clone(),
        title: "a secret".into(),
        ..NewSession::default()
    };
    agent.create_session(scope, new).await.unwrap();
    let new = NewChat { persona: secret, title: "a secret".into(), ..NewChat::default() };
    let chat = agent.create_chat(scope, new).await.unwrap().id;
    let words = ChatWords { content: "a secret".into(), ..ChatWords::default() };
    let run = agent.say_in_chat(scope, &chat, words).await.unwrap();
    agent.ended(scope, &run.id).await.unwrap();
    let message = run.reply_id.as_str();
    let stands = async || {
        let session = "/api/agents/secret/playground/sessions/secret-session";
        let paths = ["/api/storage/personas/secret", "/api/storage/personas/secret/test-inputs"];
        let mut all = Vec::new();
        for path in paths.into_iter().chain([session, &format!("/api/chats/{chat}/tree")]) {
            all.push(neighbour.get(path).await.good());
        }
        all
    };
    // What a chat begins in the background is done first.
    while neighbour.get("/api/storage/personas/secret").await.good()["roleplayData"].is_null() {
        tokio::task::yield_now().await;
    }
    let before = stands().await;
    let new = NewChat { persona: "optimist".into(), ..NewChat::default() };
    let own = house.state.agent.create_chat(&house.state.scope, new).await.unwrap().id;
    let drawn = json!({"prompt": "a hill", "personaId": "optimist"});
    let picture = house.call(Method::POST, "/api/pictures", drawn).await.good();
    house.state.jobs.work_off().await.unwrap();
    let ambient = house.get("/api/conversations/ambient").await.good();
    let said = json!([{"id": "a", "role": "user", "parts": [{"type": "text", "text": "Hi"}]}]);
    let file = |more: Value| {
        let mut file = json!({"format": "greenroom-chat", "personaId": "optimist", "messages": []});
        file.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        file
    };
    let messages = |name: &str, value: &str| {
        let mut one = json!({"id": "a", "role": "assistant", "content": "Hi"});
        one[name] = json!(value);
        json!([one])
    };
    // What tools gave is left out.
    let with_result = |more: Value| {
        let mut result = json!({"call": "c", "name": "read", "output": "", "isError": false});
        result.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let part =
            json!({"id": "p", "at": "2026-01-01T00:00:00.000Z", "body": {"tool_result": result}});
        json!([{"id": "a", "role": "assistant", "content": "Hi", "parts": [part]}])
    };
    let id = |thing: &Value| thing["id"].as_str().unwrap().to_owned();
    let playground = "/api/agents/optimist/playground/chat";
    // What is asked, with what in it, where, and whether that is refused or left out.
    let tries: Vec<(&str, String, Value, bool)> = vec![
        ("POST /api/chats personaId", "/api/chats".into(), json!({"personaId": "secret"}), true),
        (
            "POST /api/chats personaIds",
            "/api/chats".into(),
            json!({"personaIds": ["optimist", "secret"]}),
            true,
        ),
        (
            "POST /api/chats/import personaId",
            "/api/chats/import".into(),
            file(json!({"messages": messages("personaId", "secret")})),
            false,
        ),
        (
            "POST /api/chats/import personaIds",
            "/api/chats/import".into(),
            file(json!({"personaIds": ["optimist", "secret"]})),
            false,
        ),
        (
            "POST /api/chats/import parentId",
            "/api/chats/import".into(),
            file(json!({"messages": messages("parentId", message)})),
            true,
        ),
        (
            "POST /api/chats/{id}/messages parentId",
            format!("/api/chats/{own}/messages"),
            json!({"content": "Hi", "parentId": message}),
            true,
        ),
        (
            "POST /api/conversations/{id}/messages entityId",
            format!("/api/conversations/{}/messages", id(&ambient)),
            json!({"content": "Hi", "view": {"entityType": "persona", "entityId": "secret"}}),
            true,
        ),
        (
            "POST /api/persona-agent/chat personaId",
            "/api/persona-agent/chat".into(),
            json!({"personaId": "secret", "message": "Hi"}),
            true,
        ),
        (
            "POST /api/persona-agent/clear personaId",
            "/api/persona-agent/clear".into(),
            json!({"personaId": "secret"}),
            true,
        ),
        (
            "POST /api/pictures personaId",
            "/api/pictures".into(),
            json!({"prompt": "x", "personaId": "secret"}),
            true,
        ),
        (
            "POST /api/pictures messageId",
            "/api/pictures".into(),
            json!({"messageId": message}),
            true,
        ),
        (
            "POST /api/pictures/{id}/face personaId",
            format!("/api/pictures/{}/face", id(&picture)),
            json!({"personaId": "secret"}),
            true,
        ),
        (
            "POST /api/agents/{id}/playground/chat sessionId",
            playground.into(),
            json!({"messages": said, "sessionId": "secret-session"}),
            true,
        ),
        (
            "POST /api/agents/{id}/playground/chat messageId",
            playground.into(),
            // With words, a name that nobody knows here is the client's own for them.
            json!({"messages": [], "trigger": "regenerate-message", "messageId": message}),
            true,
        ),
        (
            "POST /api/chats/{id}/queue parentId",
            format!("/api/chats/{own}/queue"),
            json!({"content": "Hi", "parentId": message}),
            true,
        ),
        (
            "POST /api/storage/personas/{id}/publication testInputIds",
            "/api/storage/personas/optimist/publication".into(),
            json!({"testInputIds": [test]}),
            true,
        ),
        (
            "POST /api/chats/import changeId",
            "/api/chats/import".into(),
            file(json!({"messages": with_result(json!({"changeId": change}))})),
            false,
        ),
        (
            "POST /api/chats/import entityId",
            "/api/chats/import".into(),
            file(json!({"messages": with_result(json!({"sources": [
                {"entityType": "persona", "entityId": "secret", "title": "", "passage": ""},
            ]}))})),
            false,
        ),
        (
            "PUT /api/storage/personas/{id} testInputIds",
            "/api/storage/personas/optimist".into(),
            json!({"testInputIds": [test]}),
            false,
        ),
        (
            "PUT /api/storage/personas/{id} agentChatSessionId",
            "/api/storage/personas/optimist".into(),
            json!({"agentChatSessionId": chat}),
            false,
        ),
    ];
    let tried: BTreeSet<String> = tries.iter().map(|(what, ..)| (*what).to_owned()).collect();
    assert_eq!(named_in_bodies(&house).await, tried, "every such field is tried here");

    for (what, path, body, is_refused) in tries {
        let method: Method = what.split(' ').next().unwrap().parse().unwrap();
        let answer = house.call(method, &path, body).await;
        let status = answer.status.as_u16();
        // A file names messages of its own, and one's own test input may have no answer either.
        let alike = what.contains("/import ") || what.ends_with(" testInputIds");
        let refused = status == 404 || (status == 422 && alike);
        assert!(refused || !is_refused, "{what}: {status} {}", answer.text);
        assert!(status < 500 && !answer.text.contains("a secret"), "{what}: {}", answer.text);
    }

    assert_eq!(stands().await, before);
}
