//! What is understood, sentence by sentence.

mod doubts;

use super::*;

fn about(text: &str) -> Which {
    Which::About(text.into())
}

fn rename(name: &str) -> Vec<Request> {
    vec![Request::Rename(name.into())]
}

fn check(cases: &[(&str, Vec<Request>)]) {
    for (text, expected) in cases {
        assert_eq!(requests(text, None), *expected, "{text}");
    }
}

#[test]
fn questions_about_the_persona_are_told_from_questions_about_the_agent() {
    for text in [
        "What is this persona's name?",
        "what is the name",
        "What’s the persona’s name?",
        "Tell me its name.",
        "name?",
    ] {
        assert_eq!(requests(text, None), [Request::TellName], "{text}");
    }
    for text in [
        "Show me the current system prompt",
        "What is this personas system prompt?",
        "show the prompt",
        "Can you please show me the system prompt?",
        "system prompt?",
    ] {
        assert_eq!(requests(text, None), [Request::TellPrompt], "{text}");
    }
    for text in ["Who is this persona?", "Tell me about this persona.", "Who is this?"] {
        assert_eq!(requests(text, None), [Request::TellPersona], "{text}");
    }
    for text in ["Hello, who are you?", "hi", "What can you do?", "What is your name?", "help"] {
        assert_eq!(requests(text, None), [Request::Introduce], "{text}");
    }
}

#[test]
fn a_new_name_is_taken_to_the_letter() {
    for text in [
        "Change the name to 'Helpful Assistant'",
        "change the name to \"Helpful Assistant\".",
        "Please set the persona's name to “Helpful Assistant”!",
        "rename it to Helpful Assistant.",
        "Rename the persona to ‘Helpful Assistant’",
        "Rename this persona Helpful Assistant",
        "Update the name from Optimist to Helpful Assistant, please",
        "call it Helpful Assistant",
        "The name should be Helpful Assistant.",
        "Could you change its name to Helpful Assistant?",
        "set the name: Helpful Assistant",
        "I'd like you to change the persona name to Helpful Assistant",
        "Set name = Helpful Assistant",
        "New name: Helpful Assistant",
        "I want to call it Helpful Assistant",
        "I want it to be called Helpful Assistant",
        "The persona should be named Helpful Assistant",
        "It should be called 'Helpful Assistant'.",
        "give it the name Helpful Assistant",
        "Give the persona a new name: Helpful Assistant",
        "change the name to be Helpful Assistant",
        "call it Helpful Assistant instead",
    ] {
        assert_eq!(requests(text, None), rename("Helpful Assistant"), "{text}");
    }
    check(&[
        ("Change the name to Salt and Pepper", rename("Salt and Pepper")),
        ("Change the name to Show and Tell", rename("Show and Tell")),
        ("Change the name to 'Show the prompt and run'.", rename("Show the prompt and run")),
        ("change the name to Ann Lee, PhD", rename("Ann Lee, PhD")),
        ("Change the name to Back to Basics", rename("Back to Basics")),
        ("Change the name to Dr. Who", rename("Dr. Who")),
        ("Change the name to Be Kind", rename("Be Kind")),
        ("Change the name to Salt & Pepper", rename("Salt & Pepper")),
        ("Change the name to Zoë O'Neill", rename("Zoë O'Neill")),
        ("Change the name to \"Dr. Smith, Jr.\"", rename("Dr. Smith, Jr.")),
        ("Change the name to \"Yahoo!\", please.", rename("Yahoo!")),
        ("call it “Bo instead”", rename("Bo instead")),
        ("Rename it to Yahoo!", rename("Yahoo")),
    ]);
}

