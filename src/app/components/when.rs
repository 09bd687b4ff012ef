//! A moment, as a person reads it.

use leptos::prelude::*;

use crate::{app::platform, domain::timestamp::Timestamp};

/// Shows a date; in the browser, how long ago it was.
#[component]
pub fn When(
    /// The moment.
    at: Timestamp,
) -> impl IntoView {
    let text = RwSignal::new(at.readable());
    Effect::new(move |_| {
        if let Some(now) = platform::now() {
            text.set(at.ago(now));
        }
    });
    view! { <time datetime=at.rfc3339() title=at.readable()>{text}</time> }
}
