//! The whole screen, as it is seen.

use crossterm::event::{KeyCode, KeyModifiers};
use proptest::prelude::*;
use ratatui::{Terminal, backend::TestBackend};

use super::*;
use crate::{
    cli::tui::{
        event::{Event, Told},
        scene::{self, answering, draft, ended, key, opened, press, stamped, text, typed},
        theme::Theme,
    },
    domain::{message::Role, run::RunStatus},
};

/// What is on a screen of this size.
fn screen(state: &mut State, columns: u16, rows: u16) -> String {
    state.update(Event::Resize(columns, rows));
    settle(state);
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| draw(frame, state)).unwrap();
    let buffer = terminal.backend().buffer();
    let mut out = String::new();
    for y in 0..rows {
        let mut line = String::new();
        let mut covered = 0;
        for x in 0..columns {
            let symbol = buffer[(x, y)].symbol();
            if covered > 0 {
                covered -= 1;
                continue;
            }
            covered = width(symbol).saturating_sub(1);
            line.push_str(symbol);
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

fn told(state: &mut State, messages: &[(Role, &str)]) {
    let all = messages.iter().enumerate();
    let all = all.map(|(number, (role, text))| scene::message(&format!("m{number}"), *role, text));
    let (mut session, talk) = scene::session("3f2a77aa-0000", all.collect());
    session.description = "My plan".into();
    state.update(Event::Told(Told::Opened(Box::new(session), Box::new(talk))));
}

#[test]
fn a_conversation_fills_a_usual_window() {
    let mut state = opened();
    told(
        &mut state,
        &[(Role::User, "What now?"), (Role::Assistant, "Do **this**:\n\n1. Save\n2. Wait")],
    );
    typed(&mut state, "And then?");

    assert_eq!(
        screen(&mut state, 44, 14),
        " Greenroom · My plan                   demo
  You
  What now?

  demo
  Do this:

  1. Save
  2. Wait



─ ready ──────────── Enter sends · ? keys ──
> And then?
"
    );
}

#[test]
fn a_small_window_has_all_that_is_needed() {
    let mut state = answering();
    key(&mut state, KeyCode::Enter, KeyModifiers::ALT);
    typed(&mut state, "a second line that is long enough to be broken");

    assert_eq!(
        screen(&mut state, 40, 12),
        " Greenroom · Session session       demo
  You
  Hello

  demo
  Good day,


─ answering… 0 s · Ctrl-C stops ────────
>
  a second line that is long enough to
  be broken
"
    );
}

#[test]
fn an_answer_ends_with_what_it_took_or_why_it_stopped() {
    let mut state = answering();
    state.update(Event::Told(Told::Heard("run".into(), Box::new(stamped(7, text("friend."))))));
    let stopped = Box::new(stamped(8, ended(RunStatus::Stopped)));
    state.update(Event::Told(Told::Heard("run".into(), stopped)));

    assert_eq!(
        screen(&mut state, 40, 12),
        " Greenroom · Session session       demo
  You
  Hello

  demo
  Good day, friend.
  Stopped. What was said is kept.
  1.5 s


─ ready ──────── Enter sends · ? keys ──
>
"
    );
}

#[test]
fn an_answer_that_broke_off_earlier_says_so_when_its_session_is_opened_again() {
    let mut broken = scene::message("m1", Role::Assistant, "Half");
    broken.stop = None;
    let whole = scene::message("m2", Role::Assistant, "All of it");
    let (session, talk) = scene::session("session", vec![broken, whole]);
    let (mut state, _) = State::open(Theme::Plain, (80, 24), session, talk);

    let seen = screen(&mut state, 40, 14);

    insist_on("  Half\n  It was stopped or broke off.\n", &seen);
    insist_on("  All of it\n\n", &seen);
}

#[test]
fn what_went_wrong_is_told_whole_where_it_is_longer_than_a_line() {
    let mut state = opened();
    let why = "There is no model mini. If its service has it, name that first: openai/mini.";
    state.tell(why, Tone::Wrong);

    let seen = screen(&mut state, 40, 12);

    insist_on(
        "There is no model mini. If its service\nhas it, name that first: openai/mini.\n>",
        &seen,
    );
    press(&mut state, KeyCode::F(3));
    state.update(Event::Told(Told::Models(vec![scene::model("demo")])));
    state.tell(why, Tone::Wrong);
    insist_on("has it, name that first: openai/mini.\n", &screen(&mut state, 40, 12));
}

#[test]
fn what_is_scrolled_beyond_an_end_comes_back_with_the_next_key() {
    let mut state = opened();
    typed(&mut state, "?");
    for _ in 0..60 {
        press(&mut state, KeyCode::PageDown);
        screen(&mut state, 80, 24);
    }
    let end = screen(&mut state, 80, 24);

    press(&mut state, KeyCode::Up);

    assert_ne!(screen(&mut state, 80, 24), end);
    press(&mut state, KeyCode::Esc);
    press(&mut state, KeyCode::F(4));
    state.update(Event::Told(Told::Drafts(vec![draft("one")])));
    for _ in 0..5 {
        press(&mut state, KeyCode::PageUp);
        screen(&mut state, 40, 5);
    }
    let top = screen(&mut state, 40, 5);
    press(&mut state, KeyCode::PageDown);
    assert_ne!(screen(&mut state, 40, 5), top);
}

#[test]
fn what_is_pasted_goes_into_the_field_of_the_list_of_sessions() {
    let mut state = opened();
    press(&mut state, KeyCode::F(2));
    state.update(Event::Told(Told::Sessions(vec![state.session.clone()])));
    typed(&mut state, "e");

    state.update(Event::Paste("My\nplan".into()));

    insist_on("> My plan", &screen(&mut state, 40, 12));
    press(&mut state, KeyCode::Esc);
    typed(&mut state, "/");
    state.update(Event::Paste("nothing like it".into()));
    insist_on("Sessions (0)", &screen(&mut state, 40, 12));
}

#[test]
fn a_draft_is_shown_with_its_changes() {
    let mut state = opened();
    press(&mut state, KeyCode::F(4));
    state.update(Event::Told(Told::Drafts(vec![draft("one"), draft("two")])));
    typed(&mut state, "l ");

    assert_eq!(
        screen(&mut state, 60, 12),
        " Greenroom · Session session                           demo
Draft 1 of 2
Ann: Shorten the prompt
by Ann's agent
because: Clearer.

System prompt
Be [x][-brief-]{+short+} and kind.
Ask [ ][-once-]{+twice+}.


a accept · r reject · e edit · Space choose · h l change · …
"
    );
}

#[test]
fn characters_of_a_draft_that_cannot_be_seen_are_written_out_and_warned_of() {
    let mut state = opened();
    press(&mut state, KeyCode::F(4));
    state.update(Event::Told(Told::Drafts(vec![scene::odd_draft("one")])));

    let seen = screen(&mut state, 140, 24);

    for told in [
        crate::cli::draft_words::HIDDEN,
        "Ann: Shorten⟦U+202E⟧ it",
        "by Ann⟦U+E0041⟧",
        "because: Clearer⟦U+202E⟧",
        "Written after reading from elsewhere: A page⟦U+200B⟧ and 2 more.",
        "now: Be long⟦U+202E⟧.",
        "short⟦U+E0041⟧",
    ] {
        insist_on(told, &seen);
    }
}

#[test]
fn sessions_are_listed_with_what_one_needs_to_know() {
    let mut state = opened();
    press(&mut state, KeyCode::F(2));
    let (mut other, _) = scene::session("3f2a77aa-0000", Vec::new());
    (other.description, other.turns) = ("My plan".into(), 12);
    let sessions = vec![scene::session("session", Vec::new()).0, other];
    state.update(Event::Told(Told::Sessions(sessions)));

    assert_eq!(
        screen(&mut state, 64, 8),
        " Greenroom · Session session                               demo
Sessions (2)

* session (no description)          1970-01-01 · 0 turns · demo
  3f2a77aa My plan                 1970-01-01 · 12 turns · demo


Enter opens · n new · e describe · d delete · / filter · Esc
"
    );
}

#[test]
fn the_help_can_be_scrolled() {
    let mut state = opened();
    typed(&mut state, "?");
    let first = screen(&mut state, 80, 24);
    assert!(first.contains("Stop the answer and keep it; again: leave"), "{first}");
    assert!(!first.contains("Accept in your own words"), "{first}");

    for _ in 0..60 {
        typed(&mut state, "j");
    }

    let last = screen(&mut state, 40, 12);
    assert!(last.contains("See fewer"), "{last}");
    press(&mut state, KeyCode::Esc);
    assert!(screen(&mut state, 80, 24).contains("ready"));
}

#[test]
fn odd_texts_stay_within_their_lines() {
    let odd = "日本語のとても長い文です。👨\u{200d}👩\u{200d}👧 e\u{301}e\u{301}\u{301} \u{1b}[31mred\u{1b}[0m \
               \u{7}\u{8}\u{202e}evil ❤\u{fe0f} 👍🏽 🇩🇪 นี้ हिन्दी Donaudampfschifffahrtselektrizitätenhauptbetriebswerk\r\n\
               | a | b |\n|---|---|\n| \u{1b}]0;x\u{7}1 | 2 |";
    let mut state = opened();
    told(&mut state, &[(Role::User, odd), (Role::Assistant, odd)]);
    state.update(Event::Paste(odd.into()));
    for (columns, rows) in [(80, 24), (40, 12), (20, 8), (13, 5), (12, 4)] {
        let seen = screen(&mut state, columns, rows);
        for line in seen.lines() {
            assert!(width(line) <= usize::from(columns), "{columns}: {line:?}");
            assert!(!line.chars().any(char::is_control), "{line:?}");
        }
    }
    insist_on("red ␇␈evil ❤ 👍 🇩🇪", &screen(&mut state, 80, 24));
}

fn insist_on(part: &str, seen: &str) {
    assert!(seen.contains(part), "{seen}");
}

#[test]
fn no_size_is_too_small_and_none_too_large() {
    let mut state = answering();
    for over in [KeyCode::Esc, KeyCode::F(1), KeyCode::F(2), KeyCode::F(3), KeyCode::F(4)] {
        press(&mut state, over);
        state.update(Event::Told(Told::Drafts(vec![draft("one")])));
        state.update(Event::Told(Told::Models(vec![scene::model("demo")])));
        state.update(Event::Told(Told::Sessions(vec![state.session.clone()])));
        for (columns, rows) in [(1, 1), (2, 9), (11, 3), (12, 4), (13, 5), (40, 12), (300, 100)] {
            screen(&mut state, columns, rows);
            typed(&mut state, "e");
            screen(&mut state, columns, rows);
            press(&mut state, KeyCode::Esc);
            press(&mut state, over);
        }
        press(&mut state, KeyCode::Esc);
        press(&mut state, KeyCode::Esc);
    }
}

#[test]
fn what_was_searched_for_is_reversed() {
    let mut state = opened();
    told(&mut state, &[(Role::Assistant, "One word and another Word.")]);
    screen(&mut state, 60, 10);
    key(&mut state, KeyCode::Char('f'), KeyModifiers::CONTROL);
    typed(&mut state, "WORD");
    let seen = screen(&mut state, 60, 10);
    insist_on("/ WORD", &seen);
    insist_on("─ searching ─", &seen);

    let reversed: Vec<String> = state
        .transcript
        .seen()
        .iter()
        .flat_map(|seen| seen.line.spans.clone())
        .filter(|span| span.style == Theme::Plain.found())
        .map(|span| span.content.into_owned())
        .collect();

    assert_eq!(reversed, ["word", "Word"]);
    press(&mut state, KeyCode::Enter);
    insist_on("▌ One word", &screen(&mut state, 60, 10));
}

/// What can happen to a screen.
fn anything() -> impl Strategy<Value = Event> {
    let codes = prop_oneof![
        8 => any::<char>().prop_map(KeyCode::Char),
        8 => prop::sample::select("jkaerhlnyctgG/? i".chars().collect::<Vec<_>>())
            .prop_map(KeyCode::Char),
        3 => (1_u8..6).prop_map(KeyCode::F),
        8 => prop::sample::select(vec![
            KeyCode::Enter, KeyCode::Esc, KeyCode::Backspace, KeyCode::Delete, KeyCode::Tab,
            KeyCode::Up, KeyCode::Down, KeyCode::Left, KeyCode::Right, KeyCode::Home,
            KeyCode::End, KeyCode::PageUp, KeyCode::PageDown,
        ]),
    ];
    let held = prop::sample::select(vec![
        KeyModifiers::NONE,
        KeyModifiers::NONE,
        KeyModifiers::CONTROL,
        KeyModifiers::ALT,
        KeyModifiers::SHIFT,
    ]);
    prop_oneof![
        12 => (codes, held).prop_map(|(code, held)| {
            Event::Key(crossterm::event::KeyEvent::new(code, held))
        }),
        2 => any::<String>().prop_map(Event::Paste),
        2 => (0_u16..100, 0_u16..40).prop_map(|(columns, rows)| Event::Resize(columns, rows)),
        1 => (-3_isize..3).prop_map(Event::Wheel),
        1 => Just(Event::Second),
        2 => any::<String>().prop_map(|delta| {
            Event::Told(Told::Heard("run".into(), Box::new(stamped(7, text(&delta)))))
        }),
        1 => Just(Event::Told(Told::Drafts(vec![draft("one"), draft("two")]))),
        1 => Just(Event::Told(Told::Models(vec![scene::model("demo"), scene::model("other")]))),
        1 => Just(Event::Told(Told::Sessions(vec![
            scene::session("session", Vec::new()).0,
            scene::session("other", Vec::new()).0,
        ]))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_happens_is_drawn(events in prop::collection::vec(anything(), 1..60)) {
        let mut state = answering();
        for event in events {
            state.update(event);
            let (columns, rows) = state.size;
            let seen = screen(&mut state, columns, rows);
            prop_assert!(!seen.chars().any(|letter| letter != '\n' && letter.is_control()));
        }
    }
}

#[test]
fn problems_that_do_not_fit_are_counted() {
    let problem =
        |line: usize| format!("tools.yaml, line {line}: There is no built-in tool “t{line}”.");
    let mut state = opened();
    state.update(Event::Told(Told::Problems((1..=8).map(problem).collect())));

    let usual = screen(&mut state, 80, 24);
    let small = screen(&mut state, 40, 12);

    for line in 1..=7 {
        assert!(usual.contains(&problem(line)), "{usual}");
    }
    assert!(usual.contains("and 1 more: greenroom tools · F6 hides this"), "{usual}");
    // The second one is told in part.
    assert!(small.contains("line 2: There is no built-…"), "{small}");
    assert!(small.contains("and 6 more: greenroom tools"), "{small}");
    let mut state = opened();
    state.update(Event::Told(Told::Problems((1..=2).map(problem).collect())));
    let all = screen(&mut state, 80, 24);
    assert!(all.contains("F6 hides this · all of it: greenroom tools"), "{all}");
}
