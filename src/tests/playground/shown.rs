//! What the page of a session shows of what was said, done and taken there.

use axum::http::Method;
use greenroom::domain::{
    event::RunEvent,
    id::{CallId, RunId},
    run::told_time,
};
use serde_json::{Value, json};

use super::{call, in_session, read, say, script, tinker, words};
use crate::support::{House, on_both, request};

on_both!(
    a_price_that_is_not_known_is_told_as_that,
    what_a_long_branch_took_and_its_todos_are_those_of_all_of_it,
    what_a_session_took_is_counted_on_all_its_branches,
    a_page_says_what_is_not_filled_in_and_leads_back_to_what_was_cleared,
    one_comes_back_to_the_branch_that_was_cleared_though_another_is_newer,
    an_answer_that_never_came_has_a_place_of_its_own,
    an_answer_without_a_word_is_told_on_every_page,
    what_a_tool_is_given_is_shown_as_text,
    how_long_a_tool_ran_is_told_as_it_was_measured,
    what_a_step_did_to_files_is_shown_however_far_up_it_is,
    a_file_that_a_step_made_empty_is_shown_as_text,
);

/// An answer whose price nobody knows was told as free, and limits in dollars seemed to hold it.
async fn a_price_that_is_not_known_is_told_as_that(house: House) {
    let home = tinker(&house).await;
    let dear = house.dear_model().await;
    let model = json!({
        "id": "demo/own", "service": "demo", "name": "demo", "label": "Our own", "context": 100_000,
        "maxOutput": 8192, "tools": true, "vision": false, "reasoning": false,
    });
    house.call(Method::PUT, "/api/models", model).await.good();
    let usage = json!({"usage": {"input": 1000, "output": 100}});
    let playing = house
        .playing(&script(&[json!([{"text": "One."}, usage]), json!([{"text": "Two."}, usage])]));
    let asking = |model: &str| {
        let mut body = words("Hi");
        (body["modelProvider"], body["modelId"]) = (json!("demo"), json!(model));
        body
    };
    let id = say(&playing, &home, asking("demo/own")).await.session;
    let page = async || playing.get(&format!("/playground/tinker/{id}")).await.text;

    let first = page().await;
    assert!(
        first.contains("1\u{202f}000 tokens in, 100 out, at a price that is not known"),
        "{first}"
    );
    let told = "he price of Our own is not known, so dollars do not limit it";
    assert!(!first.contains(told), "nothing is limited");
    playing.call(Method::PUT, "/api/budgets", json!({"sessionDollars": 1})).await.good();
    let limited = page().await;
    assert!(limited.contains(told), "{limited}");

    say(&playing, &home, in_session(asking(dear), &id)).await;
    let both = page().await;
    assert!(both.contains("2\u{202f}000 tokens in, 200 out, $0.003 or more so far"), "{both}");
    assert!(!both.contains(told), "its price is known");
}

async fn what_a_long_branch_took_and_its_todos_are_those_of_all_of_it(house: House) {
    let home = tinker(&house).await;
    let todos = json!({"todos": [{"content": "Sweep", "status": "pending"}]});
    let usage = json!({"usage": {"input": 10, "output": 1}});
    let mut answers = vec![json!([call("write_todos", todos.clone()), usage])];
    answers.extend((0..56).map(|_| json!([{"text": "Yes."}, usage])));
    let playing = house.playing(&script(&answers));
    let id = say(&playing, &home, words("Begin")).await.session;
    // Words that name the tool are no list.
    for words_said in ["\"write_todos\"", "write_todos"].into_iter().chain(["On"; 53]) {
        say(&playing, &home, in_session(words(words_said), &id)).await;
    }

    let whole = read(&playing, &home, &id).await;

    assert!(whole["next"].is_string(), "it is longer than one page");
    assert_eq!(whole["todos"], todos["todos"]);
    let address = format!("/playground/tinker/{id}");
    let before = whole["next"].as_str().unwrap();
    for address in [address.clone(), format!("{address}?before={before}")] {
        let page = playing.get(&address).await.text;
        assert!(page.contains("570 tokens in, 57 out"), "{address}");
        assert!(page.contains("Sweep"), "{address}");
    }
}

/// What was said before a session was cleared, or was answered again, was paid for all the same: the page said
/// less than what the limits counted.
async fn what_a_session_took_is_counted_on_all_its_branches(house: House) {
    let home = tinker(&house).await;
    let usage = json!({"usage": {"input": 1000, "output": 100}});
    let answers: Vec<Value> = (0..4).map(|_| json!([{"text": "Yes."}, usage])).collect();
    let playing = house.playing(&script(&answers));
    playing.call(Method::PUT, "/api/budgets", json!({"sessionTokens": 10_000})).await.good();
    let id = say(&playing, &home, words("First")).await.session;
    let again = json!({"sessionId": id, "messages": [], "trigger": "regenerate-message"});
    say(&playing, &home, again).await;
    let page = async || playing.get(&format!("/playground/tinker/{id}")).await.text;
    assert!(page().await.contains("2\u{202f}000 tokens in, 200 out"), "both answers");

    playing.call(Method::POST, &format!("{home}/sessions/{id}/clear"), json!({})).await.good();

    let cleared = page().await;
    assert!(cleared.contains("2\u{202f}000 tokens in, 200 out"), "{cleared}");
    assert!(cleared.contains("eft in this session: 7\u{202f}800 of 10\u{202f}000"), "{cleared}");
    say(&playing, &home, in_session(words("Anew"), &id)).await;
    let anew = page().await;
    assert!(anew.contains("3\u{202f}000 tokens in, 300 out"), "{anew}");
    assert!(anew.contains("eft in this session: 6\u{202f}700 of 10\u{202f}000"), "{anew}");
}

