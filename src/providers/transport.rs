//! The way to a service: time limits, retries.
//!
//! A stream that is dropped closes its connection, and that ends the generation over there.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use async_stream::stream;
use backon::{BackoffBuilder, ExponentialBuilder};
use futures_util::{Stream, StreamExt, stream::BoxStream};
use reqwest::{Client, RequestBuilder, Response, header};
use sse_stream::SseStream;
use tokio::time::{sleep, timeout};

use super::{
    Artist, Ask, Decoder, Demo, Dialect, Embedder, EmbeddingSettings, Fault, ImageSettings,
    ModelEvent, ProviderError, Route, Seal,
    catalog::{Catalog, Environment},
    echo::Echo,
    fence::{Allowance, Fence},
    keys::{self, Key},
    limits::TimeLimits,
    lines::{Lines, LinesError, Reach},
    pieces::{ENDLESS, pieces},
    question::Question,
};
use crate::domain::{
    error::ApiError,
    model::{Model, SEALED, Service},
};

/// How often a service is asked in all.
const ATTEMPTS: usize = 3;
/// The longest wait before the next attempt.
const MAX_WAIT: Duration = Duration::from_secs(60);
/// The longest answer that is taken: words, thoughts and calls together.
const MAX_ANSWER_BYTES: usize = 4 * 1024 * 1024;
/// The longest name of a request that is logged.
const MAX_REQUEST_ID: usize = 128;
/// The most that is read of an error's body.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// All services.
#[derive(Clone)]
pub struct Providers {
    lines: Lines,
    limits: TimeLimits,
    demo: Demo,
    environment: Arc<Environment>,
    /// What seals keys that are pasted.
    seal: Option<Seal>,
    /// What owners of Spaces may not set.
    fence: Arc<Fence>,
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
        let lines = Lines::new(limits.connect, Reach::Everywhere)?;
        let allowed = Allowance::default();
        let fence = Arc::new(Fence::new(limits.connect, environment.clone(), allowed)?);
        Ok(Self { lines, limits, demo, environment, seal: None, fence })
    }

    /// The same services, of which owners of Spaces may set this where people have accounts.
    pub fn allowing(self, allowed: Allowance) -> Result<Self, LinesError> {
        let fence = Fence::new(self.limits.connect, self.environment.clone(), allowed)?;
        Ok(Self { fence: Arc::new(fence), ..self })
    }

    /// Tells that people have accounts here, and owners of Spaces need not be who runs the server.
    pub fn raise_fence(&self) {
        self.fence.raise();
    }

    /// Refuses a service that owners of Spaces may not set here.
    pub fn check(&self, service: &Service) -> Result<(), ApiError> {
        self.fence.check(service)
    }

    /// The models and services of a Space that has added and set these.
    pub fn catalog(
        &self,
        added: Vec<Model>,
        set: Vec<Service>,
        preferred: Option<String>,
    ) -> Catalog {
        let ready = |service: &Service| self.key_of(service).is_ok();
        Catalog::new(added, set, preferred, self.environment.as_ref(), ready)
    }

    /// The same services, whose pasted keys are sealed with this.
    pub fn sealing(self, seal: Seal) -> Self {
        Self { seal: Some(seal), ..self }
    }

    /// A pasted key as the service keeps it.
    pub fn seal_key(&self, pasted: &str, service: &Service) -> Result<String, ProviderError> {
        match &self.seal {
            Some(seal) => seal.close(pasted, service),
            None => Err(ProviderError::new(Fault::NoKey, "no key can be sealed here")),
        }
    }

    /// The key of a service, if it needs one.
    fn key_of(&self, service: &Service) -> Result<Option<Key>, ProviderError> {
        self.fence.check_key(service)?;
        match (service.key_ref.as_str(), &self.seal) {
            ("", _) => Ok(None),
            (reference, Some(seal)) if reference.starts_with(SEALED) => {
                seal.open(service).map(Some)
            }
            (reference, _) => keys::read(reference, self.environment.as_ref()).map(Some),
        }
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

    /// A client for services that are no models, which trusts whom ours trusts and follows no redirect.
    pub fn client(&self) -> Client {
        self.lines.first()
    }

    /// Asks a model. Nothing is sent before the stream is polled.
    pub fn ask(
        &self,
        route: &Route,
        ask: &Ask<'_>,
    ) -> BoxStream<'static, Result<ModelEvent, ProviderError>> {
        let Some(dialect) = route.dialect else { return self.demo.play(ask).boxed() };
        let key = self.key_of(&route.service);
        let question = Question {
            dialect,
            address: dialect.address(&route.service.base_url, ask.model),
            // As large as it is and no larger: it is held as long as it may be sent again.
            body: dialect.body(ask).to_string().into_boxed_str().into_boxed_bytes().into(),
            service: ask.service.to_owned(),
            model: ask.model.to_owned(),
            quirks: ask.quirks,
        };
        let lines = self.fence.lines(&route.service, &self.lines);
        match lines.and_then(|lines| Ok((lines, key?))) {
            Ok((lines, key)) => answer(lines, self.limits, question, key).boxed(),
            Err(error) => futures_util::stream::once(async { Err(error) }).boxed(),
        }
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
            let asked = Instant::now();
            match send(&client, limits, &question, key.as_ref()).await {
                Ok(begun) => {
                    tracing::debug!(
                        service = question.service, model = question.model, attempt,
                        request = request_id(begun.response.headers(), key.as_ref()),
                        took_ms = millis(asked.elapsed()), "a service answers"
                    );
                    let (dialect, decoder) = (question.dialect, question.decoder());
                    let mut events = decoded(begun, dialect, decoder, limits).boxed();
                    let mut echo = Echo::of(key.as_ref());
                    while let Some(event) = events.next().await {
                        match event {
                            Ok(event) => {
                                if !passed_on && is_content(&event) {
                                    passed_on = true;
                                    // It cannot be asked again, so the question need not be held.
                                    question.body = bytes::Bytes::new();
                                }
                                for event in echo.hear(event) { yield Ok(event) }
                            }
                            Err(error) => failed = Some(error),
                        }
                    }
                    if let Some(rest) = echo.rest() { yield Ok(rest) }
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
            // Its own word counts, as the least.
            let wait = wait.map(|wait| wait.max(error.retry_after.unwrap_or_default()));
            let told = match &key {
                Some(key) => key.hide_in(&error.message),
                None => error.message.clone(),
            };
            tracing::info!(
                service = question.service, model = question.model, attempt,
                status = error.status, fault = ?error.fault, request = error.request_id,
                took_ms = millis(asked.elapsed()), wait_ms = wait.map(millis),
                "a service failed: {told}"
            );
            let Some(wait) = wait else {
                yield Err(ProviderError { message: told, ..error });
                return;
            };
            attempt += 1;
            yield Ok(ModelEvent::Retrying { attempt, wait_ms: millis(wait), reason: told });
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

/// An answer that has begun: what comes of it, and the first piece, unless it has none.
struct Begun {
    response: Response,
    first: Option<bytes::Bytes>,
}

/// What an answer says.
fn decoded(
    begun: Begun,
    dialect: Dialect,
    mut decoder: Box<dyn Decoder>,
    limits: TimeLimits,
) -> impl Stream<Item = Result<ModelEvent, ProviderError>> + Send + 'static {
    stream! {
        let headers = begun.response.headers().clone();
        let mut first = begun.first.as_deref().and_then(first_sign);
        let mut held: Vec<io::Result<bytes::Bytes>> = begun.first.into_iter().map(Ok).collect();
        let writes = Arc::new(AtomicBool::new(false));
        let mut pieces = pieces(begun.response, limits, writes.clone()).boxed();
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
        if let Some(b'<') = first {
            yield Err(ProviderError::new(Fault::Page, "A web page came instead of a stream."));
            return;
        }
        drop(headers);
        let mut events = SseStream::from_bytes_stream(pieces.boxed());
        let mut answer = 0;
        loop {
            let next = if decoder.has_reason() {
                // The answer is whole, so whatever goes wrong from here on is its end.
                let next = timeout(limits.ending, events.next()).await;
                next.ok().flatten().filter(Result::is_ok)
            } else {
                events.next().await
            };
            let decoded = match next {
                Some(Ok(event)) => match event.data {
                    Some(data) => decoder.feed(&data),
                    None => continue,
                },
                Some(Err(error)) => {
                    let told = causes(&error);
                    // Asked again it would say the same.
                    let endless = told.contains(ENDLESS);
                    let fault = if endless { Fault::Garbled } else { Fault::Truncated };
                    Err(ProviderError::new(fault, told))
                }
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
                        answer += weight(&event);
                        if answer > MAX_ANSWER_BYTES {
                            yield Err(ProviderError::new(Fault::Garbled, "its answer has no end"));
                            return;
                        }
                        if let Some(goes_on) = goes_on_writing(&event) {
                            writes.store(goes_on, Ordering::Relaxed);
                        }
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

/// Whether words are being written after this, and not thought about what comes next. Nothing where it says nothing
/// of that.
fn goes_on_writing(event: &ModelEvent) -> Option<bool> {
    match event {
        ModelEvent::Text(_) => Some(true),
        ModelEvent::Reasoning(_)
        | ModelEvent::ToolCall { .. }
        | ModelEvent::PartEnd(_)
        | ModelEvent::Stop(_) => Some(false),
        ModelEvent::Usage(_) | ModelEvent::Retrying { .. } => None,
    }
}

/// How much an event adds to the answer.
fn weight(event: &ModelEvent) -> usize {
    match event {
        ModelEvent::Text(text) | ModelEvent::Reasoning(text) => text.len(),
        ModelEvent::ToolCall { input: Ok(input), .. } => input.to_string().len(),
        ModelEvent::ToolCall { input: Err(text), .. } => text.len(),
        ModelEvent::PartEnd(_)
        | ModelEvent::Usage(_)
        | ModelEvent::Retrying { .. }
        | ModelEvent::Stop(_) => 0,
    }
}

async fn send(
    client: &Client,
    limits: TimeLimits,
    question: &Question,
    key: Option<&Key>,
) -> Result<Begun, ProviderError> {
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
    let begun = match timeout(limits.first_byte, begin(request)).await {
        Ok(Ok(begun)) => begun,
        // The address may hold what a person typed; the causes say enough.
        Ok(Err(error)) => {
            return Err(ProviderError::new(Fault::Unreached, causes(&error.without_url())));
        }
        Err(_) => {
            let told = format!("no answer began within {} s", limits.first_byte.as_secs());
            return Err(ProviderError::new(Fault::Unreached, told));
        }
    };
    if begun.response.status().is_success() {
        return Ok(begun);
    }
    let response = begun.response;
    let status = response.status().as_u16();
    let headers = response.headers().clone();
    let body = timeout(limits.idle, read_some(response)).await.unwrap_or_default();
    let error = question.dialect.error(status, &|name| named(&headers, name), &body);
    Err(ProviderError { request_id: request_id(&headers, key), ..question.below(error) })
}

/// Waits for the first piece too: a service may send its headers long before it has anything to say.
async fn begin(request: RequestBuilder) -> reqwest::Result<Begun> {
    let mut response = request.send().await?;
    // A refusal has said enough with its status; what it says beside that is read apart.
    let first = if response.status().is_success() { response.chunk().await? } else { None };
    Ok(Begun { response, first })
}

/// What a service calls a request, as far as it looks like a name.
fn request_id(headers: &header::HeaderMap, key: Option<&Key>) -> Option<String> {
    let id = ["x-request-id", "request-id"].into_iter().find_map(|name| named(headers, name));
    let id = id.filter(|id| id.len() <= MAX_REQUEST_ID)?;
    Some(key.map_or_else(|| id.clone(), |key| key.hide_in(&id)))
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
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
