//! The page for every address that does not exist.

use leptos::prelude::*;

use crate::{app::components::problem::PageProblem, domain::error::ApiError};

/// Says so, with the status that goes with it.
#[component]
pub fn NotFoundPage() -> impl IntoView {
    view! { <PageProblem error=ApiError::not_found("page")/> }
}
