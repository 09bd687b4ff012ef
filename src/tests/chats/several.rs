//! Several personas answer one message: in turn, in parallel, with failures, stops and restarts.

use axum::http::Method;
use serde_json::{Value, json};

use super::{
    CHATS, begin, pair, parts, path, post, quiet, say, settle, spoken, text, until, words,
};
use crate::support::{House, error, on_both, request};

on_both!(
    in_turn_each_has_read_those_before_it_and_is_told_who_they_are,
    in_parallel_each_reads_the_message_only_and_they_stand_in_their_order,
    one_that_fails_leaves_the_others_and_can_be_asked_again,
    in_turn_a_failure_does_not_silence_those_who_come_after,
    a_stop_in_turn_lets_nobody_else_begin,
    whoever_was_still_to_answer_on_a_pruned_branch_waits_until_it_is_restored,
    answers_that_were_given_side_by_side_are_kept_in_order_after_a_restart,
    the_picture_of_an_answer_that_waits_comes_once_it_is_kept,
    the_picture_of_an_answer_that_waited_comes_after_a_restart,
    another_answer_is_of_the_same_persona_and_stands_beside_the_first,
    who_speaks_is_checked_and_what_is_refused_changes_nothing,
    the_map_and_the_list_name_all_who_speak,
    one_in_the_bin_is_passed_over_and_one_that_is_purged_is_gone,
    a_chat_goes_on_with_the_next_when_its_first_persona_is_removed_for_good,
    the_words_of_one_who_was_removed_for_good_are_nobody_elses,
    one_who_is_removed_for_good_while_answering_holds_up_nobody,
    one_who_was_removed_for_good_while_their_answer_waited_holds_up_no_restart,
);

fn names(page: &Value) -> Vec<Option<&str>> {
    page["items"].as_array().unwrap().iter().map(|item| item["personaName"].as_str()).collect()
}

async fn in_turn_each_has_read_those_before_it_and_is_told_who_they_are(house: House) {
    let house = house.playing(&parts(json!([{"text": "Yes."}]), json!([{"text": "No."}])));
    let chat = pair(&house, "in_turn").await;
    post(&house, &format!("{chat}/messages"), json!({"content": "Well?"})).await.good();
    let page = until(&house, &chat, |page| quiet(page) && words(page).len() == 3).await;
    assert_eq!(words(&page), ["Well?", "Yes.", "No."]);
    assert_eq!(names(&page), [None, Some("ann"), Some("ben")]);
    assert_eq!(page["items"][2]["parentId"], page["items"][1]["id"]);
    assert_eq!((&page["runs"], &page["line"]), (&json!([]), &json!([])));

    let prompt = format!("/api/messages/{}/prompt", text(&page["items"][2]["id"]));
    let sent = house.get(&prompt).await.good();
    let told = |message: &Value| (text(&message["role"]), text(&message["text"]));
    let heard: Vec<_> = sent["messages"].as_array().unwrap().iter().map(told).collect();
    let heard: Vec<(&str, &str)> =
        heard.iter().map(|(role, text)| (role.as_str(), text.as_str())).collect();
    assert_eq!(heard, [("user", "Well?"), ("user", "ann: Yes.")]);
    let sections = sent["sections"].as_array().unwrap();
    let others = sections.iter().find(|section| section["title"] == "Others").unwrap();
    assert!(text(&others["text"]).contains("- ann"), "{others}");

    // Each hears itself as itself, and the others by name.
    post(&house, &format!("{chat}/messages"), json!({"content": "And?"})).await.good();
    let page = until(&house, &chat, |page| quiet(page) && words(page).len() == 6).await;
    let prompt = format!("/api/messages/{}/prompt", text(&page["items"][4]["id"]));
    let sent = house.get(&prompt).await.good();
    let heard: Vec<String> =
        sent["messages"].as_array().unwrap().iter().map(|one| text(&one["text"])).collect();
    assert_eq!(heard, ["Well?", "Yes.", "ben: No.", "And?"]);
    assert_eq!(sent["messages"][1]["role"], "assistant");
    let markdown = house.get(&format!("{chat}/markdown")).await.text;
    assert!(markdown.contains("**ann**\n\nYes.") && markdown.contains("**ben**\n\nNo."));
    let estimate = house.get(&format!("{chat}/estimate?content=Hi")).await.good();
    assert!(estimate["inputTokens"].as_u64() > sent["tokens"].as_u64(), "both are counted");

    // A moment of theirs is tested with what they had heard, and from whom.
    let made = format!("/api/messages/{}/test-input", text(&page["items"][5]["id"]));
    let made = post(&house, &made, json!({})).await.good();
    assert_eq!(
        (&made["personaId"], &made["content"]),
        (&json!("ben"), &json!("And?\n\nann: Yes."))
    );
    let history = json!([
        {"role": "user", "content": "Well?"},
        {"role": "user", "content": "ann: Yes."},
        {"role": "assistant", "content": "No."},
    ]);
    assert_eq!(made["history"], history);
}

