//! A client that asks, one by one or all at once, and keeps time.

use std::{
    ops::Deref,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    body::{Body, Bytes},
    http::{Request, Response, header},
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

impl Times {
    pub fn of(mut times: Vec<Duration>) -> Self {
        times.sort();
        let at = |percent: usize| times[times.len() * percent / 100];
        Self { p50: at(50), p99: at(99) }
    }
}

/// How an answer came.
pub struct Answer {
    /// Until its first token was here.
    pub first: Duration,
    /// How many events it had in all.
    pub events: usize,
    /// Its last bytes, for when something is wrong with it.
    pub tail: Bytes,
}

/// Requests to one server. Cheap to clone.
#[derive(Clone)]
pub struct Load(Arc<Inner>);

pub struct Inner {
    client: Client<HttpConnector, Body>,
    base: String,
}

impl Deref for Load {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl Load {
    pub fn new(port: u16) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new()).build(connector);
        Self(Arc::new(Inner { client, base: format!("http://127.0.0.1:{port}") }))
    }

    /// Asks on several connections for a while; gives requests per second.
    pub async fn at_once(&self, path: &str, connections: usize, span: Duration) -> f64 {
        let started = Instant::now();
        let askers = (0..connections).map(|_| {
            let (load, path) = (self.clone(), path.to_owned());
            tokio::spawn(async move {
                let mut count = 0_u32;
                while started.elapsed() < span {
                    load.read(&path).await.expect("a good answer");
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
}

impl Inner {
    /// Sends one request and gives the body of a good answer.
    async fn send(&self, request: Request<Body>) -> Option<Bytes> {
        let response = self.client.request(request).await.ok()?;
        let good = response.status().is_success();
        let bytes = response.into_body().collect().await.ok()?.to_bytes();
        good.then_some(bytes)
    }

    /// The body of a good answer.
    pub async fn read(&self, path: &str) -> Option<Bytes> {
        let request = Request::get(format!("{}{path}", self.base));
        self.send(request.header(header::ACCEPT_ENCODING, "br").body(Body::empty()).unwrap()).await
    }

    fn posted(&self, path: &str, body: String) -> Request<Body> {
        Request::post(format!("{}{path}", self.base))
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(body))
            .unwrap()
    }

    pub async fn post(&self, path: &str, body: String) {
        self.send(self.posted(path, body)).await.expect("a good answer");
    }

    /// Begins an answer; nothing when it is refused.
    pub async fn open(&self, path: &str, body: String) -> Option<Body> {
        let response: Response<_> = self.client.request(self.posted(path, body)).await.ok()?;
        response.status().is_success().then(|| Body::new(response.into_body()))
    }

    /// Opens a stream that has no end; nothing when it is refused.
    pub async fn watch(&self, path: &str) -> Option<Body> {
        let request = Request::get(format!("{}{path}", self.base)).body(Body::empty()).unwrap();
        let response = self.client.request(request).await.ok()?;
        response.status().is_success().then(|| Body::new(response.into_body()))
    }

    /// Begins an answer, and says which run gives it.
    pub async fn begin(&self, path: &str, body: String) -> (String, Body) {
        let response = self.client.request(self.posted(path, body)).await.expect("an answer");
        let run = response.headers()["greenroom-run-id"].to_str().unwrap().to_owned();
        (run, Body::new(response.into_body()))
    }

    /// How long it takes until so many events are here, and the number of the last of them.
    pub async fn events(&self, path: &str, count: usize) -> (Duration, usize) {
        let request = Request::get(format!("{}{path}", self.base)).body(Body::empty()).unwrap();
        let started = Instant::now();
        let mut body = self.client.request(request).await.expect("events").into_body();
        let mut heard = String::new();
        loop {
            let frame = body.frame().await.expect("more events").expect("no break");
            heard.push_str(&String::from_utf8_lossy(frame.data_ref().expect("data")));
            if heard.matches("\n\n").count() >= count {
                break;
            }
        }
        let took = started.elapsed();
        let last = heard.rsplit("id: ").next().unwrap();
        (took, last.split('\n').next().unwrap().parse().expect("the number of an event"))
    }

    /// Reads an answer to its end. Its first token is where `mark` stands for the first time.
    pub async fn answer(&self, path: &str, body: String, mark: &str) -> Answer {
        let request = self.posted(path, body);
        let started = Instant::now();
        let response = self.client.request(request).await.expect("an answer");
        let mut body = response.into_body();
        let (mut first, mut lines, mut tail) = (None, 0, Bytes::new());
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.expect("an answer without a break").into_data() else { continue };
            if first.is_none() && data.windows(mark.len()).any(|some| some == mark.as_bytes()) {
                first = Some(started.elapsed());
            }
            lines += count_lines(&data);
            tail = data;
        }
        let Some(first) = first else {
            panic!("no token came: {}", String::from_utf8_lossy(&tail))
        };
        Answer { first, events: lines / 2, tail }
    }

    /// How long one request takes.
    pub async fn time(&self, path: &str) -> Duration {
        let started = Instant::now();
        self.read(path).await.expect("a good answer");
        started.elapsed()
    }

    /// The files that the first page names, and their sizes on the wire.
    pub async fn first_page_files(&self) -> Vec<(String, usize)> {
        let page = self.read("/").await.expect("the first page");
        let page = String::from_utf8_lossy(&page).into_owned();
        let mut files: Vec<&str> =
            page.split('"').filter(|text| text.starts_with("/pkg/greenroom.")).collect();
        files.sort_unstable();
        files.dedup();
        let mut out = Vec::new();
        for file in files {
            let bytes = self.read(file).await.expect("a file of the page");
            out.push((file.to_owned(), bytes.len()));
        }
        out
    }
}

/// Reads along and forgets.
pub async fn drain(mut body: Body) {
    while let Some(Ok(_)) = body.frame().await {}
}

/// Every event ends with an empty line, so it has two line ends: cheaper to count than to look for.
pub fn count_lines(data: &[u8]) -> usize {
    data.iter().filter(|byte| **byte == b'\n').count()
}
