//! The tree: branches, leaves of devices, paging, marks and pruning.

use axum::http::Method;
use serde_json::{Value, json};

use super::{answers, begin, path, post, say, settle, text, until, words};
use crate::support::{House, error, on_both};

on_both!(
    another_answer_and_other_words_stand_beside_the_first,
    a_path_comes_from_its_leaf_upwards_in_pages,
    every_device_keeps_its_leaf_and_is_told_what_is_newer,
    an_answer_goes_on_while_nobody_looks_and_others_have_to_wait,
    what_follows_the_other_answer_is_told_while_another_one_is_written,
    what_is_said_after_an_old_leaf_is_told_of_the_newer_one,
    a_branch_can_be_pruned_and_restored,
    moments_are_labelled_and_bookmarked_on_the_map,
    what_cannot_be_is_told_and_changes_nothing,
);

#[derive(Debug, PartialEq)]
struct Place {
    content: String,
    place: (i64, i64),
    hidden: i64,
}

fn places(page: &Value) -> Vec<Place> {
    let place = |item: &Value| Place {
        content: text(&item["content"]),
        place: (item["position"].as_i64().unwrap(), item["siblings"].as_i64().unwrap()),
        hidden: item["hidden"].as_i64().unwrap(),
    };
    page["items"].as_array().unwrap().iter().map(place).collect()
}

fn place(content: &str, place: (i64, i64), hidden: i64) -> Place {
    Place { content: content.into(), place, hidden }
}

async fn another_answer_and_other_words_stand_beside_the_first(house: House) {
    let house = house.playing(&answers(9));
    let chat = begin(&house, "optimist").await;
    let (first, reply) = say(&house, &chat, json!({"content": "One"})).await;
    say(&house, &chat, json!({"content": "Two"})).await;

    let regenerate = format!("/api/messages/{reply}/regenerate");
    let kept = post(&house, &regenerate, json!({})).await;
    assert_eq!(kept.status, 201);
    settle(&house, &kept.json()).await;
    let page = path(&house, &chat, "").await;
    assert_eq!(places(&page), [place("One", (1, 1), 0), place("Answer 3.", (2, 2), 2)]);
    assert_eq!(
        (&page["items"][1]["previous"], &page["items"][1]["following"]),
        (&json!(reply), &Value::Null)
    );

    // Other words of the person, answered.
    let edit = json!({"content": "Eins", "answer": true});
    let kept = post(&house, &format!("/api/messages/{first}/edit"), edit).await.good();
    settle(&house, &kept).await;
    let page = path(&house, &chat, "").await;
    assert_eq!(places(&page), [place("Eins", (2, 2), 4), place("Answer 4.", (1, 1), 0)]);

    // Other words of the persona, kept only.
    let answer = text(&page["items"][1]["id"]);
    let edit = json!({"content": "My own words."});
    let kept = post(&house, &format!("/api/messages/{answer}/edit"), edit).await.good();
    assert_eq!(kept["runId"], Value::Null);
    let page = path(&house, &chat, "").await;
    assert_eq!(places(&page)[1], place("My own words.", (2, 2), 0));
    assert_eq!(
        (&page["items"][1]["personaId"], &page["items"][1]["model"]),
        (&json!("optimist"), &json!(""))
    );

    // Nothing was lost: the first branch is still there, to its end.
    let leaf = post(&house, &format!("{chat}/leaf"), json!({"leaf": reply})).await.good();
    let page = path(&house, &chat, &format!("leaf={}", text(&leaf["leaf"]))).await;
    assert_eq!(words(&page), ["One", "Answer 1.", "Two", "Answer 2."]);
    assert_eq!(page["newerElsewhere"]["count"], 2);
    assert_eq!(
        house.get(&format!("{chat}/tree")).await.good()["items"].as_array().unwrap().len(),
        8
    );
}

async fn a_path_comes_from_its_leaf_upwards_in_pages(house: House) {
    let house = house.playing(&answers(20));
    let chat = begin(&house, "optimist").await;
    for at in 1..=4 {
        say(&house, &chat, json!({"content": format!("Words {at}")})).await;
    }

    let newest = path(&house, &chat, "limit=3").await;
    assert_eq!(words(&newest), ["Answer 3.", "Words 4", "Answer 4."]);
    let before = format!("limit=3&before={}", text(&newest["next"]));
    let older = path(&house, &chat, &before).await;
    assert_eq!(words(&older), ["Words 2", "Answer 2.", "Words 3"]);
    let before = format!("limit=100&before={}", text(&older["next"]));
    let oldest = path(&house, &chat, &before).await;
    assert_eq!((words(&oldest).len(), &oldest["next"]), (2, &Value::Null));
    assert_eq!(words(&path(&house, &chat, "limit=0").await).len(), 1);
    assert_eq!(words(&path(&house, &chat, "limit=9999").await).len(), 8);
}

