//! What gets a picture, what does not, and what can be done with one.

use axum::http::Method;
use greenroom::domain::news::Topic;
use serde_json::json;

use super::{PICTURES, answered, hear, imagine, listed, post, say, work};
use crate::support::{House, error, on_both, request};

on_both!(
    an_answer_gets_a_picture_of_its_moment,
    no_picture_is_made_where_nobody_wants_one,
    a_message_may_have_several_pictures_each_with_its_own_words,
    what_cannot_be_drawn_is_refused_by_field,
    a_budget_is_told_on_the_picture_and_the_chat_goes_on,
    a_deleted_picture_comes_back,
    open_pages_are_told_how_a_picture_stands,
    the_gallery_shows_what_there_is_and_has_pictures_made,
);

async fn an_answer_gets_a_picture_of_its_moment(house: House) {
    let looks = json!({"roleplayData": {"appearance": "a red apron", "summary": "Keeps an inn."}});
    house.call(Method::PUT, "/api/storage/personas/innkeeper", looks).await.good();
    let (chat, reply) = answered(&house, "innkeeper", json!({})).await;
    let query = format!("messageId={reply}");
    let asked = listed(&house, &query).await;
    assert_eq!(asked.len(), 1);
    assert_eq!((&asked[0]["state"], &asked[0]["file"]), (&json!("queued"), &json!(null)));
    let page = house.get(&chat.replace("/api", "")).await;
    assert!(page.text.contains("Queued…"), "{}", page.text);

    assert_eq!(work(&house).await, 1);

    let made = listed(&house, &query).await.remove(0);
    assert_eq!((&made["state"], &made["facts"]["demo"]), (&json!("done"), &json!(true)), "{made}");
    assert_eq!((&made["personaId"], &made["costMicros"]), (&json!("innkeeper"), &json!(0)));
    let prompt = made["prompt"].as_str().unwrap();
    assert!(prompt.contains("a red apron. Scene: "), "{prompt}");
    let file = house.get(made["file"].as_str().unwrap()).await;
    assert_eq!((file.status.as_u16(), file.header("content-type")), (200, "image/png"));
    assert_eq!(file.header("x-content-type-options"), "nosniff");
    assert!(file.header("cache-control").contains("immutable"));
    assert!(file.text.starts_with("\u{fffd}PNG"));
    let page = house.get(&chat.replace("/api", "")).await;
    assert!(page.text.contains(made["file"].as_str().unwrap()), "{}", page.text);
    assert!(page.text.contains("badge demo\">Demo"), "{}", page.text);
    // From the gallery one comes to the moment itself, however far above the end it stands.
    let open = house.get(&format!("/gallery?picture={}", made["id"].as_str().unwrap())).await;
    let moment = format!("{}?see={reply}#turn-{reply}", chat.replace("/api", ""));
    assert!(open.text.contains(&moment), "{}", open.text);
    // Doing it once more does nothing.
    assert_eq!(work(&house).await, 0);
}

async fn no_picture_is_made_where_nobody_wants_one(house: House) {
    let (chat, _) = answered(&house, "innkeeper", json!({"images": false})).await;
    assert_eq!(listed(&house, "").await.len(), 0);

    let settings = json!({"automatic": false, "daily": 5, "dailyDollars": null});
    house.call(Method::PUT, "/api/picture-settings", settings.clone()).await.good();
    assert_eq!(house.get("/api/picture-settings").await.good(), settings);
    house.call(Method::PATCH, &chat, json!({"settings": {"images": true}})).await.good();
    let reply = say(&house, &chat, "And now?").await;
    assert_eq!((listed(&house, "").await.len(), work(&house).await), (0, 0));
    // By hand it is still possible.
    imagine(&house, json!({"messageId": reply})).await;
    assert_eq!(work(&house).await, 1);

    // An answer that failed is no scene.
    let broken =
        house.playing(&json!({"answers": [[{"error": {"fault": "quota", "message": "No."}}]]}));
    let settings = json!({"automatic": true});
    house.call(Method::PUT, "/api/picture-settings", settings).await.good();
    say(&broken, &chat, "And now?").await;
    assert_eq!(listed(&house, "").await.len(), 1);
}

