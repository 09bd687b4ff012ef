//! Image services of both styles: how they are asked, and what happens when they fail.

use std::{sync::Arc, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};
use greenroom::{
    agent::Limits,
    jobs::{Allowed, Files, Jobs},
    providers::{Artist, Demo, ImageSettings, ImageStyle, Pace, Providers, TimeLimits},
};
use serde_json::{Value, json};

use super::{
    PICTURES, answered, imagine, listed, post,
    studio::{Reply, Studio, reply},
    work,
};
use crate::support::{House, error};

const KEY: &str = "c4n4ry-pictures";

/// A picture that a service could have made.
pub async fn picture_file() -> Vec<u8> {
    let wish = serde_json::from_value(json!({"prompt": "A lamp"})).unwrap();
    Artist::demo().draw(&wish).await.unwrap().file
}

/// A house whose pictures come from this service.
async fn asking(studio: &Studio, style: ImageStyle, model: &str, first_wait: Duration) -> House {
    let house = House::new().await;
    let jobs = Jobs::new(
        house.state.store.clone(),
        artist(studio, style, model),
        Files::in_memory(),
        "test",
    );
    house.working(jobs.waiting(first_wait))
}

/// Who draws with this service.
fn artist(studio: &Studio, style: ImageStyle, model: &str) -> Artist {
    let environment = Arc::new(|name: &str| (name == "KEY").then(|| KEY.to_owned()));
    let demo = Demo::new(Pace::AtOnce);
    let providers = Providers::new(TimeLimits::default(), demo, environment).unwrap();
    let settings = ImageSettings {
        url: format!("http://{}", studio.address),
        style,
        model: model.into(),
        key_ref: "env:KEY".into(),
        file_hosts: Vec::new(),
        within: Duration::from_secs(5),
    };
    providers.artist(settings).unwrap()
}

async fn fal(studio: &Studio) -> House {
    asking(studio, ImageStyle::Fal, "", Duration::ZERO).await
}

/// A good answer of fal's.
pub fn drawn(file: &[u8]) -> Reply {
    let url = format!("data:image/png;base64,{}", BASE64_STANDARD.encode(file));
    reply(200, json!({"images": [{"url": url}], "seed": 42}).to_string())
}

