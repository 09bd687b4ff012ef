//! Streams of events, as every surface sends them.

use std::{convert::Infallible, time::Duration};

use aide::OperationOutput;
use async_stream::stream as made_of;
use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use serde::Serialize;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::domain::{error::ApiError, id::RunId};

/// How long a stream may be silent before a comment shows that it lives.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);
/// How long a stream may go on when the server closes.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How long there may be no room for more of a stream: whoever reads so slowly comes back for the rest.
const UNREAD_TIME: Duration = Duration::from_secs(120);
/// How many events that are ready go out as one piece.
const TOGETHER: usize = 256;
/// What a word needs, with all that goes around it.
const ROOM: usize = 96;

/// An event as it goes out.
pub struct Event(Vec<u8>);

impl Event {
    /// One that tells this. What we tell can always be written; if not, it is one without content.
    pub fn telling(told: &impl Serialize) -> Self {
        Self::of("", told)
    }

    /// One with a place in its stream, for whoever comes back.
    pub fn at(seq: u64, told: &impl Serialize) -> Self {
        Self::of(&format!("id: {seq}\n"), told)
    }

    /// One with a name, and a place when it has one.
    pub fn named(name: &str, seq: Option<u64>, told: &impl Serialize) -> Self {
        let place = seq.map(|seq| format!("id: {seq}\n")).unwrap_or_default();
        Self::of(&format!("event: {name}\n{place}"), told)
    }

    /// The last one of a stream whose clients wait for it.
    pub fn done() -> Self {
        Self("data: [DONE]\n\n".into())
    }

    /// JSON has no line breaks of its own, so it is one line.
    fn of(head: &str, told: &impl Serialize) -> Self {
        let mut frame = Vec::with_capacity(ROOM);
        frame.extend_from_slice(head.as_bytes());
        frame.extend_from_slice(b"data: ");
        let before = frame.len();
        if serde_json::to_writer(&mut frame, told).is_err() {
            frame.truncate(before);
        }
        frame.extend_from_slice(b"\n\n");
        Self(frame)
    }
}

/// A stream of events, with what proxies must be told about it.
pub struct EventStream(Response);

/// Sends events until they end or the server does.
pub fn stream(
    events: impl Stream<Item = Event> + Send + 'static,
    closing: CancellationToken,
) -> EventStream {
    let frames = made_of! {
        // What is ready goes out together: each piece costs the connection as much as the words in it.
        let mut events = Box::pin(events.take_until(closed(closing)).ready_chunks(TOGETHER));
        // Set anew only when it rings, not for every word.
        let (mut bell, mut last) = (Box::pin(sleep(SIGN_OF_LIFE)), Instant::now());
        loop {
            // Nobody asks for more before there is room for it, so this is how long the last piece took.
            if last.elapsed() >= UNREAD_TIME {
                return;
            }
            tokio::select! {
                biased;
                some = events.next() => {
                    let Some(some) = some else { return };
                    last = Instant::now();
                    yield Ok::<_, Infallible>(frame(some));
                }
                () = &mut bell => {
                    if last.elapsed() >= SIGN_OF_LIFE {
                        last = Instant::now();
                        yield Ok(Bytes::from_static(b":\n\n"));
                    }
                    bell.as_mut().reset(last + SIGN_OF_LIFE);
                }
            }
        }
    };
    let headers = [
        ("content-type", "text/event-stream"),
        // Some proxies hold a stream back until it ends, unless they are asked not to.
        ("x-accel-buffering", "no"),
        ("cache-control", "no-store"),
    ];
    EventStream((headers, Body::from_stream(frames)).into_response())
}

/// When a stream is cut off: what ended with the server may still be told.
async fn closed(closing: CancellationToken) {
    closing.cancelled().await;
    sleep(LAST_WORDS).await;
}

fn frame(events: Vec<Event>) -> Bytes {
    let mut events = events.into_iter();
    let mut frame = events.next().map(|event| event.0).unwrap_or_default();
    for event in events {
        frame.extend_from_slice(&event.0);
    }
    frame.into()
}

/// The last event that whoever comes back has seen, if they say so.
pub fn last_event_id(headers: &HeaderMap) -> Result<Option<u64>, ApiError> {
    let last = headers.get("last-event-id").and_then(|last| last.to_str().ok());
    let problem = || ApiError::Malformed { problem: "its Last-Event-ID is not a number".into() };
    last.map(|last| last.trim().parse().map_err(|_| problem())).transpose()
}

impl EventStream {
    /// Says in a header which run it is about, so that it can be stopped or watched elsewhere.
    pub fn of_run(mut self, run: &RunId) -> Self {
        if let Ok(value) = HeaderValue::from_str(run.as_str()) {
            self.0.headers_mut().insert("greenroom-run-id", value);
        }
        self
    }
}

impl IntoResponse for EventStream {
    fn into_response(self) -> Response {
        self.0
    }
}

impl OperationOutput for EventStream {
    type Inner = Self;
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use http_body_util::BodyExt;
    use serde_json::json;

    use super::*;

    async fn next(body: &mut Body) -> Option<String> {
        let frame = body.frame().await?.unwrap();
        Some(String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap())
    }

    #[tokio::test]
    async fn what_is_ready_goes_out_as_one_piece() {
        let events = [
            Event::telling(&json!({"words": "two\nlines"})),
            Event::at(7, &json!({})),
            Event::named("delta", Some(8), &json!(1)),
            Event::named("done", None, &json!(null)),
        ];
        let sent = stream(stream::iter(events), CancellationToken::new());
        let mut body = sent.into_response().into_body();

        let told = next(&mut body).await.unwrap();

        assert_eq!(
            told,
            "data: {\"words\":\"two\\nlines\"}\n\nid: 7\ndata: {}\n\n\
             event: delta\nid: 8\ndata: 1\n\nevent: done\ndata: null\n\n"
        );
        assert_eq!(next(&mut body).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_ends_that_had_no_room_for_too_long() {
        for (waited, goes_on) in [(UNREAD_TIME / 2, true), (UNREAD_TIME, false)] {
            let events = stream::iter([Event::telling(&1)]).chain(stream::pending());
            let sent = stream(events, CancellationToken::new());
            let mut body = sent.into_response().into_body();
            assert_eq!(next(&mut body).await.as_deref(), Some("data: 1\n\n"));

            tokio::time::advance(waited).await;

            let more = next(&mut body).await;
            assert_eq!(more.is_some(), goes_on, "{waited:?}: {more:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_stream_shows_that_it_lives_until_the_server_closes() {
        let closing = CancellationToken::new();
        let sent = stream(stream::pending(), closing.clone());
        let mut body = sent.into_response().into_body();

        assert_eq!(next(&mut body).await.as_deref(), Some(":\n\n"));
        assert_eq!(next(&mut body).await.as_deref(), Some(":\n\n"));
        closing.cancel();
        assert_eq!(next(&mut body).await, None);
    }
}