async fn in_parallel_each_reads_the_message_only_and_they_stand_in_their_order(house: House) {
    let script = parts(json!([{"text": "One "}, "stall"]), json!([{"text": "Two."}]));
    let house = house.playing(&script);
    let chat = pair(&house, "in_parallel").await;
    let kept = post(&house, &format!("{chat}/messages"), json!({"content": "Count"})).await.good();
    let runs = kept["runIds"].as_array().unwrap().clone();
    assert_eq!((runs.len(), &runs[0]), (2, &kept["runId"]));
    settle(&house, &json!({"runId": runs[1]})).await;
    spoken(&house, &kept["runIds"]).await;

    // The second is done, and waits for the first: nothing is kept before its place is sure.
    let page = path(&house, &chat, "").await;
    assert_eq!(words(&page), ["Count", "One ", "Two."]);
    let states: Vec<&Value> =
        page["runs"].as_array().unwrap().iter().map(|run| &run["status"]).collect();
    assert_eq!(states, ["running", "done"]);
    let tree = house.get(&format!("{chat}/tree")).await.good();
    assert_eq!(tree["items"].as_array().unwrap().len(), 1);
    let refused = post(&house, &format!("{chat}/messages"), json!({"content": "More"})).await;
    assert_eq!(refused.error(), error(409, "busy", ""));
    assert_eq!(refused.json()["error"]["runId"], runs[0]);
    let edit = format!("/api/messages/{}/edit", text(&kept["id"]));
    let refused = post(&house, &edit, json!({"content": "x", "answer": true})).await;
    assert_eq!(refused.error(), error(409, "busy", ""));
    let html = house.get(&chat.replace("/api", "")).await.text;
    assert!(html.contains(&format!("data-follow=\"{}\"", text(&runs[0]))), "one goes on");
    assert!(html.contains("turns beside"), "they stand side by side");

    post(&house, &format!("/api/runs/{}/stop", text(&runs[0])), json!({})).await.good();
    let page = path(&house, &chat, "").await;
    assert_eq!(
        (words(&page), names(&page)[1]),
        (vec!["Count".into(), "One ".into(), "Two.".into()], Some("ann"))
    );
    assert_eq!(page["items"][2]["parentId"], page["items"][1]["id"]);
    assert_eq!(page["leaf"], page["items"][2]["id"]);
    let prompt = format!("/api/messages/{}/prompt", text(&page["items"][2]["id"]));
    let sent = house.get(&prompt).await.good();
    assert_eq!(sent["messages"].as_array().unwrap().len(), 1, "it read the message only");
    // What is said next follows all of them.
    let next = post(&house, &format!("{chat}/messages"), json!({"content": "On"})).await.good();
    settle(&house, &json!({"runId": next["runIds"][1]})).await;
    assert_eq!(words(&path(&house, &chat, "").await)[..4], ["Count", "One ", "Two.", "On"]);
}

