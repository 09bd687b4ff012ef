//! Publishing a version of a persona: what is public, where, and what never is.

use axum::http::Method;
use greenroom::domain::{
    account::Role,
    actor::Actor,
    change::{Change, Op},
    persona::Tier,
};
use serde_json::{Value, json};

use crate::support::{Answer, House, error, on_both, request};

on_both!(
    a_version_is_published_and_stays_as_it_was,
    the_page_shows_what_was_chosen_and_nothing_else,
    an_address_is_taken_once_in_the_whole_house,
    of_two_who_want_one_address_at_once_one_gets_it,
    what_is_public_goes_and_comes_with_the_bin,
    nothing_can_be_done_at_a_public_address_but_read,
    every_step_is_told_and_can_be_taken_back,
    bad_wishes_are_told_and_change_nothing,
    only_a_person_publishes,
);

const OPTIMIST: &str = "/api/storage/personas/optimist";
const PUBLIC: &str = "/api/storage/personas/optimist/publication";

async fn publish(house: &House, wish: Value) -> Answer {
    house.call(Method::POST, PUBLIC, wish).await
}

async fn delete(house: &House, path: &str) -> Answer {
    house.send(request(Method::DELETE, path, None)).await
}

async fn rename(house: &House, name: &str) {
    house.call(Method::PUT, OPTIMIST, json!({"name": name})).await.good();
}

/// Runs a new test input of the optimist, and gives its identifier.
async fn answered(house: &House, content: &str) -> String {
    let inputs = format!("{OPTIMIST}/test-inputs");
    let made = house.call(Method::POST, &inputs, json!({"content": content})).await.good();
    let id = made["id"].as_str().unwrap().to_owned();
    run(house, &id).await;
    id
}

async fn run(house: &House, id: &str) {
    let answer = house.function("run_test_input", &[("id", id)]).await.good();
    let run = answer["answer"]["runId"].as_str().unwrap();
    house.state.agent.ended(&house.state.scope, &run.into()).await.unwrap();
}

async fn a_version_is_published_and_stays_as_it_was(house: House) {
    assert_eq!(house.get(PUBLIC).await.error(), error(404, "not_found", ""));

    let made = publish(&house, json!({})).await.good();

    let slug = made["slug"].as_str().unwrap().to_owned();
    assert_eq!(slug.len(), 26, "{slug}");
    assert_eq!((&made["revision"], &made["currentRevision"]), (&json!(1), &json!(1)));
    assert_eq!((&made["showsPrompt"], &made["indexed"]), (&json!(false), &json!(false)));
    assert_eq!((&made["examples"], &made["publishedBy"]), (&json!([]), &json!("owner")));
    let path = made["path"].as_str().unwrap().to_owned();
    assert_eq!(path, format!("/p/{slug}"));
    let page = house.get(&path).await;
    assert_eq!(page.status, 200);
    assert!(page.text.contains("<title>Optimist</title>"), "{}", page.text);

    rename(&house, "Somebody else").await;
    assert_eq!(house.get(&path).await.text, page.text, "the version is pinned");
    let known = house.get(PUBLIC).await.good();
    assert_eq!((&known["revision"], &known["currentRevision"]), (&json!(1), &json!(2)));
    // What is not said stays: the version too.
    let listed = publish(&house, json!({"indexed": true})).await.good();
    assert_eq!((&listed["revision"], &listed["slug"]), (&json!(1), &json!(slug)));

    publish(&house, json!({"revision": 2})).await.good();
    assert!(house.get(&path).await.text.contains("<title>Somebody else</title>"));
    let moved = publish(&house, json!({"slug": "some-body"})).await.good();
    assert_eq!(moved["path"], "/p/some-body");
    assert_eq!(house.get("/p/some-body").await.status, 200);
    assert_eq!(house.get(&path).await.status, 404, "the old address is gone");
    let again = publish(&house, json!({"slug": ""})).await.good();
    assert_ne!(again["slug"], json!(slug));

    let again = again["path"].as_str().unwrap();
    delete(&house, PUBLIC).await.good();
    let gone = house.get(again).await;
    assert_eq!((gone.status.as_u16(), gone.header("x-robots-tag")), (404, "noindex, nofollow"));
    assert!(gone.text.contains("It may have been taken down"), "{}", gone.text);
    assert_eq!(delete(&house, PUBLIC).await.error(), error(404, "not_found", ""));
}

