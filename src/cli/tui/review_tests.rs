//! Drafts as a person decides on them, without a screen.

use crossterm::event::{KeyCode, KeyModifiers};
use serde_json::json;

use super::*;
use crate::{
    cli::tui::scene::{draft, key, opened, press, typed},
    domain::proposal::Approval,
};

#[test]
fn some_changes_of_a_draft_are_accepted() {
    let mut state = opened();
    press(&mut state, KeyCode::F(4));
    state.update(Event::Told(Told::Drafts(vec![draft("one"), draft("two")])));
    typed(&mut state, "j");
    press(&mut state, KeyCode::Tab);
    typed(&mut state, " ");

    let effects = press(&mut state, KeyCode::Char('a'));

    let approval = Approval {
        revision: draft("two").revision,
        hunks: Some([("systemPrompt".to_owned(), vec![0])].into()),
        ..Approval::default()
    };
    assert_eq!(effects, [Effect::Accept("two".into(), Box::new(approval))]);
    let after = state.update(Event::Told(Told::Decided("two".into(), Decision::Accepted)));
    assert_eq!(after, [Effect::Drafts("session".into())]);
    let Over::Review(review) = &state.over else { panic!("{:?}", state.over) };
    assert_eq!(review.draft().map(|draft| draft.id.clone()), Some("one".into()));
}

#[test]
fn a_draft_is_rejected_with_a_reason_or_put_in_other_words() {
    let mut state = opened();
    press(&mut state, KeyCode::F(4));
    state.update(Event::Told(Told::Drafts(vec![draft("one")])));

    typed(&mut state, "rToo long.");
    let rejected = press(&mut state, KeyCode::Enter);
    state.update(Event::Told(Told::NotDecided("There is no connection.".into())));
    assert_eq!(press(&mut state, KeyCode::Enter), rejected, "the reason is still there");
    state.update(Event::Told(Told::NotDecided("There is no connection.".into())));
    press(&mut state, KeyCode::Esc);
    press(&mut state, KeyCode::Char('e'));
    state.update(Event::Paste(" Stop.".into()));
    let accepted = key(&mut state, KeyCode::Char('s'), KeyModifiers::CONTROL);

    assert_eq!(rejected, [Effect::Reject("one".into(), "Too long.".into())]);
    let words = json!({"systemPrompt": "Be short and kind.\nAsk twice. Stop."});
    let approval = Approval {
        revision: draft("one").revision,
        hunks: None,
        patch: words.as_object().cloned().unwrap_or_default(),
    };
    assert_eq!(accepted, [Effect::Accept("one".into(), Box::new(approval))]);
}

#[test]
fn decisions_are_taken_back_the_last_first() {
    let mut state = opened();
    press(&mut state, KeyCode::F(4));
    state.update(Event::Told(Told::Drafts(vec![draft("one"), draft("two")])));
    assert_eq!(press(&mut state, KeyCode::Char('u')), [], "nothing was decided on");
    state.update(Event::Told(Told::Decided("one".into(), Decision::Accepted)));
    state.update(Event::Told(Told::Decided("two".into(), Decision::Rejected)));
    state.update(Event::Told(Told::Drafts(Vec::new())));

    let last = press(&mut state, KeyCode::Char('u'));
    let drafts = state.update(Event::Told(Told::TakenBack("two".into(), Decision::Rejected)));
    let told = state.notice.clone();
    state.update(Event::Told(Told::Drafts(vec![draft("two")])));
    let first = press(&mut state, KeyCode::Char('u'));

    assert_eq!(last, [Effect::TakeBack("two".into(), Decision::Rejected)]);
    assert_eq!(drafts, [Effect::Drafts("session".into())]);
    assert_eq!(told, Some(("What was rejected waits again.".into(), Tone::Quiet)));
    assert_eq!(first, [Effect::TakeBack("one".into(), Decision::Accepted)]);
}

#[test]
fn after_a_decision_that_was_refused_the_drafts_are_asked_for_again() {
    let mut state = opened();
    press(&mut state, KeyCode::F(4));
    state.update(Event::Told(Told::Drafts(vec![draft("one"), draft("two")])));
    press(&mut state, KeyCode::Char('a'));

    let effects = state.update(Event::Told(Told::NotDecided("It was rejected.".into())));
    state.update(Event::Told(Told::Drafts(vec![draft("two")])));

    assert_eq!(effects, [Effect::Drafts("session".into())]);
    assert_eq!(state.notice, Some(("It was rejected.".into(), Tone::Wrong)));
    let Over::Review(review) = &state.over else { panic!("{:?}", state.over) };
    assert_eq!(review.draft().map(|draft| draft.id.clone()), Some("two".into()));
}

#[test]
fn nothing_that_was_written_about_a_draft_is_lost() {
    let mut state = opened();
    typed(&mut state, "half a thought");
    press(&mut state, KeyCode::F(4));
    state.update(Event::Told(Told::Drafts(vec![draft("one"), draft("two")])));
    let ctrl = |state: &mut State, letter| key(state, KeyCode::Char(letter), KeyModifiers::CONTROL);

    // An error leaves the words where they were, and putting them aside keeps them.
    typed(&mut state, "e");
    state.update(Event::Paste(" Stop.".into()));
    let first = ctrl(&mut state, 's');
    state.update(Event::Told(Told::NotDecided("There is no connection.".into())));
    press(&mut state, KeyCode::Esc);
    typed(&mut state, "jke");
    let second = ctrl(&mut state, 's');
    assert_eq!(first, second);
    assert!(matches!(first.as_slice(), [Effect::Accept(id, _)] if *id == "one".into()));
    state.update(Event::Told(Told::NotDecided("There is no connection.".into())));

    // Ctrl-C closes the panel and nothing else; Up brings the words back.
    assert_eq!(ctrl(&mut state, 'c'), []);
    assert!(matches!(state.over, Over::Nothing));
    assert_eq!(state.input.text(), "half a thought");
    press(&mut state, KeyCode::Up);
    assert_eq!(state.input.text(), "Be short and kind.\nAsk twice. Stop.");

    // So they do when the draft is decided on elsewhere meanwhile.
    press(&mut state, KeyCode::F(4));
    state.update(Event::Told(Told::Drafts(vec![draft("one"), draft("two")])));
    typed(&mut state, "rToo long.");
    state.update(Event::Told(Told::Drafts(vec![draft("two")])));
    press(&mut state, KeyCode::Esc);
    state.input.clear();
    press(&mut state, KeyCode::Up);
    assert_eq!(state.input.text(), "Too long.");
}

#[test]
fn accepting_nothing_asks_why() {
    let mut state = opened();
    press(&mut state, KeyCode::F(4));
    state.update(Event::Told(Told::Drafts(vec![draft("one")])));
    typed(&mut state, " ");
    press(&mut state, KeyCode::Tab);
    typed(&mut state, " ");

    assert_eq!(press(&mut state, KeyCode::Char('a')), []);
    assert_eq!(press(&mut state, KeyCode::Enter), [Effect::Reject("one".into(), String::new())]);
}
