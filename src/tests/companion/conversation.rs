//! The API of conversations.

use axum::http::Method;
use futures::future::join_all;
use serde_json::{Value, json};

use super::{ambient, events, following, made, messages, post, say, say_of};
use crate::support::{House, error, on_both, request};

on_both!(
    there_is_one_conversation_however_often_it_is_asked_for,
    a_message_is_answered_by_events_and_kept_as_one_message,
    a_second_message_has_to_wait_and_a_second_watcher_is_told_the_same,
    whoever_comes_back_hears_only_what_is_new_and_then_the_end_for_good,
    a_failed_answer_keeps_the_message_and_can_be_asked_for_again,
    only_a_persons_message_of_this_conversation_is_answered,
);

async fn there_is_one_conversation_however_often_it_is_asked_for(house: House) {
    let all = join_all((0..8).map(|_| ambient(&house))).await;

    let first = ambient(&house).await;
    assert_eq!(all, vec![first; 8]);
    let companion = house.get("/api/storage/personas/companion").await.good();
    assert_eq!((&companion["name"], &companion["revision"]), (&json!("Companion"), &json!(1)));
    assert_ne!(ambient(&house.neighbour().await).await, all[0]);
}

async fn a_message_is_answered_by_events_and_kept_as_one_message(house: House) {
    let task = json!({"op": "create", "entityType": "task", "task": {"title": "Ring the bell"}});
    let house = house.playing(&json!({"answers": [
        [{"text": "Let me look."}, {"call": {"name": "search", "input": {"query": "bell"}}}],
        [{"call": {"name": "propose_change", "input": task}}],
        [{"text": "I drafted it."}, {"usage": {"input": 7, "output": 3}}],
    ]}));

    let told = say(&house, "Remind me of the bell").await;

    let mut names = told.names();
    names.dedup();
    assert_eq!(names, ["delta", "tool", "draft", "delta", "done"]);
    let tools: Vec<_> = told.events.iter().filter(|(name, _)| name == "tool").collect();
    let tools: Vec<_> = tools.iter().map(|(_, data)| (&data["tool"], &data["status"])).collect();
    let (search, propose) = (json!("search"), json!("propose_change"));
    let (running, done) = (json!("running"), json!("done"));
    assert_eq!(
        tools,
        [(&search, &running), (&search, &done), (&propose, &running), (&propose, &done)]
    );
    for (name, data) in &told.events {
        assert_eq!(data["type"], json!(name));
    }
    let searched = told.events.iter().find(|(name, _)| name == "tool").unwrap();
    assert_eq!(searched.1["argsSummary"], r#"{"query":"bell"}"#);
    let draft = told.events.iter().find(|(name, _)| name == "draft").unwrap().1.clone();
    assert!(draft["summary"].as_str().unwrap().contains("Ring the bell"), "{draft}");

    let kept = messages(&house).await;
    assert_eq!(kept.len(), 2);
    assert_eq!((&kept[0]["role"], &kept[0]["metadata"]), (&json!("user"), &Value::Null));
    assert_eq!(
        (&kept[0]["id"], &kept[0]["content"]),
        (&json!(told.message), &json!("Remind me of the bell"))
    );
    let (answer, metadata) = (&kept[1], &kept[1]["metadata"]);
    assert_eq!(answer["role"], "assistant");
    let words = answer["content"].as_str().unwrap();
    assert!(words.contains("Let me look.") && words.contains("I drafted it."), "{words}");
    let (_, done) = told.events.last().unwrap();
    assert_eq!((&done["assistantMessageId"], &done["usage"]), (&answer["id"], &metadata["usage"]));
    assert_eq!((&metadata["runId"], &metadata["model"]), (&json!(told.run), &json!("demo")));
    assert_eq!(metadata["draftIds"], json!(told.drafts()));
    assert!(metadata["usage"]["input"].as_u64() > Some(7), "{metadata}");
    let trace = metadata["trace"].as_array().unwrap();
    assert_eq!((trace.len(), &trace[1]["args"]), (2, &task));
    assert!(trace[1]["result"].as_str().unwrap().contains("draft"), "{trace:?}");

    // Asking again attaches to the same run.
    let again = house.send(following(&ambient(&house).await, &told.message)).await;
    assert_eq!(again.header("greenroom-run-id"), told.run);
    assert_eq!(events(&again), told.events);
    assert_eq!(messages(&house).await, kept);
}

async fn a_second_message_has_to_wait_and_a_second_watcher_is_told_the_same(house: House) {
    let house = house.playing(&json!({"answers": [[{"text": "Once "}, "stall"]]}));
    let kept = post(&house, json!({"content": "Tell me a story"})).await.good();
    let (message, run) = (kept["id"].as_str().unwrap(), kept["runId"].clone());
    let conversation = ambient(&house).await;
    let mut first = house.stream(following(&conversation, message)).await;
    let mut second = house.stream(following(&conversation, message)).await;
    assert_eq!(first.until("delta").await["text"], "Once ");
    assert_eq!(second.until("delta").await["text"], "Once ");

    let busy = post(&house, json!({"content": "Hurry"})).await;

    assert_eq!(busy.error(), error(409, "busy", ""));
    assert_eq!(busy.json()["error"]["runId"], run);
    let path = format!("/api/runs/{}/stop", run.as_str().unwrap());
    house.call(Method::POST, &path, json!({})).await.good();
    assert_eq!(first.until("done").await, second.until("done").await);
    let kept: Vec<Value> =
        messages(&house).await.iter().map(|one| one["content"].clone()).collect();
    assert_eq!(kept, ["Tell me a story", "Once "], "the refused message is not kept");
}

async fn whoever_comes_back_hears_only_what_is_new_and_then_the_end_for_good(house: House) {
    let task = json!({"op": "create", "entityType": "task", "task": {"title": "Ring the bell"}});
    let house = house.playing(&json!({"answers": [
        [{"text": "Let me see."}, {"call": {"name": "propose_change", "input": task}}],
        [{"text": "Drafted."}],
    ]}));
    let told = say(&house, "Remind me").await;
    let conversation = ambient(&house).await;
    let mut stream = house.stream(following(&conversation, &told.message)).await;
    let mut all = Vec::new();
    while let Some((id, data)) = stream.next().await {
        all.push((id, data));
    }
    let back = async |seen: u64| {
        let mut request = following(&conversation, &told.message);
        request.headers_mut().insert("last-event-id", seen.into());
        house.send(request).await
    };

    // Both pieces of the tool's result have to be heard before it counts as heard.
    let draft = all.iter().position(|(_, data)| data["type"] == "draft").unwrap();
    assert_eq!((all[draft - 1].0, all[draft - 1].1["type"].as_str()), (None, Some("tool")));
    for (place, (id, _)) in all.iter().enumerate().filter(|(place, _)| *place + 1 < all.len()) {
        let Some(id) = id else { continue };
        let rest: Vec<Value> = events(&back(*id).await).into_iter().map(|one| one.1).collect();
        let expected: Vec<Value> = all[place + 1..].iter().map(|one| one.1.clone()).collect();
        assert_eq!(rest, expected, "after {id}");
    }
    let (last, done) = all.last().unwrap();
    assert_eq!(done["type"], "done");
    assert_eq!(back(last.unwrap()).await.status, 204);
    let path = format!("{}&after={}", following(&conversation, &told.message).uri(), last.unwrap());
    let after = house.get(&path).await;
    assert_eq!(events(&after).len(), 1, "{}", after.text);
}

async fn a_failed_answer_keeps_the_message_and_can_be_asked_for_again(house: House) {
    let house = house.playing(&json!({"answers": [
        [{"error": {"fault": "auth", "message": "no"}}], [{"text": "Here I am."}],
    ]}));

    let failed = say(&house, "Are you there?").await;

    assert_eq!(failed.names(), ["error"]);
    let sentence = failed.events[0].1["message"].as_str().unwrap();
    assert!(sentence.ends_with('.'), "{sentence}");
    let kept = messages(&house).await;
    assert_eq!((kept[0]["content"].as_str(), kept.len()), (Some("Are you there?"), 1), "{kept:?}");

    let path = format!("/api/runs/{}/retry", failed.run);
    assert_eq!(house.call(Method::POST, &path, json!({})).await.status, 201);
    let again = house.send(following(&ambient(&house).await, &failed.message)).await;
    let names: Vec<String> = events(&again).into_iter().map(|(name, _)| name).collect();
    assert_eq!((names.first(), names.last()), (Some(&"delta".into()), Some(&"done".into())));
    let kept: Vec<Value> =
        messages(&house).await.iter().map(|one| one["content"].clone()).collect();
    assert_eq!(kept, ["Are you there?", "Here I am."]);
}

async fn only_a_persons_message_of_this_conversation_is_answered(house: House) {
    let told = say(&house, "Hello").await;
    let old = ambient(&house).await;
    house.function("start_afresh", &[("at", "/")]).await.good();
    let new = ambient(&house).await;
    assert_ne!(new, old);
    let reply = told.events.last().unwrap().1["assistantMessageId"].as_str().unwrap().to_owned();
    let neighbour = house.neighbour().await;

    for (house, conversation, message) in [
        (&house, &old, "no-such-message"),
        (&house, &new, told.message.as_str()),
        (&house, &"no-such-conversation".to_owned(), told.message.as_str()),
        // What the companion said is an answer, not a question.
        (&house, &old, reply.as_str()),
        (&neighbour, &old, told.message.as_str()),
    ] {
        let answer = house.send(following(conversation, message)).await;
        assert_eq!(answer.error(), error(404, "not_found", ""), "{conversation} {message}");
    }
    let kept = house.get(&format!("/api/conversations/{old}/messages")).await.good();
    assert_eq!(kept["items"].as_array().unwrap().len(), 2);
    let elsewhere = neighbour.get(&format!("/api/conversations/{old}/messages")).await;
    assert_eq!(elsewhere.error(), error(404, "not_found", ""));
}

#[tokio::test]
async fn a_long_conversation_is_read_page_by_page() {
    let house = House::new().await;
    let conversation = ambient(&house).await;
    for number in 0..101 {
        let script = json!({"answers": [[{"text": format!("Answer {number}")}]]});
        say(&house.playing(&script), &format!("Question {number}")).await;
    }
    let path = format!("/api/conversations/{conversation}/messages");

    let last = house.get(&path).await.good();
    let next = last["next"].as_str().unwrap();
    let first = house.get(&format!("{path}?after={next}")).await.good();

    let words = |page: &Value| -> Vec<String> {
        let items = page["items"].as_array().unwrap().iter();
        items.map(|one| one["content"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(words(&last).len(), 200);
    assert_eq!(words(&last)[0], "Question 1");
    assert_eq!(
        (words(&first), &first["next"]),
        (vec!["Question 0".into(), "Answer 0".into()], &Value::Null)
    );
    let nowhere = house.get(&format!("{path}?after=no-such-message")).await;
    assert_eq!(nowhere.status, 404, "{}", nowhere.text);
}

#[tokio::test]
async fn bad_messages_are_refused_with_a_sentence_and_not_kept() {
    let house = House::new().await;
    let view = |kind: &str, id: &str| json!({"content": "Hi", "view": {"entityType": kind, "entityId": id}});
    for (said, expected) in [
        (json!({"content": " \n"}), error(422, "invalid", "content")),
        (json!({"content": "x".repeat(50_001)}), error(422, "invalid", "content")),
        (json!({}), error(422, "invalid", "content")),
        (view("page", "no-such-page"), error(404, "not_found", "")),
    ] {
        assert_eq!(post(&house, said.clone()).await.error(), expected, "{said}");
    }
    for said in [view("secret", "x"), json!({"content": "Hi", "role": "system"})] {
        assert_eq!(post(&house, said.clone()).await.status, 422, "{said}");
    }
    let nowhere = "/api/conversations/no-such-conversation/messages";
    let nowhere = house.call(Method::POST, nowhere, json!({"content": "Hi"})).await;
    assert_eq!(nowhere.error(), error(404, "not_found", ""));
    assert_eq!(messages(&house).await, Vec::<Value>::new());
    let nothing = format!("/api/conversations/{}/stream", ambient(&house).await);
    assert!(house.send(request(Method::GET, &nothing, None)).await.status.is_client_error());
}

#[tokio::test]
async fn the_demo_shows_every_tool_on_the_first_run() {
    let house = House::new().await;
    let page = made(&house, "pages", json!({"title": "Fog", "body": "Fog is wet."})).await;
    let seen = json!({"entityType": "page", "entityId": page});
    let say = async |words: &str| say_of(&house, json!({"content": words, "view": seen})).await;

    assert_eq!(
        say("find fog").await.words(),
        "Let me look for that.I found one thing for “fog”:\n\n- **Fog** (page)"
    );
    let looking = say("What am I looking at?").await.words();
    assert!(looking.ends_with("You are looking at the page “Fog”."), "{looking}");
    let read = say("Summarise this page").await.words();
    assert!(read.ends_with("The page **Fog** says: “Fog is wet.”"), "{read}");
    let drafted = say(
        "Add 'Ring the bell.' to this page, add a task 'Buy a bell' due 2026-12-31, \
         add a ref https://example.org 'Bells', make a persona named Keeper and delete the page 'Fog'.",
    )
    .await;
    let told = drafted.words();
    assert_eq!(drafted.drafts().len(), 5, "{told}");
    for draft in drafted.drafts() {
        let path = format!("/api/pending-changes/{draft}/approve");
        house.call(Method::POST, &path, json!({})).await.good();
    }
    let tasks = house.get("/api/storage/tasks").await.good()["items"].clone();
    assert_eq!(
        (&tasks[0]["title"], &tasks[0]["due"]),
        (&json!("Buy a bell"), &json!("2026-12-31"))
    );
    assert_eq!(house.get(&format!("/api/storage/pages/{page}")).await.status, 404, "binned");
    let marked = say_of(&house, json!({"content": "Mark the task 'Buy a bell' as done"})).await;
    let path = format!("/api/pending-changes/{}/approve", marked.drafts()[0]);
    house.call(Method::POST, &path, json!({})).await.good();
    // What is done stands last.
    let tasks = house.get("/api/storage/tasks").await.good()["items"].clone();
    let last = tasks.as_array().and_then(|tasks| tasks.last()).unwrap();
    assert_eq!((&last["title"], &last["status"]), (&json!("Buy a bell"), &json!("done")));
}
