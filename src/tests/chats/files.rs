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
    a_large_chat_goes_out_in_pieces_and_comes_in_again,
    a_path_is_written_as_markdown,
    personas_come_in_as_of_the_versions_that_a_file_names,
    settings_that_cannot_be_used_here_are_left_out_and_told,
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
    // Whoever answered behind another is asked again, with what that one had said.
    let again = format!("/api/messages/{}/regenerate", text(&page["items"][2]["id"]));
    let kept = post(&house, &again, json!({})).await.good();
    settle(&house, &kept).await;
    let beside = path(&house, &copy, "").await["items"][2].clone();
    assert_eq!((&beside["personaName"], &beside["siblings"]), (&json!("ben"), &json!(2)));
    let prompt = format!("/api/messages/{}/prompt", text(&beside["id"]));
    let sent = house.get(&prompt).await.good();
    assert_eq!(sent["messages"][1]["text"], "ann: Yes.");
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

async fn a_large_chat_goes_out_in_pieces_and_comes_in_again(house: House) {
    let chat = long_chat(&house, 450).await;

    let out = house.get(&format!("{chat}/export")).await;

    assert_eq!(out.header("content-type"), "application/json");
    assert_eq!(out.header("content-length"), "", "nobody knows yet how long it will be");
    let file = out.good();
    let messages = file["messages"].as_array().unwrap();
    let said: Vec<String> = messages.iter().map(|message| text(&message["content"])).collect();
    let expected: Vec<String> = (0..450).map(|at| format!("Message number {at}.")).collect();
    assert_eq!(said, expected);
    assert!(messages.iter().all(|one| one.get("parts").is_none()), "words are told once");
    let made = post(&house, &format!("{CHATS}/import"), file.clone()).await.good();
    let copy = house.get(&format!("{CHATS}/{}/export", text(&made["id"]))).await.good();
    assert_eq!(copy["messages"].as_array().unwrap().len(), 450);
    // One without messages is a whole file, too.
    let empty = begin(&house, "optimist").await;
    let file = house.get(&format!("{empty}/export")).await.good();
    assert_eq!((&file["messages"], &file["format"]), (&json!([]), &json!("greenroom-chat")));
    assert_eq!(
        house.get(&format!("{CHATS}/nothing/export")).await.error(),
        error(404, "not_found", "")
    );
}

#[tokio::test]
async fn markdown_has_the_whole_path_however_long_it_is() {
    let house = House::new().await;
    let chat = long_chat(&house, 5001).await;

    let markdown = house.get(&format!("{chat}/markdown")).await;

    assert_eq!(markdown.header("content-length"), "", "nobody knows yet how long it will be");
    let said: Vec<&str> =
        markdown.text.lines().filter(|line| line.starts_with("Message number")).collect();
    let expected: Vec<String> = (0..5001).map(|at| format!("Message number {at}.")).collect();
    assert_eq!(said, expected);
}

async fn personas_come_in_as_of_the_versions_that_a_file_names(house: House) {
    let chat = pair(&house, "in_turn").await;
    house
        .call(Method::PUT, "/api/storage/personas/ben", json!({"systemPrompt": "Be Ben."}))
        .await
        .good();
    let import = async |file: &Value| {
        let made = post(&house, &format!("{CHATS}/import"), file.clone()).await.good();
        let members = made["members"].as_array().unwrap().clone();
        let member = |one: &Value| (text(&one["personaId"]), one["revision"].as_i64().unwrap());
        members.iter().map(member).collect::<Vec<_>>()
    };
    let named = |ann: i64, ben: i64| vec![("ann".to_owned(), ann), ("ben".to_owned(), ben)];

    let mut file = house.get(&format!("{chat}/export")).await.good();

    assert_eq!(file["personaRevisions"], json!([1, 1]));
    assert_eq!(import(&file).await, named(1, 1));
    // A version that is not here leaves the persona as it is now.
    file["personaRevisions"] = json!([7, 2]);
    assert_eq!(import(&file).await, named(1, 2));
    file["personaRevisions"] = json!([1]);
    assert_eq!(import(&file).await, named(1, 2));
    // As files of one persona were written before.
    let old = json!({"format": "greenroom-chat", "personaId": "ben", "personaRevision": 1, "messages": []});
    assert_eq!(import(&old).await, [("ben".to_owned(), 1)]);
}

async fn settings_that_cannot_be_used_here_are_left_out_and_told(house: House) {
    let settings = json!({"model": "no such", "window": 11, "userPersona": {"name": "Ann"}});
    let file = json!({"format": "greenroom-chat", "personaId": "optimist", "settings": settings, "messages": []});

    let made = post(&house, &format!("{CHATS}/import"), file).await;

    assert_eq!(made.status, 201);
    let made = made.json();
    assert_eq!((&made["settings"]["model"], &made["settings"]["window"]), (&json!(""), &json!(11)));
    assert_eq!(made["settings"]["userPersona"]["name"], "Ann");
    assert_eq!(
        made["told"],
        "Of the settings in the file, these cannot be used here and were left out: the model."
    );
    let page = house.get(&format!("/chats/{}?left_out=0,99,x", text(&made["id"]))).await.text;
    assert!(page.contains("were left out: the model."), "{page}");
    let plain = json!({"format": "greenroom-chat", "personaId": "optimist", "messages": []});
    let plain = post(&house, &format!("{CHATS}/import"), plain).await.good();
    assert_eq!(plain["told"], Value::Null);
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
    for (file, field) in
        [(circle, "messages"), (dangling, "messages"), (silent, "messages"), (strange, "format")]
    {
        let answer = post(&house, &format!("{CHATS}/import"), file).await;
        assert_eq!(answer.error(), error(422, "invalid", field));
    }
    assert_eq!(house.get(CHATS).await.good()["items"], json!([]));
}
