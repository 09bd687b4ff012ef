//! Chat Completions and its many speakers.

use serde_json::{Value, json};

use crate::{
    domain::{
        message::{PartBody, Role},
        run::{StopReason, Usage},
    },
    providers::{
        Ask, Dialect, Fault, ModelEvent, Quirks, built_in,
        tests::{
            replay::{ASK, Answer, carried, feed, play, replay, stream_of, unsigned},
            requests,
        },
    },
};

fn delta(delta: Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}], "usage": null})
}

fn text(text: &str) -> Value {
    delta(json!({"content": text}))
}

fn piece(piece: Value) -> Value {
    delta(json!({"tool_calls": [piece]}))
}

fn call(index: u64, id: &str, name: &str, arguments: Value) -> Value {
    piece(json!({"index": index, "id": id, "function": {"name": name, "arguments": arguments}}))
}

fn more(index: u64, arguments: &str) -> Value {
    piece(json!({"index": index, "function": {"arguments": arguments}}))
}

fn finish(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn usage() -> Value {
    json!({"prompt_tokens": 30, "completion_tokens": 7, "total_tokens": 37,
        "prompt_tokens_details": {"cached_tokens": 20},
        "completion_tokens_details": {"reasoning_tokens": 3}})
}

fn counted() -> Usage {
    Usage {
        input: Some(30),
        cache_read: Some(20),
        cache_write: None,
        output: Some(7),
        reasoning: Some(3),
    }
}

fn done() -> Value {
    json!("[DONE]")
}

fn answer(events: &[Value]) -> Answer {
    play(Dialect::OpenaiChat, events)
}

fn called(name: &str, input: Value, id: &str) -> (String, Result<Value, String>, Option<String>) {
    (name.into(), Ok(input), (!id.is_empty()).then(|| id.into()))
}

#[test]
fn words_then_a_finish_then_the_tokens() {
    let azure = json!({"choices": [], "model": "", "prompt_filter_results": []});
    let second = json!({"choices": [{"index": 1, "delta": {"content": "other"}}]});
    let tokens = json!({"choices": [], "usage": usage()});
    let answer = answer(&[
        azure,
        delta(json!({"role": "assistant", "content": "", "tool_calls": null})),
        text("Gr"),
        second,
        text("üße"),
        finish("stop"),
        tokens,
        done(),
    ]);

    assert_eq!(
        answer.events,
        [
            ModelEvent::Text("Gr".into()),
            ModelEvent::Text("üße".into()),
            ModelEvent::PartEnd(None),
            ModelEvent::Usage(counted()),
            ModelEvent::Stop(StopReason::EndTurn),
        ]
    );
}

#[test]
fn parallel_calls_are_put_together_by_index() {
    let answer = answer(&[
        call(0, "call_a", "look", json!("")),
        call(1, "call_b", "find", json!("")),
        more(1, "{\"b\":"),
        more(0, "{\"a\":1}"),
        more(1, "2}"),
        finish("tool_calls"),
        done(),
    ]);

    let expected =
        [called("look", json!({"a": 1}), "call_a"), called("find", json!({"b": 2}), "call_b")];
    assert_eq!(answer.called(), expected);
    assert_eq!(answer.stop(), Some(StopReason::ToolUse));
}

#[test]
fn arguments_may_be_null_an_object_or_encoded_twice() {
    let forms = [
        (json!("null"), json!({})),
        (json!(null), json!({})),
        (json!({"a": 1}), json!({"a": 1})),
        (json!("\"{\\\"a\\\":1}\""), json!({"a": 1})),
    ];
    for (arguments, input) in forms {
        let answer = answer(&[call(0, "c", "look", arguments), finish("tool_calls"), done()]);
        assert_eq!(answer.called(), [called("look", input, "c")]);
    }
}

#[test]
fn a_gap_before_the_first_index_is_no_call() {
    let answer =
        answer(&[call(1, "c", "look", json!("")), more(1, "{}"), finish("tool_calls"), done()]);

    assert_eq!(answer.called(), [called("look", json!({}), "c")]);
}

#[test]
fn another_identifier_at_the_same_index_is_another_call() {
    let answer = answer(&[
        call(0, "a", "look", json!("{\"n\":")),
        more(0, "1}"),
        call(0, "b", "look", json!("{}")),
        finish("stop"),
        done(),
    ]);

    assert_eq!(
        answer.called(),
        [called("look", json!({"n": 1}), "a"), called("look", json!({}), "b")]
    );
    assert_eq!(answer.stop(), Some(StopReason::ToolUse));
}

#[test]
fn calls_without_index_or_identifier_are_told_apart_by_their_names() {
    let bare = |name: &str, arguments: &str| {
        piece(json!({"function": {"name": name, "arguments": arguments}}))
    };
    let answer = answer(&[
        bare("look", "{\"n\":"),
        piece(json!({"function": {"arguments": "1}"}})),
        bare("find", "{}"),
        bare("find", "{\"n\":2}"),
        finish("tool_calls"),
        done(),
    ]);

    assert_eq!(
        answer.called(),
        [
            called("look", json!({"n": 1}), ""),
            called("find", json!({}), ""),
            called("find", json!({"n": 2}), ""),
        ]
    );
}

#[test]
fn a_call_that_the_limit_cut_off_stays_text() {
    for text in ["{\"summary\":\"The ca", ""] {
        let answer = answer(&[call(0, "c", "look", json!(text)), finish("length"), done()]);

        assert_eq!(answer.called(), [("look".into(), Err(text.into()), Some("c".into()))]);
        assert_eq!(answer.stop(), Some(StopReason::MaxTokens));
    }
}

/// A call was run with no arguments when its answer broke off for a reason of which nobody had heard.
#[test]
fn only_an_answer_that_is_whole_has_its_calls_run() {
    let whole =
        ["stop", "stop_sequence", "tool_calls", "function_call", "end_turn", "eos", "eos_token"];
    for reason in whole {
        let answer = answer(&[call(0, "c", "look", json!("")), finish(reason), done()]);
        assert_eq!(answer.called(), [called("look", json!({}), "c")], "{reason}");
        assert_eq!(answer.stop(), Some(StopReason::ToolUse), "{reason}");
        assert_eq!(self::answer(&[text("Hi"), finish(reason)]).stop(), Some(StopReason::EndTurn));
    }
    let cut = [
        ("length", StopReason::MaxTokens),
        ("model_length", StopReason::MaxTokens),
        ("content_filter", StopReason::Refusal),
        ("something_new", StopReason::Other),
    ];
    for (reason, stop) in cut {
        let answer = answer(&[call(0, "c", "look", json!("")), finish(reason), done()]);
        let left = ("look".into(), Err(String::new()), Some("c".into()));
        assert_eq!(answer.called(), [left], "{reason}");
        assert_eq!(answer.stop(), Some(stop), "{reason}");
        assert_eq!(self::answer(&[text("Hi"), finish(reason)]).stop(), Some(stop));
    }
    for (reason, fault) in
        [("error", Fault::Transient), ("insufficient_system_resource", Fault::Overloaded)]
    {
        let answer = answer(&[call(0, "c", "look", json!("{}")), finish(reason), done()]);
        assert_eq!(answer.error.as_ref().unwrap().fault, fault, "{reason}");
    }
}

#[test]
fn a_refusal_is_shown_and_is_the_reason() {
    let refusal = |text: &str| delta(json!({"refusal": text}));
    let answer = answer(&[refusal("I can"), refusal("not."), finish("stop"), done()]);

    assert_eq!((answer.text().as_str(), answer.stop()), ("I cannot.", Some(StopReason::Refusal)));
}

#[test]
fn a_refusal_after_words_stands_apart_from_them() {
    let refusal = delta(json!({"refusal": "I cannot."}));
    let answer = answer(&[text("I would"), refusal, finish("stop"), done()]);

    assert_eq!(answer.passages(), ["I would", "I cannot."]);
}

#[test]
fn an_error_beside_choices_is_an_error() {
    let error = json!({"error": {"code": 502, "message": "Upstream"}, "choices": [{"index": 0,
        "delta": {"content": ""}, "finish_reason": null}], "usage": usage()});
    let answer = answer(&[text("Hi"), finish("length"), error, done()]);

    let error = answer.error.as_ref().unwrap();
    assert_eq!((error.fault, error.message.as_str()), (Fault::Transient, "Upstream"));
    assert_eq!((answer.text().as_str(), answer.usage()), ("Hi", Usage::default()));
}

#[test]
fn an_error_in_the_stream_has_its_class_by_its_code() {
    let errors = [
        (json!({"error": {"message": "m", "type": "server_error"}}), Fault::Transient),
        (json!({"error": {"message": "m", "code": "rate_limit_exceeded"}}), Fault::RateLimited),
        (json!({"error": {"message": "m", "code": 429}}), Fault::RateLimited),
        (json!({"error": {"message": "m", "code": "insufficient_quota"}}), Fault::Quota),
        (json!({"error": {"message": "m", "type": "invalid_request_error"}}), Fault::BadRequest),
        (json!({"error": "m"}), Fault::Transient),
        (json!({"object": "error", "message": "m", "code": 400}), Fault::BadRequest),
    ];
    for (error, fault) in errors {
        let failed = answer(std::slice::from_ref(&error)).error.unwrap();
        assert_eq!((failed.fault, failed.message.as_str()), (fault, "m"), "{error}");
    }
}

#[test]
fn tokens_in_the_finish_and_a_body_that_just_closes_are_enough() {
    let mut last = finish("stop");
    last["usage"] = usage();
    let answer = answer(&[text("Hi"), last]);

    assert_eq!((answer.usage(), answer.stop()), (counted(), Some(StopReason::EndTurn)));
}

#[test]
fn reasoning_outside_of_the_completion_is_added_by_quirk() {
    let ask = Ask { quirks: Quirks { reasoning_outside: true, ..Quirks::default() }, ..ASK };
    let tokens = json!({"choices": [], "usage": usage()});
    let body = stream_of(&[text("Hi"), finish("stop"), tokens, done()]);

    assert_eq!(replay(Dialect::OpenaiChat, &ask, &body).usage().output, Some(10));
}

#[test]
fn a_stream_without_a_finish_is_truncated() {
    for events in [vec![text("Hi")], vec![text("Hi"), done()], vec![call(0, "c", "f", json!("{}"))]]
    {
        let answer = answer(&events);
        assert_eq!(answer.error.as_ref().unwrap().fault, Fault::Truncated);
        assert_eq!(answer.calls(), []);
    }
}

#[test]
fn thoughts_have_several_names() {
    let pieces = json!([{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]},
        {"type": "text", "text": "Hi"}]);
    let forms = [
        vec![delta(json!({"reasoning_content": "Hm", "content": null})), text("Hi")],
        vec![delta(json!({"reasoning": "Hm", "reasoning_content": ""})), text("Hi")],
        vec![delta(json!({"content": pieces}))],
    ];
    for form in forms {
        let answer = answer(&[form, vec![finish("stop"), done()]].concat());
        assert_eq!(
            answer.events,
            [
                ModelEvent::Reasoning("Hm".into()),
                ModelEvent::PartEnd(Some(unsigned())),
                ModelEvent::Text("Hi".into()),
                ModelEvent::PartEnd(None),
                ModelEvent::Stop(StopReason::EndTurn),
            ]
        );
    }
    let kept = answer(&[text("<think>Hm</think>Hi"), finish("stop"), done()]);
    assert_eq!(kept.text(), "<think>Hm</think>Hi");
}

