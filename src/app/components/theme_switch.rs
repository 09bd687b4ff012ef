//! Light, dark, or as the system says.

use leptos::{prelude::*, server_fn::ServerFn};

use crate::{
    app::{platform, server_fns::settings::SetTheme},
    domain::theme::Theme,
};

/// Makes the choice known to every switch on the page.
pub fn provide_theme() {
    let chosen = RwSignal::new(platform::theme());
    Effect::new(move |_| platform::apply_theme(chosen.get()));
    provide_context(chosen);
}

/// Three buttons; the chosen one is pressed.
#[component]
pub fn ThemeSwitch() -> impl IntoView {
    let chosen = expect_context::<RwSignal<Theme>>();
    view! {
        <form method="post" action=SetTheme::url() data-quiet>
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
                    >
                        {label}
                    </button>
                }
            })}
            </div>
        </form>
    }
}
