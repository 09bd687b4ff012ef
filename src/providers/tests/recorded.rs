//! Recorded answers, when the shared folder with them is there.

use std::{fs, path::PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::replay::{ASK, Answer, replay};
use crate::{
    domain::run::{StopReason, Usage},
    providers::{Dialect, Fault},
};

#[derive(Deserialize)]
struct Expected {
    format: String,
    text: String,
    reasoning: String,
    refusal: Option<String>,
    tool_calls: Vec<Call>,
    finish: String,
    usage: Counts,
    error: Option<Failure>,
}

#[derive(Deserialize)]
struct Call {
    id: Option<String>,
    name: String,
    arguments: Value,
    #[serde(default = "whole")]
    complete: bool,
    arguments_raw: Option<String>,
    thought_signature_len: Option<usize>,
}

#[derive(Deserialize)]
struct Counts {
    input_total: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    output: Option<u64>,
    reasoning: Option<u64>,
}

#[derive(Deserialize)]
struct Failure {
    message: String,
}

fn whole() -> bool {
    true
}

fn folder() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "shared", "fixtures", "wire"].iter().collect()
}

/// Runs all recordings of a folder; nothing where it is absent.
fn run(name: &str) {
    let mut count = 0;
    for entry in fs::read_dir(folder().join(name)).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "sse") {
            continue;
        }
        let expected = fs::read_to_string(path.with_extension("expected.json")).unwrap();
        let expected: Expected = serde_json::from_str(&expected).unwrap();
        let dialect = match expected.format.as_str() {
            "anthropic-messages" => Dialect::Anthropic,
            "openai-chat" => Dialect::OpenaiChat,
            "openai-responses" => Dialect::OpenaiResponses,
            "gemini" => Dialect::Gemini,
            other => panic!("{other} is no dialect of ours"),
        };
        let answer = replay(dialect, &ASK, &fs::read_to_string(&path).unwrap());
        compare(&path.display().to_string(), &answer, &expected);
        count += 1;
    }
    ran(name, count);
}

/// Says how many recordings were run, to whoever runs all tests. Where recordings are, some must have been.
fn ran(name: &str, count: usize) {
    assert!(count > 0 || !folder().exists(), "there are no recordings of {name}");
    tell(name, &format!("{count} {name}"));
}

fn tell(name: &str, told: &str) {
    println!("{told}");
    if let Some(counts) = std::env::var_os("GREENROOM_TEST_RECORDED") {
        fs::write(PathBuf::from(counts).join(name), format!("{told}\n")).unwrap();
    }
}

/// The names of the files of a folder with this ending, in their order.
fn names(folder: &str, ending: &str) -> Vec<String> {
    let files = fs::read_dir(self::folder().join(folder)).into_iter().flatten();
    let files = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> =
        files.filter_map(|file| file.strip_suffix(ending).map(str::to_owned)).collect();
    names.sort();
    names
}

fn compare(path: &str, answer: &Answer, expected: &Expected) {
    let text = expected.refusal.as_deref().unwrap_or(&expected.text);
    assert_eq!(answer.text(), text, "{path}");
    assert_eq!(answer.reasoning(), expected.reasoning, "{path}");
    assert_eq!(finish(answer, expected), expected.finish, "{path}");
    let message = answer.error.as_ref().map(|error| error.message.as_str());
    assert_eq!(message, expected.error.as_ref().map(|error| error.message.as_str()), "{path}");
    let usage = Usage {
        input: expected.usage.input_total,
        cache_read: expected.usage.cache_read,
        cache_write: expected.usage.cache_write,
        output: expected.usage.output,
        reasoning: expected.usage.reasoning,
    };
    assert_eq!(answer.usage(), usage, "{path}");

    let calls = answer.calls();
    assert_eq!(calls.len(), expected.tool_calls.len(), "{path}");
    for (call, expected) in calls.iter().zip(&expected.tool_calls) {
        assert_eq!(call.name, expected.name, "{path}");
        assert_eq!(call.id, expected.id, "{path}");
        let input = match &expected.arguments_raw {
            Some(raw) if !expected.complete => Err(raw.clone()),
            _ => Ok(expected.arguments.clone()),
        };
        assert_eq!(call.input, input, "{path}");
        let signature = call.data.as_ref().and_then(|data| data["thoughtSignature"].as_str());
        assert_eq!(signature.map(str::len), expected.thought_signature_len, "{path}");
    }
}

