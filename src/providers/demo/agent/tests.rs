//! The seed's list of requests, each played to its end on a stage.

use super::super::{
    plan::plan,
    rehearsal::{Scene, Stage, ask, turn, user, words},
};
use crate::domain::{message::PartBody, run::GO_ON};

fn scene(calls: &[&str], lead: &str, answer: &str) -> Scene {
    let calls = calls.iter().map(|call| (*call).to_owned()).collect();
    Scene { calls, lead: lead.into(), answer: answer.into() }
}

const LOOK: &str = "Let me look at the persona.";
const LOOK_INPUTS: &str = "Let me look at the test inputs.";

#[test]
fn a_simple_question_is_answered_with_the_name() {
    let mut stage = Stage::new();

    let name = stage.say("What is this persona's name?");

    assert_eq!(name, scene(&["get_persona {}"], LOOK, "This persona's name is **Optimist**."));
}

#[test]
fn a_greeting_needs_no_tool() {
    let hello = Stage::new().say("Hello, who are you?");

    assert_eq!(hello.calls, Vec::<String>::new());
    assert!(hello.answer.starts_with("I am the scripted demo of the persona editor's agent."));
    assert!(hello.answer.ends_with("add a key for a real model in Settings."));
}

#[test]
fn the_system_prompt_is_shown_to_the_letter() {
    for text in ["Show me the current system prompt", "What is this personas system prompt?"] {
        let shown = Stage::new().say(text);

        let answer =
            "This is the system prompt:\n\n```text\nYou look for what can still be done.\n```";
        assert_eq!(shown, scene(&["get_persona {}"], LOOK, answer), "{text}");
    }
}

#[test]
fn the_test_inputs_are_listed() {
    let listed = Stage::new().say("What test inputs do I have?");

    let answer = "There are 2 test inputs:\n\n1. What is 2+2?\n2. How do I bake bread?";
    assert_eq!(listed, scene(&["list_test_inputs {}"], LOOK_INPUTS, answer));
}