#[test]
fn the_system_prompt_is_added_to_replaced_and_patched() {
    let add = |text: &str| vec![Request::AddToPrompt(text.into(), Edge::End)];
    let begin = |text: &str| vec![Request::AddToPrompt(text.into(), Edge::Beginning)];
    let set = |text: &str| vec![Request::SetPrompt(text.into())];
    let patch = |find: &str, replace: &str| {
        vec![Request::ReplaceInPrompt { find: find.into(), replace: replace.into() }]
    };
    check(&[
        ("Add 'Be concise' to the system prompt", add("Be concise")),
        ("append “Don’t shout.” to its prompt", add("Don’t shout.")),
        ("add be concise to the system prompt", add("be concise")),
        ("Add to the system prompt: Be concise. Be kind.", add("Be concise. Be kind.")),
        ("Add 'A' and 'B' to the system prompt", add("A\n\nB")),
        ("Add Be kind at the end of the system prompt", add("Be kind")),
        ("Insert 'X' at the beginning of the system prompt", begin("X")),
        ("insert Be kind at the start of the prompt", begin("Be kind")),
        ("Prepend 'X' to the system prompt", begin("X")),
        ("Add a new line to the system prompt: Be kind", add("Be kind")),
        ("Replace 'a cat' with 'a dog' in the prompt", patch("a cat", "a dog")),
        ("In the system prompt, change 'a' to 'b'.", patch("a", "b")),
        ("replace cats with dogs in the system prompt", patch("cats", "dogs")),
        ("Remove 'very' from the system prompt", patch("very", "")),
        ("Set the system prompt to 'You are a cat.'", set("You are a cat.")),
        ("Set prompt = You are a cat.", set("You are a cat.")),
        ("New system prompt: You are a cat.", set("You are a cat.")),
        ("Write a new system prompt: You are a cat. Be kind.", set("You are a cat. Be kind.")),
        ("Replace the system prompt with \"You are a cat.\"", set("You are a cat.")),
        ("Change the system prompt to: You are a cat. Be kind.", set("You are a cat. Be kind.")),
        ("Set the system prompt to:\nYou are a cat.\n\nList the inputs.", {
            set("You are a cat.\n\nList the inputs.")
        }),
    ]);
}

#[test]
fn test_inputs_are_listed_read_added_changed_deleted_and_run() {
    let add = |text: &str| vec![Request::AddInput(text.into())];
    let change =
        |which: Which, content: &str| vec![Request::ChangeInput { which, content: content.into() }];
    let coding = "I am new to coding. How do I reverse a list in Python, and why does it work?";
    let run = |which: Which| vec![Request::RunInputs { which, at_once: None }];
    check(&[
        ("What test inputs do I have?", vec![Request::ListInputs]),
        ("list test inputs", vec![Request::ListInputs]),
        ("Show me all the test inputs.", vec![Request::ListInputs]),
        ("How many test inputs are there?", vec![Request::ListInputs]),
        ("Show me the test input about math", vec![Request::ReadInput(about("math"))]),
        ("what is the first test input?", vec![Request::ReadInput(Which::At(0))]),
        ("Add a test input: 'What is 2+2?'", add("What is 2+2?")),
        ("Add a test input: What is 2+2? Show your work.", add("What is 2+2? Show your work.")),
        ("Add 'What is 2+2?' to the test inputs", add("What is 2+2?")),
        ("create a new test input that says \"Hi, and bye\"", add("Hi, and bye")),
        ("add a test input What is 2+2?", add("What is 2+2?")),
        ("new test input: What is love? Tell me.", add("What is love? Tell me.")),
        ("make a new test input 'What is love?'", add("What is love?")),
        ("create a test input that says Hi and bye", add("Hi and bye")),
        ("add a test input where is my order?", add("where is my order?")),
        ("add a new one about coding", add(coding)),
        ("Create a test input about coding.", add(coding)),
        (
            "Change the test input about math to 'What is 3+3?'",
            change(about("math"), "What is 3+3?"),
        ),
        ("change the second test input to What is love?", change(Which::At(1), "What is love?")),
        ("Update test input 2 to say 'Hi'", change(Which::At(1), "Hi")),
        ("edit the fog one to say Is it safe?", change(about("fog"), "Is it safe?")),
        ("change the second test input to Say hello", change(Which::At(1), "Say hello")),
        ("rewrite test input 3 as How to cook", change(Which::At(2), "How to cook")),
        ("rewrite the one about fog as 'Hi'", change(about("fog"), "Hi")),
        ("Change the one about how to cook to 'Hi'", change(about("how to cook"), "Hi")),
        ("Replace the test input 'A?' with 'B?'", change(about("A?"), "B?")),
        ("Delete the test input about math", vec![Request::DeleteInput(about("math"))]),
        ("delete the one about math, please.", vec![Request::DeleteInput(about("math"))]),
        ("remove the math one", vec![Request::DeleteInput(about("math"))]),
        ("delete the last one", vec![Request::DeleteInput(Which::Last)]),
        ("Delete test input #2", vec![Request::DeleteInput(Which::At(1))]),
        ("delete all test inputs", vec![Request::DeleteInput(Which::All)]),
        ("Run the test inputs", run(Which::All)),
        ("run all tests", run(Which::All)),
        ("Run the test input about math", run(about("math"))),
        (
            "run all tests, 3 at once",
            vec![Request::RunInputs { which: Which::All, at_once: Some(3) }],
        ),
    ]);
}

