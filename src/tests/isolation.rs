//! Nothing of one Space can be read or written from another, through any route that takes an id.

mod bodies;
mod forms;
mod nested;
mod queries;
mod tools;

use axum::http::Method;
use greenroom::{
    accounts::Class,
    agent::{ChatWords, NewChat, NewSession},
    domain::{
        account::Role,
        change::{Change, Entity, EntityKind, Op},
        line::{Next, NextItem},
        publication::PublishWish,
        run::Run,
        terminal::{TerminalSession, TerminalSettings},
        timestamp::Timestamp,
        virtual_file::{FileChange, FilePath},
    },
    server::class_of,
};
use serde_json::{Value, json};

use crate::{
    accounts::rules::ruled,
    support::{House, error, on_both, request},
};

on_both!(no_route_reaches_into_another_space, no_account_reaches_into_another_space,);

/// The same where the owner of one Space signs in to a server that has another.
async fn no_account_reaches_into_another_space(house: House) {
    let people = [("ann", Role::Owner)];
    let signed_in = house.with_accounts(&people).await.signed_in("ann").await;
    no_route_reaches_into_another_space(signed_in).await;
}

#[tokio::test]
async fn news_of_one_space_are_told_in_no_other() {
    let house = House::new().await;
    let neighbour = house.neighbour().await;
    let live = || request(Method::GET, "/api/live", None);
    let (mut heard, mut theirs) = (house.stream(live()).await, neighbour.stream(live()).await);

    neighbour.persona("secret", "a secret").await;
    while theirs.next().await.unwrap().1["entityId"] != "secret" {}
    house.persona("open", "for all to see").await;

    loop {
        let (_, told) = heard.next().await.unwrap();
        assert!(!told.to_string().contains("secret"), "{told}");
        if told["entityId"] == "open" {
            break;
        }
    }
}

/// A good value for every parameter that a path can have, pointing at the neighbour's things.
fn filled(path: &str, label: &str, change: &str, run: &Run, chat: &Run, picture: &str) -> String {
    let owner_of_id = match path {
        path if path.starts_with("/api/changes") => change,
        path if path.starts_with("/conflicts") || path.starts_with("/rail/drafts") => change,
        path if path.starts_with("/api/pending-changes") => change,
        path if path.starts_with("/api/conversations") => run.conversation_id.as_str(),
        path if path.starts_with("/api/chats") => chat.conversation_id.as_str(),
        path if path.starts_with("/chats") => chat.conversation_id.as_str(),
        path if path.starts_with("/api/messages") => chat.reply_id.as_str(),
        path if path.starts_with("/api/pictures") => picture,
        path if path.starts_with("/api/runs") => run.id.as_str(),
        path if path.starts_with("/rail/runs") => run.id.as_str(),
        path if path.contains("/traces/") => run.id.as_str(),
        path if path.contains("/pages/") => "secret-page",
        path if path.contains("/refs/") => "secret-ref",
        path if path.contains("/tasks/") => "secret-task",
        path if path.starts_with("/terminal") => "secret-terminal",
        _ => "secret",
    };
    let session =
        if path.starts_with("/api/terminal") { "secret-terminal" } else { "secret-session" };
    path.replace("{id}", owner_of_id)
        .replace("{sessionId}", session)
        .replace("{session}", session)
        .replace("{rest}", "secret")
        .replace("{path}", "secret.txt")
        .replace("{testInputId}", "secret-test")
        .replace("{nextId}", "secret-next")
        .replace("{revision}", "1")
        .replace("{label}", label)
        .replace("{entityType}", "persona")
}

/// What is answered for what is another's: it is not there. Where nothing goes on there is nothing to be resumed,
/// whosever it is.
fn missing(path: &str) -> u16 {
    if path.contains("/playground/") && path.ends_with("/stream") { 204 } else { 404 }
}

/// The same address for the neighbour's other things, where it can name them.
fn filled_with_others(path: &str, chat: &Run) -> Vec<String> {
    let others = [
        ("test_input", "secret-test"),
        ("page", "secret-page"),
        ("ref", "secret-ref"),
        ("task", "secret-task"),
        ("chat", chat.conversation_id.as_str()),
    ];
    let named = |(kind, id): (&str, &str)| path.replace("{entityType}", kind).replace("{id}", id);
    if path.contains("{entityType}") { others.map(named).into() } else { Vec::new() }
}

