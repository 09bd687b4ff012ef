//! A session for tests: what is said in it, and the keys that are pressed.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::json;

use super::{
    event::{Effect, Event, Told},
    state::State,
    theme::Theme,
};
use crate::domain::{
    event::{RunEvent, Stamped},
    message::{Message, Part, PartBody, Role},
    model::Model,
    proposal::Proposal,
    run::{Run, RunStatus, Spent, StopReason},
    terminal::{LeftOut, Said, TerminalSession, TerminalSettings, TerminalTalk},
    timestamp::Timestamp,
};

/// A session with these messages.
pub fn session(id: &str, messages: Vec<Message>) -> (TerminalSession, TerminalTalk) {
    let settings = TerminalSettings { model: "demo".into(), ..TerminalSettings::default() };
    let session = TerminalSession {
        id: id.into(),
        description: String::new(),
        settings,
        turns: 0,
        leaf: None,
        created_at: Timestamp(0),
        updated_at: Timestamp(0),
        deleted_at: None,
    };
    (session, TerminalTalk { messages, earlier: None, run: None })
}

/// An empty session that is open.
pub fn opened() -> State {
    let (session, talk) = session("session", Vec::new());
    State::open(Theme::Plain, (80, 24), session, talk).0
}

/// A session in which an answer is being given.
pub fn answering() -> State {
    let mut state = opened();
    typed(&mut state, "Hello");
    press(&mut state, KeyCode::Enter);
    state.update(Event::Told(Told::Said(Box::new(said()))));
    for (seq, event) in (1..).zip([
        RunEvent::Started { reply_id: "reply".into(), model: "demo".into() },
        text("Good day, "),
    ]) {
        state.update(Event::Told(Told::Heard("run".into(), Box::new(stamped(seq, event)))));
    }
    state
}

/// Words.
pub fn part(text: &str) -> Part {
    Part {
        id: "part".into(),
        at: Timestamp(0),
        body: PartBody::Text(text.to_owned()),
        carried: None,
    }
}

/// A message that came to its end.
pub fn message(id: &str, role: Role, text: &str) -> Message {
    let stop = Some(StopReason::EndTurn);
    Message { id: id.into(), role, parent_id: None, stop, ..run().reply(vec![part(text)]) }
}

/// A run that goes on.
pub fn run() -> Run {
    Run {
        id: "run".into(),
        conversation_id: "session".into(),
        message_id: "asked".into(),
        reply_id: "reply".into(),
        round_id: "run".into(),
        place: 0,
        follows_id: None,
        persona_id: "".into(),
        persona_revision: serde_json::from_value(json!(1)).unwrap(),
        model: "demo".into(),
        status: RunStatus::Running,
        stop: None,
        error: None,
        spent: Spent::default(),
        created_at: Timestamp(0),
        ended_at: None,
    }
}

/// What was said is being answered.
pub fn said() -> Said {
    Said { run: run(), left_out: LeftOut::default(), missing_tools: Vec::new() }
}

/// An event of the run.
pub fn stamped(seq: u64, event: RunEvent) -> Stamped {
    Stamped { seq, at: Timestamp(0), event }
}

/// More words.
pub fn text(delta: &str) -> RunEvent {
    RunEvent::Text { part: "part".into(), delta: delta.into() }
}

/// The end.
pub fn ended(status: RunStatus) -> RunEvent {
    let spent = Spent { duration_ms: 1500, steps: 1, ..Spent::default() };
    RunEvent::Ended { status, stop: None, error: None, spent }
}

/// A draft with two changes.
pub fn draft(id: &str) -> Proposal {
    let (old, new) = ("Be brief and kind.\nAsk once.", "Be short and kind.\nAsk twice.");
    serde_json::from_value(json!({
        "id": id, "state": "pending", "entityType": "persona", "entityId": "ann", "title": "Ann",
        "personaId": "ann", "op": "update", "summary": "Shorten the prompt", "reason": "Clearer.",
        "diff": [{
            "field": "systemPrompt", "label": "System prompt", "after": new,
            "segments": crate::domain::diff::segments(old, new),
        }],
        "conflicts": [], "revision": 3,
        "proposedBy": {"kind": "persona", "personaId": "ann", "name": "Ann's agent", "runId": null,
            "conversationId": null},
        "untrusted": [], "untrustedMore": 0, "createdAt": "2026-01-01T00:00:00.000Z",
        "expiresAt": null, "decidedAt": null, "decidedBy": null, "note": "", "undone": false,
    }))
    .unwrap()
}

/// A draft that does not fit any more, whose author had read something, with characters that cannot be seen.
pub fn odd_draft(id: &str) -> Proposal {
    let mut draft = draft(id);
    draft.summary = "Shorten\u{202e} it".into();
    draft.reason = "Clearer\u{202e}".into();
    draft.proposed_by.name = "Ann\u{e0041}".into();
    draft.diff[0].segments = crate::domain::diff::segments("Be brief.", "Be short\u{e0041}.");
    draft.conflicts = serde_json::from_value(json!([{
        "field": "systemPrompt", "yours": "Be short.", "theirs": "Be long\u{202e}.", "base": "Be.",
        "revision": 4,
    }]))
    .unwrap();
    draft.untrusted = serde_json::from_value(json!([{
        "entityType": "page", "entityId": "page", "title": "A page\u{200b}", "passage": "…",
    }]))
    .unwrap();
    draft.untrusted_more = 2;
    draft
}

/// A model.
pub fn model(id: &str) -> Model {
    Model {
        id: id.into(),
        service: "demo".into(),
        name: id.into(),
        label: id.to_uppercase(),
        context: 1000,
        max_output: 1000,
        price: None,
        tools: true,
        vision: false,
        reasoning: false,
    }
}

/// Presses a key with others held.
pub fn key(state: &mut State, code: KeyCode, held: KeyModifiers) -> Vec<Effect> {
    state.update(Event::Key(KeyEvent::new(code, held)))
}

/// Presses a key.
pub fn press(state: &mut State, code: KeyCode) -> Vec<Effect> {
    key(state, code, KeyModifiers::NONE)
}

/// Types letters.
pub fn typed(state: &mut State, text: &str) {
    for letter in text.chars() {
        press(state, KeyCode::Char(letter));
    }
}
