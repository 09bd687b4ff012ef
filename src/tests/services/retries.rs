//! What is asked again, and what is not.

use std::time::Duration;

use greenroom::providers::Dialect;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{
    Stage, line, patient,
    wire::{self, ALL, Trouble},
};
use crate::fake_service::{FakeService, Reply, Then};

const CLAUDE: &str = "claude-sonnet-5-5";

fn good(dialect: Dialect) -> Reply {
    Reply::stream(wire::answer(dialect, "Hi."))
}

/// A service that does not answer, with the status and in the words of its dialect.
fn trouble(dialect: Dialect, why: Trouble) -> Reply {
    Reply::status(why.status(dialect), wire::refusal(dialect, why, "Not now."))
}

/// An error in Anthropic's words.
fn refusal(status: u16, kind: &str, message: &str) -> Reply {
    let error = json!({"type": kind, "message": message});
    Reply::status(status, json!({"type": "error", "error": error}))
}

#[tokio::test]
async fn a_service_that_asks_for_patience_gets_it() {
    let retry_info =
        json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.03s"});
    let exhausted = json!({"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Not now.",
                           "details": [retry_info]});
    for (dialect, _, model) in ALL {
        let stage = Stage::new(model).await;
        let slow_down = || trouble(dialect, Trouble::TooMuch);
        let waits = [
            slow_down().with("retry-after-ms", 30),
            slow_down().with("retry-after", "0.03"),
            // The service's own clock tells how long, whatever ours says.
            slow_down()
                .with("date", "Sun, 06 Nov 1994 08:49:37 GMT")
                .with("retry-after", "Sun, 06 Nov 1994 08:49:38 GMT"),
            Reply::status(429, json!({"error": exhausted})),
            // Whoever is overloaded may say for how long.
            trouble(dialect, Trouble::Overloaded).with("retry-after", "0.03"),
        ];
        for wait in waits {
            let case = format!("{dialect:?} {wait:?}");
            stage.fake.play([wait, good(dialect)]);

            let answer = stage.say("Hello").await;

            assert_eq!((answer.text().as_str(), answer.error()), ("Hi.", ""), "{case}");
            let [retry] = stage.retries(&answer.run).await.try_into().unwrap();
            assert_eq!(
                (&retry["attempt"], &retry["reason"]),
                (&json!(2), &json!("Not now.")),
                "{case}"
            );
            let wait = retry["waitMs"].as_u64().unwrap();
            assert!(wait >= 30, "{case}: {wait}");
            let asked = stage.fake.asked();
            assert_eq!(asked.len(), 2, "{case}");
            assert!(asked[1].at - asked[0].at >= Duration::from_millis(wait), "{case}");
            assert_eq!(asked[0].body, asked[1].body, "{case}");
        }
    }
}

#[tokio::test]
async fn a_service_that_wants_more_than_a_minute_is_not_waited_for() {
    for (dialect, service, model) in ALL {
        let stage = Stage::new(model).await;
        let slow_down = || trouble(dialect, Trouble::TooMuch);
        for wait in
            [slow_down().with("retry-after", 61), slow_down().with("retry-after-ms", 60_001)]
        {
            let case = format!("{dialect:?} {wait:?}");
            stage.fake.play([wait, good(dialect)]);

            let answer = stage.say("Hello").await;

            let sentence = format!("{service} asks us to slow down. Try again in about 2 minutes.");
            assert_eq!((answer.text().as_str(), answer.error()), ("", &*sentence), "{case}");
            assert_eq!(stage.retries(&answer.run).await, Vec::<Value>::new(), "{case}");
            assert_eq!(stage.fake.asked().len(), 1, "{case}");
        }
    }
}

