//! Accepting connections: not more than we can hold, none that never says what it wants, each with who is at
//! its other end.

use std::{
    io,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::{Router, body::Body};
use hyper::{Request, body::Incoming};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto::Builder,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
};
use tokio_util::sync::CancellationToken;
use tower_service::Service;

use super::{Peer, counts::Counts};
use crate::domain::internet::neighbourhood;

/// How long a client may leave what it is sent unread.
const UNREAD_TIME: Duration = Duration::from_secs(120);
/// How many connections strangers from one address may have, or from one house with many of IPv6.
const FROM_ONE_ADDRESS: usize = 256;
/// How often a connection of HTTP/2 is asked whether it is still there, and how long it may take to say so.
const STILL_THERE: Duration = Duration::from_secs(30);
/// How much a client may ask for at once on one connection of HTTP/2.
const AT_ONCE: u32 = 256;
/// The most bytes of a request's headers.
const MAX_HEADER_BYTES: u32 = 64 * 1024;
/// The most that is held of what a client has not taken yet, beside what the system holds.
const MAX_UNREAD_BYTES: usize = 64 * 1024;
/// How long to wait when the system has no further connection to give.
const NO_MORE_FILES: Duration = Duration::from_millis(200);

/// How many connections there may be, and for how long one may be silent.
pub struct Room {
    /// From everywhere.
    pub most: usize,
    /// The proxies from which as many come as there are people behind them.
    pub trusted: Vec<IpAddr>,
    /// How long clients may take.
    pub patience: Patience,
}

/// How long clients may take.
#[derive(Clone, Copy)]
pub struct Patience {
    /// To say for the first time what they want.
    pub first: Duration,
    /// To say it later: proxies keep connections open for a minute, to use them again.
    pub headers: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { first: Duration::from_secs(30), headers: Duration::from_secs(75) }
    }
}

/// Answers on this listener until `stop` is done, then lets what goes on come to its end.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    Room { most, trusted, patience }: Room,
    stop: impl Future<Output = ()>,
) {
    // As it is, the router would be built anew for every connection.
    let router: Router = router.with_state(());
    let (builder, stopping) = (builder(patience.headers), CancellationToken::new());
    // Every connection holds the sender: once all are gone, so is what is waited for.
    let (goes_on, mut gone) = mpsc::channel::<()>(1);
    let room = Arc::new(Semaphore::new(most));
    let counts = Counts::default();
    tokio::pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &room) => accepted,
            () = &mut stop => break,
        };
        let (stream, place) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // One client that went away is no news; a system without files for further ones is.
                tracing::debug!(%error, "a connection was not accepted");
                tokio::time::sleep(NO_MORE_FILES).await;
                continue;
            }
        };
        let Ok((remote, local)) =
            stream.peer_addr().and_then(|peer| Ok((peer, stream.local_addr()?)))
        else {
            continue;
        };
        let ip = remote.ip().to_canonical();
        let stranger = !ip.is_loopback() && !trusted.contains(&ip);
        let counted = match stranger.then(|| counts.count(neighbourhood(ip), FROM_ONE_ADDRESS)) {
            None => None,
            Some(Some(counted)) => Some(counted),
            Some(None) => {
                tracing::debug!(%ip, "too many connections from one address");
                continue;
            }
        };
        give_up_unread(&stream);
        // Words are small and must not wait for more of them.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection will send late");
        }
        let (router, peer) = (router.clone(), Peer::new(remote, local));
        let heard = Arc::new(AtomicBool::new(false));
        let hears = heard.clone();
        let service = hyper::service::service_fn(move |request: Request<Incoming>| {
            hears.store(true, Ordering::Relaxed);
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(peer.clone());
            router.clone().call(request)
        });
        let connection = builder.serve_connection(TokioIo::new(stream), service).into_owned();
        let (stopping, goes_on) = (stopping.clone(), goes_on.clone());
        tokio::spawn(async move {
            tokio::pin!(connection);
            let done = tokio::select! {
                done = connection.as_mut() => done,
                () = silence(&heard, patience.first) => Ok(()),
                () = stopping.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            if let Err(error) = done {
                tracing::debug!(error, "a connection broke off");
            }
            drop((place, counted, goes_on));
        });
    }
    drop((listener, goes_on));
    stopping.cancel();
    // Nothing is ever sent: this ends when the last connection does.
    gone.recv().await.unwrap_or_default();
}

/// Lets the system end a connection whose other end reads nothing.
#[cfg(target_os = "linux")]
fn give_up_unread(stream: &TcpStream) {
    let socket = socket2::SockRef::from(stream);
    if let Err(error) = socket.set_tcp_user_timeout(Some(UNREAD_TIME)) {
        tracing::debug!(%error, "a connection may be left unread");
    }
}

/// The system has no way to say so.
#[cfg(not(target_os = "linux"))]
fn give_up_unread(_: &TcpStream) {
    const { assert!(!UNREAD_TIME.is_zero()) }
}

/// Ends when a client did not say in time what it wants; never when it did. Which language it speaks is found
/// out before any clock of that language runs.
async fn silence(heard: &AtomicBool, patience: Duration) {
    tokio::time::sleep(patience).await;
    if heard.load(Ordering::Relaxed) {
        std::future::pending::<()>().await;
    }
}

/// The next connection, once there is room for it. Others wait with the system meanwhile.
async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let place = room.clone().acquire_owned().await.map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, place))
}

fn builder(headers: Duration) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    // Of HTTP/1 this is the most of a request's headers, too.
    const { assert!(MAX_UNREAD_BYTES == MAX_HEADER_BYTES as usize) };
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(headers)
        .max_buf_size(MAX_UNREAD_BYTES);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(STILL_THERE)
        .keep_alive_timeout(STILL_THERE)
        .max_concurrent_streams(AT_ONCE)
        .max_send_buf_size(MAX_UNREAD_BYTES)
        .max_header_list_size(MAX_HEADER_BYTES);
    builder
}