#[test]
fn test_inputs_about_several_things_are_several() {
    let add = |about: &str| Request::AddInput(topic_question(about));
    check(&[
        ("Add a test input about math and a test input about cooking", {
            vec![add("math"), add("cooking")]
        }),
        ("Add a test input about math and one about football.", {
            vec![add("math"), add("football")]
        }),
        ("add a test input about math, one about fog and another test input on tea, please", {
            vec![add("math"), add("fog"), add("tea")]
        }),
        ("add one test input about math & two about fog", {
            let second = super::super::topic::question("fog", 1);
            vec![add("math"), add("fog"), Request::AddInput(second)]
        }),
        ("Add a test input about cats and dogs", vec![add("cats and dogs")]),
    ]);
}

#[test]
fn several_requests_stand_in_one_message() {
    let coding = topic_question("coding");
    check(&[
        ("Show me all test inputs and add a new one about coding", {
            vec![Request::ListInputs, Request::AddInput(coding.clone())]
        }),
        ("Change the name to Ann and Bob and show the prompt, then run the tests.", {
            vec![
                Request::Rename("Ann and Bob".into()),
                Request::TellPrompt,
                Request::RunInputs { which: Which::All, at_once: None },
            ]
        }),
        ("Hi! What is the name and the system prompt? Thanks.", {
            vec![Request::TellName, Request::TellPrompt]
        }),
        ("Delete the first and the last test inputs", {
            vec![Request::DeleteInput(Which::At(0)), Request::DeleteInput(Which::Last)]
        }),
        ("Delete the one about math; rename it to Bo\nlist the inputs", {
            vec![
                Request::DeleteInput(about("math")),
                Request::Rename("Bo".into()),
                Request::ListInputs,
            ]
        }),
        ("Add test inputs 'A?' and 'B?'", {
            vec![Request::AddInput("A?".into()), Request::AddInput("B?".into())]
        }),
        ("What is the name and change it to Bo", {
            vec![Request::TellName, Request::Rename("Bo".into())]
        }),
        ("Rename it to Bo & list the inputs", {
            vec![Request::Rename("Bo".into()), Request::ListInputs]
        }),
        ("list the test inputs, then delete the one about math, then list them again", {
            vec![Request::ListInputs, Request::DeleteInput(about("math")), Request::ListInputs]
        }),
        ("add 'Be kind' to the system prompt and show it", {
            vec![Request::AddToPrompt("Be kind".into(), Edge::End), Request::TellPrompt]
        }),
    ]);
    for text in [
        "delete the ones about math and fog",
        "delete the math and fog ones",
        "Delete the test inputs about math & fog, please",
    ] {
        let both = [Request::DeleteInput(about("math")), Request::DeleteInput(about("fog"))];
        assert_eq!(requests(text, None), both, "{text}");
    }
}

#[test]
fn a_second_change_needs_no_verb() {
    let both = [Request::Rename("Bo".into()), Request::SetPrompt("You are Bo.".into())];
    for text in [
        "Change name to Bo and prompt to 'You are Bo.'",
        "Change the name to \"Bo\" and the prompt to \"You are Bo.\"",
        "set the name to Bo, the system prompt to You are Bo.",
    ] {
        assert_eq!(requests(text, None), both, "{text}");
    }
    let change = |place: usize, content: &str| {
        let which = Which::At(place);
        Request::ChangeInput { which, content: content.into() }
    };
    check(&[
        ("Change the first test input to 'A' and the second to 'B'", {
            vec![change(0, "A"), change(1, "B")]
        }),
        ("Change the first test input to I go to school and to work", {
            vec![change(0, "I go to school and to work")]
        }),
    ]);
}

