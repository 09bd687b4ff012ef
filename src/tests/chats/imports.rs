//! Chats that come in from files by the form of their page.

use std::convert::Infallible;

use axum::{
    body::Body,
    http::{Method, Request, header},
};
use futures::stream;
use serde_json::json;

use super::{CHATS, answers, begin, path, post, say, text};
use crate::support::{ADDRESS, Answer, House, on_both, request};

on_both!(a_chat_comes_in_from_a_file_on_the_page);

/// The form on the page with a file in it.
pub async fn import(house: &House, file: &str, persona: &str) -> Answer {
    let part = |name: &str, text: &str| {
        let named = format!("Content-Disposition: form-data; name=\"{name}\"");
        format!("--frontier\r\n{named}\r\n\r\n{text}\r\n")
    };
    let body = format!("{}{}--frontier--\r\n", part("persona", persona), part("file", file));
    house.send(import_form(Body::from(body))).await
}

fn import_form(body: Body) -> Request<Body> {
    Request::builder()
        .method(Method::POST)
        .uri("/api/chats/import-file")
        .header(header::HOST, ADDRESS)
        .header("sec-fetch-site", "same-origin")
        .header(header::CONTENT_TYPE, "multipart/form-data; boundary=frontier")
        .body(body)
        .unwrap()
}

#[tokio::test]
async fn a_file_that_is_too_large_is_refused_with_a_sentence() {
    let house = House::new().await;
    let head = "--frontier\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n";
    let rest = std::iter::repeat_n("x".repeat(1024 * 1024), 129);
    let pieces = std::iter::once(head.to_owned()).chain(rest).map(Ok::<_, Infallible>);
    let form = || import_form(Body::from_stream(stream::iter(pieces.clone())));
    // As a browser sends it, which says how much it is.
    let mut whole = form();
    let length = head.len() + 129 * 1024 * 1024;
    whole.headers_mut().insert(header::CONTENT_LENGTH, length.into());

    for form in [form(), whole] {
        let refused = house.send(form).await;

        assert_eq!(refused.status, 303);
        let back = house.get(refused.header("location")).await.text;
        assert!(back.contains("too large: at most 131072 KiB are taken."), "{back}");
        assert!(back.contains("A file may have up to 128 MiB and 100000 messages."), "{back}");
    }
    assert_eq!(house.get(CHATS).await.good()["items"], json!([]));
}

#[tokio::test]
async fn of_a_hostile_list_no_more_is_read_than_can_be_brought_in() {
    let house = House::new().await;
    let list = |one: &str| format!("[{one}{}]", format!(",{one}").repeat(1_000_000));
    let message = r#"{"id":"a","role":"user","content":"x"}"#;
    let file = |messages: &str, more: &str| {
        format!(
            r#"{{"format":"greenroom-chat","personaId":"optimist"{more},"messages":{messages}}}"#
        )
    };
    let import = async |file: String| {
        house.send(request(Method::POST, "/api/chats/import", Some(file.into_bytes()))).await
    };
    let no_such = format!("[{message}]");

    for (told, file) in [
        ("invalid type: integer", file(&list("0"), "")),
        // What is wrong with the last one is not even looked at.
        (
            "at most 100000 messages can be brought in",
            file(&format!("[{}0]", format!("{message},").repeat(100_001)), ""),
        ),
        (
            "at most 8 personas can be brought in",
            file(&no_such, &format!(r#","personaIds":{}"#, list(r#""a""#))),
        ),
        (
            "at most 8 personas can be brought in",
            file(&no_such, &format!(r#","personaRevisions":{}"#, list("0"))),
        ),
    ] {
        let refused = import(file).await;
        assert_eq!(refused.status, 422);
        assert!(refused.text.contains(told), "{}", refused.text);
    }
    // What a tool was given is not brought in, however much it is.
    let call = format!(
        r#"[{{"id":"a","role":"assistant","content":"x","parts":[{{"id":"p",
            "at":"2026-01-01T00:00:00.000Z","body":{{"tool_call":{{"call":"c","name":"ls","input":{}}}}}}}]}}]"#,
        list("0")
    );
    let made = import(file(&call, "")).await.good();
    let messages = format!("/api/chats/{}/messages", made["id"].as_str().unwrap());
    let page = house.get(&messages).await.good();
    assert_eq!(page["items"][0]["content"], "x", "{page}");
}

async fn a_chat_comes_in_from_a_file_on_the_page(house: House) {
    let house = house.playing(&answers(9));
    let chat = begin(&house, "optimist").await;
    let (one, reply) = say(&house, &chat, json!({"content": "One"})).await;
    let marks = json!({"label": "Start", "bookmarked": true});
    house.call(Method::PATCH, &format!("/api/messages/{one}"), marks).await.good();
    post(&house, &format!("/api/messages/{reply}/edit"), json!({"content": "Mine"})).await.good();
    post(&house, &format!("/api/messages/{reply}/prune"), json!({})).await.good();
    let file = house.get(&format!("{chat}/export")).await;

    let made = import(&house, &file.text, "").await;
    let copy = made.header("location").to_owned();
    assert!(copy.starts_with("/chats/") && !copy.contains("__err"), "{copy}");
    let copied = house.get(&format!("/api{copy}/export")).await.good();
    let marks: Vec<_> = copied["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            (
                text(&one["content"]),
                one["label"] == "Start",
                one["bookmarked"] == true,
                one["pruned"] == true,
            )
        })
        .collect();
    assert_eq!(
        marks,
        [
            ("One".to_owned(), true, true, false),
            ("Answer 1.".to_owned(), false, false, true),
            ("Mine".to_owned(), false, false, false),
        ]
    );
    // A file from elsewhere names somebody who is not here: the person says who speaks.
    let mut foreign = file.json();
    foreign["personaId"] = json!("nobody-here");
    let named = import(&house, &foreign.to_string(), "skeptic").await;
    let named = house.get(&format!("/api{}", named.header("location"))).await.good();
    assert_eq!(named["personaId"], "skeptic");

    let count = house.get(CHATS).await.good()["items"].as_array().unwrap().len();
    let circle = json!({"format": "greenroom-chat", "personaId": "optimist", "messages": [
        {"id": "a", "parentId": "b", "role": "user", "content": "x"},
        {"id": "b", "parentId": "a", "role": "user", "content": "x"},
    ]});
    let dangling = json!({"format": "greenroom-chat", "personaId": "optimist", "messages": [
        {"id": "a", "parentId": one, "role": "user", "content": "x"},
    ]});
    let (circle, dangling, foreign) =
        (circle.to_string(), dangling.to_string(), foreign.to_string());
    for (file, told) in [
        ("", "Choose a file to import."),
        ("no JSON", "The file could not be read"),
        ("[]", "must be a JSON object"),
        (r#"{"format": "other", "personaId": "optimist", "messages": []}"#, "format"),
        (circle.as_str(), "in a circle"),
        (dangling.as_str(), "which is not there"),
        (foreign.as_str(), "That persona does not exist."),
    ] {
        let refused = import(&house, file, "").await;
        assert_eq!(refused.status, 303);
        let back = house.get(refused.header("location")).await;
        assert!(back.text.contains(told), "{told}: {}", refused.header("location"));
    }
    assert_eq!(house.get(CHATS).await.good()["items"].as_array().unwrap().len(), count);
    assert_eq!(
        path(&house, &format!("/api{copy}"), "").await["items"].as_array().unwrap().len(),
        2
    );
}
