//! The companion as the rail shows it.

use axum::http::Method;
use greenroom::{agent::Listener, domain::news::Topic, state::viewed};
use serde_json::{Value, json};

use super::{ambient, made, playing, say};
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
async fn a_draft_leads_to_where_it_was_made_however_much_was_said_since() {
    let house = House::new().await;
    let told = say(&house, "Add a task 'Ring the bell'").await;
    for _ in 0..11 {
        say(&house, "Thanks").await;
    }

    let inbox = house.get("/inbox").await.text.replace("&amp;", "&");
    let link = inbox.split("href=\"/rail?").nth(1).unwrap().split('#').next().unwrap();
    let shown = house.get(&format!("/rail?{link}")).await.text;

    assert!(link.ends_with(&format!("&run={}", told.run)), "{link}");
    assert!(shown.contains(&format!("id=\"rail-draft-{}\"", told.drafts()[0])), "{shown}");
    let newest = link.split("&run=").next().unwrap();
    let shown = house.get(&format!("/rail?{newest}")).await.text;
    assert!(!shown.contains("rail-draft-"), "{shown}");
    let elsewhere = format!("/rail?{newest}&run=no-such-run");
    assert_eq!(house.get(&elsewhere).await.status, 200);
}

#[tokio::test]
async fn the_rail_names_the_place_that_is_looked_at() {
    let house = House::new().await;
    for (at, place) in [("/", "Personas"), ("/knowledge", "Knowledge"), ("/else", "/else")] {
        let shown = house.get(&format!("/rail?at={at}")).await.text;
        assert!(shown.contains(&format!("<span class=\"chip\">{place}<")), "{shown}");
    }
}

/// It was shown, and told of, as an address.
#[tokio::test]
async fn a_playground_and_a_trace_are_looked_at_as_the_persona_they_show() {
    let house = House::new().await;
    house.persona("ann", "Be kind.").await;
    let session = json!({"id": "own-id"});
    house.call(Method::POST, "/api/agents/ann/playground/sessions", session).await.good();
    let run = say(&house, "Hello").await.run;
    let trace = format!("/traces/{run}");
    let text = "Please approve the draft now.";
    made(&house, "refs", json!({"title": "Found", "text": text})).await;
    for (at, name, id) in [
        ("/playground/ann", "ann", "ann"),
        ("/playground/ann/own-id?file=x", "ann", "ann"),
        (trace.as_str(), "Companion", "companion"),
    ] {
        let seen = viewed(&house.desk(), at, "approve the draft now").await.unwrap();

        let told = format!("the persona “{name}” (entityType persona, entityId {id})");
        assert!(seen.context.told.contains(&told), "{at}: {}", seen.context.told);
        let sources = seen.context.sources.iter().map(|source| source.title.as_str());
        assert_eq!(sources.collect::<Vec<_>>(), ["Found"], "{at}");
        // The persona's agent listens where it is edited.
        assert_eq!(seen.listener, Listener::Companion, "{at}");
        let shown = house.get(&format!("/rail?at={}", at.replace('?', "%3F"))).await.text;
        assert!(shown.contains(&format!("<span class=\"chip\">{name}<")), "{shown}");
    }
    for at in ["/playground/nobody", "/playground", "/traces/none"] {
        let told = viewed(&house.desk(), at, "").await.unwrap().context.told;
        assert_eq!(told, format!("The person is looking at the page {at}."));
    }
}

#[tokio::test]
async fn an_earlier_conversation_says_that_it_is_one() {
    let house = House::new().await;
    say(&house, "Thanks").await;
    let old = ambient(&house).await;
    let said = "This is an earlier conversation.";
    assert!(!house.get(&format!("/rail?at=/&conversation={old}")).await.text.contains(said));

    house.function("start_afresh", &[("at", "/")]).await.good();
    say(&house, "Thanks").await;

    let earlier = house.get(&format!("/rail?at=/&conversation={old}")).await.text;
    let head = earlier.split("</header>").next().unwrap();
    assert!(head.contains(said), "it stays in sight with the head: {earlier}");
    assert!(
        head.contains("data-conversation=\"\" class=\"link\">Back to the one in use<"),
        "{head}"
    );
    assert!(!rail(&house).await.contains(said));
    let whole = house.get(&format!("/rail?at=/&whole=1&conversation={old}")).await.text;
    assert!(whole.contains("href=\"/rail?whole=1&amp;at=/\">Back to the one in use<"), "{whole}");
}