#[test]
fn a_bare_answer_completes_what_was_asked_for() {
    let fog = Missing::Content(about("fog"));
    let change =
        |content: &str| Request::ChangeInput { which: about("fog"), content: content.into() };
    for (missing, text, expected) in [
        (Missing::Name, "Captain", Request::Rename("Captain".into())),
        (Missing::Name, "to 'Captain', please", Request::Rename("Captain".into())),
        (Missing::Input, "What is love?", Request::AddInput("What is love?".into())),
        (Missing::Input, "What is 2+2?", Request::AddInput("What is 2+2?".into())),
        (Missing::Input, "Who are you?", Request::AddInput("Who are you?".into())),
        (Missing::Input, "it should say Hi there", Request::AddInput("Hi there".into())),
        (Missing::Input, "it hurts", Request::AddInput("it hurts".into())),
        (Missing::Input, "I love you", Request::AddInput("I love you".into())),
        (Missing::Input, "about coding", Request::AddInput(topic_question("coding"))),
        (fog, "\"Is it safe?\"", change("Is it safe?")),
        (Missing::Prompt, "You are Bo. Be kind.", {
            Request::SetPrompt("You are Bo. Be kind.".into())
        }),
        (Missing::Prompt, "You are Bo.\nList the test inputs.", {
            Request::SetPrompt("You are Bo.\nList the test inputs.".into())
        }),
        (Missing::Addition(Edge::End), "Be brief.", {
            Request::AddToPrompt("Be brief.".into(), Edge::End)
        }),
        (Missing::Place(vec!["X".into()]), "to the system prompt", {
            Request::AddToPrompt("X".into(), Edge::End)
        }),
        (Missing::Place(vec!["X".into()]), "add it to the test inputs", {
            Request::AddInput("X".into())
        }),
        (Missing::Name, "list the test inputs", Request::ListInputs),
        (Missing::Name, "never mind", Request::Unclear("never mind".into())),
        (Missing::Input, "I don't know", Request::Unclear("I don't know".into())),
        (Missing::Name, "why that?", Request::Unclear("why that?".into())),
    ] {
        let asked = Request::Incomplete(missing);

        assert_eq!(requests(text, Some(&asked)), [expected], "{text}");
    }
}

#[test]
fn a_description_is_not_taken_for_the_words_of_a_test_input() {
    for text in [
        "add a test where someone is angry",
        "Add a test input that is rude",
        "add a test input with a typo",
        "add a test input",
    ] {
        assert_eq!(requests(text, None), [Request::Incomplete(Missing::Input)], "{text}");
    }
}

#[test]
fn what_should_not_be_done_or_is_only_asked_about_is_not_done() {
    for text in [
        "Do not change the name to Max",
        "don't add anything to the prompt",
        "Should I change the name to Max?",
        "please never delete the one about math",
        "It should not be called Max",
        "why did you change the name to Max?",
        "Would it be better to change the name to Max?",
        "What if we change the name to Max?",
        "Did you rename it to Max?",
        "Is it better to delete the first test input?",
        "should I call it Max?",
        "I wonder whether to delete all test inputs",
    ] {
        assert_eq!(requests(text, None), [Request::Unclear(text.into())], "{text}");
    }
    check(&[
        ("Change the name to Max and don't delete the one about math", {
            let left = Request::Unclear("don't delete the one about math".into());
            vec![Request::Rename("Max".into()), left]
        }),
        ("Add be kind and never change the topic to the system prompt", {
            let text = "be kind and never change the topic";
            vec![Request::AddToPrompt(text.into(), Edge::End)]
        }),
    ]);
}

#[test]
fn a_wish_is_not_taken_for_a_name_or_for_the_words_of_a_prompt() {
    for text in [
        "make the name longer",
        "change the name a bit",
        "change the name to something funnier",
        "Change the name to \"\"",
    ] {
        assert_eq!(requests(text, None), [Request::Incomplete(Missing::Name)], "{text}");
    }
    let addition = Request::Incomplete(Missing::Addition(Edge::End));
    for text in
        ["add a joke to the prompt", "add more examples to the prompt", "add '' to the prompt"]
    {
        assert_eq!(requests(text, None), std::slice::from_ref(&addition), "{text}");
    }
    let add = |text: &str| vec![Request::AddToPrompt(text.into(), Edge::End)];
    check(&[
        ("please call her Max from now on", rename("Max")),
        ("Change the name to Something Rotten", rename("Something Rotten")),
        ("add a rule to the prompt that it should never swear", add("it should never swear")),
        ("add ask one question at a time to the prompt", add("ask one question at a time")),
    ]);
}

