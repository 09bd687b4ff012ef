//! The way to a service: time limits, retries.
//!
//! A stream that is dropped closes its connection, and that ends the generation over there.

use std::{io, sync::Arc, time::Duration};

use async_stream::stream;
use backon::{BackoffBuilder, ExponentialBuilder};
use futures_util::{Stream, StreamExt, stream::BoxStream};
use reqwest::{Client, Response, header};
use sse_stream::SseStream;
use tokio::time::{Instant, sleep};

use super::{
    Artist, Ask, Decoder, Demo, Dialect, Embedder, EmbeddingSettings, Fault, ImageSettings,
    ModelEvent, ProviderError, Quirks, Route, Thoughts,
    catalog::{Catalog, Environment},
    keys::{self, Key},
    lines::{Lines, LinesError},
};
use crate::domain::model::{Model, Service};

/// How long a service may take.
#[derive(Clone, Copy, Debug)]
pub struct TimeLimits {
    /// To be reached.
    pub connect: Duration,
    /// To say anything; a local server may have to load the model first.
    pub first_byte: Duration,
    /// Between two pieces of an answer.
    pub idle: Duration,
    /// Before it is asked for the second time; the wait doubles from there.
    pub retry: Duration,
}

impl Default for TimeLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(300),
            idle: Duration::from_secs(120),
            retry: Duration::from_millis(500),
        }
    }
}

/// How often a service is asked in all.
const ATTEMPTS: usize = 3;
/// The longest wait before the next attempt.
const MAX_WAIT: Duration = Duration::from_secs(60);
/// The most that is read of an error's body.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// All services.
#[derive(Clone)]
pub struct Providers {
    lines: Lines,
    limits: TimeLimits,
    demo: Demo,
    environment: Arc<Environment>,
}

impl std::fmt::Debug for Providers {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Providers").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl Providers {
    /// Services that are reached with these limits and keys from this environment.
    pub fn new(
        limits: TimeLimits,
        demo: Demo,
        environment: Arc<Environment>,
    ) -> Result<Self, LinesError> {
        let lines = Lines::new(limits.connect)?;
        Ok(Self { lines, limits, demo, environment })
    }

    /// The models and services of a Space that has added and set these.
    pub fn catalog(
        &self,
        added: Vec<Model>,
        set: Vec<Service>,
        preferred: Option<String>,
    ) -> Catalog {
        Catalog::new(added, set, preferred, self.environment.as_ref())
    }

    /// The service that makes vectors.
    pub fn embedder(&self, settings: EmbeddingSettings) -> Embedder {
        Embedder::new(self.lines.first(), settings, self.environment.clone())
    }

    /// The service that makes pictures.
    pub fn artist(&self, settings: ImageSettings) -> Result<Artist, ProviderError> {
        Artist::new(self.lines.first(), settings, self.environment.clone())
    }

    /// The key behind a reference, for a service of another kind.
    pub fn key(&self, reference: &str) -> Result<Key, ProviderError> {
        keys::read(reference, self.environment.as_ref())
    }

    /// Asks a model. Nothing is sent before the stream is polled.
    pub fn ask(
        &self,
        route: &Route,
        ask: &Ask<'_>,
    ) -> BoxStream<'static, Result<ModelEvent, ProviderError>> {
        let Some(dialect) = route.dialect else { return self.demo.play(ask).boxed() };
        let key = match route.service.key_ref.as_str() {
            "" => Ok(None),
            reference => keys::read(reference, self.environment.as_ref()).map(Some),
        };
        let question = Question {
            dialect,
            address: format!(
                "{}{}",
                route.service.base_url.trim_end_matches('/'),
                dialect.path(ask.model)
            ),
            // As large as it is and no larger: it is held as long as it may be sent again.
            body: dialect.body(ask).to_string().into_boxed_str().into_boxed_bytes().into(),
            service: ask.service.to_owned(),
            model: ask.model.to_owned(),
            quirks: ask.quirks,
        };
        match key {
            Ok(key) => answer(self.lines.clone(), self.limits, question, key).boxed(),
            Err(error) => futures_util::stream::once(async { Err(error) }).boxed(),
        }
    }
}

/// A request that can be sent more than once.
struct Question {
    dialect: Dialect,
    address: String,
    body: bytes::Bytes,
    service: String,
    model: String,
    quirks: Quirks,
}

