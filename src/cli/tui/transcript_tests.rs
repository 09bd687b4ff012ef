//! Scrolling, following and searching, without a terminal.

use std::time::Instant;

use super::*;
use crate::domain::{
    message::{Part, PartBody},
    run::Spent,
    timestamp::Timestamp,
};

fn said(number: usize, role: Role, text: &str) -> Message {
    Message {
        id: MessageId::new(format!("m{number}")),
        parent_id: None,
        role,
        parts: vec![Part {
            id: "p".into(),
            at: Timestamp(0),
            body: PartBody::Text(text.to_owned()),
            carried: None,
        }],
        run_id: None,
        model: "demo".to_owned(),
        stop: None,
        spent: Spent::default(),
        created_at: Timestamp(0),
    }
}

/// So many messages of one line; with the name and the blank line, three rows each.
fn talk(count: usize) -> Transcript {
    let mut transcript = Transcript::new(Theme::Plain);
    for number in 0..count {
        transcript.push(said(number, Role::User, &format!("word {number}")));
    }
    transcript
}

fn seen(transcript: &mut Transcript, columns: usize, rows: usize) -> Vec<String> {
    transcript.settle(columns, rows);
    transcript.seen().iter().map(|seen| seen.line.to_string()).collect()
}

#[test]
fn the_end_stays_in_sight_until_somebody_scrolls_up() {
    let mut talk = talk(3);
    assert_eq!(seen(&mut talk, 20, 4), ["", "You", "word 2", ""]);
    talk.push(said(3, Role::User, "word 3"));
    assert_eq!(seen(&mut talk, 20, 4), ["", "You", "word 3", ""]);

    talk.scroll(-1);
    assert_eq!(seen(&mut talk, 20, 4), ["word 2", "", "You", "word 3"]);
    talk.push(said(4, Role::User, "word 4"));

    assert_eq!(seen(&mut talk, 20, 4), ["word 2", "", "You", "word 3"], "reading is not disturbed");
    talk.scroll(100);
    assert_eq!(seen(&mut talk, 20, 4), ["", "You", "word 4", ""]);
    talk.push(said(5, Role::User, "word 5"));
    assert_eq!(seen(&mut talk, 20, 4), ["", "You", "word 5", ""], "and the end is kept again");
}

#[test]
fn nothing_is_beyond_the_beginning_and_older_messages_move_nothing() {
    let mut talk = talk(5);
    talk.scroll(-1000);
    assert_eq!(seen(&mut talk, 20, 3), ["You", "word 0", ""]);
    assert!(talk.at_start());

    talk.prepend(vec![said(90, Role::User, "older"), said(91, Role::User, "old")]);

    assert_eq!(seen(&mut talk, 20, 3), ["You", "word 0", ""]);
    assert!(!talk.at_start());
    talk.scroll(-3);
    assert_eq!(seen(&mut talk, 20, 3), ["You", "old", ""]);
}

#[test]
fn a_resize_keeps_the_words_at_the_top() {
    let mut talk = Transcript::new(Theme::Plain);
    let words: Vec<String> = (0..200).map(|number| format!("word{number:03}")).collect();
    talk.push(said(0, Role::User, &words.join(" ")));
    seen(&mut talk, 80, 10);
    talk.to_start();
    talk.scroll(11);
    let before = seen(&mut talk, 80, 5);

    let after = seen(&mut talk, 40, 5);

    let number = |line: &str| line[4..7].parse::<i32>().unwrap();
    assert!((number(&before[0]) - number(&after[0])).abs() < 10, "{before:?} {after:?}");
    for (columns, rows) in [(1, 1), (3, 200), (300, 2), (80, 24)] {
        assert!(seen(&mut talk, columns, rows).len() <= rows);
    }
}

