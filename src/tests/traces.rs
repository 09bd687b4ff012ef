//! Traces: what runs of every kind leave, how they are found and shown, and what they took.

pub mod otlp;
mod pages;
pub mod receiver;

use axum::http::Method;
use greenroom::agent::{ChatWords, NewChat};
use serde_json::{Value, json};

use crate::support::{House, error, on_both, request, told};

on_both!(
    every_kind_of_run_leaves_a_trace_with_its_source,
    a_run_with_tools_is_told_span_by_span,
    what_tools_gave_in_earlier_turns_is_told_as_sent,
    traces_are_found_by_what_one_asks_for_page_by_page,
    what_was_ended_cut_short_or_refused_is_among_the_errors,
    an_interrupted_run_has_a_trace_up_to_where_it_was,
    what_runs_took_is_summed_up_by_day_model_and_persona,
);

const LIST: &str = "/api/traces";

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("not a text: {value}")).to_owned()
}

/// Waits for the end of a run.
async fn ended(house: &House, run: &str) {
    told(&house.send(request(Method::GET, &format!("/api/runs/{run}/events"), None)).await);
}

/// Says something to the agent of a persona, and gives the run once it has ended.
async fn say(house: &House, persona: &str, message: &str) -> String {
    let said = json!({"personaId": persona, "message": message});
    let body = Some(said.to_string().into_bytes());
    let answer = house.send(request(Method::POST, "/api/persona-agent/chat", body)).await;
    answer.header("greenroom-run-id").to_owned()
}

/// Says something in a new session of a persona's playground, and gives the run once it has ended.
async fn play(house: &House, persona: &str, message: &str) -> String {
    let said = json!({"messages": [{"role": "user", "content": message}]});
    let path = format!("/api/agents/{persona}/playground/chat");
    let answer = house.call(Method::POST, &path, said).await;
    let session = answer.header("greenroom-session-id");
    house.read().await.last_run(&session.into()).await.unwrap().unwrap().id.to_string()
}

/// Says something in a new chat with a persona, and gives the run once it has ended.
async fn chat(house: &House, persona: &str, message: &str) -> String {
    let (agent, scope) = (&house.state.agent, &house.state.scope);
    let new = NewChat { persona: persona.into(), ..NewChat::default() };
    let chat = agent.create_chat(scope, new).await.unwrap();
    let words = ChatWords { content: message.into(), ..ChatWords::default() };
    let run = agent.say_in_chat(scope, &chat.id, words).await.unwrap().id;
    agent.ended(scope, &run).await.unwrap();
    run.to_string()
}

async fn test_input(house: &House) -> String {
    let path = "/api/storage/personas/optimist/test-inputs/optimist-1/answers";
    let run = text(&house.call(Method::POST, path, json!({})).await.good()["id"]);
    ended(house, &run).await;
    run
}

async fn companion(house: &House, words: &str) -> String {
    let known = house.get("/api/conversations/ambient").await.good();
    let path = format!("/api/conversations/{}/messages", text(&known["id"]));
    let run = house.call(Method::POST, &path, json!({"content": words})).await.good();
    let run = text(&run["runId"]);
    ended(house, &run).await;
    run
}

async fn trace(house: &House, run: &str) -> Value {
    house.get(&format!("{LIST}/{run}")).await.good()
}

/// The identifiers of the traces that are listed.
async fn listed(house: &House, query: &str) -> Vec<String> {
    let page = house.get(&format!("{LIST}?{query}")).await.good();
    page["items"].as_array().unwrap().iter().map(|item| text(&item["id"])).collect()
}

fn spans<'a>(trace: &'a Value, kind: &str) -> Vec<&'a Value> {
    trace["spans"].as_array().unwrap().iter().filter(|span| span["kind"] == kind).collect()
}

