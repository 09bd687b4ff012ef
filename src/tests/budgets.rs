//! Limits that a Space sets: what is over them is refused with what was taken, and nothing is kept of it.

use axum::http::Method;
use serde_json::{Value, json};

use crate::support::{House, error, on_both, postgres_database, request, told};

on_both!(
    a_day_that_is_used_up_refuses_every_surface,
    a_conversation_that_is_used_up_is_told_and_another_goes_on,
    a_person_begins_so_many_runs_in_a_minute,
    a_service_is_asked_so_often_in_a_minute,
    all_test_inputs_are_run_or_none,
    what_an_agent_could_run_is_told_beside_what_it_could_not,
    a_key_counts_for_all_spaces_that_have_it_also_after_a_restart,
    voices_that_answer_together_share_what_is_left,
    what_a_run_that_goes_on_may_take_is_not_given_to_another,
    one_run_is_held_to_its_tokens,
    what_is_asked_in_passing_counts_and_keeps_to_the_day,
    the_page_of_a_session_tells_what_is_left,
    odd_limits_are_refused_and_change_nothing,
);

const BUDGETS: &str = "/api/budgets";

async fn set(house: &House, budgets: Value) {
    house.call(Method::PUT, BUDGETS, budgets).await.good();
}

async fn ask(house: &House, persona: &str) -> crate::support::Answer {
    let body = json!({"personaId": persona, "message": "What is your name?"});
    house.call(Method::POST, "/api/persona-agent/chat", body).await
}

async fn a_day_that_is_used_up_refuses_every_surface(house: House) {
    assert_eq!(ask(&house, "optimist").await.status, 200);
    let taken = house.get(BUDGETS).await.good()["today"]["tokens"].as_u64().unwrap();
    assert!(taken > 0);
    set(&house, json!({"dayTokens": taken})).await;

    let limited = error(429, "limited", "");
    let history = house.get("/api/persona-agent/history?personaId=optimist").await.good();
    assert_eq!(ask(&house, "optimist").await.error(), limited);
    let said = json!({"messages": [{"role": "user", "content": "Hi"}]});
    let played = house.call(Method::POST, "/api/agents/optimist/playground/chat", said).await;
    assert_eq!(played.error(), limited);
    let chat = house.call(Method::POST, "/api/chats", json!({"personaId": "skeptic"})).await.good();
    let path = format!("/api/chats/{}/messages", chat["id"].as_str().unwrap());
    let said = house.call(Method::POST, &path, json!({"content": "Hi"})).await;
    assert_eq!(said.error(), limited);
    assert!(said.text.contains("midnight"), "{}", said.text);
    assert_eq!(house.get("/api/persona-agent/history?personaId=optimist").await.good(), history);
    assert_eq!(house.get(&path).await.good()["items"], json!([]), "nothing was kept of it");

    set(&house, json!({"dayTokens": taken + 100_000})).await;
    assert_eq!(ask(&house, "optimist").await.status, 200);
}

async fn a_conversation_that_is_used_up_is_told_and_another_goes_on(house: House) {
    house.dear_model().await;
    for _ in 0..3 {
        assert_eq!(ask(&house, "optimist").await.status, 200);
    }
    let taken = house.get(BUDGETS).await.good()["today"]["costMicros"].as_f64().unwrap();
    set(&house, json!({"sessionDollars": taken / 1_000_000.0})).await;

    let refused = ask(&house, "optimist").await;
    assert_eq!(refused.error(), error(429, "limited", ""));
    assert_eq!(refused.header("retry-after"), "", "time alone does not help");
    assert_eq!(ask(&house, "skeptic").await.status, 200);
}

