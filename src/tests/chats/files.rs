//! Chats as files.

use axum::http::Method;
use serde_json::{Value, json};

use super::{CHATS, answers, begin, path, post, say, settle, text, words};
use crate::support::{House, error, on_both};

on_both!(
    a_whole_tree_goes_out_and_comes_in_again,
    a_path_is_written_as_markdown,
    a_file_that_cannot_be_is_refused_and_makes_nothing,
);

async fn a_whole_tree_goes_out_and_comes_in_again(house: House) {
    let house = house.playing(&answers(20));
    let chat = begin(&house, "optimist").await;
    let (first, reply) = say(&house, &chat, json!({"content": "One"})).await;
    let (two, _) = say(&house, &chat, json!({"content": "Two"})).await;
    let kept = post(&house, &format!("/api/messages/{reply}/regenerate"), json!({})).await.good();
    settle(&house, &kept).await;
    house
        .call(Method::PATCH, &format!("/api/messages/{first}"), json!({"label": "Start"}))
        .await
        .good();
    post(&house, &format!("/api/messages/{two}/prune"), json!({})).await.good();

    let file = house.get(&format!("{chat}/export")).await.good();
    let made = post(&house, &format!("{CHATS}/import"), file.clone()).await;
    assert_eq!(made.status, 201);
    let copy = format!("{CHATS}/{}", text(&made.json()["id"]));

    let shape = |file: &Value| {
        let messages = file["messages"].as_array().unwrap();
        let place = |id: &Value| messages.iter().position(|one| one["id"] == *id);
        let facts = |one: &Value| {
            let marks = (one["label"].clone(), one["pruned"].clone());
            (text(&one["content"]), text(&one["role"]), place(&one["parentId"]), marks)
        };
        messages.iter().map(facts).collect::<Vec<_>>()
    };
    let again = house.get(&format!("{copy}/export")).await.good();
    assert_eq!(shape(&again), shape(&file));
    assert_ne!(again["messages"][0]["id"], file["messages"][0]["id"]);
    assert_eq!(words(&path(&house, &copy, "").await), ["One", "Answer 3."]);
}

async fn a_path_is_written_as_markdown(house: House) {
    let house = house.playing(&answers(20));
    let new = json!({"personaId": "optimist", "title": "Rain", "settings": {"userPersona": {"name": "Ann"}}});
    let chat = post(&house, CHATS, new).await.good();
    let chat = format!("{CHATS}/{}", text(&chat["id"]));
    say(&house, &chat, json!({"content": "One"})).await;

    let markdown = house.get(&format!("{chat}/markdown")).await;

    assert_eq!(markdown.header("content-type"), "text/markdown; charset=utf-8");
    assert_eq!(markdown.text, "# Rain\n\n**Ann**\n\nOne\n\n**Optimist**\n\nAnswer 1.\n");
}

async fn a_file_that_cannot_be_is_refused_and_makes_nothing(house: House) {
    let message = |id: &str, parent: Value, content: &str| json!({"id": id, "parentId": parent, "role": "user", "content": content});
    let file = |messages: Value| json!({"format": "greenroom-chat", "personaId": "optimist", "messages": messages});
    let circle = file(json!([message("a", json!("b"), "x"), message("b", json!("a"), "x")]));
    let dangling = file(json!([message("a", json!("nobody"), "x")]));
    let silent = file(json!([message("a", Value::Null, " ")]));
    let mut strange = file(json!([]));
    strange["format"] = json!("other");
    let mut unknown = file(json!([]));
    unknown["settings"] = json!({"model": "no such"});
    for (file, field) in [
        (circle, "messages"),
        (dangling, "messages"),
        (silent, "messages"),
        (strange, "format"),
        (unknown, "settings.model"),
    ] {
        let answer = post(&house, &format!("{CHATS}/import"), file).await;
        assert_eq!(answer.error(), error(422, "invalid", field));
    }
    assert_eq!(house.get(CHATS).await.good()["items"], json!([]));
}
