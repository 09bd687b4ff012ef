//! Sessions: begun, listed, set, cleared, deleted and brought back.

use axum::http::Method;
use serde_json::{Value, json};

use super::{in_session, read, say, tinker, words};
use crate::support::{House, error, on_both, request};

on_both!(
    a_session_is_begun_renamed_and_listed,
    a_session_is_cleared_and_what_was_said_stays_on_its_branch,
    a_deleted_session_can_be_brought_back,
    the_version_and_the_variables_of_a_session_decide_what_the_model_is_told,
    what_no_session_can_have_is_told_and_changes_nothing,
    a_session_belongs_to_one_persona,
);

async fn a_session_is_begun_renamed_and_listed(house: House) {
    let home = tinker(&house).await;
    let sessions = format!("{home}/sessions");
    let made = house.call(Method::POST, &sessions, json!({})).await;
    assert_eq!(made.status, 201);
    let made = made.json();
    assert_eq!(made["title"], "New session");
    assert_eq!((&made["personaName"], &made["personaRevision"]), (&json!("Tinker"), &json!(1)));
    let id = made["id"].as_str().unwrap();

    // Its first words name it, and a person's own title stays.
    say(&house, &home, in_session(words("Sort my\n\nnotes"), id)).await;
    assert_eq!(read(&house, &home, id).await["title"], "Sort my notes");
    let path = format!("{sessions}/{id}");
    house.call(Method::PATCH, &path, json!({"title": "Notes"})).await.good();
    say(&house, &home, in_session(words("And now the rest"), id)).await;
    assert_eq!(read(&house, &home, id).await["title"], "Notes");

    house.call(Method::POST, &sessions, json!({"id": "own-id", "title": "Second"})).await.good();
    let titles = async |query: &str| {
        let list = house.get(&format!("{sessions}?{query}")).await.good();
        let titles = list["items"].as_array().unwrap().iter().map(|one| one["title"].clone());
        (titles.collect::<Vec<_>>(), list["next"].clone())
    };
    assert_eq!(titles("").await, (vec![json!("Second"), json!("Notes")], Value::Null));
    let (_, next) = titles("limit=1").await;
    assert_eq!(titles(&format!("after={}", next.as_str().unwrap())).await.0, [json!("Notes")]);
    let again = house.call(Method::POST, &sessions, json!({"id": "own-id"})).await;
    assert_eq!(again.error(), error(409, "taken", ""));
}

async fn a_session_is_cleared_and_what_was_said_stays_on_its_branch(house: House) {
    let home = tinker(&house).await;
    let first = say(&house, &home, words("Hello")).await;
    let id = &first.session;
    let before = read(&house, &home, id).await;
    assert_eq!(before["messages"].as_array().unwrap().len(), 2);

    house.call(Method::POST, &format!("{home}/sessions/{id}/clear"), json!({})).await.good();
    assert_eq!(read(&house, &home, id).await["messages"], json!([]));

    say(&house, &home, in_session(words("Another beginning"), id)).await;
    let leaf = before["leaf"].clone();
    let go = format!("{home}/sessions/{id}/leaf");
    house.call(Method::POST, &go, json!({"leaf": leaf})).await.good();
    assert_eq!(read(&house, &home, id).await["messages"], before["messages"]);
}

async fn a_deleted_session_can_be_brought_back(house: House) {
    let home = tinker(&house).await;
    let id = say(&house, &home, words("Hello")).await.session;
    let path = format!("{home}/sessions/{id}");
    let before = read(&house, &home, &id).await;

    let gone = house.send(request(Method::DELETE, &path, None)).await;
    assert_eq!(gone.status, 204);
    assert_eq!(house.get(&path).await.error(), error(404, "not_found", ""));
    let said = house.call(Method::POST, &format!("{home}/chat"), in_session(words("x"), &id)).await;
    assert_eq!(said.error(), error(404, "not_found", ""));
    let list = async |query: &str| {
        let list = house.get(&format!("{home}/sessions{query}")).await.good();
        list["items"].as_array().unwrap().len()
    };
    assert_eq!((list("").await, list("?deleted=true").await), (0, 1));

    house.call(Method::POST, &format!("{path}/restore"), json!({})).await.good();
    assert_eq!(read(&house, &home, &id).await["messages"], before["messages"]);
    assert_eq!((list("").await, list("?deleted=true").await), (1, 0));
}