#[tokio::test]
async fn what_may_get_better_is_asked_again() {
    for (dialect, _, model) in ALL {
        let stage = Stage::new(model).await;
        let hiccup = wire::refusal(dialect, Trouble::Internal, "A hiccup.");
        let cases = [
            trouble(dialect, Trouble::TooMuch),
            trouble(dialect, Trouble::Overloaded),
            trouble(dialect, Trouble::Internal),
            Reply::status(408, &hiccup),
            Reply::status(409, &hiccup),
            Reply::status(502, "<html><title>Bad Gateway</title></html>"),
            Reply::status(503, "Not now."),
            Reply::status(504, ""),
            Reply::status(529, ""),
            Reply::status(400, &hiccup).with("x-should-retry", true),
            Reply::none(Then::Reset),
            Reply::none(Then::Leave),
            // The headers came, and not one byte of the answer.
            Reply::stream(Vec::new()),
            Reply::stream(Vec::new()).then(Then::Reset),
            Reply::stream(Vec::new()).then(Then::Leave),
            // The answer began, and nothing was said.
            Reply::stream(wire::opening(dialect)),
            Reply::stream(wire::opening(dialect)).then(Then::Reset),
            Reply::stream(wire::opening(dialect)).then(Then::Leave),
            Reply::stream(wire::failure(dialect, "Not now.")),
            Reply::stream([wire::opening(dialect), wire::failure(dialect, "Not now.")].concat()),
        ];
        for case in cases {
            let told = format!("{dialect:?} {case:?}");
            stage.fake.play([case.clone(), case, good(dialect)]);

            let answer = stage.say("Hello").await;

            assert_eq!((answer.text().as_str(), answer.error()), ("Hi.", ""), "{told}");
            let retries = stage.retries(&answer.run).await;
            let attempts: Vec<&Value> = retries.iter().map(|retry| &retry["attempt"]).collect();
            assert_eq!(attempts, [2, 3], "{told}");
            let asked = stage.fake.asked();
            assert_eq!(asked.len(), 3, "{told}");
            assert!(asked.iter().all(|one| one.body == asked[0].body), "{told}");
            assert_eq!(stage.run(&answer.run).await["spent"]["steps"], 1, "{told}");
        }
    }
}

#[tokio::test]
async fn what_will_not_get_better_is_asked_once_and_told_in_a_sentence() {
    let stage = Stage::new(CLAUDE).await;
    let no_key = "Anthropic refused the key. Check where it comes from in the settings.";
    let no_quota = "The account at Anthropic has no quota left. Its owner can add some.";
    let too_long = "The conversation is longer than this model can read. Start a new one, or choose a \
                    model that reads more.";
    let not_taken = |said: &str| format!("Anthropic did not take the request: “{said}”.");
    let openai =
        |code: &str| json!({"error": {"code": code, "type": code, "message": "You exceeded it."}});
    let wrong = "invalid_request_error";
    let cases = [
        (refusal(400, wrong, "max_tokens is wrong."), not_taken("max_tokens is wrong")),
        (refusal(400, wrong, "prompt is too long: 9 > 8"), too_long.into()),
        (refusal(401, "authentication_error", "invalid x-api-key"), no_key.into()),
        (refusal(402, "billing_error", "Pay."), no_quota.into()),
        (refusal(403, "permission_error", "Not you."), no_key.into()),
        (refusal(404, "not_found_error", "model: claude"), not_taken("model: claude")),
        (Reply::status(404, ""), not_taken("HTTP 404")),
        (refusal(413, "request_too_large", "Too big."), not_taken("Too big")),
        (
            Reply::status(422, json!({"detail": [{"msg": "a field is missing"}]})),
            not_taken("a field is missing"),
        ),
        (Reply::status(429, openai("insufficient_quota")), no_quota.into()),
        (refusal(429, "rate_limit_error", "No.").with("x-should-retry", false), no_quota.into()),
        (refusal(503, "api_error", "Never.").with("x-should-retry", false), not_taken("Never")),
        // Not where the key may go.
        (Reply::status(302, "").with("location", "http://127.0.0.1:9/"), not_taken("HTTP 302")),
    ];
    for (case, sentence) in cases {
        let told = format!("{case:?}");
        stage.fake.play([case, good(Dialect::Anthropic)]);

        let answer = stage.say("Hello").await;

        assert_eq!((answer.text().as_str(), answer.error()), ("", sentence.as_str()), "{told}");
        assert_eq!(stage.fake.asked().len(), 1, "{told}");
        assert_eq!(stage.retries(&answer.run).await, Vec::<Value>::new(), "{told}");
        let run = stage.run(&answer.run).await;
        assert_eq!((&run["status"], &run["canRetry"]), (&json!("failed"), &json!(true)), "{told}");
        assert_eq!(run["error"]["provider"]["reason"], json!(sentence), "{told}");
    }
}

/// All that was told was that it was not found.
#[tokio::test]
async fn an_address_that_lacks_its_path_is_told_as_that() {
    let fake = FakeService::start().await;
    let base = format!("http://{}", fake.address);
    let environment = [("OPENAI_BASE_URL", base), ("OPENAI_API_KEY", "key-of-nobody".into())];
    let stage = Stage::around(fake, "gpt-4o", patient(), &environment).await;
    let missing = "At the address of OpenAI nothing answers. Most services answer below /v1: check in \
                   the settings whether it is missing.";
    let no_model = "OpenAI did not take the request: “The model is not there”.";
    let refused = |message: &str| Reply::status(404, json!({"error": {"message": message}}));
    for model in ["gpt-4o", "gpt-6-sol"] {
        stage.cast(model).await;
        for (reply, sentence) in [
            (refused("Not Found"), missing),
            (Reply::status(404, ""), missing),
            (refused("The model is not there."), no_model),
        ] {
            stage.fake.play([reply]);
            assert_eq!(stage.say("Hello").await.error(), sentence, "{model}");
        }
    }

    let stage = Stage::new("gpt-4o").await;
    stage.fake.play([Reply::status(404, "")]);
    let told = "OpenAI did not take the request: “HTTP 404”.";
    assert_eq!(stage.say("Hello").await.error(), told, "it has a path");
}