/// What a server that parts nothing sends, in these pieces: the thoughts, and the words.
fn parted(pieces: &[&str], reason: &str) -> (String, String) {
    let quirks = Quirks { think_tags: true, ..Quirks::default() };
    let said = pieces.iter().filter(|piece| !piece.is_empty()).map(|piece| text(piece));
    let body = stream_of(&said.chain([finish(reason), done()]).collect::<Vec<_>>());
    let bytes = vec![body.into()];
    let answer = feed(Dialect::OpenaiChat, &Ask { quirks, ..ASK }, bytes);
    assert_eq!(answer.error, None);
    (answer.reasoning(), answer.text())
}

#[test]
fn thoughts_in_tags_before_the_words_are_thoughts_wherever_they_are_cut() {
    let whole = "\n<think>\nIs a < b? </thin Yes.</think>\n\nHi, <think> is a tag.</think>";
    let expected: (String, String) =
        ("Is a < b? </thin Yes.".into(), "Hi, <think> is a tag.</think>".into());
    for at in 0..=whole.len() {
        let (before, rest) = whole.split_at(at);
        assert_eq!(parted(&[before, rest], "stop"), expected, "cut at {at}");
        for second in 0..=rest.len() {
            let (middle, after) = rest.split_at(second);
            let pieces = [before, middle, after];
            assert_eq!(parted(&pieces, "stop"), expected, "cut at {at} and {second} later");
        }
    }
    let single: Vec<String> = whole.chars().map(String::from).collect();
    let single: Vec<&str> = single.iter().map(String::as_str).collect();
    assert_eq!(parted(&single, "stop"), expected, "letter by letter");
}