async fn one_that_fails_leaves_the_others_and_can_be_asked_again(house: House) {
    let broken = json!([{"error": {"fault": "auth", "message": "No key."}}]);
    let first = house.playing(&parts(broken, json!([{"text": "Two."}])));
    let chat = pair(&first, "in_parallel").await;
    let kept = post(&first, &format!("{chat}/messages"), json!({"content": "Count"})).await.good();
    let page = until(&first, &chat, |page| quiet(page) && words(page).len() == 2).await;
    assert_eq!(words(&page), ["Count", "Two."]);
    let failed = &page["runs"][0];
    assert_eq!((&failed["personaId"], &failed["status"]), (&json!("ann"), &json!("failed")));
    assert_eq!(failed["id"], kept["runId"]);
    let html = first.get(&chat.replace("/api", "")).await.text;
    assert!(html.contains("Retry"), "the failure is told where it happened");

    let house = house.playing(&parts(json!([{"text": "One."}]), json!([{"text": "Two."}])));
    let retry = format!("/api/runs/{}/retry", text(&failed["id"]));
    let again = post(&house, &retry, json!({})).await.good();
    settle(&house, &json!({"runId": again["id"]})).await;
    let page = path(&house, &chat, "").await;
    assert_eq!(words(&page), ["Count", "Two.", "One."]);
    assert_eq!(names(&page)[1..], [Some("ben"), Some("ann")]);
    let prompt = format!("/api/messages/{}/prompt", text(&page["items"][2]["id"]));
    let sent = house.get(&prompt).await.good();
    assert_eq!(sent["messages"].as_array().unwrap().len(), 1, "it was asked the same again");
}

async fn in_turn_a_failure_does_not_silence_those_who_come_after(house: House) {
    let broken = json!([{"error": {"fault": "auth", "message": "No key."}}]);
    let house = house.playing(&parts(broken, json!([{"text": "Here."}])));
    let chat = pair(&house, "in_turn").await;
    post(&house, &format!("{chat}/messages"), json!({"content": "Hello?"})).await.good();

    let page = until(&house, &chat, |page| quiet(page) && words(page).len() == 2).await;

    assert_eq!((words(&page)[1].as_str(), names(&page)[1]), ("Here.", Some("ben")));
    assert_eq!(page["runs"][0]["personaId"], "ann");
}

async fn a_stop_in_turn_lets_nobody_else_begin(house: House) {
    let script = parts(json!([{"text": "One "}, "stall"]), json!([{"text": "Two."}]));
    let house = house.playing(&script);
    let chat = pair(&house, "in_turn").await;
    let kept = post(&house, &format!("{chat}/messages"), json!({"content": "Count"})).await.good();
    spoken(&house, &kept["runIds"]).await;
    let page = path(&house, &chat, "").await;
    assert_eq!(page["line"][0]["personaIds"], json!(["ben"]));
    let html = house.get(&chat.replace("/api", "")).await.text;
    assert!(html.contains("Still to answer"), "it is told who comes next");

    post(&house, &format!("/api/runs/{}/stop", text(&kept["runId"])), json!({})).await.good();

    let page = path(&house, &chat, "").await;
    assert_eq!((words(&page), &page["line"]), (vec!["Count".into(), "One ".into()], &json!([])));
}

async fn whoever_was_still_to_answer_on_a_pruned_branch_waits_until_it_is_restored(house: House) {
    let (ann, ben) = (json!([{"text": "One "}, "stall"]), json!([{"text": "Two."}]));
    let gone = house.playing(&parts(ann.clone(), ben.clone()));
    let chat = pair(&gone, "in_turn").await;
    let kept = post(&gone, &format!("{chat}/messages"), json!({"content": "Count"})).await.good();
    spoken(&gone, &kept["runIds"]).await;
    let house = house.playing(&parts(ann, ben));
    house.state.agent.recover().await.unwrap();
    let waiting = path(&house, &chat, "").await["line"][0].clone();
    let item = format!("{chat}/queue/{}", text(&waiting["id"]));
    let marked = format!("/api/messages/{}", text(&kept["replyId"]));
    post(&house, &format!("{marked}/prune"), json!({})).await.good();

    house.call(Method::PATCH, &item, json!({"held": false})).await.good();

    let page = path(&house, &chat, "").await;
    let told = "That message is on a pruned branch. Restore the branch first.";
    assert_eq!((words(&page), &page["line"][0]["held"]), (vec!["Count".into()], &json!(told)));
    assert_eq!(page["line"][0]["personaIds"], json!(["ben"]));
    post(&house, &format!("{marked}/restore"), json!({})).await.good();
    house.call(Method::PATCH, &item, json!({"held": false})).await.good();
    let page = until(&house, &chat, |page| quiet(page) && words(page).len() == 3).await;
    assert_eq!(
        (words(&page), &page["line"]),
        (vec!["Count".into(), "One ".into(), "Two.".into()], &json!([]))
    );
}