impl Question {
    /// Takes the wish to see the model's thoughts out, when that is what the service did not take: not every
    /// account may see them. `false` when it was something else.
    fn leave_thoughts(&mut self, error: &ProviderError) -> bool {
        let told = error.message.to_lowercase();
        let is_it = ["reasoning", "thinking", "thought"].iter().any(|word| told.contains(word));
        if error.fault != Fault::BadRequest || !is_it {
            return false;
        }
        let Ok(mut body) = serde_json::from_slice(&self.body) else { return false };
        let left = self.dialect.leave_thoughts(&mut body);
        if left {
            self.body = body.to_string().into();
        }
        left
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        self.dialect.decoder(&Ask {
            service: &self.service,
            model: &self.model,
            system: "",
            turns: &[],
            tools: &[],
            max_tokens: 0,
            thoughts: Thoughts::AsIs,
            quirks: self.quirks,
        })
    }
}

fn answer(
    lines: Lines,
    limits: TimeLimits,
    mut question: Question,
    key: Option<Key>,
) -> impl Stream<Item = Result<ModelEvent, ProviderError>> + Send + 'static {
    stream! {
        let mut waits = ExponentialBuilder::default()
            .with_min_delay(limits.retry)
            .with_max_delay(limits.retry * 16)
            .with_jitter()
            .with_max_times(ATTEMPTS - 1)
            .build();
        let mut attempt = 1;
        // Held to the end of the answer, so that not too many are on one connection.
        let client = lines.free(&question.address);
        loop {
            let mut passed_on = false;
            let mut failed = None;
            match send(&client, limits, &question, key.as_ref()).await {
                Ok(response) => {
                    let (dialect, decoder) = (question.dialect, question.decoder());
                    let mut events = decoded(response, dialect, decoder, limits.idle).boxed();
                    while let Some(event) = events.next().await {
                        match event {
                            Ok(event) => {
                                if !passed_on && is_content(&event) {
                                    passed_on = true;
                                    // It cannot be asked again, so the question need not be held.
                                    question.body = bytes::Bytes::new();
                                }
                                yield Ok(event);
                            }
                            Err(error) => failed = Some(error),
                        }
                    }
                }
                Err(error) => failed = Some(error),
            }
            let Some(error) = failed else { return };
            if !passed_on && question.leave_thoughts(&error) {
                tracing::info!(
                    service = question.service, model = question.model,
                    "a service does not show the thoughts of a model"
                );
                continue;
            }
            // A service that wants to be left alone for longer is told of, not asked too early.
            let too_long = error.retry_after.is_some_and(|wait| wait > MAX_WAIT);
            let again = !passed_on && !too_long && error.fault.is_transient();
            let wait = if again { waits.next() } else { None };
            let told = match &key {
                Some(key) => key.hide_in(&error.message),
                None => error.message.clone(),
            };
            tracing::info!(
                service = question.service, model = question.model, attempt,
                status = error.status, fault = ?error.fault, retry = wait.is_some(),
                "a service failed: {told}"
            );
            let Some(wait) = wait else {
                yield Err(ProviderError { message: told, ..error });
                return;
            };
            // Its own word counts, as the least.
            let wait = wait.max(error.retry_after.unwrap_or_default());
            attempt += 1;
            yield Ok(ModelEvent::Retrying {
                attempt,
                wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
                reason: told,
            });
            sleep(wait).await;
        }
    }
}

/// Whether a person may have seen it: after that, asking again would say things twice.
fn is_content(event: &ModelEvent) -> bool {
    match event {
        ModelEvent::Text(_)
        | ModelEvent::Reasoning(_)
        | ModelEvent::ToolCall { .. }
        | ModelEvent::PartEnd(_)
        | ModelEvent::Stop(_) => true,
        ModelEvent::Usage(_) | ModelEvent::Retrying { .. } => false,
    }
}

/// What an answer says.
fn decoded(
    response: Response,
    dialect: Dialect,
    mut decoder: Box<dyn Decoder>,
    idle: Duration,
) -> impl Stream<Item = Result<ModelEvent, ProviderError>> + Send + 'static {
    stream! {
        let headers = response.headers().clone();
        let mut pieces = pieces(response, idle).boxed();
        let mut held: Vec<io::Result<bytes::Bytes>> = Vec::new();
        let mut first = None;
        while first.is_none() && let Some(piece) = pieces.next().await {
            // What broke is told where the stream is read.
            first = piece.as_ref().map_or(Some(0), |piece| first_sign(piece));
            held.push(piece);
        }
        let pieces = futures_util::stream::iter(held).chain(pieces);
        if let Some(b'{' | b'[') = first {
            let body = text_of(pieces).await;
            yield Err(dialect.unstreamed(&|name| named(&headers, name), &body));
            return;
        }
        drop(headers);
        let mut events = SseStream::from_bytes_stream(pieces.boxed());
        loop {
            let decoded = match events.next().await {
                Some(Ok(event)) => match event.data {
                    Some(data) => decoder.feed(&data),
                    None => continue,
                },
                Some(Err(error)) => Err(ProviderError::new(Fault::Truncated, causes(&error))),
                None => {
                    match decoder.finish() {
                        Ok(events) => for event in events { yield Ok(event) },
                        Err(error) => yield Err(error),
                    }
                    return;
                }
            };
            match decoded {
                Ok(events) => {
                    for event in events {
                        let last = matches!(event, ModelEvent::Stop(_));
                        yield Ok(event);
                        if last {
                            return;
                        }
                    }
                }
                Err(error) => {
                    yield Err(error);
                    return;
                }
            }
        }
    }
}

