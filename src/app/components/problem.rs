//! What a page shows when it cannot show itself.

use leptos::prelude::*;

use super::{page_title::PageTitle, written::written};
use crate::{app::platform, domain::error::ApiError};

/// A failure in the place of a page, with what one can do about it.
#[component]
pub fn PageProblem(
    /// What happened.
    error: ApiError,
) -> impl IntoView {
    platform::set_status(error.status());
    let title = match &error {
        ApiError::NotFound { .. } => "Nothing here",
        ApiError::Unavailable => "The database is not reachable",
        ApiError::Offline => "The server is not reachable",
        _ => "That did not work",
    };
    let again = error.is_transient();
    view! {
        <PageTitle text=title/>
        <section class="empty" role="alert">
            <h1>{title}</h1>
            <p>{error.to_string()}</p>
            <p class="row">
                {again.then(|| view! { <a class="button" href="" rel="external">"Try again"</a> })}
                <a class="button quiet" href="/">"Go to the personas"</a>
            </p>
        </section>
    }
}

/// A failure beside the thing that failed.
#[component]
pub fn Problem(
    /// What happened.
    #[prop(into)]
    error: Signal<Option<ApiError>>,
) -> impl IntoView {
    view! {
        {move || error.get().map(|error| view! { <p class="problem" role="alert">{error.to_string()}</p> })}
    }
}

/// Why the plain form that led to this page was refused.
#[component]
pub fn RefusedForm() -> impl IntoView {
    // Only the server knows: what it wrote there stays when the browser takes the page over.
    let refused = platform::refused_form().map(|refused| written(&refused));
    let shown = refused.map(|refused| format!(r#"<p class="problem" role="alert">{refused}</p>"#));
    view! { <div inner_html=shown.unwrap_or_default()></div> }
}