async fn every_kind_of_run_leaves_a_trace_with_its_source(house: House) {
    let runs = [
        ("companion", companion(&house, "What is here?").await),
        ("editor", say(&house, "optimist", "Hello").await),
        ("test", test_input(&house).await),
        ("chat", chat(&house, "optimist", "Hello").await),
        ("playground", play(&house, "optimist", "Hello").await),
    ];

    for (source, run) in &runs {
        assert_eq!(listed(&house, &format!("source={source}")).await, [run.as_str()], "{source}");
        let trace = trace(&house, run).await;
        assert_eq!((&trace["source"], &trace["status"]), (&json!(source), &json!("done")));
        assert_eq!(trace["spans"][0]["kind"], "run");
        let asked = spans(&trace, "llm_call");
        assert_eq!(asked[0]["parentId"], "run");
        assert!(!text(&asked.last().unwrap()["text"]).is_empty(), "{trace}");
        assert!(asked[0]["usage"]["output"].as_u64() > Some(0), "{trace}");
        assert!(asked[0]["firstTokenMs"].is_u64(), "{trace}");
        // What its model was told is there, whatever kind it is.
        let sections = trace["sent"]["sections"].as_array().unwrap();
        assert!(!sections.is_empty() && !text(&sections[0]["text"]).is_empty(), "{trace}");
        assert!(sections[0]["tokens"].as_u64() > Some(0), "{trace}");
        assert!(!trace["sent"]["messages"].as_array().unwrap().is_empty(), "{trace}");
        let parameters = &trace["sent"]["parameters"];
        assert_eq!(
            (&parameters["service"], &parameters["model"]),
            (&json!("demo"), &json!("demo"))
        );
        assert!(parameters["maxTokens"].as_u64() > Some(0), "{trace}");
    }
    let told = trace(&house, &runs[1].1).await;
    let tools = told["sent"]["parameters"]["tools"].as_array().unwrap();
    assert!(tools.contains(&json!("get_persona")), "{tools:?}");
    let persona = house.get("/api/storage/personas/optimist").await.good();
    let test = trace(&house, &runs[2].1).await;
    assert_eq!(test["sent"]["sections"][0]["text"], persona["systemPrompt"]);
    let newest: Vec<String> = runs.iter().rev().map(|(_, run)| run.clone()).collect();
    assert_eq!(listed(&house, "").await, newest);
}

async fn a_run_with_tools_is_told_span_by_span(house: House) {
    let model = house.dear_model().await;
    let prompt = "A long prompt. ".repeat(4000);
    house.persona("ann", &prompt).await;
    let house = house.playing(&json!({"answers": [
        [{"reasoning": "Hm."}, {"text": "Let me look."}, {"usage": {"input": 1000, "output": 50}},
            {"call": {"name": "get_persona", "input": {}}},
            {"call": {"name": "no_such_tool", "input": {"x": 1}}}],
        [{"usage": {"input": 2000, "output": 10}}, {"text": "Done."}],
    ]}));

    let run = say(&house, "ann", "Look").await;
    let trace = trace(&house, &run).await;

    let kinds: Vec<&Value> =
        trace["spans"].as_array().unwrap().iter().map(|span| &span["kind"]).collect();
    let expected = ["run", "llm_call", "tool_call", "tool_result", "tool_call", "tool_result"];
    assert_eq!(kinds[..6], expected.map(|kind| json!(kind)).iter().collect::<Vec<_>>());
    assert_eq!((kinds[6], kinds.len()), (&json!("llm_call"), 7));
    let asked = spans(&trace, "llm_call");
    assert_eq!(
        (&asked[0]["text"], &asked[0]["reasoning"]),
        (&json!("Let me look."), &json!("Hm."))
    );
    assert_eq!(asked[0]["stop"], "tool_use");
    assert_eq!(asked[0]["costMicros"], 1000 * 2 + 50 * 10);
    assert_eq!(asked[1]["costMicros"], 2000 * 2 + 10 * 10);
    assert_eq!(trace["costMicros"], 2500 + 4100);
    assert_eq!((&trace["model"], &trace["steps"]), (&json!(model), &json!(2)));
    let calls = spans(&trace, "tool_call");
    assert_eq!(
        (&calls[0]["name"], &calls[0]["parentId"]),
        (&json!("get_persona"), &asked[0]["id"])
    );
    assert_eq!(calls[0]["error"], Value::Null);
    assert_eq!(calls[1]["input"], json!({"x": 1}));
    assert!(text(&calls[1]["error"]).contains("no_such_tool"), "{calls:?}");
    let results = spans(&trace, "tool_result");
    assert_eq!(results[0]["parentId"], calls[0]["id"]);
    // All of a long output is there; a page shows some of it.
    assert!(text(&results[0]["output"]).len() > prompt.len(), "it is whole");
    let path = format!("/traces/{run}?span={}", text(&calls[0]["id"]));
    let page = house.get(&path).await;
    assert!(page.text.contains("more characters are not shown"), "{}", page.text.len());
    assert!(page.text.len() < 200_000, "{}", page.text.len());
    // Every span is within the run.
    let whole = trace["tracedMs"].as_u64().unwrap();
    for span in trace["spans"].as_array().unwrap() {
        let number = |key: &str| span[key].as_u64().unwrap();
        assert!(number("startMs") + number("durationMs") <= whole, "{span}");
    }
}

