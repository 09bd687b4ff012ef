//! The last turns, said again to a persona that moved on, beside the old ones.

use axum::http::Method;
use greenroom::domain::line::{Next, NextItem};
use serde_json::{Value, json};

use super::{answers, begin, pair, parts, path, post, quiet, say, text, until, words};
use crate::support::{House, error, on_both};

on_both!(
    the_last_turns_are_said_again_beside_the_old_ones,
    several_answer_each_turn_that_is_said_again,
    turns_below_a_pruned_message_are_said_again_once_it_is_restored,
    what_cannot_be_said_again_is_told_before_anything_changes,
);

async fn the_last_turns_are_said_again_beside_the_old_ones(house: House) {
    let house = house.playing(&answers(20));
    let chat = begin(&house, "optimist").await;
    for said in ["One", "Two", "Three"] {
        say(&house, &chat, json!({"content": said, "deviceId": "phone"})).await;
    }
    let old = path(&house, &chat, "").await;
    let persona = "/api/storage/personas/optimist";
    house.call(Method::PUT, persona, json!({"notes": "Newer."})).await.good();
    let html = house.get(&chat.replace("/api", "")).await.text;
    assert!(html.contains("Say the last 2 turns again"), "the bar offers it");

    let wish = json!({"replay": 2, "deviceId": "phone"});
    let updated = post(&house, &format!("{chat}/update-persona"), wish).await.good();
    assert_eq!(updated["personaRevision"], 2);
    let page = until(&house, &chat, |page| quiet(page) && words(page).len() == 6).await;
    let new = until(&house, &chat, |page| page["line"][0]["kind"] == "replayed").await;
    assert_eq!(words(&page), ["One", "Answer 1.", "Two", "Answer 4.", "Three", "Answer 5."]);
    let revisions: Vec<&Value> =
        page["items"].as_array().unwrap().iter().map(|item| &item["personaRevision"]).collect();
    assert_eq!(revisions[3..], [&json!(2), &Value::Null, &json!(2)]);
    assert_eq!(page["items"][2]["position"], 2);
    assert_eq!(words(&path(&house, &chat, "deviceId=phone").await), words(&page));

    // The old branch is as it was.
    let before = path(&house, &chat, &format!("leaf={}", text(&old["leaf"]))).await;
    assert_eq!(words(&before), words(&old));
    // Both can be compared, until that is dismissed.
    let (from, with) = (text(&old["leaf"]), text(&page["leaf"]));
    let item = &new["line"][0];
    assert_eq!((&item["old"], &item["new"]), (&json!(from), &json!(with)));
    let html = house.get(&chat.replace("/api", "")).await.text;
    assert!(html.contains(&format!("?compare={from}&amp;with={with}")), "{html}");
    let id = chat.rsplit('/').next().unwrap();
    let fields = [("chat", id), ("id", item["id"].as_str().unwrap())];
    house.function("drop_next", &fields).await.good();
    assert_eq!(path(&house, &chat, "").await["line"], json!([]));
}

async fn several_answer_each_turn_that_is_said_again(house: House) {
    let house = house.playing(&parts(json!([{"text": "Yes."}]), json!([{"text": "No."}])));
    let chat = pair(&house, "in_turn").await;
    for (at, said) in [(3, "One"), (6, "Two")] {
        post(&house, &format!("{chat}/messages"), json!({"content": said})).await.good();
        until(&house, &chat, |page| quiet(page) && words(page).len() == at).await;
    }

    post(&house, &format!("{chat}/update-persona"), json!({"replay": 2})).await.good();

    let page = until(&house, &chat, |page| page["line"][0]["kind"] == "replayed").await;
    assert_eq!(words(&page), ["One", "Yes.", "No.", "Two", "Yes.", "No."]);
    assert_eq!(page["items"][0]["position"], 2);
    let tree = house.get(&format!("{chat}/tree")).await.good();
    assert_eq!(tree["items"].as_array().unwrap().len(), 12);
}

async fn turns_below_a_pruned_message_are_said_again_once_it_is_restored(house: House) {
    let house = house.playing(&answers(9));
    let chat = begin(&house, "optimist").await;
    let (_, first) = say(&house, &chat, json!({"content": "One"})).await;
    let (two, old) = say(&house, &chat, json!({"content": "Two"})).await;
    let scope = house.state.scope.clone();
    let mut link = house.state.store.write(&scope.space).await.unwrap();
    let message_ids = vec![two.as_str().into()];
    let item = NextItem {
        id: "item".into(),
        what: Next::Replay { message_ids, begun: None, old: old.as_str().into() },
        held: Some("The answer before it failed.".into()),
        created_at: greenroom::domain::timestamp::Timestamp(1),
        user: scope.user,
    };
    link.put_next(&chat.rsplit('/').next().unwrap().into(), &item).await.unwrap();
    link.commit().await.unwrap();
    post(&house, &format!("/api/messages/{first}/prune"), json!({})).await.good();
    let item = format!("{chat}/queue/item");

    house.call(Method::PATCH, &item, json!({"held": false})).await.good();

    let page = path(&house, &chat, "").await;
    let told = "That message is on a pruned branch. Restore the branch first.";
    assert_eq!((words(&page), &page["line"][0]["held"]), (vec!["One".into()], &json!(told)));
    post(&house, &format!("/api/messages/{first}/restore"), json!({})).await.good();
    house.call(Method::PATCH, &item, json!({"held": false})).await.good();
    let page = until(&house, &chat, |page| page["line"][0]["kind"] == "replayed").await;
    assert_eq!(words(&page), ["One", "Answer 1.", "Two", "Answer 3."]);
    assert_eq!(page["items"][2]["position"], 2);
}

async fn what_cannot_be_said_again_is_told_before_anything_changes(house: House) {
    let script = json!({"answers": [[{"text": "Whole."}], [{"text": "Half "}, "stall"]]});
    let house = house.playing(&script);
    let chat = begin(&house, "optimist").await;
    let persona = "/api/storage/personas/optimist";
    house.call(Method::PUT, persona, json!({"notes": "Newer."})).await.good();
    let update = format!("{chat}/update-persona");
    let unsaid = post(&house, &update, json!({"replay": 1})).await;
    assert_eq!(unsaid.error(), error(409, "not_now", ""));
    say(&house, &chat, json!({"content": "One"})).await;
    for (wish, expected) in [
        (json!({"replay": 0}), error(422, "invalid", "replay")),
        (json!({"replay": 6}), error(422, "invalid", "replay")),
        (json!({"replay": 1, "deviceId": "a b"}), error(422, "invalid", "deviceId")),
        (json!({"replays": 1}), error(422, "invalid", "replays")),
    ] {
        assert_eq!(post(&house, &update, wish.clone()).await.error(), expected, "{wish}");
    }
    post(&house, &format!("{chat}/messages"), json!({"content": "Two"})).await.good();
    let busy = post(&house, &update, json!({"replay": 1})).await;
    assert_eq!(busy.error(), error(409, "busy", ""));
    assert_eq!(house.get(&chat).await.good()["personaRevision"], 1, "nothing was updated");
}
