//! Traces: every run, where it was asked for, and what it took. What is shown is in the address.

use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

use crate::{
    app::{
        components::{page_title::PageTitle, problem::PageProblem, when::When},
        platform,
        server_fns::traces::{TracesData, list_traces},
    },
    domain::{
        field::grouped,
        id::PersonaId,
        run::{RunStatus, told_price, told_time},
        trace::{SOURCES, TraceSummary, TraceWords, source_label},
    },
};

/// The page.
#[component]
pub fn TracesPage() -> impl IntoView {
    let query = use_query_map().read_untracked().clone();
    let given = |name: &str| query.get(name).unwrap_or_default();
    let words = TraceWords {
        persona: given("persona"),
        model: given("model"),
        source: given("source"),
        errors: given("errors"),
        cost: given("cost"),
        seconds: given("seconds"),
    };
    let after = query.get("after").filter(|after| !after.is_empty());
    view! {
        <PageTitle text="Traces"/>
        <header class="page-head">
            <h1>"Traces"</h1>
            <a class="button quiet small" href="/usage">"Usage"</a>
        </header>
        <Suspense>
            {Suspend::new(async move {
                match list_traces(words.clone(), after).await {
                    Ok(data) => shown(data, words),
                    Err(error) => view! { <PageProblem error/> }.into_any(),
                }
            })}
        </Suspense>
    }
}

fn shown(data: TracesData, words: TraceWords) -> AnyView {
    let TracesData { page, personas, models, refused } = data;
    if let Some(error) = refused {
        platform::set_status(error.status());
        let told = error.to_string();
        return view! {
            <p class="problem" role="alert">{told}</p>
            <Filter words personas models/>
        }
        .into_any();
    }
    let query = words.query();
    let next = page.next.map(|after| match query.as_str() {
        "" => format!("/traces?after={after}"),
        query => format!("/traces?{query}&after={after}"),
    });
    let nothing = page.items.is_empty().then(|| nothing(&query, next.is_some()));
    view! {
        <Filter words personas models/>
        {nothing}
        <ol class="rows traces">{page.items.into_iter().map(|trace| view! { <Line trace/> }).collect_view()}</ol>
        {next.map(|next| view! { <p class="more"><a href=next class="button quiet">"Earlier"</a></p> })}
    }
    .into_any()
}

fn nothing(query: &str, further: bool) -> impl IntoView + use<> {
    let (head, told) = match (query.is_empty(), further) {
        (true, _) => (
            "No traces yet",
            "Talk to a persona, its agent or the companion, or run a test input: every run leaves its trace here.",
        ),
        (false, true) => ("None among these", "There may be some further back."),
        (false, false) => ("None found", "No run fits. Choose less, or something else."),
    };
    view! { <section class="empty"><h2>{head}</h2><p>{told}</p></section> }
}

/// Which traces are shown.
#[component]
fn Filter(
    words: TraceWords,
    personas: Vec<(PersonaId, String)>,
    models: Vec<String>,
) -> impl IntoView {
    let filtered = !words.query().is_empty();
    let TraceWords { persona, model, source, errors, cost, seconds } = words;
    view! {
        <form method="get" action="/traces" class="trace-filter" aria-label="Which traces">
            <div class="field">
                <label for="trace-persona">"Persona"</label>
                <select id="trace-persona" name="persona">
                    <option value="">"Everyone"</option>
                    {personas.into_iter().map(|(id, name)| {
                        let chosen = persona == id.as_str();
                        view! { <option value=id.to_string() selected=chosen>{name}</option> }
                    }).collect_view()}
                </select>
            </div>
            <div class="field">
                <label for="trace-model">"Model"</label>
                <select id="trace-model" name="model">
                    <option value="">"All"</option>
                    {models.into_iter().map(|other| {
                        let chosen = other == model;
                        view! { <option value=other.clone() selected=chosen>{other.clone()}</option> }
                    }).collect_view()}
                </select>
            </div>
            <div class="field">
                <label for="trace-source">"Source"</label>
                <select id="trace-source" name="source">
                    <option value="">"All"</option>
                    {SOURCES.map(|kind| {
                        let chosen = source == kind.word();
                        view! { <option value=kind.word() selected=chosen>{source_label(kind)}</option> }
                    })}
                </select>
            </div>
            <div class="field narrow">
                <label for="trace-cost">"At least $"</label>
                <input id="trace-cost" name="cost" inputmode="decimal" autocomplete="off" placeholder="0.01" value=cost/>
            </div>
            <div class="field narrow">
                <label for="trace-seconds">"At least seconds"</label>
                <input id="trace-seconds" name="seconds" inputmode="decimal" autocomplete="off" placeholder="2" value=seconds/>
            </div>
            <label class="row tight small">
                <input type="checkbox" name="errors" value="1" checked=!errors.is_empty()/>
                "Only errors"
            </label>
            <button class="button quiet small">"Show"</button>
            {filtered.then(|| view! { <a class="button quiet small" href="/traces">"Show all"</a> })}
        </form>
    }
}

/// One run.
#[component]
fn Line(trace: TraceSummary) -> impl IntoView {
    let href = format!("/traces/{}", trace.id);
    let (path, source) = (trace.path(), source_label(trace.source));
    let name = match trace.persona_name.trim() {
        "" => "A persona".to_owned(),
        name => name.to_owned(),
    };
    view! {
        <li class="card trace-row" id=format!("trace-{}", trace.id)>
            <div class="card-text">
                <strong class="one-line"><a href=href>{name}</a></strong>
                <span class="faint small">
                    <When at=trace.created_at/> " · "
                    <a href=path rel="external">{source}</a> " · " {trace.model.clone()}
                </span>
                {trace.error.clone().map(|error| view! { <span class="problem small">{error}</span> })}
            </div>
            <p class="trace-facts small">
                <Standing status=trace.status/>
                {facts(&trace).into_iter().map(|fact| view! { <span>{fact}</span> }).collect_view()}
            </p>
        </li>
    }
}

/// What a run took, fact by fact. What is not known, or not yet, is left out.
pub fn facts(trace: &TraceSummary) -> Vec<String> {
    let steps = match trace.steps {
        1 => "1 step".to_owned(),
        steps => format!("{steps} steps"),
    };
    let over = trace.status.is_over();
    let mut facts = Vec::new();
    facts.extend(over.then_some(steps));
    let tokens = (trace.usage.input, trace.usage.output);
    if let (Some(read), Some(written)) = tokens {
        facts.push(format!("{} in, {} out", grouped(read), grouped(written)));
    }
    facts.extend(trace.cost_micros.map(told_price));
    facts.extend(over.then(|| told_time(trace.duration_ms)));
    facts
}

/// How a run stands, as a word with a colour.
#[component]
pub fn Standing(
    /// Where it stands.
    status: RunStatus,
) -> impl IntoView {
    let (class, word) = match status {
        RunStatus::Queued => ("badge", "Waiting"),
        RunStatus::Running => ("badge", "Running"),
        RunStatus::Done => ("badge good", "Done"),
        RunStatus::Stopped => ("badge", "Stopped"),
        RunStatus::Failed => ("badge bad", "Failed"),
        RunStatus::Interrupted => ("badge bad", "Interrupted"),
    };
    view! { <span class=class>{word}</span> }
}