async fn every_device_keeps_its_leaf_and_is_told_what_is_newer(house: House) {
    let house = house.playing(&answers(20));
    let chat = begin(&house, "optimist").await;
    let (_, reply) = say(&house, &chat, json!({"content": "One", "deviceId": "phone"})).await;
    let from_laptop = json!({"content": "Two", "deviceId": "laptop", "parentId": reply});
    let (two, answer) = say(&house, &chat, from_laptop).await;

    // What went on from where the phone was is simply there.
    let phone = path(&house, &chat, "deviceId=phone").await;
    assert_eq!((words(&phone).len(), &phone["newerElsewhere"]), (4, &Value::Null));

    // The laptop starts another branch; the phone stays on its own and is told.
    post(&house, &format!("{chat}/leaf"), json!({"leaf": answer, "deviceId": "phone"}))
        .await
        .good();
    let edit = json!({"content": "Zwei", "answer": true, "deviceId": "laptop"});
    let kept = post(&house, &format!("/api/messages/{two}/edit"), edit).await.good();
    settle(&house, &kept).await;
    let phone = path(&house, &chat, "deviceId=phone").await;
    assert_eq!(words(&phone)[2], "Two");
    assert_eq!(phone["newerElsewhere"], json!({"leaf": kept["replyId"], "count": 2}));
    assert_eq!(words(&path(&house, &chat, "deviceId=laptop").await)[2], "Zwei");
    assert_eq!(words(&path(&house, &chat, "deviceId=new").await)[2], "Zwei");

    // What the phone says goes on where the phone is.
    say(&house, &chat, json!({"content": "Three", "deviceId": "phone"})).await;
    let phone = path(&house, &chat, "deviceId=phone").await;
    assert_eq!(words(&phone)[2..5], ["Two", "Answer 2.", "Three"]);
}

