//! A picture as the face of a persona: a change like any other.

use axum::http::Method;
use serde_json::json;

use super::{answered, imagine, listed, post, work};
use crate::support::{House, error, on_both, request};

on_both!(
    a_picture_becomes_a_face_through_the_gate,
    a_face_is_a_picture_of_the_space,
    a_face_outlives_the_chat_and_the_persona_that_it_came_from,
);

const PERSONA: &str = "/api/storage/personas/innkeeper";

async fn a_picture_becomes_a_face_through_the_gate(house: House) {
    let path = imagine(&house, json!({"prompt": "Marta", "personaId": "innkeeper"})).await;
    let early = post(&house, &format!("{path}/face"), json!({})).await;
    assert_eq!(early.error(), error(409, "not_now", ""));
    work(&house).await;
    let before = house.get(PERSONA).await.good();
    assert_eq!(before["face"], "");

    let outcome = post(&house, &format!("{path}/face"), json!({})).await.good();

    let known = house.get(PERSONA).await.good();
    let id = path.rsplit('/').next().unwrap();
    assert_eq!((&known["face"], &known["revision"]), (&json!(id), &json!(2)));
    let shown = format!("/api/pictures/{id}/file");
    for page in ["/", "/personas/innkeeper"] {
        assert!(house.get(page).await.text.contains(&shown), "{page}");
    }
    let compared = house.get(&format!("{PERSONA}/diff?from=1&to=2")).await;
    assert!(compared.text.contains("Face"), "{}", compared.text);
    let kept = house.send(request(Method::DELETE, &path, None)).await;
    assert_eq!(kept.error(), error(409, "not_now", ""));

    // It goes with the copy, and is taken back like any change.
    let copy = post(&house, &format!("{PERSONA}/duplicate"), json!({})).await.good();
    assert_eq!(copy["face"], id);
    let undo = format!("/api/changes/{}/undo", outcome["changeId"].as_str().unwrap());
    post(&house, &undo, json!({})).await.good();
    assert_eq!(house.get(PERSONA).await.good()["face"], "");
}

async fn a_face_is_a_picture_of_the_space(house: House) {
    let unmade = imagine(&house, json!({"prompt": "Marta"})).await;
    let unmade = unmade.rsplit('/').next().unwrap();
    for (face, expected) in [
        ("nothing", error(404, "not_found", "")),
        (unmade, error(404, "not_found", "")),
        ("../etc", error(422, "invalid", "face")),
    ] {
        let answer = house.call(Method::PUT, PERSONA, json!({"face": face})).await;
        assert_eq!(answer.error(), expected, "{face}");
    }
    work(&house).await;
    // A picture of nobody is nobody's face until it is said whose.
    let path = format!("/api/pictures/{unmade}/face");
    assert_eq!(post(&house, &path, json!({})).await.error(), error(422, "invalid", "personaId"));
    let nobody = post(&house, &path, json!({"personaId": "nobody"})).await;
    assert_eq!(nobody.error(), error(404, "not_found", ""));
    post(&house, &path, json!({"personaId": "innkeeper"})).await.good();
    let known = house.get(PERSONA).await.good();
    assert_eq!(known["face"], unmade);
    house.call(Method::PUT, PERSONA, json!({"face": ""})).await.good();
}

async fn a_face_outlives_the_chat_and_the_persona_that_it_came_from(house: House) {
    let (chat, _) = answered(&house, "innkeeper", json!({})).await;
    imagine(&house, json!({"prompt": "Marta", "personaId": "innkeeper"})).await;
    work(&house).await;
    let pictures = listed(&house, "").await;
    let [own, of_chat] = &pictures[..] else { panic!("{pictures:?}") };
    let [own, of_chat] = [own, of_chat].map(|picture| picture["id"].as_str().unwrap());
    let copy = post(&house, &format!("{PERSONA}/duplicate"), json!({})).await.good();
    let copy = copy["id"].as_str().unwrap();
    let face = |picture: &str, persona: &str| {
        let path = format!("/api/pictures/{picture}/face");
        let house = &house;
        let body = json!({"personaId": persona});
        async move { drop(post(house, &path, body).await.good()) }
    };
    face(of_chat, "optimist").await;
    face(own, copy).await;
    let empty = async |gone: &str| {
        house.send(request(Method::DELETE, gone, None)).await.good();
        let bin = house.get("/api/storage/bin").await.good();
        let page = house.get("/bin").await.text;
        assert!(!page.contains(" with it."), "nothing is said to go along: {page}");
        house.send(request(Method::DELETE, "/api/storage/bin", None)).await.good();
        bin["items"][0]["pictures"].clone()
    };
    let shown = async |picture: &str| {
        let known = house.get(&format!("/api/pictures/{picture}")).await.good();
        let file = house.get(&format!("/api/pictures/{picture}/file")).await.status.as_u16();
        (known["personaId"].clone(), known["chatId"].clone(), known["messageId"].clone(), file)
    };

    assert_eq!(empty(&chat).await, 0);
    work(&house).await;
    assert_eq!(shown(of_chat).await, (json!("innkeeper"), json!(null), json!(null), 200));

    assert_eq!(empty(PERSONA).await, 0);
    work(&house).await;
    assert_eq!(shown(of_chat).await, (json!("optimist"), json!(null), json!(null), 200));
    assert_eq!(shown(own).await, (json!(copy), json!(null), json!(null), 200));
    assert_eq!(listed(&house, "").await.len(), 2);
    assert_eq!(house.neighbour().await.get(&format!("/api/pictures/{own}/file")).await.status, 404);

    // With the last who has it, it goes.
    let last = format!("/api/storage/personas/{copy}");
    house.send(request(Method::DELETE, &last, None)).await.good();
    let bin = house.get("/api/storage/bin").await.good();
    assert_eq!(bin["items"][0]["pictures"], 1);
    house.send(request(Method::DELETE, "/api/storage/bin", None)).await.good();
    work(&house).await;
    assert_eq!(house.get(&format!("/api/pictures/{own}/file")).await.status, 404);
    assert_eq!(listed(&house, "").await.len(), 1);
}
