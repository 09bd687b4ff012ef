//! The companion as the rail shows it.

use axum::http::Method;
use serde_json::{Value, json};

use super::{made, playing, say};
use crate::support::{House, request, told};

async fn rail(house: &House) -> String {
    let shown = house.get("/rail?at=/pages").await;
    assert_eq!(shown.status, 200, "{}", shown.text);
    shown.text
}

/// What the rail shows after the model said this.
async fn shown(words: &str) -> String {
    let house = House::new().await;
    let said = house.playing(&json!({"answers": [[{"text": words}]]}));
    assert_eq!(say(&said, "Speak").await.names().last(), Some(&"done"));
    rail(&house).await
}

#[tokio::test]
async fn turns_steps_and_drafts_are_shown_with_what_one_can_do() {
    let house = House::new().await;
    let page = made(&house, "pages", json!({"title": "Fog & <mist>", "body": "Wet."})).await;
    let update = json!({
        "op": "update", "entityType": "page", "entityId": page, "page": {"body": "Wet. <b>Cold</b>."},
    });
    let calls = json!([
        ["read", {"entityType": "page", "entityId": page}],
        ["read", {"entityType": "page", "entityId": "no-such-page"}],
        ["propose_change", update],
    ]);
    let told = say(&playing(&house, calls), "Say that it is <cold>").await;

    let html = rail(&house).await;

    assert!(html.contains("Say that it is &lt;cold&gt;"), "{html}");
    assert!(html.contains("<strong>You<") && html.contains("<strong>Companion<"));
    assert_eq!(html.matches("class=\"step\"").count(), 3);
    assert_eq!(html.matches("data-state=\"failed\"").count(), 1);
    let draft = &told.drafts()[0];
    assert!(html.contains(&format!("id=\"rail-draft-{draft}\"")), "{html}");
    for part in
        ["/fn/approve_draft", "/fn/reject_draft", "value=\"all\"", "name=\"reason\"", "So be it."]
    {
        assert!(html.contains(part), "{part} is not in {html}");
    }
    assert!(html.contains("Fog &amp; &lt;mist&gt;") && !html.contains("<b>Cold"), "{html}");
    assert!(html.contains("<ins>") && !html.contains("<script"), "{html}");

    let path = format!("/api/pending-changes/{draft}/approve");
    house.call(Method::POST, &path, json!({})).await.good();
    let card = house.get(&format!("/rail/drafts/{draft}")).await.text;
    assert!(
        card.contains("data-state=\"applied\"") && !card.contains("/fn/approve_draft"),
        "{card}"
    );
    assert!(rail(&house).await.contains("data-state=\"applied\""));
}

#[tokio::test]
async fn without_javascript_the_rail_is_a_document_that_leads_back() {
    let house = House::new().await;
    say(&house, "Hello").await;

    let whole = house.get("/rail?at=/pages&whole=1").await;

    assert!(whole.text.starts_with("<!DOCTYPE html>"), "{}", whole.text);
    assert!(whole.text.contains("I am the scripted demo of the companion."));
    assert!(whole.text.contains("href=\"/pages\"") && !whole.text.contains("<script"));
    assert!(whole.header("content-security-policy").contains("default-src 'none'"));
    let elsewhere = house.get("/rail?at=//example.org&whole=1").await.text;
    assert!(!elsewhere.contains("href=\"//"), "{elsewhere}");
}

#[tokio::test]
async fn what_asks_or_failed_waits_for_the_person_until_they_speak() {
    let asked = shown("I can do that. **Shall I?**").await;
    assert_eq!(asked.matches("data-waits").count(), 1, "{asked}");
    let told = shown("Shall I? I will not.").await;
    assert!(!told.contains("data-waits"), "{told}");

    let house = House::new().await;
    let failing =
        house.playing(&json!({"answers": [[{"error": {"fault": "auth", "message": "no"}}]]}));
    say(&failing, "Speak").await;
    let failed = rail(&house).await;
    assert!(failed.contains("data-waits") && failed.contains("Retry"), "{failed}");
    let then = house.playing(&json!({"answers": [[{"text": "Good."}]]}));
    say(&then, "Again").await;
    let after = rail(&house).await;
    assert!(!after.contains("data-waits"), "{after}");
}