/// Of earlier turns only the words were told as sent, though the model read what its tools had given.
async fn what_tools_gave_in_earlier_turns_is_told_as_sent(house: House) {
    house.persona("ann", "Be brief.").await;
    let house = house.playing(&json!({"answers": [
        [{"reasoning": "Hm."}, {"text": "Let me look."},
            {"call": {"name": "get_persona", "input": {}}}],
        [{"text": "So it is."}],
        [{"text": "Still so."}],
    ]}));
    say(&house, "ann", "Look").await;

    let run = say(&house, "ann", "And now?").await;
    let trace = trace(&house, &run).await;

    let messages = trace["sent"]["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 3, "{trace}");
    assert_eq!(messages[1]["text"], "Let me look.\n\nSo it is.");
    let parts = messages[1]["parts"].as_array().unwrap();
    assert_eq!(parts.len(), 4, "{parts:?}");
    assert_eq!(
        (&parts[0], &parts[3]),
        (&json!({"text": "Let me look."}), &json!({"text": "So it is."}))
    );
    assert_eq!(parts[1]["tool_call"]["name"], "get_persona");
    assert!(text(&parts[2]["tool_result"]["output"]).contains("Be brief."), "{parts:?}");
    assert_eq!((&messages[0]["parts"], &messages[2]["parts"]), (&Value::Null, &Value::Null));
    let page = house.get(&format!("/traces/{run}?span=step-1")).await.text;
    for told in ["Let me look.", "Asked for get_persona", "Result of get_persona", "And now?"] {
        assert!(page.contains(told), "{told}: {page}");
    }
}

async fn traces_are_found_by_what_one_asks_for_page_by_page(house: House) {
    let demo = chat(&house, "optimist", "Hello").await;
    house.dear_model().await;
    let playing = house.playing(&json!({"loop": true, "answers": [
        [{"usage": {"input": 100_000, "output": 1000}}, {"text": "Dear."}],
        [{"text": "Hal"}, {"error": {"fault": "bad_request", "message": "no"}}],
    ]}));
    let dear = chat(&playing, "skeptic", "Hello").await;
    let failed = chat(&playing, "skeptic", "Hello").await;

    assert_eq!(listed(&house, "errors=true").await, [failed.as_str()]);
    assert_eq!(listed(&house, "status=failed").await, [failed.as_str()]);
    assert_eq!(listed(&house, "personaId=skeptic").await, [failed.as_str(), dear.as_str()]);
    assert_eq!(listed(&house, "personaId=skeptic&status=done").await, [dear.as_str()]);
    assert_eq!(listed(&house, "model=demo").await, [demo.as_str()]);
    assert_eq!(listed(&house, "model=demo/dear&errors=true").await, [failed.as_str()]);
    assert_eq!(listed(&house, "minCostMicros=200000").await, [dear.as_str()]);
    assert_eq!(listed(&house, "minDurationMs=3600000").await, Vec::<String>::new());
    assert_eq!(listed(&house, "source=editor").await, Vec::<String>::new());
    for nothing in ["source=chat&model=nothing", "model=a%00b"] {
        assert_eq!(listed(&house, nothing).await, Vec::<String>::new(), "{nothing}");
    }
    assert_eq!(house.get("/traces?model=a%00b").await.status, 200);
    let told = trace(&house, &failed).await;
    assert!(text(&told["error"]).ends_with('.'), "{told}");
    let asked = spans(&told, "llm_call");
    assert_eq!((&asked[0]["error"], &asked[0]["text"]), (&told["error"], &json!("Hal")));

    let first = house.get(&format!("{LIST}?limit=2")).await.good();
    assert_eq!(first["items"].as_array().unwrap().len(), 2);
    let next = text(&first["next"]);
    let second = house.get(&format!("{LIST}?limit=2&after={next}")).await.good();
    assert_eq!((&second["items"][0]["id"], &second["next"]), (&json!(demo), &Value::Null));

    for bad in ["source=moon", "status=odd", "minCostMicros=much", "errors=perhaps"] {
        assert_eq!(house.get(&format!("{LIST}?{bad}")).await.error(), error(400, "malformed", ""));
    }
    for unknown in ["nothing", "a%00b", "0193a5c0-0000-7000-8000-000000000001"] {
        let answer = house.get(&format!("{LIST}/{unknown}")).await;
        assert_eq!(answer.error(), error(404, "not_found", ""), "{unknown}");
    }
    assert_eq!(house.get("/api/usage?days=0").await.error(), error(422, "invalid", "days"));
}

/// The list had their sentences in red, and only those that had failed were found by them.
async fn what_was_ended_cut_short_or_refused_is_among_the_errors(house: House) {
    let playing = house.playing(&json!({"answers": [
        [{"text": "It is"}, {"stop": "max_tokens"}],
        [{"text": "No."}, {"stop": "refusal"}],
        [{"text": "Yes."}],
    ]}));
    let cut = chat(&playing, "skeptic", "Hello").await;
    let refused = chat(&playing, "skeptic", "Hello").await;
    let whole = chat(&playing, "skeptic", "Hello").await;

    assert_eq!(listed(&house, "errors=true").await, [refused.as_str(), cut.as_str()]);
    assert_eq!(listed(&house, "personaId=skeptic").await, [whole, refused, cut]);
}

async fn an_interrupted_run_has_a_trace_up_to_where_it_was(house: House) {
    let gone = house.playing(&json!({"answers": [
        [{"usage": {"input": 10, "output": 5}}, {"call": {"name": "get_persona", "input": {}}}],
        [{"text": "Half"}, "stall"],
    ]}));
    let said = json!({"personaId": "optimist", "message": "Hello"}).to_string().into_bytes();
    let asking = request(Method::POST, "/api/persona-agent/chat", Some(said));
    let run = gone.stream(asking).await.run();
    let watching = request(Method::GET, &format!("/api/runs/{run}/events"), None);
    let mut watcher = gone.stream(watching).await;
    while watcher.until("step_started").await["step"] != 2 {}

    // While it goes on there is a trace already.
    let going_on = trace(&house, &run).await;
    assert_eq!(going_on["status"], "running");
    assert!(going_on["sent"]["sections"][0]["text"].is_string(), "{}", going_on["sent"]);
    assert_eq!(house.get(&format!("/traces/{run}")).await.status, 200);
    let next = house.playing(&json!({"answers": []}));
    assert_eq!(next.state.agent.recover().await.unwrap(), 1);

    let trace = trace(&next, &run).await;
    assert_eq!(trace["status"], "interrupted");
    assert_eq!(
        trace["sent"]["sections"], going_on["sent"]["sections"],
        "it is kept from the start"
    );
    let asked = spans(&trace, "llm_call");
    assert_eq!((asked.len(), &asked[0]["error"]), (2, &Value::Null));
    assert_eq!(asked[1]["error"], trace["error"]);
    assert_eq!(listed(&next, "errors=true").await, [run.as_str()]);
    assert_eq!(next.get(&format!("/traces/{run}")).await.status, 200);
}

async fn what_runs_took_is_summed_up_by_day_model_and_persona(house: House) {
    house.dear_model().await;
    let house = house.playing(&json!({"answers": [
        [{"usage": {"input": 1000, "output": 10}}, {"text": "One."}],
        [{"usage": {"input": 2000, "output": 20}}, {"text": "Two."}],
        [{"error": {"fault": "bad_request", "message": "no"}}],
    ]}));
    play(&house, "optimist", "Hello").await;
    say(&house, "skeptic", "Hello").await;
    say(&house, "skeptic", "Hello").await;

    let usage = house.get("/api/usage?days=7").await.good();

    let total = json!({"runs": 3, "errors": 1, "inputTokens": 3000, "outputTokens": 30,
        "costMicros": 6300, "unpriced": 0});
    assert_eq!(usage["total"], total);
    assert_eq!((&usage["days"], usage["byDay"].as_array().unwrap().len()), (&json!(7), 7));
    assert_eq!(usage["byDay"][6]["runs"], 3);
    assert_eq!(usage["byModel"][0]["model"], "demo/dear");
    assert_eq!(usage["byModel"][0]["costMicros"], 6300);
    let first = &usage["byPersona"][0];
    assert_eq!((&first["personaId"], &first["name"]), (&json!("skeptic"), &json!("Skeptic")));
    assert_eq!((&first["runs"], &first["costMicros"]), (&json!(2), &json!(4200)));
    // What was spent stays spent when a persona is removed for good.
    for path in ["/api/storage/personas/skeptic", "/api/storage/bin/persona/skeptic"] {
        let gone = house.call(Method::DELETE, path, json!({})).await;
        assert!(gone.status.is_success(), "{path}: {}", gone.text);
    }
    let usage = house.get("/api/usage").await.good();
    assert_eq!((&usage["total"], &usage["byPersona"][0]["name"]), (&total, &Value::Null));
    assert_eq!(listed(&house, "personaId=skeptic").await, Vec::<String>::new());
}
