//! What can be done from a span: where it stands, and going on from it with something changed.

use leptos::{prelude::*, server_fn::ServerFn};

use super::written::written;
use crate::{
    app::server_fns::playground::{GoToInSession, RunOn},
    domain::{
        id::CallId,
        message::{ConversationKind, MESSAGE},
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
    /// What it was asked; nothing when that is not kept.
    asked: Option<String>,
) -> impl IntoView {
    let summary = trace.summary.clone();
    let told = format!("Open the {}", source_label(summary.source).to_lowercase());
    let given = match &span.what {
        What::ToolCall { call, .. } | What::ToolResult { call, .. } => trace.result(call),
        What::Run { .. } | What::LlmCall { .. } => None,
    };
    let draft = match given.map(|given| &given.what) {
        Some(What::ToolResult { change_id: Some(change), .. }) => {
            Some(format!("/rail/drafts/{change}"))
        }
        _ => None,
    };
    let over = summary.status.is_over();
    let other = over.then(|| match &span.what {
        What::LlmCall { step, .. } => {
            Some(prompt_form(&summary, *step, &system, asked.as_deref()).into_any())
        }
        What::ToolCall { .. } | What::ToolResult { .. } => match given.map(|given| &given.what) {
            Some(What::ToolResult { call, output, .. }) => {
                let step = step_after(&trace, call);
                Some(result_form(&summary, step, call.to_string(), output).into_any())
            }
            _ => None,
        },
        What::Run { .. } => None,
    });
    let opens = match summary.source {
        // Another branch may be in use there by now.
        ConversationKind::Playground if over => view! {
            <form method="post" action=GoToInSession::url() data-quiet>
                <input type="hidden" name="persona" value=summary.persona_id.to_string()/>
                <input type="hidden" name="session" value=summary.conversation_id.to_string()/>
                <input type="hidden" name="id" value=summary.reply_id.to_string()/>
                <input type="hidden" name="open" value="true"/>
                <button class="button quiet small">{told}</button>
            </form>
        }
        .into_any(),
        _ => view! { <a class="button quiet small" href=summary.path() rel="external">{told}</a> }
            .into_any(),
    };
    view! {
        <div class="row tight span-actions">
            {opens}
            <a class="button quiet small" href=format!("/api/traces/{}", summary.id) rel="external">"As JSON"</a>
            {draft.map(|draft| view! { <a class="button quiet small" href=draft rel="external">"The draft"</a> })}
        </div>
        {other.flatten()}
    }
}

/// Which time the model was asked with the result of a call in sight, or would have been: right after the one
/// that asked for it.
fn step_after(trace: &Trace, call: &CallId) -> u32 {
    let asked = trace.spans.iter().find_map(|span| match &span.what {
        What::LlmCall { step, calls, .. } if calls.contains(call) => Some(*step),
        _ => None,
    });
    asked.unwrap_or_default() + 1
}

/// Whether a model answered as itself: that is no persona's, and has no playground.
fn is_bare(trace: &TraceSummary) -> bool {
    trace.persona_id.as_str().is_empty()
}

/// Where a run goes on from here.
fn told_where(trace: &TraceSummary) -> &'static str {
    match trace.source {
        ConversationKind::Playground => {
            "It goes on as a branch of its own session; this run stays as it is beside it."
        }
        _ if is_bare(trace) => {
            "It goes on in a new session of the terminal, with what was said until then; this run stays \
             as it is."
        }
        ConversationKind::Chat
        | ConversationKind::Companion
        | ConversationKind::Editor
        | ConversationKind::Test
        | ConversationKind::Terminal => {
            "It goes on in a new session of the playground, with what was said until then and the tools \
             that the persona has there, not those of this run, which stays as it is."
        }
    }
}

/// Asks the model again, told or asked something else.
fn prompt_form(
    trace: &TraceSummary,
    step: u32,
    system: &str,
    asked: Option<&str>,
) -> impl IntoView + use<> {
    view! {
        <details class="details" id="run-on">
            <summary>"Change the prompt and run on from here"</summary>
            <form method="post" action=RunOn::url() class="stack" data-quiet>
                <input type="hidden" name="run" value=trace.id.to_string()/>
                <input type="hidden" name="step" value=step.to_string()/>
                {match system.is_empty() && !is_bare(trace) {
                    // Of a run from before this was kept.
                    true => view! { <p class="faint small">"What it was told is not kept: it is told the persona’s prompt."</p> }.into_any(),
                    false => view! {
                        <div class="field">
                            <label for="run-on-prompt">"What the model is told"</label>
                            <textarea id="run-on-prompt" name="system_prompt" rows="12" required=!is_bare(trace) maxlength=SYSTEM_PROMPT.max_chars inner_html=written(system)></textarea>
                        </div>
                    }.into_any(),
                }}
                {asked.map(|asked| view! {
                    <div class="field">
                        <label for="run-on-message">"What it is asked"</label>
                        <textarea id="run-on-message" name="message" rows="4" required maxlength=MESSAGE.max_chars inner_html=written(asked)></textarea>
                    </div>
                })}
                <p class="faint small">{told_where(trace)}</p>
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
                <p class="faint small">{told_where(trace)}</p>
                <p><button class="button small">"Run on"</button></p>
            </form>
        </details>
    }
}
