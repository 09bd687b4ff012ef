//! Light, dark, or as the system says.

use leptos::prelude::*;

use crate::{
    app::{platform, server_fns::settings::SetTheme},
    domain::theme::Theme,
};

/// Three buttons; the chosen one is pressed.
#[component]
pub fn ThemeSwitch() -> impl IntoView {
    let action = ServerAction::<SetTheme>::new();
    let chosen = RwSignal::new(platform::theme());
    let choose = move |theme: Theme| {
        chosen.set(theme);
        platform::apply_theme(theme);
    };
    view! {
        <ActionForm action>
            <div class="segments" role="group" aria-label="Colours">
            {Theme::ALL.map(|theme| {
                let label = match theme {
                    Theme::System => "Auto",
                    Theme::Light => "Light",
                    Theme::Dark => "Dark",
                };
                view! {
                    <button
                        name="theme"
                        value=theme.word()
                        aria-pressed=move || (chosen.get() == theme).to_string()
                        on:click=move |_| choose(theme)
                    >
                        {label}
                    </button>
                }
            })}
            </div>
        </ActionForm>
    }
}
