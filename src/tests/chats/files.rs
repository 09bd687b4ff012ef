//! Chats as files.

use axum::http::Method;
use serde_json::{Value, json};

use super::{
    CHATS, answers, begin, branches::long_chat, pair, parts, path, post, quiet, say, settle, text,
    until, words,
};
use crate::support::{House, error, on_both};

on_both!(
    a_whole_tree_goes_out_and_comes_in_again,
    several_personas_go_out_and_come_in_again,
    a_chat_without_a_title_comes_in_without_one,
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

async fn several_personas_go_out_and_come_in_again(house: House) {
    let house = house.playing(&parts(json!([{"text": "Yes."}]), json!([{"text": "No."}])));
    let chat = pair(&house, "in_turn").await;
    post(&house, &format!("{chat}/messages"), json!({"content": "Well?"})).await.good();
    until(&house, &chat, |page| quiet(page) && words(page).len() == 3).await;
    let import = async |file: &Value| post(&house, &format!("{CHATS}/import"), file.clone()).await;
    let ids = |chat: &Value| -> Vec<String> {
        chat["members"].as_array().unwrap().iter().map(|one| text(&one["personaId"])).collect()
    };
    let names = |page: &Value| -> Vec<Value> {
        page["items"].as_array().unwrap().iter().map(|one| one["personaName"].clone()).collect()
    };

    let mut file = house.get(&format!("{chat}/export")).await.good();
    assert_eq!((&file["version"], &file["personaIds"]), (&json!(2), &json!(["ann", "ben"])));
    let messages = file["messages"].as_array().unwrap();
    let speakers: Vec<&Value> = messages.iter().map(|message| &message["personaId"]).collect();
    assert_eq!(speakers, [&Value::Null, &json!("ann"), &json!("ben")]);

    // Whoever is not here is left out.
    file["personaIds"] = json!(["ann", "nobody", "ben"]);
    let made = import(&file).await.good();
    assert_eq!(ids(&made), ["ann", "ben"]);
    let copy = format!("{CHATS}/{}", text(&made["id"]));
    let page = path(&house, &copy, "").await;
    assert_eq!(names(&page), [Value::Null, json!("ann"), json!("ben")]);
    let markdown = house.get(&format!("{copy}/markdown")).await.text;
    assert!(markdown.contains("**ann**\n\nYes.") && markdown.contains("**ben**\n\nNo."));
    let html = house.get(&copy.replace("/api", "")).await.text;
    assert!(html.contains("Compare with") && !html.contains("What was sent"), "{html}");
    // They hear each other as before, also from the file, and in other words.
    let edit = format!("/api/messages/{}/edit", text(&page["items"][2]["id"]));
    post(&house, &edit, json!({"content": "Never."})).await.good();
    post(&house, &format!("{copy}/messages"), json!({"content": "And?"})).await.good();
    let page = until(&house, &copy, |page| quiet(page) && words(page).len() == 6).await;
    assert_eq!(names(&page)[2], "ben");
    let prompt = format!("/api/messages/{}/prompt", text(&page["items"][4]["id"]));
    let sent = house.get(&prompt).await.good();
    let heard: Vec<String> =
        sent["messages"].as_array().unwrap().iter().map(|one| text(&one["text"])).collect();
    assert_eq!(heard, ["Well?", "Yes.", "ben: Never.", "And?"]);

    // As files were written before.
    let mut old = file.clone();
    for field in ["version", "personaIds"] {
        old.as_object_mut().unwrap().remove(field);
    }
    for message in old["messages"].as_array_mut().unwrap() {
        message.as_object_mut().unwrap().remove("personaId");
    }
    let made = import(&old).await.good();
    assert_eq!(ids(&made), ["ann"]);
    let page = path(&house, &format!("{CHATS}/{}", text(&made["id"])), "").await;
    assert_eq!(words(&page), ["Well?", "Yes.", "No."]);
    // And as nobody writes them yet.
    for (field, odd) in [("version", json!(3)), ("personaIds", json!(vec!["ann"; 9]))] {
        let mut file = file.clone();
        file[field] = odd;
        assert_eq!(import(&file).await.error(), error(422, "invalid", field));
    }
}

async fn a_chat_without_a_title_comes_in_without_one(house: House) {
    let chat = begin(&house, "optimist").await;
    let file = house.get(&format!("{chat}/export")).await.good();

    let made = post(&house, &format!("{CHATS}/import"), file).await.good();

    assert_eq!((&made["title"], &made["titledBy"]), (&json!("New chat"), &json!("new")));
}

#[tokio::test]
async fn markdown_says_when_it_begins_in_the_middle() {
    let house = House::new().await;
    let chat = long_chat(&house, 5001).await;

    let markdown = house.get(&format!("{chat}/markdown")).await.text;

    let told = "*These are the last 5000 messages; earlier ones are left out.*";
    assert!(markdown.contains(told) && markdown.ends_with("Message number 5000.\n"));
    assert!(!markdown.contains("Message number 0."));
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
