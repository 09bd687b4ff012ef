//! A service that runs models, played on a real socket: it does to each request what its script says
//! next, and remembers who asked for what.
//!
//! `{key}` in what it says stands for the key that it was sent: services like to quote it.

use std::{
    collections::{BTreeMap, VecDeque},
    io,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
    time::{Instant, error::Elapsed, interval_at},
};

/// How long anything that must happen may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the service does with one request.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The status and the headers; without them, not even those come.
    head: Option<(u16, Vec<(&'static str, String)>)>,
    pieces: Vec<String>,
    every: Option<Duration>,
    then: Then,
}

/// What the service does after all it had to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// It ends the body.
    End,
    /// It closes the connection, and the body has no end.
    Leave,
    /// It resets the connection.
    Reset,
    /// It says nothing more until the other side goes away.
    Stall,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Asked {
    pub path: String,
    pub headers: BTreeMap<String, String>,
    pub body: Value,
    pub at: Instant,
}

/// The service. It is there until it is dropped.
pub struct FakeService {
    pub address: SocketAddr,
    shared: Arc<Shared>,
    listening: tokio::task::JoinHandle<()>,
}

struct Shared {
    script: Mutex<VecDeque<Reply>>,
    asked: Mutex<Vec<Asked>>,
    /// How many have asked.
    met: watch::Sender<usize>,
    /// How many went away while it stalled.
    gone: watch::Sender<usize>,
}

impl Reply {
    /// A good answer: a stream of these pieces.
    pub fn stream(pieces: Vec<String>) -> Self {
        let headers = vec![("content-type", "text/event-stream".to_owned())];
        Self { head: Some((200, headers)), pieces, every: None, then: Then::End }
    }

    /// An answer that is no success.
    pub fn status(status: u16, body: impl ToString) -> Self {
        Self { head: Some((status, Vec::new())), ..Self::stream(vec![body.to_string()]) }
    }

    /// No answer at all.
    pub fn none(then: Then) -> Self {
        Self { head: None, then, ..Self::stream(Vec::new()) }
    }

    pub fn with(mut self, name: &'static str, value: impl ToString) -> Self {
        self.head
            .as_mut()
            .expect("an answer without a head has no headers")
            .1
            .push((name, value.to_string()));
        self
    }

    pub fn then(self, then: Then) -> Self {
        Self { then, ..self }
    }

    /// One piece after each such time, instead of all at once.
    pub fn every(self, every: Duration) -> Self {
        Self { every: Some(every), ..self }
    }
}

impl FakeService {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            script: Mutex::default(),
            asked: Mutex::default(),
            met: watch::Sender::new(0),
            gone: watch::Sender::new(0),
        });
        let serving = shared.clone();
        let listening = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve(socket, serving.clone()));
            }
        });
        Self { address, shared, listening }
    }

    /// Says what happens to the next requests; whatever was left to happen does not.
    pub fn play(&self, script: impl IntoIterator<Item = Reply>) {
        *self.shared.script.lock().unwrap() = script.into_iter().collect();
    }

    /// The requests since this was asked last.
    pub fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.shared.asked.lock().unwrap())
    }

    /// Waits until so many have asked.
    pub async fn met(&self, count: usize) {
        reach(&self.shared.met, count).await.expect("nobody asked");
    }

    /// Waits until so many have gone away while it stalled.
    pub async fn gone(&self, count: usize) {
        reach(&self.shared.gone, count).await.expect("the connection was left open");
    }
}

async fn reach(counter: &watch::Sender<usize>, count: usize) -> Result<(), Elapsed> {
    let mut counter = counter.subscribe();
    let reached = counter.wait_for(|counted| *counted >= count);
    tokio::time::timeout(PATIENCE, reached).await.map(drop)
}

impl Drop for FakeService {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

impl Asked {
    /// The key, and the header that it came in.
    pub fn key(&self) -> Option<(&str, &str)> {
        let named = ["x-api-key", "x-goog-api-key", "authorization"];
        let (name, value) = self.headers.iter().find(|(name, _)| named.contains(&name.as_str()))?;
        Some((name, value.trim_start_matches("Bearer ")))
    }
}

/// Whoever goes away in the middle is not answered to the end.
async fn serve(mut socket: TcpStream, shared: Arc<Shared>) {
    if let Ok(Some(asked)) = read(&mut socket).await {
        drop(answer(socket, &shared, asked).await);
    }
}

async fn read(socket: &mut TcpStream) -> io::Result<Option<Asked>> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at;
        }
        if socket.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    };
    let text = String::from_utf8_lossy(&bytes[..head]).into_owned();
    let mut lines = text.split("\r\n");
    let path = lines.next().and_then(|line| line.split(' ').nth(1)).unwrap_or_default();
    let headers = lines.filter_map(|line| line.split_once(": "));
    let headers: BTreeMap<String, String> =
        headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
    let length = headers.get("content-length").and_then(|length| length.parse().ok());
    let length: usize = length.expect("a request says how long it is");
    while bytes.len() < head + 4 + length {
        if socket.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    }
    let body = serde_json::from_slice(&bytes[head + 4..]).expect("a request is JSON");
    Ok(Some(Asked { path: path.to_owned(), headers, body, at: Instant::now() }))
}

async fn answer(mut socket: TcpStream, shared: &Shared, asked: Asked) -> io::Result<()> {
    let key = asked.key().map(|(_, key)| key.to_owned()).unwrap_or_default();
    shared.asked.lock().unwrap().push(asked);
    shared.met.send_modify(|met| *met += 1);
    let next = shared.script.lock().unwrap().pop_front();
    let reply = next.unwrap_or_else(|| Reply::status(418, "Nothing is scripted."));
    socket.set_nodelay(true)?;
    if let Some((status, headers)) = &reply.head {
        let mut head =
            format!("HTTP/1.1 {status} So\r\ntransfer-encoding: chunked\r\nconnection: close\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {}\r\n", value.replace("{key}", &key)));
        }
        socket.write_all(format!("{head}\r\n").as_bytes()).await?;
    }
    let mut beat = reply.every.map(|every| interval_at(Instant::now() + every, every));
    // An empty chunk would be the end.
    for piece in reply.pieces.iter().filter(|piece| !piece.is_empty()) {
        if let Some(beat) = &mut beat {
            beat.tick().await;
        }
        let piece = piece.replace("{key}", &key);
        socket.write_all(format!("{:x}\r\n{piece}\r\n", piece.len()).as_bytes()).await?;
    }
    match reply.then {
        Then::End => {
            socket.write_all(b"0\r\n\r\n").await?;
            socket.shutdown().await
        }
        Then::Leave => socket.shutdown().await,
        Then::Reset => socket.set_zero_linger(),
        Then::Stall => {
            // Nothing more is said over there either: what comes is the end of the connection.
            let mut nothing = [0; 64];
            while socket.read(&mut nothing).await.is_ok_and(|length| length > 0) {}
            shared.gone.send_modify(|gone| *gone += 1);
            Ok(())
        }
    }
}
