//! What is asked back, because it may mean something else.

use super::*;

/// It deleted what should stay, or all of them.
#[test]
fn what_is_left_of_test_inputs_when_some_are_taken_out_is_asked() {
    for text in [
        "delete all test inputs except the one about fog",
        "delete the test inputs that are not about fog",
        "delete the test inputs that aren't about fog",
        "delete all test inputs but keep the one about fog",
        "delete all test inputs and keep the one about fog",
        "delete all test inputs, but not the one about fog",
        "delete all but the first test input",
        "delete all test inputs apart from number 2",
        "delete every test input other than the last one",
        "delete everything in the test inputs besides 'A?'",
        "run all test inputs except the one about fog",
        "run all tests, but not the second",
        "except for the one about fog, delete all test inputs",
    ] {
        assert_eq!(requests(text, None), [Request::Unclear(text.into())], "{text}");
    }
    let keep = Request::Unclear("Keep the one about fog.".into());
    check(&[
        ("Delete all test inputs. Keep the one about fog.", vec![keep.clone()]),
        ("Rename it to Bo. Delete all test inputs. Keep the one about fog.", {
            vec![Request::Rename("Bo".into()), keep]
        }),
        ("delete all test inputs, don't delete the one about fog", {
            vec![Request::Unclear("don't delete the one about fog".into())]
        }),
        ("But now delete the test input about fog", vec![Request::DeleteInput(about("fog"))]),
        ("delete the test input 'All but one?'", {
            vec![Request::DeleteInput(about("All but one?"))]
        }),
    ]);
    let before = Request::DeleteInput(Which::All);
    for text in ["but not the one about fog", "why the one about fog?"] {
        assert_eq!(requests(text, Some(&before)), [Request::Unclear(text.into())], "{text}");
    }
}

/// The persona was renamed, and its whole prompt replaced by a name.
#[test]
fn what_has_two_names_is_asked_about() {
    for text in [
        "change the name of the first test input to Bob",
        "Change the first test input's name to Bob",
        "change the prompt name to Bob",
        "In the system prompt change the name to Bob",
        "change the prompt of the first test input to 'Hi'",
    ] {
        assert_eq!(requests(text, None), [Request::Unclear(text.into())], "{text}");
    }
    let change = Request::ReplaceInPrompt { find: "Ann".into(), replace: "Bob".into() };
    check(&[
        ("Change the name from Number One to Test Two", rename("Test Two")),
        ("Set the name: Test Bot", rename("Test Bot")),
        ("In the system prompt, replace the name 'Ann' with 'Bob'", vec![change]),
    ]);
}
