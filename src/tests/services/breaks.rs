//! Answers that break off: what was shown is kept and never said twice, and half an answer is no
//! answer.

use axum::http::Method;
use greenroom::providers::Dialect;
use serde_json::{Value, json};

use super::{
    Stage, line,
    wire::{self, ALL, Ending},
};
use crate::fake_service::{Reply, Then};

/// At how many places a stream is cut.
const CUTS: usize = 60;

/// What is told when words were cut off.
fn broke_off(service: &str) -> String {
    format!("The answer of {service} broke off. What came is kept; try again.")
}

#[tokio::test]
async fn words_that_were_shown_are_kept_when_the_connection_breaks_and_the_answer_can_be_repeated()
{
    for (dialect, service, model) in ALL {
        for then in [Then::Reset, Then::Leave, Then::End] {
            let stage = Stage::new(model).await;
            let whole = Reply::stream(wire::answer(dialect, "A whole answer."));
            stage.fake.play([Reply::stream(wire::begun(dialect, "Half an")).then(then), whole]);

            let told = stage.say("Hello").await;

            let case = format!("{dialect:?} {then:?}");
            assert_eq!(
                (told.text(), told.error()),
                ("Half an".into(), &*broke_off(service)),
                "{case}"
            );
            assert_eq!(stage.fake.asked().len(), 1, "{case}: it would be said twice");
            let run = stage.run(&told.run).await;
            assert_eq!(
                (&run["status"], &run["canRetry"]),
                (&json!("failed"), &json!(true)),
                "{case}"
            );
            let kept = [line("user", "Hello"), line("assistant_text", "Half an")];
            assert_eq!(stage.history().await, kept, "{case}");

            let again = stage.retry(&told.run).await;

            assert_eq!(again["status"], "done", "{case}");
            let repeated = [line("user", "Hello"), line("assistant_text", "A whole answer.")];
            assert_eq!(stage.history().await, repeated, "{case}");
            let sent = stage.fake.asked()[0].body.to_string();
            assert!(!sent.contains("Half an"), "{case}: it is left aside");
        }
    }
}

#[tokio::test]
async fn after_an_answer_that_broke_off_the_conversation_goes_on_with_what_was_said() {
    for (dialect, _, model) in ALL {
        let stage = Stage::new(model).await;
        let half = Reply::stream(wire::begun(dialect, "Half an")).then(Then::Reset);
        stage.fake.play([half, Reply::stream(wire::answer(dialect, "More."))]);
        stage.say("Hello").await;

        let told = stage.say("Go on.").await;

        assert_eq!((told.text().as_str(), told.error()), ("More.", ""), "{dialect:?}");
        let sent = stage.fake.asked()[1].body.to_string();
        assert!(sent.contains("Half an") && sent.contains("Go on."), "{sent}");
    }
}

#[tokio::test]
async fn an_error_inside_of_a_stream_is_asked_again_while_nothing_was_shown() {
    for (dialect, service, model) in ALL {
        let stage = Stage::new(model).await;
        let broken = [wire::opening(dialect), wire::failure(dialect, "Not now.")].concat();
        let shown = [wire::begun(dialect, "Half an"), wire::failure(dialect, "Not now.")].concat();

        stage
            .fake
            .play([Reply::stream(broken), Reply::stream(wire::answer(dialect, "A whole answer."))]);
        let told = stage.say("Hello").await;
        assert_eq!((told.text().as_str(), told.error()), ("A whole answer.", ""), "{dialect:?}");
        assert_eq!(stage.retries(&told.run).await[0]["reason"], "Not now.", "{dialect:?}");
        assert_eq!(stage.fake.asked().len(), 2, "{dialect:?}");

        stage.fake.play([Reply::stream(shown)]);
        let told = stage.say("Again").await;
        assert_eq!(told.text(), "Half an", "{dialect:?}");
        let sentences =
            [" is overloaded. Try again in a moment.", " had an error of its own. Try again."];
        let expected = sentences.map(|sentence| format!("{service}{sentence}"));
        assert!(expected.contains(&told.error().to_owned()), "{dialect:?}: {}", told.error());
        assert_eq!(stage.fake.asked().len(), 1, "{dialect:?}");
        assert_eq!(stage.history().await.last(), Some(&line("assistant_text", "Half an")));
    }
}

