//! The screen as a person uses it, without a screen.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::*;
use crate::{
    cli::{
        exit::Exit,
        tui::scene::{self, ended, key, opened, press, run, said, text, typed},
    },
    domain::{
        event::RunEvent,
        message::Message,
        run::{Run, RunStatus},
        terminal::{LeftOut, Said, TerminalChanges},
    },
};

fn heard(state: &mut State, seq: u64, event: RunEvent) -> Vec<Effect> {
    state.update(Event::Told(Told::Heard("run".into(), Box::new(scene::stamped(seq, event)))))
}

fn last_words(state: &State) -> String {
    state.transcript.last().map(Message::text).unwrap_or_default()
}

#[test]
fn what_is_said_is_answered_word_by_word() {
    let mut state = opened();
    typed(&mut state, "Hello");

    let effects = press(&mut state, KeyCode::Enter);

    assert_eq!(effects, [Effect::Say("session".into(), "Hello".into(), Vec::new())]);
    assert_eq!(state.answer, Answer::Asked { words: "Hello".into(), pace: Pace::Steady });
    assert!(state.input.is_empty());
    let effects = state.update(Event::Told(Told::Said(Box::new(said()))));
    assert_eq!(effects, [Effect::Follow("run".into(), 0)]);
    heard(&mut state, 1, RunEvent::Started { reply_id: "reply".into(), model: "demo".into() });
    heard(&mut state, 2, text("Good "));
    heard(&mut state, 3, text("day."));
    heard(&mut state, 3, text("day."));
    assert_eq!(last_words(&state), "Good day.", "what comes twice is heard once");
    let effects = heard(&mut state, 4, ended(RunStatus::Done));
    assert_eq!(state.answer, Answer::Idle);
    assert_eq!(effects, [Effect::Drafts("session".into())]);
}

#[test]
fn what_could_not_be_said_comes_back_into_the_field() {
    let mut state = opened();
    typed(&mut state, "Hello");
    press(&mut state, KeyCode::Enter);

    state.update(Event::Told(Told::NotSaid("session".into(), "There is no such model.".into())));

    assert_eq!(state.input.text(), "Hello");
    assert!(state.transcript.is_empty());
    assert!(state.spoken.is_empty());
    assert_eq!(state.notice, Some(("There is no such model.".into(), Tone::Wrong)));
}

#[test]
fn what_could_not_be_said_in_another_session_leaves_what_is_said_here_alone() {
    let mut state = opened();
    typed(&mut state, "Hello");
    press(&mut state, KeyCode::Enter);
    let (session, talk) = scene::session("other", Vec::new());
    state.update(Event::Told(Told::Begun(Box::new(session), Box::new(talk))));
    typed(&mut state, "And you?");
    press(&mut state, KeyCode::Enter);
    let both = ["other", "session"].map(ConversationId::from);
    assert_eq!(state.spoken, both.into(), "both are kept when somebody leaves now");

    state.update(Event::Told(Told::NotSaid("session".into(), "There is no such model.".into())));

    assert_eq!(state.answer, Answer::Asked { words: "And you?".into(), pace: Pace::Steady });
    assert_eq!(last_words(&state), "And you?");
    assert!(state.input.is_empty());
    let told = "What you wrote in the session session is not said. Up brings it back. There is no such model.";
    assert_eq!(state.notice, Some((told.into(), Tone::Wrong)));
    assert_eq!(state.spoken, ["other".into()].into());
}

#[test]
fn an_answer_that_was_asked_for_here_is_known_in_every_session_until_its_end_is_heard() {
    let mut state = scene::answering();
    let open = |state: &mut State, id: &str, run: Option<Run>| {
        let (session, talk) = scene::session(id, Vec::new());
        let talk = TerminalTalk { run, ..talk };
        state.update(Event::Told(Told::Opened(Box::new(session), Box::new(talk))));
    };
    // Somebody else is answered there, by a run that is not ours to end.
    let theirs = Run { id: "theirs".into(), conversation_id: "other".into(), ..run() };
    open(&mut state, "other", Some(theirs));
    let here = Run { id: "here".into(), conversation_id: "third".into(), ..run() };
    state.update(Event::Told(Told::Said(Box::new(Said { run: here, ..said() }))));
    assert_eq!(state.asked, ["run", "here"].map(RunId::from).into());

    open(&mut state, "session", Some(run()));
    heard(&mut state, 9, ended(RunStatus::Done));

    assert_eq!(state.asked, ["here".into()].into());
}

