//! A moment, as a person reads it.

use leptos::prelude::*;

use crate::{app::platform, domain::timestamp::Timestamp};

/// Shows how long ago it was; the date stands behind it.
#[component]
pub fn When(
    /// The moment.
    at: Timestamp,
) -> impl IntoView {
    let text = at.ago(platform::now());
    view! { <time datetime=at.rfc3339() title=at.readable()>{text}</time> }
}
