//! Traces and usage as pages, without JavaScript.

use axum::http::Method;
use greenroom::agent::{Guards, Limits};
use serde_json::json;

use super::{chat, say};
use crate::support::{House, request};

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

/// The form showed everyone, and the next look at it was at everyone's traces.
#[tokio::test]
async fn a_persona_in_the_bin_stays_chosen() {
    let house = House::new().await;
    chat(&house, "optimist", "Hello").await;
    let gone = house.send(request(Method::DELETE, "/api/storage/personas/optimist", None)).await;
    assert!(gone.status.is_success(), "{}", gone.text);

    let list = house.get("/traces?persona=optimist").await.text;

    let option = list.split("<option").find(|option| option.contains("value=\"optimist\""));
    assert!(option.is_some_and(|option| option.contains("selected")), "{list}");
    assert!(option.is_some_and(|option| option.contains("Optimist")), "{list}");
}

/// It was told to have taken no steps and no time.
#[tokio::test]
async fn what_a_run_took_is_told_once_it_is_over() {
    let house = House::new().await;
    let slow = house.playing(&json!({"answers": [[{"text": "Half"}, "stall"]]}));
    let (agent, scope) = (&slow.state.agent, &slow.state.scope);
    let run = agent.send(scope, &"optimist".into(), "Hello", None).await.unwrap().id;
    let events = request(Method::GET, &format!("/api/runs/{run}/events"), None);
    slow.stream(events).await.until("text").await;
    let facts = async |path: &str| {
        let page = slow.get(path).await.text;
        let (_, facts) = page.split_once("trace-facts").unwrap();
        facts.split("</p>").next().unwrap().to_owned()
    };
    let path = format!("/traces/{run}");

    for path in ["/traces", &path] {
        let told = facts(path).await;
        assert!(told.contains("Running") && !told.contains("step"), "{told}");
        assert!(!told.contains("ms"), "{told}");
    }
    agent.stop(scope, &run).await.unwrap();
    agent.ended(scope, &run).await.unwrap();
    let told = facts(&path).await;
    assert!(told.contains("Stopped") && told.contains("step"), "{told}");
}

/// The whole form was gone for one letter too many.
#[tokio::test]
async fn what_is_mistyped_is_mended_in_the_form() {
    let house = House::new().await;

    let page = house.get("/traces?cost=%241&persona=optimist&seconds=2").await.text;

    assert!(page.contains("The least cost must be a number such as 0.5."), "{page}");
    assert!(page.contains("value=\"$1\"") && page.contains("value=\"2\""), "{page}");
    let option = page.split("<option").find(|option| option.contains("value=\"optimist\""));
    assert!(option.is_some_and(|option| option.contains("selected")), "{page}");
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

#[tokio::test]
async fn a_run_that_ended_with_a_result_is_gone_on_with_from_there() {
    let house = House::new().await;
    let limits = Limits { guards: Guards { steps: 1, ..Guards::default() }, ..Limits::default() };
    let script = json!({"answers": [
        [{"call": {"name": "get_persona", "input": {}}}], [{"text": "So it is."}],
    ]});
    let house = house.limited(limits, &script);
    let run = say(&house, "optimist", "Look").await;
    let trace = house.get(&format!("/api/traces/{run}")).await.good();
    let result =
        trace["spans"].as_array().unwrap().iter().find(|span| span["kind"] == "tool_result");
    let result = result.unwrap();

    let page = house.get(&format!("/traces/{run}?span={}", result["id"].as_str().unwrap())).await;

    assert!(page.text.contains("Change this result and run on from here"), "{}", page.text);
    assert!(page.text.contains("name=\"step\" value=\"2\""), "{}", page.text);
    let fields = [
        ("run", run.as_str()),
        ("step", "2"),
        ("call", result["call"].as_str().unwrap()),
        ("output", "Somebody else."),
    ];
    let went = house.function("run_on", &fields).await.good().as_str().unwrap().into();
    let went = house.state.agent.ended(&house.state.scope, &went).await.unwrap();
    let said = house.read().await.message(&went.reply_id).await.unwrap();
    assert_eq!(said.text(), "So it is.");
}

/// Only calls have a row in the waterfall, and the form stood with results: nobody came to it.
#[tokio::test]
async fn a_result_is_changed_where_its_call_is_looked_at() {
    let house = House::new().await;
    let house = house.playing(&json!({"answers": [
        [{"call": {"name": "get_persona", "input": {}}}],
        [{"call": {"name": "list_test_inputs", "input": {}}}],
        [{"text": "So it is."}],
    ]}));
    let run = say(&house, "optimist", "Look").await;
    let trace = house.get(&format!("/api/traces/{run}")).await.good();
    let calls: Vec<&str> = trace["spans"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|span| span["kind"] == "tool_call")
        .map(|span| span["id"].as_str().unwrap())
        .collect();
    let waterfall = house.get(&format!("/traces/{run}")).await.text;

    // The next question sees a result, however short the time between them.
    assert_eq!(calls.len(), 2);
    for (id, step) in calls.into_iter().zip(2..) {
        assert!(waterfall.contains(&format!("/traces/{run}?span={id}#span")), "{waterfall}");
        let page = house.get(&format!("/traces/{run}?span={id}")).await.text;
        assert!(page.contains("Change this result and run on from here"), "{page}");
        assert!(page.contains(&format!("name=\"step\" value=\"{step}\"")), "{page}");
    }
}

#[tokio::test]
async fn a_model_that_answered_as_itself_goes_on_in_a_session_of_the_terminal() {
    let house = House::new().await;
    let house = house.playing(&json!({"answers": [[{"text": "Hello."}], [{"text": "Arr."}]]}));
    let new =
        json!({"settings": {"model": "demo", "windowSize": 5, "shouldTruncateResults": true}});
    let session = house.call(Method::POST, "/api/terminal/sessions", new).await.good();
    let path = format!("/api/terminal/sessions/{}/messages", session["id"].as_str().unwrap());
    let said = house.call(Method::POST, &path, json!({"content": "Hi"})).await.good();
    let run = said["run"]["id"].as_str().unwrap().to_owned();
    house.state.agent.ended(&house.state.scope, &run.as_str().into()).await.unwrap();

    let page = house.get(&format!("/traces/{run}?span=step-1")).await.text;
    assert!(page.contains("It goes on in a new session of the terminal"), "{page}");
    let fields = [
        ("run", run.as_str()),
        ("step", "1"),
        ("system_prompt", "Be a pirate."),
        ("message", "Ho"),
    ];
    let went = house.function("run_on", &fields).await.good().as_str().unwrap().into();

    let went = house.state.agent.ended(&house.state.scope, &went).await.unwrap();
    assert_ne!(went.conversation_id.as_str(), session["id"].as_str().unwrap());
    let page = house.get(&format!("/terminal/{}", went.conversation_id)).await.text;
    for told in ["Tried otherwise: Hi", "Be a pirate.", "Ho", "Arr."] {
        assert!(page.contains(told), "{told}: {page}");
    }
    // Nothing but what was asked to be different is.
    let path = format!("/api/runs/{run}/branch");
    let same = house.call(Method::POST, &path, json!({"step": 1})).await.good();
    assert_eq!((&same["session"], &same["run"]["model"]), (&json!(null), &json!("demo")));
}