async fn answers_that_were_given_side_by_side_are_kept_in_order_after_a_restart(house: House) {
    let stall = |words: &str| json!([{"text": words}, "stall"]);
    let gone = house.playing(&parts(stall("One "), stall("Two ")));
    let chat = pair(&gone, "in_parallel").await;
    let kept = post(&gone, &format!("{chat}/messages"), json!({"content": "Count"})).await.good();
    spoken(&gone, &kept["runIds"]).await;

    let next = house.playing(&json!({"answers": []}));
    assert_eq!(next.state.agent.recover().await.unwrap(), 2);

    let page = path(&next, &chat, "").await;
    assert_eq!(words(&page), ["Count", "One ", "Two "]);
    assert_eq!(names(&page)[1..], [Some("ann"), Some("ben")]);
    assert_eq!(page["items"][2]["parentId"], page["items"][1]["id"]);
}

/// Ann's answer does not come to its end, and Ben's waits for it.
async fn waiting(house: &House) -> (String, Vec<Value>) {
    let chat = pair(house, "in_parallel").await;
    let kept = post(house, &format!("{chat}/messages"), json!({"content": "Count"})).await.good();
    let runs = kept["runIds"].as_array().unwrap().clone();
    settle(house, &json!({"runId": runs[1]})).await;
    spoken(house, &kept["runIds"]).await;
    assert_eq!(house.state.jobs.work_off().await.unwrap(), 0, "there is nothing to draw yet");
    assert_eq!(pictures(house).await, [] as [Value; 0]);
    (chat, runs)
}

async fn pictures(house: &House) -> Vec<Value> {
    house.get("/api/pictures").await.good()["items"].as_array().unwrap().clone()
}

async fn the_picture_of_an_answer_that_waits_comes_once_it_is_kept(house: House) {
    let script = parts(json!([{"text": "One "}, "stall"]), json!([{"text": "Two lamps."}]));
    let house = house.playing(&script);
    let (chat, runs) = waiting(&house).await;

    post(&house, &format!("/api/runs/{}/stop", text(&runs[0])), json!({})).await.good();
    assert_eq!(house.state.jobs.work_off().await.unwrap(), 1);

    // Ann was stopped, and is no scene.
    let made = pictures(&house).await;
    assert_eq!((made.len(), &made[0]["state"]), (1, &json!("done")), "{made:?}");
    assert_eq!(made[0]["personaId"], "ben");
    assert_eq!(made[0]["messageId"], path(&house, &chat, "").await["items"][2]["id"]);
    assert!(text(&made[0]["prompt"]).contains("Two lamps."), "{made:?}");
}

async fn the_picture_of_an_answer_that_waited_comes_after_a_restart(house: House) {
    let script = parts(json!([{"text": "One "}, "stall"]), json!([{"text": "Two lamps."}]));
    let gone = house.playing(&script);
    waiting(&gone).await;

    let next = house.playing(&json!({"answers": []}));
    assert_eq!(next.state.agent.recover().await.unwrap(), 1);
    assert_eq!(next.state.jobs.work_off().await.unwrap(), 1);

    let made = pictures(&next).await;
    assert_eq!((&made[0]["personaId"], &made[0]["state"]), (&json!("ben"), &json!("done")));
}

