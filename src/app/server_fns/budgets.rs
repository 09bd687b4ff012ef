//! What a Space lets its runs take.

use leptos::prelude::*;

use crate::domain::{
    budget::{Budgets, Taken},
    error::ApiError,
};

/// What runs may take, and what they took today.
#[server(prefix = "/fn", endpoint = "read_budgets")]
pub async fn read_budgets() -> Result<(Budgets, Taken), ApiError> {
    use crate::state::desk;

    let desk = desk()?;
    let budgets = desk.agent.budgets(&desk.scope).await?;
    Ok((budgets, desk.agent.taken_today(&desk.scope).await?))
}

/// Sets what runs may take; an empty field is no limit.
#[server(prefix = "/fn", endpoint = "save_budgets")]
pub async fn save_budgets(
    /// Tokens that one run may write.
    #[server(default)]
    run_tokens: String,
    /// Dollars that one run may cost.
    #[server(default)]
    run_dollars: String,
    /// Tokens of one conversation.
    #[server(default)]
    session_tokens: String,
    /// Dollars of one conversation.
    #[server(default)]
    session_dollars: String,
    /// Tokens of one day.
    #[server(default)]
    day_tokens: String,
    /// Dollars of one day.
    #[server(default)]
    day_dollars: String,
    /// Runs that one person may begin in a minute.
    #[server(default)]
    runs_per_minute: String,
    /// Runs that may be begun in a minute with the key of one service.
    #[server(default)]
    service_per_minute: String,
) -> Result<(), ApiError> {
    use crate::state::{desk, form_number};

    let desk = desk()?;
    let budgets = Budgets {
        run_tokens: form_number("runTokens", &run_tokens)?,
        run_dollars: form_number("runDollars", &run_dollars)?,
        session_tokens: form_number("sessionTokens", &session_tokens)?,
        session_dollars: form_number("sessionDollars", &session_dollars)?,
        day_tokens: form_number("dayTokens", &day_tokens)?,
        day_dollars: form_number("dayDollars", &day_dollars)?,
        runs_per_minute: form_number("runsPerMinute", &runs_per_minute)?,
        service_per_minute: form_number("servicePerMinute", &service_per_minute)?,
    };
    desk.agent.set_budgets(&desk.scope, budgets).await
}
