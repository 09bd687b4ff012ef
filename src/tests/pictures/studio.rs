//! An image service, or a bucket, played on a real socket: it answers what its script says next, and
//! remembers who asked for what.

use std::{
    collections::{HashMap, VecDeque},
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, Method, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use serde_json::Value;
use tokio::{net::TcpListener, sync::Notify, task::JoinHandle};

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Asked {
    pub path: String,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Asked {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

/// One answer: a status, headers and a body.
pub type Reply = (u16, Vec<(&'static str, String)>, Vec<u8>);

/// An answer with a body and nothing else.
pub fn reply(status: u16, body: impl Into<Vec<u8>>) -> Reply {
    (status, Vec::new(), body.into())
}

/// What the service is asked and answers.
#[derive(Clone, Default)]
struct Shared {
    script: Arc<Mutex<VecDeque<Reply>>>,
    asked: Arc<Mutex<Vec<Asked>>>,
    came: Arc<Notify>,
    kept: Arc<Mutex<HashMap<String, Bytes>>>,
}

/// The service. It is there until it is dropped.
pub struct Studio {
    pub address: SocketAddr,
    shared: Shared,
    serving: JoinHandle<()>,
}

impl Drop for Studio {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Studio {
    /// A service that answers by its script; when that is over, it never does.
    pub async fn start() -> Self {
        Self::serve(|shared| Router::new().fallback(play).with_state(shared)).await
    }

    /// A bucket that keeps what it is given.
    pub async fn bucket() -> Self {
        Self::serve(|shared| Router::new().fallback(keep).with_state(shared)).await
    }

    async fn serve(router: impl FnOnce(Shared) -> Router) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Shared::default();
        let router = router(shared.clone());
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, shared, serving }
    }

    /// Says what happens to the next requests.
    pub fn play(&self, script: impl IntoIterator<Item = Reply>) {
        *self.shared.script.lock().unwrap() = script.into_iter().collect();
    }

    /// The requests since this was asked last.
    pub fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.shared.asked.lock().unwrap())
    }

    /// Waits until a request has arrived.
    pub async fn was_asked(&self) {
        self.shared.came.notified().await;
    }

    /// What lies in the bucket.
    pub fn kept(&self) -> Vec<String> {
        self.shared.kept.lock().unwrap().keys().cloned().collect()
    }
}

impl Shared {
    fn note(&self, uri: &Uri, headers: HeaderMap, body: Bytes) {
        let asked = Asked { path: uri.path().to_owned(), headers, body };
        self.asked.lock().unwrap().push(asked);
        self.came.notify_one();
    }
}

async fn play(State(shared): State<Shared>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    shared.note(&uri, headers, body);
    let next = shared.script.lock().unwrap().pop_front();
    let Some((status, headers, body)) = next else { return std::future::pending().await };
    let mut response = (StatusCode::from_u16(status).unwrap(), body).into_response();
    for (name, value) in headers {
        response.headers_mut().insert(name, value.parse().unwrap());
    }
    response
}

async fn keep(
    State(shared): State<Shared>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    shared.note(&uri, headers, body.clone());
    let mut kept = shared.kept.lock().unwrap();
    let tag = [(header::ETAG, "\"1\""), (header::LAST_MODIFIED, "Mon, 16 Nov 2026 21:00:00 GMT")];
    match method {
        Method::PUT => {
            kept.insert(uri.path().to_owned(), body);
            tag.into_response()
        }
        Method::DELETE => {
            kept.remove(uri.path());
            StatusCode::NO_CONTENT.into_response()
        }
        _ => match kept.get(uri.path()) {
            Some(body) => (tag, body.clone()).into_response(),
            None => StatusCode::NOT_FOUND.into_response(),
        },
    }
}