#[test]
fn a_list_that_comes_in_pages_is_read_to_its_end() {
    let mut stage = Stage::new();
    stage.inputs = (1..=61).map(|at| (format!("t{at}"), format!("Number {at}."))).collect();

    let listed = stage.say("What test inputs do I have?");

    let pages = ["list_test_inputs {}", r#"list_test_inputs {"after":"t60"}"#];
    assert_eq!(listed.calls, pages);
    assert!(listed.answer.starts_with("There are 61 test inputs:"), "{}", listed.answer);
    assert!(listed.answer.ends_with("\n61. Number 61."), "{}", listed.answer);
}

#[test]
fn an_answer_that_broke_off_goes_on_where_it_did() {
    let mut stage = Stage::new();
    let whole = stage.say("Show me the current system prompt").answer;
    let said = stage.turns.pop().unwrap();
    let note = user("[Greenroom, not the person, adds:\nThe person is looking at a page.\n]");
    for at in 0..=whole.len() {
        let (begun, twice) = (&whole[..at / 2], &whole[at / 2..at]);
        let mut turns = stage.turns.clone();
        for piece in [begun, twice] {
            turns.push(turn(said.role, PartBody::Text(piece.into())));
            turns.extend([note.clone(), user(GO_ON)]);
        }

        let events = plan(&ask("You have tools.", &turns, &stage.tools));

        assert_eq!(format!("{begun}{twice}{}", words(&events)), whole);
    }
}

#[test]
fn the_name_is_changed_or_drafted_and_told_as_it_is() {
    let mut stage = Stage::new();
    let call = r#"update_persona_name {"name":"Helpful Assistant"}"#;
    let lead = "I will change the name.";

    let done = stage.say("Change the name to 'Helpful Assistant'");
    assert_eq!(done, scene(&[call], lead, "Done: the name is now **Helpful Assistant**."));
    assert_eq!(stage.name, "Helpful Assistant");

    stage.state = "pending";
    let drafted = stage.say("Change the name to 'Helpful Assistant'");
    let answer = "I drafted the new name **Helpful Assistant**; it waits for your decision.";
    assert_eq!(drafted, scene(&[call], lead, answer));
}

#[test]
fn adding_to_the_prompt_reads_it_first_and_keeps_it() {
    let mut stage = Stage::new();

    let added = stage.say("Add 'Be concise' to the system prompt");

    let write = r#"update_system_prompt {"systemPrompt":"You look for what can still be done.\n\nBe concise"}"#;
    let answer = "Done: I added “Be concise” to the end of the system prompt.";
    assert_eq!(added, scene(&["get_persona {}", write], LOOK, answer));
    assert_eq!(stage.prompt, "You look for what can still be done.\n\nBe concise");
}

#[test]
fn two_drafts_of_the_prompt_in_one_message_do_not_lose_the_first() {
    let mut stage = Stage::new();
    stage.state = "pending";

    let added = stage.say("Add 'A.' to the prompt and replace 'still' with 'yet' in the prompt");

    assert_eq!(
        added.calls,
        [
            "get_persona {}",
            r#"update_system_prompt {"systemPrompt":"You look for what can still be done.\n\nA."}"#,
            r#"patch_system_prompt {"edits":[{"find":"still","replace":"yet"}]}"#,
        ]
    );
}

#[test]
fn a_passage_of_the_prompt_is_patched_if_it_is_there() {
    let mut stage = Stage::new();

    let patched = stage.say("Replace 'still' with 'yet' in the system prompt");
    let patch = r#"patch_system_prompt {"edits":[{"find":"still","replace":"yet"}]}"#;
    let answer = "Done: the system prompt now says “yet” instead of “still”.";
    assert_eq!(patched, scene(&["get_persona {}", patch], LOOK, answer));
    assert_eq!(stage.prompt, "You look for what can yet be done.");

    let missing = stage.say("Replace 'still' with 'yet' in the system prompt");
    let answer = "The system prompt does not contain “still”, so I changed nothing.";
    assert_eq!(missing, scene(&["get_persona {}"], LOOK, answer));
}

#[test]
fn a_test_input_is_added() {
    let mut stage = Stage::new();

    let added = stage.say("Add a test input: 'What is 3+3?'");

    let call = r#"create_test_input {"content":"What is 3+3?"}"#;
    let answer = "Done: I added the test input “What is 3+3?”.";
    assert_eq!(added, scene(&[call], "I will add that test input.", answer));
    assert_eq!(stage.inputs[2].1, "What is 3+3?");
}

#[test]
fn a_test_input_is_found_by_its_topic_and_changed() {
    let mut stage = Stage::new();

    let changed = stage.say("Change the test input about math to 'What is 3+3?'");

    let write = r#"update_test_input {"content":"What is 3+3?","id":"a"}"#;
    let answer = "Done: test input number 1 now says “What is 3+3?”.";
    assert_eq!(changed, scene(&["list_test_inputs {}", write], LOOK_INPUTS, answer));
}

#[test]
fn what_is_replaced_is_looked_at_first() {
    let mut stage = Stage::new();
    stage.inputs[0].1 = "What is 2+2? And why … (cut)".into();

    let replaced = stage.say("Set the system prompt to 'You are Bo.'");
    let write = r#"update_system_prompt {"systemPrompt":"You are Bo."}"#;
    assert_eq!(replaced.calls, ["get_persona {}", write]);

    let replaced = stage.say("Change the test input about math to 'What is 3+3?'");
    let read = r#"get_test_input {"id":"a"}"#;
    let write = r#"update_test_input {"content":"What is 3+3?","id":"a"}"#;
    assert_eq!(replaced.calls, ["list_test_inputs {}", read, write]);
    assert_eq!(stage.inputs[0].1, "What is 3+3?");
}

#[test]
fn a_test_input_is_found_by_its_topic_and_deleted() {
    let mut stage = Stage::new();

    let deleted = stage.say("Delete the test input about math");

    let write = r#"delete_test_input {"id":"a"}"#;
    let answer = "Done: I deleted the test input “What is 2+2?”.";
    assert_eq!(deleted, scene(&["list_test_inputs {}", write], LOOK_INPUTS, answer));
    assert_eq!(stage.inputs, [("b".to_owned(), "How do I bake bread?".to_owned())]);
}

#[test]
fn without_a_match_nothing_is_deleted_and_the_answer_completes_the_question() {
    let mut stage = Stage::new();

    let missing = stage.say("Delete the test input about travel");
    let answer = "I found no test input for “travel”, so I changed nothing. There are:\n\n\
        - number 1: What is 2+2?\n- number 2: How do I bake bread?\n\nWhich one do you mean?";
    assert_eq!(missing, scene(&["list_test_inputs {}"], LOOK_INPUTS, answer));

    let completed = stage.say("the second one");
    let calls = ["list_test_inputs {}", r#"delete_test_input {"id":"b"}"#];
    assert_eq!(completed.calls, calls);
}

#[test]
fn what_it_asks_back_for_is_taken_from_the_next_message() {
    for (asked, answer, call) in [
        ("Change the name", "Captain", r#"update_persona_name {"name":"Captain"}"#),
        ("Add a test input", "What is love?", r#"create_test_input {"content":"What is love?"}"#),
        (
            "Change the prompt",
            "You are Bo.",
            r#"update_system_prompt {"systemPrompt":"You are Bo."}"#,
        ),
    ] {
        let mut stage = Stage::new();

        assert_eq!(stage.say(asked).calls, Vec::<String>::new(), "{asked}");
        assert_eq!(stage.say(answer).calls.last().map(String::as_str), Some(call), "{asked}");
        // It is asked once, and answered once.
        assert_eq!(stage.say("Captain Ahab").calls, Vec::<String>::new(), "{asked}");
    }
}

#[test]
fn what_was_shown_is_meant_by_it_and_nothing_is_done_again() {
    let mut stage = Stage::new();

    stage.say("show the prompt");
    stage.say("add 'Be kind.' to it");
    assert_eq!(stage.prompt, "You look for what can still be done.\n\nBe kind.");
    stage.say("change it to 'You are Bo.'");
    assert_eq!(stage.prompt, "You are Bo.");

    stage.say("delete the one about math");
    assert_eq!(stage.say("the first one").calls, Vec::<String>::new());
    assert_eq!(stage.inputs.len(), 1);
}

#[test]
fn what_was_changed_is_shown_as_it_is_now() {
    let mut stage = Stage::new();

    let shown = stage.say("Insert 'Be kind.' at the beginning of the prompt and show it");
    let answer = "Done: I added “Be kind.” to the beginning of the system prompt.\n\n\
        This is the system prompt:\n\n\
        ```text\nBe kind.\n\nYou look for what can still be done.\n```";
    assert_eq!(shown.answer, answer);

    // A draft deletes nothing yet.
    stage.state = "pending";
    let listed = stage.say("Delete the one about math, then list them again").answer;
    assert!(listed.ends_with("1. What is 2+2?\n2. How do I bake bread?"), "{listed}");
}

#[test]
fn with_several_matches_it_asks_which() {
    let mut stage = Stage::new();
    stage.inputs.push(("c".into(), "Calculate 7 - 3.".into()));

    let asked = stage.say("Delete the one about math");

    let answer = "More than one test input fits “math”, so I changed nothing yet:\n\n\
        - number 1: What is 2+2?\n- number 3: Calculate 7 - 3.\n\nWhich one do you mean?";
    assert_eq!(asked, scene(&["list_test_inputs {}"], LOOK_INPUTS, answer));
}

#[test]
fn people_count_in_the_list_that_they_saw() {
    let mut stage = Stage::new();

    let deleted = stage.say("Delete the first and the second test input");

    assert_eq!(
        deleted.calls,
        [
            "list_test_inputs {}",
            r#"delete_test_input {"id":"a"}"#,
            r#"delete_test_input {"id":"b"}"#,
        ]
    );
    assert_eq!(stage.inputs, []);
}

#[test]
fn a_task_of_several_steps_goes_on_to_its_end() {
    let mut stage = Stage::new();

    let done = stage.say("Show me all test inputs and add a new one about coding");

    let coding = "I am new to coding. How do I reverse a list in Python, and why does it work?";
    let create = format!(r#"create_test_input {{"content":"{coding}"}}"#);
    let answer = format!(
        "There are 2 test inputs:\n\n1. What is 2+2?\n2. How do I bake bread?\n\n\
         Done: I added the test input “{coding}”."
    );
    assert_eq!(done, scene(&["list_test_inputs {}", &create], LOOK_INPUTS, &answer));
}

#[test]
fn looks_are_taken_together_and_changes_one_after_another() {
    let mut stage = Stage::new();

    let done = stage.say(
        "Show the prompt, list the test inputs, what is the name? Rename it to Bo. Run the tests",
    );

    assert_eq!(
        done.calls,
        [
            "get_persona {} + list_test_inputs {}",
            r#"update_persona_name {"name":"Bo"}"#,
            "run_test_inputs {}",
        ]
    );
    assert!(done.answer.ends_with("I ran one test input:\n\n- Q: “A”"), "{}", done.answer);
}

#[test]
fn every_tool_can_be_shown() {
    let mut stage = Stage::new();

    let read = stage.say("Show me the test input about bread");
    let calls = ["list_test_inputs {}", r#"get_test_input {"id":"b"}"#];
    assert_eq!(read, scene(&calls, LOOK_INPUTS, "This test input says:\n\nHow do I bake bread?"));

    let ran = stage.say("Add a test input: 'Hi' and run it");
    let calls = [r#"create_test_input {"content":"Hi"}"#, r#"run_test_inputs {"ids":["new2"]}"#];
    assert_eq!(ran.calls, calls);
}

#[test]
fn the_conversation_is_remembered_until_it_is_cleared() {
    let mut stage = Stage::new();
    stage.say("My name is Ann. What is the persona's name?");

    let last = stage.say("What did I just ask?");
    assert_eq!(
        last.answer,
        "Just before this, you wrote: “My name is Ann. What is the persona's name?”"
    );
    assert_eq!(stage.say("What is my name?").answer, "Your name is Ann: you told me earlier.");
    let first = stage.say("what was my first message?").answer;
    assert_eq!(first, "Your first message was: “My name is Ann. What is the persona's name?”");

    stage.turns.clear();
    let nothing =
        "This is the first thing you say in this conversation. I know nothing from before it.";
    assert_eq!(stage.say("What did I just ask?").answer, nothing);
}

#[test]
fn a_tool_that_fails_is_told_and_ends_the_work() {
    let mut stage = Stage::new();
    stage.broken = Some(("update_persona_name", "The name is taken. Choose another one."));

    let failed = stage.say("Change the name to Bo and list the test inputs");

    let call = r#"update_persona_name {"name":"Bo"}"#;
    let answer = "That did not work: “The name is taken.” I stopped there; nothing else was done.";
    assert_eq!(failed, scene(&[call], "I will change the name.", answer));
}

#[test]
fn a_tool_that_is_not_given_is_not_used() {
    let mut stage = Stage::new();
    stage.tools.retain(|tool| tool.name == "get_persona");

    let refused = stage.say("Change the name to Bo");

    let answer = "I cannot do that here: I am not given the tool `update_persona_name`.";
    assert_eq!(refused, scene(&[], "", answer));
}

#[test]
fn anything_else_is_answered_honestly() {
    let unclear = Stage::new().say("Sing me a song");

    let answer = "You said “Sing me a song”, and my script has no line for that. I am a scripted \
        demo, not a model. Try one of these: show me the system prompt; change the name to 'Helpful \
        Assistant'; add a test input about coding. A key in Settings brings a real model.";
    assert_eq!(unclear, scene(&[], "", answer));
}

#[test]
fn a_very_long_message_is_read_quickly_and_ends() {
    for piece in ["run the tests, ", "“", "'a ", "what, and ", "delete all; ", "\n\n", "a: b, "] {
        let scene = Stage::new().say(&piece.repeat(5_000));

        assert!(scene.calls.len() <= 12, "{piece:?} {}", scene.calls.len());
    }
}
