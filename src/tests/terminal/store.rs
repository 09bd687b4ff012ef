//! Sessions through the API, on both databases.

use axum::http::Method;
use serde_json::{Value, json};

use crate::support::{House, error, on_both};

on_both!(
    a_session_has_a_life,
    a_deleted_session_lies_in_the_bin_until_it_is_removed_for_good,
    a_persona_speaks_at_its_label,
    a_session_has_only_the_messages_that_are_its_own,
    a_session_is_found_by_its_name_however_its_letters_are_written,
);

async fn create(house: &House, overrides: Value) -> Value {
    let settings = json!({"model": "demo", "windowSize": 5, "shouldTruncateResults": true});
    let new = json!({"settings": settings, "overrides": overrides});
    house.call(Method::POST, "/api/terminal/sessions", new).await.good()
}

/// Says something and waits for the answer.
async fn say(house: &House, id: &str, words: &str) -> Value {
    let path = format!("/api/terminal/sessions/{id}/messages");
    let said = house.call(Method::POST, &path, json!({"content": words})).await.good();
    let run = said["run"]["id"].as_str().unwrap().into();
    house.state.agent.ended(&house.state.scope, &run).await.unwrap();
    said
}

async fn a_deleted_session_lies_in_the_bin_until_it_is_removed_for_good(house: House) {
    let mut ids = Vec::new();
    for _ in 0..3 {
        let session = create(&house, json!({})).await;
        let id = session["id"].as_str().unwrap().to_owned();
        say(&house, &id, "One").await;
        ids.push(id);
    }
    let path = |id: &str| format!("/api/terminal/sessions/{id}");
    let binned = |id: &str, rest: &str| format!("/api/storage/bin/terminal/{id}{rest}");
    let [one, two, three] = &ids[..] else { panic!("{ids:?}") };
    let in_use = house.call(Method::DELETE, &binned(one, ""), json!({})).await;
    assert_eq!(in_use.error(), error(409, "not_now", ""));
    house.call(Method::PATCH, &path(one), json!({"description": "Mine"})).await.good();
    for id in &ids {
        house.call(Method::DELETE, &path(id), json!({})).await;
    }

    let bin = house.get("/api/storage/bin").await.good();
    let told = |id: &str| {
        let items = bin["items"].as_array().unwrap();
        let one = items.iter().find(|one| one["entityId"] == json!(id)).unwrap();
        (one["entityType"].clone(), one["title"].clone())
    };
    assert_eq!(told(one), (json!("terminal"), json!("Mine")));
    assert_eq!(told(two), (json!("terminal"), json!(format!("Session {}", &two[..8]))));
    house.call(Method::POST, &binned(one, "/restore"), json!({})).await.good();
    assert_eq!(house.get(&path(one)).await.good()["turns"], 1);

    house.call(Method::DELETE, &binned(two, ""), json!({})).await.good();
    assert_eq!(house.get(&path(two)).await.error(), error(404, "not_found", ""));
    let emptied = house.call(Method::DELETE, "/api/storage/bin", json!({})).await.good();
    assert_eq!(emptied, json!({"removed": 1}));
    assert_eq!(house.get(&path(three)).await.error(), error(404, "not_found", ""));
    assert_eq!(house.get("/api/storage/bin").await.good()["items"], json!([]));
    assert_eq!(house.get(&path(one)).await.good()["turns"], 1, "it was not in the bin any more");
}