#[tokio::test]
async fn without_javascript_an_old_draft_is_reached_by_links() {
    let house = House::new().await;
    let task = json!({"op": "create", "entityType": "task", "task": {"title": "Ring"}});
    let draft = say(&playing(&house, json!([["propose_change", task]])), "Go").await;
    let card = format!("rail-draft-{}", draft.drafts()[0]);
    for number in 0..12 {
        say(&house, &format!("Hello {number}")).await;
    }
    let link = |html: &str, label: &str| {
        let html = html.replace("<!>", "");
        let (before, _) =
            html.split_once(&format!(">{label}</a>")).unwrap_or_else(|| panic!("{html}"));
        let address = before.rsplit_once("href=\"").unwrap().1.split('"').next().unwrap();
        address.replace("&amp;", "&")
    };
    let inbox = house.get("/inbox").await.text;
    let address = link(&inbox, "this conversation");
    let (address, place) = address.split_once('#').unwrap();
    assert_eq!(place, card);

    let last = house.get(address).await.text;
    assert!(
        !last.contains(&card) && !last.contains("<button type=\"button\" class=\"button"),
        "{last}"
    );
    let earlier = house.get(&link(&last, "Earlier messages")).await.text;
    assert!(earlier.starts_with("<!DOCTYPE html>") && earlier.contains(&card), "{earlier}");
    let again = house.get(&link(&earlier, "Newest messages")).await.text;
    assert!(again.contains("Hello 11"), "{again}");

    // A conversation that is over is reached by a link, too.
    house.function("start_afresh", &[("at", "/pages")]).await.good();
    say(&house, "Something new").await;
    let fresh = house.get("/rail?at=/pages&whole=1").await.text;
    assert!(!fresh.contains("Hello 11") && !fresh.contains("data-load"), "{fresh}");
    let others = fresh.split_once("class=\"popup\"").unwrap().1;
    let (_, old) = others.split_once("href=\"").unwrap();
    let old = old.split('"').next().unwrap().replace("&amp;", "&");
    assert!(house.get(&old).await.text.contains("Hello 11"), "{old}");

    // The audit leads to the same place.
    let path = format!("/api/pending-changes/{}/approve", draft.drafts()[0]);
    house.call(Method::POST, &path, json!({})).await.good();
    let audit = house.get("/audit").await.text.replace("<!>", "").replace("&amp;", "&");
    let line = audit.split("<li").find(|line| line.contains(&draft.drafts()[0])).unwrap();
    assert!(line.contains("accepted by you") && line.contains(&draft.run), "{line}");
    assert!(line.contains("href=\"/rail?whole=1&at=") && line.contains(&card), "{line}");
}

#[tokio::test]
async fn an_answer_is_followed_to_its_end() {
    let house = House::new().await;
    let task = json!({"op": "create", "entityType": "task", "task": {"title": "Ring"}});
    let run = say(&playing(&house, json!([["propose_change", task]])), "Go").await.run;

    let patches = told(&house.get(&format!("/rail/runs/{run}")).await);

    let last = patches.last().unwrap();
    assert_eq!(last["over"], true);
    let all: String = patches.iter().map(|patch| patch["html"].as_str().unwrap()).collect();
    assert!(all.contains("So be it.") && all.contains("rail-draft-"), "{all}");
    assert!(patches.iter().rev().skip(1).all(|patch| patch["over"].is_null()));

    // The same while it is being given, piece by piece.
    let slow = house.playing(&json!({"answers": [[
        {"text": "One.\n\nTwo. "}, {"wait_ms": 150}, {"text": "Three."}, "stall",
    ]]}));
    let kept = super::post(&slow, json!({"content": "Count"})).await.good();
    let run = kept["runId"].as_str().unwrap().to_owned();
    let mut events = slow.stream(request(Method::GET, &format!("/rail/runs/{run}"), None)).await;
    let (_, first) = events.next().await.unwrap();
    assert_eq!(first["into"], "turns");
    let mut seen = String::new();
    while !seen.contains("Three.") {
        seen.push_str(events.next().await.unwrap().1["html"].as_str().unwrap());
    }
    assert!(seen.contains("One.") && seen.contains("Two."), "{seen}");
    let stop = format!("/api/runs/{run}/stop");
    slow.call(Method::POST, &stop, json!({})).await.good();
    let mut last = Value::Null;
    let mut rest = String::new();
    while let Some((_, patch)) = events.next().await {
        rest.push_str(patch["html"].as_str().unwrap());
        last = patch;
    }
    assert_eq!(last["over"], true);
    // The last words come whole; what stands above them, such as a draft, is left alone.
    assert!(rest.contains("Three.") && !rest.contains("id=\"turn-"), "{rest}");
    assert!(last["html"].as_str().unwrap().contains("Stopped."), "{last}");
}

#[tokio::test]
async fn nothing_that_a_model_writes_acts_on_the_page() {
    let html = shown(
        "<script>alert(1)</script> <img src=x onerror=alert(1)>\n\n\
         [run](javascript:alert(1)) [data](data:text/html,x) [ok](https://example.org/a)\n\n\
         ![pixel](https://example.org/pixel.png?key=secret)\n\n<iframe src=//example.org></iframe>",
    )
    .await;

    for tag in ["<script", "<img", "<iframe", "javascript:", "data:text"] {
        assert!(!html.contains(tag), "{tag} is in {html}");
    }
    assert!(html.contains("&lt;script&gt;") && html.contains("&lt;iframe"), "{html}");
    let link = r#"<a href="https://example.org/a" rel="noopener noreferrer nofollow">ok (example.org)</a>"#;
    assert!(html.contains(link), "{html}");
}

#[tokio::test]
async fn absurd_nesting_is_shown_in_time() {
    for words in
        ["> ".repeat(10_000), "[".repeat(10_000), "- ".repeat(10_000), "**a ".repeat(10_000)]
    {
        let html = shown(&words).await;
        assert!(html.matches("<blockquote>").count() <= 64, "{}", html.len());
        assert!(html.len() < 40 * words.len(), "{}", html.len());
    }
}
