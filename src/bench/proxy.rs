//! A bare proxy: what comes is passed on untouched. It is the limit for everything that sits in between.

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::get,
    serve::ListenerExt,
};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use tokio::net::TcpListener;

#[derive(Clone)]
struct Upstream {
    client: Client<HttpConnector, Body>,
    port: u16,
}

/// Serves for ever. One path is answered here: the least that a server of this kind can do.
pub async fn serve(port: u16, service_port: u16) {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client = Client::builder(TokioExecutor::new()).build(connector);
    let router = Router::new()
        .route("/healthz", get(|| async { "{\"status\":\"ok\"}" }))
        .fallback(forward)
        .with_state(Upstream { client, port: service_port });
    let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
    let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
    axum::serve(listener, router).await.unwrap();
}

async fn forward(State(upstream): State<Upstream>, mut request: Request) -> Response {
    let uri = format!("http://127.0.0.1:{}{}", upstream.port, request.uri());
    *request.uri_mut() = uri.parse().unwrap();
    match upstream.client.request(request).await {
        Ok(response) => response.map(Body::new).into_response(),
        Err(_) => StatusCode::BAD_GATEWAY.into_response(),
    }
}