async fn a_person_begins_so_many_runs_in_a_minute(house: House) {
    set(&house, json!({"runsPerMinute": 2})).await;
    assert_eq!(ask(&house, "optimist").await.status, 200);
    assert_eq!(ask(&house, "skeptic").await.status, 200);

    let refused = ask(&house, "optimist").await;
    assert_eq!(refused.error(), error(429, "limited", ""));
    let wait: u64 = refused.header("retry-after").parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    assert_eq!(refused.json()["error"]["retryAfter"], wait);
    // Whoever is told in words alone is told when, too.
    let said =
        json!({"messages": [{"role": "user", "content": "Hi"}], "trigger": "submit-message"});
    let played = house.call(Method::POST, "/api/agents/optimist/playground/chat", said).await;
    assert_eq!((played.status.as_u16(), played.header("retry-after").is_empty()), (429, false));
    assert!(played.text.starts_with("A person may begin 2 runs in a minute."), "{}", played.text);
    // The neighbour has a count of their own.
    let neighbour = house.neighbour().await;
    set(&neighbour, json!({"runsPerMinute": 2})).await;
    assert_eq!(ask(&neighbour, "optimist").await.status, 200);
}

async fn a_service_is_asked_so_often_in_a_minute(house: House) {
    set(&house, json!({"servicePerMinute": 1})).await;
    assert_eq!(ask(&house, "optimist").await.status, 200);

    let refused = ask(&house, "skeptic").await;
    assert_eq!(refused.error(), error(429, "limited", ""));
    assert!(refused.text.contains("Demo"), "it names the service: {}", refused.text);
}

const ANSWERS: &str = "/api/storage/personas/optimist/answers";

async fn all_test_inputs_are_run_or_none(house: House) {
    for (limits, told) in [
        (json!({"runsPerMinute": 3}), "A person may begin 3 runs in a minute, and these are 5."),
        (json!({"servicePerMinute": 4}), "one may begin 4 runs in a minute, and these are 5."),
    ] {
        set(&house, limits).await;
        let refused = house.call(Method::POST, ANSWERS, json!({})).await;
        assert_eq!(refused.error(), error(429, "limited", ""));
        assert!(refused.text.contains(told), "{}", refused.text);
        assert_eq!(refused.header("retry-after"), "", "time alone does not help");
        let page = house.function("run_all_test_inputs", &[("persona", "optimist")]).await;
        assert_eq!(page.status, 429);
    }
    assert_eq!(house.get(ANSWERS).await.good()["items"], json!([]), "none was run");

    set(&house, json!({"runsPerMinute": 6})).await;
    let runs = house.call(Method::POST, ANSWERS, json!({})).await;
    assert_eq!((runs.status.as_u16(), runs.json()["items"].as_array().unwrap().len()), (201, 5));
    let again = house.call(Method::POST, ANSWERS, json!({})).await;
    assert_eq!(again.error(), error(429, "limited", ""));
    let wait: u64 = again.header("retry-after").parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
}

/// What was answered was thrown away when another test input could not be run.
async fn what_an_agent_could_run_is_told_beside_what_it_could_not(house: House) {
    let call = json!({"name": "run_test_inputs", "input": {"atOnce": 1}});
    let playing = house.playing(&json!({"answers": [
        [{"call": call}], [{"text": "One."}], [{"text": "Two."}], [{"text": "Done."}],
    ]}));
    // Its own run is the first.
    set(&playing, json!({"runsPerMinute": 3})).await;
    let events = told(&ask(&playing, "optimist").await);

    let result = events.iter().find(|event| event["type"] == "tool_result").unwrap();
    let output: Value = serde_json::from_str(result["output"].as_str().unwrap()).unwrap();
    let answers = output["answers"].as_array().unwrap();
    let words: Vec<&Value> = answers.iter().map(|one| &one["answer"]).collect();
    assert_eq!(words, [&json!("One."), &json!("Two."), &Value::Null, &Value::Null, &Value::Null]);
    for one in &answers[2..] {
        let error = one["error"].as_str().unwrap();
        assert!(error.starts_with("A person may begin 3 runs in a minute."), "{error}");
    }
}