async fn a_page_says_what_is_not_filled_in_and_leads_back_to_what_was_cleared(house: House) {
    let home = tinker(&house).await;
    let entrance = async || house.get("/playground/tinker").await.text;
    let id = say(&house, &home, words("Hello")).await.session;
    let page = async || house.get(&format!("/playground/tinker/{id}")).await.text;

    let unfilled = "{{thing}} is not filled in and goes to the model as it stands.";
    assert!(page().await.contains(unfilled));
    let filled = json!({"variables": {"thing": "clocks"}});
    house.call(Method::PATCH, &format!("{home}/sessions/{id}"), filled).await.good();
    assert!(!page().await.contains(unfilled));

    let before = read(&house, &home, &id).await["messages"].clone();
    let way = "Before it was cleared";
    assert!(!page().await.contains(way));
    house.call(Method::POST, &format!("{home}/sessions/{id}/clear"), json!({})).await.good();
    assert!(page().await.contains(way));
    let root = before[0]["id"].as_str().unwrap();
    let fields = [("persona", "tinker"), ("session", &id), ("id", root)];
    assert_eq!(house.function("go_to_in_session", &fields).await.status, 200);
    assert_eq!(read(&house, &home, &id).await["messages"], before);

    assert!(!entrance().await.contains("?deleted=1"), "nothing was deleted");
    house.send(request(Method::DELETE, &format!("{home}/sessions/{id}"), None)).await;
    assert!(entrance().await.contains("?deleted=1"));
}

/// The way back led to the newest beginning, on whichever branch one had been.
async fn one_comes_back_to_the_branch_that_was_cleared_though_another_is_newer(house: House) {
    let home = tinker(&house).await;
    let id = say(&house, &home, words("Hello")).await.session;
    let before = read(&house, &home, &id).await["messages"].clone();
    let (root, leaf) = (before[0]["id"].as_str().unwrap(), before[1]["id"].as_str().unwrap());
    let other = [("persona", "tinker"), ("session", &id), ("id", root), ("content", "Good day")];
    assert_eq!(house.function("say_otherwise", &other).await.status, 200);
    let run = house.read().await.last_run(&id.as_str().into()).await.unwrap().unwrap().id;
    house.state.agent.ended(&house.state.scope, &run).await.unwrap();
    assert_ne!(read(&house, &home, &id).await["messages"], before);
    let back = [("persona", "tinker"), ("session", &id), ("id", root)];
    assert_eq!(house.function("go_to_in_session", &back).await.status, 200);

    let cleared = house.function("clear_session", &[("persona", "tinker"), ("id", &id)]).await;

    let page = house.get(cleared.header("location")).await.text;
    let way = page.split("<form").find(|form| form.contains("Before it was cleared")).unwrap();
    assert!(way.contains(leaf), "{way}");
    let back = [("persona", "tinker"), ("session", &id), ("id", leaf)];
    assert_eq!(house.function("go_to_in_session", &back).await.status, 200);
    assert_eq!(read(&house, &home, &id).await["messages"], before);
}

/// A failure stood in what the person had said.
async fn an_answer_that_never_came_has_a_place_of_its_own(house: House) {
    let home = tinker(&house).await;
    let broken = json!({"error": {"fault": "bad_request", "message": "not like that"}});
    let playing = house.playing(&script(&[json!([broken])]));
    let told = say(&playing, &home, words("Hi")).await;
    let reply = told.of("start")[0]["messageId"].as_str().unwrap();

    let page = playing.get(&format!("/playground/tinker/{}", told.session)).await.text;

    let (asked, answer) = page.split_once(&format!("id=\"turn-{reply}\"")).unwrap();
    let problem = "role=\"status\" class=\"problem small\"";
    assert!(!asked.contains(problem) && !asked.contains("Retry"), "{asked}");
    assert!(answer.contains(problem), "{answer}");
    let group = answer.split_once("small retry\"").unwrap().1;
    let group = group.split("</div>").next().unwrap();
    assert!(group.contains("/fn/retry_run") && group.contains("Retry with it"), "{group}");
}

