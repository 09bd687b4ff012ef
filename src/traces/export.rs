//! Takes runs from the queue, some together, and hands their traces on.

use std::time::Duration;

use tokio::{sync::mpsc, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{Content, Exporter, read, sent};
use crate::{
    agent::{Agent, Ended},
    changes::Scope,
    domain::{error::ApiError, id::UserId, sent::Sent, trace::Trace},
};

/// The most runs that are sent together.
const BATCH: usize = 64;
/// How long a run waits for others to go along with.
const LINGER: Duration = Duration::from_millis(500);

/// Sends the traces of all runs that come out of the queue; for a task of its own. When the server closes, it
/// sends what waits, and ends.
pub async fn export(
    agent: Agent,
    exporter: Exporter,
    mut waiting: mpsc::Receiver<Ended>,
    closing: CancellationToken,
) {
    let mut lost = 0_u64;
    loop {
        let first = tokio::select! {
            first = waiting.recv() => first,
            () = closing.cancelled(), if !waiting.is_closed() => {
                waiting.close();
                continue;
            }
        };
        let Some(first) = first else { return };
        let batch = fill(first, &mut waiting).await;
        let mut traces = Vec::with_capacity(batch.len());
        for ended in &batch {
            match open(&agent, ended, exporter.content()).await {
                Ok(opened) => traces.push(opened),
                // It was removed for good meanwhile, or the database is away.
                Err(error) => tracing::debug!(%error, run = %ended.run, "a trace is not sent"),
            }
        }
        let count = traces.len() as u64;
        match exporter.send(&traces).await {
            Ok(()) if lost > 0 => {
                tracing::info!(lost, "traces are sent again; some were not");
                lost = 0;
            }
            Ok(()) => {}
            Err(error) => {
                if lost == 0 {
                    tracing::warn!(%error, "traces cannot be sent; they stay in Greenroom");
                }
                lost += count;
            }
        }
    }
}

/// The runs that come close behind the first.
async fn fill(first: Ended, waiting: &mut mpsc::Receiver<Ended>) -> Vec<Ended> {
    let mut batch = vec![first];
    let until = Instant::now() + LINGER;
    while batch.len() < BATCH {
        match tokio::time::timeout_at(until, waiting.recv()).await {
            Ok(Some(ended)) => batch.push(ended),
            Ok(None) | Err(_) => break,
        }
    }
    batch
}

/// A trace, and what its model was sent where that goes along.
async fn open(
    agent: &Agent,
    ended: &Ended,
    content: Content,
) -> Result<(Trace, Option<Sent>), ApiError> {
    let scope = Scope { space: ended.space.clone(), user: UserId::default() };
    let trace = read(&mut agent.store().read(&ended.space).await?, &ended.run).await?;
    let sent = sent(agent, &scope, &ended.run).await?;
    // Without content, only with what it was asked is of use.
    let sent = sent.map(|sent| match content {
        Content::Included => sent,
        Content::LeftOut => {
            Sent { sections: Vec::new(), messages: Vec::new(), tools: Vec::new(), ..sent }
        }
    });
    Ok((trace, sent))
}