/// The body, piece by piece, until it falls silent. Comments, which some services send while a model
/// thinks, are no events, but they show that the service lives.
fn pieces(response: Response, idle: Duration) -> impl Stream<Item = io::Result<bytes::Bytes>> {
    stream! {
        let mut pieces = response.bytes_stream();
        // Set anew only when it rings: to set it for every piece costs more than many a piece.
        let (mut bell, mut last) = (Box::pin(sleep(idle)), Instant::now());
        loop {
            tokio::select! {
                biased;
                piece = pieces.next() => {
                    match piece {
                        Some(Ok(piece)) => yield Ok(piece),
                        Some(Err(error)) => yield Err(io::Error::other(error.without_url())),
                        None => return,
                    }
                    // Whoever reads may have taken its time, which is not the service's.
                    last = Instant::now();
                }
                () = &mut bell => {
                    if last.elapsed() >= idle {
                        let told = format!("nothing came for {} s", idle.as_secs());
                        yield Err(io::Error::new(io::ErrorKind::TimedOut, told));
                        return;
                    }
                    bell.as_mut().reset(last + idle);
                }
            }
        }
    }
}

async fn send(
    client: &Client,
    limits: TimeLimits,
    question: &Question,
    key: Option<&Key>,
) -> Result<Response, ProviderError> {
    let mut request = client
        .post(&question.address)
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, "text/event-stream")
        .body(question.body.clone());
    for (name, value) in question.dialect.headers(key.map(Key::expose)) {
        let mut value = header::HeaderValue::from_str(&value)
            .map_err(|_| ProviderError::new(Fault::NoKey, "the key cannot stand in a header"))?;
        value.set_sensitive(true);
        request = request.header(name, value);
    }
    let sent = tokio::time::timeout(limits.first_byte, request.send());
    let response = match sent.await {
        Ok(Ok(response)) => response,
        // The address may hold what a person typed; the causes say enough.
        Ok(Err(error)) => {
            return Err(ProviderError::new(Fault::Transient, causes(&error.without_url())));
        }
        Err(_) => {
            let told = format!("no answer began within {} s", limits.first_byte.as_secs());
            return Err(ProviderError::new(Fault::Transient, told));
        }
    };
    if response.status().is_success() {
        return Ok(response);
    }
    let status = response.status().as_u16();
    let headers = response.headers().clone();
    let body = tokio::time::timeout(limits.idle, read_some(response)).await.unwrap_or_default();
    Err(question.dialect.error(status, &|name| named(&headers, name), &body))
}

fn named(headers: &header::HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

/// The first byte that says something: no line of server-sent events begins with a brace.
fn first_sign(piece: &[u8]) -> Option<u8> {
    const MARK: &[u8] = b"\xEF\xBB\xBF";
    piece.iter().find(|byte| !byte.is_ascii_whitespace() && !MARK.contains(*byte)).copied()
}

/// The beginning of a body, as text.
pub(super) async fn read_some(response: Response) -> String {
    text_of(response.bytes_stream()).await
}

async fn text_of<E>(pieces: impl Stream<Item = Result<bytes::Bytes, E>>) -> String {
    let mut bytes = Vec::new();
    let mut pieces = std::pin::pin!(pieces);
    while let Some(Ok(piece)) = pieces.next().await {
        bytes.extend_from_slice(&piece);
        if bytes.len() >= MAX_ERROR_BYTES {
            break;
        }
    }
    bytes.truncate(MAX_ERROR_BYTES);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// An error with what is behind it.
pub(super) fn causes(error: &dyn std::error::Error) -> String {
    let mut told = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        if !told.contains(&text) {
            told = format!("{told}: {text}");
        }
        source = cause.source();
    }
    told
}
