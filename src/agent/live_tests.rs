//! What a run tells, and what watchers see of it.

use super::*;

fn text(part: &str, delta: &str) -> RunEvent {
    RunEvent::Text { part: part.into(), delta: delta.into() }
}

fn live() -> Live {
    Live::new("s".into(), "r".into(), Vec::new(), CancellationToken::new())
}

fn seen(live: &Live, after: u64) -> Option<Vec<u64>> {
    match live.after(after) {
        Batch::Events(events) => Some(events.iter().map(|one| one.seq).collect()),
        Batch::Behind => None,
    }
}

#[test]
fn words_that_come_close_together_are_one_row_that_remembers_them() {
    let live = live();
    for (part, delta) in [("a", "x"), ("a", "yé"), ("a", "z"), ("b", "w")] {
        live.add(Timestamp(7), vec![text(part, delta)]);
    }

    let rows = live.take_pending(Place::Log).rows;

    let told: Vec<_> = rows.into_iter().map(|row| (row.seq, row.lengths, row.event)).collect();
    assert_eq!(told, [(3, vec![1, 3, 1], text("a", "xyéz")), (4, vec![], text("b", "w"))]);
}

#[test]
fn words_are_seen_at_once_and_the_rest_when_it_is_kept() {
    let live = live();
    let told =
        vec![text("a", "x"), RunEvent::StepStarted { step: 2, left_out: None }, text("a", "y")];
    let Added { seq, urgency, hold } = live.add(Timestamp(0), told);

    assert_eq!((urgency, hold), (Urgency::Now, true));
    assert_eq!(seen(&live, 0), Some(vec![1]));
    live.publish(seq);
    assert_eq!(seen(&live, 0), Some(vec![1, 2, 3]));
    assert_eq!(seen(&live, 2), Some(vec![3]));
}

#[test]
fn the_writer_is_called_once_for_many_words_and_at_once_when_there_are_too_many() {
    let live = live();
    let urgency = |delta: &str| live.add(Timestamp(0), vec![text("a", delta)]).urgency;

    assert_eq!(urgency("x"), Urgency::Soon);
    assert_eq!(urgency("x"), Urgency::None);
    assert_eq!(urgency(&"x".repeat(5000)), Urgency::Now);
}

#[test]
fn what_is_long_in_the_log_leaves_the_tail_and_what_is_not_stays() {
    let live = live();
    for _ in 0..100 {
        live.add(Timestamp(0), vec![text("a", "x")]);
    }
    assert_eq!(seen(&live, 0).map(|seen| seen.len()), Some(100));

    live.mark_written(Place::Log, 90);

    assert_eq!(seen(&live, 0), None, "it is in the log");
    assert_eq!(seen(&live, 84).map(|seen| seen.len()), Some(16));
}

#[test]
fn words_of_the_journal_are_told_from_memory_until_they_are_in_the_log() {
    let live = live();
    let say = |delta: &str| live.add(Timestamp(0), vec![text("a", delta)]);
    for _ in 0..4 {
        for _ in 0..10 {
            say("x");
        }
        let Taken { place, rows, .. } = live.take_pending(Place::Journal);
        assert_eq!((place, rows.len()), (Place::Journal, 1));
        live.mark_written(place, rows[0].seq);
    }
    let all_but_one: Vec<u64> = (2..=40).collect();
    assert_eq!(seen(&live, 1).as_ref(), Some(&all_but_one));

    live.add(Timestamp(0), vec![RunEvent::StepStarted { step: 2, left_out: None }]);
    let Taken { place, rows, .. } = live.take_pending(Place::Journal);

    assert_eq!(place, Place::Log);
    let told: Vec<_> = rows.iter().map(|row| (row.seq, row.lengths.as_slice())).collect();
    assert_eq!(told, [(40, &[1; 40][..]), (41, &[])]);
    assert_eq!(seen(&live, 1).as_ref(), Some(&all_but_one), "not in the log yet");
    live.mark_written(place, 41);
    assert_eq!(seen(&live, 1), None, "it is in the log");
}
