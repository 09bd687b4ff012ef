//! Searching by meaning: keeping the vectors of documents, and asking for those near a question.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::Search;
use crate::{
    domain::{
        error::ApiError,
        id::PersonaId,
        search::{SearchKind, Texts},
    },
    providers::{Embedder, Fault, ProviderError},
    store::{Link, Near, Unembedded},
};

/// So much of a document is made into its vector; models read no more than some pages.
const READ_CHARS: usize = 6_000;
/// How many documents are asked about at once.
const BATCH: u32 = 16;
/// How long the service may take for a batch.
const BATCH_TIME: Duration = Duration::from_secs(120);
/// After a failure, or after it was too slow, questions are not brought to the service for so long.
const REST: Duration = Duration::from_secs(15);
/// How far a document may be from a question, as a cosine, and how many are looked at.
const LEAST_COSINE: f32 = 0.25;
const NEAREST: usize = 30;
/// How long after something was written is looked for documents without a vector.
const SETTLE: Duration = Duration::from_millis(500);
/// How often is looked for them though nothing was heard.
const LOOK_ANYWAY: Duration = Duration::from_secs(600);
/// The wait after a failure, and the longest: it doubles with each.
const FIRST_WAIT: Duration = Duration::from_secs(3);
const MAX_WAIT: Duration = Duration::from_secs(600);

/// The service that makes vectors, and how it is.
#[derive(Clone, Debug)]
pub(super) struct Meaning {
    embedder: Embedder,
    /// Until when it is left alone, and why.
    resting: Arc<Mutex<Option<Resting>>>,
}

/// A service that is left alone for a while.
#[derive(Clone, Debug)]
struct Resting {
    until: Instant,
    /// When it was only too slow: for what. Questions that can wait for longer are still brought to it.
    slow_within: Option<Duration>,
    why: String,
}

impl Meaning {
    pub(super) fn new(embedder: Embedder) -> Self {
        Self { embedder, resting: Arc::default() }
    }

    /// What a question means, or the reason why that is not known within this time.
    pub(super) async fn of(&self, text: &str, within: Duration) -> Result<Vec<f32>, String> {
        if let Some(why) = self.rests(within) {
            return Err(why);
        }
        let read: String = text.chars().take(READ_CHARS).collect();
        let asked = Instant::now();
        match self.embedder.embed(&[read], within).await {
            Ok(vectors) => Ok(vectors.into_iter().next().unwrap_or_default()),
            Err(error) => {
                tracing::info!(fault = ?error.fault, "no vector for a question: {}", error.message);
                Err(match asked.elapsed() >= within {
                    true => self.tires(within),
                    false => self.rest(sentence(&error), None),
                })
            }
        }
    }

    /// The documents near what a question means.
    pub(super) async fn near(
        &self,
        link: &mut Link,
        vector: &[f32],
        kind: Option<SearchKind>,
        speaker: Option<&PersonaId>,
    ) -> Result<Vec<Near>, ApiError> {
        let model = self.embedder.model();
        Ok(link.nearest(model, vector, kind, speaker, LEAST_COSINE, NEAREST).await?)
    }

    /// Takes in that it was too slow for a question that can wait so long.
    pub(super) fn tires(&self, within: Duration) -> String {
        let why = "Only words were looked for: what they mean was long in coming.".into();
        self.rest(why, Some(within))
    }

    /// Why it is not asked a question that can wait so long.
    fn rests(&self, within: Duration) -> Option<String> {
        let resting = self.resting.lock().unwrap_or_else(PoisonError::into_inner);
        let resting = resting.as_ref().filter(|resting| Instant::now() < resting.until)?;
        let is_slow = resting.slow_within.is_none_or(|waited| within <= waited);
        is_slow.then(|| resting.why.clone())
    }

    fn rest(&self, why: String, slow_within: Option<Duration>) -> String {
        let mut resting = self.resting.lock().unwrap_or_else(PoisonError::into_inner);
        *resting = Some(Resting { until: Instant::now() + REST, slow_within, why: why.clone() });
        why
    }
}

/// Why meaning was left out, for people.
fn sentence(error: &ProviderError) -> String {
    let why = match error.fault {
        Fault::NoKey | Fault::Auth => "the service for embeddings did not take the key",
        Fault::Quota => "the account at the service for embeddings has no quota left",
        Fault::RateLimited | Fault::Overloaded => "the service for embeddings is busy",
        Fault::Unreached | Fault::Transient | Fault::Truncated => {
            "the service for embeddings could not be reached"
        }
        Fault::BadRequest
        | Fault::ContextExceeded
        | Fault::Garbled
        | Fault::Page
        | Fault::NoPath => "the service for embeddings gave no vector",
    };
    format!("Only words were looked for: {why}.")
}