async fn a_key_counts_for_all_spaces_that_have_it_also_after_a_restart(house: House) {
    let neighbour = house.neighbour().await;
    let said = json!({
        "messages": [{"role": "user", "content": "Hi"}],
        "modelProvider": "openai", "modelId": "gpt-5-mini",
    });
    let path = "/api/agents/optimist/playground/chat";
    for one in [&house, &neighbour] {
        set(one, json!({"servicePerMinute": 1})).await;
    }
    // Nobody has that key, so nothing comes of it: it was begun all the same.
    assert_eq!(house.call(Method::POST, path, said.clone()).await.status, 200);

    let refused = neighbour.call(Method::POST, path, said.clone()).await;
    assert_eq!(refused.error(), error(429, "limited", ""));
    assert!(refused.text.contains("OpenAI"), "it names the service: {}", refused.text);
    assert_eq!(ask(&neighbour, "optimist").await.status, 200, "another service has its own count");
    let restarted = house.playing(&json!({"answers": []}));
    assert_eq!(restarted.call(Method::POST, path, said).await.status, 429);
}

async fn voices_that_answer_together_share_what_is_left(house: House) {
    let names = ["Ann", "Ben", "Cy", "Dee"];
    let long = "word ".repeat(3000);
    let mut speakers = serde_json::Map::new();
    for name in names {
        let prompt = format!("You are {name}.");
        house.persona(&name.to_lowercase(), &prompt).await;
        speakers.insert(prompt, json!([{"text": long}]));
    }
    let playing = house.playing(&json!({"speakers": speakers}));
    let chat = playing.call(Method::POST, "/api/chats", json!({"personaId": "ann"})).await.good();
    let chat = format!("/api/chats/{}", chat["id"].as_str().unwrap());
    let together = json!({
        "members": ["ann", "ben", "cy", "dee"], "settings": {"answers": "in_parallel"},
    });
    playing.call(Method::PATCH, &chat, together).await.good();
    set(&playing, json!({"dayTokens": 6000})).await;

    let said = json!({"content": "Hello"});
    let said = playing.call(Method::POST, &format!("{chat}/messages"), said).await.good();
    let first = said["runId"].as_str().unwrap().into();
    let runs = playing.read().await.round(&first).await.unwrap();
    for one in &runs {
        playing.state.agent.ended(&playing.state.scope, &one.run.id).await.unwrap();
    }

    assert_eq!(runs.len(), 4);
    let taken = playing.get(BUDGETS).await.good()["today"]["tokens"].as_u64().unwrap();
    // What is written is guessed while it comes, and a guess is given a quarter more. What is asked in
    // passing, about each of the four, may be counted by now.
    assert!((3000..=8000).contains(&taken), "{taken} of 6000 tokens");
}

async fn what_a_run_that_goes_on_may_take_is_not_given_to_another(house: House) {
    let playing = house.playing(&json!({"answers": [
        [{"text": "I begin"}, "stall"], [{"text": "Hello."}],
    ]}));
    set(&playing, json!({"dayTokens": 8000})).await;
    let said = json!({"personaId": "optimist", "message": "Hi"}).to_string().into_bytes();
    let asking = request(Method::POST, "/api/persona-agent/chat", Some(said));
    let run = playing.stream(asking).await.run();

    let refused = ask(&playing, "skeptic").await;
    assert_eq!(refused.error(), error(429, "limited", ""));
    assert!(refused.text.contains("What is left for today is not enough"), "{}", refused.text);

    playing.call(Method::POST, &format!("/api/runs/{run}/stop"), json!({})).await.good();
    assert_eq!(ask(&playing, "skeptic").await.status, 200, "what it held is there again");
}

/// Two servers on one database are one to whoever counts.
#[tokio::test]
async fn servers_beside_each_other_count_together() {
    let database = postgres_database().await;
    let script = json!({"answers": [[{"text": "Hello."}], [{"text": "Hello."}]]});
    let one = House::process(&database, "one".into(), &script).await;
    let two = House::process(&database, "two".into(), &script).await;
    set(&one, json!({"runsPerMinute": 2, "servicePerMinute": 2})).await;
    assert_eq!(ask(&one, "optimist").await.status, 200);
    assert_eq!(ask(&two, "skeptic").await.status, 200);

    for server in [&one, &two] {
        assert_eq!(ask(server, "optimist").await.error(), error(429, "limited", ""));
    }
}

