//! Answers that did not come to a good end, as their page shows them.

use serde_json::json;

use super::{pair, parts, path, post, quiet, settle, spoken, text, until, words};
use crate::support::{House, on_both};

on_both!(each_answer_that_broke_off_says_so_where_it_stands);

/// Only the last of them told it: the others stood there as good answers.
async fn each_answer_that_broke_off_says_so_where_it_stands(house: House) {
    let no = json!({"error": {"fault": "bad_request", "message": "No."}});
    let broken = json!([{"text": "Half a wor"}, no]);
    let house = house.playing(&parts(broken, json!([{"text": "Two "}, "stall"])));
    let chat = pair(&house, "in_parallel").await;
    let kept = post(&house, &format!("{chat}/messages"), json!({"content": "Count"})).await.good();
    let runs = kept["runIds"].clone();
    settle(&house, &json!({"runId": runs[0]})).await;
    spoken(&house, &json!([runs[1]])).await;
    post(&house, &format!("/api/runs/{}/stop", text(&runs[1])), json!({})).await.good();
    let page = path(&house, &chat, "").await;
    assert_eq!(words(&page), ["Count", "Half a wor", "Two "]);
    let told = async |house: &House| {
        let html = house.get(&chat.replace("/api", "")).await.text;
        let turn = |at: usize| {
            let start = format!("id=\"turn-{}\"", text(&page["items"][at]["id"]));
            let rest = html.split(&start).nth(1).unwrap_or_else(|| panic!("{html}"));
            rest.split("</li>").next().unwrap_or_default().to_owned()
        };
        let trace = |at: usize| format!("href=\"/traces/{}\"", text(&runs[at]));
        let (ann, ben) = (turn(1), turn(2));
        assert!(ann.contains("problem small") && ann.contains("/fn/retry_run"), "{ann}");
        assert!(ben.contains("Stopped.") && ben.contains("/fn/go_on_run"), "{ben}");
        assert!(ann.contains(&trace(0)) && ben.contains(&trace(1)), "{ann}{ben}");
    };

    told(&house).await;

    // Nor is it forgotten once others have answered.
    let house = house.playing(&parts(json!([{"text": "Yes."}]), json!([{"text": "No."}])));
    post(&house, &format!("{chat}/messages"), json!({"content": "And?"})).await.good();
    until(&house, &chat, |page| quiet(page) && words(page).len() == 6).await;
    told(&house).await;
}
