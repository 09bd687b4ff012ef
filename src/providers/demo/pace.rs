//! How fast the demo speaks: an answer as beats, and the beats as a stream.

use std::time::Duration;

use futures_util::{Stream, stream};

use crate::providers::{ModelEvent, ProviderError};

/// From the question to the first word.
const FIRST: Duration = Duration::from_millis(150);
/// From one word to the next.
const WORD: Duration = Duration::from_millis(25);
/// The longest time that one text takes: a long one is spoken faster.
const TEXT: Duration = Duration::from_secs(5);

/// How fast the demo speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Word by word, as a quick model would.
    Natural,
    /// Word by word, without waiting.
    AtOnce,
}

/// What a stream does next.
#[derive(Clone, Debug, PartialEq)]
pub enum Beat {
    /// Sends an event, or the failure that ends the stream.
    Send(Box<Result<ModelEvent, ProviderError>>),
    /// Waits.
    Wait(Duration),
    /// Sends the same words many times.
    Repeat {
        /// How often.
        times: u64,
        /// The words.
        text: String,
        /// The time before each.
        every: Duration,
    },
    /// Never goes on.
    Stall,
}

impl Beat {
    /// The beat that sends this event.
    pub fn event(event: ModelEvent) -> Self {
        Self::Send(Box::new(Ok(event)))
    }
}

impl Pace {
    /// A whole answer, in beats.
    pub fn beats(self, events: Vec<ModelEvent>) -> Vec<Beat> {
        let mut beats = self.opening();
        for event in events {
            match event {
                ModelEvent::Text(text) => self.speak(&mut beats, &text, ModelEvent::Text),
                ModelEvent::Reasoning(text) => self.speak(&mut beats, &text, ModelEvent::Reasoning),
                other => beats.push(Beat::event(other)),
            }
        }
        beats
    }

    /// The breath before the first word.
    pub fn opening(self) -> Vec<Beat> {
        match self {
            Self::Natural => vec![Beat::Wait(FIRST)],
            Self::AtOnce => Vec::new(),
        }
    }

    /// Adds a text, word by word.
    pub fn speak(self, beats: &mut Vec<Beat>, text: &str, event: fn(String) -> ModelEvent) {
        let words = split(text);
        let count = u32::try_from(words.len()).unwrap_or(u32::MAX).max(1);
        for (index, word) in words.into_iter().enumerate() {
            if self == Self::Natural && index > 0 {
                beats.push(Beat::Wait(WORD.min(TEXT / count)));
            }
            beats.push(Beat::event(event(word.to_owned())));
        }
    }
}

/// The words of a text, each with the white space after it.
fn split(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let (mut start, mut in_space) = (0, false);
    for (at, letter) in text.char_indices() {
        if in_space && !letter.is_whitespace() {
            words.push(&text[start..at]);
            start = at;
        }
        in_space = letter.is_whitespace();
    }
    if start < text.len() {
        words.push(&text[start..]);
    }
    words
}

/// Plays the beats. A failure is the last item, as is the stop.
pub fn stream(
    beats: Vec<Beat>,
) -> impl Stream<Item = Result<ModelEvent, ProviderError>> + Send + 'static {
    let mut beats = beats;
    beats.reverse();
    stream::unfold(beats, |mut beats| async move {
        loop {
            match beats.pop()? {
                Beat::Send(item) => {
                    if matches!(*item, Err(_) | Ok(ModelEvent::Stop(_))) {
                        beats.clear();
                    }
                    return Some((*item, beats));
                }
                Beat::Wait(time) => tokio::time::sleep(time).await,
                Beat::Repeat { times: 0, .. } => {}
                Beat::Repeat { times, text, every } => {
                    if !every.is_zero() {
                        tokio::time::sleep(every).await;
                    }
                    let event = ModelEvent::Text(text.clone());
                    beats.push(Beat::Repeat { times: times - 1, text, every });
                    return Some((Ok(event), beats));
                }
                Beat::Stall => std::future::pending().await,
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt;
    use tokio::time::Instant;

    use super::*;
    use crate::domain::run::StopReason;

    fn answer() -> Vec<ModelEvent> {
        vec![ModelEvent::Text("one two  three\n".into()), ModelEvent::Stop(StopReason::EndTurn)]
    }

    #[test]
    fn words_keep_the_space_after_them() {
        assert_eq!(split("one two  three\n\nfour "), ["one ", "two  ", "three\n\n", "four "]);
        assert_eq!(split("  lead"), ["  ", "lead"]);
        assert_eq!(split("über日本 x"), ["über日本 ", "x"]);
        assert_eq!(split(""), Vec::<&str>::new());
    }

    #[tokio::test(start_paused = true)]
    async fn the_natural_pace_waits_for_the_first_word_and_between_words() {
        let begun = Instant::now();

        let events: Vec<_> = stream(Pace::Natural.beats(answer()))
            .map(|event| (begun.elapsed().as_millis(), event.expect("no failure")))
            .collect()
            .await;

        assert_eq!(
            events,
            [
                (150, ModelEvent::Text("one ".into())),
                (175, ModelEvent::Text("two  ".into())),
                (200, ModelEvent::Text("three\n".into())),
                (200, ModelEvent::Stop(StopReason::EndTurn)),
            ]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn at_once_takes_no_time_and_still_comes_in_words() {
        let begun = Instant::now();

        let events: Vec<_> = stream(Pace::AtOnce.beats(answer())).collect().await;

        assert_eq!(events.len(), 4);
        assert_eq!(begun.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_text_does_not_take_forever() {
        let begun = Instant::now();
        let long = vec![ModelEvent::Text("word ".repeat(10_000))];

        let count = stream(Pace::Natural.beats(long)).count().await;

        assert_eq!(count, 10_000);
        assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    }
}
