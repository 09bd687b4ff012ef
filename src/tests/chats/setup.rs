//! Beginning chats, what is set for them, the version that speaks, and the bin.

use axum::http::Method;
use serde_json::{Value, json};

use super::{CHATS, begin, post, say};
use crate::support::{House, error, on_both, request};

on_both!(
    a_chat_is_begun_read_changed_and_listed,
    a_chat_keeps_its_version_until_it_is_told_otherwise,
    a_chat_goes_to_the_bin_and_comes_back_with_all_that_was_said,
    bad_settings_are_told_by_field_and_change_nothing,
    a_chat_is_found_by_its_title_and_by_what_was_said,
    a_long_chat_is_found_by_its_beginning,
    chats_go_with_their_persona,
    the_bin_is_emptied_of_a_chat_and_then_its_persona,
    the_bin_says_what_goes_with_what_is_removed_for_good,
);

async fn a_chat_is_begun_read_changed_and_listed(house: House) {
    let made = post(&house, CHATS, json!({"personaId": "optimist"})).await;
    assert_eq!(made.status, 201);
    let made = made.json();
    assert_eq!((&made["title"], &made["titledBy"]), (&json!("New chat"), &json!("new")));
    assert_eq!((&made["mode"], &made["personaRevision"]), (&json!("roleplay"), &json!(1)));
    let none = json!({"name": "", "appearance": "", "overview": ""});
    let settings = json!({
        "model": "", "userPersona": none, "window": 20, "images": true, "answers": "in_turn",
    });
    assert_eq!(made["settings"], settings);
    let path = format!("{CHATS}/{}", made["id"].as_str().unwrap());
    assert_eq!(house.get(&path).await.good()["members"][0]["name"], "Optimist");

    let change = json!({
        "title": " Rain ", "mode": "story",
        "settings": {"model": "demo", "window": 10, "userPersona": {"name": "Ann"}},
    });
    let changed = house.call(Method::PATCH, &path, change).await.good();
    assert_eq!((&changed["title"], &changed["titledBy"]), (&json!("Rain"), &json!("person")));
    assert_eq!((&changed["mode"], &changed["settings"]["window"]), (&json!("story"), &json!(10)));
    assert_eq!(changed["settings"]["userPersona"]["name"], "Ann");
    assert_eq!(changed["settings"]["images"], true);
    assert_eq!(changed["revision"], 2);

    let other = json!({"personaId": "skeptic", "title": "Doubt", "mode": "story"});
    let other = post(&house, CHATS, other).await.good();
    let titles = async |query: &str| {
        let list = house.get(&format!("{CHATS}?{query}")).await.good();
        let titles = list["items"].as_array().unwrap().iter().map(|one| one["title"].clone());
        (titles.collect::<Vec<_>>(), list["next"].clone())
    };
    assert_eq!(titles("").await, (vec![json!("Doubt"), json!("Rain")], Value::Null));
    assert_eq!(titles("personaId=optimist").await.0, [json!("Rain")]);
    let (first, next) = titles("limit=1").await;
    assert_eq!(first, [json!("Doubt")]);
    let after = format!("limit=1&after={}", next.as_str().unwrap());
    assert_eq!(titles(&after).await.0, [json!("Rain")]);
    // What is written in comes first.
    say(&house, &path, json!({"content": "Hello"})).await;
    assert_eq!(titles("").await.0[0], "Rain");
    assert_eq!(other["titledBy"], "person");
}

async fn a_chat_keeps_its_version_until_it_is_told_otherwise(house: House) {
    let chat = begin(&house, "optimist").await;
    let persona = "/api/storage/personas/optimist";
    for notes in ["One.", "Two."] {
        house.call(Method::PUT, persona, json!({"notes": notes})).await.good();
    }

    let known = house.get(&chat).await.good();
    let member = &known["members"][0];
    assert_eq!((&member["revision"], &member["currentRevision"]), (&json!(1), &json!(3)));
    assert_eq!(member["changes"], 2);
    say(&house, &chat, json!({"content": "Hello"})).await;
    let page = super::path(&house, &chat, "").await;
    assert_eq!(page["items"][1]["personaRevision"], 1);

    let updated = post(&house, &format!("{chat}/update-persona"), json!({})).await.good();
    assert_eq!(
        (&updated["personaRevision"], &updated["members"][0]["changes"]),
        (&json!(3), &json!(0))
    );
    say(&house, &chat, json!({"content": "And now?"})).await;
    let page = super::path(&house, &chat, "").await;
    assert_eq!(page["items"][3]["personaRevision"], 3);
    assert_eq!(page["items"][1]["personaRevision"], 1, "what was said was said by the old version");
}