async fn one_run_is_held_to_its_tokens(house: House) {
    let playing = house.playing(&json!({"answers": [
        [{"text": "one"}, {"call": {"name": "get_persona", "input": {}}},
            {"usage": {"input": 29_900, "output": 90}}],
        [{"text": "never said"}],
    ]}));
    set(&playing, json!({"runTokens": 30_000})).await;

    let told = ask(&playing, "optimist").await;

    // What it reads counts as what it writes does.
    assert_eq!(told.status, 200);
    assert!(!told.text.contains("never said"), "{}", told.text);
    assert!(
        told.text.contains("it took 29\u{202f}990 of the 30\u{202f}000 tokens, and the next"),
        "{}",
        told.text
    );
    set(&playing, json!({"runTokens": 40})).await;
    let refused = ask(&playing, "optimist").await;
    assert_eq!(refused.error(), error(429, "limited", ""));
    assert!(refused.text.contains("What is left for one run is not enough"), "{}", refused.text);
}

async fn what_is_asked_in_passing_counts_and_keeps_to_the_day(house: House) {
    let draw = async |persona: &str| house.function("draw_roleplay", &[("id", persona)]).await;
    assert_eq!(draw("optimist").await.status, 200);

    let usage = house.get("/api/usage?days=7").await.good();
    let persona = &usage["byPersona"][0];
    assert_eq!((&persona["personaId"], &usage["total"]["runs"]), (&json!("optimist"), &json!(0)));
    assert!(usage["total"]["inputTokens"].as_u64() > Some(0), "{usage}");
    let taken = house.get(BUDGETS).await.good()["today"]["tokens"].as_u64().unwrap();
    // Whoever waits for it is told; what nobody waits for is just not made.
    for left in [0, 20] {
        set(&house, json!({"dayTokens": taken + left})).await;
        assert_eq!(draw("skeptic").await.status, 429, "{left}");
    }
    assert_eq!(house.get("/api/usage?days=7").await.good(), usage);
}

async fn the_page_of_a_session_tells_what_is_left(house: House) {
    let playing = house.playing(&json!({"answers": [
        [{"text": "Hello."}, {"usage": {"input": 500, "output": 100}}],
    ]}));
    let said = json!({"messages": [{"role": "user", "content": "Hi"}]});
    let answer = playing.call(Method::POST, "/api/agents/optimist/playground/chat", said).await;
    let page = format!("/playground/optimist/{}", answer.header("greenroom-session-id"));
    assert!(!playing.get(&page).await.text.contains("id=\"left\""), "nothing is limited");
    set(
        &playing,
        json!({
            "dayTokens": 900, "sessionTokens": 700, "runTokens": 50, "runDollars": 0.5,
            "runsPerMinute": 3, "servicePerMinute": 9,
        }),
    )
    .await;

    let page = playing.get(&page).await.text;

    for told in [
        "Left today: 300 of 900 tokens",
        "left in this session: 100 of 700 tokens",
        "one run may take 50 tokens and cost $0.50",
        "2 of 3 runs left in this minute",
        "8 of 9 with Demo",
    ] {
        assert!(page.contains(told), "{told}: {page}");
    }
}

async fn odd_limits_are_refused_and_change_nothing(house: House) {
    set(&house, json!({"dayDollars": 5.0})).await;
    for (body, field) in [
        (json!({"dayDollars": -1}), "dayDollars"),
        (json!({"runsPerMinute": 0}), "runsPerMinute"),
        (json!({"dayTokens": "many"}), "dayTokens"),
        (json!({"colour": 1}), "colour"),
    ] {
        let answer = house.call(Method::PUT, BUDGETS, body.clone()).await;
        assert_eq!(answer.error(), error(422, "invalid", field), "{body}");
    }
    let budgets = house.get(BUDGETS).await.good()["budgets"].clone();
    assert_eq!((&budgets["dayDollars"], &budgets["dayTokens"]), (&json!(5.0), &Value::Null));

    let form = [("limits[day_dollars]", "5"), ("limits[runs_per_minute]", "")];
    assert_eq!(house.function("save_budgets", &form).await.status, 200);
    let odd = [("limits[day_dollars]", "much")];
    assert_eq!(house.function("save_budgets", &odd).await.status, 422);
    let page = house.send(request(Method::GET, "/settings", None)).await;
    assert!(page.text.contains("Left today: $5.00 of $5.00"), "the page tells what remains");
}
