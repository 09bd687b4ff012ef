//! What comes next in a chat: a person's words wait for the answer, can be taken back, and are never lost.

use axum::http::Method;
use greenroom::domain::line::{Next, NextItem};
use serde_json::{Value, json};

use super::{begin, path, post, quiet, spoken, text, until, words};
use crate::support::{House, error, on_both, request};

on_both!(
    words_that_wait_are_sent_when_the_answer_is_there,
    words_that_wait_are_taken_back_and_sent_in_other_words,
    after_a_restart_what_waits_is_there_and_goes_on_when_it_is_wanted,
    what_was_about_to_begin_when_the_process_ended_begins,
    what_cannot_wait_is_told_and_changes_nothing,
    a_plain_form_waits_by_itself,
    what_a_plain_form_says_where_nobody_can_answer_is_kept_with_the_reason,
);

/// A chat in which the first answer is not coming to its end.
async fn stalled(house: &House) -> (House, String, String) {
    let script = json!({"answers": [[{"text": "Half "}, "stall"], [{"text": "Next."}], [{"text": "Last."}]]});
    let house = house.playing(&script);
    let chat = begin(&house, "optimist").await;
    let kept = post(&house, &format!("{chat}/messages"), json!({"content": "One"})).await.good();
    spoken(&house, &kept["runIds"]).await;
    (house, chat, text(&kept["runId"]))
}

async fn words_that_wait_are_sent_when_the_answer_is_there(house: House) {
    let script = json!({"answers": [
        [{"text": "First."}, {"wait_ms": 300}], [{"text": "Second."}], [{"text": "Third."}],
    ]});
    let house = house.playing(&script);
    let chat = begin(&house, "optimist").await;
    let said = json!({"content": "One", "deviceId": "phone"});
    let kept = post(&house, &format!("{chat}/messages"), said).await.good();
    for more in ["Two", "Three"] {
        let words = json!({"content": more, "deviceId": "phone", "parentId": kept["replyId"]});
        let put = post(&house, &format!("{chat}/queue"), words).await;
        assert_eq!(put.status, 201, "{}", put.text);
    }
    let line = house.get(&format!("{chat}/queue")).await.good();
    let contents: Vec<&Value> =
        line["items"].as_array().unwrap().iter().map(|item| &item["content"]).collect();
    assert_eq!(contents, ["Two", "Three"]);

    let page = until(&house, &chat, |page| quiet(page) && words(page).len() == 6).await;

    assert_eq!(words(&page), ["One", "First.", "Two", "Second.", "Three", "Third."]);
    assert_eq!(page["line"], json!([]));
    // The device went along.
    assert_eq!(words(&path(&house, &chat, "deviceId=phone").await).len(), 6);
    // Where nobody answers, nothing has to wait.
    post(&house, &format!("{chat}/queue"), json!({"content": "Four"})).await.good();
    until(&house, &chat, |page| quiet(page) && words(page).len() == 8).await;
}

async fn words_that_wait_are_taken_back_and_sent_in_other_words(house: House) {
    let (house, chat, run) = stalled(&house).await;
    let queue = format!("{chat}/queue");
    let put = post(&house, &queue, json!({"content": "Two"})).await.good();
    let page = chat.replace("/api", "");
    let html = house.get(&page).await.text;
    assert!(html.contains("Will be sent when the answer is there") && html.contains("Take back"));

    // By a plain form, as everything.
    let id = chat.rsplit('/').next().unwrap();
    let fields = [("chat", id), ("id", put["id"].as_str().unwrap())];
    assert_eq!(house.form("/fn/hold_next", &page, &fields).await.status, 302);
    let html = house.get(&page).await.text;
    assert!(html.contains("You took it back.") && html.contains("Throw away"), "{html}");
    post(&house, &format!("/api/runs/{run}/stop"), json!({})).await.good();
    let shown = path(&house, &chat, "").await;
    assert_eq!((words(&shown).len(), &shown["line"][0]["content"]), (2, &json!("Two")));

    let item = format!("{queue}/{}", text(&put["id"]));
    house.call(Method::PATCH, &item, json!({"content": "Deux", "held": false})).await.good();
    let shown = until(&house, &chat, |page| quiet(page) && words(page).len() == 4).await;
    assert_eq!(words(&shown), ["One", "Half ", "Deux", "Next."]);
    assert_eq!(house.send(request(Method::DELETE, &item, None)).await.status, 404, "it is sent");
}

