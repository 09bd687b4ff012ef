//! Usage: what runs took by day, model and persona, drawn and as tables.

use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

use crate::{
    app::{
        components::{
            page_title::PageTitle,
            plot::{Plot, Series, Share},
            problem::PageProblem,
        },
        server_fns::traces::read_usage,
    },
    domain::{
        error::ApiError,
        field::grouped,
        run::told_price,
        usage::{PERIODS, Sum, USUAL_DAYS, UsageOfDay, UsageReport},
    },
};

/// The page.
#[component]
pub fn UsagePage() -> impl IntoView {
    let wanted = use_query_map().read_untracked().get("days").filter(|days| !days.is_empty());
    let days = wanted.map(|days| {
        let rule = "The days must be a whole number.";
        days.parse::<u32>().map_err(|_| ApiError::invalid("days", rule))
    });
    let chosen = days.as_ref().and_then(|days| days.as_ref().ok().copied()).unwrap_or(USUAL_DAYS);
    view! {
        <PageTitle text="Usage"/>
        <header class="page-head">
            <h1>"Usage"</h1>
            <nav class="segments" aria-label="For how long">
                {PERIODS.map(|period| view! {
                    <a href=format!("/usage?days={period}") aria-current=(chosen == period).then_some("page")>
                        {format!("{period} days")}
                    </a>
                })}
            </nav>
        </header>
        <Suspense>
            {Suspend::new(async move {
                let report = match days.transpose() {
                    Ok(days) => read_usage(days).await,
                    Err(error) => Err(error),
                };
                match report {
                    Ok(report) => shown(report).into_any(),
                    Err(error) => view! { <PageProblem error/> }.into_any(),
                }
            })}
        </Suspense>
    }
}

/// What some runs cost, as far as that is known.
fn price(sum: &Sum) -> String {
    match (sum.runs, sum.unpriced) {
        // What was asked in passing is no run, and may have cost something.
        (0, _) if sum.cost_micros > 0 => told_price(sum.cost_micros),
        (0, _) => "–".to_owned(),
        (runs, unpriced) if runs == unpriced => "not known".to_owned(),
        (_, 0) => told_price(sum.cost_micros),
        (_, _) => format!("{} or more", told_price(sum.cost_micros)),
    }
}

fn shown(report: UsageReport) -> impl IntoView {
    let UsageReport { days, total, by_day, by_model, by_persona } = report;
    if total == Sum::default() {
        let told =
            format!("No run ended in the last {days} days. What runs take is summed up here.");
        return view! { <section class="empty"><h2>"Nothing used"</h2><p>{told}</p></section> }
            .into_any();
    }
    let most = by_model.iter().map(|of| of.sum.output_tokens).max().unwrap_or_default();
    let most_of_persona =
        by_persona.iter().map(|of| of.sum.output_tokens).max().unwrap_or_default();
    let models = by_model.into_iter().map(|of| {
        let query =
            crate::domain::trace::TraceWords { model: of.model.clone(), ..Default::default() };
        (of.model, format!("/traces?{}", query.query()), of.sum)
    });
    let personas = by_persona.into_iter().map(|of| {
        let name = of.name.unwrap_or_else(|| "A persona that was removed".into());
        (name, format!("/traces?persona={}", of.persona_id), of.sum)
    });
    view! {
        <dl class="totals">
            <div><dt>"Runs"</dt><dd>{grouped(total.runs)}</dd></div>
            <div><dt>"Errors"</dt><dd>{grouped(total.errors)}</dd></div>
            <div><dt>"Tokens in"</dt><dd>{grouped(total.input_tokens)}</dd></div>
            <div><dt>"Tokens out"</dt><dd>{grouped(total.output_tokens)}</dd></div>
            <div><dt>"Cost"</dt><dd>{price(&total)}</dd></div>
        </dl>
        {plots(&by_day)}
        <div class="usage-shares">
            <Shares title="By model" rows=models.collect() most/>
            <Shares title="By persona" rows=personas.collect() most=most_of_persona/>
        </div>
        {by_day_table(by_day)}
        <p class="faint small">"Days are those of UTC. A run counts on the day it was asked for, once it has ended. What is asked in passing, such as a title for a chat, is no run; its tokens and cost count."</p>
    }
    .into_any()
}

fn plots(by_day: &[UsageOfDay]) -> impl IntoView + use<> {
    let days: Vec<String> = by_day.iter().map(|of| of.day.readable()).collect();
    let series = |name: &'static str, class: &'static str, of: fn(&Sum) -> u64| Series {
        name,
        class,
        values: by_day.iter().map(|day| of(&day.sum)).collect(),
    };
    let good = |sum: &Sum| sum.runs - sum.errors.min(sum.runs);
    view! {
        <div class="plots">
            <Plot title="Cost" days=days.clone() told=told_price
                series=vec![series("Cost", "first", |sum| sum.cost_micros)]/>
            <Plot title="Tokens" days=days.clone() told=grouped
                series=vec![
                    series("in", "second", |sum| sum.input_tokens),
                    series("out", "first", |sum| sum.output_tokens),
                ]/>
            <Plot title="Runs" days told=grouped
                series=vec![series("went well", "first", good), series("errors", "wrong", |sum| sum.errors)]/>
        </div>
    }
}

/// Sums by something that has a name and leads to its traces.
#[component]
fn Shares(title: &'static str, rows: Vec<(String, String, Sum)>, most: u64) -> impl IntoView {
    view! {
        <section class="card stack">
            <h2>{title}</h2>
            <div class="scrolled" tabindex="0" role="region" aria-label=title>
                <table class="sums">
                    <thead><tr><th scope="col">"Name"</th><th scope="col">"Runs"</th><th scope="col">"Errors"</th>
                        <th scope="col">"In"</th><th scope="col">"Out"</th><th scope="col">"Cost"</th></tr></thead>
                    <tbody>
                        {rows.into_iter().map(|(name, href, sum)| view! {
                            <tr>
                                <th scope="row"><a href=href>{name}</a><Share part=sum.output_tokens whole=most/></th>
                                {cells(&sum)}
                            </tr>
                        }).collect_view()}
                    </tbody>
                </table>
            </div>
        </section>
    }
}

fn by_day_table(by_day: Vec<UsageOfDay>) -> impl IntoView {
    let used = by_day.into_iter().rev().filter(|of| of.sum.runs > 0);
    view! {
        <section class="card stack">
            <h2>"By day"</h2>
            <div class="scrolled" tabindex="0" role="region" aria-label="By day">
                <table class="sums days">
                    <thead><tr><th scope="col">"Day"</th><th scope="col">"Runs"</th><th scope="col">"Errors"</th>
                        <th scope="col">"In"</th><th scope="col">"Out"</th><th scope="col">"Cost"</th></tr></thead>
                    <tbody>
                        {used.map(|of| view! { <tr><th scope="row">{of.day.readable()}</th>{cells(&of.sum)}</tr> }).collect_view()}
                    </tbody>
                </table>
            </div>
        </section>
    }
}

fn cells(sum: &Sum) -> impl IntoView + use<> {
    let cells = [
        grouped(sum.runs),
        grouped(sum.errors),
        grouped(sum.input_tokens),
        grouped(sum.output_tokens),
        price(sum),
    ];
    cells.map(|cell| view! { <td>{cell}</td> })
}
