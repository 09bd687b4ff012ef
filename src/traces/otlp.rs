//! Sends traces to whoever speaks OTLP over HTTP: a collector of OpenTelemetry, or Langfuse.

mod fitting;
mod headers;
mod message;
mod spans;

use std::{sync::Arc, time::Duration};

use backon::{BackoffBuilder, ExponentialBuilder};
use flate2::{Compression, write::GzEncoder};
use prost::Message;
use reqwest::{Client, StatusCode, header, redirect::Policy};

use self::{
    message::{
        ExportTraceServiceRequest, ExportTraceServiceResponse, InstrumentationScope, Resource,
        ResourceSpans, ScopeSpans,
    },
    spans::{Manner, text},
};
use crate::domain::{sent::Sent, trace::Trace};

/// How often some traces are sent in all.
const ATTEMPTS: usize = 5;
/// The longest wait before the next attempt, whatever the receiver says.
const MAX_WAIT: Duration = Duration::from_secs(60);
/// The conventions that the present names are from.
const SCHEMA: &str = "https://opentelemetry.io/schemas/1.38.0";
/// The last before they changed.
const OLDER_SCHEMA: &str = "https://opentelemetry.io/schemas/1.36.0";

/// Whether what was said goes along.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Content {
    /// Prompts, answers, and what tools are given and give stay here.
    #[default]
    LeftOut,
    /// They go along.
    Included,
}

/// Which version of the conventions names things.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Names {
    /// From 1.37 on: `gen_ai.provider.name`, `gen_ai.input.messages`.
    #[default]
    Present,
    /// Up to 1.36: `gen_ai.system`, `gen_ai.prompt`.
    Older,
}

/// Where traces are sent, and how.
#[derive(Clone, Debug)]
pub struct OtlpSettings {
    /// The whole address.
    pub url: String,
    /// Where further headers are; nothing when there are none.
    pub headers_ref: String,
    /// Whether what was said goes along.
    pub content: Content,
    /// How things are named.
    pub names: Names,
    /// Whether what is sent is compressed.
    pub gzip: bool,
    /// What this process is called.
    pub node: String,
    /// How long one attempt may take.
    pub within: Duration,
    /// The wait before the second attempt; it doubles from there.
    pub first_wait: Duration,
}

/// Where values for references come from.
type Environment = dyn Fn(&str) -> Option<String> + Send + Sync;

/// What sends traces.
#[derive(Clone)]
pub struct Exporter {
    client: Client,
    settings: Arc<OtlpSettings>,
    environment: Arc<Environment>,
}

/// Why traces were not sent. It never tells a header's value.
#[derive(Debug, thiserror::Error)]
pub enum ExporterError {
    /// Nobody answered, or not in time.
    #[error("the receiver cannot be reached: {0}")]
    Away(String),
    /// It is not ready.
    #[error("the receiver is not ready (status {0})")]
    NotReady(u16),
    /// It does not take them.
    #[error("the receiver refused them (status {0})")]
    Refused(u16),
    /// The headers cannot be had.
    #[error("{0}")]
    Headers(String),
    /// No connection can be prepared.
    #[error("connections cannot be prepared: {0}")]
    Client(String),
}

