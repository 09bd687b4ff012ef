//! News of a Space as they happen, for its open pages.

use std::time::Duration;

use aide::axum::{ApiRouter, routing::get_with};
use async_stream::stream as made_of;
use axum::extract::State;
use serde_json::json;

use super::sse::{Event, EventStream, stream};
use crate::{
    domain::news::News,
    state::{AppState, Desk},
};

/// How often all open pages together are told something in a second. What comes faster goes out together: the
/// first news are told at once, and those after them a moment later, which is longer the more pages there are.
const TOLD_A_SECOND: u32 = 10_000;
/// The longest such moment.
const LONGEST: Duration = Duration::from_millis(250);

pub fn routes() -> ApiRouter<AppState> {
    ApiRouter::new().api_route(
        "/api/live",
        get_with(live, |op| {
            op.summary("What is changed, proposed, decided and run, as server-sent events.")
        }),
    )
}

async fn live(State(state): State<AppState>, desk: Desk) -> EventStream {
    let mut feed = state.store.news(&desk.scope.space);
    // Whoever comes, or comes back, may have missed something.
    let first = Event::telling(&News::default());
    let closed = state.closing.clone();
    let events = made_of! {
        yield first;
        loop {
            let news = tokio::select! {
                news = feed.next() => news,
                () = closed.cancelled() => None,
            };
            let Some(news) = news else { break };
            yield Event::telling(&news);
            for news in feed.waiting() {
                yield Event::telling(&news);
            }
            let moment = Duration::from_secs(1) * feed.listeners() / TOLD_A_SECOND;
            // A clock that ticks in milliseconds would make less of it longer.
            if moment >= Duration::from_millis(1) {
                tokio::time::sleep(moment.min(LONGEST)).await;
            }
        }
        for news in feed.waiting() {
            yield Event::telling(&news);
        }
        // Pages do not listen for it: to them a stream that ends is one to come back to.
        yield Event::named("shutdown", None, &json!({}));
    };
    stream(events, state.closing)
}