async fn another_answer_is_of_the_same_persona_and_stands_beside_the_first(house: House) {
    let house = house.playing(&parts(json!([{"text": "Yes."}]), json!([{"text": "No."}])));
    let chat = pair(&house, "in_parallel").await;
    post(&house, &format!("{chat}/messages"), json!({"content": "Well?"})).await.good();
    let page = until(&house, &chat, |page| quiet(page) && words(page).len() == 3).await;

    let regenerate = format!("/api/messages/{}/regenerate", text(&page["items"][2]["id"]));
    let kept = post(&house, &regenerate, json!({})).await.good();
    settle(&house, &kept).await;

    let page = path(&house, &chat, "").await;
    assert_eq!(
        (words(&page), names(&page)[2]),
        (vec!["Well?".into(), "Yes.".into(), "No.".into()], Some("ben"))
    );
    assert_eq!(
        (&page["items"][2]["position"], &page["items"][2]["siblings"]),
        (&json!(2), &json!(2))
    );
    // Whoever does not speak there any more is not asked again.
    house.call(Method::PATCH, &chat, json!({"members": ["ann"]})).await.good();
    assert_eq!(post(&house, &regenerate, json!({})).await.error(), error(409, "not_now", ""));
    assert_eq!(names(&path(&house, &chat, "").await)[2], Some("ben"));
    // A moment of one of several is a test of that one.
    let made = format!("/api/messages/{}/test-input", text(&page["items"][2]["id"]));
    let made = post(&house, &made, json!({})).await.good();
    assert_eq!((&made["personaId"], &made["content"]), (&json!("ben"), &json!("Well?")));
}

async fn who_speaks_is_checked_and_what_is_refused_changes_nothing(house: House) {
    let chat = begin(&house, "optimist").await;
    house.persona("gone", "You are gone.").await;
    house.send(request(Method::DELETE, "/api/storage/personas/gone", None)).await.good();
    for at in 0..9 {
        house.persona(&format!("p{at}"), "x").await;
    }
    let nine: Vec<String> = (0..9).map(|at| format!("p{at}")).collect();
    let before = house.get(&chat).await.good();
    let invalid = error(422, "invalid", "members");
    for (members, expected) in [
        (json!(["optimist", "nobody"]), error(404, "not_found", "")),
        (json!(["optimist", "optimist"]), invalid.clone()),
        (json!([]), invalid.clone()),
        (json!(nine), invalid.clone()),
        (json!("optimist"), invalid.clone()),
        (json!(["optimist", "gone"]), error(409, "in_bin", "")),
    ] {
        let answer = house.call(Method::PATCH, &chat, json!({"members": members})).await;
        assert_eq!(answer.error(), expected, "{members}");
    }
    // How they look may be described meanwhile, in the background.
    let who = |chat: &Value| -> Vec<Value> {
        let members = chat["members"].as_array().unwrap().iter();
        members.map(|one| json!([one["personaId"], one["revision"]])).collect()
    };
    let after = house.get(&chat).await.good();
    assert_eq!((who(&after), &after["revision"]), (who(&before), &before["revision"]));
    let twice = post(&house, CHATS, json!({"personaIds": ["optimist", "optimist"]})).await;
    assert_eq!(twice.error(), invalid);

    // Who is there keeps their version; a new one comes as it is now.
    let persona = "/api/storage/personas/optimist";
    house.call(Method::PUT, persona, json!({"notes": "Newer."})).await.good();
    let members = json!({"members": ["skeptic", "optimist"]});
    let changed = house.call(Method::PATCH, &chat, members).await.good();
    let known = |at: usize| {
        (text(&changed["members"][at]["personaId"]), changed["members"][at]["revision"].clone())
    };
    assert_eq!([known(0), known(1)], [("skeptic".into(), json!(1)), ("optimist".into(), json!(1))]);
    assert_eq!(changed["personaId"], "skeptic");
    let listed = house.get(&format!("{CHATS}?personaId=optimist")).await.good();
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    // The same by a plain form, and undone like every change.
    let revision = changed["revision"].to_string();
    let id = chat.rsplit('/').next().unwrap();
    let fields =
        [("id", id), ("revision", revision.as_str()), ("personas[0]", "optimist"), ("add", "ann")];
    house.persona("ann", "You are Ann.").await;
    assert_eq!(house.form("/fn/set_speakers", "/chats", &fields).await.status, 302);
    let now = house.get(&chat).await.good();
    let ids: Vec<&Value> =
        now["members"].as_array().unwrap().iter().map(|member| &member["personaId"]).collect();
    assert_eq!(ids, ["optimist", "ann"]);
}

