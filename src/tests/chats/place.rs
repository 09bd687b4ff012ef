//! Going to one message of a long chat, wherever it stands.

use axum::{
    body::Body,
    http::{Method, Request, header},
};
use greenroom::domain::account::Role;
use serde_json::{Value, json};

use super::{answers, begin, branches::long_chat, path, post, say, settle, spoken, text, words};
use crate::support::{ADDRESS, House, error, on_both};

on_both!(
    a_message_far_above_is_shown_with_what_stands_around_it,
    a_message_leads_to_its_branch_and_one_on_the_way_changes_none,
    the_map_leads_to_the_message_itself,
    far_above_an_answer_that_is_being_given_what_is_said_still_follows_it,
    a_message_that_is_nowhere_hides_nothing,
    of_a_stale_leaf_only_a_pruned_branch_is_left,
    looking_again_keeps_ones_place_and_leads_to_no_other,
    a_viewer_goes_to_any_branch_and_takes_nobody_along,
);

/// The messages of a chat, the oldest first.
async fn ids(house: &House, chat: &str) -> Vec<String> {
    let tree = house.get(&format!("{chat}/tree")).await.good();
    tree["items"].as_array().unwrap().iter().map(|node| text(&node["id"])).collect()
}

fn message(at: usize) -> String {
    format!("Message number {at}.")
}

/// A page as one browser sees it again and again.
async fn seen(house: &House, path: &str) -> String {
    let path = path.split('#').next().unwrap();
    let request = Request::builder().uri(path).header(header::HOST, ADDRESS);
    let request = request.header(header::COOKIE, "device=laptop").body(Body::empty()).unwrap();
    house.send(request).await.text.replace("<!>", "")
}

/// What the form leads to that goes to a message, in the same browser.
async fn go(house: &House, chat: &str, id: &str, show: bool) -> String {
    let chat_id = chat.rsplit('/').next().unwrap();
    let show = show.to_string();
    let body = format!("chat={chat_id}&id={id}&show={show}");
    let request = Request::builder().method(Method::POST).uri("/fn/go_to_message");
    let request = request
        .header(header::HOST, ADDRESS)
        .header(header::COOKIE, "device=laptop")
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .header(header::ACCEPT, "text/html")
        .header(header::REFERER, format!("http://{ADDRESS}/"))
        .body(Body::from(body))
        .unwrap();
    let answer = house.send(request).await;
    assert_eq!(answer.status, 302, "{}", answer.text);
    answer.header("location").to_owned()
}

async fn a_message_far_above_is_shown_with_what_stands_around_it(house: House) {
    let chat = long_chat(&house, 300).await;
    let ids = ids(&house, &chat).await;
    let said = |page: &Value| -> (String, String, usize) {
        let words = words(page);
        (words[0].clone(), words[words.len() - 1].clone(), words.len())
    };

    let far = path(&house, &chat, &format!("around={}", ids[100])).await;
    assert_eq!(said(&far), (message(76), message(125), 50));
    assert_eq!((&far["next"], &far["later"]), (&json!(ids[76]), &json!(ids[125])));
    assert_eq!(far["leaf"], json!(ids[299]), "it is the same path");
    // One goes on downwards, until the end is there.
    let later = path(&house, &chat, &format!("around={}", ids[125])).await;
    assert_eq!(said(&later), (message(101), message(150), 50));
    for near in [250, 299] {
        let end = path(&house, &chat, &format!("around={}", ids[near])).await;
        assert_eq!((said(&end), &end["later"]), ((message(250), message(299), 50), &Value::Null));
    }
    let edge = path(&house, &chat, &format!("around={}", ids[249])).await;
    assert_eq!(said(&edge), (message(225), message(274), 50));
    let first = path(&house, &chat, &format!("around={}&limit=10", ids[0])).await;
    assert_eq!((said(&first), &first["next"]), ((message(0), message(5), 6), &Value::Null));
    // What is above the end leads back to it.
    let above = path(&house, &chat, &format!("before={}", ids[250])).await;
    assert_eq!(above["later"], json!(ids[250]));
}

async fn a_message_leads_to_its_branch_and_one_on_the_way_changes_none(house: House) {
    let house = house.playing(&answers(9));
    let chat = begin(&house, "optimist").await;
    let (one, left) = say(&house, &chat, json!({"content": "One"})).await;
    let (two, _) = say(&house, &chat, json!({"content": "Two"})).await;
    let kept = post(&house, &format!("/api/messages/{left}/regenerate"), json!({})).await.good();
    settle(&house, &kept).await;
    let page = chat.replace("/api/", "/");

    assert_eq!(go(&house, &chat, &two, false).await, page);
    assert!(seen(&house, &page).await.contains("Answer 2."));
    // What both branches have in common is on this one, too.
    assert_eq!(go(&house, &chat, &one, false).await, page);
    assert!(seen(&house, &page).await.contains("Answer 2."), "the branch stays");
    let about = format!("around={one}&leaf={two}");
    assert_eq!(words(&path(&house, &chat, &about).await)[1], "Answer 1.");
    let about = format!("around={}&leaf={two}", text(&kept["replyId"]));
    assert_eq!(words(&path(&house, &chat, &about).await), ["One", "Answer 3."]);
}