#[cfg(test)]
mod tests {
    use std::{net::SocketAddr, time::Instant};

    use axum::routing::get;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        time::timeout,
    };

    use super::*;

    const SOON: Duration = Duration::from_millis(200);
    const NEVER: Duration = Duration::from_secs(3600);
    const ENOUGH: Duration = Duration::from_secs(30);

    /// A server that says "Hm.", for as long as the test goes on.
    async fn small(most: usize, patience: Patience) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().route("/", get(async || "Hm."));
        let room = Room { most, trusted: Vec::new(), patience };
        tokio::spawn(serve(listener, router, room, std::future::pending()));
        address
    }

    async fn say(stream: &mut TcpStream, words: &str) {
        stream.write_all(words.as_bytes()).await.unwrap();
    }

    /// What comes back until the other end closes.
    async fn rest(stream: &mut TcpStream) -> String {
        let mut answer = Vec::new();
        let read = timeout(ENOUGH, stream.read_to_end(&mut answer)).await;
        // A connection that is closed with something unread breaks off.
        drop(read.expect("it is not closed"));
        String::from_utf8(answer).unwrap()
    }

    /// One answer on a connection that stays open.
    async fn hear(stream: &mut TcpStream) {
        let mut answer = String::new();
        while !answer.ends_with("Hm.") {
            let mut some = [0; 256];
            let read = timeout(ENOUGH, stream.read(&mut some)).await.unwrap().unwrap();
            assert!(read > 0, "it is closed after {answer:?}");
            answer.push_str(std::str::from_utf8(&some[..read]).unwrap());
        }
    }

    #[tokio::test]
    async fn who_never_says_what_they_want_is_let_go() {
        let address = small(9, Patience { first: SOON, headers: NEVER }).await;
        // Nothing, less than the name of a language, half a head, and a head that comes letter by letter.
        for words in ["", "GE", "GET / HTTP/1.1\r\nhost: x\r\nx-slow: "] {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let began = Instant::now();
            say(&mut stream, words).await;
            assert_eq!(rest(&mut stream).await, "", "{words:?}");
            assert!(began.elapsed() >= SOON, "{words:?}");
        }
        let (mut reads, mut writes) = TcpStream::connect(address).await.unwrap().into_split();
        let slowly = async {
            say_letters(&mut writes).await;
        };
        let mut answer = Vec::new();
        let ended = async {
            drop(timeout(ENOUGH, reads.read_to_end(&mut answer)).await.expect("it is not closed"));
        };
        tokio::select! { () = slowly => panic!("it may go on for ever"), () = ended => {} }
        assert_eq!(answer, b"");
        // Who said it may stay.
        let mut stream = TcpStream::connect(address).await.unwrap();
        say(&mut stream, "GET / HTTP/1.1\r\nhost: x\r\n\r\n").await;
        hear(&mut stream).await;
        let more = timeout(SOON * 3, stream.read_u8()).await;
        assert!(more.is_err(), "it is closed: {more:?}");
        say(&mut stream, "GET / HTTP/1.1\r\nhost: x\r\n\r\n").await;
        hear(&mut stream).await;
    }

    async fn say_letters(writes: &mut tokio::net::tcp::OwnedWriteHalf) {
        let mut pause = tokio::time::interval(SOON / 10);
        while writes.write_all(b"G").await.is_ok() {
            pause.tick().await;
        }
        std::future::pending::<()>().await;
    }

    #[tokio::test]
    async fn who_begins_another_request_and_never_ends_it_is_let_go() {
        let address = small(9, Patience { first: NEVER, headers: SOON }).await;
        let mut stream = TcpStream::connect(address).await.unwrap();
        say(&mut stream, "GET / HTTP/1.1\r\nhost: x\r\n\r\n").await;
        hear(&mut stream).await;

        say(&mut stream, "GET / HTTP/1.1\r\nhost: ").await;

        assert_eq!(rest(&mut stream).await, "");
    }

    #[tokio::test]
    async fn a_head_is_taken_up_to_its_limit_and_not_far_beyond() {
        let address = small(9, Patience::default()).await;
        let asked = async |bytes: u32| {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let long = "x".repeat(bytes as usize);
            let head = format!("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-long: {long}");
            // Who says too much is not heard to the end.
            drop(stream.write_all(format!("{head}\r\n\r\n").as_bytes()).await);
            rest(&mut stream).await
        };

        let taken = asked(MAX_HEADER_BYTES - 1024).await;
        assert!(taken.starts_with("HTTP/1.1 200") && taken.ends_with("Hm."), "{taken}");
        // What is read at once may go beyond it.
        let refused = asked(MAX_HEADER_BYTES * 3).await;
        assert!(refused.starts_with("HTTP/1.1 431"), "{refused}");
    }

    #[tokio::test]
    async fn there_are_so_many_connections_and_others_wait_until_one_is_gone() {
        let address = small(2, Patience::default()).await;
        let ask = async || {
            let mut stream = TcpStream::connect(address).await.unwrap();
            say(&mut stream, "GET / HTTP/1.1\r\nhost: x\r\n\r\n").await;
            stream
        };
        let (mut first, mut second) = (ask().await, ask().await);
        hear(&mut first).await;
        hear(&mut second).await;

        let mut third = ask().await;
        let early = timeout(SOON, third.readable()).await;
        assert!(early.is_err(), "there are more than two");
        drop(first);

        hear(&mut third).await;
    }
}
