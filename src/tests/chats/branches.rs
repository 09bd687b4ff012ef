//! Branches beside each other, the map of all of them, and stories paragraph by paragraph.

use axum::http::Method;
use greenroom::{
    agent::ChatEdit,
    domain::{
        error::ApiError,
        id::{ConversationId, MessageId},
    },
};
use serde_json::{Value, json};

use super::{CHATS, answers, begin, path, post, say, settle, spoken, text, words};
use crate::support::{House, error, on_both};

on_both!(
    two_branches_are_compared_from_where_they_part,
    branches_that_cannot_be_compared_are_told,
    a_branch_that_is_being_written_is_compared_as_far_as_it_is_there,
    everybody_is_named_where_branches_with_several_personas_are_compared,
    long_branches_are_compared_in_pages,
    a_large_chat_is_mapped_in_parts_and_searched_as_a_whole,
    one_paragraph_is_put_in_other_words_beside_the_message,
    a_long_answer_from_a_file_is_put_in_other_words,
);

fn id(chat: &str) -> ConversationId {
    ConversationId::new(chat.trim_start_matches("/api/chats/"))
}

/// A chat whose messages stand in a row, from a file.
pub async fn long_chat(house: &House, count: usize) -> String {
    let message = |at: usize| {
        json!({
            "id": format!("m{at}"),
            "parentId": at.checked_sub(1).map(|before| format!("m{before}")),
            "role": if at.is_multiple_of(2) { "user" } else { "assistant" },
            "content": format!("Message number {at}."),
        })
    };
    let messages: Vec<Value> = (0..count).map(message).collect();
    let file = json!({"format": "greenroom-chat", "personaId": "optimist", "messages": messages});
    let made = post(house, &format!("{CHATS}/import"), file).await.good();
    format!("{CHATS}/{}", text(&made["id"]))
}

async fn two_branches_are_compared_from_where_they_part(house: House) {
    let house = house.playing(&answers(9));
    let chat = begin(&house, "optimist").await;
    let (_, reply) = say(&house, &chat, json!({"content": "One"})).await;
    let (two, left) = say(&house, &chat, json!({"content": "Two"})).await;
    let kept = post(&house, &format!("/api/messages/{left}/regenerate"), json!({})).await.good();
    settle(&house, &kept).await;
    let right = text(&kept["replyId"]);
    let desk = house.desk();
    let compare = async |one: &str, other: &str| {
        let (one, other) = (one.into(), other.into());
        desk.agent.compare_branches(&desk.scope, &id(&chat), &one, &other, 0).await.unwrap()
    };

    let compared = compare(&left, &right).await;
    assert_eq!((compared.common, compared.left.length, compared.right.length), (3, 1, 1));
    let shared: Vec<String> = compared.shared.iter().map(|one| one.text()).collect();
    assert_eq!(shared, ["One", "Answer 1.", "Two"]);
    assert!(compared.rows[0].comparable, "both answer the same");
    let said = |row: &greenroom::domain::compare::ComparedRow| {
        let words = |one: &Option<greenroom::domain::message::Message>| {
            one.as_ref().map(|one| one.text()).unwrap_or_default()
        };
        (words(&row.left), words(&row.right))
    };
    assert_eq!(said(&compared.rows[0]), ("Answer 2.".into(), "Answer 3.".into()));

    // Any message stands for the newest branch below it, and one branch may go on where another ends.
    let other = json!({"content": "Eins", "answer": true});
    let edited = post(&house, &format!("/api/messages/{two}/edit"), other).await.good();
    settle(&house, &edited).await;
    let compared = compare(&left, &text(&edited["id"])).await;
    assert_eq!((compared.common, compared.right.length), (2, 2));
    assert_eq!(compared.right.leaf.as_str(), text(&edited["replyId"]));
    let same = compare(&reply, &text(&edited["replyId"])).await;
    assert_eq!((same.left.length, same.right.length, same.rows.len()), (0, 0, 0));
}