async fn after_a_restart_what_waits_is_there_and_goes_on_when_it_is_wanted(house: House) {
    let (gone, chat, _) = stalled(&house).await;
    post(&gone, &format!("{chat}/queue"), json!({"content": "Two"})).await.good();

    let next = house.playing(&json!({"answers": [[{"text": "Again."}]]}));
    assert_eq!(next.state.agent.recover().await.unwrap(), 1);

    let page = path(&next, &chat, "").await;
    assert_eq!(words(&page), ["One", "Half "]);
    let item = &page["line"][0];
    assert!(text(&item["held"]).contains("restarted"), "{item}");
    let item = format!("{chat}/queue/{}", text(&item["id"]));
    next.call(Method::PATCH, &item, json!({"held": false})).await.good();
    let page = until(&next, &chat, |page| quiet(page) && words(page).len() == 4).await;
    assert_eq!(words(&page), ["One", "Half ", "Two", "Again."]);
}

async fn what_was_about_to_begin_when_the_process_ended_begins(house: House) {
    let house = house.playing(&json!({"answers": [[{"text": "Here."}]]}));
    let chat = begin(&house, "optimist").await;
    let id = chat.rsplit('/').next().unwrap().into();
    let scope = house.state.scope.clone();
    let mut link = house.state.store.write(&scope.space).await.unwrap();
    let item = NextItem {
        id: "item".into(),
        what: Next::Words { content: "Anybody?".into(), after: None, device_id: None },
        held: None,
        created_at: greenroom::domain::timestamp::Timestamp(1),
        user: scope.user,
    };
    link.put_next(&id, &item).await.unwrap();
    link.commit().await.unwrap();

    house.state.agent.recover().await.unwrap();

    let page = until(&house, &chat, |page| quiet(page) && words(page).len() == 2).await;
    assert_eq!(words(&page), ["Anybody?", "Here."]);
}

async fn what_cannot_wait_is_told_and_changes_nothing(house: House) {
    let (house, chat, run) = stalled(&house).await;
    let queue = format!("{chat}/queue");
    let invalid = |field: &str| error(422, "invalid", field);
    for (body, expected) in [
        (json!({"content": " "}), invalid("content")),
        (json!({"content": "x".repeat(50_001)}), invalid("content")),
        (json!({"content": "x", "parentId": "nothing"}), error(404, "not_found", "")),
        (json!({"content": "x", "deviceId": "a b"}), invalid("deviceId")),
        (json!({"content": "x", "colour": 1}), invalid("colour")),
        (json!({"content": "x", "branch": true}), invalid("branch")),
        (json!({}), invalid("content")),
    ] {
        assert_eq!(post(&house, &queue, body.clone()).await.error(), expected, "{body}");
    }
    assert_eq!(path(&house, &chat, "").await["line"], json!([]));
    for at in 0..20 {
        post(&house, &queue, json!({"content": format!("{at}")})).await.good();
    }
    let full = post(&house, &queue, json!({"content": "One too many"})).await;
    assert_eq!(full.error(), error(409, "not_now", ""));
    let nothing = house.call(Method::PATCH, &format!("{queue}/nothing"), json!({})).await;
    assert_eq!(nothing.error(), error(404, "not_found", ""));
    assert_eq!(house.get("/api/chats/nothing/queue").await.status, 404);
    let deleted = house.send(request(Method::DELETE, &chat, None)).await;
    assert_eq!(deleted.status, 200, "what waits does not keep a chat from the bin");
    let ended = house.get(&format!("/api/runs/{run}")).await.good();
    assert_eq!(ended["status"], "stopped");
}

async fn a_plain_form_waits_by_itself(house: House) {
    let (house, chat, _) = stalled(&house).await;
    let page = chat.replace("/api", "");
    let fields = [("at", page.as_str()), ("words", "Two")];
    assert_eq!(house.function("say", &fields).await.status, 409, "a page with a program offers it");
    assert_eq!(path(&house, &chat, "").await["line"], json!([]));

    assert_eq!(house.form("/fn/say", &page, &fields).await.status, 302);

    assert_eq!(path(&house, &chat, "").await["line"][0]["content"], "Two");
    let waiting = [("at", page.as_str()), ("words", "Three"), ("wait", "true")];
    house.function("say", &waiting).await.good();
    assert_eq!(path(&house, &chat, "").await["line"][1]["content"], "Three");
}

async fn what_a_plain_form_says_where_nobody_can_answer_is_kept_with_the_reason(house: House) {
    let chat = begin(&house, "optimist").await;
    let page = chat.replace("/api", "");
    house.send(request(Method::DELETE, "/api/storage/personas/optimist", None)).await.good();
    let fields = [("at", page.as_str()), ("words", "Half an hour of thought")];

    assert_eq!(house.form("/fn/say", &page, &fields).await.status, 302);

    let kept = path(&house, &chat, "").await["line"][0].clone();
    assert_eq!(kept["content"], "Half an hour of thought");
    assert!(text(&kept["held"]).contains("bin"), "{kept}");
    let shown = house.get(&page).await.text;
    assert!(shown.contains("Half an hour of thought"), "{shown}");
}
