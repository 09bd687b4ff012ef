//! Traces: what runs did, made of what they told, and handed on to others who collect them.
//!
//! Every run is in the database with all that it told, so a trace is read from there, whenever it is
//! wanted. Whoever else collects them is told of each run that ended.
//!
//! The one rule of the room: nobody who collects can slow or fail a run.

mod export;
mod otlp;
mod queue;

pub use export::export;
pub use otlp::{Content, Exporter, ExporterError, Names, OtlpSettings};
pub use queue::{Queue, queue};

use crate::{
    agent::Agent,
    changes::Scope,
    domain::{error::ApiError, id::RunId, sent::Sent, trace::Trace},
    store::Link,
};

/// The trace of a run.
pub async fn read(link: &mut Link, run: &RunId) -> Result<Trace, ApiError> {
    let (run, source, name) = link.traced_run(run).await?;
    let told = link.told_by_run(&run.id).await?;
    Ok(Trace::of(&run, source, name, told))
}

/// What the model was sent at the beginning of a run, where that is kept: every run keeps it when it begins.
pub async fn sent(agent: &Agent, scope: &Scope, run: &RunId) -> Result<Option<Sent>, ApiError> {
    match agent.sent_in_run(scope, run).await {
        Ok(sent) => Ok(Some(sent)),
        Err(ApiError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