async fn the_map_leads_to_the_message_itself(house: House) {
    let chat = long_chat(&house, 200).await;
    let ids = ids(&house, &chat).await;
    let (page, far, near) = (chat.replace("/api/", "/"), &ids[20], &ids[190]);
    let map = seen(&house, &format!("{page}?map=1&at={far}")).await;
    assert!(map.contains("name=\"show\" value=\"true\""), "{map}");

    for id in [far, near] {
        let to = go(&house, &chat, id, true).await;
        assert_eq!(to, format!("{page}?see={id}#turn-{id}"));
        let shown = seen(&house, &to).await;
        let turn = shown.split(&format!("id=\"turn-{id}\"")).nth(1).unwrap();
        assert!(turn.split('>').next().unwrap().contains("seen"), "{id}");
    }
    let shown = seen(&house, &format!("{page}?see={far}")).await;
    for expected in [&message(20), &message(45), "Later messages", "The newest messages"] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
    assert!(shown.contains(" seen\""), "{shown}");
    let again = seen(&house, &format!("{page}?see={far}&stay={}", ids[199])).await;
    assert!(again.contains(&message(20)) && !again.contains(" seen\""), "{again}");
    assert!(!shown.contains(&message(46)) && shown.contains(&format!("?see={}#", ids[45])));
    assert!(shown.contains(&format!("data-leaf=\"{}\"", ids[199])), "what is said follows the end");
    // Where the end of a branch does not show it, a message is brought into sight in any case.
    assert_eq!(go(&house, &chat, near, false).await, page);
    assert_eq!(go(&house, &chat, far, false).await, format!("{page}?see={far}#turn-{far}"));
    assert!(!seen(&house, &page).await.contains("Later messages"));
}

async fn far_above_an_answer_that_is_being_given_what_is_said_still_follows_it(house: House) {
    let house = house.playing(&json!({"answers": [[{"text": "Half "}, "stall"]]}));
    let chat = long_chat(&house, 120).await;
    let first = ids(&house, &chat).await[0].clone();
    let kept = post(&house, &format!("{chat}/messages"), json!({"content": "Well?"})).await.good();
    spoken(&house, &json!([kept["runId"]])).await;

    let page = chat.replace("/api/", "/");
    let shown = seen(&house, &format!("{page}?see={first}")).await;

    assert!(!shown.contains("<p>Half") && !shown.contains("data-follow"), "{shown}");
    assert!(shown.contains(&format!("data-reply=\"{}\"", text(&kept["replyId"]))), "{shown}");
    // What is being written is seen where it is.
    let reply = text(&kept["replyId"]);
    let shown = seen(&house, &format!("{page}?see={reply}")).await;
    assert!(shown.contains("<p>Half") && shown.contains("data-follow"), "{shown}");
    assert_eq!(go(&house, &chat, &reply, false).await, page);
}

async fn a_message_that_is_nowhere_hides_nothing(house: House) {
    let chat = long_chat(&house, 4).await;
    let elsewhere = long_chat(&house, 2).await;
    let foreign = ids(&house, &elsewhere).await[0].clone();
    let own = ids(&house, &chat).await;
    for id in ["nothing", foreign.as_str()] {
        let answer = house.get(&format!("{chat}/messages?around={id}")).await;
        assert_eq!(answer.error(), error(404, "not_found", ""), "{id}");
        let shown = seen(&house, &format!("{}?see={id}", chat.replace("/api/", "/"))).await;
        assert!(shown.contains("That message is not in this chat") && shown.contains(&message(3)));
    }
    post(&house, &format!("/api/messages/{}/prune", own[2]), json!({})).await.good();
    let shown = seen(&house, &format!("{}?see={}", chat.replace("/api/", "/"), own[3])).await;
    assert!(shown.contains("That branch is pruned") && shown.contains(&message(1)), "{shown}");
}

#[tokio::test]
async fn a_path_as_long_as_a_file_may_be_is_gone_to_pruned_and_brought_back() {
    const LONG: usize = 25_000;
    let house = House::new().await.playing(&answers(2));
    let chat = long_chat(&house, LONG).await;
    let first = path(&house, &chat, "limit=1").await;
    let leaf = text(&first["leaf"]);
    let tree = house.get(&format!("{chat}/tree?limit=3")).await.good();
    let top: Vec<String> =
        tree["items"].as_array().unwrap().iter().map(|node| text(&node["id"])).collect();

    // From the beginning to the end, and from the end to the beginning.
    let target = json!({"leaf": top[0], "deviceId": "laptop"});
    let gone = post(&house, &format!("{chat}/leaf"), target).await.good();
    assert_eq!(gone["leaf"], json!(leaf));
    let around = path(&house, &chat, &format!("around={}", top[1])).await;
    assert_eq!((words(&around)[0].clone(), &around["leaf"]), (message(0), &json!(leaf)));
    // A stale leaf far below a branch that is pruned is moved, and comes back with it.
    post(&house, &format!("/api/messages/{}/prune", top[1]), json!({})).await.good();
    let moved = path(&house, &chat, "deviceId=laptop").await;
    assert_eq!((words(&moved), &moved["moved"]), (vec![message(0)], &json!(true)));
    let refused = post(&house, &format!("{chat}/leaf"), json!({"leaf": leaf})).await;
    assert_eq!(refused.status, 409);
    let back = post(&house, &format!("/api/messages/{}/restore", top[1]), json!({})).await.good();
    assert_eq!(back["leaf"], json!(leaf));
    let again = path(&house, &chat, "deviceId=laptop&limit=1").await;
    assert_eq!((words(&again), &again["moved"]), (vec![message(LONG - 1)], &json!(false)));
}

