//! A client that asks, one by one or all at once, and keeps time.

use std::time::{Duration, Instant};

use axum::{
    body::{Body, Bytes},
    http::{Request, header},
};
use http_body_util::BodyExt;
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};

/// How long requests took.
pub struct Times {
    pub p50: Duration,
    pub p99: Duration,
}

/// Requests to one server.
#[derive(Clone)]
pub struct Load {
    client: Client<HttpConnector, Body>,
    base: String,
}

impl Load {
    pub fn new(port: u16) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new()).build(connector);
        Self { client, base: format!("http://127.0.0.1:{port}") }
    }

    /// Sends one request and gives the body of a good answer.
    async fn send(&self, request: Request<Body>) -> Option<Bytes> {
        let response = self.client.request(request).await.ok()?;
        let good = response.status().is_success();
        let bytes = response.into_body().collect().await.ok()?.to_bytes();
        good.then_some(bytes)
    }

    fn get(&self, path: &str) -> Request<Body> {
        let uri = format!("{}{path}", self.base);
        Request::get(uri).header(header::ACCEPT_ENCODING, "br").body(Body::empty()).unwrap()
    }

    pub async fn post(&self, path: &str, body: String) {
        let request = Request::post(format!("{}{path}", self.base))
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(body))
            .unwrap();
        self.send(request).await.expect("a good answer");
    }

    /// Waits until the server answers.
    pub async fn wait(&self, path: &str) {
        while self.send(self.get(path)).await.is_none() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Asks `count` times, one after another.
    pub async fn one_by_one(&self, path: &str, count: usize) -> Times {
        for _ in 0..20 {
            self.send(self.get(path)).await.expect("a good answer");
        }
        let mut times = Vec::with_capacity(count);
        for _ in 0..count {
            let started = Instant::now();
            self.send(self.get(path)).await.expect("a good answer");
            times.push(started.elapsed());
        }
        times.sort();
        Times { p50: times[count / 2], p99: times[count * 99 / 100] }
    }

    /// Asks on several connections for a while; gives requests per second.
    pub async fn at_once(&self, path: &str, connections: usize, span: Duration) -> f64 {
        let started = Instant::now();
        let askers = (0..connections).map(|_| {
            let (load, path) = (self.clone(), path.to_owned());
            tokio::spawn(async move {
                let mut count = 0_u32;
                while started.elapsed() < span {
                    load.send(load.get(&path)).await.expect("a good answer");
                    count += 1;
                }
                count
            })
        });
        let mut count = 0;
        for asker in askers.collect::<Vec<_>>() {
            count += asker.await.unwrap();
        }
        f64::from(count) / started.elapsed().as_secs_f64()
    }

    /// The files that the first page names, and their sizes on the wire.
    pub async fn first_page_files(&self) -> Vec<(String, usize)> {
        let page = self.send(self.get("/")).await.expect("the first page");
        let page = String::from_utf8_lossy(&page).into_owned();
        let mut files: Vec<&str> =
            page.split('"').filter(|text| text.starts_with("/pkg/greenroom.")).collect();
        files.sort_unstable();
        files.dedup();
        let mut out = Vec::new();
        for file in files {
            let bytes = self.send(self.get(file)).await.expect("a file of the page");
            out.push((file.to_owned(), bytes.len()));
        }
        out
    }
}