async fn the_map_and_the_list_name_all_who_speak(house: House) {
    let house = house.playing(&parts(json!([{"text": "Yes."}]), json!([{"text": "No."}])));
    let chat = pair(&house, "in_turn").await;
    post(&house, &format!("{chat}/messages"), json!({"content": "Well?"})).await.good();
    let page = until(&house, &chat, |page| quiet(page) && words(page).len() == 3).await;
    let map = format!("{}?map=1", chat.replace("/api/", "/"));
    let seen = async |path: &str| house.get(path).await.text.replace("<!>", "");

    let found = seen(&format!("{map}&find=No.")).await;
    assert!(found.contains(" ben</span>"), "{found}");
    let chosen = seen(&format!("{map}&at={}", text(&page["items"][1]["id"]))).await;
    let card = chosen.split("id=\"map-chosen\"").nth(1).unwrap_or_default();
    assert!(card.split("</p>").next().unwrap().contains("<strong>ann</strong>"), "{chosen}");
    assert!(chosen.contains("aria-label=\"ben: No.\""), "{chosen}");
    assert!(!chosen.contains("Persona: "), "{chosen}");
    let listed = house.get(CHATS).await.good();
    assert_eq!(listed["items"][0]["personaNames"], json!(["ann", "ben"]));
    for list in ["/chats", "/chats?q=Well"] {
        assert!(seen(list).await.contains("ann and ben · Roleplay"), "{list}");
    }
}

async fn one_in_the_bin_is_passed_over_and_one_that_is_purged_is_gone(house: House) {
    let house = house.playing(&parts(json!([{"text": "Yes."}]), json!([{"text": "No."}])));
    let chat = pair(&house, "in_turn").await;
    house.send(request(Method::DELETE, "/api/storage/personas/ben", None)).await.good();
    let (_, reply) = say(&house, &chat, json!({"content": "Well?"})).await;
    let page = until(&house, &chat, quiet).await;
    assert_eq!((words(&page).len(), &page["items"][1]["id"]), (2, &json!(reply)));

    house.send(request(Method::DELETE, "/api/storage/bin/persona/ben", None)).await.good();
    let renamed = house.call(Method::PATCH, &chat, json!({"title": "Alone"})).await.good();
    assert_eq!(renamed["members"].as_array().unwrap().len(), 1);
    say(&house, &chat, json!({"content": "And now?"})).await;
    assert_eq!(words(&until(&house, &chat, quiet).await).len(), 4);
}

async fn a_chat_goes_on_with_the_next_when_its_first_persona_is_removed_for_good(house: House) {
    let house = house.playing(&parts(json!([{"text": "Yes."}]), json!([{"text": "No."}])));
    let chat = pair(&house, "in_turn").await;
    let alone = begin(&house, "ann").await;
    post(&house, &format!("{chat}/messages"), json!({"content": "Marzipan?"})).await.good();
    until(&house, &chat, |page| quiet(page) && words(page).len() == 3).await;

    house.send(request(Method::DELETE, "/api/storage/personas/ann", None)).await.good();
    let bin = house.get("/api/storage/bin").await.good();
    assert_eq!(bin["items"][0]["chats"], 1, "the one in which she speaks alone: {bin}");
    house.send(request(Method::DELETE, "/api/storage/bin/persona/ann", None)).await.good();

    assert_eq!(house.get(&alone).await.status, 404);
    let kept = house.get(&chat).await.good();
    assert_eq!((&kept["personaId"], &kept["members"][0]["name"]), (&json!("ben"), &json!("ben")));
    assert_eq!(kept["members"].as_array().unwrap().len(), 1);
    let listed = house.get(&format!("{CHATS}?personaId=ben")).await.good();
    assert_eq!(listed["items"][0]["personaName"], "ben");
    let found = house.get("/api/search?q=marzipan&kind=chat").await.good();
    assert_eq!(found["items"].as_array().unwrap().len(), 1);
    say(&house, &chat, json!({"content": "And now?"})).await;
    let page = until(&house, &chat, quiet).await;
    assert_eq!(words(&page), ["Marzipan?", "Yes.", "No.", "And now?", "No."]);
    // It is changed as any other, and goes with the one that is left.
    let renamed = house.call(Method::PATCH, &chat, json!({"title": "Alone"})).await.good();
    assert_eq!(renamed["title"], "Alone");
    house.send(request(Method::DELETE, "/api/storage/personas/ben", None)).await.good();
    house.send(request(Method::DELETE, "/api/storage/bin/persona/ben", None)).await.good();
    assert_eq!(house.get(&chat).await.status, 404);
}

