//! Ratings of messages: given, changed, taken back, and gone with what they were about.

use axum::http::Method;
use greenroom::domain::{
    change::{Change, Op},
    error::ApiError,
    id::MessageId,
    rating::NewRating,
    run::Run,
};
use serde_json::json;

use crate::support::{House, error, on_both};

on_both!(
    a_message_is_rated_rated_anew_and_no_more,
    what_makes_no_sense_is_refused_and_changes_nothing,
    the_ratings_of_a_conversation_come_in_the_order_of_what_was_said,
    ratings_go_with_what_they_were_about,
);

async fn asked(house: &House, words: &str) -> Run {
    let (agent, scope) = (&house.state.agent, &house.state.scope);
    let run = agent.send(scope, &"skeptic".into(), words, None).await.unwrap();
    agent.ended(scope, &run.id).await.unwrap()
}

fn address(message: &MessageId) -> String {
    format!("/api/messages/{message}/rating")
}

async fn a_message_is_rated_rated_anew_and_no_more(house: House) {
    let path = address(&asked(&house, "Hello").await.reply_id);
    assert_eq!(house.get(&path).await.error(), error(404, "not_found", ""));

    let first = house.call(Method::PUT, &path, json!({"rating": 2, "note": "Too long."})).await;
    let first = first.good();
    let second = house.call(Method::PUT, &path, json!({"rating": 5})).await.good();

    assert_eq!((&first["rating"], &first["note"]), (&json!(2), &json!("Too long.")));
    assert_eq!((&second["rating"], &second["note"]), (&json!(5), &json!("")));
    assert_eq!(first["createdAt"], second["createdAt"]);
    assert_eq!(second["ratedBy"], "owner");
    assert_eq!(house.get(&path).await.good(), second);

    assert_eq!(house.call(Method::DELETE, &path, json!({})).await.status, 204);
    assert_eq!(house.get(&path).await.status, 404);
    assert_eq!(house.call(Method::DELETE, &path, json!({})).await.status, 404);
}

async fn what_makes_no_sense_is_refused_and_changes_nothing(house: House) {
    let path = address(&asked(&house, "Hello").await.reply_id);
    for odd in [
        json!({"rating": 0}),
        json!({"rating": 6}),
        json!({"rating": 2.5}),
        json!({"rating": "good"}),
        json!({"note": "No number."}),
        json!({"rating": 3, "note": "x".repeat(2001)}),
        json!({"rating": 3, "stars": 3}),
    ] {
        let refused = house.call(Method::PUT, &path, odd.clone()).await;
        assert_eq!(refused.status, 422, "{odd}: {}", refused.text);
    }
    assert_eq!(house.get(&path).await.status, 404);
    let nowhere =
        house.call(Method::PUT, "/api/messages/nothing/rating", json!({"rating": 3})).await;
    assert_eq!(nowhere.status, 404);
}

async fn the_ratings_of_a_conversation_come_in_the_order_of_what_was_said(house: House) {
    let (agent, scope) = (&house.state.agent, &house.state.scope);
    let first = asked(&house, "Hello").await;
    let second = asked(&house, "And now?").await;
    let given = |rating: u8, note: &str| NewRating { rating, note: note.into() };

    agent.rate(scope, &second.reply_id, given(4, "Better.")).await.unwrap();
    agent.rate(scope, &first.reply_id, given(1, "Beside the point.")).await.unwrap();
    agent.rate(scope, &first.message_id, given(3, "")).await.unwrap();

    let ratings = agent.ratings_in(scope, &first.conversation_id).await.unwrap();
    let told: Vec<(&MessageId, u8, &str)> =
        ratings.iter().map(|one| (&one.message_id, one.rating, one.note.as_str())).collect();
    assert_eq!(
        told,
        [
            (&first.message_id, 3, ""),
            (&first.reply_id, 1, "Beside the point."),
            (&second.reply_id, 4, "Better."),
        ]
    );
}

async fn ratings_go_with_what_they_were_about(house: House) {
    let (agent, scope) = (&house.state.agent, &house.state.scope);
    let persona = house.persona("short-lived", "Be brief.").await;
    let run = agent.send(scope, &persona, "Hello", None).await.unwrap();
    let run = agent.ended(scope, &run.id).await.unwrap();
    let given = NewRating { rating: 5, note: String::new() };
    agent.rate(scope, &run.reply_id, given).await.unwrap();

    house.submit(Change::new(&persona, Op::Delete)).await.unwrap();
    house.submit(Change::new(&persona, Op::Purge)).await.unwrap();

    let gone = |what: &str| ApiError::not_found(what);
    assert_eq!(agent.rating(scope, &run.reply_id).await, Err(gone("rating")));
    let ratings = agent.ratings_in(scope, &run.conversation_id).await;
    assert_eq!(ratings, Err(gone("conversation")));
}
