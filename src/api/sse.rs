//! Streams of events, as every surface sends them.

use std::{convert::Infallible, time::Duration};

use aide::OperationOutput;
use axum::{
    http::{HeaderMap, HeaderValue},
    response::{
        IntoResponse, Response, Sse,
        sse::{Event, KeepAlive},
    },
};
use futures_util::{Stream, StreamExt};
use tokio_util::sync::CancellationToken;

use crate::domain::{error::ApiError, id::RunId};

/// How long a stream may be silent before a comment shows that it lives.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);

/// A stream of events, with what proxies must be told about it.
pub struct EventStream(Response);

/// Sends events until they end or the server does.
pub fn stream(
    events: impl Stream<Item = Event> + Send + 'static,
    closing: CancellationToken,
) -> EventStream {
    let events = events.map(Ok::<_, Infallible>).take_until(closing.cancelled_owned());
    let sse = Sse::new(events).keep_alive(KeepAlive::new().interval(SIGN_OF_LIFE));
    // Some proxies hold a stream back until it ends, unless they are asked not to.
    EventStream(([("x-accel-buffering", "no"), ("cache-control", "no-store")], sse).into_response())
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
