//! A receiver of OTLP on a real socket, which reads protobuf by OpenTelemetry's own definitions.

use std::{
    collections::{BTreeMap, VecDeque},
    io::Read,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    routing::post,
};
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::{KeyValue, any_value::Value},
    trace::v1::Span,
};
use prost::Message;
use tokio::{net::TcpListener, sync::mpsc};

/// How long anything that must happen may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// What came in one request.
pub struct Received {
    pub headers: HeaderMap,
    pub bytes: Vec<u8>,
    pub request: ExportTraceServiceRequest,
}

impl Received {
    pub fn spans(&self) -> Vec<Span> {
        let resources = self.request.resource_spans.iter();
        resources.flat_map(|one| &one.scope_spans).flat_map(|one| one.spans.clone()).collect()
    }

    /// The only span whose name begins so.
    pub fn span(&self, name: &str) -> Span {
        let mut found: Vec<Span> =
            self.spans().into_iter().filter(|span| span.name.starts_with(name)).collect();
        assert_eq!(found.len(), 1, "{name}: {:?}", self.spans());
        found.remove(0)
    }
}

/// The attributes of a span, in words.
pub fn attributes(span: &Span) -> BTreeMap<String, String> {
    let told = |one: &KeyValue| {
        let value = one.value.as_ref().and_then(|value| value.value.as_ref());
        let value = match value.expect("every attribute has a value") {
            Value::StringValue(text) => text.clone(),
            Value::IntValue(number) => number.to_string(),
            Value::DoubleValue(number) => number.to_string(),
            Value::ArrayValue(list) => format!("{:?}", list.values),
            other => panic!("{other:?}"),
        };
        (one.key.clone(), value)
    };
    span.attributes.iter().map(told).collect()
}

#[derive(Clone)]
struct Shared {
    /// What it answers next; after that all is well.
    statuses: Arc<Mutex<VecDeque<u16>>>,
    received: mpsc::UnboundedSender<Received>,
    refused: Arc<AtomicUsize>,
}

/// The receiver. It is there as long as the test.
pub struct Receiver {
    pub address: SocketAddr,
    received: mpsc::UnboundedReceiver<Received>,
    refused: Arc<AtomicUsize>,
}

impl Receiver {
    /// A receiver that answers so at first.
    pub async fn answering(statuses: &[u16]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::at(listener, statuses)
    }

    /// A receiver on a socket that is there already.
    pub fn at(listener: TcpListener, statuses: &[u16]) -> Self {
        let (sender, received) = mpsc::unbounded_channel();
        let statuses = Arc::new(Mutex::new(statuses.iter().copied().collect()));
        let refused = Arc::new(AtomicUsize::new(0));
        let shared = Shared { statuses, received: sender, refused: refused.clone() };
        let router = Router::new().route("/v1/traces", post(take)).with_state(shared);
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, received, refused }
    }

    pub fn url(&self) -> String {
        format!("http://{}/v1/traces", self.address)
    }

    /// The next request that it took well.
    pub async fn next(&mut self) -> Received {
        let next = tokio::time::timeout(PATIENCE, self.received.recv()).await;
        next.expect("nothing came").unwrap()
    }

    /// How many it did not take.
    pub fn refused(&self) -> usize {
        self.refused.load(Ordering::Relaxed)
    }

    /// How many more came.
    pub fn waiting(&self) -> usize {
        self.received.len()
    }
}

async fn take(State(shared): State<Shared>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let status = shared.statuses.lock().unwrap().pop_front();
    if let Some(status) = status {
        shared.refused.fetch_add(1, Ordering::Relaxed);
        return StatusCode::from_u16(status).unwrap();
    }
    assert_eq!(headers["content-type"], "application/x-protobuf");
    let packed = headers.get("content-encoding").is_some_and(|value| value == "gzip");
    let mut bytes = body.to_vec();
    if packed {
        bytes.clear();
        flate2::read::GzDecoder::new(body.as_ref()).read_to_end(&mut bytes).unwrap();
    }
    let request = ExportTraceServiceRequest::decode(bytes.as_slice()).unwrap();
    shared.received.send(Received { headers, bytes, request }).unwrap_or_default();
    StatusCode::OK
}