#[test]
fn a_quotation_says_which_test_input_is_meant() {
    let which = about("What is 2+2?");
    let change = Request::ChangeInput { which: which.clone(), content: "What is 9+9?".into() };
    check(&[
        ("delete 'What is 2+2?'", vec![Request::DeleteInput(which)]),
        ("change 'What is 2+2?' to 'What is 9+9?'", vec![change]),
    ]);
    let gone = Request::ReplaceInPrompt { find: "Be kind.".into(), replace: String::new() };
    assert_eq!(requests("remove 'Be kind.'", Some(&Request::TellPrompt)), [gone]);
}

#[test]
fn several_test_inputs_are_meant_by_their_places() {
    let run = |which: Which| Request::RunInputs { which, at_once: None };
    let delete = Request::DeleteInput;
    check(&[
        ("Run test inputs 1 and 2", vec![run(Which::At(0)), run(Which::At(1))]),
        ("run the first two tests", vec![run(Which::At(0)), run(Which::At(1))]),
        ("delete the first two test inputs", vec![delete(Which::At(0)), delete(Which::At(1))]),
        ("delete the last three test inputs", {
            vec![delete(Which::BeforeLast(2)), delete(Which::BeforeLast(1)), delete(Which::Last)]
        }),
        ("test it", vec![run(Which::All)]),
    ]);
    let made = Request::AddInput("Hi?".into());
    assert_eq!(requests("run it", Some(&made)), [run(Which::It)]);
}

#[test]
fn it_is_what_was_spoken_of_before() {
    for (text, before, expected) in [
        ("add 'X' to it", Request::TellPrompt, Request::AddToPrompt("X".into(), Edge::End)),
        ("add 'X'", Request::ListInputs, Request::AddInput("X".into())),
        ("change it to Bo", Request::TellName, Request::Rename("Bo".into())),
        ("show it", Request::Rename("Bo".into()), Request::TellName),
        ("delete the first", Request::ListInputs, Request::DeleteInput(Which::At(0))),
        ("change it to be funny", Request::TellPrompt, {
            Request::Unclear("change it to be funny".into())
        }),
    ] {
        assert_eq!(requests(text, Some(&before)), [expected], "{text}");
    }
}

#[test]
fn politeness_asks_for_nothing_where_there_is_something_else() {
    check(&[
        ("Thanks!", vec![Request::Thanks]),
        ("ok thanks, now run the tests", {
            vec![Request::RunInputs { which: Which::All, at_once: None }]
        }),
        ("Delete the one about math and thanks for all", {
            vec![Request::DeleteInput(about("math and thanks for all"))]
        }),
    ]);
}

#[test]
fn a_wish_is_not_taken_for_the_words_of_a_prompt() {
    for text in [
        "Update the system prompt to be more concise",
        "Make the system prompt shorter",
        "make a change to the prompt",
        "Change the prompt",
    ] {
        let told = requests(text, None);

        assert!(matches!(told.as_slice(), [Request::Incomplete(_)]), "{text}: {told:?}");
    }
    let told = requests("Improve the prompt", None);
    assert!(matches!(told.as_slice(), [Request::Unclear(_)]), "{told:?}");
}

#[test]
fn looser_words_are_understood_too() {
    check(&[
        ("I want the name to be Bob", rename("Bob")),
        ("make the name Bob", rename("Bob")),
        ("get rid of the math test", vec![Request::DeleteInput(about("math"))]),
        ("Test the persona", vec![Request::RunInputs { which: Which::All, at_once: None }]),
        ("1. Rename it to Bo\n2. List the test inputs", {
            vec![Request::Rename("Bo".into()), Request::ListInputs]
        }),
        ("First list the test inputs, then delete the first one.", {
            vec![Request::ListInputs, Request::DeleteInput(Which::At(0))]
        }),
        ("Update the test input about bread so that it says 'Cake?'", {
            vec![Request::ChangeInput { which: about("bread"), content: "Cake?".into() }]
        }),
        (
            "Add a line to the system prompt: Be brief",
            vec![Request::AddToPrompt("Be brief".into(), Edge::End)],
        ),
        ("what is 12*12", vec![Request::Solved("12*12 = 144".into())]),
    ]);
}

fn topic_question(about: &str) -> String {
    super::super::topic::question(about, 0)
}

#[test]
fn what_is_not_understood_is_kept_as_it_was_said() {
    for text in ["Sing me a song, dear and tender", "¿Qué?", "delete the persona", "\"\""] {
        assert_eq!(requests(text, None), [Request::Unclear(text.into())], "{text}");
    }
    assert_eq!(requests("  \n ", None), []);
}
