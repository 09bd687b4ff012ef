//! Whether a model's thoughts are asked for, as the requests show that go out.

use greenroom::providers::Dialect;
use serde_json::{Value, json};

use super::{Stage, wire};
use crate::fake_service::Reply;

#[tokio::test]
async fn a_model_that_reasons_is_asked_for_its_thoughts_where_its_service_takes_that() {
    let (anthropic, responses) = (Dialect::Anthropic, Dialect::OpenaiResponses);
    let adaptive = json!({"type": "adaptive", "display": "summarized"});
    let summary = json!({"summary": "auto"});
    let included = json!({"includeThoughts": true});
    let at_gemini = "/generationConfig/thinkingConfig";
    let cases = [
        (anthropic, "claude-sonnet-5-5", "/thinking", adaptive),
        (anthropic, "claude-haiku-4-5-20251001", "/thinking", Value::Null),
        (anthropic, "claude-haiku-5-5", "/thinking", Value::Null),
        (responses, "gpt-6-sol", "/reasoning", summary.clone()),
        (responses, "o3", "/reasoning", summary),
        (Dialect::OpenaiChat, "gpt-4o", "/reasoning", Value::Null),
        (Dialect::Gemini, "gemini-3.8-flash", at_gemini, included),
        (Dialect::Gemini, "gemini-2.5-flash-lite", at_gemini, Value::Null),
    ];
    for (dialect, model, at, wish) in cases {
        let stage = Stage::new(model).await;
        stage.fake.play([Reply::stream(wire::answer(dialect, "Hi."))]);

        assert_eq!(stage.say("Hello").await.error(), "", "{model}");

        let sent = &stage.fake.asked()[0].body;
        assert_eq!(sent.pointer(at).unwrap_or(&Value::Null), &wish, "{model}");
    }
}

/// OpenAI shows summaries only to those whom it has verified. Others were refused the whole answer.
#[tokio::test]
async fn where_thoughts_are_refused_the_answer_is_asked_for_without_them() {
    let stage = Stage::new("gpt-6-sol").await;
    let message = "Your organization must be verified to generate reasoning summaries.";
    let refused = || {
        let error = json!({"type": "invalid_request_error", "code": "unsupported_value",
                           "param": "reasoning.summary", "message": message});
        Reply::status(400, json!({"error": error}))
    };
    stage.fake.play([refused(), Reply::stream(wire::answer(Dialect::OpenaiResponses, "Hi."))]);

    let told = stage.say("Hello").await;

    assert_eq!((told.text().as_str(), told.error()), ("Hi.", ""));
    assert_eq!(stage.retries(&told.run).await, Vec::<Value>::new());
    let asked = stage.fake.asked();
    let mut wished = asked[0].body.clone();
    assert!(wished.as_object_mut().unwrap().remove("reasoning").is_some());
    assert_eq!((asked.len(), &asked[1].body), (2, &wished), "nothing else has changed");

    // When that was not it, the refusal is told.
    stage.fake.play([refused(), refused()]);
    let told = stage.say("And now?").await;
    let sentence = format!("OpenAI did not take the request: “{}”.", message.trim_end_matches('.'));
    assert_eq!((told.error(), stage.fake.asked().len()), (sentence.as_str(), 2));
}