async fn the_version_and_the_variables_of_a_session_decide_what_the_model_is_told(house: House) {
    let home = tinker(&house).await;
    let prompt = json!({"systemPrompt": "Be slow with {{thing}} and {{ other }}."});
    house.call(Method::PUT, "/api/storage/personas/tinker", prompt).await.good();
    // The script's part is found by how the prompt begins.
    let playing = house.playing(&json!({"speakers": {
        "Be handy with clocks.": [{"text": "first version"}],
        "Be slow with clocks and {{ other }}.": [{"text": "second version"}],
    }}));
    let said = |revision: Option<i64>| {
        let (playing, home) = (&playing, &home);
        async move {
            let new = json!({"personaRevision": revision, "variables": {"thing": "clocks"}});
            let made = playing.call(Method::POST, &format!("{home}/sessions"), new).await.good();
            let id = made["id"].as_str().unwrap();
            let streamed = say(playing, home, in_session(words("Hi"), id)).await;
            let whole = read(playing, home, id).await;
            assert_eq!(whole["variables"], json!({"thing": "clocks"}));
            (streamed.words(), whole["variableNames"].clone())
        }
    };

    assert_eq!(said(Some(1)).await, ("first version".into(), json!(["thing"])));
    assert_eq!(said(None).await, ("second version".into(), json!(["thing", "other"])));
}

async fn what_no_session_can_have_is_told_and_changes_nothing(house: House) {
    let home = tinker(&house).await;
    let id = say(&house, &home, words("Hello")).await.session;
    let path = format!("{home}/sessions/{id}");
    let before = read(&house, &home, &id).await;
    let invalid = |field: &str| error(422, "invalid", field);
    for (changes, told) in [
        (json!({"title": ""}), invalid("title")),
        (json!({"title": "a\nb"}), invalid("title")),
        (json!({"personaRevision": 99}), invalid("personaRevision")),
        (json!({"model": "no such"}), invalid("model")),
        (json!({"variables": {"a b": "x"}}), invalid("variables")),
        (json!({"variables": {"a": "x".repeat(20_001)}}), invalid("variables")),
        (json!({"colour": 1}), invalid("colour")),
    ] {
        let answer = house.call(Method::PATCH, &path, changes.clone()).await;
        assert_eq!(answer.error(), told, "{changes}");
    }
    let chat = format!("{home}/chat");
    for (body, told) in [
        (json!({"messages": []}), invalid("messages")),
        (json!({"messages": [{"role": "assistant", "content": "x"}]}), invalid("messages")),
        (words("  "), invalid("message")),
        (json!({}), invalid("messages")),
        (in_session(words("x"), "unknown"), error(404, "not_found", "")),
    ] {
        let answer = house.call(Method::POST, &chat, body.clone()).await;
        assert_eq!(answer.error(), told, "{body}");
    }
    // Whoever speaks the AI SDK's protocol shows the body to people: it is the sentence.
    let mut body = words(" ");
    body["trigger"] = json!("submit-message");
    let answer = house.call(Method::POST, &chat, body).await;
    assert_eq!(
        (answer.status.as_u16(), answer.text.as_str()),
        (422, "The message must not be empty.")
    );
    assert_eq!(read(&house, &home, &id).await, before);
}

async fn a_session_belongs_to_one_persona(house: House) {
    let home = tinker(&house).await;
    let id = say(&house, &home, words("Hello")).await.session;

    let other = "/api/agents/optimist/playground";
    assert_eq!(house.get(&format!("{other}/sessions/{id}")).await.status, 404);
    let said =
        house.call(Method::POST, &format!("{other}/chat"), in_session(words("x"), &id)).await;
    assert_eq!(said.status, 404);
    // A chat of another kind is no session.
    let chat = house.call(Method::POST, "/api/chats", json!({"personaId": "tinker"})).await.good();
    let chat = chat["id"].as_str().unwrap();
    assert_eq!(house.get(&format!("{home}/sessions/{chat}")).await.status, 404);
    let nobody = house.call(Method::POST, "/api/agents/nobody/playground/chat", words("Hi")).await;
    assert_eq!(nobody.error(), error(404, "not_found", ""));
}
