//! The title of a page, in the browser's tab.

use leptos::prelude::*;
use leptos_meta::Title;

use crate::app::platform;

/// Sets the title. What people wrote may stand in it.
#[component]
pub fn PageTitle(
    /// What the page is about.
    #[prop(into)]
    text: Signal<String>,
) -> impl IntoView {
    let text = platform::title_text(move || format!("{} · Greenroom", text.get()));
    view! { <Title text/> }
}