async fn state(house: &House, path: &str) -> (Value, String) {
    let known = house.get(path).await.good();
    (known["state"].clone(), known["problem"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn fal_is_asked_in_its_own_words_and_its_file_is_fetched_without_the_key() {
    let studio = Studio::start().await;
    let house = fal(&studio).await;
    let file = picture_file().await;
    let url = format!("http://{}/files/1.png", studio.address);
    let image = json!({"url": url, "width": 9, "height": 9, "content_type": "image/jpeg"});
    let answer = json!({"images": [image], "seed": 42, "has_nsfw_concepts": [false]});
    studio.play([reply(200, answer.to_string()), reply(200, file.clone())]);

    let wish = json!({"prompt": "A lamp", "size": "landscape", "steps": 3, "seed": 5});
    let path = imagine(&house, wish).await;
    work(&house).await;

    let asked = studio.asked();
    assert_eq!(asked[0].path, "/fal-ai/flux/schnell");
    assert_eq!(asked[0].header("authorization"), format!("Key {KEY}"));
    let body = json!({"prompt": "A lamp", "image_size": "landscape_4_3", "num_images": 1,
        "num_inference_steps": 3, "seed": 5});
    assert_eq!(asked[0].json(), body);
    assert_eq!((asked[1].path.as_str(), asked[1].header("authorization")), ("/files/1.png", ""));
    let made = house.get(&path).await.good();
    assert_eq!((&made["state"], &made["costMicros"]), (&json!("done"), &json!(3000)), "{made}");
    // What the file is, is read off the file.
    let facts = json!({"service": "the image service", "model": "fal-ai/flux/schnell",
        "demo": false, "contentType": "image/png", "bytes": file.len(), "width": 384,
        "height": 384, "seed": 42});
    assert_eq!(made["facts"], facts);
    assert_eq!(house.get(&format!("{path}/file")).await.header("content-type"), "image/png");
}

#[tokio::test]
async fn a_service_like_openai_is_asked_in_its_own_words() {
    let studio = Studio::start().await;
    let house = asking(&studio, ImageStyle::Openai, "gpt-image-1", Duration::ZERO).await;
    let inline = BASE64_STANDARD.encode(picture_file().await);
    studio.play([reply(200, json!({"data": [{"b64_json": inline}]}).to_string())]);

    let path = imagine(&house, json!({"prompt": "A lamp", "steps": 3, "seed": 7})).await;
    work(&house).await;

    let asked = studio.asked().remove(0);
    assert_eq!(asked.path, "/images/generations");
    assert_eq!(asked.header("authorization"), format!("Bearer {KEY}"));
    let body = json!({"model": "gpt-image-1", "prompt": "A lamp", "n": 1, "size": "1024x1024"});
    assert_eq!(asked.json(), body);
    assert_eq!(state(&house, &path).await.0, "done");
    let made = house.get(&path).await.good();
    assert_eq!(made["facts"]["seed"], json!(null), "it was not told one");
    let gallery = house.get("/gallery?advanced=1").await.text;
    assert!(gallery.contains("wish-model") && !gallery.contains("wish-seed"), "{gallery}");
}

#[tokio::test]
async fn what_passes_is_tried_again_and_the_wait_is_told() {
    let studio = Studio::start().await;
    let house = fal(&studio).await;
    let busy = reply(429, json!({"detail": "slow down"}).to_string());
    studio.play([busy.clone(), reply(500, "oops"), drawn(&picture_file().await)]);
    let path = imagine(&house, json!({"prompt": "A lamp"})).await;
    assert_eq!(work(&house).await, 3);
    assert_eq!(state(&house, &path).await, (json!("done"), String::new()));

    // While it waits, it says why.
    let house = asking(&studio, ImageStyle::Fal, "", Duration::from_secs(3600)).await;
    studio.play([busy]);
    let path = imagine(&house, json!({"prompt": "A lamp"})).await;
    assert_eq!(work(&house).await, 1);
    let told = "The image service asks us to slow down. Try again in a moment.".to_owned();
    assert_eq!(state(&house, &path).await, (json!("queued"), told));
    assert!(house.state.store.next_job().await.unwrap().is_some());
    let made = house.get(&path).await.good();
    assert_eq!(made["costMicros"], json!(null), "what was not made costs nothing");
}

#[tokio::test]
async fn what_fails_again_and_again_is_given_up_and_can_be_retried() {
    let studio = Studio::start().await;
    let house = fal(&studio).await;
    studio.play((0..5).map(|_| reply(503, "away")));
    let path = imagine(&house, json!({"prompt": "A lamp"})).await;
    assert_eq!(work(&house).await, 5);
    assert_eq!(state(&house, &path).await.0, "failed");

    studio.play([drawn(&picture_file().await)]);
    post(&house, &format!("{path}/retry"), json!({})).await.good();
    assert_eq!(work(&house).await, 1);
    assert_eq!(state(&house, &path).await.0, "done");
}

#[tokio::test]
async fn what_is_no_picture_is_not_taken_and_the_key_is_never_told() {
    let studio = Studio::start().await;
    let house = fal(&studio).await;
    let own = format!("http://{}", studio.address);
    let at = |url: &str| reply(200, json!({"images": [{"url": url}]}).to_string());
    let data =
        |bytes: &[u8]| at(&format!("data:image/png;base64,{}", BASE64_STANDARD.encode(bytes)));
    let elsewhere = (302, vec![("location", format!("{own}/other"))], Vec::new());
    let huge = vec![b' '; 33 * 1024 * 1024];
    for (script, expected) in [
        (vec![reply(200, "no JSON")], "could not be read"),
        (vec![reply(200, json!({"images": []}).to_string())], "could not be read"),
        (vec![data(b"<svg onload='alert(1)'/>")], "could not be read"),
        (vec![at(&format!("{own}/a")), reply(200, "<!doctype html>")], "could not be read"),
        (vec![at(&format!("{own}/a")), elsewhere.clone()], "could not be read"),
        (vec![elsewhere], "could not be read"),
        (vec![at("http://169.254.169.254/latest/meta-data")], "could not be read"),
        (vec![at("file:///etc/passwd")], "could not be read"),
        (vec![reply(200, huge)], "could not be read"),
        (vec![reply(401, format!("Bad key {KEY}"))], "refused the key"),
        (
            vec![reply(422, json!({"error": {"message": format!("No: {KEY}")}}).to_string())],
            "did not take",
        ),
    ] {
        studio.play(script);
        let path = imagine(&house, json!({"prompt": "A lamp"})).await;
        assert_eq!(work(&house).await, 1);
        let (state, problem) = state(&house, &path).await;
        assert_eq!(state, "failed", "{expected}: {problem}");
        assert!(problem.contains(expected), "{problem}");
        assert_eq!(house.get(&format!("{path}/file")).await.status, 404);
    }
    assert!(studio.asked().iter().all(|asked| asked.path != "/other"), "it was followed");
    let kept = house.database_bytes();
    assert!(!kept.windows(KEY.len()).any(|some| some == KEY.as_bytes()), "the key was kept");
    for page in ["/gallery", "/settings", "/api/pictures", "/api/openapi.json"] {
        assert!(!house.get(page).await.text.contains(KEY), "{page}");
    }
}

#[tokio::test]
async fn money_is_counted_and_a_failed_picture_costs_nothing() {
    let studio = Studio::start().await;
    let house = fal(&studio).await;
    let settings = json!({"automatic": true, "daily": 100, "dailyDollars": 0.007});
    house.call(axum::http::Method::PUT, "/api/picture-settings", settings).await.good();
    let file = picture_file().await;
    studio.play([drawn(&file), reply(401, "no"), drawn(&file), drawn(&file)]);
    let mut states = Vec::new();
    for _ in 0..4 {
        let path = imagine(&house, json!({"prompt": "A lamp"})).await;
        work(&house).await;
        states.push(state(&house, &path).await);
    }

    let words: Vec<&Value> = states.iter().map(|(state, _)| state).collect();
    assert_eq!(words, ["done", "failed", "done", "failed"]);
    assert!(states[3].1.starts_with("Today’s budget of $0.007 "), "{}", states[3].1);
    assert_eq!(studio.asked().len(), 3, "what the budget refuses is not asked for");
}

/// A picture that was drawn and could not be kept cost nothing, and was drawn again and again beside the
/// budget.
#[tokio::test]
async fn what_is_drawn_and_cannot_be_kept_is_paid_for_and_counted() {
    let studio = Studio::start().await;
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("pictures");
    let files = Files::in_folder(&place).unwrap();
    std::fs::remove_dir_all(&place).unwrap();
    std::fs::write(&place, "in the way").unwrap();
    let house = House::new().await;
    let artist = artist(&studio, ImageStyle::Fal, "");
    let jobs = Jobs::new(house.state.store.clone(), artist, files, "test");
    let house = house.working(jobs.waiting(Duration::ZERO));
    let settings = json!({"automatic": true, "daily": 100, "dailyDollars": 0.007});
    house.call(axum::http::Method::PUT, "/api/picture-settings", settings).await.good();
    let file = picture_file().await;
    studio.play((0..5).map(|_| drawn(&file)));
    let lost = imagine(&house, json!({"prompt": "A lamp"})).await;

    // It is drawn twice, and a third time would be too much.
    assert_eq!(work(&house).await, 3);

    let (lost_state, problem) = state(&house, &lost).await;
    assert_eq!(lost_state, "failed");
    assert!(problem.starts_with("Today’s budget of $0.007 "), "{problem}");
    assert_eq!(house.get(&lost).await.good()["costMicros"], 6000);
    assert_eq!(studio.asked().len(), 2);
    // Neither is another one drawn then.
    let other = imagine(&house, json!({"prompt": "A lake"})).await;
    assert_eq!(work(&house).await, 1);
    assert_eq!(state(&house, &other).await.0, "failed");
    assert_eq!(studio.asked().len(), 0);

    // When there is room again, and a place to lie, it costs what all of its drawings did.
    std::fs::remove_file(&place).unwrap();
    let settings = json!({"automatic": true, "daily": 100, "dailyDollars": null});
    house.call(axum::http::Method::PUT, "/api/picture-settings", settings).await.good();
    post(&house, &format!("{lost}/retry"), json!({})).await.good();
    assert_eq!(work(&house).await, 1);
    let made = house.get(&lost).await.good();
    assert_eq!((&made["state"], &made["costMicros"]), (&json!("done"), &json!(9000)));
}

#[tokio::test]
async fn what_is_drawn_and_cannot_be_fetched_counts_for_the_day() {
    let studio = Studio::start().await;
    let house = fal(&studio).await;
    let settings = json!({"automatic": true, "daily": 1});
    house.call(axum::http::Method::PUT, "/api/picture-settings", settings).await.good();
    let url = format!("http://{}/files/1.png", studio.address);
    let answer = json!({"images": [{"url": url}]}).to_string();
    studio.play([reply(200, answer), reply(503, "away")]);

    let path = imagine(&house, json!({"prompt": "A lamp"})).await;
    assert_eq!(work(&house).await, 2);

    let (state, problem) = state(&house, &path).await;
    assert_eq!(state, "failed");
    assert!(problem.starts_with("Today’s budget of pictures is used up: 1 of 1."), "{problem}");
    assert_eq!(house.get(&path).await.good()["costMicros"], 3000);
    assert_eq!(studio.asked().len(), 2, "it was asked once, and its file fetched");
}

#[tokio::test]
async fn an_operator_can_turn_pictures_off() {
    const OFF: &str = "Pictures are turned off on this server.";
    let house = House::new().await;
    let queued = imagine(&house, json!({"prompt": "A lamp"})).await;
    let off = house.working(house.state.jobs.clone().allowing(Allowed::No));

    let refused = post(&off, PICTURES, json!({"prompt": "A lamp"})).await;
    assert_eq!(refused.error(), error(403, "denied", ""));
    // What was asked for before is given up, and not tried again.
    assert_eq!(work(&off).await, 1);
    assert_eq!(state(&off, &queued).await, (json!("failed"), OFF.to_owned()));
    let refused = post(&off, &format!("{queued}/retry"), json!({})).await;
    assert_eq!(refused.error(), error(403, "denied", ""));
    // Answers ask for none, though the chat and the Space want them.
    let limits = Limits { pictures: false, ..Limits::default() };
    let off = off.limited(limits, &json!({"answers": []}));
    let (chat, _) = answered(&off, "innkeeper", json!({"images": true})).await;
    assert_eq!((listed(&house, "").await.len(), work(&house).await), (1, 0));

    // Nothing offers to make one.
    let chat = chat.replace("/api", "");
    let settings = "/settings";
    let open = format!("/gallery?picture={}", &queued[PICTURES.len() + 1..]);
    let pages = [chat.clone(), format!("{chat}?settings=1"), "/gallery?advanced=1".into(), open];
    for page in pages.iter().map(String::as_str).chain([settings]) {
        let shown = off.get(page).await.text;
        for offered in [
            "imagine_picture",
            "retry_picture",
            "save_picture_settings",
            "Answers get pictures",
            "a demo draws",
        ] {
            assert!(!shown.contains(offered), "{page} offers {offered}: {shown}");
        }
    }
    for page in ["/gallery", settings] {
        assert!(off.get(page).await.text.contains(OFF), "{page}");
    }
    let elsewhere = house.get("/gallery").await.text;
    assert!(elsewhere.contains("retry_picture"), "where they are made it can be tried again");
}

#[tokio::test]
async fn another_model_of_fals_is_asked_at_its_own_address() {
    let studio = Studio::start().await;
    let house = fal(&studio).await;
    studio.play([drawn(&picture_file().await)]);

    let path = imagine(&house, json!({"prompt": "A lamp", "model": "fal-ai/flux/dev"})).await;
    work(&house).await;

    assert_eq!(studio.asked()[0].path, "/fal-ai/flux/dev");
    let made = house.get(&path).await.good();
    assert_eq!(
        (&made["state"], &made["facts"]["model"]),
        (&json!("done"), &json!("fal-ai/flux/dev"))
    );
}
