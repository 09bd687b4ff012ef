//! What a Space lets its runs take.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};

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

/// What runs may take, as a form has it: an empty field is no limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BudgetForm {
    /// Tokens that one run may read and write.
    pub run_tokens: String,
    /// Dollars that one run may cost.
    pub run_dollars: String,
    /// Tokens of one conversation.
    pub session_tokens: String,
    /// Dollars of one conversation.
    pub session_dollars: String,
    /// Tokens of one day.
    pub day_tokens: String,
    /// Dollars of one day.
    pub day_dollars: String,
    /// Runs that one person may begin in a minute.
    pub runs_per_minute: String,
    /// Runs that may be begun in a minute with the key of one service.
    pub service_per_minute: String,
}

/// Sets what runs may take.
#[server(prefix = "/fn", endpoint = "save_budgets")]
pub async fn save_budgets(
    /// What they may take.
    limits: BudgetForm,
) -> Result<(), ApiError> {
    use crate::state::{desk, form_number};

    let desk = desk()?;
    let budgets = Budgets {
        run_tokens: form_number("runTokens", &limits.run_tokens)?,
        run_dollars: form_number("runDollars", &limits.run_dollars)?,
        session_tokens: form_number("sessionTokens", &limits.session_tokens)?,
        session_dollars: form_number("sessionDollars", &limits.session_dollars)?,
        day_tokens: form_number("dayTokens", &limits.day_tokens)?,
        day_dollars: form_number("dayDollars", &limits.day_dollars)?,
        runs_per_minute: form_number("runsPerMinute", &limits.runs_per_minute)?,
        service_per_minute: form_number("servicePerMinute", &limits.service_per_minute)?,
    };
    desk.agent.set_budgets(&desk.scope, budgets).await
}