/// A body that every write would take, if only the row were ours.
pub(crate) fn body(path: &str) -> Value {
    match path.rsplit('/').next() {
        Some("{label}") => json!({"revision": 1}),
        Some("branch") => json!({"step": 1}),
        Some("chat") => json!({"messages": [{"role": "user", "content": "Hi"}]}),
        Some("{path}") => json!({"content": "taken over"}),
        Some("leaf") if path.starts_with("/api/agents") => json!({"leaf": "x"}),
        Some("leaf") => json!({"leaf": "x", "deviceId": "phone"}),
        Some("{id}") if path.starts_with("/api/messages") => json!({"label": "taken over"}),
        Some("rating") => json!({"rating": 1}),
        Some("messages" | "edit" | "queue") => json!({"content": "Hi"}),
        Some("{nextId}") => json!({"held": false}),
        Some("test-inputs" | "{testInputId}") => json!({"content": "taken over"}),
        Some("{id}") if path.starts_with("/api/storage/personas") => json!({"name": "taken over"}),
        Some("{id}") => json!({"title": "taken over"}),
        _ => json!({}),
    }
}

async fn no_route_reaches_into_another_space(house: House) {
    let neighbour = house.neighbour().await;
    let id = neighbour.persona("secret", "a secret").await;
    let test = greenroom::domain::id::TestInputId::new("secret-test");
    let create = Change::new(&test, Op::Create).set("content", "x").set("personaId", id.as_str());
    let change = neighbour.submit(create).await.unwrap().change_id.unwrap();
    let label = Change::new(&id, Op::Label).set("label", "production").set("revision", 1);
    neighbour.submit(label).await.unwrap();
    let wish = PublishWish { slug: Some("the-secret".into()), ..PublishWish::default() };
    neighbour.gate().publish(&id, wish).await.unwrap();
    let (agent, scope) = (&neighbour.state.agent, &neighbour.state.scope);
    let new = NewSession {
        id: Some("secret-session".into()),
        persona: id.clone(),
        title: "a secret".into(),
        ..NewSession::default()
    };
    agent.create_session(scope, new).await.unwrap();
    let place = agent.session_place(scope, &"secret-session".into()).await.unwrap();
    let file = FileChange {
        path: FilePath::parse("secret.txt").unwrap(),
        content: Some("a secret".into()),
    };
    agent.put_files(scope, &place, vec![file]).await.unwrap();
    let asked = agent.send(scope, &id, "Tell me a secret", None).await;
    let asked = asked.unwrap();
    let run = asked.id.clone();
    neighbour.state.agent.ended(&neighbour.state.scope, &run).await.unwrap();
    let new = NewChat { persona: id.clone(), title: "a secret".into(), ..NewChat::default() };
    let chat = agent.create_chat(scope, new).await.unwrap();
    let words = ChatWords { content: "Tell me a secret".into(), ..ChatWords::default() };
    let chatted = agent.say_in_chat(scope, &chat.id, words).await.unwrap();
    neighbour.state.agent.ended(&neighbour.state.scope, &chatted.id).await.unwrap();
    let tree = neighbour.get(&format!("/api/chats/{}/tree", chat.id)).await.good();
    for kind in [EntityKind::Page, EntityKind::Ref, EntityKind::Task] {
        let id = format!("secret-{}", kind.word());
        let mut create = Change::new(Entity::new(kind, &id), Op::Create).set("title", "a secret");
        if kind == EntityKind::Ref {
            create = create.set("url", "https://example.org/a-secret");
        }
        neighbour.submit(create).await.unwrap();
    }
    neighbour.state.jobs.work_off().await.unwrap();
    let pictures = neighbour.get("/api/pictures").await.good();
    let picture = pictures["items"][0]["id"].as_str().unwrap();
    assert_eq!(pictures["items"][0]["state"], "done", "{pictures}");
    let mut link = neighbour.state.store.write(&scope.space).await.unwrap();
    let waits = NextItem {
        id: "secret-next".into(),
        what: Next::Words { content: "a secret".into(), after: None, device_id: None },
        held: Some("a secret".into()),
        created_at: Timestamp(1),
        user: scope.user.clone(),
    };
    link.put_next(&chat.id, &waits).await.unwrap();
    link.commit().await.unwrap();
    let mut link = neighbour.state.store.write(&scope.space).await.unwrap();
    let terminal = TerminalSession {
        id: "secret-terminal".into(),
        description: "a secret".into(),
        settings: TerminalSettings { model: "demo".into(), ..TerminalSettings::default() },
        turns: 0,
        leaf: None,
        created_at: Timestamp(1),
        updated_at: Timestamp(1),
        deleted_at: None,
    };
    link.insert_terminal(&terminal).await.unwrap();
    link.commit().await.unwrap();
    let before = neighbour.read().await.audit(None, 200).await.unwrap();

    let mut tried = 0;
    for (method, path) in ruled() {
        // What anybody may know is no secret.
        if !path.contains('{') || class_of(&method, path) == Some(Class::Public) {
            continue;
        }
        let persona = filled(path, "production", change.as_str(), &asked, &chatted, picture);
        for address in std::iter::once(persona).chain(filled_with_others(path, &chatted)) {
            let message = &asked.message_id;
            let address = format!("{address}?from=1&to=1&messageId={message}");
            let bytes = body(path).to_string().into_bytes();
            let answer = house.send(request(method.clone(), &address, Some(bytes))).await;
            assert_eq!(answer.status, missing(path), "{method} {address}: {}", answer.text);
            assert!(!answer.text.contains("a secret"), "{method} {address}");
            tried += 1;
        }
    }
    assert!(tried >= 100, "only {tried} routes take an id");
    let picture_page = format!("/gallery?picture={picture}");
    for page in [
        picture_page.as_str(),
        "/gallery?persona=secret",
        "/personas/secret?workbench=enhance",
        "/personas/secret?workbench=publish",
        "/pages/secret-page?preview=1",
        "/pages/secret-page?versions=1",
    ] {
        let answer = house.get(page).await;
        assert_eq!(answer.status, 404, "{page}");
        assert!(!answer.text.contains("a secret"), "{page}");
    }
    let page = [("kind", "page"), ("id", "secret-page"), ("revision", "1")];
    let reply = chatted.reply_id.as_str();
    let session = [("persona", "secret"), ("id", "secret-session")];
    let in_session = [("persona", "secret"), ("session", "secret-session")];
    let functions: &[(&str, &[(&str, &str)])] = &[
        ("open_persona", &[("id", "secret")]),
        ("save_persona", &[("id", "secret"), ("revision", "1"), ("form[name]", "taken over")]),
        ("duplicate_persona", &[("id", "secret")]),
        ("delete_persona", &[("id", "secret")]),
        ("open_enhance", &[("id", "secret")]),
        ("enhance_persona", &[("id", "secret"), ("what", "voice")]),
        ("open_publish", &[("id", "secret")]),
        ("publish_persona", &[("id", "secret"), ("revision", "1")]),
        ("publish_version", &[("id", "secret"), ("revision", "1")]),
        ("unpublish_persona", &[("id", "secret")]),
        ("list_versions", &[("id", "secret")]),
        ("compare_versions", &[("id", "secret"), ("from", "1"), ("to", "1")]),
        ("restore_version", &[("id", "secret"), ("revision", "1")]),
        ("set_label", &[("id", "secret"), ("label", "production"), ("revision", "1")]),
        ("undo_change", &[("id", change.as_str())]),
        ("add_test_input", &[("persona", "secret"), ("content", "x")]),
        ("save_test_input", &[("id", "secret-test"), ("revision", "1"), ("form[content]", "x")]),
        ("move_test_input", &[("id", "secret-test"), ("way", "up")]),
        ("delete_test_input", &[("id", "secret-test")]),
        ("restore_from_bin", &[("kind", "persona"), ("id", "secret")]),
        ("purge_from_bin", &[("kind", "persona"), ("id", "secret")]),
        ("restore_from_bin", &[("kind", "terminal"), ("id", "secret-terminal")]),
        ("purge_from_bin", &[("kind", "terminal"), ("id", "secret-terminal")]),
        ("open_conflict", &[("id", change.as_str())]),
        ("save_kept", &[("id", change.as_str()), ("fields[name]", "taken over")]),
        ("run_test_input", &[("id", "secret-test")]),
        ("run_all_test_inputs", &[("persona", "secret")]),
        ("earlier_answers", &[("id", "secret-test")]),
        ("last_answers", &[("persona", "secret")]),
        ("stop_run", &[("id", run.as_str())]),
        ("retry_run", &[("id", run.as_str())]),
        ("go_on_run", &[("id", run.as_str())]),
        ("approve_draft", &[("id", change.as_str()), ("take", "all")]),
        ("reject_draft", &[("id", change.as_str())]),
        ("reopen_draft", &[("id", change.as_str())]),
        ("decide_drafts", &[("ids[0]", change.as_str()), ("decision", "approve")]),
        ("open_page", &[("id", "secret-page")]),
        ("read_page", &[("id", "secret-page")]),
        ("open_ref", &[("id", "secret-ref")]),
        ("fetch_ref", &[("id", "secret-ref")]),
        ("open_task", &[("id", "secret-task")]),
        ("save_entry", &[page[0], page[1], page[2], ("fields[title]", "taken over")]),
        ("delete_entry", &page[..2]),
        ("list_entry_versions", &page[..2]),
        ("compare_entry_versions", &[page[0], page[1], ("from", "1"), ("to", "1")]),
        ("restore_entry_version", &page),
        ("begin_chat", &[("persona", "secret")]),
        ("open_chat", &[("id", chat.id.as_str())]),
        (
            "save_chat",
            &[("id", chat.id.as_str()), ("revision", "1"), ("title", "x"), ("mode", "story")],
        ),
        ("update_chat_persona", &[("id", chat.id.as_str())]),
        ("delete_chat", &[("id", chat.id.as_str())]),
        ("rename_chat", &[("id", chat.id.as_str()), ("title", "taken over")]),
        ("set_speakers", &[("id", chat.id.as_str()), ("revision", "1"), ("personas[0]", "secret")]),
        ("hold_next", &[("chat", chat.id.as_str()), ("id", "secret-next")]),
        ("release_next", &[("chat", chat.id.as_str()), ("id", "secret-next")]),
        ("drop_next", &[("chat", chat.id.as_str()), ("id", "secret-next")]),
        ("map_chat", &[("id", chat.id.as_str())]),
        ("compare_branches", &[("id", chat.id.as_str()), ("left", reply), ("right", reply)]),
        ("edit_paragraph", &[("id", reply), ("number", "0"), ("content", "x")]),
        ("save_roleplay", &[("id", "secret"), ("revision", "1"), ("summary", "taken over")]),
        ("draw_roleplay", &[("id", "secret")]),
        ("go_to_message", &[("chat", chat.id.as_str()), ("id", reply)]),
        ("regenerate_message", &[("id", reply)]),
        ("edit_message", &[("id", reply), ("content", "x")]),
        ("mark_message", &[("id", reply), ("form[label]", "x")]),
        ("prune_message", &[("id", reply)]),
        ("keep_as_test", &[("id", reply)]),
        ("what_was_sent", &[("id", reply)]),
        ("open_trace", &[("id", run.as_str())]),
        ("open_playground", &[("persona", "secret")]),
        ("begin_session", &[("persona", "secret"), ("words", "Hi")]),
        ("set_tools", &[("persona", "secret"), ("tools[0]", "ls")]),
        ("open_session", &session),
        ("clear_session", &session),
        ("delete_session", &session),
        ("save_session", &[session[0], session[1], ("title", "taken over"), ("revision", "1")]),
        ("go_to_in_session", &[in_session[0], in_session[1], ("id", reply)]),
        ("answer_again", &[in_session[0], in_session[1], ("id", reply)]),
        ("say_otherwise", &[in_session[0], in_session[1], ("id", reply), ("content", "x")]),
        ("save_file", &[in_session[0], in_session[1], ("path", "secret.txt"), ("content", "x")]),
        ("delete_file", &[in_session[0], in_session[1], ("path", "secret.txt")]),
        ("open_terminal", &[("id", "secret-terminal")]),
        ("delete_terminal", &[("id", "secret-terminal")]),
        ("describe_terminal", &[("id", "secret-terminal"), ("description", "x")]),
        ("run_on", &[("run", run.as_str()), ("step", "1")]),
        ("open_gallery", &[("picture", picture)]),
        ("imagine_picture", &[("message", reply)]),
        ("retry_picture", &[("id", picture)]),
        ("delete_picture", &[("id", picture)]),
        ("make_face", &[("id", picture), ("persona", "optimist")]),
    ];
    for (function, fields) in functions.iter().copied() {
        let answer = house.function(function, fields).await;
        assert_eq!(answer.status, 404, "{function}: {}", answer.text);
    }
    for address in [
        format!("/rail?at=/&conversation={}", asked.conversation_id),
        format!("/rail/turns?conversation={}&until={}", asked.conversation_id, asked.message_id),
        format!("/rail/answers/{run}"),
        format!("/rail/answers/{},{run}", chatted.id),
        format!("/rail/runs/{run}"),
        format!("/rail/runs/{run},{}", chatted.id),
        format!("/rail/drafts/{change}"),
    ] {
        let answer = house.get(&address).await;
        assert_eq!(answer.status, 404, "{address}: {}", answer.text);
    }
    // Where nothing of ours is, our own companion listens.
    let rail = house.get("/rail?at=/personas/secret").await;
    assert!(rail.status == 200 && rail.text.contains("Companion"), "{}", rail.text);
    assert!(!rail.text.contains("secret’s agent"), "{}", rail.text);
    house.function("say", &[("at", "/personas/secret"), ("words", "Hi")]).await.good();
    // Lists give nothing away, however they are asked.
    assert_eq!(
        house.function("list_test_inputs", &[("persona", "secret")]).await.good(),
        json!([])
    );
    for (function, fields) in [
        ("list_entries", ("kind", "page")),
        ("find_things", ("text", "secret")),
        ("find_targets", ("text", "secret")),
        ("list_chats", ("persona", "secret")),
        ("list_terminals", ("deleted", "false")),
    ] {
        let answer = house.function(function, &[fields]).await;
        assert!(answer.status.is_success() && !answer.text.contains("a secret"), "{answer:?}");
    }
    for (path, method) in [
        ("/api/persona-agent/chat", Method::POST),
        ("/api/persona-agent/clear", Method::POST),
        ("/api/persona-agent/history?personaId=secret", Method::GET),
    ] {
        let mut said = json!({"personaId": "secret"});
        if path.ends_with("chat") {
            said["message"] = json!("Hi");
        }
        assert_eq!(house.call(method, path, said).await.status, 404, "{path}");
    }
    for list in ["personas?search=secret", "pages?q=secret", "refs?q=secret", "tasks?q=secret"] {
        let found = house.get(&format!("/api/storage/{list}")).await.good();
        assert_eq!(found["items"], json!([]), "{list}");
    }

    let drafts = house.get("/api/pending-changes?personaId=secret").await.good();
    assert_eq!(drafts["items"], json!([]));
    assert_eq!(house.get("/api/chats").await.good()["items"], json!([]));
    assert_eq!(house.get("/api/terminal/sessions").await.good()["items"], json!([]));
    assert_eq!(house.get("/api/terminal/problems").await.good()["items"], json!([]));
    let found = house.get("/api/terminal/find?session=a%20secret").await;
    assert_eq!(found.status, 404, "{}", found.text);
    let known = neighbour.get(&format!("/api/chats/{}/tree", chat.id)).await.good();
    assert_eq!(known, tree);
    // What runs did and took there is told nowhere else.
    let own: Vec<Value> =
        house.get("/api/traces?personaId=secret").await.good()["items"].as_array().unwrap().clone();
    assert_eq!(own, Vec::<Value>::new());
    let usage = house.get("/api/usage").await.good();
    assert!(!usage.to_string().contains("secret"), "{usage}");
    // Pictures are another Space's to see, and no face of one's own persona.
    assert_eq!(house.get("/api/pictures").await.good()["items"], json!([]));
    assert_eq!(house.get("/api/pictures?personaId=secret").await.good()["items"], json!([]));
    for asked in [json!({"prompt": "x", "personaId": "secret"}), json!({"messageId": reply})] {
        assert_eq!(house.call(Method::POST, "/api/pictures", asked).await.status, 404);
    }
    let face = json!({"face": picture});
    let answer = house.call(Method::PUT, "/api/storage/personas/optimist", face).await;
    assert_eq!(answer.error(), error(404, "not_found", ""));
    assert_eq!(neighbour.get("/api/pictures").await.good(), pictures);
    // A leaf or a parent of another Space is no message of one's own chat.
    let new = NewChat { persona: "optimist".into(), ..NewChat::default() };
    let own = house.state.agent.create_chat(&house.state.scope, new).await.unwrap();
    let messages = format!("/api/chats/{}/messages", own.id);
    for name in ["leaf", "around", "before"] {
        let answer = house.get(&format!("{messages}?{name}={}", chatted.reply_id)).await;
        assert_eq!(answer.error(), error(404, "not_found", ""), "{name}");
    }
    let said = json!({"content": "Hi", "parentId": chatted.reply_id});
    let answer = house.call(Method::POST, &messages, said).await;
    assert_eq!(answer.error(), error(404, "not_found", ""));

    // A persona of another Space speaks in no chat of one's own, and is named in none.
    let members = json!(["optimist", "secret"]);
    let with = json!({"personaIds": members});
    let answer = house.call(Method::POST, "/api/chats", with).await;
    assert_eq!(answer.error(), error(404, "not_found", ""));
    let path = format!("/api/chats/{}", own.id);
    let answer = house.call(Method::PATCH, &path, json!({"members": members})).await;
    assert_eq!(answer.error(), error(404, "not_found", ""));
    let fields = [("id", own.id.as_str()), ("revision", "1"), ("personas[0]", "secret")];
    assert_eq!(house.function("set_speakers", &fields).await.status, 404);
    let said = json!([
        {"id": "a", "role": "user", "content": "Hi"},
        {"id": "b", "parentId": "a", "role": "assistant", "personaId": "secret", "content": "Ho"},
    ]);
    let file = |first: &str| {
        json!({"format": "greenroom-chat", "personaId": first, "personaIds": [first, "secret"],
            "messages": said})
    };
    let answer = house.call(Method::POST, "/api/chats/import", file("secret")).await;
    assert_eq!(answer.error(), error(404, "not_found", ""));
    let made = house.call(Method::POST, "/api/chats/import", file("optimist")).await.good();
    assert_eq!(made["members"].as_array().unwrap().len(), 1);
    let path = format!("/api/chats/{}/messages", made["id"].as_str().unwrap());
    let page = house.get(&path).await.good();
    assert_eq!(page["items"][1]["personaId"], Value::Null);
    assert_eq!(house.get("/api/chats").await.good()["items"].as_array().unwrap().len(), 2);

    assert_eq!(neighbour.read().await.line(&chat.id).await.unwrap(), [waits]);
    assert_eq!(neighbour.read().await.audit(None, 200).await.unwrap(), before);
    assert_eq!(neighbour.read().await.persona(&id).await.unwrap().fields.name, "secret");
    let known: Vec<&str> = functions.iter().map(|(name, _)| *name).collect();
    let free = [
        "list_personas",
        "create_persona",
        "preview_markdown",
        "list_test_inputs",
        "list_entries",
        "create_entry",
        "find_things",
        "find_targets",
        "list_chats",
        "list_terminals",
        "list_models",
        "list_traces",
        "read_usage",
        "read_budgets",
        "save_budgets",
        "save_service",
        "reset_service",
        "add_model",
        "remove_model",
        "set_default_model",
        "read_picture_settings",
        "save_picture_settings",
        "say",
        "start_afresh",
        "list_drafts",
        "list_audit",
        "list_bin",
        "empty_bin",
        "set_theme",
    ];
    for path in crate::support::server_functions() {
        let name = path.trim_start_matches("/fn/");
        assert!(known.contains(&name) || free.contains(&name), "{name} has no rule here");
    }
}