async fn branches_that_cannot_be_compared_are_told(house: House) {
    let house = house.playing(&answers(9));
    let chat = begin(&house, "optimist").await;
    let (first, reply) = say(&house, &chat, json!({"content": "One"})).await;
    let elsewhere = begin(&house, "optimist").await;
    let (foreign, _) = say(&house, &elsewhere, json!({"content": "Other"})).await;
    let desk = house.desk();
    let compare = async |one: &str, other: &str| {
        let (one, other) = (one.into(), other.into());
        desk.agent.compare_branches(&desk.scope, &id(&chat), &one, &other, 0).await.unwrap_err()
    };

    for (one, other) in [(&foreign, &reply), (&reply, &foreign), (&reply, &"nothing".into())] {
        let told = compare(one.as_str(), other.as_str()).await;
        assert!(matches!(told, ApiError::NotFound { .. }), "{told}");
    }
    post(&house, &format!("/api/messages/{first}/prune"), json!({})).await.good();
    assert!(matches!(compare(&reply, &reply).await, ApiError::NotNow { .. }));
}

async fn a_branch_that_is_being_written_is_compared_as_far_as_it_is_there(house: House) {
    let script = json!({"answers": [[{"text": "It rains."}], [{"text": "It snows "}, "stall"]]});
    let house = house.playing(&script);
    let chat = begin(&house, "optimist").await;
    let (ask, whole) = say(&house, &chat, json!({"content": "How is it?"})).await;
    let kept = post(&house, &format!("/api/messages/{whole}/regenerate"), json!({})).await.good();
    spoken(&house, &json!([kept["runId"]])).await;
    let coming = text(&kept["replyId"]);
    let desk = house.desk();
    let compare = async |one: &str, other: &str| {
        let (one, other) = (one.into(), other.into());
        desk.agent.compare_branches(&desk.scope, &id(&chat), &one, &other, 0).await.unwrap()
    };

    // By its own name, and by what it answers.
    for half in [&coming, &ask] {
        let compared = compare(&whole, half).await;
        assert_eq!((compared.common, compared.left.length, compared.right.length), (1, 1, 1));
        assert_eq!((compared.left.generating, compared.right.generating), (false, true));
        assert_eq!(compared.right.leaf.as_str(), coming);
        let row = &compared.rows[0];
        let said = [&row.left, &row.right].map(|side| side.as_ref().unwrap().text());
        assert_eq!(said, ["It rains.", "It snows "]);
        assert!(row.comparable);
        assert_eq!(compared.speakers[&compared.right.leaf].1, "Optimist");
    }
    let same = compare(&coming, &coming).await;
    assert_eq!((same.common, same.left.length, same.shared.len()), (2, 0, 2));
    let page = format!("{}?compare={whole}&with={coming}", chat.replace("/api", ""));
    let shown = house.get(&page).await;
    assert_eq!(shown.status, 200, "{}", shown.text);
    assert!(shown.text.contains("Still being written"), "{}", shown.text);

    post(&house, &format!("/api/runs/{}/stop", text(&kept["runId"])), json!({})).await.good();
    settle(&house, &kept).await;
    let compared = compare(&whole, &coming).await;
    assert_eq!((compared.right.length, compared.right.generating), (1, false));
}