async fn a_chat_goes_to_the_bin_and_comes_back_with_all_that_was_said(house: House) {
    let chat = begin(&house, "optimist").await;
    let (message, _) = say(&house, &chat, json!({"content": "Hello"})).await;
    let said = super::path(&house, &chat, "").await;

    let deleted = house.send(request(Method::DELETE, &chat, None)).await.good();
    for gone in [chat.clone(), format!("{chat}/messages"), format!("{chat}/tree")] {
        assert_eq!(house.get(&gone).await.error(), error(404, "not_found", ""), "{gone}");
    }
    let regenerate = format!("/api/messages/{message}/regenerate");
    assert_eq!(post(&house, &regenerate, json!({})).await.status, 404);
    let bin = house.get("/api/storage/bin").await.good();
    assert_eq!(
        (&bin["items"][0]["entityType"], &bin["items"][0]["of"]),
        (&json!("chat"), &json!("Optimist"))
    );

    let undo = format!("/api/changes/{}/undo", deleted["changeId"].as_str().unwrap());
    post(&house, &undo, json!({})).await.good();
    assert_eq!(super::path(&house, &chat, "").await, said);

    house.send(request(Method::DELETE, &chat, None)).await.good();
    let id = chat.rsplit('/').next().unwrap();
    house.send(request(Method::DELETE, &format!("/api/storage/bin/chat/{id}"), None)).await.good();
    let restore = format!("/api/storage/bin/chat/{id}/restore");
    assert_eq!(post(&house, &restore, json!({})).await.status, 404);
}

async fn bad_settings_are_told_by_field_and_change_nothing(house: House) {
    let chat = begin(&house, "optimist").await;
    let set = async || {
        let chat = house.get(&chat).await.good();
        [&chat["title"], &chat["mode"], &chat["settings"], &chat["revision"]].map(Value::clone)
    };
    let before = set().await;
    let invalid = |field: &str| error(422, "invalid", field);
    for (body, expected) in [
        (json!({"settings": {"model": "no such"}}), invalid("settings.model")),
        (json!({"settings": {"window": 9}}), invalid("settings.window")),
        (json!({"settings": {"window": 21}}), invalid("settings.window")),
        (json!({"settings": {"colour": 1}}), invalid("colour")),
        (json!({"settings": {"answers": "at_will"}}), invalid("settings.answers")),
        (
            json!({"settings": {"userPersona": {"name": "x".repeat(101)}}}),
            invalid("settings.userPersona.name"),
        ),
        (json!({"title": ""}), invalid("title")),
        (json!({"title": "a\nb"}), invalid("title")),
        (json!({"mode": "song"}), invalid("mode")),
    ] {
        let answer = house.call(Method::PATCH, &chat, body.clone()).await;
        assert_eq!(answer.error(), expected, "{body}");
        if body.get("title").is_none() {
            let mut new = body.clone();
            new["personaId"] = json!("optimist");
            assert_eq!(post(&house, CHATS, new).await.error(), expected, "new: {body}");
        }
    }
    let nobody = post(&house, CHATS, json!({"personaId": "nobody"})).await;
    assert_eq!(nobody.error(), error(404, "not_found", ""));
    assert_eq!(post(&house, CHATS, json!({})).await.error(), invalid("personaId"));
    assert_eq!(house.get(&format!("{CHATS}/nothing")).await.status, 404);
    assert_eq!(set().await, before);
    assert_eq!(house.get(CHATS).await.good()["items"].as_array().unwrap().len(), 1);
}

async fn a_chat_is_found_by_its_title_and_by_what_was_said(house: House) {
    let chat = begin(&house, "optimist").await;
    say(&house, &chat, json!({"content": "Tell me about marzipan"})).await;
    house.call(Method::PATCH, &chat, json!({"title": "Sweets"})).await.good();
    let found = async |word: &str| {
        let found = house.get(&format!("/api/search?q={word}&kind=chat")).await.good();
        found["items"].as_array().unwrap().len()
    };

    assert_eq!((found("sweets").await, found("marzipan").await), (1, 1));
    house.send(request(Method::DELETE, &chat, None)).await.good();
    assert_eq!((found("sweets").await, found("marzipan").await), (0, 0));
}