async fn a_message_may_have_several_pictures_each_with_its_own_words(house: House) {
    let (_, reply) = answered(&house, "innkeeper", json!({})).await;
    imagine(&house, json!({"messageId": reply})).await;
    let own = json!({"messageId": reply, "prompt": " A lamp\r\nin the rain ", "size": "portrait",
        "seed": 7, "steps": 4});
    let own = imagine(&house, own).await;
    assert_eq!(work(&house).await, 3);

    let made = listed(&house, &format!("messageId={reply}")).await;
    assert_eq!(made.len(), 3);
    assert_eq!(made[1]["prompt"], made[2]["prompt"]);
    assert_ne!(made[1]["facts"]["seed"], made[2]["facts"]["seed"]);
    let own = house.get(&own).await.good();
    assert_eq!((&own["prompt"], &own["facts"]["seed"]), (&json!("A lamp\nin the rain"), &json!(7)));
    assert_eq!((&own["facts"]["width"], &own["personaId"]), (&json!(288), &json!("innkeeper")));
    // There is an end to it.
    for _ in 0..9 {
        imagine(&house, json!({"messageId": reply})).await;
    }
    let more = post(&house, PICTURES, json!({"messageId": reply})).await;
    assert_eq!(more.error(), error(409, "not_now", ""));
}

async fn what_cannot_be_drawn_is_refused_by_field(house: House) {
    let (chat, _) = answered(&house, "innkeeper", json!({"images": false})).await;
    let path = house.get(&format!("{chat}/messages")).await.good();
    let question = &path["items"][0]["id"];
    for (wish, expected) in [
        (json!({}), error(422, "invalid", "prompt")),
        (json!({"prompt": "  "}), error(422, "invalid", "prompt")),
        (json!({"prompt": "x".repeat(4001)}), error(422, "invalid", "prompt")),
        (json!({"messageId": question}), error(422, "invalid", "prompt")),
        (json!({"prompt": "x", "steps": 0}), error(422, "invalid", "steps")),
        (json!({"prompt": "x", "steps": 51}), error(422, "invalid", "steps")),
        (json!({"prompt": "x", "seed": -1}), error(422, "invalid", "seed")),
        (json!({"prompt": "x", "size": "huge"}), error(422, "invalid", "size")),
        (json!({"prompt": "x", "model": "../admin"}), error(422, "invalid", "model")),
        (json!({"prompt": "x", "model": "fal-ai/no-such"}), error(422, "invalid", "model")),
        (json!({"prompt": "x", "colour": 1}), error(422, "invalid", "colour")),
        (json!({"prompt": "x", "personaId": "nobody"}), error(404, "not_found", "")),
        (json!({"messageId": "nothing"}), error(404, "not_found", "")),
    ] {
        assert_eq!(post(&house, PICTURES, wish.clone()).await.error(), expected, "{wish}");
    }
    for bad in [json!({"daily": 10_001}), json!({"dailyDollars": -1}), json!({"dayly": 1})] {
        let answer = house.call(Method::PUT, "/api/picture-settings", bad.clone()).await;
        assert_eq!(answer.status, 422, "{bad}");
    }
    assert_eq!(house.get(&format!("{PICTURES}/nothing")).await.status, 404);
    assert_eq!((listed(&house, "").await.len(), work(&house).await), (0, 0));
}

async fn a_budget_is_told_on_the_picture_and_the_chat_goes_on(house: House) {
    let one = json!({"automatic": true, "daily": 1});
    house.call(Method::PUT, "/api/picture-settings", one).await.good();
    let (chat, _) = answered(&house, "innkeeper", json!({})).await;
    assert_eq!(work(&house).await, 1);
    let reply = say(&house, &chat, "Tell me more").await;
    assert_eq!(work(&house).await, 1);

    let refused = listed(&house, &format!("messageId={reply}")).await.remove(0);
    assert_eq!(refused["state"], "failed");
    let problem = refused["problem"].as_str().unwrap();
    assert!(problem.starts_with("Today’s budget of pictures is used up: 1 of 1."), "{problem}");
    let page = house.get(&chat.replace("/api", "")).await;
    assert!(page.text.contains(problem) && page.text.contains("Try again"), "{}", page.text);
    let prompt = refused["prompt"].as_str().unwrap();
    assert!(!prompt.is_empty(), "what it would show can be read and changed: {refused}");
    say(&house, &chat, "The chat goes on").await;

    let more = json!({"automatic": false, "daily": 3});
    house.call(Method::PUT, "/api/picture-settings", more).await.good();
    let path = format!("{PICTURES}/{}", refused["id"].as_str().unwrap());
    let again = post(&house, &format!("{path}/retry"), json!({})).await.good();
    assert_eq!((&again["state"], &again["problem"]), (&json!("queued"), &json!(null)));
    let twice = post(&house, &format!("{path}/retry"), json!({})).await;
    assert_eq!(twice.error(), error(409, "not_now", ""));
    work(&house).await;
    assert_eq!(house.get(&path).await.good()["state"], "done");
}