#[test]
fn tags_that_are_not_before_the_words_or_have_no_end_lose_nothing() {
    let cases = [
        (" <thinking> aloud", "stop", "", " <thinking> aloud"),
        ("Hi <think>Hm</think>", "stop", "", "Hi <think>Hm</think>"),
        ("<thin", "stop", "", "<thin"),
        ("<think>Half a thought</th", "length", "Half a thought</th", ""),
        ("<think>\n\n</think>\n\nHi", "stop", "", "Hi"),
        ("<think>Hm</think>", "stop", "Hm", ""),
    ];
    for (said, reason, thoughts, words) in cases {
        for at in 0..=said.len() {
            let (before, after) = said.split_at(at);
            let expected = (thoughts.to_owned(), words.to_owned());
            assert_eq!(parted(&[before, after], reason), expected, "{said:?} cut at {at}");
        }
    }
}

#[test]
fn servers_that_somebody_runs_may_tell_thoughts_in_tags() {
    let known = |service| built_in(service).map(|known| known.quirks.think_tags);

    assert_eq!(["ollama", "llamacpp", "vllm"].map(known), [Some(true); 3]);
    assert_eq!(["openai", "anthropic", "openrouter"].map(known), [Some(false); 3]);
}

#[test]
fn what_is_no_json_is_garbled() {
    assert_eq!(answer(&[json!("oops")]).error.unwrap().fault, Fault::Garbled);
}