impl Exporter {
    /// What sends traces there, with headers from this environment.
    pub fn new(
        settings: OtlpSettings,
        environment: Arc<Environment>,
    ) -> Result<Self, ExporterError> {
        // Another part of the program may have chosen already; then that choice stands.
        drop(rustls::crypto::ring::default_provider().install_default());
        let client = Client::builder()
            .timeout(settings.within)
            // A receiver that points elsewhere would be given the key there.
            .redirect(Policy::none())
            .user_agent(concat!("greenroom/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| ExporterError::Client(error.to_string()))?;
        Ok(Self { client, settings: Arc::new(settings), environment })
    }

    /// Whether what was said goes along.
    pub fn content(&self) -> Content {
        self.settings.content
    }

    /// Sends some traces, again when the receiver is not ready.
    pub async fn send(&self, traces: &[(Trace, Option<Sent>)]) -> Result<(), ExporterError> {
        if traces.is_empty() {
            return Ok(());
        }
        let body = self.body(traces);
        let mut waits = ExponentialBuilder::default()
            .with_min_delay(self.settings.first_wait)
            .with_max_delay(self.settings.first_wait * 16)
            .with_jitter()
            .with_max_times(ATTEMPTS - 1)
            .build();
        loop {
            let (error, wish) = match self.post(body.clone()).await {
                Ok(()) => return Ok(()),
                Err(failed) => failed,
            };
            let again = matches!(error, ExporterError::Away(_) | ExporterError::NotReady(_));
            let Some(wait) = waits.next().filter(|_| again) else { return Err(error) };
            tokio::time::sleep(wait.max(wish.min(MAX_WAIT))).await;
        }
    }

    /// The traces as they are sent.
    fn body(&self, traces: &[(Trace, Option<Sent>)]) -> bytes::Bytes {
        let OtlpSettings { content, names, node, gzip, .. } = self.settings.as_ref();
        let manner = Manner { content: *content, names: *names };
        let told =
            traces.iter().flat_map(|(trace, sent)| spans::spans(trace, sent.as_ref(), manner));
        let schema_url = match names {
            Names::Present => SCHEMA,
            Names::Older => OLDER_SCHEMA,
        };
        let version = env!("CARGO_PKG_VERSION");
        let resource = Resource {
            attributes: vec![
                text("service.name", "greenroom"),
                text("service.version", version),
                text("service.instance.id", node),
            ],
        };
        let scope = InstrumentationScope { name: "greenroom".into(), version: version.into() };
        let spans =
            ScopeSpans { scope: Some(scope), spans: told.collect(), schema_url: schema_url.into() };
        let request = ExportTraceServiceRequest {
            resource_spans: vec![ResourceSpans {
                resource: Some(resource),
                scope_spans: vec![spans],
            }],
        };
        let plain = request.encode_to_vec();
        if *gzip { packed(&plain).into() } else { plain.into() }
    }

    /// Sends a body once. What failed comes with the wait that the receiver wishes.
    async fn post(&self, body: bytes::Bytes) -> Result<(), (ExporterError, Duration)> {
        let at_once = |error: ExporterError| (error, Duration::ZERO);
        let headers = headers::read(&self.settings.headers_ref, self.environment.as_ref());
        let headers = headers.map_err(|told| at_once(ExporterError::Headers(told)))?;
        let mut request = self
            .client
            .post(&self.settings.url)
            .headers(headers)
            .header(header::CONTENT_TYPE, "application/x-protobuf");
        if self.settings.gzip {
            request = request.header(header::CONTENT_ENCODING, "gzip");
        }
        let response = request.body(body).send().await;
        // The address may hold a name and a password; the causes say enough.
        let response = response
            .map_err(|error| at_once(ExporterError::Away(error.without_url().to_string())))?;
        let status = response.status();
        if status.is_success() {
            let answer = response.bytes().await.unwrap_or_default();
            tell_rejected(&answer);
            return Ok(());
        }
        let wish =
            response.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok());
        let wish = wish.and_then(|seconds| seconds.parse().ok()).map(Duration::from_secs);
        let error = match status {
            StatusCode::TOO_MANY_REQUESTS => ExporterError::NotReady(status.as_u16()),
            status if status.is_server_error() => ExporterError::NotReady(status.as_u16()),
            status => ExporterError::Refused(status.as_u16()),
        };
        Err((error, wish.unwrap_or_default()))
    }
}

/// A receiver may take some spans and not others.
fn tell_rejected(answer: &[u8]) {
    let told = ExportTraceServiceResponse::decode(answer).ok();
    let rejected = told.and_then(|told| told.partial_success);
    if let Some(rejected) = rejected.filter(|rejected| rejected.rejected_spans > 0) {
        tracing::warn!(spans = rejected.rejected_spans, "the receiver of traces rejected some");
    }
}

fn packed(plain: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    // Writing into memory does not fail.
    encoder.write_all(plain).and_then(|()| encoder.finish()).unwrap_or_default()
}
