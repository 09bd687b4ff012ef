//! Traces and what runs took, as their pages show them.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::domain::{
    error::ApiError,
    id::{PersonaId, RunId},
    list::Page,
    sent::Sent,
    trace::{Trace, TraceSummary, TraceWords},
    usage::UsageReport,
};

/// A page of traces, and what can be chosen from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TracesData {
    /// The traces.
    pub page: Page<TraceSummary>,
    /// The personas, by name.
    pub personas: Vec<(PersonaId, String)>,
    /// The models that were asked lately.
    pub models: Vec<String>,
    /// Why none are looked for.
    pub refused: Option<ApiError>,
}

/// A trace, and what its model was sent at the beginning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceData {
    /// The trace.
    pub trace: Trace,
    /// What the model was sent, where that is kept.
    pub sent: Option<Sent>,
}

/// Traces that fit, the newest first.
#[server(prefix = "/fn", endpoint = "list_traces")]
pub async fn list_traces(
    /// Which ones.
    #[server(default)]
    words: TraceWords,
    /// Where to go on.
    #[server(default)]
    after: Option<String>,
) -> Result<TracesData, ApiError> {
    use crate::{
        domain::{
            list::{MAX_PAGE_SIZE, PAGE_SIZE},
            usage::{MAX_DAYS, first_day},
            visible::show_in,
        },
        state::desk,
        store::{StoreError, now},
    };

    let mut link = desk()?.read().await?;
    // What is mistyped is mended in the form, where all else stays chosen.
    let (filter, mut page, refused) = match words.parse() {
        Ok(filter) => {
            let page = link.traces(&filter, after.as_deref(), PAGE_SIZE).await?;
            (filter, page, None)
        }
        Err(error) => {
            let TraceWords { persona, model, .. } = words;
            let chosen = TraceWords { persona, model, ..TraceWords::default() };
            (chosen.parse()?, Page { items: Vec::new(), next: None }, Some(error))
        }
    };
    let personas = link.personas("", None, MAX_PAGE_SIZE).await?.items.into_iter();
    let mut personas: Vec<(PersonaId, String)> =
        personas.map(|persona| (persona.id, persona.name)).collect();
    // One that is in the bin, or beyond so many, can be looked for as well.
    if let Some(id) = filter.persona.filter(|id| !personas.iter().any(|(known, _)| known == id)) {
        let name = match link.persona_head(&id).await {
            Ok(head) => head.fields.name,
            Err(StoreError::NotFound(_)) => id.to_string(),
            Err(error) => return Err(error.into()),
        };
        personas.push((id, name));
    }
    personas.sort_by_key(|(_, name)| name.to_lowercase());
    show_in(personas.iter_mut().map(|(_, name)| name));
    for trace in &mut page.items {
        show_in([&mut trace.persona_name]);
        show_in(&mut trace.error);
    }
    let mut models = link.models_used_since(first_day(now(), MAX_DAYS)).await?;
    // What is looked for stays in the form, also when nothing is found.
    models.extend(filter.model.filter(|model| !models.contains(model)));
    Ok(TracesData { page, personas, models, refused })
}

/// One trace.
#[server(prefix = "/fn", endpoint = "open_trace")]
pub async fn open_trace(
    /// The run.
    id: RunId,
) -> Result<TraceData, ApiError> {
    use crate::{domain::visible::show_in, state::desk, traces};

    let desk = desk()?;
    let mut trace = traces::read(&mut desk.read().await?, &id).await?;
    show_in([&mut trace.summary.persona_name]);
    show_in(&mut trace.summary.error);
    show_in(trace.spans.iter_mut().map(|span| &mut span.name));
    let sent = traces::sent(&desk.agent, &desk.scope, &id).await?;
    Ok(TraceData { trace, sent })
}

/// What runs took in the last days.
#[server(prefix = "/fn", endpoint = "read_usage")]
pub async fn read_usage(
    /// How many days.
    #[server(default)]
    days: Option<u32>,
) -> Result<UsageReport, ApiError> {
    use crate::{
        domain::{
            usage::{check_days, first_day},
            visible::show_in,
        },
        state::desk,
        store::now,
    };

    let (days, now) = (check_days(days)?, now());
    let rows = desk()?.read().await?.usage_since(first_day(now, days)).await?;
    let mut report = UsageReport::of(rows, days, now);
    show_in(report.by_persona.iter_mut().filter_map(|of| of.name.as_mut()));
    Ok(report)
}