#[tokio::test]
async fn a_wrong_key_and_a_used_up_day_are_told_apart_by_their_words_at_gemini() {
    let stage = Stage::new("gemini-3.8-flash").await;
    let error = |code: u16, status: &str, detail: Value| {
        let error = json!({"code": code, "status": status, "message": "No.", "details": [detail]});
        Reply::status(code, json!({"error": error})).with("content-type", "text/event-stream")
    };
    let daily = json!({"violations": [{"quotaId": "GenerateRequestsPerDayPerProject"}]});
    let cases = [
        (error(400, "INVALID_ARGUMENT", json!({"reason": "API_KEY_INVALID"})), "refused the key"),
        (error(429, "RESOURCE_EXHAUSTED", daily), "no quota left"),
    ];
    for (case, sentence) in cases {
        stage.fake.play([case]);

        let answer = stage.say("Hello").await;

        assert!(answer.error().contains(sentence), "{}", answer.error());
        assert_eq!(stage.fake.asked().len(), 1);
    }
}

#[tokio::test]
async fn after_three_attempts_the_run_fails_with_a_sentence_and_can_be_repeated() {
    for (dialect, service, model) in ALL {
        let stage = Stage::new(model).await;
        let unreached = format!("{service} could not be reached. Try again.");
        let cases = [
            (
                trouble(dialect, Trouble::TooMuch),
                format!("{service} asks us to slow down. Try again in a moment."),
            ),
            (
                trouble(dialect, Trouble::Overloaded),
                format!("{service} is overloaded. Try again in a moment."),
            ),
            (
                trouble(dialect, Trouble::Internal),
                format!("{service} had an error of its own. Try again."),
            ),
            (Reply::none(Then::Reset), unreached.clone()),
            (Reply::stream(Vec::new()).then(Then::Reset), unreached),
        ];
        for (case, sentence) in cases {
            let told = format!("{dialect:?} {case:?}");
            stage.fake.play([case.clone(), case.clone(), case]);
            let answer = stage.say("Hello").await;
            assert_eq!((answer.text().as_str(), answer.error()), ("", &*sentence), "{told}");
            assert_eq!(stage.fake.asked().len(), 3, "{told}");
            let before = stage.history().await;
            assert_eq!(before.last(), Some(&line("user", "Hello")), "{told}: nothing was said");

            stage.fake.play([good(dialect)]);
            let again = stage.retry(&answer.run).await;

            assert_eq!((&again["status"], stage.fake.asked().len()), (&json!("done"), 1), "{told}");
            let said = [before, vec![line("assistant_text", "Hi.")]].concat();
            assert_eq!(stage.history().await, said, "{told}");
        }
    }
}

#[tokio::test]
async fn a_service_that_is_not_there_is_tried_three_times() {
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let environment = [
        ("ANTHROPIC_BASE_URL", format!("http://{nobody}")),
        ("ANTHROPIC_API_KEY", "key".to_owned()),
    ];
    let stage = Stage::around(FakeService::start().await, CLAUDE, patient(), &environment).await;

    let answer = stage.say("Hello").await;

    assert_eq!(answer.error(), "Anthropic could not be reached. Try again.");
    let retries = stage.retries(&answer.run).await;
    assert_eq!(retries.len(), 2);
    let reason = retries[0]["reason"].as_str().unwrap();
    assert!(reason.contains("refused") && !reason.contains("http://"), "{reason}");
}

#[tokio::test]
async fn a_redirect_is_not_followed_so_the_key_stays_where_it_belongs() {
    let stage = Stage::new(CLAUDE).await;
    let elsewhere = FakeService::start().await;
    elsewhere.play([good(Dialect::Anthropic)]);
    for status in [301, 302, 303, 307, 308] {
        let location = format!("http://{}/v1/messages", elsewhere.address);
        stage.fake.play([Reply::status(status, "").with("location", location)]);

        let answer = stage.say("Hello").await;

        let sentence = format!("Anthropic did not take the request: “HTTP {status}”.");
        assert_eq!(answer.error(), sentence);
        assert_eq!((stage.fake.asked().len(), elsewhere.asked().len()), (1, 0));
    }
}