impl Search {
    /// Makes the vectors that are missing or stale, and says how many.
    pub async fn make_vectors(&self) -> Result<usize, ApiError> {
        let mut made = 0;
        while let Some(count) = self.make_some_vectors().await? {
            made += count;
        }
        Ok(made)
    }

    /// One batch of vectors; `None` when none is missing.
    async fn make_some_vectors(&self) -> Result<Option<usize>, ApiError> {
        let Some(meaning) = &self.meaning else { return Ok(None) };
        let embedder = &meaning.embedder;
        let batch = self.store.unembedded(embedder.model(), BATCH).await?;
        if batch.is_empty() {
            return Ok(None);
        }
        let made = embed(embedder, batch).await.map_err(|error| error.tell("embeddings"))?;
        self.store.put_vectors(embedder.model(), &made).await?;
        Ok(Some(made.len()))
    }

    /// Keeps making vectors whenever something was written, with longer and longer pauses while that
    /// fails. For a task of its own.
    pub async fn keep_vectors(self) {
        if self.meaning.is_none() {
            return;
        }
        // What is written while vectors are made is heard afterwards.
        let mut news = self.store.all_news();
        let mut wait = FIRST_WAIT;
        loop {
            match self.make_vectors().await {
                Ok(_) => {
                    wait = FIRST_WAIT;
                    tokio::select! {
                        () = news.something_written() => {}
                        () = self.built.notified() => {}
                        () = tokio::time::sleep(LOOK_ANYWAY) => {}
                    }
                    // Whoever writes one thing often writes another.
                    tokio::time::sleep(SETTLE).await;
                }
                Err(error) => {
                    wait = (wait * 2).min(MAX_WAIT);
                    tracing::warn!(%error, wait = wait.as_secs(), "vectors are not up to date");
                    pause(wait, news.something_written()).await;
                }
            }
        }
    }
}

/// Waits so long, or until something was written, which may be taken where what stood alone was refused. The
/// service is left alone for a while all the same.
async fn pause(wait: Duration, written: impl Future<Output = ()>) {
    let least = wait.min(REST);
    tokio::time::sleep(least).await;
    tokio::select! {
        () = written => {}
        () = tokio::time::sleep(wait - least) => {}
    }
}

/// Vectors for a batch. Where the service refuses the batch, each document is tried by itself, and one
/// that is refused again has none until it is written again.
async fn embed(
    embedder: &Embedder,
    batch: Vec<Unembedded>,
) -> Result<Vec<(Unembedded, Option<Vec<f32>>)>, ProviderError> {
    let texts: Vec<String> = batch.iter().map(|document| read(&document.texts)).collect();
    match embedder.embed(&texts, BATCH_TIME).await {
        Ok(vectors) => {
            return Ok(batch.into_iter().zip(vectors.into_iter().map(Some)).collect());
        }
        Err(error) if is_about_the_text(&error) => {}
        Err(error) => return Err(error),
    }
    let mut made = Vec::with_capacity(batch.len());
    for (document, text) in batch.into_iter().zip(texts) {
        let vector = match embedder.embed(&[text], BATCH_TIME).await {
            Ok(vectors) => vectors.into_iter().next(),
            Err(error) if is_about_the_text(&error) => {
                tracing::info!(id = document.id, "a document has no vector: {}", error.message);
                None
            }
            Err(error) => return Err(error),
        };
        made.push((document, vector));
    }
    // A service that takes nothing at all is out of order, not the texts.
    if made.iter().all(|(_, vector)| vector.is_none()) {
        let told = "it made no vector of any text";
        return Err(ProviderError::new(Fault::Garbled, told));
    }
    Ok(made)
}

fn is_about_the_text(error: &ProviderError) -> bool {
    matches!(error.fault, Fault::BadRequest | Fault::ContextExceeded | Fault::Garbled)
}

/// What is read of a document, its title first.
fn read(texts: &Texts) -> String {
    let all = [&texts.title, &texts.secondary, &texts.body];
    let said: Vec<&str> =
        all.into_iter().map(|text| text.trim()).filter(|text| !text.is_empty()).collect();
    said.join("\n\n").chars().take(READ_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    /// It was tried again up to ten minutes later, with everything that was written meanwhile.
    #[tokio::test(start_paused = true)]
    async fn what_is_written_after_a_failure_waits_no_longer_than_the_service_rests() {
        let took = async |wait, written: bool| {
            let begun = Instant::now();
            match written {
                true => pause(wait, ready(())).await,
                false => pause(wait, pending()).await,
            }
            begun.elapsed()
        };

        assert_eq!(took(MAX_WAIT, true).await, REST);
        assert_eq!(took(MAX_WAIT, false).await, MAX_WAIT);
        assert_eq!(took(FIRST_WAIT, true).await, FIRST_WAIT);
    }
}