async fn the_page_shows_what_was_chosen_and_nothing_else(house: House) {
    let secret = json!({
        "name": "Ann <b>\"&", "appearance": "Grey hair\nand <i>boots</i>",
        "systemPrompt": "The **prompt** of Ann.", "notes": "a private note", "model": "demo",
        "tools": ["search"], "reason": "a private reason",
    });
    house.call(Method::PUT, OPTIMIST, secret).await.good();
    let shown = answered(&house, "What do you see?").await;
    let hidden = answered(&house, "A private question").await;

    let made = publish(&house, json!({"revision": 2})).await.good();
    let path = made["path"].as_str().unwrap().to_owned();
    let page = house.get(&path).await;
    assert!(page.text.contains("Ann &lt;b&gt;"), "{}", page.text);
    assert!(page.text.contains("Grey hair\nand &lt;i&gt;boots"), "{}", page.text);
    let never = [
        "a private",
        "optimist",
        "demo",
        "search",
        "owner",
        "<script",
        "/api/",
        "/fn/",
        "/personas",
        "composer",
        "id=\"rail\"",
        "<form",
        "version",
        "v2",
        &hidden,
        &shown,
        "<b>",
        "<i>boots",
    ];
    // The address is made up, and may have any of the short words in it.
    let lower = page.text.replace(&path, "").to_lowercase();
    for word in never {
        assert!(!lower.contains(&word.to_lowercase()), "{word} is on the page: {}", page.text);
    }
    for word in ["The <strong>prompt</strong>", "What do you see?"] {
        assert!(!page.text.contains(word), "{word} was not chosen");
    }
    assert!(page.text.contains(r#"<meta name="robots" content="noindex, nofollow">"#));
    assert!(page.text.contains(r#"<meta property="og:title" content="Ann &lt;b&gt;&quot;&amp;">"#));
    let url = format!(r#"<meta property="og:url" content="http://127.0.0.1:3000{path}">"#);
    assert!(page.text.contains(&url), "{}", page.text);
    assert_eq!(page.header("cache-control"), "public, no-cache");
    assert!(page.header("content-security-policy").starts_with("default-src 'none'; style-src"));
    assert!(page.headers.get("set-cookie").is_none());

    // Who has it is told that it is the same.
    let asked = |tag: &str| {
        let mut request = request(Method::GET, &path, None);
        request.headers_mut().insert("if-none-match", tag.parse().unwrap());
        request
    };
    let tag = page.header("etag").to_owned();
    for known in [tag.clone(), format!("\"x\", W/{tag}"), "*".into()] {
        let same = house.send(asked(&known)).await;
        assert_eq!((same.status.as_u16(), same.text.as_str()), (304, ""), "{known}");
    }
    let wish = json!({"showsPrompt": true, "testInputIds": [shown], "indexed": true});
    let chosen = publish(&house, wish).await.good();
    let answer = chosen["examples"][0]["answer"].as_str().unwrap().to_owned();
    let page = house.send(asked(&tag)).await;
    assert_eq!(page.status, 200);
    assert!(page.text.contains("The <strong>prompt</strong> of Ann."), "{}", page.text);
    assert!(page.text.contains("What do you see?"), "{}", page.text);
    assert!(!page.text.contains("A private question") && !page.text.contains(&shown));
    assert!(!page.text.contains("noindex") && page.header("x-robots-tag").is_empty());
    assert!(!answer.is_empty());

    // What is public of test inputs stays as it was, whatever becomes of them.
    let input = format!("{OPTIMIST}/test-inputs/{shown}");
    house.call(Method::PUT, &input, json!({"content": "Another question"})).await.good();
    delete(&house, &input).await.good();
    assert_eq!(house.get(&path).await.text, page.text);
    let kept = publish(&house, json!({"testInputIds": [shown], "slug": "ann-1"})).await.good();
    assert_eq!(kept["examples"], chosen["examples"]);
    // Another version has not answered them.
    rename(&house, "Ann").await;
    let moved = publish(&house, json!({"revision": 3})).await.good();
    assert_eq!((&moved["examples"], &moved["showsPrompt"]), (&json!([]), &json!(true)));
}

async fn an_address_is_taken_once_in_the_whole_house(house: House) {
    publish(&house, json!({"slug": "the-one"})).await.good();
    let neighbour = house.neighbour().await;
    neighbour.persona("other", "x").await;
    let other = "/api/storage/personas/other/publication";

    let taken = neighbour.call(Method::POST, other, json!({"slug": "the-one"})).await;

    assert_eq!(taken.error(), error(409, "address_taken", "slug"));
    assert!(taken.text.contains("The address “the-one” is taken."), "{}", taken.text);
    assert_eq!(neighbour.get(other).await.status, 404, "nothing was published");
    let skeptic = "/api/storage/personas/skeptic/publication";
    let taken = house.call(Method::POST, skeptic, json!({"slug": "the-one"})).await;
    assert_eq!(taken.error(), error(409, "address_taken", "slug"));
    // Its own address is not in its way, and a free one can be had.
    publish(&house, json!({"slug": "the-one", "indexed": true})).await.good();
    delete(&house, PUBLIC).await.good();
    neighbour.call(Method::POST, other, json!({"slug": "the-one"})).await.good();
    // The page is read from anywhere; what is public is managed from its own Space.
    assert!(house.get("/p/the-one").await.text.contains("<title>other</title>"));
    assert_eq!(house.get(other).await.status, 404);
    assert_eq!(delete(&house, other).await.status, 404);
}

async fn of_two_who_want_one_address_at_once_one_gets_it(house: House) {
    let skeptic = "/api/storage/personas/skeptic/publication";
    for round in 0..5 {
        let wish = json!({"slug": format!("race-{round}")});

        let (one, other) = tokio::join!(
            house.call(Method::POST, PUBLIC, wish.clone()),
            house.call(Method::POST, skeptic, wish)
        );

        let mut statuses = [one.status.as_u16(), other.status.as_u16()];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409], "{} {}", one.text, other.text);
        let refused = if one.status == 409 { one } else { other };
        assert_eq!(refused.error(), error(409, "address_taken", "slug"));
    }
}

async fn what_is_public_goes_and_comes_with_the_bin(house: House) {
    publish(&house, json!({"slug": "here-i-am"})).await.good();
    delete(&house, OPTIMIST).await.good();
    assert_eq!(house.get("/p/here-i-am").await.status, 404);
    assert_eq!(house.get(PUBLIC).await.status, 404);
    assert_eq!(publish(&house, json!({})).await.status, 404);
    // The address waits for it.
    let skeptic = "/api/storage/personas/skeptic/publication";
    let taken = house.call(Method::POST, skeptic, json!({"slug": "here-i-am"})).await;
    assert_eq!(taken.error(), error(409, "address_taken", "slug"));

    let restore = "/api/storage/bin/persona/optimist/restore";
    house.call(Method::POST, restore, json!({})).await.good();
    assert_eq!(house.get("/p/here-i-am").await.status, 200);
    delete(&house, PUBLIC).await.good();
    delete(&house, OPTIMIST).await.good();
    house.call(Method::POST, restore, json!({})).await.good();
    assert_eq!(house.get("/p/here-i-am").await.status, 404, "it was not public any more");

    publish(&house, json!({"slug": "here-i-am"})).await.good();
    delete(&house, OPTIMIST).await.good();
    delete(&house, "/api/storage/bin/persona/optimist").await.good();
    assert_eq!(house.get("/p/here-i-am").await.status, 404);
    house.call(Method::POST, skeptic, json!({"slug": "here-i-am"})).await.good();
}

async fn nothing_can_be_done_at_a_public_address_but_read(house: House) {
    publish(&house, json!({"slug": "some-body"})).await.good();
    let page = house.get("/p/some-body").await.text;

    for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
        let answer = house.call(method.clone(), "/p/some-body", json!({"name": "Mine"})).await;
        assert_eq!(answer.error(), error(404, "not_found", ""), "{method}");
    }

    assert_eq!(house.get("/p/some-body").await.text, page);
    // So it is for whoever else comes.
    let house = house.with_accounts(&[("eve", Role::Viewer), ("ed", Role::Editor)]).await;
    for somebody in [house.afresh(), house.signed_in("eve").await, house.signed_in("ed").await] {
        for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            let answer = somebody.call(method.clone(), "/p/some-body", json!({})).await;
            assert_eq!(answer.error(), error(404, "not_found", ""), "{method}");
        }
        assert_eq!(somebody.get("/p/some-body").await.text, page);
    }
}

async fn every_step_is_told_and_can_be_taken_back(house: House) {
    publish(&house, json!({"slug": "first"})).await.good();
    publish(&house, json!({"slug": "second", "showsPrompt": true})).await.good();
    let removed = delete(&house, PUBLIC).await.good();
    let audit = house.read().await.audit(None, 3).await.unwrap().items;
    let told: Vec<&str> = audit.iter().map(|entry| entry.summary.as_str()).collect();
    assert_eq!(
        told,
        [
            "Took the public page away",
            "Published version 1 at /p/second",
            "Published version 1 at /p/first"
        ]
    );
    let undo = async |id: &str| {
        house.call(Method::POST, &format!("/api/changes/{id}/undo"), json!({})).await
    };

    let back = undo(removed["changeId"].as_str().unwrap()).await.good();
    assert_eq!(house.get(PUBLIC).await.good()["slug"], "second");
    assert_eq!(house.get(PUBLIC).await.good()["showsPrompt"], true);
    undo(back["changeId"].as_str().unwrap()).await.good();
    assert_eq!(house.get("/p/second").await.status, 404);
    // What is public by now is not written over by an old step.
    publish(&house, json!({"slug": "third"})).await.good();
    let old = undo(audit[1].change_id.as_str()).await;
    assert_eq!(old.error(), error(409, "not_now", ""));
    assert_eq!(house.get(PUBLIC).await.good()["slug"], "third");
    // The same once more is no step.
    let before = house.read().await.audit(None, 200).await.unwrap();
    publish(&house, json!({"slug": "third"})).await.good();
    assert_eq!(house.read().await.audit(None, 200).await.unwrap(), before);
}

async fn bad_wishes_are_told_and_change_nothing(house: House) {
    let invalid = |field: &str| error(422, "invalid", field);
    let nobody = "/api/storage/personas/nobody/publication";
    assert_eq!(house.call(Method::POST, nobody, json!({})).await.status, 404);
    let foreign = answered(&house, "Mine").await;
    let skeptic = "/api/storage/personas/skeptic/publication";
    let stolen = house.call(Method::POST, skeptic, json!({"testInputIds": [foreign]})).await;
    assert_eq!(stolen.error(), invalid("testInputIds"));
    for (wish, expected) in [
        (json!({"slug": "ab"}), invalid("slug")),
        (json!({"slug": "With Space"}), invalid("slug")),
        (json!({"slug": "api"}), invalid("slug")),
        (json!({"slug": 5}), invalid("slug")),
        (json!({"revision": 99}), error(404, "not_found", "")),
        (json!({"testInputIds": ["nothing"]}), invalid("testInputIds")),
        (json!({"examples": []}), invalid("examples")),
    ] {
        assert_eq!(publish(&house, wish.clone()).await.error(), expected, "{wish}");
    }
    let mut many = Vec::new();
    for number in 0..6 {
        many.push(answered(&house, &format!("Question {number}")).await);
    }
    assert_eq!(
        publish(&house, json!({"testInputIds": many})).await.error(),
        invalid("testInputIds")
    );
    assert_eq!(house.get(PUBLIC).await.status, 404);
    for odd in ["/p/ab", "/p/%00", "/p/%FF", "/p/..%2Fapi", "/p/optimist", "/p/UPPER"] {
        let answer = house.get(odd).await;
        assert_eq!(answer.status, 404, "{odd}");
        assert!(answer.header("content-type").starts_with("text/html"), "{odd}");
    }
}

async fn only_a_person_publishes(house: House) {
    let actor = Actor::Persona {
        persona: "optimist".into(),
        user: house.state.scope.user.clone(),
        run: None,
        tier: Tier::Act,
    };
    let page = json!({"slug": "by-itself", "revision": 1});
    let id = greenroom::domain::id::PersonaId::new("optimist");
    let change = Change::new(&id, Op::Publish).set("publication", page);

    let denied = house.gate_for(actor).submit(change).await.unwrap_err();

    assert_eq!(
        (denied.status(), denied.to_string().as_str()),
        (403, "Only a person decides what is public.")
    );
    assert_eq!(house.get("/p/by-itself").await.status, 404);
}
