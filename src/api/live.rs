//! News of a Space as they happen, for its open pages.

use aide::axum::{ApiRouter, routing::get_with};
use async_stream::stream as made_of;
use axum::extract::State;

use super::sse::{Event, EventStream, stream};
use crate::{
    domain::news::News,
    state::{AppState, Desk},
};

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
        }
    };
    stream(events, state.closing)
}