fn finish(answer: &Answer, expected: &Expected) -> &'static str {
    match answer.stop() {
        None => "error",
        Some(StopReason::EndTurn | StopReason::StopSequence) => "stop",
        Some(StopReason::ToolUse) => "tool-calls",
        Some(StopReason::MaxTokens | StopReason::ContextExceeded) => "length",
        // OpenAI says `stop` after a refusal; we say what it was.
        Some(StopReason::Refusal) if expected.refusal.is_some() => "stop",
        Some(StopReason::Refusal) => "content-filter",
        Some(StopReason::PauseTurn | StopReason::Limit | StopReason::Other) => "other",
    }
}

#[test]
fn recordings_of_anthropic_give_what_was_said() {
    run("anthropic");
}

#[test]
fn recordings_of_openai_give_what_was_said() {
    run("openai");
}

#[test]
fn recordings_of_responses_give_what_was_said() {
    run("openai-responses");
}

#[test]
fn recordings_of_gemini_give_what_was_said() {
    run("gemini");
}

#[test]
fn recordings_of_compatible_servers_give_what_was_said() {
    run("compat");
}

/// Nothing of what was recorded is left out without a word.
#[test]
fn what_is_recorded_of_other_dialects_is_named() {
    const KNOWN: [&str; 6] =
        ["anthropic", "compat", "gemini", "http-errors", "openai", "openai-responses"];
    for name in names("", "").iter().filter(|name| !KNOWN.contains(&name.as_str())) {
        match name.as_str() {
            "INDEX.md" => {}
            // Its native API is not spoken here: Ollama is asked in OpenAI's dialect.
            "ollama" => {
                let left_out = names("ollama", ".ndjson").len();
                tell("ollama", &format!("0 ollama native ({left_out} left out, not spoken)"));
            }
            other => panic!("nobody runs what is recorded in {other}"),
        }
    }
}

#[test]
fn recorded_http_errors_are_told_apart() {
    #[derive(Deserialize)]
    struct Recorded {
        status: u16,
        headers: std::collections::BTreeMap<String, String>,
        body: String,
    }
    let expected = [
        ("anthropic_400_too_long", Dialect::Anthropic, Fault::ContextExceeded, None),
        ("anthropic_401", Dialect::Anthropic, Fault::Auth, None),
        ("gemini_400_key", Dialect::Gemini, Fault::Auth, None),
        ("gemini_429_quota", Dialect::Gemini, Fault::RateLimited, Some(48)),
        ("openai_400_context_length", Dialect::OpenaiResponses, Fault::ContextExceeded, None),
        ("openai_401", Dialect::OpenaiChat, Fault::Auth, None),
        ("openrouter_429", Dialect::OpenaiChat, Fault::RateLimited, None),
    ];
    let names = names("http-errors", ".json");
    for name in &names {
        let known = expected.iter().find(|(known, ..)| known == name);
        let &(_, dialect, fault, wait) = known.unwrap_or_else(|| panic!("what does {name} mean?"));
        let path = folder().join("http-errors").join(name).with_extension("json");
        let text = fs::read_to_string(path).unwrap();
        let recorded: Recorded = serde_json::from_str(&text).unwrap();
        let headers = |name: &str| recorded.headers.get(name).cloned();

        let error = dialect.error(recorded.status, &headers, &recorded.body);

        assert_eq!(error.fault, fault, "{name}");
        assert_eq!(error.retry_after.map(|wait| wait.as_secs()), wait, "{name}");
        assert_eq!(error.status, Some(recorded.status), "{name}");
        assert!(!error.message.contains("invalid-key"), "{name} repeats the key");
    }
    ran("http-errors", names.len());
}
