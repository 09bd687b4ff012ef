//! The answer to a test input, as it comes in.

use crate::domain::{event::Heard, run::RunStatus, test_answer::TestAnswer};

/// What is known to somebody who listens to a run, beside its answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hearing {
    /// Which attempt follows where the service was not ready.
    pub attempt: u32,
    /// What was told again of words that are shown: they stay until there is more.
    again: Option<String>,
}

/// Folds one more event in. Events of a run that is over are ignored: a stream may repeat its end.
pub fn apply(answer: &mut TestAnswer, hearing: &mut Hearing, event: Heard) {
    if answer.status.is_over() {
        return;
    }
    hearing.attempt = event.attempt;
    let words = hearing.again.as_mut().unwrap_or(&mut answer.text);
    match event.kind.as_str() {
        "started" => {
            answer.status = RunStatus::Running;
            hearing.again = Some(String::new());
        }
        "text" => words.push_str(&event.delta),
        // Another part may follow; the space after the last one is not seen.
        "part_ended" if !words.is_empty() => words.push_str("\n\n"),
        "ended" => {
            answer.status = event.status.unwrap_or(RunStatus::Failed);
            answer.stop = event.stop;
            answer.error = event.error;
            answer.spent = event.spent;
        }
        _ => {}
    }
    let is_over = answer.status.is_over();
    let (shown, again) = (answer.text.len(), &mut hearing.again);
    let is_whole = |again: &mut String| is_over || (!again.is_empty() && again.len() >= shown);
    if let Some(words) = again.take_if(is_whole) {
        answer.text = words;
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
        let (mut answer, mut hearing) = (waiting(), Hearing::default());
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
            apply(&mut answer, &mut hearing, heard(event));
        }

        let status = RunStatus::Done;
        assert_eq!(answer, TestAnswer { status, stop, spent, text: "Hello".into(), ..waiting() });
    }

    #[test]
    fn a_stream_that_is_told_from_the_start_again_does_not_double_the_words() {
        let (mut answer, mut hearing) = (waiting(), Hearing::default());
        let started = || RunEvent::Started { reply_id: "m".into(), model: "demo".into() };
        let mut shown = Vec::new();
        for event in [started(), text("a"), text("b"), started(), text("a"), text("b"), text("c")] {
            apply(&mut answer, &mut hearing, heard(event));
            shown.push(answer.text.clone());
        }

        // Nor do they go away meanwhile.
        assert_eq!(shown, ["", "a", "ab", "ab", "ab", "ab", "abc"]);
    }

    #[test]
    fn an_answer_that_waits_for_another_attempt_says_which_until_something_comes() {
        let (mut answer, mut hearing) = (waiting(), Hearing::default());
        let retrying = |attempt| RunEvent::Retrying { attempt, wait_ms: 9, reason: "Busy.".into() };
        let started = RunEvent::Started { reply_id: "m".into(), model: "demo".into() };
        let mut told = Vec::new();
        for event in [started, retrying(2), retrying(3), text("a")] {
            apply(&mut answer, &mut hearing, heard(event));
            told.push(hearing.attempt);
        }

        assert_eq!(told, [0, 2, 3, 0]);
    }
}
