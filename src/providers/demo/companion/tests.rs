//! Requests to the companion, each played to its end on a stage.

use serde_json::{Value, json};

use super::super::rehearsal::{Scene, perform, result, tools, user};
use crate::domain::message::{ToolCall, Turn};

/// A Space with a few things in it, and the conversation with its companion.
struct Stage {
    /// What is kept: its kind, its id, its title, and what `read` tells of it.
    things: Vec<(&'static str, &'static str, &'static str, String)>,
    context: String,
    /// A tool that fails, and what it says.
    broken: Option<(&'static str, &'static str)>,
    turns: Vec<Turn>,
}

impl Stage {
    fn new() -> Self {
        let page = "## body (text)\n# Fog\n\nFog is wet. It comes at night. Ships slow down. Then it \
                    goes.\n\n## title (title)\nFog";
        let task = "## due (due date)\n2026-12-31\n\n## status (status)\nopen\n\n## title (title)\nBring water";
        let note = "## body (text)\nBring water, they said.\n\n## title (title)\nNotes";
        Self {
            things: vec![
                ("page", "p1", "Fog", page.into()),
                ("task", "t1", "Bring water", task.into()),
                ("page", "p2", "Notes", note.into()),
            ],
            context: "The person is looking at the page “Fog” (entityType page, entityId p1)."
                .into(),
            broken: None,
            turns: Vec::new(),
        }
    }

    fn say(&mut self, text: &str) -> Scene {
        let mut turns = std::mem::take(&mut self.turns);
        turns.push(user(text));
        let tools = tools(&["search", "read", "context", "propose_change"]);
        let scene = perform(&mut turns, &tools, |call| {
            let broken = self.broken.filter(|(name, _)| *name == call.name);
            match broken {
                Some((_, sentence)) => result(call, Err(sentence.to_owned())),
                None => result(call, Ok(self.output(call))),
            }
        });
        self.turns = turns;
        scene
    }

