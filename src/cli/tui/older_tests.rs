//! What was said before what is loaded: scrolled to, searched, and asked for again.

use crossterm::event::{KeyCode, KeyModifiers};

use super::*;
use crate::{
    cli::tui::scene::{self, key, press},
    domain::message::Message,
};

#[test]
fn older_messages_are_loaded_when_somebody_gets_there() {
    let messages = (0..30).map(|number| scene::message(&format!("m{number}"), Role::User, "Hi"));
    let (session, mut talk) = scene::session("session", messages.collect());
    talk.earlier = Some("older".into());
    let (mut state, _) = State::open(Theme::Plain, (80, 24), session, talk);
    assert_eq!(state.settle(78, 20), []);
    key(&mut state, KeyCode::Home, KeyModifiers::CONTROL);

    assert_eq!(state.settle(78, 20), [Effect::Earlier("session".into(), "older".into())]);
    assert_eq!(state.settle(78, 20), [], "once is enough");

    let (_, older) = scene::session("session", vec![scene::message("older", Role::User, "First")]);
    state.update(Event::Told(Told::Earlier("session".into(), Box::new(older))));
    assert_eq!(state.transcript.len(), 31);
    assert_eq!(state.settle(78, 20), []);
}

#[test]
fn a_search_goes_on_in_what_is_not_loaded_yet() {
    let messages = (0..9).map(|number| scene::message(&format!("m{number}"), Role::User, "Hi"));
    let (session, mut talk) = scene::session("session", messages.collect());
    talk.earlier = Some("older".into());
    let (mut state, _) = State::open(Theme::Plain, (80, 24), session, talk);
    state.settle(78, 10);
    key(&mut state, KeyCode::Char('f'), KeyModifiers::CONTROL);

    let effects = state.update(Event::Paste("lamp".into()));
    assert_eq!(effects, [Effect::Earlier("session".into(), "older".into())]);
    let (_, mut older) = scene::session("session", vec![scene::message("o1", Role::User, "No")]);
    older.earlier = Some("oldest".into());
    let effects = state.update(Event::Told(Told::Earlier("session".into(), Box::new(older))));
    assert_eq!(effects, [Effect::Earlier("session".into(), "oldest".into())]);
    let oldest = vec![scene::message("o0", Role::User, "A lamp in the rain")];
    let (_, oldest) = scene::session("session", oldest);
    let effects = state.update(Event::Told(Told::Earlier("session".into(), Box::new(oldest))));

    assert_eq!(effects, []);
    let found = state.transcript.selected().map(Message::text);
    assert_eq!(found.as_deref(), Some("A lamp in the rain"));
    assert_eq!(state.notice, None, "nobody looks any further");
}

/// A session of which only the last messages are loaded, and in which something is searched for.
fn searching(words: &str) -> State {
    let messages = (0..9).map(|number| scene::message(&format!("m{number}"), Role::User, "A lamp"));
    let (session, mut talk) = scene::session("session", messages.collect());
    talk.earlier = Some("older".into());
    let (mut state, _) = State::open(Theme::Plain, (80, 24), session, talk);
    state.settle(78, 10);
    key(&mut state, KeyCode::Char('f'), KeyModifiers::CONTROL);
    assert_eq!(state.update(Event::Paste(words.into())), []);
    state
}

fn older(messages: &[(&str, &str)], earlier: Option<&str>) -> Event {
    let messages = messages.iter().map(|(id, text)| scene::message(id, Role::User, text));
    let (_, mut talk) = scene::session("session", messages.collect());
    talk.earlier = earlier.map(Into::into);
    Event::Told(Told::Earlier("session".into(), Box::new(talk)))
}

fn selected(state: &State) -> Option<String> {
    state.transcript.selected().map(|message| message.id.to_string())
}

#[test]
fn the_next_place_is_looked_for_in_what_is_not_loaded_yet() {
    let mut state = searching("lamp");
    assert_eq!(selected(&state).as_deref(), Some("m8"));
    for _ in 0..8 {
        assert_eq!(press(&mut state, KeyCode::Up), []);
    }
    assert_eq!(selected(&state).as_deref(), Some("m0"));

    let asked = press(&mut state, KeyCode::Up);
    assert_eq!(asked, [Effect::Earlier("session".into(), "older".into())]);
    assert_eq!(press(&mut state, KeyCode::Up), [], "once is enough");
    let on = state.update(older(&[("o1", "No")], Some("oldest")));
    assert_eq!(on, [Effect::Earlier("session".into(), "oldest".into())]);
    assert_eq!(state.update(older(&[("o0", "The first lamp")], None)), []);
    assert_eq!(selected(&state).as_deref(), Some("o0"));

    press(&mut state, KeyCode::Up);
    assert_eq!(selected(&state).as_deref(), Some("m8"), "around the end, as there is no more");
}

#[test]
fn older_messages_that_could_not_be_had_are_asked_for_again_at_the_next_scroll() {
    let messages = (0..30).map(|number| scene::message(&format!("m{number}"), Role::User, "Hi"));
    let (session, mut talk) = scene::session("session", messages.collect());
    talk.earlier = Some("older".into());
    let (mut state, _) = State::open(Theme::Plain, (80, 24), session, talk);
    state.settle(78, 20);
    let asked = [Effect::Earlier("session".into(), "older".into())];
    let why = || Event::Told(Told::NotEarlier("session".into(), "There is no connection.".into()));
    key(&mut state, KeyCode::Home, KeyModifiers::CONTROL);
    assert_eq!(state.settle(78, 20), asked);

    // Something else that fails meanwhile has nothing to do with it.
    state.update(Event::Told(Told::Failed("No.".into())));
    assert_eq!(state.settle(78, 20), []);
    state.update(why());
    assert_eq!(state.notice, Some(("There is no connection.".into(), Tone::Wrong)));
    assert_eq!(state.settle(78, 20), [], "it is not asked for again and again");

    state.update(Event::Wheel(-1));
    assert_eq!(state.settle(78, 20), asked);
    state.update(why());
    key(&mut state, KeyCode::Home, KeyModifiers::CONTROL);
    assert_eq!(state.settle(78, 20), asked);
    state.update(older(&[("o0", "First")], None));
    assert_eq!(state.transcript.len(), 31);
}