async fn of_a_stale_leaf_only_a_pruned_branch_is_left(house: House) {
    let house = house.playing(&answers(9));
    let chat = begin(&house, "optimist").await;
    let (_, first) = say(&house, &chat, json!({"content": "One"})).await;
    let (two, left) = say(&house, &chat, json!({"content": "Two"})).await;
    let edit = json!({"content": "Zwei", "answer": true});
    let kept = post(&house, &format!("/api/messages/{two}/edit"), edit).await.good();
    settle(&house, &kept).await;
    let kept = post(&house, &format!("/api/messages/{first}/regenerate"), json!({})).await.good();
    settle(&house, &kept).await;
    let other = text(&kept["replyId"]);
    let shows = async |leaf: &str| {
        let page = path(&house, &chat, &format!("leaf={leaf}")).await;
        (text(&page["leaf"]), page["moved"] == true)
    };

    // Something is pruned elsewhere, and nothing moves.
    post(&house, &format!("/api/messages/{other}/prune"), json!({})).await.good();
    assert_eq!(shows(&left).await, (left.clone(), false));
    // What is pruned is left for where the chat ends.
    post(&house, &format!("/api/messages/{two}/prune"), json!({})).await.good();
    let end = text(&path(&house, &chat, "").await["leaf"]);
    assert_eq!(shows(&left).await, (end.clone(), true));
    assert_eq!(shows(&two).await, (end.clone(), true));
    assert_eq!(shows(&other).await, (end.clone(), true));
    assert_eq!(shows(&end).await, (end.clone(), false));
}

async fn looking_again_keeps_ones_place_and_leads_to_no_other(house: House) {
    let house = house.playing(&answers(3));
    let chat = begin(&house, "optimist").await;
    let page = chat.replace("/api/", "/");
    let (said, first) = say(&house, &chat, json!({"content": "One", "deviceId": "laptop"})).await;
    let again = async |message: &str| {
        let kept = post(&house, &format!("/api/messages/{message}/regenerate"), json!({})).await;
        settle(&house, &kept.good()).await;
        text(&kept.json()["replyId"])
    };

    // The answer has ended where this browser is, and is looked at there.
    assert!(seen(&house, &format!("{page}?stay={said}")).await.contains("Answer 1."));
    let second = again(&first).await;
    assert!(seen(&house, &page).await.contains("Answer 1."), "another device made the second");

    // One tab is shown the second, while another one of this browser is at the first.
    let stayed = seen(&house, &format!("{page}?stay={second}")).await;
    assert!(stayed.contains("Answer 2.") && !stayed.contains("Answer 1."), "{stayed}");
    assert!(seen(&house, &page).await.contains("Answer 1."));
}

async fn a_viewer_goes_to_any_branch_and_takes_nobody_along(house: House) {
    let house = house.playing(&answers(2));
    let chat = begin(&house, "optimist").await;
    let (_, first) = say(&house, &chat, json!({"content": "One"})).await;
    let kept = post(&house, &format!("/api/messages/{first}/regenerate"), json!({})).await.good();
    settle(&house, &kept).await;
    let second = text(&kept["replyId"]);
    let house = house.with_accounts(&[("ann", Role::Owner), ("eve", Role::Viewer)]).await;
    let (ann, eve) = (house.signed_in("ann").await, house.signed_in("eve").await);
    let at = async |who: &House| {
        let page = path(who, &chat, "deviceId=phone").await;
        text(&page["items"][1]["id"])
    };

    let body = json!({"leaf": first, "deviceId": "phone"});
    let went = post(&eve, &format!("{chat}/leaf"), body).await.good();

    assert_eq!(went, json!({"leaf": first}));
    assert_eq!((at(&eve).await, at(&ann).await), (first.clone(), second));
    let page = chat.replace("/api/", "/");
    let fields = [("chat", page.trim_start_matches("/chats/")), ("id", first.as_str())];
    assert_eq!(eve.form("/fn/go_to_message", &page, &fields).await.header("location"), page);
    let said = post(&eve, &format!("{chat}/messages"), json!({"content": "Mine"})).await;
    assert_eq!(said.status, 403);
}
