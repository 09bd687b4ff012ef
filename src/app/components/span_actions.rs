//! What can be done from a span: where it stands, and going on from it with something changed.

use leptos::{prelude::*, server_fn::ServerFn};

use super::written::written;
use crate::{
    app::server_fns::playground::RunOn,
    domain::{
        persona::SYSTEM_PROMPT,
        trace::{Span, Trace, TraceSummary, What, source_label},
    },
};

/// What can be done from a span.
#[component]
pub fn SpanActions(
    /// The run it is in.
    trace: Trace,
    /// The span.
    span: Span,
    /// What the model was told before all else; nothing when that is not kept.
    system: String,
) -> impl IntoView {
    let summary = trace.summary.clone();
    let told = format!("Open the {}", source_label(summary.source).to_lowercase());
    let draft = match &span.what {
        What::ToolResult { change_id: Some(change), .. } => Some(format!("/rail/drafts/{change}")),
        _ => None,
    };
    let over = summary.status.is_over();
    let other = over.then(|| match &span.what {
        What::LlmCall { step, .. } => Some(prompt_form(&summary, *step, &system).into_any()),
        What::ToolResult { call, output, .. } => {
            let step = step_after(&trace, &span)?;
            Some(result_form(&summary, step, call.to_string(), output).into_any())
        }
        What::Run { .. } | What::ToolCall { .. } => None,
    });
    view! {
        <p class="row tight span-actions">
            <a class="button quiet small" href=summary.path() rel="external">{told}</a>
            <a class="button quiet small" href=format!("/api/traces/{}", summary.id) rel="external">"As JSON"</a>
            {draft.map(|draft| view! { <a class="button quiet small" href=draft rel="external">"The draft"</a> })}
        </p>
        {other.flatten()}
    }
}

/// Which time the model was asked with the result of a tool in sight.
fn step_after(trace: &Trace, result: &Span) -> Option<u32> {
    let asked = |span: &&Span| matches!(span.what, What::LlmCall { .. });
    let next = trace.spans.iter().filter(asked).find(|span| span.start_ms >= result.start_ms)?;
    match next.what {
        What::LlmCall { step, .. } => Some(step),
        _ => None,
    }
}

/// Asks the model again, told something else.
fn prompt_form(trace: &TraceSummary, step: u32, system: &str) -> impl IntoView + use<> {
    view! {
        <details class="details" id="run-on">
            <summary>"Change the prompt and run on from here"</summary>
            <form method="post" action=RunOn::url() class="stack" data-quiet>
                <input type="hidden" name="run" value=trace.id.to_string()/>
                <input type="hidden" name="step" value=step.to_string()/>
                <div class="field">
                    <label for="run-on-prompt">"What the model is told"</label>
                    <textarea id="run-on-prompt" name="system_prompt" rows="12" required maxlength=SYSTEM_PROMPT.max_chars inner_html=written(system)></textarea>
                </div>
                <p class="faint small">"It goes on in a session of the playground; this run stays as it is."</p>
                <p><button class="button small">"Run on"</button></p>
            </form>
        </details>
    }
}

/// Goes on as if a tool had given something else.
fn result_form(
    trace: &TraceSummary,
    step: u32,
    call: String,
    output: &str,
) -> impl IntoView + use<> {
    view! {
        <details class="details" id="run-on">
            <summary>"Change this result and run on from here"</summary>
            <form method="post" action=RunOn::url() class="stack" data-quiet>
                <input type="hidden" name="run" value=trace.id.to_string()/>
                <input type="hidden" name="step" value=step.to_string()/>
                <input type="hidden" name="call" value=call/>
                <div class="field">
                    <label for="run-on-output">"What the tool gave"</label>
                    <textarea id="run-on-output" name="output" rows="8" inner_html=written(output)></textarea>
                </div>
                <p><button class="button small">"Run on"</button></p>
            </form>
        </details>
    }
}