#[tokio::test]
async fn an_earlier_conversation_is_offered_by_its_first_words_and_led_back_from_before_anything_is_said()
 {
    let house = House::new().await;
    say(&house, "What about the <fog> on the moor?").await;
    say(&house, "And the rain?").await;
    let old = ambient(&house).await;

    house.function("start_afresh", &[("at", "/")]).await.good();

    let offered = rail(&house).await;
    let offered = offered.split_once("class=\"popup\"").unwrap().1.split("</ul>").next().unwrap();
    assert!(offered.contains("What about the &lt;fog&gt; on the moor?"), "{offered}");
    assert!(!offered.contains("And the rain?"), "{offered}");
    // The one in use has no words yet, and is no line of the list.
    let earlier = house.get(&format!("/rail?at=/pages&conversation={old}")).await.text;
    assert!(earlier.contains("Back to the one in use"), "{earlier}");
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

/// Whoever came back in the middle of a run was told no more how long its tools had taken.
#[tokio::test]
async fn how_long_tools_took_is_told_also_to_whoever_comes_back_in_the_middle() {
    let house = House::new().await;
    let slow = house.playing(&json!({"answers": [
        [{"call": {"name": "search", "input": {"query": "bell"}}}], [{"text": "One. "}, "stall"],
    ]}));
    let kept = super::post(&slow, json!({"content": "Look"})).await.good();
    let run = kept["runId"].as_str().unwrap().to_owned();
    let watching = request(Method::GET, &format!("/api/runs/{run}/events"), None);
    slow.stream(watching).await.until("text").await;

    let mut events = slow.stream(request(Method::GET, &format!("/rail/runs/{run}"), None)).await;
    let mut seen = String::new();
    while !seen.contains("One.") {
        seen.push_str(events.next().await.unwrap().1["html"].as_str().unwrap());
    }

    assert!(seen.contains("step-brief") && seen.contains("step-took"), "{seen}");
    slow.call(Method::POST, &format!("/api/runs/{run}/stop"), json!({})).await.good();
}

#[tokio::test]
async fn it_is_told_that_a_service_is_asked_again() {
    let house = House::new().await;
    // Often enough that whoever looks comes in between.
    let steps = (2..100).map(
        |attempt| json!({"retrying": {"attempt": attempt, "wait_ms": 50, "reason": "It is busy."}}),
    );
    let steps = steps.chain([json!({"text": "Here I am.\n\n"}), json!("stall")]);
    let slow = house.playing(&json!({"answers": [steps.collect::<Vec<Value>>()]}));
    let kept = super::post(&slow, json!({"content": "Speak"})).await.good();
    let run = kept["runId"].as_str().unwrap().to_owned();

    let mut events = slow.stream(request(Method::GET, &format!("/rail/runs/{run}"), None)).await;
    let mut seen = String::new();
    while !seen.contains("Asking again") {
        seen.push_str(events.next().await.unwrap().1["html"].as_str().unwrap());
    }

    assert!(
        seen.replace("<!>", "").contains("is not ready (It is busy). Asking again (attempt "),
        "{seen}"
    );
    // Once it answers, nothing says any more that it does not.
    while !seen.contains("Here I am.") {
        seen.push_str(events.next().await.unwrap().1["html"].as_str().unwrap());
    }
    let (_, after) = seen.rsplit_once("Asking again").unwrap();
    assert!(after.contains("Answering…"), "{after}");
    slow.call(Method::POST, &format!("/api/runs/{run}/stop"), json!({})).await.good();
}

/// Pages count what is new in the conversation that they listen to, whoever asked for it.
#[tokio::test]
async fn news_of_a_run_name_the_pages_on_which_one_talks_there() {
    let house = House::new().await;
    let mut feed = house.state.store.news(&house.state.scope.space);

    let companion = say(&house, "Hello").await.run;
    let to_agent = json!({"personaId": "optimist", "message": "What is the name?"});
    let agent = house.call(Method::POST, "/api/persona-agent/chat", to_agent).await;
    let agent = agent.header("greenroom-run-id").to_owned();
    let path = "/api/storage/personas/optimist/test-inputs/optimist-1/answers";
    let test = house.call(Method::POST, path, json!({})).await.good();
    let test = test["id"].as_str().unwrap().to_owned();

    for (run, talks_at) in [(&companion, "/"), (&agent, "/personas/optimist"), (&test, "")] {
        for over in [false, true] {
            let news = loop {
                let news = feed.next().await.unwrap();
                if news.topic == Topic::Run {
                    break news;
                }
            };
            let status = news.status.unwrap();
            let told = (news.run_id.unwrap(), news.talks_at.as_str(), status.is_over());
            assert_eq!(told, (run.as_str().into(), talks_at, over), "{status:?}");
        }
    }
    // What ended last stands in the rail, so that it is not counted again.
    let shown = rail(&house).await;
    assert!(shown.contains(&format!("data-ended=\"{companion}\"")), "{shown}");
    assert!(!shown.contains("data-run="), "{shown}");
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

#[tokio::test]
async fn all_earlier_conversations_are_reached_page_by_page() {
    let house = House::new().await;
    for number in 0..45 {
        house.function("start_afresh", &[("at", "/")]).await.good();
        say(&house, &format!("Hello {number}")).await;
    }
    let offered = |html: &str| -> Vec<String> {
        let (_, popup) = html.split_once("class=\"popup\"").unwrap();
        let (popup, _) = popup.split_once("</ul>").unwrap();
        let ids = popup.split("data-conversation=\"").skip(1);
        ids.map(|rest| rest.split('"').next().unwrap().replace("&amp;", "&")).collect()
    };
    let mut all = std::collections::BTreeSet::new();
    let mut html = rail(&house).await;
    for page in 1..=3 {
        let ids = offered(&html);
        let further = ids.iter().find(|id| id.contains("&before=")).cloned();
        all.extend(ids.into_iter().filter(|id| !id.contains('&')));
        assert_eq!(further.is_some(), page < 3, "{html}");
        let Some(further) = further else { break };
        html = house.get(&format!("/rail?at=/&conversation={further}")).await.text;
        // The same conversation stands there.
        assert!(html.contains("Hello 44"), "{html}");
    }
    assert_eq!(all.len(), 45);
}

/// It was shown above the words, and then left out.
#[tokio::test]
async fn what_is_marked_goes_to_a_persona_as_a_quotation() {
    let house = House::new().await;
    house.persona("ann", "Be kind.").await;
    let chat = json!({"personaId": "ann", "title": "Here"});
    let chat = house.call(Method::POST, "/api/chats", chat).await.good();
    let session =
        house.call(Method::POST, "/api/agents/ann/playground/sessions", json!({})).await.good();
    let id = |of: &Value| of["id"].as_str().unwrap().to_owned();
    for at in [format!("/chats/{}", id(&chat)), format!("/playground/ann/{}", id(&session))] {
        let said = [("at", at.as_str()), ("words", "Why?"), ("marked", " One.\r\n\r\nTwo. ")];
        let run = house.function("say", &said).await.good();
        let run = run.as_str().unwrap();
        house.get(&format!("/api/runs/{run}/events")).await;
        let run = house.get(&format!("/api/runs/{run}")).await.good();

        let page = house.get(&at).await.text.replace("<!>", "");
        let quoted = "<blockquote>\n<p>One.</p>\n<p>Two.</p>\n</blockquote>\n<p>Why?</p>";
        assert!(page.contains(quoted), "{run}: {page}");
    }
    // Without a mark, nothing is quoted.
    let at = format!("/chats/{}", id(&chat));
    house.function("say", &[("at", at.as_str()), ("words", "Plain")]).await.good();
    assert!(house.get(&at).await.text.contains("<p>Plain</p>"));
}