async fn a_long_chat_is_found_by_its_beginning(house: House) {
    let message = |at: usize| {
        let words = if at == 0 { "Tell me about marzipan".into() } else { format!("Words {at}") };
        let parent = at.checked_sub(1).map(|before| before.to_string());
        json!({"id": at.to_string(), "parentId": parent, "role": "user", "content": words})
    };
    let messages: Vec<Value> = (0..600).map(message).collect();
    let file = json!({"format": "greenroom-chat", "personaId": "optimist", "messages": messages});
    post(&house, &format!("{CHATS}/import"), file).await.good();

    let found = house.get("/api/search?q=marzipan&kind=chat").await.good();

    assert_eq!(found["items"].as_array().unwrap().len(), 1);
}

async fn chats_go_with_their_persona(house: House) {
    let chat = begin(&house, "optimist").await;
    say(&house, &chat, json!({"content": "Tell me about marzipan"})).await;
    let persona = "/api/storage/personas/optimist";
    house.send(request(Method::DELETE, persona, None)).await.good();

    // What was said can be read, and nobody can answer.
    assert_eq!(house.get(&chat).await.good()["members"][0]["inBin"], true);
    let said = post(&house, &format!("{chat}/messages"), json!({"content": "Hello?"})).await;
    assert_eq!(said.error(), error(409, "in_bin", ""));
    assert_eq!(super::path(&house, &chat, "").await["items"].as_array().unwrap().len(), 2);

    house.send(request(Method::DELETE, "/api/storage/bin/persona/optimist", None)).await.good();
    assert_eq!(house.get(&chat).await.status, 404);
    let found = house.get("/api/search?q=marzipan&kind=chat").await.good();
    assert_eq!(found["items"], json!([]));
}

async fn the_bin_is_emptied_of_a_chat_and_then_its_persona(house: House) {
    let made = post(&house, CHATS, json!({"personaId": "optimist"})).await.good();
    let path = format!("{CHATS}/{}", made["id"].as_str().unwrap());
    for gone in [path.as_str(), "/api/storage/personas/optimist"] {
        house.send(request(Method::DELETE, gone, None)).await.good();
    }

    // The chat goes with its persona, so the bin names the persona alone.
    let bin = house.get("/api/storage/bin").await.good();
    let kinds: Vec<_> =
        bin["items"].as_array().unwrap().iter().map(|one| &one["entityType"]).collect();
    assert_eq!(kinds, [&json!("persona")]);
    house.send(request(Method::DELETE, "/api/storage/bin", None)).await.good();
    assert_eq!(house.get("/api/storage/bin").await.good()["items"], json!([]));
}

async fn the_bin_says_what_goes_with_what_is_removed_for_good(house: House) {
    let quiet = json!({"images": false});
    for members in [json!(["optimist"]), json!(["optimist"]), json!(["optimist", "skeptic"])] {
        let new = json!({"personaIds": members, "settings": quiet});
        post(&house, CHATS, new).await.good();
    }
    let wish = json!({"prompt": "A lamp", "personaId": "optimist"});
    post(&house, "/api/pictures", wish).await.good();
    let told = async || {
        let bin = house.get("/api/storage/bin").await.good();
        let told =
            |one: &Value| (one["entityId"].clone(), one["chats"].clone(), one["pictures"].clone());
        bin["items"].as_array().unwrap().iter().map(told).collect::<Vec<_>>()
    };

    house.send(request(Method::DELETE, "/api/storage/personas/optimist", None)).await.good();
    assert_eq!(told().await, [(json!("optimist"), json!(2), json!(1))]);
    let page = house.get("/bin").await.text;
    // In its own row, and where the whole bin is emptied.
    assert_eq!(page.matches("2 chats and 1 picture go with it.").count(), 2, "{page}");

    // The third goes with the last of the two who speak there.
    house.send(request(Method::DELETE, "/api/storage/personas/skeptic", None)).await.good();
    let page = house.get("/bin").await.text;
    assert_eq!(page.matches("3 chats and 1 picture go with it.").count(), 1, "{page}");
    house.send(request(Method::DELETE, "/api/storage/bin", None)).await.good();
    assert_eq!(house.get(CHATS).await.good()["items"], json!([]));
}
