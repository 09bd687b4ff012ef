//! The workbench: improvements that come as drafts, forms without JavaScript, and the chat's tabs.

use axum::http::Method;
use serde_json::json;

use crate::support::{House, error, on_both, request};

on_both!(
    improvements_are_drafts_even_where_the_agent_may_act,
    improvements_are_drafts_at_every_tier,
    a_persona_is_published_by_forms,
);

const OPTIMIST: &str = "/api/storage/personas/optimist";

/// Waits for what was asked for.
async fn ended(house: &House, run: &str) {
    house.state.agent.ended(&house.state.scope, &run.into()).await.unwrap();
}

async fn drafts(house: &House) -> Vec<serde_json::Value> {
    let page = house.get("/api/pending-changes?personaId=optimist").await.good();
    page["items"].as_array().unwrap().clone()
}

async fn improvements_are_drafts_even_where_the_agent_may_act(house: House) {
    house.call(Method::PUT, OPTIMIST, json!({"tier": "act"})).await.good();
    let before = house.get(OPTIMIST).await.good();

    let run = house.function("enhance_persona", &[("id", "optimist"), ("what", "voice")]).await;
    let run = run.good().as_str().unwrap().to_owned();
    ended(&house, &run).await;

    assert_eq!(house.get(OPTIMIST).await.good()["systemPrompt"], before["systemPrompt"]);
    let waiting = drafts(&house).await;
    assert_eq!(waiting.len(), 1, "{waiting:?}");
    assert_eq!(waiting[0]["diff"][0]["field"], "systemPrompt");
    let page = house.get("/personas/optimist?workbench=enhance").await;
    assert!(page.text.contains("workbench-draft-"), "{}", page.text);
    let inbox = house.get("/inbox?persona=optimist").await.text;
    assert!(inbox.contains("inbox-draft-"), "{inbox}");
    assert!(!house.get("/inbox?persona=skeptic").await.text.contains("inbox-draft-"));

    // Asked again, it still drafts; in its own words, the agent may act.
    let again = house.function("retry_run", &[("id", &run)]).await.good();
    ended(&house, again.as_str().unwrap()).await;
    assert_eq!(house.get(OPTIMIST).await.good()["systemPrompt"], before["systemPrompt"]);
    let said = [("at", "/personas/optimist"), ("words", "Add 'Be kind.' to the system prompt")];
    let said = house.function("say", &said).await.good();
    ended(&house, said.as_str().unwrap()).await;
    let prompt = house.get(OPTIMIST).await.good()["systemPrompt"].as_str().unwrap().to_owned();
    assert!(prompt.ends_with("Be kind."), "{prompt}");

    let inputs = [("id", "optimist"), ("what", "test_inputs"), ("words", "Be gentle.")];
    let run = house.function("enhance_persona", &inputs).await.good();
    ended(&house, run.as_str().unwrap()).await;
    let kinds = drafts(&house).await;
    let made = kinds.iter().filter(|draft| draft["entityType"] == "test_input").count();
    assert_eq!(made, 2, "{kinds:?}");
    for (what, words) in [("own", " "), ("voice", &"x".repeat(2001)[..])] {
        let fields = [("id", "optimist"), ("what", what), ("words", words)];
        assert_eq!(house.function("enhance_persona", &fields).await.status, 422, "{what}");
    }
    let nobody = house.function("enhance_persona", &[("id", "nobody")]).await;
    assert_eq!(nobody.status, 404);
}

async fn improvements_are_drafts_at_every_tier(house: House) {
    let before = house.get(OPTIMIST).await.good();
    let ids = async || -> Vec<serde_json::Value> {
        drafts(&house).await.iter().map(|draft| draft["id"].clone()).collect()
    };
    for (tier, what) in [("read", "voice"), ("suggest", "test_inputs"), ("act", "contradictions")] {
        house.call(Method::PUT, OPTIMIST, json!({"tier": tier})).await.good();
        let known = ids().await;

        let page = house.get("/personas/optimist?workbench=enhance").await.text;
        let run = house.function("enhance_persona", &[("id", "optimist"), ("what", what)]).await;
        ended(&house, run.good().as_str().unwrap()).await;

        assert!(page.contains("Ask for drafts") && page.contains("Ask your companion"), "{page}");
        assert!(ids().await.iter().any(|id| !known.contains(id)), "{tier}: no draft came");
        let now = house.get(OPTIMIST).await.good();
        assert_eq!(now["systemPrompt"], before["systemPrompt"], "{tier}");
        assert_eq!(now["tier"], tier, "it stays as it was set");
    }
    // In its own words, an agent that may only read still changes and drafts nothing.
    house.call(Method::PUT, OPTIMIST, json!({"tier": "read"})).await.good();
    let known = ids().await;
    let said = [("at", "/personas/optimist"), ("words", "Add 'Be kind.' to the system prompt")];
    let said = house.function("say", &said).await.good();
    ended(&house, said.as_str().unwrap()).await;
    assert_eq!(ids().await, known);
}

