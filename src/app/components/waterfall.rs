//! The spans of a trace on a common axis of time. Bars are drawn with SVG, so that they stand where they
//! should without a style of their own.

use leptos::prelude::*;

use crate::domain::{
    run::told_time,
    trace::{Axis, Span, Trace, What},
};

/// How wide a drawing is in its own measure.
const WIDE: f64 = 1000.0;
/// What is over at once is still to be seen.
const LEAST: f64 = 4.0;

/// The waterfall.
#[component]
pub fn Waterfall(
    /// The trace.
    trace: Trace,
    /// The span that is looked at.
    chosen: String,
) -> impl IntoView {
    let axis = Axis::over(trace.traced_ms);
    let home = format!("/traces/{}", trace.summary.id);
    // A result stands at the end of its call's bar, and has no row of its own.
    let with_row = |span: &&Span| !matches!(span.what, What::ToolResult { .. });
    let rows: Vec<_> = trace
        .spans
        .iter()
        .filter(with_row)
        .map(|span| {
            let own = span.id == chosen;
            let result = chosen.strip_prefix("result-") == span.id.strip_prefix("call-");
            row(span, axis, &home, own || (result && span.id.starts_with("call-")))
        })
        .collect();
    view! {
        <section class="waterfall card" aria-label="Spans over time">
            <div class="waterfall-axis small faint" aria-hidden="true">
                <span></span>
                <span class="ticks">
                    {(0..axis.count).map(|at| view! { <span>{told_time(at * axis.step_ms)}</span> }).collect_view()}
                </span>
                <span></span>
            </div>
            <ol>{rows}</ol>
        </section>
    }
}

fn row(span: &Span, axis: Axis, home: &str, here: bool) -> impl IntoView + use<> {
    let at = |millis: u64| millis as f64 * WIDE / axis.whole_ms() as f64;
    let left = at(span.start_ms).min(WIDE - LEAST);
    let width = at(span.duration_ms).clamp(LEAST, WIDE - left);
    let waited = match &span.what {
        What::LlmCall { first_token_ms: Some(first), .. } => Some(at(*first).min(width)),
        _ => None,
    };
    let lines = (1..axis.count).map(|number| {
        let x = WIDE * number as f64 / axis.count as f64;
        view! { <line class="tick" x1=x x2=x y1="0" y2="20"/> }
    });
    let (kind, label) = (span.what.word(), named(span));
    let bar = format!("bar {kind}{}", if span.error.is_some() { " wrong" } else { "" });
    let told = match &span.error {
        Some(_) => format!("{}, failed", told_time(span.duration_ms)),
        None => told_time(span.duration_ms),
    };
    view! {
        <li>
            <a
                class=format!("span depth-{}", span.depth)
                href=format!("{home}?span={}#span", span.id)
                aria-current=here.then_some("true")
            >
                <span class="span-name one-line">
                    <span class="kind">{kind}</span> " " {label}
                </span>
                <svg class="span-bar" viewBox="0 0 1000 20" preserveAspectRatio="none" aria-hidden="true">
                    {lines.collect_view()}
                    <rect class=bar x=left y="4" width=width height="12"/>
                    {waited.map(|waited| view! { <rect class="bar waited" x=left y="4" width=waited height="12"/> })}
                </svg>
                <span class="span-time small">{told}</span>
            </a>
        </li>
    }
}

/// What a row says beside its kind.
fn named(span: &Span) -> String {
    match &span.what {
        What::LlmCall { step, .. } => format!("{} · step {step}", span.name),
        What::Run { .. } | What::ToolCall { .. } | What::ToolResult { .. } => span.name.clone(),
    }
}