#[test]
fn words_are_found_upwards_and_around_the_end() {
    let mut talk = talk(3);
    talk.push(said(3, Role::Assistant, "A **bold word** and another word."));
    seen(&mut talk, 40, 4);

    assert!(talk.find("bold word", talk.last_seen()));
    talk.settle(40, 4);
    let shown = talk.seen();
    let marked: Vec<&str> = shown
        .iter()
        .flat_map(|seen| &seen.line.spans)
        .filter(|span| span.style.add_modifier.contains(ratatui::style::Modifier::REVERSED))
        .map(|span| span.content.as_ref())
        .collect();
    assert_eq!(marked, ["bold word"]);

    assert!(talk.find("word", 3));
    let mut order = vec![talk.found.clone().map(|found| (found.entry, found.number))];
    for _ in 0..5 {
        assert!(talk.find_next(Towards::Older));
        order.push(talk.found.clone().map(|found| (found.entry, found.number)));
    }
    let expected = [(3, 1), (3, 0), (2, 0), (1, 0), (0, 0), (3, 1)];
    assert_eq!(order, expected.map(Some));
    assert!(talk.find_next(Towards::Newer));
    assert_eq!(talk.found.clone().map(|found| found.entry), Some(0));
    assert!(!talk.find("nowhere", 3));
}

#[test]
fn what_is_only_in_thoughts_and_tools_is_shown_whole_when_it_is_found() {
    let mut talk = talk(1);
    let mut answer = said(1, Role::Assistant, "Done.");
    let thoughts = format!("{} treasure", "Where may it be?\n".repeat(9));
    answer.parts.insert(0, Part { body: PartBody::Reasoning(thoughts), ..answer.parts[0].clone() });
    talk.push(answer);
    seen(&mut talk, 40, 4);
    assert!(!talk.find("treasure map", 1));
    assert_eq!(talk.details, Details::Folded, "nothing was found, so they stay as they are");

    assert!(talk.find("treasure", 1));

    assert_eq!(talk.details, Details::Open);
    assert!(seen(&mut talk, 40, 4).iter().any(|line| line.contains("treasure")));
}

#[test]
fn messages_are_selected_one_by_one() {
    let mut talk = talk(4);
    seen(&mut talk, 20, 3);
    talk.select(0);
    assert_eq!(talk.selected().map(Message::text), Some("word 3".to_owned()));
    talk.select(-1);
    talk.select(-1);

    talk.settle(20, 3);

    assert_eq!(talk.selected().map(Message::text), Some("word 1".to_owned()));
    assert!(talk.seen().iter().any(|seen| seen.selected));
    talk.select(100);
    assert_eq!(talk.selected().map(Message::text), Some("word 3".to_owned()));
}

#[test]
fn whoever_begins_to_read_or_found_a_place_stays_there() {
    let mut talk = talk(2);
    let lines: Vec<String> = (0..40).map(|number| format!("- line {number}")).collect();
    talk.push(said(2, Role::Assistant, &lines.join("\n")));
    let end = seen(&mut talk, 20, 5);

    talk.select(0);
    assert_eq!(seen(&mut talk, 20, 5), end);
    assert_eq!(talk.selected().map(|message| message.id.as_str()), Some("m2"));

    assert!(talk.find("line 20", 2));
    let place = seen(&mut talk, 20, 5);
    talk.select(0);
    assert_eq!(seen(&mut talk, 20, 5), place);
    assert!(place.iter().any(|line| line.contains("line 20")), "{place:?}");
}

#[test]
fn ten_thousand_messages_are_scrolled_without_laying_them_out() {
    let mut talk = talk(0);
    for number in 0..10_000 {
        talk.push(said(number, Role::Assistant, "Some **words**, and `code`.\n\n- one\n- two\n"));
    }
    let began = Instant::now();
    for _ in 0..50 {
        talk.scroll(-3);
        talk.settle(80, 24);
    }
    talk.to_start();
    talk.settle(80, 24);
    talk.to_end();
    talk.settle(100, 30);

    let laid = talk.laid.iter().flatten().count();
    assert!(laid < 20, "{laid} messages were laid out");
    assert!(began.elapsed().as_secs() < 2, "{:?}", began.elapsed());
}
