//! Sessions: begun, listed, set, cleared, deleted and brought back.

use axum::http::Method;
use greenroom::{
    agent::Follows,
    domain::{
        change::Entity,
        error::ApiError,
        id::{ConversationId, PersonaId},
        playground::{SessionChanges, Variables},
    },
};
use serde_json::{Value, json};

use super::{in_session, read, say, script, tinker, words};
use crate::support::{House, error, on_both, request};

on_both!(
    a_session_is_begun_renamed_and_listed,
    a_session_is_cleared_and_what_was_said_stays_on_its_branch,
    what_was_cleared_is_not_brought_back_by_an_answer_that_goes_on,
    a_deleted_session_can_be_brought_back,
    the_version_and_the_variables_of_a_session_decide_what_the_model_is_told,
    the_settings_of_a_session_name_the_model_of_its_version,
    what_no_session_can_have_is_told_and_changes_nothing,
    a_session_belongs_to_one_persona,
    a_first_message_that_is_refused_leaves_nothing_behind,
    what_is_set_for_other_versions_stays_with_a_session,
    two_changes_at_once_are_both_kept,
    a_variable_may_be_called_by_a_number,
    fields_that_are_left_empty_are_no_variables,
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

/// An answer that was begun in the same moment put its branch back when it ended.
async fn what_was_cleared_is_not_brought_back_by_an_answer_that_goes_on(house: House) {
    let home = tinker(&house).await;
    let playing = house
        .playing(&script(&[json!([{"text": "Hello."}]), json!([{"text": "I begin"}, "stall"])]));
    let id = ConversationId::from(say(&playing, &home, words("Hi")).await.session);
    let (agent, scope, persona) =
        (&playing.state.agent, &playing.state.scope, &PersonaId::new("tinker"));
    let session = agent.session(scope, persona, &id).await.unwrap();
    let looks = async |count: usize| {
        for _ in 0..count {
            read(&playing, &home, id.as_str()).await;
        }
    };

    // Both have looked before either can write.
    let mut held = playing.state.store.write(&scope.space).await.unwrap();
    held.lock(&Entity::from(&id)).await.unwrap();
    let clearing = async {
        looks(5).await;
        agent.clear_session(scope, persona, &id).await
    };
    let letting = async {
        looks(20).await;
        drop(held);
    };
    let saying = agent.say_in_session(scope, session, "Go on", Follows::Leaf, None);
    let (run, cleared, ()) = tokio::join!(saying, clearing, letting);

    let run = run.unwrap();
    agent.stop(scope, &run.id).await.unwrap();
    let kept = read(&playing, &home, id.as_str()).await;
    let first = &kept["messages"][0]["parts"][0]["text"];
    match cleared {
        Ok(_) => assert_eq!(first, "Go on", "it was said after that: {kept}"),
        Err(ApiError::Busy { run_id }) => assert_eq!((run_id, first), (run.id, &json!("Hi"))),
        Err(error) => panic!("{error:?}"),
    }
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

/// The settings named the model of the present version, and another one answered.
async fn the_settings_of_a_session_name_the_model_of_its_version(house: House) {
    let home = tinker(&house).await;
    let dear = house.dear_model().await;
    let set = async |model: &str| {
        let model = json!({ "model": model });
        house.call(Method::PUT, "/api/storage/personas/tinker", model).await.good();
    };
    set(dear).await;
    let made = house.call(Method::POST, &format!("{home}/sessions"), json!({})).await.good();
    set("demo").await;

    let id = made["id"].as_str().unwrap();
    let page = house.get(&format!("/playground/tinker/{id}?settings=1")).await.text;

    assert!(page.contains("The persona’s own (demo/dear)"), "{page}");
    assert!(house.get("/playground/tinker").await.text.contains("The persona’s own (demo)"));
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

async fn a_first_message_that_is_refused_leaves_nothing_behind(house: House) {
    let home = tinker(&house).await;
    let chat = format!("{home}/chat");
    let count = async || {
        let list = house.get(&format!("{home}/sessions")).await.good();
        list["items"].as_array().unwrap().len()
    };
    let mut unknown = words("Hi");
    unknown["modelId"] = json!("no such");
    let mut named = words("Hi");
    named["id"] = json!("their-own-name");
    let again = json!({"messages": [], "trigger": "regenerate-message"});
    house.call(Method::PUT, "/api/budgets", json!({"runTokens": 1})).await.good();

    for (body, status) in [(words("Hi"), 429), (named, 429), (unknown, 422), (again, 422)] {
        let answer = house.call(Method::POST, &chat, body.clone()).await;
        assert_eq!(answer.status, status, "{body}: {}", answer.text);
    }
    let begun = [("persona", "tinker"), ("words", "Hi")];
    assert_eq!(house.function("begin_session", &begun).await.status, 429);
    assert_eq!(count().await, 0);

    // In one that is there, what was to be set with the message is not set either.
    house.call(Method::PUT, "/api/budgets", json!({})).await.good();
    let id = say(&house, &home, words("Hello")).await.session;
    let before = read(&house, &home, &id).await;
    house.call(Method::PUT, "/api/budgets", json!({"runTokens": 1})).await.good();
    let mut body = in_session(words("And now"), &id);
    body["variables"] = json!({"thing": "clocks"});
    assert_eq!(house.call(Method::POST, &chat, body.clone()).await.status, 429);
    assert_eq!(read(&house, &home, &id).await, before);
    house.call(Method::PUT, "/api/budgets", json!({})).await.good();
    say(&house, &home, body).await;
    assert_eq!(read(&house, &home, &id).await["variables"], json!({"thing": "clocks"}));
    assert_eq!(count().await, 1);
}

/// Saving a session forgot what was filled in for versions with other variables.
async fn what_is_set_for_other_versions_stays_with_a_session(house: House) {
    let home = tinker(&house).await;
    let set = json!({"variables": {"thing": "clocks", "other": "kept"}});
    let id = house.call(Method::POST, &format!("{home}/sessions"), set).await.good();
    let id = id["id"].as_str().unwrap();

    let fields = [
        ("persona", "tinker"),
        ("id", id),
        ("title", "Ours"),
        ("revision", "1"),
        ("variables[_thing]", "two\r\nlines"),
    ];
    house.function("save_session", &fields).await.good();

    let kept = read(&house, &home, id).await["variables"].clone();
    assert_eq!(kept, json!({"thing": "two\nlines", "other": "kept"}));
    let fields = [("persona", "tinker"), ("variables[_thing]", "two\r\nlines")];
    let begun = house.function("begin_session", &fields).await.good();
    let kept = read(&house, &home, begun.as_str().unwrap()).await["variables"].clone();
    assert_eq!(kept, json!({"thing": "two\nlines"}));
}

/// Each wrote all that it had read, and so undid the other.
async fn two_changes_at_once_are_both_kept(house: House) {
    let home = tinker(&house).await;
    let made = house.call(Method::POST, &format!("{home}/sessions"), json!({})).await.good();
    let id = ConversationId::new(made["id"].as_str().unwrap());
    let (agent, scope, persona) =
        (&house.state.agent, &house.state.scope, &PersonaId::new("tinker"));
    let filled = Variables::from([("thing".to_owned(), "clocks".to_owned())]);
    let first = SessionChanges { variables: Some(filled), ..SessionChanges::default() };
    let second = SessionChanges { title: Some("Ours".into()), ..SessionChanges::default() };

    // The first is read before the second is kept.
    let draft = agent.changed_session(scope, persona, &id, first).await.unwrap();
    agent.change_session(scope, persona, &id, second).await.unwrap();
    let run = agent.say_in_session(scope, draft, "Hello", Follows::Leaf, None).await.unwrap();
    agent.ended(scope, &run.id).await.unwrap();

    let kept = read(&house, &home, id.as_str()).await;
    assert_eq!((&kept["title"], &kept["variables"]), (&json!("Ours"), &json!({"thing": "clocks"})));
}

/// A name that begins with a digit was taken for a place in a list: `007` was kept as `7`, `1st` was refused.
async fn a_variable_may_be_called_by_a_number(house: House) {
    let home = tinker(&house).await;
    let prompt = json!({"systemPrompt": "{{1st}}, {{007}}, {{1}} and {{name}}."});
    house.call(Method::PUT, "/api/storage/personas/tinker", prompt).await.good();
    let page = house.get("/playground/tinker").await.text;
    let values = [("1st", "one"), ("007", "two"), ("1", "three"), ("name", "four")];
    let named = values.map(|(name, value)| (format!("variables[_{name}]"), value));
    for (field, _) in &named {
        assert!(page.contains(&format!("name=\"{field}\"")), "{field}: {page}");
    }
    let mut fields = vec![("persona", "tinker")];
    fields.extend(named.iter().map(|(field, value)| (field.as_str(), *value)));
    let all = json!({"1st": "one", "007": "two", "1": "three", "name": "four"});

    let begun = house.function("begin_session", &fields).await.good();
    let id = begun.as_str().unwrap();
    assert_eq!(read(&house, &home, id).await["variables"], all);

    fields.extend([("id", id), ("title", "Ours"), ("revision", "2"), ("variables[_1st]", "first")]);
    fields.retain(|field| *field != ("variables[_1st]", "one"));
    house.function("save_session", &fields).await.good();
    let all = json!({"1st": "first", "007": "two", "1": "three", "name": "four"});
    assert_eq!(read(&house, &home, id).await["variables"], all);
}

/// The fields of all versions together were refused as too many variables.
async fn fields_that_are_left_empty_are_no_variables(house: House) {
    let home = tinker(&house).await;
    let empty: Vec<String> = (0..60).map(|at| format!("variables[_n{at}]")).collect();
    let mut fields = vec![("persona", "tinker"), ("variables[_thing]", "clocks")];
    fields.extend(empty.iter().map(|field| (field.as_str(), "")));

    let begun = house.function("begin_session", &fields).await.good();

    let id = begun.as_str().unwrap();
    assert_eq!(read(&house, &home, id).await["variables"], json!({"thing": "clocks"}));
    fields.extend([("id", id), ("title", "Ours"), ("revision", "1")]);
    fields.retain(|field| *field != ("variables[_thing]", "clocks"));
    fields.push(("variables[_thing]", ""));
    house.function("save_session", &fields).await.good();
    assert_eq!(read(&house, &home, id).await["variables"], json!({}));
}