/// OpenRouter gives what the model behind it wants back in pieces, and they were lost.
#[test]
fn details_of_reasoning_are_carried_whole_and_go_back_as_they_came() {
    let detailed = |delta_of: Value, detail: Value| {
        let mut piece = delta(delta_of);
        piece["choices"][0]["delta"]["reasoning_details"] = json!([detail]);
        piece
    };
    let words =
        |text: &str| json!({"type": "reasoning.text", "text": text, "index": 0, "format": null});
    let signed = json!({"type": "reasoning.text", "signature": "sig-1", "index": 0});
    let secret = json!({"type": "reasoning.encrypted", "data": "xyz", "id": "tool_1", "index": 1});
    let body = stream_of(&[
        detailed(json!({"reasoning": "I should"}), words("I should")),
        detailed(json!({"reasoning": " look."}), words(" look.")),
        detailed(json!({}), signed),
        text("Let me look."),
        detailed(json!({}), secret.clone()),
        call(0, "call_1", "look", json!("{}")),
        finish("tool_calls"),
        done(),
    ]);
    let quirks = Quirks { reasoning_details: true, ..Quirks::default() };
    let ask = Ask { quirks, ..ASK };

    let answer = replay(Dialect::OpenaiChat, &ask, &body);

    let whole = json!({"type": "reasoning.text", "text": "I should look.", "signature": "sig-1",
        "index": 0, "format": null});
    let details = json!([whole, secret]);
    let held = carried(None, json!({"reasoning_details": details}));
    assert_eq!(answer.reasoning(), "I should look.");
    assert!(answer.events.contains(&ModelEvent::PartEnd(Some(held.clone()))), "{answer:?}");
    let plain = replay(Dialect::OpenaiChat, &ASK, &body);
    assert!(!format!("{plain:?}").contains("sig-1"), "without the quirk nothing is carried");

    let turns = [
        requests::user("Who?"),
        requests::turn(
            Role::Assistant,
            PartBody::Reasoning("I should look.".into()),
            Some(unsigned()),
        ),
        requests::assistant("Let me look."),
        requests::turn(Role::Assistant, PartBody::Reasoning(String::new()), Some(held)),
        requests::call("one", json!({}), None),
        requests::result("one", "fine", false),
    ];
    let sent = Dialect::OpenaiChat.body(&Ask { turns: &turns, ..ask });
    assert_eq!(sent["messages"][2]["reasoning_details"], details);
    let back = Dialect::OpenaiChat.read_messages(&sent, ask.service, ask.model).unwrap();
    let again = Dialect::OpenaiChat.body(&Ask { turns: &back, ..ask });
    assert_eq!(again, sent, "there and back");
    for other in [Ask { model: "model-2", ..ask }, ASK] {
        let sent = Dialect::OpenaiChat.body(&Ask { turns: &turns, ..other });
        assert_eq!(sent["messages"][2].get("reasoning_details"), None);
    }
}

#[test]
fn details_of_reasoning_that_was_cut_off_are_not_carried() {
    let mut piece = text("Half");
    piece["choices"][0]["delta"]["reasoning_details"] =
        json!([{"type": "reasoning.text", "text": "Hm", "index": 0}]);
    let quirks = Quirks { reasoning_details: true, ..Quirks::default() };
    let body = stream_of(&[piece, finish("length"), done()]);

    let answer = replay(Dialect::OpenaiChat, &Ask { quirks, ..ASK }, &body);

    let expected = [
        ModelEvent::Text("Half".into()),
        ModelEvent::PartEnd(None),
        ModelEvent::Stop(StopReason::MaxTokens),
    ];
    assert_eq!(answer.events, expected);
}
