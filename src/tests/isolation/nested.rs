//! What belongs to one thing is not reached through another: through one's own persona, chat or session no
//! route finds what is another's, in another Space or in one's own.

use axum::http::Method;
use greenroom::{
    agent::{NewChat, NewSession},
    domain::{
        change::{Change, Op},
        id::{ConversationId, PersonaId, TestInputId},
        line::{Next, NextItem},
        timestamp::Timestamp,
        virtual_file::{FileChange, FilePath},
    },
};

use super::{body, missing};
use crate::support::{House, on_both, request};

on_both!(no_route_finds_through_ones_own_what_is_anothers);

/// What something else has that a path can name below its owner.
struct Belongings {
    chat: ConversationId,
    waits: NextItem,
}

/// Gives a persona all of that, under names that begin with its own.
async fn furnish(house: &House, persona: &str) -> Belongings {
    let (agent, scope) = (&house.state.agent, &house.state.scope);
    let id = PersonaId::new(persona);
    let test = TestInputId::new(format!("{persona}-test"));
    let create = Change::new(&test, Op::Create).set("content", "kept").set("personaId", persona);
    house.submit(create).await.unwrap();
    let label = Change::new(&id, Op::Label).set("label", format!("{persona}-label"));
    house.submit(label.set("revision", 1)).await.unwrap();
    let session = format!("{persona}-session");
    let new = NewSession {
        id: Some(session.as_str().into()),
        persona: id.clone(),
        title: "kept".into(),
        ..NewSession::default()
    };
    agent.create_session(scope, new).await.unwrap();
    let place = agent.session_place(scope, &session.as_str().into()).await.unwrap();
    let path = FilePath::parse("kept.txt").unwrap();
    let file = FileChange { path, content: Some("kept".into()) };
    agent.put_files(scope, &place, vec![file]).await.unwrap();
    let new = NewChat { persona: id, title: "kept".into(), ..NewChat::default() };
    let chat = agent.create_chat(scope, new).await.unwrap().id;
    let waits = NextItem {
        id: format!("{persona}-next").as_str().into(),
        what: Next::Words { content: "kept".into(), after: None, device_id: None },
        held: Some("kept".into()),
        created_at: Timestamp(1),
        user: scope.user.clone(),
    };
    let mut link = house.state.store.write(&scope.space).await.unwrap();
    link.put_next(&chat, &waits).await.unwrap();
    link.commit().await.unwrap();
    Belongings { chat, waits }
}

/// What is there of all that, as its owner sees it.
async fn as_it_stands(house: &House, persona: &str, own: &Belongings) -> Vec<String> {
    let session = format!("/api/agents/{persona}/playground/sessions/{persona}-session");
    let mut stands = vec![format!("{:?}", house.read().await.line(&own.chat).await.unwrap())];
    for path in [
        format!("/api/storage/personas/{persona}/test-inputs"),
        format!("/api/storage/personas/{persona}/labels"),
        format!("{session}/files"),
        session,
    ] {
        stands.push(house.get(&path).await.text);
    }
    stands
}

async fn no_route_finds_through_ones_own_what_is_anothers(house: House) {
    let neighbour = house.neighbour().await;
    neighbour.persona("stranger", "a secret").await;
    let strangers = furnish(&neighbour, "stranger").await;
    let skeptics = furnish(&house, "skeptic").await;
    let optimists = furnish(&house, "optimist").await;
    let before = (
        as_it_stands(&neighbour, "stranger", &strangers).await,
        as_it_stands(&house, "skeptic", &skeptics).await,
    );

    let document = house.get("/api/openapi.json").await.good();
    let mut tried = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        // These name a place in something, not something that has an owner of its own.
        let places = ["{id}", "{entityType}", "{revision}", "{path}"];
        let parameters: Vec<&str> = path.split('/').filter(|part| part.starts_with('{')).collect();
        let children: Vec<&str> =
            parameters.iter().copied().filter(|part| !places.contains(part)).collect();
        if children.is_empty() || !parameters.contains(&"{id}") {
            continue;
        }
        let parent = match path {
            path if path.starts_with("/api/chats") => optimists.chat.as_str(),
            path if path.starts_with("/api/storage/personas") => "optimist",
            path if path.starts_with("/api/agents") => "optimist",
            path => panic!("{path} has something below something, and no rule here"),
        };
        for owner in ["stranger", "skeptic"] {
            for method in methods.as_object().unwrap().keys() {
                let method: Method = method.to_uppercase().parse().unwrap();
                let mut address = path
                    .replace("{id}", parent)
                    .replace("{path}", "kept.txt")
                    .replace("{revision}", "1");
                for child in &children {
                    let name = match *child {
                        "{testInputId}" => format!("{owner}-test"),
                        "{sessionId}" => format!("{owner}-session"),
                        "{nextId}" => format!("{owner}-next"),
                        // A label is put where there is none; it is not another's.
                        "{label}" if method == Method::PUT => continue,
                        "{label}" => format!("{owner}-label"),
                        child => panic!("{path}: what is {child}?"),
                    };
                    address = address.replace(child, &name);
                }
                if address.contains('{') {
                    continue;
                }
                let bytes = body(path).to_string().into_bytes();
                let answer = house.send(request(method.clone(), &address, Some(bytes))).await;
                assert_eq!(answer.status, missing(path), "{method} {address}: {}", answer.text);
                assert!(!answer.text.contains("kept"), "{method} {address}: {}", answer.text);
                tried += 1;
            }
        }
    }

    assert!(tried >= 30, "only {tried} were tried");
    let after = (
        as_it_stands(&neighbour, "stranger", &strangers).await,
        as_it_stands(&house, "skeptic", &skeptics).await,
    );
    assert_eq!(after, before);
    assert_eq!(house.read().await.line(&optimists.chat).await.unwrap(), [optimists.waits]);
    // Nor through the pages' own functions.
    let through = [("persona", "optimist"), ("id", "skeptic-session")];
    let file = [("persona", "optimist"), ("session", "skeptic-session"), ("path", "kept.txt")];
    let next = [("chat", optimists.chat.as_str()), ("id", "skeptic-next")];
    let save = [through[0], through[1], ("title", "taken over"), ("revision", "1")];
    let functions: &[(&str, &[(&str, &str)])] = &[
        ("open_session", &through),
        ("clear_session", &through),
        ("delete_session", &through),
        ("save_session", &save),
        ("save_file", &[file[0], file[1], file[2], ("content", "taken over")]),
        ("delete_file", &file),
        ("hold_next", &next),
        ("release_next", &next),
        ("drop_next", &next),
    ];
    for (function, fields) in functions.iter().copied() {
        let answer = house.function(function, fields).await;
        assert_eq!(answer.status, 404, "{function}: {}", answer.text);
    }
    assert_eq!(as_it_stands(&house, "skeptic", &skeptics).await, before.1);
}