#[test]
fn the_first_ctrl_c_stops_the_answer_and_the_second_leaves() {
    let mut state = scene::answering();
    let stop = key(&mut state, KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(stop, [Effect::Stop("run".into())]);
    heard(&mut state, 9, text("The last words"));
    assert!(last_words(&state).ends_with("The last words"), "words that still come are kept");

    let leave = key(&mut state, KeyCode::Char('c'), KeyModifiers::CONTROL);

    assert_eq!(leave, [Effect::Leave(Exit::Interrupted)]);
}

#[test]
fn whoever_comes_back_from_the_shell_finds_the_window_and_the_mouse_as_they_are() {
    let mut state = opened();
    press(&mut state, KeyCode::F(5));
    assert_eq!(key(&mut state, KeyCode::Char('z'), KeyModifiers::CONTROL), [Effect::Suspend]);

    let effects = state.update(Event::Returned(40, 12));

    assert_eq!(effects, [Effect::Mouse(Mouse::Theirs), Effect::Redraw]);
    assert_eq!(state.size, (40, 12));
}

#[test]
fn ctrl_c_leaves_only_when_it_is_pressed_twice_in_a_row() {
    let mut state = opened();
    typed(&mut state, "half a thought");
    let ctrl_c = |state: &mut State| key(state, KeyCode::Char('c'), KeyModifiers::CONTROL);

    assert_eq!(ctrl_c(&mut state), []);
    assert!(state.input.is_empty());
    press(&mut state, KeyCode::Up);
    assert_eq!(state.input.text(), "half a thought", "it is remembered");
    typed(&mut state, "x");
    assert_eq!(ctrl_c(&mut state), [], "something was typed between");
    assert_eq!(ctrl_c(&mut state), [Effect::Leave(Exit::Interrupted)]);
}

#[test]
fn ctrl_c_before_an_answer_begins_stops_it_when_it_does() {
    let mut state = opened();
    typed(&mut state, "Hello");
    press(&mut state, KeyCode::Enter);
    typed(&mut state, "half a thought");

    let first = key(&mut state, KeyCode::Char('c'), KeyModifiers::CONTROL);
    let mut other = state.clone();
    let begun = state.update(Event::Told(Told::Said(Box::new(said()))));

    assert_eq!(first, []);
    assert_eq!(state.input.text(), "half a thought");
    let run = said().run.id;
    assert_eq!(begun, [Effect::Follow(run.clone(), 0), Effect::Stop(run)]);
    assert_eq!(state.going().map(|going| going.pace.clone()), Some(Pace::Stopping));
    assert_eq!(
        key(&mut other, KeyCode::Char('c'), KeyModifiers::CONTROL),
        [Effect::Leave(Exit::Interrupted)]
    );
}

#[test]
fn after_a_stopped_answer_the_second_ctrl_c_leaves_unless_one_goes_on() {
    let mut state = scene::answering();
    key(&mut state, KeyCode::Char('c'), KeyModifiers::CONTROL);
    heard(&mut state, 9, ended(RunStatus::Stopped));
    let mut other = state.clone();
    typed(&mut other, "x");

    assert_eq!(
        key(&mut state, KeyCode::Char('c'), KeyModifiers::CONTROL),
        [Effect::Leave(Exit::Interrupted)]
    );
    assert_eq!(key(&mut other, KeyCode::Char('c'), KeyModifiers::CONTROL), []);
}

#[test]
fn words_of_an_answer_that_was_left_are_not_mixed_with_others() {
    let mut state = scene::answering();
    let (session, talk) = scene::session("other", Vec::new());
    state.update(Event::Told(Told::Opened(Box::new(session), Box::new(talk))));

    heard(&mut state, 9, text("lost"));
    state.update(Event::Told(Told::Said(Box::new(said()))));

    assert!(state.transcript.is_empty());
    assert_eq!(state.answer, Answer::Idle);
}

#[test]
fn an_answer_that_goes_on_is_heard_from_its_beginning() {
    let (session, mut talk) =
        scene::session("session", vec![scene::message("m", Role::User, "Hi")]);
    talk.messages.push(run().reply(vec![scene::part("Half an ans")]));
    talk.run = Some(run());

    let (state, effects) = State::open(Theme::Plain, (80, 24), session, talk);

    assert_eq!(effects, [Effect::Drafts("session".into()), Effect::Follow("run".into(), 0)]);
    assert_eq!(last_words(&state), "", "its words come again");
    assert_eq!(state.transcript.len(), 2);
}

#[test]
fn an_answer_that_is_lost_is_looked_for_while_something_comes_of_it() {
    let mut state = scene::answering();
    let lost = || Event::Told(Told::Unheard("run".into(), "There is no connection.".into()));

    assert_eq!(state.update(lost()), [Effect::Follow("run".into(), 2)]);
    assert_eq!(state.update(lost()), []);

    assert_eq!(state.answer, Answer::Idle);
}

#[test]
fn commands_can_be_written() {
    let mut state = opened();
    let mut write = |words: &str| {
        state.over = Over::Nothing;
        typed(&mut state, words);
        press(&mut state, KeyCode::Enter)
    };
    let model = TerminalChanges { model: Some("gpt-5.1".into()), ..TerminalChanges::default() };

    assert_eq!(write("/model gpt-5.1"), [Effect::Change("session".into(), Box::new(model))]);
    assert_eq!(write("/sessions"), [Effect::Sessions]);
    assert_eq!(write("/drafts"), [Effect::Drafts("session".into())]);
    assert_eq!(write("/exit"), [Effect::Leave(Exit::Done)]);
    assert_eq!(write("/nonsense"), []);
    assert_eq!(
        state.notice,
        Some(("There is no /nonsense. /help says what there is.".into(), Tone::Wrong))
    );
}

#[test]
fn several_lines_are_written_before_they_are_sent() {
    let mut state = opened();
    typed(&mut state, "one");
    key(&mut state, KeyCode::Enter, KeyModifiers::ALT);
    typed(&mut state, "two");
    key(&mut state, KeyCode::Char('j'), KeyModifiers::CONTROL);
    state.update(Event::Paste("three\nfour".into()));

    let effects = press(&mut state, KeyCode::Enter);

    assert_eq!(
        effects,
        [Effect::Say("session".into(), "one\ntwo\nthree\nfour".into(), Vec::new())]
    );
}

#[test]
fn a_session_is_chosen_described_and_deleted() {
    let mut state = opened();
    press(&mut state, KeyCode::F(2));
    let sessions = vec![scene::session("session", vec![]).0, scene::session("other", vec![]).0];
    state.update(Event::Told(Told::Sessions(sessions)));
    typed(&mut state, "j");

    typed(&mut state, "eMine");
    let described = press(&mut state, KeyCode::Enter);
    typed(&mut state, "d");
    let deleted = press(&mut state, KeyCode::Char('y'));
    typed(&mut state, "d");
    let not_deleted = press(&mut state, KeyCode::Char('n'));
    let opened = press(&mut state, KeyCode::Enter);

    let mine = TerminalChanges { description: Some("Mine".into()), ..TerminalChanges::default() };
    assert_eq!(described, [Effect::Change("other".into(), Box::new(mine))]);
    assert_eq!(deleted, [Effect::Delete("other".into())]);
    assert_eq!(not_deleted, []);
    assert_eq!(opened, [Effect::Open("other".into())]);
}

#[test]
fn what_is_done_in_the_list_is_done_to_the_session_that_it_was_begun_for() {
    let mut state = opened();
    let list = |names: [&str; 3]| {
        let sessions = names.map(|name| scene::session(name, vec![]).0);
        Event::Told(Told::Sessions(sessions.to_vec()))
    };
    press(&mut state, KeyCode::F(2));
    state.update(list(["session", "one", "two"]));
    typed(&mut state, "jjeMine");

    // The list comes again, with the one that was written in last at the top.
    state.update(list(["two", "session", "one"]));
    let described = press(&mut state, KeyCode::Enter);
    typed(&mut state, "d");
    state.update(list(["one", "two", "session"]));
    let deleted = press(&mut state, KeyCode::Char('y'));
    let opened = press(&mut state, KeyCode::Enter);

    let mine = TerminalChanges { description: Some("Mine".into()), ..TerminalChanges::default() };
    assert_eq!(described, [Effect::Change("two".into(), Box::new(mine))]);
    assert_eq!(deleted, [Effect::Delete("two".into())]);
    assert_eq!(opened, [Effect::Open("two".into())]);
}

#[test]
fn deleting_the_session_that_is_open_begins_another() {
    let mut state = opened();

    let effects = state.update(Event::Told(Told::Deleted("session".into())));

    assert!(matches!(effects.as_slice(), [Effect::Begin(..)]), "{effects:?}");
}

#[test]
fn a_model_is_chosen_from_the_list_or_written() {
    let mut state = opened();
    let models = ["demo", "gpt-5.1", "gpt-5.1-mini"].map(scene::model).to_vec();
    let chosen = |state: &mut State, words: &str| {
        press(state, KeyCode::F(3));
        state.update(Event::Told(Told::Models(models.clone())));
        typed(state, words);
        match press(state, KeyCode::Enter).as_slice() {
            [Effect::Change(_, changes)] => changes.model.clone(),
            other => panic!("{other:?}"),
        }
    };

    assert_eq!(chosen(&mut state, "mini").as_deref(), Some("gpt-5.1-mini"));
    assert_eq!(chosen(&mut state, "persona:ann").as_deref(), Some("persona:ann"));
    assert_eq!(chosen(&mut state, "").as_deref(), Some("demo"), "the one that speaks");
}

#[test]
fn what_is_wrong_with_tools_is_shown_until_somebody_hides_it() {
    let mut state = opened();
    let problems = vec!["tools.yaml, line 1: one".to_owned(), "tools.yaml, line 2: two".to_owned()];
    state.update(Event::Told(Told::Problems(problems.clone())));

    typed(&mut state, "x");
    press(&mut state, KeyCode::Esc);
    assert_eq!(state.problems, problems);
    press(&mut state, KeyCode::F(6));

    assert!(state.problems.is_empty());
}

#[test]
fn the_selected_message_and_its_code_are_copied() {
    let answer = "Do this:\n\n```\nmake run\n```\n";
    let messages = vec![
        scene::message("m0", Role::User, "How?"),
        scene::message("m1", Role::Assistant, answer),
    ];
    let (session, talk) = scene::session("session", messages);
    let (mut state, _) = State::open(Theme::Plain, (80, 24), session, talk);

    let last = key(&mut state, KeyCode::Char('y'), KeyModifiers::CONTROL);
    state.settle(78, 20);
    press(&mut state, KeyCode::Esc);
    let code = press(&mut state, KeyCode::Char('c'));
    press(&mut state, KeyCode::Char('k'));
    let question = press(&mut state, KeyCode::Char('y'));

    assert_eq!(last, [Effect::Copy(answer.into())]);
    assert_eq!(code, [Effect::Copy("make run\n".into())]);
    assert_eq!(question, [Effect::Copy("How?".into())]);
}

#[test]
fn people_are_told_what_was_not_sent() {
    let mut state = opened();
    typed(&mut state, "Hello");
    press(&mut state, KeyCode::Enter);
    let left_out = LeftOut { exchanges: 1, messages: 2, ..LeftOut::default() };

    state.update(Event::Told(Told::Said(Box::new(Said { left_out, ..said() }))));

    let told = "Not sent: 1 exchange left out (2 messages).";
    assert_eq!(state.notice, Some((told.into(), Tone::Quiet)));

    let left_out = Some(LeftOut { results_cut: 2, ..LeftOut::default() });
    heard(&mut state, 1, RunEvent::StepStarted { step: 2, left_out });

    let told = "Not sent: 2 long tool results cut.";
    assert_eq!(state.notice, Some((told.into(), Tone::Quiet)));
    heard(&mut state, 2, RunEvent::StepStarted { step: 3, left_out: None });
    assert!(state.notice.is_some(), "it stands until something else is told");
}

#[test]
fn a_released_key_of_a_known_name_is_never_a_surprise() {
    // Every key in every place is taken without a panic.
    let codes = ["\t", "a", "?", "/", " ", "j", "k", "e", "r", "n", "d", "q", "日"];
    for over in [KeyCode::F(1), KeyCode::F(2), KeyCode::F(3), KeyCode::F(4), KeyCode::Esc] {
        let mut state = scene::answering();
        state.update(Event::Key(KeyEvent::new(over, KeyModifiers::NONE)));
        for code in codes {
            typed(&mut state, code);
            press(&mut state, KeyCode::PageDown);
            press(&mut state, KeyCode::Up);
            state.settle(3, 1);
        }
    }
}
