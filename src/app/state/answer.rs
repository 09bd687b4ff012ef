//! The answer to a test input, as it comes in.

use crate::domain::{event::Heard, run::RunStatus, test_answer::TestAnswer};

/// Folds one more event in, and says at which attempt it is while it waits for one. Events of a run that is
/// over are ignored: a stream may repeat its end.
pub fn apply(answer: &mut TestAnswer, attempt: &mut u32, event: Heard) {
    if answer.status.is_over() {
        return;
    }
    *attempt = event.attempt;
    match event.kind.as_str() {
        "started" => {
            answer.status = RunStatus::Running;
            answer.text.clear();
        }
        "text" => answer.text.push_str(&event.delta),
        // Another part may follow; the space after the last one is not seen.
        "part_ended" if !answer.text.is_empty() => answer.text.push_str("\n\n"),
        "ended" => {
            answer.status = event.status.unwrap_or(RunStatus::Failed);
            answer.stop = event.stop;
            answer.error = event.error;
            answer.spent = event.spent;
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{
        event::RunEvent,
        run::{Spent, StopReason},
        timestamp::Timestamp,
    };

    fn waiting() -> TestAnswer {
        TestAnswer {
            test_input_id: "t".into(),
            input_revision: 1,
            persona_revision: 1,
            run_id: "r".into(),
            status: RunStatus::Queued,
            stop: None,
            error: None,
            text: String::new(),
            model: "demo".into(),
            spent: Spent::default(),
            created_at: Timestamp(0),
        }
    }

    fn text(delta: &str) -> RunEvent {
        RunEvent::Text { part: "p".into(), delta: delta.into() }
    }

    /// An event as it travels.
    fn heard(event: RunEvent) -> Heard {
        serde_json::from_str(&serde_json::to_string(&event).unwrap()).unwrap()
    }

    #[test]
    fn words_are_joined_and_nothing_follows_the_end() {
        let mut answer = waiting();
        let spent = Spent { duration_ms: 9, ..Spent::default() };
        let stop = Some(StopReason::EndTurn);
        let events = [
            RunEvent::Started { reply_id: "m".into(), model: "demo".into() },
            text("Hel"),
            text("lo"),
            RunEvent::Ended { status: RunStatus::Done, stop, error: None, spent },
            text("again"),
        ];

        for event in events {
            apply(&mut answer, &mut 0, heard(event));
        }

        let status = RunStatus::Done;
        assert_eq!(answer, TestAnswer { status, stop, spent, text: "Hello".into(), ..waiting() });
    }

    #[test]
    fn a_stream_that_is_told_from_the_start_again_does_not_double_the_words() {
        let mut answer = waiting();
        let started = || RunEvent::Started { reply_id: "m".into(), model: "demo".into() };
        for event in [started(), text("a"), started(), text("a"), text("b")] {
            apply(&mut answer, &mut 0, heard(event));
        }

        assert_eq!(answer.text, "ab");
    }

    #[test]
    fn an_answer_that_waits_for_another_attempt_says_which_until_something_comes() {
        let (mut answer, mut attempt) = (waiting(), 0);
        let retrying = |attempt| RunEvent::Retrying { attempt, wait_ms: 9, reason: "Busy.".into() };
        let started = RunEvent::Started { reply_id: "m".into(), model: "demo".into() };
        let mut told = Vec::new();
        for event in [started, retrying(2), retrying(3), text("a")] {
            apply(&mut answer, &mut attempt, heard(event));
            told.push(attempt);
        }

        assert_eq!(told, [0, 2, 3, 0]);
    }
}
