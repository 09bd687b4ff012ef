//! Accepting connections: not more than we can hold, none that never says what it wants, each with who is at
//! its other end.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use hyper::{Request, body::Incoming, server::conn::http1::Builder};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
};
use tokio_util::sync::CancellationToken;
use tower_service::Service;

use super::{Peer, counts::Counts, framing::Watched};
use crate::domain::{
    error::ApiError,
    internet::{Network, neighbourhood},
};

/// How many connections strangers from one address may have, or from one house with many of IPv6.
const FROM_ONE_ADDRESS: usize = 256;
/// The most bytes of a request's headers; and the most that is held of what a client has not taken yet, beside
/// what the system holds.
const MAX_HELD_BYTES: usize = 64 * 1024;
/// How long to wait when the system has no further connection to give.
const NO_MORE_FILES: Duration = Duration::from_millis(200);

/// How many connections there may be, and for how long one may be silent.
pub struct Room {
    /// From everywhere.
    pub most: usize,
    /// The proxies from which as many come as there are people behind them.
    pub trusted: Vec<Network>,
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
    /// To take something of what they are sent.
    pub unread: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            first: Duration::from_secs(30),
            headers: Duration::from_secs(75),
            unread: Duration::from_secs(120),
        }
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
        let stranger = !ip.is_loopback() && !trusted.iter().any(|network| network.contains(ip));
        let counted = match stranger.then(|| counts.count(neighbourhood(ip), FROM_ONE_ADDRESS)) {
            None => None,
            Some(Some(counted)) => Some(counted),
            Some(None) => {
                tracing::debug!(%ip, "too many connections from one address");
                continue;
            }
        };
        give_up_unread(&stream, patience.unread);
        // Words are small and must not wait for more of them.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection will send late");
        }
        let (router, peer) = (router.clone(), Peer::new(remote, local));
        let heard = Arc::new(AtomicBool::new(false));
        let hears = heard.clone();
        let stream = Watched::new(stream);
        let doubt = stream.doubt();
        let service = hyper::service::service_fn(move |request: Request<Incoming>| {
            hears.store(true, Ordering::Relaxed);
            let in_pieces = request.headers().contains_key(header::TRANSFER_ENCODING);
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(peer.clone());
            let answer = (!doubt.is_there()).then(|| router.clone().call(request));
            async move {
                match answer {
                    None => Ok(closing(ambiguous())),
                    // Where a body in pieces ends is looked at by nobody else: nothing comes after it.
                    Some(answer) if in_pieces => answer.await.map(closing),
                    Some(answer) => answer.await,
                }
            }
        });
        let connection = builder.serve_connection(TokioIo::new(stream), service);
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
                tracing::debug!(%error, "a connection broke off");
            }
            drop((place, counted, goes_on));
        });
    }
    drop((listener, goes_on));
    stopping.cancel();
    // Nothing is ever sent: this ends when the last connection does.
    gone.recv().await.unwrap_or_default();
}

/// What a request is told that says in more than one way where it ends.
fn ambiguous() -> Response {
    ApiError::Malformed { problem: "where it ends is in doubt".into() }.into_response()
}

/// The last answer of its connection.
fn closing(mut response: Response) -> Response {
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Lets the system end a connection whose other end takes nothing.
#[cfg(target_os = "linux")]
fn give_up_unread(stream: &TcpStream, patience: Duration) {
    let socket = socket2::SockRef::from(stream);
    if let Err(error) = socket.set_tcp_user_timeout(Some(patience)) {
        tracing::debug!(%error, "a connection may be left unread");
    }
}

/// The system has no way to say so.
#[cfg(not(target_os = "linux"))]
fn give_up_unread(_: &TcpStream, _: Duration) {}

/// Ends when a client did not say in time what it wants; never when it did.
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

/// A proxy may speak any language to the world: to us it speaks HTTP/1.1, where a connection gives one answer at
/// a time and one client who does not read holds up nobody else's.
fn builder(headers: Duration) -> Builder {
    let mut builder = Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(headers).max_buf_size(MAX_HELD_BYTES);
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
        serving(Router::new().route("/", get(async || "Hm.")), most, patience).await
    }

    async fn serving(router: Router, most: usize, patience: Patience) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
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
        let address = small(9, Patience { first: SOON, headers: NEVER, unread: NEVER }).await;
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
        let address = small(9, Patience { first: NEVER, headers: SOON, unread: NEVER }).await;
        let mut stream = TcpStream::connect(address).await.unwrap();
        say(&mut stream, "GET / HTTP/1.1\r\nhost: x\r\n\r\n").await;
        hear(&mut stream).await;

        say(&mut stream, "GET / HTTP/1.1\r\nhost: ").await;

        assert_eq!(rest(&mut stream).await, "");
    }

    /// Tells that it is gone.
    struct Held(mpsc::UnboundedSender<()>);

    impl Drop for Held {
        fn drop(&mut self) {
            // Whoever would hear it may be gone first.
            self.0.send(()).unwrap_or_default();
        }
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn who_asks_and_does_not_read_is_let_go() {
        let (tell, mut gone) = mpsc::unbounded_channel();
        let endless = async move || {
            let held = Held(tell.clone());
            Body::from_stream(futures::stream::repeat_with(move || {
                let Held(_) = &held;
                Ok::<_, io::Error>("word ".repeat(1000))
            }))
        };
        let patience = Patience { first: NEVER, headers: NEVER, unread: SOON };
        let address = serving(Router::new().route("/", get(endless)), 9, patience).await;
        let ask = async || {
            let mut stream = TcpStream::connect(address).await.unwrap();
            say(&mut stream, "GET / HTTP/1.1\r\nhost: x\r\n\r\n").await;
            stream
        };

        let nothing = ask().await;
        timeout(ENOUGH, gone.recv()).await.expect("who reads nothing is held for ever");
        let mut little = ask().await;
        let drip = async {
            let mut pause = tokio::time::interval(SOON / 4);
            while little.read_u8().await.is_ok() {
                pause.tick().await;
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = drip => {}
            told = timeout(ENOUGH, gone.recv()) => {
                told.expect("who reads letter by letter is held for ever");
            }
        }
        drop(nothing);
    }

    #[tokio::test]
    async fn many_answers_at_once_on_one_connection_are_not_offered() {
        let address = small(9, Patience::default()).await;
        let mut stream = TcpStream::connect(address).await.unwrap();

        // How a client begins that speaks HTTP/2 without asking.
        say(&mut stream, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;

        let refused = rest(&mut stream).await;
        assert!(refused.is_empty() || refused.starts_with("HTTP/1.1 4"), "{refused}");
    }

    #[tokio::test]
    async fn a_head_is_taken_up_to_its_limit_and_not_far_beyond() {
        let address = small(9, Patience::default()).await;
        let asked = async |bytes: usize| {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let long = "x".repeat(bytes);
            let head = format!("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-long: {long}");
            // Who says too much is not heard to the end.
            drop(stream.write_all(format!("{head}\r\n\r\n").as_bytes()).await);
            rest(&mut stream).await
        };

        let taken = asked(MAX_HELD_BYTES - 1024).await;
        assert!(taken.starts_with("HTTP/1.1 200") && taken.ends_with("Hm."), "{taken}");
        // What is read at once may go beyond it.
        let refused = asked(MAX_HELD_BYTES * 3).await;
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
