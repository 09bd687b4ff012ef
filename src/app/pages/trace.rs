//! One trace: the waterfall of its spans, and one span with all that is known of it (`?span=`).

use leptos::prelude::*;
use leptos_router::hooks::{use_params_map, use_query_map};

use super::traces::{Standing, facts};
use crate::{
    app::{
        components::{
            page_title::PageTitle, problem::PageProblem, span_details::SpanDetails,
            waterfall::Waterfall, when::When,
        },
        server_fns::traces::{TraceData, open_trace},
    },
    domain::{
        id::RunId,
        run::told_time,
        trace::{RUN_SPAN, Span, Trace, source_label},
    },
};

/// The page.
#[component]
pub fn TracePage() -> impl IntoView {
    let id = use_params_map().read_untracked().get("id").map(RunId::new).unwrap_or_default();
    let wanted = use_query_map().read_untracked().get("span");
    view! {
        <Suspense>
            {Suspend::new(async move {
                match open_trace(id).await {
                    Ok(data) => shown(data, wanted).into_any(),
                    Err(error) => view! { <PageProblem error/> }.into_any(),
                }
            })}
        </Suspense>
    }
}

/// The span that is looked at: the wanted one, else the first that went wrong, else the first question.
fn looked_at<'trace>(trace: &'trace Trace, wanted: Option<&str>) -> Option<&'trace Span> {
    let within = || trace.spans.iter().filter(|span| span.id != RUN_SPAN);
    wanted
        .and_then(|id| trace.span(id))
        .or_else(|| within().find(|span| span.error.is_some()))
        .or_else(|| within().next())
        .or_else(|| trace.spans.first())
}

fn shown(data: TraceData, wanted: Option<String>) -> impl IntoView {
    let TraceData { trace, sent } = data;
    let summary = trace.summary.clone();
    let chosen = looked_at(&trace, wanted.as_deref()).cloned();
    let chosen_id = chosen.as_ref().map(|span| span.id.clone()).unwrap_or_default();
    let name = match summary.persona_name.trim() {
        "" => "A persona".to_owned(),
        name => name.to_owned(),
    };
    let waited = (trace.waited_ms >= 10).then(|| format!("waited {}", told_time(trace.waited_ms)));
    let facts: Vec<String> = facts(&summary).into_iter().chain(waited).collect();
    view! {
        <PageTitle text=format!("Trace of {name}")/>
        <header class="page-head">
            <div class="stack tight">
                <p class="small"><a href="/traces">"Traces"</a></p>
                <h1>{name}</h1>
                <p class="faint small">
                    <When at=summary.created_at/> " · "
                    <a href=summary.path() rel="external">{source_label(summary.source)}</a> " · "
                    {summary.model.clone()}
                </p>
            </div>
            <p class="trace-facts small">
                <Standing status=summary.status/>
                {facts.into_iter().map(|fact| view! { <span>{fact}</span> }).collect_view()}
            </p>
        </header>
        {summary.error.clone().map(|error| view! { <p class="problem" role="status">{error}</p> })}
        <Waterfall trace=trace.clone() chosen=chosen_id/>
        {chosen.map(|span| view! { <SpanDetails span trace sent/> })}
    }
}
