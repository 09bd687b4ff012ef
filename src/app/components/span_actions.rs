//! What can be done from a span: the place for forms that go on from it.

use leptos::prelude::*;

use crate::domain::trace::{Span, TraceSummary, What, source_label};

/// What can be done from a span.
#[component]
pub fn SpanActions(
    /// The run it is in.
    trace: TraceSummary,
    /// The span.
    span: Span,
) -> impl IntoView {
    let told = format!("Open the {}", source_label(trace.source).to_lowercase());
    let result = match &span.what {
        What::ToolResult { change_id: Some(change), .. } => Some(format!("/rail/drafts/{change}")),
        _ => None,
    };
    view! {
        <p class="row tight span-actions">
            <a class="button quiet small" href=trace.path() rel="external">{told}</a>
            <a class="button quiet small" href=format!("/api/traces/{}", trace.id) rel="external">"As JSON"</a>
            {result.map(|draft| view! { <a class="button quiet small" href=draft rel="external">"The draft"</a> })}
        </p>
    }
}
