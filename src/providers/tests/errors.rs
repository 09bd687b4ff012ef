//! Answers that are no success, in every shape that was seen.

use std::time::Duration;

use crate::providers::{Dialect, Fault, ProviderError};

fn error(status: u16, body: &str) -> ProviderError {
    Dialect::OpenaiChat.error(status, &|_| None, body)
}

fn with_headers(status: u16, headers: &[(&str, &str)]) -> ProviderError {
    let find = |name: &str| {
        let mut all = headers.iter();
        all.find(|(header, _)| *header == name).map(|(_, value)| (*value).to_owned())
    };
    Dialect::Anthropic.error(status, &find, "{}")
}

#[test]
fn a_status_alone_tells_what_can_be_done() {
    let faults = [400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 529]
        .map(|status| error(status, "").fault);

    assert_eq!(
        faults,
        [
            Fault::BadRequest,
            Fault::Auth,
            Fault::Quota,
            Fault::Auth,
            Fault::BadRequest,
            Fault::Transient,
            Fault::Transient,
            Fault::BadRequest,
            Fault::BadRequest,
            Fault::RateLimited,
            Fault::Transient,
            Fault::Transient,
            Fault::Overloaded,
            Fault::Transient,
            Fault::Overloaded,
        ]
    );
}

#[test]
fn the_message_is_found_in_every_shape() {
    let shapes = [
        (r#"{"error":{"message":"said","type":"t","code":null}}"#, "said"),
        (r#"{"error":{"message":"said","code":400,"metadata":"odd"}}"#, "said"),
        (r#"{"error":{"message":"said","metadata":{"raw":"why"}}}"#, "said: why"),
        (r#"{"error":"said"}"#, "said"),
        (r#"{"detail":"said"}"#, "said"),
        (r#"{"detail":[{"loc":["body"],"msg":"said"},{"msg":"more"}]}"#, "said; more"),
        (r#"{"object":"error","message":"said","code":40303}"#, "said"),
        (r#"[{"error":{"code":400,"message":"said","status":"INVALID_ARGUMENT"}}]"#, "said"),
        (r#""said""#, "said"),
        ("said\n", "said"),
        ("<html><head><TITLE>502 Bad Gateway</TITLE></head></html>", "502 Bad Gateway"),
        ("<html></html>", "HTTP 400"),
        ("", "HTTP 400"),
        ("{}", "HTTP 400"),
    ];
    for (body, message) in shapes {
        assert_eq!(error(400, body).message, message, "{body}");
    }
}

#[test]
fn a_long_message_is_cut_and_a_key_is_not_repeated() {
    assert_eq!(error(400, &"ö".repeat(900)).message.chars().count(), 500);

    let body = r#"{"error":{"message":"Incorrect API key provided: sk-proj-123456789. Look"}}"#;
    assert_eq!(error(401, body).message, "Incorrect API key provided: … Look");
}

#[test]
fn a_conversation_that_is_too_long_is_known_in_all_wordings() {
    let bodies = [
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}"#,
        r#"{"error":{"message":"no","code":"context_length_exceeded"}}"#,
        r#"{"error":{"message":"Your input exceeds the context window of this model."}}"#,
        r#"{"error":{"message":"This model's maximum context length is 8 tokens."}}"#,
        r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
        r#"{"error":{"code":400,"message":"The input token count (9) exceeds the maximum number of tokens allowed (8).","status":"INVALID_ARGUMENT"}}"#,
    ];
    for body in bodies {
        assert_eq!(error(400, body).fault, Fault::ContextExceeded, "{body}");
    }
}

#[test]
fn an_empty_account_is_not_asked_again() {
    let bodies = [
        (
            429,
            r#"{"error":{"message":"m","type":"insufficient_quota","code":"insufficient_quota"}}"#,
        ),
        (400, r#"{"error":{"message":"Your credit balance is too low to access the API."}}"#),
        (
            429,
            r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProject"}]}]}}"#,
        ),
    ];
    for (status, body) in bodies {
        assert_eq!(error(status, body).fault, Fault::Quota, "{body}");
    }
}

#[test]
fn the_service_may_overrule_whether_to_ask_again() {
    let should = |status, word| with_headers(status, &[("x-should-retry", word)]).fault;

    assert_eq!(should(400, "true"), Fault::Transient);
    assert_eq!(should(529, "true"), Fault::Overloaded);
    assert!(!should(500, "false").is_transient());
    assert!(!should(429, "false").is_transient());
}

#[test]
fn the_wait_is_the_services_word() {
    let wait = |headers: &[(&str, &str)]| with_headers(429, headers).retry_after;

    assert_eq!(wait(&[]), None);
    assert_eq!(wait(&[("retry-after", "7")]), Some(Duration::from_secs(7)));
    let both = [("retry-after", "7"), ("retry-after-ms", "250")];
    assert_eq!(wait(&both), Some(Duration::from_millis(250)));
    let date = [
        ("date", "Wed, 21 Oct 2026 07:28:00 GMT"),
        ("retry-after", "Wed, 21 Oct 2026 07:28:30 GMT"),
    ];
    assert_eq!(wait(&date), Some(Duration::from_secs(30)));
    assert_eq!(wait(&[("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT")]), Some(Duration::ZERO));
    assert_eq!(wait(&[("retry-after", "soon")]), None);
    assert_eq!(wait(&[("retry-after", "-3")]), None);
}

#[test]
fn a_person_is_told_how_long_the_service_wants_us_to_wait() {
    let told = |fault: Fault, seconds: Option<u64>| {
        let retry_after = seconds.map(Duration::from_secs);
        ProviderError { retry_after, ..ProviderError::new(fault, "") }.tell("Acme").to_string()
    };

    for (seconds, when) in [
        (None, "in a moment"),
        (Some(60), "in a moment"),
        (Some(61), "in about 2 minutes"),
        (Some(600), "in about 10 minutes"),
        (Some(7201), "in about 3 hours"),
        (Some(u64::MAX), "in some days"),
    ] {
        let slow = format!("Acme asks us to slow down. Try again {when}.");
        assert_eq!(told(Fault::RateLimited, seconds), slow);
        let busy = format!("Acme is overloaded. Try again {when}.");
        assert_eq!(told(Fault::Overloaded, seconds), busy);
    }
    assert_eq!(told(Fault::Transient, Some(600)), "Acme had an error of its own. Try again.");
}

#[test]
fn google_hides_the_wait_in_the_details() {
    let body = r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[
        {"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"PerMinute"}]},
        {"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1.5s"}]}}"#;

    let error = Dialect::Gemini.error(429, &|_| None, body);

    assert_eq!(error.fault, Fault::RateLimited);
    assert_eq!(error.retry_after, Some(Duration::from_millis(1500)));
}