/// It was told that the service could not be reached, below the words that it had just said.
#[tokio::test]
async fn a_call_that_the_model_did_not_write_well_is_an_error_over_there() {
    let stage = Stage::new("gemini-3.8-flash").await;
    let end = json!({"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "index": 0}]});
    let half = wire::begun(Dialect::Gemini, "Half an");
    stage.fake.play([Reply::stream([half, vec![format!("data: {end}\n\n")]].concat())]);

    let told = stage.say("Hello").await;

    let sentence = "Google Gemini had an error of its own. Try again.";
    assert_eq!((told.text().as_str(), told.error()), ("Half an", sentence));
}

#[tokio::test]
async fn an_error_inside_of_a_stream_that_will_not_get_better_is_not_asked_again() {
    let stage = Stage::new("claude-sonnet-5-5").await;
    let error =
        json!({"type": "error", "error": {"type": "invalid_request_error", "message": "No."}});
    stage.fake.play([Reply::stream(vec![format!("event: error\ndata: {error}\n\n")])]);

    let told = stage.say("Hello").await;

    assert_eq!(told.error(), "Anthropic did not take the request: “No”.");
    assert_eq!(stage.fake.asked().len(), 1);
}

/// Some services and proxies say that all is well and then send an error where a stream was to come. It was
/// taken for a stream that broke off.
#[tokio::test]
async fn an_error_told_as_plain_json_with_a_good_status_is_that_error() {
    let error = |kind: &str, message: &str| json!({"error": {"type": kind, "message": message}});
    let plain = |body: &Value| Reply::status(200, body).with("content-type", "application/json");
    for (dialect, service, model) in ALL {
        let stage = Stage::new(model).await;
        let not_taken = format!("{service} did not take the request: “No”.");
        let no_key =
            format!("{service} refused the key. Check where it comes from in the settings.");
        let unreadable = format!("{service} sent something that could not be read. Try again.");
        let wrong = error("invalid_request_error", "No.");
        // It may also come in pieces, under the name of what it is not.
        let text = wrong.to_string();
        let (begin, rest) = text.split_at(9);
        let cases = [
            (plain(&wrong), &not_taken),
            (Reply::stream(vec!["\n".into(), begin.into(), rest.into()]), &not_taken),
            (plain(&json!([wrong])), &not_taken),
            (plain(&error("authentication_error", "Not {key}.")), &no_key),
            (plain(&json!({"error": {"code": 401, "message": "Who?"}})), &no_key),
            (plain(&json!({"id": "msg_1", "error": null, "content": "All at once."})), &unreadable),
        ];
        for (case, sentence) in cases {
            let shown = format!("{dialect:?} {case:?}");
            stage.fake.play([case, Reply::stream(wire::answer(dialect, "Hi."))]);

            let told = stage.say("Hello").await;

            assert_eq!((told.text().as_str(), told.error()), ("", sentence.as_str()), "{shown}");
            assert_eq!(stage.fake.asked().len(), 1, "{shown}");
        }

        let busy = plain(&error("overloaded_error", "Not now."));
        stage.fake.play([busy, Reply::stream(wire::answer(dialect, "Hi."))]);
        let told = stage.say("Hello").await;
        assert_eq!((told.text().as_str(), told.error()), ("Hi.", ""), "{dialect:?}");
        assert_eq!(stage.retries(&told.run).await[0]["reason"], "Not now.", "{dialect:?}");
    }
}

#[tokio::test]
async fn a_byte_order_mark_before_a_stream_is_no_part_of_it() {
    for (dialect, _, model) in ALL {
        let stage = Stage::new(model).await;
        let mut pieces = wire::answer(dialect, "Hi.");
        pieces.insert(0, "\u{feff}".into());
        stage.fake.play([Reply::stream(pieces)]);

        let told = stage.say("Hello").await;

        assert_eq!((told.text().as_str(), told.error()), ("Hi.", ""), "{dialect:?}");
        assert_eq!(stage.fake.asked().len(), 1, "{dialect:?}");
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_an_error_and_not_an_answer() {
    for (dialect, service, model) in ALL {
        let stage = Stage::new(model).await;
        stage.fake.play([Reply::stream(vec!["data: {\"type\": \n\n".into()])]);

        let told = stage.say("Hello").await;

        let sentence = format!("{service} sent something that could not be read. Try again.");
        assert_eq!((told.error(), stage.fake.asked().len()), (sentence.as_str(), 1), "{dialect:?}");
    }
}

/// A call that came whole but whose answer has no end must not be run: the model may not have meant it.
#[tokio::test]
async fn a_call_in_an_answer_without_an_end_is_not_run() {
    for (dialect, service, model) in ALL {
        for then in [Then::End, Then::Leave, Then::Reset] {
            let stage = Stage::new(model).await;
            let renaming = wire::call(dialect, "update_persona_name", &json!({"name": "Bob"}));
            let half = [wire::begun(dialect, "I rename her."), renaming].concat();
            stage.fake.play([Reply::stream(half).then(then)]);

            let told = stage.say("Call her Bob.").await;

            let case = format!("{dialect:?} {then:?}");
            assert_eq!(told.error(), broke_off(service), "{case}");
            assert_eq!(stage.fake.asked().len(), 1, "{case}");
            let ann = stage.get("/api/storage/personas/ann").await.good();
            assert_eq!((&ann["name"], &ann["revision"]), (&json!("Ann"), &json!(1)), "{case}");
            // Where a service sends calls whole, it was shown, and is told not to have been run.
            let shown = match dialect {
                Dialect::Anthropic | Dialect::OpenaiChat => Vec::new(),
                Dialect::OpenaiResponses | Dialect::Gemini => vec![
                    line("tool_call", "update_persona_name"),
                    line("tool_result", "Not run. The answer broke off."),
                ],
            };
            let said = vec![line("user", "Call her Bob."), line("assistant_text", "I rename her.")];
            assert_eq!(stage.history().await, [said, shown].concat(), "{case}");
        }
    }
}

/// Wherever the connection breaks, within a letter of a call or between two of them, nothing is run.
#[tokio::test]
async fn no_cut_of_a_stream_runs_a_call() {
    for (dialect, _, model) in ALL {
        let stage = Stage::new(model).await;
        let renaming = wire::call(dialect, "update_persona_name", &json!({"name": "Bob"}));
        let whole = [wire::begun(dialect, "I rename her."), renaming].concat().concat();
        let stride = whole.len() / CUTS + 1;
        for at in (0..=whole.len()).step_by(stride) {
            let then = if at % 2 == 0 { Then::Reset } else { Then::Leave };
            let cut = Reply::stream(vec![whole[..at].to_owned()]).then(then);
            // While nothing was shown it is asked again, and breaks again.
            stage.fake.play([cut.clone(), cut.clone(), cut]);

            let told = stage.say("Call her Bob.").await;

            assert_ne!(told.error(), "", "{dialect:?} cut at {at} of {}", whole.len());
        }
        let ann = stage.get("/api/storage/personas/ann").await.good();
        assert_eq!((&ann["name"], &ann["revision"]), (&json!("Ann"), &json!(1)), "{dialect:?}");
    }
}

/// The control: with its end, the very same call is run.
#[tokio::test]
async fn a_call_in_an_answer_with_an_end_is_run() {
    for (dialect, _, model) in ALL {
        let stage = Stage::new(model).await;
        let whole = [
            wire::begun(dialect, "I rename her."),
            wire::call(dialect, "update_persona_name", &json!({"name": "Bob"})),
            wire::ending(dialect, Ending::Calls, &wire::usage(dialect)),
        ];
        stage
            .fake
            .play([Reply::stream(whole.concat()), Reply::stream(wire::answer(dialect, "Done."))]);

        let told = stage.say("Call her Bob.").await;

        assert_eq!(told.error(), "", "{dialect:?}");
        let ann = stage.get("/api/storage/personas/ann").await.good();
        assert_eq!((&ann["name"], &ann["revision"]), (&json!("Bob"), &json!(2)), "{dialect:?}");
    }
}

/// A failure after a tool was run does not run it again: only the answer to its result is repeated.
#[tokio::test]
async fn a_step_that_is_asked_again_does_not_run_the_tools_before_it_again() {
    for (dialect, _, model) in ALL {
        let stage = Stage::new(model).await;
        let create = wire::call(dialect, "create_test_input", &json!({"content": "Really?"}));
        let end = wire::ending(dialect, Ending::Calls, &wire::usage(dialect));
        stage.fake.play([
            Reply::stream([wire::opening(dialect), create, end].concat()),
            Reply::none(Then::Reset),
            Reply::status(503, ""),
            Reply::stream(wire::answer(dialect, "Done.")),
        ]);

        let told = stage.say("Add a test input.").await;

        assert_eq!((told.text().as_str(), told.error()), ("Done.", ""), "{dialect:?}");
        assert_eq!(stage.fake.asked().len(), 4, "{dialect:?}");
        let inputs =
            stage.call(Method::GET, "/api/storage/personas/ann/test-inputs", json!({})).await;
        assert_eq!(inputs.good()["items"].as_array().unwrap().len(), 1, "{dialect:?}");
    }
}
