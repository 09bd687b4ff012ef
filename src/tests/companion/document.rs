//! The conversation as a document of its own, for whoever has no panel.

use axum::http::Method;
use serde_json::json;

use super::{made, playing, say};
use crate::support::House;

#[tokio::test]
async fn without_a_panel_what_is_said_leads_to_its_answer() {
    let house = House::new().await;

    let said = house.form("/fn/say", "/inbox", &[("at", "/inbox"), ("words", "Thanks")]).await;

    assert_eq!((said.status.as_u16(), said.header("location")), (302, "/rail?whole=1&at=%2Finbox"));
    assert!(house.get(said.header("location")).await.text.contains("Thanks"));
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

    let old = house.get(address).await.text;
    assert!(old.starts_with("<!DOCTYPE html>") && old.contains(&card), "{old}");
    let last = house.get(&link(&old, "Newest messages")).await.text;
    assert!(last.contains("Hello 11") && !last.contains(&card), "{last}");
    assert!(!last.contains("<button type=\"button\" class=\"button"), "{last}");
    let earlier = house.get(&link(&last, "Earlier messages")).await.text;
    assert!(earlier.contains(&card), "{earlier}");

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

/// The document came back as it was, without a word, and what was written was gone.
#[tokio::test]
async fn without_javascript_a_refused_decision_says_why_and_keeps_the_words() {
    let house = House::new().await;
    let page = made(&house, "pages", json!({"title": "Fog", "body": "Wet."})).await;
    let update = json!({
        "op": "update", "entityType": "page", "entityId": page,
        "page": {"title": "Mist", "body": "Cold."},
    });
    let calls = json!([
        ["read", {"entityType": "page", "entityId": page}],
        ["propose_change", update],
    ]);
    let draft = say(&playing(&house, calls), "Go").await.drafts().remove(0);
    let whole = "/rail?whole=1&at=/";
    let too_long = "x".repeat(1000);
    let fields = [
        ("id", draft.as_str()),
        ("revision", "1"),
        ("take", "edited"),
        ("patch[title]", too_long.as_str()),
        ("patch[body]", "In my own words."),
    ];

    let sent = house.form("/fn/approve_draft", whole, &fields).await;

    let back = sent.header("location").split_once("/rail").unwrap().1.to_owned();
    let shown = house.get(&format!("/rail{back}")).await;
    let why = "<p class=\"problem\" role=\"alert\">";
    assert!(shown.status == 200 && shown.text.contains(why), "{}", shown.text);
    assert!(shown.text.contains("In my own words."), "{}", shown.text);
    assert!(!house.get(whole).await.text.contains(why));
    // Refused once more there, it is said once more.
    let none = [("id", draft.as_str()), ("revision", "1"), ("take", "chosen")];
    let sent = house.form("/fn/approve_draft", &format!("/rail{back}"), &none).await;
    let back = sent.header("location").split_once("/rail").unwrap().1.to_owned();
    let shown = house.get(&format!("/rail{back}")).await.text;
    assert!(shown.contains("Choose at least one change, or reject the draft."), "{shown}");
    // What fits is accepted.
    let fields = [&fields[..3], &[("patch[title]", "Haze"), ("patch[body]", "Dim.")]].concat();
    house.form("/fn/approve_draft", whole, &fields).await;
    let page = house.get(&format!("/api/storage/pages/{page}")).await.good();
    assert_eq!((&page["title"], &page["body"]), (&json!("Haze"), &json!("Dim.")));
}
