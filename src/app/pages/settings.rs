//! What a person sets.

use leptos::prelude::*;

use crate::app::components::{page_title::PageTitle, theme_switch::ThemeSwitch};

/// The settings.
#[component]
pub fn SettingsPage() -> impl IntoView {
    view! {
        <PageTitle text="Settings"/>
        <header class="page-head"><h1>"Settings"</h1></header>
        <section class="card stack">
            <h2>"Colours"</h2>
            <p class="faint">"Auto follows your system. The choice is kept in this browser."</p>
            <ThemeSwitch/>
        </section>
    }
}