async fn the_words_of_one_who_was_removed_for_good_are_nobody_elses(house: House) {
    let house = house.playing(&parts(json!([{"text": "Yes."}]), json!([{"text": "No."}])));
    let chat = pair(&house, "in_turn").await;
    post(&house, &format!("{chat}/messages"), json!({"content": "Well?"})).await.good();
    until(&house, &chat, |page| quiet(page) && words(page).len() == 3).await;
    house.send(request(Method::DELETE, "/api/storage/personas/ben", None)).await.good();
    house.send(request(Method::DELETE, "/api/storage/bin/persona/ben", None)).await.good();

    say(&house, &chat, json!({"content": "And now?"})).await;

    let page = until(&house, &chat, quiet).await;
    let gone = "Somebody who is gone";
    assert_eq!(names(&page), [None, Some("ann"), Some(gone), None, Some("ann")]);
    let prompt = format!("/api/messages/{}/prompt", text(&page["items"][4]["id"]));
    let sent = house.get(&prompt).await.good();
    let heard: Vec<String> =
        sent["messages"].as_array().unwrap().iter().map(|one| text(&one["text"])).collect();
    assert_eq!(heard, ["Well?", "Yes.", "Somebody who is gone: No.", "And now?"]);
    let shown = house.get(&chat.replace("/api", "")).await.text.replace("<!>", "");
    assert!(shown.contains(&format!("<strong>{gone}</strong>")), "{shown}");
    let markdown = house.get(&format!("{chat}/markdown")).await.text;
    assert!(markdown.contains(&format!("**{gone}**\n\nNo.")), "{markdown}");
}

async fn remove_for_good(house: &House, persona: &str) {
    let (live, binned) = ("/api/storage/personas", "/api/storage/bin/persona");
    house.send(request(Method::DELETE, &format!("{live}/{persona}"), None)).await.good();
    house.send(request(Method::DELETE, &format!("{binned}/{persona}"), None)).await.good();
}

async fn one_who_is_removed_for_good_while_answering_holds_up_nobody(house: House) {
    let script = parts(json!([{"text": "One "}, "stall"]), json!([{"text": "Two lamps."}]));
    let house = house.playing(&script);
    let (chat, runs) = waiting(&house).await;

    remove_for_good(&house, "ben").await;
    post(&house, &format!("/api/runs/{}/stop", text(&runs[0])), json!({})).await.good();

    let page = until(&house, &chat, |page| quiet(page) && words(page).len() == 3).await;
    assert_eq!(words(&page), ["Count", "One ", "Two lamps."]);
    assert_eq!(
        pictures(&house).await,
        [] as [Value; 0],
        "nobody is left whose picture it could be"
    );
    // What was sent is still told, as far as it is known.
    let prompt = format!("/api/messages/{}/prompt", text(&page["items"][2]["id"]));
    let sent = house.get(&prompt).await.good();
    assert_eq!(sent["messages"][0]["text"], "Count");
    assert!(text(&sent["sections"][0]["text"]).contains("removed for good"), "{sent}");
}

async fn one_who_was_removed_for_good_while_their_answer_waited_holds_up_no_restart(house: House) {
    let script = parts(json!([{"text": "One "}, "stall"]), json!([{"text": "Two lamps."}]));
    let gone = house.playing(&script);
    let (chat, _) = waiting(&gone).await;
    remove_for_good(&gone, "ben").await;

    let next = house.playing(&json!({"answers": []}));
    assert_eq!(next.state.agent.recover().await.unwrap(), 1);

    let page = path(&next, &chat, "").await;
    assert_eq!(words(&page), ["Count", "One ", "Two lamps."]);
    assert_eq!(pictures(&next).await, [] as [Value; 0]);
}
