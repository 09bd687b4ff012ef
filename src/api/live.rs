//! News of a Space as they happen, for its open pages.

use std::time::Duration;

use aide::axum::{ApiRouter, routing::get_with};
use async_stream::stream as made_of;
use axum::extract::State;

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
    let events = made_of! {
        yield first;
        while let Some(news) = feed.next().await {
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
    };
    stream(events, state.closing)
}