async fn an_answer_goes_on_while_nobody_looks_and_others_have_to_wait(house: House) {
    let house = house.playing(&json!({"answers": [[{"text": "Whole."}], [{"text": "Half "}, "stall"], [{"text": "New."}]]}));
    let chat = begin(&house, "optimist").await;
    let (first, reply) = say(&house, &chat, json!({"content": "One"})).await;
    let kept = post(&house, &format!("/api/messages/{reply}/regenerate"), json!({})).await.good();
    let run = text(&kept["runId"]);

    // Whoever opens the chat sees the answer grow, beside the first.
    let page = loop {
        let page = path(&house, &chat, "").await;
        if words(&page).get(1).is_some_and(|words| words == "Half ") {
            break page;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(page["items"][1]["generating"], true);
    assert_eq!(places(&page)[1].place, (2, 2));
    assert_eq!(page["run"]["id"], json!(run));
    let other = path(&house, &chat, &format!("leaf={reply}")).await;
    assert_eq!(words(&other)[1], "Whole.");
    assert_eq!(other["newerElsewhere"]["count"], 1);

    let busy = |answer: crate::support::Answer| {
        assert_eq!(answer.error(), error(409, "busy", ""));
        assert_eq!(answer.json()["error"]["runId"], json!(run));
    };
    let generated = text(&kept["replyId"]);
    busy(post(&house, &format!("{chat}/messages"), json!({"content": "More"})).await);
    busy(post(&house, &format!("/api/messages/{reply}/regenerate"), json!({})).await);
    busy(post(&house, &format!("/api/messages/{generated}/edit"), json!({"content": "x"})).await);
    busy(post(&house, &format!("/api/messages/{first}/prune"), json!({})).await);

    let stopped = post(&house, &format!("/api/runs/{run}/stop"), json!({})).await.good();
    assert_eq!(stopped["status"], "stopped");
    assert_eq!(words(&path(&house, &chat, "").await), ["One", "Half "]);
    let on = post(&house, &format!("/api/runs/{run}/continue"), json!({})).await.good();
    settle(&house, &json!({"runId": on["id"]})).await;
    assert_eq!(words(&path(&house, &chat, "").await).last().unwrap(), "New.");
    let again = post(&house, &format!("/api/runs/{run}/retry"), json!({})).await;
    assert_eq!(again.status, 201, "an answer on any branch can be asked for again");
}

async fn what_follows_the_other_answer_is_told_while_another_one_is_written(house: House) {
    let house = house.playing(&json!({"answers": [[{"text": "First."}], [{"text": "Second."}], [{"text": "Half "}, "stall"]]}));
    let chat = begin(&house, "optimist").await;
    let (_, reply) = say(&house, &chat, json!({"content": "One"})).await;
    say(&house, &chat, json!({"content": "Two"})).await;

    let kept = post(&house, &format!("/api/messages/{reply}/regenerate"), json!({})).await.good();

    let half = |page: &Value| page["items"][1]["generating"] == true && words(page)[1] == "Half ";
    let page = until(&house, &chat, half).await;
    assert_eq!(places(&page), [place("One", (1, 1), 0), place("Half ", (2, 2), 2)]);
    let shown = house.get(&chat.replace("/api", "")).await.text.replace("<!>", "");
    assert!(shown.contains("2 messages on the other branch"), "{shown}");
    let run = text(&kept["runId"]);
    post(&house, &format!("/api/runs/{run}/stop"), json!({})).await.good();
    let page = path(&house, &chat, "").await;
    assert_eq!(places(&page)[1], place("Half ", (2, 2), 2), "it is the same when it is there");
}

async fn what_is_said_after_an_old_leaf_is_told_of_the_newer_one(house: House) {
    let house = house.playing(&answers(4));
    let chat = begin(&house, "optimist").await;
    let messages = format!("{chat}/messages");
    let (_, old) = say(&house, &chat, json!({"content": "One"})).await;
    let laptop = json!({"content": "Two", "deviceId": "laptop", "parentId": old});
    let (two, newer) = say(&house, &chat, laptop).await;
    let before = house.get(&format!("{chat}/tree")).await.good();

    let late = json!({"content": "Three", "deviceId": "phone", "parentId": old});
    let refused = post(&house, &messages, late.clone()).await;

    assert_eq!(refused.error(), error(409, "moved_on", ""));
    assert_eq!(refused.json()["error"]["leaf"], json!(newer));
    assert_eq!(house.get(&format!("{chat}/tree")).await.good(), before);
    let mut meant = late.clone();
    meant["branch"] = json!(true);
    let (beside, _) = say(&house, &chat, meant).await;
    let tree = house.get(&format!("{chat}/tree")).await.good();
    let kept = tree["items"].as_array().unwrap().iter().find(|node| node["id"] == json!(beside));
    assert_eq!(kept.unwrap()["parentId"], json!(old));
    // What was pruned is in nobody's way.
    for message in [two, beside] {
        post(&house, &format!("/api/messages/{message}/prune"), json!({})).await.good();
    }
    say(&house, &chat, late).await;
}

async fn a_branch_can_be_pruned_and_restored(house: House) {
    let house = house.playing(&answers(20));
    let chat = begin(&house, "optimist").await;
    let (_, reply) = say(&house, &chat, json!({"content": "One"})).await;
    let (two, answer) = say(&house, &chat, json!({"content": "Two", "deviceId": "phone"})).await;
    let edit = json!({"content": "Zwei", "answer": true});
    let kept = post(&house, &format!("/api/messages/{two}/edit"), edit).await.good();
    settle(&house, &kept).await;
    let other = text(&kept["id"]);

    let pruned = post(&house, &format!("/api/messages/{other}/prune"), json!({})).await.good();
    assert_eq!(pruned["leaf"], json!(answer));
    let page = path(&house, &chat, "").await;
    assert_eq!(words(&page), ["One", "Answer 1.", "Two", "Answer 2."]);
    assert_eq!(places(&page)[2], place("Two", (1, 1), 0), "what is hidden is no sibling");
    // A leaf in there is shown elsewhere, and nothing can be said to it.
    let stale = path(&house, &chat, &format!("leaf={}", text(&kept["replyId"]))).await;
    assert_eq!((&stale["moved"], words(&stale).len()), (&json!(true), 4));
    let said = json!({"content": "x", "parentId": kept["replyId"]});
    assert_eq!(
        post(&house, &format!("{chat}/messages"), said).await.error(),
        error(409, "not_now", "")
    );
    let tree = house.get(&format!("{chat}/tree")).await.good();
    let hidden = tree["items"].as_array().unwrap().iter().filter(|node| node["pruned"] == true);
    assert_eq!(hidden.count(), 1);

    let restored = post(&house, &format!("/api/messages/{other}/restore"), json!({})).await.good();
    assert_eq!(restored["leaf"], kept["replyId"]);
    assert_eq!(words(&path(&house, &chat, "").await)[2], "Zwei");
    let again = post(&house, &format!("/api/messages/{other}/restore"), json!({})).await;
    assert_eq!(again.error(), error(409, "not_now", ""));

    // Even all of it can be hidden, and come back.
    let root = text(&path(&house, &chat, "").await["items"][0]["id"]);
    let empty = post(&house, &format!("/api/messages/{root}/prune"), json!({})).await.good();
    assert_eq!(empty["leaf"], Value::Null);
    assert_eq!(path(&house, &chat, "deviceId=phone").await["items"], json!([]));
    post(&house, &format!("/api/messages/{root}/restore"), json!({})).await.good();
    assert_eq!(words(&path(&house, &chat, "").await).len(), 4);
    assert_eq!(words(&path(&house, &chat, &format!("leaf={reply}")).await).len(), 4);
}

async fn moments_are_labelled_and_bookmarked_on_the_map(house: House) {
    let house = house.playing(&answers(20));
    let chat = begin(&house, "optimist").await;
    let (first, _) = say(&house, &chat, json!({"content": "One"})).await;
    say(&house, &chat, json!({"content": "Two"})).await;
    let message = format!("/api/messages/{first}");
    let marks = json!({"label": "The start", "bookmarked": true});
    house.call(Method::PATCH, &message, marks).await.good();

    let tree = house.get(&format!("{chat}/tree?limit=3")).await.good();
    let node = &tree["items"][0];
    assert_eq!((&node["label"], &node["bookmarked"]), (&json!("The start"), &json!(true)));
    assert_eq!((&node["excerpt"], &node["parentId"]), (&json!("One"), &Value::Null));
    let rest = house.get(&format!("{chat}/tree?after={}", text(&tree["next"]))).await.good();
    assert_eq!((rest["items"].as_array().unwrap().len(), &rest["next"]), (1, &Value::Null));
    assert_eq!(path(&house, &chat, "").await["items"][0]["label"], "The start");

    house.call(Method::PATCH, &message, json!({"label": ""})).await.good();
    let node = house.get(&format!("{chat}/tree")).await.good()["items"][0].clone();
    assert_eq!((&node["label"], &node["bookmarked"]), (&json!(""), &json!(true)));
    let long = house.call(Method::PATCH, &message, json!({"label": "x".repeat(81)})).await;
    assert_eq!(long.error(), error(422, "invalid", "label"));
}

async fn what_cannot_be_is_told_and_changes_nothing(house: House) {
    let house = house.playing(&answers(20));
    let chat = begin(&house, "optimist").await;
    let (_, reply) = say(&house, &chat, json!({"content": "One"})).await;
    let elsewhere = begin(&house, "optimist").await;
    let (foreign, _) = say(&house, &elsewhere, json!({"content": "Other"})).await;
    let before = house.get(&format!("{chat}/tree")).await.good();

    let messages = format!("{chat}/messages");
    let invalid = |field: &str| error(422, "invalid", field);
    let nowhere = error(404, "not_found", "");
    for (body, expected) in [
        (json!({"content": "x", "parentId": "nothing"}), nowhere.clone()),
        (json!({"content": "x", "parentId": foreign}), nowhere.clone()),
        (json!({"content": " "}), invalid("content")),
        (json!({"content": "x".repeat(50_001)}), invalid("content")),
        (json!({"content": "x", "deviceId": "a b"}), invalid("deviceId")),
        (json!({}), invalid("content")),
    ] {
        assert_eq!(post(&house, &messages, body).await.error(), expected);
    }
    for (query, expected) in [
        (format!("leaf={foreign}"), nowhere.clone()),
        ("leaf=nothing".into(), nowhere.clone()),
        (format!("before={foreign}"), nowhere.clone()),
        ("deviceId=a%20b".into(), invalid("deviceId")),
    ] {
        assert_eq!(house.get(&format!("{messages}?{query}")).await.error(), expected, "{query}");
    }
    let leaf = json!({"leaf": foreign, "deviceId": "phone"});
    assert_eq!(post(&house, &format!("{chat}/leaf"), leaf).await.error(), nowhere);
    let edit = json!({"content": "x", "answer": true});
    assert_eq!(
        post(&house, &format!("/api/messages/{reply}/edit"), edit).await.error(),
        invalid("answer")
    );
    for route in ["regenerate", "prune", "restore", "test-input"] {
        let answer = post(&house, &format!("/api/messages/nothing/{route}"), json!({})).await;
        assert_eq!(answer.error(), error(404, "not_found", ""), "{route}");
    }
    assert_eq!(house.get(&format!("{chat}/tree")).await.good(), before);
}
