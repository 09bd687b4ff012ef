//! What a form with a file names leads into no other Space. The document does not know of these forms.

use serde_json::json;

use crate::{
    accounts::rules::plain_routes,
    chats::imports::import,
    support::{House, on_both},
};

on_both!(no_form_reaches_into_another_space);

#[test]
fn every_form_that_names_something_in_its_file_is_tried() {
    let forms: Vec<String> = plain_routes()
        .into_iter()
        .filter(|path| path.starts_with("/api/") && !path.contains('{'))
        .collect();

    // A card names nothing that is here, and makes a persona anew.
    let known =
        ["/api/chats/import-file", "/api/openapi.json", "/api/storage/personas/import-file"];
    assert_eq!(forms, known, "try what their files name, here");
}

async fn no_form_reaches_into_another_space(house: House) {
    let neighbour = house.neighbour().await;
    neighbour.persona("secret", "a secret").await;
    let before = neighbour.read().await.audit(None, 200).await.unwrap();
    let file = |persona: &str| {
        let said = json!([{"id": "a", "role": "user", "content": "Hi"}]);
        json!({"format": "greenroom-chat", "personaId": persona, "messages": said}).to_string()
    };

    for (in_file, chosen) in [("secret", ""), ("optimist", "secret"), ("secret", "secret")] {
        let refused = import(&house, &file(in_file), chosen).await;
        assert_eq!(refused.status, 303);
        let back = house.get(refused.header("location")).await;
        assert!(back.text.contains("That persona does not exist."), "{}", back.text);
    }

    for side in [&house, &neighbour] {
        assert_eq!(side.get("/api/chats").await.good()["items"], json!([]));
    }
    assert_eq!(neighbour.read().await.audit(None, 200).await.unwrap(), before);
}