/// The bare question stood there as if nobody had been asked.
async fn an_answer_without_a_word_is_told_on_every_page(house: House) {
    let home = tinker(&house).await;
    let playing = house.playing(&script(&[json!([]), json!([]), json!([])]));
    let id = say(&playing, &home, words("Hi")).await.session;
    let chat =
        playing.call(Method::POST, "/api/chats", json!({"personaId": "optimist"})).await.good();
    let chat = chat["id"].as_str().unwrap();
    let said = json!({"content": "Hi"});
    let said = playing.call(Method::POST, &format!("/api/chats/{chat}/messages"), said).await;
    let run = said.good()["runId"].as_str().unwrap().into();
    let (agent, scope) = (&playing.state.agent, &playing.state.scope);
    agent.ended(scope, &run).await.unwrap();
    let run = agent.send(scope, &"optimist".into(), "Hi", None).await.unwrap().id;
    agent.ended(scope, &run).await.unwrap();

    let pages = [
        format!("/playground/tinker/{id}"),
        format!("/chats/{chat}"),
        "/rail?at=/personas/optimist".to_owned(),
    ];
    for page in pages {
        let shown = playing.get(&page).await.text;
        assert!(shown.contains("The model said nothing. Try again."), "{page}: {shown}");
    }
}

async fn what_a_tool_is_given_is_shown_as_text(house: House) {
    let home = tinker(&house).await;
    let playing = house.playing(&script(&[
        json!([call("write_file", json!({"path": "a.txt", "content": "one\n\"two\""}))]),
        json!([call("ls", json!({}))]),
        json!([{"text": "Done."}]),
    ]));
    let id = say(&playing, &home, words("Write")).await.session;

    let page = playing.get(&format!("/playground/tinker/{id}")).await.text;

    assert!(page.contains("<pre>one\n\"two\"<"), "{page}");
    let (_, raw) = page.split_once("As JSON</summary>").unwrap();
    assert!(raw.split("</details>").next().unwrap().contains("one\\n"), "{raw}");
    // A tool that is given nothing has no room for it either.
    let (_, listed) = page.split_once(">ls<").unwrap();
    let listed = listed.split("</summary>").next().unwrap();
    assert!(!listed.contains("step-brief") && listed.contains("step-took"), "{listed}");
}

/// Once an answer was there, it was guessed from when its results had been written.
async fn how_long_a_tool_ran_is_told_as_it_was_measured(house: House) {
    let home = tinker(&house).await;
    let playing =
        house.playing(&script(&[json!([call("ls", json!({}))]), json!([{"text": "Done."}])]));
    let id = say(&playing, &home, words("Look")).await.session;
    let mut link = playing.read().await;
    let run = link.last_run(&id.as_str().into()).await.unwrap().unwrap().id;
    let told = link.told_by_run(&run).await.unwrap().into_iter().filter_map(|one| {
        let RunEvent::ToolResult { result, took_ms, .. } = one.event else { return None };
        Some((run.clone(), result.call, took_ms?))
    });
    let measured: Vec<(RunId, CallId, u64)> = told.collect();

    let times = link.times_of_tools(&[&run]).await.unwrap();

    assert_eq!((times.len(), &times), (1, &measured));
    drop(link);
    let page = playing.get(&format!("/playground/tinker/{id}")).await.text;
    let took = format!("step-took\">{}<", told_time(measured[0].2));
    assert!(page.contains(&took), "{took}: {page}");
}

/// Only the messages of one page were looked through.
async fn what_a_step_did_to_files_is_shown_however_far_up_it_is(house: House) {
    let home = tinker(&house).await;
    let mut answers = vec![json!([call("write_file", json!({"path": "a", "content": "x"}))])];
    answers.extend((0..56).map(|_| json!([{"text": "Yes."}])));
    let playing = house.playing(&script(&answers));
    let first = say(&playing, &home, words("Begin")).await;
    let written = first.of("tool-input-available")[0]["toolCallId"].as_str().unwrap();
    for _ in 0..55 {
        say(&playing, &home, in_session(words("On"), &first.session)).await;
    }

    let address = format!("/playground/tinker/{}?call=", first.session);
    let page = playing.get(&format!("{address}{written}")).await.text;
    let other = playing.get(&format!("{address}nothing")).await.text;

    assert!(page.contains("made") && !page.contains("not on this branch"), "{page}");
    assert!(other.contains("That step is not on this branch."), "{other}");
}

/// An empty file was told to be nothing that could be shown as text.
async fn a_file_that_a_step_made_empty_is_shown_as_text(house: House) {
    let home = tinker(&house).await;
    let playing = house.playing(&script(&[
        json!([call("write_file", json!({"path": "empty.txt", "content": ""}))]),
        json!([{"text": "Done."}]),
    ]));
    let told = say(&playing, &home, words("Make it")).await;
    let made = told.of("tool-input-available")[0]["toolCallId"].as_str().unwrap();

    let page = playing.get(&format!("/playground/tinker/{}?call={made}", told.session)).await.text;

    assert!(page.contains("<code>empty.txt"), "{page}");
    assert!(!page.contains("Nothing that could be shown as text."), "{page}");
}