async fn a_session_has_a_life(house: House) {
    let session = create(&house, json!({"windowSize": 2})).await;
    let id = session["id"].as_str().unwrap();
    assert_eq!(session["settings"]["windowSize"], 2);
    let path = format!("/api/terminal/sessions/{id}");

    for words in ["One", "Two", "Three"] {
        say(&house, id, words).await;
    }
    let prompt = json!({"text": "Be brief.", "source": "inline"});
    let changes =
        json!({"description": "Mine", "systemPrompt": prompt, "model": "persona:optimist"});
    let changed = house.call(Method::PATCH, &path, changes.clone()).await.good();
    let again = house.call(Method::PATCH, &path, changes).await.good();
    assert_eq!(again["updatedAt"], changed["updatedAt"], "the same is no change");
    let said = say(&house, id, "Four").await;

    assert_eq!(said["leftOut"]["exchanges"], 2, "{said}");
    let known = house.get(&path).await.good();
    assert_eq!((&known["turns"], &known["description"]), (&json!(4), &json!("Mine")));
    let found = house.get(&format!("/api/terminal/find?session={}", &id[..8])).await.good();
    assert_eq!(found, known);
    let talk = house.get(&format!("{path}/messages?limit=2")).await.good();
    assert_eq!(talk["messages"].as_array().unwrap().len(), 2);
    assert!(talk["earlier"].is_string() && talk["run"]["status"] == "done", "{talk}");
    let record = house.get(&format!("{path}/record")).await.good();
    let roles: Vec<&str> = record["history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["role"].as_str().unwrap())
        .collect();
    let exchange = ["user", "assistant"];
    assert_eq!(roles, [&exchange[..], &exchange, &exchange, &["system"], &exchange].concat());
    let traces = house.get("/api/traces?source=terminal").await.good();
    let traces = traces["items"].as_array().unwrap();
    assert_eq!(traces.len(), 4);
    assert_eq!(traces[3]["personaName"], "demo", "a model that speaks as itself has its own name");
    assert_eq!(traces[0]["personaId"], "optimist");
    for trace in traces {
        let trace =
            house.get(&format!("/api/traces/{}", trace["id"].as_str().unwrap())).await.good();
        assert!(trace["sent"]["messages"].as_array().unwrap().len() <= 3, "{trace}");
    }
    let usage = house.get("/api/usage").await.good().to_string();
    assert!(usage.contains("\"Terminal\""), "{usage}");

    house.call(Method::DELETE, &path, json!({})).await;
    assert_eq!(house.get(&path).await.error(), error(409, "in_bin", ""));
    let listed = |deleted: bool| format!("/api/terminal/sessions?deleted={deleted}");
    assert_eq!(house.get(&listed(false)).await.good()["items"], json!([]));
    assert_eq!(house.get(&listed(true)).await.good()["items"][0]["id"], json!(id));
    house.call(Method::POST, &format!("{path}/restore"), json!({})).await.good();
    assert_eq!(house.get(&path).await.good()["turns"], 4);

    let came = house.call(Method::POST, "/api/terminal/import", record.clone()).await.good();
    assert_ne!(came["id"], json!(id), "that identifier is taken");
    let path = format!("/api/terminal/sessions/{}/record", came["id"].as_str().unwrap());
    let copy = house.get(&path).await.good();
    assert_eq!(copy["history"], record["history"]);
    assert_eq!(copy["metadata"]["turns"], record["metadata"]["turns"]);
}

async fn a_session_has_only_the_messages_that_are_its_own(house: House) {
    let mut sessions = Vec::new();
    for words in ["Mine", "Theirs"] {
        let id = create(&house, json!({})).await["id"].as_str().unwrap().to_owned();
        let said = say(&house, &id, words).await;
        sessions.push((id, said["run"]["messageId"].as_str().unwrap().to_owned()));
    }
    let [(mine, own), (_, other)] = &sessions[..] else { panic!("{sessions:?}") };
    let until = |message: &str| format!("/api/terminal/sessions/{mine}/messages?until={message}");

    let known = house.get(&until(own)).await.good();
    let strange = house.get(&until(other)).await;
    let unknown = house.get(&until("nothing")).await;

    assert_eq!(known["messages"].as_array().unwrap().len(), 1, "{known}");
    assert_eq!(strange.error(), error(404, "not_found", ""));
    assert_eq!(unknown.error(), error(404, "not_found", ""));
    let page = house.get(&format!("/terminal/{mine}?until={other}")).await.text;
    assert!(!page.contains("Theirs"), "{page}");
}

async fn a_session_is_found_by_its_name_however_its_letters_are_written(house: House) {
    let mut ids = Vec::new();
    for name in ["Ärger", "Straße", "Other"] {
        let id = create(&house, json!({})).await["id"].as_str().unwrap().to_owned();
        let path = format!("/api/terminal/sessions/{id}");
        house.call(Method::PATCH, &path, json!({"description": name})).await.good();
        ids.push(id);
    }
    let find = |text: &str| format!("/api/terminal/find?session={text}");

    // ärger, ÄRGER, STRAßE and what no database takes in a text.
    for (text, found) in [("%C3%A4rger", 0), ("%C3%84RGER", 0), ("STRA%C3%9FE", 1), ("oTHER", 2)] {
        assert_eq!(house.get(&find(text)).await.good()["id"], json!(ids[found]), "{text}");
    }
    let capitals = ids[1].to_uppercase();
    assert_eq!(house.get(&find(&capitals)).await.good()["id"], json!(ids[1]));
    for nothing in ["%00", "Other%00", "nobody"] {
        assert_eq!(house.get(&find(nothing)).await.error(), error(404, "not_found", ""));
    }
}

async fn a_persona_speaks_at_its_label(house: House) {
    house.persona("ann", "You are Ann.").await;
    let label = json!({"revision": 1});
    house.call(Method::PUT, "/api/storage/personas/ann/labels/live", label).await;
    let renamed = json!({"systemPrompt": "You are Ann, and tired."});
    house.call(Method::PUT, "/api/storage/personas/ann", renamed).await.good();
    let session = create(&house, json!({"model": "persona:ann@live"})).await;
    let id = session["id"].as_str().unwrap();

    let said = say(&house, id, "Hi").await;
    assert_eq!(said["run"]["personaRevision"], 1, "{said}");
    let path = format!("/api/terminal/sessions/{id}");
    house.call(Method::PATCH, &path, json!({"model": "persona:ann"})).await.good();
    let said = say(&house, id, "Hi").await;
    assert_eq!(said["run"]["personaRevision"], 2, "{said}");
    let record = house.get(&format!("{path}/record")).await.good();
    let told: Vec<(&str, &str)> = record["history"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|entry| entry["source"] == "persona")
        .map(|entry| (entry["role"].as_str().unwrap(), entry["content"].as_str().unwrap()))
        .collect();
    assert_eq!(told, [("system", "You are Ann."), ("system", "You are Ann, and tired.")]);
    assert_eq!(record["metadata"]["system_prompt_text"], "You are Ann, and tired.");

    for (model, told) in [
        ("persona:ann@nowhere", error(422, "invalid", "model")),
        ("persona:nobody", error(422, "invalid", "model")),
        ("nothing-known", error(422, "invalid", "model")),
        ("gpt-5.1-mni", error(422, "invalid", "model")),
        ("", error(422, "invalid", "model")),
    ] {
        let answer = house.call(Method::PATCH, &path, json!({"model": model})).await;
        assert_eq!(answer.error(), told, "{model}");
    }
    house.call(Method::DELETE, "/api/storage/personas/ann", json!({})).await;
    let refused =
        house.call(Method::POST, &format!("{path}/messages"), json!({"content": "Hi"})).await;
    assert_eq!(refused.error(), error(409, "in_bin", ""));
    let empty =
        house.call(Method::POST, &format!("{path}/messages"), json!({"content": " "})).await;
    assert_eq!(empty.error(), error(422, "invalid", "message"));
}
