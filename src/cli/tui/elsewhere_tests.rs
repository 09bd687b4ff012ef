//! What is said in an open session by others.

use crossterm::event::KeyCode;

use super::*;
use crate::{
    cli::tui::scene::{self, ended, opened, press, run, said, text, typed},
    domain::{
        event::RunEvent,
        message::Message,
        run::{Run, RunStatus},
        timestamp::Timestamp,
    },
};

fn heard(state: &mut State, seq: u64, event: RunEvent) -> Vec<Effect> {
    state.update(Event::Told(Told::Heard("run".into(), Box::new(scene::stamped(seq, event)))))
}

fn words(state: &State) -> Vec<String> {
    state.transcript.messages().map(Message::text).collect()
}

/// What was said: a question and its answer for each, and the run that was last begun.
fn talk(said: &[&str], run: Option<Run>) -> Box<TerminalTalk> {
    let role = |at: usize| if at.is_multiple_of(2) { Role::User } else { Role::Assistant };
    let said = said.iter().enumerate();
    let messages = said.map(|(at, text)| scene::message(&format!("m{at}"), role(at), text));
    Box::new(TerminalTalk { messages: messages.collect(), earlier: None, run })
}

#[test]
fn what_is_said_elsewhere_is_looked_for_while_nothing_goes_on_and_shown_once() {
    let mut state = opened();
    let effects = state.update(Event::Glance);
    assert_eq!(effects, [Effect::Glance("session".into(), Vec::new())]);

    for _ in 0..2 {
        let since = Told::Since("session".into(), talk(&["One?", "One."], None));
        assert_eq!(state.update(Event::Told(since)), []);
    }
    let other = Told::Since("other".into(), talk(&["a", "b", "c"], None));
    state.update(Event::Told(other));

    assert_eq!(words(&state), ["One?", "One."]);
    let effects = state.update(Event::Glance);
    assert_eq!(effects, [Effect::Glance("session".into(), vec!["m1".into(), "m0".into()])]);
    let mut state = scene::answering();
    assert_eq!(state.update(Event::Glance), [], "an answer that goes on tells of itself");
    state.update(Event::Told(Told::Since("session".into(), talk(&["One?"], None))));
    assert_eq!(words(&state), ["Hello", "Good day, "]);
}

#[test]
fn an_answer_that_was_asked_for_elsewhere_is_heard_here() {
    let mut state = opened();
    let mut going = talk(&["One?"], Some(run()));
    going.messages.push(scene::message("reply", Role::Assistant, "Half"));

    let effects = state.update(Event::Told(Told::Since("session".into(), going)));

    assert_eq!(effects, [Effect::Follow("run".into(), 0)]);
    heard(&mut state, 1, text("Half of it."));
    assert_eq!(words(&state), ["One?", "Half of it."]);
}

#[test]
fn what_was_said_elsewhere_stands_above_what_is_said_now() {
    let mut state = opened();
    typed(&mut state, "Mine?");
    press(&mut state, KeyCode::Enter);

    state.update(Event::Told(Told::Before("session".into(), talk(&["One?", "One."], None))));
    state.update(Event::Told(Told::Said(Box::new(said()))));
    heard(&mut state, 1, text("Yours."));

    assert_eq!(words(&state), ["One?", "One.", "Mine?", "Yours."]);
}

#[test]
fn whoever_finds_the_session_taken_hears_that_answer_and_keeps_their_words() {
    let mut state = opened();
    typed(&mut state, "Mine?");
    press(&mut state, KeyCode::Enter);

    let going = talk(&["One?"], Some(run()));
    let effects = state.update(Event::Told(Told::Taken("session".into(), going)));

    assert_eq!(effects, [Effect::Follow("run".into(), 0)]);
    assert_eq!(state.input.text(), "Mine?");
    assert_eq!(words(&state), ["One?", ""]);
    heard(&mut state, 1, text("One."));
    heard(&mut state, 2, ended(RunStatus::Done));
    let effects = press(&mut state, KeyCode::Enter);
    let known = vec!["reply".into(), "m0".into()];
    assert_eq!(effects, [Effect::Say("session".into(), "Mine?".into(), known)]);
}

/// What they had sent was gone, though it was told to wait in the field.
#[test]
fn whoever_began_their_next_words_meanwhile_keeps_both() {
    let mut state = opened();
    typed(&mut state, "Mine?");
    press(&mut state, KeyCode::Enter);
    typed(&mut state, "And then");

    state.update(Event::Told(Told::Taken("session".into(), talk(&["One?"], Some(run())))));

    assert_eq!(state.input.text(), "Mine?\n\nAnd then");
    assert_eq!(words(&state), ["One?", ""]);
}

#[test]
fn what_is_set_for_the_session_elsewhere_counts_here_too() {
    let mut state = opened();
    let mut set = TerminalSession { updated_at: Timestamp(5), ..state.session.clone() };
    set.settings.model = "gpt-5.1".into();
    set.description = "Plans".into();
    let seen = |session: &TerminalSession| Event::Told(Told::Seen(Box::new(session.clone())));

    assert_eq!(state.update(seen(&set)), []);

    assert_eq!(state.session, set);
    assert_eq!(state.notice, Some(("gpt-5.1 answers from now on.".into(), Tone::Quiet)));
    let older =
        TerminalSession { updated_at: Timestamp(4), ..scene::session("session", Vec::new()).0 };
    let other = TerminalSession { id: "other".into(), updated_at: Timestamp(6), ..older.clone() };
    state.update(seen(&older));
    state.update(seen(&other));
    assert_eq!(
        state.session, set,
        "what was looked at before, or of another session, is nothing new"
    );
    typed(&mut state, "/new");
    let effects = press(&mut state, KeyCode::Enter);
    assert_eq!(effects, [Effect::Begin(Box::new(set), String::new())]);
}