    fn output(&self, call: &ToolCall) -> String {
        let given = |key: &str| call.input[key].as_str().unwrap_or_default().to_lowercase();
        match call.name.as_str() {
            "search" => {
                let fits = self.things.iter().filter(|(kind, _, title, told)| {
                    let words = given("query");
                    let all = format!("{title} {told}").to_lowercase();
                    words.split(' ').all(|word| all.contains(word))
                        && (given("entityType").is_empty() || given("entityType") == *kind)
                });
                let hits = fits.map(|(kind, id, title, _)| {
                    json!({ "entityType": kind, "entityId": id, "title": title, "passage": "" })
                });
                let hits: Vec<Value> = hits.collect();
                match hits.is_empty() {
                    true => "Nothing fits. Try fewer or other words.".into(),
                    false => json!(hits).to_string(),
                }
            }
            "read" => {
                let read = self.things.iter().find(|thing| thing.1 == given("entityId"));
                let told = &read.expect("a known thing").3;
                let offset = call.input["offset"].as_u64().unwrap_or_default();
                let offset = usize::try_from(offset).expect("small");
                let (total, end) = (told.chars().count(), offset + 20_000);
                let piece: String = told.chars().skip(offset).take(20_000).collect();
                match end < total {
                    true => {
                        format!("{piece}\n\n… ({total} letters in all; go on with offset {end})")
                    }
                    false => piece,
                }
            }
            "context" => self.context.clone(),
            "propose_change" => json!({ "state": "pending" }).to_string(),
            other => panic!("an unknown tool: {other}"),
        }
    }
}

const SEARCH: &str = "Let me look for that.";
const LOOK: &str = "Let me see what you are looking at.";
const DRAFT: &str = "I will draft that.";

fn scene(calls: &[&str], lead: &str, answer: &str) -> Scene {
    let calls = calls.iter().map(|call| (*call).to_owned()).collect();
    Scene { calls, lead: lead.into(), answer: answer.into() }
}

/// The drafts that a message led to.
fn drafts(scene: &Scene) -> Vec<Value> {
    let drafts = scene.calls.iter().filter_map(|call| call.strip_prefix("propose_change "));
    drafts.map(|input| serde_json::from_str(input).expect("JSON")).collect()
}

#[test]
fn things_are_found_by_their_words_and_listed_by_title_and_type() {
    for text in [
        "find water",
        "Search for water, please",
        "What do we have about water?",
        "look for 'water'",
        "Is there anything about the water?",
    ] {
        let found = Stage::new().say(text);

        let answer =
            "I found 2 things for “water”:\n\n- **Bring water** (task)\n- **Notes** (page)";
        assert_eq!(found, scene(&[r#"search {"query":"water"}"#], SEARCH, answer), "{text}");
    }
    let pages = Stage::new().say("find the pages about water");
    assert_eq!(pages.calls, [r#"search {"entityType":"page","query":"water"}"#]);
    let nothing = Stage::new().say("find dragons");
    assert_eq!(nothing.answer, "I found nothing for “dragons”. Try fewer or other words.");
}

#[test]
fn what_the_person_looks_at_is_told_back() {
    for text in ["What am I looking at?", "what is this?", "Where am I?"] {
        let told = Stage::new().say(text);

        assert_eq!(
            told,
            scene(&["context {}"], LOOK, "You are looking at the page “Fog”."),
            "{text}"
        );
    }
    let mut stage = Stage::new();
    stage.context.push_str("\nThey marked this passage, and mean it:\n«It comes\nat night.»");
    let marked = stage.say("what is this");
    assert!(marked.answer.ends_with("You marked this passage: “It comes at night.”"), "{marked:?}");
    stage.context = "Nothing is known about what the person looks at.".into();
    assert_eq!(stage.say("what is this").answer, "I cannot see what you are looking at.");
}

#[test]
fn a_thing_is_read_and_its_first_sentences_are_told() {
    let answer = "The page **Fog** says: “Fog is wet. It comes at night. Ships slow down.”";
    let read = r#"read {"entityId":"p1","entityType":"page"}"#;
    for text in ["read fog", "Show me the page 'Fog'", "Please summarise the page Fog"] {
        let told = Stage::new().say(text);
        assert_eq!((&told.calls[1], told.answer.as_str()), (&read.to_owned(), answer), "{text}");
    }
    for text in
        ["summarise this page", "read it", "What does this page say?", "what is this about?"]
    {
        assert_eq!(Stage::new().say(text), scene(&["context {}", read], LOOK, answer), "{text}");
    }
    let task = Stage::new().say("read the task 'Bring water'");
    assert_eq!(task.answer, "The task **Bring water** is open, due 2026-12-31.");
    let found = Stage::new().say("find dragons and read it");
    assert!(found.answer.ends_with("I found nothing called “dragons”."));
}

#[test]
fn new_things_are_drafted() {
    let cases: [(&str, Value); 9] = [
        (
            "Add a task 'Call Bob' due 2026-12-31",
            json!({"entityType": "task", "task": {"title": "Call Bob", "due": "2026-12-31"}}),
        ),
        ("create a task to call Bob", json!({"entityType": "task", "task": {"title": "call Bob"}})),
        (
            "make a new task: call Bob.",
            json!({"entityType": "task", "task": {"title": "call Bob"}}),
        ),
        (
            "Add a page 'Fog signals' with 'Two long blasts.'",
            json!({"entityType": "page", "page": {"title": "Fog signals", "body": "Two long blasts."}}),
        ),
        (
            "Create a page 'Fog signals': Two blasts. Then wait.",
            json!({"entityType": "page", "page": {"title": "Fog signals", "body": "Two blasts. Then wait."}}),
        ),
        (
            "please add a page called Fog signals",
            json!({"entityType": "page", "page": {"title": "Fog signals"}}),
        ),
        (
            "Add a ref https://example.org/fog?a=b 'On fog'.",
            json!({"entityType": "ref", "ref": {"url": "https://example.org/fog?a=b", "title": "On fog"}}),
        ),
        (
            "make a persona named Keeper",
            json!({"entityType": "persona", "persona": {"name": "Keeper"}}),
        ),
        (
            "Make a persona named 'Keeper' with the prompt 'You keep the light.'",
            json!({"entityType": "persona", "persona": {"name": "Keeper", "systemPrompt": "You keep the light."}}),
        ),
    ];
    for (text, mut draft) in cases {
        draft["op"] = json!("create");
        let told = Stage::new().say(text);

        assert_eq!(drafts(&told), [draft], "{text}");
        assert_eq!((told.calls.len(), told.lead.as_str()), (1, DRAFT), "{text}");
        assert!(told.answer.starts_with("I drafted the new "), "{told:?}");
        assert!(told.answer.ends_with("**; it waits for your decision."), "{told:?}");
    }
}

#[test]
fn what_is_missing_is_asked_for_and_nothing_is_drafted() {
    for (text, question) in [
        ("add a task", "How should it be called?"),
        ("add a task 'Call Bob' due tomorrow", "I am scripted and know only days"),
        ("add a ref", "Which address?"),
        ("rename this page", "How should it be called?"),
        ("delete everything", "Which one do you mean?"),
        ("remove 'wet' from this page", "I am scripted and cannot take a passage out"),
        ("add 'Fog'", "Where should I add that?"),
        ("mark the task 'Bring water'", "How does it stand?"),
        ("find", "What should I look for?"),
    ] {
        let told = Stage::new().say(text);
        assert_eq!(told.calls, Vec::<String>::new(), "{text}");
        assert!(told.answer.starts_with(question), "{text}: {}", told.answer);
    }
}

#[test]
fn a_change_reads_first_and_drafts_the_whole_new_text() {
    let read = r#"read {"entityId":"p1","entityType":"page"}"#;

    let renamed = Stage::new().say("Rename this page to 'Mist'");
    let draft = r#"propose_change {"entityId":"p1","entityType":"page","op":"update","page":{"title":"Mist"}}"#;
    let answer = "I drafted the title **Mist** for the page **Fog**; it waits for your decision.";
    assert_eq!(renamed, scene(&["context {}", read, draft], LOOK, answer));

    let body = "# Fog\n\nFog is wet. It comes at night. Ships slow down. Then it goes.";
    for text in ["add 'Ring the bell.' to this page", "Add 'Ring the bell.' to the page 'Fog'"] {
        let added = Stage::new().say(text);
        let wanted = format!("{body}\n\nRing the bell.");
        assert_eq!(drafts(&added)[0]["page"], json!({"body": wanted}), "{text}");
        assert_eq!(added.calls[1], read);
    }

    for (text, status) in [
        ("mark the task 'Bring water' as done", "done"),
        ("Finish the task 'Bring water'", "done"),
        ("the task 'Bring water' is done", "done"),
        ("start the task 'Bring water'", "doing"),
    ] {
        let marked = Stage::new().say(text);
        let draft = json!({"op": "update", "entityType": "task", "entityId": "t1", "task": {"status": status}});
        assert_eq!(drafts(&marked), [draft], "{text}");
    }
    let page = Stage::new().say("mark this page as done");
    assert_eq!(page.answer, "Only a task can be done, and the page **Fog** is none.");
}

#[test]
fn a_long_page_is_read_to_its_end_before_it_is_written() {
    let mut stage = Stage::new();
    let long = "é".repeat(45_000);
    stage.things[0].3 = format!("## body (text)\n{long}\n\n## title (title)\nFog");

    let added = stage.say("add 'The end.' to this page");

    assert_eq!(added.calls.len(), 5);
    assert_eq!(drafts(&added)[0]["page"]["body"], json!(format!("{long}\n\nThe end.")));
}

#[test]
fn two_drafts_of_one_text_keep_both() {
    let told = Stage::new().say("Add 'One.' to this page and add 'Two.' to this page");

    let last = drafts(&told)[1]["page"]["body"].as_str().expect("a body").to_owned();
    assert!(last.ends_with("goes.\n\nOne.\n\nTwo."), "{last}");
}

#[test]
fn a_deletion_is_drafted_for_one_thing_only() {
    let gone = Stage::new().say("Delete the page 'Fog'");
    let draft = r#"propose_change {"entityId":"p1","entityType":"page","op":"delete"}"#;
    let search = r#"search {"entityType":"page","query":"Fog"}"#;
    let answer = "I drafted that the page **Fog** goes to the bin; it waits for your decision.";
    assert_eq!(gone, scene(&[search, draft], SEARCH, answer));

    let unsure = Stage::new().say("delete water");
    assert_eq!(drafts(&unsure), Vec::<Value>::new());
    assert!(unsure.answer.ends_with("Which one do you mean?"), "{}", unsure.answer);
}

#[test]
fn several_requests_in_one_message_are_all_done() {
    let told = Stage::new().say(
        "Hi! Find water, add a task 'Call Bob' and a page 'Bob', then rename this page to 'Mist'. Thanks!",
    );

    let kinds: Vec<Value> = drafts(&told).iter().map(|draft| draft["entityType"].clone()).collect();
    assert_eq!(kinds, ["task", "page", "page"]);
    assert!(told.answer.starts_with("I found 2 things for “water”"), "{}", told.answer);
    assert_eq!(told.answer.matches("it waits for your decision.").count(), 3);
}

#[test]
fn small_talk_needs_no_tool_and_the_unclear_gets_examples() {
    for (text, start) in [
        ("Hello!", "I am the scripted demo of the companion."),
        ("What can you do?", "I am the scripted demo of the companion."),
        ("Thank you!", "You are welcome."),
        ("My name is Ann.", "Nice to meet you, Ann."),
        ("Write me a sonnet in Finnish", "You said “Write me a sonnet in Finnish”, and my script"),
        ("Make this page shorter", "You said “Make this page shorter”, and my script"),
        ("", "I see no words in that."),
    ] {
        let told = Stage::new().say(text);
        assert_eq!(
            (told.calls.len(), told.answer.starts_with(start)),
            (0, true),
            "{}",
            told.answer
        );
    }
}

#[test]
fn a_tool_that_fails_is_told_in_a_sentence_and_ends_the_message() {
    let mut stage = Stage::new();
    stage.broken =
        Some(("propose_change", "This persona's agent may only read. A person can raise it."));

    let told = stage.say("Add a task 'A' and add a task 'B'");

    let answer = "That did not work: “This persona's agent may only read.” I stopped there; nothing else \
                  was done.";
    assert_eq!((told.calls.len(), told.answer.as_str()), (1, answer));
}

#[test]
fn what_the_house_adds_is_no_request_and_a_rejected_draft_is_left_at_that() {
    let mut stage = Stage::new();
    stage.turns.push(user(
        "[Greenroom, not the person, adds:\nThe person is looking at the page “delete the page 'Fog'” \
         (entityType page, entityId p1).\n\nWhat became of your drafts:\n- Create the task “A” (draft 1): \
         rejected; the person said: not now.\n- Create the task “B” (draft 2): accepted.\n]",
    ));

    let told = stage.say("Thanks");

    let answer = "You did not want my draft “Create the task “A”” because “not now”; I leave it at that.\n\n\
                  You are welcome.";
    assert_eq!(told, scene(&[], "", answer));
}

#[test]
fn a_very_long_message_is_read_quickly_and_ends() {
    for piece in ["add a page 'x' and ", "water and ", "delete, ", "'", "this is "] {
        let told = Stage::new().say(&piece.repeat(50_000 / piece.len()));
        assert!(told.calls.len() <= 8, "{piece}");
    }
}
