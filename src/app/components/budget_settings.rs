//! What runs may take, as the settings show it.

use leptos::{prelude::*, server_fn::ServerFn};

use super::problem::PageProblem;
use crate::{
    app::{
        platform::gathered,
        server_fns::budgets::{SaveBudgets, read_budgets},
    },
    domain::budget::{Budgets, Taken},
};

/// The part of the settings page.
#[component]
pub fn BudgetSettingsCard() -> impl IntoView {
    view! {
        <Suspense>
            {Suspend::new(async move {
                match gathered(read_budgets()).await {
                    Ok((budgets, today)) => shown(budgets, today).into_any(),
                    Err(error) => view! { <PageProblem error/> }.into_any(),
                }
            })}
        </Suspense>
    }
}

fn shown(budgets: Budgets, today: Taken) -> impl IntoView {
    fn text<N: ToString>(number: Option<N>) -> String {
        number.map(|number| number.to_string()).unwrap_or_default()
    }
    let fields = [
        ("run_tokens", "Tokens of one run", text(budgets.run_tokens), "1"),
        ("run_dollars", "Dollars of one run", text(budgets.run_dollars), "any"),
        ("session_tokens", "Tokens of one conversation", text(budgets.session_tokens), "1"),
        ("session_dollars", "Dollars of one conversation", text(budgets.session_dollars), "any"),
        ("day_tokens", "Tokens a day", text(budgets.day_tokens), "1"),
        ("day_dollars", "Dollars a day", text(budgets.day_dollars), "any"),
        ("runs_per_minute", "Runs begun a minute, by a person", text(budgets.runs_per_minute), "1"),
        (
            "service_per_minute",
            "Runs begun a minute, with one service’s key",
            text(budgets.service_per_minute),
            "1",
        ),
    ];
    let told = budgets.told_of_day(today);
    view! {
        <section class="card stack" id="budgets" aria-labelledby="budgets-title">
            <h2 id="budgets-title">"Limits"</h2>
            <p class="faint">"What runs may take in this Space. An empty field is no limit; a day begins at midnight (UTC). Tokens are those read and written."</p>
            {told.map(|told| view! { <p class="small">{told}</p> })}
            <form method="post" action=SaveBudgets::url() class="stack">
                <div class="pair">
                    {fields.map(|(name, label, value, step)| view! {
                        <div class="field">
                            <label for=format!("budget-{name}")>{label}</label>
                            <input id=format!("budget-{name}") type="number" name=format!("limits[{name}]") min="0" step=step placeholder="No limit" value=value/>
                        </div>
                    })}
                </div>
                <p><button class="button">"Save the limits"</button></p>
            </form>
        </section>
    }
}
