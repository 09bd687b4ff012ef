//! Plots of numbers by day, drawn with SVG. What they show stands in a table beneath as well.

use leptos::prelude::*;

/// How wide a day is, and how high a plot, in its own measure.
const DAY: usize = 10;
const HIGH: f64 = 100.0;

/// Some numbers of the same kind, one for each day.
#[derive(Clone)]
pub struct Series {
    /// What they are.
    pub name: &'static str,
    /// How they are drawn.
    pub class: &'static str,
    /// The numbers.
    pub values: Vec<u64>,
}

/// Series on top of each other, day by day.
#[component]
pub fn Plot(
    /// What is plotted.
    title: &'static str,
    /// The days, for people.
    days: Vec<String>,
    /// The numbers.
    series: Vec<Series>,
    /// A number for people.
    told: fn(u64) -> String,
) -> impl IntoView {
    let sum = |at: usize| -> u64 { series.iter().filter_map(|one| one.values.get(at)).sum() };
    let most = (0..days.len()).map(sum).max().unwrap_or_default();
    let scale = if most == 0 { 0.0 } else { HIGH / most as f64 };
    let bars: Vec<_> = days
        .iter()
        .enumerate()
        .map(|(at, day)| {
            let mut top = HIGH;
            let parts: Vec<_> = series
                .iter()
                .map(|one| {
                    let value = one.values.get(at).copied().unwrap_or_default();
                    let height = value as f64 * scale;
                    top -= height;
                    let class = format!("column {}", one.class);
                    view! { <rect class=class x=at * DAY + 1 y=top width=DAY - 2 height=height/> }
                })
                .collect();
            let numbers: Vec<String> = series
                .iter()
                .map(|one| {
                    let number = told(one.values.get(at).copied().unwrap_or_default());
                    if series.len() == 1 { number } else { format!("{number} {}", one.name) }
                })
                .collect();
            let label = format!("{day}: {}", numbers.join(", "));
            view! {
                <g>
                    <title>{label}</title>
                    <rect class="day" x=at * DAY y="0" width=DAY height=HIGH/>
                    {parts}
                </g>
            }
        })
        .collect();
    let (first, last) = (days.first().cloned(), days.last().cloned());
    let box_of = format!("0 0 {} {HIGH}", days.len().max(1) * DAY);
    let about =
        format!("{title} by day, at the most {}. The table beneath has the numbers.", told(most));
    let highest = if most > 0 { format!("at most {}", told(most)) } else { told(0) };
    let legend = (series.len() > 1).then(|| {
        let named = series.iter().map(|one| {
            view! { <span class=format!("key {}", one.class)>{one.name}</span> }
        });
        view! { <span class="legend">{named.collect_view()}</span> }
    });
    view! {
        <figure class="plot card">
            <figcaption class="row apart small"><strong>{title}</strong> {legend} <span class="faint">{highest}</span></figcaption>
            <svg viewBox=box_of preserveAspectRatio="none" role="img" aria-label=about>{bars}</svg>
            <p class="row apart faint small" aria-hidden="true"><span>{first}</span><span>{last}</span></p>
        </figure>
    }
}

/// A part of a whole, as a bar.
#[component]
pub fn Share(
    /// The part.
    part: u64,
    /// The whole.
    whole: u64,
) -> impl IntoView {
    let width = if whole == 0 { 0.0 } else { part as f64 * HIGH / whole as f64 };
    view! {
        <svg class="share" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
            <rect class="column first" x="0" y="0" width=width height="4"/>
        </svg>
    }
}
