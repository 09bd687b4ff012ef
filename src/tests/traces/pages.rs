//! Traces and usage as pages, without JavaScript.

use serde_json::json;

use super::{chat, say};
use crate::support::House;

#[tokio::test]
async fn the_list_is_empty_first_and_then_tells_of_every_run() {
    let house = House::new().await;
    let empty = house.get("/traces").await;
    assert!(empty.status == 200 && empty.text.contains("No traces yet"), "{}", empty.text);
    assert!(house.get("/usage").await.text.contains("Nothing used"));
    let run = chat(&house, "optimist", "Hello").await;

    let list = house.get("/traces").await;
    for told in [format!("/traces/{run}"), "Optimist".into(), "1 step".into(), "free".into()] {
        assert!(list.text.contains(&told), "{told}: {}", list.text);
    }
    let none = house.get("/traces?errors=1").await;
    assert!(none.text.contains("None found") && none.text.contains("Show all"), "{}", none.text);
    let chosen = house.get("/traces?source=chat&persona=optimist&model=demo").await;
    assert!(chosen.text.contains(&run), "{}", chosen.text);
    let usage = house.get("/usage?days=7").await;
    for told in ["Tokens out", "By model", "By day", "preserveAspectRatio", "demo"] {
        assert!(usage.text.contains(told), "{told}: {}", usage.text);
    }
}

#[tokio::test]
async fn what_cannot_be_shown_is_said_with_the_right_status() {
    let house = House::new().await;

    for (path, status, told) in [
        ("/traces/nothing", 404, "Nothing here"),
        ("/traces?cost=much", 422, "The least cost must be a number such as 0.5."),
        ("/traces?source=moon", 422, "is no source of traces."),
        ("/usage?days=many", 422, "The days must be a whole number."),
        ("/usage?days=100000", 422, "The days must be from 1 to 366."),
    ] {
        let page = house.get(path).await;
        assert_eq!(page.status, status, "{path}");
        assert!(page.text.contains(told), "{path}: {}", page.text);
    }
}

#[tokio::test]
async fn a_trace_shows_its_spans_and_one_of_them_with_all_that_is_known() {
    let house = House::new().await;
    let house = house.playing(&json!({"answers": [
        [{"text": "Let me look."}, {"call": {"name": "get_persona", "input": {}}},
            {"call": {"name": "no_such_tool", "input": {"mark": "</pre><script>alert(1)</script>"}}}],
        [{"text": "All <b>done</b>."}],
    ]}));
    let run = say(&house, "optimist", "Look, please").await;

    // What went wrong is looked at first.
    let page = house.get(&format!("/traces/{run}")).await;
    assert_eq!(page.status, 200);
    assert!(page.text.contains("no_such_tool") && page.text.contains("failed"), "{}", page.text);
    assert!(!page.text.contains("<script>alert"), "{}", page.text);
    assert!(!page.text.contains("style="), "the content policy forbids styles there");
    let first = house.get(&format!("/traces/{run}?span=step-1")).await;
    for told in ["Let me look.", "First token", "Instructions", "Look, please", "to use tools"] {
        assert!(first.text.contains(told), "{told}: {}", first.text);
    }
    let second = house.get(&format!("/traces/{run}?span=step-2")).await;
    for told in ["All &lt;b&gt;done", "Result of get_persona", "Asked for no_such_tool"] {
        assert!(second.text.contains(told), "{told}: {}", second.text);
    }
    let whole = house.get(&format!("/traces/{run}?span=run")).await;
    assert!(whole.text.contains("Tokens in"), "{}", whole.text);
    // One that is not there is as good as none.
    assert_eq!(house.get(&format!("/traces/{run}?span=moon")).await.status, 200);
}

#[tokio::test]
async fn an_answer_leads_to_its_trace() {
    let house = House::new().await;
    let run = say(&house, "optimist", "Hello").await;

    let rail = house.get("/rail?at=/personas/optimist").await;

    assert!(rail.text.contains(&format!("/traces/{run}")), "{}", rail.text);
}
