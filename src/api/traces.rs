//! Traces: what runs did, and what they took.

use aide::axum::{ApiRouter, routing::get_with};
use axum::Json;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::extract::{Params, Segments, page_size};
use crate::{
    domain::{
        error::ApiError,
        id::{PersonaId, RunId},
        list::Page,
        message::ConversationKind,
        run::RunStatus,
        sent::Sent,
        trace::{Trace, TraceFilter, TraceSummary},
        usage::{UsageReport, check_days, first_day},
    },
    state::{AppState, Desk},
    store::now,
    traces,
};

pub fn routes() -> ApiRouter<AppState> {
    ApiRouter::new()
        .api_route(
            "/api/traces",
            get_with(list, |op| {
                op.summary("Traces of runs, the newest first.").description(
                    "A page may have fewer than were asked for, or none, though there is a next one.",
                )
            }),
        )
        .api_route(
            "/api/traces/{id}",
            get_with(read, |op| op.summary("The trace of a run, with all its spans.")),
        )
        .api_route(
            "/api/usage",
            get_with(usage, |op| op.summary("What runs took, by day, model and persona.")),
        )
}

#[derive(Deserialize, JsonSchema)]
struct TracePath {
    /// The run.
    id: RunId,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ListParams {
    /// Only those of this persona.
    persona_id: Option<PersonaId>,
    /// Only those of this model.
    model: Option<String>,
    /// Only those asked for here.
    source: Option<ConversationKind>,
    /// Only those that stand so.
    status: Option<RunStatus>,
    /// Only those in which something went wrong or was cut short.
    #[serde(default)]
    errors: bool,
    /// Only those that cost at least so many millionths of a dollar.
    min_cost_micros: Option<u64>,
    /// Only those that took at least so many milliseconds.
    min_duration_ms: Option<u64>,
    /// Where to go on: the `next` of the page before.
    after: Option<String>,
    /// How many at most; 50 unless said, 200 at the most.
    limit: Option<u32>,
}

/// A trace, and what the model was sent at its beginning.
#[derive(Serialize, JsonSchema)]
struct WholeTrace {
    #[serde(flatten)]
    trace: Trace,
    /// What the model was told and sent; `null` when that is not kept, as of a run that goes on.
    sent: Option<Sent>,
}

#[derive(Deserialize, JsonSchema)]
struct UsageParams {
    /// How many days, this one included; 30 unless said, 366 at the most.
    days: Option<u32>,
}

async fn list(
    desk: Desk,
    Params(params): Params<ListParams>,
) -> Result<Json<Page<TraceSummary>>, ApiError> {
    let filter = TraceFilter {
        persona: params.persona_id,
        model: params.model,
        source: params.source,
        status: params.status,
        only_errors: params.errors,
        min_cost_micros: params.min_cost_micros,
        min_duration_ms: params.min_duration_ms,
    };
    let mut link = desk.read().await?;
    let limit = page_size(params.limit);
    Ok(Json(link.traces(&filter, params.after.as_deref(), limit).await?))
}

async fn read(
    desk: Desk,
    Segments(path): Segments<TracePath>,
) -> Result<Json<WholeTrace>, ApiError> {
    let trace = traces::read(&mut desk.read().await?, &path.id).await?;
    let sent = traces::sent(&desk.agent, &desk.scope, &path.id).await?;
    Ok(Json(WholeTrace { trace, sent }))
}

async fn usage(
    desk: Desk,
    Params(params): Params<UsageParams>,
) -> Result<Json<UsageReport>, ApiError> {
    let (days, now) = (check_days(params.days)?, now());
    let rows = desk.read().await?.usage_since(first_day(now, days)).await?;
    Ok(Json(UsageReport::of(rows, days, now)))
}