async fn everybody_is_named_where_branches_with_several_personas_are_compared(house: House) {
    house.persona("ann", "You are Ann.").await;
    house.persona("ben", "You are Ben.").await;
    let answer = |id: &str, parent: &str, persona: Value, content: &str| {
        json!({"id": id, "parentId": parent, "role": "assistant", "content": content,
            "personaId": persona})
    };
    let messages = json!([
        {"id": "m0", "role": "user", "content": "Well?"},
        answer("m1", "m0", json!("ben"), "Hm."),
        answer("m2", "m1", json!("ann"), "Yes."),
        answer("m3", "m1", json!("ben"), "Yes."),
        answer("m4", "m2", json!("ben"), "No."),
        answer("m5", "m3", json!("ben"), "No."),
        answer("m6", "m4", json!(null), "From nobody."),
    ]);
    let file = json!({"format": "greenroom-chat", "version": 2, "personaId": "ann",
        "personaIds": ["ann", "ben"], "messages": messages});
    let made = post(&house, &format!("{CHATS}/import"), file).await.good();
    let chat = format!("{CHATS}/{}", text(&made["id"]));
    let nodes = house.get(&format!("{chat}/tree")).await.good();
    let at = |at: usize| text(&nodes["items"][at]["id"]);
    let (left, right) = (at(2), at(3));

    let fields = [("id", id(&chat).to_string()), ("left", left.clone()), ("right", right.clone())];
    let fields: Vec<(&str, &str)> =
        fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let compared = house.function("compare_branches", &fields).await.good();

    let shared: Vec<&Value> =
        compared["shared"].as_array().unwrap().iter().map(|side| &side["name"]).collect();
    assert_eq!(shared, ["", "ben"]);
    let turns: Vec<(&Value, &Value, bool)> = compared["turns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|turn| (&turn["left"]["name"], &turn["right"]["name"], turn["same"] == true))
        .collect();
    let (ann, ben) = (json!("ann"), json!("ben"));
    let expected = [(&ann, &ben, false), (&ben, &ben, true), (&ann, &Value::Null, false)];
    assert_eq!(turns, expected);
    let page = format!("{}?compare={left}&with={right}", chat.replace("/api", ""));
    let shown = house.get(&page).await.text.replace("<!>", "");
    for (name, times) in [("ben", 3), ("ann", 2), ("You", 1)] {
        let who = format!("<p class=\"who\"><strong>{name}</strong>");
        assert_eq!(shown.matches(&who).count(), times, "{name}: {shown}");
    }
}

async fn long_branches_are_compared_in_pages(house: House) {
    let chat = long_chat(&house, 130).await;
    let nodes = house.get(&format!("{chat}/tree")).await.good();
    let at = |at: usize| text(&nodes["items"][at]["id"]);
    let other = json!({"content": "Something else"});
    let other = post(&house, &format!("/api/messages/{}/edit", at(10)), other).await.good();
    let desk = house.desk();
    let (left, right) = (at(129).as_str().into(), text(&other["id"]).as_str().into());
    let page = async |from: usize| {
        let chat = id(&chat);
        desk.agent.compare_branches(&desk.scope, &chat, &left, &right, from).await.unwrap()
    };

    let first = page(0).await;
    assert_eq!((first.common, first.left.length, first.right.length), (10, 120, 1));
    assert_eq!((first.rows.len(), first.next), (50, Some(50)));
    assert_eq!(first.rows[0].left.as_ref().unwrap().text(), "Message number 10.");
    let last = page(100).await;
    assert_eq!((last.rows.len(), last.next, last.from), (20, None, 100));
    assert_eq!(last.rows[0].left.as_ref().unwrap().text(), "Message number 110.");
    assert!(last.rows.iter().all(|row| row.right.is_none()));
    assert_eq!(page(usize::MAX / 2).await.from, 119, "beyond the end is at the end");
}

async fn a_large_chat_is_mapped_in_parts_and_searched_as_a_whole(house: House) {
    let chat = long_chat(&house, 1300).await;
    let (desk, chat_id) = (house.desk(), id(&chat));
    let page = path(&house, &chat, "limit=1").await;
    let leaf = text(&page["leaf"]).as_str().into();

    let end = desk.agent.map_window(&desk.scope, &chat_id, None, Some(&leaf)).await.unwrap();
    assert_eq!((end.nodes.len(), end.on_path.len(), &end.later), (501, 501, &None));
    let earlier = end.earlier.unwrap();
    let middle = desk.agent.map_window(&desk.scope, &chat_id, Some(&earlier), Some(&leaf)).await;
    let middle = middle.unwrap();
    assert_eq!(middle.nodes.len(), 1001);
    assert_eq!(middle.on_path.len(), 1001, "the path is known outside its end");
    let mut first = middle;
    while let Some(earlier) = first.earlier {
        let around = Some(&earlier);
        first = desk.agent.map_window(&desk.scope, &chat_id, around, None).await.unwrap();
    }
    assert_eq!(first.nodes[0].excerpt, "Message number 0.", "every message can be reached");

    let find = async |words: &str, before: Option<&MessageId>| {
        desk.agent.find_in_chat(&desk.scope, &chat_id, words, before).await.unwrap()
    };
    let found = find("NUMBER 7.", None).await;
    assert_eq!((found.nodes.len(), found.next), (1, None));
    let none = find("marzipan", None).await;
    assert!(none.nodes.is_empty() && none.next.is_none());
    // What does not fit at once is gone on to.
    let mut many = find("message number 1", None).await;
    let mut all: Vec<String> = many.nodes.iter().map(|node| node.excerpt.clone()).collect();
    assert_eq!(all.len(), 50);
    while let Some(next) = many.next {
        many = find("message number 1", Some(&next)).await;
        all.extend(many.nodes.iter().map(|node| node.excerpt.clone()));
    }
    let expected: Vec<String> = (0..1300)
        .rev()
        .filter(|at: &i32| at.to_string().starts_with('1'))
        .map(|at| format!("Message number {at}."))
        .collect();
    assert_eq!(all, expected);
    let page = chat.replace("/api", "");
    let shown = house.get(&format!("{page}?map=1&find=message+number+1")).await.text;
    let further = shown.split("Look in older messages").next().unwrap();
    let further = further.rsplit("href=\"").next().unwrap().split('"').next().unwrap();
    let older = house.get(&further.replace("&amp;", "&")).await.text;
    assert!(older.contains("Back to the newest") && older.contains("Message number 1249."));
    assert!(!older.contains(">Message number 1250.</a>"), "{older}");

    let marked = json!({"label": "The very start", "bookmarked": true});
    let start = format!("/api/messages/{}", first.nodes[0].id);
    house.call(Method::PATCH, &start, marked).await.good();
    let moments = desk.agent.moments(&desk.scope, &chat_id).await.unwrap();
    assert_eq!(moments.len(), 1, "what is marked is listed wherever it stands");
    let by_label = find("very start", None).await;
    assert_eq!(by_label.nodes[0].id, first.nodes[0].id);
}

async fn one_paragraph_is_put_in_other_words_beside_the_message(house: House) {
    let told = "The gate was shut.\n\n> A sign said: no.\n\nShe knocked.";
    let house = house.playing(&json!({"answers": [[{"text": told}]]}));
    let new = json!({"personaId": "innkeeper", "mode": "story", "title": "The gate"});
    let chat = post(&house, CHATS, new).await.good();
    let chat = format!("{CHATS}/{}", text(&chat["id"]));
    let (_, reply) = say(&house, &chat, json!({"content": "Begin."})).await;
    let page = house.get(&format!("/chats/{}", id(&chat))).await;
    assert_eq!(page.text.matches("Save this paragraph").count(), 4, "each one can be edited");
    let desk = house.desk();
    let edit = |content: &str| ChatEdit { content: content.into(), ..ChatEdit::default() };
    let message = reply.as_str().into();

    desk.agent.edit_paragraph(&desk.scope, &message, 1, edit("> A sign said: yes.")).await.unwrap();

    let page = path(&house, &chat, "").await;
    assert_eq!(words(&page)[1], "The gate was shut.\n\n> A sign said: yes.\n\nShe knocked.");
    assert_eq!(
        (&page["items"][1]["position"], &page["items"][1]["siblings"]),
        (&json!(2), &json!(2))
    );
    let kept = path(&house, &chat, &format!("leaf={reply}")).await;
    assert_eq!(words(&kept)[1], told, "the first telling stays");
    desk.agent.edit_paragraph(&desk.scope, &message, 2, edit(" ")).await.unwrap();
    assert_eq!(
        words(&path(&house, &chat, "").await)[1],
        "The gate was shut.\n\n> A sign said: no."
    );
    let before = house.get(&format!("{chat}/tree")).await.good();
    let odd = desk.agent.edit_paragraph(&desk.scope, &message, 3, edit("x")).await.unwrap_err();
    assert!(matches!(odd, ApiError::Invalid { field, .. } if field == "paragraph"));
    assert_eq!(house.get(&format!("{chat}/tree")).await.good(), before);
}

async fn a_long_answer_from_a_file_is_put_in_other_words(house: House) {
    let told = format!("The gate was shut.\n\n{}End.", "She knocked. ".repeat(5000));
    let messages = json!([
        {"id": "m0", "role": "user", "content": "Begin."},
        {"id": "m1", "parentId": "m0", "role": "assistant", "content": told},
    ]);
    let file = json!({"format": "greenroom-chat", "personaId": "innkeeper", "messages": messages});
    let made = post(&house, &format!("{CHATS}/import"), file).await.good();
    let chat = format!("{CHATS}/{}", text(&made["id"]));
    let page = path(&house, &chat, "").await;
    let (asked, answer) = (text(&page["items"][0]["id"]), text(&page["items"][1]["id"]));
    let desk = house.desk();
    let edit = ChatEdit { content: "The gate stood open.".into(), ..ChatEdit::default() };

    desk.agent.edit_paragraph(&desk.scope, &answer.as_str().into(), 0, edit).await.unwrap();

    let expected = told.replace("was shut", "stood open");
    assert_eq!(words(&path(&house, &chat, "").await)[1], expected);
    let edited = async |message: &str, chars: usize| {
        let other = json!({"content": "x".repeat(chars)});
        post(&house, &format!("/api/messages/{message}/edit"), other).await
    };
    edited(&answer, 500_000).await.good();
    for (message, chars) in [(&answer, 500_001), (&answer, 0), (&asked, 50_001)] {
        assert_eq!(edited(message, chars).await.error(), error(422, "invalid", "content"));
    }
}
