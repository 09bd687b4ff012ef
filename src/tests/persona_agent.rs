//! Talking with a persona's agent. The same stories hold for the demo model and, with
//! `make test-live`, for a real one.

use axum::http::Method;
use greenroom::{changes::Gate, domain::id::PersonaId, providers::TimeLimits};
use serde_json::{Value, json};

use crate::support::{Answer, House, error, request, told};

const CHAT: &str = "/api/persona-agent/chat";
const PROMPT: &str = "You are a lighthouse keeper. Speak of the sea and be kind.";

/// A house right after its first start. With `make test-live` its personas speak with that model.
async fn fresh() -> House {
    let Ok(live) = std::env::var("GREENROOM_TEST_LIVE") else { return House::new().await };
    let names = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"];
    let keys: Vec<(&str, String)> = names
        .into_iter()
        .filter_map(|name| std::env::var(name).ok().map(|key| (name, key)))
        .collect();
    let house = House::with_services(&keys, TimeLimits::default()).await;
    let default = house.call(Method::PUT, "/api/models/default", json!({"model": live})).await;
    assert!(default.status.is_success(), "{}", default.text);
    house
}

/// A house in which a persona `keeper` has an agent of tier `act`, and two test inputs.
async fn house() -> House {
    let house = fresh().await;
    let persona = json!({"id": "keeper", "name": "Keeper", "systemPrompt": PROMPT, "tier": "act"});
    house.call(Method::POST, "/api/storage/personas", persona).await.good();
    for content in ["What is 12 * 12?", "Tell me about the fog."] {
        let path = "/api/storage/personas/keeper/test-inputs";
        house.call(Method::POST, path, json!({"content": content})).await.good();
    }
    house
}

/// What the agent told after a message.
struct Told {
    events: Vec<Value>,
}

impl Told {
    fn tools(&self) -> Vec<&str> {
        let calls = self.events.iter().filter(|event| event["type"] == "tool_call");
        calls.map(|event| event["toolName"].as_str().unwrap()).collect()
    }

    fn words(&self) -> String {
        let texts = self.events.iter().filter(|event| event["type"] == "text_complete");
        texts.map(|event| event["content"].as_str().unwrap()).collect::<Vec<_>>().join("\n")
    }
}

async fn say(house: &House, message: &str) -> Told {
    let said = json!({"personaId": "keeper", "message": message});
    let answer = house.call(Method::POST, CHAT, said).await;
    assert_eq!(answer.header("content-type"), "text/event-stream", "{}", answer.text);
    let events = told(&answer);
    assert_eq!(events.last(), Some(&json!({"type": "done"})), "{message}");
    Told { events }
}

async fn history(house: &House) -> Value {
    house.get("/api/persona-agent/history?personaId=keeper").await.good()
}

async fn persona(house: &House) -> Value {
    house.get("/api/storage/personas/keeper").await.good()
}