async fn a_deleted_picture_comes_back(house: House) {
    let path = imagine(&house, json!({"prompt": "A lamp"})).await;
    work(&house).await;
    let made = house.get(&path).await.good();

    house.send(request(Method::DELETE, &path, None)).await.good();
    assert_eq!(listed(&house, "").await.len(), 0);
    assert_eq!(listed(&house, "deleted=true").await.len(), 1);
    // It is removed after a month, and not before.
    assert_eq!(work(&house).await, 0);
    post(&house, &format!("{path}/restore"), json!({})).await.good();
    assert_eq!(listed(&house, "").await, [made]);
    let twice = post(&house, &format!("{path}/restore"), json!({})).await;
    assert_eq!(twice.error(), error(409, "not_now", ""));
    assert_eq!(house.get(&format!("{path}/file")).await.status, 200);

    // One that was deleted before it was made is not made.
    let other = imagine(&house, json!({"prompt": "A lake"})).await;
    house.send(request(Method::DELETE, &other, None)).await.good();
    work(&house).await;
    assert_eq!(house.get(&other).await.good()["state"], "failed");
    assert_eq!(house.get(&format!("{other}/file")).await.status, 404);
}

async fn open_pages_are_told_how_a_picture_stands(house: House) {
    let following = hear(&house).await;
    let mut news = house.state.store.news(&house.state.scope.space);
    let (chat, _) = answered(&house, "innkeeper", json!({})).await;
    work(&house).await;

    // Asked for, being made, there.
    for _ in 0..3 {
        let told = loop {
            let told = news.next().await.unwrap();
            if told.topic == Topic::Picture {
                break told;
            }
        };
        assert!(chat.ends_with(told.conversation_id.unwrap().as_str()));
    }
    following.abort();
}

async fn the_gallery_shows_what_there_is_and_has_pictures_made(house: House) {
    let empty = house.get("/gallery?persona=innkeeper").await;
    assert!(empty.text.contains("No pictures yet"), "{}", empty.text);
    assert!(empty.text.contains("<textarea id=\"wish-prompt\""), "{}", empty.text);
    let fields = [
        ("prompt", "A lamp</textarea><script>"),
        ("persona", "innkeeper"),
        ("wish[size]", "landscape"),
        ("wish[steps]", ""),
        ("wish[seed]", "12"),
        ("wish[model]", ""),
    ];
    let sent = house.form("/fn/imagine_picture", "/gallery?advanced=1", &fields).await;
    assert_eq!(sent.status, 302, "{}", sent.text);
    let bad = house.function("imagine_picture", &[("prompt", "x"), ("wish[seed]", "x")]).await;
    assert_eq!(bad.status, 422);
    work(&house).await;

    let made = listed(&house, "personaId=innkeeper").await.remove(0);
    assert_eq!((&made["facts"]["width"], &made["facts"]["seed"]), (&json!(384), &json!(12)));
    let id = made["id"].as_str().unwrap();
    for page in ["/gallery", "/gallery?persona=innkeeper", "/gallery?persona=innkeeper&advanced=1"]
    {
        let page = house.get(page).await;
        assert_eq!(page.status, 200);
        assert!(page.text.contains(&format!("/api/pictures/{id}/file")), "{}", page.text);
        assert!(!page.text.contains("lamp</textarea>"));
    }
    assert!(!house.get("/gallery?persona=optimist").await.text.contains(id));
    let open = house.get(&format!("/gallery?picture={id}")).await;
    assert!(open.text.contains("Demo: drawn here"), "{}", open.text);
    // Other words for it keep what else was wished.
    assert!(open.text.contains("name=\"wish[seed]\" value=\"12\""), "{}", open.text);
    assert!(!open.text.contains("name=\"wish[steps]\" value"), "{}", open.text);
    // Who looks at one stays where they were: with whose pictures, and with what can be set.
    let place = "persona=innkeeper&amp;advanced=1";
    let listed = house.get("/gallery?persona=innkeeper&advanced=1").await.text;
    assert!(listed.contains(&format!("href=\"/gallery?picture={id}&amp;{place}\"")), "{listed}");
    let beside = house.get(&format!("/gallery?picture={id}&persona=innkeeper&advanced=1")).await;
    assert!(beside.text.contains(&format!("href=\"/gallery?{place}\" aria-label=\"Close\"")));
    assert!(beside.text.contains("wish-seed"), "{}", beside.text);
    house.function("delete_picture", &[("id", id)]).await.good();
    assert!(!house.get("/gallery").await.text.contains(id));
    assert!(house.get("/gallery?deleted=1").await.text.contains("Bring back"));
    house.function("delete_picture", &[("id", id), ("back", "true")]).await.good();
    assert!(house.get("/gallery").await.text.contains(id));
}
