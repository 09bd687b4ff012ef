//! Drafts decided on line by line, by the real program.

use serde_json::{Value, json};

use super::program::{Room, Server};

const PROMPT: &str = "Be brief and kind to everybody. Ask only once.";

fn read(persona: &str) -> Value {
    json!({"call": {"name": "read", "input": {"entityType": "persona", "entityId": persona}}})
}

fn propose(persona: &str, prompt: &str) -> Value {
    json!({"call": {"name": "propose_change", "input": {
        "op": "update", "entityType": "persona", "entityId": persona,
        "persona": {"systemPrompt": prompt},
    }}})
}

/// A room in which the demo proposes something whenever it is asked.
fn drafting(answers: &Value) -> Room {
    let room = Room::new().playing(answers);
    room.write("data/chat/tools.yaml", "- read\n- propose_change\n");
    room
}

fn prompt_of(server: &Server, persona: &str) -> Value {
    body(&server.asked(&format!("/api/storage/personas/{persona}"), None))["systemPrompt"].clone()
}

fn body(answer: &str) -> Value {
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

#[test]
fn a_draft_is_accepted_whole_or_by_the_change_or_rejected_with_a_reason() {
    let other = "Be short and kind to everybody. Ask only twice.";
    let room = drafting(&json!([
        [read("optimist")], [propose("optimist", PROMPT)], [{"text": "One."}],
        [read("optimist")], [propose("optimist", other)], [{"text": "Two."}],
    ]));

    let whole = room.chat_typing(&[], "Go\n/drafts\n/accept 1\nGo on\n/drafts\n/accept 1 7\n");
    let some = room.chat_typing(&[], "/drafts\n/accept 1 0\n");
    let rejected = room.chat_typing(&[], "Go\n/drafts\n/reject 1 Too long.\n");

    assert!(whole.err.contains("Accepted: "), "{whole:?}");
    assert!(whole.err.contains("⟨0⟩[-brief-]{+short+}"), "{whole:?}");
    assert_eq!(whole.code, Some(2), "there is no such change: {whole:?}");
    assert!(whole.err.contains("The draft has no change 7 of systemPrompt."), "{whole:?}");
    assert!(some.err.contains("Accepted: "), "{some:?}");
    some.good();
    assert!(rejected.err.contains("Rejected: "), "{rejected:?}");
    rejected.good();
    let server = room.serve();
    let kept = "Be short and kind to everybody. Ask only once.";
    assert_eq!(prompt_of(&server, "optimist"), kept);
    let told = server.asked("/api/pending-changes?state=rejected", None);
    assert_eq!(body(&told)["items"][0]["note"], "Too long.", "{told}");
}

#[test]
fn decisions_are_taken_back() {
    let room = drafting(&json!([
        [read("optimist")], [propose("optimist", PROMPT)], [{"text": "One."}],
    ]));
    let server = room.serve();
    let before = prompt_of(&server, "optimist");

    let ran =
        room.chat_typing(&[], "Go\n/drafts\n/reject\n/undo\n/drafts\n/accept\n/undo\n/undo\n");

    for told in [
        "Rejected: ",
        "What was rejected waits again.",
        "Accepted: ",
        "What was accepted is undone.",
        "Nothing was decided on here that could be taken back.",
    ] {
        assert!(ran.err.contains(told), "{told}: {ran:?}");
    }
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert_eq!(prompt_of(&server, "optimist"), before);
}

#[test]
fn a_number_means_the_draft_that_was_shown_under_it() {
    let room = drafting(&json!([
        [read("optimist"), read("skeptic")],
        [propose("optimist", PROMPT), propose("skeptic", PROMPT)],
        [{"text": "Drafted."}],
        [{"text": "Shown."}],
    ]));
    let server = room.serve();
    let before = prompt_of(&server, "optimist");
    let mut going = room.chatting(&[]);
    going.say("Improve both.");
    going.until("Drafted.");
    going.say("/drafts");
    going.say("And?");
    going.until("Shown.");
    let waiting = body(&server.asked("/api/pending-changes?state=pending", None));
    let first = waiting["items"].as_array().unwrap().iter();
    let first = first.clone().find(|draft| draft["entityId"] == "optimist").unwrap();

    // Somebody decides on the first one elsewhere, so that the second one is alone.
    let path = format!("/api/pending-changes/{}/reject", first["id"].as_str().unwrap());
    server.asked(&path, Some(json!({"reason": ""})));
    going.say("/accept 2");
    going.say("/accept 1");
    let ran = going.end();

    assert!(ran.err.contains("Accepted: "), "{ran:?}");
    assert_eq!(ran.code, Some(1), "the first one was decided on: {ran:?}");
    assert_eq!(prompt_of(&server, "skeptic"), PROMPT);
    assert_eq!(prompt_of(&server, "optimist"), before);
}

#[test]
fn nothing_is_decided_on_that_was_not_shown() {
    let room = drafting(&json!([
        [read("optimist")], [propose("optimist", PROMPT)], [{"text": "Drafted."}],
    ]));

    let ran = room.chat_typing(&[], "Go\n/accept 1\n");

    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("No draft was shown under this number."), "{ran:?}");
}

#[test]
fn a_field_of_several_is_named_as_it_is_shown() {
    let both = json!({"call": {"name": "propose_change", "input": {
        "op": "update", "entityType": "persona", "entityId": "optimist",
        "persona": {"name": "Ann", "systemPrompt": PROMPT},
    }}});
    let room = drafting(&json!([[read("optimist")], [both], [{"text": "Drafted."}]]));

    let asked = room.chat_typing(&[], "Go\n/help\n/drafts\n/accept 1 0\n");
    assert_eq!(asked.code, Some(2), "{asked:?}");
    assert!(asked.err.contains("/accept 1 name:0 system-prompt:1,2"), "{asked:?}");
    assert!(
        asked.err.contains("   name: ") && asked.err.contains("   system-prompt: "),
        "{asked:?}"
    );
    assert!(asked.err.contains("Say of which field: name:0,1 or system-prompt:0,1."), "{asked:?}");
    let accepted = room.chat_typing(&[], "/drafts\n/accept 1 System-Prompt:0\n");

    assert!(accepted.err.contains("Accepted: "), "{accepted:?}");
    let server = room.serve();
    let persona = body(&server.asked("/api/storage/personas/optimist", None));
    assert_ne!(persona["name"], "Ann", "{persona}");
}