async fn test_inputs(house: &House) -> Vec<String> {
    let list = house.get("/api/storage/personas/keeper/test-inputs").await.good();
    let items = list["items"].as_array().unwrap().iter();
    items.map(|input| input["content"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn it_answers_a_question_about_the_persona_and_keeps_the_turns() {
    let house = house().await;

    let told = say(&house, "What is this persona's name?").await;

    assert!(told.tools().contains(&"get_persona"), "{:?}", told.tools());
    assert!(told.words().contains("Keeper"), "{}", told.words());
    let turns = history(&house).await["turns"].clone();
    let kinds: Vec<&str> =
        turns.as_array().unwrap().iter().map(|turn| turn["type"].as_str().unwrap()).collect();
    assert_eq!((kinds[0], kinds[kinds.len() - 1]), ("user", "assistant_text"));
    for kind in ["tool_call", "tool_result"] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
    for turn in turns.as_array().unwrap() {
        assert!(turn["id"].is_string() && turn["createdAt"].is_string(), "{turn}");
    }
}

#[tokio::test]
async fn it_shows_the_system_prompt_and_the_test_inputs() {
    let house = house().await;

    let prompt = say(&house, "Show me the current system prompt").await;
    let inputs = say(&house, "What test inputs do I have?").await;

    assert!(prompt.tools().contains(&"get_persona"));
    assert!(prompt.words().contains("lighthouse keeper"), "{}", prompt.words());
    assert!(inputs.tools().contains(&"list_test_inputs"));
    assert!(inputs.words().contains("fog"), "{}", inputs.words());
}

#[tokio::test]
async fn it_changes_the_name() {
    let house = house().await;

    let told = say(&house, "Change the name to 'Helpful Assistant'").await;

    let call = told.events.iter().find(|event| event["toolName"] == "update_persona_name").unwrap();
    assert_eq!(call["input"], json!({"name": "Helpful Assistant"}));
    assert_eq!(persona(&house).await["name"], "Helpful Assistant");
    assert!(told.words().contains("Helpful Assistant"), "{}", told.words());
}

#[tokio::test]
async fn it_adds_to_the_system_prompt_and_keeps_what_was_there() {
    let house = house().await;

    say(&house, "Add 'Be concise' to the system prompt").await;

    let prompt = persona(&house).await["systemPrompt"].as_str().unwrap().to_owned();
    assert!(prompt.contains("Be concise") && prompt.contains("lighthouse keeper"), "{prompt}");
}

#[tokio::test]
async fn it_adds_a_test_input_and_links_it() {
    let house = house().await;

    say(&house, "Add a test input: 'What is 2+2?'").await;

    assert!(test_inputs(&house).await.contains(&"What is 2+2?".to_owned()));
    assert_eq!(persona(&house).await["testInputIds"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn it_finds_the_test_input_that_is_meant_and_deletes_it() {
    let house = house().await;

    let told = say(&house, "Delete the test input about math").await;

    let tools = told.tools();
    let at = |name| tools.iter().position(|tool| *tool == name);
    assert!(at("list_test_inputs") < at("delete_test_input"), "{tools:?}");
    assert_eq!(test_inputs(&house).await, ["Tell me about the fog."]);
}

#[tokio::test]
async fn it_finds_the_test_input_that_is_meant_and_changes_it() {
    let house = house().await;

    let told = say(&house, "Change the test input about math to 'What is 7 * 8?'").await;

    let tools = told.tools();
    let at = |name| tools.iter().position(|tool| *tool == name);
    assert!(at("list_test_inputs") < at("update_test_input"), "{tools:?}");
    assert_eq!(test_inputs(&house).await, ["What is 7 * 8?", "Tell me about the fog."]);
}

#[tokio::test]
async fn it_finds_the_test_input_that_is_meant_and_shows_it() {
    let house = house().await;

    let told = say(&house, "Show me the test input about fog").await;

    let mut results = told.events.iter().filter(|event| event["type"] == "tool_result");
    assert!(results.all(|event| event["isError"] == false), "{:?}", told.events);
    assert!(told.words().contains("Tell me about the fog."), "{}", told.words());
    // A model may find it in the list already; the demo asks for it by its id.
    if std::env::var("GREENROOM_TEST_LIVE").is_err() {
        assert_eq!(told.tools(), ["list_test_inputs", "get_test_input"]);
    }
    assert_eq!(test_inputs(&house).await, ["What is 12 * 12?", "Tell me about the fog."]);
}

#[tokio::test]
async fn it_does_several_things_in_one_turn() {
    let house = house().await;

    let told = say(&house, "Show me all test inputs and add a new one about coding").await;

    let tools = told.tools();
    assert!(tools.contains(&"list_test_inputs") && tools.contains(&"create_test_input"));
    assert_eq!(test_inputs(&house).await.len(), 3);
}

#[tokio::test]
async fn words_stream_before_they_are_complete_and_calls_before_their_results() {
    let house = house().await;

    let told = say(&house, "Show me the current system prompt").await;

    let mut deltas = String::new();
    let mut open = Vec::new();
    for event in &told.events {
        match event["type"].as_str().unwrap() {
            "text_delta" => deltas.push_str(event["content"].as_str().unwrap()),
            "text_complete" => {
                assert_eq!(event["content"], json!(std::mem::take(&mut deltas)));
            }
            "tool_call" => open.push(event["toolUseId"].clone()),
            "tool_result" => {
                // Calls of one answer that only look come to their ends in any order.
                let call = open.iter().position(|call| *call == event["toolUseId"]);
                open.remove(call.expect("a result without its call"));
                assert_eq!(event["isError"], false);
            }
            "done" => {}
            other => panic!("unknown event {other}"),
        }
    }
    assert!(deltas.is_empty() && open.is_empty());
}

#[tokio::test]
async fn it_remembers_until_the_conversation_is_cleared() {
    let house = house().await;
    say(&house, "My name is Philippa. Please remember it.").await;
    let told = say(&house, "What is my name?").await;
    assert!(told.words().contains("Philippa"), "{}", told.words());
    let before = history(&house).await;
    assert_eq!(before["sessionId"], persona(&house).await["agentChatSessionId"]);

    let cleared = json!({"personaId": "keeper"});
    let cleared = house.call(Method::POST, "/api/persona-agent/clear", cleared).await.good();

    assert_eq!(persona(&house).await["agentChatSessionId"], cleared["sessionId"]);
    assert_ne!(cleared["sessionId"], before["sessionId"]);
    assert_eq!(history(&house).await["turns"], json!([]));
    let told = say(&house, "What is my name?").await;
    assert!(!told.words().contains("Philippa"), "{}", told.words());
}

#[tokio::test]
async fn an_answer_without_a_word_is_done_and_its_run_says_so() {
    let house = house().await;
    let playing = house.playing(&json!({"answers": [[]]}));

    let told = say(&playing, "Hello").await;

    assert_eq!(told.events, [json!({"type": "done"})]);
    let traces = playing.get("/api/traces").await.good();
    let run = traces["items"][0]["id"].as_str().unwrap();
    let run = playing.get(&format!("/api/runs/{run}")).await.good();
    assert_eq!(run["status"], "done");
    assert!(run["error"].to_string().contains("The model said nothing. Try again."), "{run}");
}

/// What was said in the same moment went on in the old conversation, where nobody saw it any more.
#[tokio::test]
async fn nothing_goes_on_in_a_conversation_that_was_cleared() {
    let house = house().await;
    let answers = json!({"answers": [[{"text": "Hello."}], ["stall"]]});
    let playing = house.playing(&answers);
    let (agent, scope, keeper) =
        (&playing.state.agent, &playing.state.scope, PersonaId::new("keeper"));
    let first = agent.send(scope, &keeper, "Hi", None).await.unwrap();
    agent.ended(scope, &first.id).await.unwrap();
    let looks = async |count: usize| {
        for _ in 0..count {
            history(&playing).await;
        }
    };

    // Both have looked before either can write.
    let held = playing.state.store.write(&scope.space).await.unwrap();
    let clearing = async {
        looks(5).await;
        agent.clear(scope, &keeper).await
    };
    let letting = async {
        looks(20).await;
        drop(held);
    };
    let (run, cleared, ()) =
        tokio::join!(agent.send(scope, &keeper, "Go on", None), clearing, letting);

    let (run, cleared) = (run.unwrap(), cleared.unwrap());
    let stands = agent.run(scope, &run.id).await.unwrap();
    assert!(stands.status.is_over() || run.conversation_id == cleared, "{stands:?}");
    agent.stop(scope, &run.id).await.unwrap();
}

#[tokio::test]
async fn a_tool_that_fails_is_told_to_the_agent_which_goes_on() {
    let house = house().await;
    let script = json!({"answers": [
        [{"call": {"name": "get_test_input", "input": {"id": "nothing-there"}}}],
        [{"text": "There is no such test input."}],
    ]});
    let house = match std::env::var("GREENROOM_TEST_LIVE") {
        Ok(_) => house,
        Err(_) => house.playing(&script),
    };

    let told = say(&house, "Read the test input with the id nothing-there with your tool.").await;

    let failed = told.events.iter().find(|event| event["type"] == "tool_result").unwrap();
    assert_eq!(failed["isError"], true);
    assert!(failed["output"].as_str().unwrap().contains("does not exist"), "{failed}");
    assert!(!told.words().is_empty());
}

#[tokio::test]
async fn with_tier_suggest_a_change_is_a_draft_and_with_tier_read_it_is_denied() {
    let house = House::new().await;
    let chat = async |id: &str, tier: &str| {
        let persona = json!({"id": id, "name": "Keeper", "tier": tier});
        house.call(Method::POST, "/api/storage/personas", persona).await.good();
        let said = json!({"personaId": id, "message": "Change the name to Captain"});
        let events = told(&house.call(Method::POST, CHAT, said).await);
        let result = events.iter().find(|event| event["type"] == "tool_result").unwrap().clone();
        let name = house.get(&format!("/api/storage/personas/{id}")).await.good()["name"].clone();
        (result["isError"].clone(), result["output"].as_str().unwrap().to_owned(), name)
    };

    let (is_error, output, name) = chat("one", "suggest").await;
    assert_eq!((is_error, name), (json!(false), json!("Keeper")));
    assert!(output.contains("\"state\":\"pending\"") && output.contains("draft"), "{output}");

    let (is_error, output, name) = chat("two", "read").await;
    assert_eq!((is_error, name), (json!(true), json!("Keeper")));
    assert!(output.contains("may only read"), "{output}");

    let (is_error, output, name) = chat("three", "act").await;
    assert_eq!((is_error, name), (json!(false), json!("Captain")));
    assert!(output.contains("\"state\":\"applied\""), "{output}");
}

#[tokio::test]
async fn what_the_agent_changes_is_audited_with_its_run() {
    let house = house().await;
    let said = json!({"personaId": "keeper", "message": "Change the name to Captain"});
    let bytes = said.to_string().into_bytes();
    let mut events = house.stream(request(Method::POST, CHAT, Some(bytes))).await;
    let run = events.run();
    events.until("done").await;

    let audit = house.read().await.audit(None, 1).await.unwrap();

    let last = &audit.items[0];
    assert_eq!(last.run_id.as_ref().map(|run| run.as_str().to_owned()), Some(run));
    assert_eq!(last.persona_id.as_ref().map(|persona| persona.as_str()), Some("keeper"));
}

#[tokio::test]
async fn bad_messages_are_refused_with_a_sentence_before_any_stream() {
    let house = House::new().await;
    let chat = async |body: Value| -> Answer { house.call(Method::POST, CHAT, body).await };

    let unknown = chat(json!({"personaId": "nobody", "message": "Hi"})).await;
    assert_eq!(unknown.error(), error(404, "not_found", ""));
    let empty = chat(json!({"personaId": "optimist", "message": " \n"})).await;
    assert_eq!(empty.error(), error(422, "invalid", "message"));
    let huge = chat(json!({"personaId": "optimist", "message": "x".repeat(50_001)})).await;
    assert_eq!(huge.error(), error(422, "invalid", "message"));
    let missing = chat(json!({"personaId": "optimist"})).await;
    assert_eq!(missing.error(), error(422, "invalid", "message"));
    let model = json!({"model": "no-such-model"});
    house.call(Method::PUT, "/api/storage/personas/optimist", model).await.good();
    let model = chat(json!({"personaId": "optimist", "message": "Hi"})).await;
    assert_eq!(model.error(), error(422, "invalid", "model"));

    let turns = house.get("/api/persona-agent/history?personaId=optimist").await.good();
    assert_eq!((&turns["turns"], &turns["sessionId"]), (&json!([]), &Value::Null));
    let nobody = house.get("/api/persona-agent/history?personaId=nobody").await;
    assert_eq!(nobody.error(), error(404, "not_found", ""));
    let nobody = json!({"personaId": "nobody"});
    let nobody = house.call(Method::POST, "/api/persona-agent/clear", nobody).await;
    assert_eq!(nobody.error(), error(404, "not_found", ""));
}

#[tokio::test]
async fn the_first_sample_answers_right_after_the_first_start() {
    let house = fresh().await;
    let said = json!({"personaId": "optimist", "message": "Hello, who are you?"});

    let answer = house.call(Method::POST, CHAT, said).await;

    assert_eq!(answer.header("content-type"), "text/event-stream");
    let told = Told { events: told(&answer) };
    let deltas = told.events.iter().filter(|event| event["type"] == "text_delta");
    let deltas: String = deltas.map(|event| event["content"].as_str().unwrap()).collect();
    assert!(!deltas.trim().is_empty());
    let whole = told.events.iter().filter(|event| event["type"] == "text_complete");
    let whole: String = whole.map(|event| event["content"].as_str().unwrap()).collect();
    assert_eq!(deltas, whole);
    assert_eq!(told.events.last(), Some(&json!({"type": "done"})));
}

#[tokio::test]
async fn the_first_sample_reads_its_data_right_after_the_first_start() {
    let house = fresh().await;
    let message = "What is this personas system prompt?";
    let said = json!({"personaId": "optimist", "message": message});
    let prompt = house.get("/api/storage/personas/optimist").await.good()["systemPrompt"].clone();

    let told = Told { events: told(&house.call(Method::POST, CHAT, said).await) };

    assert_eq!(told.tools()[0], "get_persona");
    let result = told.events.iter().find(|event| event["type"] == "tool_result").unwrap();
    let seen: Value = serde_json::from_str(result["output"].as_str().unwrap()).unwrap();
    assert_eq!((&seen["name"], &seen["systemPrompt"]), (&json!("Optimist"), &prompt));
    let begins: String = prompt.as_str().unwrap().chars().take(30).collect();
    assert!(told.words().contains(&begins), "{}", told.words());
    assert_eq!(told.events.last(), Some(&json!({"type": "done"})));
}

#[tokio::test]
async fn the_first_sample_can_be_renamed_by_its_agent_right_after_the_first_start() {
    let house = fresh().await;
    let said = json!({"personaId": "optimist", "message": "Change the name to Super Optimist"});

    house.call(Method::POST, CHAT, said).await;

    let name = house.get("/api/storage/personas/optimist").await.good()["name"].clone();
    assert_eq!(name, "Super Optimist");
    // Nothing else of it has changed.
    let space = &house.state.scope;
    Gate::found_space(&house.state.store, space, "Home").await.unwrap();
    assert_eq!(house.get("/api/storage/personas/optimist").await.good()["name"], name);
}