async fn a_persona_is_published_by_forms(house: House) {
    let tab = "/personas/optimist?workbench=publish";
    let page = house.get(tab).await;
    assert!(page.status == 200 && page.text.contains("Not public."), "{}", page.text);
    let form = async |name: &str, fields: &[(&str, &str)]| {
        let answer = house.form(&format!("/fn/{name}"), tab, fields).await;
        assert_eq!(answer.status, 302, "{}", answer.text);
        answer.header("location").to_owned()
    };
    let own = [("id", "optimist"), ("revision", "1"), ("address", "own"), ("slug", "by-form")];

    let shows = [&own[..], &[("shows_prompt", "true")]].concat();
    assert!(form("publish_persona", &shows).await.ends_with(tab));

    let page = house.get(tab).await;
    for part in ["v1 is public.", "http://127.0.0.1:3000/p/by-form", "Unpublish", "Copy the link"] {
        assert!(page.text.contains(part), "{part}: {}", page.text);
    }
    let public = house.get("/p/by-form").await;
    assert!(public.text.contains("System prompt"), "{}", public.text);
    house.call(Method::PUT, OPTIMIST, json!({"name": "Newer"})).await.good();
    let page = house.get(tab).await;
    for part in ["v1 is public; the persona is at v2.", "Publish v2"] {
        assert!(page.text.contains(part), "{part}: {}", page.text);
    }
    form("publish_version", &[("id", "optimist"), ("revision", "2")]).await;
    assert!(house.get("/p/by-form").await.text.contains("<title>Newer</title>"));
    // What is not ticked is not shown any more, and the address stays.
    let kept = [("id", "optimist"), ("revision", "2"), ("address", "kept")];
    form("publish_persona", &kept).await;
    assert!(!house.get("/p/by-form").await.text.contains("System prompt"));
    let refused = [("id", "optimist"), ("revision", "2"), ("address", "own"), ("slug", "")];
    let refused = form("publish_persona", &refused).await;
    assert!(refused.contains("__err"), "{refused}");
    assert_eq!(house.get("/p/by-form").await.status, 200);
    form("unpublish_persona", &[("id", "optimist")]).await;
    assert_eq!(house.get("/p/by-form").await.status, 404);
}

#[tokio::test]
async fn the_workbench_of_a_chat_lists_the_chats_with_its_persona() {
    let house = House::new().await;
    let begin = async |persona: &str, title: &str| {
        let new = json!({"personaId": persona, "title": title});
        let chat = house.call(Method::POST, "/api/chats", new).await.good();
        chat["id"].as_str().unwrap().to_owned()
    };
    let here = begin("optimist", "Open chat").await;
    let other = begin("optimist", "Other chat").await;
    begin("skeptic", "Foreign chat").await;

    let page = house.get(&format!("/chats/{here}?chats=1")).await.text;

    for part in ["Open chat", "Other chat", "New chat", &format!("/chats/{other}?chats=1")] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("Foreign chat"));
    let marked = format!(r#"href="/chats/{here}?chats=1" aria-current="page""#);
    assert!(page.contains(&marked), "{page}");
    let settings = house.get(&format!("/chats/{here}?settings=1")).await.text;
    assert!(settings.contains("workbench-title") && settings.contains("chat-window"), "{settings}");
    assert!(!house.get(&format!("/chats/{here}")).await.text.contains("workbench-title"));
}

#[tokio::test]
async fn a_workbench_of_nobody_is_not_found() {
    let house = House::new().await;

    for tab in ["enhance", "publish"] {
        let page = house.get(&format!("/personas/nobody?workbench={tab}")).await;
        assert_eq!(page.status, 404);
    }
    let deleted = house.send(request(Method::DELETE, OPTIMIST, None)).await;
    deleted.good();
    let publish = house.function("publish_version", &[("id", "optimist"), ("revision", "1")]).await;
    assert_eq!(publish.status, 404);
    let asked = house.call(Method::POST, &format!("{OPTIMIST}/publication"), json!({})).await;
    assert_eq!(asked.error(), error(404, "not_found", ""));
}
